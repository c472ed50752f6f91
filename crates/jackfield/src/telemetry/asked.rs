//! What the environment asks of the export of traces.
//!
//! A plain function of the variables. The one rule it keeps: an address that cannot be meant is refused, and of
//! everything else what is not understood is passed over and told, as OpenTelemetry has it.

use std::str::FromStr;
use std::time::Duration;

use jackfield_host::observe::Sampling;
use jackfield_sdk::Environment;
use opentelemetry_http::Request;

use super::{ExportError, without_secrets};
use crate::variables::{self, Variable};

/// How long spans are gathered before they are sent, unless the environment says otherwise.
const GATHERED: Duration = Duration::from_secs(1);
/// How long a collector may take, unless the environment says otherwise.
const PATIENCE: Duration = Duration::from_secs(10);

/// How spans are to be exported.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Asked {
    /// Where they go.
    pub(super) endpoint: String,
    /// How long a collector may take.
    pub(super) patience: Duration,
    /// How long spans are gathered.
    pub(super) gathered: Duration,
    /// Which are made.
    pub(super) sampling: Sampling,
    /// What was passed over.
    pub(super) remarks: Vec<String>,
}

/// What is asked for; `None` where nobody asks for traces.
pub(super) fn asked(environment: &Environment) -> Result<Option<Asked>, ExportError> {
    let word = |variable: &Variable| word(environment, variable);
    if word(&variables::OTEL_SDK_DISABLED).is_some_and(|word| word.eq_ignore_ascii_case("true")) {
        return Ok(None);
    }
    let exporters = word(&variables::OTEL_TRACES_EXPORTER).unwrap_or_else(|| "otlp".to_owned());
    if !exporters.split(',').any(|exporter| exporter.trim().eq_ignore_ascii_case("otlp")) {
        return Ok(None);
    }
    let Some(endpoint) = word(&variables::OTEL_TRACES_ENDPOINT).or_else(|| word(&variables::OTEL_ENDPOINT))
    else {
        return Ok(None);
    };
    let mut remarks = Vec::new();
    let Some(sampling) = sampling(environment, &mut remarks) else { return Ok(None) };
    let protocol = word(&variables::OTEL_TRACES_PROTOCOL).or_else(|| word(&variables::OTEL_PROTOCOL));
    if let Some(other) = protocol.filter(|protocol| protocol != "http/protobuf") {
        return Err(ExportError::Protocol(other));
    }
    check(&endpoint)?;
    check_headers(environment, &mut remarks);
    let mut milliseconds = |variable| milliseconds(environment, variable, &mut remarks);
    let of_traces = milliseconds(&variables::OTEL_TRACES_TIMEOUT);
    let of_all = milliseconds(&variables::OTEL_TIMEOUT);
    let gathered = milliseconds(&variables::OTEL_SCHEDULE_DELAY).unwrap_or(GATHERED);
    let patience = of_traces.or(of_all).unwrap_or(PATIENCE);
    Ok(Some(Asked { endpoint, patience, gathered, sampling, remarks }))
}

/// The variable's text, unless that is empty.
fn word(environment: &Environment, variable: &Variable) -> Option<String> {
    variable.get(environment).map(|value| value.to_string_lossy().into_owned())
}

/// Whether an address is one that spans can be sent to.
fn check(endpoint: &str) -> Result<(), ExportError> {
    let wrong = |reason| Err(ExportError::Address { endpoint: without_secrets(endpoint), reason });
    let Some((scheme, behind)) = endpoint.split_once("://") else {
        return wrong("it does not begin with `http://`");
    };
    if !scheme.eq_ignore_ascii_case("http") {
        return Err(ExportError::NotPlain(without_secrets(endpoint)));
    }
    let authority = behind.split(['/', '?', '#']).next().unwrap_or_default();
    let place = authority.rsplit('@').next().unwrap_or_default();
    // What stands in brackets is an address of the newer kind, which has colons.
    let (host, port) = match place.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
        _ => (place, None),
    };
    if host.is_empty() {
        return wrong("it names no host");
    }
    if !port.is_none_or(|port| u16::from_str(port).is_ok_and(|port| port > 0)) {
        return wrong("its port is none");
    }
    if Request::get(endpoint).body(()).is_ok() { Ok(()) } else { wrong("it is no address") }
}

/// Which spans are made; `None` for none.
fn sampling(environment: &Environment, remarks: &mut Vec<String>) -> Option<Sampling> {
    let variable = &variables::OTEL_TRACES_SAMPLER;
    match word(environment, variable).map(|word| word.to_ascii_lowercase()).as_deref() {
        None | Some("parentbased_always_on") => Some(Sampling::AsCallers),
        Some("always_on") => Some(Sampling::All),
        Some("always_off") => None,
        Some(other) => {
            remarks.push(format!("`{}={other}` is not known here; all traces are exported", variable.name));
            Some(Sampling::AsCallers)
        }
    }
}

/// Headers may be secrets, so it is only told that there are some which cannot be sent.
fn check_headers(environment: &Environment, remarks: &mut Vec<String>) {
    let [of_traces, of_all] = [&variables::OTEL_TRACES_HEADERS, &variables::OTEL_HEADERS]
        .map(|variable| word(environment, variable).map(|headers| (variable.name, headers)));
    let Some((name, headers)) = of_traces.or(of_all) else { return };
    let is_header = |pair: &&str| {
        let pair = pair.split_once('=');
        pair.is_some_and(|(name, value)| Request::get("/").header(name.trim(), value.trim()).body(()).is_ok())
    };
    let pairs = headers.split(',').filter(|pair| !pair.trim().is_empty());
    let wrong = pairs.filter(|pair| !is_header(pair)).count();
    if wrong > 0 {
        remarks.push(format!("of the headers in `{name}`, {wrong} are not of the form `name=value`"));
    }
}

fn milliseconds(
    environment: &Environment,
    variable: &Variable,
    remarks: &mut Vec<String>,
) -> Option<Duration> {
    let word = word(environment, variable)?;
    let number = word.trim().parse().ok().map(Duration::from_millis);
    if number.is_none() {
        remarks.push(format!("`{}={word}` is no number of milliseconds", variable.name));
    }
    number
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    const ENDPOINT: (&str, &str) = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318");

    fn of(variables: &[(&str, &str)]) -> Result<Option<Asked>, String> {
        let environment = variables.iter().map(|(name, value)| (name.into(), value.into())).collect();
        asked(&environment).map_err(|error| error.to_string())
    }

    fn wanted(variables: &[(&str, &str)]) -> Asked {
        of(&[&[ENDPOINT], variables].concat()).unwrap().unwrap()
    }

    #[test]
    fn nothing_is_exported_unless_somebody_asks_for_it() {
        assert_eq!(of(&[]), Ok(None));
        assert_eq!(of(&[("OTEL_EXPORTER_OTLP_ENDPOINT", "")]), Ok(None));
        for (name, value) in [
            ("OTEL_SDK_DISABLED", "true"),
            ("OTEL_TRACES_EXPORTER", "none"),
            ("OTEL_TRACES_EXPORTER", "console,zipkin"),
            ("OTEL_TRACES_SAMPLER", "always_off"),
        ] {
            assert_eq!(of(&[ENDPOINT, (name, value)]), Ok(None), "{name}={value}");
            // What is meant for other programs is none of its business then.
            let grpc = ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc");
            assert_eq!(of(&[ENDPOINT, grpc, (name, value)]), Ok(None), "{name}={value}");
        }
        for exporters in ["otlp", "otlp,console", "console, OTLP"] {
            assert_eq!(wanted(&[("OTEL_TRACES_EXPORTER", exporters)]), wanted(&[]), "{exporters}");
        }
        assert_eq!(
            wanted(&[]),
            Asked {
                endpoint: ENDPOINT.1.to_owned(),
                patience: PATIENCE,
                gathered: GATHERED,
                sampling: Sampling::AsCallers,
                remarks: Vec::new(),
            }
        );
        let traces = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://127.0.0.1:9/v1/traces");
        assert_eq!(wanted(&[traces]).endpoint, traces.1);
    }

    #[test]
    fn an_address_is_taken_or_refused_with_a_reason_and_without_its_secrets() {
        for good in [
            "http://collector",
            "HTTP://collector:1/",
            "http://[::1]",
            "http://[::1]:65535/a?b#c",
            "http://me:word@collector:4318",
        ] {
            assert_eq!(check(good).map_err(|error| error.to_string()), Ok(()), "{good}");
        }
        for (bad, reason) in [
            ("garbage", "it does not begin with `http://`"),
            ("collector:4318", "it does not begin with `http://`"),
            ("https://collector", "only `http` is spoken"),
            ("http:///v1/traces", "it names no host"),
            ("http://me@:4318", "it names no host"),
            ("http://collector:", "its port is none"),
            ("http://collector:0", "its port is none"),
            ("http://[::1]:65536", "its port is none"),
            ("http://a b", "it is no address"),
        ] {
            let said = check(bad).map_err(|error| error.to_string());
            assert_eq!(said, Err(format!("cannot export traces to `{bad}`: {reason}")));
        }
        let secret = check("https://me:password@collector").unwrap_err().to_string();
        assert!(secret.contains("https://me:[redacted]@collector"), "{secret}");
        assert_eq!(
            of(&[ENDPOINT, ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")]),
            Err("cannot export traces by `grpc`: only `http/protobuf` is spoken".to_owned())
        );
    }

    #[test]
    fn what_is_not_understood_is_passed_over_and_told() {
        let remarks = |name: &str, value: &str| wanted(&[(name, value)]).remarks;
        let timeout = wanted(&[
            ("OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "soon"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "70"),
            ("OTEL_BSP_SCHEDULE_DELAY", "-1"),
        ]);
        assert_eq!((timeout.patience, timeout.gathered), (Duration::from_millis(70), GATHERED));
        assert_eq!(
            timeout.remarks,
            [
                "`OTEL_EXPORTER_OTLP_TRACES_TIMEOUT=soon` is no number of milliseconds",
                "`OTEL_BSP_SCHEDULE_DELAY=-1` is no number of milliseconds"
            ]
        );
        assert!(remarks("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Basic%20a2V5==, x = 1,").is_empty());
        assert_eq!(
            remarks("OTEL_EXPORTER_OTLP_HEADERS", "key,a=b,=c,two words=2"),
            ["of the headers in `OTEL_EXPORTER_OTLP_HEADERS`, 3 are not of the form `name=value`"]
        );
        for (sampler, sampling, told) in [
            ("Always_On", Sampling::All, 0),
            ("parentbased_always_on", Sampling::AsCallers, 0),
            ("parentbased_always_off", Sampling::AsCallers, 1),
            ("traceidratio", Sampling::AsCallers, 1),
        ] {
            let asked = wanted(&[("OTEL_TRACES_SAMPLER", sampler)]);
            assert_eq!((asked.sampling, asked.remarks.len()), (sampling, told), "{sampler}");
        }
    }
}

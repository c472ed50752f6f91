//! The environment variables that this program reads, each once and with its meaning.
//!
//! Not those of the CLI, which are passed on to it. The one rule it keeps: a variable is named here and
//! nowhere else, and one that is empty counts as not set.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use jackfield_client::Trace;
use jackfield_sdk::Environment;

/// A variable, and what it is for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Variable {
    pub(crate) name: &'static str,
    /// What it does, as a sentence of `docs/configuration.md`.
    pub(crate) meaning: &'static str,
}

/// Variables that begin like this are ours, and the CLI never sees them.
pub(crate) const PREFIX: &str = "JACKFIELD_";

/// The configuration file.
pub(crate) const CONFIG: Variable =
    Variable { name: "JACKFIELD_CONFIG", meaning: "The configuration file; the flag `--config` wins." };
/// The data folder.
pub(crate) const DATA: Variable =
    Variable { name: "JACKFIELD_DATA", meaning: "The data folder: the option `data.folder`." };
/// Where the page is served.
pub(crate) const LISTEN: Variable = Variable {
    name: "JACKFIELD_LISTEN",
    meaning: "The address and port of the page: the option `server.listen`.",
};
/// How much is logged.
pub(crate) const LOG: Variable =
    Variable { name: "JACKFIELD_LOG", meaning: "How much is logged: the option `log.level`." };
/// How the log is written.
pub(crate) const LOG_FORMAT: Variable =
    Variable { name: "JACKFIELD_LOG_FORMAT", meaning: "How the log is written: the option `log.format`." };
/// The CLI's program.
pub(crate) const CLAUDE: Variable =
    Variable { name: "JACKFIELD_CLAUDE", meaning: "The CLI's program: the option `claude.program`." };
/// Debug files of every session.
pub(crate) const DEBUG_AGENT_MESSAGES: Variable = Variable {
    name: "JACKFIELD_DEBUG_AGENT_MESSAGES",
    meaning: "Whether debug files of every session are written: the option `debug.agent_messages`.",
};
/// Where spans go.
pub(crate) const OTEL_ENDPOINT: Variable = Variable {
    name: "OTEL_EXPORTER_OTLP_ENDPOINT",
    meaning: "Where traces are sent: a collector's address. Without it none are made.",
};
/// The same, for traces alone.
pub(crate) const OTEL_TRACES_ENDPOINT: Variable = Variable {
    name: "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
    meaning: "The same, with its path, for traces alone.",
};
/// How spans are sent.
pub(crate) const OTEL_PROTOCOL: Variable = Variable {
    name: "OTEL_EXPORTER_OTLP_PROTOCOL",
    meaning: "How they are sent; only `http/protobuf` is spoken.",
};
/// The same, for traces alone.
pub(crate) const OTEL_TRACES_PROTOCOL: Variable =
    Variable { name: "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", meaning: "The same, for traces alone." };
/// What is sent with them.
pub(crate) const OTEL_HEADERS: Variable = Variable {
    name: "OTEL_EXPORTER_OTLP_HEADERS",
    meaning: "Headers that are sent with them: `name=value`, with commas.",
};
/// The same, for traces alone.
pub(crate) const OTEL_TRACES_HEADERS: Variable =
    Variable { name: "OTEL_EXPORTER_OTLP_TRACES_HEADERS", meaning: "The same, for traces alone." };
/// How long a collector may take.
pub(crate) const OTEL_TIMEOUT: Variable = Variable {
    name: "OTEL_EXPORTER_OTLP_TIMEOUT",
    meaning: "How many milliseconds a collector may take; 10000 if not set.",
};
/// The same, for traces alone.
pub(crate) const OTEL_TRACES_TIMEOUT: Variable =
    Variable { name: "OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", meaning: "The same, for traces alone." };
/// No spans at all.
pub(crate) const OTEL_SDK_DISABLED: Variable =
    Variable { name: "OTEL_SDK_DISABLED", meaning: "If `true`, no traces are made." };
/// Which exporter.
pub(crate) const OTEL_TRACES_EXPORTER: Variable = Variable {
    name: "OTEL_TRACES_EXPORTER",
    meaning: "A list, with commas; if `otlp` is not in it, no traces are made.",
};
/// Which traces.
pub(crate) const OTEL_TRACES_SAMPLER: Variable = Variable {
    name: "OTEL_TRACES_SAMPLER",
    meaning: "Which traces are made: `parentbased_always_on`, all but those whose caller does not keep them, if not \
              set; `always_on`, all; `always_off`, none.",
};
/// How long spans are gathered.
pub(crate) const OTEL_SCHEDULE_DELAY: Variable = Variable {
    name: "OTEL_BSP_SCHEDULE_DELAY",
    meaning: "How many milliseconds traces are gathered before they are sent; 1000 if not set.",
};
/// What the host is called in traces.
pub(crate) const OTEL_SERVICE_NAME: Variable = Variable {
    name: "OTEL_SERVICE_NAME",
    meaning: "What the host is called in traces; `jackfield` if not set.",
};
/// What else is said of it.
pub(crate) const OTEL_RESOURCE_ATTRIBUTES: Variable = Variable {
    name: "OTEL_RESOURCE_ATTRIBUTES",
    meaning: "What else traces say of the host: `name=value`, with commas.",
};
/// The trace that this program is a part of.
pub(crate) const TRACE_PARENT: Variable = Variable {
    name: "TRACEPARENT",
    meaning: "The place in a trace that the prompt of `jackfield run` is a part of, as the W3C writes it.",
};
/// What others noted beside it.
pub(crate) const TRACE_STATE: Variable =
    Variable { name: "TRACESTATE", meaning: "What others noted beside it." };
/// The pace of the demo agent.
pub(crate) const DEMO_SPEED: Variable = Variable {
    name: "JACKFIELD_DEMO_SPEED",
    meaning: "How fast the demo agent plays: 1 is its natural speed, 2 is twice as fast, 0 is without any waiting.",
};
/// Colours are not wanted.
pub(crate) const NO_COLOR: Variable =
    Variable { name: "NO_COLOR", meaning: "If set, text has no colours (<https://no-color.org>)." };
/// The kind of terminal.
pub(crate) const TERM: Variable =
    Variable { name: "TERM", meaning: "The kind of terminal; `dumb` has no colours." };
/// The screen.
pub(crate) const DISPLAY: Variable =
    Variable { name: "DISPLAY", meaning: "The screen; without one `jackfield serve` opens no browser." };
/// The screen, in Wayland.
pub(crate) const WAYLAND_DISPLAY: Variable =
    Variable { name: "WAYLAND_DISPLAY", meaning: "The same, where the desktop is Wayland." };
/// Where programs are looked for.
pub(crate) const PATH: Variable = Variable {
    name: "PATH",
    meaning: "Where `claude` and `git` are looked for; relative folders in it are passed over.",
};
/// The user's folder.
pub(crate) const HOME: Variable =
    Variable { name: "HOME", meaning: "Your own folder: `~/` in a path of the configuration." };
/// The user's configuration files.
pub(crate) const XDG_CONFIG_HOME: Variable = Variable {
    name: "XDG_CONFIG_HOME",
    meaning: "The folder of configuration files; `~/.config` if not set.",
};
/// The user's data files.
pub(crate) const XDG_DATA_HOME: Variable =
    Variable { name: "XDG_DATA_HOME", meaning: "The folder of programs' data; `~/.local/share` if not set." };

/// The CLI's own folder.
pub(crate) const CLAUDE_CONFIG_DIR: Variable = Variable {
    name: "CLAUDE_CONFIG_DIR",
    meaning: "The CLI's own folder, in which it looks for editors; `~/.claude` if not set.",
};
/// The user's editor.
pub(crate) const VISUAL: Variable =
    Variable { name: "VISUAL", meaning: "Your editor, with which `jackfield ide` opens files." };
/// The same, by its older name.
pub(crate) const EDITOR: Variable = Variable { name: "EDITOR", meaning: "The same, if `VISUAL` is not set." };

/// All of them, ours first.
pub(crate) const ALL: [&Variable; 35] = [
    &CONFIG,
    &DATA,
    &LISTEN,
    &CLAUDE,
    &LOG,
    &LOG_FORMAT,
    &DEBUG_AGENT_MESSAGES,
    &DEMO_SPEED,
    &NO_COLOR,
    &TERM,
    &DISPLAY,
    &WAYLAND_DISPLAY,
    &PATH,
    &HOME,
    &XDG_CONFIG_HOME,
    &XDG_DATA_HOME,
    &CLAUDE_CONFIG_DIR,
    &VISUAL,
    &EDITOR,
    &OTEL_ENDPOINT,
    &OTEL_TRACES_ENDPOINT,
    &OTEL_PROTOCOL,
    &OTEL_TRACES_PROTOCOL,
    &OTEL_HEADERS,
    &OTEL_TRACES_HEADERS,
    &OTEL_TIMEOUT,
    &OTEL_TRACES_TIMEOUT,
    &OTEL_TRACES_EXPORTER,
    &OTEL_TRACES_SAMPLER,
    &OTEL_SDK_DISABLED,
    &OTEL_SCHEDULE_DELAY,
    &OTEL_SERVICE_NAME,
    &OTEL_RESOURCE_ATTRIBUTES,
    &TRACE_PARENT,
    &TRACE_STATE,
];

impl Variable {
    /// Its value, unless that is empty.
    pub(crate) fn get<'a>(&self, environment: &'a Environment) -> Option<&'a OsStr> {
        environment.get(OsStr::new(self.name)).map(OsString::as_os_str).filter(|value| !value.is_empty())
    }

    /// The folder it names; a relative one is not meant, as the XDG specification has it.
    pub(crate) fn folder(&self, environment: &Environment) -> Option<PathBuf> {
        self.get(environment).map(PathBuf::from).filter(|folder| folder.is_absolute())
    }
}

/// The trace that this program is a part of. Whether it is one the host decides.
pub(crate) fn trace(environment: &Environment) -> Option<Trace> {
    let text = |variable: &Variable| Some(variable.get(environment)?.to_str()?.to_owned());
    Some(Trace { parent: text(&TRACE_PARENT)?, state: text(&TRACE_STATE) })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]

    use std::fs;
    use std::path::Path;

    use super::*;

    #[test]
    fn an_empty_variable_counts_as_not_set() {
        let environment = Environment::from([("JACKFIELD_DATA".into(), "".into())]);
        assert_eq!(DATA.get(&environment), None);
    }

    #[test]
    fn a_trace_is_its_parent_and_what_was_noted_beside_it() {
        let read = |variables: &[(&str, &str)]| {
            let variables = variables.iter().map(|(name, value)| ((*name).into(), (*value).into()));
            trace(&variables.collect::<Environment>())
        };
        let of =
            |state: Option<&str>| Some(Trace { parent: "p".to_owned(), state: state.map(str::to_owned) });
        assert_eq!(read(&[("TRACEPARENT", "p"), ("TRACESTATE", "s")]), of(Some("s")));
        assert_eq!(read(&[("TRACEPARENT", "p"), ("TRACESTATE", "")]), of(None));
        assert_eq!(read(&[("TRACEPARENT", ""), ("TRACESTATE", "s")]), None);
    }

    #[test]
    fn no_other_source_of_this_program_names_a_variable_of_ours() {
        let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src")];
        let mut seen = 0;
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.file_name() != Some(OsStr::new("variables.rs")) {
                    seen += 1;
                    let text = fs::read_to_string(&path).unwrap();
                    let shipped = text.split("#[cfg(test)]").next().unwrap();
                    let named =
                        shipped.split('"').any(|word| ALL.iter().any(|variable| variable.name == word));
                    assert!(!named, "{} names a variable that stands in variables.rs", path.display());
                }
            }
        }
        assert!(seen > 10, "only {seen} sources");
    }
}

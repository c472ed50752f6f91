//! Which requests are looked at: the names the server answers to, and the pages that may speak to it.
//!
//! Who somebody is comes later. A page of a stranger's can make a browser send anything to this machine, also
//! under a name that leads here; it cannot choose `Host` and `Origin`. The one rule it keeps: both are compared
//! whole, character by character, with a short list, and never taken apart.

use std::net::IpAddr;

use axum::http::header::{HOST, ORIGIN};
use axum::http::{HeaderMap, Method, Uri};

use super::names::{Names, Scheme, literal};

/// How a connection came in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Door {
    /// Over the network, if only from this machine.
    Network(Ends),
    /// Over the Unix socket, from the same user.
    Local,
}

/// The ends of a connection over the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ends {
    /// Whoever it is from.
    pub(crate) peer: IpAddr,
    /// The address of ours at which it arrived.
    pub(crate) reached: IpAddr,
}

/// Why a request is not looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stranger {
    /// It is meant for a name that is not ours.
    Host,
    /// It comes from a page that is not ours.
    Origin,
}

/// The names that the server answers to.
#[derive(Debug)]
pub(crate) struct Gate {
    names: Names,
}

impl Gate {
    /// The gate of a server with these names.
    pub(crate) fn new(names: Names) -> Self {
        Self { names }
    }

    /// What the server is called.
    pub(crate) fn names(&self) -> &Names {
        &self.names
    }

    /// Whether a request is looked at.
    pub(crate) fn check(
        &self,
        door: Door,
        method: &Method,
        uri: &Uri,
        headers: &HeaderMap,
    ) -> Result<(), Stranger> {
        let origin = the_only(headers, &ORIGIN);
        let Door::Network(ends) = door else {
            // No browser comes this way.
            return if origin == Shown::Nothing { Ok(()) } else { Err(Stranger::Origin) };
        };
        // The address at which it arrived is a name that nobody can make up.
        let arrived = format!("{}:{}", literal(ends.reached), self.names.port);
        let is_ours = |host: &str| {
            let mut hosts = self.names.origins.iter().map(|origin| origin.host.as_str());
            hosts.any(|ours| ours.eq_ignore_ascii_case(host)) || arrived == host
        };
        // A proxy's request names the host twice.
        if uri.authority().is_some_and(|named| !is_ours(named.as_str())) {
            return Err(Stranger::Host);
        }
        match the_only(headers, &HOST) {
            Shown::Value(host) if is_ours(host) => {}
            _ => return Err(Stranger::Host),
        }
        let arrived = format!("{}://{arrived}", self.names.scheme.as_str());
        match origin {
            Shown::Nothing => {}
            Shown::Value(origin) if origin == arrived => {}
            Shown::Value(origin) if self.names.origins.iter().any(|ours| ours.text() == origin) => {}
            Shown::Value(_) | Shown::Nonsense => return Err(Stranger::Origin),
        }
        check_fetch(method, headers)
    }

    /// Whether the browser speaks TLS, to us or to a proxy in front. It is told by the name that it uses, never by
    /// what somebody says was forwarded.
    pub(crate) fn is_secure(&self, headers: &HeaderMap) -> bool {
        let Shown::Value(host) = the_only(headers, &HOST) else { return false };
        let mut origins = self.names.origins.iter();
        let known = origins.find(|origin| origin.host.eq_ignore_ascii_case(host));
        known.map_or(self.names.scheme, |origin| origin.scheme) == Scheme::Https
    }

    /// Whether a browser may have sent it with a cookie: it says where the page is from whenever something could
    /// change, so silence then is a stranger's.
    pub(crate) fn check_cookie(method: &Method, headers: &HeaderMap) -> Result<(), Stranger> {
        let upgrade = headers.contains_key(axum::http::header::UPGRADE);
        let reads = matches!(*method, Method::GET | Method::HEAD) && !upgrade;
        if reads || headers.contains_key(ORIGIN) { Ok(()) } else { Err(Stranger::Origin) }
    }
}

/// What newer browsers add. A link on a stranger's page may lead here, a request of its scripts may not.
fn check_fetch(method: &Method, headers: &HeaderMap) -> Result<(), Stranger> {
    let header = |name: &str| headers.get(name).map(|value| value.to_str().unwrap_or("?"));
    let followed = *method == Method::GET && header("sec-fetch-mode") == Some("navigate");
    match header("sec-fetch-site") {
        None | Some("same-origin" | "none") => Ok(()),
        Some(_) if followed => Ok(()),
        Some(_) => Err(Stranger::Origin),
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Shown<'a> {
    Nothing,
    Value(&'a str),
    /// Several, or no text.
    Nonsense,
}

fn the_only<'a>(headers: &'a HeaderMap, name: &axum::http::HeaderName) -> Shown<'a> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => Shown::Nothing,
        (Some(value), None) => value.to_str().map_or(Shown::Nonsense, Shown::Value),
        (Some(_), Some(_)) => Shown::Nonsense,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use axum::http::HeaderValue;

    use super::*;

    const NETWORK: Door = Door::Network(Ends {
        peer: IpAddr::V4(std::net::Ipv4Addr::LOCALHOST),
        reached: IpAddr::V4(std::net::Ipv4Addr::LOCALHOST),
    });

    fn at(address: &str, scheme: Scheme, given: &[&str]) -> Gate {
        let given: Vec<String> = given.iter().map(|name| (*name).to_owned()).collect();
        Gate::new(Names::new(address.parse().unwrap(), scheme, &given).unwrap())
    }

    fn gate() -> Gate {
        at("127.0.0.1:4180", Scheme::Http, &[])
    }

    fn headers(list: &[(&'static str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in list {
            headers.append(*name, HeaderValue::from_bytes(value.as_bytes()).unwrap());
        }
        headers
    }

    fn judged(list: &[(&'static str, &str)]) -> Result<(), Stranger> {
        gate().check(NETWORK, &Method::GET, &"/api/sessions".parse().unwrap(), &headers(list))
    }

    #[test]
    fn s3_only_names_of_this_machine_with_the_right_port_are_answered_to() {
        for host in ["127.0.0.1:4180", "localhost:4180", "LOCALHOST:4180", "[::1]:4180"] {
            assert_eq!(judged(&[("host", host)]), Ok(()), "{host}");
        }
        for host in [
            "",
            "127.0.0.1",
            "localhost",
            "127.0.0.1:80",
            "127.0.0.1:4181",
            "127.0.0.1:41800",
            "127.0.0.2:4180",
            "0.0.0.0:4180",
            "[::]:4180",
            "evil.test:4180",
            "evil.test",
            "localhost.evil.test:4180",
            "localhost:4180.evil.test",
            "evil.test:4180@localhost:4180",
            "localhost:4180@evil.test",
            "user@localhost:4180",
            "localhost:4180,evil.test",
            "localhost:4180 ",
            "localhost.:4180",
            "127.1:4180",
            "2130706433:4180",
            "0x7f.0.0.1:4180",
            "[::ffff:127.0.0.1]:4180",
            "lоcalhost:4180",
        ] {
            assert_eq!(judged(&[("host", host)]), Err(Stranger::Host), "{host:?}");
        }
        assert_eq!(judged(&[]), Err(Stranger::Host));
        assert_eq!(judged(&[("host", "localhost:4180"), ("host", "evil.test")]), Err(Stranger::Host));
    }

    #[test]
    fn s3_a_host_inside_the_request_line_is_judged_too() {
        let check = |uri: &str| {
            let uri: Uri = uri.parse().unwrap();
            gate().check(NETWORK, &Method::GET, &uri, &headers(&[("host", "localhost:4180")]))
        };
        assert_eq!(check("http://localhost:4180/api/desk"), Ok(()));
        assert_eq!(check("http://evil.test:4180/api/desk"), Err(Stranger::Host));
        assert_eq!(check("http://localhost:4180@evil.test/api/desk"), Err(Stranger::Host));
    }

    #[test]
    fn s4_an_origin_is_ours_to_the_letter_or_a_strangers() {
        let with = |origin: &str| judged(&[("host", "127.0.0.1:4180"), ("origin", origin)]);
        for origin in ["http://127.0.0.1:4180", "http://localhost:4180", "http://[::1]:4180"] {
            assert_eq!(with(origin), Ok(()), "{origin}");
        }
        for origin in [
            "",
            "null",
            "*",
            "http://127.0.0.1",
            "http://127.0.0.1:3000",
            "http://127.0.0.1:41800",
            "http://127.0.0.1:4180/",
            "https://127.0.0.1:4180",
            "HTTP://127.0.0.1:4180",
            "http://localhost:4180.evil.test",
            "http://localhost.evil.test:4180",
            "http://127.0.0.1:4180@evil.test",
            "http://evil.test/http://127.0.0.1:4180",
            "http://evil.test:4180",
            "http://127.0.0.1:4180 http://evil.test",
            "file://",
            "chrome-extension://abcdefgh",
            "ws://127.0.0.1:4180",
            "http://127.0.0.1:4180\u{e9}",
        ] {
            assert_eq!(with(origin), Err(Stranger::Origin), "{origin:?}");
        }
        let twice = [
            ("host", "127.0.0.1:4180"),
            ("origin", "http://127.0.0.1:4180"),
            ("origin", "http://127.0.0.1:4180"),
        ];
        assert_eq!(judged(&twice), Err(Stranger::Origin));
    }

    #[test]
    fn s4_a_cookie_without_an_origin_can_only_read() {
        let none = headers(&[]);
        let ours = headers(&[("origin", "http://127.0.0.1:4180")]);
        let upgrade = headers(&[("upgrade", "websocket")]);
        assert_eq!(Gate::check_cookie(&Method::GET, &none), Ok(()));
        assert_eq!(Gate::check_cookie(&Method::POST, &ours), Ok(()));
        for method in [Method::POST, Method::PUT, Method::DELETE, Method::PATCH] {
            assert_eq!(Gate::check_cookie(&method, &none), Err(Stranger::Origin), "{method}");
        }
        assert_eq!(Gate::check_cookie(&Method::GET, &upgrade), Err(Stranger::Origin));
    }

    #[test]
    fn a_script_of_another_site_is_a_stranger_and_a_link_to_the_page_is_not() {
        let with = |site: &str, mode: &str| {
            judged(&[("host", "127.0.0.1:4180"), ("sec-fetch-site", site), ("sec-fetch-mode", mode)])
        };
        assert_eq!(with("same-origin", "cors"), Ok(()));
        assert_eq!(with("none", "navigate"), Ok(()));
        assert_eq!(with("cross-site", "navigate"), Ok(()));
        assert_eq!(with("cross-site", "no-cors"), Err(Stranger::Origin));
        assert_eq!(with("same-site", "cors"), Err(Stranger::Origin));
        assert_eq!(with("cross-site", "websocket"), Err(Stranger::Origin));
    }

    #[test]
    fn the_unix_socket_has_no_names_and_no_browsers() {
        let check = |list| gate().check(Door::Local, &Method::GET, &"/".parse().unwrap(), &headers(list));
        assert_eq!(check(&[]), Ok(()));
        assert_eq!(check(&[("host", "anything")]), Ok(()));
        assert_eq!(check(&[("origin", "http://127.0.0.1:4180")]), Err(Stranger::Origin));
    }

    #[test]
    fn port_80_may_be_left_out() {
        let gate = at("127.0.0.1:80", Scheme::Http, &[]);
        let list = headers(&[("host", "localhost"), ("origin", "http://localhost")]);
        assert_eq!(gate.check(NETWORK, &Method::GET, &"/".parse().unwrap(), &list), Ok(()));
    }

    #[test]
    fn s3_beyond_loopback_only_given_names_and_the_address_itself_are_answered_to() {
        let gate = at("0.0.0.0:4180", Scheme::Https, &["box.local", "https://example.org"]);
        let reached =
            Door::Network(Ends { peer: "192.0.2.9".parse().unwrap(), reached: "192.0.2.5".parse().unwrap() });
        let check = |list: &[(&'static str, &str)]| {
            gate.check(reached, &Method::GET, &"/".parse().unwrap(), &headers(list))
        };
        for (host, origin) in [
            ("192.0.2.5:4180", "https://192.0.2.5:4180"),
            ("box.local:4180", "https://box.local:4180"),
            ("example.org", "https://example.org"),
            ("localhost:4180", "https://localhost:4180"),
        ] {
            assert_eq!(check(&[("host", host), ("origin", origin)]), Ok(()), "{host}");
            let plain = origin.replace("https", "http");
            assert_eq!(check(&[("host", host), ("origin", &plain)]), Err(Stranger::Origin), "{plain}");
        }
        for host in
            ["192.0.2.6:4180", "0.0.0.0:4180", "192.0.2.5", "example.org:4180", "box.local", "evil.test:4180"]
        {
            assert_eq!(check(&[("host", host)]), Err(Stranger::Host), "{host}");
        }
    }

    #[test]
    fn s9_whether_a_browser_speaks_tls_is_told_by_the_name_and_by_nothing_that_was_forwarded() {
        let gate = at("127.0.0.1:4180", Scheme::Http, &["https://example.org"]);
        assert!(gate.is_secure(&headers(&[("host", "example.org")])));
        assert!(!gate.is_secure(&headers(&[("host", "127.0.0.1:4180"), ("x-forwarded-proto", "https")])));
        assert!(at("127.0.0.1:4180", Scheme::Https, &[]).is_secure(&headers(&[("host", "localhost:4180")])));
    }
}

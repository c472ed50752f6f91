//! What the server is called: the origins under which a browser may reach it, and the path before its own.
//!
//! Nothing here looks at a request. The one rule it keeps: a name is known with its scheme and its port, or not at
//! all.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};

/// How a browser speaks to the server, or to a proxy in front of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scheme {
    Http,
    Https,
}

impl Scheme {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
        }
    }

    /// The port that browsers leave out.
    pub(crate) fn usual_port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
        }
    }
}

/// Scheme, name and port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Origin {
    pub(crate) scheme: Scheme,
    /// As in the header `Host`, in lower case.
    pub(crate) host: String,
}

impl Origin {
    pub(crate) fn text(&self) -> String {
        format!("{}://{}", self.scheme.as_str(), self.host)
    }
}

/// A name that is not to be understood.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error(
    "`{0}` is no name to answer to; names are like `box.local`, or whole origins like `https://example.org`"
)]
pub struct NoName(String);

/// A path that cannot stand before our own.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("`{0}` is no base path; one is like `/jackfield`")]
pub struct NoBasePath(String);

/// What the server is called.
#[derive(Debug)]
pub(crate) struct Names {
    pub(crate) scheme: Scheme,
    pub(crate) port: u16,
    /// All of them, those that were given first.
    pub(crate) origins: Vec<Origin>,
    /// What stands before every path: nothing, or `/jackfield`.
    pub(crate) base: String,
    /// The one in links.
    shown: Origin,
}

impl Names {
    /// Of a server at this address: its own names, and those that it was given.
    pub(crate) fn new(address: SocketAddr, scheme: Scheme, given: &[String]) -> Result<Self, NoName> {
        let port = address.port();
        let mut origins = Vec::new();
        for name in given {
            origins.extend(named(name, scheme, port).ok_or_else(|| NoName(name.clone()))?);
        }
        let first = origins.first().cloned();
        let own = ["127.0.0.1", "localhost", "[::1]"].map(str::to_owned);
        // Loopback has more than one address, and other networks too.
        let listening = (!address.ip().is_unspecified()).then(|| literal(address.ip()));
        for name in own.into_iter().chain(listening) {
            origins.extend(at(scheme, &name, port));
        }
        let shown = first.unwrap_or_else(|| {
            let address = if address.ip().is_unspecified() { outward() } else { address.ip() };
            Origin { scheme, host: format!("{}:{port}", literal(address)) }
        });
        Ok(Self { scheme, port, origins, base: String::new(), shown })
    }

    /// With a path before every other.
    pub(crate) fn below(mut self, base: &str) -> Result<Self, NoBasePath> {
        let trimmed = base.strip_suffix('/').unwrap_or(base);
        let is_part = |part: &str| {
            let plain = part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte));
            plain && !part.is_empty() && !part.chars().all(|character| character == '.')
        };
        let parts = trimmed.strip_prefix('/').map(|parts| parts.split('/').all(is_part));
        match (trimmed, parts) {
            ("", _) => {}
            (_, Some(true)) => trimmed.clone_into(&mut self.base),
            _ => return Err(NoBasePath(base.to_owned())),
        }
        Ok(self)
    }

    /// The names alone, without ports: what a certificate is for.
    pub(crate) fn bare(&self) -> Vec<String> {
        let mut bare: Vec<String> = Vec::new();
        for origin in &self.origins {
            let split = origin.host.rsplit_once(':').filter(|(_, port)| !port.contains(']'));
            let name = split.map_or(origin.host.as_str(), |(name, _)| name).trim_matches(['[', ']']);
            if !bare.iter().any(|known| known == name) {
                bare.push(name.to_owned());
            }
        }
        bare
    }

    /// The address of the page, without what stands behind it.
    pub(crate) fn page(&self) -> String {
        format!("{}{}/", self.shown.text(), self.base)
    }
}

/// An address as it stands in a header.
pub(crate) fn literal(address: IpAddr) -> String {
    match address.to_canonical() {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => format!("[{address}]"),
    }
}

/// A name at a port, as browsers write it; both ways if it is the usual one.
fn at(scheme: Scheme, name: &str, port: u16) -> Vec<Origin> {
    let host = name.to_ascii_lowercase();
    let whole = Origin { scheme, host: format!("{host}:{port}") };
    if port == scheme.usual_port() { vec![Origin { scheme, host }, whole] } else { vec![whole] }
}

fn named(given: &str, own: Scheme, own_port: u16) -> Option<Vec<Origin>> {
    let schemes = [("http://", Scheme::Http), ("https://", Scheme::Https)];
    for (prefix, scheme) in schemes {
        if let Some(rest) = given.strip_prefix(prefix) {
            // A colon inside of brackets is the address's.
            let split = rest.rsplit_once(':').filter(|(_, port)| !port.contains(']'));
            let (name, port) = match split {
                Some((name, port)) => (name, port.parse().ok().filter(|port| *port > 0)?),
                None => (rest, scheme.usual_port()),
            };
            return is_name(name).then(|| at(scheme, name, port));
        }
    }
    is_name(given).then(|| at(own, given, own_port))
}

fn is_name(name: &str) -> bool {
    if let Some(address) = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')) {
        return address.parse::<std::net::Ipv6Addr>().is_ok();
    }
    let is_label = |label: &str| {
        let ends = label.starts_with('-') || label.ends_with('-');
        let plain = label.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
        !label.is_empty() && label.len() <= 63 && plain && !ends
    };
    name.len() <= 253 && name.split('.').all(is_label)
}

/// The address under which this machine is likely known to others. Nothing is sent: connecting a datagram socket
/// only chooses a way.
fn outward() -> IpAddr {
    let chosen = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).and_then(|socket| {
        // An address for documents, which is nobody's.
        socket.connect((Ipv4Addr::new(192, 0, 2, 1), 9))?;
        socket.local_addr()
    });
    chosen.map_or(IpAddr::V4(Ipv4Addr::LOCALHOST), |address| address.ip())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn names(address: &str, scheme: Scheme, given: &[&str]) -> Result<Names, NoName> {
        let given: Vec<String> = given.iter().map(|name| (*name).to_owned()).collect();
        Names::new(address.parse().unwrap(), scheme, &given)
    }

    fn texts(names: &Names) -> Vec<String> {
        names.origins.iter().map(Origin::text).collect()
    }

    #[test]
    fn a_server_has_its_own_names_and_those_it_was_given() {
        let names = names("192.0.2.5:4180", Scheme::Https, &["Box.local", "https://example.org"]).unwrap();
        assert_eq!(
            texts(&names),
            [
                "https://box.local:4180",
                "https://example.org",
                "https://example.org:443",
                "https://127.0.0.1:4180",
                "https://localhost:4180",
                "https://[::1]:4180",
                "https://192.0.2.5:4180",
            ]
        );
        assert_eq!(names.page(), "https://box.local:4180/");
    }

    #[test]
    fn a_link_names_what_can_be_reached() {
        let page = |address, given: &[&str]| names(address, Scheme::Http, given).unwrap().page();
        assert_eq!(page("127.0.0.1:4180", &[]), "http://127.0.0.1:4180/");
        assert_eq!(page("[::1]:4180", &[]), "http://[::1]:4180/");
        assert!(!page("0.0.0.0:4180", &[]).contains("0.0.0.0"));
        let below = names("127.0.0.1:4180", Scheme::Http, &["https://example.org"]).unwrap();
        assert_eq!(below.below("/tools/jackfield/").unwrap().page(), "https://example.org/tools/jackfield/");
    }

    #[test]
    fn what_is_no_name_is_refused() {
        for wrong in [
            "",
            "*",
            "*.example.org",
            "example.org/",
            "example.org:443",
            "https://example.org/",
            "https://",
            "https://user@example.org",
            "https://example.org:0",
            "https://example.org:x",
            "ftp://example.org",
            "a b",
            "[nonsense]",
            "-a.test",
            "a..test",
        ] {
            assert!(names("127.0.0.1:1", Scheme::Http, &[wrong]).is_err(), "{wrong}");
        }
        for right in ["box", "10.0.0.1", "[fd00::1]", "https://[fd00::1]:8443", "http://a-b.test:81"] {
            assert!(names("127.0.0.1:1", Scheme::Http, &[right]).is_ok(), "{right}");
        }
    }

    #[test]
    fn what_is_no_base_path_is_refused() {
        let below =
            |base: &str| names("127.0.0.1:1", Scheme::Http, &[]).unwrap().below(base).map(|names| names.base);
        assert_eq!(below("").unwrap(), "");
        assert_eq!(below("/").unwrap(), "");
        assert_eq!(below("/a/b-c").unwrap(), "/a/b-c");
        for wrong in
            ["a", "//", "/a//b", "/..", "/a/../b", "/a?b", "/a#b", "/a\"b", "/a<b", "/a b", "http://x"]
        {
            assert!(below(wrong).is_err(), "{wrong}");
        }
    }
}

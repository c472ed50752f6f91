//! Who may connect: what is looked at before a connection becomes a WebSocket.
//!
//! Any program on the machine, and any page in a browser on it, can reach a port of loopback. The one rule it keeps:
//! nothing is said to anybody who has not shown the token, and nothing at all to a browser.

use axum::http::header::{HOST, ORIGIN};
use axum::http::{HeaderMap, Method, StatusCode, Uri};

use crate::token::Token;

/// The header in which the CLI shows the token [connect_and_selection].
pub(crate) const TOKEN: &str = "x-claude-code-ide-authorization";

/// The names and the token of a server.
#[derive(Debug)]
pub(crate) struct Gate {
    hosts: [String; 2],
    token: Token,
}

impl Gate {
    pub(crate) fn new(port: u16, token: Token) -> Self {
        Self { hosts: [format!("127.0.0.1:{port}"), format!("localhost:{port}")], token }
    }

    /// Lets a request through, or says how it is refused.
    pub(crate) fn check(&self, method: &Method, uri: &Uri, headers: &HeaderMap) -> Result<(), StatusCode> {
        let named = uri.authority().map(|authority| authority.as_str().to_owned());
        let is_ours = |host: &str| self.hosts.iter().any(|ours| ours.eq_ignore_ascii_case(host));
        let mut hosts = headers.get_all(HOST).iter().map(|host| host.to_str().unwrap_or_default());
        let host = hosts.next().is_some_and(is_ours) && hosts.next().is_none();
        if !host || named.is_some_and(|named| !is_ours(&named)) {
            return Err(StatusCode::FORBIDDEN);
        }
        // Browsers always send one with a WebSocket, the CLI never does [connect_and_selection].
        if headers.contains_key(ORIGIN) {
            return Err(StatusCode::FORBIDDEN);
        }
        let mut tokens = headers.get_all(TOKEN).iter();
        let known = tokens.next().is_some_and(|shown| self.token.is(shown.as_bytes()));
        if !known || tokens.next().is_some() {
            return Err(StatusCode::UNAUTHORIZED);
        }
        if *method == Method::GET && uri.path() == "/" { Ok(()) } else { Err(StatusCode::NOT_FOUND) }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn s1_to_s4_only_the_cli_with_the_token_comes_in() {
        let token = Token::random().unwrap();
        let right = token.reveal().to_owned();
        let gate = Gate::new(4711, token);
        let other = Token::random().unwrap();
        let judged = |list: &[(&'static str, &str)]| {
            let mut headers = HeaderMap::new();
            for (name, value) in list {
                headers.append(*name, HeaderValue::from_str(value).unwrap());
            }
            gate.check(&Method::GET, &Uri::from_static("/"), &headers)
        };
        let host = ("host", "127.0.0.1:4711");
        let token = (TOKEN, &*right);
        assert_eq!(judged(&[host, token]), Ok(()));
        assert_eq!(judged(&[("host", "LOCALHOST:4711"), token]), Ok(()));
        for wrong in ["", "127.0.0.1", "127.0.0.1:4712", "evil.test:4711", "127.0.0.1:4711.evil.test"] {
            assert_eq!(judged(&[("host", wrong), token]), Err(StatusCode::FORBIDDEN), "{wrong}");
        }
        assert_eq!(judged(&[token]), Err(StatusCode::FORBIDDEN));
        assert_eq!(judged(&[host, ("host", "evil.test"), token]), Err(StatusCode::FORBIDDEN));
        for origin in ["null", "http://127.0.0.1:4711", "http://localhost:4711", "vscode-webview://x", ""] {
            assert_eq!(judged(&[host, token, ("origin", origin)]), Err(StatusCode::FORBIDDEN), "{origin}");
        }
        assert_eq!(judged(&[host]), Err(StatusCode::UNAUTHORIZED));
        assert_eq!(judged(&[host, (TOKEN, "")]), Err(StatusCode::UNAUTHORIZED));
        assert_eq!(judged(&[host, (TOKEN, other.reveal())]), Err(StatusCode::UNAUTHORIZED));
        assert_eq!(judged(&[host, (TOKEN, &right[1..])]), Err(StatusCode::UNAUTHORIZED));
        assert_eq!(judged(&[host, token, token]), Err(StatusCode::UNAUTHORIZED));
        let mut headers = HeaderMap::new();
        headers.insert("host", HeaderValue::from_static("127.0.0.1:4711"));
        headers.insert(TOKEN, HeaderValue::from_str(&right).unwrap());
        let post = gate.check(&Method::POST, &Uri::from_static("/"), &headers);
        assert_eq!(post, Err(StatusCode::NOT_FOUND));
        let proxied = gate.check(&Method::GET, &Uri::from_static("http://evil.test/"), &headers);
        assert_eq!(proxied, Err(StatusCode::FORBIDDEN));
    }
}

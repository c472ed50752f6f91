//! Who may come in: programs with the token, browsers with a login, and this machine's user over the Unix socket.
//!
//! What a caller may do with a session is the host's business; here is only who it is and its scope. The one rule
//! it keeps: whoever fails is told the same, whatever was wrong.

pub(crate) mod gate;
pub(crate) mod logins;
pub(crate) mod private_file;
pub(crate) mod secret;
pub(crate) mod tickets;

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime};

use axum::http::HeaderMap;
use axum::http::header::{AUTHORIZATION, COOKIE};
use jackfield_api::socket::Scope;
use tokio_util::sync::CancellationToken;

use gate::{Door, Gate};
use logins::{Given, Known, Logins};
use secret::{Digest, NoSecret, Secret};
use tickets::Tickets;

/// The header with a tab's key.
pub(crate) const KEY: &str = "x-jackfield-key";

/// Why access could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// A file could not be read.
    #[error("cannot read `{}`: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// A file could not be written.
    #[error("cannot write `{}`: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// The token's file has something else in it.
    #[error("there is no token in `{}`; remove the file to get a new one", path.display())]
    NoToken {
        /// The file.
        path: PathBuf,
    },
    /// There are no secrets to be had.
    #[error(transparent)]
    NoSecret(#[from] NoSecret),
}

impl OpenError {
    fn read(path: &Path, source: io::Error) -> Self {
        Self::Read { path: path.to_owned(), source }
    }
}

/// Who may come in.
#[derive(Debug)]
pub(crate) struct Access {
    pub(crate) gate: Gate,
    address: SocketAddr,
    /// The cookie's name: cookies are shared by all ports of a machine, and so several hosts would fight for one.
    cookie: String,
    token: Digest,
    tickets: Tickets,
    logins: Logins,
}

/// Somebody who was let in.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    pub(crate) kind: CallerKind,
    pub(crate) scope: Scope,
    /// Done when it is no longer let in.
    pub(crate) over: CancellationToken,
}

/// What a caller is.
#[derive(Debug, Clone)]
pub(crate) enum CallerKind {
    /// A program with the token.
    Program,
    /// A program of the same user.
    Local,
    /// A browser.
    Browser(Known),
}

/// How a request shows who it is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyShown {
    /// All at once.
    InHeader,
    /// A browser cannot add a header to an upgrade; its key comes in the first frame.
    InFirstFrame,
}

impl Access {
    /// Takes the token from its file, or makes one at the first start.
    pub(crate) fn open(folder: &Path, address: SocketAddr) -> Result<Self, OpenError> {
        Ok(Self {
            gate: Gate::new(address),
            address,
            cookie: format!("jackfield_{}", address.port()),
            token: token(&folder.join("token"))?.digest(),
            tickets: Tickets::default(),
            logins: Logins::open(folder.join("logins.json"))?,
        })
    }

    /// A new one-time link.
    pub(crate) fn link(&self, scope: Scope) -> Result<String, NoSecret> {
        let ticket = self.tickets.issue(Instant::now(), scope)?;
        Ok(format!("http://{}/#ticket={}", self.address, ticket.reveal()))
    }

    /// Exchanges a ticket for a login.
    pub(crate) fn log_in(&self, ticket: &str, headers: &HeaderMap) -> Result<Option<Given>, NoSecret> {
        let Some(scope) = self.tickets.redeem(ticket, Instant::now()) else { return Ok(None) };
        self.logins.begin(self.cookie_in(headers), scope, SystemTime::now()).map(Some)
    }

    /// Ends a browser's login.
    pub(crate) fn log_out(&self, caller: &Caller) {
        if let CallerKind::Browser(known) = &caller.kind {
            self.logins.end(known);
        }
    }

    /// Who a request is from.
    pub(crate) fn caller(&self, door: Door, headers: &HeaderMap, key: KeyShown) -> Option<Caller> {
        let admin = |kind| Caller { kind, scope: Scope::Admin, over: CancellationToken::new() };
        if door == Door::Local {
            return Some(admin(CallerKind::Local));
        }
        if headers.contains_key(AUTHORIZATION) {
            let shown = bearer(headers)?;
            return (Digest::of(shown) == self.token).then(|| admin(CallerKind::Program));
        }
        let known = self.logins.known(self.cookie_in(headers)?, SystemTime::now())?;
        if key == KeyShown::InHeader {
            let shown = headers.get(KEY)?.to_str().ok()?;
            self.logins.has_key(&known, shown).then_some(())?;
        }
        let (scope, over) = (known.scope, known.over.clone());
        Some(Caller { kind: CallerKind::Browser(known), scope, over })
    }

    /// Whether the key of the first frame is the caller's. Only browsers need one.
    pub(crate) fn has_key(&self, caller: &Caller, key: Option<&str>) -> bool {
        match &caller.kind {
            CallerKind::Program | CallerKind::Local => true,
            CallerKind::Browser(known) => key.is_some_and(|key| self.logins.has_key(known, key)),
        }
    }

    /// The header that gives a browser its cookie, or takes it away.
    pub(crate) fn set_cookie(&self, cookie: Option<&Secret>) -> String {
        let (value, age) = cookie.map_or(("", 0), |cookie| (cookie.reveal(), logins::LIFE.as_secs()));
        format!("{}={value}; Path=/; Max-Age={age}; HttpOnly; SameSite=Strict", self.cookie)
    }

    fn cookie_in<'a>(&self, headers: &'a HeaderMap) -> Option<&'a str> {
        let lists = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
        let mut pairs = lists.flat_map(|list| list.split(';')).filter_map(|pair| pair.trim().split_once('='));
        pairs.find(|(name, _)| *name == self.cookie).map(|(_, value)| value)
    }
}

impl Caller {
    /// What it is called if it does not say.
    pub(crate) fn name(&self) -> &'static str {
        match self.kind {
            CallerKind::Program => "program",
            CallerKind::Local => "local program",
            CallerKind::Browser(_) => "browser",
        }
    }
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let (value, None) = (values.next()?, values.next()) else { return None };
    let (scheme, token) = value.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(token)
}

fn token(path: &Path) -> Result<Secret, OpenError> {
    let kept = private_file::read(path).map_err(|source| OpenError::read(path, source))?;
    if let Some(text) = kept {
        let secret = Secret::read(text.trim_end());
        return secret.ok_or_else(|| OpenError::NoToken { path: path.to_owned() });
    }
    let secret = Secret::random()?;
    private_file::write(path, &format!("{}\n", secret.reveal()))
        .map_err(|source| OpenError::Write { path: path.to_owned(), source })?;
    Ok(secret)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use axum::http::{HeaderName, HeaderValue};

    use super::*;

    struct Place {
        folder: tempfile::TempDir,
        access: Access,
    }

    fn place() -> Place {
        let folder = tempfile::tempdir().unwrap();
        let access = Access::open(folder.path(), "127.0.0.1:4180".parse().unwrap()).unwrap();
        Place { folder, access }
    }

    fn headers(list: &[(HeaderName, String)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in list {
            headers.append(name.clone(), HeaderValue::from_str(value).unwrap());
        }
        headers
    }

    impl Place {
        fn token(&self) -> String {
            std::fs::read_to_string(self.folder.path().join("token")).unwrap().trim().to_owned()
        }

        fn is_let_in(&self, list: &[(HeaderName, String)]) -> bool {
            self.access.caller(Door::Network, &headers(list), KeyShown::InHeader).is_some()
        }

        fn log_in(&self) -> Given {
            let link = self.access.link(Scope::Admin).unwrap();
            let (page, ticket) = link.split_once("#ticket=").unwrap();
            assert_eq!(page, "http://127.0.0.1:4180/");
            self.access.log_in(ticket, &HeaderMap::new()).unwrap().unwrap()
        }
    }

    #[test]
    fn s5_only_the_whole_token_as_a_bearer_is_good() {
        let place = place();
        let token = place.token();
        assert!(place.is_let_in(&[(AUTHORIZATION, format!("Bearer {token}"))]));
        assert!(place.is_let_in(&[(AUTHORIZATION, format!("bearer {token}"))]));
        for wrong in [
            String::new(),
            token.clone(),
            "Bearer ".to_owned(),
            format!("Basic {token}"),
            format!("Bearer {}", &token[1..]),
            format!("Bearer {token}x"),
            format!("Bearer  {token}"),
            format!("Bearer {}", token.to_lowercase()),
        ] {
            assert!(!place.is_let_in(&[(AUTHORIZATION, wrong.clone())]), "{wrong}");
        }
        let twice = (AUTHORIZATION, format!("Bearer {token}"));
        assert!(!place.is_let_in(&[twice.clone(), twice]));
        assert!(!place.is_let_in(&[]));
    }

    #[test]
    fn s9_neither_cookie_nor_key_alone_is_good() {
        let place = place();
        let given = place.log_in();
        let cookie = (COOKIE, format!("a=b; jackfield_4180={}; c=d", given.cookie.unwrap().reveal()));
        let key = (HeaderName::from_static(KEY), given.key.reveal().to_owned());
        assert!(place.is_let_in(&[cookie.clone(), key.clone()]));
        assert!(!place.is_let_in(std::slice::from_ref(&cookie)));
        assert!(!place.is_let_in(std::slice::from_ref(&key)));
        let elsewhere = (COOKIE, cookie.1.replace("4180", "4181"));
        assert!(!place.is_let_in(&[elsewhere, key.clone()]));
        let wrong_token = (AUTHORIZATION, "Bearer x".to_owned());
        assert!(!place.is_let_in(&[cookie.clone(), key.clone(), wrong_token]));

        let caller = place.access.caller(Door::Network, &headers(&[cookie]), KeyShown::InFirstFrame).unwrap();
        assert!(place.access.has_key(&caller, Some(&key.1)));
        assert!(!place.access.has_key(&caller, None) && !place.access.has_key(&caller, Some("")));
    }

    #[test]
    fn the_token_stays_the_same_and_a_spoilt_file_is_told() {
        let place = place();
        let token = place.token();
        let address = "127.0.0.1:4180".parse().unwrap();
        let again = Access::open(place.folder.path(), address).unwrap();
        assert!(again.token == Digest::of(&token));
        std::fs::write(place.folder.path().join("token"), "secret").unwrap();
        let error = Access::open(place.folder.path(), address).unwrap_err();
        assert!(matches!(error, OpenError::NoToken { .. }), "{error}");
    }
}

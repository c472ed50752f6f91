//! Who may come in: programs with the token, browsers with a login, and this machine's user over the Unix socket.
//!
//! What a caller may do with a session is the host's business; here is only who it is and its scope. The one rule
//! it keeps: whoever fails is told the same, whatever was wrong.

pub(crate) mod failures;
pub(crate) mod gate;
pub(crate) mod logins;
pub(crate) mod names;
pub(crate) mod private_file;
pub(crate) mod secret;
pub(crate) mod tickets;

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use axum::http::HeaderMap;
use axum::http::header::{AUTHORIZATION, COOKIE};
use jackfield_api::socket::Scope;
use tokio_util::sync::CancellationToken;

use failures::Failures;
use gate::{Door, Gate};
use logins::{Device, Given, Known, Logins};
use names::Names;
use secret::{Digest, NoSecret, Secret};
use tickets::{Grant, Tickets};

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
    token: Digest,
    tickets: Tickets,
    logins: Logins,
    failures: Failures,
}

/// Why somebody is not let in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NotLetIn {
    /// What it showed is good for nothing.
    Unknown,
    /// It was wrong too often; what it shows is not looked at for so long.
    TooOften(Duration),
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
    pub(crate) fn open(folder: &Path, names: Names) -> Result<Self, OpenError> {
        Ok(Self {
            gate: Gate::new(names),
            token: token(&folder.join("token"))?.digest(),
            tickets: Tickets::default(),
            logins: Logins::open(folder.join("logins.json"))?,
            failures: Failures::default(),
        })
    }

    /// A new one-time link.
    pub(crate) fn link(&self, scope: Scope, name: Option<&str>) -> Result<String, NoSecret> {
        let name = name.map(spoken).filter(|name| !name.is_empty());
        let ticket = self.tickets.issue(Instant::now(), Grant { scope, name })?;
        Ok(format!("{}#ticket={}", self.gate.names().page(), ticket.reveal()))
    }

    /// Exchanges a ticket for a login.
    pub(crate) fn log_in(
        &self,
        door: Door,
        ticket: &str,
        headers: &HeaderMap,
    ) -> Result<Result<Given, NotLetIn>, NoSecret> {
        if let Err(too_often) = self.may_try(door) {
            return Ok(Err(too_often));
        }
        let Some(grant) = self.tickets.redeem(ticket, Instant::now()) else {
            return Ok(Err(self.failed(door)));
        };
        self.logins.begin(self.cookie_in(headers), grant, SystemTime::now()).map(Ok)
    }

    /// The browsers that were let in, the last seen first.
    pub(crate) fn devices(&self) -> Vec<Device> {
        self.logins.devices(SystemTime::now())
    }

    /// Lets a browser in no more, and ends its connections; `None` if there is none of this id.
    pub(crate) fn revoke(&self, id: &str) -> Option<Device> {
        self.logins.revoke(id)
    }

    /// Ends a browser's login.
    pub(crate) fn log_out(&self, caller: &Caller) {
        if let CallerKind::Browser(known) = &caller.kind {
            self.logins.end(known);
        }
    }

    /// Who a request is from. A browser that is logged in is let in also while its address has to wait: strangers
    /// behind the same proxy, or other users of this machine, must not be able to lock it out.
    pub(crate) fn caller(&self, door: Door, headers: &HeaderMap, key: KeyShown) -> Result<Caller, NotLetIn> {
        if door == Door::Local {
            return Ok(Caller::admin(CallerKind::Local));
        }
        if let Some(known) = self.browser(headers, key) {
            let (scope, over) = (known.scope, known.over.clone());
            return Ok(Caller { kind: CallerKind::Browser(known), scope, over });
        }
        self.may_try(door)?;
        match bearer(headers) {
            Some(shown) if Digest::of(shown) == self.token => Ok(Caller::admin(CallerKind::Program)),
            _ => Err(self.failed(door)),
        }
    }

    /// Whether the key of the first frame is the caller's. Only browsers need one.
    pub(crate) fn has_key(&self, door: Door, caller: &Caller, key: Option<&str>) -> bool {
        let CallerKind::Browser(known) = &caller.kind else { return true };
        let right = key.is_some_and(|key| self.logins.has_key(known, key, SystemTime::now()));
        if !right {
            self.failed(door);
        }
        right
    }

    /// The header that gives a browser its cookie, or takes it away.
    pub(crate) fn set_cookie(&self, headers: &HeaderMap, cookie: Option<&Secret>) -> String {
        let (value, age) = cookie.map_or(("", 0), |cookie| (cookie.reveal(), logins::LIFE.as_secs()));
        let secure = if self.gate.is_secure(headers) { "; Secure" } else { "" };
        let name = self.cookie_name(headers);
        format!("{name}={value}; Path=/; Max-Age={age}; HttpOnly; SameSite=Strict{secure}")
    }

    /// Cookies are shared by all ports of a machine, and so several hosts would fight for one name. The prefix makes
    /// browsers see to it that nobody else set it.
    fn cookie_name(&self, headers: &HeaderMap) -> String {
        let prefix = if self.gate.is_secure(headers) { "__Host-" } else { "" };
        format!("{prefix}jackfield_{}", self.gate.names().port)
    }

    fn cookie_in<'a>(&self, headers: &'a HeaderMap) -> Option<&'a str> {
        let wanted = self.cookie_name(headers);
        let lists = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
        let mut pairs = lists.flat_map(|list| list.split(';')).filter_map(|pair| pair.trim().split_once('='));
        pairs.find(|(name, _)| *name == wanted).map(|(_, value)| value)
    }

    fn browser(&self, headers: &HeaderMap, key: KeyShown) -> Option<Known> {
        // Who shows a token is a program, and none if the token is wrong.
        if headers.contains_key(AUTHORIZATION) {
            return None;
        }
        let now = SystemTime::now();
        let known = self.logins.known(self.cookie_in(headers)?, now)?;
        if key == KeyShown::InHeader {
            let shown = headers.get(KEY)?.to_str().ok()?;
            self.logins.has_key(&known, shown, now).then_some(())?;
        }
        Some(known)
    }

    fn may_try(&self, door: Door) -> Result<(), NotLetIn> {
        let Door::Network(ends) = door else { return Ok(()) };
        self.failures.wait(ends.peer, Instant::now()).map_or(Ok(()), |wait| Err(NotLetIn::TooOften(wait)))
    }

    fn failed(&self, door: Door) -> NotLetIn {
        if let Err(too_often) = self.may_try(door) {
            return too_often;
        }
        if let Door::Network(ends) = door {
            self.failures.add(ends.peer, Instant::now());
        }
        NotLetIn::Unknown
    }
}

impl Caller {
    fn admin(kind: CallerKind) -> Self {
        Self { kind, scope: Scope::Admin, over: CancellationToken::new() }
    }

    /// What people are told who it is: the name that its login was given, else what it says of itself.
    pub(crate) fn name(&self, said: &str) -> String {
        let said = spoken(said);
        let (given, kind) = match &self.kind {
            CallerKind::Program => (None, "program"),
            CallerKind::Local => (None, "local program"),
            CallerKind::Browser(known) => (known.name.clone(), "browser"),
        };
        given.unwrap_or_else(|| if said.is_empty() { kind.to_owned() } else { said })
    }
}

/// How long a name may be.
const NAME: usize = 80;

/// A name as people are shown it: short, and without characters that would change how others are read.
fn spoken(name: &str) -> String {
    let turns = |character: &char| matches!(character, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}');
    let plain = name.chars().filter(|character| !character.is_control() && !turns(character));
    plain.take(NAME).collect::<String>().trim().to_owned()
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

    const LOOPBACK: std::net::IpAddr = std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

    fn names() -> Names {
        Names::new("127.0.0.1:4180".parse().unwrap(), names::Scheme::Http, &[]).unwrap()
    }

    /// From somebody who was never wrong.
    fn door() -> Door {
        static NEXT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let next = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        Door::Network(gate::Ends {
            peer: std::net::IpAddr::V4((0x0a00_0000 + next).into()),
            reached: LOOPBACK,
        })
    }

    struct Place {
        folder: tempfile::TempDir,
        access: Access,
    }

    fn place() -> Place {
        let folder = tempfile::tempdir().unwrap();
        let access = Access::open(folder.path(), names()).unwrap();
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
            self.access.caller(door(), &headers(list), KeyShown::InHeader).is_ok()
        }

        fn log_in(&self) -> Given {
            let link = self.access.link(Scope::Admin, None).unwrap();
            let (page, ticket) = link.split_once("#ticket=").unwrap();
            assert_eq!(page, "http://127.0.0.1:4180/");
            self.access.log_in(door(), ticket, &HeaderMap::new()).unwrap().unwrap()
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

        let caller = place.access.caller(door(), &headers(&[cookie]), KeyShown::InFirstFrame).unwrap();
        assert!(place.access.has_key(door(), &caller, Some(&key.1)));
        assert!(
            !place.access.has_key(door(), &caller, None) && !place.access.has_key(door(), &caller, Some(""))
        );
    }

    #[test]
    fn the_token_stays_the_same_and_a_spoilt_file_is_told() {
        let place = place();
        let token = place.token();
        let again = Access::open(place.folder.path(), names()).unwrap();
        assert!(again.token == Digest::of(&token));
        std::fs::write(place.folder.path().join("token"), "secret").unwrap();
        let error = Access::open(place.folder.path(), names()).unwrap_err();
        assert!(matches!(error, OpenError::NoToken { .. }), "{error}");
    }

    #[test]
    fn s5_who_was_wrong_too_often_is_not_listened_to_and_who_is_logged_in_is() {
        let place = place();
        let given = place.log_in();
        let door = door();
        let token = headers(&[(AUTHORIZATION, format!("Bearer {}", place.token()))]);
        let wrong = headers(&[(AUTHORIZATION, "Bearer x".to_owned())]);
        let caller = |headers: &HeaderMap| place.access.caller(door, headers, KeyShown::InHeader);
        for _ in 0..failures::FAILURES {
            assert!(caller(&token).is_ok(), "successes do not count");
            assert_eq!(caller(&wrong).unwrap_err(), NotLetIn::Unknown);
        }
        let ticket = place.access.link(Scope::Admin, None).unwrap();
        let ticket = ticket.split_once("#ticket=").unwrap().1;
        for refused in [
            caller(&wrong).unwrap_err(),
            caller(&token).unwrap_err(),
            caller(&HeaderMap::new()).unwrap_err(),
            place.access.log_in(door, ticket, &HeaderMap::new()).unwrap().unwrap_err(),
            place.access.log_in(door, "wrong", &HeaderMap::new()).unwrap().unwrap_err(),
        ] {
            assert!(matches!(refused, NotLetIn::TooOften(wait) if wait <= failures::WITHIN), "{refused:?}");
        }
        let browser = headers(&[
            (COOKIE, format!("jackfield_4180={}", given.cookie.unwrap().reveal())),
            (HeaderName::from_static(KEY), given.key.reveal().to_owned()),
        ]);
        assert!(caller(&browser).is_ok());
        assert!(place.access.caller(Door::Local, &HeaderMap::new(), KeyShown::InHeader).is_ok());
        let other = self::door();
        assert!(place.access.caller(other, &token, KeyShown::InHeader).is_ok(), "another peer");
        assert!(place.access.log_in(other, ticket, &HeaderMap::new()).unwrap().is_ok(), "it was not used up");
    }

    #[test]
    fn s9_with_tls_a_cookie_is_for_this_host_alone() {
        let folder = tempfile::tempdir().unwrap();
        let given = ["https://example.org".to_owned()];
        let names = Names::new("127.0.0.1:4180".parse().unwrap(), names::Scheme::Http, &given).unwrap();
        let access = Access::open(folder.path(), names).unwrap();
        let secret = Secret::random().unwrap();
        let set = |host: &str| {
            access.set_cookie(&headers(&[(axum::http::header::HOST, host.to_owned())]), Some(&secret))
        };
        let plain = set("127.0.0.1:4180");
        assert!(plain.starts_with("jackfield_4180=") && !plain.contains("Secure"), "{plain}");
        let secure = set("example.org");
        assert!(secure.starts_with("__Host-jackfield_4180=") && secure.ends_with("; Secure"), "{secure}");
        assert!(secure.contains("Path=/;") && !secure.contains("Domain"), "{secure}");
    }

    #[test]
    fn a_name_is_shown_without_what_would_change_how_it_is_read() {
        assert_eq!(spoken("  the\tphone\u{202e}\n "), "thephone");
        assert_eq!(spoken(&"é".repeat(200)).chars().count(), NAME);
        let caller = Caller::admin(CallerKind::Program);
        assert_eq!((caller.name(""), caller.name(" x ")), ("program".to_owned(), "x".to_owned()));
    }
}

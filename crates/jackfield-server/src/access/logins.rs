//! Browsers that were let in: a cookie, and a key per tab.
//!
//! A cookie is sent to every server on this machine, whatever its port, and so is not a secret from them; the
//! key is. Logins outlive the server, as digests in a file. The one rule it keeps: cookie and key of the same
//! login, or nothing.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use jackfield_api::socket::Scope;
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use super::OpenError;
use super::private_file;
use super::secret::{Digest, NoSecret, Secret};

/// How long a login is good.
pub(crate) const LIFE: Duration = Duration::from_hours(30 * 24);
/// More logins than this are nobody's need; the oldest goes.
const MOST: usize = 64;
/// More tabs than this of one login are nobody's need; the oldest key goes.
const MOST_KEYS: usize = 32;

/// Browsers that were let in.
#[derive(Debug)]
pub(crate) struct Logins {
    file: PathBuf,
    open: Mutex<BTreeMap<Digest, Login>>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Login {
    keys: Vec<Digest>,
    scope: Scope,
    since: SystemTime,
    /// Ends the connections that were made with it.
    #[serde(skip)]
    over: CancellationToken,
}

/// What a browser is given.
#[derive(Debug)]
pub(crate) struct Given {
    /// A new cookie; `None` if it keeps the one it has.
    pub(crate) cookie: Option<Secret>,
    pub(crate) key: Secret,
    pub(crate) scope: Scope,
}

/// A browser that showed its cookie, and perhaps its key.
#[derive(Debug, Clone)]
pub(crate) struct Known {
    cookie: Digest,
    pub(crate) scope: Scope,
    /// Done when the login is over.
    pub(crate) over: CancellationToken,
}

impl Logins {
    pub(crate) fn open(file: PathBuf) -> Result<Self, OpenError> {
        let text = private_file::read(&file).map_err(|source| OpenError::read(&file, source))?;
        // A login is made anew with one click: a file that cannot be read is not worth a server that cannot
        // start.
        let kept: Vec<(Digest, Login)> =
            text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
        Ok(Self { file, open: Mutex::new(kept.into_iter().collect()) })
    }

    /// Lets a browser in. One that is in already gets a key for another tab.
    pub(crate) fn begin(
        &self,
        cookie: Option<&str>,
        scope: Scope,
        now: SystemTime,
    ) -> Result<Given, NoSecret> {
        let key = Secret::random()?;
        let mut open = self.lock();
        open.retain(|_, login| login.is_good(now));
        let known = cookie.and_then(|shown| open.get_mut(&Digest::of(shown)));
        let cookie = match known {
            Some(login) if login.scope == scope => {
                if login.keys.len() >= MOST_KEYS {
                    login.keys.remove(0);
                }
                login.keys.push(key.digest());
                None
            }
            _ => {
                while open.len() >= MOST {
                    let oldest = open.iter().min_by_key(|(_, login)| login.since).map(|(digest, _)| *digest);
                    oldest.and_then(|digest| open.remove(&digest)).inspect(|login| login.over.cancel());
                }
                let cookie = Secret::random()?;
                let over = CancellationToken::new();
                open.insert(cookie.digest(), Login { keys: vec![key.digest()], scope, since: now, over });
                Some(cookie)
            }
        };
        self.keep(&open);
        Ok(Given { cookie, key, scope })
    }

    /// Who shows this cookie. Not enough for anything but to be asked for the key.
    pub(crate) fn known(&self, cookie: &str, now: SystemTime) -> Option<Known> {
        let cookie = Digest::of(cookie);
        let open = self.lock();
        let login = open.get(&cookie).filter(|login| login.is_good(now))?;
        Some(Known { cookie, scope: login.scope, over: login.over.clone() })
    }

    /// Whether this is a key of that login.
    pub(crate) fn has_key(&self, known: &Known, key: &str) -> bool {
        let key = Digest::of(key);
        self.lock().get(&known.cookie).is_some_and(|login| login.keys.contains(&key))
    }

    /// Ends a login and the connections that were made with it.
    pub(crate) fn end(&self, known: &Known) {
        let mut open = self.lock();
        if let Some(login) = open.remove(&known.cookie) {
            login.over.cancel();
            self.keep(&open);
        }
    }

    fn keep(&self, open: &BTreeMap<Digest, Login>) {
        let list: Vec<_> = open.iter().collect();
        let text = serde_json::to_string(&list).unwrap_or_default();
        // A login that is not kept is good until the server ends; nothing else depends on the file.
        let _ = private_file::write(&self.file, &text);
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Digest, Login>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Login {
    fn is_good(&self, now: SystemTime) -> bool {
        // A clock that was set back makes no login older than it is.
        now.duration_since(self.since).is_ok_and(|age| age < LIFE) || now < self.since
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn logins() -> (tempfile::TempDir, Logins) {
        let folder = tempfile::tempdir().unwrap();
        let logins = Logins::open(folder.path().join("logins.json")).unwrap();
        (folder, logins)
    }

    #[test]
    fn s9_a_cookie_needs_a_key_of_its_own_login() {
        let (_folder, logins) = logins();
        let now = SystemTime::now();
        let one = logins.begin(None, Scope::Admin, now).unwrap();
        let other = logins.begin(None, Scope::View, now).unwrap();
        let known = logins.known(one.cookie.as_ref().unwrap().reveal(), now).unwrap();
        assert!(logins.has_key(&known, one.key.reveal()));
        assert!(!logins.has_key(&known, other.key.reveal()));
        assert!(!logins.has_key(&known, ""));
        assert!(logins.known("", now).is_none());
        assert!(logins.known(one.key.reveal(), now).is_none());
    }

    #[test]
    fn a_second_tab_gets_a_key_of_its_own_and_the_first_stays_in() {
        let (_folder, logins) = logins();
        let now = SystemTime::now();
        let first = logins.begin(None, Scope::Admin, now).unwrap();
        let cookie = first.cookie.unwrap();
        let second = logins.begin(Some(cookie.reveal()), Scope::Admin, now).unwrap();
        assert!(second.cookie.is_none());
        let known = logins.known(cookie.reveal(), now).unwrap();
        assert!(logins.has_key(&known, first.key.reveal()) && logins.has_key(&known, second.key.reveal()));

        let weaker = logins.begin(Some(cookie.reveal()), Scope::View, now).unwrap();
        assert!(weaker.cookie.is_some(), "a login never changes what it may do");
    }

    #[test]
    fn a_login_outlives_the_server_and_its_file_holds_no_secret() {
        let (folder, logins) = logins();
        let now = SystemTime::now();
        let given = logins.begin(None, Scope::Admin, now).unwrap();
        let cookie = given.cookie.unwrap();
        let file = folder.path().join("logins.json");
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(!text.contains(cookie.reveal()) && !text.contains(given.key.reveal()));

        let again = Logins::open(file).unwrap();
        let known = again.known(cookie.reveal(), now).unwrap();
        assert!(again.has_key(&known, given.key.reveal()));
        assert!(again.known(cookie.reveal(), now + LIFE).is_none());
    }

    #[test]
    fn an_ended_login_ends_its_connections() {
        let (_folder, logins) = logins();
        let now = SystemTime::now();
        let cookie = logins.begin(None, Scope::Admin, now).unwrap().cookie.unwrap();
        let known = logins.known(cookie.reveal(), now).unwrap();
        logins.end(&known);
        assert!(known.over.is_cancelled());
        assert!(logins.known(cookie.reveal(), now).is_none());
        assert!(!logins.has_key(&known, "x"));
    }

    #[test]
    fn there_are_never_more_than_a_few_logins_and_keys() {
        let (_folder, logins) = logins();
        let now = SystemTime::now();
        let first = logins.begin(None, Scope::Admin, now).unwrap();
        let cookie = first.cookie.unwrap();
        for _ in 0..MOST_KEYS {
            logins.begin(Some(cookie.reveal()), Scope::Admin, now).unwrap();
        }
        let known = logins.known(cookie.reveal(), now).unwrap();
        assert!(!logins.has_key(&known, first.key.reveal()));
        for n in 1..=MOST as u64 {
            logins.begin(None, Scope::Admin, now + Duration::from_secs(n)).unwrap();
        }
        assert!(logins.known(cookie.reveal(), now).is_none() && known.over.is_cancelled());
        assert_eq!(logins.lock().len(), MOST);
    }
}

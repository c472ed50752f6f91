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
use super::tickets::Grant;

/// How long a login is good.
pub(crate) const LIFE: Duration = Duration::from_hours(30 * 24);
/// More logins than this are nobody's need; the oldest goes.
const MOST: usize = 64;
/// More tabs than this of one login are nobody's need; the oldest key goes.
const MOST_KEYS: usize = 32;

/// How exactly it is known when a login was last seen.
const SEEN: Duration = Duration::from_mins(1);

/// Browsers that were let in.
#[derive(Debug)]
pub(crate) struct Logins {
    file: PathBuf,
    open: Mutex<BTreeMap<Digest, Login>>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Login {
    id: DeviceId,
    name: Option<String>,
    keys: Vec<Digest>,
    scope: Scope,
    since: SystemTime,
    last_seen: SystemTime,
    /// Ends the connections that were made with it.
    #[serde(skip)]
    over: CancellationToken,
}

/// Names a login to people and in routes. It is no secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct DeviceId(String);

impl DeviceId {
    fn random() -> Result<Self, NoSecret> {
        // Long enough not to be there twice, short enough to be typed.
        Ok(Self(Secret::random()?.digest().short()))
    }
}

/// A login as it is shown.
#[derive(Debug, Clone)]
pub(crate) struct Device {
    pub(crate) id: DeviceId,
    pub(crate) name: Option<String>,
    pub(crate) scope: Scope,
    pub(crate) since: SystemTime,
    pub(crate) last_seen: SystemTime,
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
    pub(crate) id: DeviceId,
    pub(crate) name: Option<String>,
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
        grant: Grant,
        now: SystemTime,
    ) -> Result<Given, NoSecret> {
        let Grant { scope, name } = grant;
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
                login.last_seen = now;
                login.name = name.or(login.name.take());
                None
            }
            _ => {
                while open.len() >= MOST {
                    let oldest = open.iter().min_by_key(|(_, login)| login.since).map(|(digest, _)| *digest);
                    oldest.and_then(|digest| open.remove(&digest)).inspect(|login| login.over.cancel());
                }
                let cookie = Secret::random()?;
                let over = CancellationToken::new();
                let (id, keys) = (DeviceId::random()?, vec![key.digest()]);
                let login = Login { id, name, keys, scope, since: now, last_seen: now, over };
                open.insert(cookie.digest(), login);
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
        let (id, name, over) = (login.id.clone(), login.name.clone(), login.over.clone());
        Some(Known { cookie, id, name, scope: login.scope, over })
    }

    /// Whether this is a key of that login. If so, it was seen.
    pub(crate) fn has_key(&self, known: &Known, key: &str, now: SystemTime) -> bool {
        let key = Digest::of(key);
        let mut open = self.lock();
        let Some(login) = open.get_mut(&known.cookie).filter(|login| login.keys.contains(&key)) else {
            return false;
        };
        if now.duration_since(login.last_seen).is_ok_and(|ago| ago >= SEEN) {
            login.last_seen = now;
            self.keep(&open);
        }
        true
    }

    /// All logins that are good, the last seen first.
    pub(crate) fn devices(&self, now: SystemTime) -> Vec<Device> {
        let open = self.lock();
        let good = open.values().filter(|login| login.is_good(now));
        let mut devices: Vec<Device> = good.map(Login::shown).collect();
        devices.sort_by_key(|device| std::cmp::Reverse(device.last_seen));
        devices
    }

    /// Ends a login by its id, and the connections that were made with it; `None` if there is none.
    pub(crate) fn revoke(&self, id: &str) -> Option<Device> {
        let mut open = self.lock();
        let cookie = *open.iter().find(|(_, login)| login.id.as_str() == id)?.0;
        let login = open.remove(&cookie)?;
        login.over.cancel();
        self.keep(&open);
        Some(login.shown())
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

impl DeviceId {
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl Login {
    fn shown(&self) -> Device {
        Device {
            id: self.id.clone(),
            name: self.name.clone(),
            scope: self.scope,
            since: self.since,
            last_seen: self.last_seen,
        }
    }

    fn is_good(&self, now: SystemTime) -> bool {
        // A clock that was set back makes no login older than it is.
        now.duration_since(self.since).is_ok_and(|age| age < LIFE) || now < self.since
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn grant(scope: Scope) -> Grant {
        Grant { scope, name: None }
    }

    fn logins() -> (tempfile::TempDir, Logins) {
        let folder = tempfile::tempdir().unwrap();
        let logins = Logins::open(folder.path().join("logins.json")).unwrap();
        (folder, logins)
    }

    #[test]
    fn s9_a_cookie_needs_a_key_of_its_own_login() {
        let (_folder, logins) = logins();
        let now = SystemTime::now();
        let one = logins.begin(None, grant(Scope::Admin), now).unwrap();
        let other = logins.begin(None, grant(Scope::View), now).unwrap();
        let known = logins.known(one.cookie.as_ref().unwrap().reveal(), now).unwrap();
        assert!(logins.has_key(&known, one.key.reveal(), now));
        assert!(!logins.has_key(&known, other.key.reveal(), now));
        assert!(!logins.has_key(&known, "", now));
        assert!(logins.known("", now).is_none());
        assert!(logins.known(one.key.reveal(), now).is_none());
    }

    #[test]
    fn a_second_tab_gets_a_key_of_its_own_and_the_first_stays_in() {
        let (_folder, logins) = logins();
        let now = SystemTime::now();
        let first = logins.begin(None, grant(Scope::Admin), now).unwrap();
        let cookie = first.cookie.unwrap();
        let second = logins.begin(Some(cookie.reveal()), grant(Scope::Admin), now).unwrap();
        assert!(second.cookie.is_none());
        let known = logins.known(cookie.reveal(), now).unwrap();
        assert!(
            logins.has_key(&known, first.key.reveal(), now)
                && logins.has_key(&known, second.key.reveal(), now)
        );

        let weaker = logins.begin(Some(cookie.reveal()), grant(Scope::View), now).unwrap();
        assert!(weaker.cookie.is_some(), "a login never changes what it may do");
    }

    #[test]
    fn a_login_outlives_the_server_and_its_file_holds_no_secret() {
        let (folder, logins) = logins();
        let now = SystemTime::now();
        let given = logins.begin(None, grant(Scope::Admin), now).unwrap();
        let cookie = given.cookie.unwrap();
        let file = folder.path().join("logins.json");
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(!text.contains(cookie.reveal()) && !text.contains(given.key.reveal()));

        let again = Logins::open(file).unwrap();
        let known = again.known(cookie.reveal(), now).unwrap();
        assert!(again.has_key(&known, given.key.reveal(), now));
        assert!(again.known(cookie.reveal(), now + LIFE).is_none());
    }

    #[test]
    fn an_ended_login_ends_its_connections() {
        let (_folder, logins) = logins();
        let now = SystemTime::now();
        let cookie = logins.begin(None, grant(Scope::Admin), now).unwrap().cookie.unwrap();
        let known = logins.known(cookie.reveal(), now).unwrap();
        logins.end(&known);
        assert!(known.over.is_cancelled());
        assert!(logins.known(cookie.reveal(), now).is_none());
        assert!(!logins.has_key(&known, "x", now));
    }

    #[test]
    fn there_are_never_more_than_a_few_logins_and_keys() {
        let (_folder, logins) = logins();
        let now = SystemTime::now();
        let first = logins.begin(None, grant(Scope::Admin), now).unwrap();
        let cookie = first.cookie.unwrap();
        for _ in 0..MOST_KEYS {
            logins.begin(Some(cookie.reveal()), grant(Scope::Admin), now).unwrap();
        }
        let known = logins.known(cookie.reveal(), now).unwrap();
        assert!(!logins.has_key(&known, first.key.reveal(), now));
        for n in 1..=MOST as u64 {
            logins.begin(None, grant(Scope::Admin), now + Duration::from_secs(n)).unwrap();
        }
        assert!(logins.known(cookie.reveal(), now).is_none() && known.over.is_cancelled());
        assert_eq!(logins.lock().len(), MOST);
    }

    #[test]
    fn a_device_has_a_name_and_is_seen() {
        let (folder, logins) = logins();
        let now = SystemTime::now();
        let phone = Grant { scope: Scope::Answer, name: Some("phone".to_owned()) };
        let first = logins.begin(None, grant(Scope::Admin), now).unwrap();
        let second = logins.begin(None, phone.clone(), now + Duration::from_secs(1)).unwrap();
        let cookie = second.cookie.unwrap();
        let later = now + Duration::from_mins(5);
        let known = logins.known(cookie.reveal(), later).unwrap();
        assert!(!logins.has_key(&known, first.key.reveal(), later));
        assert_eq!(
            logins.devices(later)[0].last_seen,
            now + Duration::from_secs(1),
            "a wrong key is not seen"
        );
        assert!(logins.has_key(&known, second.key.reveal(), later));

        // Also for the next server on the same folder.
        for logins in [&logins, &Logins::open(folder.path().join("logins.json")).unwrap()] {
            let devices = logins.devices(later);
            let shown: Vec<_> = devices.iter().map(|device| (device.name.as_deref(), device.scope)).collect();
            assert_eq!(shown, [(Some("phone"), Scope::Answer), (None, Scope::Admin)]);
            assert_eq!(devices[0].last_seen, later);
            assert_ne!(devices[0].id, devices[1].id);
        }

        let named = Grant { scope: Scope::Admin, name: Some("desk".to_owned()) };
        let again = first.cookie.unwrap();
        assert!(logins.begin(Some(again.reveal()), named, later).unwrap().cookie.is_none());
        assert_eq!(logins.known(again.reveal(), later).unwrap().name.as_deref(), Some("desk"));

        assert!(logins.revoke("nobody").is_none());
        assert_eq!(logins.revoke(known.id.as_str()).unwrap().name.as_deref(), Some("phone"));
        assert!(known.over.is_cancelled() && logins.known(cookie.reveal(), later).is_none());
        assert_eq!(logins.devices(later).len(), 1);
    }
}

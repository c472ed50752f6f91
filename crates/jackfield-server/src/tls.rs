//! TLS: with a certificate that was given, or with one of our own, made once and kept in the data folder.
//!
//! Nobody vouches for our own; it is known by its fingerprint, and therefore stays the same as long as it can. The
//! one rule it keeps: a key is readable by its owner alone, and is written nowhere else.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use sha2::{Digest as _, Sha256};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::pki_types::pem::{self, PemObject as _};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{self, ServerConfig};

use crate::access::private_file;

/// The file of our own certificate, and that of its key.
const OWN: [&str; 2] = ["certificate.pem", "certificate-key.pem"];
/// How long our own certificate is good: as long as browsers accept at most.
const LIFE: Duration = Duration::from_hours(825 * 24);
/// How long before its end it is made anew.
const RENEWAL: Duration = Duration::from_hours(30 * 24);

/// How a server speaks to whoever connects over the network.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Transport {
    /// Plain HTTP, on addresses of this machine itself.
    #[default]
    Plain,
    /// Plain HTTP on any address: everybody on the way can read and change everything.
    PlainBeyondLoopback,
    /// TLS with a certificate of our own.
    OwnCertificate,
    /// TLS with these files.
    Certificate {
        /// The certificate and those that vouch for it, in PEM.
        certificate: PathBuf,
        /// Its key, in PEM.
        key: PathBuf,
    },
}

/// Why there is no TLS.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file could not be read, or holds something else.
    #[error("cannot read a {what} in `{}`: {source}", path.display())]
    File {
        /// What was looked for.
        what: &'static str,
        /// Where.
        path: PathBuf,
        /// The reason.
        source: pem::Error,
    },
    /// There is no certificate in the file.
    #[error("there is no certificate in `{}`", .0.display())]
    Empty(PathBuf),
    /// Certificate and key cannot be used.
    #[error("cannot use the certificate and its key: {0}")]
    Unusable(#[from] rustls::Error),
    /// Our own certificate could not be made.
    #[error("cannot make a certificate: {0}")]
    Make(#[from] rcgen::Error),
    /// Our own certificate could not be kept.
    #[error("cannot write `{}`: {source}", path.display())]
    Keep {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: std::io::Error,
    },
}

/// What a certificate is known by: its SHA-256.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fingerprint(Vec<u8>);

impl fmt::Display for Fingerprint {
    /// As browsers show it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, byte) in self.0.iter().enumerate() {
            let colon = if index == 0 { "" } else { ":" };
            write!(f, "{colon}{byte:02X}")?;
        }
        Ok(())
    }
}

/// What accepts connections, and what its certificate is known by.
pub(crate) struct Tls {
    pub(crate) acceptor: TlsAcceptor,
    pub(crate) fingerprint: Fingerprint,
}

/// TLS as it is wanted; `None` if it is not. `names` are what our own certificate is for.
pub(crate) fn tls(transport: &Transport, folder: &Path, names: &[String]) -> Result<Option<Tls>, TlsError> {
    let [certificate, key] = match transport {
        Transport::Plain | Transport::PlainBeyondLoopback => return Ok(None),
        Transport::Certificate { certificate, key } => [certificate.clone(), key.clone()],
        Transport::OwnCertificate => {
            let files = OWN.map(|name| folder.join(name));
            if !is_good(&files, names, SystemTime::now()) {
                make(&files, names, SystemTime::now())?;
            }
            files
        }
    };
    let (config, fingerprint) = config(&certificate, &key)?;
    Ok(Some(Tls { acceptor: TlsAcceptor::from(Arc::new(config)), fingerprint }))
}

fn config(certificate: &Path, key: &Path) -> Result<(ServerConfig, Fingerprint), TlsError> {
    let failed = |what, path: &Path| {
        let path = path.to_owned();
        move |source| TlsError::File { what, path, source }
    };
    let chain = CertificateDer::pem_file_iter(certificate).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let chain = chain.map_err(failed("certificate", certificate))?;
    let first = chain.first().ok_or_else(|| TlsError::Empty(certificate.to_owned()))?;
    let fingerprint = Fingerprint(Sha256::digest(first).to_vec());
    let key = PrivateKeyDer::from_pem_file(key).map_err(failed("key", key))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_no_client_auth()
        .with_single_cert(chain, key)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok((config, fingerprint))
}

/// Whether the certificate that is there is for these names, and for a while yet. What it is for stands before it.
fn is_good([certificate, key]: &[PathBuf; 2], names: &[String], now: SystemTime) -> bool {
    let (Ok(Some(text)), Ok(Some(_))) = (private_file::read(certificate), private_file::read(key)) else {
        return false;
    };
    let mut words = text.lines().next().unwrap_or_default().split(' ');
    let until = words.next().and_then(|until| until.parse().ok()).map(Duration::from_secs);
    let covered: Vec<&str> = words.collect();
    let lasts = until.is_some_and(|until| UNIX_EPOCH + until > now + RENEWAL);
    lasts && names.iter().all(|name| covered.contains(&name.as_str())) && config(certificate, key).is_ok()
}

fn make([certificate, key]: &[PathBuf; 2], names: &[String], now: SystemTime) -> Result<(), TlsError> {
    let mut params = rcgen::CertificateParams::new(names)?;
    let since = now.duration_since(UNIX_EPOCH).unwrap_or_default();
    let epoch = rcgen::date_time_ymd(1970, 1, 1);
    // Clocks differ a little.
    params.not_before = epoch + since.saturating_sub(Duration::from_hours(24));
    params.not_after = epoch + since + LIFE;
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(rcgen::DnType::CommonName, "Jackfield");
    params.extended_key_usages = vec![rcgen::ExtendedKeyUsagePurpose::ServerAuth];
    let secret = rcgen::KeyPair::generate()?;
    let made = params.self_signed(&secret)?;
    let until = (since + LIFE).as_secs();
    let text = format!("{until} {}\n{}", names.join(" "), made.pem());
    for (path, text) in [(key, secret.serialize_pem()), (certificate, text)] {
        private_file::write(path, &text).map_err(|source| TlsError::Keep { path: path.clone(), source })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    fn fingerprint(folder: &Path, wanted: &[&str]) -> Fingerprint {
        tls(&Transport::OwnCertificate, folder, &names(wanted)).unwrap().unwrap().fingerprint
    }

    #[test]
    fn s1_our_own_certificate_stays_the_same_until_it_is_of_no_use() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let first = fingerprint(folder, &["localhost", "127.0.0.1"]);
        assert_eq!(first.to_string().len(), 32 * 3 - 1);
        assert_eq!(fingerprint(folder, &["localhost", "127.0.0.1"]), first);
        assert_eq!(fingerprint(folder, &["localhost"]), first);
        for name in OWN {
            let mode = std::fs::metadata(folder.join(name)).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "{name}");
        }

        let files = OWN.map(|name| folder.join(name));
        let now = SystemTime::now();
        assert!(is_good(&files, &names(&["localhost"]), now + LIFE - RENEWAL * 2));
        assert!(!is_good(&files, &names(&["localhost"]), now + LIFE - RENEWAL / 2), "it ends soon");
        let other = fingerprint(folder, &["localhost", "box.local"]);
        assert_ne!(other, first, "another name");
        std::fs::write(&files[1], "spoilt").unwrap();
        assert_ne!(fingerprint(folder, &["localhost"]), other, "no key");
    }

    #[test]
    fn a_given_certificate_must_be_one_and_fit_its_key() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str| folder.path().join(name);
        let now = SystemTime::now();
        make(&[file("a"), file("a.key")], &names(&["a.test"]), now).unwrap();
        make(&[file("b"), file("b.key")], &names(&["b.test"]), now).unwrap();
        std::fs::write(file("empty"), "").unwrap();
        let given = |certificate: &str, key: &str| {
            let transport = Transport::Certificate { certificate: file(certificate), key: file(key) };
            tls(&transport, folder.path(), &[]).map(|tls| tls.unwrap().fingerprint)
        };
        assert!(given("a", "a.key").is_ok());
        assert!(matches!(given("a", "b.key"), Err(TlsError::Unusable(_))));
        assert!(matches!(given("empty", "a.key"), Err(TlsError::Empty(_))));
        assert!(matches!(given("a", "a"), Err(TlsError::File { what: "key", .. })));
        assert!(matches!(given("nowhere", "a.key"), Err(TlsError::File { what: "certificate", .. })));
    }
}

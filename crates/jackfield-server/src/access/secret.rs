//! Secrets: 256 bits from the operating system, as text.
//!
//! Whoever holds one shows the text; the server keeps and compares digests. The one rule it keeps: a secret is
//! never printed by accident, and comparing tells nothing by the time it takes.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

/// The operating system gave no random bytes.
#[derive(Debug, thiserror::Error)]
#[error("cannot make a secret: the operating system gives no random bytes: {0}")]
pub struct NoSecret(getrandom::Error);

/// A secret as its holder shows it: 43 characters.
#[derive(Clone)]
pub(crate) struct Secret(String);

impl Secret {
    pub(crate) fn random() -> Result<Self, NoSecret> {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes).map_err(NoSecret)?;
        Ok(Self(URL_SAFE_NO_PAD.encode(bytes)))
    }

    /// A secret that was kept as text, if it is one.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let whole = URL_SAFE_NO_PAD.decode(text).is_ok_and(|bytes| bytes.len() == 32);
        whole.then(|| Self(text.to_owned()))
    }

    /// The text, for the one who may have it.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }

    pub(crate) fn digest(&self) -> Digest {
        Digest::of(&self.0)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// What is kept of a secret. Ordered so that it can be looked up; what order digests have tells nothing of the
/// secrets.
#[derive(Debug, Clone, Copy, PartialOrd, Ord, Eq, Serialize, Deserialize)]
pub(crate) struct Digest([u8; 32]);

impl Digest {
    /// Of whatever somebody showed.
    pub(crate) fn of(shown: &str) -> Self {
        Self(Sha256::digest(shown.as_bytes()).into())
    }

    /// The beginning of it, to tell two apart.
    pub(crate) fn short(self) -> String {
        let [first, second, third, ..] = self.0.as_chunks::<2>().0 else { return String::new() };
        let number = |pair: &[u8; 2]| u16::from_be_bytes(*pair);
        format!("{:04x}{:04x}{:04x}", number(first), number(second), number(third))
    }
}

impl PartialEq for Digest {
    fn eq(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn s2_secrets_are_256_bits_and_never_alike() {
        let secrets: BTreeSet<String> =
            (0..1_000).map(|_| Secret::random().unwrap().reveal().to_owned()).collect();
        assert_eq!(secrets.len(), 1_000);
        let mut ones = [0_u32; 256];
        for secret in &secrets {
            let bytes = URL_SAFE_NO_PAD.decode(secret).unwrap();
            assert_eq!(bytes.len(), 32);
            for (bit, count) in ones.iter_mut().enumerate() {
                *count += u32::from(bytes[bit / 8] >> (bit % 8) & 1);
            }
        }
        // Ten standard deviations: chance does not get there, a bit that is stuck does.
        assert!(ones.iter().all(|count| (342..=658).contains(count)), "{ones:?}");
    }

    #[test]
    fn a_secret_is_not_printed() {
        let secret = Secret::random().unwrap();
        assert!(!format!("{secret:?}").contains(secret.reveal()));
    }

    #[test]
    fn only_a_whole_secret_is_read_back() {
        let secret = Secret::random().unwrap();
        assert!(Secret::read(secret.reveal()).is_some_and(|read| read.digest() == secret.digest()));
        assert!(Secret::read("").is_none());
        assert!(Secret::read(&secret.reveal()[1..]).is_none());
        assert!(Secret::read(&format!("{}\n", secret.reveal())).is_none());
    }
}

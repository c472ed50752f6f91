//! The secret in a lock file, by which a CLI shows that it may read the files of this user.
//!
//! The one rule it keeps: it is never printed by accident, and comparing tells nothing by the time it takes.

use std::fmt;

use subtle::ConstantTimeEq as _;

/// The operating system gave no random bytes.
#[derive(Debug, thiserror::Error)]
#[error("cannot make a token: the operating system gives no random bytes: {0}")]
pub struct NoToken(getrandom::Error);

/// 256 bits from the operating system, as 64 hexadecimal digits.
#[derive(Clone)]
pub(crate) struct Token(String);

impl Token {
    pub(crate) fn random() -> Result<Self, NoToken> {
        let mut bytes = [0_u8; 32];
        getrandom::fill(&mut bytes).map_err(NoToken)?;
        let digit = |value: u8| char::from(b"0123456789abcdef"[usize::from(value)]);
        Ok(Self(bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()))
    }

    /// One that was kept as text, if it is one.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let whole = text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        whole.then(|| Self(text.to_owned()))
    }

    /// The text, for the lock file.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }

    /// Whether this is what somebody showed.
    pub(crate) fn is(&self, shown: &[u8]) -> bool {
        // The length is no secret.
        self.0.as_bytes().ct_eq(shown).into()
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn s2_a_token_is_256_bits_and_knows_itself_alone() {
        let (one, other) = (Token::random().unwrap(), Token::random().unwrap());
        assert_eq!(one.reveal().len(), 64);
        assert!(one.is(one.reveal().as_bytes()));
        assert!(!one.is(other.reveal().as_bytes()));
        assert!(!one.is(b""));
        assert!(!one.is(&one.reveal().as_bytes()[..63]));
        assert!(!format!("{one:?}").contains(one.reveal()));
    }
}

//! Escapes of lone surrogates, which JSON allows and text cannot hold.
//!
//! JavaScript strings can be cut between the two halves of a character, and the CLI writes the
//! half as `\ud83d`. The rule: only lone halves change, each to the replacement character.

use memchr::memchr;

/// Whether there is an escape of a lone surrogate.
pub(crate) fn has_lone_surrogate(text: &str) -> bool {
    next_lone(text.as_bytes(), 0).is_some()
}

/// The text with every lone surrogate replaced; `None` when there is none.
pub(crate) fn replace_lone_surrogates(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let mut lone = next_lone(bytes, 0)?;
    let mut repaired = String::with_capacity(text.len());
    let mut copied = 0;
    loop {
        repaired.push_str(&text[copied..lone]);
        repaired.push_str("\\ufffd");
        copied = lone + 6;
        match next_lone(bytes, copied) {
            Some(next) => lone = next,
            None => break,
        }
    }
    repaired.push_str(&text[copied..]);
    Some(repaired)
}

/// Where the next escape of a lone surrogate begins.
fn next_lone(bytes: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    loop {
        at += memchr(b'\\', bytes.get(at..)?)?;
        match unit(bytes, at) {
            None => at += 2,
            Some(0xD800..=0xDBFF) => match unit(bytes, at + 6) {
                Some(0xDC00..=0xDFFF) => at += 12,
                _ => return Some(at),
            },
            Some(0xDC00..=0xDFFF) => return Some(at),
            Some(_) => at += 6,
        }
    }
}

/// The UTF-16 unit that a `\uXXXX` at this place stands for.
fn unit(bytes: &[u8], at: usize) -> Option<u16> {
    let escape = bytes.get(at..at + 6)?;
    let hex = escape.strip_prefix(b"\\u")?;
    // `from_str_radix` would take a sign.
    if !hex.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    u16::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::replace_lone_surrogates;

    #[test]
    fn only_lone_halves_are_replaced() {
        assert_eq!(replace_lone_surrogates(r#""a\ud83d\ude00b""#), None);
        assert_eq!(replace_lone_surrogates(r#""\\ud83d""#), None);
        assert_eq!(replace_lone_surrogates(r#""\ud83d""#).as_deref(), Some(r#""\ufffd""#));
        assert_eq!(
            replace_lone_surrogates(r#""\ude00\ud83d\ude00""#).as_deref(),
            Some(r#""\ufffd\ud83d\ude00""#)
        );
        assert_eq!(
            replace_lone_surrogates(r#""\ud83d\ud83d\ude00x""#).as_deref(),
            Some(r#""\ufffd\ud83d\ude00x""#)
        );
        assert_eq!(replace_lone_surrogates(r#""\ud83d\u00e9""#).as_deref(), Some(r#""\ufffd\u00e9""#));
    }
}

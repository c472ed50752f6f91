//! The body of a private key whose lines are texts of their own: in a patch, on standard error, in a log.
//!
//! The patterns find a key that lies in one string. One that only begins there goes on in the strings and lines behind
//! it, which are nothing but letters of base64. The one rule it keeps: without such a beginning nothing is looked at,
//! and behind it no more than [`GAP`] bytes in which no line of the key is.

use std::ops::Range;

/// How far a line of a key may be behind the one before it: so much may stand around each line.
const GAP: usize = 8 * 1024;
/// What is as long as this and has only letters of base64 is a line of a key, whatever letters they are.
const LONG: usize = 40;
/// What is as long as this is one if it has letters of either case and digits.
const SHORT: usize = 16;

/// A private key that may have begun.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct KeyBody {
    /// How much more may come before its next line; nothing if no key has begun.
    left: Option<usize>,
}

impl KeyBody {
    /// Whether a key has begun and is not over.
    pub(super) fn goes_on(self) -> bool {
        self.left.is_some()
    }

    /// The patterns have found a key, or what of it lies in one string.
    pub(super) fn found(&mut self, key: &str) {
        let is_whole = key.rsplit_once("-----END ").is_some_and(|(_, name)| name.ends_with("-----"));
        self.left = (!is_whole).then_some(GAP);
    }

    /// Looks for lines of the key in a part of a text, and tells where they are.
    pub(super) fn look(&mut self, text: &str, part: Range<usize>, mut tell: impl FnMut(Range<usize>)) {
        let Some(left) = self.left else { return };
        let bytes = text.as_bytes();
        // Where the next line has to be.
        let mut until = part.start.saturating_add(left);
        let mut place = part.start;
        while place < part.end {
            if place > until || bytes[place..].starts_with(b"-----END ") {
                self.left = None;
                return;
            }
            let run = bytes[place..part.end].iter().take_while(|byte| is_letter(**byte)).count();
            if let Some(line) = line(bytes, place..place + run) {
                until = line.end.saturating_add(GAP);
                tell(line);
            }
            place += run.max(1);
        }
        self.left = until.checked_sub(part.end);
    }
}

fn is_letter(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"+/=".contains(&byte)
}

/// What of a run of letters is a line of a key, if it is all of a line or a string, but for a mark as patches have it.
fn line(bytes: &[u8], run: Range<usize>) -> Option<Range<usize>> {
    let Range { mut start, end } = run;
    let before = &bytes[..start];
    if before.ends_with(b"\\") {
        // The first letter is that of a line break in JSON.
        start += usize::from(matches!(bytes.get(start), Some(b'n' | b'r')));
        if start == run.start {
            return None;
        }
    } else {
        let marked = before.strip_suffix(b" ").or_else(|| before.strip_suffix(b"-")).unwrap_or(before);
        if !matches!(marked.last(), None | Some(b'"' | b'\'' | b'\n' | b'\r')) {
            return None;
        }
        start += usize::from(bytes.get(start) == Some(&b'+'));
    }
    let is_end = matches!(bytes.get(end), None | Some(b'"' | b'\'' | b'\n' | b'\r' | b'\\'));
    (start < end && is_end && is_body(&bytes[start..end]) && !is_name(&bytes[end..])).then_some(start..end)
}

fn is_body(letters: &[u8]) -> bool {
    let has = |kind: fn(&u8) -> bool| letters.iter().any(kind);
    letters.len() >= LONG
        || (letters.len() >= 4 && letters.ends_with(b"="))
        || (letters.len() >= SHORT
            && has(u8::is_ascii_uppercase)
            && has(u8::is_ascii_lowercase)
            && has(u8::is_ascii_digit))
}

/// Whether a string that ends here is the name of a member.
fn is_name(behind: &[u8]) -> bool {
    let mut behind = behind.iter().skip_while(|byte| **byte == b'\\');
    let quoted = behind.next() == Some(&b'"');
    quoted && behind.find(|byte| !byte.is_ascii_whitespace()) == Some(&b':')
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::borrow::Cow;

    use super::super::{LineByLine, REDACTED, redact};

    /// A private key in lines, of which each has letters of its own.
    fn key_lines() -> Vec<String> {
        let (begin, end) = ("-----BEGIN RSA PRIVATE", "-----END RSA PRIVATE");
        let body = |letters: &str, length| letters.chars().cycle().take(length).collect::<String>();
        let mut lines = vec![format!("{begin} KEY-----"), "Proc-Type: 4,ENCRYPTED".to_owned(), String::new()];
        lines.extend(
            [("Zq7/wX", 64), ("+Kd4vB/", 64), ("AAAA", 64), ("pL5s", 20), ("Jm2k", 7)]
                .map(|(letters, length)| body(letters, length)),
        );
        *lines.last_mut().unwrap() += "=";
        lines.push(format!("{end} KEY-----"));
        lines
    }

    /// Whether nothing of the key is in a text but its edges.
    fn has_no_body(text: &str) -> bool {
        !["q7/wXZ", "Kd4vB", "AAAA", "pL5s", "Jm2k"].iter().any(|letters| text.contains(letters))
    }

    #[test]
    fn a_private_key_whose_lines_are_strings_of_their_own_is_taken_out() {
        let key = key_lines();
        for mark in ["", "+", "-", " "] {
            let lines: Vec<String> = key.iter().map(|line| format!("{mark}{line}")).collect();
            // Names of members are in the middle of the key, and it is over before the last of them.
            let (first, second) = lines.split_at(4);
            let once = format!(
                r#"{{"before":"{}","structuredPatch":[{{"lines":{},"theNameOfAMember12":1}},{{"uuid":"2f1d7a6e","lines":{}}}],"behind":"{}"}}"#,
                "0".repeat(64),
                serde_json::json!(first),
                serde_json::json!(second),
                "1".repeat(64)
            );
            let twice = serde_json::json!({ "line": once }).to_string();
            for text in [&once, &twice] {
                let redacted = redact(text);
                assert!(has_no_body(&redacted), "{redacted}");
                assert_eq!(redacted.matches(REDACTED).count(), 1 + 5, "{redacted}");
                for stays in ["Proc-Type: 4,ENCRYPTED", "theNameOfAMember12", "2f1d7a6e", "structuredPatch"] {
                    assert!(redacted.contains(stays), "{redacted}");
                }
                assert!(
                    redacted.contains(&"0".repeat(64)) && redacted.contains(&"1".repeat(64)),
                    "{redacted}"
                );
                assert!(serde_json::from_str::<serde_json::Value>(&redacted).is_ok());
            }
        }
        // As a program has it, and with a line break in each.
        let code: Vec<String> = key.iter().map(|line| format!("    \"{line}\\n\"")).collect();
        let redacted = redact(&code.join(" +\n")).into_owned();
        assert!(has_no_body(&redacted), "{redacted}");
    }

    #[test]
    fn a_private_key_goes_on_in_the_lines_that_follow_until_it_is_over() {
        let quoted = |line: &String| {
            serde_json::json!({ "t": 1.5, "dir": "err", "line": line, "uuid": "2f1d7a6e-0000-4000-8000-000000000000" }).to_string()
        };
        for lines in [key_lines(), key_lines().iter().map(quoted).collect()] {
            let mut following = LineByLine::default();
            let redacted: Vec<Cow<'_, str>> = lines.iter().map(|line| following.redact(line)).collect();
            assert!(has_no_body(&redacted.concat()), "{redacted:?}");
            assert!(!following.goes_on() && redacted.last().unwrap().contains("-----END"), "{redacted:?}");
            // All at once, and in parts, wherever these end.
            let expected = redacted.join("\n") + "\n";
            for parts in 1..=lines.len() {
                let mut following = LineByLine::default();
                let mut written = Vec::new();
                for part in lines.chunks(parts) {
                    let part = part.join("\n") + "\n";
                    written.extend_from_slice(&following.redact_lines(part.as_bytes()));
                }
                assert_eq!(String::from_utf8(written).unwrap(), expected, "{parts}");
            }
        }
    }

    #[test]
    fn without_the_beginning_of_a_key_and_far_behind_it_nothing_is_taken_for_one() {
        let key = key_lines();
        let body = key[3..8].join("\n");
        assert!(matches!(redact(&body), Cow::Borrowed(_)));
        assert!(matches!(redact(&format!("-----BEGIN CERTIFICATE-----\n'{body}")), Cow::Borrowed(_)));
        let strings = serde_json::json!(key[3..8]).to_string();
        let far = format!("{}\"{}{strings}", key[0], " ".repeat(10_000));
        assert_eq!(redact(&far), far.replace(&key[0], REDACTED));
        let over = format!("{}\n{}\"{strings}", key[0], key[8]);
        assert_eq!(redact(&over), format!("{REDACTED}\"{strings}"));
        // What is no line of a key stays behind one that has only begun.
        let words = r#"" /a/path/that/is/rather/long/and/has/no/letters/else in a text", "a": "harmless""#;
        let text = format!("{}{words}\ntoolu_01Ab3dEf6hIj9lMn2pQr5tUv8x, \"01Ab3dEf6hIj9lMn2p\": 1", key[0]);
        assert_eq!(redact(&text), text.replace(&key[0], REDACTED));
        let mut following = LineByLine::default();
        following.redact(&key[0]);
        for _ in 0..200 {
            assert!(matches!(
                following.redact("a line of something else that is not of the key"),
                Cow::Borrowed(_)
            ));
        }
        assert!(!following.goes_on());
    }
}

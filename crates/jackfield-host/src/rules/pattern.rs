//! Patterns with `*`, and with `*`, `**` and `?` for paths.
//!
//! No regular expressions and no recursion: text is matched in linear time, a path in time that grows with
//! the product of its length and the pattern's.

/// Whether the whole of `text` fits a pattern in which `*` stands for anything, also for nothing.
pub(super) fn text_fits(pattern: &str, text: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == text };
    let (middle, last) = rest.rsplit_once('*').unwrap_or(("", rest));
    let Some(text) = text.strip_prefix(first).and_then(|text| text.strip_suffix(last)) else { return false };
    // The leftmost place for each piece leaves the most for those behind it.
    middle
        .split('*')
        .try_fold(text, |text, piece| text.find(piece).map(|at| &text[at + piece.len()..]))
        .is_some()
}

/// A pattern for paths, taken apart.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct PathPattern<'a> {
    /// Whether it begins at the root, not at the session's folder.
    pub(super) absolute: bool,
    segments: Vec<&'a str>,
}

impl<'a> PathPattern<'a> {
    /// Takes a pattern apart; `None` if it contains `..` or begins with `~`, for then it names no place.
    pub(super) fn read(pattern: &'a str) -> Option<Self> {
        let mut segments: Vec<&str> =
            pattern.split('/').filter(|segment| !matches!(*segment, "" | ".")).collect();
        if segments.contains(&"..") || pattern.starts_with('~') {
            return None;
        }
        // `secrets/` is all that is in it.
        if pattern.ends_with('/') {
            segments.push("**");
        }
        Some(Self { absolute: pattern.starts_with('/'), segments })
    }

    /// Whether the path made of these segments fits.
    pub(super) fn fits(&self, path: &[&str]) -> bool {
        wildcard(
            &self.segments,
            path,
            |segment| *segment == "**",
            |segment, name| segment_fits(segment, name),
        )
    }
}

/// Whether one name fits one segment with `*` and `?`.
fn segment_fits(segment: &str, name: &str) -> bool {
    if !segment.contains(['*', '?']) {
        return segment == name;
    }
    let segment: Vec<char> = segment.chars().collect();
    let name: Vec<char> = name.chars().collect();
    wildcard(&segment, &name, |c| *c == '*', |c, other| *c == '?' || c == other)
}

/// Matches all of `text` against a pattern in which some elements stand for any number of elements. Only the
/// last such element is ever tried again, which is enough and keeps the time polynomial.
fn wildcard<P, T>(pattern: &[P], text: &[T], any: impl Fn(&P) -> bool, one: impl Fn(&P, &T) -> bool) -> bool {
    let (mut p, mut t) = (0, 0);
    let mut again: Option<(usize, usize)> = None;
    while t < text.len() {
        if pattern.get(p).is_some_and(&any) {
            p += 1;
            again = Some((p, t));
        } else if pattern.get(p).is_some_and(|element| one(element, &text[t])) {
            p += 1;
            t += 1;
        } else if let Some((after, from)) = again {
            again = Some((after, from + 1));
            (p, t) = (after, from + 1);
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(any)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_star_in_text_stands_for_anything() {
        for (pattern, text) in [
            ("", ""),
            ("*", ""),
            ("*", "a b\nc"),
            ("**", "x"),
            ("git *", "git status"),
            ("git *", "git "),
            ("*a*", "bab"),
            ("a*b*c", "a--b--b--c"),
            ("mcp__github__*", "mcp__github__list"),
        ] {
            assert!(text_fits(pattern, text), "{pattern} should fit {text}");
        }
        for (pattern, text) in [
            ("", "a"),
            ("a", ""),
            ("git *", "git"),
            ("git *", "agit x"),
            ("a*a", "a"),
            ("ab*ba", "aba"),
            ("*x", "xy"),
        ] {
            assert!(!text_fits(pattern, text), "{pattern} should not fit {text}");
        }
    }

    fn path_fits(pattern: &str, path: &str) -> bool {
        PathPattern::read(pattern).unwrap().fits(&path.split('/').collect::<Vec<_>>())
    }

    #[test]
    fn one_star_stays_within_a_name_and_two_go_over_folders() {
        for (pattern, path) in [
            ("*.rs", "a.rs"),
            ("**/*.rs", "a.rs"),
            ("**/*.rs", "a/b/c.rs"),
            ("src/**", "src/a/b"),
            ("src/**", "src"),
            ("src/", "src/a/b"),
            ("src/**/test/*", "src/test/a"),
            ("src/**/test/*", "src/a/test/test/b"),
            ("./a?c", "abc"),
            ("a*c*", "abbcd"),
            ("**", ".git/config"),
        ] {
            assert!(path_fits(pattern, path), "{pattern} should fit {path}");
        }
        for (pattern, path) in [
            ("*.rs", "a/b.rs"),
            ("src/*", "src/a/b"),
            ("src/**", "source/a"),
            ("a?c", "ac"),
            ("src", "src/a"),
        ] {
            assert!(!path_fits(pattern, path), "{pattern} should not fit {path}");
        }
        assert_eq!(PathPattern::read("../x"), None);
        assert_eq!(PathPattern::read("~/x"), None);
    }

    #[test]
    fn a_pattern_full_of_stars_does_not_take_for_ever() {
        // With a matcher that tries every star again this would not end in a lifetime.
        let text = "a".repeat(4_000);
        let pattern = "a*".repeat(490) + "b";
        assert!(!text_fits(&pattern, &text));
        assert!(!segment_fits(&pattern, &text));
        let path = vec!["a"; 2_000];
        assert!(!PathPattern::read(&("**/a/".repeat(190) + "b")).unwrap().fits(&path));
    }

    proptest! {
        #[test]
        fn the_matchers_agree_with_a_plain_definition(pattern in "[ab*]{0,8}", text in "[ab]{0,8}") {
            fn plain(pattern: &[u8], text: &[u8]) -> bool {
                match pattern.split_first() {
                    None => text.is_empty(),
                    Some((b'*', rest)) => (0..=text.len()).any(|from| plain(rest, &text[from..])),
                    Some((byte, rest)) => text.first() == Some(byte) && plain(rest, &text[1..]),
                }
            }
            let expected = plain(pattern.as_bytes(), text.as_bytes());
            prop_assert_eq!(text_fits(&pattern, &text), expected);
            prop_assert_eq!(segment_fits(&pattern, &text), expected);
        }
    }
}

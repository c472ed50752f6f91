//! Where in a text a secret may be, found fast.
//!
//! A few letters that every secret of a kind has in it. Whatever is found is looked at again, so a hint that is none
//! costs time and nothing else. The one rule it keeps: each of the looks needs at least one hint.

use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, MatchKind};

/// Hints that are written in one way only.
const EXACT: &[&str] = &[
    "PRIVATE KEY",
    "sk-",
    "ghp_",
    "gho_",
    "ghu_",
    "ghs_",
    "ghr_",
    "github_pat_",
    "glpat-",
    "npm_",
    "xox",
    "AIza",
    "k_live_",
    "k_test_",
    "whsec_",
    "hf_",
    "AKIA",
    "ASIA",
    "eyJ",
    "earer",
    "://",
];

/// Hints in letters of either case: of `aws_…`, `authorization`, `api-key`, `api_key`, `…-token` and `cookie` the part
/// that is rare elsewhere.
const FOLDED: &[&str] = &["aws", "riz", "pi-k", "pi_k", "-tok", "okie"];

/// One for each of the lists: so few words are looked for in many letters at once, which more of them, or letters
/// without case, would prevent.
static FINDERS: LazyLock<[Option<AhoCorasick>; 2]> = LazyLock::new(|| {
    let exact = EXACT.iter().map(|&hint| hint.to_owned()).collect();
    let folded = FOLDED.iter().flat_map(|hint| in_every_case(hint)).collect();
    [exact, folded].map(|hints: Vec<String>| {
        AhoCorasick::builder().match_kind(MatchKind::LeftmostFirst).build(hints).ok()
    })
});

/// The places of hints in a text, in order.
pub(super) struct Hints<'a> {
    text: &'a [u8],
    /// The next of each finder.
    next: [Option<usize>; 2],
}

impl<'a> Hints<'a> {
    pub(super) fn of(text: &'a [u8]) -> Self {
        let mut hints = Self { text, next: [None; 2] };
        for finder in 0..hints.next.len() {
            hints.find(finder, 0);
        }
        hints
    }

    fn find(&mut self, finder: usize, from: usize) {
        self.next[finder] = match &FINDERS[finder] {
            Some(words) => {
                words.find(self.text.get(from..).unwrap_or_default()).map(|hint| from + hint.start())
            }
            // A test reads the words; should they ever fail, everything is looked at.
            None => (from < self.text.len()).then_some(from),
        };
    }
}

impl Iterator for Hints<'_> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        let (finder, place) = match self.next {
            [Some(exact), Some(folded)] if folded < exact => (1, folded),
            [Some(exact), _] => (0, exact),
            [None, folded] => (1, folded?),
        };
        self.find(finder, place + 1);
        Some(place)
    }
}

/// A word in all letters of either case.
fn in_every_case(word: &str) -> Vec<String> {
    word.chars().fold(vec![String::new()], |begun, letter| {
        let cases = if letter.is_ascii_alphabetic() {
            vec![letter.to_ascii_lowercase(), letter.to_ascii_uppercase()]
        } else {
            vec![letter]
        };
        begun.iter().flat_map(|begun| cases.iter().map(move |case| format!("{begun}{case}"))).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_are_found_in_order_and_in_every_case() {
        let text = b"a COOKIE, sk- and sk-, oKiE";
        assert_eq!(Hints::of(text).collect::<Vec<_>>(), [4, 10, 18, 23]);
        assert_eq!(Hints::of(b"").next(), None);
        assert!(FINDERS.iter().all(Option::is_some));
        assert_eq!(in_every_case("-a1b"), ["-a1b", "-a1B", "-A1b", "-A1B"]);
    }
}

//! Where in a text a secret may be, found fast.
//!
//! A few letters that every secret of a kind has in it. Whatever is found is looked at again, so a hint that is none
//! costs time and nothing else. The one rule it keeps: each of the looks needs at least one hint.

use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, packed};

/// The hints, in two lists: up to 32 words are looked for in 32 letters at once. Of `authorization`, `api-key`,
/// `api_key`, `…-token` and `cookie`, whose letters may be of either case, there is the part that is rare elsewhere, in
/// every case.
///
/// The order is of no meaning, and yet it matters: it decides which words the search takes together, and so how often
/// it has to look twice. Of some ten thousand orders this is the fastest in what the CLI writes and in prose; many take
/// three times as long, because ids are full of hyphens and digits. Which part of a word stands here matters as much:
/// with `SECRE` and `PASSW` it takes three quarters longer.
#[rustfmt::skip]
const HINTS: [&[&str]; 2] = [
    &[
        "ghs_", "i-k", "://", "i-K", "sk-", "oki", "_pat_", "k_test_", "oKi", "gho_", "I_K",
        "whsec_", "okI", "ASIA", "AIza", "i_K", "Oki", "-ToK", "k_live_", "#ticket=", "AWS", "OKi",
        "-TOK", "s_token=", "-TOk", "I-k", "i_k", "AKIA", "I_k", "I-K", "oKI", "OKI",
    ],
    &[
        "rIZ", "op_v1_", "ghp_", "-tok", "-tOK", "RiZ", "ghu_", "xox", "riZ", "RIz", "Aws",
        "riz", "TOKEN", "rIz", "Riz", "RIZ", "ECRET", "aws", "ghr_", "-tOk", "ya29.", "PRIVATE KEY",
        "-Tok", "eyJ", "ASSWO", "npm_", "hf_", "OkI", "-toK", "earer", "xapp-", "glpat-",
    ],
];

/// One for each of the lists.
static FINDERS: LazyLock<[Option<Finder>; 2]> = LazyLock::new(|| HINTS.map(Finder::new));

/// Looks for all words of a list at once.
enum Finder {
    /// In many letters at a time, by instructions that most processors have. It is made in no time.
    Packed(packed::Searcher),
    /// Letter by letter.
    Automaton(AhoCorasick),
}

impl Finder {
    fn new(words: &[&str]) -> Option<Self> {
        let packed = packed::Searcher::new(words).map(Self::Packed);
        packed.or_else(|| AhoCorasick::new(words).ok().map(Self::Automaton))
    }

    /// Where the first of the words begins.
    fn find(&self, text: &[u8]) -> Option<usize> {
        match self {
            Self::Packed(words) => words.find(text).map(|word| word.start()),
            Self::Automaton(words) => words.find(text).map(|word| word.start()),
        }
    }
}

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
            Some(words) => words.find(self.text.get(from..).unwrap_or_default()).map(|hint| from + hint),
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

#[cfg(test)]
mod tests {
    use super::*;

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

    #[test]
    fn what_may_be_of_either_case_is_there_in_every_case_and_the_lists_are_short() {
        let all: Vec<&str> = HINTS.concat();
        for word in ["riz", "i-k", "i_k", "-tok", "oki"] {
            for hint in in_every_case(word) {
                assert!(all.contains(&hint.as_str()), "{hint}");
            }
        }
        assert!(HINTS.iter().all(|hints| hints.len() <= 32));
    }

    #[test]
    fn hints_are_found_in_order_and_in_every_case() {
        let text = b"a COOKIE, sk- and sk-, oKiE";
        assert_eq!(Hints::of(text).collect::<Vec<_>>(), [4, 10, 18, 23]);
        assert_eq!(Hints::of(b"").next(), None);
        assert!(FINDERS.iter().all(Option::is_some));
        // A processor without those instructions finds the same.
        for words in HINTS {
            let automaton = AhoCorasick::new(words).ok().map(Finder::Automaton);
            let both =
                [Finder::new(words), automaton].map(|finder| finder.and_then(|finder| finder.find(text)));
            assert_eq!(both[0], both[1]);
        }
        assert_eq!(in_every_case("-a1b"), ["-a1b", "-a1B", "-A1b", "-A1B"]);
    }
}

//! One thing that a folder brings, with a hash of all of it.
//!
//! What is shown may be cut; what is hashed never is.

use jackfield_api::Fingerprint;
use jackfield_api::trust::{Brought, BroughtKind};
use sha2::{Digest as _, Sha256};

use super::reading::Found;

/// How many things a folder may bring.
pub(super) const MOST_PIECES: usize = 1_000;
/// How much of one is shown.
const SHOWN: usize = 8 * 1024;

/// One thing that a folder brings.
#[derive(Debug)]
pub(super) struct Piece {
    kind: BroughtKind,
    name: String,
    detail: String,
    file: String,
    danger: Danger,
    /// In hexadecimal digits.
    pub(super) digest: String,
}

/// Whether something can run a program, send the CLI elsewhere or answer for a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Danger {
    Dangerous,
    Harmless,
}

impl Piece {
    /// A thing in a file: what is shown of it, and the whole of it.
    pub(super) fn new(
        (kind, danger): (BroughtKind, Danger),
        name: impl Into<String>,
        detail: &str,
        whole: &[u8],
        file: &Found,
    ) -> Self {
        let name = name.into();
        let kind_word = format!("{kind:?}");
        // By which name a file is found counts, and where it lies too.
        let parts =
            [kind_word.as_bytes(), name.as_bytes(), file.named.as_bytes(), file.real.as_bytes(), whole];
        Self { kind, digest: hash(parts), detail: cut(detail), file: file.real.clone(), danger, name }
    }

    /// Words for the model: they are only mentioned.
    pub(super) fn instructions(name: impl Into<String>, file: impl Into<String>) -> Self {
        let (name, file) = (name.into(), file.into());
        let digest = hash([name.as_bytes(), file.as_bytes()]);
        let (kind, danger) = (BroughtKind::Instructions, Danger::Harmless);
        Self { kind, name, detail: String::new(), file, danger, digest }
    }

    /// What to look at first comes first.
    pub(super) fn order(&self) -> (Danger, BroughtKind, &str, &str, &str) {
        (self.danger, self.kind, &self.file, &self.name, &self.digest)
    }

    pub(super) fn is_instructions(&self) -> bool {
        self.kind == BroughtKind::Instructions
    }

    /// As a person is shown it.
    pub(super) fn shown(self, new: bool) -> Brought {
        let Self { kind, name, detail, file, danger, .. } = self;
        Brought { kind, name, detail, file, dangerous: danger == Danger::Dangerous, new }
    }
}

/// What stands for all of these in this folder.
pub(super) fn fingerprint<'a>(path: &str, pieces: impl IntoIterator<Item = &'a Piece>) -> Fingerprint {
    let mut digests: Vec<&str> = pieces
        .into_iter()
        .filter(|piece| !piece.is_instructions())
        .map(|piece| piece.digest.as_str())
        .collect();
    digests.sort_unstable();
    hash(["jackfield trust 1", path].into_iter().chain(digests).map(str::as_bytes)).into()
}

/// A hash over parts, none of which can pass for a part of another.
pub(super) fn hash<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hash.finalize().iter().fold(String::with_capacity(64), |mut digits, byte| {
        digits.extend([byte >> 4, byte & 15].map(|digit| char::from_digit(digit.into(), 16).unwrap_or('0')));
        digits
    })
}

fn cut(text: &str) -> String {
    let end = text.floor_char_boundary(SHOWN);
    match text.len() - end {
        0 => text.to_owned(),
        rest => format!("{}\n… and {rest} bytes more", &text[..end]),
    }
}

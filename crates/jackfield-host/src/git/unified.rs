//! Two contents compared, as a unified diff.

use std::time::Duration;

use jackfield_api::host::FileDiff;
use similar::{ChangeTag, TextDiff, TextDiffConfig};

/// How long one comparison looks for the best answer before it takes a good one.
const LONGEST_SEARCH: Duration = Duration::from_millis(500);

/// What a file holds, as far as a comparison needs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Content {
    /// There is no file.
    Absent,
    /// It is text.
    Text(String),
    /// It is not text, or too large, or cannot be read.
    Opaque,
}

impl Content {
    /// Text, if the bytes are text.
    pub(super) fn of(bytes: Vec<u8>) -> Self {
        if bytes.contains(&0) {
            return Self::Opaque;
        }
        String::from_utf8(bytes).map_or(Self::Opaque, Self::Text)
    }
}

/// What changed; `None` if nothing did.
pub(super) fn compare(path: &str, status: &str, old: &Content, new: &Content) -> Option<FileDiff> {
    let opaque =
        || FileDiff { path: path.to_owned(), status: status.to_owned(), diff: None, added: 0, removed: 0 };
    let (before, after) = match (old, new) {
        (Content::Absent, Content::Absent) => return None,
        (Content::Text(before), Content::Text(after)) if before == after => return None,
        (Content::Opaque, _) | (_, Content::Opaque) => return Some(opaque()),
        (Content::Absent, Content::Text(after)) => ("", after.as_str()),
        (Content::Text(before), Content::Absent) => (before.as_str(), ""),
        (Content::Text(before), Content::Text(after)) => (before.as_str(), after.as_str()),
    };
    // A line break in a path would end the header's line.
    let name = path.replace(['\n', '\r'], " ");
    let side = |content: &Content, mark: &str| match content {
        Content::Absent => "/dev/null".to_owned(),
        _ => format!("{mark}/{name}"),
    };
    let diff: TextDiff<'_, '_, str> =
        TextDiffConfig::default().timeout(LONGEST_SEARCH).diff_lines(before, after);
    let count = |tag| diff.iter_all_changes().filter(|change| change.tag() == tag).count() as u64;
    Some(FileDiff {
        added: count(ChangeTag::Insert),
        removed: count(ChangeTag::Delete),
        diff: Some(diff.unified_diff().header(&side(old, "a"), &side(new, "b")).to_string()),
        ..opaque()
    })
}

//! Files as they stand in the editor, where that is not what is on disk.
//!
//! The CLI's tools read the disk, and nothing of the protocol can make them read an editor's buffers. So what a prompt
//! names and the person has not saved is said with the prompt. The one rule it keeps: an editor that does not answer
//! holds no prompt back for long.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use tokio::task::{JoinSet, spawn_blocking};
use tokio::time::timeout;

use crate::rpc::Peer;
use crate::schema::{CLIENT_METHOD_NAMES, ReadTextFileRequest, ReadTextFileResponse, SessionId};

/// How long the editor may take.
const PATIENCE: Duration = Duration::from_secs(3);
/// How much of a file is said; the model can read the rest of a larger one only once it is saved.
const LONGEST: usize = 256 * 1024;
/// How many files are asked for.
const MOST: usize = 16;

/// The texts of those files that the editor has otherwise than the disk, by their addresses.
pub(super) async fn texts(
    peer: Peer,
    session: SessionId,
    files: Vec<(String, PathBuf)>,
) -> BTreeMap<String, String> {
    let mut asking = JoinSet::new();
    for (uri, path) in files.into_iter().take(MOST) {
        let request = ReadTextFileRequest::new(session.clone(), path.clone());
        let asked = peer.ask(CLIENT_METHOD_NAMES.fs_read_text_file, &request);
        asking.spawn(async move {
            let answer = timeout(PATIENCE, asked.answer::<ReadTextFileResponse>()).await.ok()?.ok()?;
            let saved = spawn_blocking(move || std::fs::read(path).ok()).await.ok()?;
            differs(&answer.content, saved.as_deref()).then_some((uri, answer.content))
        });
    }
    asking.join_all().await.into_iter().flatten().collect()
}

/// Whether the editor has something to say that the disk does not.
fn differs(text: &str, saved: Option<&[u8]>) -> bool {
    // An editor may leave the last newline out.
    let same = |saved: &[u8]| saved == text.as_bytes() || saved.strip_suffix(b"\n") == Some(text.as_bytes());
    text.len() <= LONGEST && !text.is_empty() && !saved.is_some_and(same)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_not_on_disk_is_said() {
        assert!(differs("new", Some(b"old")) && differs("new", None));
        assert!(!differs("same\n", Some(b"same\n")) && !differs("same", Some(b"same\n")));
        assert!(!differs("", None) && !differs(&"x".repeat(LONGEST + 1), None));
    }
}

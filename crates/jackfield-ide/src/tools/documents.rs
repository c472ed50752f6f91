//! Tools that show and save files.
//!
//! The one rule they keep: what a person decided on a diff is what the CLI is told, and silence is a no.

use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::json;

use super::call::{OneFile, OpenDiff, OpenFile};
use super::search::{Until, find};
use super::{Bench, Outcome, json, text};
use crate::diffs::Diffs;
use crate::editor::{Diff, OpenFile as Open, Saved, Verdict};

impl Bench {
    pub(super) async fn open_file(&self, file: OpenFile) -> Outcome {
        let place = self.workspace.place(&file.file_path)?;
        let selection = match &file.start_text {
            Some(start) => {
                let until = if file.select_to_end_of_line { Until::EndOfLine } else { Until::EndOfText };
                let content = place.read()?.unwrap_or_default();
                find(&content, start, file.end_text.as_deref(), until)
            }
            None => None,
        };
        let frontmost = file.make_frontmost;
        let open = Open { path: place.path, selection, preview: file.preview, frontmost };
        let document = self.editor.open_file(open).await?;
        if frontmost {
            return Ok(text(format!("Opened file: {}", file.file_path)));
        }
        Ok(json(&json!({
            "success": true,
            "filePath": file.file_path,
            "languageId": document.language,
            "lineCount": document.lines,
        })))
    }

    pub(super) async fn open_diff(&self, diff: OpenDiff, diffs: &Diffs) -> Outcome {
        let place = self.workspace.place(&diff.new_file_path)?;
        let old = self.workspace.place(&diff.old_file_path)?.read()?;
        let title = diff.tab_name.clone();
        let diff = Diff { path: place.path, title: diff.tab_name, old, new: diff.new_file_contents };
        let verdict = diffs.show(&*self.editor, self.next_diff(), diff).await?;
        // A lone FILE_SAVED is an error to the CLI, and TAB_CLOSED a yes [diff_file_saved, diff_tab_closed].
        let [word, rest] = match verdict {
            Verdict::Accepted { content } => ["FILE_SAVED".to_owned(), content],
            Verdict::Rejected => ["DIFF_REJECTED".to_owned(), title],
        };
        Ok(CallToolResult::success(vec![ContentBlock::text(word), ContentBlock::text(rest)]))
    }

    pub(super) async fn check_dirty(&self, document: OneFile) -> Outcome {
        let place = self.workspace.place(&document.file_path)?;
        let path = document.file_path;
        Ok(match self.editor.document_state(place.path).await? {
            Some(state) => json(&json!({
                "success": true,
                "filePath": path,
                "isDirty": state.dirty,
                "isUntitled": state.untitled,
            })),
            None => not_open(&path),
        })
    }

    pub(super) async fn save(&self, document: OneFile) -> Outcome {
        let place = self.workspace.place(&document.file_path)?;
        let path = document.file_path;
        let (saved, message) = match self.editor.save(place.path).await? {
            Some(Saved::Yes) => (true, "Document saved successfully".to_owned()),
            Some(Saved::No { reason }) => (false, reason),
            None => return Ok(not_open(&path)),
        };
        let answer = json!({ "success": saved, "filePath": path, "saved": saved, "message": message });
        Ok(json(&answer))
    }
}

fn not_open(path: &str) -> CallToolResult {
    json(&json!({ "success": false, "message": format!("Document not open: {path}") }))
}

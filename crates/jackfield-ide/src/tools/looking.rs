//! Tools that tell what there is to see in the editor.
//!
//! The one rule they keep: of files outside the workspace nothing is told.

use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::{Value, json};

use super::call::GetDiagnostics;
use super::{Bench, Outcome, json};
use crate::editor::{FileDiagnostics, Selection, Tab};
use crate::notices::selection_value;
use crate::workspace::url;

impl Bench {
    pub(super) fn current_selection(&self) -> CallToolResult {
        selection(self.notices.current(), "No active editor found")
    }

    pub(super) fn latest_selection(&self) -> CallToolResult {
        selection(self.notices.latest(), "No selection available")
    }

    pub(super) async fn open_editors(&self) -> Outcome {
        let tabs = self.editor.tabs().await?;
        let tabs: Vec<Value> =
            tabs.iter().filter(|tab| self.workspace.holds(&tab.path)).map(described).collect();
        Ok(json(&json!({ "tabs": tabs })))
    }

    pub(super) fn workspace_folders(&self) -> CallToolResult {
        let folders = self.workspace.folders();
        let root = folders.first().cloned();
        let folders = folders.iter().map(|path| {
            let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
            json!({ "name": name, "uri": url(path), "path": path })
        });
        json(&json!({ "success": true, "folders": folders.collect::<Vec<_>>(), "rootPath": root }))
    }

    pub(super) async fn diagnostics(&self, of: GetDiagnostics) -> Outcome {
        let path = match &of.uri {
            Some(uri) => Some(self.workspace.place_of_url(uri)?.path),
            None => None,
        };
        let found = self.editor.diagnostics(path.clone()).await?;
        let wanted = |file: &&FileDiagnostics| match &path {
            Some(path) => file.path == *path,
            None => self.workspace.holds(&file.path),
        };
        let files: Vec<Value> = found
            .iter()
            .filter(wanted)
            .map(|file| {
                // The CLI finds its file by the very text that it sent.
                let uri = of.uri.clone().unwrap_or_else(|| url(&file.path));
                json!({ "uri": uri, "diagnostics": file.diagnostics })
            })
            .collect();
        let mut result = json(&files);
        if let Some(reason) = self.editor.without_diagnostics() {
            // The CLI reads the first text only; the model reads all.
            result.content.push(ContentBlock::text(reason));
        }
        Ok(result)
    }
}

fn selection(selection: Option<Selection>, without: &str) -> CallToolResult {
    json(&match selection {
        Some(Selection { path, text, range }) => json!({
            "success": true,
            "text": text,
            "filePath": path,
            "fileUrl": url(&path),
            "selection": selection_value(range),
        }),
        None => json!({ "success": false, "message": without }),
    })
}

fn described(tab: &Tab) -> Value {
    json!({
        "uri": url(&tab.path),
        "isActive": tab.active,
        "label": tab.label,
        "languageId": tab.language,
        "isDirty": tab.dirty,
    })
}

//! The twelve tools that the CLI knows, over an editor.
//!
//! Which shapes the CLI reads is known from recordings of it; what it does not read has the shape that its other
//! editors give it. The model sees `getDiagnostics` and `executeCode` only, the CLI calls the others itself. The one
//! rule they keep: no tool touches a file outside the workspace.

mod call;
mod catalogue;
mod code;
mod documents;
mod looking;
mod search;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use jackfield_workbench::{Kernel, KernelError};
use rmcp::model::{CallToolResult, ContentBlock};
use serde::Serialize;

use crate::diffs::Diffs;
use crate::editor::{DiffId, Editor, EditorError};
use crate::notices::Notices;
use crate::workspace::{PathError, Workspace};

pub(crate) use call::Call;
pub(crate) use catalogue::catalogue;

/// What the tools of all connections stand on.
#[derive(Debug)]
pub(crate) struct Bench {
    pub(crate) editor: Arc<dyn Editor>,
    pub(crate) workspace: Arc<Workspace>,
    pub(crate) notices: Notices,
    pub(crate) diffs: AtomicU64,
    pub(crate) kernel: Option<Kernel>,
}

/// Why a tool did not work: said to the CLI, and by it to the model.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ToolError {
    #[error(transparent)]
    Editor(#[from] EditorError),
    #[error(transparent)]
    Path(#[from] PathError),
    #[error(transparent)]
    Kernel(#[from] KernelError),
    #[error("cannot run code: this editor has no Jupyter kernel")]
    NoKernel,
}

type Outcome = Result<CallToolResult, ToolError>;

impl Bench {
    /// Does what was asked for; `diffs` are those of the connection.
    pub(crate) async fn perform(&self, call: Call, diffs: &Diffs) -> CallToolResult {
        let outcome = match call {
            Call::OpenFile(file) => self.open_file(file).await,
            Call::OpenDiff(diff) => self.open_diff(diff, diffs).await,
            Call::CloseTab(tab) => {
                diffs.close(&tab.tab_name);
                Ok(text("TAB_CLOSED"))
            }
            Call::CloseAllDiffTabs(_) => Ok(text(format!("CLOSED_{}_DIFF_TABS", diffs.close_all()))),
            Call::GetCurrentSelection(_) => Ok(self.current_selection()),
            Call::GetLatestSelection(_) => Ok(self.latest_selection()),
            Call::GetOpenEditors(_) => self.open_editors().await,
            Call::GetWorkspaceFolders(_) => Ok(self.workspace_folders()),
            Call::GetDiagnostics(of) => self.diagnostics(of).await,
            Call::CheckDocumentDirty(document) => self.check_dirty(document).await,
            Call::SaveDocument(document) => self.save(document).await,
            Call::ExecuteCode(call) => self.execute_code(call.code).await,
        };
        outcome.unwrap_or_else(|error| CallToolResult::error(vec![ContentBlock::text(error.to_string())]))
    }

    fn next_diff(&self) -> DiffId {
        DiffId(self.diffs.fetch_add(1, Ordering::Relaxed) + 1)
    }
}

fn text(text: impl Into<String>) -> CallToolResult {
    CallToolResult::success(vec![ContentBlock::text(text)])
}

fn json(value: &impl Serialize) -> CallToolResult {
    // Only a map with keys that are no strings can fail, and there are none.
    text(serde_json::to_string(value).unwrap_or_default())
}

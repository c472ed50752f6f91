//! What the CLI asks for, read.
//!
//! The one rule it keeps: what a tool does not know is passed over, and what it needs and does not get is refused
//! with its name.

use rmcp::model::JsonObject;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// A call of a tool.
#[derive(Debug)]
pub(crate) enum Call {
    OpenFile(OpenFile),
    OpenDiff(OpenDiff),
    GetCurrentSelection(Nothing),
    GetLatestSelection(Nothing),
    GetOpenEditors(Nothing),
    GetWorkspaceFolders(Nothing),
    GetDiagnostics(GetDiagnostics),
    CheckDocumentDirty(OneFile),
    SaveDocument(OneFile),
    CloseTab(CloseTab),
    CloseAllDiffTabs(Nothing),
    ExecuteCode(ExecuteCode),
}

/// Why a call is none.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CallError {
    #[error("there is no tool `{0}`")]
    NoTool(String),
    #[error("`{tool}` was called wrongly: {reason}")]
    Arguments { tool: String, reason: serde_json::Error },
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OpenFile {
    pub(crate) file_path: String,
    #[serde(default)]
    pub(crate) preview: bool,
    pub(crate) start_text: Option<String>,
    pub(crate) end_text: Option<String>,
    #[serde(default)]
    pub(crate) select_to_end_of_line: bool,
    #[serde(default = "frontmost")]
    pub(crate) make_frontmost: bool,
}

fn frontmost() -> bool {
    true
}

/// The two paths are the same in all that was seen [diff_file_saved], also for a new file [diff_write_new_file].
#[derive(Debug, Deserialize)]
pub(crate) struct OpenDiff {
    pub(crate) old_file_path: String,
    pub(crate) new_file_path: String,
    pub(crate) new_file_contents: String,
    pub(crate) tab_name: String,
}

#[derive(Debug, Deserialize)]
pub(crate) struct GetDiagnostics {
    pub(crate) uri: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OneFile {
    pub(crate) file_path: String,
}

#[derive(Debug, Deserialize)]
pub(crate) struct CloseTab {
    pub(crate) tab_name: String,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Nothing {}

#[derive(Debug, Deserialize)]
pub(crate) struct ExecuteCode {
    pub(crate) code: String,
}

impl Call {
    pub(crate) fn read(tool: &str, arguments: JsonObject) -> Result<Self, CallError> {
        fn read<T: DeserializeOwned>(tool: &str, arguments: JsonObject) -> Result<T, CallError> {
            serde_json::from_value(Value::Object(arguments))
                .map_err(|reason| CallError::Arguments { tool: tool.to_owned(), reason })
        }
        Ok(match tool {
            "openFile" => Self::OpenFile(read(tool, arguments)?),
            "openDiff" => Self::OpenDiff(read(tool, arguments)?),
            "getCurrentSelection" => Self::GetCurrentSelection(read(tool, arguments)?),
            "getLatestSelection" => Self::GetLatestSelection(read(tool, arguments)?),
            "getOpenEditors" => Self::GetOpenEditors(read(tool, arguments)?),
            "getWorkspaceFolders" => Self::GetWorkspaceFolders(read(tool, arguments)?),
            "getDiagnostics" => Self::GetDiagnostics(read(tool, arguments)?),
            "checkDocumentDirty" => Self::CheckDocumentDirty(read(tool, arguments)?),
            "saveDocument" => Self::SaveDocument(read(tool, arguments)?),
            "close_tab" => Self::CloseTab(read(tool, arguments)?),
            "closeAllDiffTabs" => Self::CloseAllDiffTabs(read(tool, arguments)?),
            "executeCode" => Self::ExecuteCode(read(tool, arguments)?),
            _ => return Err(CallError::NoTool(tool.to_owned())),
        })
    }
}

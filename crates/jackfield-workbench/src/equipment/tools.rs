//! The tools that a session is given, under the names that the CLI's own editors give them.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jackfield_sdk::tools::{Hint, ImageType, ToolError, ToolOutput, Tools};
use serde::Deserialize;
use serde_json::{Value, json};

use super::Lent;
use crate::kernel::{Kernel, Output, Part};
use crate::problem::FileDiagnostics;

/// The set's name: the model sees `mcp__jackfield__executeCode`.
const NAME: &str = "jackfield";

/// Asks for problems.
#[derive(Debug, Deserialize, jackfield_sdk::tools::schemars::JsonSchema)]
#[schemars(crate = "jackfield_sdk::tools::schemars")]
struct GetDiagnostics {
    /// The file, by its path or `file://` address; all files that were looked at before, if absent.
    uri: Option<String>,
}

/// Runs code.
#[derive(Debug, Deserialize, jackfield_sdk::tools::schemars::JsonSchema)]
#[schemars(crate = "jackfield_sdk::tools::schemars")]
struct ExecuteCode {
    /// The Python code.
    code: String,
}

/// The set with what there is; `None` if there is nothing.
pub(super) fn tools(lent: Option<&Arc<Lent>>, kernel: Option<Kernel>) -> Option<Tools> {
    if lent.is_none() && kernel.is_none() {
        return None;
    }
    let mut tools = Tools::new(NAME, env!("CARGO_PKG_VERSION"));
    if let Some(lent) = lent {
        let lent = Arc::clone(lent);
        let about = "Problems (errors, warnings) that the language server or the editor finds in a file";
        let ask = move |input| diagnostics(Arc::clone(&lent), input);
        tools = tools.tool("getDiagnostics", about, ask).hint(Hint::ReadOnly).hint(Hint::AlwaysLoaded);
    }
    if let Some(kernel) = kernel {
        let kernel = Arc::new(kernel);
        let about = "Runs Python code in a Jupyter kernel in the session's folder. Variables are kept from one call to \
                     the next; the value of the last line, what is printed, and pictures are given back.";
        let run = move |input: ExecuteCode| {
            let kernel = Arc::clone(&kernel);
            async move { shown(kernel.execute(input.code).await?) }
        };
        tools = tools.tool("executeCode", about, run).hint(Hint::AlwaysLoaded);
    }
    Some(tools)
}

async fn diagnostics(lent: Arc<Lent>, asked: GetDiagnostics) -> Result<ToolOutput, ToolError> {
    let files = match asked.uri {
        Some(uri) => {
            let refusal = || ToolError::new(format!("`{uri}` is not in the session's folder"));
            let path = lent.file(&uri).ok_or_else(refusal)?;
            if lent.buffers.is_none() && !lent.servers.know(&path) {
                return Err(ToolError::new(format!("no language server is configured for `{uri}`")));
            }
            let diagnostics = lent.problems(&path).await.map_err(ToolError::new)?;
            vec![FileDiagnostics { path, diagnostics }]
        }
        None => lent.all_problems().await.map_err(ToolError::new)?,
    };
    let files: Vec<Value> = files
        .iter()
        .map(|file| json!({ "uri": format!("file://{}", file.path.display()), "diagnostics": file.diagnostics }))
        .collect();
    ToolOutput::json(&files)
}

/// Output as the model gets it.
fn shown(output: Output) -> Result<ToolOutput, ToolError> {
    let Output { parts, failed } = output;
    let has_picture = parts.iter().any(|part| matches!(part, Part::Picture { .. }));
    if failed && !has_picture {
        let texts =
            parts.into_iter().filter_map(|part| if let Part::Text(text) = part { Some(text) } else { None });
        return Err(ToolError::new(texts.collect::<Vec<_>>().join("\n")));
    }
    if parts.is_empty() {
        return Ok(ToolOutput::text("(the code has shown nothing)"));
    }
    let mut all = ToolOutput::empty();
    for part in parts {
        all = match part {
            Part::Text(text) => all.and(text),
            Part::Picture { media_type, base64 } => {
                let kind = match media_type {
                    "image/jpeg" => ImageType::Jpeg,
                    "image/gif" => ImageType::Gif,
                    _ => ImageType::Png,
                };
                all.and(ToolOutput::image(STANDARD.decode(base64)?, kind))
            }
        };
    }
    Ok(all)
}

//! The tool that runs code.
//!
//! Whether it may run was asked by the CLI. The one rule it keeps: whatever the code did, the model is shown it.

use jackfield_workbench::{Output, Part};
use rmcp::model::{CallToolResult, ContentBlock};

use super::{Bench, Outcome, ToolError};

impl Bench {
    pub(super) async fn execute_code(&self, code: String) -> Outcome {
        let kernel = self.kernel.as_ref().ok_or(ToolError::NoKernel)?;
        let Output { parts, failed } = kernel.execute(code).await?;
        let mut content: Vec<ContentBlock> = parts
            .into_iter()
            .map(|part| match part {
                Part::Text(text) => ContentBlock::text(text),
                Part::Picture { media_type, base64 } => ContentBlock::image(base64, media_type),
            })
            .collect();
        if content.is_empty() {
            content.push(ContentBlock::text("(the code has shown nothing)"));
        }
        Ok(if failed { CallToolResult::error(content) } else { CallToolResult::success(content) })
    }
}

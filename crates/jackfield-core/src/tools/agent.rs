//! The tool that hands work to a subagent: `Task`, also called `Agent`.
//!
//! Not the subagent's own calls: those are calls like any other, below this one. The one rule: the output
//! is what the subagent reported, without what the CLI adds for the model.

use jackfield_api::normalized::SubagentTask;

use super::ToolResult;
use super::fields::{self, Fields};

/// The shape of a subagent's task.
pub(super) fn task(input: &Fields<'_>) -> SubagentTask {
    SubagentTask {
        description: input.text("description").unwrap_or_default(),
        prompt: input.text("prompt").unwrap_or_default(),
        subagent_type: input.text("subagent_type"),
        output: None,
    }
}

/// Adds what the subagent reported.
pub(super) fn complete(task: &mut SubagentTask, result: &ToolResult<'_>) {
    if result.is_error {
        return;
    }
    // The content for the model ends in a block about the agent's id and usage [tools/subagent].
    let report = result.fields().and_then(|fields| fields.raw("content")).and_then(fields::text_of_blocks);
    task.output = report.or_else(|| result.text());
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn completed(content: &str, structured: Option<&str>, is_error: bool) -> SubagentTask {
        let input = r#"{"description":"sub job","prompt":"SUBPROMPT go","subagent_type":"general-purpose"}"#;
        let mut task = task(&Fields::read(input).unwrap());
        complete(&mut task, &ToolResult { content: Some(content), structured, is_error });
        task
    }

    // [tools/subagent]
    const CONTENT: &str =
        r#"[{"type":"text","text":"SUB FINAL ANSWER"},{"type":"text","text":"agentId: a91c"}]"#;

    #[test]
    fn the_report_comes_without_what_the_cli_adds() {
        let structured = r#"{"status":"completed","prompt":"SUBPROMPT go","agentId":"a91c",
            "content":[{"type":"text","text":"SUB FINAL ANSWER"}],"totalTokens":125}"#;
        assert_eq!(
            completed(CONTENT, Some(structured), false),
            SubagentTask {
                description: "sub job".to_owned(),
                prompt: "SUBPROMPT go".to_owned(),
                subagent_type: Some("general-purpose".to_owned()),
                output: Some("SUB FINAL ANSWER".to_owned()),
            }
        );
    }

    #[test]
    fn without_a_structured_result_the_text_is_kept() {
        assert_eq!(
            completed(CONTENT, None, false).output.as_deref(),
            Some("SUB FINAL ANSWER\nagentId: a91c")
        );
    }

    #[test]
    fn an_interrupted_subagent_reports_nothing() {
        // [tools/subagent_interrupt]
        assert_eq!(completed(r#""The user doesn't want to proceed""#, None, true).output, None);
    }
}

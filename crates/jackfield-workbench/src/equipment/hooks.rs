//! What happens around an edit: changes in the user's editor are saved before it, and new problems are told after it.
//!
//! The one rule it keeps: nothing here lets a tool run or takes long enough to keep one from running; the one thing that
//! it may do is to have a person asked.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use jackfield_sdk::Callbacks;
use jackfield_sdk::wire::{
    HookDecision, HookDetail, HookEvent, HookInput, HookOutput, HookReply, HookSpecificOutput,
    PostToolUseOutput, PreToolUseOutput, Raw,
};
use serde::Deserialize;
use tokio::time::timeout;

use super::Lent;
use crate::buffers::Settled;
use crate::findings;

/// The tools that change a file, and those that read one.
const EDITS: &str = "Edit|Write|MultiEdit";
const READS: &str = "Read|NotebookEdit";
/// How long the editor may take; then the tool goes on without it.
const EDITOR: Duration = Duration::from_secs(5);
/// How long the problems before an edit may take: a language server may have to begin first.
const PROBLEMS: Duration = Duration::from_secs(40);
/// What the CLI is told to wait; longer than all that is waited for here, or it would refuse the tool.
const PATIENCE: Duration = Duration::from_mins(1);

#[derive(Debug, Deserialize)]
struct Input {
    file_path: Option<String>,
    notebook_path: Option<String>,
}

pub(super) fn hooks(callbacks: Callbacks, lent: &Arc<Lent>) -> Callbacks {
    let (edits, reads, edited) = (Arc::clone(lent), Arc::clone(lent), Arc::clone(lent));
    let mut callbacks = callbacks
        .on_hook(HookEvent::PreToolUse, Some(EDITS), move |input| before_edit(Arc::clone(&edits), input))
        .within(PATIENCE)
        .on_hook(HookEvent::PostToolUse, Some(EDITS), move |input| after_edit(Arc::clone(&edited), input))
        .within(PATIENCE);
    if lent.buffers.is_some() {
        callbacks = callbacks
            .on_hook(HookEvent::PreToolUse, Some(READS), move |input| before_read(Arc::clone(&reads), input))
            .within(PATIENCE);
    }
    callbacks
}

async fn before_edit(lent: Arc<Lent>, input: HookInput) -> Result<HookOutput, String> {
    let HookDetail::PreToolUse(call) = &input.detail else { return Ok(HookOutput::default()) };
    let Some(path) = path(&lent, &call.tool_input) else { return Ok(HookOutput::default()) };
    let unsaved = unsaved(&lent, &path).await;
    if let Some(id) = &call.tool_use_id {
        // What cannot be told is not compared either.
        if let Ok(Ok(problems)) = timeout(PROBLEMS, lent.problems(&path)).await {
            lent.remember(id.to_string(), problems);
        }
    }
    let output = unsaved.map(|reason| PreToolUseOutput {
        permission_decision: Some(HookDecision::Ask),
        permission_decision_reason: Some(reason),
        ..PreToolUseOutput::default()
    });
    Ok(reply(output.map(HookSpecificOutput::PreToolUse)))
}

async fn before_read(lent: Arc<Lent>, input: HookInput) -> Result<HookOutput, String> {
    let HookDetail::PreToolUse(call) = &input.detail else { return Ok(HookOutput::default()) };
    let Some(path) = path(&lent, &call.tool_input) else { return Ok(HookOutput::default()) };
    let output = unsaved(&lent, &path)
        .await
        .map(|reason| PreToolUseOutput { additional_context: Some(reason), ..PreToolUseOutput::default() });
    Ok(reply(output.map(HookSpecificOutput::PreToolUse)))
}

async fn after_edit(lent: Arc<Lent>, input: HookInput) -> Result<HookOutput, String> {
    let HookDetail::PostToolUse(result) = &input.detail else { return Ok(HookOutput::default()) };
    let before = result.tool_use_id.as_ref().and_then(|id| lent.recall(id.as_ref()));
    let (Some(before), Some(path)) = (before, path(&lent, &result.tool_input)) else {
        return Ok(HookOutput::default());
    };
    let after = timeout(PROBLEMS, lent.problems(&path)).await;
    let after = after.map_err(|_| "the language server has not answered in time".to_owned())??;
    let words = findings::words(&path, &findings::new_problems(&before, &after));
    let output = words
        .map(|words| PostToolUseOutput { additional_context: Some(words), ..PostToolUseOutput::default() });
    Ok(reply(output.map(HookSpecificOutput::PostToolUse)))
}

/// Has changes in the user's editor saved; what to say if there are any that are not.
async fn unsaved(lent: &Lent, path: &std::path::Path) -> Option<String> {
    let buffers = lent.buffers.as_ref()?;
    match timeout(EDITOR, buffers.settle(path.to_owned())).await {
        Ok(Ok(Settled::Unsaved { reason })) => Some(format!(
            "{} has changes in the editor that are not saved, and could not be saved: {reason}",
            path.display()
        )),
        // An editor that does not answer has nothing to say.
        Ok(Ok(Settled::Clean | Settled::Saved) | Err(_)) | Err(_) => None,
    }
}

fn path(lent: &Lent, input: &Raw) -> Option<PathBuf> {
    let input: Input = input.parse().ok()?;
    lent.file(&input.file_path.or(input.notebook_path)?)
}

fn reply(output: Option<HookSpecificOutput>) -> HookOutput {
    HookOutput::Now(Box::new(HookReply { hook_specific_output: output, ..HookReply::default() }))
}

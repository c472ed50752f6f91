//! Tool calls, from the first letter of their input to their end.
//!
//! How a call looks is in [`shape`]. The one rule it keeps: what was shown ends once.

use std::collections::HashMap;

use jackfield_api::conversation::FileUpdated;
use jackfield_api::normalized::Normalized;
use jackfield_api::tool::{ToolCall as Called, ToolPreparing, ToolStatus, ToolUpdate};
use jackfield_api::{Json, ToolCallId};
use serde_json::{Map, Value, json};

use super::{Sink, View, output, shape};
use crate::schema::{
    Diff, Meta, SessionUpdate, Terminal, ToolCall, ToolCallContent, ToolCallLocation, ToolCallStatus,
    ToolCallUpdate, ToolCallUpdateFields,
};

/// How long a file may be, to be shown whole before and after.
const WHOLE: usize = 256 * 1024;

/// The calls that are open.
#[derive(Debug)]
pub(super) struct Calls {
    folder: String,
    open: HashMap<ToolCallId, Call>,
    /// The last that ended: what it did to a file is told right behind.
    ended: Option<ToolCallId>,
    /// The input that somebody has allowed instead of another: the call that it changes is told right behind.
    allowed: Option<Json>,
}

#[derive(Debug)]
struct Call {
    /// Which terminal shows it, if one does.
    terminal: bool,
    parent: Option<ToolCallId>,
    name: String,
}

impl Calls {
    pub(super) fn new(folder: &str) -> Self {
        Self { folder: folder.to_owned(), open: HashMap::new(), ended: None, allowed: None }
    }

    pub(super) fn is_open(&self, id: &ToolCallId) -> bool {
        self.open.contains_key(id)
    }

    pub(super) fn prepare(
        &mut self,
        preparing: &ToolPreparing,
        parent: Option<&ToolCallId>,
        to: &mut impl Sink,
    ) {
        let ToolPreparing { tool_call_id: id, tool_name: name, .. } = preparing;
        if self.open.contains_key(id) {
            return;
        }
        let call = Call { terminal: false, parent: parent.cloned(), name: name.clone() };
        let shown = ToolCall::new(name_of(id), name.clone()).name(name.clone());
        to.update(SessionUpdate::ToolCall(shown.meta(call.meta())));
        self.open.insert(id.clone(), call);
    }

    pub(super) fn call(
        &mut self,
        called: &Called,
        parent: Option<&ToolCallId>,
        view: View,
        to: &mut impl Sink,
    ) {
        let id = &called.tool_call_id;
        let is_shown = self.open.contains_key(id);
        let terminal = view.terminal_output && matches!(called.normalized, Normalized::ShellExec(_));
        let call = Call { terminal, parent: parent.cloned(), name: called.tool_name.clone() };
        let mut meta = call.meta();
        let mut content = shape::content(&called.normalized);
        if terminal {
            meta.insert("terminal_info".to_owned(), json!({ "terminal_id": id.as_str() }));
            content
                .push(ToolCallContent::Terminal(Terminal::new(crate::schema::TerminalId::new(id.0.clone()))));
        }
        let kind = shape::kind(&called.normalized);
        let locations = shape::locations(&called.normalized);
        let input = shape::value(&called.input);
        let title = shape::title(&called.tool_title, Some(&called.normalized), &self.folder);
        if is_shown {
            let fields = ToolCallUpdateFields::new()
                .title(title)
                .kind(kind)
                .status(ToolCallStatus::InProgress)
                .content(content)
                .locations(locations)
                .raw_input(input);
            let update = ToolCallUpdate::new(name_of(id), fields).meta(meta);
            to.update(SessionUpdate::ToolCallUpdate(update));
        } else {
            let shown = ToolCall::new(name_of(id), title)
                .name(called.tool_name.clone())
                .kind(kind)
                .status(ToolCallStatus::InProgress)
                .content(content)
                .locations(locations)
                .raw_input(input);
            to.update(SessionUpdate::ToolCall(shown.meta(meta)));
        }
        self.open.insert(id.clone(), call);
    }

    pub(super) fn update(&mut self, update: &ToolUpdate, to: &mut impl Sink) {
        let id = &update.tool_call_id;
        let status = match update.tool_status {
            ToolStatus::Running => return self.change(update, to),
            ToolStatus::Complete => ToolCallStatus::Completed,
            ToolStatus::Error => ToolCallStatus::Failed,
        };
        let Some(call) = self.open.remove(id) else { return };
        let mut meta = call.meta();
        if let (true, Some(Normalized::ShellExec(shell))) = (call.terminal, &update.normalized) {
            terminal_end(id, shell.output.as_ref(), update, &mut meta);
        }
        let fields = ToolCallUpdateFields::new()
            .status(status)
            .content(if call.terminal { None } else { ending(update) })
            .raw_output(update.output.as_ref().and_then(shape::value));
        to.update(SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(name_of(id), fields).meta(meta)));
        self.ended = Some(id.clone());
    }

    /// A question was answered: with this input, if it was changed.
    pub(super) fn allow(&mut self, input: Option<&Json>) {
        self.allowed = input.cloned();
    }

    /// Somebody has allowed the call with another input: it is shown as it will be done. How long a call has run, the
    /// editor sees itself.
    fn change(&mut self, update: &ToolUpdate, to: &mut impl Sink) {
        let input = self.allowed.take();
        let id = &update.tool_call_id;
        let (Some(call), Some(title)) = (self.open.get(id), &update.tool_title) else { return };
        let Some(normalized) = &update.normalized else { return };
        let mut fields = ToolCallUpdateFields::new()
            .title(shape::title(title, Some(normalized), &self.folder))
            .locations(shape::locations(normalized))
            .raw_input(input.as_ref().and_then(shape::value));
        // What a terminal shows is what the command says.
        if !call.terminal {
            fields = fields.content(shape::content(normalized));
        }
        to.update(SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(name_of(id), fields).meta(call.meta())));
    }

    /// A file was changed: the change in its surroundings, where all of it is known.
    pub(super) fn file(&mut self, file: &FileUpdated, to: &mut impl Sink) {
        if self.ended.as_ref() != Some(&file.tool_call_id) {
            return;
        }
        let short = |text: &Option<String>| text.as_ref().is_none_or(|text| text.len() <= WHOLE);
        let Some(new) = file.new_content.clone() else { return };
        if file.truncated || !short(&file.old_content) || !short(&file.new_content) {
            return;
        }
        let diff = Diff::new(file.file_path.clone(), new).old_text(file.old_content.clone());
        let place = ToolCallLocation::new(file.file_path.clone()).line(first_change(&file.diff));
        let fields =
            ToolCallUpdateFields::new().content(vec![ToolCallContent::Diff(diff)]).locations(vec![place]);
        let update = ToolCallUpdate::new(name_of(&file.tool_call_id), fields);
        to.update(SessionUpdate::ToolCallUpdate(update));
    }

    pub(super) fn end(&mut self, to: &mut impl Sink) {
        let mut open: Vec<_> = self.open.drain().collect();
        open.sort_by(|(one, _), (other, _)| one.cmp(other));
        for (id, call) in open {
            let fields = ToolCallUpdateFields::new().status(ToolCallStatus::Failed);
            let update = ToolCallUpdate::new(name_of(&id), fields).meta(call.meta());
            to.update(SessionUpdate::ToolCallUpdate(update));
        }
    }
}

impl Call {
    /// What editors that know Claude Code look for.
    fn meta(&self) -> Meta {
        let mut about = Map::new();
        about.insert("toolName".to_owned(), Value::String(self.name.clone()));
        if let Some(parent) = &self.parent {
            about.insert("parentToolUseId".to_owned(), Value::String(parent.to_string()));
        }
        let mut meta = Meta::new();
        meta.insert("claudeCode".to_owned(), Value::Object(about));
        meta
    }
}

/// What is shown of a call that has ended; what was shown before stays if there is nothing new.
fn ending(update: &ToolUpdate) -> Option<Vec<ToolCallContent>> {
    let failed = update.tool_status == ToolStatus::Error;
    let shaped = match &update.normalized {
        // Its changes are shown already; if they were not made, the reason is what counts.
        Some(Normalized::ModifyFile(_)) if !failed => return None,
        Some(Normalized::ModifyFile(_)) | None => Vec::new(),
        Some(normalized) if has_output(normalized) => shape::content(normalized),
        Some(_) => Vec::new(),
    };
    if !shaped.is_empty() {
        return Some(shaped);
    }
    let content = update.output.as_ref().map(output::content).unwrap_or_default();
    if !content.is_empty() {
        return Some(content);
    }
    update.message.as_deref().map(|message| vec![output::block(message)])
}

/// The line of the new file where a unified diff first changes something.
fn first_change(diff: &str) -> Option<u32> {
    let mut lines = diff.lines().skip_while(|line| !line.starts_with("@@"));
    let (_, new) = lines.next()?.split_once('+')?;
    let begin: u32 = new.split([',', ' ']).next()?.parse().ok()?;
    let before = lines.take_while(|line| line.starts_with(' ')).count();
    Some(begin.max(1) + u32::try_from(before).ok()?)
}

fn has_output(normalized: &Normalized) -> bool {
    match normalized {
        Normalized::ReadFile(read) => read.output.as_ref().is_some_and(|output| !output.content.is_empty()),
        Normalized::CodeSearch(search) => search.output.is_some(),
        // What was refused has no exit code, and is no output of a command.
        Normalized::ShellExec(shell) => {
            shell.output.as_ref().is_some_and(|output| output.exit_code.is_some())
        }
        Normalized::HttpRequest(request) => request.response.is_some(),
        Normalized::SubagentTask(task) => task.output.is_some(),
        _ => false,
    }
}

fn terminal_end(
    id: &ToolCallId,
    shell: Option<&jackfield_api::normalized::ShellOutput>,
    update: &ToolUpdate,
    meta: &mut Meta,
) {
    let failed = update.tool_status == ToolStatus::Error;
    let text = shell.map(|output| shape::joined(&output.stdout, &output.stderr));
    let text = text.or_else(|| update.message.clone()).unwrap_or_default();
    let code = shell.and_then(|output| output.exit_code).unwrap_or(i64::from(failed));
    // A terminal wants to be told where its lines begin.
    let text = output::cut(&text).replace('\n', "\r\n");
    meta.insert("terminal_output".to_owned(), json!({ "terminal_id": id.as_str(), "data": text }));
    let exit = json!({ "terminal_id": id.as_str(), "exit_code": code, "signal": null });
    meta.insert("terminal_exit".to_owned(), exit);
}

fn name_of(id: &ToolCallId) -> crate::schema::ToolCallId {
    crate::schema::ToolCallId::new(id.0.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_change_is_behind_what_stands_before_it() {
        assert_eq!(first_change("--- a\n+++ b\n@@ -3,4 +3,5 @@ fn x\n one\n two\n+three\n four\n"), Some(5));
        assert_eq!(first_change("@@ -0,0 +1 @@\n+x\n"), Some(1));
        assert_eq!((first_change(""), first_change("@@ nonsense")), (None, None));
    }
}

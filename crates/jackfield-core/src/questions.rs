//! Questions of the CLI that wait for an answer: permissions, questions, plans, forms, dialogs – and the
//! calls that only the shell can serve: hooks and messages to MCP servers inside the host.
//!
//! Each is asked once and ended exactly once: answered, withdrawn by the CLI, or lost with its run. No
//! answer is never "allow".

use std::collections::BTreeMap;

use jackfield_api as api;

use api::permission::{
    PermissionCancelled, PermissionKind, PermissionOutcome, PermissionRequest, PermissionResolved,
};
use api::tool::{Hook, HookStatus};
use api::{Json, PendingId, Timestamp, ToolCallId};
use jackfield_wire::RequestId;

use crate::input::CallId;
use crate::outbox::Outbox;

/// Everything that the CLI waits for.
#[derive(Debug, Default)]
pub(crate) struct Questions {
    asked: BTreeMap<PendingId, Asked>,
    called: BTreeMap<CallId, Called>,
}

/// A question to a person.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) request_id: RequestId,
    pub(crate) request: PermissionRequest,
    pub(crate) deadline: Option<Timestamp>,
    parent: Option<ToolCallId>,
    /// An answer is on its way to the CLI.
    pub(crate) answered: bool,
}

/// A call to the shell.
#[derive(Debug)]
pub(crate) struct Called {
    pub(crate) request_id: RequestId,
    pub(crate) what: CalledWhat,
    parent: Option<ToolCallId>,
}

#[derive(Debug)]
pub(crate) enum CalledWhat {
    Hook { event: String, name: String, tool_call_id: Option<ToolCallId> },
    Mcp,
}

impl Questions {
    /// Asks; the question is named by the `seq` of its event.
    pub(crate) fn ask(
        &mut self,
        request_id: RequestId,
        mut request: PermissionRequest,
        parent: Option<ToolCallId>,
        deadline: Option<Timestamp>,
        out: &mut Outbox,
    ) {
        // The CLI uses an id again that is still open: the first question can no longer be answered.
        self.withdraw(&request_id, out);
        request.pending_id = PendingId(out.next_seq());
        out.event_in(parent.as_ref(), request.clone());
        let id = request.pending_id;
        self.asked.insert(id, Asked { request_id, request, deadline, parent, answered: false });
    }

    /// Calls the shell.
    pub(crate) fn call(
        &mut self,
        id: CallId,
        request_id: RequestId,
        what: CalledWhat,
        parent: Option<ToolCallId>,
        out: &mut Outbox,
    ) {
        self.withdraw(&request_id, out);
        let called = Called { request_id, what, parent };
        called.tell(HookStatus::Running, None, out);
        self.called.insert(id, called);
    }

    pub(crate) fn get_mut(&mut self, id: PendingId) -> Option<&mut Asked> {
        self.asked.get_mut(&id)
    }

    pub(crate) fn called(&self, id: CallId) -> Option<&Called> {
        self.called.get(&id)
    }

    /// An answer has been written to the CLI. Tells what waited for it.
    pub(crate) fn answered(&mut self, request_id: &RequestId, answer: &Answered, out: &mut Outbox) -> Waited {
        if let Some(id) = self.asked_as(request_id) {
            let request = self.asked.get(&id).map(|asked| &asked.request);
            let input = request.and_then(|request| changed(answer.input.as_ref()?, request));
            let call = request.filter(|request| request.kind == PermissionKind::Tool);
            let call = call.and_then(|request| request.tool_call_id.clone()).zip(input.clone());
            self.resolve(id, Answered { input, ..answer.clone() }, out);
            return call.map_or(Waited::Yes, |(id, input)| Waited::ForAnother(id, input));
        }
        let Some(id) = self.called_as(request_id) else { return Waited::No };
        if let Some(called) = self.called.remove(&id) {
            let status = if answer.failed { HookStatus::Error } else { HookStatus::Complete };
            called.tell(status, answer.message.clone(), out);
        }
        Waited::Yes
    }

    /// The CLI no longer waits. Tells whether it did.
    pub(crate) fn withdraw(&mut self, request_id: &RequestId, out: &mut Outbox) -> bool {
        if let Some(id) = self.asked_as(request_id) {
            if let Some(asked) = self.asked.remove(&id) {
                out.event_in(asked.parent.as_ref(), PermissionCancelled { pending_id: id });
            }
            return true;
        }
        let Some(id) = self.called_as(request_id) else { return false };
        if let Some(called) = self.called.remove(&id) {
            called.tell(HookStatus::Cancelled, None, out);
            out.withdraw_call(id);
        }
        true
    }

    /// The tool has run (or not) without an answer that we have seen.
    pub(crate) fn tool_ended(&mut self, tool: &ToolCallId, outcome: PermissionOutcome, out: &mut Outbox) {
        let found = self.asked.iter().find(|(_, asked)| asked.request.tool_call_id.as_ref() == Some(tool));
        if let Some(id) = found.map(|(id, _)| *id) {
            self.resolve(id, Answered::unsaid(outcome, "the answer was not seen"), out);
        }
    }

    /// Nothing can be answered any more.
    pub(crate) fn end(&mut self, why: &str, out: &mut Outbox) {
        while let Some(id) = self.asked.keys().next().copied() {
            self.resolve(id, Answered::unsaid(PermissionOutcome::Lost, why), out);
        }
        while let Some((id, called)) = self.called.pop_first() {
            called.tell(HookStatus::Cancelled, Some(why.to_owned()), out);
            out.withdraw_call(id);
        }
    }

    pub(crate) fn deadline(&self) -> Option<Timestamp> {
        self.asked.values().filter(|asked| !asked.answered).filter_map(|asked| asked.deadline).min()
    }

    pub(crate) fn expired(&self, now: Timestamp) -> Vec<PendingId> {
        let over = |asked: &Asked| !asked.answered && asked.deadline.is_some_and(|deadline| deadline <= now);
        self.asked.iter().filter(|(_, asked)| over(asked)).map(|(id, _)| *id).collect()
    }

    fn resolve(&mut self, pending_id: PendingId, answer: Answered, out: &mut Outbox) {
        let Answered { outcome, by, message, input, .. } = answer;
        if let Some(asked) = self.asked.remove(&pending_id) {
            out.event_in(
                asked.parent.as_ref(),
                PermissionResolved { pending_id, outcome, by, message, input },
            );
        }
    }

    fn asked_as(&self, request_id: &RequestId) -> Option<PendingId> {
        self.asked.iter().find(|(_, asked)| asked.request_id == *request_id).map(|(id, _)| *id)
    }

    fn called_as(&self, request_id: &RequestId) -> Option<CallId> {
        self.called.iter().find(|(_, called)| called.request_id == *request_id).map(|(id, _)| *id)
    }
}

impl Called {
    fn tell(&self, status: HookStatus, output: Option<String>, out: &mut Outbox) {
        // Messages to MCP servers show in the tool calls that they serve.
        let CalledWhat::Hook { event, name, tool_call_id } = &self.what else { return };
        let hook = Hook {
            hook_id: (!self.request_id.is_missing()).then(|| self.request_id.to_string()),
            hook_event: event.clone(),
            hook_name: name.clone(),
            status,
            tool_call_id: tool_call_id.clone(),
            output,
            exit_code: None,
        };
        out.event_in(self.parent.as_ref(), hook);
    }
}

/// What an answer that was written says.
#[derive(Debug, Clone)]
pub(crate) struct Answered {
    pub(crate) outcome: PermissionOutcome,
    pub(crate) by: Option<String>,
    pub(crate) message: Option<String>,
    /// The input that was allowed, as it was written.
    pub(crate) input: Option<Json>,
    pub(crate) failed: bool,
}

impl Answered {
    /// The end of a question to which nobody said anything.
    fn unsaid(outcome: PermissionOutcome, why: &str) -> Self {
        Self { outcome, by: None, message: Some(why.to_owned()), input: None, failed: false }
    }
}

/// What waited for an answer.
#[derive(Debug, PartialEq)]
pub(crate) enum Waited {
    /// Nothing.
    No,
    /// Something.
    Yes,
    /// A call, which runs with another input now.
    ForAnother(ToolCallId, Json),
}

/// The input that was allowed, if it is another one than was asked about. `{}` stands for the model's own
/// [permission/bash_allow_empty_updatedinput].
fn changed(allowed: &Json, request: &PermissionRequest) -> Option<Json> {
    let read = |json: &Json| json.read::<serde_json::Value>().ok();
    let now = read(allowed).filter(|now| now.as_object().is_some_and(|members| !members.is_empty()))?;
    (request.input.as_ref().and_then(read).as_ref() != Some(&now)).then(|| allowed.clone())
}

//! Tool calls that are not over.
//!
//! A call opens when its input begins to stream or when it is called, whichever comes first, and is ended
//! exactly once: by its result, by the end of the turn that left it behind, or by the end of the run.

use std::collections::BTreeMap;

use jackfield_api as api;

use api::tool::{ToolCall, ToolPreparing, ToolStatus, ToolUpdate};
use api::trouble::NoticeLevel;
use api::{Json, Normalized, ToolCallId};
use jackfield_wire::{HookToolResult, Raw};

use crate::outbox::Outbox;
use crate::tools::{self, TodoList, ToolResult};
use crate::words;

/// The name of a `PostToolUse` hook that the machine answers itself. Inside a subagent the line of a result
/// lacks its structured form, and so what a file held before; the hook is told it, just before that line.
pub const RESULT_HOOK: &str = "jackfield-result";

/// Open calls, by id, and the to-do list that some of them keep.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    open: BTreeMap<ToolCallId, Open>,
    /// Structured results that a hook was told, until the lines of their results come.
    told: BTreeMap<ToolCallId, Raw>,
    todos: TodoList,
}

#[derive(Debug)]
struct Open {
    name: String,
    parent: Option<ToolCallId>,
    /// None while the input is streaming in.
    called: Option<Called>,
}

#[derive(Debug)]
struct Called {
    normalized: Normalized,
    input: Json,
}

impl Calls {
    pub(crate) fn prepare(
        &mut self,
        id: ToolCallId,
        name: &str,
        parent: Option<ToolCallId>,
        out: &mut Outbox,
    ) {
        if self.open.contains_key(&id) {
            return;
        }
        out.event_in(
            parent.as_ref(),
            api::Body::ToolPreparing(ToolPreparing {
                tool_call_id: id.clone(),
                tool_name: name.to_owned(),
                bytes: 0,
            }),
        );
        self.open.insert(id, Open { name: name.to_owned(), parent, called: None });
    }

    pub(crate) fn prepared(&self, id: &ToolCallId, bytes: u64, out: &mut Outbox) {
        if let Some(open) = self.open.get(id).filter(|open| open.called.is_none()) {
            out.event_in(
                open.parent.as_ref(),
                api::Body::ToolPreparing(ToolPreparing {
                    tool_call_id: id.clone(),
                    tool_name: open.name.clone(),
                    bytes,
                }),
            );
        }
    }

    /// Its input is complete.
    pub(crate) fn call(
        &mut self,
        id: ToolCallId,
        name: &str,
        input: Json,
        parent: Option<ToolCallId>,
        out: &mut Outbox,
    ) {
        if self.open.get(&id).is_some_and(|open| open.called.is_some()) {
            out.notice(NoticeLevel::Warning, format!("tool call {id} was announced twice"));
            return;
        }
        let normalized = tools::normalize(name, &input);
        out.event_in(
            parent.as_ref(),
            ToolCall {
                tool_call_id: id.clone(),
                tool_name: name.to_owned(),
                tool_title: tools::title(name, &normalized),
                tool_status: ToolStatus::Running,
                normalized: normalized.clone(),
                input: input.clone(),
            },
        );
        self.open
            .insert(id, Open { name: name.to_owned(), parent, called: Some(Called { normalized, input }) });
    }

    /// Somebody allowed it with another input: what runs is no longer what the model wrote.
    pub(crate) fn change(&mut self, id: &ToolCallId, input: Json, out: &mut Outbox) {
        let Some(open) = self.open.get_mut(id) else { return };
        let Some(called) = &mut open.called else { return };
        *called = Called { normalized: tools::normalize(&open.name, &input), input };
        out.event_in(
            open.parent.as_ref(),
            ToolUpdate {
                tool_call_id: id.clone(),
                tool_status: ToolStatus::Running,
                tool_title: Some(tools::title(&open.name, &called.normalized)),
                normalized: Some(called.normalized.clone()),
                output: None,
                message: None,
            },
        );
    }

    /// A hook is told what a tool did. Only what changes a file is kept: the rest is in the result's line.
    pub(crate) fn tell_result(&mut self, id: ToolCallId, told: &HookToolResult) {
        let Some(structured) = &told.tool_response else { return };
        let normalized = tools::normalize(&told.tool_name, &words::json(&told.tool_input));
        if matches!(normalized, Normalized::ModifyFile(_)) {
            self.told.insert(id, structured.clone());
        }
    }

    /// Its result has come.
    pub(crate) fn finish(
        &mut self,
        id: &ToolCallId,
        result: &ToolResult<'_>,
        output: Option<Json>,
        out: &mut Outbox,
    ) {
        let told = self.told.remove(id);
        let structured = result.structured.or(told.as_ref().map(Raw::get));
        let result = &ToolResult { structured, ..*result };
        let Some(open) = self.open.remove(id) else {
            out.notice(NoticeLevel::Warning, format!("a result came for tool call {id}, which is not open"));
            return;
        };
        let parent = open.parent.as_ref();
        let status = if result.is_error { ToolStatus::Error } else { ToolStatus::Complete };
        let update = |normalized| ToolUpdate {
            tool_call_id: id.clone(),
            tool_status: status,
            tool_title: None,
            normalized,
            output,
            message: None,
        };
        let Some(Called { mut normalized, input }) = open.called else {
            out.event_in(parent, update(None));
            return;
        };
        tools::complete(&open.name, &mut normalized, result);
        out.event_in(parent, update(Some(normalized.clone())));
        if result.is_error {
            return;
        }
        if let Some(file) = tools::file_updated(id, &normalized, result) {
            out.event_in(parent, file);
        }
        if let Some(todos) = self.todos.apply(&open.name, &input, result) {
            out.event_in(parent, todos);
        }
    }

    /// It still runs.
    pub(crate) fn progress(&self, id: &ToolCallId, word: String, out: &mut Outbox) {
        let Some(open) = self.open.get(id) else { return };
        out.event_in(
            open.parent.as_ref(),
            ToolUpdate {
                tool_call_id: id.clone(),
                tool_status: ToolStatus::Running,
                tool_title: None,
                normalized: None,
                output: None,
                message: Some(word),
            },
        );
    }

    /// Its input did not arrive whole.
    pub(crate) fn never_called(&mut self, id: &ToolCallId, out: &mut Outbox) {
        if self.open.get(id).is_some_and(|open| open.called.is_none()) {
            self.give_up(id, words::NEVER_CALLED, out);
        }
    }

    /// The turn is over: its calls will get no result. Those of subagents that go on are left.
    pub(crate) fn end_turn(&mut self, goes_on: impl Fn(&ToolCallId) -> bool, out: &mut Outbox) {
        let left: Vec<_> = self
            .open
            .iter()
            .filter(|(_, open)| !open.parent.as_ref().is_some_and(&goes_on))
            .map(|(id, _)| id.clone())
            .collect();
        for id in left {
            self.give_up(&id, "the turn ended without a result for this call", out);
        }
    }

    /// The run is over.
    pub(crate) fn end_run(&mut self, out: &mut Outbox) {
        while let Some(id) = self.open.keys().next().cloned() {
            self.give_up(&id, words::NO_RESULT, out);
        }
        self.told.clear();
    }

    /// The input of an open call, for a question about it.
    pub(crate) fn input_of(&self, id: &ToolCallId) -> Option<&Json> {
        self.open.get(id)?.called.as_ref().map(|called| &called.input)
    }

    /// The subagent's call that an open call belongs to.
    pub(crate) fn parent_of(&self, id: &ToolCallId) -> Option<ToolCallId> {
        self.open.get(id).and_then(|open| open.parent.clone())
    }

    fn give_up(&mut self, id: &ToolCallId, why: &str, out: &mut Outbox) {
        self.told.remove(id);
        let Some(open) = self.open.remove(id) else { return };
        out.event_in(
            open.parent.as_ref(),
            ToolUpdate {
                tool_call_id: id.clone(),
                tool_status: ToolStatus::Error,
                tool_title: None,
                normalized: open.called.map(|called| called.normalized),
                output: None,
                message: Some(why.to_owned()),
            },
        );
    }
}

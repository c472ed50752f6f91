//! Three ways to let a session work: by itself, watched, or only thinking.
//!
//! A policy is a preset over [`Options`] and [`Callbacks`], nothing that a program could not say itself. It
//! decides only what it forbids; what is left is asked, and a person's own
//! [permission callback](Callbacks::on_permission) answers it, whether that was set before or after.
//!
//! The one rule it keeps: what is missing never allows. A hook that fails lets the CLI go on as if there were
//! none [hooks/pre_error], so no watched session rests on a mode in which nothing is asked.

mod uncommitted;

use jackfield_api::Normalized;
use jackfield_api::command::{Deny, Verdict};
use jackfield_api::permission::{PermissionKind, PermissionRequest};
use jackfield_core::is_read_only;
use jackfield_core::session::Bypass;
use jackfield_wire::{
    HookDecision, HookDetail, HookEvent, HookInput, HookOutput, HookReply, HookSpecificOutput,
    PermissionMode, PreToolUseOutput,
};

use crate::{Callbacks, Options};

/// How a session may work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Policy {
    /// Everything runs and nothing is asked (`bypassPermissions`).
    ///
    /// **This hands the machine to the model**, with the rights of the CLI's process: any command, any file,
    /// any address, also when a web page or a file it reads tells it to. It belongs into a container that can
    /// be thrown away. That it is meant has to be said beside it, with [`Options::allow_bypass`]; otherwise
    /// the session does not start.
    Autonomous,
    /// A person decides about everything that is not plain reading, even where the CLI or a rule of the
    /// settings would not ask. Changes that are not committed are
    /// [reported](Callbacks::report_uncommitted) to the model when it stops.
    Supervised,
    /// The model reads and makes a plan; a person decides about the plan. Until they agree, whatever could
    /// change something is denied (in plan mode the CLI asks about it, and would do it if told so
    /// [modes/plan_write]). Afterwards the CLI asks as usual.
    Plan,
}

impl Policy {
    /// Puts options and callbacks under the policy. It wins over a permission mode that was set before.
    pub fn apply(self, options: Options, callbacks: Callbacks) -> (Options, Callbacks) {
        match self {
            Self::Autonomous => (options.permission_mode(PermissionMode::BypassPermissions), callbacks),
            Self::Supervised => {
                let callbacks = callbacks.on_hook(HookEvent::PreToolUse, None, |input| {
                    let answer = ask_unless_read_only(&input);
                    async { Ok(answer) }
                });
                (asking(options, PermissionMode::Default), callbacks.report_uncommitted())
            }
            Self::Plan => {
                let mut callbacks = callbacks.report_uncommitted();
                callbacks.rule = Some(deny_while_planning);
                (asking(options, PermissionMode::Plan), callbacks)
            }
        }
    }
}

/// Decides about a question before anybody is asked, in this permission mode.
pub(crate) type Rule = fn(&PermissionRequest, Option<&PermissionMode>) -> Option<Verdict>;

fn asking(mut options: Options, mode: PermissionMode) -> Options {
    options.bypass = Bypass::Forbidden;
    options.permission_mode(mode)
}

fn ask_unless_read_only(input: &HookInput) -> HookOutput {
    let HookDetail::PreToolUse(call) = &input.detail else { return HookOutput::default() };
    // No decision, not "allow": reading outside of the folder is still asked about.
    if is_read_only(&call.tool_name) {
        return HookOutput::default();
    }
    let ask = PreToolUseOutput {
        permission_decision: Some(HookDecision::Ask),
        permission_decision_reason: Some("the session is supervised".to_owned()),
        ..PreToolUseOutput::default()
    };
    let hook_specific_output = Some(HookSpecificOutput::PreToolUse(ask));
    HookOutput::Now(Box::new(HookReply { hook_specific_output, ..HookReply::default() }))
}

fn deny_while_planning(request: &PermissionRequest, mode: Option<&PermissionMode>) -> Option<Verdict> {
    let reads = request.tool_name.as_deref().is_some_and(is_read_only)
        || matches!(request.normalized, Some(Normalized::HttpRequest(_)));
    let forbidden = mode == Some(&PermissionMode::Plan) && request.kind == PermissionKind::Tool && !reads;
    let message = "nothing may be changed before the plan is agreed on".to_owned();
    forbidden.then_some(Verdict::Deny(Deny { message, interrupt: false }))
}

//! The CLI's side of the control protocol: what it asks, what it answers, what it withdraws.
//!
//! A question goes out as an event and is answered by a command; a hook or a message to an MCP server goes
//! to the shell as a call. Nothing is awaited here. A request that we do not understand is refused at once,
//! because the CLI waits for an answer for ever.

use jackfield_api as api;
use jackfield_wire as wire;

use api::command::{Done, RejectionCode, Reply, Told};
use api::permission::{
    Behavior, Change, Destination, PermissionKind, PermissionRequest, Question, QuestionOption, Remember,
    Rule,
};
use api::trouble::NoticeLevel;
use api::{Json, PendingId, ToolCallId};
use serde::Deserialize;
use wire::{CliRequest, ControlOutcome, HostRequest, Outbound, PermissionUpdate, RequestId};

use crate::calls::RESULT_HOOK;
use crate::input::{By, CallId, HostCall, HostReply};
use crate::questions::CalledWhat;
use crate::run::later;
use crate::session::Session;
use crate::tools;
use crate::words;

impl Session {
    pub(crate) fn on_control_request(&mut self, line: wire::ControlRequest) {
        let id = line.request_id;
        match line.request {
            CliRequest::CanUseTool(ask) => self.ask_tool(id, *ask),
            CliRequest::Elicitation(ask) => self.ask_form(id, *ask),
            CliRequest::RequestUserDialog(ask) => self.ask_dialog(id, *ask),
            CliRequest::HookCallback(hook) => self.call_hook(id, *hook),
            CliRequest::McpMessage(message) => {
                let call = HostCall::Mcp { server: message.server_name, message: message.message };
                self.call_shell(id, CalledWhat::Mcp, None, call);
            }
            CliRequest::OauthTokenRefresh | CliRequest::HostAuthTokenRefresh => {
                self.out.notice(
                    NoticeLevel::Warning,
                    "the CLI asks for a fresh token, which this host does not have",
                );
                self.out.write(Outbound::refuse(id, "this host does not hold tokens"), By::Host);
            }
        }
    }

    /// A request that cannot be read: the CLI must not wait for it.
    pub(crate) fn refuse_unknown(&mut self, tag: &str, request_id: &RequestId) {
        if tag.starts_with("control_request") && !request_id.is_missing() {
            let error = format!("unsupported request: {tag}");
            self.out.write(Outbound::refuse(request_id.clone(), error), By::Host);
        }
    }

    fn ask_tool(&mut self, id: RequestId, ask: wire::CanUseTool) {
        let kind = match ask.tool_name.as_str() {
            "AskUserQuestion" => PermissionKind::Question,
            "ExitPlanMode" => PermissionKind::Plan,
            _ => PermissionKind::Tool,
        };
        let tool_call_id: Option<ToolCallId> = ask.tool_use_id.as_ref().map(|id| id.as_str().into());
        let parent = self.subagent(tool_call_id.as_ref(), ask.agent_id.as_deref());
        self.in_turn_of(parent.as_ref());
        let input = words::json(&ask.input);
        // Newer versions ask about a plan with an empty input; the plan is in the call (2.1.325/exit_plan).
        let called = tool_call_id.as_ref().and_then(|id| self.calls.input_of(id));
        let telling = called.filter(|_| input.get() == "{}").unwrap_or(&input);
        let normalized = tools::normalize(&ask.tool_name, telling);
        let request = PermissionRequest {
            kind,
            tool_title: tools::title(&ask.tool_name, &normalized),
            tool_call_id,
            questions: if kind == PermissionKind::Question { questions(telling) } else { Vec::new() },
            plan: if kind == PermissionKind::Plan { plan(telling) } else { None },
            tool_name: Some(ask.tool_name),
            normalized: Some(normalized),
            input: Some(input),
            suggestions: ask.permission_suggestions.iter().filter_map(remember).collect(),
            reason: ask.decision_reason.or(ask.decision_reason_type),
            ..question()
        };
        self.ask(id, request, parent);
    }

    fn ask_form(&mut self, id: RequestId, ask: wire::Elicitation) {
        let request = PermissionRequest {
            kind: PermissionKind::Elicitation,
            tool_title: ask.title.unwrap_or_else(|| format!("{} asks", ask.mcp_server_name)),
            reason: ask.url.map(|url| format!("open {url}")),
            message: Some(ask.message),
            schema: ask.requested_schema.as_ref().map(words::json),
            ..question()
        };
        self.ask(id, request, None);
    }

    fn ask_dialog(&mut self, id: RequestId, ask: wire::RequestUserDialog) {
        let request = PermissionRequest {
            kind: PermissionKind::Dialog,
            tool_title: format!("dialog: {}", ask.dialog_kind),
            tool_call_id: ask.tool_use_id.as_ref().map(|id| id.as_str().into()),
            message: Some(ask.dialog_kind),
            input: ask.payload.as_ref().map(words::json),
            ..question()
        };
        self.ask(id, request, None);
    }

    fn ask(&mut self, id: RequestId, request: PermissionRequest, parent: Option<ToolCallId>) {
        let deadline = self.options.answer_within.map(|limit| later(self.out.now(), limit));
        let Some(run) = &mut self.run else { return };
        run.questions.ask(id, request, parent, deadline, &mut self.out);
    }

    fn call_hook(&mut self, id: RequestId, hook: wire::HookCallback) {
        // For events that are not about a tool the CLI puts an unrelated id here [slash/compact_success].
        let about_a_tool = matches!(
            hook.input.event,
            wire::HookEvent::PreToolUse
                | wire::HookEvent::PostToolUse
                | wire::HookEvent::PostToolUseFailure
                | wire::HookEvent::PermissionRequest
                | wire::HookEvent::PermissionDenied
        );
        let tool_call_id: Option<ToolCallId> =
            hook.tool_use_id.as_ref().filter(|_| about_a_tool).map(|id| id.as_str().into());
        if let (wire::HookDetail::PostToolUse(result), Some(id)) = (&hook.input.detail, &tool_call_id) {
            self.calls.tell_result(id.clone(), result);
        }
        if hook.callback_id.as_str() == RESULT_HOOK {
            let nothing = wire::HostAnswer::Hook(Box::default());
            self.out.write(Outbound::answer(id, nothing), By::Host);
            return;
        }
        let parent = self.subagent(tool_call_id.as_ref(), hook.input.agent_id.as_deref());
        if !self.prompts.is_empty() {
            // A prompt's own hook runs before anything else is heard of its turn [hooks/user_prompt_block].
            self.in_turn_of(parent.as_ref());
        }
        let what = CalledWhat::Hook {
            event: hook.input.event.as_str().to_owned(),
            name: hook.callback_id.as_str().to_owned(),
            tool_call_id: tool_call_id.clone(),
        };
        let callback_id = hook.callback_id.as_str().to_owned();
        let call = HostCall::Hook { callback_id, input: Box::new(hook.input), tool_call_id };
        self.call_shell(id, what, parent, call);
    }

    /// The call of the subagent that asks, if it is one. Its question may come before the line that tells what the
    /// question is about [tools/subagent].
    fn subagent(&self, about: Option<&ToolCallId>, agent: Option<&str>) -> Option<ToolCallId> {
        let by_call = about.and_then(|id| self.calls.parent_of(id));
        by_call.or_else(|| self.run.as_ref()?.tasks.call_of(agent?))
    }

    fn call_shell(
        &mut self,
        request_id: RequestId,
        what: CalledWhat,
        parent: Option<ToolCallId>,
        call: HostCall,
    ) {
        let id = self.next_call();
        let Some(run) = &mut self.run else { return };
        run.questions.call(id, request_id, what, parent, &mut self.out);
        self.out.call(id, call);
    }

    /// The shell has done a call.
    pub(crate) fn on_called(&mut self, id: CallId, reply: HostReply) {
        let called = self.run.as_ref().and_then(|run| run.questions.called(id));
        // A call that was withdrawn meanwhile: nobody waits for it.
        let Some(called) = called else { return };
        let request_id = called.request_id.clone();
        let answer = match reply {
            HostReply::Hook(output) => Outbound::answer(request_id, wire::HostAnswer::Hook(Box::new(output))),
            HostReply::Mcp(message) => {
                Outbound::answer(request_id, wire::HostAnswer::Mcp(wire::McpAnswer { mcp_response: message }))
            }
            HostReply::Failed(why) => Outbound::refuse(request_id, why),
        };
        self.out.write(answer, By::Host);
    }

    pub(crate) fn on_control_cancel(&mut self, line: &wire::ControlCancelRequest) {
        if let Some(run) = &mut self.run
            && !run.questions.withdraw(&line.request_id, &mut self.out)
        {
            self.out.notice(NoticeLevel::Info, "the CLI withdrew a request that is not open");
        }
    }

    /// An answer to a request of ours – or, with replay of user messages, the echo of an answer of ours.
    pub(crate) fn on_control_response(&mut self, line: &wire::ControlResponse) {
        let Some(run) = &mut self.run else { return };
        let Some(request) = run.requests.answered(&line.request_id) else {
            self.on_echo(line);
            return;
        };
        match &line.outcome {
            ControlOutcome::Error { error, .. } => {
                let code = if error.starts_with("Unsupported") {
                    RejectionCode::Unsupported
                } else {
                    RejectionCode::Refused
                };
                let text = format!("{} failed: {error}", request.request.subtype());
                self.out.notice(NoticeLevel::Warning, text);
                if let Some(command) = request.wish.and_then(|wish| wish.command) {
                    self.out.reject(command, code, error.clone());
                }
            }
            ControlOutcome::Success(success) => {
                let answer = success.response.as_ref();
                let done = self.on_success(&request.request, answer);
                let Some(wish) = request.wish else { return };
                if let Err(reason) = done {
                    if let Some(command) = wish.command {
                        self.out.reject(command, RejectionCode::TooLate, reason);
                    }
                    return;
                }
                if let Some(command) = wish.command {
                    let told = answer.map(|answer| Reply::Told(Told { answer: words::json(answer) }));
                    self.out.accept(command, told.unwrap_or(Reply::Done(Done {})));
                }
                if let Some((line, by)) = wish.then {
                    self.out.write(line, by);
                }
            }
        }
    }

    /// What a request changed, or why it came to nothing.
    fn on_success(&mut self, request: &HostRequest, answer: Option<&wire::Raw>) -> Result<(), &'static str> {
        match request {
            // A foreign host may send arguments that we have no type for.
            request if request.subtype() == "initialize" => {
                let told: Option<wire::InitializeAnswer> = answer.and_then(|answer| answer.parse().ok());
                if let (Some(told), Some(run)) = (told, &mut self.run) {
                    run.commands_described = true;
                    self.set_commands(told.commands.iter().map(crate::on_system::command).collect());
                }
            }
            HostRequest::SetPermissionMode(set) => self.mode_is(set.mode.as_str()),
            HostRequest::SetModel(set) => {
                let model = set.model.clone().unwrap_or_else(|| "default".to_owned());
                self.out.event(api::session::ModelChanged { model, reason: None });
            }
            HostRequest::CancelAsyncMessage(cancel) => {
                let told: Option<wire::CancelAsyncMessageAnswer> =
                    answer.and_then(|answer| answer.parse().ok());
                if !told.is_some_and(|told| told.cancelled) {
                    return Err("the prompt is no longer waiting");
                }
                self.prompts.cancelled(cancel.message_uuid.as_str(), &mut self.out);
            }
            _ => {}
        }
        Ok(())
    }
}

/// A question with nothing in it yet; its id is given when it is asked.
fn question() -> PermissionRequest {
    PermissionRequest {
        pending_id: PendingId(0),
        kind: PermissionKind::Tool,
        tool_call_id: None,
        tool_name: None,
        tool_title: String::new(),
        normalized: None,
        input: None,
        suggestions: Vec::new(),
        reason: None,
        questions: Vec::new(),
        plan: None,
        message: None,
        schema: None,
    }
}

fn questions(input: &Json) -> Vec<Question> {
    #[derive(Deserialize)]
    struct Input {
        #[serde(default)]
        questions: Vec<Asked>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Asked {
        question: String,
        #[serde(default)]
        header: String,
        #[serde(default)]
        multi_select: bool,
        #[serde(default)]
        options: Vec<QuestionOption>,
    }
    let read = input.read::<Input>().map(|input| input.questions).unwrap_or_default();
    read.into_iter()
        .map(|asked| Question {
            question: asked.question,
            header: asked.header,
            multi_select: asked.multi_select,
            options: asked.options,
        })
        .collect()
}

fn plan(input: &Json) -> Option<String> {
    #[derive(Deserialize)]
    struct Input {
        plan: Option<String>,
    }
    input.read::<Input>().ok()?.plan
}

/// What the CLI offers to remember, in our words; what we have no words for is not offered.
fn remember(update: &PermissionUpdate) -> Option<Remember> {
    let rules = |update: &wire::RulesUpdate| -> Vec<Rule> {
        update
            .rules
            .iter()
            .map(|rule| Rule { tool_name: rule.tool_name.clone(), rule_content: rule.rule_content.clone() })
            .collect()
    };
    let (change, destination) = match update {
        PermissionUpdate::AddRules(update) => (
            Change::AddRules { rules: rules(update), behavior: behavior(&update.behavior)? },
            &update.destination,
        ),
        PermissionUpdate::ReplaceRules(update) => (
            Change::ReplaceRules { rules: rules(update), behavior: behavior(&update.behavior)? },
            &update.destination,
        ),
        PermissionUpdate::RemoveRules(update) => (
            Change::RemoveRules { rules: rules(update), behavior: behavior(&update.behavior)? },
            &update.destination,
        ),
        PermissionUpdate::SetMode(update) => {
            (Change::SetMode { mode: update.mode.as_str().to_owned() }, &update.destination)
        }
        PermissionUpdate::AddDirectories(update) => {
            (Change::AddDirectories { directories: update.directories.clone() }, &update.destination)
        }
        PermissionUpdate::RemoveDirectories(update) => {
            (Change::RemoveDirectories { directories: update.directories.clone() }, &update.destination)
        }
        PermissionUpdate::Other(_) => return None,
    };
    let destination = match destination {
        wire::PermissionDestination::UserSettings => Destination::UserSettings,
        wire::PermissionDestination::ProjectSettings => Destination::ProjectSettings,
        wire::PermissionDestination::LocalSettings => Destination::LocalSettings,
        wire::PermissionDestination::Session => Destination::Session,
        wire::PermissionDestination::CliArg => Destination::CliArg,
        wire::PermissionDestination::Other(_) => return None,
    };
    Some(Remember { change, destination })
}

fn behavior(behavior: &wire::RuleBehavior) -> Option<Behavior> {
    match behavior {
        wire::RuleBehavior::Allow => Some(Behavior::Allow),
        wire::RuleBehavior::Deny => Some(Behavior::Deny),
        wire::RuleBehavior::Ask => Some(Behavior::Ask),
        wire::RuleBehavior::Other(_) => None,
    }
}

//! What clients ask.
//!
//! A command is checked here, because the CLI checks little: it accepts any mode and any model
//! [control/all_subtypes_valid], and some bad arguments silence it for ever. A good command becomes a line to
//! write; a bad one is rejected and changes nothing.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jackfield_api as api;
use jackfield_wire as wire;

use api::PendingId;
use api::command::{Content, Done, McpAction, RejectionCode, Reply, RewindScope, Verdict};
use api::permission::{Behavior, Change, Destination, PermissionKind, Remember};
use api::session::Priority;
use wire::{HostAnswer, HostRequest, Object, Outbound, PermissionAnswer, PermissionUpdate};

use crate::input::{By, CommandId};
use crate::questions::Asked;
use crate::requests::Wish;
use crate::run::{Run, Step};
use crate::session::{Bypass, Session};

/// Why a command is not done.
pub(crate) type Refusal = (RejectionCode, String);

impl Session {
    pub(crate) fn on_command(&mut self, id: CommandId, by: &By, command: api::Command) {
        if let Err((code, reason)) = self.obey(&id, by, command) {
            self.out.reject(id, code, reason);
        }
    }

    pub(crate) fn on_request(&mut self, id: CommandId, by: &By, request: HostRequest) {
        if let Err((code, reason)) = self.request(&id, by, request) {
            self.out.reject(id, code, reason);
        }
    }

    /// Does a command, or says why not. A command that is answered later is answered by the CLI's answer.
    fn obey(&mut self, id: &CommandId, by: &By, command: api::Command) -> Result<(), Refusal> {
        use api::Command;
        match command {
            Command::Prompt(prompt) => {
                if self.live()?.ending.is_wanted() {
                    let reason = "the run is being closed; say it again when it is over".to_owned();
                    return Err((RejectionCode::NotNow, reason));
                }
                let line = self.new_prompt(&prompt)?;
                self.live()?.promises.prompt(prompt.uuid.as_str(), id.clone());
                self.out.write(line, by.clone());
                Ok(())
            }
            Command::EditQueued(edit) => {
                self.queued(&edit.uuid)?;
                let line = self.new_prompt(&edit.with)?;
                // The new text is written once the old one is surely out.
                self.request_then(id, by, cancel_request(&edit.uuid), Some((line, by.clone())))
            }
            Command::CancelQueued(cancel) => {
                self.queued(&cancel.uuid)?;
                self.request(id, by, cancel_request(&cancel.uuid))
            }
            Command::ReorderQueued(reorder) => self.reorder(id, by, &reorder.order),
            Command::Interrupt(_) => {
                if !self.live()?.turn_runs() {
                    return Err((RejectionCode::NotNow, "no turn is running".to_owned()));
                }
                self.request(id, by, HostRequest::Interrupt(wire::Interrupt::default()))
            }
            Command::Answer(answer) => self.answer(id, by, &answer),
            Command::SetMode(set) => {
                let mode = wire::PermissionMode::from(set.permission_mode.as_str());
                match mode {
                    wire::PermissionMode::Other(_) => {
                        let reason = format!("there is no permission mode `{}`", set.permission_mode);
                        return Err((RejectionCode::Invalid, reason));
                    }
                    wire::PermissionMode::BypassPermissions
                        if self.options.bypass_allowed == Bypass::Forbidden =>
                    {
                        let reason = "bypassPermissions was not allowed for this session".to_owned();
                        return Err((RejectionCode::Forbidden, reason));
                    }
                    _ => {}
                }
                self.request(id, by, HostRequest::SetPermissionMode(wire::SetPermissionMode { mode }))
            }
            Command::SetModel(set) => {
                if set.model.as_ref().is_some_and(|model| model.trim().is_empty()) {
                    return Err((RejectionCode::Invalid, "the model's name is empty".to_owned()));
                }
                self.request(id, by, HostRequest::SetModel(wire::SetModel { model: set.model }))
            }
            Command::SetThinking(set) => {
                let max_thinking_tokens = set.max_thinking_tokens;
                let request = wire::SetMaxThinkingTokens { max_thinking_tokens, thinking_display: None };
                self.request(id, by, HostRequest::SetMaxThinkingTokens(request))
            }
            Command::SetEffort(set) => {
                if set.effort.as_ref().is_some_and(|effort| effort.trim().is_empty()) {
                    return Err((RejectionCode::Invalid, "the level of effort is empty".to_owned()));
                }
                // What is not in the flags any more is null there [control/all_subtypes_valid].
                let settings = Object::from_value(&BTreeMap::from([("effortLevel", set.effort)]));
                let request = wire::ApplyFlagSettings { settings: settings.unwrap_or_default() };
                self.request(id, by, HostRequest::ApplyFlagSettings(request))
            }
            Command::Rewind(rewind) => {
                if rewind.scope != RewindScope::Files {
                    let reason =
                        "only files can be rewound while a run goes on; the host does the rest".to_owned();
                    return Err((RejectionCode::Elsewhere, reason));
                }
                let request = wire::RewindFiles {
                    user_message_id: rewind.uuid.as_str().into(),
                    dry_run: rewind.preview.then_some(true),
                };
                self.request(id, by, HostRequest::RewindFiles(request))
            }
            Command::StopTask(stop) => {
                let request = wire::TaskArgument { task_id: stop.task_id.as_str().into() };
                self.request(id, by, HostRequest::StopTask(request))
            }
            Command::Background(background) => {
                let tool_use_id = background.tool_call_id.as_ref().map(|id| id.as_str().into());
                self.request(id, by, HostRequest::BackgroundTasks(wire::BackgroundTasks { tool_use_id }))
            }
            Command::Mcp(mcp) => {
                let request = mcp_request(&mcp)?;
                self.request(id, by, request)
            }
            Command::Rename(rename) => {
                if rename.title.trim().is_empty() {
                    return Err((RejectionCode::Invalid, "the title is empty".to_owned()));
                }
                let request = wire::RenameSession { title: rename.title, source: None, session_id: None };
                self.request(id, by, HostRequest::RenameSession(request))
            }
            Command::Close(_) => self.close(id, by),
            Command::CreateSession(_)
            | Command::Retry(_)
            | Command::Fork(_)
            | Command::Archive(_)
            | Command::Delete(_)
            | Command::Import(_)
            | Command::SetBudget(_)
            | Command::SetDirectories(_) => {
                Err((RejectionCode::Elsewhere, "this is for the host, not for a session's run".to_owned()))
            }
        }
    }

    /// The CLI knows no other order than that of arrival, so what has to move is taken back and written again
    /// behind what may stay. Each is written as soon as it is surely out; one that the CLI takes meanwhile
    /// stays where it is.
    fn reorder(&mut self, id: &CommandId, by: &By, order: &[api::Uuid]) -> Result<(), Refusal> {
        self.live()?;
        let moved = self.prompts.reordered(order)?;
        for (uuid, prompt) in moved {
            let line = Outbound::User(Box::new(prompt));
            let name =
                self.live()?.requests.name(Some(Wish { command: None, then: Some((line, by.clone())) }));
            self.out.write(Outbound::request(name, cancel_request(&uuid)), by.clone());
        }
        self.done(id);
        Ok(())
    }

    fn live(&mut self) -> Result<&mut Run, Refusal> {
        self.run.as_deref_mut().ok_or_else(|| (RejectionCode::NotNow, "the session has no run".to_owned()))
    }

    fn queued(&self, uuid: &api::Uuid) -> Result<(), Refusal> {
        if self.prompts.contains(uuid.as_str()) {
            return Ok(());
        }
        Err((RejectionCode::NotFound, format!("no prompt {uuid} is waiting")))
    }

    fn done(&mut self, id: &CommandId) {
        self.out.accept(id.clone(), Reply::Done(Done {}));
    }

    /// The line for a prompt. The CLI runs no uuid twice, so a known one is refused.
    fn new_prompt(&self, prompt: &api::command::Prompt) -> Result<Outbound, Refusal> {
        if self.prompts.is_known(prompt.uuid.as_str()) {
            return Err((RejectionCode::Invalid, "a prompt with this uuid was sent before".to_owned()));
        }
        prompt_line(prompt)
    }

    /// Asks the CLI; its answer answers the command.
    fn request(&mut self, id: &CommandId, by: &By, request: HostRequest) -> Result<(), Refusal> {
        self.request_then(id, by, request, None)
    }

    fn request_then(
        &mut self,
        id: &CommandId,
        by: &By,
        request: HostRequest,
        then: Option<(Outbound, By)>,
    ) -> Result<(), Refusal> {
        let name = self.live()?.requests.name(Some(Wish { command: Some(id.clone()), then }));
        self.out.write(Outbound::request(name, request), by.clone());
        Ok(())
    }

    fn answer(&mut self, id: &CommandId, by: &By, answer: &api::command::Answer) -> Result<(), Refusal> {
        let gone = || (RejectionCode::NotFound, format!("question {} is not open", answer.pending_id));
        if self.options.bypass_allowed == Bypass::Forbidden && asks_for_bypass(&answer.verdict) {
            let reason = "bypassPermissions was not allowed for this session".to_owned();
            return Err((RejectionCode::Forbidden, reason));
        }
        let asked = self.live()?.questions.get_mut(answer.pending_id).ok_or_else(gone)?;
        if asked.answered {
            return Err((RejectionCode::TooLate, "somebody else has answered".to_owned()));
        }
        let line = answer_line(asked, &answer.verdict)?;
        asked.answered = true;
        let request_id = asked.request_id.clone();
        self.live()?.promises.answer(request_id, id.clone());
        self.out.write(line, by.clone());
        Ok(())
    }

    /// Nobody has answered in time.
    pub(crate) fn deny_expired(&mut self, pending: PendingId) {
        let Some(asked) = self.run.as_mut().and_then(|run| run.questions.get_mut(pending)) else { return };
        let verdict = Verdict::Deny(api::command::Deny {
            message: "nobody answered in time".to_owned(),
            interrupt: false,
        });
        if let Ok(line) = answer_line(asked, &verdict) {
            asked.answered = true;
            self.out.write(line, By::Expiry);
        }
    }

    /// Ends the run: a turn is interrupted first, or its commands would survive [process/sigterm_mid_tool].
    fn close(&mut self, id: &CommandId, by: &By) -> Result<(), Refusal> {
        let now = self.out.now();
        let run = self.live()?;
        if run.turn_runs() {
            run.ending.plan(Step::CloseStdin, now);
            let name = run.requests.name(None);
            self.out.write(
                Outbound::request(name, HostRequest::Interrupt(wire::Interrupt::default())),
                by.clone(),
            );
        } else {
            run.ending.plan(Step::Terminate, now);
            self.out.close_stdin();
        }
        self.done(id);
        Ok(())
    }
}

fn cancel_request(uuid: &api::Uuid) -> HostRequest {
    HostRequest::CancelAsyncMessage(wire::CancelAsyncMessage { message_uuid: uuid.as_str().into() })
}

fn plain_text(base64: &str) -> Option<String> {
    String::from_utf8(STANDARD.decode(base64).ok()?).ok()
}

fn prompt_line(prompt: &api::command::Prompt) -> Result<Outbound, Refusal> {
    let invalid = |reason: &str| (RejectionCode::Invalid, reason.to_owned());
    if prompt.uuid.as_str().is_empty() {
        return Err(invalid("the prompt has no uuid"));
    }
    let mut blocks = Vec::with_capacity(prompt.content.len());
    for content in &prompt.content {
        blocks.push(match content {
            Content::Text { text } => wire::PromptBlock::Text { text: text.clone() },
            Content::Image { media_type, base64 } => {
                if !matches!(media_type.as_str(), "image/png" | "image/jpeg" | "image/gif" | "image/webp") {
                    return Err(invalid("a picture must be PNG, JPEG, GIF or WebP"));
                }
                let source =
                    wire::ImageSource::Base64 { media_type: media_type.clone(), data: base64.clone() };
                wire::PromptBlock::Image { source }
            }
            Content::Document { media_type, base64 } => {
                let source = match media_type.as_str() {
                    "application/pdf" => {
                        wire::Source::Base64 { media_type: media_type.clone(), data: base64.clone() }
                    }
                    // The API takes a text only as such.
                    "text/plain" => {
                        let data = plain_text(base64).ok_or_else(|| invalid("the document is not text"))?;
                        wire::Source::Text { media_type: media_type.clone(), data }
                    }
                    _ => return Err(invalid("a document must be PDF or plain text")),
                };
                wire::PromptBlock::Document { source, title: None, context: None }
            }
        });
    }
    let blocks = wire::PromptBlocks::new(blocks).ok_or_else(|| invalid("the prompt is empty"))?;
    let priority = match prompt.priority {
        Priority::Now => wire::Priority::Now,
        Priority::Next => wire::Priority::Next,
        Priority::Later => wire::Priority::Later,
    };
    let prompt = wire::Prompt::new(blocks).with_uuid(prompt.uuid.as_str().into()).with_priority(priority);
    Ok(Outbound::User(Box::new(prompt)))
}

fn mcp_request(mcp: &api::command::Mcp) -> Result<HostRequest, Refusal> {
    let invalid = |reason: String| (RejectionCode::Invalid, reason);
    let server_name = || mcp.server.clone().ok_or_else(|| invalid("no server is named".to_owned()));
    Ok(match mcp.action {
        McpAction::Status => HostRequest::McpStatus(wire::McpStatus::default()),
        McpAction::Reconnect => {
            HostRequest::McpReconnect(wire::McpServerName { server_name: server_name()? })
        }
        McpAction::Enable => {
            HostRequest::McpToggle(wire::McpToggle { server_name: server_name()?, enabled: true })
        }
        McpAction::Disable => {
            HostRequest::McpToggle(wire::McpToggle { server_name: server_name()?, enabled: false })
        }
        McpAction::Set => {
            let servers = mcp.servers.as_ref().ok_or_else(|| invalid("no servers are given".to_owned()))?;
            let servers =
                servers.read().map_err(|error| invalid(format!("the servers cannot be read: {error}")))?;
            HostRequest::McpSetServers(wire::McpSetServers { servers })
        }
    })
}

/// The line that answers a question.
fn answer_line(asked: &Asked, verdict: &Verdict) -> Result<Outbound, Refusal> {
    let invalid = |reason: &str| (RejectionCode::Invalid, reason.to_owned());
    let id = asked.request_id.clone();
    let answer = match asked.request.kind {
        PermissionKind::Tool | PermissionKind::Question | PermissionKind::Plan => {
            HostAnswer::Permission(permission_answer(asked, verdict)?)
        }
        PermissionKind::Elicitation => {
            let (action, content) = match verdict {
                Verdict::Allow(allow) => (wire::ElicitationAction::Accept, allow.input.as_ref()),
                Verdict::Deny(_) => (wire::ElicitationAction::Decline, None),
                Verdict::Answers(_) => {
                    return Err(invalid("a form is answered with `allow` and its content"));
                }
            };
            let content = match content {
                Some(content) => {
                    Some(object(content).ok_or_else(|| invalid("a form's content is an object"))?)
                }
                None => None,
            };
            HostAnswer::Elicitation(wire::ElicitationAnswer { action, content })
        }
        PermissionKind::Dialog => HostAnswer::Dialog(match verdict {
            Verdict::Allow(allow) => {
                let result = allow.input.clone().unwrap_or_default();
                let result = wire::Raw::from_text(result.get().to_owned());
                wire::DialogAnswer::Completed {
                    result: result.map_err(|_| invalid("the result is no JSON"))?,
                }
            }
            Verdict::Deny(_) => wire::DialogAnswer::Cancelled,
            Verdict::Answers(_) => return Err(invalid("a dialog is answered with `allow` or `deny`")),
        }),
    };
    Ok(Outbound::answer(id, answer))
}

fn permission_answer(asked: &Asked, verdict: &Verdict) -> Result<PermissionAnswer, Refusal> {
    let invalid = |reason: &str| (RejectionCode::Invalid, reason.to_owned());
    let asked_input = || asked.request.input.as_ref().and_then(object).unwrap_or_default();
    Ok(match verdict {
        Verdict::Allow(allow) => {
            let input = match &allow.input {
                Some(input) => object(input).ok_or_else(|| invalid("a tool's input is an object"))?,
                None => asked_input(),
            };
            let mut answer = wire::Allow::new(input);
            if !allow.remember.is_empty() {
                answer.updated_permissions = Some(allow.remember.iter().map(update).collect());
            }
            PermissionAnswer::Allow(answer)
        }
        Verdict::Answers(answers) => {
            if asked.request.kind != PermissionKind::Question {
                return Err(invalid("only a question is answered with `answers`"));
            }
            let input = asked_input();
            let members =
                wire::Raw::from_value(&answers.answers).map_err(|_| invalid("the answers are no JSON"))?;
            PermissionAnswer::Allow(wire::Allow::new(input.with("answers", &members)))
        }
        Verdict::Deny(deny) => {
            let mut answer = wire::Deny::new(deny.message.clone());
            answer.interrupt = deny.interrupt.then_some(true);
            PermissionAnswer::Deny(answer)
        }
    })
}

fn asks_for_bypass(verdict: &Verdict) -> bool {
    let sets = |remember: &Remember| matches!(&remember.change, Change::SetMode { mode } if mode == "bypassPermissions");
    matches!(verdict, Verdict::Allow(allow) if allow.remember.iter().any(sets))
}

fn object(json: &api::Json) -> Option<Object> {
    wire::Raw::from_text(json.get().to_owned()).ok().and_then(Object::from_raw)
}

/// What to remember, in the CLI's words.
fn update(remember: &Remember) -> PermissionUpdate {
    let destination = match remember.destination {
        Destination::Session => wire::PermissionDestination::Session,
        Destination::UserSettings => wire::PermissionDestination::UserSettings,
        Destination::ProjectSettings => wire::PermissionDestination::ProjectSettings,
        Destination::LocalSettings => wire::PermissionDestination::LocalSettings,
        Destination::CliArg => wire::PermissionDestination::CliArg,
    };
    let rules = |rules: &[api::permission::Rule], behavior: Behavior| wire::RulesUpdate {
        rules: rules
            .iter()
            .map(|rule| wire::PermissionRule {
                tool_name: rule.tool_name.clone(),
                rule_content: rule.rule_content.clone(),
            })
            .collect(),
        behavior: match behavior {
            Behavior::Allow => wire::RuleBehavior::Allow,
            Behavior::Deny => wire::RuleBehavior::Deny,
            Behavior::Ask => wire::RuleBehavior::Ask,
        },
        destination: destination.clone(),
    };
    let directories = |directories: &[String]| wire::DirectoriesUpdate {
        directories: directories.to_vec(),
        destination: destination.clone(),
    };
    match &remember.change {
        Change::AddRules { rules: list, behavior } => PermissionUpdate::AddRules(rules(list, *behavior)),
        Change::ReplaceRules { rules: list, behavior } => {
            PermissionUpdate::ReplaceRules(rules(list, *behavior))
        }
        Change::RemoveRules { rules: list, behavior } => {
            PermissionUpdate::RemoveRules(rules(list, *behavior))
        }
        Change::SetMode { mode } => {
            PermissionUpdate::SetMode(wire::ModeUpdate { mode: mode.as_str().into(), destination })
        }
        Change::AddDirectories { directories: list } => PermissionUpdate::AddDirectories(directories(list)),
        Change::RemoveDirectories { directories: list } => {
            PermissionUpdate::RemoveDirectories(directories(list))
        }
    }
}

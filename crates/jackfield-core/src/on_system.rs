//! Lines of type `system`: what the CLI says of itself and of what goes on beside the conversation.

use jackfield_api as api;
use jackfield_wire as wire;

use api::session::{
    AvailableCommands, Compaction, CompactionStatus, McpServer, ModeChanged, ModelChanged, SessionStatus,
    SlashCommand,
};
use api::tool::{Hook, HookStatus, TaskStatus, TaskUsage};
use api::trouble::{ApiRetry, NoticeLevel};
use wire::{Activity, System};

use crate::session::Session;
use crate::tasks::{Announces, TaskNews};
use crate::words;

impl Session {
    pub(crate) fn on_system(&mut self, line: System) {
        if let Some(id) = line.session_id() {
            self.saw_cli_session(id.as_str());
        }
        match line {
            System::Init(init) => self.on_init(*init),
            System::Status(status) => self.on_status(&status),
            System::ApiRetry(retry) => {
                self.in_turn();
                self.out.event(ApiRetry {
                    attempt: retry.attempt,
                    max_retries: retry.max_retries,
                    delay_ms: words::milliseconds(retry.retry_delay_ms),
                    error: retry.error.unwrap_or_default(),
                    status: retry.error_status,
                });
            }
            System::CompactBoundary(boundary) => {
                let told = boundary.compact_metadata;
                self.tell_compaction(Compaction {
                    trigger: Some(told.trigger.as_str().to_owned()),
                    pre_tokens: Some(told.pre_tokens),
                    post_tokens: told.post_tokens,
                    status: CompactionStatus::Complete,
                    message: None,
                });
            }
            System::PermissionDenied(denied) => {
                let text = format!("{} was refused: {}", denied.tool_name, denied.message);
                self.out.notice(NoticeLevel::Warning, text);
            }
            System::Informational(note) => {
                let level = words::level(note.level.as_deref());
                if note.prevent_continuation
                    && let Some(turn) = self.run.as_mut().and_then(|run| run.turn_mut())
                {
                    // The result repeats these words [hooks/user_prompt_block].
                    turn.spoke = true;
                }
                self.out.notice(level, note.content);
            }
            System::Notification(note) => self.out.notice(NoticeLevel::Info, note.text),
            System::LocalCommandOutput(output) => {
                self.in_turn();
                if let Some(run) = &mut self.run {
                    if let Some(turn) = run.turn_mut() {
                        turn.spoke = true;
                    }
                    run.main.say(&output.content, &mut self.out);
                }
            }
            System::CommandsChanged(changed) => {
                self.set_commands(changed.commands.iter().map(command).collect());
            }
            System::ModelFallback(fallback) => {
                if let Some(model) = fallback.fallback_model {
                    self.out.event(ModelChanged { model, reason: Some(fallback.content) });
                } else {
                    self.out.notice(NoticeLevel::Warning, fallback.content);
                }
            }
            System::ModelRefusalFallback(refusal) => {
                if let Some(model) = refusal.fallback_model {
                    self.out.event(ModelChanged { model, reason: Some(refusal.content) });
                } else {
                    self.out.notice(NoticeLevel::Warning, refusal.content);
                }
            }
            System::ModelRefusalNoFallback(refusal) => {
                let said = [Some(refusal.content), refusal.api_refusal_explanation].into_iter().flatten();
                let text = said.into_iter().find(|text| !text.is_empty());
                self.out.notice(
                    NoticeLevel::Warning,
                    text.unwrap_or_else(|| "the model refused to answer".to_owned()),
                );
            }
            System::SessionTitleChanged(changed) => {
                let title = changed.title.unwrap_or_default();
                self.out.notice(NoticeLevel::Info, format!("the session is now called \"{title}\""));
            }
            System::SessionWritesLost(lost) => {
                let why = lost.error.as_ref().map_or("", wire::Raw::get);
                self.out.notice(NoticeLevel::Error, format!("the CLI could not write its transcript: {why}"));
            }
            System::WorkerShuttingDown(_) => {
                self.out.notice(NoticeLevel::Warning, "the CLI is shutting down");
            }
            System::MirrorError(error) => {
                let why = error.error.as_ref().map_or("", wire::Raw::get);
                self.out.notice(NoticeLevel::Warning, format!("the transcript could not be mirrored: {why}"));
            }
            System::PluginInstall(install) => {
                let (name, status) = (install.name.unwrap_or_default(), install.status.unwrap_or_default());
                let error = install.error.map(|error| format!(": {error}")).unwrap_or_default();
                self.out.notice(NoticeLevel::Info, format!("plugin {name} {status}{error}"));
            }
            System::MemoryRecall(_) => self.out.notice(NoticeLevel::Info, "memories were recalled"),
            System::FilesPersisted(_) => self.out.notice(NoticeLevel::Info, "files were kept"),
            System::HookStarted(hook) => self.out.event(Hook {
                hook_id: Some(hook.hook_id),
                hook_event: hook.hook_event,
                hook_name: hook.hook_name,
                status: HookStatus::Running,
                tool_call_id: None,
                output: None,
                exit_code: None,
            }),
            System::HookProgress(hook) => self.out.event(Hook {
                hook_id: Some(hook.hook_id),
                hook_event: hook.hook_event,
                hook_name: hook.hook_name,
                status: HookStatus::Running,
                tool_call_id: None,
                output: said(hook.output),
                exit_code: None,
            }),
            System::HookResponse(hook) => self.out.event(Hook {
                hook_id: Some(hook.hook_id),
                hook_event: hook.hook_event,
                hook_name: hook.hook_name,
                status: match hook.outcome {
                    Some(wire::HookOutcome::Success) | None => HookStatus::Complete,
                    Some(wire::HookOutcome::Cancelled) => HookStatus::Cancelled,
                    Some(_) => HookStatus::Error,
                },
                tool_call_id: None,
                output: said(hook.output),
                exit_code: hook.exit_code,
            }),
            System::TaskStarted(_)
            | System::TaskProgress(_)
            | System::TaskUpdated(_)
            | System::TaskNotification(_)
            | System::BackgroundTasksChanged(_) => self.on_task(line),
            // Signs of life, and what other lines tell better.
            System::ThinkingTokens(_)
            | System::SessionStateChanged(_)
            | System::ElicitationComplete(_)
            | System::ControlRequestProgress(_) => {}
        }
    }

    /// Comes at the start of every turn, and in the middle of one after a compaction.
    fn on_init(&mut self, init: wire::Init) {
        self.in_turn();
        self.context.set_model(&init.model);
        let Some(run) = &mut self.run else { return };
        let mode = init.permission_mode.map(|mode| mode.as_str().to_owned()).unwrap_or_default();
        let status = SessionStatus {
            session_status: run.launch.origin,
            cli_session_id: init.session_id.map(|id| id.as_str().to_owned()).unwrap_or_default(),
            model: init.model,
            cwd: init.cwd,
            permission_mode: mode,
            tools: init.tools,
            mcp_servers: init
                .mcp_servers
                .into_iter()
                .map(|server| McpServer { name: server.name, status: server.status })
                .collect(),
            claude_code_version: init.claude_code_version.unwrap_or_default(),
        };
        if run.status.as_ref() != Some(&status) {
            let before = run.status.replace(status.clone());
            let mode = run.mode.replace(status.permission_mode.clone());
            if mode.is_some_and(|mode| mode != status.permission_mode) {
                self.out.event(ModeChanged { permission_mode: status.permission_mode.clone() });
            }
            if before.is_some_and(|before| before.model != status.model) {
                self.out.event(ModelChanged { model: status.model.clone(), reason: None });
            }
            self.out.event(status);
        }
        if !run.commands_described {
            let bare = |name: &String| SlashCommand {
                name: name.clone(),
                description: String::new(),
                argument_hint: String::new(),
            };
            self.set_commands(init.slash_commands.iter().map(bare).collect());
        }
    }

    fn on_status(&mut self, line: &wire::Status) {
        if let Some(mode) = &line.permission_mode {
            self.mode_is(mode.as_str());
        }
        if line.status.is_some() {
            self.in_turn();
        }
        let status = match (&line.status, line.compact_result.as_deref()) {
            (Some(Activity::Compacting), _) => CompactionStatus::Running,
            // The boundary follows and tells more.
            (_, Some("success") | None) => return,
            (_, Some(_)) => CompactionStatus::Failed,
        };
        let message = line.compact_error.clone();
        self.tell_compaction(Compaction {
            trigger: None,
            pre_tokens: None,
            post_tokens: None,
            status,
            message,
        });
    }

    fn tell_compaction(&mut self, compaction: Compaction) {
        if let Some(run) = &mut self.run {
            run.compacting = compaction.status == CompactionStatus::Running;
        }
        self.out.event(compaction);
    }

    /// A mode is in effect; told if it is another than before.
    pub(crate) fn mode_is(&mut self, mode: &str) {
        let Some(run) = &mut self.run else { return };
        if let Some(status) = &mut run.status {
            mode.clone_into(&mut status.permission_mode);
        }
        if run.mode.as_deref() != Some(mode) {
            run.mode = Some(mode.to_owned());
            self.out.event(ModeChanged { permission_mode: mode.to_owned() });
        }
    }

    /// Replaces the list of commands; told if it is another than before.
    pub(crate) fn set_commands(&mut self, commands: Vec<SlashCommand>) {
        if self.commands != commands {
            self.commands.clone_from(&commands);
            self.out.event(AvailableCommands { available_commands: commands });
        }
    }

    fn on_task(&mut self, line: System) {
        let Some(run) = &mut self.run else { return };
        let call = |id: Option<wire::ToolUseId>| id.map(|id| id.as_str().into());
        let (id, news, announces) = match line {
            System::TaskStarted(task) => {
                let news = TaskNews {
                    tool_call_id: call(task.tool_use_id),
                    status: Some(TaskStatus::Running),
                    description: Some(task.description),
                    task_type: task.task_type.map(|kind| kind.as_str().to_owned()),
                    ..TaskNews::default()
                };
                (task.task_id, news, Announces::Change)
            }
            System::TaskProgress(task) => {
                // Here the description is what it does just now.
                let summary = task.summary.or(Some(task.description));
                let news = TaskNews {
                    tool_call_id: call(task.tool_use_id),
                    usage: task.usage.as_ref().map(usage),
                    summary,
                    ..TaskNews::default()
                };
                (task.task_id, news, Announces::Change)
            }
            System::TaskUpdated(task) => {
                let news = TaskNews {
                    status: task.patch.status.as_ref().map(status),
                    description: task.patch.description,
                    summary: task.patch.error,
                    ..TaskNews::default()
                };
                (task.task_id, news, Announces::Change)
            }
            System::TaskNotification(task) => {
                // An announced end is an end, whatever its word.
                let ended = match status(&task.status) {
                    TaskStatus::Running => TaskStatus::Stopped,
                    ended => ended,
                };
                let news = TaskNews {
                    tool_call_id: call(task.tool_use_id),
                    status: Some(ended),
                    usage: task.usage.as_ref().map(usage),
                    summary: Some(task.summary),
                    ..TaskNews::default()
                };
                (task.task_id, news, Announces::End)
            }
            System::BackgroundTasksChanged(changed) => {
                // The list repeats what the tasks' own lines told; only a task that is new in it is news.
                for task in changed.tasks {
                    let Some(id) = task.task_id.map(|id| api::TaskId::from(id.as_str())) else { continue };
                    if !run.tasks.is_known(&id) {
                        let news = TaskNews {
                            tool_call_id: call(task.tool_use_id),
                            status: task.status.as_ref().map(status),
                            description: task.description,
                            task_type: task.task_type.map(|kind| kind.as_str().to_owned()),
                            ..TaskNews::default()
                        };
                        run.tasks.tell(&id, news, Announces::Change, &mut self.out);
                    }
                }
                return;
            }
            _ => return,
        };
        run.tasks.tell(&id.as_str().into(), news, announces, &mut self.out);
    }

    pub(crate) fn on_auth_status(&mut self, line: wire::AuthStatus) {
        let words = if line.is_authenticating { "signing in" } else { "signed in" };
        match line.error {
            Some(error) => self.out.notice(NoticeLevel::Warning, format!("signing in failed: {error}")),
            None if line.output.is_empty() => self.out.notice(NoticeLevel::Info, words),
            None => self.out.notice(NoticeLevel::Info, line.output.join("\n")),
        }
    }

    /// The CLI tells what becomes of a prompt (newer versions).
    pub(crate) fn on_command_lifecycle(&mut self, line: &wire::CommandLifecycle) {
        let uuid = line.command_uuid.as_str();
        match line.state {
            wire::CommandState::Started => {
                self.prompts.started(uuid);
                self.enter_started();
            }
            wire::CommandState::Cancelled | wire::CommandState::Discarded => {
                self.prompts.cancelled(uuid, &mut self.out);
            }
            wire::CommandState::Queued | wire::CommandState::Completed | wire::CommandState::Other(_) => {}
        }
    }
}

pub(crate) fn command(command: &wire::SlashCommand) -> SlashCommand {
    SlashCommand {
        name: command.name.clone(),
        description: command.description.clone(),
        argument_hint: command.argument_hint.clone(),
    }
}

fn usage(usage: &wire::TaskUsage) -> TaskUsage {
    TaskUsage { total_tokens: usage.total_tokens, tool_uses: usage.tool_uses, duration_ms: usage.duration_ms }
}

fn status(status: &wire::TaskStatus) -> TaskStatus {
    match status {
        wire::TaskStatus::Completed => TaskStatus::Completed,
        wire::TaskStatus::Failed => TaskStatus::Failed,
        wire::TaskStatus::Stopped | wire::TaskStatus::Killed => TaskStatus::Stopped,
        wire::TaskStatus::Pending | wire::TaskStatus::Running | wire::TaskStatus::Other(_) => {
            TaskStatus::Running
        }
    }
}

fn said(output: String) -> Option<String> {
    Some(output).filter(|output| !output.is_empty())
}

//! One instance of everything in the contract, with every optional member filled in.

use jackfield_api::command::{Allow, Answers, Deny, Verdict};
use jackfield_api::conversation::{
    Attachment, DropReason, DroppedPrompt, FileUpdated, ItemEnded, ItemOutcome, MessageChunk, Queue,
    QueuedPrompt, Reasoning, Todo, Todos, Trigger, TurnStarted, UserMessage,
};
use jackfield_api::normalized::{
    CodeSearch, CreateTask, Generic, HttpRequest, ManageTodos, Misc, ModifyFile, Mutation, MutationKind,
    ReadFile, ReadOutput, SearchOutput, ShellExec, ShellOutput, SubagentTask,
};
use jackfield_api::permission::{
    Behavior, Change, Destination, PermissionCancelled, PermissionKind, PermissionOutcome, PermissionRequest,
    PermissionResolved, Question, QuestionOption, Remember, Rule,
};
use jackfield_api::session::{
    AvailableCommands, Compaction, CompactionStatus, McpServer, ModeChanged, ModelChanged, Priority,
    RunEndReason, RunEnded, RunStarted, SessionOrigin, SessionStatus, SlashCommand,
};
use jackfield_api::tool::{
    Hook, HookStatus, Task, TaskStatus, TaskUsage, ToolCall, ToolPreparing, ToolStatus, ToolUpdate,
};
use jackfield_api::trouble::{
    ApiRetry, Error, Gap, Malformed, Notice, NoticeLevel, RateLimit, Stderr, Unknown,
};
use jackfield_api::usage::{Complete, ContextWindow, ModelFigures, PermissionDenial, TurnFigures};
use jackfield_api::{Body, Event, ItemId, Json, Normalized, PendingId, Seq, Timestamp, TurnNumber};

/// Text with everything that JSON must escape.
pub(crate) const TEXT: &str = "a \"quoted\" line\nand\ta \\ backslash, \u{1}, \u{7f}, é, → and 😀";

/// JSON that does not survive being read: a lone surrogate, a number beyond any float, odd spaces.
pub(crate) fn json() -> Json {
    Json::parse(r#"{"half":"\ud83d", "big":123456789012345678901234567890,"list":[ 1,2]}"#.to_owned())
        .unwrap()
}

pub(crate) fn event(body: Body) -> Event {
    Event {
        body,
        seq: Seq(u64::MAX),
        at: Timestamp(1_700_000_000_000),
        session_id: "session \"one\"".into(),
        turn: Some(TurnNumber(7)),
        parent_tool_call_id: Some("toolu_parent".into()),
    }
}

fn text() -> String {
    TEXT.to_owned()
}

/// One of each event. A new variant does not compile until it is in the list.
pub(crate) fn bodies() -> Vec<Body> {
    let first =
        Body::from(RunStarted { cli_session_id: Some(text()), claude_code_version: Some("2.1.325".into()) });
    std::iter::successors(Some(first), next).collect()
}

/// The sample that follows one of this variant.
fn next(body: &Body) -> Option<Body> {
    Some(match body {
        Body::RunStarted(_) => run_ended().into(),
        Body::RunEnded(_) => SessionStatus {
            session_status: SessionOrigin::Forked,
            cli_session_id: text(),
            model: "opus".into(),
            cwd: "/ws".into(),
            permission_mode: "default".into(),
            tools: vec!["Bash".into(), text()],
            mcp_servers: vec![McpServer { name: "files".into(), status: "connected".into() }],
            claude_code_version: "2.1.325".into(),
        }
        .into(),
        Body::SessionStatus(_) => AvailableCommands {
            available_commands: vec![SlashCommand {
                name: "review".into(),
                description: text(),
                argument_hint: "[n]".into(),
            }],
        }
        .into(),
        Body::AvailableCommands(_) => queue().into(),
        Body::Queue(_) => TurnStarted { trigger: Trigger::Background }.into(),
        Body::TurnStarted(_) => user_message().into(),
        Body::UserMessage(_) => {
            MessageChunk { item_id: ItemId(9), message_id: Some("msg_\"1\"".into()), text: text().into() }
                .into()
        }
        Body::MessageChunk(_) => {
            Reasoning { item_id: ItemId(10), message_id: None, reasoning_text: text().into() }.into()
        }
        Body::Reasoning(_) => ItemEnded { item_id: ItemId(10), outcome: ItemOutcome::Replaced }.into(),
        Body::ItemEnded(_) => {
            ToolPreparing { tool_call_id: "toolu_1".into(), tool_name: "Bash".into(), bytes: 12 }.into()
        }
        Body::ToolPreparing(_) => ToolCall {
            tool_call_id: "toolu_1".into(),
            tool_name: "Bash".into(),
            tool_title: text(),
            tool_status: ToolStatus::Running,
            normalized: normalized().remove(3),
            input: json(),
        }
        .into(),
        Body::ToolCall(_) => ToolUpdate {
            tool_call_id: "toolu_1".into(),
            tool_status: ToolStatus::Error,
            tool_title: Some(text()),
            normalized: Some(normalized().remove(0)),
            output: Some(json()),
            message: Some(text()),
        }
        .into(),
        Body::ToolUpdate(_) => permission_request().into(),
        Body::PermissionRequest(_) => PermissionResolved {
            pending_id: PendingId(13),
            outcome: PermissionOutcome::Expired,
            by: Some("someone".into()),
            message: Some(text()),
            input: Some(json()),
        }
        .into(),
        Body::PermissionResolved(_) => PermissionCancelled { pending_id: PendingId(13) }.into(),
        Body::PermissionCancelled(_) => context_window().into(),
        Body::ContextWindow(_) => Todos { items: vec![todo()] }.into(),
        Body::Todos(_) => task().into(),
        Body::Task(_) => ModeChanged { permission_mode: "plan".into() }.into(),
        Body::ModeChanged(_) => ModelChanged { model: "opus".into(), reason: Some(text()) }.into(),
        Body::ModelChanged(_) => compaction().into(),
        Body::Compaction(_) => {
            ApiRetry { attempt: 2, max_retries: 10, delay_ms: 500, error: text(), status: Some(529) }.into()
        }
        Body::ApiRetry(_) => rate_limit().into(),
        Body::RateLimit(_) => file_updated().into(),
        Body::FileUpdated(_) => Hook {
            hook_id: Some("h1".into()),
            hook_event: "PreToolUse".into(),
            hook_name: text(),
            status: HookStatus::Cancelled,
            tool_call_id: Some("toolu_1".into()),
            output: Some(text()),
            exit_code: Some(-2),
        }
        .into(),
        Body::Hook(_) => notice().into(),
        Body::Notice(_) => complete().into(),
        Body::Complete(_) => error().into(),
        Body::Error(_) => Stderr { text: text() }.into(),
        Body::Stderr(_) => Unknown { tag: "system/new".into(), text: text() }.into(),
        Body::Unknown(_) => Malformed { reason: "not JSON".into(), text: text() }.into(),
        Body::Malformed(_) => Gap { from: Seq(3), to: Seq(90) }.into(),
        Body::Gap(_) => return None,
    })
}

/// One of each kind of tool. A new kind does not compile until it is in the list.
pub(crate) fn normalized() -> Vec<Normalized> {
    let first = Normalized::ModifyFile(Box::new(ModifyFile {
        file_path: "/ws/a".into(),
        mutations: vec![Mutation {
            kind: MutationKind::Overwrite,
            content: Some(text()),
            old_content: None,
            new_content: Some(text()),
            diff: Some(text()),
        }],
    }));
    std::iter::successors(Some(first), next_normalized).collect()
}

fn next_normalized(normalized: &Normalized) -> Option<Normalized> {
    Some(match normalized {
        Normalized::ModifyFile(_) => Normalized::ReadFile(Box::new(ReadFile {
            file_path: text(),
            offset: Some(1),
            limit: Some(2),
            output: Some(ReadOutput { content: text(), line_count: 2, truncated: true }),
        })),
        Normalized::ReadFile(_) => {
            let output =
                SearchOutput { files: vec![text()], file_count: 1, truncated: false, content: Some(text()) };
            Normalized::CodeSearch(Box::new(CodeSearch {
                query: Some(text()),
                pattern: Some(text()),
                path: None,
                glob: Some("*.rs".into()),
                output: Some(output),
            }))
        }
        Normalized::CodeSearch(_) => Normalized::ShellExec(Box::new(ShellExec {
            command: text(),
            work_dir: Some("/ws".into()),
            description: Some(text()),
            timeout: Some(1000),
            background: true,
            output: Some(ShellOutput { exit_code: Some(-1), stdout: text(), stderr: text() }),
        })),
        Normalized::ShellExec(_) => Normalized::HttpRequest(Box::new(HttpRequest {
            url: text(),
            method: "GET".into(),
            response: Some(text()),
            is_error: true,
        })),
        Normalized::HttpRequest(_) => Normalized::SubagentTask(Box::new(SubagentTask {
            description: text(),
            prompt: text(),
            subagent_type: Some("Explore".into()),
            output: Some(text()),
        })),
        Normalized::SubagentTask(_) => Normalized::CreateTask(Box::new(CreateTask {
            title: text(),
            description: text(),
            id: Some("1".into()),
        })),
        Normalized::CreateTask(_) => {
            Normalized::ManageTodos(Box::new(ManageTodos { operation: "write".into(), items: vec![todo()] }))
        }
        Normalized::ManageTodos(_) => {
            Normalized::Misc(Box::new(Misc { label: text(), details: Some(text()) }))
        }
        Normalized::Misc(_) => {
            Normalized::Generic(Box::new(Generic { name: text(), input: json(), output: Some(json()) }))
        }
        Normalized::Generic(_) => return None,
    })
}

/// One of each verdict. A new one does not compile until it is in the list.
pub(crate) fn verdicts() -> Vec<Verdict> {
    let first = Verdict::Allow(Allow { input: Some(json()), remember: remember() });
    std::iter::successors(Some(first), |verdict| {
        Some(match verdict {
            Verdict::Allow(_) => Verdict::Deny(Deny { message: text(), interrupt: true }),
            Verdict::Deny(_) => Verdict::Answers(Answers { answers: [(text(), text())].into() }),
            Verdict::Answers(_) => return None,
        })
    })
    .collect()
}

/// One of each change. A new one does not compile until it is in the list.
pub(crate) fn remember() -> Vec<Remember> {
    let rules = || vec![Rule { tool_name: "Bash".into(), rule_content: Some("npm run *".into()) }];
    let first = Change::AddRules { rules: rules(), behavior: Behavior::Allow };
    std::iter::successors(Some(first), |change| {
        Some(match change {
            Change::AddRules { .. } => Change::ReplaceRules { rules: rules(), behavior: Behavior::Deny },
            Change::ReplaceRules { .. } => Change::RemoveRules { rules: rules(), behavior: Behavior::Ask },
            Change::RemoveRules { .. } => Change::SetMode { mode: "acceptEdits".into() },
            Change::SetMode { .. } => Change::AddDirectories { directories: vec![text()] },
            Change::AddDirectories { .. } => Change::RemoveDirectories { directories: vec![text()] },
            Change::RemoveDirectories { .. } => return None,
        })
    })
    .map(|change| Remember { change, destination: Destination::LocalSettings })
    .collect()
}

pub(crate) fn run_ended() -> RunEnded {
    RunEnded { reason: RunEndReason::Crashed, exit_code: Some(-9), stderr_tail: text() }
}

pub(crate) fn queue() -> Queue {
    Queue {
        prompts: vec![QueuedPrompt { uuid: Some("u-1".into()), text: text(), priority: Priority::Later }],
        dropped: vec![DroppedPrompt { uuid: None, text: text(), reason: DropReason::Duplicate }],
    }
}

pub(crate) fn user_message() -> UserMessage {
    let attachment = Attachment { kind: "image".into(), media_type: Some("image/png".into()), bytes: 4 };
    UserMessage { text: text(), attachments: vec![attachment], uuid: Some("u-1".into()) }
}

pub(crate) fn permission_request() -> PermissionRequest {
    PermissionRequest {
        pending_id: PendingId(13),
        kind: PermissionKind::Elicitation,
        tool_call_id: Some("toolu_1".into()),
        tool_name: Some("Bash".into()),
        tool_title: text(),
        normalized: Some(normalized().remove(9)),
        input: Some(json()),
        suggestions: remember(),
        reason: Some(text()),
        questions: vec![Question {
            question: text(),
            header: "Colour".into(),
            multi_select: true,
            options: vec![QuestionOption { label: text(), description: text() }],
        }],
        plan: Some(text()),
        message: Some(text()),
        schema: Some(json()),
    }
}

pub(crate) fn context_window() -> ContextWindow {
    ContextWindow {
        context_window_size: 200_000,
        context_window_used: 50_000,
        context_window_remaining: 150_000,
        context_efficiency: 75.0,
    }
}

pub(crate) fn todo() -> Todo {
    Todo { id: "1".into(), description: text(), status: "in_progress".into() }
}

pub(crate) fn task() -> Task {
    Task {
        task_id: "task".into(),
        tool_call_id: Some("toolu_1".into()),
        status: TaskStatus::Stopped,
        description: Some(text()),
        usage: Some(TaskUsage { total_tokens: 1, tool_uses: 2, duration_ms: 3 }),
        task_type: Some("local_agent".into()),
        summary: Some(text()),
    }
}

pub(crate) fn compaction() -> Compaction {
    Compaction {
        trigger: Some("auto".into()),
        pre_tokens: Some(160_000),
        post_tokens: None,
        status: CompactionStatus::Failed,
        message: Some(text()),
    }
}

pub(crate) fn rate_limit() -> RateLimit {
    RateLimit { rate_limit_message: text(), status: "allowed_warning".into(), resets_at: Some(1_700_000_000) }
}

pub(crate) fn file_updated() -> FileUpdated {
    FileUpdated {
        tool_call_id: "toolu_1".into(),
        file_path: text(),
        old_content: None,
        new_content: Some(text()),
        diff: text(),
        truncated: true,
    }
}

pub(crate) fn notice() -> Notice {
    Notice { level: NoticeLevel::Warning, text: text() }
}

pub(crate) fn error() -> Error {
    Error { error: text(), code: "error_max_turns".into() }
}

pub(crate) fn complete() -> Complete {
    Complete {
        data: TurnFigures {
            cost_usd: 0.25,
            total_cost_usd: 1.5,
            duration_ms: 1,
            duration_api_ms: 2,
            num_turns: 3,
            input_tokens: 4,
            output_tokens: 5,
            cache_read_tokens: 6,
            cache_creation_tokens: 7,
            last_message_uuid: Some("u-9".into()),
            terminal_reason: Some("completed".into()),
            permission_denials: vec![PermissionDenial {
                tool_name: "Bash".into(),
                tool_call_id: "toolu_1".into(),
                input: json(),
            }],
            structured_output: Some(json()),
            models: vec![ModelFigures {
                model: "claude-test[1m]".into(),
                input_tokens: 8,
                output_tokens: 9,
                cache_read_tokens: 10,
                cache_creation_tokens: 11,
                cost_usd: 0.25,
            }],
        },
    }
}

//! Recordings, torn: lines dropped, doubled, swapped, cut and spliced, and anything at all put between them.
//!
//! Only what happens is made up here; what must hold is in the properties. The one rule: everything that
//! can be an [`Input`](jackfield_core::Input) can be drawn.

use std::fmt;

use jackfield_api as api;
use jackfield_core::input::FileChange;
use jackfield_core::{By, Exit, HostReply, Launch, Signal};
use jackfield_wire as wire;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::test_runner::Config;

use api::command::{
    Allow, Answers, Archive, Background, CancelQueued, Close, Content, CreateSession, Delete, Deny,
    EditQueued, Fork, Import, Interrupt, Mcp, McpAction, Prompt, Rename, ReorderQueued, Retry, Rewind,
    RewindScope, SetBudget, SetDirectories, SetEffort, SetMode, SetModel, SetThinking, StopTask, Verdict,
};
use api::permission::{Behavior, Change, Destination, Remember, Rule};
use api::session::Priority;

use crate::fixtures;
use crate::harness::Step;

/// So many steps of a recording are enough.
const WINDOW: usize = 120;

/// How the properties are run: bounded (`PROPTEST_CASES` asks for more), and without files of failures.
pub(crate) fn config(cases: u32) -> Config {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|asked| asked.parse().ok()).unwrap_or(cases);
    Config { cases, failure_persistence: None, max_shrink_iters: 2_000, ..Config::default() }
}

/// Steps that can be read when a property fails.
#[derive(Clone)]
pub(crate) struct Play(pub(crate) Vec<Step>);

impl fmt::Debug for Play {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for step in &self.0 {
            match step {
                Step::Line(line) => writeln!(formatter, "Line {}", String::from_utf8_lossy(line)),
                Step::Sent(line, by) => {
                    writeln!(formatter, "Sent by {by:?} {}", String::from_utf8_lossy(line))
                }
                step => writeln!(formatter, "{step:?}"),
            }?;
        }
        Ok(())
    }
}

/// A recording with anything done to it.
pub(crate) fn mutated() -> impl Strategy<Value = Play> {
    (part(), any::<bool>(), vec(mutation(), 0..12)).prop_map(|(mut steps, answers_seen, mutations)| {
        if !answers_seen {
            // The host's answers are left to commands.
            let is_answer = |line: &[u8]| String::from_utf8_lossy(line).contains("control_response");
            steps.retain(|step| !matches!(step, Step::Sent(line, _) if is_answer(line)));
        }
        for mutation in mutations {
            mutation.apply(&mut steps);
        }
        Play(steps)
    })
}

/// A part of a recording, with its beginning.
fn part() -> impl Strategy<Value = Vec<Step>> {
    (select(fixtures::all()), any::<Index>()).prop_map(|(recording, from)| {
        let steps = recording.steps();
        let from = if steps.len() > WINDOW { from.index(steps.len() - WINDOW + 1) } else { 0 };
        let begins = steps.first().filter(|_| from > 0).cloned();
        begins.into_iter().chain(steps.into_iter().skip(from).take(WINDOW)).collect()
    })
}

#[derive(Debug, Clone)]
enum Mutation {
    Drop(Index),
    Double(Index),
    Swap(Index, Index),
    EndAt(Index),
    CutLine(Index, Index),
    Splice(Index, Vec<Step>),
    Insert(Index, Step),
}

fn mutation() -> impl Strategy<Value = Mutation> {
    prop_oneof![
        2 => any::<Index>().prop_map(Mutation::Drop),
        2 => any::<Index>().prop_map(Mutation::Double),
        2 => (any::<Index>(), any::<Index>()).prop_map(|(one, other)| Mutation::Swap(one, other)),
        1 => any::<Index>().prop_map(Mutation::EndAt),
        1 => (any::<Index>(), any::<Index>()).prop_map(|(step, at)| Mutation::CutLine(step, at)),
        1 => (any::<Index>(), part()).prop_map(|(at, steps)| Mutation::Splice(at, steps)),
        8 => (any::<Index>(), step()).prop_map(|(at, step)| Mutation::Insert(at, step)),
    ]
}

impl Mutation {
    fn apply(self, steps: &mut Vec<Step>) {
        let length = steps.len();
        match self {
            Self::Insert(at, step) => steps.insert(at.index(length + 1), step),
            Self::Splice(at, others) => {
                let at = at.index(length + 1);
                let tail = steps.split_off(at);
                steps.extend(others.into_iter().take(WINDOW / 2));
                steps.extend(tail);
            }
            _ if length == 0 => {}
            Self::Drop(at) => {
                steps.remove(at.index(length));
            }
            Self::Double(at) => steps.insert(at.index(length), steps[at.index(length)].clone()),
            Self::Swap(one, other) => steps.swap(one.index(length), other.index(length)),
            Self::EndAt(at) => steps.truncate(at.index(length)),
            Self::CutLine(step, at) => {
                if let Step::Line(line) | Step::Sent(line, _) = &mut steps[step.index(length)] {
                    line.truncate(at.index(line.len() + 1));
                }
            }
        }
    }
}

/// Anything that can happen.
pub(crate) fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => command(),
        1 => (host_request(), by()).prop_map(|(request, by)| Step::Request(request, by)),
        4 => (0..4_usize, verdict(), by()).prop_map(|(which, verdict, by)| Step::Answer(which, verdict, by)),
        4 => cli_line().prop_map(Step::Line),
        3 => (0..4_usize, reply()).prop_map(|(which, reply)| Step::Reply(which, reply)),
        2 => unknown_line().prop_map(Step::Line),
        1 => vec(any::<u8>(), 0..40).prop_map(Step::Line),
        1 => (vec(any::<u8>(), 0..40), by()).prop_map(|(line, by)| Step::Sent(line, by)),
        2 => Just(Step::Deadline),
        1 => Just(Step::Timeout),
        1 => (0..400_000_u64).prop_map(Step::Wait),
        1 => "[a-z ]{0,12}".prop_map(Step::Stderr),
        1 => Just(Step::StdinClosed),
        1 => select(vec![Signal::Terminate, Signal::Kill]).prop_map(Step::Signalled),
        1 => exit().prop_map(Step::Exited),
        1 => select(vec![&[][..], &["--resume"][..], &["--fork-session"][..]])
            .prop_map(|arguments| Step::Started(Launch::from_arguments(arguments))),
        1 => Just(Step::HostDied(Launch::from_arguments(&["--resume"]))),
        1 => (0..9_u64).prop_map(Step::LongLine),
        1 => "[a-z ]{0,12}".prop_map(Step::Unreadable),
        1 => file().prop_map(Step::File),
        1 => "[a-z ]{0,12}".prop_map(Step::Notice),
        1 => Just(Step::Hold),
        1 => Just(Step::Release),
    ]
}

/// A message of a type that nobody knows, and that asks for nothing.
pub(crate) fn unknown_line() -> impl Strategy<Value = Vec<u8>> {
    let id = r#""session_id":"s","uuid":"u""#;
    select(vec![
        format!(r#"{{"type":"banana",{id}}}"#),
        format!(r#"{{"type":"system","subtype":"banana",{id}}}"#),
        r#"{"type":"","message":{"content":[{"type":"text","text":"hi"}]}}"#.to_owned(),
    ])
    .prop_map(String::into_bytes)
}

/// Lines that fit what commands have caused, and questions out of the blue.
fn cli_line() -> impl Strategy<Value = Vec<u8>> {
    let answer = (
        1..6_u8,
        select(vec![
            r#""subtype":"success""#,
            r#""subtype":"success","response":{"cancelled":true}"#,
            r#""subtype":"success","response":{"cancelled":false}"#,
            r#""subtype":"success","response":{"mode":"plan"}"#,
            r#""subtype":"error","error":"no""#,
        ]),
    )
        .prop_map(|(number, outcome)| {
            let response = format!(r#"{{{outcome},"request_id":"jackfield-{number}"}}"#);
            format!(r#"{{"type":"control_response","response":{response}}}"#)
        });
    let request = (0..3_u8, select(vec![
        r#"{"subtype":"can_use_tool","tool_name":"Bash","input":{"command":"ls"},"tool_use_id":"toolu_0"}"#,
        r#"{"subtype":"can_use_tool","tool_name":"AskUserQuestion","input":{"questions":[{"question":"Which?"}]}}"#,
        r#"{"subtype":"hook_callback","callback_id":"h","input":{"hook_event_name":"PreToolUse"},"tool_use_id":"toolu_0"}"#,
        r#"{"subtype":"mcp_message","server_name":"host","message":{"jsonrpc":"2.0","id":1,"method":"tools/list"}}"#,
        r#"{"subtype":"elicitation","mcp_server_name":"mini","message":"Your name?","requested_schema":{}}"#,
        r#"{"subtype":"request_user_dialog","dialog_kind":"refusal","payload":{}}"#,
        r#"{"subtype":"oauth_token_refresh"}"#,
        r#"{"subtype":"banana"}"#,
    ]))
    .prop_map(|(id, request)| format!(r#"{{"type":"control_request","request_id":"r{id}","request":{request}}}"#));
    let cancel =
        (0..3_u8).prop_map(|id| format!(r#"{{"type":"control_cancel_request","request_id":"r{id}"}}"#));
    let lifecycle = (uuid(), select(vec!["queued", "started", "completed", "cancelled", "discarded"])).prop_map(
        |(uuid, state)| format!(r#"{{"type":"command_lifecycle","command_uuid":"{uuid}","state":"{state}","uuid":"u","session_id":"s"}}"#),
    );
    prop_oneof![3 => answer, 3 => request, 1 => cancel, 1 => lifecycle].prop_map(String::into_bytes)
}

fn command() -> impl Strategy<Value = Step> {
    let json = |text: &str| api::Json::parse(text.to_owned()).unwrap();
    let mode = select(vec!["default", "plan", "bypassPermissions", "nonsense"]);
    let mcp = select(vec![
        McpAction::Status,
        McpAction::Reconnect,
        McpAction::Enable,
        McpAction::Disable,
        McpAction::Set,
    ]);
    let servers = select(vec![None, Some(json("{}")), Some(json("[]"))]);
    let scope = select(vec![RewindScope::Files, RewindScope::Conversation, RewindScope::Both]);
    let here: Vec<api::Command> = vec![
        Interrupt {}.into(),
        Close {}.into(),
        SetModel { model: None }.into(),
        SetModel { model: Some(" ".to_owned()) }.into(),
        SetModel { model: Some("opus".to_owned()) }.into(),
        SetThinking { max_thinking_tokens: Some(0) }.into(),
        SetEffort { effort: Some("low".to_owned()) }.into(),
        SetEffort { effort: None }.into(),
        StopTask { task_id: "t".into() }.into(),
        Background { tool_call_id: None }.into(),
        Rename { title: String::new() }.into(),
        Rename { title: "a title".to_owned() }.into(),
    ];
    let elsewhere: Vec<api::Command> = vec![
        CreateSession::new("/ws").into(),
        Retry { turn: None }.into(),
        Fork { at: None }.into(),
        Archive { archived: true }.into(),
        Delete {}.into(),
        Import::default().into(),
        SetBudget { max_budget_usd: None }.into(),
        SetDirectories { directories: Vec::new() }.into(),
    ];
    let command = prop_oneof![
        4 => prompt().prop_map(api::Command::from),
        2 => (uuid(), prompt()).prop_map(|(uuid, with)| EditQueued { uuid: uuid.into(), with }.into()),
        2 => uuid().prop_map(|uuid| CancelQueued { uuid: uuid.into() }.into()),
        2 => vec(uuid(), 0..3).prop_map(|order| {
            ReorderQueued { order: order.into_iter().map(Into::into).collect() }.into()
        }),
        4 => select(here),
        1 => select(elsewhere),
        1 => mode.prop_map(|mode| SetMode { permission_mode: mode.to_owned() }.into()),
        1 => (uuid(), scope).prop_map(|(uuid, scope)| Rewind { uuid: uuid.into(), scope, preview: true }.into()),
        1 => (mcp, servers).prop_map(|(action, servers)| Mcp { action, server: Some("x".to_owned()), servers }.into()),
    ];
    (command, by()).prop_map(|(command, by)| Step::Command(command, by))
}

fn host_request() -> impl Strategy<Value = wire::HostRequest> {
    let read = |request: &str| {
        let line = format!(r#"{{"type":"control_request","request_id":"r","request":{request}}}"#);
        match wire::Outbound::decode(line.as_bytes()).message {
            wire::OutboundMessage::Known(wire::Outbound::ControlRequest(control)) => control.request,
            other => panic!("{other:?}"),
        }
    };
    select(vec![
        read(r#"{"subtype":"initialize"}"#),
        read(r#"{"subtype":"interrupt"}"#),
        read(r#"{"subtype":"mcp_status"}"#),
        read(r#"{"subtype":"set_model","model":"opus"}"#),
        read(r#"{"subtype":"banana","split":true}"#),
    ])
}

fn prompt() -> impl Strategy<Value = Prompt> {
    let content = select(vec![
        vec![],
        vec![Content::Text { text: "hello".to_owned() }],
        vec![Content::Text { text: "/compact".to_owned() }],
        vec![Content::Image { media_type: "image/png".to_owned(), base64: "aGk=".to_owned() }],
        vec![Content::Image { media_type: "image/tiff".to_owned(), base64: "aGk=".to_owned() }],
        vec![Content::Document { media_type: "text/plain".to_owned(), base64: "aGk=".to_owned() }],
    ]);
    let priority = select(vec![Priority::Now, Priority::Next, Priority::Later]);
    (uuid(), content, priority).prop_map(|(uuid, content, priority)| Prompt {
        uuid: uuid.into(),
        content,
        priority,
    })
}

/// Few names, so that they meet.
fn uuid() -> impl Strategy<Value = String> {
    select(vec!["", "u-1", "u-2", "u-3"]).prop_map(str::to_owned)
}

fn verdict() -> impl Strategy<Value = Verdict> {
    let json = |text: &str| Some(api::Json::parse(text.to_owned()).unwrap());
    let rules = vec![Rule { tool_name: "Bash".to_owned(), rule_content: None }];
    let remember = vec![
        Remember {
            change: Change::AddRules { rules, behavior: Behavior::Allow },
            destination: Destination::Session,
        },
        Remember {
            change: Change::SetMode { mode: "plan".to_owned() },
            destination: Destination::UserSettings,
        },
    ];
    let bypass = Remember {
        change: Change::SetMode { mode: "bypassPermissions".to_owned() },
        destination: Destination::Session,
    };
    select(vec![
        Verdict::Allow(Allow::default()),
        Verdict::Allow(Allow { input: json(r#"{"command":"pwd"}"#), remember }),
        Verdict::Allow(Allow { input: json("7"), remember: Vec::new() }),
        Verdict::Allow(Allow { input: None, remember: vec![bypass] }),
        Verdict::Deny(Deny { message: String::new(), interrupt: false }),
        Verdict::Deny(Deny { message: "no".to_owned(), interrupt: true }),
        Verdict::Answers(Answers { answers: [("Which?".to_owned(), "this".to_owned())].into() }),
    ])
}

fn reply() -> impl Strategy<Value = HostReply> {
    let object = |text: &str| serde_json::from_str::<wire::Object>(text).unwrap();
    let hook = |text: &str| serde_json::from_str::<wire::HookOutput>(text).unwrap();
    select(vec![
        HostReply::Hook(wire::HookOutput::default()),
        HostReply::Hook(hook(r#"{"continue":false,"stopReason":"enough"}"#)),
        HostReply::Hook(hook(r#"{"decision":"block","reason":"no"}"#)),
        HostReply::Mcp(object(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#)),
        HostReply::Failed("it broke".to_owned()),
    ])
}

/// Who caused something: also clients whose names look like words of ours.
fn by() -> impl Strategy<Value = By> {
    select(vec![
        By::Client("web".into()),
        By::Client("expiry".into()),
        By::Client("host".into()),
        By::Client("unknown".into()),
        By::Host,
        By::Expiry,
        By::Unknown,
    ])
}

fn exit() -> impl Strategy<Value = Exit> {
    select(vec![
        Exit::Code(0),
        Exit::Code(1),
        Exit::Signal(9),
        Exit::NotStarted("not found".to_owned()),
        Exit::OutputEnded,
    ])
}

fn file() -> impl Strategy<Value = FileChange> {
    (select(vec!["toolu_0", "toolu_1"]), proptest::option::of("[a-b\n]{0,6}")).prop_map(|(call, after)| {
        FileChange {
            tool_call_id: call.into(),
            path: "/ws/a.txt".to_owned(),
            before: Some("a\n".to_owned()),
            after,
        }
    })
}

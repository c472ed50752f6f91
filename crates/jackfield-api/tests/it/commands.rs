//! Commands, verdicts and answers: what clients write and read.

use jackfield_api::command::{
    Agent, Answer, Archive, Background, CancelQueued, Close, Command, Content, CreateSession, Created,
    Delete, Done, EditQueued, Fork, Import, Interrupt, Mcp, McpAction, Prompt, Rejection, RejectionCode,
    Rename, ReorderQueued, Reply, Retry, Rewind, RewindScope, SetBudget, SetDirectories, SetEffort, SetMode,
    SetModel, SetThinking, StopTask, Told,
};
use jackfield_api::session::{Priority, SessionOrigin};
use jackfield_api::{PendingId, TurnNumber};

use crate::round_trip;
use crate::samples::{TEXT, json, verdicts};

fn prompt() -> Prompt {
    let content = vec![
        Content::Text { text: TEXT.into() },
        Content::Image { media_type: "image/png".into(), base64: "AAAA".into() },
        Content::Document { media_type: "text/plain".into(), base64: "AAAA".into() },
    ];
    Prompt { uuid: "u-1".into(), content, priority: Priority::Now }
}

/// One of each command. A new one does not compile until it is in the list.
pub(crate) fn commands() -> Vec<Command> {
    let first = Command::from(CreateSession {
        cwd: "/ws".into(),
        agent: Some(Agent::Demo),
        title: Some(TEXT.into()),
        model: Some("opus".into()),
        effort: Some("high".into()),
        permission_mode: Some("plan".into()),
        max_thinking_tokens: Some(1024),
        directories: vec!["/lib".into()],
        mcp_servers: Some(json()),
        json_schema: Some(json()),
        max_budget_usd: Some(5.5),
        trusted: true,
        fingerprint: Some("abcd".into()),
        origin: SessionOrigin::Resumed,
        from: Some("ours".into()),
        cli_session_id: Some("id".into()),
        resume_at: Some("u-1".into()),
    });
    std::iter::successors(Some(first), next).collect()
}

fn next(command: &Command) -> Option<Command> {
    Some(match command {
        Command::CreateSession(_) => prompt().into(),
        Command::Prompt(_) => EditQueued { uuid: "u-1".into(), with: prompt() }.into(),
        Command::EditQueued(_) => CancelQueued { uuid: "u-1".into() }.into(),
        Command::CancelQueued(_) => ReorderQueued { order: vec!["u-2".into(), "u-1".into()] }.into(),
        Command::ReorderQueued(_) => Interrupt {}.into(),
        Command::Interrupt(_) => Answer { pending_id: PendingId(5), verdict: verdicts().remove(0) }.into(),
        Command::Answer(_) => SetMode { permission_mode: "plan".into() }.into(),
        Command::SetMode(_) => SetModel { model: None }.into(),
        Command::SetModel(_) => SetThinking { max_thinking_tokens: Some(0) }.into(),
        Command::SetThinking(_) => SetEffort { effort: Some("low".into()) }.into(),
        Command::SetEffort(_) => {
            Rewind { uuid: "u-1".into(), scope: RewindScope::Both, preview: true }.into()
        }
        Command::Rewind(_) => Retry { turn: Some(TurnNumber(2)) }.into(),
        Command::Retry(_) => Fork { at: Some("u-1".into()) }.into(),
        Command::Fork(_) => StopTask { task_id: "task".into() }.into(),
        Command::StopTask(_) => Background { tool_call_id: Some("toolu_1".into()) }.into(),
        Command::Background(_) => {
            Mcp { action: McpAction::Set, server: Some("files".into()), servers: Some(json()) }.into()
        }
        Command::Mcp(_) => Rename { title: TEXT.into() }.into(),
        Command::Rename(_) => Archive { archived: true }.into(),
        Command::Archive(_) => Close {}.into(),
        Command::Close(_) => Delete {}.into(),
        Command::Delete(_) => Import { cli_session_ids: vec!["id".into()] }.into(),
        Command::Import(_) => SetBudget { max_budget_usd: Some(2.0) }.into(),
        Command::SetBudget(_) => SetDirectories { directories: vec!["/lib".into()] }.into(),
        Command::SetDirectories(_) => return None,
    })
}

/// One of each reply. A new one does not compile until it is in the list.
pub(crate) fn replies() -> Vec<Reply> {
    std::iter::successors(Some(Reply::Done(Done {})), |reply| match reply {
        Reply::Done(_) => Some(Reply::Told(Told { answer: json() })),
        Reply::Told(_) => Some(Reply::Created(Created { session_id: "ours".into() })),
        Reply::Created(_) => None,
    })
    .collect()
}

#[test]
fn every_command_is_read_back_as_it_was_written() {
    for command in commands() {
        let text = round_trip(&command);
        assert!(text.starts_with(&format!(r#"{{"type":"{}""#, command.tag())), "{text}");
    }
}

#[test]
fn every_verdict_is_read_back_as_it_was_written() {
    for verdict in verdicts() {
        let text = round_trip(&verdict);
        assert!(text.starts_with(&format!(r#"{{"type":"{}""#, verdict.tag())), "{text}");
    }
}

#[test]
fn replies_and_rejections_are_read_back_as_they_were_written() {
    for reply in replies() {
        let text = round_trip(&reply);
        assert!(text.starts_with(&format!(r#"{{"type":"{}""#, reply.tag())), "{text}");
    }
    let rejection = Rejection { code: RejectionCode::TooLate, reason: "gone".into() };
    assert_eq!(round_trip(&rejection), r#"{"code":"too_late","reason":"gone"}"#);
}

#[test]
fn a_client_may_leave_out_what_has_a_default() {
    let short = [
        r#"{"type":"interrupt"}"#,
        r#"{"type":"answer","pending_id":5,"verdict":{"type":"deny"}}"#,
        r#"{"type":"answer","pending_id":5,"verdict":{"type":"allow"}}"#,
        r#"{"type":"rewind","uuid":"u-1","scope":"files"}"#,
        r#"{"type":"create_session","cwd":"/ws","origin":"new"}"#,
        r#"{"type":"set_model"}"#,
        r#"{"type":"import"}"#,
        r#"{"type":"set_budget"}"#,
    ];
    for text in short {
        crate::schema::accepts("Command", text).unwrap();
        let command: Command = serde_json::from_str(text).unwrap();
        round_trip(&command);
    }
}

#[test]
fn a_verdict_that_is_not_known_is_no_verdict() {
    let text = r#"{"type":"answer","pending_id":5,"verdict":{"type":"maybe"}}"#;
    assert!(serde_json::from_str::<Command>(text).is_err());
}

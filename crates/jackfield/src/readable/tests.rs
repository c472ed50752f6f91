//! Every event can be printed, none can command the terminal, and no two items share a line.

use jackfield_api::{Body, Event, codec};

use super::{Colours, Readable};

/// Members of one of each event. `EVIL` is replaced by text that no terminal should see. A new event does
/// not compile until it is in the list.
fn next(body: &Body) -> Option<&'static str> {
    Some(match body {
        Body::RunStarted(_) => {
            r#""type":"session_status","session_status":"new","cli_session_id":"EVIL","model":"EVIL","cwd":"EVIL","permission_mode":"EVIL","tools":["EVIL"],"mcp_servers":[{"name":"EVIL","status":"failed"}],"claude_code_version":"EVIL""#
        }
        Body::SessionStatus(_) => {
            r#""type":"available_commands","available_commands":[{"name":"EVIL","description":"EVIL","argument_hint":"EVIL"}]"#
        }
        Body::AvailableCommands(_) => r#""type":"turn_started","trigger":"background""#,
        Body::TurnStarted(_) => {
            r#""type":"queue","prompts":[{"uuid":null,"text":"EVIL","priority":"next"}],"dropped":[{"uuid":null,"text":"EVIL","reason":"duplicate"}]"#
        }
        Body::Queue(_) => {
            r#""type":"user_message","text":"EVIL\nsecond line","attachments":[{"kind":"EVIL","media_type":"EVIL","bytes":1234}],"uuid":null"#
        }
        Body::UserMessage(_) => r#""type":"reasoning","item_id":6,"message_id":null,"reasoning_text":"EVIL""#,
        Body::Reasoning(_) => r#""type":"message_chunk","item_id":7,"message_id":null,"text":"EVIL""#,
        Body::MessageChunk(_) => r#""type":"item_ended","item_id":7,"outcome":"aborted""#,
        Body::ItemEnded(_) => {
            r#""type":"tool_preparing","tool_call_id":"toolu_1","tool_name":"EVIL","bytes":4096"#
        }
        Body::ToolPreparing(_) => {
            r#""type":"tool_call","tool_call_id":"toolu_1","tool_name":"Bash","tool_title":"EVIL","tool_status":"running","normalized":{"kind":"shell_exec","command":"EVIL","work_dir":null,"description":null,"timeout":null,"background":false,"output":null},"input":{}"#
        }
        Body::ToolCall(_) => {
            r#""type":"permission_request","pending_id":11,"kind":"tool","tool_call_id":"toolu_1","tool_name":"Bash","tool_title":"EVIL","normalized":{"kind":"shell_exec","command":"EVIL","work_dir":null,"description":null,"timeout":null,"background":false,"output":null},"input":{},"suggestions":[{"type":"add_rules","rules":[{"tool_name":"EVIL","rule_content":"EVIL"}],"behavior":"allow","destination":"session"}],"reason":"EVIL","questions":[{"question":"EVIL","header":"EVIL","multi_select":true,"options":[{"label":"EVIL","description":"EVIL"}]}],"plan":"EVIL","message":"EVIL","schema":{"EVIL":1}"#
        }
        Body::PermissionRequest(_) => {
            r#""type":"permission_resolved","pending_id":11,"outcome":"denied","by":"EVIL","message":"EVIL""#
        }
        Body::PermissionResolved(_) => r#""type":"permission_cancelled","pending_id":12"#,
        Body::PermissionCancelled(_) => {
            r#""type":"tool_update","tool_call_id":"toolu_1","tool_status":"error","normalized":null,"output":[{"type":"text","text":"EVIL"}],"message":"EVIL""#
        }
        Body::ToolUpdate(_) => {
            r#""type":"file_updated","tool_call_id":"toolu_2","file_path":"EVIL","old_content":null,"new_content":null,"diff":"--- a\n+++ b\n@@ -1 +1 @@\n-old\n+EVIL\n","truncated":false"#
        }
        Body::FileUpdated(_) => {
            r#""type":"todos","items":[{"id":"1","description":"EVIL","status":"completed"},{"id":"2","description":"EVIL","status":"in_progress"},{"id":"3","description":"EVIL","status":"pending"}]"#
        }
        Body::Todos(_) => {
            r#""type":"task","task_id":"EVIL","tool_call_id":null,"status":"failed","description":"EVIL","usage":{"total_tokens":12345,"tool_uses":2,"duration_ms":61000},"summary":"EVIL again""#
        }
        Body::Task(_) => {
            r#""type":"hook","hook_event":"Stop","hook_name":"EVIL","status":"error","tool_call_id":null,"output":"EVIL","exit_code":2"#
        }
        Body::Hook(_) => r#""type":"mode_changed","permission_mode":"EVIL""#,
        Body::ModeChanged(_) => r#""type":"model_changed","model":"EVIL","reason":"EVIL""#,
        Body::ModelChanged(_) => {
            r#""type":"compaction","trigger":"auto","pre_tokens":160000,"post_tokens":null,"status":"failed","message":"EVIL""#
        }
        Body::Compaction(_) => {
            r#""type":"api_retry","attempt":2,"max_retries":10,"delay_ms":500,"error":"EVIL","status":529"#
        }
        Body::ApiRetry(_) => {
            r#""type":"rate_limit","rate_limit_message":"EVIL","status":"rejected","resets_at":null"#
        }
        Body::RateLimit(_) => r#""type":"notice","level":"warning","text":"EVIL""#,
        Body::Notice(_) => {
            r#""type":"context_window","context_window_size":200000,"context_window_used":50000,"context_window_remaining":150000,"context_efficiency":75.0"#
        }
        Body::ContextWindow(_) => {
            r#""type":"complete","data":{"cost_usd":0.25,"total_cost_usd":1.5,"duration_ms":1250,"duration_api_ms":2,"num_turns":3,"input_tokens":4,"output_tokens":5,"cache_read_tokens":6000,"cache_creation_tokens":7,"last_message_uuid":null,"terminal_reason":"EVIL","permission_denials":[{"tool_name":"EVIL","tool_call_id":"toolu_1","input":{"EVIL":1}}],"structured_output":{"EVIL":1}}"#
        }
        Body::Complete(_) => r#""type":"error","error":"EVIL","code":"EVIL""#,
        Body::Error(_) => r#""type":"stderr","text":"EVIL""#,
        Body::Stderr(_) => r#""type":"unknown","tag":"EVIL","text":"EVIL""#,
        Body::Unknown(_) => r#""type":"malformed","reason":"EVIL","text":"EVIL""#,
        Body::Malformed(_) => {
            r#""type":"run_ended","reason":"crashed","exit_code":null,"stderr_tail":"EVIL""#
        }
        Body::RunEnded(_) => r#""type":"gap","from":3,"to":90"#,
        Body::Gap(_) => return None,
    })
}

fn all_events() -> Vec<Event> {
    let first = event(r#""type":"run_started","cli_session_id":"EVIL","claude_code_version":"EVIL""#);
    std::iter::successors(Some(first), |last| next(&last.body).map(event)).collect()
}

fn event(members: &str) -> Event {
    // A title for the window, a bell, a rubout and an 8-bit escape sequence.
    let members = members.replace("EVIL", r"w\u001b]0;x\u0007\u007f\u009b2J");
    let line = format!(r#"{{"seq":1,"at":0,"session_id":"s","turn":3,{members}}}"#);
    codec::decode(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
}

fn printed(colours: Colours, events: &[Event]) -> String {
    let mut readable = Readable::new(colours);
    let mut out = Vec::new();
    for event in events {
        readable.print(event, &mut out);
    }
    String::from_utf8(out).unwrap()
}

#[test]
fn every_event_can_be_printed_and_none_commands_the_terminal() {
    insta::assert_snapshot!(printed(Colours::Off, &all_events()));
}

#[test]
fn only_what_is_told_elsewhere_is_not_printed() {
    let silent: Vec<_> = all_events()
        .iter()
        .filter(|event| printed(Colours::Off, std::slice::from_ref(event)).is_empty())
        .map(|event| event.body.tag())
        .collect();
    assert_eq!(silent, ["context_window"]);
}

#[test]
fn with_colours_every_escape_sequence_is_one_of_ours() {
    let text = printed(Colours::On, &all_events());
    let mut seen = 0;
    for sequence in text.split('\u{1b}').skip(1) {
        let end = sequence.find('m').unwrap();
        let inside = sequence[..end].strip_prefix('[').unwrap();
        assert!(inside.bytes().all(|byte| byte.is_ascii_digit() || byte == b';'), "{sequence:?}");
        seen += 1;
    }
    assert!(seen > 50, "{seen} sequences");
}

#[test]
fn two_items_that_stream_at_once_do_not_share_a_line() {
    let chunk = |item: u64, text: &str| {
        event(&format!(r#""type":"message_chunk","item_id":{item},"message_id":null,"text":"{text}""#))
    };
    let thought = |text: &str| {
        event(&format!(r#""type":"reasoning","item_id":2,"message_id":null,"reasoning_text":"{text}""#))
    };
    let ended = |item: u64| event(&format!(r#""type":"item_ended","item_id":{item},"outcome":"complete""#));
    let window = event(
        r#""type":"context_window","context_window_size":1,"context_window_used":1,"context_window_remaining":0,"context_efficiency":0.0"#,
    );
    let events = [
        chunk(1, "one "),
        window,
        chunk(1, "line"),
        thought("aside"),
        chunk(1, ", more"),
        thought(" again"),
        ended(1),
        thought(" and on"),
        ended(2),
        chunk(3, r"last\n"),
        ended(3),
        chunk(4, "next"),
    ];
    let text = printed(Colours::Off, &events);
    assert_eq!(text, "one line\n∴ aside\n… , more\n…  again and on\nlast\nnext");
}

#[test]
fn the_words_of_two_subagents_stand_under_their_calls() {
    let call = |id: &str| {
        event(&format!(
            r#""type":"tool_call","tool_call_id":"{id}","tool_name":"Agent","tool_title":"agent {id}","tool_status":"running","normalized":{{"kind":"misc","label":"","details":null}},"input":{{}}"#
        ))
    };
    let words = |parent: &str, item: u64, text: &str| {
        event(&format!(
            r#""parent_tool_call_id":"{parent}","type":"message_chunk","item_id":{item},"message_id":null,"text":"{text}""#
        ))
    };
    let events = [
        call("A"),
        words("A", 1, "a"),
        call("B"),
        words("B", 2, "b"),
        words("A", 3, "a2"),
        words("A", 4, "a3"),
    ];
    let text = printed(Colours::Off, &events);
    assert_eq!(text, "● agent A\n    a\n● agent B\n    b\n  ▸ agent A\n    a2\n    a3");
}

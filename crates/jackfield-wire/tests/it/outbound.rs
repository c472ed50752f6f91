//! What the host builds.

use jackfield_wire::{
    Allow, ApplyFlagSettings, Deny, DialogAnswer, ElicitationAction, ElicitationAnswer, HookDecision,
    HookEvent, HookMatcher, HookOutput, HookReply, HookSpecificOutput, HookVerdict, HostAnswer, HostRequest,
    ImageSource, Inbound, Initialize, InitializeAnswer, InjectedMessage, Interrupt, McpAnswer, McpServer,
    McpSetServers, Object, OtherRequest, Outbound, OutboundMessage, PermissionAnswer, PermissionMode,
    PreToolUseOutput, Priority, Prompt, PromptBlock, PromptBlocks, Raw, RequestId, SetModel,
    SetPermissionMode, Uuid, decode,
};
use serde_json::{Value, json};

fn object(value: &Value) -> Object {
    Object::from_value(value).expect("an object")
}

/// Encodes, and checks that decoding gives the same message back.
fn encode(outbound: &Outbound) -> Value {
    let line = outbound.encode();
    assert!(!line.contains(['\n', '\r']), "{line}");
    assert_eq!(Outbound::decode(line.as_bytes()).message, OutboundMessage::Known(outbound.clone()), "{line}");
    serde_json::from_str(&line).unwrap()
}

fn request(request: HostRequest) -> Value {
    encode(&Outbound::request("r", request))["request"].clone()
}

fn answer(answer: HostAnswer) -> Value {
    encode(&Outbound::answer("r".into(), answer))["response"].clone()
}

#[test]
fn a_prompt_says_what_was_asked_and_nothing_else() {
    assert_eq!(
        encode(&Outbound::User(Box::new(Prompt::new("hi")))),
        json!({"type":"user","message":{"role":"user","content":"hi"},"parent_tool_use_id":null})
    );
    let blocks = PromptBlocks::new(vec![
        PromptBlock::Text { text: "look\n\u{2028}".to_owned() },
        PromptBlock::Image {
            source: ImageSource::Base64 { media_type: "image/png".to_owned(), data: "AAAA".to_owned() },
        },
    ])
    .unwrap();
    let prompt = Prompt::new(blocks).with_uuid(Uuid::from("u")).with_priority(Priority::Now).as_context();
    assert!(!prompt.runs_a_turn());
    assert_eq!(
        encode(&Outbound::User(Box::new(prompt))),
        json!({"type":"user","message":{"role":"user","content":[
            {"type":"text","text":"look\n\u{2028}"},
            {"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAA"}}]},
            "parent_tool_use_id":null,"uuid":"u","priority":"now","shouldQuery":false})
    );
}

#[test]
fn a_prompt_without_blocks_cannot_be_built() {
    assert_eq!(PromptBlocks::new(Vec::new()), None);
}

#[test]
fn requests_carry_their_arguments() {
    assert_eq!(request(HostRequest::Interrupt(Interrupt::default())), json!({"subtype":"interrupt"}));
    assert_eq!(request(HostRequest::EndSession), json!({"subtype":"end_session"}));
    assert_eq!(
        request(HostRequest::SetPermissionMode(SetPermissionMode { mode: PermissionMode::Plan })),
        json!({"subtype":"set_permission_mode","mode":"plan"})
    );
    assert_eq!(
        request(HostRequest::SetModel(SetModel { model: None })),
        json!({"subtype":"set_model","model":null})
    );
    assert_eq!(
        request(HostRequest::ApplyFlagSettings(ApplyFlagSettings { settings: Object::empty() })),
        json!({"subtype":"apply_flag_settings","settings":{}})
    );
    let host = McpServer::Sdk { name: "host".to_owned() };
    assert_eq!(
        request(HostRequest::McpSetServers(McpSetServers { servers: [("host".to_owned(), host)].into() })),
        json!({"subtype":"mcp_set_servers","servers":{"host":{"type":"sdk","name":"host"}}})
    );
}

#[test]
fn initialize_says_only_what_is_set() {
    assert_eq!(request(HostRequest::Initialize(Box::default())), json!({"subtype":"initialize"}));
    let matcher = HookMatcher {
        matcher: Some("Bash".to_owned()),
        hook_callback_ids: vec!["pre1".into()],
        timeout: Some(2),
        on_failure: None,
    };
    let initialize = Initialize {
        hooks: [(HookEvent::PreToolUse, vec![matcher])].into(),
        append_system_prompt: Some("be kind".to_owned()),
        ..Initialize::default()
    };
    assert_eq!(
        request(HostRequest::Initialize(Box::new(initialize))),
        json!({"subtype":"initialize","appendSystemPrompt":"be kind",
            "hooks":{"PreToolUse":[{"matcher":"Bash","hookCallbackIds":["pre1"],"timeout":2}]}})
    );
}

#[test]
fn the_way_out_takes_only_new_subtypes_and_objects() {
    let other = OtherRequest::new("set_cwd", object(&json!({"path":"/x"}))).unwrap();
    assert_eq!(request(HostRequest::Other(other)), json!({"subtype":"set_cwd","path":"/x"}));
    assert_eq!(OtherRequest::new("mcp_set_servers", Object::empty()), None, "it would silence the CLI");
    assert_eq!(OtherRequest::new("rewind_conversation", Object::empty()), None, "it would silence the CLI");
    assert_eq!(OtherRequest::new("new", object(&json!({"subtype":"set_model","model":5}))), None);
    assert_eq!(Object::from_value(&json!([1])), None);
    assert_eq!(Object::from_raw(Raw::from_value("text").unwrap()), None);
}

#[test]
fn an_answer_echoes_the_id_as_it_came() {
    let line = br#"{"type":"control_request","request_id":7.0,"request":{"subtype":"mcp_message","server_name":"host","message":{"jsonrpc":"2.0","method":"ping","id":1}}}"#;
    let Inbound::ControlRequest(control) = decode(line).message else { panic!("not a request") };
    let reply = McpAnswer { mcp_response: object(&json!({"jsonrpc":"2.0","id":1,"result":{}})) };
    let line = Outbound::answer(control.request_id, HostAnswer::Mcp(reply)).encode();
    assert!(line.contains(r#""request_id":7.0"#), "{line}");
    let line = Outbound::refuse(RequestId::Missing, "no").encode();
    assert_eq!(line, r#"{"type":"control_response","response":{"subtype":"error","error":"no"}}"#);
}

#[test]
fn permission_answers_are_complete() {
    let allow = Allow::new(object(&json!({"command":"ls"})));
    assert_eq!(
        answer(HostAnswer::Permission(PermissionAnswer::Allow(allow))),
        json!({"subtype":"success","request_id":"r","response":{"behavior":"allow","updatedInput":{"command":"ls"}}})
    );
    let deny = Deny::new(" ");
    assert_eq!(deny.message(), Deny::DEFAULT_MESSAGE, "older CLIs choke on a denial without a message");
    assert_eq!(
        answer(HostAnswer::Permission(PermissionAnswer::Deny(Deny::new("not now"))))["response"],
        json!({"behavior":"deny","message":"not now"})
    );
}

#[test]
fn hooks_questions_and_dialogs_are_answered() {
    assert_eq!(answer(HostAnswer::Hook(Box::default()))["response"], json!({}));
    assert_eq!(
        answer(HostAnswer::Hook(Box::new(HookOutput::Later { timeout: Some(5) })))["response"],
        json!({"async":true,"asyncTimeout":5})
    );
    let decision = PreToolUseOutput {
        permission_decision: Some(HookDecision::Ask),
        updated_input: Some(object(&json!({"a":1}))),
        ..PreToolUseOutput::default()
    };
    let reply = HookReply {
        decision: Some(HookVerdict::Approve),
        hook_specific_output: Some(HookSpecificOutput::PreToolUse(decision)),
        ..HookReply::default()
    };
    assert_eq!(
        answer(HostAnswer::Hook(Box::new(HookOutput::Now(Box::new(reply)))))["response"],
        json!({"decision":"approve","hookSpecificOutput":
            {"hookEventName":"PreToolUse","permissionDecision":"ask","updatedInput":{"a":1}}})
    );
    let accept = ElicitationAnswer {
        action: ElicitationAction::Accept,
        content: Some(object(&json!({"name":"Ada"}))),
    };
    assert_eq!(
        answer(HostAnswer::Elicitation(accept))["response"],
        json!({"action":"accept","content":{"name":"Ada"}})
    );
    let completed = DialogAnswer::Completed { result: Raw::from_value(&1).unwrap() };
    assert_eq!(answer(HostAnswer::Dialog(completed))["response"], json!({"behavior":"completed","result":1}));
    assert_eq!(
        answer(HostAnswer::Dialog(DialogAnswer::Cancelled))["response"],
        json!({"behavior":"cancelled"})
    );
}

#[test]
fn raw_json_over_several_lines_is_written_on_one() {
    let pretty = Raw::from_text("{\n  \"command\":\r\n \"a\\nb\"\n}".to_owned()).unwrap();
    let allow = Allow::new(Object::from_raw(pretty).unwrap());
    let line = Outbound::answer("r".into(), HostAnswer::Permission(PermissionAnswer::Allow(allow))).encode();
    assert!(!line.contains(['\n', '\r']), "{line}");
    let read: Value = serde_json::from_str(&line).unwrap();
    assert_eq!(read["response"]["response"]["updatedInput"], json!({"command":"a\nb"}));
}

#[test]
fn an_allow_without_input_still_says_allow() {
    let line = br#"{"type":"control_response","response":{"subtype":"success","request_id":"r","response":{"behavior":"allow"}}}"#;
    let OutboundMessage::Known(Outbound::ControlResponse(response)) = Outbound::decode(line).message else {
        panic!("not a response")
    };
    assert_eq!(response.request_id, RequestId::from("r"));
    assert_eq!(
        response.outcome,
        jackfield_wire::HostOutcome::Success(HostAnswer::Permission(PermissionAnswer::Allow(Allow::new(
            Object::empty()
        ))))
    );
}

#[test]
fn the_other_lines_are_written() {
    assert_eq!(encode(&Outbound::KeepAlive), json!({"type":"keep_alive"}));
    assert_eq!(
        encode(&Outbound::ControlCancelRequest { request_id: "r".into() }),
        json!({"type":"control_cancel_request","request_id":"r"})
    );
    let message = InjectedMessage::new(object(&json!({"id":"m","role":"assistant","content":[]})), None);
    assert_eq!(
        encode(&Outbound::Assistant(message)),
        json!({"type":"assistant","message":{"id":"m","role":"assistant","content":[]},
            "parent_tool_use_id":null,"session_id":""})
    );
}

#[test]
fn the_answer_to_initialize_is_read_from_every_recording() {
    let mut answers = 0;
    for line in crate::recordings::of_direction("out") {
        let Inbound::ControlResponse(response) = decode(line.text.as_bytes()).message else { continue };
        let jackfield_wire::ControlOutcome::Success(success) = response.outcome else { continue };
        if success
            .response
            .as_ref()
            .is_some_and(|payload| payload.get().contains("\"available_output_styles\""))
        {
            let answer: InitializeAnswer = success.answer().unwrap();
            // One session was started without slash commands.
            assert!(!answer.commands.is_empty() || line.recording == "slash/disabled", "{}", line.recording);
            assert!(!answer.models.is_empty() && answer.pid.is_some(), "{}", line.recording);
            assert!(answer.account.unwrap().token_source.is_some());
            answers += 1;
        }
    }
    assert!(answers > 100, "only {answers} answers");
}

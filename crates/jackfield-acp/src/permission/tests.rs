//! What a person can choose, and what their choice means.

#![allow(clippy::unwrap_used, clippy::panic)]

use jackfield_api::PendingId;
use serde_json::json;

use super::*;

fn request(kind: PermissionKind, suggestions: Vec<Remember>) -> PermissionRequest {
    PermissionRequest {
        pending_id: PendingId(7),
        kind,
        tool_call_id: None,
        tool_name: Some("Bash".to_owned()),
        tool_title: "touch x".to_owned(),
        normalized: None,
        input: None,
        suggestions,
        reason: None,
        questions: Vec::new(),
        plan: Some("1. do it".to_owned()),
        message: None,
        schema: None,
    }
}

fn rule(content: &str, destination: Destination) -> Remember {
    let rule = Rule { tool_name: "Bash".to_owned(), rule_content: Some(content.to_owned()) };
    Remember { change: Change::AddRules { rules: vec![rule], behavior: Behavior::Allow }, destination }
}

fn chosen(choices: &Choices, outcome: &serde_json::Value) -> Meaning {
    choices.read(&serde_json::from_value(json!({ "outcome": outcome })).unwrap())
}

fn selected(choices: &Choices, id: &str) -> Meaning {
    chosen(choices, &json!({ "outcome": "selected", "optionId": id }))
}

#[test]
fn the_suggestions_of_the_cli_are_choices_with_their_place() {
    let suggested = rule("touch *", Destination::LocalSettings);
    let request = request(PermissionKind::Tool, vec![suggested.clone()]);
    let choices = Choices::of(&request, Words::Impossible);
    let names: Vec<&str> = choices.choices.iter().map(|(option, _)| option.name.as_str()).collect();
    let always = "Always allow Bash `touch *` in this project (your local settings)";
    assert_eq!(names, ["Allow", "Always allow Bash `touch *` in this session", always, "Reject"]);
    let Meaning::Answer(Verdict::Allow(allow)) = selected(&choices, "allow_always") else { panic!() };
    assert_eq!(allow.remember, [suggested]);
    let Meaning::Answer(Verdict::Allow(allow)) = selected(&choices, "allow_session") else { panic!() };
    assert_eq!(allow.remember, [rule("touch *", Destination::Session)]);
    let Meaning::Answer(Verdict::Allow(allow)) = selected(&choices, "allow") else { panic!() };
    assert!(allow.remember.is_empty());
}

#[test]
fn what_is_for_the_session_anyway_is_offered_once() {
    let mode = Change::SetMode { mode: "acceptEdits".to_owned() };
    let suggested = Remember { change: mode, destination: Destination::Session };
    let choices = Choices::of(&request(PermissionKind::Tool, vec![suggested]), Words::Impossible);
    let names: Vec<&str> = choices.choices.iter().map(|(option, _)| option.name.as_str()).collect();
    assert_eq!(names, ["Allow", "Allow all edits in this session", "Reject"]);
}

#[test]
fn what_is_not_clearly_a_yes_is_a_no() {
    let choices = Choices::of(&request(PermissionKind::Tool, Vec::new()), Words::Impossible);
    let denies = |meaning| matches!(meaning, Meaning::Answer(Verdict::Deny(_)));
    assert!(denies(selected(&choices, "reject")) && denies(selected(&choices, "nonsense")));
    let Meaning::Answer(Verdict::Deny(deny)) = chosen(&choices, &json!({ "outcome": "cancelled" })) else {
        panic!()
    };
    assert!(deny.interrupt);
}

#[test]
fn a_no_takes_its_reason_along() {
    let choices = Choices::of(&request(PermissionKind::Tool, Vec::new()), Words::Possible);
    assert_eq!(selected(&choices, "reject_why"), Meaning::SayWhy);
    let outcome = json!({ "outcome": "selected", "optionId": "reject", "_meta": { "reason": "not here" } });
    let Meaning::Answer(Verdict::Deny(deny)) = chosen(&choices, &outcome) else { panic!() };
    assert_eq!((deny.message.as_str(), deny.interrupt), ("not here", false));
    let outcome = json!({ "outcome": "selected", "optionId": "allow", "_meta": { "reason": "fine" } });
    assert!(matches!(chosen(&choices, &outcome), Meaning::Answer(Verdict::Allow(_))));
}

#[test]
fn a_plan_is_approved_in_a_mode_or_not() {
    let request = request(PermissionKind::Plan, Vec::new());
    let choices = Choices::of(&request, Words::Impossible);
    let Meaning::Answer(Verdict::Allow(allow)) = selected(&choices, "plan_accept_edits") else { panic!() };
    assert_eq!(allow.remember[0].change, Change::SetMode { mode: "acceptEdits".to_owned() });
    assert!(matches!(selected(&choices, "reject"), Meaning::Answer(Verdict::Deny(_))));
    let card = serde_json::to_value(card(&request)).unwrap();
    assert_eq!(
        (card["kind"].as_str(), card["toolCallId"].as_str()),
        (Some("switch_mode"), Some("question-7"))
    );
    assert_eq!(card["content"][0]["content"]["text"], "1. do it");
}

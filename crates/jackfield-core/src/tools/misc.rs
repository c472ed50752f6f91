//! Tools of the CLI itself that need no shape of their own: a label and details.
//!
//! Not for tools that we do not know: those are generic. The one rule: details are what a person would want
//! to read of the call; where we have no better idea, that is its whole input.

use jackfield_api::normalized::Misc;

use super::ToolResult;
use super::fields::{self, Fields};

/// The shape of one of these tools; `None` for every other.
pub(super) fn misc(tool_name: &str, input: &Fields<'_>) -> Option<Misc> {
    // The label, and the fields of the input that say what it is about.
    let (label, names): (&str, &[&str]) = match tool_name {
        "AskUserQuestion" => ("Question", &[]),
        "CronCreate" => ("Schedule", &["cron", "prompt"]),
        "CronDelete" => ("Unschedule", &["id"]),
        "CronList" => ("List schedules", &[]),
        "EnterPlanMode" => ("Enter plan mode", &[]),
        "EnterWorktree" => ("Enter worktree", &["name", "path"]),
        "ExitPlanMode" => ("Plan", &["plan"]),
        "ExitWorktree" => ("Leave worktree", &["action"]),
        "ReportFindings" => ("Report findings", &[]),
        "ScheduleWakeup" => ("Schedule wake-up", &["reason"]),
        "SendMessage" => ("Send message", &["to", "summary", "message"]),
        "Skill" => ("Skill", &["skill", "args"]),
        "StructuredOutput" => ("Structured output", &[]),
        "TaskOutput" => ("Task output", &["task_id"]),
        "TaskStop" => ("Stop task", &["task_id", "shell_id"]),
        "Workflow" => ("Workflow", &["name"]),
        _ => return None,
    };
    let told: Vec<String> = names.iter().filter_map(|name| input.id(name)).collect();
    let details = questions(input)
        .or_else(|| (!told.is_empty()).then(|| told.join(": ")))
        .or_else(|| input.iter().next().map(|_| input.json().to_owned()));
    Some(Misc { label: label.to_owned(), details })
}

/// Adds the answers to questions, the plan as it was approved, or else what a call without details gave.
pub(super) fn complete(misc: &mut Misc, result: &ToolResult<'_>) {
    if result.is_error {
        return;
    }
    let told = result.fields().and_then(|fields| answers(&fields).or_else(|| fields.text("plan")));
    if let Some(told) = told {
        misc.details = Some(told);
    } else if misc.details.is_none() {
        misc.details = result.text();
    }
}

fn questions(input: &Fields<'_>) -> Option<String> {
    let questions: Vec<String> =
        input.objects("questions")?.iter().filter_map(|question| question.text("question")).collect();
    (!questions.is_empty()).then(|| questions.join("\n"))
}

fn answers(result: &Fields<'_>) -> Option<String> {
    let answers: Vec<String> = result
        .object("answers")?
        .iter()
        .map(|(question, answer)| {
            format!("{question} {}", fields::text(answer).unwrap_or_else(|| answer.to_owned()))
        })
        .collect();
    (!answers.is_empty()).then(|| answers.join("\n"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn details(tool_name: &str, input: &str) -> Option<String> {
        misc(tool_name, &Fields::read(input).unwrap()).unwrap().details
    }

    #[test]
    fn details_say_what_a_call_is_about() {
        // [permission/suggest_skill], [permission/suggest_croncreate], [tools/schedule_wakeup]
        assert_eq!(details("Skill", r#"{"skill":"simplify"}"#).unwrap(), "simplify");
        let cron = r#"{"cron":"*/5 * * * *","prompt":"x","recurring":false}"#;
        assert_eq!(details("CronCreate", cron).unwrap(), "*/5 * * * *: x");
        let wake_up = r#"{"delaySeconds":60,"reason":"check","prompt":"wake"}"#;
        assert_eq!(details("ScheduleWakeup", wake_up).unwrap(), "check");
        assert_eq!(details("EnterPlanMode", "{}"), None);
    }

    #[test]
    fn where_no_field_says_it_the_whole_input_does() {
        // [errors/json_schema_invalid_then_ok]
        assert_eq!(
            details("StructuredOutput", r#"{"name":"Ada","n":3}"#).unwrap(),
            r#"{"name":"Ada","n":3}"#
        );
        assert_eq!(details("Skill", r#"{"skill":{}}"#).unwrap(), r#"{"skill":{}}"#);
    }

    #[test]
    fn answers_take_the_place_of_their_questions() {
        // [permission/ask_user_question_answers]
        let input = r#"{"questions":[{"question":"Which colour?","header":"Colour","options":[]},
            {"question":"Which sizes?","header":"Sizes"}]}"#;
        let mut misc = misc("AskUserQuestion", &Fields::read(input).unwrap()).unwrap();
        assert_eq!(misc.details.as_deref(), Some("Which colour?\nWhich sizes?"));
        let structured = Some(r#"{"questions":[],"answers":{"Which colour?":"Red","Which sizes?":"S, L"}}"#);
        complete(&mut misc, &ToolResult { content: None, structured, is_error: false });
        assert_eq!(misc.details.as_deref(), Some("Which colour? Red\nWhich sizes? S, L"));
    }

    #[test]
    fn a_plan_is_told_as_it_was_approved() {
        // [permission/exit_plan_allow], [permission/exit_plan_deny]
        let mut plan =
            misc("ExitPlanMode", &Fields::read(r##"{"plan":"# Plan\n1. do it"}"##).unwrap()).unwrap();
        let denied =
            ToolResult { content: Some(r#""Please also add tests""#), structured: None, is_error: true };
        complete(&mut plan, &denied);
        assert_eq!(plan.details.as_deref(), Some("# Plan\n1. do it"));
        let structured = Some(r##"{"plan":"# Plan\n2. do more","isAgent":false,"planWasEdited":true}"##);
        complete(&mut plan, &ToolResult { content: None, structured, is_error: false });
        assert_eq!(plan.details.as_deref(), Some("# Plan\n2. do more"));
    }

    #[test]
    fn a_call_without_details_tells_its_result() {
        let mut list = misc("CronList", &Fields::read("{}").unwrap()).unwrap();
        complete(&mut list, &ToolResult { content: Some(r#""none""#), structured: None, is_error: false });
        assert_eq!(list.details.as_deref(), Some("none"));
    }
}

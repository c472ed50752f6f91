//! Questions of the model and forms of MCP servers.
//!
//! An editor with forms shows one; another is asked one question after the other, each as a card with its answers to
//! choose from. The one rule it keeps: a question without an answer is never answered for the person.

use std::collections::BTreeMap;

use jackfield_api::Json;
use jackfield_api::command::{Allow, Answers, Verdict};
use jackfield_api::permission::{PermissionRequest, Question};

use crate::permission::{call_of, card, refuse};
use crate::schema::{
    CreateElicitationRequest, CreateElicitationResponse, ElicitationAction, ElicitationContentValue,
    ElicitationFormMode, ElicitationSchema, ElicitationSessionScope, EnumOption, MultiSelectPropertySchema,
    PermissionOption, PermissionOptionKind, RequestPermissionOutcome, RequestPermissionRequest,
    RequestPermissionResponse, SessionId, StringPropertySchema,
};

/// What the model is told when its questions are put away.
const UNANSWERED: &str = "the user did not answer the questions";
/// The choice that is no answer.
const SKIP: &str = "skip";

/// All questions as one form.
pub(crate) fn form(session: &SessionId, request: &PermissionRequest) -> CreateElicitationRequest {
    let mut schema = ElicitationSchema::new();
    for (number, question) in request.questions.iter().enumerate() {
        let options = question.options.iter().map(|option| {
            let about = (!option.description.is_empty()).then(|| option.description.clone());
            EnumOption::new(option.label.clone(), option.label.clone()).description(about)
        });
        let options: Vec<EnumOption> = options.collect();
        let title =
            if question.header.is_empty() { question.question.clone() } else { question.header.clone() };
        let name = name(number);
        schema = if options.is_empty() {
            schema.property(
                name,
                StringPropertySchema::new().title(title).description(question.question.clone()),
                true,
            )
        } else if question.multi_select {
            let choice = MultiSelectPropertySchema::titled(options);
            schema.property(name, choice.title(title).description(question.question.clone()), false)
        } else {
            let choice = StringPropertySchema::new().one_of(options);
            schema.property(name, choice.title(title).description(question.question.clone()), false)
        };
        if !question.options.is_empty() {
            let own =
                StringPropertySchema::new().title("Something else").description("An answer of your own");
            schema = schema.property(own_name(number), own, false);
        }
    }
    let message = match request.questions.as_slice() {
        [one] => one.question.clone(),
        _ => "Claude has some questions".to_owned(),
    };
    CreateElicitationRequest::new(ElicitationFormMode::new(scope(session, request), schema), message)
}

/// What a filled-in form says.
pub(crate) fn read_form(request: &PermissionRequest, response: CreateElicitationResponse) -> Verdict {
    let ElicitationAction::Accept(accepted) = response.action else { return refuse(UNANSWERED) };
    let content = accepted.content.unwrap_or_default();
    let mut answers = BTreeMap::new();
    for (number, question) in request.questions.iter().enumerate() {
        let own = content.get(&own_name(number)).and_then(words).filter(|text| !text.trim().is_empty());
        let chosen = content.get(&name(number)).and_then(words).filter(|text| !text.is_empty());
        let answer = match (chosen, own, question.multi_select) {
            (Some(chosen), Some(own), true) => format!("{chosen}, {own}"),
            (_, Some(own), _) => own,
            (Some(chosen), None, _) => chosen,
            (None, None, _) => continue,
        };
        answers.insert(question.question.clone(), answer);
    }
    if answers.is_empty() { refuse(UNANSWERED) } else { Verdict::Answers(Answers { answers }) }
}

/// One question as a card with its answers to choose from.
pub(crate) fn one(
    session: &SessionId,
    request: &PermissionRequest,
    question: &Question,
) -> RequestPermissionRequest {
    let option = |(number, option): (usize, &jackfield_api::permission::QuestionOption)| {
        let name = if option.description.is_empty() {
            option.label.clone()
        } else {
            format!("{} – {}", option.label, option.description)
        };
        PermissionOption::new(format!("answer_{number}"), name, PermissionOptionKind::AllowOnce)
    };
    let mut options: Vec<_> = question.options.iter().enumerate().map(option).collect();
    options.push(PermissionOption::new(SKIP, "No answer", PermissionOptionKind::RejectOnce));
    let mut card = card(request);
    card.fields.title = Some(question.question.clone());
    RequestPermissionRequest::new(session.clone(), card, options)
}

/// What was chosen of one question; `None` if nothing was.
pub(crate) fn read_one(question: &Question, response: &RequestPermissionResponse) -> Option<String> {
    let RequestPermissionOutcome::Selected(selected) = &response.outcome else { return None };
    let number: usize = selected.option_id.0.strip_prefix("answer_")?.parse().ok()?;
    Some(question.options.get(number)?.label.clone())
}

/// The answers to all questions, or a no if there is none.
pub(crate) fn answers(answers: BTreeMap<String, String>) -> Verdict {
    if answers.is_empty() { refuse(UNANSWERED) } else { Verdict::Answers(Answers { answers }) }
}

/// A form of an MCP server; `None` if it is none that the protocol knows.
pub(crate) fn elicitation(
    session: &SessionId,
    request: &PermissionRequest,
) -> Option<CreateElicitationRequest> {
    let schema = match &request.schema {
        Some(schema) => schema.read::<ElicitationSchema>().ok()?,
        None => ElicitationSchema::new(),
    };
    let message = request.message.clone().unwrap_or_else(|| request.tool_title.clone());
    Some(CreateElicitationRequest::new(ElicitationFormMode::new(scope(session, request), schema), message))
}

/// What a filled-in form of an MCP server says.
pub(crate) fn read_elicitation(response: CreateElicitationResponse) -> Verdict {
    match response.action {
        ElicitationAction::Accept(accepted) => {
            let input = Some(Json::of(&accepted.content.unwrap_or_default()));
            Verdict::Allow(Allow { input, remember: Vec::new() })
        }
        _ => refuse("the user did not fill in the form"),
    }
}

/// Why a person says no.
pub(crate) fn why(session: &SessionId, request: &PermissionRequest) -> CreateElicitationRequest {
    let reason = StringPropertySchema::new().title("Why").description("What Claude should do instead");
    let schema = ElicitationSchema::new().property("reason", reason, true);
    let mode = ElicitationFormMode::new(scope(session, request), schema);
    CreateElicitationRequest::new(mode, format!("Rejected: {}", request.tool_title))
}

/// The reason in a form; `None` if there is none.
pub(crate) fn read_why(response: CreateElicitationResponse) -> Option<String> {
    let ElicitationAction::Accept(accepted) = response.action else { return None };
    let content = accepted.content?;
    content.get("reason").and_then(words).filter(|text| !text.trim().is_empty())
}

fn scope(session: &SessionId, request: &PermissionRequest) -> ElicitationSessionScope {
    let call = request.tool_call_id.is_some().then(|| call_of(request));
    ElicitationSessionScope::new(session.clone()).tool_call_id(call)
}

fn name(number: usize) -> String {
    format!("question_{number}")
}

fn own_name(number: usize) -> String {
    format!("question_{number}_custom")
}

fn words(value: &ElicitationContentValue) -> Option<String> {
    match value {
        ElicitationContentValue::String(text) => Some(text.clone()),
        ElicitationContentValue::StringArray(texts) => Some(texts.join(", ")),
        ElicitationContentValue::Integer(number) => Some(number.to_string()),
        ElicitationContentValue::Number(number) => Some(number.to_string()),
        ElicitationContentValue::Boolean(yes) => Some(yes.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]

    use jackfield_api::PendingId;
    use jackfield_api::permission::{PermissionKind, QuestionOption};
    use serde_json::json;

    use super::*;

    fn request() -> PermissionRequest {
        let option = |label: &str| QuestionOption { label: label.to_owned(), description: String::new() };
        let question = |text: &str, multi_select| Question {
            question: text.to_owned(),
            header: "H".to_owned(),
            multi_select,
            options: vec![option("red"), option("blue")],
        };
        PermissionRequest {
            pending_id: PendingId(3),
            kind: PermissionKind::Question,
            tool_call_id: Some("toolu_1".into()),
            tool_name: None,
            tool_title: "Questions".to_owned(),
            normalized: None,
            input: None,
            suggestions: Vec::new(),
            reason: None,
            questions: vec![question("Which?", false), question("Which ones?", true)],
            plan: None,
            message: None,
            schema: None,
        }
    }

    #[test]
    fn questions_become_one_form_and_its_content_their_answers() {
        let request = request();
        let form = serde_json::to_value(form(&SessionId::new("s"), &request)).unwrap();
        assert_eq!((form["mode"].as_str(), form["toolCallId"].as_str()), (Some("form"), Some("toolu_1")));
        let properties = form["requestedSchema"]["properties"].as_object().unwrap();
        assert_eq!(properties["question_0"]["oneOf"][1]["const"], "blue");
        assert_eq!(properties["question_1"]["type"], "array");
        let read = |value| read_form(&request, serde_json::from_value(value).unwrap());
        let content =
            json!({ "question_0": "red", "question_1": ["red", "blue"], "question_1_custom": "green" });
        let Verdict::Answers(answers) = read(json!({ "action": "accept", "content": content })) else {
            panic!()
        };
        assert_eq!(answers.answers["Which?"], "red");
        assert_eq!(answers.answers["Which ones?"], "red, blue, green");
        assert!(matches!(read(json!({ "action": "decline" })), Verdict::Deny(_)));
        assert!(matches!(read(json!({ "action": "accept", "content": {} })), Verdict::Deny(_)));
    }

    #[test]
    fn without_forms_a_question_is_a_card() {
        let request = request();
        let question = &request.questions[0];
        let card = serde_json::to_value(one(&SessionId::new("s"), &request, question)).unwrap();
        assert_eq!(card["options"].as_array().unwrap().len(), 3);
        let read = |id: &str| {
            let outcome = json!({ "outcome": { "outcome": "selected", "optionId": id } });
            read_one(question, &serde_json::from_value(outcome).unwrap())
        };
        assert_eq!(read("answer_1").as_deref(), Some("blue"));
        assert_eq!((read("skip"), read("answer_9")), (None, None));
    }
}

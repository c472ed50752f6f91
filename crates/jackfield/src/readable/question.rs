//! Questions that wait for a person, and their ends.
//!
//! Everything that the answer depends on is printed whole: a plan and a question are never cut.

use jackfield_api::Json;
use jackfield_api::normalized::Normalized;
use jackfield_api::permission::{
    Behavior, Change, Destination, PermissionKind, PermissionOutcome, PermissionRequest, PermissionResolved,
    Question, Remember, Rule,
};
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::page::{BOLD, DIM, GREEN, PLAIN, Page, RED, YELLOW, brief};

pub(super) fn request(page: &mut Page, request: &PermissionRequest) {
    asked(page, request);
    page.deeper(2, |page| {
        for suggestion in &request.suggestions {
            page.line(DIM, &format!("could be remembered: {}", remember(suggestion)));
        }
    });
}

/// A question without what an answer could leave behind.
pub(crate) fn asked(page: &mut Page, request: &PermissionRequest) {
    let asked = match request.kind {
        PermissionKind::Tool => "may this run?",
        PermissionKind::Question => "the model asks",
        PermissionKind::Plan => "is this plan good?",
        PermissionKind::Elicitation => "a server asks",
        PermissionKind::Dialog => "the CLI asks",
    };
    let title = match request.kind {
        // Their titles are their first words, and the whole follows.
        PermissionKind::Question if !request.questions.is_empty() => String::new(),
        PermissionKind::Plan if request.plan.is_some() => String::new(),
        _ => format!(" {}", brief(&request.tool_title, 160)),
    };
    page.marked((YELLOW, "?"), YELLOW, &format!("[{}] {asked}{title}", request.pending_id));
    page.deeper(2, |page| {
        if let Some(reason) = &request.reason {
            page.line(DIM, reason);
        }
        if let Some(Normalized::ShellExec(shell)) = &request.normalized
            && !title.contains(&shell.command)
        {
            page.marked((DIM, "$"), PLAIN, &shell.command);
        }
        if let Some(message) = &request.message {
            page.line(PLAIN, message);
        }
        if let Some(plan) = &request.plan {
            page.deeper(2, |page| page.line(PLAIN, plan));
        }
        for question in &request.questions {
            ask(page, question);
        }
        if let Some(schema) = &request.schema {
            page.line(DIM, &format!("form: {}", brief(schema.get(), 400)));
        }
    });
}

fn ask(page: &mut Page, question: &Question) {
    let header = if question.header.is_empty() { String::new() } else { format!("{}: ", question.header) };
    let several = if question.multi_select { " (several may be chosen)" } else { "" };
    page.line(BOLD, &format!("{header}{}{several}", question.question));
    for (number, option) in question.options.iter().enumerate() {
        let mark = format!("{}.", number + 1);
        page.marked((PLAIN, &mark), PLAIN, &option.label);
        if !option.description.is_empty() {
            page.deeper(mark.len() + 1, |page| page.line(DIM, &option.description));
        }
    }
}

pub(super) fn resolved(page: &mut Page, resolved: &PermissionResolved) {
    let (words, style) = match resolved.outcome {
        PermissionOutcome::Allowed => ("allowed", GREEN),
        PermissionOutcome::Denied => ("denied", RED),
        PermissionOutcome::Expired => ("denied: nobody answered in time", RED),
        PermissionOutcome::Lost => ("not answered any more", RED),
    };
    let by = resolved.by.as_deref().map(|by| format!(" by {}", brief(by, 80))).unwrap_or_default();
    let message = resolved.message.as_deref().filter(|message| !message.is_empty());
    let message = message.map(|message| format!(": {message}")).unwrap_or_default();
    page.marked((style, "?"), style, &format!("[{}] {words}{by}{message}", resolved.pending_id));
    // The answers to a question are told with its card.
    let is_answered = |input: &Json| input.read::<Answered>().is_ok_and(|input| input.answers.is_some());
    if let Some(input) = resolved.input.as_ref().filter(|input| !is_answered(input)) {
        page.deeper(2, |page| page.line(DIM, &format!("with this input instead: {}", input.get())));
    }
}

/// The input of a question, as it goes back to the model.
#[derive(Deserialize)]
struct Answered {
    answers: Option<IgnoredAny>,
}

/// What an answer could leave behind, in a line.
fn remember(suggestion: &Remember) -> String {
    let what = match &suggestion.change {
        Change::AddRules { rules: list, behavior } => format!("{} {}", word(*behavior), rules(list)),
        Change::ReplaceRules { rules: list, behavior } => format!("{} only {}", word(*behavior), rules(list)),
        Change::RemoveRules { rules: list, behavior } => {
            format!("no longer {} {}", word(*behavior), rules(list))
        }
        Change::SetMode { mode } => format!("mode {mode}"),
        Change::AddDirectories { directories } => format!("open {}", directories.join(", ")),
        Change::RemoveDirectories { directories } => format!("close {}", directories.join(", ")),
    };
    let place = match suggestion.destination {
        Destination::Session => "in this session",
        Destination::UserSettings => "in your settings",
        Destination::ProjectSettings => "in the project's settings",
        Destination::LocalSettings => "in the project's local settings",
        Destination::CliArg => "in this run",
    };
    format!("{what}, {place}")
}

fn word(behavior: Behavior) -> &'static str {
    match behavior {
        Behavior::Allow => "allow",
        Behavior::Deny => "deny",
        Behavior::Ask => "ask for",
    }
}

fn rules(list: &[Rule]) -> String {
    let texts = list.iter().map(|rule| match &rule.rule_content {
        Some(content) => format!("{}({content})", rule.tool_name),
        None => rule.tool_name.clone(),
    });
    texts.collect::<Vec<_>>().join(", ")
}

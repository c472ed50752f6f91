//! Rules that answer questions before a person is asked.
//!
//! Pure: a question and the rules in, a judgement out. The first rule that fits counts, and where none fits a
//! person is asked. Rules by path say nothing of shell commands, and rules against commands are a fence, not a
//! wall: what a program does once it runs is not seen here.
//!
//! The one rule it keeps: in doubt a person is asked. A rule that allows fits only what is fully understood; a
//! rule that denies and *may* fit stops every allowing rule behind it.

mod command;
mod pattern;
mod place;
mod subject;
mod validate;

use jackfield_api::SessionId;
use jackfield_api::host::{HostRule, HostRules};
use jackfield_api::permission::{Behavior, PermissionKind, PermissionRequest};

pub use subject::files_asked_about;
pub use validate::{Field, LONGEST_NOTE, LONGEST_PATTERN, MOST_RULES, RuleProblem, validate};

use subject::Subject;

/// A question, and where it was asked.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    /// The session.
    pub session_id: &'a SessionId,
    /// The session's folder, absolute.
    pub folder: &'a str,
    /// The question.
    pub request: &'a PermissionRequest,
}

/// What the rules say to a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Judgement {
    /// What happens; `ask` also if no rule fits.
    pub behavior: Behavior,
    /// The rule that says it, counted from 0.
    pub rule: Option<usize>,
}

/// What the rules say to a question, by the names that stand in it. For a dry run; before something runs, ask
/// [`judge_resolved`].
pub fn judge(rules: &HostRules, asked: &Asked<'_>) -> Judgement {
    judge_resolved(rules, asked, &[])
}

/// What the rules say to a question. `resolved` is where the files of [`files_asked_about`] really are once
/// links are followed ([`crate::files::resolve`]); they are judged like the files that were named, so that a
/// link in an allowed folder allows nothing elsewhere.
pub fn judge_resolved(rules: &HostRules, asked: &Asked<'_>, resolved: &[String]) -> Judgement {
    let subject = Subject::of(asked, resolved);
    for (number, rule) in rules.rules.iter().enumerate() {
        let behavior = match (rule.behavior, subject.fit(rule, asked)) {
            (_, Fit::No) => continue,
            // Questions, plans and forms are for people: there is no answer that a rule could give.
            (Behavior::Allow, fit)
                if fit == Fit::Unsure || asked.request.kind != PermissionKind::Tool || fits_all(rule) =>
            {
                continue;
            }
            (_, Fit::Unsure) => Behavior::Ask,
            (behavior, Fit::Yes) => behavior,
        };
        return Judgement { behavior, rule: Some(number) };
    }
    Judgement { behavior: Behavior::Ask, rule: None }
}

/// Whether a rule is about something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Fit {
    No,
    /// It may be, but what is asked cannot be understood well enough to say.
    Unsure,
    Yes,
}

/// Whether a rule says neither which tool, nor which file, nor which command.
fn fits_all(rule: &HostRule) -> bool {
    let every_tool = rule.tool.as_ref().is_none_or(|tool| tool.bytes().all(|byte| byte == b'*'));
    every_tool && rule.path.is_none() && rule.command.is_none()
}

//! Permission for a tool and the approval of a plan: what a person can choose, and what their choice means.
//!
//! The choices are the CLI's own: once, always as it suggests and where, or for this session only. The one rule it
//! keeps: what is not clearly a yes is a no.

use std::fmt::Write as _;

use jackfield_api::command::{Allow, Deny, Verdict};
use jackfield_api::permission::{
    Behavior, Change, Destination, PermissionKind, PermissionRequest, Remember, Rule,
};

use crate::schema::{
    Content, ContentBlock, PermissionOption, PermissionOptionKind, RequestPermissionOutcome,
    RequestPermissionRequest, RequestPermissionResponse, SessionId, ToolCallContent, ToolCallId,
    ToolCallStatus, ToolCallUpdate, ToolCallUpdateFields, ToolKind,
};
use crate::translate;

/// What the model is told when a person says no and nothing else.
const REFUSED: &str = "the user does not want this; ask what to do instead";
/// What it is told when a person wants to go on planning.
const KEEP_PLANNING: &str = "the user wants to keep planning; the plan is not approved yet";

/// What a person can choose, and what each choice means.
#[derive(Debug)]
pub(crate) struct Choices {
    choices: Vec<(PermissionOption, Meaning)>,
}

/// What a choice means.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Meaning {
    /// This is the answer.
    Answer(Verdict),
    /// No, and the person wants to say why.
    SayWhy,
}

/// Whether a person can be asked to write something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Words {
    /// The editor has forms.
    Possible,
    /// It has not.
    Impossible,
}

impl Choices {
    /// What there is to choose.
    pub(crate) fn of(request: &PermissionRequest, words: Words) -> Self {
        let mut choices = Self { choices: Vec::new() };
        if request.kind == PermissionKind::Plan {
            choices.plan();
        } else {
            choices.tool(request);
        }
        if words == Words::Possible {
            choices.add(
                "reject_why",
                "Reject, and say why …",
                PermissionOptionKind::RejectOnce,
                Meaning::SayWhy,
            );
        }
        choices
    }

    fn plan(&mut self) {
        let go = |mode: &str| {
            let change = Change::SetMode { mode: mode.to_owned() };
            let remember = vec![Remember { change, destination: Destination::Session }];
            Meaning::Answer(Verdict::Allow(Allow { input: None, remember }))
        };
        let always = PermissionOptionKind::AllowAlways;
        self.add("plan_accept_edits", "Yes, and edit without asking", always, go("acceptEdits"));
        let once = PermissionOptionKind::AllowOnce;
        self.add("plan_default", "Yes, and ask before each edit", once, go("default"));
        let no = Verdict::Deny(Deny { message: KEEP_PLANNING.to_owned(), interrupt: false });
        self.add("reject", "No, keep planning", PermissionOptionKind::RejectOnce, Meaning::Answer(no));
    }

    fn tool(&mut self, request: &PermissionRequest) {
        let allow = |remember| Meaning::Answer(Verdict::Allow(Allow { input: None, remember }));
        self.add("allow", "Allow", PermissionOptionKind::AllowOnce, allow(Vec::new()));
        let suggested = &request.suggestions;
        if !suggested.is_empty() {
            let always = PermissionOptionKind::AllowAlways;
            let in_session = |remember: &Remember| remember.destination == Destination::Session;
            if !suggested.iter().all(in_session) {
                let here: Vec<Remember> = suggested.iter().map(for_session).collect();
                self.add("allow_session", &wording(&here), always, allow(here));
            }
            self.add("allow_always", &wording(suggested), always, allow(suggested.clone()));
        }
        let no = Verdict::Deny(Deny { message: REFUSED.to_owned(), interrupt: false });
        self.add("reject", "Reject", PermissionOptionKind::RejectOnce, Meaning::Answer(no));
    }

    fn add(&mut self, id: &'static str, name: &str, kind: PermissionOptionKind, meaning: Meaning) {
        self.choices.push((PermissionOption::new(id, name, kind), meaning));
    }

    /// The request for an editor.
    pub(crate) fn ask(&self, session: &SessionId, request: &PermissionRequest) -> RequestPermissionRequest {
        let options = self.choices.iter().map(|(option, _)| option.clone()).collect();
        RequestPermissionRequest::new(session.clone(), card(request), options)
    }

    /// What an answer means.
    pub(crate) fn read(&self, response: &RequestPermissionResponse) -> Meaning {
        let RequestPermissionOutcome::Selected(selected) = &response.outcome else {
            // The card was put away.
            let deny = Deny { message: REFUSED.to_owned(), interrupt: true };
            return Meaning::Answer(Verdict::Deny(deny));
        };
        let chosen = self.choices.iter().find(|(option, _)| option.option_id == selected.option_id);
        let Some((_, meaning)) = chosen else {
            return Meaning::Answer(refuse("the editor chose something that was not offered"));
        };
        // An editor that lets a person write has a place for it.
        let why = selected.meta.as_ref().and_then(|meta| meta.get("reason")).and_then(|why| why.as_str());
        match (meaning, why) {
            (Meaning::Answer(Verdict::Deny(_)) | Meaning::SayWhy, Some(why)) if !why.trim().is_empty() => {
                Meaning::Answer(refuse(why.trim()))
            }
            _ => meaning.clone(),
        }
    }
}

/// A no with its reason.
pub(crate) fn refuse(why: &str) -> Verdict {
    Verdict::Deny(Deny { message: why.to_owned(), interrupt: false })
}

/// A no without one.
pub(crate) fn no() -> Verdict {
    refuse(REFUSED)
}

/// What is asked about, as the editor shows it.
pub(crate) fn card(request: &PermissionRequest) -> ToolCallUpdate {
    let mut fields = ToolCallUpdateFields::new()
        .title(request.tool_title.clone())
        .status(ToolCallStatus::Pending)
        .raw_input(request.input.as_ref().and_then(translate::value));
    let mut content = Vec::new();
    if let Some(normalized) = &request.normalized {
        fields = fields.kind(translate::kind(normalized)).locations(translate::locations(normalized));
        content.extend(translate::content(normalized));
    }
    if request.kind == PermissionKind::Plan {
        fields = fields.kind(ToolKind::SwitchMode).title("Ready to go?");
        content = request.plan.iter().map(|plan| text(plan)).collect();
    }
    content.extend(request.message.iter().map(|message| text(message)));
    content.extend(request.reason.iter().map(|reason| text(reason)));
    if !content.is_empty() {
        fields = fields.content(content);
    }
    ToolCallUpdate::new(call_of(request), fields)
}

/// The call that waits, or a name of its own for what is no call.
pub(crate) fn call_of(request: &PermissionRequest) -> ToolCallId {
    match &request.tool_call_id {
        Some(id) => ToolCallId::new(id.0.clone()),
        None => ToolCallId::new(format!("question-{}", request.pending_id)),
    }
}

fn text(text: &str) -> ToolCallContent {
    ToolCallContent::Content(Content::new(ContentBlock::from(text)))
}

fn for_session(remember: &Remember) -> Remember {
    Remember { change: remember.change.clone(), destination: Destination::Session }
}

/// What is remembered, and where, in words.
fn wording(remembered: &[Remember]) -> String {
    let mut words = String::new();
    for (place, remember) in remembered.iter().enumerate() {
        if place > 0 {
            words.push_str(", and ");
        }
        let what = match &remember.change {
            Change::AddRules { rules, behavior: Behavior::Allow } => {
                format!("always allow {}", listed(rules))
            }
            Change::AddRules { rules, behavior: Behavior::Deny } => format!("never allow {}", listed(rules)),
            Change::AddRules { rules, behavior: Behavior::Ask } => {
                format!("always ask for {}", listed(rules))
            }
            Change::ReplaceRules { rules, .. } => format!("allow only {}", listed(rules)),
            Change::RemoveRules { rules, .. } => format!("forget the rule for {}", listed(rules)),
            Change::SetMode { mode } if mode == "acceptEdits" => "allow all edits".to_owned(),
            Change::SetMode { mode } => format!("switch to the mode {mode}"),
            Change::AddDirectories { directories } => format!("allow access to {}", directories.join(", ")),
            Change::RemoveDirectories { directories } => {
                format!("no longer allow access to {}", directories.join(", "))
            }
        };
        let last = remembered.get(place + 1).is_none_or(|next| next.destination != remember.destination);
        let whither = match remember.destination {
            _ if !last => "",
            Destination::Session | Destination::CliArg => " in this session",
            Destination::UserSettings => " everywhere (your settings)",
            Destination::ProjectSettings => " in this project (shared settings)",
            Destination::LocalSettings => " in this project (your local settings)",
        };
        // Writing to a text cannot fail.
        let _ = write!(words, "{what}{whither}");
    }
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

fn listed(rules: &[Rule]) -> String {
    let one = |rule: &Rule| match &rule.rule_content {
        Some(content) => format!("{} `{content}`", rule.tool_name),
        None => rule.tool_name.clone(),
    };
    rules.iter().map(one).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests;

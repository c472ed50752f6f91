//! Trust of a folder, asked as a permission.
//!
//! What a folder brings is shown before the first prompt, because an editor shows cards in a turn. The one rule it
//! keeps: what a person was shown is what is trusted, and no answer is no trust.

use std::fmt::Write as _;

use jackfield_api::trust::{BroughtKind, FolderTrust, SetFolderTrust};

use crate::schema::{
    Content, ContentBlock, PermissionOption, PermissionOptionKind, RequestPermissionOutcome,
    RequestPermissionRequest, RequestPermissionResponse, SessionId, ToolCall, ToolCallContent,
    ToolCallStatus, ToolCallUpdate, ToolCallUpdateFields, ToolKind,
};

/// How many things are listed.
const LISTED: usize = 40;
/// How much of each is shown.
const SHOWN: usize = 300;

const TRUST: &str = "trust";
const NEVER: &str = "never";

/// What a person says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Said {
    /// Remember this.
    Remember(SetFolderTrust),
    /// Go on without, and ask again another time.
    NotNow,
}

/// Whether there is something to ask.
pub(crate) fn is_open(folder: &FolderTrust) -> bool {
    let brings = |kind: BroughtKind| kind != BroughtKind::Instructions;
    let something = folder.brings.iter().any(|brought| brings(brought.kind));
    something && !folder.trusted && !folder.refused && folder.problem.is_none()
}

/// What is shown before it is asked, under this name.
pub(crate) fn shown(card: &str, folder: &FolderTrust) -> ToolCall {
    ToolCall::new(card.to_owned(), title(folder))
        .kind(ToolKind::Other)
        .status(ToolCallStatus::Pending)
        .content(vec![ToolCallContent::Content(Content::new(ContentBlock::from(listed(folder))))])
}

/// What is asked.
pub(crate) fn ask(session: &SessionId, card: &str, folder: &FolderTrust) -> RequestPermissionRequest {
    let fields = ToolCallUpdateFields::new()
        .title(title(folder))
        .kind(ToolKind::Other)
        .status(ToolCallStatus::Pending)
        .content(vec![ToolCallContent::Content(Content::new(ContentBlock::from(listed(folder))))]);
    let option = |id: &'static str, name: &str, kind| PermissionOption::new(id, name, kind);
    let options = vec![
        option(TRUST, "Trust this folder", PermissionOptionKind::AllowAlways),
        option("not_now", "Go on without", PermissionOptionKind::RejectOnce),
        option(NEVER, "Never trust it as it is", PermissionOptionKind::RejectAlways),
    ];
    RequestPermissionRequest::new(session.clone(), ToolCallUpdate::new(card.to_owned(), fields), options)
}

/// What an answer means.
pub(crate) fn read(folder: &FolderTrust, response: &RequestPermissionResponse) -> Said {
    let RequestPermissionOutcome::Selected(selected) = &response.outcome else { return Said::NotNow };
    let trusted = match &*selected.option_id.0 {
        TRUST => true,
        NEVER => false,
        _ => return Said::NotNow,
    };
    let (path, fingerprint) = (folder.path.clone(), folder.fingerprint.clone());
    Said::Remember(SetFolderTrust { path, fingerprint, trusted })
}

fn title(folder: &FolderTrust) -> String {
    let verb = if folder.changed { "Trust what has changed in" } else { "Trust" };
    format!("{verb} {}?", folder.path)
}

fn listed(folder: &FolderTrust) -> String {
    let mut text = "This folder brings its own settings, which can run programs without being asked. \
                    They are off until you trust it.\n"
        .to_owned();
    let covered = folder.brings.iter().filter(|brought| brought.kind != BroughtKind::Instructions);
    for (number, brought) in covered.enumerate() {
        if number == LISTED {
            text.push_str("\n- and more");
            break;
        }
        let detail: String = brought.detail.chars().take(SHOWN).collect();
        let detail = detail.replace('\n', " ");
        let mark = if brought.dangerous { "**runs something** " } else { "" };
        let new = if brought.new { " (new)" } else { "" };
        // Writing to a text cannot fail.
        let _ = write!(text, "\n- {mark}{:?} `{}`{new}: `{detail}`", brought.kind, brought.name);
    }
    text
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use jackfield_api::trust::Brought;
    use serde_json::json;

    use super::*;

    fn folder(kind: BroughtKind) -> FolderTrust {
        let brought = Brought {
            kind,
            name: "Stop".to_owned(),
            detail: "touch /tmp/x".to_owned(),
            file: "/w/.claude/settings.json".to_owned(),
            dangerous: true,
            new: false,
        };
        FolderTrust {
            path: "/w".to_owned(),
            trusted: false,
            changed: false,
            refused: false,
            brings: vec![brought],
            fingerprint: "f".repeat(64).into(),
            problem: None,
        }
    }

    #[test]
    fn only_what_can_run_or_decide_is_asked_about_and_only_once() {
        assert!(is_open(&folder(BroughtKind::Hook)) && !is_open(&folder(BroughtKind::Instructions)));
        assert!(!is_open(&FolderTrust { refused: true, ..folder(BroughtKind::Hook) }));
        assert!(!is_open(&FolderTrust { trusted: true, ..folder(BroughtKind::Hook) }));
    }

    #[test]
    fn no_clear_answer_is_no_trust() {
        let folder = folder(BroughtKind::Hook);
        let said = |outcome| read(&folder, &serde_json::from_value(json!({ "outcome": outcome })).unwrap());
        let chosen = |id: &str| said(json!({ "outcome": "selected", "optionId": id }));
        let remember = |trusted| {
            let (path, fingerprint) = (folder.path.clone(), folder.fingerprint.clone());
            Said::Remember(SetFolderTrust { path, fingerprint, trusted })
        };
        assert_eq!((chosen("trust"), chosen("never")), (remember(true), remember(false)));
        assert_eq!((chosen("not_now"), chosen("?")), (Said::NotNow, Said::NotNow));
        assert_eq!(said(json!({ "outcome": "cancelled" })), Said::NotNow);
        let request = serde_json::to_value(ask(&SessionId::new("s"), "trust-1", &folder)).unwrap();
        assert!(
            request["toolCall"]["content"][0]["content"]["text"].as_str().unwrap().contains("touch /tmp/x")
        );
    }
}

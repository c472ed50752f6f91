//! Whether the folder takes part, settled before anything of it could run.
//!
//! What the folder brings is read and remembered by the host; here a person at the terminal is shown it and asked. The
//! one rule it keeps: without a plain yes nothing of the folder takes part, and without anybody to ask nothing begins.

use jackfield_api::Fingerprint;
use jackfield_api::command::{Agent, RejectionCode};
use jackfield_api::host::SessionSummary;
use jackfield_api::snapshot::SessionState;
use jackfield_api::trust::{Brought, BroughtKind, FolderTrust};
use jackfield_client::{Client, Verdict};

use super::console::{Console, Weight};
use super::reach::HostFailure;
use super::{AgentName, Ask, Run, RunFailure};
use crate::commands::signals::Signals;
use crate::failure::Failure;
use crate::readable::page::{BOLD, DIM, PLAIN, Page, RED, YELLOW};

/// How long an answer lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lasting {
    /// The host keeps it, or a new session has it for itself.
    Kept,
    /// The host keeps it; the session is there already, and was not trusted when it was made.
    KeptOnly,
    /// Nothing is kept.
    Once,
}

/// What is in effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Decided {
    /// The host has it that the folder is trusted.
    Trusted,
    /// The session alone trusts the folder, with what was shown.
    Once(Fingerprint),
    /// The folder takes no part.
    Untrusted,
}

/// What a person says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Said {
    Yes,
    Once,
    No,
    Never,
}

impl Run {
    /// Finds out whether the folder takes part, and asks if nobody has said so yet.
    pub(super) async fn decide(
        &self,
        client: &Client,
        folder: &str,
        lasting: Lasting,
        (console, signals): (&mut Console, &mut Signals),
    ) -> Result<Decided, Failure> {
        if self.agent == Some(AgentName::Demo) {
            return Ok(Decided::Untrusted);
        }
        loop {
            let found = client.folder_trust(folder).await.map_err(HostFailure::Client)?;
            if found.trusted {
                return Ok(Decided::Trusted);
            }
            let Some(counted) = count(&found).filter(|_| !found.refused && !self.trusting.no_trust) else {
                return Ok(Decided::Untrusted);
            };
            if self.ask != Ask::Terminal || !console.can_ask() {
                return Err(RunFailure::Untrusted(counted).into());
            }
            let said = asked(&found, lasting, console, signals).await?;
            let verdict = match said {
                Said::No => return Ok(Decided::Untrusted),
                Said::Once => return Ok(Decided::Once(found.fingerprint)),
                Said::Yes => Verdict::Trusted,
                Said::Never => Verdict::Untrusted,
            };
            match client.set_folder_trust(folder, &found.fingerprint, verdict).await {
                Ok(now) if now.trusted => return Ok(Decided::Trusted),
                Ok(_) => return Ok(Decided::Untrusted),
                // It changed while it was looked at.
                Err(error) if error.code() == Some(RejectionCode::NotNow) => {
                    console.remark(Weight::Warning, &error.to_string());
                }
                Err(error) => return Err(HostFailure::Client(error).into()),
            }
        }
    }

    /// The same for a session that is there. A run that goes on goes on as it began, and a session that trusted its
    /// folder for itself is told by the host if that has changed.
    pub(super) async fn decide_again(
        &self,
        client: &Client,
        session: &SessionSummary,
        person: (&mut Console, &mut Signals),
    ) -> Result<(), Failure> {
        if session.state != SessionState::Ended || session.agent == Agent::Demo {
            return Ok(());
        }
        let found = client.folder_trust(&session.cwd).await.map_err(HostFailure::Client)?;
        if !session.trusted || found.changed {
            self.decide(client, &session.cwd, Lasting::KeptOnly, person).await?;
        }
        Ok(())
    }
}

async fn asked(
    found: &FolderTrust,
    lasting: Lasting,
    console: &mut Console,
    signals: &mut Signals,
) -> Result<Said, RunFailure> {
    console.lay_out(|page| show(found, page));
    let mut words = String::new();
    loop {
        console.ask(&words, question(found, lasting));
        let line = tokio::select! {
            line = console.line() => line,
            () = signals.next() => return Err(RunFailure::Interrupted),
        };
        match hear(line.as_deref(), found, lasting) {
            Ok(said) => return Ok(said),
            Err(why) => words = why,
        }
    }
}

/// What stands before the place to write.
fn question(found: &FolderTrust, lasting: Lasting) -> &'static str {
    match lasting {
        _ if found.problem.is_some() => "it cannot be trusted as it is; begin without all this? [y]es: ",
        Lasting::Kept => "trust this folder? [y]es, [o]nce for this session, [n]o, ne[v]er: ",
        Lasting::KeptOnly => "trust this folder? [y]es, [n]o, ne[v]er: ",
        Lasting::Once => "trust this folder for this session? [y]es, [n]o: ",
    }
}

/// Understands a line; `None` is the end of the input.
fn hear(line: Option<&str>, found: &FolderTrust, lasting: Lasting) -> Result<Said, String> {
    let Some(line) = line else { return Ok(Said::No) };
    let word = line.trim().to_lowercase();
    let sound = found.problem.is_none();
    match (word.as_str(), lasting) {
        ("", _) => Err(String::new()),
        ("y" | "yes", _) if !sound => Ok(Said::No),
        ("y" | "yes", Lasting::Once) | ("o" | "once", Lasting::Kept) if sound => Ok(Said::Once),
        ("y" | "yes", _) => Ok(Said::Yes),
        ("n" | "no", _) => Ok(Said::No),
        ("v" | "never", Lasting::Kept | Lasting::KeptOnly) if sound => Ok(Said::Never),
        _ => Err(format!("`{word}` is none of the answers")),
    }
}

/// All that the folder brings; what can do something by itself with its whole text.
fn show(found: &FolderTrust, page: &mut Page) {
    let heading = if found.changed {
        "what this folder brings has changed since you trusted it"
    } else {
        "this folder brings what Claude Code would run or obey without asking"
    };
    page.line(BOLD, &format!("{heading}: {}", found.path));
    let (dangerous, others): (Vec<&Brought>, Vec<&Brought>) =
        found.brings.iter().partition(|brought| brought.dangerous);
    for brought in dangerous {
        page.put(RED, &format!("  {} {}", kind(brought.kind), brought.name));
        if brought.new {
            page.put(YELLOW, " (new)");
        }
        page.put(DIM, &format!(" in {}\n", brought.file));
        page.deeper(6, |page| page.line(PLAIN, &brought.detail));
    }
    let named = others.iter().filter(|brought| brought.kind != BroughtKind::Instructions);
    for brought in named {
        let new = if brought.new { " (new)" } else { "" };
        page.line(DIM, &format!("  {} {}{new} in {}", kind(brought.kind), brought.name, brought.file));
    }
    if let Some(problem) = &found.problem {
        page.line(YELLOW, &format!("  {problem}"));
    }
}

/// What a folder brings, in a few words; `None` if nothing of it runs or is obeyed.
fn count(found: &FolderTrust) -> Option<String> {
    let mut counted: Vec<(&str, usize)> = Vec::new();
    for brought in found.brings.iter().filter(|brought| brought.kind != BroughtKind::Instructions) {
        let word = kind(brought.kind);
        match counted.iter_mut().find(|(known, _)| *known == word) {
            Some((_, count)) => *count += 1,
            None => counted.push((word, 1)),
        }
    }
    let words: Vec<String> = counted.iter().map(|(word, count)| format!("{word} ({count})")).collect();
    match (&found.problem, words.is_empty()) {
        (None, true) => None,
        (Some(problem), true) => Some(format!("something that cannot be read ({problem})")),
        (_, false) => Some(words.join(", ")),
    }
}

fn kind(kind: BroughtKind) -> &'static str {
    match kind {
        BroughtKind::Hook => "hook",
        BroughtKind::McpServer => "MCP server",
        BroughtKind::Environment => "variable",
        BroughtKind::Permission => "permission",
        BroughtKind::Plugin => "plugin",
        BroughtKind::Schedule => "scheduled prompt",
        BroughtKind::Command => "command",
        BroughtKind::Agent => "agent",
        BroughtKind::Skill => "skill",
        BroughtKind::Setting => "setting",
        BroughtKind::Instructions => "instructions",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::readable::Colours;

    fn found(kinds: &[BroughtKind]) -> FolderTrust {
        let brought = |kind: &BroughtKind| Brought {
            kind: *kind,
            name: "name".to_owned(),
            detail: "first\u{1b}[2J\nsecond \u{202e}".to_owned(),
            file: "/ws/.claude/settings.json".to_owned(),
            dangerous: *kind == BroughtKind::Hook,
            new: false,
        };
        FolderTrust {
            path: "/ws".to_owned(),
            trusted: false,
            changed: false,
            refused: false,
            brings: kinds.iter().map(brought).collect(),
            fingerprint: "print".to_owned().into(),
            problem: None,
        }
    }

    #[test]
    fn only_a_plain_yes_trusts_and_only_what_is_offered_is_understood() {
        let sound = found(&[BroughtKind::Hook]);
        let said = |line: &str, lasting| hear(Some(line), &sound, lasting).ok();
        assert_eq!(said(" Yes\n", Lasting::Kept), Some(Said::Yes));
        assert_eq!(said("y", Lasting::Once), Some(Said::Once));
        assert_eq!(said("o", Lasting::Kept), Some(Said::Once));
        assert_eq!(said("never", Lasting::KeptOnly), Some(Said::Never));
        for (line, lasting) in
            [("", Lasting::Kept), ("ok", Lasting::Kept), ("o", Lasting::KeptOnly), ("v", Lasting::Once)]
        {
            assert_eq!(said(line, lasting), None, "{line}");
        }
        assert_eq!(hear(None, &sound, Lasting::Kept), Ok(Said::No));
    }

    #[test]
    fn what_cannot_be_read_cannot_be_trusted_whatever_is_said() {
        let unsound = FolderTrust { problem: Some("cannot read it".to_owned()), ..found(&[]) };
        for line in ["y", "n"] {
            assert_eq!(hear(Some(line), &unsound, Lasting::Kept), Ok(Said::No));
        }
        for line in ["o", "v"] {
            assert!(hear(Some(line), &unsound, Lasting::Kept).is_err());
        }
        assert!(count(&unsound).is_some());
    }

    #[test]
    fn what_runs_is_shown_whole_and_cannot_command_the_terminal() {
        let mut page = Page::new(Colours::Off);
        show(&found(&[BroughtKind::Hook, BroughtKind::Agent, BroughtKind::Instructions]), &mut page);
        let mut out = Vec::new();
        page.take_into(&mut out);
        let expected = "this folder brings what Claude Code would run or obey without asking: /ws\n  \
                        hook name in /ws/.claude/settings.json\n      first␛[2J\n      second \u{fffd}\n  \
                        agent name in /ws/.claude/settings.json\n";
        assert_eq!(String::from_utf8_lossy(&out), expected);
    }

    #[test]
    fn words_for_the_model_are_no_reason_to_ask() {
        assert_eq!(count(&found(&[BroughtKind::Instructions])), None);
        let several = found(&[BroughtKind::Hook, BroughtKind::Hook, BroughtKind::Environment]);
        assert_eq!(count(&several).as_deref(), Some("hook (2), variable (1)"));
    }
}

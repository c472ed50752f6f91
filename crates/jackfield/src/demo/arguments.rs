//! The CLI's flags, as far as they matter here.
//!
//! The one rule: a flag that is not known changes nothing, as if the model did not care for it.

use std::env;
use std::ffi::OsString;

use super::output;

/// The model unless another one is wanted.
pub(super) const DEFAULT_MODEL: &str = "claude-demo-1";

/// How the agent was started.
#[derive(Debug)]
pub(super) struct Arguments {
    pub(super) wants_version: bool,
    pub(super) session_id: String,
    /// It goes on with a conversation.
    pub(super) resumed: bool,
    pub(super) model: String,
    pub(super) mode: String,
    pub(super) bypass_allowed: bool,
    pub(super) partial_messages: bool,
    pub(super) replay: bool,
    pub(super) subagent_text: bool,
    /// The host can be asked.
    pub(super) prompts: bool,
    pub(super) state_events: bool,
    pub(super) cwd: String,
}

impl Arguments {
    pub(super) fn read(words: &[OsString]) -> Self {
        let flags = Flags(words.iter().map(|word| word.to_string_lossy().into_owned()).collect());
        let resume = flags.value("--resume").or_else(|| flags.value("-r"));
        let forked = flags.has("--fork-session");
        let kept = resume.clone().filter(|_| !forked);
        let model = flags.value("--model").filter(|model| model != "default");
        Self {
            wants_version: flags.has("--version") || flags.has("-v"),
            session_id: flags.value("--session-id").or(kept).unwrap_or_else(output::new_uuid),
            resumed: resume.is_some() || flags.has("--continue") || flags.has("-c"),
            model: model.unwrap_or_else(|| DEFAULT_MODEL.to_owned()),
            mode: flags.value("--permission-mode").unwrap_or_else(|| "default".to_owned()),
            bypass_allowed: flags.has("--allow-dangerously-skip-permissions"),
            partial_messages: flags.has("--include-partial-messages"),
            replay: flags.has("--replay-user-messages"),
            subagent_text: flags.has("--forward-subagent-text"),
            prompts: flags.value("--permission-prompt-tool").is_some_and(|tool| tool == "stdio"),
            state_events: env::var_os("CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS").is_some_and(|on| on == "1"),
            cwd: env::current_dir()
                .map_or_else(|_| "/".to_owned(), |folder| folder.to_string_lossy().into_owned()),
        }
    }
}

struct Flags(Vec<String>);

impl Flags {
    fn has(&self, name: &str) -> bool {
        self.0.iter().any(|word| word == name)
    }

    /// `--flag=value` or `--flag value`.
    fn value(&self, name: &str) -> Option<String> {
        self.0.iter().enumerate().find_map(|(at, word)| match word.strip_prefix(name)? {
            "" => self.0.get(at + 1).cloned(),
            rest => rest.strip_prefix('=').map(str::to_owned),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(words: &[&str]) -> Arguments {
        Arguments::read(&words.iter().map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn values_stand_behind_their_flag_or_beside_it() {
        let arguments = read(&["-p", "--model=opus", "--permission-mode", "plan", "--session-id", "s"]);
        assert_eq!((arguments.model.as_str(), arguments.mode.as_str()), ("opus", "plan"));
        assert_eq!(arguments.session_id, "s");
    }

    #[test]
    fn flags_that_are_not_known_change_nothing() {
        let arguments = read(&["--models", "x", "--model-x=y", "--betas=z"]);
        assert_eq!((arguments.model.as_str(), arguments.resumed), (DEFAULT_MODEL, false));
    }

    #[test]
    fn a_resumed_conversation_keeps_its_id_and_a_fork_does_not() {
        let resumed = read(&["--resume=old"]);
        assert_eq!((resumed.session_id.as_str(), resumed.resumed), ("old", true));
        let forked = read(&["--resume=old", "--fork-session"]);
        assert!(forked.resumed && forked.session_id != "old");
        assert_eq!(read(&["--resume=old", "--fork-session", "--session-id=new"]).session_id, "new");
    }
}

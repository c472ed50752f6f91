//! The environment that the CLI sees.
//!
//! Nothing is read from this process or from a file: it is a function of what is inherited and of the
//! options. The one rule it keeps: files of an opened folder add nothing to it.

mod quiet;

use std::collections::BTreeMap;
use std::ffi::OsString;

use crate::options::{Options, Switch, Trust};

/// A whole environment, by name.
pub type Environment = BTreeMap<OsString, OsString>;

/// Variables that are not passed on.
const DENIED: [&str; 16] = [
    // Of a CLI in which this process runs: the new one is nobody's child and has an id of its own.
    "AI_AGENT",
    "CLAUDECODE",
    "CLAUDE_CODE_CHILD_SESSION",
    "CLAUDE_CODE_ENTRYPOINT",
    "CLAUDE_CODE_EXECPATH",
    "CLAUDE_CODE_SESSION_ATTENDED",
    "CLAUDE_CODE_SESSION_ID",
    "CLAUDE_EFFORT",
    "CLAUDE_PID",
    "CLAUDE_PROJECT_DIR",
    // Of the editor in whose terminal this process runs.
    "CLAUDE_CODE_SSE_PORT",
    // They change the CLI's runtime, or make libraries in it write to its streams.
    "BUN_INSPECT",
    "BUN_OPTIONS",
    "DEBUG",
    "NODE_OPTIONS",
    // Names the folder of this process, not the CLI's.
    "PWD",
];

/// Variables that begin like this are ours, secrets among them.
const DENIED_PREFIX: &str = "JACKFIELD_";

/// What the CLI itself writes into its records when it is not in a terminal. Other words than the ones it
/// knows change which agents it offers.
const ENTRYPOINT: &str = "sdk-cli";

const SESSION_STATE_EVENTS: &str = "CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS";
const FILE_CHECKPOINTS: &str = "CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING";

/// The CLI's environment: what is inherited (the user's, as a rule [`std::env::vars_os`]) without the deny
/// list, then what the options stand for, then the variables that the options name. In a folder that is not
/// trusted, also what keeps the CLI from what it would take from there whatever its settings say.
pub fn environment(
    inherited: impl IntoIterator<Item = (OsString, OsString)>,
    options: &Options,
) -> Environment {
    let mut environment: Environment = inherited.into_iter().filter(|(name, _)| !is_denied(name)).collect();
    environment.insert("CLAUDE_CODE_ENTRYPOINT".into(), ENTRYPOINT.into());
    if options.cwd.is_absolute() {
        environment.insert("PWD".into(), options.cwd.clone().into());
    }
    for (name, switch, on) in [
        (SESSION_STATE_EVENTS, options.session_state_events, "1"),
        (FILE_CHECKPOINTS, options.file_checkpoints, "true"),
    ] {
        match switch {
            Switch::On => environment.insert(name.into(), on.into()),
            Switch::Off => environment.remove(&OsString::from(name)),
        };
    }
    if options.trust == Trust::Untrusted {
        environment.extend(quiet::VARIABLES.map(|(name, value)| (name.into(), value.into())));
    }
    for (name, value) in &options.variables.0 {
        match value {
            Some(value) => environment.insert(name.clone(), value.clone()),
            None => environment.remove(name),
        };
    }
    if options.trust == Trust::Untrusted {
        quiet::still_git(&mut environment);
    }
    environment
}

fn is_denied(name: &OsString) -> bool {
    name.as_encoded_bytes().starts_with(DENIED_PREFIX.as_bytes())
        || DENIED.iter().any(|denied| name == denied)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(inherited: &[(&str, &str)], options: &Options) -> Vec<(String, String)> {
        let inherited = inherited.iter().map(|(name, value)| (name.into(), value.into()));
        let text = |word: OsString| word.to_string_lossy().into_owned();
        environment(inherited, options).into_iter().map(|(name, value)| (text(name), text(value))).collect()
    }

    fn pairs<const N: usize>(pairs: [(&str, &str); N]) -> Vec<(String, String)> {
        pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).into()
    }

    #[test]
    fn the_users_environment_is_inherited_and_ours_is_added() {
        let inherited = [("PATH", "/bin"), ("ANTHROPIC_API_KEY", "k"), ("CLAUDE_CONFIG_DIR", "/c")];
        let expected = pairs([
            ("ANTHROPIC_API_KEY", "k"),
            ("CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS", "1"),
            ("CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING", "true"),
            ("CLAUDE_CODE_ENTRYPOINT", "sdk-cli"),
            ("CLAUDE_CONFIG_DIR", "/c"),
            ("PATH", "/bin"),
            ("PWD", "/ws"),
        ]);
        assert_eq!(of(&inherited, &Options::new("/ws").trust(Trust::Trusted)), expected);
    }

    #[test]
    fn what_is_denied_does_not_pass() {
        let mut inherited = DENIED.map(|name| (name, "inherited")).to_vec();
        inherited.extend([("JACKFIELD_TOKEN", "inherited"), (SESSION_STATE_EVENTS, "inherited")]);
        let options = Options::new("relative").trust(Trust::Trusted);
        let options = options.session_state_events(Switch::Off).file_checkpoints(Switch::Off);
        assert_eq!(of(&inherited, &options), pairs([("CLAUDE_CODE_ENTRYPOINT", "sdk-cli")]));
    }

    #[test]
    fn names_in_the_options_win() {
        let options = Options::new("/ws")
            .trust(Trust::Trusted)
            .variable("DEBUG", "1")
            .variable(FILE_CHECKPOINTS, "0")
            .without_variable("PATH")
            .without_variable("PWD")
            .session_state_events(Switch::Off);
        let expected =
            pairs([(FILE_CHECKPOINTS, "0"), ("CLAUDE_CODE_ENTRYPOINT", "sdk-cli"), ("DEBUG", "1")]);
        assert_eq!(of(&[("PATH", "/bin"), ("DEBUG", "*")], &options), expected);
    }

    #[test]
    fn an_untrusted_folder_is_met_quietly_whatever_was_inherited() {
        let inherited =
            [("CLAUDE_CODE_DISABLE_CRON", "0"), ("GIT_CONFIG_COUNT", "1"), ("GIT_CONFIG_KEY_0", "a.b")];
        let options =
            Options::new("relative").session_state_events(Switch::Off).file_checkpoints(Switch::Off);
        let expected = pairs([
            ("CLAUDE_CODE_DISABLE_CRON", "1"),
            ("CLAUDE_CODE_DISABLE_GIT_INSTRUCTIONS", "1"),
            ("CLAUDE_CODE_ENTRYPOINT", "sdk-cli"),
            ("GIT_CONFIG_COUNT", "2"),
            ("GIT_CONFIG_KEY_0", "a.b"),
            ("GIT_CONFIG_KEY_1", "core.fsmonitor"),
            ("GIT_CONFIG_VALUE_1", ""),
        ]);
        assert_eq!(of(&inherited, &options), expected);
        // What a person sets for their CLI is theirs to set; for git it comes on top.
        let own = options.variable("CLAUDE_CODE_DISABLE_CRON", "0").without_variable("GIT_CONFIG_COUNT");
        let of_own = of(&inherited, &own);
        for (name, value) in [("CLAUDE_CODE_DISABLE_CRON", "0"), ("GIT_CONFIG_COUNT", "1")] {
            assert!(of_own.contains(&(name.to_owned(), value.to_owned())), "{of_own:?}");
        }
    }
}

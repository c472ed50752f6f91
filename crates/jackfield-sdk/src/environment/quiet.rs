//! Variables for a folder that is not trusted.
//!
//! `--setting-sources user` and `--strict-mcp-config` keep its settings and servers out. What is here turns off what the
//! CLI takes from a folder all the same. The one rule it keeps: nothing that a folder holds runs by itself.

use std::ffi::{OsStr, OsString};

use super::Environment;

/// Prompts that are said by themselves (`.claude/scheduled_tasks.json`, both pinned versions), and `git status` at the
/// start of 2.1.197, which runs programs that the repository's own `.git/config` names.
pub(super) const VARIABLES: [(&str, &str); 2] =
    [("CLAUDE_CODE_DISABLE_CRON", "1"), ("CLAUDE_CODE_DISABLE_GIT_INSTRUCTIONS", "1")];

const COUNT: &str = "GIT_CONFIG_COUNT";

/// Takes `core.fsmonitor` from every git that runs in this environment, the agent's too: this one program would run
/// whenever anybody looks. Configuration in the environment wins over the repository's.
pub(super) fn still_git(environment: &mut Environment) {
    let count = environment.get(OsStr::new(COUNT)).and_then(|count| count.to_str()?.parse().ok());
    let next: u32 = count.unwrap_or(0);
    let mut set = |name: String, value: String| {
        environment.insert(OsString::from(name), OsString::from(value));
    };
    set(COUNT.to_owned(), next.saturating_add(1).to_string());
    set(format!("GIT_CONFIG_KEY_{next}"), "core.fsmonitor".to_owned());
    set(format!("GIT_CONFIG_VALUE_{next}"), String::new());
}

//! The words of the command line, as what they mean.
//!
//! Pure but for looking at files that were named. The one rule it keeps: a word that is not understood is refused
//! before anything is started.

use std::env;
use std::fs;
use std::path::PathBuf;

use jackfield_api::host::{HostRule, HostRules};
use jackfield_api::permission::Behavior;
use jackfield_host::rules;
use serde_json::{Map, Value};

use super::RunFailure;

/// The CLI's names of permission modes.
const MODES: [&str; 6] = ["default", "acceptEdits", "plan", "dontAsk", "auto", "bypassPermissions"];

/// A permission mode by our label or by the CLI's name.
pub(super) fn mode(text: &str) -> Result<String, String> {
    let name = match text {
        "ask" => "default",
        "act" => "acceptEdits",
        other => other,
    };
    if MODES.contains(&name) {
        return Ok(name.to_owned());
    }
    Err(format!("expected `ask`, `act`, `plan`, or one of {}", MODES.join(", ")))
}

/// The folder to work in, absolute.
pub(super) fn folder(given: Option<&PathBuf>) -> Result<String, RunFailure> {
    let path = given.cloned().unwrap_or_else(|| PathBuf::from("."));
    let absolute = env::current_dir().and_then(|here| here.join(&path).canonicalize());
    let absolute = absolute.map_err(|source| RunFailure::Folder { path, source })?;
    Ok(absolute.to_string_lossy().into_owned())
}

/// What is allowed and denied beforehand; what is denied comes first.
pub(super) fn rules(allow: &[String], deny: &[String]) -> Result<HostRules, RunFailure> {
    let mut all = HostRules::default();
    for (flag, behavior, tools) in [("deny", Behavior::Deny, deny), ("allow", Behavior::Allow, allow)] {
        for tool in tools {
            let problem = |reason: String| RunFailure::Tool { flag, tool: tool.clone(), reason };
            let rule = rule(tool, behavior).map_err(|reason| problem(reason.to_owned()))?;
            let alone = HostRules { rules: vec![rule.clone()] };
            rules::validate(&alone).map_err(|problems| {
                let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
                problem(problems.join("; "))
            })?;
            all.rules.push(rule);
        }
    }
    Ok(all)
}

/// `Tool`, or `Tool(what of it)`.
fn rule(text: &str, behavior: Behavior) -> Result<HostRule, &'static str> {
    let (tool, of) = match text.split_once('(') {
        None => (text, None),
        Some((tool, rest)) => (tool, Some(rest.strip_suffix(')').ok_or("a bracket is not closed")?)),
    };
    let tool = tool.trim();
    if tool.is_empty() || of.is_some_and(str::is_empty) {
        return Err("expected a tool, or a tool with something in brackets");
    }
    if behavior == Behavior::Allow && tool.chars().all(|letter| letter == '*') {
        return Err("everything at once is allowed only by `--mode bypassPermissions`");
    }
    let of = of.map(str::to_owned);
    let (command, path) = if tool == "Bash" { (of, None) } else { (None, of) };
    let tool = Some(tool.to_owned());
    Ok(HostRule { behavior, tool, path, command, folder: None, session_id: None, note: None })
}

/// A schema, or a file with one.
pub(super) fn schema_of(text: &str) -> Result<Map<String, Value>, RunFailure> {
    let read = if text.trim_start().starts_with('{') {
        Ok(text.to_owned())
    } else {
        fs::read_to_string(text).map_err(|error| format!("cannot read `{text}`: {error}"))
    };
    let parsed = read.and_then(|text| serde_json::from_str(&text).map_err(|error| error.to_string()));
    parsed.map_err(RunFailure::Schema)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn modes_have_labels_and_names() {
        assert_eq!(mode("ask").unwrap(), "default");
        assert_eq!(mode("act").unwrap(), "acceptEdits");
        assert_eq!(mode("plan").unwrap(), "plan");
        assert!(mode("yolo").is_err());
    }

    #[test]
    fn what_stands_in_brackets_is_a_command_of_bash_and_a_path_of_the_others() {
        let of = |text| rule(text, Behavior::Allow).unwrap();
        assert_eq!(of("Bash(git log *)").command.as_deref(), Some("git log *"));
        assert_eq!(of("Edit(src/**)").path.as_deref(), Some("src/**"));
        assert_eq!((of("Edit").path, of("Edit").tool.as_deref()), (None, Some("Edit")));
    }

    #[test]
    fn a_tool_that_makes_no_sense_is_refused() {
        for wrong in ["", "(x)", "Bash(", "Bash()", "*", "**"] {
            assert!(rule(wrong, Behavior::Allow).is_err(), "{wrong}");
        }
        assert!(rule("*", Behavior::Deny).is_ok());
    }

    #[test]
    fn a_schema_is_an_object_or_a_file_with_one() {
        assert_eq!(schema_of(" {\"type\":\"object\"}").unwrap()["type"], "object");
        assert!(schema_of("[1]").is_err());
        assert!(schema_of("/no/such/file").is_err());
    }
}

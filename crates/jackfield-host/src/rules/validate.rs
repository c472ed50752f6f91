//! Which rules are taken at all, and in plain words why not.
//!
//! A rule that can never fit, or that would allow everything, is a mistake that a person should hear of before
//! it counts.

use jackfield_api::host::{HostRule, HostRules};
use jackfield_api::permission::Behavior;

use super::fits_all;

/// How many rules there may be.
pub const MOST_RULES: usize = 1_000;
/// How long a pattern may be, in bytes.
pub const LONGEST_PATTERN: usize = 1_000;
/// How long a note may be, in bytes.
pub const LONGEST_NOTE: usize = 4_000;

/// What is wrong with a rule. For people rules are counted from 1.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RuleProblem {
    /// Too many.
    #[error("there are {found} rules, and at most {MOST_RULES} are possible")]
    TooMany {
        /// How many.
        found: usize,
    },
    /// It would switch all questions off.
    #[error("rule {} would allow everything: say which tool, which path or which command", .rule + 1)]
    AllowsEverything {
        /// Which rule, from 0.
        rule: usize,
    },
    /// Nothing is both.
    #[error("rule {} asks for a path and a command, and nothing has both: make two rules", .rule + 1)]
    PathAndCommand {
        /// Which rule, from 0.
        rule: usize,
    },
    /// A field is there, and nothing is in it.
    #[error("the {field} of rule {} is empty: leave it out to mean all", .rule + 1)]
    Empty {
        /// Which rule, from 0.
        rule: usize,
        /// Which field.
        field: Field,
    },
    /// A field is too long.
    #[error("the {field} of rule {} is longer than {limit} bytes", .rule + 1)]
    TooLong {
        /// Which rule, from 0.
        rule: usize,
        /// Which field.
        field: Field,
        /// What would be possible.
        limit: usize,
    },
    /// A field contains what cannot be seen.
    #[error("the {field} of rule {} contains a control character", .rule + 1)]
    ControlCharacter {
        /// Which rule, from 0.
        rule: usize,
        /// Which field.
        field: Field,
    },
    /// A path that does not say where it is.
    #[error("the {field} of rule {} contains `..` or begins with `~`: write it out from `/`", .rule + 1)]
    NoPlace {
        /// Which rule, from 0.
        rule: usize,
        /// Which field.
        field: Field,
    },
    /// A folder that does not begin at the root.
    #[error("the folder of rule {} does not begin with `/`", .rule + 1)]
    RelativeFolder {
        /// Which rule, from 0.
        rule: usize,
    },
}

/// A field of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    /// `tool`
    Tool,
    /// `path`
    Path,
    /// `command`
    Command,
    /// `folder`
    Folder,
    /// `note`
    Note,
}

impl std::fmt::Display for Field {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Tool => "tool",
            Self::Path => "path",
            Self::Command => "command",
            Self::Folder => "folder",
            Self::Note => "note",
        })
    }
}

/// Whether rules may be put into effect; all that is wrong if not.
pub fn validate(rules: &HostRules) -> Result<(), Vec<RuleProblem>> {
    let mut problems = Vec::new();
    if rules.rules.len() > MOST_RULES {
        problems.push(RuleProblem::TooMany { found: rules.rules.len() });
    }
    for (number, rule) in rules.rules.iter().take(MOST_RULES).enumerate() {
        problems_of(rule, number, &mut problems);
    }
    if problems.is_empty() { Ok(()) } else { Err(problems) }
}

fn problems_of(rule: &HostRule, number: usize, problems: &mut Vec<RuleProblem>) {
    if rule.behavior == Behavior::Allow && fits_all(rule) {
        problems.push(RuleProblem::AllowsEverything { rule: number });
    }
    if rule.path.is_some() && rule.command.is_some() {
        problems.push(RuleProblem::PathAndCommand { rule: number });
    }
    let fields = [
        (Field::Tool, &rule.tool, LONGEST_PATTERN),
        (Field::Path, &rule.path, LONGEST_PATTERN),
        (Field::Command, &rule.command, LONGEST_PATTERN),
        (Field::Folder, &rule.folder, LONGEST_PATTERN),
        (Field::Note, &rule.note, LONGEST_NOTE),
    ];
    for (field, text, limit) in fields {
        let Some(text) = text else { continue };
        if text.len() > limit {
            problems.push(RuleProblem::TooLong { rule: number, field, limit });
        }
        if field == Field::Note {
            continue;
        }
        if text.trim().is_empty() {
            problems.push(RuleProblem::Empty { rule: number, field });
        }
        if text.chars().any(char::is_control) {
            problems.push(RuleProblem::ControlCharacter { rule: number, field });
        }
        if matches!(field, Field::Path | Field::Folder)
            && (text.starts_with('~') || text.split('/').any(|segment| segment == ".."))
        {
            problems.push(RuleProblem::NoPlace { rule: number, field });
        } else if field == Field::Folder && !text.starts_with('/') {
            problems.push(RuleProblem::RelativeFolder { rule: number });
        }
    }
}

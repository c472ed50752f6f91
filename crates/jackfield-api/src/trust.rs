//! Trust of folders: what a folder would add to the CLI by itself, and whether a person wants that.
//!
//! Not a permission: that is asked while a turn runs, this before anything does. The one rule it keeps: a person
//! trusts what was shown, so trust names the fingerprint of exactly that.

use serde::{Deserialize, Serialize};

use crate::id::{Fingerprint, Timestamp};

/// A folder, what it brings, and what is remembered of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct FolderTrust {
    /// Its real path, links resolved. Trust is of exactly this folder, not of those below or above.
    pub path: String,
    /// Whether it is trusted with exactly what it brings now.
    pub trusted: bool,
    /// Whether it was trusted, and brings something else now.
    pub changed: bool,
    /// Whether a person was shown what it brings now, and did not want it.
    pub refused: bool,
    /// What it brings: what to look at first comes first.
    pub brings: Vec<Brought>,
    /// Stands for all of it, instructions excepted.
    pub fingerprint: Fingerprint,
    /// Why it cannot be trusted as it is: something in it cannot be read whole.
    pub problem: Option<String>,
}

/// One thing that a folder brings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct Brought {
    /// What it is.
    pub kind: BroughtKind,
    /// What it is called: the hook's event, the server, the variable, the setting.
    pub name: String,
    /// All of it, as it stands there: a command, an address, a value, a text. Cut only if it is very long.
    pub detail: String,
    /// The file that it comes from, links resolved.
    pub file: String,
    /// Whether it can run a program, send the CLI elsewhere or answer questions without a person.
    pub dangerous: bool,
    /// Whether the folder was trusted before, without this.
    pub new: bool,
}

/// What a folder can bring.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum BroughtKind {
    /// A program that the CLI runs by itself when something happens, or a file for one.
    Hook,
    /// A server of tools that the CLI starts or calls.
    McpServer,
    /// A variable of the CLI's environment, and so of all that it starts.
    Environment,
    /// A question that is answered in advance, a folder that is opened, a mode.
    Permission,
    /// A plugin, or where plugins come from.
    Plugin,
    /// A prompt that is said by itself at some time.
    Schedule,
    /// A slash command or a workflow.
    Command,
    /// A subagent.
    Agent,
    /// A skill.
    Skill,
    /// Any other setting.
    Setting,
    /// Words for the model. They run nothing, and the fingerprint does not cover them.
    Instructions,
}

/// What people said to folders.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct FolderVerdicts {
    /// One per folder, by path.
    pub folders: Vec<FolderVerdict>,
}

/// What was said to one folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct FolderVerdict {
    /// Its real path; it need not be there any more.
    pub path: String,
    /// Whether it was trusted with what it brought then.
    pub trusted: bool,
    /// When that was said, where it is known.
    pub decided_at: Option<Timestamp>,
}

/// What a person says to a folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct SetFolderTrust {
    /// The folder.
    pub path: String,
    /// Of what the person was shown. If the folder brings something else by now, nothing is remembered.
    pub fingerprint: Fingerprint,
    /// Whether it is trusted.
    pub trusted: bool,
}

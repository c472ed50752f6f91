//! Permission modes, rules and updates, as both sides write them.
//!
//! No decision is made here. The rule: a suggestion of the CLI can be sent back unchanged.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use crate::open_enum::open_enum;
use crate::raw::Raw;
use crate::tag;

open_enum! {
    /// How the CLI decides about tool calls. The CLI accepts any word [control/all_subtypes_valid].
    pub enum PermissionMode {
        /// Ask.
        Default = "default",
        /// Edits in the workspace run.
        AcceptEdits = "acceptEdits",
        /// Plan only; writes are still asked, so the host must refuse them.
        Plan = "plan",
        /// Everything runs.
        BypassPermissions = "bypassPermissions",
        /// What would be asked is denied.
        DontAsk = "dontAsk",
        /// The CLI decides.
        Auto = "auto",
    }
}

open_enum! {
    /// Where a permission update is kept.
    pub enum PermissionDestination {
        /// The user's settings.
        UserSettings = "userSettings",
        /// The project's settings.
        ProjectSettings = "projectSettings",
        /// The project's local settings.
        LocalSettings = "localSettings",
        /// This session only.
        Session = "session",
        /// As if given on the command line; this session only.
        CliArg = "cliArg",
    }
}

open_enum! {
    /// What a rule says.
    pub enum RuleBehavior {
        /// Run it.
        Allow = "allow",
        /// Refuse it.
        Deny = "deny",
        /// Ask.
        Ask = "ask",
    }
}

/// A rule: a tool, and which of its calls.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PermissionRule {
    /// The tool.
    pub tool_name: String,
    /// Which calls (`npm run *`); all when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule_content: Option<String>,
}

/// A change of the permission rules.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum PermissionUpdate {
    /// Adds rules.
    AddRules(RulesUpdate),
    /// Replaces all rules of that behaviour and destination.
    ReplaceRules(RulesUpdate),
    /// Removes rules.
    RemoveRules(RulesUpdate),
    /// Changes the mode.
    SetMode(ModeUpdate),
    /// Adds working directories.
    AddDirectories(DirectoriesUpdate),
    /// Removes working directories.
    RemoveDirectories(DirectoriesUpdate),
    /// Any other, or one that does not fit; the CLI drops those in silence.
    Other(Raw),
}

/// Rules to add, replace or remove.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RulesUpdate {
    /// The rules.
    pub rules: Vec<PermissionRule>,
    /// What they say.
    pub behavior: RuleBehavior,
    /// Where they are kept.
    pub destination: PermissionDestination,
}

/// A mode to set.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ModeUpdate {
    /// The mode.
    pub mode: PermissionMode,
    /// Where it is kept.
    pub destination: PermissionDestination,
}

/// Directories to add or remove.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct DirectoriesUpdate {
    /// The directories.
    pub directories: Vec<String>,
    /// Where they are kept.
    pub destination: PermissionDestination,
}

impl Serialize for PermissionUpdate {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // Internally tagged is fine for writing; only reading must not pass through it.
        #[derive(Serialize)]
        #[serde(tag = "type", rename_all = "camelCase")]
        enum Tagged<'a> {
            AddRules(&'a RulesUpdate),
            ReplaceRules(&'a RulesUpdate),
            RemoveRules(&'a RulesUpdate),
            SetMode(&'a ModeUpdate),
            AddDirectories(&'a DirectoriesUpdate),
            RemoveDirectories(&'a DirectoriesUpdate),
        }
        match self {
            Self::AddRules(update) => Tagged::AddRules(update),
            Self::ReplaceRules(update) => Tagged::ReplaceRules(update),
            Self::RemoveRules(update) => Tagged::RemoveRules(update),
            Self::SetMode(update) => Tagged::SetMode(update),
            Self::AddDirectories(update) => Tagged::AddDirectories(update),
            Self::RemoveDirectories(update) => Tagged::RemoveDirectories(update),
            Self::Other(raw) => return raw.serialize(serializer),
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for PermissionUpdate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = <&RawValue>::deserialize(deserializer)?;
        let text = raw.get();
        let tag = tag::member(text, "type").ok().flatten().unwrap_or_default();
        let update = match &*tag {
            "addRules" => serde_json::from_str(text).map(Self::AddRules),
            "replaceRules" => serde_json::from_str(text).map(Self::ReplaceRules),
            "removeRules" => serde_json::from_str(text).map(Self::RemoveRules),
            "setMode" => serde_json::from_str(text).map(Self::SetMode),
            "addDirectories" => serde_json::from_str(text).map(Self::AddDirectories),
            "removeDirectories" => serde_json::from_str(text).map(Self::RemoveDirectories),
            _ => return Ok(Self::Other(raw.into())),
        };
        Ok(update.unwrap_or_else(|_| Self::Other(raw.into())))
    }
}

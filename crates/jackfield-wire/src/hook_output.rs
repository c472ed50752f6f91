//! What a hook callback may answer.
//!
//! The CLI's reading of it is full of traps: `continue: false` before a tool does not stop that
//! tool [hooks/pre_continue_false]. The rule: only members the event knows can be said.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use crate::hook_input::HookEvent;
use crate::open_enum::open_enum;
use crate::permission::PermissionUpdate;
use crate::raw::{Object, Raw};
use crate::tag;

open_enum! {
    /// What a hook decides about a tool call.
    pub enum HookDecision {
        /// Run it, in every mode, without asking.
        Allow = "allow",
        /// Refuse it.
        Deny = "deny",
        /// Ask, in every mode.
        Ask = "ask",
        /// End the turn and leave the call open.
        Defer = "defer",
    }
}

open_enum! {
    /// The older way to decide.
    pub enum HookVerdict {
        /// Go on.
        Approve = "approve",
        /// Do not.
        Block = "block",
    }
}

/// A hook's answer.
#[derive(Debug, Clone, PartialEq)]
pub enum HookOutput {
    /// Now.
    Now(Box<HookReply>),
    /// Later, or never; the CLI goes on at once.
    Later {
        /// How long the CLI would wait, in milliseconds.
        timeout: Option<u64>,
    },
}

impl Default for HookOutput {
    fn default() -> Self {
        Self::Now(Box::default())
    }
}

/// A hook's answer now; the empty one decides nothing.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HookReply {
    /// Whether the turn goes on.
    #[serde(rename = "continue", skip_serializing_if = "Option::is_none")]
    pub goes_on: Option<bool>,
    /// Whether the hook's output is hidden.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suppress_output: Option<bool>,
    /// Why the turn does not go on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<String>,
    /// The older way to decide.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<HookVerdict>,
    /// Why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// A text for the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_message: Option<String>,
    /// Bytes for the terminal (newer CLIs).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub terminal_sequence: Option<String>,
    /// What is special to the event.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hook_specific_output: Option<HookSpecificOutput>,
}

/// What is special to an event.
#[derive(Debug, Clone, PartialEq)]
pub enum HookSpecificOutput {
    /// Of `PreToolUse`.
    PreToolUse(PreToolUseOutput),
    /// Of `PostToolUse`.
    PostToolUse(PostToolUseOutput),
    /// Of `PermissionRequest`.
    PermissionRequest(PermissionRequestOutput),
    /// Of `UserPromptSubmit`.
    UserPromptSubmit(UserPromptSubmitOutput),
    /// Of `SessionStart`.
    SessionStart(SessionStartOutput),
    /// Of `PermissionDenied`.
    PermissionDenied(PermissionDeniedOutput),
    /// Of `PreModelSwitch`.
    PreModelSwitch(PreModelSwitchOutput),
    /// Of `Elicitation`.
    Elicitation(HookElicitationOutput),
    /// Of `ElicitationResult`.
    ElicitationResult(HookElicitationOutput),
    /// Of `WorktreeCreate`.
    WorktreeCreate(WorktreeCreateOutput),
    /// Of `MessageDisplay`.
    MessageDisplay(MessageDisplayOutput),
    /// Of all other events.
    Other {
        /// The event.
        event: HookEvent,
        /// What it may say.
        output: ContextOutput,
    },
}

macro_rules! outputs {
    ($($(#[$meta:meta])* $name:ident { $($(#[$field_meta:meta])* $field:ident: $type:ty,)* })*) => {
        $(
            $(#[$meta])*
            #[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
            #[serde(rename_all = "camelCase")]
            pub struct $name {
                $($(#[$field_meta])* #[serde(skip_serializing_if = "Option::is_none")] pub $field: Option<$type>,)*
            }
        )*
    };
}

outputs! {
    /// What a hook says before a tool runs.
    PreToolUseOutput {
        /// The decision.
        permission_decision: HookDecision,
        /// Why.
        permission_decision_reason: String,
        /// The input to run with.
        updated_input: Object,
        /// A text for the model.
        additional_context: String,
    }
    /// What a hook says after a tool ran.
    PostToolUseOutput {
        /// A text for the model.
        additional_context: String,
        /// The tool's output, replaced.
        updated_tool_output: Raw,
        /// The MCP tool's output, replaced.
        #[serde(rename = "updatedMCPToolOutput")]
        updated_mcp_tool_output: Raw,
        /// A text for the classifier (newer CLIs).
        classifier_context: String,
    }
    /// What a hook says when a permission is asked.
    PermissionRequestOutput {
        /// The decision.
        decision: HookPermissionDecision,
    }
    /// What a hook says when a prompt was sent.
    UserPromptSubmitOutput {
        /// A text for the model.
        additional_context: String,
        /// The session's title (newer CLIs).
        session_title: String,
        /// Whether the prompt itself is hidden (newer CLIs).
        suppress_original_prompt: bool,
    }
    /// What a hook says when a session starts.
    SessionStartOutput {
        /// A text for the model.
        additional_context: String,
        /// A first prompt.
        initial_user_message: String,
        /// The session's title (newer CLIs).
        session_title: String,
        /// Files to watch (newer CLIs).
        watch_paths: Vec<String>,
        /// Whether skills are loaded again (newer CLIs).
        reload_skills: bool,
    }
    /// What a hook says when a permission was denied.
    PermissionDeniedOutput {
        /// Whether the model may try again.
        retry: bool,
    }
    /// What a hook says before the model changes.
    PreModelSwitchOutput {
        /// The decision.
        permission_decision: HookDecision,
        /// Why.
        permission_decision_reason: String,
    }
    /// What a hook says to an MCP server's question.
    HookElicitationOutput {
        /// `accept`, `decline` or `cancel`.
        action: String,
        /// The answer.
        content: Object,
    }
    /// What a hook says when a worktree is made.
    WorktreeCreateOutput {
        /// Where it is.
        worktree_path: String,
    }
    /// What a hook says when a message is shown.
    MessageDisplayOutput {
        /// What is shown instead.
        display_content: String,
    }
    /// What any other hook says.
    ContextOutput {
        /// A text for the model.
        additional_context: String,
    }
    /// A hook's decision about a permission.
    HookPermissionDecision {
        /// `allow` or `deny`.
        behavior: HookDecision,
        /// The input to run with.
        updated_input: Object,
        /// Rules to remember.
        updated_permissions: Vec<PermissionUpdate>,
        /// Why not.
        message: String,
        /// Whether the turn ends too.
        interrupt: bool,
    }
}

impl Serialize for HookOutput {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Later {
            r#async: bool,
            #[serde(skip_serializing_if = "Option::is_none")]
            async_timeout: Option<u64>,
        }
        match self {
            Self::Now(reply) => reply.serialize(serializer),
            Self::Later { timeout } => Later { r#async: true, async_timeout: *timeout }.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for HookOutput {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Later {
            r#async: Option<bool>,
            async_timeout: Option<u64>,
        }
        let text = <&RawValue>::deserialize(deserializer)?.get();
        let later: Later = serde_json::from_str(text).map_err(serde::de::Error::custom)?;
        if later.r#async == Some(true) {
            return Ok(Self::Later { timeout: later.async_timeout });
        }
        serde_json::from_str(text).map(Self::Now).map_err(serde::de::Error::custom)
    }
}

impl Serialize for HookSpecificOutput {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // Internally tagged is fine for writing; only reading must not pass through it.
        #[derive(Serialize)]
        #[serde(tag = "hookEventName")]
        enum Tagged<'a> {
            PreToolUse(&'a PreToolUseOutput),
            PostToolUse(&'a PostToolUseOutput),
            PermissionRequest(&'a PermissionRequestOutput),
            UserPromptSubmit(&'a UserPromptSubmitOutput),
            SessionStart(&'a SessionStartOutput),
            PermissionDenied(&'a PermissionDeniedOutput),
            PreModelSwitch(&'a PreModelSwitchOutput),
            Elicitation(&'a HookElicitationOutput),
            ElicitationResult(&'a HookElicitationOutput),
            WorktreeCreate(&'a WorktreeCreateOutput),
            MessageDisplay(&'a MessageDisplayOutput),
        }
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Other<'a> {
            hook_event_name: &'a HookEvent,
            #[serde(skip_serializing_if = "Option::is_none")]
            additional_context: Option<&'a String>,
        }
        match self {
            Self::PreToolUse(output) => Tagged::PreToolUse(output),
            Self::PostToolUse(output) => Tagged::PostToolUse(output),
            Self::PermissionRequest(output) => Tagged::PermissionRequest(output),
            Self::UserPromptSubmit(output) => Tagged::UserPromptSubmit(output),
            Self::SessionStart(output) => Tagged::SessionStart(output),
            Self::PermissionDenied(output) => Tagged::PermissionDenied(output),
            Self::PreModelSwitch(output) => Tagged::PreModelSwitch(output),
            Self::Elicitation(output) => Tagged::Elicitation(output),
            Self::ElicitationResult(output) => Tagged::ElicitationResult(output),
            Self::WorktreeCreate(output) => Tagged::WorktreeCreate(output),
            Self::MessageDisplay(output) => Tagged::MessageDisplay(output),
            Self::Other { event, output } => {
                let additional_context = output.additional_context.as_ref();
                return Other { hook_event_name: event, additional_context }.serialize(serializer);
            }
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for HookSpecificOutput {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <&RawValue>::deserialize(deserializer)?.get();
        let event = tag::member(text, "hookEventName").map_err(serde::de::Error::custom)?.unwrap_or_default();
        match &*event {
            "PreToolUse" => serde_json::from_str(text).map(Self::PreToolUse),
            "PostToolUse" => serde_json::from_str(text).map(Self::PostToolUse),
            "PermissionRequest" => serde_json::from_str(text).map(Self::PermissionRequest),
            "UserPromptSubmit" => serde_json::from_str(text).map(Self::UserPromptSubmit),
            "SessionStart" => serde_json::from_str(text).map(Self::SessionStart),
            "PermissionDenied" => serde_json::from_str(text).map(Self::PermissionDenied),
            "PreModelSwitch" => serde_json::from_str(text).map(Self::PreModelSwitch),
            "Elicitation" => serde_json::from_str(text).map(Self::Elicitation),
            "ElicitationResult" => serde_json::from_str(text).map(Self::ElicitationResult),
            "WorktreeCreate" => serde_json::from_str(text).map(Self::WorktreeCreate),
            "MessageDisplay" => serde_json::from_str(text).map(Self::MessageDisplay),
            other => {
                let event = HookEvent::from(other);
                serde_json::from_str(text).map(|output| Self::Other { event, output })
            }
        }
        .map_err(serde::de::Error::custom)
    }
}

//! From options to the CLI's arguments.
//!
//! Pure: nothing is started, read or asked. The one rule it keeps: whatever a value holds, it stays the value
//! of its flag. Each is one word with its flag (`--flag=value`), so a value that begins with a dash is no
//! flag, and a list swallows nothing.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use jackfield_core::session::Bypass;
use jackfield_wire::{PermissionMode, SessionId, Uuid};
use serde_json::json;

use crate::flags::{self, Flag};
use crate::options::{
    DebugFilter, Effort, Options, PermissionPrompts, Plugin, Prompt, SettingSource, Settings, Switch,
    Thinking, ThinkingDisplay, Trust, Worktree,
};
use crate::version::Version;

mod conflicts;
mod rules;

/// Why options cannot become a command line.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum OptionError {
    /// The installed CLI is too old for an option.
    #[error("the CLI {has} does not know `{flag}`, which needs {needs}: update it, or leave that option out")]
    Unsupported {
        /// The flag behind the option.
        flag: &'static str,
        /// The oldest version that is known to take it.
        needs: Version,
        /// The installed version.
        has: Version,
    },
    /// Something that must be a UUID is none.
    #[error("`{flag}` takes a UUID, not `{value}`")]
    NotAUuid {
        /// The flag behind the option.
        flag: &'static str,
        /// The value.
        value: String,
    },
    /// A new id was given to a conversation that goes on.
    #[error("a conversation that goes on keeps its id: fork it, or give no session id")]
    SessionIdWithoutFork,
    /// Both one conversation and the latest one are to go on.
    #[error("cannot both resume a conversation and continue the latest one")]
    ResumeAndContinue,
    /// A fork of nothing.
    #[error("cannot fork without a conversation to resume or continue")]
    ForkOfNothing,
    /// A message to resume at, without a conversation to resume.
    #[error("cannot resume at a message without a conversation to resume")]
    ResumeAtWithoutResume,
    /// A turn to drop, without a message to resume at.
    #[error("cannot drop a turn without a message to resume at")]
    DropsTurnWithoutResumeAt,
    /// The mode that asks for nothing was chosen but not allowed.
    #[error("the mode `bypassPermissions` was not allowed: call `allow_bypass` to allow it")]
    BypassNotAllowed,
    /// The mode that asks for nothing was chosen in restricted mode.
    #[error("the mode `bypassPermissions` does not exist in restricted mode")]
    BypassRestricted,
    /// A folder that is not trusted was named as a source of settings.
    #[error("cannot load {} settings: the folder is not trusted", source_name.as_str())]
    UntrustedSource {
        /// The source.
        source_name: SettingSource,
    },
    /// A budget that is not a positive number.
    #[error("a budget of {dollars} dollars is not more than nothing")]
    Budget {
        /// The budget.
        dollars: f64,
    },
    /// The CLI would read something else than this one rule.
    #[error(
        "`{flag}` would not read `{rule}` as one rule: give each rule by itself, without a `,` or space \
             outside its parentheses"
    )]
    NotOneRule {
        /// The flag behind the option.
        flag: &'static str,
        /// The rule.
        rule: String,
    },
    /// An extra flag's name is not one.
    #[error("`{name}` is not the name of a flag: letters, digits and `-`, without the dashes before it")]
    FlagName {
        /// The name.
        name: String,
    },
    /// An extra flag that another option covers, or that would end the conversation with the host.
    #[error("`--{name}` cannot be an extra flag: {reason}")]
    FlagTaken {
        /// The name.
        name: String,
        /// Why not.
        reason: &'static str,
    },
    /// A variable that no environment can hold.
    #[error("cannot set the variable `{}`: a name is not empty and has no `=`, and neither it nor its value \
             holds a NUL byte", name.display())]
    Variable {
        /// Its name.
        name: OsString,
    },
    /// A value with a NUL byte, which no argument can hold.
    #[error("the value of `{flag}` holds a NUL byte")]
    NulByte {
        /// The flag.
        flag: String,
    },
    /// A value longer than an argument can be.
    #[error("the value of `{flag}` is too long for an argument ({length} bytes): put it into a file")]
    TooLong {
        /// The flag.
        flag: String,
        /// Its length with the flag.
        length: usize,
    },
}

/// The arguments for a version of the CLI.
pub fn command_line(options: &Options, version: Version) -> Result<Vec<OsString>, OptionError> {
    conflicts::check(options)?;
    let mut line = Line { version, words: Vec::new() };
    line.switch(&flags::PRINT)?;
    line.value(&flags::INPUT_FORMAT, "stream-json")?;
    line.value(&flags::OUTPUT_FORMAT, "stream-json")?;
    line.switch(&flags::VERBOSE)?;
    line.stream(options)?;
    line.instructions(options)?;
    line.tools(options)?;
    line.folder(options)?;
    line.conversation(options)?;
    line.extras(options)?;
    Ok(line.words)
}

/// Linux takes no longer argument, its closing NUL byte included.
const LONGEST_ARGUMENT: usize = 128 * 1024;

struct Line {
    version: Version,
    words: Vec<OsString>,
}

impl Line {
    fn stream(&mut self, options: &Options) -> Result<(), OptionError> {
        self.switch_if(&flags::INCLUDE_PARTIAL_MESSAGES, options.partial_messages)?;
        self.switch_if(&flags::REPLAY_USER_MESSAGES, options.replay_user_messages)?;
        self.switch_if(&flags::INCLUDE_HOOK_EVENTS, options.hook_events)?;
        self.switch_if(&flags::FORWARD_SUBAGENT_TEXT, options.subagent_text)?;
        self.switch_if(&flags::SESSION_MIRROR, options.session_mirror)?;
        self.switch_if(&flags::AWAIT_INITIALIZE, options.await_initialize)?;
        if let Some(suggestions) = options.prompt_suggestions {
            self.value(&flags::PROMPT_SUGGESTIONS, if suggestions.is_on() { "true" } else { "false" })?;
        }
        match &options.debug {
            Some(DebugFilter::All) => self.switch(&flags::DEBUG)?,
            Some(DebugFilter::Categories(filter)) => self.value(&flags::DEBUG, filter)?,
            None => {}
        }
        self.value_if(&flags::DEBUG_FILE, options.debug_file.as_ref())
    }

    fn instructions(&mut self, options: &Options) -> Result<(), OptionError> {
        self.value_if(&flags::MODEL, options.model.as_ref())?;
        if !options.fallback_models.is_empty() {
            self.value(&flags::FALLBACK_MODEL, options.fallback_models.join(","))?;
        }
        self.value_if(&flags::EFFORT, options.effort.as_ref().map(Effort::as_str))?;
        self.value_if(&flags::THINKING, options.thinking.map(Thinking::as_str))?;
        self.value_if(&flags::MAX_THINKING_TOKENS, options.max_thinking_tokens.map(|it| it.to_string()))?;
        match options.thinking_display {
            Some(ThinkingDisplay::Summarized) => self.value(&flags::THINKING_DISPLAY, "summarized")?,
            Some(ThinkingDisplay::Omitted) => self.value(&flags::THINKING_DISPLAY, "omitted")?,
            Some(ThinkingDisplay::Highlights) => self.switch(&flags::THINKING_HIGHLIGHTS)?,
            None => {}
        }
        self.list(&flags::BETAS, &options.betas)?;
        self.prompt(&flags::SYSTEM_PROMPT, &flags::SYSTEM_PROMPT_FILE, options.system_prompt.as_ref())?;
        self.prompt(
            &flags::APPEND_SYSTEM_PROMPT,
            &flags::APPEND_SYSTEM_PROMPT_FILE,
            options.append_system_prompt.as_ref(),
        )?;
        self.prompt(
            &flags::APPEND_SUBAGENT_SYSTEM_PROMPT,
            &flags::APPEND_SUBAGENT_SYSTEM_PROMPT_FILE,
            options.append_subagent_system_prompt.as_ref(),
        )?;
        if let Some(snapshot) = options.system_prompt_snapshot {
            self.value(&flags::SYSTEM_PROMPT_SNAPSHOT, if snapshot.is_on() { "on" } else { "off" })?;
        }
        self.switch_unless(&flags::EXCLUDE_DYNAMIC_SECTIONS, options.dynamic_sections)?;
        self.value_if(&flags::AGENT, options.agent.as_ref())?;
        self.value_if(&flags::AGENTS, options.agents.as_ref().map(|agents| json!(agents).to_string()))?;
        self.value_if(&flags::JSON_SCHEMA, options.json_schema.as_ref().map(|it| json!(it).to_string()))?;
        self.value_if(&flags::MAX_TURNS, options.max_turns.map(|turns| turns.to_string()))?;
        self.value_if(&flags::MAX_BUDGET_USD, options.max_budget_usd.map(|dollars| dollars.to_string()))?;
        self.value_if(&flags::TASK_BUDGET, options.task_budget.map(|tokens| tokens.to_string()))
    }

    fn tools(&mut self, options: &Options) -> Result<(), OptionError> {
        self.value_if(&flags::PERMISSION_MODE, options.permission_mode.as_ref().map(PermissionMode::as_str))?;
        match &options.permission_prompts {
            PermissionPrompts::Host => self.value(&flags::PERMISSION_PROMPT_TOOL, "stdio")?,
            PermissionPrompts::Tool(name) => self.value(&flags::PERMISSION_PROMPT_TOOL, name)?,
            // Older CLIs ask nobody unless told whom.
            PermissionPrompts::Nobody if !flags::PERMISSION_PROMPTS.is_known_to(self.version) => {}
            PermissionPrompts::Nobody => self.value(&flags::PERMISSION_PROMPTS, "none")?,
        }
        if options.bypass == Bypass::Allowed {
            self.switch(&flags::ALLOW_BYPASS)?;
        }
        match options.tools.as_deref() {
            Some([]) => self.value(&flags::TOOLS, "")?,
            Some(names) => self.rules(&flags::TOOLS, names)?,
            None => {}
        }
        self.rules(&flags::ALLOWED_TOOLS, &options.allowed_tools)?;
        self.rules(&flags::DISALLOWED_TOOLS, &options.disallowed_tools)?;
        self.list(&flags::ADD_DIR, &options.directories)?;
        if !options.mcp_servers.0.is_empty() {
            self.value(&flags::MCP_CONFIG, json!({ "mcpServers": options.mcp_servers.0 }).to_string())?;
        }
        for path in &options.mcp_files {
            self.value(&flags::MCP_CONFIG, plainly_a_path(path))?;
        }
        for plugin in &options.plugins {
            match plugin {
                Plugin::Path(path) => self.value(&flags::PLUGIN_DIR, path)?,
                Plugin::WithoutMcp(path) => self.value(&flags::PLUGIN_DIR_NO_MCP, path)?,
                Plugin::Url(address) => self.value(&flags::PLUGIN_URL, address)?,
            }
        }
        self.list(&flags::CHANNELS, &options.channels)?;
        self.switch_unless(&flags::DISABLE_SLASH_COMMANDS, options.slash_commands)
    }

    fn folder(&mut self, options: &Options) -> Result<(), OptionError> {
        let user_only: &[_] = &[SettingSource::User];
        let sources = match (&options.setting_sources, options.trust) {
            (Some(sources), _) => Some(&sources[..]),
            (None, Trust::Untrusted) => Some(user_only),
            (None, Trust::Trusted) => None,
        };
        if let Some(sources) = sources {
            let names: Vec<_> = sources.iter().map(|source| source.as_str()).collect();
            self.value(&flags::SETTING_SOURCES, names.join(","))?;
        }
        if options.trust == Trust::Untrusted || options.strict_mcp.is_on() {
            self.switch(&flags::STRICT_MCP_CONFIG)?;
        }
        match &options.settings {
            Some(Settings::Json(settings)) => self.value(&flags::SETTINGS, json!(settings).to_string())?,
            Some(Settings::File(path)) => self.value(&flags::SETTINGS, plainly_a_path(path))?,
            None => {}
        }
        let managed = options.managed_settings.as_ref();
        self.value_if(&flags::MANAGED_SETTINGS, managed.map(|settings| json!(settings).to_string()))?;
        self.value_if(&flags::PROJECT_CONFIG_ROOT, options.project_config_root.as_ref())?;
        self.switch_if(&flags::BARE, options.bare)?;
        self.switch_if(&flags::SAFE_MODE, options.safe_mode)?;
        self.switch_if(&flags::RESTRICTED, options.restricted)
    }

    fn conversation(&mut self, options: &Options) -> Result<(), OptionError> {
        self.value_if(&flags::SESSION_ID, options.session_id.as_ref().map(SessionId::as_str))?;
        self.value_if(&flags::RESUME, options.resume.as_ref().map(SessionId::as_str))?;
        self.switch_if(&flags::CONTINUE, options.continue_latest)?;
        self.switch_if(&flags::FORK_SESSION, options.fork)?;
        self.value_if(&flags::RESUME_SESSION_AT, options.resume_at.as_ref().map(Uuid::as_str))?;
        self.value_if(&flags::RESUME_DROPS_TURN, options.resume_drops_turn.as_ref().map(Uuid::as_str))?;
        self.switch_unless(&flags::NO_SESSION_PERSISTENCE, options.persistence)?;
        self.value_if(&flags::NAME, options.name.as_ref())?;
        match &options.worktree {
            Some(Worktree::Unnamed) => self.switch(&flags::WORKTREE),
            Some(Worktree::Named(name)) => self.value(&flags::WORKTREE, name),
            None => Ok(()),
        }
    }

    fn extras(&mut self, options: &Options) -> Result<(), OptionError> {
        for (name, value) in &options.extra_flags {
            self.push(format!("--{name}"), value.as_deref())?;
        }
        Ok(())
    }

    fn prompt(&mut self, text: &Flag, file: &Flag, prompt: Option<&Prompt>) -> Result<(), OptionError> {
        match prompt {
            Some(Prompt::Text(words)) => self.value(text, words),
            Some(Prompt::File(path)) => self.value(file, path),
            None => Ok(()),
        }
    }

    fn rules(&mut self, flag: &'static Flag, rules: &[String]) -> Result<(), OptionError> {
        for rule in rules {
            if !rules::is_one(rule) {
                return Err(OptionError::NotOneRule { flag: flag.name, rule: rule.clone() });
            }
            self.value(flag, rule)?;
        }
        Ok(())
    }

    fn list(&mut self, flag: &Flag, values: &[impl AsRef<OsStr>]) -> Result<(), OptionError> {
        values.iter().try_for_each(|value| self.value(flag, value))
    }

    fn value_if(&mut self, flag: &Flag, value: Option<impl AsRef<OsStr>>) -> Result<(), OptionError> {
        value.map_or(Ok(()), |value| self.value(flag, value))
    }

    fn switch_if(&mut self, flag: &Flag, switch: Switch) -> Result<(), OptionError> {
        if switch.is_on() { self.switch(flag) } else { Ok(()) }
    }

    fn switch_unless(&mut self, flag: &Flag, switch: Switch) -> Result<(), OptionError> {
        if switch.is_on() { Ok(()) } else { self.switch(flag) }
    }

    fn switch(&mut self, flag: &Flag) -> Result<(), OptionError> {
        self.known(flag)?;
        self.push(flag.name.to_owned(), None)
    }

    fn value(&mut self, flag: &Flag, value: impl AsRef<OsStr>) -> Result<(), OptionError> {
        self.known(flag)?;
        self.push(flag.name.to_owned(), Some(value.as_ref()))
    }

    fn known(&self, flag: &Flag) -> Result<(), OptionError> {
        if flag.is_known_to(self.version) {
            return Ok(());
        }
        Err(OptionError::Unsupported { flag: flag.name, needs: flag.since, has: self.version })
    }

    fn push(&mut self, flag: String, value: Option<&OsStr>) -> Result<(), OptionError> {
        let mut word = OsString::from(&flag);
        if let Some(value) = value {
            word.push("=");
            word.push(value);
        }
        if word.as_encoded_bytes().contains(&0) {
            return Err(OptionError::NulByte { flag });
        }
        if word.len() >= LONGEST_ARGUMENT {
            return Err(OptionError::TooLong { flag, length: word.len() });
        }
        self.words.push(word);
        Ok(())
    }
}

/// The CLI takes a text that looks like JSON for JSON, not for the path of a file.
fn plainly_a_path(path: &Path) -> PathBuf {
    if path.is_absolute() { path.to_owned() } else { Path::new(".").join(path) }
}

#[cfg(test)]
mod tests;

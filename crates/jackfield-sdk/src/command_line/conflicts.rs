//! Options that do not fit together.
//!
//! Not what a version lacks. The one rule it keeps: what the CLI would refuse after its start, or worse, take
//! in another way than it was meant, is refused before.

use std::ffi::OsStr;

use jackfield_core::session::Bypass;
use jackfield_wire::{PermissionMode, SessionId, Uuid};

use super::OptionError;
use crate::flags::{self, Flag};
use crate::options::{Options, SettingSource, Trust};

/// Flags that no option covers and that would end the conversation with the host, or move it elsewhere.
const FOR_A_TERMINAL: [&str; 11] = [
    "background",
    "bg",
    "cloud",
    "help",
    "init-only",
    "rc",
    "remote",
    "remote-control",
    "teleport",
    "tmux",
    "version",
];

pub(super) fn check(options: &Options) -> Result<(), OptionError> {
    conversation(options)?;
    bypass(options)?;
    trust(options)?;
    if let Some(dollars) = options.max_budget_usd.filter(|dollars| !(dollars.is_finite() && *dollars > 0.0)) {
        return Err(OptionError::Budget { dollars });
    }
    options.variables.0.iter().try_for_each(|(name, value)| variable(name, value.as_deref()))?;
    options.extra_flags.iter().try_for_each(|(name, _)| extra_flag(name))
}

fn conversation(options: &Options) -> Result<(), OptionError> {
    uuid(&flags::SESSION_ID, options.session_id.as_ref().map(SessionId::as_str))?;
    uuid(&flags::RESUME, options.resume.as_ref().map(SessionId::as_str))?;
    uuid(&flags::RESUME_SESSION_AT, options.resume_at.as_ref().map(Uuid::as_str))?;
    uuid(&flags::RESUME_DROPS_TURN, options.resume_drops_turn.as_ref().map(Uuid::as_str))?;

    let goes_on = options.resume.is_some() || options.continue_latest.is_on();
    if options.resume.is_some() && options.continue_latest.is_on() {
        // The CLI takes both and resumes; one of them is a mistake.
        return Err(OptionError::ResumeAndContinue);
    }
    if options.fork.is_on() && !goes_on {
        // The CLI would begin a new conversation without a word.
        return Err(OptionError::ForkOfNothing);
    }
    if options.session_id.is_some() && goes_on && !options.fork.is_on() {
        return Err(OptionError::SessionIdWithoutFork);
    }
    if options.resume_at.is_some() && options.resume.is_none() {
        return Err(OptionError::ResumeAtWithoutResume);
    }
    if options.resume_drops_turn.is_some() && options.resume_at.is_none() {
        return Err(OptionError::DropsTurnWithoutResumeAt);
    }
    Ok(())
}

fn bypass(options: &Options) -> Result<(), OptionError> {
    if options.permission_mode != Some(PermissionMode::BypassPermissions) {
        return Ok(());
    }
    // The CLI takes this mode at its start without having been allowed to.
    if options.bypass == Bypass::Forbidden {
        return Err(OptionError::BypassNotAllowed);
    }
    if options.restricted.is_on() { Err(OptionError::BypassRestricted) } else { Ok(()) }
}

fn trust(options: &Options) -> Result<(), OptionError> {
    let sources = options.setting_sources.iter().flatten();
    let of_the_folder = sources.copied().find(|source| *source != SettingSource::User);
    match (options.trust, of_the_folder) {
        (Trust::Untrusted, Some(source_name)) => Err(OptionError::UntrustedSource { source_name }),
        _ => Ok(()),
    }
}

fn uuid(flag: &'static Flag, value: Option<&str>) -> Result<(), OptionError> {
    match value {
        Some(value) if !is_uuid(value) => {
            Err(OptionError::NotAUuid { flag: flag.name, value: value.to_owned() })
        }
        _ => Ok(()),
    }
}

fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(index, byte)| match index {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

fn variable(name: &OsStr, value: Option<&OsStr>) -> Result<(), OptionError> {
    let has = |text: &OsStr, byte| text.as_encoded_bytes().contains(&byte);
    if name.is_empty() || has(name, b'=') || has(name, 0) || value.is_some_and(|value| has(value, 0)) {
        return Err(OptionError::Variable { name: name.to_owned() });
    }
    Ok(())
}

fn extra_flag(name: &str) -> Result<(), OptionError> {
    let begins_well = name.starts_with(|first: char| first.is_ascii_alphabetic());
    let is_name = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    if !(begins_well && is_name) {
        return Err(OptionError::FlagName { name: name.to_owned() });
    }
    let taken = |reason| Err(OptionError::FlagTaken { name: name.to_owned(), reason });
    let flag = format!("--{name}");
    if flags::TABLE.iter().any(|known| known.is_spelled(&flag)) {
        return taken("an option of its own covers it");
    }
    if FOR_A_TERMINAL.contains(&name) {
        return taken("it would end the conversation with the host");
    }
    Ok(())
}

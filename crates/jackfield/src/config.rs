//! The configuration: what is set, by whom, and as what the program uses it.
//!
//! What options there are is in the [`table`]. The one rule it keeps: a flag wins over a variable, a variable
//! over the file, the file over the default; and a word that is not understood is never passed over.

mod error;
mod file;
mod kind;
mod reference;
mod table;

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use clap::Args;
use jackfield_sdk::wire::PermissionMode;
use jackfield_sdk::{Environment, Options};
use serde::{Deserialize, Serialize};
use toml::{Table, Value};

pub(crate) use error::{ConfigError, Place};
use kind::Relative;
pub(crate) use reference::{effective, example, reference};
use table::{SETTINGS, Setting};

/// What the program is to do.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Config {
    pub(crate) server: Server,
    pub(crate) data: Data,
    pub(crate) claude: Claude,
    pub(crate) limits: Limits,
    pub(crate) tools: Tools,
    pub(crate) ide: Editor,
    pub(crate) log: Log,
    pub(crate) metrics: Metrics,
    pub(crate) traces: Traces,
    pub(crate) debug: Debug,
    pub(crate) speech: Speech,
    pub(crate) demo: Demo,
}

/// The page.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Server {
    pub(crate) listen: SocketAddr,
    pub(crate) tls: Tls,
    pub(crate) certificate: Option<PathBuf>,
    pub(crate) key: Option<PathBuf>,
    pub(crate) names: Vec<String>,
    pub(crate) base_path: Option<String>,
    pub(crate) allow_plain_http_beyond_loopback: bool,
    pub(crate) open_browser: bool,
}

/// Whether there is TLS without a certificate that was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
pub(crate) enum Tls {
    #[serde(rename = "off")]
    Off,
    #[serde(rename = "self")]
    Own,
}

/// What is kept.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Data {
    /// Not known only to a user without a home.
    pub(crate) folder: Option<PathBuf>,
}

/// The CLI.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Claude {
    pub(crate) program: Option<PathBuf>,
    pub(crate) model: Option<String>,
    pub(crate) permission_mode: Option<String>,
    pub(crate) allow_bypass: bool,
    pub(crate) environment: Names,
}

/// Variables that the CLI inherits or not, besides the SDK's own list.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Names {
    pub(crate) allow: Vec<String>,
    pub(crate) deny: Vec<String>,
}

/// What is too much.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Limits {
    pub(crate) budget_usd_per_session: Option<f64>,
    pub(crate) max_running_sessions: usize,
    pub(crate) idle_minutes: u32,
    pub(crate) resume_after_limit: bool,
}

/// Programs that look at code and run it.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Tools {
    pub(crate) python: Option<PathBuf>,
    pub(crate) code_seconds: u64,
    pub(crate) language_servers: Vec<String>,
    pub(crate) folders: Vec<PathBuf>,
    pub(crate) editor: bool,
}

/// The page as an editor.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Editor {
    pub(crate) folders: Vec<PathBuf>,
}

/// What the host writes about itself.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Log {
    pub(crate) level: Level,
    pub(crate) format: Format,
}

/// How much it writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Level {
    Off,
    Error,
    Warn,
    Info,
    Debug,
    Trace,
}

/// How it writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Format {
    Text,
    Json,
}

/// What is counted.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Metrics {
    pub(crate) enabled: bool,
    pub(crate) listen: Option<SocketAddr>,
}

/// What traces hold.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Traces {
    pub(crate) payloads: bool,
    pub(crate) payload_bytes: u32,
}

/// Files to find faults with.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Debug {
    pub(crate) agent_messages: bool,
}

/// Dictation.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Speech {
    pub(crate) engine: SpeechEngine,
    pub(crate) library: Option<PathBuf>,
    pub(crate) model: Option<PathBuf>,
    pub(crate) language: String,
    pub(crate) browser_fallback: bool,
}

/// What understands speech.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum SpeechEngine {
    Auto,
    Moonshine,
    SherpaOnnx,
    Off,
}

/// The demo agent.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Demo {
    pub(crate) enabled: bool,
}

/// The configuration on the command line.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Configuration")]
pub(crate) struct Flags {
    /// The configuration file
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// The data folder
    #[arg(long, value_name = "FOLDER")]
    pub(crate) data: Option<String>,
    /// The CLI's program: a path, or a name to look for in `PATH`
    #[arg(long, value_name = "PROGRAM")]
    pub(crate) claude: Option<String>,
    /// The address and port of the page
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) listen: Option<String>,
    /// Any option by its name, such as `limits.idle_minutes=5`; may be given several times
    #[arg(long, value_name = "OPTION=VALUE")]
    pub(crate) set: Vec<String>,
}

/// What is set, and by whom.
#[derive(Debug)]
pub(crate) struct Effective {
    pub(crate) config: Config,
    /// The configuration file, also when there is none at its place.
    pub(crate) file: Option<PathBuf>,
    /// Whether it was read.
    pub(crate) file_read: bool,
    pub(crate) values: Vec<Known>,
}

/// An option with its value.
#[derive(Debug)]
pub(crate) struct Known {
    pub(crate) setting: &'static Setting,
    pub(crate) value: Option<Value>,
    pub(crate) from: Place,
}

/// Puts together what the command line, the environment, the file and the table say.
pub(crate) fn load(flags: &Flags, environment: &Environment) -> Result<Effective, ConfigError> {
    let location = file::locate(flags, environment);
    let read = location.as_ref().map(file::read).transpose()?.flatten();
    let mut effective = Effective::defaults(environment)?;
    effective.file_read = read.is_some();
    for (key, value, place) in read.unwrap_or_default() {
        effective.set(key, value, place, environment)?;
    }
    for setting in SETTINGS {
        if let Some(variable) = setting.variable
            && let Some(text) = variable.get(environment)
        {
            // Text that is no text is not understood either, and said so.
            let value = setting.kind.value_of(&text.to_string_lossy());
            effective.set(setting, value, Place::Variable(variable.name), environment)?;
        }
    }
    for (key, text, flag) in flags.words()? {
        effective.set(key, key.kind.value_of(&text), Place::Flag(flag), environment)?;
    }
    effective.config = effective.typed()?;
    effective.file = location.map(|location| location.path);
    Ok(effective)
}

impl Effective {
    /// As if nobody had said anything.
    pub(crate) fn defaults(environment: &Environment) -> Result<Self, ConfigError> {
        let default = |setting: &'static Setting| Known {
            setting,
            value: setting.unset.value(environment),
            from: Place::Default,
        };
        let values: Vec<Known> = SETTINGS.iter().map(default).collect();
        let config = typed(&values)?;
        Ok(Self { config, file: None, file_read: false, values })
    }

    /// Who set an option.
    pub(crate) fn place(&self, key: &str) -> Option<&Place> {
        self.values.iter().find(|known| known.setting.key == key).map(|known| &known.from)
    }

    fn set(
        &mut self,
        setting: &'static Setting,
        value: Value,
        from: Place,
        environment: &Environment,
    ) -> Result<(), ConfigError> {
        let relative = if from.is_file() { Relative::Refused } else { Relative::Allowed };
        let found = value.to_string();
        let Some(value) = setting.kind.read(value, relative, environment) else {
            let expected = setting.kind.expected();
            return Err(ConfigError::Value { place: from, key: setting.key, found, expected });
        };
        for known in &mut self.values {
            if known.setting.key == setting.key {
                known.value = Some(value.clone());
                known.from = from.clone();
            }
        }
        Ok(())
    }

    fn typed(&self) -> Result<Config, ConfigError> {
        let config = typed(&self.values)?;
        let bypass = PermissionMode::BypassPermissions.as_str();
        if config.claude.permission_mode.as_deref() == Some(bypass) && !config.claude.allow_bypass {
            let place = self.place("claude.permission_mode").cloned().unwrap_or(Place::Default);
            return Err(ConfigError::Bypass { place });
        }
        Ok(config)
    }
}

fn typed(values: &[Known]) -> Result<Config, ConfigError> {
    let mut root = Table::new();
    for known in values {
        let (tables, name) = known.setting.parts();
        let mut table = &mut root;
        for part in tables.split('.') {
            let inner = table.entry(part).or_insert_with(|| Table::new().into());
            match inner {
                Value::Table(inner) => table = inner,
                _ => return Err(ConfigError::Table(known.setting.key.to_owned())),
            }
        }
        if let Some(value) = &known.value {
            table.insert(name.to_owned(), value.clone());
        }
    }
    root.try_into().map_err(|error| ConfigError::Table(error.to_string()))
}

impl Flags {
    /// The options that the flags set, the general one first: a flag of its own wins over it.
    fn words(&self) -> Result<Vec<(&'static Setting, String, &'static str)>, ConfigError> {
        let mut words = Vec::new();
        for word in &self.set {
            let place = || Place::Flag("--set");
            let (key, text) = word
                .split_once('=')
                .ok_or_else(|| ConfigError::NoValue { place: place(), word: word.clone() })?;
            words.push((error::find(key.trim(), place)?, text.trim().to_owned(), "--set"));
        }
        for (flag, given) in [("--data", &self.data), ("--claude", &self.claude), ("--listen", &self.listen)]
        {
            let setting = SETTINGS.iter().find(|setting| setting.flag == Some(flag));
            words.extend(setting.zip(given.clone()).map(|(setting, text)| (setting, text, flag)));
        }
        Ok(words)
    }
}

impl Config {
    /// The data folder, which everybody but a user without a home has.
    pub(crate) fn data_folder(&self) -> Result<&Path, ConfigError> {
        self.data.folder.as_deref().ok_or(ConfigError::NoDataFolder)
    }

    /// A session in a folder, as the configuration wants it and before anybody says more.
    pub(crate) fn session(&self, folder: impl Into<PathBuf>, environment: &Environment) -> Options {
        let claude = &self.claude;
        let mut options = Options::new(folder);
        if let Some(program) = &claude.program {
            options = options.claude(program);
        }
        if let Some(model) = &claude.model {
            options = options.model(model);
        }
        if claude.allow_bypass {
            options = options.allow_bypass();
        }
        if let Some(mode) = &claude.permission_mode {
            options = options.permission_mode(mode.as_str().into());
        }
        if let Some(dollars) = self.limits.budget_usd_per_session {
            options = options.max_budget_usd(dollars);
        }
        for (name, value) in claude.environment.variables(environment) {
            options = match value {
                Some(value) => options.variable(name, value),
                None => options.without_variable(name),
            };
        }
        options
    }
}

impl Names {
    /// The variables to set in the CLI's environment, and without a value to remove from it.
    pub(crate) fn variables(&self, environment: &Environment) -> Vec<(OsString, Option<OsString>)> {
        let inherited = |name: &String| {
            let name = OsString::from(name);
            environment.get(&name).map(|value| (name.clone(), Some(value.clone())))
        };
        let allowed = self.allow.iter().filter(|name| !self.deny.contains(name)).filter_map(inherited);
        allowed.chain(self.deny.iter().map(|name| (name.into(), None))).collect()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn loaded(words: &[&str], environment: &Environment) -> Config {
        let set = words.iter().map(|word| (*word).to_owned()).collect();
        load(&Flags { set, ..Flags::default() }, environment).unwrap().config
    }

    #[test]
    fn there_is_a_field_for_every_option_and_an_option_for_every_field() {
        fn leaves(value: &serde_json::Value, above: &str, found: &mut Vec<String>) {
            let Some(table) = value.as_object() else {
                return found.push(above.trim_start_matches('.').to_owned());
            };
            for (name, value) in table {
                leaves(value, &format!("{above}.{name}"), found);
            }
        }
        let mut fields = Vec::new();
        leaves(&serde_json::to_value(loaded(&[], &Environment::new())).unwrap(), "", &mut fields);
        let mut options: Vec<_> = SETTINGS.iter().map(|setting| setting.key.to_owned()).collect();
        fields.sort();
        options.sort();
        assert_eq!(fields, options);
    }

    #[test]
    fn the_cli_inherits_what_is_allowed_and_not_what_is_denied() {
        let names = ["DEBUG", "NODE_OPTIONS", "TOKEN", "KEPT"];
        let environment: Environment = names.map(|name| (name.into(), "1".into())).into();
        let words = [
            "claude.environment.allow=DEBUG,NODE_OPTIONS,ABSENT",
            "claude.environment.deny=TOKEN,NODE_OPTIONS",
        ];
        let options = loaded(&words, &environment).session("/ws", &environment);
        let seen = jackfield_sdk::environment(environment, &options);
        let inherited: Vec<_> =
            names.into_iter().filter(|name| seen.contains_key(std::ffi::OsStr::new(name))).collect();
        assert_eq!(inherited, ["DEBUG", "KEPT"]);
    }

    #[test]
    fn a_session_is_started_as_configured() {
        let words = [
            "claude.model=opus",
            "claude.permission_mode=bypassPermissions",
            "claude.allow_bypass=true",
            "limits.budget_usd_per_session=2.5",
        ];
        let environment = Environment::new();
        let options = loaded(&words, &environment).session("/ws", &environment);
        let line = jackfield_sdk::command_line(&options, jackfield_sdk::MINIMUM_VERSION).unwrap();
        let line: Vec<_> = line.iter().map(|word| word.to_string_lossy()).collect();
        let line = line.join(" ");
        for words in ["--model=opus", "--permission-mode=bypassPermissions", "--max-budget-usd=2.5"] {
            assert!(line.contains(words), "no `{words}` in {line}");
        }
    }
}

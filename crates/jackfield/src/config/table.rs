//! The table of options: what there is, what each is for, and what it is when nobody says anything.
//!
//! Not what it is set to. The one rule it keeps: the file, the checks, the example and the reference all come
//! from this table, so that no option is without its documentation.

use jackfield_sdk::Environment;
use toml::Value;

use super::kind::Kind;
use crate::variables::{self, Variable};

/// An option.
#[derive(Debug)]
pub(crate) struct Setting {
    /// Its table in the file and its name in it: `server.listen`.
    pub(crate) key: &'static str,
    pub(crate) kind: Kind,
    pub(crate) unset: Unset,
    pub(crate) variable: Option<&'static Variable>,
    pub(crate) flag: Option<&'static str>,
    /// What it does, in full sentences.
    pub(crate) meaning: &'static str,
    /// A value to show where there is no default.
    pub(crate) example: &'static str,
}

/// What an option is when nobody says anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unset {
    /// This, as it would stand in the file.
    Value(&'static str),
    /// Nothing: what that means stands in the option's meaning.
    Nothing,
    /// The folder `jackfield` among the data of the user's programs.
    DataFolder,
}

const MODES: &[&str] = &["default", "acceptEdits", "plan", "bypassPermissions", "dontAsk", "auto"];
const LEVELS: &[&str] = &["off", "error", "warn", "info", "debug", "trace"];

/// Every option, in the order in which it is shown.
pub(crate) const SETTINGS: &[Setting] = &[
    Setting {
        variable: Some(&variables::LISTEN),
        flag: Some("--listen"),
        ..Setting::new(
            "server.listen",
            Kind::Address,
            Unset::Value("\"127.0.0.1:4180\""),
            "Where the page is served. Port 0 takes any free one.",
        )
    },
    Setting {
        example: "\"self\"",
        ..Setting::new(
            "server.tls",
            Kind::Word(&["off", "self"]),
            Unset::Value("\"off\""),
            "Whether the page is served with TLS. `self` makes a certificate once and keeps it in the data folder; \
             browsers warn of it, and its fingerprint is printed. An address that other machines can reach needs TLS.",
        )
    },
    Setting {
        example: "\"~/certificates/box.pem\"",
        ..Setting::new(
            "server.certificate",
            Kind::File,
            Unset::Nothing,
            "A certificate for TLS with those that vouch for it, in PEM. With `server.key` it is used, whatever \
             `server.tls` says.",
        )
    },
    Setting {
        example: "\"~/certificates/box-key.pem\"",
        ..Setting::new("server.key", Kind::File, Unset::Nothing, "The certificate's key, in PEM.")
    },
    Setting {
        example: "[\"box.local\", \"https://example.org\"]",
        ..Setting::new(
            "server.names",
            Kind::Hosts,
            Unset::Value("[]"),
            "Names that the server answers to besides its address and `localhost`: a name for its own port, or a whole \
             origin for a proxy in front of it. The first one stands in links.",
        )
    },
    Setting {
        example: "\"/jackfield\"",
        ..Setting::new(
            "server.base_path",
            Kind::Text,
            Unset::Nothing,
            "The path under which a proxy serves the page. If not set, the page is at `/`.",
        )
    },
    Setting::new(
        "server.allow_plain_http_beyond_loopback",
        Kind::Switch,
        Unset::Value("false"),
        "Whether other machines may be served without TLS. Everybody between could then read all that is said and \
         take a login over; only for networks that are secured otherwise.",
    ),
    Setting::new(
        "server.open_browser",
        Kind::Switch,
        Unset::Value("true"),
        "Whether `jackfield serve` opens the page in a browser when it is started from a terminal.",
    ),
    Setting {
        variable: Some(&variables::DATA),
        flag: Some("--data"),
        example: "\"~/jackfield\"",
        ..Setting::new(
            "data.folder",
            Kind::Folder,
            Unset::DataFolder,
            "Where sessions are kept. Only you may read it.",
        )
    },
    Setting {
        variable: Some(&variables::CLAUDE),
        flag: Some("--claude"),
        example: "\"/usr/local/bin/claude\"",
        ..Setting::new(
            "claude.program",
            Kind::Program,
            Unset::Nothing,
            "The CLI: a path, or a name to look for in `PATH`. If not set, `claude` is looked for in `PATH` and \
             in the usual places of installers.",
        )
    },
    Setting {
        example: "\"opus\"",
        ..Setting::new(
            "claude.model",
            Kind::Text,
            Unset::Nothing,
            "The model of new sessions, by alias or full name. If not set, the CLI decides.",
        )
    },
    Setting {
        example: "\"acceptEdits\"",
        ..Setting::new(
            "claude.permission_mode",
            Kind::Word(MODES),
            Unset::Nothing,
            "The mode in which new sessions start. If not set, the CLI decides. `bypassPermissions` needs \
             `claude.allow_bypass`.",
        )
    },
    Setting::new(
        "claude.allow_bypass",
        Kind::Switch,
        Unset::Value("false"),
        "Whether sessions may go into `bypassPermissions`, where nothing is asked any more.",
    ),
    Setting {
        example: "[\"NODE_OPTIONS\"]",
        ..Setting::new(
            "claude.environment.allow",
            Kind::Names,
            Unset::Value("[]"),
            "Variables that the CLI inherits from you although they are on the deny list (`NODE_OPTIONS`, \
             `DEBUG` and the like).",
        )
    },
    Setting {
        example: "[\"GITHUB_TOKEN\"]",
        ..Setting::new(
            "claude.environment.deny",
            Kind::Names,
            Unset::Value("[]"),
            "Variables that the CLI, and so every command it runs, does not inherit from you. Wins over `allow`.",
        )
    },
    Setting {
        example: "5.0",
        ..Setting::new(
            "limits.budget_usd_per_session",
            Kind::Dollars,
            Unset::Nothing,
            "How many dollars a session may cost before its work is stopped. If not set, as many as it takes.",
        )
    },
    Setting::new(
        "limits.max_running_sessions",
        Kind::Whole(1, 1000),
        Unset::Value("20"),
        "How many sessions may have a CLI running at the same time; each takes about 120 MB of memory. If that is not \
         enough, the one that has done nothing for the longest is closed; the next prompt resumes it.",
    ),
    Setting::new(
        "limits.idle_minutes",
        Kind::Whole(0, 525_600),
        Unset::Value("30"),
        "After so many minutes without work a session's CLI is closed; the next prompt resumes it. 0 is never.",
    ),
    Setting::new(
        "limits.resume_after_limit",
        Kind::Switch,
        Unset::Value("false"),
        "Whether a session that a rate limit stopped goes on by itself when the limit resets.",
    ),
    Setting {
        example: "\"~/.venv/bin/python\"",
        ..Setting::new(
            "tools.python",
            Kind::Program,
            Unset::Nothing,
            "The Python, with `ipykernel`, that the tool `executeCode` runs code in; its variables are kept from one call \
             to the next. If not set, sessions do not have the tool, and `jackfield ide` tries `python3`. Like every tool \
             it asks for leave.",
        )
    },
    Setting::new(
        "tools.code_seconds",
        Kind::Whole(1, 86_400),
        Unset::Value("600"),
        "How long a piece of code may run before it is interrupted.",
    ),
    Setting {
        example: "[\"py pyi: pyright-langserver --stdio\"]",
        ..Setting::new(
            "tools.language_servers",
            Kind::LanguageServers,
            Unset::Value("[]"),
            "Language servers that look for problems where no editor does: in `jackfield ide` without a plugin, and in \
             sessions, which get the tool `getDiagnostics` and are told the new problems after each edit. Each stands \
             with the endings of its files; words are separated by spaces. A language server may run what lies in a \
             folder, so sessions have it only in folders that are trusted, and in those of `tools.folders`.",
        )
    },
    Setting {
        example: "[\"~/projects\"]",
        ..Setting::new(
            "tools.folders",
            Kind::Folders,
            Unset::Value("[]"),
            "Folders of your own: in them and below them sessions have the language servers, whether or not the folder is \
             trusted. A folder without hooks, servers and settings of its own is not asked about, so this is how its \
             sessions get them.",
        )
    },
    Setting::new(
        "tools.editor",
        Kind::Switch,
        Unset::Value("false"),
        "Whether sessions ask the editor that has their folder open and that the interactive CLI could connect to: files \
         with unsaved changes are saved before an edit, and the editor's problems are known.",
    ),
    Setting {
        flag: Some("--ide"),
        example: "[\"~/project\"]",
        ..Setting::new(
            "ide.folders",
            Kind::Folders,
            Unset::Value("[]"),
            "Folders for which the page of `jackfield serve` is the editor of an interactive `claude`: the changes that it \
             proposes are accepted, edited or rejected in the page. If empty, the page is no editor.",
        )
    },
    Setting {
        variable: Some(&variables::LOG),
        ..Setting::new(
            "log.level",
            Kind::Word(LEVELS),
            Unset::Value("\"info\""),
            "How much the host writes about itself, to standard error and to `jackfield.log` in the data folder.",
        )
    },
    Setting {
        variable: Some(&variables::LOG_FORMAT),
        ..Setting::new(
            "log.format",
            Kind::Word(&["text", "json"]),
            Unset::Value("\"text\""),
            "How it writes that: text to read, or one JSON object per line.",
        )
    },
    Setting::new(
        "metrics.enabled",
        Kind::Switch,
        Unset::Value("true"),
        "Whether figures are counted and told at `/metrics`, in the form that Prometheus reads. Who asks needs a login.",
    ),
    Setting {
        example: "\"127.0.0.1:9464\"",
        ..Setting::new(
            "metrics.listen",
            Kind::Address,
            Unset::Nothing,
            "Another address for `/metrics`, without a login, for a collector on this machine. It must be a loopback \
             address.",
        )
    },
    Setting::new(
        "traces.payloads",
        Kind::Switch,
        Unset::Value("false"),
        "Whether traces hold what was said, as it came and as it was understood, side by side. Secrets are taken out by \
         their looks.",
    ),
    Setting::new(
        "traces.payload_bytes",
        Kind::Whole(64, 1_048_576),
        Unset::Value("4096"),
        "How much of one such text at most.",
    ),
    Setting {
        variable: Some(&variables::DEBUG_AGENT_MESSAGES),
        ..Setting::new(
            "debug.agent_messages",
            Kind::Switch,
            Unset::Value("false"),
            "Whether every session writes its debug files into the folder `debug` of the data folder: all lines to and \
             from the CLI, and the events. A single session's can be switched on while it runs.",
        )
    },
    Setting::new(
        "speech.engine",
        Kind::Word(&["auto", "moonshine", "sherpa-onnx", "off"]),
        Unset::Value("\"auto\""),
        "What understands speech. `auto` is sherpa-onnx if `speech.model` is set, and else moonshine, which `jackfield \
         speech setup` fetches. Sound never leaves the machine.",
    ),
    Setting {
        example: "\"~/sherpa-onnx/lib/libsherpa-onnx-c-api.so\"",
        ..Setting::new(
            "speech.library",
            Kind::File,
            Unset::Nothing,
            "The library of the engine. If not set, that of `jackfield speech setup` for moonshine, and for sherpa-onnx \
             the one that the system finds.",
        )
    },
    Setting {
        example: "\"~/sherpa-onnx-whisper-base\"",
        ..Setting::new(
            "speech.model",
            Kind::Folder,
            Unset::Nothing,
            "The folder with the engine's model. Moonshine has its own; sherpa-onnx needs one.",
        )
    },
    Setting {
        example: "\"de\"",
        ..Setting::new(
            "speech.language",
            Kind::Text,
            Unset::Value("\"en\""),
            "What is spoken, where nobody says otherwise. The model must know it.",
        )
    },
    Setting::new(
        "speech.browser_fallback",
        Kind::Switch,
        Unset::Value("true"),
        "Whether the page may offer the browser's own recogniser where there is no engine here. It says before that the \
         sound may then go to the browser's maker.",
    ),
    Setting::new(
        "demo.enabled",
        Kind::Switch,
        Unset::Value("true"),
        "Whether the built-in demo agent is offered, which needs no account and no CLI.",
    ),
];

impl Setting {
    const fn new(key: &'static str, kind: Kind, unset: Unset, meaning: &'static str) -> Self {
        Self { key, kind, unset, variable: None, flag: None, meaning, example: "" }
    }

    /// The option of this name.
    pub(crate) fn find(key: &str) -> Option<&'static Self> {
        SETTINGS.iter().find(|setting| setting.key == key)
    }

    /// Its table in the file, and its name in it.
    pub(crate) fn parts(&self) -> (&'static str, &'static str) {
        self.key.rsplit_once('.').unwrap_or(("", self.key))
    }
}

impl Unset {
    /// The value, for a user with this environment.
    pub(crate) fn value(self, environment: &Environment) -> Option<Value> {
        match self {
            Self::Value(text) => toml::de::ValueDeserializer::parse(text)
                .ok()
                .and_then(|value| serde::Deserialize::deserialize(value).ok()),
            Self::Nothing => None,
            Self::DataFolder => {
                let home = || Some(variables::HOME.folder(environment)?.join(".local/share"));
                let folder = variables::XDG_DATA_HOME.folder(environment).or_else(home)?.join("jackfield");
                folder.to_str().map(|folder| Value::String(folder.to_owned()))
            }
        }
    }
}

/// The option or table whose name is nearest to a word that is none.
pub(crate) fn nearest(key: &str) -> &'static str {
    let last = |key: &str| key.rsplit('.').next().unwrap_or(key).to_owned();
    let tables = SETTINGS.iter().map(|setting| setting.parts().0);
    let candidates = SETTINGS.iter().map(|setting| setting.key).chain(tables);
    // A name in the wrong table is near to itself.
    let distance = |candidate: &&str| {
        let whole = strsim::damerau_levenshtein(key, candidate);
        whole.min(strsim::damerau_levenshtein(&last(key), &last(candidate)) + 1)
    };
    candidates.min_by_key(distance).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::super::kind::Relative;
    use super::*;

    #[test]
    fn every_default_and_example_is_a_value_of_its_option() {
        for setting in SETTINGS {
            let environment = Environment::from([("HOME".into(), "/home/me".into())]);
            for unset in [setting.unset, Unset::Value(setting.example)] {
                if matches!(unset, Unset::Nothing | Unset::Value("")) {
                    continue;
                }
                let value = unset.value(&environment);
                let read = value.and_then(|value| setting.kind.read(value, Relative::Refused, &environment));
                assert!(read.is_some(), "{} {unset:?}", setting.key);
            }
            let shown = matches!(setting.unset, Unset::Value(_)) || !setting.example.is_empty();
            assert!(shown, "{} has nothing to show", setting.key);
        }
    }

    #[test]
    fn a_misspelt_name_is_recognised_also_in_the_wrong_table() {
        for (word, meant) in [
            ("server.lisen", "server.listen"),
            ("sever", "server"),
            ("listen", "server.listen"),
            ("data.idle_minutes", "limits.idle_minutes"),
            ("claude.enviroment.deny", "claude.environment.deny"),
            ("limits.max_sessions", "limits.max_running_sessions"),
        ] {
            assert_eq!(nearest(word), meant, "{word}");
        }
    }
}

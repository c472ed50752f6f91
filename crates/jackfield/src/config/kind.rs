//! What kinds of values options have: how each is read, and how it is called when it is wrong.
//!
//! It knows no single option. The one rule it keeps: a value that passed [`Kind::read`] needs no second look.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use jackfield_sdk::Environment;
use toml::Value;

use crate::{variables, workbench};

/// What a value may be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Kind {
    Switch,
    /// A whole number, from and to.
    Whole(i64, i64),
    Dollars,
    Text,
    Word(&'static [&'static str]),
    Address,
    Folder,
    File,
    /// A path, or a name to look for in `PATH`.
    Program,
    /// Names of environment variables.
    Names,
    /// Names under which a server is reached.
    Hosts,
    Folders,
    /// Language servers, each with its files.
    LanguageServers,
}

/// Where relative paths are meant from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Relative {
    /// From the current folder: somebody typed it there.
    Allowed,
    /// From nowhere: it lies in a file.
    Refused,
}

impl Kind {
    /// What is expected, for somebody who wrote something else.
    pub(crate) fn expected(self) -> String {
        match self {
            Self::Switch => "`true` or `false`".to_owned(),
            Self::Whole(least, most) => format!("a whole number from {least} to {most}"),
            Self::Dollars => "an amount of dollars above 0".to_owned(),
            Self::Text => "a text that is not empty".to_owned(),
            Self::Word(words) => {
                let words: Vec<_> = words.iter().map(|word| format!("`{word}`")).collect();
                format!("one of {}", words.join(", "))
            }
            Self::Address => "an address and a port, such as `127.0.0.1:4180`".to_owned(),
            Self::Folder | Self::File => "an absolute path, or one that begins with `~/`".to_owned(),
            Self::Program => {
                "the name of a program, an absolute path, or one that begins with `~/`".to_owned()
            }
            Self::Names => {
                "a list of names of environment variables (not ours), such as `[\"DEBUG\"]`".to_owned()
            }
            Self::Folders => {
                "a list of absolute paths, or of such that begin with `~/`, such as `[\"~/project\"]`".to_owned()
            }
            Self::LanguageServers => "a list of language servers, each with the endings of its files before a colon, \
                                      such as `[\"py pyi: pyright-langserver --stdio\"]`; a program is a name or an \
                                      absolute path"
                .to_owned(),
            Self::Hosts => "a list of names, such as `[\"box.local\", \"https://example.org\"]`".to_owned(),
        }
    }

    /// A word of the command line or a variable, as the value that it stands for. One that stands for none is
    /// left as it is, and [`Kind::read`] refuses it.
    pub(crate) fn value_of(self, text: &str) -> Value {
        let parsed = match self {
            Self::Switch => text.parse().ok().map(Value::Boolean),
            Self::Whole(..) => text.parse().ok().map(Value::Integer),
            Self::Dollars => text.parse().ok().map(Value::Float),
            Self::Names | Self::Hosts | Self::Folders | Self::LanguageServers => {
                let names = text.split(',').filter(|name| !name.is_empty());
                Some(Value::Array(names.map(|name| name.to_owned().into()).collect()))
            }
            Self::Text | Self::Word(_) | Self::Address | Self::Folder | Self::File | Self::Program => None,
        };
        parsed.unwrap_or_else(|| text.to_owned().into())
    }

    /// The value in the form in which it is used, if it is one.
    pub(crate) fn read(self, value: Value, relative: Relative, environment: &Environment) -> Option<Value> {
        match (self, value) {
            (Self::Switch, value @ Value::Boolean(_)) => Some(value),
            (Self::Whole(least, most), Value::Integer(number)) => {
                (least..=most).contains(&number).then_some(Value::Integer(number))
            }
            (Self::Dollars, Value::Float(dollars)) => {
                (dollars.is_finite() && dollars > 0.0).then_some(Value::Float(dollars))
            }
            (Self::Dollars, Value::Integer(dollars)) => {
                let dollars = u32::try_from(dollars).ok().filter(|dollars| *dollars > 0)?;
                Some(Value::Float(f64::from(dollars)))
            }
            (Self::Text, Value::String(text)) => (!text.trim().is_empty()).then_some(Value::String(text)),
            (Self::Word(words), Value::String(word)) => {
                words.contains(&&*word).then_some(Value::String(word))
            }
            (Self::Address, Value::String(address)) => {
                address.parse::<SocketAddr>().ok().map(|address| address.to_string().into())
            }
            (Self::Program, Value::String(name)) if Path::new(&name).components().count() == 1 => {
                (!name.starts_with(['.', '~'])).then_some(Value::String(name))
            }
            (Self::Folder | Self::File | Self::Program, Value::String(path)) => {
                let path = absolute(&path, relative, environment)?;
                path.to_str().map(|path| Value::String(path.to_owned()))
            }
            (Self::Names, Value::Array(names)) => {
                let is_name = |name: &Value| {
                    name.as_str().is_some_and(|name| {
                        !name.is_empty() && !name.contains('=') && !name.starts_with(variables::PREFIX)
                    })
                };
                names.iter().all(is_name).then_some(Value::Array(names))
            }
            (Self::Folders, Value::Array(paths)) => {
                let path = |path: Value| Self::Folder.read(path, relative, environment);
                paths.into_iter().map(path).collect::<Option<_>>().map(Value::Array)
            }
            (Self::LanguageServers, Value::Array(servers)) => {
                let is_one = |server: &Value| server.as_str().and_then(workbench::language_server).is_some();
                servers.iter().all(is_one).then_some(Value::Array(servers))
            }
            // What is a name is known to the server.
            (Self::Hosts, Value::Array(names)) => {
                let is_text = |name: &Value| name.as_str().is_some_and(|name| !name.trim().is_empty());
                names.iter().all(is_text).then_some(Value::Array(names))
            }
            _ => None,
        }
    }
}

fn absolute(path: &str, relative: Relative, environment: &Environment) -> Option<PathBuf> {
    if let Some(below) = path.strip_prefix("~/") {
        return Some(variables::HOME.folder(environment)?.join(below));
    }
    let path = Path::new(path);
    match relative {
        _ if path.is_absolute() => Some(path.to_owned()),
        Relative::Allowed => std::path::absolute(path).ok(),
        Relative::Refused => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(kind: Kind, text: &str) -> Option<Value> {
        let home = Environment::from([("HOME".into(), "/home/me".into())]);
        kind.read(kind.value_of(text), Relative::Refused, &home)
    }

    #[test]
    fn every_kind_takes_its_own_and_refuses_the_rest() {
        let words = Kind::Word(&["text", "json"]);
        for (kind, good, bad) in [
            (Kind::Switch, &["true", "false"][..], &["yes", "1", ""][..]),
            (Kind::Whole(1, 20), &["1", "20"], &["0", "21", "-1", "2.5", "many"]),
            (Kind::Dollars, &["0.5", "3"], &["0", "-1", "inf", "NaN", "free"]),
            (Kind::Text, &["opus"], &["", "  "]),
            (words, &["text"], &["Text", "xml", ""]),
            (
                Kind::Address,
                &["127.0.0.1:4180", "[::1]:0"],
                &["localhost:4180", "127.0.0.1", "4180", "1.2.3.4:99999"],
            ),
            (Kind::Folder, &["/srv/x", "~/x"], &["x", "./x", "~someone/x", ""]),
            (
                Kind::Program,
                &["claude", "/bin/claude", "~/bin/claude"],
                &["bin/claude", "./claude", "~", "..", ""],
            ),
            (Kind::Names, &["DEBUG,NODE_OPTIONS", ""], &["A=B", "JACKFIELD_DATA"]),
            (Kind::File, &["/srv/x.pem", "~/x.pem"], &["x.pem", ""]),
            (Kind::Folders, &["/srv/x,~/y", ""], &["x", "/srv/x,y"]),
            (Kind::LanguageServers, &["py pyi: pyright-langserver --stdio", ""], &["pyright", "py: bin/x"]),
            (Kind::Hosts, &["box.local,https://example.org", ""], &[" "]),
        ] {
            for text in good {
                assert!(read(kind, text).is_some(), "{kind:?} {text}");
            }
            for text in bad {
                assert_eq!(read(kind, text), None, "{kind:?} {text}");
            }
        }
    }

    #[test]
    fn a_tilde_is_the_home() {
        assert_eq!(read(Kind::Folder, "~/data"), Some("/home/me/data".into()));
        let without_home = Kind::Folder.read("~/data".into(), Relative::Allowed, &Environment::new());
        assert_eq!(without_home, None);
    }
}

//! The options as text: an example file, the reference in Markdown, and what is set.
//!
//! Nothing is written down twice: all of it comes from the tables. The one rule it keeps: the example and the
//! effective configuration are files that this program reads.

use std::fmt::Write;

use super::table::{SETTINGS, Setting, Unset};
use super::{Effective, Place};
use crate::variables;

/// How wide a line of a comment is.
const WIDTH: usize = 96;

const OPENING: &str = "\
Configuration of Jackfield. Every option is here with its default, or with an example behind a `#`.
It is read from `$XDG_CONFIG_HOME/jackfield/config.toml` (`~/.config/jackfield/config.toml`), or from where \
`--config` or `JACKFIELD_CONFIG` says. A flag wins over a variable, a variable over this file.";

/// A complete file with comments.
pub(crate) fn example() -> String {
    let mut text = comment(OPENING);
    let mut table = "";
    for setting in SETTINGS {
        let (in_table, name) = setting.parts();
        text.push('\n');
        if in_table != table {
            line(&mut text, &format!("[{in_table}]"));
            table = in_table;
        }
        text.push_str(&comment(setting.meaning));
        let _ = match setting.unset {
            Unset::Value(value) => writeln!(text, "{name} = {value}"),
            Unset::Nothing | Unset::DataFolder => writeln!(text, "# {name} = {}", setting.example),
        };
    }
    text
}

/// `docs/configuration.md`.
pub(crate) fn reference() -> String {
    let mut text = String::from(
        "# Configuration\n\n\
         Generated from the tables of the program by `jackfield config --reference`; a test compares the two.\n\n\
         The file is `$XDG_CONFIG_HOME/jackfield/config.toml`, else `~/.config/jackfield/config.toml`, or the one \
         that `--config FILE` or `JACKFIELD_CONFIG` names.\n\
         A flag wins over an environment variable, a variable over the file, the file over the default.\n\
         An option that is not known, or a value that does not fit, is an error that says where it stands.\n\n\
         - `jackfield config` prints what is in effect, and where each value comes from.\n\
         - `jackfield config --example` prints a complete file with comments.\n\
         - `--set OPTION=VALUE` sets any option on the command line; lists are separated by commas.\n\
         - `jackfield doctor` tells whether it all works.\n",
    );
    let mut table = "";
    for setting in SETTINGS {
        let (in_table, name) = setting.parts();
        if in_table != table {
            line(&mut text, &format!("\n## `[{in_table}]`"));
            table = in_table;
        }
        line(&mut text, &format!("\n### `{name}`\n{}\n", setting.meaning));
        line(&mut text, &format!("- expects {}", setting.kind.expected()));
        line(&mut text, &format!("- default: {}", default(setting)));
        if !setting.example.is_empty() {
            line(&mut text, &format!("- example: `{name} = {}`", setting.example));
        }
        if let Some(variable) = setting.variable {
            line(&mut text, &format!("- variable: `{}`", variable.name));
        }
        if let Some(flag) = setting.flag {
            line(&mut text, &format!("- flag: `{flag}`"));
        }
    }
    text.push_str("\n## Environment variables\n\nOne that is empty counts as not set.\n\n| variable | meaning |\n|---|---|\n");
    for variable in variables::ALL {
        line(&mut text, &format!("| `{}` | {} |", variable.name, variable.meaning));
    }
    text
}

/// What is set and by whom, as a file.
pub(crate) fn effective(effective: &Effective) -> String {
    let mut text = match &effective.file {
        Some(file) if effective.file_read => format!("# {}\n", file.display()),
        Some(file) => format!("# {} (there is no such file)\n", file.display()),
        None => "# no place for a configuration file: HOME is not set\n".to_owned(),
    };
    let mut table = "";
    for known in &effective.values {
        let (in_table, name) = known.setting.parts();
        if in_table != table {
            line(&mut text, &format!("\n[{in_table}]"));
            table = in_table;
        }
        let from = match &known.from {
            Place::File { line, .. } => format!("line {line}"),
            other => other.to_string(),
        };
        match &known.value {
            Some(value) => line(&mut text, &format!("{:40} # {from}", format!("{name} = {value}"))),
            None => line(&mut text, &format!("{:40} # not set", format!("# {name}"))),
        }
    }
    text
}

fn default(setting: &Setting) -> String {
    match setting.unset {
        Unset::Value(value) => format!("`{value}`"),
        Unset::Nothing => "not set".to_owned(),
        Unset::DataFolder => "`$XDG_DATA_HOME/jackfield`, else `~/.local/share/jackfield`".to_owned(),
    }
}

fn line(text: &mut String, line: &str) {
    text.push_str(line);
    text.push('\n');
}

/// Text behind `#`, in lines of bounded width.
fn comment(words: &str) -> String {
    let mut text = String::new();
    for paragraph in words.lines() {
        let mut width = 0;
        for word in paragraph.split(' ') {
            let length = word.chars().count() + 1;
            if width > 0 && width + length > WIDTH {
                text.push('\n');
                width = 0;
            }
            if width == 0 {
                text.push('#');
            }
            text.push(' ');
            text.push_str(word);
            width += length;
        }
        text.push('\n');
    }
    text
}

//! What a question is about: its files and its command.
//!
//! The input counts, for that is what runs; the normalised shape tells how well it is understood.

use std::cell::OnceCell;

use jackfield_api::Normalized;
use jackfield_api::host::HostRule;
use jackfield_api::permission::{Behavior, PermissionRequest};
use serde::Deserialize;
use serde_json::Value;

use super::command::{Parts, is_covered, parts};
use super::pattern::{PathPattern, text_fits};
use super::place::{Place, is_below};
use super::{Asked, Fit};

/// The files that a question names, as it names them. The host follows the links in them and gives the result
/// to [`super::judge`].
pub fn files_asked_about(request: &PermissionRequest) -> Vec<String> {
    Named::by(request).files
}

/// What a question names.
struct Named {
    files: Vec<String>,
    /// Whether the tool is one of a kind that touches these files and no others.
    only_files: bool,
    command: Option<String>,
    /// Whether the tool runs exactly this command.
    only_command: bool,
    /// Whether its input could be read at all.
    readable: bool,
}

/// The fields in which tools name files and commands.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Fields {
    file_path: Value,
    notebook_path: Value,
    path: Value,
    command: Value,
}

impl Named {
    fn by(request: &PermissionRequest) -> Self {
        let fields = request.input.as_ref().map(jackfield_api::Json::read::<Fields>);
        let readable = !matches!(fields, Some(Err(_)));
        let fields = fields.and_then(Result::ok);
        let mut files = Vec::new();
        let mut odd = !readable;
        let mut add = |file: &str| {
            if !files.iter().any(|known| known == file) {
                files.push(file.to_owned());
            }
        };
        let shape = match &request.normalized {
            Some(Normalized::ModifyFile(modify)) => Some(&modify.file_path),
            Some(Normalized::ReadFile(read)) => Some(&read.file_path),
            _ => None,
        };
        if let Some(file) = shape {
            add(file);
        }
        if let Some(fields) = &fields {
            for field in [&fields.file_path, &fields.notebook_path, &fields.path] {
                match field {
                    Value::Null => {}
                    Value::String(file) => add(file),
                    _ => odd = true,
                }
            }
        }
        let only_files = shape.is_some() && !odd;
        let exec = match &request.normalized {
            Some(Normalized::ShellExec(exec)) => Some(&exec.command),
            _ => None,
        };
        // Where there is an input, only its own command is one: a look at a running command has none.
        let command = match (&fields, exec) {
            (Some(fields), _) => fields.command.as_str().map(str::to_owned),
            (None, exec) => exec.cloned(),
        };
        let only_command = exec.is_some() && readable;
        Self { files, only_files, command, only_command, readable }
    }
}

/// What a question is about, ready to be compared with many rules.
pub(super) struct Subject {
    named: Named,
    places: Vec<Place>,
    parts: OnceCell<Parts>,
}

impl Subject {
    pub(super) fn of(asked: &Asked<'_>, resolved: &[String]) -> Self {
        let named = Named::by(asked.request);
        let places = named.files.iter().chain(resolved).map(|file| Place::of(asked.folder, file)).collect();
        Self { named, places, parts: OnceCell::new() }
    }

    /// Whether a rule is about this.
    pub(super) fn fit(&self, rule: &HostRule, asked: &Asked<'_>) -> Fit {
        if rule.session_id.as_ref().is_some_and(|session| session != asked.session_id) {
            return Fit::No;
        }
        let folder = match &rule.folder {
            None => Fit::Yes,
            Some(folder) => match is_below(folder, asked.folder) {
                Some(true) => Fit::Yes,
                Some(false) => Fit::No,
                None => Fit::Unsure,
            },
        };
        let tool = match (&rule.tool, &asked.request.tool_name) {
            (None, _) => Fit::Yes,
            (Some(pattern), Some(tool)) if text_fits(pattern, tool) => Fit::Yes,
            _ => Fit::No,
        };
        if folder.min(tool) == Fit::No {
            return Fit::No;
        }
        let path = rule.path.as_ref().map_or(Fit::Yes, |pattern| self.path_fit(pattern, rule.behavior));
        let command =
            rule.command.as_ref().map_or(Fit::Yes, |pattern| self.command_fit(pattern, rule.behavior));
        folder.min(tool).min(path).min(command)
    }

    fn path_fit(&self, pattern: &str, behavior: Behavior) -> Fit {
        let Some(pattern) = PathPattern::read(pattern) else { return Fit::Unsure };
        let mut places = self.places.iter();
        let fits = |place: &Place| place.fits(&pattern);
        if behavior == Behavior::Allow {
            return yes(self.named.only_files && !self.places.is_empty() && places.all(fits));
        }
        if places.any(fits) {
            Fit::Yes
        } else if self.places.contains(&Place::Unknown) || !self.named.readable {
            Fit::Unsure
        } else {
            Fit::No
        }
    }

    fn command_fit(&self, pattern: &str, behavior: Behavior) -> Fit {
        let Some(command) = &self.named.command else {
            return if self.named.readable { Fit::No } else { Fit::Unsure };
        };
        if behavior == Behavior::Allow {
            return yes(self.named.only_command && is_covered(pattern, command));
        }
        let parts = self.parts.get_or_init(|| parts(command));
        if parts.commands.iter().any(|part| text_fits(pattern, part)) {
            Fit::Yes
        } else if !parts.understood || !self.named.readable {
            Fit::Unsure
        } else {
            Fit::No
        }
    }
}

fn yes(fits: bool) -> Fit {
    if fits { Fit::Yes } else { Fit::No }
}

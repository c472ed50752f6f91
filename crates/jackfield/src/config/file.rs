//! The configuration file: where it is, and what stands in which line.
//!
//! What the values mean is the table's business. The one rule it keeps: a file that was named must be there,
//! and one that was not named need not.

use std::fs;
use std::io;
use std::path::PathBuf;

use jackfield_sdk::Environment;
use serde::Deserialize;
use toml::Value;
use toml::de::{DeTable, DeValue, ValueDeserializer};

use super::Flags;
use super::error::{ConfigError, Place, find};
use super::table::{SETTINGS, Setting};
use crate::variables;

/// Where the file is looked for.
pub(super) struct Location {
    pub(super) path: PathBuf,
    named: bool,
}

/// An option in the file, with its value and where it stands.
type Found = (&'static Setting, Value, Place);

/// The place of the file, if there is one for this user.
pub(super) fn locate(flags: &Flags, environment: &Environment) -> Option<Location> {
    let named = flags.config.clone().or_else(|| variables::CONFIG.get(environment).map(PathBuf::from));
    if let Some(path) = named {
        return Some(Location { path, named: true });
    }
    let home = || Some(variables::HOME.folder(environment)?.join(".config"));
    let folder = variables::XDG_CONFIG_HOME.folder(environment).or_else(home)?;
    Some(Location { path: folder.join("jackfield/config.toml"), named: false })
}

/// The options in the file; `None` if there is no file and none was named.
pub(super) fn read(location: &Location) -> Result<Option<Vec<Found>>, ConfigError> {
    let path = &location.path;
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound && !location.named => return Ok(None),
        Err(source) => return Err(ConfigError::Unreadable { path: path.clone(), source }),
    };
    let reader = Reader { text: &text, path };
    let (root, errors) = DeTable::parse_recoverable(&text);
    let start = |error: &toml::de::Error| error.span().map_or(0, |span| span.start);
    // What is wrong further below is often only so because of what is wrong above.
    if let Some(first) = errors.iter().min_by_key(|error| start(error)) {
        let reason = first.message().replace('\n', ", ");
        return Err(ConfigError::Syntax { place: reader.place(start(first)), reason });
    }
    let mut found = Vec::new();
    reader.table("", root.into_inner(), &mut found)?;
    Ok(Some(found))
}

struct Reader<'a> {
    text: &'a str,
    path: &'a PathBuf,
}

impl Reader<'_> {
    fn place(&self, at: usize) -> Place {
        let line = self.text.get(..at).unwrap_or_default().matches('\n').count() + 1;
        Place::File { path: self.path.clone(), line }
    }

    fn table(&self, above: &str, table: DeTable<'_>, found: &mut Vec<Found>) -> Result<(), ConfigError> {
        for (name, value) in table {
            let key = if above.is_empty() {
                name.get_ref().to_string()
            } else {
                format!("{above}.{}", name.get_ref())
            };
            let place = self.place(name.span().start);
            let inside = format!("{key}.");
            let is_table = SETTINGS.iter().any(|setting| setting.key.starts_with(&inside));
            match value.get_ref() {
                DeValue::Table(_) if is_table => {
                    if let DeValue::Table(inner) = value.into_inner() {
                        self.table(&key, inner, found)?;
                    }
                }
                other if is_table => {
                    let reason = format!("expected a table `[{key}]`, found {}", other.type_str());
                    return Err(ConfigError::Syntax { place, reason });
                }
                _ => {
                    let setting = find(&key, || place.clone())?;
                    let value = Value::deserialize(ValueDeserializer::from(value)).map_err(|error| {
                        ConfigError::Syntax { place: place.clone(), reason: error.message().to_owned() }
                    })?;
                    found.push((setting, value, place));
                }
            }
        }
        Ok(())
    }
}

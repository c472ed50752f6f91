//! Problems as language servers write them.
//!
//! The one rule it keeps: a problem that cannot be read whole is told as far as it can.

use serde::Deserialize;
use serde_json::Value;

use crate::problem::{Diagnostic, Range, Severity};

/// What a server has published of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Published {
    /// The version of the text that it is about, if the server says so.
    pub(super) version: Option<i64>,
    /// How often it has published something of the file.
    pub(super) count: u64,
    pub(super) diagnostics: Vec<Diagnostic>,
}

#[derive(Debug, Deserialize)]
struct Written {
    #[serde(default)]
    message: String,
    #[serde(default)]
    range: Range,
    #[serde(default)]
    severity: u8,
    #[serde(default)]
    source: Option<String>,
    #[serde(default)]
    code: Value,
}

/// The file's address, its problems, and the version of its text.
pub(super) fn read(params: &Value) -> Option<(String, Vec<Diagnostic>, Option<i64>)> {
    let url = params["uri"].as_str()?.to_owned();
    Some((url, list(&params["diagnostics"]), params["version"].as_i64()))
}

/// A list of problems.
pub(super) fn list(list: &Value) -> Vec<Diagnostic> {
    let items = list.as_array().map(Vec::as_slice).unwrap_or_default();
    items.iter().filter_map(|item| Written::deserialize(item).ok()).map(Diagnostic::from).collect()
}

impl From<Written> for Diagnostic {
    fn from(written: Written) -> Self {
        let severity = match written.severity {
            2 => Severity::Warning,
            3 => Severity::Info,
            4 => Severity::Hint,
            // Where it is left out it is ours to say.
            _ => Severity::Error,
        };
        let code = match written.code {
            Value::String(code) => Some(code),
            Value::Number(code) => Some(code.to_string()),
            _ => None,
        };
        Self { message: written.message, severity, range: written.range, source: written.source, code }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;

    use super::*;
    use crate::problem::Position;

    #[test]
    fn problems_are_read_in_the_forms_that_servers_give_them() {
        let range = json!({"start": {"line": 1, "character": 2}, "end": {"line": 1, "character": 5}});
        let params = json!({"uri": "file:///ws/a.py", "version": 3, "diagnostics": [
            {"message": "bad", "range": range, "severity": 2, "source": "Pyright", "code": "reportX"},
            {"message": "worse", "range": range, "code": 2304, "relatedInformation": []},
            {"message": "bare"},
            "nonsense",
        ]});
        let (url, list, version) = read(&params).unwrap();
        assert_eq!((&*url, version, list.len()), ("file:///ws/a.py", Some(3), 3));
        assert_eq!((list[0].severity, list[0].code.as_deref()), (Severity::Warning, Some("reportX")));
        assert_eq!(list[0].range.start, Position { line: 1, character: 2 });
        assert_eq!((list[1].severity, list[1].code.as_deref()), (Severity::Error, Some("2304")));
        assert_eq!((&*list[2].message, list[2].range), ("bare", Range::default()));
        assert_eq!(read(&json!({"diagnostics": []})), None);
    }
}

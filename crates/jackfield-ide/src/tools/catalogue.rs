//! The tools as they are offered: names, words for the model, and what they take.
//!
//! The one rule it keeps: what stands here is what [`super::Call`] reads.

use std::sync::Arc;

use rmcp::model::{JsonObject, Tool};
use serde_json::{Value, json};

/// All twelve.
pub(crate) fn catalogue() -> Vec<Tool> {
    [
        (
            "openFile",
            "Open a file in the editor, and select a part of it",
            &[
                ("filePath", "string", true, "The full path of the file"),
                ("preview", "boolean", false, "Open it for a look: the next such file may take its place"),
                ("startText", "string", false, "Select from the first place where this text stands"),
                ("endText", "string", false, "Select up to the end of this text, after the first"),
                ("selectToEndOfLine", "boolean", false, "Select up to the end of that line"),
                ("makeFrontmost", "boolean", false, "Bring it to the front; true if not given"),
            ] as &[(&str, &str, bool, &str)],
        ),
        (
            "openDiff",
            "Show a proposed change of a file, and wait until the person accepts or rejects it",
            &[
                ("old_file_path", "string", true, "The full path of the file as it is"),
                ("new_file_path", "string", true, "The full path of the file as it shall be"),
                ("new_file_contents", "string", true, "What it shall contain"),
                ("tab_name", "string", true, "The name of the view, by which it is closed"),
            ],
        ),
        ("getCurrentSelection", "What is selected in the editor that the person is in", &[]),
        ("getLatestSelection", "What was selected last, in whatever editor", &[]),
        ("getOpenEditors", "The files that are open", &[]),
        ("getWorkspaceFolders", "The folders that are open", &[]),
        (
            "getDiagnostics",
            "Problems that the editor knows of: errors, warnings and hints of compilers and linters",
            &[("uri", "string", false, "The file's address, file:///…; all files if not given")],
        ),
        (
            "checkDocumentDirty",
            "Whether an open file has changes that are not saved",
            &[("filePath", "string", true, "The full path of the file")],
        ),
        (
            "saveDocument",
            "Save an open file that has changes",
            &[("filePath", "string", true, "The full path of the file")],
        ),
        ("close_tab", "Close a view by its name", &[("tab_name", "string", true, "The name of the view")]),
        ("closeAllDiffTabs", "Close all proposed changes that are shown", &[]),
        (
            "executeCode",
            "Run Python code in the Jupyter kernel of this workspace. What it defines stays for the next call",
            &[("code", "string", true, "The code")],
        ),
    ]
    .into_iter()
    .map(|(name, description, arguments)| Tool::new(name, description, Arc::new(schema(arguments))))
    .collect()
}

fn schema(arguments: &[(&str, &str, bool, &str)]) -> JsonObject {
    let properties: JsonObject = arguments
        .iter()
        .map(|(name, kind, _, words)| ((*name).to_owned(), json!({ "type": kind, "description": words })))
        .collect();
    let required: Vec<&str> =
        arguments.iter().filter(|(_, _, required, _)| *required).map(|(name, ..)| *name).collect();
    let entries = [
        ("type", json!("object")),
        ("properties", Value::Object(properties)),
        ("required", json!(required)),
        ("additionalProperties", json!(false)),
    ];
    entries.map(|(key, value)| (key.to_owned(), value)).into_iter().collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]

    use crate::tools::Call;

    use super::*;

    #[test]
    fn what_is_offered_is_what_is_read() {
        let tools = catalogue();
        assert_eq!(tools.len(), 12);
        for tool in &tools {
            let required = tool.input_schema["required"].as_array().unwrap();
            let given: JsonObject =
                required.iter().map(|name| (name.as_str().unwrap().to_owned(), json!("text"))).collect();
            if let Err(error) = Call::read(&tool.name, given.clone()) {
                panic!("{}: {error}", tool.name);
            }
            for missing in required {
                let mut given = given.clone();
                given.remove(missing.as_str().unwrap());
                let error = Call::read(&tool.name, given).unwrap_err().to_string();
                assert!(error.contains(missing.as_str().unwrap()), "{error}");
            }
        }
        assert!(Call::read("rm", JsonObject::new()).is_err());
    }
}

//! The published JSON Schema of the protocol, as the official package for Node brings it.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::Path;
use std::sync::OnceLock;

use jsonschema::Validator;
use serde_json::{Value, json};

use super::record::{Record, Side};
use super::stage::installed;

/// The stable schema, and the unstable one for what the stable one does not have.
pub(super) struct Schema {
    /// By the name of the definition.
    validators: BTreeMap<String, Validator>,
    /// By the method, and whether it is a request, a response or a notification.
    names: BTreeMap<(String, &'static str), String>,
}

impl Schema {
    /// Reads it, once.
    pub(super) fn published() -> &'static Self {
        static PUBLISHED: OnceLock<Schema> = OnceLock::new();
        PUBLISHED.get_or_init(|| {
            let folder = installed().join("node_modules/@agentclientprotocol/sdk/schema/v1");
            let mut schema = Self { validators: BTreeMap::new(), names: BTreeMap::new() };
            schema.add(&folder.join("schema.json"));
            schema.add(&folder.join("schema.unstable.json"));
            schema
        })
    }

    /// What is wrong with what the agent said, a sentence for each frame.
    pub(super) fn faults(&self, record: &Record) -> Vec<String> {
        let mut faults = Vec::new();
        for (place, frame) in record.frames.iter().enumerate().filter(|(_, frame)| frame.from == Side::Agent)
        {
            let message = &frame.message;
            let method = message["method"].as_str();
            let (method, kind, body) = match (method, message.get("id")) {
                (Some(method), Some(_)) => (method, "Request", &message["params"]),
                (Some(method), None) => (method, "Notification", &message["params"]),
                (None, _) if message.get("error").is_some() => ("", "Error", &message["error"]),
                (None, _) => match record.request_of(place) {
                    Some((_, request)) => {
                        (request.message["method"].as_str().unwrap(), "Response", &message["result"])
                    }
                    None => ("an answer to nothing", "Response", &message["result"]),
                },
            };
            let fault = self.fault(method, kind, body);
            let versioned =
                if message["jsonrpc"] == "2.0" { None } else { Some("no JSON-RPC 2.0".to_owned()) };
            faults.extend(fault.or(versioned).map(|fault| format!("{fault}: {message}")));
        }
        faults
    }

    fn fault(&self, method: &str, kind: &'static str, body: &Value) -> Option<String> {
        // Methods of an agent's own begin like this, and have no schema.
        if method.starts_with('_') {
            return None;
        }
        let name = match kind {
            "Error" => "Error",
            _ => match self.names.get(&(method.to_owned(), kind)) {
                Some(name) => name,
                None => return Some(format!("{kind} of {method:?} is not in the schema")),
            },
        };
        self.validators[name]
            .validate(body)
            .err()
            .map(|error| format!("{name}: {error} at {}", error.instance_path()))
    }

    fn add(&mut self, path: &Path) {
        let text = std::fs::read_to_string(path).unwrap();
        let schema: Value = serde_json::from_str(&text).unwrap();
        let definitions = schema["$defs"].as_object().unwrap();
        for (name, definition) in definitions {
            let kind = ["Request", "Response", "Notification"].into_iter().find(|kind| name.ends_with(kind));
            let (Some(method), Some(kind)) = (definition["x-method"].as_str(), kind) else { continue };
            let key = (method.to_owned(), kind);
            if let Entry::Vacant(free) = self.names.entry(key) {
                free.insert(name.clone());
                self.validators.insert(name.clone(), validator(name, &schema["$defs"]));
            }
        }
        self.validators.entry("Error".to_owned()).or_insert_with(|| validator("Error", &schema["$defs"]));
    }
}

fn validator(name: &str, definitions: &Value) -> Validator {
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$ref": format!("#/$defs/{name}"),
        "$defs": definitions,
    });
    jsonschema::validator_for(&schema).unwrap()
}

//! The REST routes as an OpenAPI document.
//!
//! The routes are described where they are made; the types of the contract come from the contract. The one rule it
//! keeps: nothing is described twice, so nothing can disagree.

use serde_json::{Value, json};

use super::schema;

/// The document, with a newline at its end.
pub(super) fn document() -> Result<String, serde_json::Error> {
    serde_json::to_string_pretty(&value()?).map(|text| text + "\n")
}

fn value() -> Result<Value, serde_json::Error> {
    let mut document = serde_json::to_value(jackfield_server::openapi())?;
    let schemas = &mut document["components"]["schemas"];
    for (name, definition) in schema::definitions("/components/schemas") {
        schemas[name] = definition;
    }
    let list =
        |of: &str| json!({ "type": "array", "items": { "$ref": format!("#/components/schemas/{of}") } });
    schemas["DeskEntries"] = list("DeskEntry");
    schemas["Decisions"] = list("Decision");
    schemas["AcceptedFrame"] = json!({
        "description": "The frame `accepted`.",
        "allOf": [
            { "$ref": "#/components/schemas/Accepted" },
            { "type": "object", "properties": { "type": { "const": "accepted" } }, "required": ["type"] },
        ],
    });
    Ok(document)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::collections::BTreeSet;

    use super::*;

    fn references<'a>(value: &'a Value, found: &mut BTreeSet<&'a str>) {
        match value {
            Value::Object(members) => {
                found.extend(members.get("$ref").and_then(Value::as_str));
                members.values().for_each(|member| references(member, found));
            }
            Value::Array(elements) => elements.iter().for_each(|element| references(element, found)),
            _ => {}
        }
    }

    #[test]
    fn every_reference_leads_somewhere() {
        let document = value().unwrap();
        let mut found = BTreeSet::new();
        references(&document, &mut found);
        assert!(found.len() > 50, "only {} references", found.len());
        for reference in found {
            let pointer = reference.strip_prefix('#').unwrap();
            assert!(document.pointer(pointer).is_some(), "{reference} leads nowhere");
        }
    }

    #[test]
    fn the_servers_own_types_have_no_name_of_the_contracts() {
        let own = serde_json::to_value(jackfield_server::openapi()).unwrap();
        let own = own["components"]["schemas"].as_object().unwrap().clone();
        assert!(!own.is_empty());
        let contract = schema::definitions("/components/schemas");
        let both: Vec<_> = own.keys().filter(|name| contract.contains_key(*name)).collect();
        assert!(both.is_empty(), "{both:?}");
    }

    #[test]
    fn every_route_tells_what_it_answers_and_has_a_name_of_its_own() {
        let document = value().unwrap();
        let mut names = BTreeSet::new();
        for (path, methods) in document["paths"].as_object().unwrap() {
            for (method, route) in methods.as_object().unwrap() {
                assert!(route["summary"].is_string(), "{method} {path} has no summary");
                assert!(
                    !route["responses"].as_object().unwrap().is_empty(),
                    "{method} {path} answers nothing"
                );
                let name = route["operationId"].as_str().unwrap();
                assert!(names.insert(name.to_owned()), "{name} is the name of two routes");
            }
        }
        assert!(names.len() > 25, "only {} routes", names.len());
    }
}

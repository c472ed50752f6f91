//! The MCP servers of an `.mcp.json`: which program each is, or where. Pure.

use jackfield_api::trust::BroughtKind;
use serde_json::{Map, Value};

use super::piece::{Danger, Piece};
use super::reading::Found;
use super::settings::{json, object, plain, unreadable, with_rest};

/// The servers of a file.
pub(super) fn pieces(file: &Found) -> Vec<Piece> {
    let settings = object(file);
    let Some(Value::Object(servers)) = settings.as_ref().and_then(|file| file.get("mcpServers")) else {
        return unreadable(file);
    };
    let kind = (BroughtKind::McpServer, Danger::Dangerous);
    let piece = |(name, server): (&String, &Value)| {
        let detail = server.as_object().map_or_else(|| server.to_string(), |server| words(server.clone()));
        Piece::new(kind, name, &detail, &json(server), file)
    };
    let others = settings.iter().flatten().filter(|(key, _)| *key != "mcpServers");
    let other = |(key, value): (&String, &Value)| {
        Piece::new((BroughtKind::Setting, Danger::Dangerous), key, &plain(value), &json(value), file)
    };
    servers.iter().map(piece).chain(others.map(other)).collect()
}

/// A program with its arguments, or an address; then what else there is.
fn words(mut server: Map<String, Value>) -> String {
    let Some(program) = server.remove("command").or_else(|| server.remove("url")) else {
        return Value::Object(server).to_string();
    };
    let mut words = vec![plain(&program)];
    match server.remove("args") {
        Some(Value::Array(arguments)) => words.extend(arguments.iter().map(argument)),
        Some(other) => words.push(other.to_string()),
        None => {}
    }
    with_rest(words.join(" "), &server)
}

/// An argument; in quotes where it could pass for several, or for none.
fn argument(value: &Value) -> String {
    match value.as_str() {
        Some(text) if !text.is_empty() && !text.contains(|c: char| c.is_whitespace() || c == '"') => {
            text.to_owned()
        }
        _ => value.to_string(),
    }
}

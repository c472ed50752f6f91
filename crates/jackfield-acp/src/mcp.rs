//! MCP servers of an editor, as the host's configuration has them.
//!
//! It starts none. The one rule it keeps: every server that was named is passed on, or the request is refused.

use jackfield_api::Json;
use serde_json::{Map, Value, json};

use crate::rpc::invalid;
use crate::schema::{Error, McpServer};

/// The servers by name; none if there are none.
pub(crate) fn servers(servers: Vec<McpServer>) -> Result<Option<Json>, Error> {
    let mut by_name = Map::new();
    for server in servers {
        let (name, entry) = match server {
            McpServer::Stdio(server) => {
                let env: Map<String, Value> =
                    server.env.into_iter().map(|variable| (variable.name, variable.value.into())).collect();
                let command = server.command.to_string_lossy().into_owned();
                let entry = json!({ "type": "stdio", "command": command, "args": server.args, "env": env });
                (server.name, entry)
            }
            McpServer::Http(server) => {
                let headers: Map<String, Value> =
                    server.headers.into_iter().map(|header| (header.name, header.value.into())).collect();
                (server.name, json!({ "type": "http", "url": server.url, "headers": headers }))
            }
            McpServer::Sse(server) => {
                let headers: Map<String, Value> =
                    server.headers.into_iter().map(|header| (header.name, header.value.into())).collect();
                (server.name, json!({ "type": "sse", "url": server.url, "headers": headers }))
            }
            _ => return Err(invalid("an MCP server of this kind is not understood")),
        };
        if by_name.insert(name.clone(), entry).is_some() {
            return Err(invalid(format!("two MCP servers are called `{name}`")));
        }
    }
    Ok((!by_name.is_empty()).then(|| Json::of(&by_name)))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn servers_of_all_kinds_are_passed_on() {
        let given = r#"[{"name":"a","command":"/bin/a","args":["-x"],"env":[{"name":"K","value":"v"}]},
            {"type":"http","name":"b","url":"http://h/","headers":[{"name":"H","value":"w"}]},
            {"type":"sse","name":"c","url":"http://s/","headers":[]}]"#;
        let passed = servers(serde_json::from_str(given).unwrap()).unwrap().unwrap();
        let passed: Value = passed.read().unwrap();
        assert_eq!(
            passed,
            json!({
                "a": { "type": "stdio", "command": "/bin/a", "args": ["-x"], "env": { "K": "v" } },
                "b": { "type": "http", "url": "http://h/", "headers": { "H": "w" } },
                "c": { "type": "sse", "url": "http://s/", "headers": {} },
            })
        );
        assert_eq!(servers(Vec::new()).unwrap(), None);
    }

    #[test]
    fn two_servers_of_one_name_are_refused() {
        let given = r#"[{"name":"a","command":"a","args":[],"env":[]},{"name":"a","command":"b","args":[],"env":[]}]"#;
        assert!(servers(serde_json::from_str(given).unwrap()).is_err());
    }
}

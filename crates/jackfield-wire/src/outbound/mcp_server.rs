//! How an MCP server is reached.
//!
//! Only the forms the CLI knows; it answers others with an error, and forgives none at start-up.
//! The rule: a server without a `type` is a program.

use std::collections::BTreeMap;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

/// An MCP server for `mcp_set_servers`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "type")]
pub enum McpServer {
    /// A program on its standard streams.
    #[serde(rename = "stdio")]
    Stdio {
        /// The program.
        command: String,
        /// Its arguments.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        args: Vec<String>,
        /// Its environment, besides the CLI's.
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        env: BTreeMap<String, String>,
    },
    /// Server-sent events.
    #[serde(rename = "sse")]
    Sse {
        /// The address.
        url: String,
        /// Headers to send.
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        headers: BTreeMap<String, String>,
    },
    /// Streamable HTTP.
    #[serde(rename = "http")]
    Http {
        /// The address.
        url: String,
        /// Headers to send.
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        headers: BTreeMap<String, String>,
    },
    /// In the host itself, reached by `mcp_message`.
    #[serde(rename = "sdk")]
    Sdk {
        /// Its name.
        name: String,
    },
    /// An editor, by WebSocket [ide/headless_ws_ide_mcp].
    #[serde(rename = "ws-ide", rename_all = "camelCase")]
    WsIde {
        /// The address.
        url: String,
        /// The editor.
        ide_name: String,
        /// The token of the editor's lock file.
        #[serde(skip_serializing_if = "Option::is_none")]
        auth_token: Option<String>,
    },
    /// An editor, by server-sent events.
    #[serde(rename = "sse-ide", rename_all = "camelCase")]
    SseIde {
        /// The address.
        url: String,
        /// The editor.
        ide_name: String,
    },
}

impl<'de> Deserialize<'de> for McpServer {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase", deny_unknown_fields, expecting = "an MCP server")]
        struct Members {
            r#type: Option<String>,
            command: Option<String>,
            #[serde(default)]
            args: Vec<String>,
            #[serde(default)]
            env: BTreeMap<String, String>,
            url: Option<String>,
            #[serde(default)]
            headers: BTreeMap<String, String>,
            name: Option<String>,
            ide_name: Option<String>,
            auth_token: Option<String>,
        }
        let members = Members::deserialize(deserializer)?;
        let need = |member: Option<String>, name| member.ok_or_else(|| D::Error::missing_field(name));
        Ok(match members.r#type.as_deref().unwrap_or("stdio") {
            "stdio" => Self::Stdio {
                command: need(members.command, "command")?,
                args: members.args,
                env: members.env,
            },
            "sse" => Self::Sse { url: need(members.url, "url")?, headers: members.headers },
            "http" => Self::Http { url: need(members.url, "url")?, headers: members.headers },
            "sdk" => Self::Sdk { name: need(members.name, "name")? },
            "ws-ide" => Self::WsIde {
                url: need(members.url, "url")?,
                ide_name: need(members.ide_name, "ideName")?,
                auth_token: members.auth_token,
            },
            "sse-ide" => {
                Self::SseIde { url: need(members.url, "url")?, ide_name: need(members.ide_name, "ideName")? }
            }
            other => return Err(D::Error::custom(format_args!("unknown MCP server type `{other}`"))),
        })
    }
}

//! What both sides can do.
//!
//! The one rule it keeps: nothing is offered that is not there.

use serde_json::json;

use crate::schema::{
    AgentCapabilities, AuthMethod, AuthMethodAgent, AuthMethodTerminal, ClientCapabilities, Implementation,
    InitializeRequest, InitializeResponse, McpCapabilities, Meta, PromptCapabilities, ProtocolVersion,
    SessionAdditionalDirectoriesCapabilities, SessionCapabilities, SessionCloseCapabilities,
    SessionDeleteCapabilities, SessionForkCapabilities, SessionListCapabilities, SessionResumeCapabilities,
};
use crate::translate::View;

/// The one way to log in: the CLI's own.
pub(crate) const LOGIN: &str = "claude-login";

/// What the editor can do.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Offered {
    /// What it can show.
    pub(crate) view: View,
    /// Whether it can ask for forms to be filled in.
    pub(crate) forms: bool,
    /// Whether it tells what it has of a file.
    pub(crate) files: bool,
}

/// What an editor says of itself.
pub(crate) fn offered(client: &ClientCapabilities) -> Offered {
    let session = client.session.as_ref();
    Offered {
        view: View {
            notices: session.is_some_and(|session| session.notices.is_some()),
            compaction: session.is_some_and(|session| session.compaction.is_some()),
            terminal_output: is_set(client.meta.as_ref(), "terminal_output"),
        },
        files: client.fs.read_text_file,
        forms: client.elicitation.as_ref().is_some_and(|offers| offers.form.is_some()),
    }
}

/// What we say of ourselves. `login` is what logs in, in a terminal: a program and its arguments.
pub(crate) fn answer(asked: &InitializeRequest, version: &str, login: &[String]) -> InitializeResponse {
    let sessions = SessionCapabilities::new()
        .list(SessionListCapabilities::new())
        .resume(SessionResumeCapabilities::new())
        .close(SessionCloseCapabilities::new())
        .delete(SessionDeleteCapabilities::new())
        .fork(SessionForkCapabilities::new())
        .additional_directories(SessionAdditionalDirectoriesCapabilities::new());
    let capabilities = AgentCapabilities::new()
        .load_session(true)
        .prompt_capabilities(PromptCapabilities::new().image(true).embedded_context(true))
        .mcp_capabilities(McpCapabilities::new().http(true).sse(true))
        .session_capabilities(sessions);
    InitializeResponse::new(ProtocolVersion::V1)
        .agent_capabilities(capabilities)
        .auth_methods(methods(&asked.client_capabilities, login))
        .agent_info(Implementation::new("jackfield", version).title("Claude Code (Jackfield)"))
}

fn methods(client: &ClientCapabilities, login: &[String]) -> Vec<AuthMethod> {
    let name = "Log in with Claude Code";
    let description = "Runs `claude /login` in a terminal";
    let Some((program, arguments)) = login.split_first() else { return Vec::new() };
    if client.auth.terminal {
        // Its arguments come behind those that the agent was started with.
        let method =
            AuthMethodTerminal::new(LOGIN, name).description(description).args(vec!["--login".to_owned()]);
        return vec![AuthMethod::Terminal(method)];
    }
    let method = AuthMethodAgent::new(LOGIN, name).description(description);
    if is_set(client.meta.as_ref(), "terminal-auth") {
        let how = json!({ "command": program, "args": arguments, "label": name });
        let meta = Meta::from_iter([("terminal-auth".to_owned(), how)]);
        return vec![AuthMethod::Agent(method.meta(meta))];
    }
    let hint = "Run `claude /login` in a terminal, then try again";
    vec![AuthMethod::Agent(method.description(hint))]
}

fn is_set(meta: Option<&Meta>, name: &str) -> bool {
    meta.and_then(|meta| meta.get(name)).and_then(serde_json::Value::as_bool).unwrap_or(false)
}

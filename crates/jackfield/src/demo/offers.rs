//! What the agent says it has: tools, commands, models, a server.
//!
//! Pure. The one rule: what is offered is what the scenes use.

use serde_json::{Value, json};

use super::VERSION;
use super::arguments::{Arguments, DEFAULT_MODEL};
use super::meter::{self, Meter};
use super::scenes::SCENES;

/// The server of tools that the agent pretends to have.
pub(super) const SERVER: &str = "demo";

const TOOLS: [&str; 14] = [
    "Task",
    "AskUserQuestion",
    "Bash",
    "Edit",
    "EnterPlanMode",
    "ExitPlanMode",
    "Glob",
    "Grep",
    "Read",
    "TodoWrite",
    "WebFetch",
    "WebSearch",
    "Write",
    "mcp__demo__weather",
];

/// The fields of `system/init`.
pub(super) fn init(arguments: &Arguments, model: &str, mode: &str) -> Value {
    let commands: Vec<&str> = SCENES.iter().map(|scene| scene.name).collect();
    json!({
        "cwd": arguments.cwd, "tools": TOOLS, "mcp_servers": [{ "name": SERVER, "status": "connected" }],
        "model": model, "permissionMode": mode, "slash_commands": commands, "apiKeySource": "none",
        "claude_code_version": VERSION, "output_style": "default", "agents": ["general-purpose"],
        "skills": [], "plugins": [], "analytics_disabled": true, "product_feedback_disabled": true,
        "fast_mode_state": "off", "original_cwd": arguments.cwd, "additional_directories": [],
    })
}

/// The answer to `initialize`.
pub(super) fn initialize(mode: &str, running: bool) -> Value {
    let commands: Vec<Value> = SCENES
        .iter()
        .map(|scene| {
            json!({ "name": scene.name, "description": scene.summary, "argumentHint": scene.argument })
        })
        .collect();
    json!({
        "commands": commands,
        "agents": [{ "name": "general-purpose", "description": "For any task. A part of the demo." }],
        "output_style": "default", "available_output_styles": ["default"], "models": models(),
        "account": { "email": "demo@example.org", "organization": "Jackfield demo", "tokenSource": "none",
            "apiKeySource": "none", "apiProvider": "firstParty" },
        "pid": std::process::id(), "claude_code_version": VERSION, "current_permission_mode": mode,
        "session_state": if running { "running" } else { "idle" }, "fast_mode_state": "off",
    })
}

pub(super) fn models() -> Value {
    json!([
        { "value": "default", "resolvedModel": DEFAULT_MODEL, "displayName": "Demo (default)",
          "description": "A script, not a model. Costs nothing.", "supportsEffort": false },
        { "value": "demo-large", "resolvedModel": "claude-demo-1-large", "displayName": "Demo, large",
          "description": "The same script under another name.", "supportsEffort": false },
    ])
}

/// The answer to `mcp_status`.
pub(super) fn servers() -> Value {
    json!({ "mcpServers": [{
        "name": SERVER, "status": "connected", "scope": "session",
        "serverInfo": { "name": "Jackfield demo", "version": "1" },
        "tools": [{ "name": "weather", "description": "The weather of a made-up place.",
                    "annotations": { "readOnly": true } }],
    }] })
}

/// The answer to `get_context_usage`.
pub(super) fn context(meter: &Meter, model: &str) -> Value {
    let (used, size) = (meter.context(), meter::WINDOW);
    #[expect(clippy::cast_precision_loss, reason = "a percentage")]
    let percentage = used as f64 / size as f64 * 100.0;
    json!({
        "categories": [
            { "name": "Messages", "tokens": used, "color": "purple" },
            { "name": "Free space", "tokens": size.saturating_sub(used), "color": "grey" },
        ],
        "totalTokens": used, "maxTokens": size, "rawMaxTokens": size, "percentage": percentage.round(),
        "model": model, "gridRows": [], "memoryFiles": [], "mcpTools": [], "agents": [],
    })
}

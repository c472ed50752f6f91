//! What a file of settings brings, entry by entry.
//!
//! Pure. The one rule it keeps: every entry is shown, known or not, and what is not known to be harmless counts as
//! dangerous.

use jackfield_api::trust::BroughtKind;
use serde_json::{Map, Value};

use super::piece::{Danger, Piece};
use super::reading::Found;

use BroughtKind::{Environment, Hook, Permission, Plugin, Schedule, Setting};
use Danger::{Dangerous, Harmless};

/// Settings that run nothing, lead nowhere and answer nothing.
const HARMLESS: [&str; 22] = [
    "$schema",
    "alwaysThinkingEnabled",
    "attribution",
    "cleanupPeriodDays",
    "companyAnnouncements",
    "disableAllHooks",
    "disabledMcpjsonServers",
    "editorMode",
    "effortLevel",
    "includeCoAuthoredBy",
    "includeGitInstructions",
    "language",
    "model",
    "outputStyle",
    "plansDirectory",
    "prefersReducedMotion",
    "respectGitignore",
    "showTurnDuration",
    "spinnerTipsEnabled",
    "spinnerVerbs",
    "theme",
    "verbose",
];

/// Variables that change which programs run, where requests go or what is believed; by name, or by a beginning.
const TELLING: [&str; 16] = [
    "PATH",
    "HOME",
    "SHELL",
    "ENV",
    "IFS",
    "EDITOR",
    "VISUAL",
    "PAGER",
    "BROWSER",
    "TMPDIR",
    "PWD",
    "NO_PROXY",
    "PERL5OPT",
    "PERL5LIB",
    "RUBYOPT",
    "JAVA_TOOL_OPTIONS",
];
const TELLING_BEGINNINGS: [&str; 22] = [
    "ANTHROPIC_",
    "CLAUDE",
    "AWS_",
    "AZURE_",
    "BASH",
    "BUN_",
    "CLOUD_ML_",
    "DISABLE_",
    "DYLD_",
    "GIT_",
    "GOOGLE_",
    "GCLOUD_",
    "LD_",
    "MCP_",
    "NODE_",
    "NPM_",
    "OTEL_",
    "PYTHON",
    "SSH_",
    "SSL_",
    "VERTEX_",
    "XDG_",
];

/// What a file of settings brings.
pub(super) fn pieces(file: &Found) -> Vec<Piece> {
    let Some(settings) = object(file) else { return unreadable(file) };
    let mut pieces = Vec::new();
    for (key, value) in &settings {
        match (key.as_str(), value) {
            ("hooks", Value::Object(events)) => hooks(events, file, &mut pieces),
            ("env", Value::Object(variables)) => {
                for (name, value) in variables {
                    let danger = if is_telling(name) { Dangerous } else { Harmless };
                    pieces.push(Piece::new((Environment, danger), name, &plain(value), &json(value), file));
                }
            }
            ("permissions", Value::Object(rules)) => permissions(rules, file, &mut pieces),
            ("enabledPlugins" | "extraKnownMarketplaces", Value::Object(plugins)) => {
                for (name, value) in plugins {
                    let whole = json(&(key, value));
                    let detail = format!("{key}: {}", plain(value));
                    pieces.push(Piece::new((Plugin, Dangerous), name, &detail, &whole, file));
                }
            }
            _ => {
                let danger = if HARMLESS.contains(&key.as_str()) { Harmless } else { Dangerous };
                pieces.push(Piece::new((Setting, danger), key, &plain(value), &json(value), file));
            }
        }
    }
    pieces
}

/// The prompts that are said by themselves. When each was said last is no part of it: the CLI writes that down.
pub(super) fn schedule(file: &Found) -> Vec<Piece> {
    let settings = object(file);
    let Some(Value::Array(tasks)) = settings.as_ref().and_then(|file| file.get("tasks")) else {
        return unreadable(file);
    };
    let piece = |task: &Value| {
        let mut whole = task.clone();
        if let Some(whole) = whole.as_object_mut() {
            whole.remove("lastFiredAt");
        }
        let text = |key: &str| task.get(key).map(plain).unwrap_or_default();
        Piece::new((Schedule, Dangerous), text("cron"), &text("prompt"), &json(&whole), file)
    };
    tasks.iter().map(piece).collect()
}

/// A file that is no JSON as we read it. The CLI may still read something in it, so all of it is shown.
pub(super) fn unreadable(file: &Found) -> Vec<Piece> {
    let text = String::from_utf8_lossy(&file.bytes);
    vec![Piece::new((Setting, Dangerous), "a file that is not understood", &text, &file.bytes, file)]
}

pub(super) fn object(file: &Found) -> Option<Map<String, Value>> {
    serde_json::from_slice(&file.bytes).ok()
}

/// A value for a person: a text as it is, anything else as JSON.
pub(super) fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

pub(super) fn json(value: &impl serde::Serialize) -> Vec<u8> {
    // A value that came from JSON goes back.
    serde_json::to_vec(value).unwrap_or_default()
}

fn hooks(events: &Map<String, Value>, file: &Found, pieces: &mut Vec<Piece>) {
    for (event, groups) in events {
        for group in each(groups) {
            let matcher = group.get("matcher").map(plain).filter(|matcher| !matcher.is_empty());
            let name = matcher.map_or_else(|| event.clone(), |matcher| format!("{event} ({matcher})"));
            let mut around = group.as_object().cloned().unwrap_or_default();
            around.remove("hooks");
            for hook in group.get("hooks").map_or_else(|| std::slice::from_ref(group), each) {
                let whole = json(&(&around, hook));
                let mut rest = hook.as_object().cloned().unwrap_or_default();
                let detail = match rest.remove("command") {
                    Some(command) => {
                        rest.remove("type");
                        with_rest(plain(&command), &rest)
                    }
                    None => hook.to_string(),
                };
                let mut unknown = around.clone();
                unknown.remove("matcher");
                let detail = with_rest(detail, &unknown);
                pieces.push(Piece::new((Hook, Dangerous), &name, &detail, &whole, file));
            }
        }
    }
}

fn permissions(rules: &Map<String, Value>, file: &Found, pieces: &mut Vec<Piece>) {
    for (key, value) in rules {
        let danger = if matches!(key.as_str(), "ask" | "deny") { Harmless } else { Dangerous };
        for rule in each(value) {
            pieces.push(Piece::new((Permission, danger), key, &plain(rule), &json(rule), file));
        }
    }
}

/// The elements of a list; of anything else, itself.
fn each(value: &Value) -> &[Value] {
    value.as_array().map_or_else(|| std::slice::from_ref(value), Vec::as_slice)
}

/// A text, and below it the members that it does not tell.
pub(super) fn with_rest(text: String, rest: &Map<String, Value>) -> String {
    if rest.is_empty() { text } else { format!("{text}\n{}", Value::Object(rest.clone())) }
}

fn is_telling(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    TELLING.contains(&name.as_str())
        || TELLING_BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
        || name.ends_with("_PROXY")
}

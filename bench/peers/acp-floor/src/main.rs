//! The floor of an ACP adapter: texts, thoughts, tool calls and their results, and the end of a turn.
//!
//! No permissions, no cancelling, no history, one session, no checks. It starts `claude` from `PATH`. The one rule it
//! keeps: it stays as plain as it is, for a floor that gets clever measures nothing.

use std::error::Error;
use std::io::{self, BufRead, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use serde::Deserialize;
use serde_json::{Value, json};

const CHUNK: usize = 64 * 1024;
const FLAGS: [&str; 7] = [
    "--print",
    "--verbose",
    "--output-format",
    "stream-json",
    "--input-format",
    "stream-json",
    "--include-partial-messages",
];
const SESSION: &str = "floor";

/// A line of the CLI, with what becomes an update.
#[derive(Deserialize)]
struct Line<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    #[serde(borrow)]
    event: Option<Event<'a>>,
    #[serde(borrow)]
    message: Option<&'a serde_json::value::RawValue>,
}

#[derive(Deserialize)]
struct Event<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    #[serde(borrow)]
    delta: Option<Delta<'a>>,
    #[serde(borrow)]
    content_block: Option<Block<'a>>,
}

#[derive(Deserialize)]
struct Delta<'a> {
    #[serde(borrow)]
    text: Option<&'a serde_json::value::RawValue>,
    #[serde(borrow)]
    thinking: Option<&'a serde_json::value::RawValue>,
}

#[derive(Deserialize)]
struct Block<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    id: Option<&'a str>,
    name: Option<&'a str>,
    #[serde(borrow)]
    tool_use_id: Option<&'a str>,
    #[serde(borrow)]
    content: Option<&'a serde_json::value::RawValue>,
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    content: Vec<Block<'a>>,
}

/// The prompt that waits for its answer.
type Prompt = Arc<Mutex<Option<Value>>>;

fn main() -> Result<(), Box<dyn Error>> {
    let prompt = Prompt::default();
    let mut claude: Option<(Child, ChildStdin)> = None;
    for line in io::stdin().lock().lines() {
        let message: Value = serde_json::from_str(&line?)?;
        let id = &message["id"];
        match message["method"].as_str() {
            Some("initialize") => answer(id, &json!({ "protocolVersion": 1, "agentCapabilities": {} }))?,
            Some("session/new") => {
                let mut child =
                    Command::new("claude").args(FLAGS).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
                let stdout = child.stdout.take().ok_or("no standard output")?;
                let stdin = child.stdin.take().ok_or("no standard input")?;
                let prompt = Arc::clone(&prompt);
                thread::spawn(move || translate(stdout, &prompt));
                claude = Some((child, stdin));
                answer(id, &json!({ "sessionId": SESSION }))?;
            }
            Some("session/prompt") => {
                *prompt.lock().unwrap_or_else(PoisonError::into_inner) = Some(id.clone());
                let content = &message["params"]["prompt"];
                let said = json!({ "type": "user", "message": { "role": "user", "content": content } });
                let (_, stdin) = claude.as_mut().ok_or("no session")?;
                stdin.write_all(format!("{said}\n").as_bytes())?;
            }
            _ => {}
        }
    }
    if let Some((mut child, stdin)) = claude {
        drop(stdin);
        child.wait()?;
    }
    Ok(())
}

fn answer(id: &Value, result: &Value) -> io::Result<()> {
    let line = json!({ "jsonrpc": "2.0", "id": id, "result": result });
    io::stdout().lock().write_all(format!("{line}\n").as_bytes())
}

/// Reads what there is, writes what it means in one go, and again.
fn translate(mut from: ChildStdout, prompt: &Prompt) -> Option<()> {
    let mut buffer = vec![0; CHUNK];
    let (mut filled, mut out) = (0, Vec::new());
    loop {
        let count = from.read(&mut buffer[filled..]).ok()?;
        if count == 0 {
            return None;
        }
        filled += count;
        let mut begun = 0;
        for end in memchr::memchr_iter(b'\n', &buffer[..filled]) {
            updates(&buffer[begun..end], &mut out, prompt);
            begun = end + 1;
        }
        buffer.copy_within(begun..filled, 0);
        filled -= begun;
        if filled == buffer.len() {
            buffer.resize(buffer.len() * 2, 0);
        }
        if !out.is_empty() {
            io::stdout().lock().write_all(&out).ok()?;
            out.clear();
        }
    }
}

fn updates(line: &[u8], out: &mut Vec<u8>, prompt: &Prompt) -> Option<()> {
    let line: Line<'_> = serde_json::from_slice(line).ok()?;
    match (line.kind, line.event) {
        ("stream_event", Some(Event { delta: Some(delta), .. })) => {
            let (kind, text) = match (delta.text, delta.thinking) {
                (Some(text), _) => ("agent_message_chunk", text),
                (_, Some(text)) => ("agent_thought_chunk", text),
                _ => return None,
            };
            update(out, format_args!(r#""sessionUpdate":"{kind}","content":{{"type":"text","text":{text}}}"#));
        }
        ("stream_event", Some(Event { kind: "content_block_start", content_block: Some(block), .. }))
            if block.kind == "tool_use" =>
        {
            let (id, name) = (block.id?, block.name?);
            update(
                out,
                format_args!(r#""sessionUpdate":"tool_call","toolCallId":"{id}","title":"{name}","status":"pending""#),
            );
        }
        ("user", _) => {
            let message: Message<'_> = serde_json::from_str(line.message?.get()).ok()?;
            for block in message.content.iter().filter(|block| block.kind == "tool_result") {
                let id = block.tool_use_id?;
                let output = block.content.map_or("null", serde_json::value::RawValue::get);
                update(
                    out,
                    format_args!(
                        r#""sessionUpdate":"tool_call_update","toolCallId":"{id}","status":"completed","rawOutput":{output}"#
                    ),
                );
            }
        }
        ("result", _) => {
            let id = prompt.lock().unwrap_or_else(PoisonError::into_inner).take()?;
            writeln!(out, r#"{{"jsonrpc":"2.0","id":{id},"result":{{"stopReason":"end_turn"}}}}"#).ok()?;
        }
        _ => {}
    }
    Some(())
}

fn update(out: &mut Vec<u8>, members: std::fmt::Arguments<'_>) {
    // Writing into memory does not fail.
    let _ = writeln!(
        out,
        r#"{{"jsonrpc":"2.0","method":"session/update","params":{{"sessionId":"{SESSION}","update":{{{members}}}}}}}"#
    );
}

//! The floors: programs that do the least that could be called the work.
//!
//! *Scan* reads and finds the line ends. *Typed* reads each line into borrowed structs with `serde` and writes
//! our event with all its members, but keeps no session: no state, no checks, no transcript. The one rule they
//! keep: they stay as plain as they are, for a floor that gets clever measures nothing.

use std::borrow::Cow;
use std::io::{self, BufWriter, Read, Write};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// Which floor to be; reads standard input, writes standard output.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub(crate) enum Floor {
    /// Find the line ends.
    Scan,
    /// Read each line, write its event.
    Typed,
}

/// Reads until the end of standard input.
pub(crate) fn run(floor: Floor) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(BUFFER, io::stdout().lock());
    match floor {
        Floor::Scan => {
            let mut lines = 0_u64;
            each_line(io::stdin().lock(), |_| {
                lines += 1;
                Ok(())
            })?;
            writeln!(out, "{lines}")?;
        }
        Floor::Typed => {
            let mut state = State::default();
            each_line(io::stdin().lock(), |line| write_event(line, &mut state, &mut out))?;
        }
    }
    out.flush()
}

const BUFFER: usize = 64 * 1024;

fn each_line(mut input: impl Read, mut line: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
    let mut buffer = vec![0; BUFFER];
    let mut filled = 0;
    loop {
        let read = input.read(&mut buffer[filled..])?;
        if read == 0 {
            return Ok(());
        }
        filled += read;
        let mut begun = 0;
        for end in memchr::memchr_iter(b'\n', &buffer[..filled]) {
            line(&buffer[begun..end])?;
            begun = end + 1;
        }
        buffer.copy_within(begun..filled, 0);
        filled -= begun;
        if filled == buffer.len() {
            buffer.resize(buffer.len() * 2, 0);
        }
    }
}

/// An `Option<Cow>` alone would not borrow: only a member that is a `Cow` itself does.
#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

fn get<'b>(text: Option<&'b Text<'_>>) -> Option<&'b str> {
    text.map(|text| &*text.0)
}

#[derive(Deserialize)]
struct Line<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    session_id: Option<Text<'a>>,
    #[serde(borrow)]
    parent_tool_use_id: Option<Text<'a>>,
    #[serde(borrow)]
    event: Option<StreamEvent<'a>>,
    #[serde(borrow)]
    message: Option<Message<'a>>,
    #[serde(borrow)]
    result: Option<Text<'a>>,
    total_cost_usd: Option<f64>,
}

#[derive(Deserialize)]
struct StreamEvent<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    index: Option<u64>,
    #[serde(borrow)]
    delta: Option<Block<'a>>,
    #[serde(borrow)]
    content_block: Option<Block<'a>>,
    #[serde(borrow)]
    message: Option<Message<'a>>,
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    id: Option<Text<'a>>,
    #[serde(borrow, default)]
    content: Vec<Block<'a>>,
}

#[derive(Deserialize)]
struct Block<'a> {
    #[serde(rename = "type", borrow)]
    kind: Option<Text<'a>>,
    #[serde(borrow)]
    text: Option<Text<'a>>,
    #[serde(borrow)]
    thinking: Option<Text<'a>>,
    #[serde(borrow)]
    partial_json: Option<Text<'a>>,
    #[serde(borrow)]
    id: Option<Text<'a>>,
    #[serde(borrow)]
    tool_use_id: Option<Text<'a>>,
    #[serde(borrow)]
    name: Option<Text<'a>>,
    #[serde(borrow)]
    input: Option<&'a RawValue>,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
}

/// All that the floor remembers from line to line.
#[derive(Default)]
struct State {
    seq: u64,
    message_id: String,
}

#[derive(Serialize)]
struct Event<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    seq: u64,
    at: u64,
    session_id: Option<&'a str>,
    turn: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent_tool_call_id: Option<&'a str>,
    item_id: Option<u64>,
    message_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_text: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    input: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    total_cost_usd: Option<f64>,
}

fn write_event(line: &[u8], state: &mut State, out: &mut impl Write) -> io::Result<()> {
    // Checked once, not once per string.
    let line = std::str::from_utf8(line).map_err(io::Error::other)?;
    let line: Line<'_> = serde_json::from_str(line)?;
    let streamed = line.event.as_ref();
    let message = line.message.as_ref().or(streamed.and_then(|event| event.message.as_ref()));
    if let Some(id) = message.and_then(|message| get(message.id.as_ref())) {
        state.message_id.clear();
        state.message_id.push_str(id);
    }
    let first = message.and_then(|message| message.content.first());
    let block = streamed.and_then(|event| event.delta.as_ref().or(event.content_block.as_ref())).or(first);
    let kind = match block.and_then(|block| get(block.kind.as_ref())) {
        Some("text_delta") => "message_chunk",
        Some("thinking_delta") => "reasoning",
        Some("input_json_delta") => "tool_preparing",
        Some("tool_use") => "tool_call",
        Some("tool_result") => "tool_update",
        _ => streamed.map_or(&*line.kind, |event| &*event.kind),
    };
    state.seq += 1;
    let event = Event {
        kind,
        seq: state.seq,
        at: 0,
        session_id: get(line.session_id.as_ref()),
        turn: Some(1),
        parent_tool_call_id: get(line.parent_tool_use_id.as_ref()),
        item_id: streamed.and_then(|event| event.index),
        message_id: &state.message_id,
        text: block.and_then(|block| get(block.text.as_ref())).or(get(line.result.as_ref())),
        reasoning_text: block.and_then(|block| get(block.thinking.as_ref())),
        tool_call_id: block.and_then(|block| get(block.id.as_ref()).or(get(block.tool_use_id.as_ref()))),
        tool_name: block.and_then(|block| get(block.name.as_ref())),
        bytes: block.and_then(|block| get(block.partial_json.as_ref())).map(str::len),
        input: block.and_then(|block| block.input),
        output: block.and_then(|block| block.content),
        total_cost_usd: line.total_cost_usd,
    };
    serde_json::to_writer(&mut *out, &event)?;
    out.write_all(b"\n")
}

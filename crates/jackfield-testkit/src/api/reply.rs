//! A reply as bytes: the events of a streamed message, or the message in one piece.
//!
//! It does no IO: a streamed reply is a list of [`Step`]s that someone else performs. The one rule it keeps:
//! the same reply is the same bytes, ids included, whatever was asked before it.

use std::time::Duration;

use serde::Serialize;
use serde_json::{Value, json};

use super::scenario::{Block, Content, Reply, Usage};
use super::script::Choice;
use crate::places::Places;

/// How many words a text delta carries, as in the shared recordings.
const WORDS_PER_DELTA: usize = 3;
/// How many bytes a delta of a tool's input carries, about.
const INPUT_BYTES_PER_DELTA: usize = 40;
const SIGNATURE: &str = "c2NyaXB0ZWQ=";

/// One step of sending a streamed reply.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Step {
    /// Send one event.
    Event(String),
    /// Wait.
    Delay(Duration),
    /// Stand at a gate.
    Gate(String),
    /// Cut the connection.
    Cut,
}

/// A reply with its ids, for one request.
#[derive(Debug)]
pub(super) struct Message<'a> {
    reply: &'a Reply,
    number: String,
    model: &'a str,
    places: &'a Places,
}

impl<'a> Message<'a> {
    pub(super) fn new(choice: &'a Choice, model: &'a str, places: &'a Places) -> Self {
        let number = match choice.repetition {
            0 => format!("{:04}", choice.index + 1),
            repetition => format!("{:04}r{repetition}", choice.index + 1),
        };
        Self { reply: &choice.reply, number, model, places }
    }

    /// The `request-id` header.
    pub(super) fn request_id(&self) -> String {
        format!("req_{}", self.number)
    }

    /// The steps of the streamed message.
    pub(super) fn steps(&self) -> Vec<Step> {
        let reply = self.reply;
        let mut steps = Vec::new();
        let usage = reply.usage.unwrap_or_default();
        steps.push(event(&Event::MessageStart {
            message: self.envelope(Vec::new(), None, Usage { output_tokens: 1, ..usage }),
        }));
        for (index, block) in reply.blocks.iter().enumerate() {
            self.block(index, block, &mut steps);
        }
        steps.extend(reply.gate_end.iter().cloned().map(Step::Gate));
        if let Some(error) = &reply.midstream_error {
            steps.push(event(&Event::Error { error: error.clone() }));
        } else {
            steps.push(event(&Event::MessageDelta {
                delta: StopDelta { stop_reason: self.stop_reason(), stop_sequence: None },
                usage: OutputTokens { output_tokens: usage.output_tokens },
            }));
            steps.push(event(&Event::MessageStop));
        }
        if let Some(limit) = reply.drop_after_events {
            cut_after(&mut steps, limit);
        }
        steps
    }

    /// The message in one piece, for requests that do not stream.
    pub(super) fn whole(&self) -> String {
        let blocks =
            self.reply.blocks.iter().enumerate().map(|(index, block)| self.whole_block(index, block));
        let usage = self.reply.usage.unwrap_or_default();
        let message = self.envelope(blocks.collect(), Some(self.stop_reason()), usage);
        serde_json::to_string(&message).unwrap_or_default()
    }

    fn envelope(
        &self,
        content: Vec<ContentBlock>,
        stop_reason: Option<String>,
        usage: Usage,
    ) -> Envelope<'a> {
        Envelope {
            id: format!("msg_{}", self.number),
            kind: "message",
            role: "assistant",
            model: self.model,
            content,
            stop_reason,
            stop_sequence: None,
            usage,
        }
    }

    fn stop_reason(&self) -> String {
        if let Some(stop_reason) = &self.reply.stop_reason {
            return stop_reason.clone();
        }
        let uses_tools =
            self.reply.blocks.iter().any(|block| matches!(block.content, Content::ToolUse { .. }));
        if uses_tools { "tool_use" } else { "end_turn" }.to_owned()
    }

    fn block(&self, index: usize, block: &Block, steps: &mut Vec<Step>) {
        let (start, deltas) = match &block.content {
            Content::Text { text } => {
                let chunks = block.chunks.clone().unwrap_or_else(|| words(&self.numbered(text)));
                let deltas = chunks.into_iter().map(|text| Delta::Text { text: self.places.fill(&text) });
                (ContentBlock::Text { text: String::new() }, deltas.collect::<Vec<_>>())
            }
            Content::Thinking { thinking, signature } => {
                let chunks = block.chunks.clone().unwrap_or_else(|| words(thinking));
                let mut deltas: Vec<_> = chunks
                    .into_iter()
                    .map(|thinking| Delta::Thinking { thinking: self.places.fill(&thinking) })
                    .collect();
                deltas.push(Delta::Signature {
                    signature: signature.clone().unwrap_or_else(|| SIGNATURE.to_owned()),
                });
                (ContentBlock::Thinking { thinking: String::new(), signature: String::new() }, deltas)
            }
            Content::RedactedThinking { data } => {
                (ContentBlock::RedactedThinking { data: data.clone() }, Vec::new())
            }
            Content::ToolUse { name, id, input, raw_json } => {
                let text = self.numbered(&raw_json.clone().unwrap_or_else(|| input.to_string()));
                let chunks = block.chunks.clone().unwrap_or_else(|| pieces(&text));
                let deltas = chunks
                    .into_iter()
                    .map(|piece| Delta::InputJson { partial_json: self.places.fill(&piece) });
                let id = id.clone().unwrap_or_else(|| self.tool_use_id(index));
                (ContentBlock::ToolUse { id, name: name.clone(), input: json!({}) }, deltas.collect())
            }
        };
        steps.push(event(&Event::ContentBlockStart { index, content_block: start }));
        let gate = |sent| block.gate.as_ref().filter(|gate| gate.after == sent);
        steps.extend(gate(0).map(|gate| Step::Gate(gate.name.clone())));
        for (sent, delta) in (1..).zip(deltas) {
            steps.push(event(&Event::ContentBlockDelta { index, delta }));
            steps.extend(block.chunk_delay.map(|seconds| Step::Delay(Duration::from_secs_f64(seconds))));
            steps.extend(gate(sent).map(|gate| Step::Gate(gate.name.clone())));
        }
        steps.push(event(&Event::ContentBlockStop { index }));
    }

    fn whole_block(&self, index: usize, block: &Block) -> ContentBlock {
        match &block.content {
            Content::Text { text } => ContentBlock::Text { text: self.places.fill(&self.numbered(text)) },
            Content::Thinking { thinking, signature } => ContentBlock::Thinking {
                thinking: self.places.fill(thinking),
                signature: signature.clone().unwrap_or_else(|| SIGNATURE.to_owned()),
            },
            Content::RedactedThinking { data } => ContentBlock::RedactedThinking { data: data.clone() },
            Content::ToolUse { name, id, input, .. } => ContentBlock::ToolUse {
                id: id.clone().unwrap_or_else(|| self.tool_use_id(index)),
                name: name.clone(),
                input: serde_json::from_str(&self.places.fill(&self.numbered(&input.to_string())))
                    .unwrap_or_default(),
            },
        }
    }

    fn numbered(&self, text: &str) -> String {
        text.replace("$number", &self.number)
    }

    fn tool_use_id(&self, index: usize) -> String {
        format!("toolu_{}_{:02}", self.number, index + 1)
    }
}

/// Cuts a text after every third word; blanks stay with the word before them.
fn words(text: &str) -> Vec<String> {
    let words: Vec<&str> = text.split_inclusive([' ', '\n']).collect();
    words.chunks(WORDS_PER_DELTA).map(<[&str]>::concat).collect()
}

/// Cuts the text of a tool's input, never inside a character or the name of a folder.
fn pieces(text: &str) -> Vec<String> {
    let mut pieces = Vec::new();
    let mut start = 0;
    while start < text.len() {
        let mut end = (start + INPUT_BYTES_PER_DELTA).min(text.len());
        while !text.is_char_boundary(end) || (end < text.len() && Places::is_inside_a_name(text, end)) {
            end += 1;
        }
        pieces.push(text[start..end].to_owned());
        start = end;
    }
    pieces
}

fn cut_after(steps: &mut Vec<Step>, limit: usize) {
    let mut events = 0;
    let kept = steps
        .iter()
        .take_while(|step| {
            events += usize::from(matches!(step, Step::Event(_)));
            events <= limit
        })
        .count();
    steps.truncate(kept);
    steps.push(Step::Cut);
}

fn event(event: &Event<'_>) -> Step {
    let name = match event {
        Event::MessageStart { .. } => "message_start",
        Event::ContentBlockStart { .. } => "content_block_start",
        Event::ContentBlockDelta { .. } => "content_block_delta",
        Event::ContentBlockStop { .. } => "content_block_stop",
        Event::MessageDelta { .. } => "message_delta",
        Event::MessageStop => "message_stop",
        Event::Error { .. } => "error",
    };
    let payload = serde_json::to_string(event).unwrap_or_default();
    Step::Event(format!("event: {name}\ndata: {payload}\n\n"))
}

// The events are types, not `json!`, because the CLI hands the order of their fields on to its host.

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Event<'a> {
    MessageStart { message: Envelope<'a> },
    ContentBlockStart { index: usize, content_block: ContentBlock },
    ContentBlockDelta { index: usize, delta: Delta },
    ContentBlockStop { index: usize },
    MessageDelta { delta: StopDelta, usage: OutputTokens },
    MessageStop,
    Error { error: Value },
}

#[derive(Serialize)]
struct Envelope<'a> {
    id: String,
    #[serde(rename = "type")]
    kind: &'static str,
    role: &'static str,
    model: &'a str,
    content: Vec<ContentBlock>,
    stop_reason: Option<String>,
    stop_sequence: Option<String>,
    usage: Usage,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ContentBlock {
    Text { text: String },
    Thinking { thinking: String, signature: String },
    RedactedThinking { data: String },
    ToolUse { id: String, name: String, input: Value },
}

#[derive(Serialize)]
#[serde(tag = "type")]
enum Delta {
    #[serde(rename = "text_delta")]
    Text { text: String },
    #[serde(rename = "thinking_delta")]
    Thinking { thinking: String },
    #[serde(rename = "signature_delta")]
    Signature { signature: String },
    #[serde(rename = "input_json_delta")]
    InputJson { partial_json: String },
}

#[derive(Serialize)]
struct StopDelta {
    stop_reason: String,
    stop_sequence: Option<String>,
}

#[derive(Serialize)]
struct OutputTokens {
    output_tokens: u64,
}

#[cfg(test)]
mod tests {
    use super::super::scenario::BlockGate;
    use super::*;

    fn steps(reply: Reply) -> Vec<Step> {
        let choice = Choice { index: 0, repetition: 0, reply };
        Message::new(&choice, "claude-test", &Places::default()).steps()
    }

    fn names(steps: &[Step]) -> Vec<&str> {
        let name = |step| match step {
            Step::Event(text) => {
                let text: &'static str = String::leak(text);
                text.lines().next().and_then(|line| line.strip_prefix("event: ")).unwrap_or("?")
            }
            Step::Delay(_) => "delay",
            Step::Gate(_) => "gate",
            Step::Cut => "cut",
        };
        steps.iter().cloned().map(name).collect()
    }

    #[test]
    fn a_text_is_cut_after_every_third_word() {
        assert_eq!(words("one two three four five"), ["one two three ", "four five"]);
        assert_eq!(words("").len(), 0);
    }

    #[test]
    fn an_input_is_never_cut_inside_the_name_of_a_folder() {
        let text = format!("{}/ws/a.txt{}", "x".repeat(38), "y".repeat(50));
        let pieces = pieces(&text);
        assert_eq!(pieces.concat(), text);
        assert!(pieces[0].ends_with("/ws"), "{pieces:?}");
    }

    #[test]
    fn a_reply_knows_its_own_number() {
        let reply = Reply::tool_use("Bash", json!({"command": "echo toolu_$number_01"}));
        let choice = Choice { index: 6, repetition: 2, reply };
        let places = Places::default();
        let whole = Message::new(&choice, "claude-test", &places).whole();
        assert_eq!(whole.matches("toolu_0007r2_01").count(), 2, "{whole}");
    }

    #[test]
    fn a_gate_stands_after_its_delta() {
        let mut reply = Reply::text("one two three four");
        reply.blocks[0].gate = Some(BlockGate { name: "middle".into(), after: 1 });
        assert_eq!(
            names(&steps(reply)),
            [
                "message_start",
                "content_block_start",
                "content_block_delta",
                "gate",
                "content_block_delta",
                "content_block_stop",
                "message_delta",
                "message_stop",
            ]
        );
    }

    #[test]
    fn a_dropped_connection_ends_after_its_events() {
        let reply = Reply { drop_after_events: Some(3), ..Reply::text("one two three four") };
        assert_eq!(
            names(&steps(reply)),
            ["message_start", "content_block_start", "content_block_delta", "cut"]
        );
    }

    #[test]
    fn an_error_in_the_stream_takes_the_place_of_the_end() {
        let error = json!({"type": "overloaded_error", "message": "Overloaded"});
        let reply = Reply { midstream_error: Some(error), ..Reply::text("one") };
        assert_eq!(names(&steps(reply)).last(), Some(&"error"));
    }

    #[test]
    fn a_reply_in_one_piece_has_the_same_ids_as_the_streamed_one() {
        let choice =
            Choice { index: 1, repetition: 0, reply: Reply::tool_use("Bash", json!({"command": "ls"})) };
        let places = Places::default();
        let message = Message::new(&choice, "claude-test", &places);
        let whole: Value = serde_json::from_str(&message.whole()).unwrap_or_default();
        assert_eq!(whole["id"], "msg_0002");
        assert_eq!(whole["content"][0]["id"], "toolu_0002_01");
        assert_eq!(whole["stop_reason"], "tool_use");
        assert!(
            message
                .steps()
                .iter()
                .any(|step| matches!(step, Step::Event(text) if text.contains("toolu_0002_01")))
        );
    }
}

//! An API message while it is written: block by block, each piece as an event of the API where the host
//! wants them, and then whole.
//!
//! The one rule: the whole is what the pieces were, and comes before the end of its block
//! [basic/partial_all_blocks].

use serde_json::{Value, json};

use super::agent::{Agent, Stop};
use super::meter::{self, Tokens};
use super::output::Piece;
use super::pace;
use super::subagent::Subagent;

/// What `Repeat` says.
const WORD: &str = "word ";
/// How much of a tool's input comes at once.
const INPUT_PIECE: usize = 40;

/// A message that is being written.
#[derive(Debug)]
pub(super) struct Message {
    pub(super) id: String,
    request: Tokens,
    output: u64,
    index: u64,
    /// The text block that is not over.
    text: Option<String>,
}

impl Agent {
    pub(super) async fn think(&mut self, text: &str) -> Result<(), Stop> {
        self.begin_block(&json!({ "type": "thinking", "thinking": "", "signature": "" }));
        let mut estimated = 0;
        for piece in text.split_inclusive(' ') {
            let delta = meter::tokens(piece);
            estimated += delta;
            let told = json!({ "estimated_tokens": estimated, "estimated_tokens_delta": delta });
            self.out.system("thinking_tokens", &told);
            self.piece(Piece("thinking_delta", "thinking", piece));
            self.pause(pace::THINKING).await?;
        }
        self.piece(Piece("signature_delta", "signature", "ZGVtbw=="));
        self.end_block(&json!({ "type": "thinking", "thinking": text, "signature": "ZGVtbw==" }), text);
        Ok(())
    }

    pub(super) async fn say(&mut self, text: &str) -> Result<(), Stop> {
        self.begin_block(&json!({ "type": "text", "text": "" }));
        for piece in text.split_inclusive(' ') {
            self.piece(Piece("text_delta", "text", piece));
            self.remember(piece);
            self.pause(pace::SPEAKING).await?;
        }
        self.end_text(text);
        Ok(())
    }

    /// The same piece many times, as fast as the pipe takes it.
    pub(super) fn repeat(&mut self, times: u64) -> Result<(), Stop> {
        self.begin_block(&json!({ "type": "text", "text": "" }));
        for _ in 0..times {
            self.piece(Piece("text_delta", "text", WORD));
            self.remember(WORD);
            self.catch_up()?;
        }
        let text = self.turn.message.as_mut().and_then(|message| message.text.clone()).unwrap_or_default();
        self.end_text(&text);
        Ok(())
    }

    /// The call's block; the message is over with it.
    pub(super) async fn write_call(&mut self, id: &str, tool: &str, input: &Value) -> Result<(), Stop> {
        self.begin_block(&json!({ "type": "tool_use", "id": id, "name": tool, "input": {} }));
        let written = input.to_string();
        let mut rest = written.as_str();
        while !rest.is_empty() {
            let (piece, behind) = rest.split_at(rest.floor_char_boundary(INPUT_PIECE));
            self.piece(Piece("input_json_delta", "partial_json", piece));
            rest = behind;
            self.pause(pace::WRITING).await?;
        }
        self.end_block(&json!({ "type": "tool_use", "id": id, "name": tool, "input": input }), &written);
        self.end_message("tool_use");
        Ok(())
    }

    /// A whole block of a subagent: none of its pieces come [tools/subagent_partial_default].
    pub(super) fn tell_block_of(&mut self, agent: &Subagent, block: &Value) {
        let id = self.out.id("msg_");
        let usage = json!({ "input_tokens": 4, "output_tokens": 1 });
        let mut line = assistant(&id, &self.model, block, &usage);
        line["parent_tool_use_id"] = agent.call.as_str().into();
        agent.sign(&mut line);
        self.out.line("assistant", &line);
    }

    /// Ends the message, if one is being written.
    pub(super) fn end_message(&mut self, stop_reason: &str) {
        let Some(message) = self.turn.message.take() else { return };
        self.meter.answered(message.request, message.output);
        if self.arguments.partial_messages {
            let delta = json!({
                "delta": { "stop_reason": stop_reason, "stop_sequence": null },
                "usage": { "output_tokens": message.output },
            });
            self.out.stream_event(&message.id, "message_delta", &delta);
            self.out.stream_event(&message.id, "message_stop", &json!({}));
        }
    }

    /// The message was broken off: of an unfinished block only text is kept [interrupt/mid_stream_thinking].
    pub(super) fn keep_partial_text(&mut self) {
        let Some(message) = self.turn.message.take() else { return };
        self.meter.answered(message.request, message.output);
        if let Some(text) = message.text.filter(|text| !text.is_empty()) {
            let block = json!({ "type": "text", "text": text });
            let line = assistant(&message.id, &self.model, &block, &message.request.usage());
            self.out.line("assistant", &line);
            self.turn.said = text;
        }
    }

    /// Begins a block, and a message if none is being written.
    fn begin_block(&mut self, block: &Value) {
        if self.turn.message.is_none() {
            self.begin_message();
        }
        let Some(message) = &mut self.turn.message else { return };
        message.text = (block["type"] == "text").then(String::new);
        if self.arguments.partial_messages {
            let start = json!({ "index": message.index, "content_block": block });
            self.out.stream_event(&message.id, "content_block_start", &start);
        }
    }

    fn begin_message(&mut self) {
        self.count_request();
        let (id, request) = (self.out.id("msg_"), self.meter.request());
        if self.arguments.partial_messages {
            self.out.system("status", &json!({ "status": "requesting" }));
        }
        self.repeat_prompt();
        if self.arguments.partial_messages {
            let message = json!({
                "id": id, "type": "message", "role": "assistant", "model": self.model, "content": [],
                "stop_reason": null, "stop_sequence": null, "usage": request.usage(),
            });
            self.out.stream_event(&id, "message_start", &json!({ "message": message }));
        }
        self.turn.message = Some(Message { id, request, output: 1, index: 0, text: None });
    }

    fn piece(&mut self, piece: Piece<'_>) {
        if let (true, Some(message)) = (self.arguments.partial_messages, &self.turn.message) {
            self.out.delta(&message.id, message.index, piece);
        }
    }

    fn remember(&mut self, piece: &str) {
        if let Some(text) = self.turn.message.as_mut().and_then(|message| message.text.as_mut()) {
            text.push_str(piece);
        }
    }

    fn end_text(&mut self, text: &str) {
        self.end_block(&json!({ "type": "text", "text": text }), text);
        text.clone_into(&mut self.turn.said);
    }

    fn end_block(&mut self, block: &Value, written: &str) {
        let Some(message) = &mut self.turn.message else { return };
        let line = assistant(&message.id, &self.model, block, &message.request.usage());
        self.out.line("assistant", &line);
        if self.arguments.partial_messages {
            let stop = json!({ "index": message.index });
            self.out.stream_event(&message.id, "content_block_stop", &stop);
        }
        message.text = None;
        message.index += 1;
        message.output += meter::tokens(written);
    }
}

/// A line with one block of a message.
fn assistant(id: &str, model: &str, block: &Value, usage: &Value) -> Value {
    json!({
        "message": {
            "id": id, "type": "message", "role": "assistant", "model": model, "content": [block],
            "stop_reason": null, "stop_sequence": null, "usage": usage, "context_management": null,
        },
        "parent_tool_use_id": null,
        "request_id": id.replace("msg_", "req_"),
    })
}

//! The API's own events while a message is written: pieces of text, of thinking, of a tool's input.
//!
//! They come only with partial messages and, so far, only from the main thread.

use jackfield_api as api;
use jackfield_wire as wire;

use api::MessageId;
use api::trouble::Unknown;
use wire::{ApiEvent, Block, Delta, StreamEvent};

use crate::session::Session;
use crate::stream::Voice;

impl Session {
    pub(crate) fn on_stream_event(&mut self, line: StreamEvent<'_>) {
        if let Some(id) = &line.session_id {
            self.saw_cli_session(id);
        }
        let parent = line.parent_tool_use_id.as_deref();
        let main = parent.is_none();
        if main {
            self.in_turn();
        }
        let Some(run) = &mut self.run else { return };
        let (calls, out) = (&mut self.calls, &mut self.out);
        match line.event {
            ApiEvent::ContentBlockDelta { index, delta } => match delta {
                Delta::Text(piece) => {
                    if main && let Some(turn) = run.turn_mut() {
                        turn.spoke = true;
                    }
                    run.stream(parent).push(index, Voice::Text, &piece, out);
                }
                Delta::Thinking(piece) => run.stream(parent).push(index, Voice::Thinking, &piece, out),
                Delta::InputJson(piece) => run.stream(parent).push_input(index, piece.len(), calls, out),
                // A signature is the API's own; citations stand in the final block.
                Delta::Signature(_) | Delta::Citations(_) => {}
                Delta::Unknown { tag, raw } => {
                    let tag = format!("stream_event/content_block_delta/{tag}");
                    out.event(Unknown { tag, text: raw.get().to_owned() });
                }
            },
            ApiEvent::MessageStart(message) => {
                run.stream(parent).begin(message.id.as_str(), calls, out);
                if main && let Some(usage) = &message.usage {
                    self.context.count(message.id.as_str(), usage, out);
                }
            }
            ApiEvent::ContentBlockStart { index, content_block } => match &*content_block {
                Block::Text(block) => {
                    run.stream(parent).open_prose(index, Voice::Text, calls, out);
                    run.stream(parent).push(index, Voice::Text, &block.text, out);
                }
                Block::Thinking(block) => {
                    run.stream(parent).open_prose(index, Voice::Thinking, calls, out);
                    run.stream(parent).push(index, Voice::Thinking, &block.thinking, out);
                }
                Block::ToolUse(block) | Block::ServerToolUse(block) => {
                    run.stream(parent).open_tool(index, block.id.as_str().into(), &block.name, calls, out);
                }
                _ => run.stream(parent).open_other(index, calls, out),
            },
            ApiEvent::ContentBlockStop { index } => run.stream(parent).close(index),
            ApiEvent::MessageDelta(delta) => {
                if main && let Some(usage) = &delta.usage {
                    let message = run.main.message();
                    self.context.settle(message.as_ref().map(MessageId::as_str), usage, out);
                }
            }
            // What an API error means is told by the lines that follow it.
            ApiEvent::MessageStop | ApiEvent::Ping | ApiEvent::Error { .. } => {}
            ApiEvent::Unknown { tag, raw } => {
                out.event(Unknown { tag: format!("stream_event/{tag}"), text: raw.get().to_owned() });
            }
        }
    }
}

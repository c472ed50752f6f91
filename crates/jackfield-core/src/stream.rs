//! One thread's API message while it is written: which blocks are open, and what has been told of them.
//!
//! The CLI tells a block twice, first in pieces and then whole (or only whole, without partial messages).
//! Here the two become one item: the whole text is compared with the pieces, and only what is missing is
//! told. The one rule: an item that was begun is ended exactly once, and the chunks of a complete one
//! joined are exactly its final text.

use jackfield_api as api;

use api::conversation::{ItemEnded, ItemOutcome, MessageChunk, Reasoning};
use api::{ItemId, MessageId, ToolCallId};

use crate::calls::Calls;
use crate::outbox::Outbox;

/// Progress of a tool's input is told in steps of this many bytes.
const PREPARING_STEP: u64 = 4096;

/// How much room a text is given to begin with, since it comes in many pieces.
pub(crate) const TEXT: usize = 256;

/// The blocks of one API message that are not over.
#[derive(Debug, Default)]
pub(crate) struct Stream {
    parent: Option<ToolCallId>,
    message: Option<MessageId>,
    blocks: Vec<Block>,
}

#[derive(Debug)]
struct Block {
    index: u64,
    kind: Kind,
    /// Its final form has come; only its `content_block_stop` is missing.
    confirmed: bool,
}

#[derive(Debug)]
enum Kind {
    Prose { voice: Voice, item: Option<ItemId>, text: String },
    Tool { call: ToolCallId, bytes: u64, told: u64 },
    Other,
}

/// What a prose block is: said or thought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Voice {
    Text,
    Thinking,
}

impl Stream {
    pub(crate) fn of(parent: Option<ToolCallId>) -> Self {
        Self { parent, ..Self::default() }
    }

    pub(crate) fn message(&self) -> Option<MessageId> {
        self.message.clone()
    }

    /// A new API message begins: what was still open of the last one comes anew.
    pub(crate) fn begin(&mut self, message: &str, calls: &mut Calls, out: &mut Outbox) {
        self.abandon(ItemOutcome::Replaced, calls, out);
        self.message = Some(message.into());
    }

    pub(crate) fn open_prose(&mut self, index: u64, voice: Voice, calls: &mut Calls, out: &mut Outbox) {
        self.open(index, Kind::Prose { voice, item: None, text: String::with_capacity(TEXT) }, calls, out);
    }

    pub(crate) fn open_tool(
        &mut self,
        index: u64,
        call: ToolCallId,
        name: &str,
        calls: &mut Calls,
        out: &mut Outbox,
    ) {
        self.open(index, Kind::Tool { call: call.clone(), bytes: 0, told: 0 }, calls, out);
        calls.prepare(call, name, self.parent.clone(), out);
    }

    pub(crate) fn open_other(&mut self, index: u64, calls: &mut Calls, out: &mut Outbox) {
        self.open(index, Kind::Other, calls, out);
    }

    /// A piece of text or thinking. This is the hot path.
    pub(crate) fn push(&mut self, index: u64, voice: Voice, piece: &str, out: &mut Outbox) {
        if piece.is_empty() {
            return;
        }
        let at = self.position(index).unwrap_or_else(|| {
            // A block whose beginning was not seen.
            let kind = Kind::Prose { voice, item: None, text: String::with_capacity(TEXT) };
            self.blocks.push(Block { index, kind, confirmed: false });
            self.blocks.len() - 1
        });
        let Block { kind: Kind::Prose { voice, item, text }, confirmed: false, .. } = &mut self.blocks[at]
        else {
            // Pieces behind the final text, or of another kind than the block: nothing that can be told twice.
            return;
        };
        let id = *item.get_or_insert(ItemId(out.next_seq()));
        text.push_str(piece);
        tell(*voice, id, self.message.clone(), piece, self.parent.as_ref(), out);
    }

    /// A piece of a tool's input.
    pub(crate) fn push_input(&mut self, index: u64, length: usize, calls: &Calls, out: &mut Outbox) {
        let Some(at) = self.position(index) else { return };
        let Kind::Tool { call, bytes, told } = &mut self.blocks[at].kind else { return };
        *bytes = bytes.saturating_add(length as u64);
        if *bytes - *told >= PREPARING_STEP {
            *told = *bytes;
            calls.prepared(call, *bytes, out);
        }
    }

    pub(crate) fn close(&mut self, index: u64) {
        // An unconfirmed block waits for its final form, in whichever order the two come.
        self.blocks.retain(|block| block.index != index || !block.confirmed);
    }

    /// The final text of a block.
    pub(crate) fn confirm_prose(&mut self, message: &str, voice: Voice, whole: &str, out: &mut Outbox) {
        let Some(block) =
            self.unconfirmed(message, |kind| matches!(kind, Kind::Prose { voice: v, .. } if *v == voice))
        else {
            return self.tell_whole(message, voice, whole, out);
        };
        block.confirmed = true;
        let Kind::Prose { item, text, .. } = &mut block.kind else { return };
        let (item, streamed) = (*item, std::mem::take(text));
        match (item, whole.strip_prefix(streamed.as_str())) {
            (None, _) => self.tell_whole(message, voice, whole, out),
            (Some(id), Some(rest)) => {
                if !rest.is_empty() {
                    tell(voice, id, self.message.clone(), rest, self.parent.as_ref(), out);
                }
                end(id, ItemOutcome::Complete, self.parent.as_ref(), out);
            }
            (Some(id), None) => {
                end(id, ItemOutcome::Replaced, self.parent.as_ref(), out);
                self.tell_whole(message, voice, whole, out);
            }
        }
    }

    /// The final form of a tool call.
    pub(crate) fn confirm_tool(&mut self, message: &str, id: &str) {
        if let Some(block) =
            self.unconfirmed(message, |kind| matches!(kind, Kind::Tool { call, .. } if call.as_str() == id))
        {
            block.confirmed = true;
        }
    }

    /// A whole text that belongs to no API message.
    pub(crate) fn say(&self, text: &str, out: &mut Outbox) {
        if !text.is_empty() {
            let id = ItemId(out.next_seq());
            tell(Voice::Text, id, None, text, self.parent.as_ref(), out);
            end(id, ItemOutcome::Complete, self.parent.as_ref(), out);
        }
    }

    /// A line of another message than the one that streams: what is still open will not be ended by it.
    pub(crate) fn leave(&mut self, message: &str, outcome: ItemOutcome, calls: &mut Calls, out: &mut Outbox) {
        if self.message.as_ref().is_some_and(|current| current.as_str() != message) {
            self.abandon(outcome, calls, out);
            self.message = None;
        }
    }

    /// Ends everything that is open.
    pub(crate) fn abandon(&mut self, outcome: ItemOutcome, calls: &mut Calls, out: &mut Outbox) {
        for block in std::mem::take(&mut self.blocks) {
            self.give_up(block, outcome, calls, out);
        }
    }

    fn give_up(&self, block: Block, outcome: ItemOutcome, calls: &mut Calls, out: &mut Outbox) {
        match block.kind {
            _ if block.confirmed => {}
            Kind::Prose { item: Some(id), .. } => end(id, outcome, self.parent.as_ref(), out),
            Kind::Tool { call, .. } => calls.never_called(&call, out),
            Kind::Prose { item: None, .. } | Kind::Other => {}
        }
    }

    fn position(&self, index: u64) -> Option<usize> {
        self.blocks.iter().rposition(|block| block.index == index)
    }

    fn open(&mut self, index: u64, kind: Kind, calls: &mut Calls, out: &mut Outbox) {
        // An index that is used again without an end: the first use is over.
        if let Some(at) = self.position(index) {
            let block = self.blocks.remove(at);
            self.give_up(block, ItemOutcome::Replaced, calls, out);
        }
        self.blocks.push(Block { index, kind, confirmed: false });
    }

    fn unconfirmed(&mut self, message: &str, fits: impl Fn(&Kind) -> bool) -> Option<&mut Block> {
        if self.message.as_ref().is_none_or(|current| current.as_str() != message) {
            return None;
        }
        self.blocks.iter_mut().find(|block| !block.confirmed && fits(&block.kind))
    }

    /// A whole item at once.
    fn tell_whole(&self, message: &str, voice: Voice, whole: &str, out: &mut Outbox) {
        if whole.is_empty() {
            return;
        }
        let id = ItemId(out.next_seq());
        tell(voice, id, Some(message.into()), whole, self.parent.as_ref(), out);
        end(id, ItemOutcome::Complete, self.parent.as_ref(), out);
    }
}

fn tell(
    voice: Voice,
    item_id: ItemId,
    message_id: Option<MessageId>,
    piece: &str,
    parent: Option<&ToolCallId>,
    out: &mut Outbox,
) {
    let body = match voice {
        Voice::Text => api::Body::MessageChunk(MessageChunk { item_id, message_id, text: piece.into() }),
        Voice::Thinking => {
            api::Body::Reasoning(Reasoning { item_id, message_id, reasoning_text: piece.into() })
        }
    };
    out.event_in(parent, body);
}

fn end(item_id: ItemId, outcome: ItemOutcome, parent: Option<&ToolCallId>, out: &mut Outbox) {
    out.event_in(parent, api::Body::ItemEnded(ItemEnded { item_id, outcome }));
}

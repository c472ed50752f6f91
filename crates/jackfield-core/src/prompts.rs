//! Prompts on their way: written to the CLI, not yet taken by it.
//!
//! A turn is not a prompt. Messages merge, join a running turn, or start none [process/queued_priority,
//! control/cancel_async_message], so a prompt is bound to where it really entered: by its uuid where the
//! CLI tells it, else by order. The one rule: a prompt leaves the queue exactly once.

use std::collections::BTreeSet;

use jackfield_api as api;
use jackfield_wire as wire;

use api::command::RejectionCode;
use api::conversation::{Attachment, DropReason, DroppedPrompt, Queue, QueuedPrompt, UserMessage};
use api::session::Priority;

use crate::on_command::Refusal;
use crate::outbox::Outbox;

/// The queue.
#[derive(Debug, Default)]
pub(crate) struct Prompts {
    waiting: Vec<Prompt>,
    /// Every uuid that was sent: the CLI runs none of them twice.
    known: BTreeSet<String>,
    told: Told,
}

/// How the CLI tells which prompts it takes.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Told {
    /// Not at all, so far.
    #[default]
    Nothing,
    /// It repeats them.
    ByReplay,
    /// It reports on each (newer versions).
    ByLifecycle,
}

/// A prompt.
#[derive(Debug, Clone)]
pub(crate) struct Prompt {
    pub(crate) uuid: Option<String>,
    pub(crate) text: String,
    pub(crate) attachments: Vec<Attachment>,
    pub(crate) priority: Priority,
    /// It was sent while a turn ran, so it may merge with others.
    pub(crate) during_turn: bool,
    /// The CLI said that it takes it into the turn that begins.
    pub(crate) started: bool,
    /// As it was written, to be written again elsewhere in the queue.
    pub(crate) line: wire::Prompt,
}

impl Prompts {
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    pub(crate) fn sent(&mut self, prompt: Prompt, out: &mut Outbox) {
        if let Some(uuid) = &prompt.uuid
            && !self.known.insert(uuid.clone())
        {
            self.tell(vec![dropped(prompt, DropReason::Duplicate)], out);
            return;
        }
        self.waiting.push(prompt);
        self.tell(Vec::new(), out);
    }

    pub(crate) fn contains(&self, uuid: &str) -> bool {
        self.position(uuid).is_some()
    }

    pub(crate) fn cancelled(&mut self, uuid: &str, out: &mut Outbox) {
        if let Some(at) = self.position(uuid) {
            let prompt = self.waiting.remove(at);
            self.tell(vec![dropped(prompt, DropReason::Cancelled)], out);
        }
    }

    /// What must be taken back and written again, in this order, so that the named prompts come first: the
    /// old name, and the prompt under its new one. Only prompts of the same priority stand in one line.
    pub(crate) fn reordered(&self, order: &[api::Uuid]) -> Result<Vec<(api::Uuid, wire::Prompt)>, Refusal> {
        let mut wanted = Vec::with_capacity(self.waiting.len());
        for uuid in order {
            let missing = || (RejectionCode::NotFound, format!("no prompt {uuid} is waiting"));
            let at = self.position(uuid.as_str()).ok_or_else(missing)?;
            if self.waiting[at].started {
                return Err((RejectionCode::TooLate, format!("prompt {uuid} was taken already")));
            }
            if wanted.contains(&at) {
                return Err((RejectionCode::Invalid, format!("prompt {uuid} is named twice")));
            }
            wanted.push(at);
        }
        wanted.extend((0..self.waiting.len()).filter(|at| !order.iter().any(|uuid| self.is_at(*at, uuid))));
        // What already stands in the right order in front of all others of its rank may stay.
        let (mut stays, mut in_order) = ([None; 3], [true; 3]);
        let mut moved = Vec::new();
        for at in wanted {
            let prompt = &self.waiting[at];
            let rank = usize::from(prompt.rank());
            in_order[rank] &= stays[rank] < Some(at);
            if in_order[rank] {
                stays[rank] = Some(at);
            } else if let Some(uuid) = prompt.uuid.as_deref().filter(|_| !prompt.started) {
                let line = prompt.line.clone().with_uuid(self.new_name(uuid).into());
                moved.push((uuid.into(), line));
            }
        }
        Ok(moved)
    }

    fn is_at(&self, at: usize, uuid: &api::Uuid) -> bool {
        self.waiting[at].uuid.as_deref() == Some(uuid.as_str())
    }

    /// A name for a prompt that is written again. It comes from the old one, because the machine has no chance
    /// to draw one, and looks like a uuid, because names of messages do.
    fn new_name(&self, old: &str) -> String {
        let mut name = old.to_owned();
        loop {
            name = derived_uuid(&name);
            if !self.is_known(&name) {
                return name;
            }
        }
    }

    /// The CLI says that it takes a prompt. It enters with the turn that runs, or with the next one.
    pub(crate) fn started(&mut self, uuid: &str) {
        self.told = Told::ByLifecycle;
        if let Some(at) = self.position(uuid) {
            self.waiting[at].started = true;
        }
    }

    /// The CLI repeats a prompt, which says the same. Merged prompts come as one text, in which each stands on
    /// lines of its own (2.1.197/queued_two_messages).
    pub(crate) fn replayed(&mut self, uuid: Option<&str>, text: &str) {
        if self.told == Told::Nothing {
            self.told = Told::ByReplay;
        }
        let by_name = uuid.and_then(|uuid| self.position(uuid));
        let by_text = || self.waiting.iter().position(|prompt| prompt.text == text);
        if let Some(at) = by_name.or_else(by_text) {
            self.waiting[at].started = true;
            if self.waiting[at].text == text {
                return;
            }
        }
        for prompt in &mut self.waiting {
            prompt.started |= !prompt.text.is_empty() && contains_lines(text, &prompt.text);
        }
    }

    /// What the CLI says it has taken.
    pub(crate) fn take_started(&mut self) -> Vec<Prompt> {
        self.take(|prompt| prompt.started)
    }

    /// A turn begins: what does it begin with?
    pub(crate) fn open_turn(&mut self) -> Vec<Prompt> {
        let mut taken = self.take_started();
        // A prompt that is repeated before its turn begins is merged with those behind it.
        let mut merges = !taken.is_empty() && self.told == Told::ByReplay;
        if taken.is_empty() {
            let Some(first) = (0..self.waiting.len()).min_by_key(|at| (self.waiting[*at].rank(), *at)) else {
                return taken;
            };
            taken.push(self.waiting.remove(first));
            // Where nobody tells, prompts that waited together are merged.
            merges = self.told == Told::Nothing;
        }
        if merges && taken[0].during_turn {
            let rank = taken[0].rank();
            taken.extend(self.take(|prompt| prompt.during_turn && prompt.rank() == rank));
        }
        taken
    }

    /// Prompts that the CLI names as part of a turn.
    pub(crate) fn bound(&mut self, uuids: &[&str]) -> Vec<Prompt> {
        self.take(|prompt| prompt.uuid.as_deref().is_some_and(|uuid| uuids.contains(&uuid)))
    }

    pub(crate) fn is_known(&self, uuid: &str) -> bool {
        self.known.contains(uuid)
    }

    /// The run is over: what still waits never enters.
    pub(crate) fn end_run(&mut self, out: &mut Outbox) {
        if !self.waiting.is_empty() {
            let lost = std::mem::take(&mut self.waiting);
            self.tell(lost.into_iter().map(|prompt| dropped(prompt, DropReason::RunEnded)).collect(), out);
        }
    }

    pub(crate) fn tell(&self, dropped: Vec<DroppedPrompt>, out: &mut Outbox) {
        let prompts = self
            .waiting
            .iter()
            .map(|prompt| QueuedPrompt {
                uuid: prompt.uuid.as_deref().map(Into::into),
                text: prompt.text.clone(),
                priority: prompt.priority,
            })
            .collect();
        out.event(Queue { prompts, dropped });
    }

    fn position(&self, uuid: &str) -> Option<usize> {
        self.waiting.iter().position(|prompt| prompt.uuid.as_deref() == Some(uuid))
    }

    fn take(&mut self, fits: impl Fn(&Prompt) -> bool) -> Vec<Prompt> {
        let (taken, left) = std::mem::take(&mut self.waiting).into_iter().partition(|prompt| fits(prompt));
        self.waiting = left;
        taken
    }
}

impl Prompt {
    fn rank(&self) -> u8 {
        match self.priority {
            Priority::Now => 0,
            Priority::Next => 1,
            Priority::Later => 2,
        }
    }
}

impl From<Prompt> for UserMessage {
    fn from(prompt: Prompt) -> Self {
        Self { text: prompt.text, attachments: prompt.attachments, uuid: prompt.uuid.map(Into::into) }
    }
}

fn dropped(prompt: Prompt, reason: DropReason) -> DroppedPrompt {
    DroppedPrompt { uuid: prompt.uuid.map(Into::into), text: prompt.text, reason }
}

/// A uuid (version 8: our own kind) out of the FNV-1a hash of a text.
fn derived_uuid(text: &str) -> String {
    const BASIS: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
    let hash = text.bytes().fold(BASIS, |hash, byte| (hash ^ u128::from(byte)).wrapping_mul(PRIME));
    let hex = format!("{hash:032x}");
    format!("{}-{}-8{}-8{}-{}", &hex[..8], &hex[8..12], &hex[13..16], &hex[17..20], &hex[20..])
}

fn contains_lines(whole: &str, part: &str) -> bool {
    whole == part
        || whole.starts_with(&format!("{part}\n"))
        || whole.ends_with(&format!("\n{part}"))
        || whole.contains(&format!("\n{part}\n"))
}

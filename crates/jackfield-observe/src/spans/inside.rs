//! What is inside of a turn: blocks, hooks, answers, and things that only happened.
//!
//! A span stands where its event does: in its subagent's tool call, in the turn, or by itself. The one rule it keeps:
//! what is inside of something shares its trace.

use std::borrow::Cow;

use jackfield_api::conversation::ItemOutcome;
use jackfield_api::tool::{Hook, HookStatus};
use jackfield_api::{Event, ItemId, MessageId};

use super::open::Key;
use super::{HAPPENINGS, Lines, Spans, TURNS, facts};
use crate::span::{Attribute, Parent, Span, SpanEvent, Value, names};

/// Room for the text of a block, before it is known how long it gets.
const BLOCK: usize = 1024;

impl Spans {
    /// The first piece of a block.
    pub(super) fn begin_block(
        &mut self,
        name: &'static str,
        event: &Event,
        item: ItemId,
        message: Option<&MessageId>,
        text: &str,
    ) {
        // A block that was closed with its turn is not opened again.
        if item.0 != event.seq.0 {
            return;
        }
        // Two more are said of it at its end.
        let mut attributes = Vec::with_capacity(4);
        attributes.extend(message.map(|id| (facts::RESPONSE, Value::from(id.as_str().to_owned()))));
        attributes.extend(self.model.clone().map(|model| (facts::MODEL, model.into())));
        self.open(Key::Item(item), name.into(), event, attributes);
        let room = self.payloads.map_or(0, |payloads| payloads.bytes.saturating_mul(2));
        if let Some(open) = self.forest.block(item) {
            open.text.reserve(room.min(BLOCK));
            open.hear(text, room);
        }
    }

    pub(super) fn end_block(&mut self, event: &Event, lines: Lines<'_>, item: ItemId, outcome: ItemOutcome) {
        let key = Key::Item(item);
        let (payloads, redact) = (self.payloads, self.redact);
        if let Some(open) = self.forest.get(&key) {
            let bytes = open.bytes;
            open.say(facts::BYTES, bytes);
            open.say(
                facts::OUTCOME,
                match outcome {
                    ItemOutcome::Complete => "complete",
                    ItemOutcome::Aborted => "aborted",
                    ItemOutcome::Replaced => "replaced",
                },
            );
            if let Some(payloads) = payloads {
                let text = std::mem::take(&mut open.text);
                let events = &mut open.span.events;
                events.reserve_exact(2);
                // The pieces are no lines of their own here: a secret may lie in several of them.
                if let Some(raw) = lines.raw {
                    payloads.put_text(events, "raw", event.at, raw, redact);
                }
                payloads.put_own(events, "normalized", event.at, text, redact);
            }
        }
        self.close(&key);
    }

    pub(super) fn hook(&mut self, event: &Event, lines: Lines<'_>, hook: &Hook) {
        let key = Key::Hook {
            event: hook.hook_event.clone(),
            name: hook.hook_name.clone(),
            call: hook.tool_call_id.clone(),
        };
        let outcome = match hook.status {
            HookStatus::Running => {
                let mut attributes = vec![(facts::HOOK, hook.hook_event.clone().into())];
                attributes.extend(
                    hook.tool_call_id.as_ref().map(|id| (facts::TOOL_CALL, id.as_str().to_owned().into())),
                );
                self.open(key.clone(), names::HOOK.into(), event, attributes);
                return self.attach(&key, event, lines);
            }
            HookStatus::Complete => "complete",
            HookStatus::Error => "error",
            HookStatus::Cancelled => "cancelled",
        };
        let name = format!("{}{}", names::HOOK_ANSWER, facts::snake(&hook.hook_event));
        self.answer(&key, name.into(), event, lines, vec![(facts::OUTCOME, outcome.into())]);
    }

    /// Ends a request with its answer, which is inside of it.
    pub(super) fn answer(
        &mut self,
        key: &Key,
        name: Cow<'static, str>,
        event: &Event,
        lines: Lines<'_>,
        attributes: Vec<Attribute>,
    ) {
        let (now, seed) = (self.now, self.seed);
        let Some(open) = self.forest.get(key) else { return };
        open.say_all(attributes.iter().filter(|(name, _)| *name == facts::OUTCOME).cloned());
        let mut answer = Span {
            span_id: seed.span(event.seq.0),
            parent: Parent::Ours(open.span.span_id),
            name,
            start: now,
            end: now,
            attributes,
            events: Vec::new(),
            failed: None,
            trace_id: open.span.trace_id,
        };
        if let Some(payloads) = self.payloads {
            payloads.put(&mut answer.events, event.at, lines, self.redact);
        }
        self.forest.finished(answer, now);
        self.close(key);
    }

    /// Something that took no time.
    pub(super) fn point(
        &mut self,
        name: Cow<'static, str>,
        event: &Event,
        lines: Lines<'_>,
        attributes: Vec<Attribute>,
    ) {
        // Without a turn there is nothing that it could be a part of.
        if !self.forest.contains(&Key::Turn) {
            return;
        }
        let (_, mut span) = self.span(name, event, attributes);
        if let Some(payloads) = self.payloads {
            payloads.put(&mut span.events, event.at, lines, self.redact);
        }
        self.forest.finished(span, self.now);
    }

    pub(super) fn open(
        &mut self,
        key: Key,
        name: Cow<'static, str>,
        event: &Event,
        attributes: Vec<Attribute>,
    ) {
        let (inside, span) = self.span(name, event, attributes);
        self.forest.open(key, inside, span);
    }

    /// A span where the event stands: in its subagent, in the turn, or by itself.
    fn span(
        &mut self,
        name: Cow<'static, str>,
        event: &Event,
        attributes: Vec<Attribute>,
    ) -> (Option<Key>, Span) {
        let inside = self.scope(event);
        let outer = inside.as_ref().and_then(|key| self.forest.get(key)).map(|open| &open.span);
        let trace_id = outer.map_or_else(|| self.seed.trace(TURNS | event.seq.0), |outer| outer.trace_id);
        let parent = outer.map_or(Parent::None, |outer| Parent::Ours(outer.span_id));
        let span = Span {
            trace_id,
            span_id: self.seed.span(event.seq.0),
            parent,
            name,
            start: self.now,
            end: self.now,
            attributes,
            events: Vec::new(),
            failed: None,
        };
        (inside, span)
    }

    fn scope(&self, event: &Event) -> Option<Key> {
        let subagent =
            event.parent_tool_call_id.clone().map(Key::Tool).filter(|key| self.forest.contains(key));
        subagent.or_else(|| self.forest.contains(&Key::Turn).then_some(Key::Turn))
    }

    /// Something that happened in whatever runs.
    pub(super) fn happened(&mut self, event: &Event, lines: Lines<'_>, attributes: Vec<Attribute>) {
        let Some(key) = self.scope(event) else { return };
        if let Some(open) = self.forest.get(&key)
            && open.span.events.len() < HAPPENINGS
        {
            let (name, at) = (event.body.tag(), event.at);
            open.span.events.push(SpanEvent { name, at, attributes, payload: None });
        }
        self.attach(&key, event, lines);
    }

    pub(super) fn attach(&mut self, key: &Key, event: &Event, lines: Lines<'_>) {
        if let Some(payloads) = self.payloads
            && let Some(open) = self.forest.get(key)
        {
            payloads.put(&mut open.span.events, event.at, lines, self.redact);
        }
    }

    pub(super) fn close(&mut self, key: &Key) {
        self.forest.close(key, self.now);
    }
}

//! What is inside of a turn: blocks, hooks, answers, and things that only happened.
//!
//! A span stands where its event does: in its subagent's tool call, in the turn, or by itself. The one rule it keeps:
//! what is inside of something shares its trace.

use std::borrow::Cow;

use jackfield_api::conversation::ItemOutcome;
use jackfield_api::tool::{Hook, HookStatus};
use jackfield_api::{Event, ItemId, MessageId};

use super::open::{Key, Open, Place, Room};
use super::{HAPPENINGS, Source, Spans, TURNS, facts};
use crate::span::{Attribute, Parent, Span, SpanEvent, Value, names};

impl Spans {
    /// The first piece of a block.
    pub(super) fn begin_block(
        &mut self,
        name: &'static str,
        event: &Event,
        item: ItemId,
        message: Option<&MessageId>,
    ) {
        if self.forest.contains(&Key::Item(item)) {
            return;
        }
        let message = message.map(|id| (facts::RESPONSE, Value::from(id.0.clone())));
        // What model a subagent asks is not told.
        let model = self.model.clone().filter(|_| event.parent_tool_call_id.is_none());
        let model = model.map(|model| (facts::MODEL, model.into()));
        self.open(Key::Item(item), name.into(), event, message.into_iter().chain(model));
    }

    pub(super) fn end_block(
        &mut self,
        event: &Event,
        source: &mut dyn Source,
        item: ItemId,
        outcome: ItemOutcome,
    ) {
        let key = Key::Item(item);
        if let Some(open) = self.forest.get(&key) {
            if let Some(text) = source.text(item) {
                open.say(facts::BYTES, u64::try_from(text.len()).unwrap_or(u64::MAX));
            }
            open.say(
                facts::OUTCOME,
                match outcome {
                    ItemOutcome::Complete => "complete",
                    ItemOutcome::Aborted => "aborted",
                    ItemOutcome::Replaced => "replaced",
                },
            );
            if let Some(teller) = &mut self.teller {
                teller.put(&mut open.span, event.at, source, Some(item));
            }
        }
        self.close(&key);
    }

    pub(super) fn hook(&mut self, event: &Event, source: &mut dyn Source, hook: &Hook) {
        let key = Key::Hook(hook.hook_id.clone().unwrap_or_else(|| hook.hook_name.clone()));
        let outcome = match hook.status {
            // It says something while it runs.
            HookStatus::Running if self.forest.contains(&key) => return self.attach(&key, event, source),
            HookStatus::Running => {
                let mut attributes = vec![(facts::HOOK, hook.hook_event.clone().into())];
                attributes
                    .extend(hook.tool_call_id.as_ref().map(|id| (facts::TOOL_CALL, id.0.clone().into())));
                self.open(key.clone(), names::HOOK.into(), event, attributes);
                return self.attach(&key, event, source);
            }
            HookStatus::Complete => "complete",
            HookStatus::Error => {
                if let Some(open) = self.forest.get(&key) {
                    open.say(facts::ERROR, "hook_error");
                    open.span.failed = Some("the hook failed".to_owned());
                }
                "error"
            }
            HookStatus::Cancelled => return self.unanswered(&key, event, source, "cancelled"),
        };
        let name = format!("{}{}", names::HOOK_ANSWER, facts::snake(&hook.hook_event));
        self.answer(&key, name.into(), event, source, vec![(facts::OUTCOME, outcome.into())]);
    }

    /// Ends a request with its answer, which is inside of it.
    pub(super) fn answer(
        &mut self,
        key: &Key,
        name: Cow<'static, str>,
        event: &Event,
        source: &mut dyn Source,
        attributes: impl IntoIterator<Item = Attribute>,
    ) {
        let (now, seed) = (self.now, self.seed);
        let Room { attributes: mut known, events, said } = self.forest.room();
        let Some(open) = self.forest.get(key) else { return };
        known.extend(attributes);
        open.say_all(known.iter().filter(|(name, _)| *name == facts::OUTCOME).cloned());
        let mut answer = Span {
            span_id: seed.span(event.seq.0),
            parent: Parent::Ours(open.span.span_id),
            name,
            start: now,
            end: now,
            attributes: known,
            events,
            payloads: 0,
            events_left_out: 0,
            said,
            failed: None,
            trace_id: open.span.trace_id,
            trace_state: open.span.trace_state.clone(),
        };
        if let Some(teller) = &mut self.teller {
            teller.put(&mut answer, event.at, source, None);
        }
        self.forest.finished(answer, now);
        self.close(key);
    }

    /// Ends a request that nobody has answered.
    pub(super) fn unanswered(
        &mut self,
        key: &Key,
        event: &Event,
        source: &mut dyn Source,
        outcome: &'static str,
    ) {
        self.attach(key, event, source);
        if let Some(open) = self.forest.get(key) {
            open.say(facts::OUTCOME, outcome);
        }
        self.close(key);
    }

    /// Something that took no time.
    pub(super) fn point(
        &mut self,
        name: Cow<'static, str>,
        event: &Event,
        source: &mut dyn Source,
        attributes: impl IntoIterator<Item = Attribute>,
    ) {
        // Without a turn there is nothing that it could be a part of.
        if !self.forest.contains(&Key::Turn) {
            return;
        }
        let (_, mut span) = self.span(name, event, attributes);
        if let Some(teller) = &mut self.teller {
            teller.put(&mut span, event.at, source, None);
        }
        self.forest.finished(span, self.now);
    }

    pub(super) fn open(
        &mut self,
        key: Key,
        name: Cow<'static, str>,
        event: &Event,
        attributes: impl IntoIterator<Item = Attribute>,
    ) {
        let (inside, span) = self.span(name, event, attributes);
        self.forest.open(key, inside, span);
    }

    /// A span where the event stands: in its subagent, in the turn, or by itself.
    fn span(
        &mut self,
        name: Cow<'static, str>,
        event: &Event,
        attributes: impl IntoIterator<Item = Attribute>,
    ) -> (Option<Key>, Span) {
        let inside = self.scope(event);
        let outer = inside.as_ref().and_then(|key| self.forest.enter(key));
        let (trace_id, trace_state, parent) = match outer {
            Some(Place { trace_id, trace_state, span_id }) => (trace_id, trace_state, Parent::Ours(span_id)),
            None => (self.seed.trace(TURNS | event.seq.0), None, Parent::None),
        };
        let Room { attributes: mut known, events, said } = self.forest.room();
        known.extend(attributes);
        let span = Span {
            trace_id,
            trace_state,
            span_id: self.seed.span(event.seq.0),
            parent,
            name,
            start: self.now,
            end: self.now,
            attributes: known,
            events,
            payloads: 0,
            events_left_out: 0,
            said,
            failed: None,
        };
        (inside, span)
    }

    fn scope(&self, event: &Event) -> Option<Key> {
        let subagent =
            event.parent_tool_call_id.clone().map(Key::Tool).filter(|key| self.forest.has_place(key));
        subagent.or_else(|| self.forest.contains(&Key::Turn).then_some(Key::Turn))
    }

    /// Something that happened in whatever runs.
    pub(super) fn happened(&mut self, event: &Event, source: &mut dyn Source, attributes: Vec<Attribute>) {
        let Some(key) = self.scope(event) else { return };
        if let Some(Open { span, .. }) = self.forest.get(&key) {
            if span.events.len() - span.payloads < HAPPENINGS {
                let (name, at) = (event.body.tag(), event.at);
                span.events.push(SpanEvent { name, at, attributes, payload: None });
            } else {
                span.events_left_out = span.events_left_out.saturating_add(1);
            }
        }
        self.attach(&key, event, source);
    }

    pub(super) fn attach(&mut self, key: &Key, event: &Event, source: &mut dyn Source) {
        if let Some(teller) = &mut self.teller
            && let Some(open) = self.forest.get(key)
        {
            teller.put(&mut open.span, event.at, source, None);
        }
    }

    pub(super) fn close(&mut self, key: &Key) {
        self.forest.close(key, self.now);
    }
}

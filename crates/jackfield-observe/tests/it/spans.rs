//! Every span that begins ends exactly once, and parents contain their children: on all recordings, wherever they
//! are cut off, and with events in any order.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use jackfield_api::{Body, Event, ItemId, Timestamp, ToolCallId, TurnNumber, codec};
use jackfield_core::Transcript;
use jackfield_observe::span::names;
use jackfield_observe::{
    Parent, Payloads, Sampled, Seed, Source, Span, SpanId, Spans, TraceContext, TraceId, TraceParent, Value,
};
use proptest::prelude::*;

use crate::recordings;

pub(crate) fn as_it_is(text: &str) -> Cow<'_, str> {
    Cow::Borrowed(text)
}

pub(crate) fn machine() -> Spans {
    Spans::new(Seed(3 << 64 | 5), as_it_is, None)
}

/// The spans that are over.
pub(crate) fn taken(machine: &mut Spans) -> Vec<Span> {
    let mut taken = Vec::new();
    machine.hand_on(|spans| taken = spans.to_vec());
    taken
}

/// The spans of events behind which the session is put away.
pub(crate) fn spans_of<'a>(events: impl IntoIterator<Item = &'a Event>) -> Vec<Span> {
    spans_from(machine(), events)
}

fn spans_from<'a>(mut machine: Spans, events: impl IntoIterator<Item = &'a Event>) -> Vec<Span> {
    let mut last = Timestamp(0);
    for event in events {
        machine.see(event, &mut ());
        last = last.max(event.at);
    }
    machine.end(last);
    assert_eq!(machine.open_spans(), 0, "something stays open");
    taken(&mut machine)
}

/// Checks what must hold for any spans of these events.
pub(crate) fn check<'a>(spans: &[Span], events: impl IntoIterator<Item = &'a Event>) {
    let calls_with_tasks: BTreeSet<&str> = events
        .into_iter()
        .filter_map(|event| match &event.body {
            Body::Task(task) => task.tool_call_id.as_ref().map(ToolCallId::as_str),
            _ => None,
        })
        .collect();
    // What a task does may go on when its call has a result.
    let goes_on = |call: &Span| match call.attribute("gen_ai.tool.call.id") {
        Some(Value::Name(id)) => calls_with_tasks.contains(&**id),
        _ => false,
    };
    let mut known: BTreeMap<_, &Span> = BTreeMap::new();
    for span in spans {
        assert!(known.insert(span.span_id, span).is_none(), "told twice: {span:?}");
        assert!(span.start <= span.end, "{span:?}");
    }
    for span in spans {
        if let Parent::Ours(parent) = span.parent {
            let parent = known.get(&parent).unwrap_or_else(|| panic!("the parent was never told: {span:?}"));
            assert_eq!(parent.trace_id, span.trace_id);
            assert!(
                parent.start <= span.start && (span.end <= parent.end || goes_on(parent)),
                "{span:?} is not inside of {parent:?}"
            );
        }
    }
}

/// How many spans there are with a name.
pub(crate) fn count(spans: &[Span], name: &str) -> usize {
    spans.iter().filter(|span| span.name == name).count()
}

#[test]
fn every_span_of_every_recording_ends_once_inside_its_parent() {
    for recording in recordings::all() {
        let spans = spans_of(&recording.events);
        check(&spans, &recording.events);
        let events =
            |wanted: fn(&Body) -> bool| recording.events.iter().filter(|event| wanted(&event.body)).count();
        let name = &recording.name;
        assert_eq!(
            count(&spans, names::PROMPT),
            events(|body| matches!(body, Body::TurnStarted(_))),
            "{name}"
        );
        assert_eq!(count(&spans, names::TOOL), events(|body| matches!(body, Body::ToolCall(_))), "{name}");
        assert_eq!(
            count(&spans, names::PERMISSION),
            events(|body| matches!(body, Body::PermissionRequest(_))),
            "{name}"
        );
        let items = recording.events.iter().filter_map(|event| match &event.body {
            Body::MessageChunk(chunk) => Some(chunk.item_id),
            Body::Reasoning(thought) => Some(thought.item_id),
            _ => None,
        });
        let items: BTreeSet<_> = items.collect();
        assert_eq!(count(&spans, names::MESSAGE) + count(&spans, names::REASONING), items.len(), "{name}");
        assert!(
            spans
                .iter()
                .all(|span| span.name != names::PROMPT || span.attribute("jackfield.outcome").is_some())
        );
    }
}

#[test]
fn every_span_ends_wherever_a_recording_is_cut_off() {
    for recording in recordings::all().iter().filter(|recording| recording.events.len() < 80) {
        for length in 0..recording.events.len() {
            let events = &recording.events[..length];
            check(&spans_of(events), events);
        }
    }
}

#[test]
fn the_same_events_give_the_same_spans() {
    for recording in recordings::all() {
        assert_eq!(spans_of(&recording.events), spans_of(&recording.events));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn every_span_ends_once_whatever_the_order(
        which in 0_usize..310,
        order in prop::collection::vec(any::<prop::sample::Index>(), 0..120),
        traced in any::<u64>(),
    ) {
        let events = &recordings::all()[which].events;
        // A recording of an editor's wire alone has no events.
        prop_assume!(!events.is_empty());
        let picked: BTreeSet<usize> = order.iter().map(|index| index.index(events.len())).collect();
        // Holes, in order …
        check(&spans_of(picked.iter().map(|index| &events[*index])), events);
        // … and any order, each event once: an event's number is never given twice.
        let mut seen = BTreeSet::new();
        let mixed = order.iter().map(|index| index.index(events.len())).filter(|index| seen.insert(*index));
        let turns: Vec<&Event> = mixed.map(|index| &events[index]).collect();
        check(&spans_of(turns.iter().copied()), events);
        // … also where some of the prompts belong to somebody else's trace.
        let mut machine = machine();
        let prompts = events.iter().filter_map(|event| match &event.body {
            Body::UserMessage(message) => message.uuid.clone(),
            _ => None,
        });
        for (at, prompt) in prompts.enumerate().filter(|(at, _)| traced >> (at % 64) & 1 == 1) {
            let trace_id = TraceId(u128::try_from(at).unwrap() + 1);
            let parent = TraceParent { trace_id, span_id: SpanId(1), sampled: Sampled::Yes };
            machine.prompted(prompt, TraceContext { parent, state: None });
        }
        check(&spans_from(machine, turns), events);
    }
}

#[test]
fn a_prompt_of_a_client_goes_on_with_the_clients_trace() {
    let recording = recordings::named("recordings-2.1.325/subagent");
    let uuid = recording.events.iter().find_map(|event| match &event.body {
        Body::UserMessage(message) => message.uuid.clone(),
        _ => None,
    });
    let parent = TraceParent::read("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01").unwrap();
    let turn = recording.events.iter().find_map(|event| event.turn).unwrap();
    for sampled in [Sampled::Yes, Sampled::No] {
        let mut machine = machine();
        let given = TraceContext { parent: TraceParent { sampled, ..parent }, state: None };
        machine.prompted(uuid.clone().unwrap(), given);
        let place = machine.place(turn, uuid.as_ref()).parent;
        for event in &recording.events {
            machine.see(event, &mut ());
        }
        machine.end(Timestamp(0));
        let spans = taken(&mut machine);
        if sampled == Sampled::No {
            assert_eq!(spans, [], "nobody keeps this trace");
            continue;
        }
        check(&spans, &recording.events);
        let root = spans.iter().find(|span| span.name == names::PROMPT).unwrap();
        assert_eq!((root.trace_id, root.parent), (parent.trace_id, Parent::Remote(parent.span_id)));
        assert_eq!((place.trace_id, place.span_id), (root.trace_id, root.span_id), "it was told before");
        assert!(spans.iter().all(|span| span.trace_id == parent.trace_id));
    }
}

#[test]
fn a_prompt_that_joins_a_turn_leaves_it_in_its_own_trace() {
    for name in ["recordings-2.1.197/steer_during_tool", "recordings-2.1.325/steer_during_tool"] {
        let events = &recordings::named(name).events;
        let joined = events.iter().rev().find_map(|event| match &event.body {
            Body::UserMessage(message) => message.uuid.clone(),
            _ => None,
        });
        let parent = TraceParent::read("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00").unwrap();
        for sampled in [Sampled::Yes, Sampled::No] {
            let mut machine = machine();
            let parent = TraceParent { sampled, ..parent };
            machine.prompted(joined.clone().unwrap(), TraceContext { parent, state: None });
            assert_eq!(spans_from(machine, events), spans_of(events), "{name}");
        }
    }
}

#[test]
fn an_edited_prompt_keeps_its_trace_unless_another_one_is_given() {
    let given = |trace| {
        let parent = TraceParent { trace_id: TraceId(trace), span_id: SpanId(9), sampled: Sampled::Yes };
        TraceContext { parent, state: None }
    };
    let mut machine = machine();
    machine.prompted("a".into(), given(1));
    machine.edited(&"a".into(), "b".into(), None);
    machine.edited(&"b".into(), "c".into(), Some(given(2)));
    machine.edited(&"unknown".into(), "d".into(), None);
    let own = machine.place(TurnNumber(7), None).parent.trace_id;
    // The edit may come too late: then the prompt of before has its turn.
    for (prompt, trace) in [("a", TraceId(1)), ("b", TraceId(1)), ("c", TraceId(2)), ("d", own)] {
        assert_eq!(machine.place(TurnNumber(7), Some(&prompt.into())).parent.trace_id, trace, "{prompt}");
    }
}

fn without_echo(text: &str) -> Cow<'_, str> {
    if text.contains("echo") { text.replace("echo", "[redacted]").into() } else { text.into() }
}

/// An event's line, and the transcript with it.
pub(crate) struct Told<'a>(pub(crate) String, pub(crate) &'a Transcript);

impl Source for Told<'_> {
    fn raw(&mut self) -> Option<(&str, u64)> {
        Some(("{\"a raw line\":\"with echo\"}", 1000))
    }

    fn normalized(&self) -> Option<&str> {
        Some(&self.0)
    }

    fn text(&self, item: ItemId) -> Option<&str> {
        self.1.text(item)
    }
}

#[test]
fn payloads_stand_side_by_side_and_only_where_they_are_wanted() {
    let recording = recordings::named("recordings/tools/parallel_subagents");
    assert!(
        spans_of(&recording.events).iter().all(|span| {
            span.events.iter().all(|event| event.name != "raw" && event.name != "normalized")
        })
    );
    let mut machine = Spans::new(Seed(1), without_echo, Some(Payloads { bytes: 200 }));
    let mut transcript = Transcript::new();
    for event in &recording.events {
        transcript.apply(event);
        let mut line = Vec::new();
        codec::encode(event, &mut line);
        machine.see(event, &mut Told(String::from_utf8(line).unwrap(), &transcript));
    }
    machine.end(Timestamp(0));
    let spans = taken(&mut machine);
    let tool = spans.iter().find(|span| span.name == names::TOOL).unwrap();
    let told: Vec<&str> = tool.events.iter().map(|event| event.name).collect();
    assert_eq!(told, ["raw", "normalized", "raw", "normalized"], "its call, and its result");
    assert!(tool.events.iter().all(|event| event.payload.is_some()));
    let block = spans.iter().find(|span| span.name == names::MESSAGE).unwrap();
    let [raw, text] = block.events.as_slice() else { panic!("{block:?}") };
    assert_eq!((raw.name, text.name), ("raw", "normalized"));
    assert_eq!(raw.payload.as_ref().unwrap().bytes, 1000, "as long as it was, and not as it is known");
    let text = text.payload.as_ref().unwrap();
    assert!(!block.text(text).starts_with('{'), "the text of a block, and no line: {block:?}");
    assert_eq!(block.attribute("jackfield.bytes"), Some(&Value::Whole(text.bytes)));
    for span in &spans {
        for event in &span.events {
            for (_, value) in &event.attributes {
                if let Value::Text(text) = value {
                    assert!(!text.contains("echo") && text.len() <= 200, "{text}");
                }
            }
            if let Some(text) = event.payload.as_ref().map(|payload| span.text(payload)) {
                assert!(!text.contains("echo") && text.len() <= 200, "{text}");
            }
        }
    }
}

#[test]
fn of_each_turn_as_much_is_told_as_a_trace_may_hold() {
    const MOST: usize = 2 * 1024 * 1024;
    let recording = recordings::named("recordings/tools/parallel_subagents");
    let bytes = MOST / 4;
    let mut machine = Spans::new(Seed(1), without_echo, Some(Payloads { bytes }));
    let transcript = Transcript::new();
    for turn in 0..2 {
        for event in &recording.events {
            machine.see(event, &mut Told("x".repeat(bytes), &transcript));
        }
        machine.settle();
        let spans = taken(&mut machine);
        let told: usize = spans.iter().map(|span| span.said.len()).sum();
        assert!((MOST..MOST + 2 * bytes).contains(&told), "{turn}: {told}");
        assert!(spans.iter().map(|span| span.events_left_out).sum::<u32>() > 0);
    }
}

/// What holds words from a list, which cannot have secrets.
const LISTS: [&str; 8] =
    ["type", "kind", "status", "tool_status", "session_status", "trigger", "outcome", "reason"];

/// A secret in every other text.
fn with_secrets(value: &mut serde_json::Value) {
    match value {
        serde_json::Value::String(text) => *text = format!("{text} SECRET {}", "x".repeat(2000)),
        serde_json::Value::Array(all) => all.iter_mut().for_each(with_secrets),
        serde_json::Value::Object(members) => {
            let texts = members.iter_mut().filter(|(name, _)| !LISTS.contains(&name.as_str()));
            texts.for_each(|(_, member)| with_secrets(member));
        }
        _ => {}
    }
}

fn without_secret(text: &str) -> Cow<'_, str> {
    if text.contains("SECRET") { text.replace("SECRET", "[redacted]").into() } else { text.into() }
}

#[test]
fn names_that_hold_secrets_leave_without_them_whatever_they_name() {
    let mut redacted = BTreeSet::new();
    for recording in recordings::all() {
        let mut machine = Spans::new(Seed(1), without_secret, None);
        for event in &recording.events {
            let mut value = serde_json::to_value(event).unwrap();
            with_secrets(&mut value);
            let Ok(event) = serde_json::from_value::<Event>(value) else {
                machine.see(event, &mut ());
                continue;
            };
            machine.see(&event, &mut ());
        }
        machine.end(Timestamp(0));
        for span in taken(&mut machine) {
            let text = format!("{span:?}");
            assert!(!text.contains("SECRET"), "{}", span.name);
            let failed = span.failed.iter().map(String::len);
            let known = span.attributes.iter().map(|(_, value)| match value {
                Value::Text(text) => text.len(),
                Value::Name(name) => name.len(),
                Value::Texts(texts) => texts.iter().map(String::len).max().unwrap_or_default(),
                Value::Whole(_) | Value::Number(_) => 0,
            });
            assert!(failed.chain(known).all(|length| length <= 1024), "{}", span.name);
            if text.contains("[redacted]") {
                redacted.insert(span.name.split('.').nth(1).unwrap().to_owned());
            }
        }
    }
    let all = ["complete", "control", "message_chunk", "prompt", "reasoning", "system", "tool_call"];
    assert_eq!(redacted, all.map(str::to_owned).into());
}

//! Figures equal the events that they are folded from, on all recordings, however the folding is divided.

use std::collections::BTreeMap;

use jackfield_api::tool::ToolStatus;
use jackfield_api::usage::ModelFigures;
use jackfield_api::{Body, Event};
use jackfield_observe::Tally;
use jackfield_observe::exposition::Page;
use jackfield_observe::tally::Underway;

use crate::recordings;
use crate::spans::as_it_is;

fn fold(events: &[Event], every: usize) -> Tally {
    let (mut whole, mut part, mut underway) = (Tally::default(), Tally::default(), Underway::new(as_it_is));
    for chunk in events.chunks(every) {
        for event in chunk {
            part.see(event, || Some("model"), &mut underway);
        }
        whole.take_in(&mut part);
    }
    whole.settle(&mut underway);
    whole
}

#[test]
fn figures_equal_the_events_of_every_recording() {
    for recording in recordings::all() {
        let tally = fold(&recording.events, usize::MAX);
        let mut expected: BTreeMap<&str, u64> = BTreeMap::new();
        for event in &recording.events {
            *expected.entry(event.body.tag()).or_default() += 1;
        }
        assert_eq!(tally.events().collect::<BTreeMap<_, _>>(), expected, "{}", recording.name);
        let costs = recording.events.iter().map(|event| match &event.body {
            Body::Complete(complete) => complete.data.cost_usd,
            _ => 0.0,
        });
        let cost: f64 = costs.sum();
        let told: f64 = tally.spent.values().map(|spent| spent.cost_usd).sum();
        assert!(
            (told - cost).abs() < 1e-9,
            "{}: what all models cost is what the turns cost",
            recording.name
        );
        let turns = expected.get("turn_started").copied().unwrap_or_default();
        assert_eq!(tally.turns.values().sum::<u64>(), turns, "{}: {:?}", recording.name, tally.turns);
    }
}

/// Figures by their name with its labels, as they stand on a page.
type Samples = BTreeMap<String, f64>;

/// What is counted of turns, tokens, questions and tools.
const COUNTED: [&str; 4] = [
    "jackfield_turns_total",
    "jackfield_tokens_total",
    "jackfield_permission_wait_seconds_",
    "jackfield_tool_duration_seconds_",
];

/// The same of a page.
fn on_page(tally: &Tally) -> Samples {
    let mut page = Page::default();
    page.tally(tally);
    let text = page.finish();
    let lines = text.lines().filter(|line| COUNTED.iter().any(|name| line.starts_with(name)));
    let samples = lines.map(|line| line.rsplit_once(' ').unwrap());
    let samples = samples.filter(|(name, _)| !name.contains("_seconds_bucket{"));
    samples.map(|(name, value)| (name.to_owned(), value.parse().unwrap())).collect()
}

/// The same, read off the events.
#[allow(clippy::cast_precision_loss)]
fn in_events(events: &[Event]) -> Samples {
    let mut samples = Samples::new();
    let mut add = |name: String, value: f64| *samples.entry(name).or_default() += value;
    let (mut calls, mut asked) = (BTreeMap::new(), BTreeMap::new());
    let mut over = Vec::new();
    for event in events {
        match &event.body {
            Body::Complete(complete) => {
                let data = &complete.data;
                let untold = ModelFigures {
                    model: "model".to_owned(),
                    input_tokens: data.input_tokens,
                    output_tokens: data.output_tokens,
                    cache_read_tokens: data.cache_read_tokens,
                    cache_creation_tokens: data.cache_creation_tokens,
                    cost_usd: data.cost_usd,
                };
                let untold = Some(untold).filter(|_| data.models.is_empty());
                for figures in data.models.iter().chain(&untold) {
                    for (kind, tokens) in [
                        ("input", figures.input_tokens),
                        ("output", figures.output_tokens),
                        ("cache_read", figures.cache_read_tokens),
                        ("cache_creation", figures.cache_creation_tokens),
                    ] {
                        let labels = format!("model=\"{}\",kind=\"{kind}\"", figures.model);
                        add(format!("jackfield_tokens_total{{{labels}}}"), tokens as f64);
                    }
                }
            }
            Body::ToolCall(call) => drop(calls.insert(&call.tool_call_id, (event.at, &call.normalized))),
            Body::ToolUpdate(update) if update.tool_status != ToolStatus::Running => {
                if let Some((at, normalized)) = calls.remove(&update.tool_call_id) {
                    let how = if update.tool_status == ToolStatus::Complete { "complete" } else { "error" };
                    let labels = format!("kind=\"{}\",outcome=\"{how}\"", normalized.tag());
                    over.push(("jackfield_tool_duration_seconds", labels, event.at.0 - at.0));
                }
            }
            Body::PermissionRequest(request) => drop(asked.insert(request.pending_id, event.at)),
            Body::PermissionResolved(resolved) => {
                let how = serde_json::to_value(resolved.outcome).unwrap();
                let at = asked.remove(&resolved.pending_id).unwrap();
                over.push(("jackfield_permission_wait_seconds", format!("outcome={how}"), event.at.0 - at.0));
            }
            Body::PermissionCancelled(cancelled) => {
                let at = asked.remove(&cancelled.pending_id).unwrap();
                let how = "outcome=\"withdrawn\"".to_owned();
                over.push(("jackfield_permission_wait_seconds", how, event.at.0 - at.0));
            }
            _ => {}
        }
    }
    for (name, labels, milliseconds) in over {
        add(format!("{name}_count{{{labels}}}"), 1.0);
        add(format!("{name}_sum{{{labels}}}"), milliseconds as f64 / 1000.0);
    }
    let begun = |event: &Event| matches!(event.body, Body::TurnStarted(_));
    let turns: Vec<usize> = (0..events.len()).filter(|place| begun(&events[*place])).collect();
    for (number, begin) in turns.iter().enumerate() {
        let turn = &events[*begin..turns.get(number + 1).copied().unwrap_or(events.len())];
        let end = turn.iter().position(|event| matches!(event.body, Body::Complete(_)));
        let how = match end.map(|end| turn.get(end + 1).map(|event| &event.body)) {
            Some(Some(Body::Error(error))) if error.code == "interrupted" => "interrupted",
            Some(Some(Body::Error(error))) if !OF_RUNS.contains(&error.code.as_str()) => "failed",
            Some(_) => "complete",
            None if turn.iter().any(|event| matches!(event.body, Body::RunEnded(_))) => "failed",
            None => "taken_over",
        };
        add(format!("jackfield_turns_total{{outcome=\"{how}\"}}"), 1.0);
    }
    samples
}

/// The same events where a cache was used, which the recordings do not know.
fn with_a_cache(events: &[Event]) -> Vec<Event> {
    let mut events = events.to_vec();
    for event in &mut events {
        if let Body::Complete(complete) = &mut event.body {
            let data = &mut complete.data;
            (data.cache_read_tokens, data.cache_creation_tokens) = (7, 3);
            for model in &mut data.models {
                (model.cache_read_tokens, model.cache_creation_tokens) = (11, 5);
            }
        }
    }
    events
}

/// Failures that are those of a run and of no turn.
const OF_RUNS: [&str; 6] = ["not_started", "exited", "crashed", "truncated", "wedged", "host_ended"];

#[test]
fn every_figure_stands_under_its_own_name_and_labels() {
    let mut all = Samples::new();
    for recording in recordings::all() {
        let events = with_a_cache(&recording.events);
        let told = on_page(&fold(&events, usize::MAX));
        let expected = in_events(&events);
        let names = |samples: &Samples| samples.keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(&told), names(&expected), "{}", recording.name);
        for (name, value) in &expected {
            assert!((told[name] - value).abs() < 1e-6, "{}: {name} {} {value}", recording.name, told[name]);
            *all.entry(name.clone()).or_default() += value;
        }
    }
    // Otherwise two that are exchanged would not be seen.
    let sum = |label: &str| all.iter().filter(|(name, _)| name.contains(label)).map(|(_, value)| value).sum();
    let kinds: [f64; 4] = ["\"input\"", "\"output\"", "\"cache_read\"", "\"cache_creation\""].map(sum);
    for (place, tokens) in kinds.iter().enumerate() {
        assert!(
            *tokens > 0.0 && kinds[..place].iter().all(|other| (tokens - other).abs() > 0.5),
            "{kinds:?}"
        );
    }
    for label in
        ["interrupted", "failed", "allowed", "denied", "withdrawn", "lost", "modify_file", "shell_exec"]
    {
        assert!(all.keys().any(|name| name.contains(label)), "{label}: {all:?}");
    }
}

#[test]
fn it_does_not_matter_when_figures_are_handed_on() {
    for recording in recordings::all() {
        let whole = fold(&recording.events, usize::MAX);
        for every in [1, 3, 7] {
            let divided = fold(&recording.events, every);
            assert_eq!(divided.events().collect::<Vec<_>>(), whole.events().collect::<Vec<_>>());
            assert_eq!(
                (&divided.turns, &divided.unknown, &divided.tools),
                (&whole.turns, &whole.unknown, &whole.tools)
            );
        }
    }
}

#[test]
fn every_figure_of_every_recording_has_its_help_and_type() {
    let mut all = Tally::default();
    for recording in recordings::all() {
        all.take_in(&mut fold(&recording.events, 100));
    }
    let mut page = Page::default();
    page.tally(&all);
    let text = page.finish();
    let mut known = Vec::new();
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            known.push(rest.split(' ').next().unwrap().to_owned());
        } else if !line.starts_with('#') {
            let name = line.split(['{', ' ']).next().unwrap();
            assert!(known.iter().any(|known| name.starts_with(known.as_str())), "{line}");
            line.rsplit(' ').next().unwrap().parse::<f64>().unwrap();
        }
    }
    assert_eq!(known.len(), 10, "{known:?}");
}

#[test]
fn messages_that_are_not_known_are_counted_by_name() {
    let mut event = recordings::named("recordings/tools/parallel_subagents").events[0].clone();
    let unknown =
        jackfield_api::trouble::Unknown { tag: "system/brand_new".to_owned(), text: "{}".to_owned() };
    event.body = Body::from(unknown);
    let mut page = Page::default();
    page.tally(&fold(&[event.clone(), event], 1));
    assert!(page.finish().contains("jackfield_unknown_messages_total{name=\"system/brand_new\"} 2\n"));
}

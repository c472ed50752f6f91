//! Figures equal the events that they are folded from, on all recordings, however the folding is divided.

use std::collections::BTreeMap;

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
        let completes = recording.events.iter().filter_map(|event| match &event.body {
            Body::Complete(complete) => Some(complete.data.clone()),
            _ => None,
        });
        let mut output: BTreeMap<String, u64> = BTreeMap::new();
        let mut cost = 0.0;
        for figures in completes {
            let models = figures.models.iter().map(|model| (model.model.clone(), model.output_tokens));
            let untold = figures.models.is_empty().then(|| ("model".to_owned(), figures.output_tokens));
            for (model, tokens) in models.chain(untold) {
                *output.entry(model).or_default() += tokens;
            }
            cost += figures.cost_usd;
        }
        let told = tally.spent.iter().map(|(model, spent)| (model.clone(), spent.output_tokens));
        assert_eq!(told.collect::<BTreeMap<_, _>>(), output, "{}", recording.name);
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

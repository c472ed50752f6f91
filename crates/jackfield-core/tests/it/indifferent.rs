//! *Indifferent*: an unknown message anywhere in a run changes nothing but its own event.
//!
//! Run on mutated recordings. Outside of a run the same line would begin one, so it is put only where a
//! process is there; and the session has a name of its own, because events that wait for a name are counted.

use jackfield_api::{Body, Event, ItemId, PendingId, Seq};
use jackfield_core::Output;
use proptest::prelude::*;
use proptest::sample::Index;

use crate::harness::{Stage, Step};
use crate::mutation::{Play, config, mutated, unknown_line};

proptest! {
    #![proptest_config(config(192))]

    #[test]
    fn an_unknown_message_changes_nothing_but_its_own_event(
        play in mutated(), at in any::<Index>(), line in unknown_line()
    ) {
        let (plain, places) = run(&play);
        prop_assume!(!places.is_empty());
        let at = places[at.index(places.len())];
        let mut with = play.clone();
        with.0.insert(at, Step::Line(line.clone()));
        let (outputs, _) = run(&with);

        let text = String::from_utf8(line).unwrap();
        let is_it = |output: &Output| matches!(output, Output::Event(event)
            if matches!(&event.body, Body::Unknown(unknown) if unknown.text == text));
        // Mutation may have put such lines there already: the new one is the first that is not in the other.
        let first = outputs.iter().zip(plain.iter().map(Some).chain(std::iter::repeat(None)))
            .position(|(one, other)| Some(one) != other);
        let place = first.filter(|place| is_it(&outputs[*place])).or_else(|| outputs.iter().rposition(is_it));
        let Some(Output::Event(event)) = place.map(|place| outputs[place].clone()) else {
            return Err(TestCaseError::fail("the message has no event"));
        };
        let mut rest = outputs;
        rest.remove(place.unwrap());
        let rest: Vec<Output> = rest.into_iter().map(|output| renumbered(output, event.seq)).collect();
        prop_assert_eq!(rest, plain);
    }
}

/// What came out, and the places where a process was there.
fn run(play: &Play) -> (Vec<Output>, Vec<usize>) {
    let mut stage = Stage::new(Some("indifferent"));
    let mut places = Vec::new();
    for (at, step) in play.0.iter().enumerate() {
        if stage.session().is_running() {
            places.push(at);
        }
        stage.take(step);
    }
    stage.end();
    (stage.outputs().to_vec(), places)
}

/// The output as it would be if the event `gone` had never been.
fn renumbered(output: Output, gone: Seq) -> Output {
    let Output::Event(mut event) = output else { return output };
    let less = |number: &mut u64| *number -= u64::from(*number > gone.0);
    let item = |ItemId(id): &mut ItemId| less(id);
    let question = |PendingId(id): &mut PendingId| less(id);
    less(&mut event.seq.0);
    match &mut event.body {
        Body::MessageChunk(chunk) => item(&mut chunk.item_id),
        Body::Reasoning(thought) => item(&mut thought.item_id),
        Body::ItemEnded(end) => item(&mut end.item_id),
        Body::PermissionRequest(request) => question(&mut request.pending_id),
        Body::PermissionResolved(end) => question(&mut end.pending_id),
        Body::PermissionCancelled(end) => question(&mut end.pending_id),
        _ => {}
    }
    Output::Event(Event { ..event })
}

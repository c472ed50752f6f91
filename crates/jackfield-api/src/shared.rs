//! An event on its way to several who want it.
//!
//! Those that are told at one moment lie together: they are made at once and, as a rule, let go at once, and to ask
//! for memory for each of them would cost more than anything else that is done with it.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use crate::event::Event;

/// An event that several hold, without copying it.
#[derive(Clone)]
pub struct SharedEvent {
    told: Arc<[Event]>,
    at: usize,
}

impl SharedEvent {
    /// Events that are told together.
    pub fn together(events: impl IntoIterator<Item = Event>) -> impl ExactSizeIterator<Item = Self> {
        let told: Arc<[Event]> = events.into_iter().collect();
        (0..told.len()).map(move |at| Self { told: Arc::clone(&told), at })
    }
}

impl From<Event> for SharedEvent {
    fn from(event: Event) -> Self {
        Self { told: Arc::new([event]), at: 0 }
    }
}

impl Deref for SharedEvent {
    type Target = Event;

    fn deref(&self) -> &Event {
        &self.told[self.at]
    }
}

impl fmt::Debug for SharedEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl PartialEq for SharedEvent {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::{Seq, Timestamp};
    use crate::trouble::Gap;

    fn event(seq: u64) -> Event {
        let (body, at, session_id) = (Gap { from: Seq(0), to: Seq(0) }.into(), Timestamp(0), "s".into());
        Event { body, seq: Seq(seq), at, session_id, turn: None, parent_tool_call_id: None }
    }

    #[test]
    fn each_of_those_that_are_told_together_is_itself_as_long_as_somebody_holds_it() {
        let mut together: Vec<SharedEvent> = SharedEvent::together((1..=3).map(event)).collect();
        assert_eq!(together.iter().map(|event| event.seq.0).collect::<Vec<_>>(), [1, 2, 3]);
        let second = together.remove(1);
        drop(together);
        assert_eq!(*second, event(2));
        assert_eq!(second, SharedEvent::from(event(2)));
        assert_eq!(SharedEvent::together([]).len(), 0);
    }
}

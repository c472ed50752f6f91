//! Prompts that are being made ready, in the order in which they came.
//!
//! It makes none ready itself. The one rule it keeps: no prompt overtakes another.

use std::collections::VecDeque;

use jackfield_api::Uuid;
use jackfield_api::command::Prompt;
use jackfield_client::Trace;

/// A prompt, and the trace of the editor that it is a part of.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Traced {
    pub(super) prompt: Prompt,
    pub(super) trace: Option<Trace>,
}

/// Prompts that are being made ready.
#[derive(Debug, Default)]
pub(super) struct Arriving {
    waiting: VecDeque<(Uuid, Option<Traced>)>,
}

impl Arriving {
    /// One came in, and will be ready.
    pub(super) fn push(&mut self, uuid: Uuid) {
        self.waiting.push_back((uuid, None));
    }

    /// One is ready; gives those that can go on now. One that was dropped meanwhile does not.
    pub(super) fn ready(&mut self, traced: Traced) -> Vec<Traced> {
        if let Some((_, place)) = self.waiting.iter_mut().find(|(uuid, _)| *uuid == traced.prompt.uuid) {
            *place = Some(traced);
        }
        let mut ready = Vec::new();
        while let Some((_, Some(_))) = self.waiting.front() {
            ready.extend(self.waiting.pop_front().and_then(|(_, traced)| traced));
        }
        ready
    }

    /// These are not wanted any more.
    pub(super) fn drop(&mut self, dropped: &[Uuid]) {
        self.waiting.retain(|(uuid, _)| !dropped.contains(uuid));
    }
}

#[cfg(test)]
mod tests {
    use jackfield_api::session::Priority;

    use super::*;

    fn prompt(uuid: &str) -> Traced {
        let prompt = Prompt { uuid: uuid.into(), content: Vec::new(), priority: Priority::Later };
        Traced { prompt, trace: Some(Trace { parent: uuid.to_owned(), state: None }) }
    }

    #[test]
    fn no_prompt_overtakes_another_and_one_that_was_dropped_is_gone() {
        let mut arriving = Arriving::default();
        for uuid in ["a", "b", "c", "d"] {
            arriving.push(uuid.into());
        }
        assert!(arriving.ready(prompt("b")).is_empty());
        assert_eq!(arriving.ready(prompt("a")), [prompt("a"), prompt("b")]);
        arriving.drop(&["c".into()]);
        assert!(arriving.ready(prompt("c")).is_empty());
        assert_eq!(arriving.ready(prompt("d")), [prompt("d")]);
    }
}

//! The checks: every client's log against the store, the store against itself, and what was done against what was
//! said.
//!
//! It waits for nothing and asks nobody. The one rule it keeps: it compares everything that was kept, event by event,
//! and then lets go of it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use jackfield_api::command::{Command, Verdict};
use jackfield_api::permission::{PermissionOutcome, PermissionRequest};
use jackfield_api::snapshot::Snapshot;
use jackfield_api::tool::ToolStatus;
use jackfield_api::{Body, Event, PendingId, SessionId, ToolCallId, Uuid};
use jackfield_core::Transcript;

use super::agents::DONE;
use super::client::Client;
use super::ledger::Ledger;
use super::violation::{Checked, Violation, holds};

/// A session as it is known from the store.
#[derive(Debug)]
pub(super) struct Known {
    pub(super) id: SessionId,
    pub(super) folder: PathBuf,
    pub(super) events: Vec<Event>,
    /// How often it was closed and gone through.
    pub(super) closings: u32,
    ledger: Ledger,
    questions: BTreeMap<PendingId, PermissionRequest>,
    decided: BTreeMap<PendingId, (PermissionOutcome, Option<String>)>,
    /// Prompts that entered the conversation.
    said: BTreeSet<Uuid>,
    /// Prompts of which anything was told.
    seen: BTreeSet<Uuid>,
}

impl Known {
    pub(super) fn new(id: SessionId, folder: PathBuf) -> Self {
        Self {
            id,
            folder,
            events: Vec::new(),
            closings: 0,
            ledger: Ledger::default(),
            questions: BTreeMap::new(),
            decided: BTreeMap::new(),
            said: BTreeSet::new(),
            seen: BTreeSet::new(),
        }
    }

    /// Takes stored events in, which must be the next.
    pub(super) fn learn(&mut self, events: Vec<Event>) -> Checked {
        for event in events {
            holds(event.session_id == self.id, || format!("an event of {}", event.session_id))?;
            self.ledger.enter(&event)?;
            match &event.body {
                Body::PermissionRequest(request) => {
                    self.questions.insert(request.pending_id, (**request).clone());
                }
                Body::PermissionResolved(end) => {
                    self.decided.insert(end.pending_id, (end.outcome, end.by.clone()));
                }
                Body::UserMessage(message) => {
                    if let Some(uuid) = &message.uuid {
                        holds(self.said.insert(uuid.clone()), || format!("prompt {uuid} was said twice"))?;
                    }
                }
                Body::Queue(queue) => {
                    self.seen.extend(queue.prompts.iter().filter_map(|prompt| prompt.uuid.clone()));
                    self.seen.extend(queue.dropped.iter().filter_map(|prompt| prompt.uuid.clone()));
                }
                _ => {}
            }
            self.events.push(event);
        }
        Ok(())
    }

    /// Nothing runs any more, by the events.
    pub(super) fn is_over(&self) -> Checked {
        holds(!self.ledger.is_running(), || "its run has no end".to_owned())
    }

    /// What a client was told is what is stored. Then it is let go.
    pub(super) fn compare(&self, client: &mut Client) -> Checked<u64> {
        let Some(told) = client.told.get_mut(&self.id) else { return Ok(0) };
        let mut compared = 0;
        for event in told.events.drain(..) {
            let at = usize::try_from(event.seq.0).unwrap_or(usize::MAX).wrapping_sub(1);
            let stored = self.events.get(at);
            holds(stored == Some(&event), || {
                format!("{} was told {event:?}, and {stored:?} is stored", client.name)
            })?;
            told.compared = event.seq;
            compared += 1;
        }
        Ok(compared)
    }

    /// An answer or a prompt that was acknowledged has left its trace.
    pub(super) fn acknowledged(&self, client: &Client) -> Checked {
        for given in client.given.iter().filter(|given| given.answer == Some(Ok(())) && !given.unstored) {
            if given.command.session_id.as_ref() != Some(&self.id) {
                continue;
            }
            match &given.command.command {
                Command::Prompt(prompt) => {
                    let known = self.said.contains(&prompt.uuid) || self.seen.contains(&prompt.uuid);
                    holds(known, || format!("{}: prompt {} is nowhere", client.name, prompt.uuid))?;
                }
                Command::Answer(answer) => {
                    let wanted = match answer.verdict {
                        Verdict::Allow(_) => PermissionOutcome::Allowed,
                        _ => PermissionOutcome::Denied,
                    };
                    let decided = self.decided.get(&answer.pending_id);
                    holds(decided == Some(&(wanted, Some(client.name.to_owned()))), || {
                        format!("{}: {answer:?} was accepted, and {decided:?} is stored", client.name)
                    })?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Nothing was allowed that nobody allowed, in the events and on disk, and what was allowed was done once.
    pub(super) fn permitted(&self, clients: &[Client]) -> Checked<u64> {
        for (id, (outcome, by)) in &self.decided {
            let call = self.questions.get(id).and_then(|request| request.tool_call_id.clone());
            if *outcome == PermissionOutcome::Allowed {
                let client = clients.iter().find(|client| Some(client.name) == by.as_deref());
                let meant = client.zip(call).is_some_and(|(client, call)| self.allows(client, &call));
                holds(meant, || format!("question {id} was allowed by {by:?}, who did not"))?;
            }
        }
        let text = std::fs::read_to_string(self.folder.join(DONE)).unwrap_or_default();
        let mut done: BTreeSet<ToolCallId> = BTreeSet::new();
        for line in text.lines() {
            let call = ToolCallId::from(line);
            holds(clients.iter().any(|client| self.allows(client, &call)), || {
                format!("{call} was carried out, and nobody allowed it")
            })?;
            holds(done.insert(call), || format!("{line} was carried out twice"))?;
        }
        self.carried_out(&done)?;
        Ok(u64::try_from(done.len()).unwrap_or(u64::MAX))
    }

    fn allows(&self, client: &Client, call: &ToolCallId) -> bool {
        client.allowed.contains(&(self.id.clone(), call.clone()))
    }

    /// A command that is told to be complete was carried out.
    fn carried_out(&self, done: &BTreeSet<ToolCallId>) -> Checked {
        let mut commands = BTreeSet::new();
        for event in &self.events {
            match &event.body {
                Body::ToolCall(call)
                    if call.tool_name == "Bash" && call.tool_call_id.as_str().starts_with("toolu") =>
                {
                    commands.insert(&call.tool_call_id);
                }
                Body::ToolUpdate(update) if update.tool_status == ToolStatus::Complete => {
                    let id = &update.tool_call_id;
                    holds(!commands.contains(id) || done.contains(id), || {
                        format!("{id} is told as complete, and was not carried out")
                    })?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// What the host shows is the fold of what is stored.
    pub(super) fn folds_to(&self, shown: &Snapshot) -> Checked {
        let mut transcript = Transcript::new();
        for event in self.events.iter().take_while(|event| event.seq <= shown.seq) {
            transcript.apply(event);
        }
        let folded = transcript.snapshot();
        let is_same = folded.seq == shown.seq
            && (folded.state, folded.turn) == (shown.state, shown.turn)
            && (&folded.pending, &folded.queue) == (&shown.pending, &shown.queue)
            && (&folded.tasks, &folded.last_complete) == (&shown.tasks, &shown.last_complete);
        let brief = |snapshot: &Snapshot| {
            let Snapshot { seq, state, turn, .. } = snapshot;
            format!("{state:?} at {seq} in {turn:?}, {} open, {:?}", snapshot.pending.len(), snapshot.queue)
        };
        holds(is_same, || format!("shown is {}, stored is {}", brief(shown), brief(folded)))
    }

    /// All is stored as it was when it was first read.
    pub(super) fn unchanged(&self, again: &[Event]) -> Checked {
        holds(self.events == again, || {
            let at = self.events.iter().zip(again).position(|(one, other)| one != other);
            format!("what is stored has changed, at {at:?} of {} and {}", self.events.len(), again.len())
        })
    }

    /// With the session's name.
    pub(super) fn named(&self) -> impl Fn(Violation) -> Violation + use<> {
        let (id, folder) = (self.id.clone(), self.folder.clone());
        move |violation| violation.of(format!("session {id} in {}", folder.display()))
    }
}

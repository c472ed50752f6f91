//! What the disk keeps: all that a host finds again after its death.
//!
//! It does what the store does with a batch and with the names of commands. The one rule it keeps: it takes a batch
//! whole or not at all, and only right behind the last one.

use std::collections::{BTreeMap, BTreeSet};

use jackfield_api::command::{Rejection, Reply};
use jackfield_api::permission::PermissionOutcome;
use jackfield_api::snapshot::Item;
use jackfield_api::{Body, Event, PendingId, Seq, Snapshot, Uuid, codec};

use crate::published::Page;
use crate::store::{Batch, ResumePoint, SessionRecord};

/// How a question ended, and by whom.
pub(super) type Decision = (Option<PermissionOutcome>, Option<String>);

/// What came of a command.
pub(super) type Outcome = Result<Reply, Rejection>;

/// What the disk keeps.
#[derive(Debug)]
pub(super) struct Disk {
    pub(super) record: SessionRecord,
    pub(super) pages: Vec<Page>,
    pub(super) events: Vec<Event>,
    pub(super) items: BTreeMap<Seq, Item>,
    checkpoint: Option<(Snapshot, Vec<Item>)>,
    /// Prompts of which anything was stored.
    pub(super) prompts: BTreeSet<Uuid>,
    /// Prompts that entered the conversation.
    said: BTreeSet<Uuid>,
    /// How each question ended; no outcome if the CLI withdrew it.
    pub(super) decided: BTreeMap<PendingId, Decision>,
    /// Commands that were begun, by which host, and what came of them.
    pub(super) commands: BTreeMap<String, (u64, Option<Outcome>)>,
}

impl Disk {
    pub(super) fn new(record: SessionRecord) -> Self {
        Self {
            record,
            pages: Vec::new(),
            events: Vec::new(),
            items: BTreeMap::new(),
            checkpoint: None,
            prompts: BTreeSet::new(),
            said: BTreeSet::new(),
            decided: BTreeMap::new(),
            commands: BTreeMap::new(),
        }
    }

    pub(super) fn last(&self) -> Seq {
        self.events.last().map_or(Seq(0), |event| event.seq)
    }

    /// Stores a batch.
    pub(super) fn append(&mut self, batch: &Batch) -> Result<(), String> {
        if batch.first.0 != self.last().0 + 1 {
            return Err(format!("a batch from {} on comes behind {}", batch.first, self.last()));
        }
        for line in std::str::from_utf8(&batch.lines).unwrap().lines() {
            let event = codec::decode(line).unwrap();
            self.note(&event)?;
            self.events.push(event);
        }
        if self.last() != batch.last {
            return Err(format!("a batch that ends with {} says {}", self.last(), batch.last));
        }
        self.pages.push(Page {
            first: batch.first,
            last: batch.last,
            lines: batch.lines.clone(),
            events: Vec::new(),
        });
        self.items.extend(batch.items.iter().map(|item| (item.seq, item.clone())));
        if let Some(summary) = &batch.summary {
            self.record.summary = summary.clone();
        }
        if let Some(checkpoint) = &batch.checkpoint {
            self.checkpoint = Some(checkpoint.clone());
        }
        Ok(())
    }

    /// What is to be there once is there once.
    fn note(&mut self, event: &Event) -> Result<(), String> {
        match &event.body {
            Body::UserMessage(message) => {
                if let Some(uuid) = &message.uuid {
                    self.prompts.insert(uuid.clone());
                    if !self.said.insert(uuid.clone()) {
                        return Err(format!("{uuid} was said twice"));
                    }
                }
            }
            Body::Queue(queue) => {
                self.prompts.extend(queue.prompts.iter().filter_map(|prompt| prompt.uuid.clone()));
                self.prompts.extend(queue.dropped.iter().filter_map(|prompt| prompt.uuid.clone()));
            }
            Body::PermissionResolved(end) => {
                return self.decide(end.pending_id, (Some(end.outcome), end.by.clone()));
            }
            Body::PermissionCancelled(end) => return self.decide(end.pending_id, (None, None)),
            _ => {}
        }
        Ok(())
    }

    fn decide(&mut self, id: PendingId, how: Decision) -> Result<(), String> {
        match self.decided.insert(id, how) {
            None => Ok(()),
            Some(_) => Err(format!("question {id} was decided twice")),
        }
    }

    /// Where a host goes on.
    pub(super) fn resume_point(&self) -> ResumePoint {
        let (checkpoint, unsettled) = self.checkpoint.clone().unwrap_or_default();
        let events = self.events.iter().filter(|event| event.seq > checkpoint.seq).cloned().collect();
        ResumePoint { checkpoint, unsettled, events }
    }
}

//! Clients that are played: what each has said, what it was answered, and what it was told.
//!
//! The one rule it keeps: a client believes what it reads, and checks that it is read in order.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use jackfield_api::command::Command;
use jackfield_api::{Event, PendingId, Seq, codec};
use serde_json::Value;

use super::disk::{Disk, Outcome};
use crate::published::{Behind, Published};

/// A client.
#[derive(Debug)]
pub(super) struct Client {
    pub(super) name: &'static str,
    pub(super) told: Vec<Event>,
    /// Commands by their names.
    pub(super) given: BTreeMap<String, Given>,
    /// Questions to which it said yes.
    pub(super) allowed: BTreeSet<PendingId>,
    /// How much of what it was told was compared.
    pub(super) compared: Cell<usize>,
}

/// A command, and what came of it.
#[derive(Debug)]
pub(super) struct Given {
    pub(super) command: Command,
    pub(super) answer: Option<Outcome>,
}

impl Client {
    pub(super) fn new(name: &'static str) -> Self {
        Self {
            name,
            told: Vec::new(),
            given: BTreeMap::new(),
            allowed: BTreeSet::new(),
            compared: Cell::default(),
        }
    }

    pub(super) fn last(&self) -> Seq {
        self.told.last().map_or(Seq(0), |event| event.seq)
    }

    /// Reads what there is: from memory, or from the disk.
    pub(super) fn read(&mut self, published: &Published, disk: &Disk) -> Result<(), String> {
        match published.behind(self.last()) {
            Behind::Nothing => Ok(()),
            Behind::Frames(frames, _) => frames.iter().try_for_each(|frame| self.take(frame)),
            Behind::Stored => {
                let cursor = self.last();
                let page = disk.pages.iter().find(|page| page.last > cursor);
                let page = page.ok_or_else(|| format!("{} finds nothing behind {cursor}", self.name))?;
                self.take(&published.cut(page, cursor))
            }
        }
    }

    fn take(&mut self, frame: &Bytes) -> Result<(), String> {
        let frame: Value = serde_json::from_slice(frame).unwrap();
        for event in frame["events"].as_array().unwrap() {
            let event: Event = codec::decode(&event.to_string()).unwrap();
            if event.seq.0 != self.last().0 + 1 {
                return Err(format!("{} is told {} behind {}", self.name, event.seq, self.last()));
            }
            self.told.push(event);
        }
        Ok(())
    }
}

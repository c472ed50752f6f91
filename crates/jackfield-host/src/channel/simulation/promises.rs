//! What must be so after each step, and when everything is at rest.
//!
//! It looks at the disk, at the clients and at the host's own state, and changes nothing. The one rule it keeps: a
//! promise is checked by what was stored, said and done, never by how the code came to it.

use jackfield_api::command::{Command, Verdict};
use jackfield_api::permission::PermissionOutcome;
use jackfield_api::snapshot::{Item, SessionState, Snapshot};
use jackfield_api::{Body, PendingId};
use jackfield_core::{Output, Transcript};

use super::clients::Client;
use super::ledger::Ledger;
use super::world::World;

type Kept = Result<(), String>;

fn keep(condition: bool, otherwise: impl FnOnce() -> String) -> Kept {
    if condition { Ok(()) } else { Err(otherwise()) }
}

impl World {
    /// What must be so after each step.
    pub(super) fn check(&self) -> Kept {
        keep(self.refused.is_none(), || self.refused.clone().unwrap_or_default())?;
        // Only what grows can break a promise.
        let told = self.clients.iter().map(|client| client.told.len()).sum();
        let answers = self.clients.iter().flat_map(|client| client.given.values());
        let answered = answers.filter(|given| given.answer.is_some()).count();
        let running = self.host.iter().flat_map(|host| &host.run).map(|run| run.cli.ran.len()).sum::<usize>();
        let grown = (self.disk.pages.len(), told, answered, self.ran.len() + running);
        let before = self.looked.replace(grown);
        if before == grown {
            return Ok(());
        }
        for client in &self.clients {
            self.told_is_stored(client)?;
            self.acknowledged_is_stored(client)?;
        }
        self.allowed_by_somebody()?;
        self.desk_is_stored()?;
        // The dearest look; a commit that broke it stays broken.
        if before.0 != grown.0 && grown.0.is_multiple_of(4) { self.fold_is_state() } else { Ok(()) }
    }

    /// What must be so when nothing happens any more.
    pub(super) fn check_rest(&self) -> Kept {
        self.check()?;
        self.fold_is_state()?;
        let mut ledger = Ledger::default();
        for event in &self.disk.events {
            ledger.enter(&Output::Event(event.clone()));
        }
        let host = self.host.as_ref().ok_or("there is no host")?;
        let snapshot = host.book.transcript.snapshot();
        keep(snapshot.state != SessionState::Running, || format!("a turn has no end: {snapshot:?}"))?;
        keep(snapshot.pending.is_empty(), || format!("questions are open: {:?}", snapshot.pending))?;
        let waits = snapshot.queue.as_ref().is_some_and(|queue| !queue.prompts.is_empty());
        keep(!waits, || format!("prompts wait: {:?}", snapshot.queue))?;
        self.turns_end_once()
    }

    fn told_is_stored(&self, client: &Client) -> Kept {
        let (told, stored) = (&client.told, &self.disk.events);
        keep(told.len() <= stored.len(), || {
            format!("{} was told {} of {}", client.name, told.len(), stored.len())
        })?;
        let new = client.compared.replace(told.len())..told.len();
        keep(told[new.clone()] == stored[new], || {
            format!("{} was told something else than what is stored", client.name)
        })
    }

    fn acknowledged_is_stored(&self, client: &Client) -> Kept {
        for given in client.given.values().filter(|given| matches!(given.answer, Some(Ok(_)))) {
            match &given.command {
                Command::Prompt(prompt) => {
                    let known = self.disk.prompts.contains(&prompt.uuid);
                    keep(known, || format!("{} is done and nowhere", prompt.uuid))?;
                }
                Command::Answer(answer) => {
                    let wanted = match answer.verdict {
                        Verdict::Allow(_) => PermissionOutcome::Allowed,
                        _ => PermissionOutcome::Denied,
                    };
                    let decided = self.disk.decided.get(&answer.pending_id);
                    keep(decided == Some(&(Some(wanted), Some(client.name.to_owned()))), || {
                        format!("{answer:?} of {} is done, and {decided:?} is stored", client.name)
                    })?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn allowed_by_somebody(&self) -> Kept {
        for (id, (outcome, by)) in &self.disk.decided {
            if *outcome == Some(PermissionOutcome::Allowed) {
                let by = self.clients.iter().find(|client| Some(client.name) == by.as_deref());
                keep(by.is_some_and(|client| client.allowed.contains(id)), || {
                    format!("question {id} was allowed by nobody")
                })?;
            }
        }
        let running = self.host.iter().flat_map(|host| &host.run).flat_map(|run| &run.cli.ran);
        for tool in self.ran.iter().chain(running) {
            let yes =
                self.clients.iter().any(|client| client.allowed.iter().any(|id| self.is_about(*id, tool)));
            keep(yes, || format!("{tool} ran, and nobody allowed it"))?;
        }
        Ok(())
    }

    fn is_about(&self, id: PendingId, tool: &str) -> bool {
        // Who allowed it was told of it, so it is stored.
        let at = usize::try_from(id.0).unwrap_or(usize::MAX).wrapping_sub(1);
        self.disk.events.get(at).is_some_and(|event| {
            matches!(&event.body, Body::PermissionRequest(request)
                if request.tool_call_id.as_ref().is_some_and(|call| call.as_str() == tool))
        })
    }

    /// Who sees a question on the desk finds it in the events.
    fn desk_is_stored(&self) -> Kept {
        let Some(host) = &self.host else { return Ok(()) };
        for entry in host.feed.desk() {
            let id = entry.request.pending_id;
            let asked = self.disk.events.iter().any(|event| event.seq.0 == id.0);
            keep(asked, || format!("question {id} is on the desk and not stored"))?;
        }
        Ok(())
    }

    /// What a host would load now is the fold of all that is stored.
    fn fold_is_state(&self) -> Kept {
        let mut whole = Transcript::new();
        self.disk.events.iter().for_each(|event| whole.apply(event));
        let whole = whole.snapshot();
        let point = self.disk.resume_point();
        let mut loaded = Transcript::from_snapshot(Snapshot { items: point.unsettled, ..point.checkpoint });
        point.events.iter().for_each(|event| loaded.apply(event));
        loaded.take_settled();
        let loaded = loaded.snapshot();
        let head = |snapshot: &Snapshot| Snapshot { items: Vec::new(), ..snapshot.clone() };
        keep(head(whole) == head(loaded), || format!("{:?} is loaded as {:?}", head(whole), head(loaded)))?;
        let mut kept: Vec<&Item> = self.disk.items.values().chain(&loaded.items).collect();
        kept.sort_by_key(|item| item.seq);
        keep(kept == whole.items.iter().collect::<Vec<_>>(), || {
            let seqs = |items: &[&Item]| items.iter().map(|item| item.seq.0).collect::<Vec<_>>();
            format!("items {:?} are kept as {:?}", seqs(&whole.items.iter().collect::<Vec<_>>()), seqs(&kept))
        })
    }

    fn turns_end_once(&self) -> Kept {
        let mut runs = false;
        for event in &self.disk.events {
            match &event.body {
                Body::TurnStarted(_) => {
                    keep(!runs, || format!("a turn before {} had no end", event.seq))?;
                    runs = true;
                }
                Body::Complete(_) => {
                    keep(runs, || format!("a turn that did not run ends at {}", event.seq))?;
                    runs = false;
                }
                Body::RunEnded(_) => runs = false,
                _ => {}
            }
        }
        keep(!runs, || "the last turn has no end".to_owned())
    }
}

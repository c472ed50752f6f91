//! The world: a disk, clients, and while it lives a host with a machine and a CLI.
//!
//! It does what the tasks of the SDK and of the host do, one small step at a time, and decides nothing that the real
//! ones leave to the machine or to the book. The one rule it keeps: what dies takes everything with it but the disk.

use std::cell::Cell;
use std::sync::Arc;

use jackfield_api::command::{Allow, Answer, Close, Command, Content, Deny, Interrupt, Prompt, Verdict};
use jackfield_api::command::{Rejection, RejectionCode};
use jackfield_api::permission::PermissionOutcome;
use jackfield_api::session::Priority;
use jackfield_api::{Body, PendingId, Timestamp};
use jackfield_core::{By, CommandId, Exit, Input};
use jackfield_sdk::wire::{OutboundMessage, decode};

use super::cli::Cli;
use super::clients::{Client, Given};
use super::disk::{Disk, Outcome};
use super::run::Run;
use super::seen::{Lie, Seen};
use crate::channel::book::{Book, Flush};
use crate::feed::Feed;
use crate::published::{Page, Published};
use crate::store::{Batch, SessionRecord};

/// The world.
#[derive(Debug)]
pub(super) struct World {
    pub(super) disk: Disk,
    pub(super) clients: Vec<Client>,
    pub(super) host: Option<Host>,
    pub(super) seen: Seen,
    /// Tools that any CLI was told to run.
    pub(super) ran: Vec<String>,
    pub(super) lie: Option<Lie>,
    /// What a part of the world refused, which none ever should.
    pub(super) refused: Option<String>,
    /// How much there was when all was last looked at.
    pub(super) looked: Cell<(usize, usize, usize, usize)>,
    dice: u64,
    now: u64,
    /// How many hosts, CLIs and commands there were.
    hosts: u64,
    clis: u64,
    commands: u64,
}

/// A host, as long as it lives.
#[derive(Debug)]
pub(super) struct Host {
    pub(super) book: Book<String>,
    pub(super) published: Arc<Published>,
    pub(super) feed: Arc<Feed>,
    /// What was handed to the disk, and whether that failed before.
    pub(super) storing: Option<Arc<Batch>>,
    failed: bool,
    pub(super) run: Option<Run>,
}

impl World {
    pub(super) fn new(seed: u64, lie: Option<Lie>) -> Self {
        let mut world = Self {
            disk: Disk::new(record()),
            clients: ["one", "two", "three"].map(Client::new).into(),
            host: None,
            seen: Seen::default(),
            ran: Vec::new(),
            lie,
            refused: None,
            looked: Cell::default(),
            dice: seed,
            now: 1_000,
            hosts: 0,
            clis: 0,
            commands: 0,
        };
        world.begin_host();
        world
    }

    /// SplitMix64.
    fn below(&mut self, limit: u64) -> u64 {
        self.dice = self.dice.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.dice;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % limit
    }

    /// Something happens.
    pub(super) fn step(&mut self) {
        self.now += self.below(50);
        if self.host.is_none() {
            return self.begin_host();
        }
        match self.below(100) {
            0 => self.kill_host(),
            1..3 => self.kill_cli(),
            3..18 => self.client_acts(),
            18..30 => self.client_reads(),
            30..52 => self.cli_writes(),
            52..67 => self.write_to_cli(),
            67..82 => self.take_told(1 + usize::try_from(self.dice % 5).unwrap()),
            82..95 => self.store(),
            95..98 => self.fail_to_store(),
            _ => self.time_out(),
        }
    }

    // ---- the host ----

    fn begin_host(&mut self) {
        self.hosts += 1;
        let (mut book, mut closing) =
            Book::load(self.disk.record.clone(), self.disk.resume_point(), Timestamp(self.now));
        if self.lie == Some(Lie::LeftOpen) {
            closing.clear();
        }
        if self.lie == Some(Lie::AllowedByNobody) {
            for event in &mut closing {
                if let Body::PermissionResolved(end) = &mut event.body {
                    end.outcome = PermissionOutcome::Allowed;
                }
            }
        }
        let stored = book.seq();
        for event in &closing {
            book.take(event);
        }
        let published = Arc::new(Published::new(&book.record.summary.session_id, stored));
        let feed = Arc::new(Feed::default());
        self.host = Some(Host { book, published, feed, storing: None, failed: false, run: None });
        self.flush();
    }

    fn kill_host(&mut self) {
        if let Some(host) = self.host.take() {
            self.seen.host_deaths += 1;
            self.ran.extend(host.run.into_iter().flat_map(|run| run.cli.ran));
        }
    }

    /// Hands to the disk what there is, and gives the answers that have waited for it.
    fn flush(&mut self) {
        let lie = self.lie;
        let Some(host) = &mut self.host else { return };
        match host.book.flush() {
            Flush::Batch(batch) => {
                if lie == Some(Lie::PublishedBeforeStored) {
                    host.published.publish(page(&batch));
                }
                host.storing = Some(batch);
            }
            Flush::Record => {
                host.feed.tell(host.book.record.summary.clone(), host.book.asked_at());
                self.disk.record.summary = host.book.record.summary.clone();
            }
            Flush::Nothing => {}
        }
        let released = host.book.release(host.published.last());
        for (name, reply) in released {
            self.answer(&name, &Ok(reply));
        }
    }

    fn store(&mut self) {
        let lie = self.lie;
        let Some(host) = &mut self.host else { return };
        let Some(batch) = host.storing.take() else { return };
        if let Err(refused) = self.disk.append(&batch) {
            self.refused = Some(refused);
            return;
        }
        host.failed = false;
        if let Some(summary) = &batch.summary {
            host.feed.tell(summary.clone(), host.book.asked_at());
        }
        if lie != Some(Lie::PublishedBeforeStored) {
            host.published.publish(page(&batch));
        }
        host.book.outbox.stored();
        self.flush();
    }

    /// The disk is full for a moment; what was handed over is tried again.
    fn fail_to_store(&mut self) {
        let lie = self.lie;
        let Some(host) = &mut self.host else { return };
        if host.storing.is_none() {
            return;
        }
        self.seen.failed_commits += 1;
        host.failed = true;
        host.storing = host.book.outbox.again();
        if lie == Some(Lie::BatchForgotten) {
            host.storing = None;
            host.book.outbox.stored();
        }
    }

    // ---- commands ----

    fn client_acts(&mut self) {
        let who = usize::try_from(self.below(3)).unwrap();
        let open: Vec<String> = {
            let given = self.clients[who].given.iter();
            given.filter(|(_, given)| given.answer.is_none()).map(|(name, _)| name.clone()).collect()
        };
        if !open.is_empty() && self.below(3) == 0 {
            self.seen.repeated += 1;
            let name = open[usize::try_from(self.below(open.len() as u64)).unwrap()].clone();
            return self.give(who, &name);
        }
        let seen: Vec<PendingId> = self.open_for(who);
        let command: Command = match self.below(20) {
            0..16 if !seen.is_empty() => {
                let pending_id = seen[usize::try_from(self.below(seen.len() as u64)).unwrap()];
                let verdict = if self.below(2) == 0 {
                    self.clients[who].allowed.insert(pending_id);
                    Verdict::Allow(Allow::default())
                } else {
                    Verdict::Deny(Deny { message: "no".to_owned(), interrupt: false })
                };
                Answer { pending_id, verdict }.into()
            }
            0 => Interrupt {}.into(),
            1 => Close {}.into(),
            _ => {
                let uuid = format!("prompt-{}", self.commands).into();
                let content = vec![Content::Text { text: "hello".to_owned() }];
                Prompt { uuid, content, priority: Priority::Next }.into()
            }
        };
        self.commands += 1;
        let name = format!("command-{}", self.commands);
        self.clients[who].given.insert(name.clone(), Given { command, answer: None });
        self.give(who, &name);
    }

    /// Questions that are open as far as a client knows.
    fn open_for(&self, who: usize) -> Vec<PendingId> {
        let mut open = Vec::new();
        for event in &self.clients[who].told {
            match &event.body {
                Body::PermissionRequest(request) => open.push(request.pending_id),
                Body::PermissionResolved(end) => open.retain(|id| *id != end.pending_id),
                Body::PermissionCancelled(end) => open.retain(|id| *id != end.pending_id),
                _ => {}
            }
        }
        open
    }

    /// What the host does with a command by its name, and then with the command.
    fn give(&mut self, who: usize, name: &str) {
        let command = self.clients[who].given[name].command.clone();
        let by = By::Client(self.clients[who].name.into());
        match self.disk.commands.get(name).cloned() {
            Some((_, Some(outcome))) => return self.answer(name, &outcome),
            Some((host, None)) if host == self.hosts => return,
            Some((_, None)) if self.lie != Some(Lie::DoneAgain) => {
                let reason = "the host ended while this was being done".to_owned();
                return self.answer(name, &Err(Rejection { code: RejectionCode::RunEnded, reason }));
            }
            _ => drop(self.disk.commands.insert(name.to_owned(), (self.hosts, None))),
        }
        let now = Timestamp(self.now);
        let Some(host) = &mut self.host else { return };
        if host.run.is_none() {
            let refused = match &command {
                Command::Prompt(_) if host.failed => Some("nothing can be stored"),
                Command::Prompt(_) => None,
                Command::Answer(_) => Some("it is over"),
                _ => Some("nothing runs"),
            };
            if let Some(reason) = refused {
                let rejection = Rejection { code: RejectionCode::NotNow, reason: reason.to_owned() };
                return self.answer(name, &Err(rejection));
            }
            self.clis += 1;
            host.run = Some(Run::start(&mut host.book, Cli::new(self.clis), now));
        }
        if let Some(run) = &mut host.run {
            run.feed(now, Input::Command(CommandId(name.into()), by, command));
        }
    }

    /// A command has its outcome: it is kept, and told to whoever gave it.
    fn answer(&mut self, name: &str, outcome: &Outcome) {
        self.disk.commands.insert(name.to_owned(), (self.hosts, Some(outcome.clone())));
        for client in &mut self.clients {
            if let Some(given) = client.given.get_mut(name) {
                given.answer.get_or_insert(outcome.clone());
            }
        }
    }

    fn client_reads(&mut self) {
        let Some(host) = &self.host else { return };
        // One of them is slow.
        for client in self.clients.iter_mut().skip(usize::from(self.dice.is_multiple_of(3))) {
            if let Err(refused) = client.read(&host.published, &self.disk) {
                self.refused = Some(refused);
            }
        }
    }

    // ---- the run ----

    /// The run whose CLI is alive.
    fn live(&mut self) -> Option<&mut Run> {
        self.host.as_mut()?.run.as_mut().filter(|run| !run.over)
    }

    fn cli_writes(&mut self) {
        let (now, choice) = (Timestamp(self.now), self.below(1_000));
        let Some(run) = self.live() else { return };
        if let Some(line) = run.cli.line(choice) {
            run.feed(now, Input::Line(decode(line.as_bytes())));
        } else if run.cli.is_over() {
            run.end(now, Exit::Code(0));
        }
    }

    fn write_to_cli(&mut self) {
        let now = Timestamp(self.now);
        let Some(run) = self.live() else { return };
        match run.to_cli.pop_front() {
            Some(Some((line, by))) => {
                run.cli.hear(&line);
                run.feed(now, Input::Sent(OutboundMessage::Known(line), by));
            }
            Some(None) => {
                run.to_cli.clear();
                run.cli.hear_end();
                run.feed(now, Input::StdinClosed);
            }
            None => {}
        }
    }

    fn kill_cli(&mut self) {
        let now = Timestamp(self.now);
        if let Some(run) = self.live() {
            run.end(now, Exit::Signal(9));
            self.seen.cli_deaths += 1;
        }
    }

    fn time_out(&mut self) {
        let now = self.now;
        let Some(run) = self.live() else { return };
        if let Some(deadline) = run.machine.deadline() {
            let now = now.max(deadline.0);
            run.feed(Timestamp(now), Input::Timeout);
            self.now = now;
        }
    }

    /// The host takes events from the run, and the answers that come with them.
    fn take_told(&mut self, at_most: usize) {
        let lie = self.lie;
        let Some(host) = &mut self.host else { return };
        let Some(run) = &mut host.run else { return };
        for _ in 0..at_most {
            let Some(event) = run.told.pop_front() else { break };
            self.seen.see(&event);
            host.book.take(&event);
        }
        let mut at_once = Vec::new();
        // What came of a command is told before its answer.
        if run.told.is_empty() {
            for (id, outcome) in run.answered.drain(..) {
                match outcome {
                    Ok(reply) if lie != Some(Lie::AnsweredBeforeStored) => {
                        host.book.hold(id.0.to_string(), reply);
                    }
                    outcome => at_once.push((id, outcome)),
                }
            }
            if run.over {
                let run = host.run.take();
                self.ran.extend(run.into_iter().flat_map(|run| run.cli.ran));
            }
        }
        for (id, outcome) in at_once {
            self.answer(&id.0, &outcome);
        }
        self.flush();
    }

    // ---- the end ----

    /// Nobody dies any more, questions are denied, and everything is read.
    pub(super) fn come_to_rest(&mut self) -> Result<(), String> {
        if self.host.is_none() {
            self.begin_host();
        }
        for _ in 0..2_000 {
            self.now += 1;
            self.cli_writes();
            self.write_to_cli();
            self.take_told(100);
            self.store();
            self.deny_all();
            self.repeat_all();
            self.client_reads();
            if self.rests() {
                return Ok(());
            }
        }
        let host = self.host.as_ref().unwrap();
        Err(format!("it does not come to rest: {:?}, {:?}", host.book.transcript.snapshot(), host.run))
    }

    fn deny_all(&mut self) {
        let Some(host) = &self.host else { return };
        let open: Vec<_> =
            host.book.transcript.snapshot().pending.iter().map(|asked| asked.pending_id).collect();
        for pending_id in open {
            let verdict = Verdict::Deny(Deny { message: "late".to_owned(), interrupt: false });
            self.commands += 1;
            let name = format!("command-{}", self.commands);
            let command = Answer { pending_id, verdict }.into();
            self.clients[0].given.insert(name.clone(), Given { command, answer: None });
            self.give(0, &name);
        }
    }

    fn repeat_all(&mut self) {
        for who in 0..self.clients.len() {
            let open = self.clients[who].given.iter().filter(|(_, given)| given.answer.is_none());
            for name in open.map(|(name, _)| name.clone()).collect::<Vec<_>>() {
                self.give(who, &name);
            }
        }
    }

    fn rests(&self) -> bool {
        let Some(host) = &self.host else { return false };
        let runs = host.run.as_ref().is_some_and(|run| {
            run.cli.speaks() || !run.to_cli.is_empty() || !run.told.is_empty() || !run.answered.is_empty()
        });
        let answered = |client: &Client| client.given.values().all(|given| given.answer.is_some());
        let read = |client: &Client| client.last() == self.disk.last();
        !runs
            && host.book.outbox.is_empty()
            && host.storing.is_none()
            && self.clients.iter().all(|client| answered(client) && read(client))
    }
}

fn page(batch: &Batch) -> Page {
    Page { first: batch.first, last: batch.last, lines: batch.lines.clone(), events: Vec::new() }
}

fn record() -> SessionRecord {
    crate::subscription::tests::record(&"simulated".into())
}

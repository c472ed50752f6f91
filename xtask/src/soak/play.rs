//! The chaos on one stage: rounds of load and faults, and after each a silence in which everything is compared.
//!
//! The one rule it keeps: in the silence every session comes to rest by itself or by what any client could do, and
//! whatever does not is a violation.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use jackfield_api::command::{Answer, Close, Command, CreateSession, Delete, Deny, Interrupt, Verdict};
use jackfield_api::snapshot::SessionState;
use jackfield_api::{Event, Seq, SessionId};
use jackfield_client::Client as Host;
use rusqlite::{Connection, OpenFlags};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use super::agents::Agent;
use super::audit::Known;
use super::client::{Client, View, Way};
use super::dice::Dice;
use super::faults::Served;
use super::figures::Figures;
use super::record;
use super::stage::{PATIENCE, Stage};
use super::violation::{Checked, Violation, cannot, holds};

/// How many rounds there are between two at which all is closed.
const CLOSING: u64 = 3;
/// When a session has lived long enough: events, and times it was closed.
const MANY: usize = 6_000;
const OFTEN: u32 = 5;
/// When a session that does not come to rest is interrupted, closed, and given up.
const INTERRUPT: Duration = Duration::from_secs(10);
const CLOSE: Duration = Duration::from_secs(30);
const STUCK: Duration = Duration::from_secs(150);

/// Plays on a stage until a moment.
pub(super) async fn play(stage: &Stage, dice: Dice, until: Instant, figures: &mut Figures) -> Checked {
    let server = stage.serve().await?;
    let address = watch::Sender::new(Some(server.address));
    let served = Served { stage, server, address, full: Arc::default() };
    let mut play = Play { served, clients: Vec::new(), sessions: Vec::new(), made: 0, dice, figures };
    for (name, way) in [("one", Way::Local), ("two", Way::Network), ("three", Way::Network)] {
        let dice = play.dice.split();
        play.clients.push(Client::new(name, way, dice));
    }
    play.rounds(until).await
}

struct Play<'a> {
    served: Served<'a>,
    clients: Vec<Client>,
    sessions: Vec<Known>,
    /// How many sessions were made.
    made: u64,
    dice: Dice,
    figures: &'a mut Figures,
}

impl Play<'_> {
    async fn rounds(&mut self, until: Instant) -> Checked {
        while Instant::now() < until {
            let host = self.host().await?;
            while self.sessions.len() < self.served.stage.agent.sessions() {
                self.begin(&host).await?;
            }
            self.load().await?;
            self.figures.rounds += 1;
            self.silence().await?;
            self.audit().await?;
            if self.figures.rounds.is_multiple_of(CLOSING) {
                self.close().await?;
            }
            self.figures.weigh(&self.served.server);
            self.served.stage.tidy();
        }
        self.close().await?;
        self.served.server.stop().await?;
        self.served.stage.is_empty("the end").await?;
        integrity(&self.served.stage.data)
    }

    /// A way to the server that runs now.
    async fn host(&self) -> Checked<Host> {
        let host = Host::running(&self.served.stage.data, "caretaker").await;
        let host = host.map_err(cannot("reach the host"))?;
        host.ok_or_else(|| Violation::new("no host runs"))
    }

    async fn begin(&mut self, host: &Host) -> Checked {
        self.made += 1;
        let folder = self.served.stage.folder(self.made)?;
        let create = CreateSession::new(folder.to_string_lossy());
        let id = host.create(create).await.map_err(cannot("make a session"))?;
        self.figures.sessions += 1;
        self.sessions.push(Known::new(id, folder));
        Ok(())
    }

    fn view(&self) -> View {
        View {
            data: self.served.stage.data.clone(),
            address: self.served.address.subscribe(),
            sessions: self.sessions.iter().map(|session| session.id.clone()).collect(),
            prompts: self.served.stage.agent.prompts(),
            full: Arc::clone(&self.served.full),
        }
    }

    /// Clients say what they like, and everything goes wrong.
    async fn load(&mut self) -> Checked {
        let until = Instant::now() + self.dice.time(4_000, 15_000);
        let mut playing = JoinSet::new();
        for mut client in std::mem::take(&mut self.clients) {
            let view = self.view();
            playing.spawn(async move {
                let played = client.play(&view, until).await;
                (client, played)
            });
        }
        let dice = self.dice.split();
        let suffered = self.served.suffer(dice, until).await;
        for (client, played) in playing.join_all().await {
            self.figures.connected(client.name, client.connections);
            self.clients.push(client);
            played?;
        }
        self.clients.sort_by_key(|client| client.name);
        self.figures.count(&suffered?);
        Ok(())
    }

    /// Everything that was said is answered, and every session comes to rest.
    async fn silence(&mut self) -> Checked {
        let view = self.view();
        let mut hearing = JoinSet::new();
        for mut client in std::mem::take(&mut self.clients) {
            let view = view.clone();
            hearing.spawn(async move {
                let heard = client.hear(&view).await;
                (client, heard)
            });
        }
        // Questions that hold an answer up are denied meanwhile.
        let resting = self.rest();
        let (rested, heard) = tokio::join!(resting, hearing.join_all());
        for (client, heard) in heard {
            self.clients.push(client);
            heard?;
        }
        self.clients.sort_by_key(|client| client.name);
        rested?;
        // What was repeated just now may have begun something.
        self.rest().await
    }

    async fn rest(&self) -> Checked {
        let host = self.host().await?;
        let mut resting = JoinSet::new();
        for session in &self.sessions {
            let (host, id, named) = (host.clone(), session.id.clone(), session.named());
            resting.spawn(async move { rests(&host, &id).await.map_err(named) });
        }
        resting.join_all().await.into_iter().collect()
    }

    /// Compares everything.
    async fn audit(&mut self) -> Checked {
        let host = self.host().await?;
        let mut ends = BTreeMap::new();
        for session in &mut self.sessions {
            let named = session.named();
            let shown = host.snapshot(&session.id).await.map_err(cannot("get a snapshot"))?.snapshot;
            let last = session.events.last().map_or(Seq(0), |event| event.seq);
            let events = stored(&host, &session.id, last).await?;
            self.figures.events += u64::try_from(events.len()).unwrap_or_default();
            session.learn(events).map_err(&named)?;
            session.folds_to(&shown).map_err(&named)?;
            ends.insert(session.id.clone(), session.events.last().map_or(Seq(0), |event| event.seq));
        }
        let view = self.view();
        for client in &mut self.clients {
            client.reach(&view, &ends).await?;
        }
        for session in &mut self.sessions {
            let named = session.named();
            // A client may have read on in the meantime.
            let last = session.events.last().map_or(Seq(0), |event| event.seq);
            session.learn(stored(&host, &session.id, last).await?).map_err(&named)?;
            for client in &mut self.clients {
                self.figures.compared += session.compare(client).map_err(&named)?;
                session.acknowledged(client).map_err(&named)?;
            }
            session.permitted(&self.clients).map_err(&named)?;
        }
        for client in &mut self.clients {
            self.figures.commands += u64::try_from(client.given.len()).unwrap_or_default();
            client.given.clear();
        }
        Ok(())
    }

    /// Closes every session: nothing lives on, and the CLI's own records say the same.
    async fn close(&mut self) -> Checked {
        let host = self.host().await?;
        for session in &self.sessions {
            give(&host, &session.id, Close {}).await?;
        }
        self.served.stage.is_empty("all sessions were closed").await?;
        self.audit().await?;
        let open = host.desk().await.map_err(cannot("read the desk"))?;
        holds(open.is_empty(), || format!("open on the desk: {open:?}"))?;
        let mut kept = Vec::new();
        for mut session in std::mem::take(&mut self.sessions) {
            let named = session.named();
            session.is_over().map_err(&named)?;
            if matches!(self.served.stage.agent, Agent::Real { .. }) {
                let records = self.served.stage.records();
                self.figures.pieces += record::compare(&records, &session.events).map_err(&named)?;
            }
            session.closings += 1;
            if session.closings < OFTEN && session.events.len() < MANY {
                kept.push(session);
                continue;
            }
            self.retire(&host, &session).await.map_err(&named)?;
        }
        self.sessions = kept;
        Ok(())
    }

    /// A session has lived long enough.
    async fn retire(&mut self, host: &Host, session: &Known) -> Checked {
        session.unchanged(&stored(host, &session.id, Seq(0)).await?)?;
        self.figures.done += session.permitted(&self.clients)?;
        give(host, &session.id, Delete {}).await?;
        let left = host.session(&session.id).await.map_err(cannot("look for a session"))?;
        holds(left.is_none(), || "it is still there after it was deleted".to_owned())?;
        for client in &mut self.clients {
            client.told.remove(&session.id);
            client.allowed.retain(|(id, _)| *id != session.id);
        }
        Ok(())
    }
}

/// Waits until nothing happens in a session, and does about it what any client could do.
async fn rests(host: &Host, id: &SessionId) -> Checked {
    let begun = Instant::now();
    let (mut interrupted, mut closed) = (false, false);
    loop {
        let summary = host.session(id).await.map_err(cannot("look at a session"))?;
        let summary = summary.ok_or_else(|| Violation::new("the session is gone"))?;
        let rests = summary.state != SessionState::Running && summary.queued == 0;
        if rests && summary.pending.is_empty() {
            return Ok(());
        }
        for request in &summary.pending {
            let verdict = Verdict::Deny(Deny { message: "it is late".to_owned(), interrupt: false });
            // Somebody may have been faster.
            give(host, id, Answer { pending_id: request.pending_id, verdict }).await?;
        }
        let waited = begun.elapsed();
        if waited > INTERRUPT && !interrupted {
            interrupted = true;
            tokio::spawn(give_later(host.clone(), id.clone(), Interrupt {}.into()));
        }
        if waited > CLOSE && !closed {
            closed = true;
            tokio::spawn(give_later(host.clone(), id.clone(), Close {}.into()));
        }
        holds(waited < STUCK, || format!("it does not come to rest: {summary:?}"))?;
        sleep(Duration::from_millis(100)).await;
    }
}

async fn give_later(host: Host, id: SessionId, command: Command) {
    // What came of it is seen in the session.
    let _ = host.command(Some(&id), command).await;
}

/// Gives a command whose refusal is no harm.
async fn give(host: &Host, id: &SessionId, command: impl Into<Command>) -> Checked {
    let command = command.into();
    let tag = command.tag();
    match timeout(PATIENCE, host.command(Some(id), command)).await {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(error)) if error.code().is_some() => Ok(()),
        Ok(Err(error)) => Err(cannot(&format!("give `{tag}`"))(error)),
        Err(_) => Err(Violation::new(format!("`{tag}` gets no answer"))),
    }
}

/// What is stored of a session behind an event.
async fn stored(host: &Host, id: &SessionId, after: Seq) -> Checked<Vec<Event>> {
    let mut events: Vec<Event> = Vec::new();
    loop {
        let last = events.last().map_or(after, |event| event.seq);
        let more = host.events(id, last).await.map_err(cannot("read events"))?;
        if more.is_empty() {
            return Ok(events);
        }
        events.extend(more);
    }
}

/// The database is whole.
fn integrity(data: &Path) -> Checked {
    let read = || -> rusqlite::Result<String> {
        let database =
            Connection::open_with_flags(data.join("jackfield.db"), OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        database.query_row("PRAGMA integrity_check", [], |row| row.get(0))
    };
    let found = read().map_err(cannot("check the database"))?;
    holds(found == "ok", || format!("the database is damaged: {found}"))
}

//! What is done to a server, its agents and its disk, by the dice.
//!
//! The one rule it keeps: when it comes back, a server runs, nothing is frozen and the disk has room.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use nix::sys::signal::Signal;
use tokio::sync::watch;
use tokio::time::{Instant, sleep};

use super::dice::Dice;
use super::stage::{Disk, Server, Stage, send};
use super::violation::Checked;

/// How long a full disk stays felt: what could not be stored is tried again every second.
const FELT: Duration = Duration::from_secs(4);

/// What can be done.
#[derive(Debug, Clone, Copy)]
enum Fault {
    KillServer,
    EndServer,
    FreezeServer,
    KillAgent,
    FreezeAgent,
    KillGuard,
    KillTool,
    FillDisk,
    KillServerOnFullDisk,
    KillServerWithFrozenAgent,
}

/// How often each is done, beside the others.
const FAULTS: &[(Fault, u64)] = &[
    (Fault::KillServer, 5),
    (Fault::EndServer, 2),
    (Fault::FreezeServer, 4),
    (Fault::KillAgent, 10),
    (Fault::FreezeAgent, 6),
    (Fault::KillGuard, 5),
    (Fault::KillTool, 3),
    (Fault::FillDisk, 3),
    (Fault::KillServerOnFullDisk, 1),
    (Fault::KillServerWithFrozenAgent, 2),
];

/// How often each was done.
pub(super) type Done = BTreeMap<String, u64>;

/// The server, and what its clients must know of it.
#[derive(Debug)]
pub(super) struct Served<'a> {
    pub(super) stage: &'a Stage,
    pub(super) server: Server,
    pub(super) address: watch::Sender<Option<SocketAddr>>,
    pub(super) full: Arc<AtomicBool>,
}

impl Served<'_> {
    /// Does things until a moment. Gives how often each was done.
    pub(super) async fn suffer(&mut self, mut dice: Dice, until: Instant) -> Checked<Done> {
        let mut done = Done::new();
        loop {
            sleep(dice.time(100, 2_500)).await;
            if Instant::now() >= until {
                return Ok(done);
            }
            let fault = choose(&mut dice, self.stage.disk());
            if self.inflict(fault, &mut dice).await? {
                *done.entry(format!("{fault:?}")).or_default() += 1;
            }
        }
    }

    /// Whether there was something to do it to.
    async fn inflict(&mut self, fault: Fault, dice: &mut Dice) -> Checked<bool> {
        match fault {
            Fault::KillServer => self.kill_server().await?,
            Fault::EndServer => {
                self.address.send_replace(None);
                self.server.stop().await?;
                self.stage.is_empty("the end of its server").await?;
                self.serve().await?;
            }
            Fault::FreezeServer => {
                self.server.signal(Signal::SIGSTOP);
                sleep(dice.time(10, 3_000)).await;
                self.server.signal(Signal::SIGCONT);
            }
            Fault::KillAgent => return Ok(hit(dice, &self.stage.agents(), Signal::SIGKILL).is_some()),
            Fault::KillGuard => return Ok(hit(dice, &self.stage.guards(), Signal::SIGKILL).is_some()),
            Fault::KillTool => {
                let (agents, guards) = (self.stage.agents(), self.stage.guards());
                let mut tools = self.stage.alive();
                tools.retain(|id| !agents.contains(id) && !guards.contains(id));
                return Ok(hit(dice, &tools, Signal::SIGKILL).is_some());
            }
            Fault::FreezeAgent => {
                let Some(id) = hit(dice, &self.stage.agents(), Signal::SIGSTOP) else { return Ok(false) };
                sleep(dice.time(10, 4_000)).await;
                send(id, Signal::SIGCONT);
            }
            Fault::KillServerWithFrozenAgent => {
                let Some(_) = hit(dice, &self.stage.agents(), Signal::SIGSTOP) else { return Ok(false) };
                sleep(dice.time(0, 300)).await;
                self.kill_server().await?;
            }
            Fault::FillDisk => {
                self.fill()?;
                sleep(dice.time(200, 3_000)).await;
                self.stage.make_room();
                sleep(FELT).await;
                self.full.store(false, Ordering::SeqCst);
            }
            Fault::KillServerOnFullDisk => {
                self.fill()?;
                sleep(dice.time(200, 2_000)).await;
                self.server.kill().await?;
                self.stage.make_room();
                self.kill_server().await?;
                self.full.store(false, Ordering::SeqCst);
            }
        }
        Ok(true)
    }

    fn fill(&self) -> Checked {
        self.full.store(true, Ordering::SeqCst);
        self.stage.fill()
    }

    /// Kills the server, sees that nothing outlives it, and starts another.
    pub(super) async fn kill_server(&mut self) -> Checked {
        self.address.send_replace(None);
        self.server.kill().await?;
        self.stage.is_empty("the death of its server").await?;
        self.serve().await
    }

    async fn serve(&mut self) -> Checked {
        self.server = self.stage.serve().await?;
        self.address.send_replace(Some(self.server.address));
        Ok(())
    }
}

fn choose(dice: &mut Dice, disk: Disk) -> Fault {
    let possible =
        |fault: &Fault| disk == Disk::Own || !matches!(fault, Fault::FillDisk | Fault::KillServerOnFullDisk);
    let faults: Vec<_> = FAULTS.iter().filter(|(fault, _)| possible(fault)).collect();
    let mut at = dice.below(faults.iter().map(|(_, weight)| weight).sum());
    for (fault, weight) in faults {
        if at < *weight {
            return *fault;
        }
        at -= weight;
    }
    Fault::KillServer
}

/// Sends a signal to one of these. Which it was.
fn hit(dice: &mut Dice, among: &[u32], signal: Signal) -> Option<u32> {
    let id = *dice.of(among)?;
    send(id, signal);
    Some(id)
}

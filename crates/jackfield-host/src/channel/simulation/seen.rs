//! How a world can be made wrong, and how often what happened in it.
//!
//! The one rule it keeps: each lie is one decision of the code turned into its opposite.

use jackfield_api::permission::PermissionOutcome;
use jackfield_api::{Body, Event};

/// How the world can be made wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lie {
    /// Events are published when they are handed to the disk.
    PublishedBeforeStored,
    /// A command is answered when it is done, whatever is stored.
    AnsweredBeforeStored,
    /// A batch that failed is forgotten.
    BatchForgotten,
    /// What a host that died left open stays open.
    LeftOpen,
    /// A command that an earlier host began is done again.
    DoneAgain,
    /// A question that is open when a host begins is allowed.
    AllowedByNobody,
}

impl Lie {
    pub(super) const ALL: [Self; 6] = [
        Self::PublishedBeforeStored,
        Self::AnsweredBeforeStored,
        Self::BatchForgotten,
        Self::LeftOpen,
        Self::DoneAgain,
        Self::AllowedByNobody,
    ];
}

/// How often things happened.
#[derive(Debug, Default, Clone)]
pub(super) struct Seen {
    turns: u64,
    allowed: u64,
    denied: u64,
    lost: u64,
    pub(super) host_deaths: u64,
    pub(super) cli_deaths: u64,
    pub(super) failed_commits: u64,
    pub(super) repeated: u64,
}

impl Seen {
    pub(super) fn add(&mut self, other: &Self) {
        let Self { turns, allowed, denied, lost, host_deaths, cli_deaths, failed_commits, repeated } = other;
        self.turns += turns;
        self.allowed += allowed;
        self.denied += denied;
        self.lost += lost;
        self.host_deaths += host_deaths;
        self.cli_deaths += cli_deaths;
        self.failed_commits += failed_commits;
        self.repeated += repeated;
    }

    pub(super) fn everything(&self) -> bool {
        let Self { turns, allowed, denied, lost, host_deaths, cli_deaths, failed_commits, repeated } = self;
        [turns, allowed, denied, lost, host_deaths, cli_deaths, failed_commits, repeated]
            .into_iter()
            .all(|count| *count > 20)
    }
}

impl Seen {
    /// Counts an event.
    pub(super) fn see(&mut self, event: &Event) {
        match &event.body {
            Body::TurnStarted(_) => self.turns += 1,
            Body::PermissionResolved(end) => match end.outcome {
                PermissionOutcome::Allowed => self.allowed += 1,
                PermissionOutcome::Denied => self.denied += 1,
                PermissionOutcome::Lost => self.lost += 1,
                PermissionOutcome::Expired => {}
            },
            _ => {}
        }
    }
}

//! Who asks, and what they may do. The one rule it keeps: what a client may do is decided by whoever let it in,
//! never by what it says of itself.

use std::sync::Arc;

use jackfield_api::Command;
use jackfield_api::command::{Rejection, RejectionCode, Verdict};
use jackfield_api::permission::{Change, Destination, PermissionKind, PermissionRequest, Remember};
use jackfield_api::socket::Scope;
use jackfield_observe::TraceContext;
use jackfield_sdk::By;

/// Somebody who gives commands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Client {
    /// A name for people: who answered a question is told by it.
    pub name: Arc<str>,
    /// What it may do.
    pub scope: Scope,
    /// The place in a trace that its prompts are to be a part of.
    pub(crate) trace: Option<TraceContext>,
}

impl Client {
    /// A client by its name.
    pub fn new(name: impl Into<Arc<str>>, scope: Scope) -> Self {
        Self { name: name.into(), scope, trace: None }
    }

    /// The same client, whose prompts are a part of a trace, if the texts are a `traceparent` and a `tracestate`. What
    /// is none is passed over, as the W3C says.
    #[must_use]
    pub fn traced(mut self, traceparent: Option<&str>, tracestate: Option<&str>) -> Self {
        self.trace = traceparent.and_then(|parent| TraceContext::read(parent, tracestate)).or(self.trace);
        self
    }

    pub(crate) fn by(&self) -> By {
        By::Client(Arc::clone(&self.name))
    }

    /// Whether it may give this command.
    pub(crate) fn check(&self, command: &Command) -> Result<(), Rejection> {
        if self.scope >= needed(command) {
            return Ok(());
        }
        let reason = format!("`{}` is not allowed with this login", command.tag());
        Err(Rejection { code: RejectionCode::Forbidden, reason })
    }

    /// Whether it may have this remembered with an answer: what the CLI itself offers for the question, there or for
    /// the session alone; anything else only if it may do everything.
    pub(crate) fn check_remembered(
        &self,
        verdict: &Verdict,
        asked: &PermissionRequest,
    ) -> Result<(), Rejection> {
        let Verdict::Allow(allow) = verdict else { return Ok(()) };
        if self.scope >= Scope::Admin || allow.remember.iter().all(|remember| is_offered(remember, asked)) {
            return Ok(());
        }
        let reason = "with this login only what the CLI offers can be remembered".to_owned();
        Err(Rejection { code: RejectionCode::Forbidden, reason })
    }
}

fn is_offered(remember: &Remember, asked: &PermissionRequest) -> bool {
    let in_session = remember.destination == Destination::Session;
    // A plan is accepted in one of these modes; the CLI's own dialog offers both, without saying so here.
    let accepts_plan = asked.kind == PermissionKind::Plan
        && in_session
        && matches!(&remember.change, Change::SetMode { mode } if matches!(mode.as_str(), "default" | "acceptEdits"));
    let offers = |offered: &Remember| {
        offered.change == remember.change && (in_session || offered.destination == remember.destination)
    };
    accepts_plan || asked.suggestions.iter().any(offers)
}

/// The least scope that a command needs. What only goes on with a conversation needs less than what begins,
/// copies, changes or removes one.
fn needed(command: &Command) -> Scope {
    match command {
        Command::Prompt(_)
        | Command::EditQueued(_)
        | Command::CancelQueued(_)
        | Command::ReorderQueued(_)
        | Command::Interrupt(_)
        | Command::Answer(_)
        | Command::Retry(_)
        | Command::StopTask(_)
        | Command::Background(_) => Scope::Answer,
        _ => Scope::Admin,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use jackfield_api::command::{CreateSession, Interrupt};

    use super::*;

    #[test]
    fn a_client_may_do_what_its_scope_covers_and_no_more() {
        let interrupt = Command::from(Interrupt {});
        let create = Command::from(CreateSession::new("/ws"));
        let allowed = |scope, command: &Command| Client::new("phone", scope).check(command).is_ok();
        assert!(!allowed(Scope::View, &interrupt) && !allowed(Scope::View, &create));
        assert!(allowed(Scope::Answer, &interrupt) && !allowed(Scope::Answer, &create));
        assert!(allowed(Scope::Admin, &interrupt) && allowed(Scope::Admin, &create));
    }
}

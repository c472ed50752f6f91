//! Who asks, and what they may do. The one rule it keeps: what a client may do is decided by whoever let it in,
//! never by what it says of itself.

use std::sync::Arc;

use jackfield_api::Command;
use jackfield_api::command::{Rejection, RejectionCode};
use jackfield_api::socket::Scope;
use jackfield_sdk::By;

/// Somebody who gives commands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Client {
    /// A name for people: who answered a question is told by it.
    pub name: Arc<str>,
    /// What it may do.
    pub scope: Scope,
}

impl Client {
    /// A client by its name.
    pub fn new(name: impl Into<Arc<str>>, scope: Scope) -> Self {
        Self { name: name.into(), scope }
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

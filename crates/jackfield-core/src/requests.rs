//! Our own control requests that the CLI has not answered.
//!
//! Each has a time limit: a CLI whose input loop has died answers nothing, ignores the end of its input,
//! and says no word about it [control/all_subtypes_malformed]. Only signals reach it then.

use jackfield_api::Timestamp;
use jackfield_wire::{HostRequest, Outbound, RequestId};

use crate::input::{By, CommandId};

/// Requests that the CLI handles by itself at once; one without an answer means that it is wedged.
const QUICK: u64 = 30_000;
/// Requests that ask the API, a server or a disk.
const SLOW: u64 = 300_000;

/// Requests that wait for their answer.
#[derive(Debug, Default)]
pub(crate) struct Requests {
    open: Vec<Request>,
    /// What waits for requests that are being written.
    wishes: Vec<(RequestId, Wish)>,
    next: u64,
}

/// One of them.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) id: RequestId,
    pub(crate) request: HostRequest,
    pub(crate) wish: Option<Wish>,
    deadline: Timestamp,
}

/// What waits for an answer.
#[derive(Debug)]
pub(crate) struct Wish {
    /// The command that it answers; none if the command was answered before.
    pub(crate) command: Option<CommandId>,
    /// What to write if the answer is good, and in whose name.
    pub(crate) then: Option<(Outbound, By)>,
}

impl Requests {
    /// A name for the next request, and what waits for its answer.
    pub(crate) fn name(&mut self, wish: Option<Wish>) -> RequestId {
        self.next += 1;
        let id = RequestId::from(format!("jackfield-{}", self.next));
        self.wishes.extend(wish.map(|wish| (id.clone(), wish)));
        id
    }

    pub(crate) fn sent(&mut self, id: RequestId, request: HostRequest, now: Timestamp) {
        let wish = self.wishes.iter().position(|(of, _)| *of == id).map(|at| self.wishes.remove(at).1);
        let deadline = Timestamp(now.0.saturating_add(if is_quick(&request) { QUICK } else { SLOW }));
        self.open.push(Request { id, request, wish, deadline });
    }

    pub(crate) fn answered(&mut self, id: &RequestId) -> Option<Request> {
        let at = self.open.iter().position(|request| request.id == *id)?;
        Some(self.open.remove(at))
    }

    pub(crate) fn deadline(&self) -> Option<Timestamp> {
        self.open.iter().map(|request| request.deadline).min()
    }

    pub(crate) fn expired(&mut self, now: Timestamp) -> Vec<Request> {
        let (over, open) =
            std::mem::take(&mut self.open).into_iter().partition(|request| request.deadline <= now);
        self.open = open;
        over
    }

    /// The run is over: what was asked gets no answer.
    pub(crate) fn end(&mut self) -> Vec<CommandId> {
        let written = std::mem::take(&mut self.open).into_iter().filter_map(|request| request.wish);
        let unwritten = std::mem::take(&mut self.wishes).into_iter().map(|(_, wish)| wish);
        written.chain(unwritten).filter_map(|wish| wish.command).collect()
    }
}

impl Request {
    pub(crate) fn is_quick(&self) -> bool {
        is_quick(&self.request)
    }
}

fn is_quick(request: &HostRequest) -> bool {
    matches!(
        request,
        HostRequest::Interrupt { .. }
            | HostRequest::SetPermissionMode { .. }
            | HostRequest::SetModel { .. }
            | HostRequest::SetMaxThinkingTokens { .. }
            | HostRequest::ApplyFlagSettings { .. }
            | HostRequest::StopTask { .. }
            | HostRequest::CancelAsyncMessage { .. }
            | HostRequest::BackgroundTasks { .. }
    )
}

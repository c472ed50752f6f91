//! What a session's task has done for it by others: questions decided, hooks run, MCP messages served.
//!
//! Each runs beside the task. The one rule it keeps: the task never waits for one; its answer comes back as a
//! wake-up, and what is over is aborted.

use std::collections::BTreeMap;
use std::sync::Arc;

use jackfield_api::PendingId;
use jackfield_api::command::Verdict;
use jackfield_api::permission::PermissionRequest;
use jackfield_core::{CallId, HostCall, HostReply};
use tokio::task::{AbortHandle, JoinSet};

use super::Task;
use crate::callbacks::{Callbacks, Serve};

/// What runs beside a task, for one run of the CLI.
#[derive(Default)]
pub(super) struct Calls {
    servers: BTreeMap<String, Arc<Serve>>,
    pub(super) done: JoinSet<(CallId, HostReply)>,
    pub(super) running: BTreeMap<CallId, AbortHandle>,
    pub(super) decided: JoinSet<(PendingId, Option<Verdict>)>,
    pub(super) deciding: BTreeMap<PendingId, AbortHandle>,
}

impl Calls {
    /// Nothing runs yet; the MCP servers are connected.
    pub(super) fn new(callbacks: &Callbacks) -> Self {
        Self { servers: callbacks.connect(), ..Self::default() }
    }
}

impl Task {
    pub(super) fn decide(&mut self, request: &PermissionRequest) {
        let id = request.pending_id;
        let ruled = self.origin.callbacks.rule.and_then(|rule| rule(request, self.progress.mode().as_ref()));
        if let Some(verdict) = ruled {
            // At once: nobody can be faster.
            let answer = self.answer(id, verdict);
            self.machine.handle(self.now(), answer);
        } else if let Some(decide) = self.origin.callbacks.decide.clone() {
            let request = request.clone();
            let handle = self.calls.decided.spawn(async move { (id, decide(request).await) });
            self.calls.deciding.insert(id, handle);
        }
    }

    pub(super) fn stop_deciding(&mut self, id: PendingId) {
        if let Some(handle) = self.calls.deciding.remove(&id) {
            handle.abort();
        }
    }

    pub(super) fn call(&mut self, id: CallId, call: HostCall) {
        let handle = match call {
            HostCall::Hook { callback_id, input, .. } => match self.origin.callbacks.hook(&callback_id) {
                None => return self.fail_call(id, format!("there is no hook {callback_id}")),
                Some(hook) => {
                    let answer = hook.answer(*input);
                    self.calls.done.spawn(async move {
                        (id, answer.await.map_or_else(HostReply::Failed, HostReply::Hook))
                    })
                }
            },
            HostCall::Mcp { server, message } => match self.calls.servers.get(&server) {
                None => return self.fail_call(id, format!("there is no MCP server {server} here")),
                Some(serve) => {
                    let serving = serve(message);
                    self.calls.done.spawn(async move { (id, HostReply::Mcp(serving.await)) })
                }
            },
        };
        self.calls.running.insert(id, handle);
    }

    fn fail_call(&mut self, id: CallId, why: String) {
        let handle = self.calls.done.spawn(async move { (id, HostReply::Failed(why)) });
        self.calls.running.insert(id, handle);
    }
}

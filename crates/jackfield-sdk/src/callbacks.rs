//! What a program does for its session: answers permissions, runs hooks, serves MCP messages.
//!
//! Each is an async function. The session never waits for one: its answer comes back as an input, and a
//! question that is over aborts the function that still thinks about it.

use std::collections::BTreeMap;
use std::fmt;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use jackfield_api::command::Verdict;
use jackfield_api::permission::PermissionRequest;
use jackfield_wire::{
    HookDecision, HookEvent, HookInput, HookMatcher, HookOutput, HookPermissionDecision, HookReply,
    HookSpecificOutput, HookVerdict, Object, PermissionRequestOutput, PreToolUseOutput, Raw,
};

use crate::policy::Rule;
use crate::tools::Tools;

/// A future that a callback gives back.
pub type Answering<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// Decides a question. `None` leaves it open, for somebody else to answer.
pub(crate) type Decide = dyn Fn(PermissionRequest) -> Answering<Option<Verdict>> + Send + Sync;
/// Runs a hook. An error is told to the CLI as such, which means: no decision.
pub(crate) type RunHook = dyn Fn(HookInput) -> Answering<Result<HookOutput, String>> + Send + Sync;
/// Serves one JSON-RPC message to an MCP server inside the program.
pub(crate) type Serve = dyn Fn(Raw) -> Answering<Object> + Send + Sync;
/// Connects a session to an MCP server inside the program: callbacks may be used for several sessions, whose
/// messages carry the same ids.
pub(crate) type Connect = dyn Fn() -> Arc<Serve> + Send + Sync;

/// Everything that a program does for its session.
#[derive(Clone, Default)]
pub struct Callbacks {
    pub(crate) decide: Option<Arc<Decide>>,
    /// Decides before anybody is asked.
    pub(crate) rule: Option<Rule>,
    pub(crate) hooks: Vec<Hook>,
    pub(crate) servers: BTreeMap<String, Arc<Connect>>,
}

/// A hook that was registered.
#[derive(Clone)]
pub(crate) struct Hook {
    pub(crate) event: HookEvent,
    pub(crate) matcher: Option<String>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) on_failure: OnFailure,
    pub(crate) run: Arc<RunHook>,
}

/// What becomes of a hook that returns an error or panics. (One that takes too long never lets a tool run.)
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnFailure {
    /// The CLI goes on as if there were no hook; a tool runs if nothing else forbids it.
    #[default]
    Continue,
    /// The tool, the prompt or the permission is refused; at any other event the turn ends.
    Block,
}

impl Callbacks {
    /// Nothing: questions stay open until somebody answers them.
    pub fn new() -> Self {
        Self::default()
    }

    /// Decides questions. Its future is dropped when the question is over.
    #[must_use]
    pub fn on_permission<F, A>(mut self, decide: F) -> Self
    where
        F: Fn(PermissionRequest) -> A + Send + Sync + 'static,
        A: Future<Output = Option<Verdict>> + Send + 'static,
    {
        self.decide = Some(Arc::new(move |request| Box::pin(decide(request))));
        self
    }

    /// Runs a hook at an event. `matcher` is a regular expression on the tool's name; absent, it is all tools.
    #[must_use]
    pub fn on_hook<F, A>(mut self, event: HookEvent, matcher: Option<&str>, run: F) -> Self
    where
        F: Fn(HookInput) -> A + Send + Sync + 'static,
        A: Future<Output = Result<HookOutput, String>> + Send + 'static,
    {
        self.hooks.push(Hook {
            event,
            matcher: matcher.map(str::to_owned),
            timeout: None,
            on_failure: OnFailure::default(),
            run: Arc::new(move |input| Box::pin(run(input))),
        });
        self
    }

    /// Limits how long the CLI waits for the hook that was registered last, in whole seconds. Then it withdraws
    /// the call, the hook's future is dropped, and a tool that waited for it is refused [hooks/pre_timeout].
    #[must_use]
    pub fn within(mut self, timeout: Duration) -> Self {
        if let Some(hook) = self.hooks.last_mut() {
            hook.timeout = Some(timeout);
        }
        self
    }

    /// Says what becomes of the hook that was registered last if it fails.
    #[must_use]
    pub fn on_failure(mut self, policy: OnFailure) -> Self {
        if let Some(hook) = self.hooks.last_mut() {
            hook.on_failure = policy;
        }
        self
    }

    /// Serves an MCP server inside this program, message by message.
    #[must_use]
    pub fn serve_mcp<F, A>(mut self, name: impl Into<String>, serve: F) -> Self
    where
        F: Fn(Raw) -> A + Send + Sync + 'static,
        A: Future<Output = Object> + Send + 'static,
    {
        let serve: Arc<Serve> = Arc::new(move |message| Box::pin(serve(message)));
        self.servers.insert(name.into(), Arc::new(move || Arc::clone(&serve)));
        self
    }

    /// Offers the model these tools of the program.
    #[must_use]
    pub fn tools(mut self, tools: Tools) -> Self {
        let name = tools.name().to_owned();
        let connect = move || -> Arc<Serve> {
            let connection = tools.connect();
            Arc::new(move |message| Box::pin(connection.serve(&message)))
        };
        self.servers.insert(name, Arc::new(connect));
        self
    }

    /// A session's connections to the MCP servers, by their names.
    pub(crate) fn connect(&self) -> BTreeMap<String, Arc<Serve>> {
        self.servers.iter().map(|(name, connect)| (name.clone(), connect())).collect()
    }

    /// The hooks as the CLI wants them, each under the name that [`Callbacks::hook`] knows.
    pub(crate) fn matchers(&self) -> BTreeMap<HookEvent, Vec<HookMatcher>> {
        let mut matchers: BTreeMap<HookEvent, Vec<HookMatcher>> = BTreeMap::new();
        for (number, hook) in self.hooks.iter().enumerate() {
            matchers.entry(hook.event.clone()).or_default().push(HookMatcher {
                matcher: hook.matcher.clone(),
                hook_callback_ids: vec![format!("hook-{number}").into()],
                timeout: hook
                    .timeout
                    .map(|limit| (limit.as_secs() + u64::from(limit.subsec_nanos() > 0)).max(1)),
                on_failure: None,
            });
        }
        matchers
    }

    pub(crate) fn hook(&self, callback_id: &str) -> Option<&Hook> {
        let number: usize = callback_id.strip_prefix("hook-")?.parse().ok()?;
        self.hooks.get(number)
    }
}

impl Hook {
    /// Runs it. Whatever happens inside, there is an answer: without one the CLI would wait.
    pub(crate) fn answer(
        &self,
        input: HookInput,
    ) -> impl Future<Output = Result<HookOutput, String>> + Send + use<> {
        let (on_failure, event, run) = (self.on_failure, self.event.clone(), Arc::clone(&self.run));
        async move {
            // A function may panic before it gives a future back. How long it takes is the CLI's to say: an
            // answer of ours that it took too long would let the tool run.
            let done = AssertUnwindSafe(async move { run(input).await }).catch_unwind().await;
            match done.unwrap_or_else(|_| Err("the hook panicked".to_owned())) {
                Err(why) if on_failure == OnFailure::Block => Ok(refusal(&event, why)),
                done => done,
            }
        }
    }
}

/// The answer that refuses what the event is about.
fn refusal(event: &HookEvent, why: String) -> HookOutput {
    let mut reply = HookReply::default();
    match event {
        HookEvent::PreToolUse => {
            reply.hook_specific_output = Some(HookSpecificOutput::PreToolUse(PreToolUseOutput {
                permission_decision: Some(HookDecision::Deny),
                permission_decision_reason: Some(why),
                ..PreToolUseOutput::default()
            }));
        }
        HookEvent::PermissionRequest => {
            let decision = HookPermissionDecision {
                behavior: Some(HookDecision::Deny),
                message: Some(why),
                ..HookPermissionDecision::default()
            };
            let output = PermissionRequestOutput { decision: Some(decision) };
            reply.hook_specific_output = Some(HookSpecificOutput::PermissionRequest(output));
        }
        HookEvent::UserPromptSubmit => {
            reply.decision = Some(HookVerdict::Block);
            reply.reason = Some(why);
        }
        _ => {
            reply.goes_on = Some(false);
            reply.stop_reason = Some(why);
        }
    }
    HookOutput::Now(Box::new(reply))
}

impl fmt::Debug for Callbacks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Callbacks")
            .field("decides", &self.decide.is_some())
            .field("rules", &self.rule.is_some())
            .field("hooks", &self.hooks.len())
            .field("servers", &self.servers.keys().collect::<Vec<_>>())
            .finish()
    }
}

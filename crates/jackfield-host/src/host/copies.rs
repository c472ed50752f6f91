//! Sessions that begin: new ones, copies of others, and conversations of the CLI's own history.
//!
//! A copy gets the events of what it copies, under its own name, so it can be read and replayed like any other.
//! The one rule it keeps: nothing is taken away from the original.

use std::path::Path;

use jackfield_api::command::{
    Agent, Command, CreateSession, Created, Done, Rejection, RejectionCode, Reply, Rewind, RewindScope,
};
use jackfield_api::host::SessionSummary;
use jackfield_api::session::{RunEndReason, SessionOrigin};
use jackfield_api::{Body, Event, Seq, SessionId, Uuid, codec};
use jackfield_core::Transcript;
use jackfield_sdk::history::{After, History};

use super::{Host, unreadable};
use crate::channel::run::{self, From};
use crate::channel::summary::now;
use crate::channel::{Channel, reject};
use crate::client::Client;
use crate::settings::Bypass;
use crate::store::SessionRecord;
use crate::trust;

/// How much of a log is read at once.
const READ: usize = 1024 * 1024;

impl Host {
    pub(super) async fn create(
        &self,
        client: &Client,
        mut create: CreateSession,
    ) -> Result<Reply, Rejection> {
        self.check(&mut create)?;
        trust::bind(&self.shared, &mut create).await?;
        if let Some(from) = create.from.take() {
            let at = create.resume_at.take();
            return match create.origin {
                SessionOrigin::Forked => self.fork(client, &from, at.as_ref()).await,
                _ => self.channel(&from).await.map(|_| created(from)),
            };
        }
        let mut events = Vec::new();
        let id = new_id();
        if create.origin != SessionOrigin::New {
            let Some(cli_id) = create.cli_session_id.clone() else {
                let reason = "which conversation is to go on? name a `cli_session_id` or a session in `from`";
                return Err(reject(RejectionCode::Invalid, reason));
            };
            if uuid::Uuid::try_parse(&cli_id).is_err() {
                return Err(reject(RejectionCode::Invalid, "a `cli_session_id` is a UUID"));
            }
            let known = self.shared.store.by_cli_id(&cli_id).await.map_err(unreadable)?;
            match known {
                Some(known) if create.origin == SessionOrigin::Forked => {
                    return self.fork(client, &known, create.resume_at.as_ref()).await;
                }
                // The host has it already; two sessions on one conversation would lose a branch.
                Some(known) => return Ok(created(known)),
                None => events = self.read_history(&cli_id, &id).await?,
            }
        }
        let record = self.record(id.clone(), create);
        self.begin(record, events).await?.warm(client).await;
        Ok(created(id))
    }

    fn check(&self, create: &mut CreateSession) -> Result<(), Rejection> {
        let invalid = |reason: String| Err(reject(RejectionCode::Invalid, reason));
        let cwd = Path::new(&create.cwd);
        if !cwd.is_absolute() {
            return invalid(format!("the folder {} is not an absolute path", create.cwd));
        }
        match cwd.canonicalize() {
            Ok(real) if real.is_dir() => create.cwd = real.to_string_lossy().into_owned(),
            Ok(_) => return invalid(format!("{} is not a folder", create.cwd)),
            Err(error) => return invalid(format!("cannot use the folder {}: {error}", create.cwd)),
        }
        if let Some(rejection) = run::refuse_directories(&create.directories) {
            return Err(rejection);
        }
        if create.agent == Some(Agent::Demo) && self.shared.settings.demo.is_none() {
            return Err(reject(RejectionCode::Unsupported, "this host has no demo agent"));
        }
        let bypasses = create.permission_mode.as_deref() == Some("bypassPermissions");
        if bypasses && self.shared.settings.bypass != Bypass::Allowed {
            let reason = "`bypassPermissions` can only be allowed in the configuration of the host";
            return Err(reject(RejectionCode::Forbidden, reason));
        }
        if create.mcp_servers.is_some() && run::mcp_servers(create).is_empty() {
            return invalid("`mcp_servers` is an object of servers by name, as in `.mcp.json`".to_owned());
        }
        if create.json_schema.is_some() && run::json_schema(create).is_none() {
            return invalid("`json_schema` is a JSON object".to_owned());
        }
        if create.max_budget_usd.is_some_and(|dollars| !(dollars.is_finite() && dollars >= 0.0)) {
            return invalid("a budget is a number of dollars".to_owned());
        }
        create.max_budget_usd = create.max_budget_usd.or(self.shared.settings.budget_usd);
        Ok(())
    }

    /// Begins a session with a copy of another, up to a message and with it.
    pub(super) async fn fork(
        &self,
        client: &Client,
        source: &SessionId,
        at: Option<&Uuid>,
    ) -> Result<Reply, Rejection> {
        let (record, events) = self.source(source).await?;
        let cut = match at {
            None => events.len(),
            Some(at) => events
                .iter()
                .position(|event| is_message(event, at))
                .map(|place| place + 1)
                .ok_or_else(|| no_message(at))?,
        };
        let at = at.cloned().or_else(|| record.summary.last_message_uuid.clone());
        self.copy(client, record, (events, cut), at.map_or(From::Last, From::Message)).await
    }

    /// Takes the conversation, and the files if that is wanted, back to before a prompt. What was said since
    /// stays in this session; the conversation goes on in a copy that knows nothing of it.
    pub(super) async fn rewind(
        &self,
        client: &Client,
        id: &SessionId,
        rewind: Rewind,
    ) -> Result<Reply, Rejection> {
        let (record, events) = self.source(id).await?;
        let prompt = events
            .iter()
            .position(|event| matches!(&event.body, Body::UserMessage(said) if said.uuid.as_ref() == Some(&rewind.uuid)))
            .ok_or_else(|| no_message(&rewind.uuid))?;
        // The turn that it began goes too.
        let begins =
            |event: &Event| matches!(event.body, Body::TurnStarted(_)) && event.turn == events[prompt].turn;
        let cut = events[..prompt].iter().rposition(begins).unwrap_or(prompt);
        let files = Rewind { scope: RewindScope::Files, ..rewind.clone() };
        if rewind.scope == RewindScope::Both || rewind.preview {
            let told = self.give(client, id, Command::Rewind(Box::new(files))).await?;
            if rewind.preview {
                return Ok(told);
            }
        }
        let from = run::before(&self.shared.settings, &record, std::slice::from_ref(&rewind.uuid)).await;
        self.copy(client, record, (events, cut), from).await
    }

    async fn source(&self, id: &SessionId) -> Result<(SessionRecord, Vec<Event>), Rejection> {
        let channel = self.channel(id).await?;
        let record = channel.record().await;
        let record = record
            .ok_or_else(|| reject(RejectionCode::NotNow, "the session was just put away; try again"))?;
        Ok((record, self.events(id).await?))
    }

    async fn events(&self, id: &SessionId) -> Result<Vec<Event>, Rejection> {
        let (mut events, mut cursor) = (Vec::new(), Seq(0));
        loop {
            let pages = self.shared.store.log(id, cursor, READ).await.map_err(unreadable)?;
            let Some(last) = pages.last().map(|page| page.last) else { return Ok(events) };
            for page in pages {
                for line in page.lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
                    let event = std::str::from_utf8(line).ok().and_then(|line| codec::decode(line).ok());
                    let event = event.filter(|event: &Event| event.seq > cursor);
                    events.extend(event);
                }
            }
            cursor = last;
        }
    }

    async fn copy(
        &self,
        client: &Client,
        source: SessionRecord,
        (mut events, cut): (Vec<Event>, usize),
        from: From,
    ) -> Result<Reply, Rejection> {
        let id = new_id();
        events.truncate(cut);
        for event in &mut events {
            event.session_id = id.clone();
        }
        close_copy(&mut events);
        let cli_id = source.summary.cli_session_id.clone().or_else(|| source.create.cli_session_id.clone());
        let (origin, resume_at) = match (&cli_id, from) {
            (Some(_), From::Message(at)) => (SessionOrigin::Forked, Some(at)),
            (Some(_), From::Last) => (SessionOrigin::Forked, None),
            _ => (SessionOrigin::New, None),
        };
        let title = format!("{} (copy)", source.summary.title);
        let create =
            CreateSession { origin, resume_at, cli_session_id: cli_id, title: Some(title), ..source.create };
        let mut record = self.record(id.clone(), create);
        record.summary.forked_from = Some(source.summary.session_id);
        record.summary.last_message_uuid = None;
        self.begin(record, events).await?.warm(client).await;
        Ok(created(id))
    }

    /// Takes conversations of the CLI's own history in.
    pub(super) async fn import(&self, cli_ids: &[String]) -> Result<Reply, Rejection> {
        let all = self.history().await?.entries;
        for wanted in cli_ids {
            if !all.iter().any(|entry| entry.cli_session_id == *wanted) {
                let reason = format!("there is no conversation {wanted} in the CLI's history");
                return Err(reject(RejectionCode::NotFound, reason));
            }
        }
        for entry in all {
            let wanted = cli_ids.is_empty() || cli_ids.contains(&entry.cli_session_id);
            if !wanted || entry.session_id.is_some() {
                continue;
            }
            let id = new_id();
            let events = self.read_history(&entry.cli_session_id, &id).await?;
            let cwd = entry.cwd.unwrap_or_default();
            let create = CreateSession {
                origin: SessionOrigin::Resumed,
                cli_session_id: Some(entry.cli_session_id.clone()),
                title: Some(entry.title),
                ..CreateSession::new(cwd)
            };
            let mut record = self.record(id, create);
            record.summary.cli_session_id = Some(entry.cli_session_id);
            record.summary.created_at = events.first().map_or(entry.updated_at, |event| event.at);
            record.summary.updated_at = entry.updated_at;
            self.begin(record, events).await?;
        }
        Ok(Reply::Done(Done {}))
    }

    async fn read_history(&self, cli_id: &str, id: &SessionId) -> Result<Vec<Event>, Rejection> {
        let history = self.cli_history()?;
        run::await_written(&history, cli_id).await;
        let (cli_id, id) = (cli_id.into(), id.clone());
        let read =
            tokio::task::spawn_blocking(move || history.import(&cli_id, id, Seq(1), After::Beginning)).await;
        match read {
            Ok(events) => events.map_err(|error| reject(RejectionCode::NotFound, error.to_string())),
            Err(_) => Err(crate::channel::gone()),
        }
    }

    pub(super) fn cli_history(&self) -> Result<History, Rejection> {
        let record = self.record("".into(), CreateSession::new("/"));
        run::history(&self.shared.settings, &record)
            .ok_or_else(|| reject(RejectionCode::NotFound, "it is not known where the CLI keeps its history"))
    }

    fn record(&self, session_id: SessionId, create: CreateSession) -> SessionRecord {
        let at = now();
        let summary = SessionSummary {
            title: create.title.clone().unwrap_or_default(),
            agent: create.agent.unwrap_or_default(),
            model: create.model.clone().or_else(|| self.shared.settings.model.clone()),
            permission_mode: create.permission_mode.clone(),
            max_thinking_tokens: create.max_thinking_tokens,
            effort: create.effort.clone(),
            max_budget_usd: create.max_budget_usd,
            trusted: create.trusted,
            ..SessionSummary::new(session_id, create.cwd.clone(), at)
        };
        SessionRecord { summary, create }
    }

    async fn begin(&self, record: SessionRecord, events: Vec<Event>) -> Result<Channel, Rejection> {
        let id = record.summary.session_id.clone();
        let channel = Channel::create(&self.shared, record, &events).await.map_err(unreadable)?;
        self.shared.registry.insert(id, channel.clone()).await;
        Ok(channel)
    }
}

/// Ends what was open where a copy was cut; in the copy nothing runs.
fn close_copy(events: &mut Vec<Event>) {
    let mut transcript = Transcript::new();
    for event in events.iter() {
        transcript.apply(event);
        transcript.take_settled();
    }
    let mut seq = transcript.snapshot().seq;
    for mut event in transcript.host_ended(now()) {
        match &mut event.body {
            // Nothing went wrong here.
            Body::Error(_) => continue,
            Body::RunEnded(end) => end.reason = RunEndReason::Closed,
            _ => {}
        }
        seq = Seq(seq.0 + 1);
        events.push(Event { seq, ..event });
    }
}

fn is_message(event: &Event, uuid: &Uuid) -> bool {
    match &event.body {
        Body::UserMessage(said) => said.uuid.as_ref() == Some(uuid),
        Body::Complete(complete) => complete.data.last_message_uuid.as_ref() == Some(uuid),
        _ => false,
    }
}

fn no_message(uuid: &Uuid) -> Rejection {
    reject(RejectionCode::NotFound, format!("there is no message {uuid} in this session"))
}

fn created(session_id: SessionId) -> Reply {
    Reply::Created(Created { session_id })
}

fn new_id() -> SessionId {
    uuid::Uuid::new_v4().to_string().into()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;

    use super::*;
    use crate::settings::Settings;

    /// Two turns that cost a dollar each, as they are read from elsewhere.
    fn turns(id: &SessionId) -> Vec<Event> {
        let data = json!({
            "cost_usd": 1.0, "total_cost_usd": 1.0, "duration_ms": 1, "duration_api_ms": 1, "num_turns": 1,
            "input_tokens": 1, "output_tokens": 1, "cache_read_tokens": 0, "cache_creation_tokens": 0,
            "last_message_uuid": null, "terminal_reason": null, "permission_denials": [], "structured_output": null,
        });
        let turn = [
            json!({ "type": "turn_started", "trigger": "prompt" }),
            json!({ "type": "complete", "data": data }),
        ];
        let events = (1..=2).flat_map(|number| turn.clone().map(|event| (number, event))).zip(1..);
        let numbered = events.map(|((turn, mut event), seq)| {
            for (name, value) in
                [("seq", json!(seq)), ("at", json!(seq)), ("session_id", json!(id)), ("turn", json!(turn))]
            {
                event[name] = value;
            }
            codec::decode(&event.to_string()).unwrap()
        });
        numbered.collect()
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn what_the_host_says_of_turns_that_it_takes_in_comes_behind_all_of_them() {
        let folder = tempfile::tempdir().unwrap();
        let host = Host::open(Settings::new(folder.path())).await.unwrap();
        let create = CreateSession { max_budget_usd: Some(0.5), ..CreateSession::new("/ws") };
        let id = new_id();
        let events = turns(&id);
        host.begin(host.record(id.clone(), create), events.clone()).await.unwrap();
        // It waits until all is on disk.
        let snapshot = host.snapshot(&id).await.unwrap().snapshot;
        let stored = host.events(&id).await.unwrap();
        let numbers: Vec<u64> = stored.iter().map(|event| event.seq.0).collect();
        assert_eq!(numbers, [1, 2, 3, 4, 5], "{stored:#?}");
        assert_eq!(stored[..4], events);
        assert!(
            matches!(&stored[4].body, Body::Notice(notice) if notice.text.contains("the budget of $0.5"))
        );
        assert_eq!((snapshot.seq, snapshot.total_cost_usd), (Seq(5), 2.0));
        host.close().await;
    }
}

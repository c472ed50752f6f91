//! The figures of a host for those who watch it: counted ones, and what is so at the moment of asking.
//!
//! The one rule it keeps: asking changes nothing, and no session waits for the answer.

use jackfield_api::SessionId;
use jackfield_api::command::{Rejection, RejectionCode};
use jackfield_api::host::{DebugState, SessionProcess};
use jackfield_observe::exposition::{Kind, Page};

use super::Host;
use crate::channel::reject;
use crate::memory::Processes;

impl Host {
    /// All figures as Prometheus reads them; `None` where nothing is counted.
    pub async fn figures(&self) -> Option<String> {
        let figures = self.shared.figures.clone()?;
        let mut page = Page::default();
        figures.write(&mut page);
        if let Some(sink) = &self.shared.settings.observe.spans {
            let name = "jackfield_spans_lost_total";
            page.figure(name, Kind::Counter, "Spans that nobody took in time.");
            page.sample(name, &[], sink.lost());
        }
        let standing = self.shared.feed.standing();
        let name = "jackfield_sessions";
        page.figure(name, Kind::Gauge, "Sessions that were used since the host began, by state.");
        for (state, count) in [
            ("ended", standing.ended),
            ("idle", standing.idle),
            ("running", standing.running),
            ("waiting", standing.waiting),
        ] {
            page.sample(name, &[("state", state)], count);
        }
        for (name, help, value) in [
            ("jackfield_prompts_queued", "Prompts that wait in the CLIs.", standing.queued),
            ("jackfield_questions_open", "Questions that nobody has answered.", whole(standing.questions)),
            ("jackfield_store_queue", "Changes that wait to be written.", whole(self.shared.store.waiting())),
        ] {
            page.figure(name, Kind::Gauge, help);
            page.sample(name, &[], value);
        }
        let (processes, clis) = self.look_at_processes().await;
        let name = "jackfield_memory_bytes";
        page.figure(
            name,
            Kind::Gauge,
            "Resident memory of the host, and of all CLIs with what they started.",
        );
        if let Some(bytes) = processes.alone(std::process::id()) {
            page.sample(name, &[("process", "host")], bytes);
        }
        page.sample(name, &[("process", "cli")], clis.iter().map(|cli| cli.memory_bytes).sum::<u64>());
        page.figure("jackfield_cli_processes", Kind::Gauge, "CLIs that run.");
        page.sample("jackfield_cli_processes", &[], clis.len());
        Some(page.finish())
    }

    /// The CLIs that run, with the memory that each takes with everything it has started.
    pub async fn processes(&self) -> Vec<SessionProcess> {
        self.look_at_processes().await.1
    }

    /// Somebody was let go because they did not read.
    pub fn count_slow_reader(&self) {
        if let Some(figures) = &self.shared.figures {
            figures.slow_reader();
        }
    }

    /// Whether a session's debug files are written.
    pub async fn debug(&self, id: &SessionId) -> Result<DebugState, Rejection> {
        Ok(DebugState { debug: self.channel(id).await?.watcher.debugs() })
    }

    /// Begins or ends a session's debug files, until the host ends. They are not begun where they cannot be written.
    pub async fn set_debug(&self, id: &SessionId, wanted: DebugState) -> Result<DebugState, Rejection> {
        let channel = self.channel(id).await?;
        self.shared.switches.keep(id, channel.watcher.switch());
        if wanted.debug {
            let begun = channel.watcher.begin();
            let cannot = |error| reject(RejectionCode::NotNow, format!("cannot write debug files: {error}"));
            begun.map_err(cannot)?;
        } else {
            channel.watcher.end();
        }
        Ok(wanted)
    }

    async fn look_at_processes(&self) -> (Processes, Vec<SessionProcess>) {
        let mut named = Vec::new();
        for (session_id, channel) in self.shared.registry.loaded().await {
            named.extend(channel.watcher.process_id().map(|process_id| (session_id, process_id)));
        }
        let looked = tokio::task::spawn_blocking(move || {
            let processes = Processes::look();
            let clis = named.into_iter().filter_map(|(session_id, process_id)| {
                let memory_bytes = processes.tree(process_id)?;
                Some(SessionProcess { session_id, process_id, memory_bytes })
            });
            let clis: Vec<_> = clis.collect();
            (processes, clis)
        });
        looked.await.unwrap_or_default()
    }
}

fn whole(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::sync::Arc;
    use std::time::Duration;

    use jackfield_api::command::{Close, Command, Content, CreateSession, Delete, Prompt, Reply};
    use jackfield_api::session::Priority;
    use jackfield_api::socket::Scope;
    use jackfield_testkit::api::{Reply as ApiReply, Scenario, ScriptedApi};
    use jackfield_testkit::cli::{Cli, NEWER_VERSION, Sandbox};
    use tokio::time::{sleep, timeout};

    use super::*;
    use crate::client::Client;
    use crate::observe::{DebugOf, Observe};
    use crate::settings::Settings;

    /// What hangs must not hang the tests.
    const PATIENCE: Duration = Duration::from_secs(40);

    #[tokio::test(flavor = "multi_thread")]
    async fn the_number_of_a_process_is_forgotten_when_its_run_is_over() {
        let sandbox = Sandbox::new().unwrap();
        let turns = vec![ApiReply::text("one"), ApiReply::text("two")];
        let api = ScriptedApi::start(Scenario { turns }, sandbox.places().clone()).await.unwrap();
        let mut settings = Settings::new(sandbox.places().temporary.join("data"));
        settings.claude = Some(Cli::locate(NEWER_VERSION).unwrap().program);
        settings.locks = Some(sandbox.places().temporary.join("locks"));
        settings.variables = std::env::vars_os().map(|(name, _)| (name, None)).collect();
        let own = sandbox.environment(&api.url()).into_iter();
        settings.variables.extend(own.map(|(name, value)| (name.into(), Some(value.into()))));
        let host = Host::open(settings).await.unwrap();
        let client = Client::new("tester", Scope::Admin);
        let create = CreateSession::new(sandbox.places().workspace.to_string_lossy());
        let created = host.command_here(&client, None, Command::from(create)).await.unwrap();
        let Reply::Created(created) = created else { panic!("not created: {created:?}") };
        let id = created.session_id;
        let watcher = host.channel(&id).await.unwrap().watcher;
        for _ in 0..2 {
            let uuid = uuid::Uuid::new_v4().to_string().into();
            let content = vec![Content::Text { text: "hello".to_owned() }];
            let prompt = Command::from(Prompt { uuid, content, priority: Priority::Next });
            host.command_here(&client, Some(id.clone()), prompt).await.unwrap();
            let runs = host.processes().await;
            assert_eq!(
                runs.iter().map(|run| Some(run.process_id)).collect::<Vec<_>>(),
                [watcher.process_id()]
            );
            host.command_here(&client, Some(id.clone()), Command::from(Close {})).await.unwrap();
            let forgotten = async {
                while watcher.process_id().is_some() {
                    sleep(Duration::from_millis(5)).await;
                }
            };
            timeout(PATIENCE, forgotten).await.expect("a stranger's memory would be told as the session's");
            assert!(host.processes().await.is_empty());
        }
        host.close().await;
    }
    #[tokio::test(flavor = "multi_thread")]
    async fn the_switch_of_a_session_holds_when_it_was_put_away_and_goes_when_it_is_deleted() {
        let folder = tempfile::tempdir().unwrap();
        for (name, debug) in [("nobody", DebugOf::Nobody), ("everybody", DebugOf::Everybody)] {
            let mut settings = Settings::new(folder.path().join(name));
            settings.claude = Some(folder.path().join("no-claude"));
            settings.observe =
                Observe { debug, debug_folder: Some(folder.path().into()), ..Observe::default() };
            let host = Host::open(settings).await.unwrap();
            let client = Client::new("tester", Scope::Admin);
            let create = Command::from(CreateSession::new(folder.path().to_string_lossy()));
            let created = host.command_here(&client, None, create).await.unwrap();
            let Reply::Created(created) = created else { panic!("not created: {created:?}") };
            let id = created.session_id;
            let put_away = async || {
                let before = host.channel(&id).await.unwrap();
                host.shared.registry.remove(&id).await;
                let now = host.channel(&id).await.unwrap();
                assert!(!Arc::ptr_eq(&before.watcher, &now.watcher), "it was not loaded again");
            };
            let by_configuration = DebugState { debug: debug == DebugOf::Everybody };
            assert_eq!(host.debug(&id).await.unwrap(), by_configuration);
            put_away().await;
            assert_eq!(host.debug(&id).await.unwrap(), by_configuration, "nobody has said anything");
            for debug in [true, false, true] {
                let wanted = DebugState { debug };
                assert_eq!(host.set_debug(&id, wanted).await.unwrap(), wanted);
                put_away().await;
                assert_eq!(host.debug(&id).await.unwrap(), wanted);
            }
            host.command_here(&client, Some(id.clone()), Command::from(Delete {})).await.unwrap();
            assert!(host.shared.switches.of(&id).is_none());
            host.close().await;
        }
    }
}

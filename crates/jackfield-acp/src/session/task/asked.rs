//! What the editor asks of a session, and what came of it.
//!
//! Questions to a person are beside it. The one rule it keeps: every request is answered, by the answer that it was
//! waiting for or by the reason why there is none.

use std::collections::BTreeMap;
use std::time::Duration;

use jackfield_api::command::{
    CancelQueued, Close, Interrupt, Prompt, RejectionCode, Reply, SetMode, SetModel,
};
use jackfield_api::session::Priority;
use jackfield_api::{Command, Uuid};
use jackfield_client::ClientError;
use tokio::time::{Instant, sleep};

use super::{Done, Known, Task, Trust};
use crate::prompt;
use crate::requests::failure;
use crate::rpc::invalid;
use crate::schema::{
    CloseSessionResponse, PromptRequest, RequestId, SessionConfigOptionValue, SessionInfoUpdate,
    SessionUpdate, SetSessionConfigOptionRequest, SetSessionConfigOptionResponse, SetSessionModeResponse,
    ToolCallStatus,
};
use crate::session::Ask;
use crate::session::arriving::Traced;
use crate::session::orders::Purpose;
use crate::session::stopping::Step;
use crate::session::unsaved;
use crate::settings::{self, DEFAULT_MODEL, EFFORT, MODE, MODEL, THINKING};
use crate::translate::Sink as _;

/// How long a run may take to end.
const CLOSING: Duration = Duration::from_secs(20);
/// How soon a prompt that was too early is said again.
const SOON: Duration = Duration::from_millis(50);

impl Task {
    pub(super) fn asked(&mut self, ask: Ask) {
        match ask {
            Ask::Prompt(id, asked) => self.prompt(id, *asked),
            Ask::Cancel(request) => {
                self.prompts.cancel(request.as_ref());
                let dropped = self.prompts.drop_held();
                self.arriving.drop(&dropped);
                if let Trust::Asking(held, asking) = &mut self.trust {
                    held.retain(|traced| !dropped.contains(&traced.prompt.uuid));
                    if held.is_empty() {
                        let asking = asking.take();
                        self.trust = Trust::Unknown;
                        if let Some((asking, card)) = asking {
                            asking.abort();
                            self.end_card(card, ToolCallStatus::Failed);
                        }
                    }
                }
            }
            Ask::SetMode(id, mode) => {
                if let Some(purpose) = self.checked_mode(&id, &mode, Purpose::Mode) {
                    self.orders.push(SetMode { permission_mode: mode }, purpose);
                }
            }
            Ask::SetOption(id, asked) => self.set_option(id, &asked),
            Ask::Close(id) => {
                self.prompts.cancel(None);
                let (client, host_id) = (self.client.clone(), self.id.clone());
                self.doing.spawn(async move {
                    let closed = client.command(Some(&host_id), Close {}).await;
                    Done::Closed(id, closed.err())
                });
            }
        }
    }

    fn prompt(&mut self, id: RequestId, asked: PromptRequest) {
        let files = if self.connection.offered().files { prompt::files(&asked.prompt) } else { Vec::new() };
        let again = (!files.is_empty()).then(|| asked.prompt.clone());
        let trace = prompt::trace(asked.meta.as_ref());
        let content = match prompt::content(asked.prompt, &BTreeMap::new()) {
            Ok(content) => content,
            Err(error) => return self.connection.peer.respond::<()>(&id, Err(error)),
        };
        let uuid: Uuid = uuid::Uuid::new_v4().to_string().into();
        self.prompts.begin(id, uuid.clone());
        self.arriving.push(uuid.clone());
        let prompt = Prompt { uuid, content, priority: Priority::Later };
        let mut traced = Traced { prompt, trace };
        let Some(blocks) = again else { return self.ready(traced) };
        let (peer, session) = (self.connection.peer.clone(), self.lines.session().clone());
        self.doing.spawn(async move {
            let unsaved = unsaved::texts(peer, session, files).await;
            if let Ok(content) = prompt::content(blocks, &unsaved) {
                traced.prompt.content = content;
            }
            Done::Ready(traced)
        });
    }

    fn ready(&mut self, traced: Traced) {
        for traced in self.arriving.ready(traced) {
            self.trust_first(traced);
        }
    }

    /// Says a prompt once it is known whether its folder is trusted.
    fn trust_first(&mut self, traced: Traced) {
        match &mut self.trust {
            Trust::Settled => self.say(traced),
            Trust::Asking(held, _) => held.push(traced),
            Trust::Unknown => {
                self.trust = Trust::Asking(vec![traced], None);
                self.looks += 1;
                let look = self.looks;
                let (client, folder) = (self.client.clone(), self.folder.clone());
                self.doing.spawn(async move {
                    // A folder that cannot be looked at is not trusted, and the run tells what is wrong with it.
                    Done::Looked(look, client.folder_trust(&folder).await.ok().map(Box::new))
                });
            }
        }
    }

    pub(super) fn say(&mut self, traced: Traced) {
        let prompt = traced.prompt.clone();
        self.translator.sent(prompt.uuid.clone());
        self.prompts.given(&prompt.uuid);
        self.orders.push(prompt, Purpose::Prompt(Box::new(traced)));
    }

    fn set_option(&mut self, id: RequestId, asked: &SetSessionConfigOptionRequest) {
        let SessionConfigOptionValue::ValueId { value } = &asked.value else {
            let error = invalid(format!("the option `{}` is no switch", asked.config_id.0));
            return self.connection.peer.respond::<()>(&id, Err(error));
        };
        let value = value.0.to_string();
        match &*asked.config_id.0 {
            MODE => {
                if let Some(purpose) = self.checked_mode(&id, &value, Purpose::ModeOption) {
                    self.orders.push(SetMode { permission_mode: value }, purpose);
                }
            }
            THINKING => {
                let Some(set) = settings::thinking(&value) else {
                    let error = invalid(format!("there is no level of thinking `{value}`"));
                    return self.connection.peer.respond::<()>(&id, Err(error));
                };
                let purpose = Purpose::Thinking(id, set.max_thinking_tokens);
                self.orders.push(set, purpose);
            }
            EFFORT => {
                let Some(set) = self.settings.effort(&value) else {
                    let error = invalid(format!("this model has no level of effort `{value}`"));
                    return self.connection.peer.respond::<()>(&id, Err(error));
                };
                let purpose = Purpose::Effort(id, set.effort.clone());
                self.orders.push(set, purpose);
            }
            MODEL => {
                let model = (value != DEFAULT_MODEL).then(|| value.clone());
                self.orders.push(SetModel { model }, Purpose::Model(id, value));
            }
            other => {
                let error = invalid(format!("there is no option `{other}`"));
                self.connection.peer.respond::<()>(&id, Err(error));
            }
        }
    }

    fn checked_mode(
        &self,
        id: &RequestId,
        mode: &str,
        purpose: impl Fn(RequestId, String) -> Purpose,
    ) -> Option<Purpose> {
        if self.settings.has_mode(mode) {
            return Some(purpose(id.clone(), mode.to_owned()));
        }
        self.connection.peer.respond::<()>(id, Err(invalid(format!("there is no mode `{mode}`"))));
        None
    }

    pub(super) fn done(&mut self, done: Done) {
        match done {
            Done::Order((purpose, result)) => {
                self.orders.done();
                self.ordered(purpose, result);
            }
            Done::Answered(id, verdict) => self.answered(id, verdict),
            Done::Given(id, Some(error)) => {
                self.connection.log.line(&format!("the answer to question {id} was not taken: {error}"));
            }
            Done::Stopped(Step::Interrupt, Some(_)) => self.stopping.refused(),
            Done::Closed(id, error) => {
                self.prompts.give_up();
                self.settle();
                // First: who was told that it is closed may open it anew at once.
                self.asks.close();
                self.connection.close_ended(self.lines.session());
                match error {
                    // It was not there.
                    Some(error) if error.code().is_none() => {
                        self.connection.peer.respond::<()>(&id, Err(failure(error)));
                    }
                    _ => self.connection.peer.respond(&id, Ok(CloseSessionResponse::new())),
                }
            }
            Done::Looked(look, folder) if look == self.looks => self.looked(folder),
            Done::Trusted(card, said) if self.asks(&card) => self.trusted(card, said),
            Done::Remembered(restart) => {
                if restart {
                    self.closing = Some(Instant::now() + CLOSING);
                    self.orders.push(Close {}, Purpose::Restart);
                }
                self.go_on();
            }
            Done::Ready(traced) => self.ready(traced),
            Done::Early(traced) => {
                let prompt = traced.prompt.clone();
                self.orders.push_first(prompt, Purpose::Prompt(Box::new(traced)));
            }
            Done::Known(models, session) => {
                let mut told = models.map(|models| self.settings.set_models(models)).unwrap_or_default();
                let Some(Known { title, thinking, effort }) = session else { return self.tell(told) };
                let title = Some(title);
                told.extend(self.settings.set_thinking(thinking));
                told.extend(self.settings.set_effort(effort));
                if title != self.title {
                    self.title.clone_from(&title);
                    told.push(SessionUpdate::SessionInfoUpdate(SessionInfoUpdate::new().title(title)));
                }
                self.tell(told);
            }
            // What is over, and what was asked for a prompt that was cancelled, says nothing any more.
            Done::Given(..) | Done::Stopped(..) | Done::Looked(..) | Done::Trusted(..) => {}
        }
    }

    fn tell(&mut self, told: Vec<SessionUpdate>) {
        for update in told {
            self.lines.update(update);
        }
    }

    /// Tells of another mode, before the answer to whoever chose it: its event may have done so already, and editors
    /// see the same in either case.
    fn show_mode(&mut self, mode: &str) {
        let told = self.settings.set_mode(mode);
        self.tell(told);
        self.flush();
    }

    fn ordered(&mut self, purpose: Purpose, result: Result<Reply, ClientError>) {
        let peer = self.connection.peer.clone();
        match (purpose, result) {
            (Purpose::Prompt(traced), Ok(_)) => self.prompts.taken(&traced.prompt.uuid),
            (Purpose::Prompt(traced), Err(error)) if self.is_early(&error) => {
                self.doing.spawn(async move {
                    sleep(SOON).await;
                    Done::Early(*traced)
                });
            }
            (Purpose::Prompt(traced), Err(error)) => {
                self.prompts.refused(&traced.prompt.uuid, error.to_string());
            }
            (Purpose::Restart, _) => {}
            (Purpose::Mode(id, mode), Ok(_)) => {
                self.show_mode(&mode);
                peer.respond(&id, Ok(SetSessionModeResponse::new()));
            }
            (Purpose::ModeOption(id, mode), Ok(_)) => {
                self.show_mode(&mode);
                peer.respond(&id, Ok(SetSessionConfigOptionResponse::new(self.settings.options())));
            }
            (Purpose::Model(id, model), Ok(_)) => {
                drop(self.settings.set_model(&model));
                peer.respond(&id, Ok(SetSessionConfigOptionResponse::new(self.settings.options())));
            }
            (Purpose::Thinking(id, tokens), Ok(_)) => {
                drop(self.settings.set_thinking(tokens));
                peer.respond(&id, Ok(SetSessionConfigOptionResponse::new(self.settings.options())));
            }
            (Purpose::Effort(id, effort), Ok(_)) => {
                drop(self.settings.set_effort(effort));
                peer.respond(&id, Ok(SetSessionConfigOptionResponse::new(self.settings.options())));
            }
            (
                Purpose::Mode(id, _)
                | Purpose::ModeOption(id, _)
                | Purpose::Model(id, _)
                | Purpose::Thinking(id, _)
                | Purpose::Effort(id, _),
                Err(error),
            ) => {
                peer.respond::<()>(&id, Err(failure(error)));
            }
        }
    }

    /// Whether the last run is still ending, so that the next cannot begin.
    fn is_early(&self, error: &ClientError) -> bool {
        let ending = matches!(error.code(), Some(RejectionCode::NotNow | RejectionCode::RunEnded));
        ending && self.closing.is_some_and(|until| Instant::now() < until)
    }

    pub(super) fn stop(&mut self, step: Step) {
        let command: Command = match &step {
            Step::Interrupt => Interrupt {}.into(),
            Step::TakeBack(uuid) => CancelQueued { uuid: uuid.clone() }.into(),
            Step::Close => {
                self.closing = Some(Instant::now() + CLOSING);
                Close {}.into()
            }
            Step::GiveUp => return self.prompts.give_up(),
        };
        let (client, id) = (self.client.clone(), self.id.clone());
        self.doing.spawn(async move { Done::Stopped(step, client.command(Some(&id), command).await.err()) });
    }
}

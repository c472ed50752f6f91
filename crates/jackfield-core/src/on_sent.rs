//! Lines that were written to the CLI.
//!
//! This is where a prompt joins the queue, where an answer ends its question and where a request of ours
//! begins to wait: when the line is really written, not when a command asked for it.

use jackfield_api as api;
use jackfield_wire as wire;

use api::command::{Done, RejectionCode, Reply};
use api::permission::PermissionOutcome;
use api::session::Priority;
use api::trouble::NoticeLevel;
use wire::{HostAnswer, HostOutcome, Outbound, OutboundMessage, PermissionAnswer, RequestId};

use crate::input::{By, InputSeen};
use crate::prompts::Prompt;
use crate::questions::{Answered, Waited};
use crate::session::Session;
use crate::words;

impl Session {
    pub(crate) fn on_sent(&mut self, line: OutboundMessage, by: &By) {
        self.begin_run_unseen();
        if let Some(run) = &mut self.run {
            run.launch.input_seen = InputSeen::Both;
        }
        match line {
            OutboundMessage::Known(Outbound::User(prompt)) => self.on_sent_prompt(*prompt),
            OutboundMessage::Known(Outbound::ControlRequest(control)) => {
                let now = self.out.now();
                let Some(run) = &mut self.run else { return };
                if control.request.subtype() == "interrupt" {
                    run.interrupting(now);
                }
                run.requests.sent(control.request_id, control.request, now);
            }
            OutboundMessage::Known(Outbound::ControlResponse(control)) => {
                let answer = read_answer(&control.outcome, by);
                self.on_answered(&control.request_id, &answer, by);
            }
            OutboundMessage::Malformed(malformed) => {
                if malformed.tag.as_deref() == Some("control_response") && !malformed.request_id.is_missing()
                {
                    // The CLI takes an answer that it cannot read for a refusal [permission/bash_deny_no_message].
                    let answer = Answered {
                        outcome: PermissionOutcome::Denied,
                        by: by.name().map(str::to_owned),
                        message: Some(format!("the answer could not be read: {}", malformed.reason)),
                        input: None,
                        failed: true,
                    };
                    self.on_answered(&malformed.request_id, &answer, by);
                    return;
                }
                let text = format!("a line was sent that the CLI cannot read: {}", malformed.reason);
                self.out.notice(NoticeLevel::Warning, text);
            }
            // The CLI ignores these, or takes them without a word.
            OutboundMessage::Known(
                Outbound::KeepAlive
                | Outbound::UpdateEnvironmentVariables(_)
                | Outbound::BashCommand(_)
                | Outbound::Assistant(_)
                | Outbound::System(_)
                | Outbound::ControlCancelRequest { .. },
            )
            | OutboundMessage::Blank
            | OutboundMessage::Unknown(_) => {}
        }
    }

    fn on_sent_prompt(&mut self, prompt: wire::Prompt) {
        let promised = prompt.uuid().zip(self.run.as_mut());
        let promised = promised.and_then(|(uuid, run)| run.promises.prompt_sent(uuid.as_str()));
        let during_turn = self.run.as_ref().is_some_and(|run| run.turn_runs());
        let priority = match prompt.priority() {
            Some(wire::Priority::Now) => Priority::Now,
            Some(wire::Priority::Later) => Priority::Later,
            _ => Priority::Next,
        };
        let prompt = Prompt {
            uuid: prompt.uuid().map(|uuid| uuid.as_str().to_owned()),
            text: prompt.text(),
            attachments: attachments(&prompt),
            priority,
            during_turn,
            started: false,
            line: prompt,
        };
        self.prompts.sent(prompt, &mut self.out);
        if let Some(command) = promised {
            self.out.accept(command, Reply::Done(Done {}));
        }
    }

    fn on_answered(&mut self, request_id: &RequestId, answer: &Answered, by: &By) {
        let Some(run) = &mut self.run else { return };
        // What the host answers by itself is no person's answer that came too late.
        let promised = run.promises.answer_sent(request_id);
        let waited = match run.questions.answered(request_id, answer, &mut self.out) {
            Waited::No => false,
            Waited::Yes => true,
            Waited::ForAnother(call, input) => {
                self.calls.change(&call, input, &mut self.out);
                true
            }
        };
        if !waited && *by != By::Host {
            self.out.notice(NoticeLevel::Info, "a late answer was sent; its question was over already");
        }
        match promised {
            Some(command) if waited => self.out.accept(command, Reply::Done(Done {})),
            Some(command) => {
                self.out.reject(
                    command,
                    RejectionCode::TooLate,
                    "the question was over before it was answered",
                );
            }
            None => {}
        }
    }

    /// The CLI repeats an answer of ours. It is news only if the writing was not seen.
    pub(crate) fn on_echo(&mut self, line: &wire::ControlResponse) {
        let answer = match &line.outcome {
            wire::ControlOutcome::Success(success) => {
                let read =
                    success.response.as_ref().and_then(|raw| HostAnswer::read(raw.as_raw_value()).ok());
                match read {
                    Some(answer) => read_answer(&HostOutcome::Success(answer), &By::Unknown),
                    None => denied("the answer could not be read"),
                }
            }
            wire::ControlOutcome::Error { error, .. } => denied(error),
        };
        if let Some(run) = &mut self.run
            && let Waited::ForAnother(call, input) =
                run.questions.answered(&line.request_id, &answer, &mut self.out)
        {
            self.calls.change(&call, input, &mut self.out);
        }
    }
}

fn read_answer(outcome: &HostOutcome, by: &By) -> Answered {
    let input = match outcome {
        HostOutcome::Success(HostAnswer::Permission(PermissionAnswer::Allow(allow))) => {
            Some(words::json(&allow.updated_input.clone().into_raw()))
        }
        _ => None,
    };
    let (outcome, message, failed) = match outcome {
        HostOutcome::Error { error } => (PermissionOutcome::Denied, Some(error.clone()), true),
        HostOutcome::Success(
            HostAnswer::Permission(PermissionAnswer::Allow(_))
            | HostAnswer::Dialog(wire::DialogAnswer::Completed { .. }),
        ) => (PermissionOutcome::Allowed, None, false),
        HostOutcome::Success(HostAnswer::Permission(PermissionAnswer::Deny(deny))) => {
            (PermissionOutcome::Denied, Some(deny.message().to_owned()), false)
        }
        HostOutcome::Success(HostAnswer::Elicitation(answer)) => match answer.action {
            wire::ElicitationAction::Accept => (PermissionOutcome::Allowed, None, false),
            _ => (PermissionOutcome::Denied, None, false),
        },
        // Anything else does not allow.
        HostOutcome::Success(_) => (PermissionOutcome::Denied, None, false),
    };
    let outcome = match (outcome, by) {
        (PermissionOutcome::Denied, By::Expiry) => PermissionOutcome::Expired,
        (outcome, _) => outcome,
    };
    Answered { outcome, by: by.name().map(str::to_owned), message, input, failed }
}

fn denied(why: &str) -> Answered {
    let (outcome, message) = (PermissionOutcome::Denied, Some(why.to_owned()));
    Answered { outcome, by: None, message, input: None, failed: true }
}

fn attachments(prompt: &wire::Prompt) -> Vec<api::conversation::Attachment> {
    let wire::PromptContent::Blocks(blocks) = prompt.content() else { return Vec::new() };
    blocks
        .as_slice()
        .iter()
        .filter_map(|block| match block {
            wire::PromptBlock::Image { source: wire::ImageSource::Base64 { media_type, data } } => {
                Some(words::attachment("image", Some(media_type), data.len()))
            }
            wire::PromptBlock::Image { .. } => Some(words::attachment("image", None, 0)),
            wire::PromptBlock::Document { source, .. } => Some(words::attachment_of("document", source)),
            _ => None,
        })
        .collect()
}

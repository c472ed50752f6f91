//! What a session's machine wants done, and who hears of its events.

use jackfield_api::{Body, Event, Timestamp};
use jackfield_core::{Input, Output, Signal};

use super::Task;
use crate::writer::{FarBehind, Write};
use crate::{Version, locate};

impl Task {
    /// Hands an input to the machine and does what it wants done.
    pub(super) fn feed(&mut self, input: Input<'_>) {
        self.feed_at(self.now(), input);
    }

    /// The same, where it is known what time it is.
    pub(super) fn feed_at(&mut self, now: Timestamp, input: Input<'_>) {
        self.handle(now, input);
        while let Some(output) = self.machine.poll() {
            match output {
                Output::Event(event) => {
                    self.recorder.made(&event);
                    self.see(&event);
                    self.told.push(event);
                }
                Output::Write(message, by) => self.write(now, Write::Line(Box::new(message), by)),
                Output::CloseStdin => self.write(now, Write::Close),
                Output::Signal(signal) => {
                    self.leash.signal(signal);
                    self.handle(now, Input::Signalled(signal));
                }
                Output::Answer(id, result) => {
                    if let Some(choice) = self.choices.remove(&id)
                        && result.is_ok()
                    {
                        self.progress.chose(choice);
                    }
                    self.answered.extend(self.answers.remove(&id).map(|answer| (answer, result)));
                }
                Output::Call(id, call) => self.call(id, call),
                Output::CallWithdrawn(id) => {
                    if let Some(handle) = self.calls.running.remove(&id) {
                        handle.abort();
                    }
                }
            }
        }
        self.turns.settle();
    }

    fn write(&mut self, now: Timestamp, write: Write) {
        if let Err(FarBehind) = self.writer.want(write) {
            // It is so far behind that it does not read any more.
            self.leash.signal(Signal::Kill);
            self.handle(now, Input::Signalled(Signal::Kill));
        }
    }

    fn see(&mut self, event: &Event) {
        self.turns.see(event);
        self.progress.see(event);
        if let Some(transcript) = &mut self.transcript {
            transcript.apply(event);
        }
        match &event.body {
            Body::PermissionRequest(request) => self.decide(request),
            Body::PermissionResolved(over) => self.stop_deciding(over.pending_id),
            Body::PermissionCancelled(over) => self.stop_deciding(over.pending_id),
            Body::SessionStatus(status) => {
                let claude = &self.origin.claude;
                if status.claude_code_version.parse().is_ok_and(|told: Version| told != claude.version) {
                    locate::forget(&claude.path);
                }
            }
            Body::Complete(_) => self.resumed = false,
            Body::RunEnded(end) => self.ended = Some(end.reason),
            _ => {}
        }
    }
}

//! What a person is asked in a session: the session's own questions, and whether its folder is trusted.
//!
//! What the cards look like is not its business. The one rule it keeps: a card that nobody needs any more goes.

use jackfield_api::PendingId;
use jackfield_api::command::{Allow, Answer, Verdict};
use jackfield_api::permission::PermissionRequest;
use jackfield_api::trust::FolderTrust;
use jackfield_client::Verdict as Trusting;

use super::{Done, Task, Trust};
use crate::schema::{SessionUpdate, ToolCallStatus, ToolCallUpdate, ToolCallUpdateFields};
use crate::session::asking;
use crate::translate::Sink as _;
use crate::trust::{self, Said};

impl Task {
    pub(super) fn ask(&mut self, request: PermissionRequest) {
        let id = request.pending_id;
        let asked = asking::ask(
            self.connection.peer.clone(),
            self.lines.session().clone(),
            self.connection.offered(),
            self.folder.clone(),
            request,
        );
        // The card stands behind what it is about.
        self.flush();
        let asking = self.doing.spawn(async move { Done::Answered(id, asked.await) });
        self.questions.insert(id, asking);
    }

    /// A question is over, however: the card goes if it is still there.
    pub(super) fn settled(&mut self, id: PendingId) {
        self.pending.retain(|request| request.pending_id != id);
        if let Some(asking) = self.questions.remove(&id) {
            asking.abort();
        }
    }

    pub(super) fn answered(&mut self, id: PendingId, verdict: Option<Verdict>) {
        self.questions.remove(&id);
        let verdict = match verdict {
            Some(verdict) => verdict,
            // Others can; if there is nobody, nobody will.
            None if self.client.goes_on() => return,
            None => crate::permission::refuse("this editor cannot ask the user this"),
        };
        if !self.prompts.stopping().is_empty() && !matches!(verdict, Verdict::Allow(Allow { .. })) {
            // The interrupt withdraws it.
            return;
        }
        let (client, session) = (self.client.clone(), self.id.clone());
        self.doing.spawn(async move {
            let given = client.command(Some(&session), Answer { pending_id: id, verdict }).await;
            Done::Given(id, given.err())
        });
    }

    pub(super) fn looked(&mut self, folder: Option<Box<FolderTrust>>) {
        let Some(folder) = folder.filter(|folder| trust::is_open(folder)) else { return self.go_on() };
        if !matches!(self.trust, Trust::Asking(..)) {
            return;
        }
        let card = format!("trust-{}", self.looks);
        self.lines.update(SessionUpdate::ToolCall(trust::shown(&card, &folder)));
        self.flush();
        let (peer, session) = (self.connection.peer.clone(), self.lines.session().clone());
        let asked = asking::ask_trust(peer, session, card.clone(), *folder);
        let name = card.clone();
        let asking = self.doing.spawn(async move { Done::Trusted(name, asked.await) });
        if let Trust::Asking(_, place) = &mut self.trust {
            *place = Some((asking, card));
        }
    }

    pub(super) fn trusted(&mut self, card: String, said: Said) {
        let trusted = matches!(&said, Said::Remember(set) if set.trusted);
        self.end_card(card, if trusted { ToolCallStatus::Completed } else { ToolCallStatus::Failed });
        let Said::Remember(set) = said else { return self.go_on() };
        let client = self.client.clone();
        self.doing.spawn(async move {
            let verdict = if set.trusted { Trusting::Trusted } else { Trusting::Untrusted };
            let remembered = client.set_folder_trust(&set.path, &set.fingerprint, verdict).await;
            Done::Remembered(remembered.is_ok() && set.trusted)
        });
    }

    /// Whether a person is being asked about the folder, under this name.
    pub(super) fn asks(&self, card: &str) -> bool {
        matches!(&self.trust, Trust::Asking(_, Some((_, name))) if name == card)
    }

    /// The card about the folder is over.
    pub(super) fn end_card(&mut self, card: String, status: ToolCallStatus) {
        let fields = ToolCallUpdateFields::new().status(status);
        self.lines.update(SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(card, fields)));
    }

    /// Says what has waited.
    pub(super) fn go_on(&mut self) {
        if let Trust::Asking(held, _) = std::mem::replace(&mut self.trust, Trust::Settled) {
            for traced in held {
                self.say(traced);
            }
        }
    }
}

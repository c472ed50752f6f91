//! Which conversation a session is: a new one, or one that goes on.
//!
//! Not who owns it: two CLIs on one conversation lose a branch, and that is kept apart elsewhere. The one
//! rule it keeps: conversations and messages are named by their UUIDs, never by a title that could be two.

use jackfield_wire::{SessionId, Uuid};

use super::{Options, Switch, Worktree};

impl Options {
    /// The CLI's id of the new conversation; a UUID that is not in use. With a conversation that goes on, it
    /// is the id of its fork.
    #[must_use]
    pub fn session_id(mut self, id: impl Into<SessionId>) -> Self {
        self.session_id = Some(id.into());
        self
    }

    /// Goes on with a conversation, by the CLI's id of it. It must have begun in the same folder.
    #[must_use]
    pub fn resume(mut self, id: impl Into<SessionId>) -> Self {
        self.resume = Some(id.into());
        self
    }

    /// Goes on with the latest conversation of the folder, or begins one if there is none.
    #[must_use]
    pub fn continue_latest(mut self) -> Self {
        self.continue_latest = Switch::On;
        self
    }

    /// Goes on under a new id and leaves the old conversation as it is.
    #[must_use]
    pub fn fork(mut self) -> Self {
        self.fork = Switch::On;
        self
    }

    /// Resumes at this message and forgets what came after it.
    #[must_use]
    pub fn resume_at(mut self, message: impl Into<Uuid>) -> Self {
        self.resume_at = Some(message.into());
        self
    }

    /// The user message whose turn is dropped by [`Options::resume_at`]. Newer CLIs only.
    #[must_use]
    pub fn resume_drops_turn(mut self, message: impl Into<Uuid>) -> Self {
        self.resume_drops_turn = Some(message.into());
        self
    }

    /// Whether the conversation is kept on disk; what is not cannot be resumed. On by default.
    #[must_use]
    pub fn persistence(mut self, persistence: Switch) -> Self {
        self.persistence = persistence;
        self
    }

    /// A name to show for the conversation.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Works in a git worktree that is made for the session.
    #[must_use]
    pub fn worktree(mut self, worktree: Worktree) -> Self {
        self.worktree = Some(worktree);
        self
    }
}

//! What the CLI tells the host, and how the host holds the CLI.
//!
//! The one rule it keeps: what a front end needs to show a session is on unless it is switched off.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::{DebugFilter, Options, PartOf, Switch};
use crate::basket::Basket;
use crate::journal::Journal;
use crate::tail::RawTail;

impl Options {
    /// Whether text and thinking come in pieces as they are written. On by default.
    #[must_use]
    pub fn partial_messages(mut self, messages: Switch) -> Self {
        self.partial_messages = messages;
        self
    }

    /// Whether the CLI repeats every user message it took. On by default.
    #[must_use]
    pub fn replay_user_messages(mut self, replay: Switch) -> Self {
        self.replay_user_messages = replay;
        self
    }

    /// Whether the CLI tells of every hook it runs. Off by default.
    #[must_use]
    pub fn hook_events(mut self, events: Switch) -> Self {
        self.hook_events = events;
        self
    }

    /// Whether the text of subagents comes too, not only their tool calls. Off by default. Newer CLIs only.
    #[must_use]
    pub fn subagent_text(mut self, text: Switch) -> Self {
        self.subagent_text = text;
        self
    }

    /// Whether the CLI proposes a next prompt after each turn.
    #[must_use]
    pub fn prompt_suggestions(mut self, suggestions: Switch) -> Self {
        self.prompt_suggestions = Some(suggestions);
        self
    }

    /// Whether what the CLI writes to its transcript comes as messages too. Off by default.
    #[must_use]
    pub fn session_mirror(mut self, mirror: Switch) -> Self {
        self.session_mirror = mirror;
        self
    }

    /// Whether the CLI waits for `initialize` before it loads anything, so that it can be told of plugins
    /// there. The first line written to it must then be that request. Off by default. Newer CLIs only.
    #[must_use]
    pub fn await_initialize(mut self, wait: Switch) -> Self {
        self.await_initialize = wait;
        self
    }

    /// Whether the CLI tells when it is idle, running or waiting for an answer. On by default.
    #[must_use]
    pub fn session_state_events(mut self, events: Switch) -> Self {
        self.session_state_events = events;
        self
    }

    /// Whether files are saved before they are changed, so that they can be rewound. On by default.
    #[must_use]
    pub fn file_checkpoints(mut self, checkpoints: Switch) -> Self {
        self.file_checkpoints = checkpoints;
        self
    }

    /// Whether a `file_updated` event inside a subagent tells what the file held before, as it does outside.
    /// The CLI is then made to tell each result of a tool that changes files to a hook. On by default.
    #[must_use]
    pub fn file_changes(mut self, changes: Switch) -> Self {
        self.file_changes = changes;
        self
    }

    /// The CLI's own log.
    #[must_use]
    pub fn debug(mut self, filter: DebugFilter) -> Self {
        self.debug = Some(filter);
        self
    }

    /// The file of the CLI's own log; turns it on.
    #[must_use]
    pub fn debug_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.debug_file = Some(path.into());
        self
    }

    /// A flag that no other option covers, by its name without dashes; each call adds one.
    #[must_use]
    pub fn extra_flag(mut self, name: impl Into<String>) -> Self {
        self.extra_flags.push((name.into(), None));
        self
    }

    /// A flag with a value that no other option covers, by its name without dashes; each call adds one.
    #[must_use]
    pub fn extra_flag_with(mut self, name: impl Into<String>, value: impl Into<OsString>) -> Self {
        self.extra_flags.push((name.into(), Some(value.into())));
        self
    }

    /// Sets a variable in the CLI's environment; wins over everything inherited, and over what other options
    /// set there.
    #[must_use]
    pub fn variable(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.variables.0.insert(name.into(), Some(value.into()));
        self
    }

    /// Keeps a variable out of the CLI's environment.
    #[must_use]
    pub fn without_variable(mut self, name: impl Into<OsString>) -> Self {
        self.variables.0.insert(name.into(), None);
        self
    }

    /// The CLI's program: a path, or a name to look for in `PATH`. If never called, `claude` is looked for.
    #[must_use]
    pub fn claude(mut self, program: impl Into<PathBuf>) -> Self {
        self.claude = Some(program.into());
        self
    }

    /// Words before the CLI's own arguments, for a program that speaks like the CLI when it is started so.
    #[must_use]
    pub fn first_arguments<Word: Into<OsString>>(mut self, words: impl IntoIterator<Item = Word>) -> Self {
        self.first_arguments = words.into_iter().map(Into::into).collect();
        self
    }

    /// The session of a host that this run is part of. Without one, a session is one run and its events count
    /// from 1.
    #[must_use]
    pub fn part_of(mut self, session: PartOf) -> Self {
        self.part_of = Some(session);
        self
    }

    /// The guard's program and its first arguments. Without a guard, what the CLI started is ended with best
    /// effort only, and not at all when this process is killed.
    #[must_use]
    pub fn guard<Word: Into<OsString>>(mut self, words: impl IntoIterator<Item = Word>) -> Self {
        self.guard = Some(words.into_iter().map(Into::into).collect());
        self
    }

    /// How long a question may wait for its answer before it is denied; for ever if never called.
    #[must_use]
    pub fn answer_within(mut self, limit: Duration) -> Self {
        self.answer_within = Some(limit);
        self
    }

    /// Whether a CLI that no longer answers, and so was ended, is started again to go on with the conversation
    /// in the same session. What was being done then is lost with its run; the next prompt works. Not twice in a
    /// row without a result in between. On by default, unless the run is part of a host's session: a host starts
    /// runs itself.
    #[must_use]
    pub fn resume_wedged(mut self, resume: Switch) -> Self {
        self.resume_wedged = Some(resume);
        self
    }

    /// How long a line of the CLI may be, in bytes; longer ones are reported, not kept.
    #[must_use]
    pub fn line_limit(mut self, bytes: usize) -> Self {
        self.line_limit = bytes;
        self
    }

    /// Whether the session keeps a transcript, so that it can give snapshots. On by default.
    #[must_use]
    pub fn transcript(mut self, transcript: Switch) -> Self {
        self.transcript = transcript;
        self
    }

    /// The folder in which the owners of sessions are noted, so that no two programs drive one. By default
    /// it lies with the user's state files.
    #[must_use]
    pub fn locks(mut self, folder: impl Into<PathBuf>) -> Self {
        self.locks = Some(folder.into());
        self
    }

    /// Where the newest lines in both directions are kept, each with the events that were made of it. Nowhere if
    /// never called.
    #[must_use]
    pub fn raw_tail(mut self, tail: Arc<RawTail>) -> Self {
        self.raw_tail = Some(tail);
        self
    }

    /// Where lines are put aside for somebody who makes something of every event. Nowhere if never called.
    #[must_use]
    pub fn basket(mut self, basket: Arc<Basket>) -> Self {
        self.basket = Some(basket);
        self
    }

    /// Who is told of everything that passes between the session and its CLI. Nobody if never called.
    #[must_use]
    pub fn journal(mut self, journal: Arc<dyn Journal>) -> Self {
        self.journal = Some(journal);
        self
    }

    pub(crate) fn resumes_wedged(&self) -> bool {
        self.resume_wedged.map_or(self.part_of.is_none(), Switch::is_on)
    }
}

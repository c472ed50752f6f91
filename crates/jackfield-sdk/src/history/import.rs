//! The CLI's own record of a conversation as events.
//!
//! Each entry is made into the line that the CLI would have written without partial messages, and the session
//! machine tells what it means; so an imported conversation looks like one that was seen. What no file tells is
//! not made up: no cost, no questions, no progress. The one rule it keeps: the events are well formed, whatever
//! the file holds – one run, in which every turn and every call ends.

use std::collections::HashMap;

use jackfield_api as api;
use jackfield_core::{Exit, Input, Launch, Options, Output, Session};
use jackfield_wire::{
    AssistantEntry, Content, Decoded, SessionId, SystemEntry, ToolUseId, TranscriptEntry, Usage, UserEntry,
};

use api::trouble::NoticeLevel;
use api::{Event, Seq, Timestamp};

use crate::history::branch::Conversation;
use crate::history::kinds::{OUTPUT, UserKind, is_ended, is_news, kind, models, speaks, time, tool_result};
use crate::history::known::Known;
use crate::history::lines::{self, Figures, Outcome, Voice};

/// How much of a late result is told.
const LATE_RESULT: usize = 4096;

/// Where an import begins.
#[derive(Debug, Clone)]
pub enum After {
    /// At the beginning of the conversation.
    Beginning,
    /// Behind what the host has of it.
    Known(Known),
}

/// What is told, and how it is numbered.
#[derive(Debug)]
pub(super) struct Import {
    pub(super) cli_session: SessionId,
    pub(super) session: api::SessionId,
    pub(super) next_seq: Seq,
    pub(super) after: After,
}

impl Import {
    /// The events of a conversation; none if there is nothing to tell.
    pub(super) fn events(
        self,
        conversation: Conversation,
        subagents: HashMap<String, Vec<TranscriptEntry>>,
    ) -> Vec<Event> {
        let unreadable = conversation.malformed.len();
        let mut branch = conversation.branch;
        let known = match self.after {
            After::Beginning => None,
            After::Known(known) => Some(known),
        };
        let ended = is_ended(&branch);
        let mut facts = Facts::default();
        if let Some(known) = &known {
            for entry in branch.drain(..known.reaches(&branch)) {
                facts.learn(&entry);
            }
            branch.retain_mut(|entry| is_news(known, entry));
        }
        // After a death the last line may well be torn; that alone is no news.
        if !branch.iter().any(speaks) && (known.is_some() || unreadable == 0) {
            return Vec::new();
        }
        let options = Options {
            session_id: Some(self.session),
            next_seq: Some(self.next_seq.0),
            last_turn: known.as_ref().and_then(|known| known.last_turn),
            ..Options::default()
        };
        let mut telling = Telling {
            machine: Session::new(options),
            cli_session: self.cli_session,
            at: Timestamp(0),
            facts,
            turn: None,
            subagents,
            events: Vec::new(),
        };
        telling.start(&branch, known.is_some());
        telling.tell_all(branch, known.as_ref(), ended);
        telling.finish(unreadable)
    }
}

/// What is said of the session at the beginning of a turn.
#[derive(Debug, Default)]
struct Facts {
    model: String,
    cwd: String,
    mode: String,
    version: String,
}

/// A conversation that is being told.
struct Telling {
    machine: Session,
    cli_session: SessionId,
    at: Timestamp,
    facts: Facts,
    turn: Option<Turn>,
    subagents: HashMap<String, Vec<TranscriptEntry>>,
    events: Vec<Event>,
}

/// The turn that runs.
struct Turn {
    began: Timestamp,
    /// Something came of the prompt, so that the next one begins a turn.
    answered: bool,
    outcome: Outcome,
    /// The last count of each API message.
    usage: HashMap<String, Usage>,
}

impl Telling {
    fn start(&mut self, branch: &[TranscriptEntry], recovered: bool) {
        for entry in branch {
            self.facts.learn_once(entry);
        }
        self.at = branch.iter().find_map(time).unwrap_or_default();
        let launch = Launch {
            cli_session_id: Some(self.cli_session.as_str().to_owned()),
            claude_code_version: Some(self.facts.version.clone()).filter(|version| !version.is_empty()),
            ..Launch::output_only()
        };
        self.feed(Input::Started(launch));
        if recovered {
            let words = "what follows happened while the host was gone; it comes from the CLI's own record";
            self.feed(Input::Notice(NoticeLevel::Info, words.to_owned()));
        }
    }

    fn tell_all(&mut self, branch: Vec<TranscriptEntry>, known: Option<&Known>, ended: bool) {
        let mut models = models(&branch).into_iter();
        for entry in branch {
            self.at = self.at.max(time(&entry).unwrap_or_default());
            self.facts.learn(&entry);
            let model = models.next().unwrap_or_default();
            match entry {
                TranscriptEntry::User(entry) => self.user(*entry, &model, known),
                TranscriptEntry::Assistant(entry) => self.assistant(*entry, &model),
                TranscriptEntry::System(entry) => self.system(&entry, &model),
                TranscriptEntry::Attachment(entry) => {
                    if let Some(joined) = lines::joined(&entry) {
                        self.answer(&model);
                        self.line(lines::joined_prompt(joined));
                    }
                }
                _ => {}
            }
        }
        // A turn whose end is not there is cut off by the end of the run.
        if ended {
            self.end_turn();
        }
    }

    fn finish(mut self, unreadable: usize) -> Vec<Event> {
        if unreadable > 0 {
            let words = format!("{unreadable} lines of the CLI's record cannot be read");
            self.feed(Input::Notice(NoticeLevel::Warning, words));
        }
        self.feed(Input::Exited(Exit::OutputEnded));
        self.events
    }

    fn user(&mut self, entry: UserEntry, model: &str, known: Option<&Known>) {
        if let Some(result) = tool_result(&entry.message.content) {
            self.result(entry, &result, model, known);
            return;
        }
        let text = entry.message.content.text();
        match kind(&entry, &text) {
            UserKind::Hidden => {}
            UserKind::Task => self.next_turn(model),
            UserKind::Prompt => {
                self.next_turn(model);
                self.line(lines::user(entry, None, Voice::Prompt));
            }
            UserKind::Output => {
                self.answer(model).answered = true;
                self.line(lines::user(entry, None, Voice::Prompt));
            }
            UserKind::Interrupt => {
                let turn = self.answer(model);
                (turn.answered, turn.outcome) = (true, Outcome::Interrupted);
                self.line(lines::user(entry, None, Voice::Cli));
            }
            UserKind::Words => {
                self.answer(model);
                self.line(lines::user(entry, None, Voice::Cli));
            }
        }
    }

    fn result(&mut self, entry: UserEntry, call: &ToolUseId, model: &str, known: Option<&Known>) {
        let late = known.map(|known| known.found_results(&entry.message.content)).unwrap_or_default();
        if !late.is_empty() {
            for (call, words) in late {
                let words = &words[..words.floor_char_boundary(LATE_RESULT)];
                let words = format!("the result of tool call {call}, which was told as lost: {words}");
                self.feed(Input::Notice(NoticeLevel::Info, words));
            }
            return;
        }
        self.answer(model).answered = true;
        if let Some(agent) = lines::agent_of(entry.tool_use_result.as_ref()) {
            self.subagent(&agent, call);
        }
        self.line(lines::user(entry, None, Voice::Cli));
    }

    /// What a subagent did stands in a file of its own and is told before its result.
    fn subagent(&mut self, name: &str, call: &ToolUseId) {
        for entry in self.subagents.remove(name).unwrap_or_default() {
            self.at = self.at.max(time(&entry).unwrap_or_default());
            match entry {
                TranscriptEntry::User(entry) if !entry.is_meta => {
                    self.line(lines::user(*entry, Some(call), Voice::Cli));
                }
                TranscriptEntry::Assistant(entry) => self.line(lines::assistant(*entry, Some(call))),
                _ => {}
            }
        }
    }

    fn assistant(&mut self, entry: AssistantEntry, model: &str) {
        let turn = self.answer(model);
        turn.answered = true;
        turn.outcome = if entry.is_api_error_message {
            Outcome::Failed(Content::Blocks(entry.message.content.clone()).text())
        } else {
            Outcome::Completed
        };
        if let Some(usage) = &entry.message.usage {
            turn.usage.insert(entry.message.id.as_str().to_owned(), usage.clone());
        }
        self.line(lines::assistant(entry, None));
    }

    fn system(&mut self, entry: &SystemEntry, model: &str) {
        match (entry.subtype.as_deref(), entry.content.as_deref()) {
            (Some("compact_boundary"), _) => {
                self.answer(model).answered = true;
                self.line(lines::compaction(entry));
            }
            (Some("local_command"), Some(words)) if words.starts_with(OUTPUT) => {
                self.answer(model).answered = true;
                self.line(lines::command_output(words.to_owned()));
            }
            (Some("informational"), Some(words)) => {
                let words = words.to_owned();
                self.feed(Input::Notice(NoticeLevel::Info, words));
            }
            _ => {}
        }
    }

    /// A prompt: it joins the turn that has only prompts so far, or begins one.
    fn next_turn(&mut self, model: &str) {
        if self.turn.as_ref().is_none_or(|turn| turn.answered) {
            self.end_turn();
            self.answer(model);
        }
    }

    /// The turn that runs; one begins if none does.
    fn answer(&mut self, model: &str) -> &mut Turn {
        if self.turn.is_none() {
            let facts = &self.facts;
            let model = if model.is_empty() { &facts.model } else { model };
            let id = self.cli_session.as_str();
            let line = lines::beginning(model, &facts.cwd, &facts.mode, &facts.version, id);
            self.line(line);
        }
        let began = self.at;
        self.turn.get_or_insert_with(|| Turn {
            began,
            answered: false,
            outcome: Outcome::Completed,
            usage: HashMap::new(),
        })
    }

    fn end_turn(&mut self) {
        let Some(turn) = self.turn.take() else { return };
        let mut figures = Figures {
            messages: turn.usage.len() as u64,
            milliseconds: self.at.0.saturating_sub(turn.began.0),
            ..Figures::default()
        };
        let all = &mut figures.usage;
        for usage in turn.usage.into_values() {
            all.input_tokens = all.input_tokens.saturating_add(usage.input_tokens);
            all.output_tokens = all.output_tokens.saturating_add(usage.output_tokens);
            all.cache_creation_input_tokens =
                all.cache_creation_input_tokens.saturating_add(usage.cache_creation_input_tokens);
            all.cache_read_input_tokens =
                all.cache_read_input_tokens.saturating_add(usage.cache_read_input_tokens);
        }
        self.line(lines::end(&turn.outcome, &figures));
    }

    fn line(&mut self, line: Decoded<'static>) {
        self.feed(Input::Line(line));
    }

    fn feed(&mut self, input: Input<'_>) {
        self.machine.handle(self.at, input);
        while let Some(output) = self.machine.poll() {
            if let Output::Event(event) = output {
                self.events.push(event);
            }
        }
    }
}

impl Facts {
    fn learn(&mut self, entry: &TranscriptEntry) {
        let (cwd, version) = match entry {
            TranscriptEntry::User(entry) => {
                if let Some(mode) = &entry.permission_mode {
                    mode.as_str().clone_into(&mut self.mode);
                }
                (&entry.cwd, &entry.version)
            }
            TranscriptEntry::Assistant(entry) => {
                if entry.message.model != jackfield_wire::Assistant::SYNTHETIC {
                    self.model.clone_from(&entry.message.model);
                }
                (&entry.cwd, &entry.version)
            }
            _ => return,
        };
        if let Some(cwd) = cwd {
            self.cwd.clone_from(cwd);
        }
        if let Some(version) = version {
            self.version.clone_from(version);
        }
    }

    /// What is not known yet.
    fn learn_once(&mut self, entry: &TranscriptEntry) {
        let mut first = Self::default();
        first.learn(entry);
        let fill = |known: &mut String, new: String| {
            if known.is_empty() {
                *known = new;
            }
        };
        fill(&mut self.model, first.model);
        fill(&mut self.cwd, first.cwd);
        fill(&mut self.mode, first.mode);
        fill(&mut self.version, first.version);
    }
}

//! Events as text to read in a terminal.
//!
//! Not the contract: a program reads the JSON. The one rule: text that streams is printed as it comes, and
//! everything else is a line of its own; two items never share a line.

mod figures;
pub(crate) mod input;
pub(crate) mod page;
mod question;
mod session;
mod tool;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use jackfield_api::conversation::{ItemEnded, ItemOutcome, Trigger, UserMessage};
use jackfield_api::tool::{HookStatus, ToolStatus, ToolUpdate};
use jackfield_api::{Body, Event, ItemId, ToolCallId};

pub(crate) use page::Colours;
use page::{BOLD, CYAN, DIM, PLAIN, Page, RED, Style, YELLOW, brief};
pub(crate) use question::asked;
pub(crate) use tool::change;

/// How far a subagent's events are moved to the right.
const STEP: usize = 4;

/// The printer and where it stands.
#[derive(Debug)]
pub(crate) struct Readable {
    page: Page,
    /// The item whose line is not ended.
    open: Option<ItemId>,
    /// Items that were begun and not ended.
    begun: BTreeSet<ItemId>,
    /// Tool calls that run.
    calls: BTreeMap<ToolCallId, Call>,
    /// The call that the last line was about.
    last: Option<ToolCallId>,
    /// The call whose subagent spoke last.
    speaker: Option<ToolCallId>,
    /// How much of the context is used, in per cent.
    context: Option<u64>,
    /// Whether a turn runs: only then does a prompt wait for longer than a moment.
    in_turn: bool,
}

#[derive(Debug)]
struct Call {
    title: String,
    /// How many subagents are around it.
    depth: usize,
}

impl Readable {
    pub(crate) fn new(colours: Colours) -> Self {
        Self {
            page: Page::new(colours),
            open: None,
            begun: BTreeSet::new(),
            calls: BTreeMap::new(),
            last: None,
            speaker: None,
            context: None,
            in_turn: false,
        }
    }

    /// Appends what is to be seen of an event.
    pub(crate) fn print(&mut self, event: &Event, out: &mut Vec<u8>) {
        if let Some(item) = self.open
            && !goes_on(&event.body, item)
        {
            self.page.end_line();
            self.open = None;
        }
        let follows = self.last.clone();
        self.place(event);
        let page = &mut self.page;
        match &event.body {
            Body::MessageChunk(chunk) => self.piece(chunk.item_id, ("", PLAIN), &chunk.text),
            Body::Reasoning(thought) => self.piece(thought.item_id, ("∴ ", DIM), &thought.reasoning_text),
            Body::ItemEnded(ended) => self.item_ended(ended),
            Body::TurnStarted(turn) => {
                self.in_turn = true;
                // Otherwise the prompt that follows says it.
                if turn.trigger == Trigger::Background {
                    page.line(DIM, "background work goes on");
                }
            }
            Body::UserMessage(message) => user_message(page, message),
            Body::ToolPreparing(preparing) => {
                // The beginning is no news: the call follows. A long input is.
                if preparing.bytes > 0 {
                    let text =
                        format!("{}: {} kB so far", preparing.tool_name, preparing.bytes.div_ceil(1000));
                    page.line(DIM, &text);
                }
            }
            Body::ToolCall(call) => {
                tool::call(page, &call.tool_title);
                let depth = self.depth(event.parent_tool_call_id.as_ref());
                self.calls.insert(call.tool_call_id.clone(), Call { title: call.tool_title.clone(), depth });
                self.last = Some(call.tool_call_id.clone());
            }
            Body::ToolUpdate(update) => self.tool_update(update, follows.as_ref()),
            Body::PermissionRequest(request) => question::request(page, request),
            Body::PermissionResolved(resolved) => question::resolved(page, resolved),
            Body::PermissionCancelled(cancelled) => {
                page.marked((DIM, "?"), DIM, &format!("[{}] withdrawn by the CLI", cancelled.pending_id));
            }
            // Told at the end of the turn.
            Body::ContextWindow(window) => {
                let size = window.context_window_size.max(1);
                self.context = Some(window.context_window_used.saturating_mul(100) / size);
            }
            Body::Todos(todos) => tool::todos(page, &todos.items),
            Body::Task(task) => tool::task(page, task),
            Body::FileUpdated(file) => {
                if follows.as_ref() != Some(&file.tool_call_id) {
                    tool::file_changed(page, file);
                }
                tool::diff(page, &file.diff);
            }
            Body::Hook(hook) => tool::hook(page, hook),
            Body::RunStarted(run) => session::run_started(page, run),
            Body::RunEnded(run) => {
                session::run_ended(page, run);
                self.in_turn = false;
            }
            Body::SessionStatus(status) => session::status(page, status),
            Body::AvailableCommands(commands) => session::commands(page, commands),
            Body::Queue(queue) => {
                session::dropped(page, &queue.dropped);
                if self.in_turn {
                    session::waiting(page, &queue.prompts);
                }
            }
            Body::ModeChanged(changed) => page.line(DIM, &format!("mode: {}", changed.permission_mode)),
            Body::ModelChanged(changed) => session::model_changed(page, changed),
            Body::Compaction(compaction) => session::compaction(page, compaction),
            Body::ApiRetry(retry) => session::api_retry(page, retry),
            Body::RateLimit(limit) => session::rate_limit(page, limit),
            Body::Notice(notice) => session::notice(page, notice),
            Body::Complete(complete) => {
                session::complete(page, event.turn, &complete.data, self.context);
                self.in_turn = false;
            }
            Body::Error(error) => {
                page.marked((RED, "✗"), RED, &format!("{} ({})", error.error.trim_end(), error.code));
            }
            Body::Stderr(stderr) => page.marked((DIM, "stderr:"), DIM, &stderr.text),
            Body::Unknown(unknown) => {
                page.line(DIM, &format!("unknown message {}: {}", unknown.tag, brief(&unknown.text, 100)));
            }
            Body::Malformed(malformed) => {
                let text =
                    format!("line not readable ({}): {}", malformed.reason, brief(&malformed.text, 100));
                page.marked((YELLOW, "!"), YELLOW, text.trim_end_matches([' ', ':']));
            }
            Body::Gap(gap) => page.line(YELLOW, &format!("… events {} to {} were missed", gap.from, gap.to)),
        }
        self.page.take_into(out);
    }

    /// Sets the margin for an event; a subagent's are under its call.
    fn place(&mut self, event: &Event) {
        let parent = event.parent_tool_call_id.as_ref();
        let depth = self.depth(parent);
        // Several subagents may speak at once: whose words follow is said whenever it changes.
        if let Some(parent) = parent
            && is_seen(&event.body)
            && self.open.is_none()
            && self.last.as_ref() != Some(parent)
            && self.speaker.as_ref() != Some(parent)
            && let Some(call) = self.calls.get(parent)
        {
            self.page.set_margin(call.depth * STEP + 2);
            self.page.marked((DIM, "▸"), DIM, &brief(&call.title, 80));
        }
        if is_seen(&event.body) {
            self.last = None;
            self.speaker = parent.cloned();
        }
        self.page.set_margin(depth * STEP);
    }

    fn depth(&self, parent: Option<&ToolCallId>) -> usize {
        // A call that is over may still have a subagent in the background.
        parent.map_or(0, |parent| self.calls.get(parent).map_or(0, |call| call.depth) + 1)
    }

    fn piece(&mut self, item: ItemId, (mark, style): (&str, Style), text: &str) {
        if self.open != Some(item) {
            let first = self.begun.insert(item);
            self.page.put(DIM, if first { mark } else { "… " });
            self.open = Some(item);
        }
        self.page.put(style, text);
    }

    fn item_ended(&mut self, ended: &ItemEnded) {
        self.begun.remove(&ended.item_id);
        if self.open == Some(ended.item_id) {
            self.page.end_line();
            self.open = None;
        }
        match ended.outcome {
            ItemOutcome::Complete => {}
            ItemOutcome::Aborted => self.page.line(DIM, "[not finished]"),
            ItemOutcome::Replaced => self.page.line(DIM, "[taken back; it comes anew]"),
        }
    }

    fn tool_update(&mut self, update: &ToolUpdate, follows: Option<&ToolCallId>) {
        let id = &update.tool_call_id;
        // Calls run side by side: an outcome that does not stand under its call says whose it is.
        if is_seen_update(update)
            && follows != Some(id)
            && let Some(call) = self.calls.get(id)
        {
            self.page.marked((DIM, "●"), DIM, &brief(&call.title, 80));
        }
        tool::update(&mut self.page, update);
        if is_seen_update(update) {
            self.last = Some(id.clone());
        }
        if update.tool_status != ToolStatus::Running {
            self.calls.remove(id);
        }
    }
}

/// Whether an event belongs to the line of this item, or is not to be seen.
fn goes_on(body: &Body, item: ItemId) -> bool {
    match body {
        Body::MessageChunk(chunk) => chunk.item_id == item,
        Body::Reasoning(thought) => thought.item_id == item,
        Body::ItemEnded(ended) if ended.item_id == item => true,
        body => !is_seen(body),
    }
}

/// Whether anything is printed for an event.
fn is_seen(body: &Body) -> bool {
    match body {
        Body::ContextWindow(_) => false,
        Body::ToolPreparing(preparing) => preparing.bytes > 0,
        Body::TurnStarted(turn) => turn.trigger == Trigger::Background,
        Body::ItemEnded(ended) => ended.outcome != ItemOutcome::Complete,
        Body::ToolUpdate(update) => is_seen_update(update),
        Body::Hook(hook) => hook.status != HookStatus::Running,
        Body::Queue(queue) => !queue.prompts.is_empty() || !queue.dropped.is_empty(),
        _ => true,
    }
}

fn is_seen_update(update: &ToolUpdate) -> bool {
    update.tool_status != ToolStatus::Running || update.message.is_some()
}

fn user_message(page: &mut Page, message: &UserMessage) {
    page.marked((CYAN, "❯"), BOLD, &message.text);
    page.deeper(2, |page| {
        for attachment in &message.attachments {
            let media_type = attachment.media_type.as_deref().unwrap_or_default();
            let text =
                format!("[{} {media_type}, {} bytes]", attachment.kind, figures::count(attachment.bytes));
            page.line(DIM, &text);
        }
    });
}

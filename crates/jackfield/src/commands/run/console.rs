//! What a person sees and types while a prompt is at work: one line of progress, remarks, questions.
//!
//! Never standard output, which has the answer alone. The one rule it keeps: what was typed before a question was
//! shown is no answer to it.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, IsTerminal, Write};
use std::thread;
use std::time::Instant;

use jackfield_api::tool::ToolStatus;
use jackfield_api::{Body, Event, ToolCallId};
use rustix::termios::{QueueSelector, tcflush, tcgetwinsize};
use tokio::sync::mpsc;
use unicode_width::UnicodeWidthChar;

use crate::output::When;
use crate::readable::page::{DIM, Page, RED, Style, YELLOW};
use crate::readable::{Colours, Readable, input};
use crate::variables;

/// The beginning of a terminal's line, emptied.
const EMPTIED: &str = "\r\u{1b}[K";
/// How many typed lines wait; whoever types more waits too.
const TYPED: usize = 16;
const SPINNER: [char; 10] = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];

/// How much a remark matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Weight {
    Remark,
    Warning,
    Failure,
}

/// Standard error, and the terminal if there is one.
#[derive(Debug)]
pub(super) struct Console {
    colours: Colours,
    progress: Option<Progress>,
    terminal: Option<Terminal>,
}

/// What is going on, in one line.
#[derive(Debug)]
struct Progress {
    began: Instant,
    ticks: usize,
    drawn: bool,
    doing: &'static str,
    calls: Vec<(ToolCallId, String)>,
    cost_usd: f64,
}

/// Where a person can be asked.
#[derive(Debug)]
struct Terminal {
    file: File,
    lines: Option<mpsc::Receiver<Option<String>>>,
}

impl Console {
    /// Shows progress if standard error is a terminal; asks if there is one at all.
    pub(super) fn new() -> Self {
        let stderr = io::stderr();
        let environment = std::env::vars_os().collect();
        let dumb = variables::TERM.get(&environment).is_none_or(|term| term == "dumb");
        let progress = (stderr.is_terminal() && !dumb).then(|| Progress {
            began: Instant::now(),
            ticks: 0,
            drawn: false,
            doing: "starting",
            calls: Vec::new(),
            cost_usd: 0.0,
        });
        // Also when the three streams are pipes: whoever sits there is asked.
        let file = OpenOptions::new().read(true).write(true).open("/dev/tty").ok();
        let terminal = file.map(|file| Terminal { file, lines: None });
        Self { colours: When::Auto.colours(&stderr), progress, terminal }
    }

    /// Whether a person can be asked.
    pub(super) fn can_ask(&self) -> bool {
        self.terminal.is_some()
    }

    pub(super) fn shows_progress(&self) -> bool {
        self.progress.is_some()
    }

    /// Keeps in mind what an event says of the progress.
    pub(super) fn see(&mut self, event: &Event) {
        let Some(progress) = &mut self.progress else { return };
        match &event.body {
            Body::TurnStarted(_) => progress.doing = "waiting",
            Body::Reasoning(_) => progress.doing = "thinking",
            Body::MessageChunk(_) => progress.doing = "writing",
            Body::ToolPreparing(_) => progress.doing = "preparing a tool",
            Body::ApiRetry(_) => progress.doing = "the API failed; trying again",
            Body::Compaction(_) => progress.doing = "summing up",
            Body::Complete(complete) => {
                progress.doing = "ending";
                progress.cost_usd += complete.data.cost_usd;
            }
            Body::ToolCall(call) => {
                progress.calls.push((call.tool_call_id.clone(), call.tool_title.clone()));
            }
            Body::ToolUpdate(update) if update.tool_status != ToolStatus::Running => {
                progress.calls.retain(|(id, _)| *id != update.tool_call_id);
                progress.doing = "waiting";
            }
            _ => {}
        }
    }

    /// Draws the line of progress anew.
    pub(super) fn tick(&mut self) {
        let Some(progress) = &mut self.progress else { return };
        progress.ticks += 1;
        let doing = progress.calls.last().map_or(progress.doing, |(_, title)| title.as_str());
        let seconds = progress.began.elapsed().as_secs();
        let elapsed = match seconds / 60 {
            0 => format!("{seconds} s"),
            minutes => format!("{minutes} min {} s", seconds % 60),
        };
        let cost = match progress.cost_usd {
            0.0 => String::new(),
            cost => format!(" · ${cost:.4}"),
        };
        let spinner = SPINNER[progress.ticks % SPINNER.len()];
        let tail = format!(" · {elapsed}{cost}");
        let stderr = io::stderr();
        let width = tcgetwinsize(&stderr).map_or(0, |size| usize::from(size.ws_col));
        let width = if width == 0 { 80 } else { width };
        // The last column stays free: some terminals begin a new line there.
        let room = width.saturating_sub(tail.chars().count() + 3);
        let line = format!("{EMPTIED}{spinner} {}{tail}", fit(&harmless(doing), room));
        // Nobody is left to tell when standard error fails.
        let _ = stderr.lock().write_all(line.as_bytes());
        progress.drawn = true;
    }

    /// Takes the line of progress away.
    pub(super) fn clear(&mut self) {
        if let Some(progress) = &mut self.progress
            && std::mem::take(&mut progress.drawn)
        {
            let _ = io::stderr().lock().write_all(EMPTIED.as_bytes());
        }
    }

    /// Says something on standard error.
    pub(super) fn remark(&mut self, weight: Weight, text: &str) {
        self.clear();
        let style = match weight {
            Weight::Remark => DIM,
            Weight::Warning => YELLOW,
            Weight::Failure => RED,
        };
        let text = self.page(style, &format!("jackfield: {text}"));
        let _ = io::stderr().lock().write_all(&text);
    }

    /// Shows a question on the terminal. What was typed so far is forgotten.
    pub(super) fn show(&mut self, event: &Event) {
        let mut text = Vec::new();
        Readable::new(self.colours).print(event, &mut text);
        if let Body::PermissionRequest(request) = &event.body {
            let mut page = Page::new(self.colours);
            input::show(request, &mut page);
            page.take_into(&mut text);
        }
        self.put(&text);
    }

    /// Shows something else on the terminal, in the same way.
    pub(super) fn lay_out(&mut self, write: impl FnOnce(&mut Page)) {
        let (mut page, mut text) = (Page::new(self.colours), Vec::new());
        write(&mut page);
        page.take_into(&mut text);
        self.put(&text);
    }

    fn put(&mut self, text: &[u8]) {
        self.clear();
        let Some(terminal) = &mut self.terminal else { return };
        let _ = tcflush(&terminal.file, QueueSelector::IFlush);
        if let Some(lines) = &mut terminal.lines {
            while lines.try_recv().is_ok() {}
        }
        let _ = terminal.file.write_all(text);
    }

    /// Asks for a line on the terminal, behind words on a line of their own.
    pub(super) fn ask(&mut self, words: &str, ask: &str) {
        self.clear();
        let mut text = Vec::new();
        if !words.is_empty() {
            text.extend(self.page(DIM, words));
        }
        text.extend(harmless(ask).into_bytes());
        let Some(terminal) = &mut self.terminal else { return };
        let _ = terminal.file.write_all(&text);
        if terminal.lines.is_none() {
            terminal.lines = terminal.file.try_clone().ok().map(lines);
        }
    }

    /// The next line that is typed; `None` at the end. Cancel-safe. Never, if nothing was asked.
    pub(super) async fn line(&mut self) -> Option<String> {
        match self.terminal.as_mut().and_then(|terminal| terminal.lines.as_mut()) {
            Some(lines) => lines.recv().await.flatten(),
            None => std::future::pending().await,
        }
    }

    fn page(&self, style: Style, text: &str) -> Vec<u8> {
        let (mut page, mut out) = (Page::new(self.colours), Vec::new());
        page.line(style, text);
        page.take_into(&mut out);
        out
    }
}

impl Drop for Console {
    fn drop(&mut self) {
        self.clear();
    }
}

/// Reads in a thread of its own: a line that is not typed yet must not hold anything up.
fn lines(file: File) -> mpsc::Receiver<Option<String>> {
    let (to, from) = mpsc::channel(TYPED);
    thread::spawn(move || {
        let mut reader = BufReader::new(file);
        loop {
            let mut line = String::new();
            let read = reader.read_line(&mut line);
            let over = !matches!(read, Ok(1..));
            if to.blocking_send((!over).then_some(line)).is_err() || over {
                return;
            }
        }
    });
    from
}

/// Text without anything that a terminal obeys, on one line.
fn harmless(text: &str) -> String {
    let (mut page, mut out) = (Page::new(Colours::Off), Vec::new());
    page.put(Style::new(), &text.replace(['\n', '\t'], " "));
    page.take_into(&mut out);
    String::from_utf8_lossy(&out).into_owned()
}

/// As much of a text as fits into so many columns.
pub(crate) fn fit(text: &str, columns: usize) -> String {
    let width = |character: char| character.width().unwrap_or(0);
    if text.chars().map(width).sum::<usize>() <= columns {
        return text.to_owned();
    }
    let mut left = columns.saturating_sub(1);
    let mut cut: String = text
        .chars()
        .take_while(|&character| {
            let fits = width(character) <= left;
            left = left.saturating_sub(width(character));
            fits
        })
        .collect();
    if columns > 0 {
        cut.push('…');
    }
    cut
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_to_the_columns_that_it_takes() {
        assert_eq!(fit("plain", 5), "plain");
        assert_eq!(fit("plainer", 5), "plai…");
        assert_eq!(fit("寿司寿司", 5), "寿司…");
        assert_eq!(fit("寿司寿司", 8), "寿司寿司");
        assert_eq!(fit("anything", 0), "");
    }

    #[test]
    fn progress_cannot_command_a_terminal() {
        assert_eq!(harmless("a\u{1b}[2Jb\nc\td"), "a␛[2Jb c d");
    }
}

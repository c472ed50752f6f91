//! What the doctor found, as text while it is being found, or as JSON at the end.
//!
//! It judges nothing. The one rule it keeps: text of other programs reaches a terminal only through the page.

use std::io::{self, Write};

use serde::Serialize;

use super::bundle::or_unread;
use crate::failure::Exit;
use crate::readable::Colours;
use crate::readable::page::{BOLD, DIM, GREEN, PLAIN, Page, RED, Style, YELLOW};

/// How wide the names of checks are.
const NAMES: usize = 14;

/// How it stands with something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum State {
    Ok,
    Remark,
    Problem,
}

/// What was found about one thing.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct Check {
    /// What was looked at.
    pub(super) name: &'static str,
    pub(super) state: State,
    /// What was found, for a program.
    pub(super) code: &'static str,
    /// What was found, for a person.
    pub(super) says: String,
    /// How to mend it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) mend: Option<String>,
    /// What another program said about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) output: Option<String>,
}

impl Check {
    pub(super) fn ok(name: &'static str, code: &'static str, says: impl Into<String>) -> Self {
        Self { name, state: State::Ok, code, says: says.into(), mend: None, output: None }
    }

    pub(super) fn remark(
        name: &'static str,
        code: &'static str,
        says: impl Into<String>,
        mend: impl Into<String>,
    ) -> Self {
        Self { state: State::Remark, mend: Some(mend.into()), ..Self::ok(name, code, says) }
    }

    pub(super) fn problem(
        name: &'static str,
        code: &'static str,
        says: impl Into<String>,
        mend: impl Into<String>,
    ) -> Self {
        Self { state: State::Problem, ..Self::remark(name, code, says, mend) }
    }

    /// With what another program wrote.
    pub(super) fn output(self, text: &str) -> Self {
        let text = text.trim();
        Self { output: (!text.is_empty()).then(|| text.to_owned()), ..self }
    }
}

/// What is done when nobody reads the text any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unread {
    /// There is nothing more to do.
    Ends,
    /// The checks are wanted for something else too.
    GoesOn,
}

/// All that was found.
pub(super) struct Report {
    checks: Vec<Check>,
    unread: Unread,
    /// Where text is written; without it the whole is printed as JSON at the end.
    page: Option<Page>,
}

impl Report {
    /// As text with or without colours, or as JSON.
    pub(super) fn new(colours: Option<Colours>, unread: Unread) -> Self {
        Self { checks: Vec::new(), unread, page: colours.map(Page::new) }
    }

    /// Takes it down, and prints it if this is text.
    pub(super) fn add(&mut self, check: Check) -> io::Result<()> {
        if let Some(page) = &mut self.page {
            let (style, mark) = mark(check.state);
            page.put(style, mark);
            page.put(BOLD, &format!(" {:NAMES$}", check.name));
            page.deeper(NAMES + 2, |page| {
                page.put(PLAIN, &check.says);
                page.end_line();
                if let Some(mend) = &check.mend {
                    page.line(PLAIN, &format!("→ {mend}"));
                }
                if let Some(output) = &check.output {
                    page.line(DIM, output);
                }
            });
            flush(page, self.unread)?;
        }
        self.checks.push(check);
        Ok(())
    }

    /// All checks so far, for a program.
    pub(super) fn checks(&self) -> serde_json::Value {
        // Plain words; they are always JSON.
        serde_json::to_value(&self.checks).unwrap_or_default()
    }

    /// The last line, or the whole as JSON; and how the program ends.
    pub(super) fn end(mut self) -> io::Result<Exit> {
        let count = |state| self.checks.iter().filter(|check| check.state == state).count();
        let (problems, remarks) = (count(State::Problem), count(State::Remark));
        let exit = if problems == 0 { Exit::Done } else { Exit::Failed };
        if let Some(page) = &mut self.page {
            let (style, text) = match (problems, remarks) {
                (0, 0) => (GREEN, "everything is well".to_owned()),
                (0, _) => (GREEN, format!("no problem, {}", counted(remarks, "remark"))),
                (_, 0) => (RED, counted(problems, "problem")),
                _ => (RED, format!("{}, {}", counted(problems, "problem"), counted(remarks, "remark"))),
            };
            page.put(PLAIN, "\n");
            page.line(style, &text);
            flush(page, self.unread)?;
        } else {
            let version = env!("CARGO_PKG_VERSION");
            let whole = serde_json::json!({
                "jackfield_version": version,
                "ok": problems == 0,
                "problems": problems,
                "remarks": remarks,
                "checks": self.checks,
            });
            writeln!(io::stdout(), "{whole:#}")?;
        }
        Ok(exit)
    }
}

fn mark(state: State) -> (Style, &'static str) {
    match state {
        State::Ok => (GREEN, "✓"),
        State::Remark => (YELLOW, "!"),
        State::Problem => (RED, "✗"),
    }
}

fn counted(number: usize, word: &str) -> String {
    if number == 1 { format!("1 {word}") } else { format!("{number} {word}s") }
}

fn flush(page: &mut Page, unread: Unread) -> io::Result<()> {
    let mut text = Vec::new();
    page.take_into(&mut text);
    let mut stdout = io::stdout().lock();
    let written = stdout.write_all(&text).and_then(|()| stdout.flush());
    match unread {
        Unread::Ends => written,
        Unread::GoesOn => or_unread(written),
    }
}

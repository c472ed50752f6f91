//! Sessions, places and conversations as text for people.
//!
//! The one rule it keeps: where there is nothing to show, it says what to do.

use std::io;
use std::time::{SystemTime, UNIX_EPOCH};

use jackfield_api::Timestamp;
use jackfield_api::host::{HistoryEntry, SearchHit, SessionSummary};
use jackfield_api::snapshot::SessionState;
use rustix::termios::tcgetwinsize;

use super::table::{ago, table};
use crate::readable::page::{BOLD, Colours, DIM, PLAIN, Page};

/// How much of an id is shown.
const SHOWN: usize = 8;

pub(super) fn list(sessions: &[SessionSummary], colours: Colours) -> Vec<u8> {
    if sessions.is_empty() {
        return words(
            "There is no session yet. `jackfield run \"…\"` begins one, `jackfield sessions import` lists \
                      conversations of the CLI that can be taken in, and `--all` shows archived ones.",
        );
    }
    let now = now();
    let rows: Vec<[String; 5]> = sessions
        .iter()
        .map(|session| {
            [
                short(session.session_id.as_str()),
                state(session).to_owned(),
                ago(session.updated_at, now),
                dollars(session.total_cost_usd),
                format!("{}  {}", title(&session.title), session.cwd),
            ]
        })
        .collect();
    table(["ID", "STATE", "USED", "COST", "TITLE AND FOLDER"], &rows, width(), colours)
}

pub(super) fn heading(session: &SessionSummary, colours: Colours) -> Vec<u8> {
    let mut page = Page::new(colours);
    page.line(BOLD, &title(&session.title));
    let model = session.model.as_deref().unwrap_or("no model yet");
    let mode = session.permission_mode.as_deref().unwrap_or("default");
    let lines = [
        format!(
            "session {}, {}, used {}",
            session.session_id,
            state(session),
            ago(session.updated_at, now())
        ),
        format!("in {}, {model}, mode {mode}, {}", session.cwd, dollars(session.total_cost_usd)),
    ];
    for line in lines {
        page.line(DIM, &line);
    }
    if let Some(id) = &session.cli_session_id {
        page.line(DIM, &format!("the CLI calls it {id}"));
    }
    page.put(PLAIN, "\n");
    taken(page)
}

pub(super) fn hits(asked: &str, hits: &[SearchHit], colours: Colours) -> Vec<u8> {
    if hits.is_empty() {
        return words(&format!(
            "Nothing was found for `{asked}`. Whole words are looked for, and the beginning of the last one; \
             conversations of the CLI are searched after `jackfield sessions import --all`."
        ));
    }
    let now = now();
    let mut page = Page::new(colours);
    for hit in hits {
        let line = format!("{}  {}", short(hit.session_id.as_str()), title(&hit.title));
        page.line(BOLD, &line);
        page.deeper(2, |page| {
            page.line(DIM, &format!("{}, {}", hit.kind.replace('_', " "), ago(hit.at, now)));
            // What was found stands between two marks.
            for (number, part) in hit.excerpt.replace(['\n', '\t'], " ").split(['\u{2}', '\u{3}']).enumerate()
            {
                page.put(if number % 2 == 1 { BOLD } else { PLAIN }, part);
            }
            page.end_line();
        });
    }
    taken(page)
}

pub(super) fn importable(entries: &[HistoryEntry], colours: Colours) -> Vec<u8> {
    if entries.is_empty() {
        return words(
            "There is nothing to import: every conversation of the CLI's history is here, or it has none.",
        );
    }
    let mut text = conversations(entries, colours);
    text.extend(words(
        "\nTake them in with `jackfield sessions import ID…` or `jackfield sessions import --all`.",
    ));
    text
}

pub(super) fn imported(entries: &[HistoryEntry], colours: Colours) -> Vec<u8> {
    if entries.is_empty() {
        return words(
            "There was nothing to import: every conversation of the CLI's history is here already.",
        );
    }
    let now = now();
    let rows: Vec<[String; 3]> = entries
        .iter()
        .map(|entry| {
            let id = entry.session_id.as_ref().map(|id| short(id.as_str())).unwrap_or_default();
            [id, ago(entry.updated_at, now), title(&entry.title)]
        })
        .collect();
    table(["ID", "USED", "TITLE"], &rows, width(), colours)
}

pub(super) fn deleted(sessions: &[SessionSummary], colours: Colours) -> Vec<u8> {
    let mut page = Page::new(colours);
    for session in sessions {
        page.line(
            PLAIN,
            &format!("deleted {}  {}", short(session.session_id.as_str()), title(&session.title)),
        );
    }
    taken(page)
}

fn conversations(entries: &[HistoryEntry], colours: Colours) -> Vec<u8> {
    let now = now();
    let rows: Vec<[String; 3]> = entries
        .iter()
        .map(|entry| {
            let folder = entry.cwd.as_deref().unwrap_or_default();
            let last = format!("{}  {folder}", title(&entry.title));
            [short(&entry.cli_session_id), ago(entry.updated_at, now), last]
        })
        .collect();
    table(["CLI ID", "USED", "TITLE AND FOLDER"], &rows, width(), colours)
}

fn state(session: &SessionSummary) -> &'static str {
    match session.state {
        _ if !session.pending.is_empty() => "asks",
        SessionState::Running => "running",
        SessionState::Idle => "idle",
        SessionState::Ended if session.archived => "archived",
        SessionState::Ended if session.last_error.is_some() => "failed",
        SessionState::Ended => "ended",
    }
}

fn title(text: &str) -> String {
    if text.is_empty() { "(untitled)".to_owned() } else { text.replace(['\n', '\t'], " ") }
}

fn short(id: &str) -> String {
    id.chars().take(SHOWN).collect()
}

fn dollars(cost: f64) -> String {
    format!("${cost:.2}")
}

fn words(text: &str) -> Vec<u8> {
    format!("{text}\n").into_bytes()
}

fn taken(mut page: Page) -> Vec<u8> {
    let mut out = Vec::new();
    page.take_into(&mut out);
    out
}

/// How wide the terminal is; elsewhere nothing is cut.
fn width() -> Option<usize> {
    let size = tcgetwinsize(io::stdout()).ok()?;
    Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
}

fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

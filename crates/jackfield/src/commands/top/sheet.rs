//! What a question says to whoever answers it, and how much of it a window has room for.
//!
//! In the words of `jackfield run`, without colours. The one rule it keeps: it is whole, or it says that it is not; and
//! only what would be written to a file may be missing where an answer is taken all the same, with how much that is.

use jackfield_api::normalized::Normalized;
use jackfield_api::permission::{PermissionKind, PermissionRequest};

use super::answering::Answering;
use super::rows::{Wrapped, wrapped};
use crate::readable::page::{PLAIN, Page};
use crate::readable::{self, Colours, input};

/// What stands above a question that a window has no room for.
const TOO_SMALL: &str = "the window is too small to show all of this question";
/// In narrower windows nothing can be read.
const NARROW: u16 = 20;

/// What a question says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sheet {
    /// What nobody decides without.
    must: String,
    /// What a file would lose and get.
    contents: String,
}

/// A row of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) words: String,
    pub(super) weight: Weight,
}

/// How a row is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Weight {
    /// What is asked.
    Asked,
    /// All else of it.
    Plain,
    /// Something about how it is shown.
    Remark,
}

impl Sheet {
    pub(super) fn of(request: &PermissionRequest, answering: &Answering) -> Self {
        let (mut must, mut contents) = (Page::new(Colours::Off), Page::new(Colours::Off));
        match (answering.words(request), &request.normalized) {
            (Some((question, options)), _) => {
                must.marked((PLAIN, "?"), PLAIN, &question);
                must.deeper(2, |page| options.iter().for_each(|option| page.line(PLAIN, option)));
            }
            (None, Some(Normalized::ModifyFile(file))) if request.kind == PermissionKind::Tool => {
                readable::asked(&mut must, request);
                input::show_apart(request, &mut must, &mut contents);
                must.deeper(2, |page| {
                    page.line(PLAIN, &format!("lines: {}", readable::change(&file.mutations)));
                });
            }
            (None, _) => {
                readable::asked(&mut must, request);
                input::show(request, &mut must);
            }
        }
        Self { must: text(must), contents: text(contents) }
    }

    /// All of it, if there is room.
    pub(super) fn whole(&self, width: u16, most: usize) -> Option<Vec<Row>> {
        let mut rows = self.must(width, most)?;
        let contents = wrapped(&self.contents, width, most - rows.len());
        rows.extend(plain(contents.rows));
        contents.rest.is_empty().then_some(rows)
    }

    /// All but a part of what would be written to a file, if there is room.
    pub(super) fn shortened(&self, width: u16, most: usize) -> Option<Vec<Row>> {
        if self.contents.is_empty() {
            return None;
        }
        let mut rows = self.must(width, most)?;
        // Of less there is never more to say.
        let mark = wrapped(&missing(&self.contents), width, usize::MAX).rows.len();
        let room = (most - rows.len()).checked_sub(mark)?;
        let contents = wrapped(&self.contents, width, room);
        rows.extend(plain(contents.rows));
        rows.extend(remark(&missing(contents.rest), width));
        (rows.len() <= most).then_some(rows)
    }

    /// Its beginning, and that it is no more than that.
    pub(super) fn beginning(&self, width: u16, most: usize) -> Vec<Row> {
        let mut rows = remark(TOO_SMALL, width);
        rows.truncate(most);
        let Wrapped { rows: begun, .. } = wrapped(&self.must, width, most - rows.len());
        rows.extend(plain(begun));
        rows
    }

    fn must(&self, width: u16, most: usize) -> Option<Vec<Row>> {
        let asked = self.must.split_inclusive('\n').next().unwrap_or_default();
        let asked = wrapped(asked, width, most).rows.len();
        let must = wrapped(&self.must, width, most);
        if width < NARROW || !must.rest.is_empty() {
            return None;
        }
        let mut rows: Vec<Row> = plain(must.rows).collect();
        rows.iter_mut().take(asked).for_each(|row| row.weight = Weight::Asked);
        Some(rows)
    }
}

fn text(mut page: Page) -> String {
    let mut text = Vec::new();
    page.take_into(&mut text);
    String::from_utf8_lossy(&text).into_owned()
}

fn plain(rows: Vec<String>) -> impl Iterator<Item = Row> {
    rows.into_iter().map(|words| Row { words, weight: Weight::Plain })
}

fn remark(words: &str, width: u16) -> Vec<Row> {
    let rows = wrapped(words, width.max(1), usize::MAX).rows.into_iter();
    rows.map(|words| Row { words, weight: Weight::Remark }).collect()
}

/// How much is not shown.
fn missing(rest: &str) -> String {
    let lines = rest.lines().count();
    let letters: usize = rest.lines().map(|line| line.trim_start().chars().count()).sum();
    format!("… not shown here: {lines} more lines, {letters} letters; the page shows them")
}

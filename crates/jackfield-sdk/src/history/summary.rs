//! What a list shows of a session, from the beginning and the end of its file.
//!
//! The conversation is not put together for it. The one rule it keeps: however large the file, only a bounded
//! part of it is read, and whatever cannot be read leaves fields absent, not the session out of the list.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::Path;
use std::time::UNIX_EPOCH;

use jackfield_api::Timestamp;
use jackfield_wire::{Block, Content, SessionId, TranscriptEntry, decode_entry};

use crate::history::SessionSummary;
use crate::history::facts::Facts;
use crate::history::files;

/// A file up to this size is read whole.
const WHOLE: u64 = 1024 * 1024;
/// Of a larger one, this much at both ends, as the CLI itself does it.
const END: u64 = 64 * 1024;
/// A prompt is shown up to here.
const LONGEST_PROMPT: usize = 200;

pub(super) fn read(id: &SessionId, path: &Path) -> SessionSummary {
    let found = fs::symlink_metadata(path);
    let modified =
        found.as_ref().ok().and_then(|found| found.modified().ok()?.duration_since(UNIX_EPOCH).ok());
    let size = found.map_or(0, |found| found.len());
    let mut summary = Gathered::default();
    let complete = read_ends(path, size, &mut summary).is_ok() && size <= WHOLE;
    SessionSummary {
        id: id.clone(),
        cwd: summary.cwd,
        title: summary.given_title.or_else(|| title_beside(path)).or(summary.made_title),
        tag: summary.tag.filter(|tag| !tag.is_empty()),
        first_prompt: summary.first_prompt.or(summary.first_command),
        // After a fork the line for it names an older prompt [session/fork].
        last_prompt: summary.last_prompt.or(summary.noted_prompt),
        messages: complete.then_some(summary.messages),
        created: summary.created,
        modified: Timestamp(modified.map_or(0, |time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX))),
        git_branch: summary.git_branch,
        version: summary.version,
        size,
    }
}

/// What was found so far, line by line.
#[derive(Default)]
struct Gathered {
    cwd: Option<String>,
    given_title: Option<String>,
    made_title: Option<String>,
    tag: Option<String>,
    first_prompt: Option<String>,
    first_command: Option<String>,
    last_prompt: Option<String>,
    /// What the CLI noted as the last prompt.
    noted_prompt: Option<String>,
    messages: usize,
    created: Option<Timestamp>,
    git_branch: Option<String>,
    version: Option<String>,
}

impl Gathered {
    fn add(&mut self, line: &str) {
        let facts = Facts::read(line);
        if facts.is_sidechain {
            return;
        }
        self.created = self.created.or_else(|| milliseconds(facts.timestamp.as_deref()?));
        set_first(&mut self.cwd, facts.cwd);
        set_last(&mut self.git_branch, facts.git_branch);
        set_last(&mut self.version, facts.version);
        match facts.kind.as_deref().unwrap_or_default() {
            "user" => {
                self.messages += 1;
                match said(line) {
                    Some(Said::Prompt(prompt)) => {
                        set_first(&mut self.first_prompt, Some(prompt.clone()));
                        self.last_prompt = Some(prompt);
                    }
                    Some(Said::Command(command)) => set_first(&mut self.first_command, Some(command)),
                    None => {}
                }
            }
            "assistant" => self.messages += 1,
            "custom-title" => set_last(&mut self.given_title, facts.custom_title),
            "agent-name" => set_last(&mut self.given_title, facts.agent_name),
            "ai-title" => set_last(&mut self.made_title, facts.ai_title),
            "summary" => set_last(&mut self.made_title, facts.summary),
            "tag" => set_last(&mut self.tag, facts.tag),
            "last-prompt" => set_last(&mut self.noted_prompt, facts.last_prompt),
            _ => {}
        }
    }

    /// What comes next in the file is left out.
    fn skip(&mut self) {
        self.last_prompt = None;
        self.noted_prompt = None;
    }
}

fn set_first(field: &mut Option<String>, value: Option<String>) {
    if field.is_none() {
        *field = value;
    }
}

fn set_last(field: &mut Option<String>, value: Option<String>) {
    if value.is_some() {
        *field = value;
    }
}

/// What a person said in a line of type `user`; most of them are tool results and words of the CLI.
enum Said {
    Prompt(String),
    Command(String),
}

fn said(line: &str) -> Option<Said> {
    let TranscriptEntry::User(entry) = decode_entry(line.as_bytes()).entry else { return None };
    if entry.is_meta || entry.is_compact_summary {
        return None;
    }
    let result = |block: &Block| matches!(block, Block::ToolResult(_));
    if matches!(&entry.message.content, Content::Blocks(blocks) if blocks.iter().any(result)) {
        return None;
    }
    let text = entry.message.content.text();
    let text = text.trim();
    let between = |open: &str, close: &str| Some(text.split_once(open)?.1.split_once(close)?.0.trim());
    if let Some(command) = between("<command-name>", "</command-name>") {
        return Some(Said::Command(command.to_owned()));
    }
    if let Some(input) = between("<bash-input>", "</bash-input>") {
        return Some(Said::Prompt(shortened(&format!("! {input}"))));
    }
    // The CLI's own words come in tags.
    let tagged =
        text.strip_prefix('<').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_lowercase()));
    if text.is_empty() || tagged || text.starts_with("[Request interrupted by user") {
        return None;
    }
    Some(Said::Prompt(shortened(text)))
}

fn shortened(text: &str) -> String {
    let line = text.replace('\n', " ");
    match line.char_indices().nth(LONGEST_PROMPT) {
        Some((end, _)) => format!("{}…", line[..end].trim_end()),
        None => line,
    }
}

/// Gathers from every whole line of the part that is read.
fn read_ends(path: &Path, size: u64, gathered: &mut Gathered) -> io::Result<()> {
    let mut file = files::open(path, OpenOptions::new().read(true))?;
    if size <= WHOLE {
        part(&mut file, WHOLE)?.split('\n').for_each(|line| gathered.add(line));
        return Ok(());
    }
    let head = part(&mut file, END)?;
    if let Some((whole, _)) = head.rsplit_once('\n') {
        whole.split('\n').for_each(|line| gathered.add(line));
    }
    gathered.skip();
    file.seek(SeekFrom::Start(size - END))?;
    let tail = part(&mut file, END)?;
    if let Some((_, whole)) = tail.split_once('\n') {
        whole.split('\n').for_each(|line| gathered.add(line));
    }
    Ok(())
}

fn part(file: &mut File, length: u64) -> io::Result<String> {
    let mut bytes = Vec::new();
    file.take(length).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn title_beside(session: &Path) -> Option<String> {
    if !files::is_real_folder(&session.with_extension("")) {
        return None;
    }
    let mut file = files::open(&files::title_file(session), OpenOptions::new().read(true)).ok()?;
    Facts::read(&part(&mut file, END).ok()?).custom_title
}

/// Milliseconds since 1970 of a time as the CLI writes it: `2026-11-15T06:13:37.326Z`.
pub(super) fn milliseconds(text: &str) -> Option<Timestamp> {
    let number = |from: usize, to: usize| text.get(from..to)?.parse::<u64>().ok();
    let mark = |at: usize, mark: &str| text.get(at..=at) == Some(mark);
    if !(text.len() == 24 && mark(4, "-") && mark(7, "-") && mark(10, "T") && mark(23, "Z")) {
        return None;
    }
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    if year < 1970 || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    // Years begin in March, so that the leap day is the last one.
    let (year, month) = if month < 3 { (year - 1, month + 9) } else { (year, month - 3) };
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1;
    let since_1970 = days.checked_sub(719_468)?;
    let seconds = (number(11, 13)? * 60 + number(14, 16)?) * 60 + number(17, 19)?;
    Some(Timestamp((since_1970 * 86_400 + seconds) * 1000 + number(20, 23)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_read_as_the_cli_writes_it() {
        assert_eq!(milliseconds("1970-01-01T00:00:00.000Z"), Some(Timestamp(0)));
        assert_eq!(milliseconds("2000-02-29T12:34:56.789Z"), Some(Timestamp(951_827_696_789)));
        assert_eq!(milliseconds("2026-11-15T06:13:37.326Z"), Some(Timestamp(1_794_723_217_326)));
        for text in [
            "",
            "2026-11-15",
            "2026-13-15T06:13:37.326Z",
            "2026-11-15T06:13:37+00:00000",
            "ä026-11-15T06:13:37.32Z",
        ] {
            assert_eq!(milliseconds(text), None, "{text:?}");
        }
    }

    #[test]
    fn a_long_prompt_is_cut_between_characters() {
        let prompt = "é".repeat(LONGEST_PROMPT + 1);
        assert_eq!(shortened(&prompt), format!("{}…", "é".repeat(LONGEST_PROMPT)));
        assert_eq!(shortened("one\ntwo"), "one two");
    }
}

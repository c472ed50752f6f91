//! The conversation in a transcript file: which lines belong to it, and in which order.
//!
//! The file only ever grows, and what was rewound or lost in a race stays in it, so a conversation is the
//! chain of parents from the last line on [session/resume_at_user_uuid]. Two things do not stand on that
//! chain and belong to it all the same: the results of tools that ran at once (each has its own call as
//! parent, and only one of them has children), and, in 2.1.197, the mark of a compaction.
//!
//! The one rule it keeps: every line is in exactly one of the lists, but for blank ones and those that repeat
//! an earlier one (2.1.197 writes the messages it keeps through a compaction once more).

use std::collections::{HashMap, HashSet};

use jackfield_wire::{Block, Content, TranscriptEntry};

use crate::history::facts::Line;

/// A transcript file, taken apart.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Conversation {
    /// The conversation as the CLI would resume it, from the first line to the last, and what was compacted.
    pub branch: Vec<TranscriptEntry>,
    /// Lines of conversation that are not on that branch.
    pub abandoned: Vec<TranscriptEntry>,
    /// Lines of subagents.
    pub sidechains: Vec<TranscriptEntry>,
    /// Lines that are not conversation: titles, prompts, checkpoints, and what this version does not know.
    pub notes: Vec<TranscriptEntry>,
    /// Lines that cannot be read; the last line of a session that was killed may be cut.
    pub malformed: Vec<TranscriptEntry>,
}

impl Conversation {
    pub(super) fn arrange(lines: Vec<Line>) -> Self {
        let places = Links::of(&lines).sort();
        let mut conversation = Self::default();
        for (line, place) in lines.into_iter().zip(places) {
            let list = match place {
                Place::Branch => &mut conversation.branch,
                Place::Abandoned => &mut conversation.abandoned,
                Place::Sidechain => &mut conversation.sidechains,
                Place::Note => &mut conversation.notes,
                Place::Malformed => &mut conversation.malformed,
                Place::Nowhere => continue,
            };
            list.push(line.entry);
        }
        conversation
    }
}

/// Where a line goes.
enum Place {
    Branch,
    Abandoned,
    Sidechain,
    Note,
    Malformed,
    Nowhere,
}

/// The lines of the conversation, all branches of it, and how they hang together.
struct Links<'a> {
    lines: &'a [Line],
    /// The number of the first line with each id.
    numbers: HashMap<&'a str, usize>,
}

impl<'a> Links<'a> {
    fn of(lines: &'a [Line]) -> Self {
        let mut numbers = HashMap::new();
        for (number, line) in lines.iter().enumerate().filter(|(_, line)| !line.facts.is_sidechain) {
            if let Some(uuid) = line.facts.uuid.as_deref() {
                numbers.entry(uuid).or_insert(number);
            }
        }
        Self { lines, numbers }
    }

    fn sort(&self) -> Vec<Place> {
        let branch = self.branch();
        let place = |(number, line): (usize, &Line)| match self.number(line.facts.uuid.as_deref()) {
            _ if line.facts.is_sidechain => Place::Sidechain,
            Some(first) if first != number => Place::Nowhere,
            Some(_) if branch.contains(&number) => Place::Branch,
            Some(_) => Place::Abandoned,
            None => match line.entry {
                TranscriptEntry::Malformed(_) => Place::Malformed,
                TranscriptEntry::Blank => Place::Nowhere,
                _ => Place::Note,
            },
        };
        self.lines.iter().enumerate().map(place).collect()
    }

    fn branch(&self) -> HashSet<usize> {
        let mut branch = HashSet::new();
        let written_last = |line: &Line| {
            if line.facts.is_sidechain { None } else { self.number(line.facts.uuid.as_deref()) }
        };
        let mut next = self.lines.iter().rev().find_map(written_last);
        while let Some(number) = next
            && branch.insert(number)
        {
            let facts = &self.lines[number].facts;
            let before = || self.number(facts.logical_parent_uuid.as_deref());
            next = self.parent(number).or_else(before);
        }
        self.add_parallel_tools(&mut branch);
        self.add_compactions(&mut branch);
        branch
    }

    /// Every block of one API message is a line, and so is the result of each call in it.
    fn add_parallel_tools(&self, branch: &mut HashSet<usize>) {
        let message = |number: usize| match &self.lines[number].entry {
            TranscriptEntry::Assistant(entry) => Some(entry.message.id.as_str()),
            _ => None,
        };
        let all = || (0..self.lines.len()).filter(|number| self.is_first(*number));
        let messages: HashSet<&str> =
            all().filter(|number| branch.contains(number)).filter_map(message).collect();
        branch.extend(all().filter(|number| message(*number).is_some_and(|id| messages.contains(id))));
        let results: Vec<usize> = all()
            .filter(|number| is_tool_result(&self.lines[*number].entry))
            .filter(|number| self.parent(*number).is_some_and(|parent| branch.contains(&parent)))
            .collect();
        branch.extend(results);
    }

    /// 2.1.197 goes on from the last message it keeps, not from the summary: mark and summary hang beside it.
    fn add_compactions(&self, branch: &mut HashSet<usize>) {
        for (number, line) in self.lines.iter().enumerate().filter(|(_, line)| line.facts.is_compact_summary)
        {
            let Some(mark) = self.parent(number) else { continue };
            let before = self.number(self.lines[mark].facts.logical_parent_uuid.as_deref());
            let goes_on = self.lines.iter().any(|child| child.facts.parent_uuid == line.facts.uuid);
            // One that goes on elsewhere was rewound.
            if !goes_on && before.is_some_and(|before| branch.contains(&before)) {
                branch.extend([mark, number]);
            }
        }
    }

    fn number(&self, uuid: Option<&str>) -> Option<usize> {
        self.numbers.get(uuid?).copied()
    }

    fn parent(&self, number: usize) -> Option<usize> {
        self.number(self.lines[number].facts.parent_uuid.as_deref())
    }

    fn is_first(&self, number: usize) -> bool {
        let facts = &self.lines[number].facts;
        !facts.is_sidechain && self.number(facts.uuid.as_deref()) == Some(number)
    }
}

fn is_tool_result(entry: &TranscriptEntry) -> bool {
    let TranscriptEntry::User(entry) = entry else { return false };
    let Content::Blocks(blocks) = &entry.message.content else { return false };
    blocks.iter().any(|block| matches!(block, Block::ToolResult(_)))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use super::*;

    fn arrange(lines: &[&str]) -> Conversation {
        Conversation::arrange(lines.iter().map(|line| Line::read(line.as_bytes())).collect())
    }

    fn user(uuid: &str, parent: &str) -> String {
        format!(
            r#"{{"type":"user","uuid":"{uuid}","parentUuid":{parent},"message":{{"role":"user","content":"x"}}}}"#
        )
    }

    fn ids(entries: &[TranscriptEntry]) -> Vec<&str> {
        fn id(entry: &TranscriptEntry) -> &str {
            let TranscriptEntry::User(entry) = entry else { panic!("{entry:?}") };
            entry.uuid.as_ref().unwrap().as_str()
        }
        entries.iter().map(id).collect()
    }

    #[test]
    fn the_branch_that_was_written_last_is_the_conversation() {
        let lines = [user("a", "null"), user("b", r#""a""#), user("c", r#""b""#), user("d", r#""a""#)];
        let conversation = arrange(&lines.each_ref().map(String::as_str));
        assert_eq!(ids(&conversation.branch), ["a", "d"]);
        assert_eq!(ids(&conversation.abandoned), ["b", "c"]);
    }

    #[test]
    fn a_line_of_an_unknown_type_does_not_break_the_chain() {
        let (first, last) = (user("a", "null"), user("c", r#""b""#));
        let unknown = r#"{"type":"progress","uuid":"b","parentUuid":"a"}"#;
        let conversation = arrange(&[&first, unknown, &last]);
        assert_eq!(conversation.branch.len(), 3);
        assert!(conversation.abandoned.is_empty());
    }

    #[test]
    fn parents_in_a_circle_and_missing_parents_end_the_chain() {
        let circle = [user("a", r#""b""#), user("b", r#""a""#)];
        assert_eq!(ids(&arrange(&circle.each_ref().map(String::as_str)).branch), ["a", "b"]);
        let missing = [user("a", r#""gone""#)];
        assert_eq!(ids(&arrange(&missing.each_ref().map(String::as_str)).branch), ["a"]);
        assert_eq!(arrange(&[]), Conversation::default());
    }

    #[test]
    fn a_cut_line_is_kept_apart_and_a_blank_one_is_nothing() {
        let first = user("a", "null");
        let conversation = arrange(&[&first, "", r#"{"type":"user","uuid":"b","par"#]);
        assert_eq!(ids(&conversation.branch), ["a"]);
        assert_eq!((conversation.malformed.len(), conversation.notes.len()), (1, 0));
    }
}

//! The agent's own files: in memory, never on a disk.
//!
//! The one rule: what a call is told is what the files hold, so a second edit finds the first one done.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::step::Reply;

/// The file that the scenes read and change, below the folder in which the agent runs.
pub(super) const GREETING: &str = "jackfield-demo/src/greeting.rs";

const GREETING_TEXT: &str = "\
//! Says hello.

/// A greeting for somebody.
pub fn greeting(name: &str) -> String {
    format!(\"Hello {name}\")
}

fn main() {
    println!(\"{}\", greeting(\"world\"));
}
";

/// Lines around a change that are shown with it.
const AROUND: usize = 3;

type Contents = BTreeMap<String, String>;

/// The files, and what they were at each prompt.
#[derive(Debug)]
pub(super) struct Files {
    contents: Contents,
    checkpoints: Vec<(String, Contents)>,
}

impl Files {
    pub(super) fn new(cwd: &str) -> Self {
        let contents = BTreeMap::from([(path(cwd, GREETING), GREETING_TEXT.to_owned())]);
        Self { contents, checkpoints: Vec::new() }
    }

    /// Remembers what the files are before a prompt does anything to them.
    pub(super) fn checkpoint(&mut self, prompt: &str) {
        self.checkpoints.push((prompt.to_owned(), self.contents.clone()));
    }

    /// Does what `Read`, `Edit` and `Write` do.
    pub(super) fn work(&mut self, tool: &str, input: &Value) -> Reply {
        let path = text(input, "file_path");
        match (tool, self.contents.get(path)) {
            ("Write", before) => {
                let (before, after) = (before.cloned(), text(input, "content").to_owned());
                self.contents.insert(path.to_owned(), after.clone());
                written(path, before.as_deref(), &after)
            }
            (_, None) => Reply::failure("File does not exist."),
            ("Edit", Some(before)) => {
                let (old, new) = (text(input, "old_string"), text(input, "new_string"));
                if old.is_empty() || !before.contains(old) {
                    return Reply::failure(&format!("String to replace not found in file.\nString: {old}"));
                }
                let (before, after) = (before.clone(), before.replacen(old, new, 1));
                self.contents.insert(path.to_owned(), after.clone());
                let structured = json!({
                    "filePath": path, "oldString": old, "newString": new, "originalFile": before,
                    "structuredPatch": patch(&before, &after), "userModified": false, "replaceAll": false,
                });
                Reply::new(format!("The file {path} has been updated successfully."), structured)
            }
            (_, Some(content)) => read(path, content),
        }
    }

    /// Takes the files back to a prompt, or only says what that would change. `None` without such a prompt.
    pub(super) fn rewind(&mut self, prompt: &str, preview: bool) -> Option<Value> {
        let (_, then) = self.checkpoints.iter().find(|(name, _)| name == prompt)?;
        if !preview {
            self.contents.clone_from(then);
            return Some(json!({ "canRewind": true }));
        }
        let changed: Vec<&str> = self
            .contents
            .iter()
            .filter(|(path, now)| then.get(*path) != Some(now))
            .map(|(path, _)| path.as_str())
            .collect();
        let (mut insertions, mut deletions) = (0, 0);
        for path in &changed {
            let before = then.get(*path).map_or("", String::as_str);
            let (_, removed, added) = difference(&self.contents[*path], before);
            (insertions, deletions) = (insertions + added.len(), deletions + removed.len());
        }
        Some(json!({
            "canRewind": true, "filesChanged": changed, "insertions": insertions, "deletions": deletions,
        }))
    }
}

pub(super) fn path(cwd: &str, file: &str) -> String {
    format!("{}/{file}", cwd.trim_end_matches('/'))
}

fn text<'a>(input: &'a Value, name: &str) -> &'a str {
    input[name].as_str().unwrap_or_default()
}

fn read(path: &str, content: &str) -> Reply {
    let lines: Vec<&str> = content.split('\n').collect();
    let numbered: Vec<String> =
        lines.iter().enumerate().map(|(at, line)| format!("{}\t{line}", at + 1)).collect();
    let structured = json!({ "type": "text", "file": {
        "filePath": path, "content": content, "numLines": lines.len(), "startLine": 1,
        "totalLines": lines.len(),
    } });
    Reply::new(numbered.join("\n"), structured)
}

fn written(path: &str, before: Option<&str>, after: &str) -> Reply {
    let (kind, words) = match before {
        Some(_) => ("update", format!("The file {path} has been updated successfully.")),
        None => ("create", format!("File created successfully at: {path}")),
    };
    let hunks = before.map_or_else(|| json!([]), |before| patch(before, after));
    let structured = json!({
        "type": kind, "filePath": path, "content": after, "structuredPatch": hunks, "originalFile": before,
        "userModified": false,
    });
    Reply::new(words, structured)
}

/// A change as the CLI tells it: one hunk from the first line that differs to the last.
fn patch(before: &str, after: &str) -> Value {
    let (from, removed, added) = difference(before, after);
    if removed.is_empty() && added.is_empty() {
        return json!([]);
    }
    let old: Vec<&str> = before.lines().collect();
    let (head, tail) = (from.saturating_sub(AROUND), from + removed.len());
    let tail_end = (tail + AROUND).min(old.len());
    let kept = (from - head) + (tail_end - tail);
    let with = |mark: &'static str, lines: &[&str]| -> Vec<String> {
        lines.iter().map(|line| format!("{mark}{line}")).collect()
    };
    let lines = [
        with(" ", &old[head..from]),
        with("-", &removed),
        with("+", &added),
        with(" ", &old[tail..tail_end]),
    ]
    .concat();
    json!([{
        "oldStart": head + 1, "oldLines": kept + removed.len(),
        "newStart": head + 1, "newLines": kept + added.len(), "lines": lines,
    }])
}

/// Where two texts begin to differ, and the lines that are gone and new.
fn difference<'a>(before: &'a str, after: &'a str) -> (usize, Vec<&'a str>, Vec<&'a str>) {
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let same = old.iter().zip(&new).take_while(|(one, other)| one == other).count();
    let rest = old.len().min(new.len()) - same;
    let same_end = old.iter().rev().zip(new.iter().rev()).take(rest).take_while(|(a, b)| a == b).count();
    (same, old[same..old.len() - same_end].to_vec(), new[same..new.len() - same_end].to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_edit_finds_the_first_one_done_and_a_rewind_takes_both_back() {
        let mut files = Files::new("/ws");
        let file = path("/ws", GREETING);
        let edit = |old: &str, new: &str| json!({ "file_path": file, "old_string": old, "new_string": new });
        files.checkpoint("first");
        assert!(!files.work("Edit", &edit("Hello {name}", "Hi {name}")).failed);
        assert!(files.work("Edit", &edit("Hello {name}", "Hi {name}")).failed);
        assert!(!files.work("Edit", &edit("Hi {name}", "Hey {name}")).failed);
        let preview = files.rewind("first", true);
        assert_eq!(
            preview,
            Some(json!({ "canRewind": true, "filesChanged": [file], "insertions": 1, "deletions": 1 }))
        );
        files.rewind("first", false);
        assert!(!files.work("Edit", &edit("Hello {name}", "Hi {name}")).failed);
        assert_eq!(files.rewind("never", true), None);
    }

    #[test]
    fn a_patch_has_the_changed_lines_and_some_around_them() {
        let before = "a\nb\nc\nd\ne\nf\ng\n";
        let patch = patch(before, &before.replace("e\n", "E\nE\n"));
        assert_eq!(patch[0]["lines"], json!([" b", " c", " d", "-e", "+E", "+E", " f", " g"]));
        assert_eq!((&patch[0]["oldStart"], &patch[0]["oldLines"]), (&json!(2), &json!(6)));
        assert_eq!(patch[0]["newLines"], json!(7));
        assert_eq!(super::patch(before, before), json!([]));
    }
}

//! Files by a few letters of their path, for `@` mentions.
//!
//! The walk goes by the open folder, never by a path of the machine, and into no link. What `.gitignore` files
//! leave out is left out, and so is `.git`. It ends early where there is too much, and says so.

use std::cmp::Reverse;
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, Instant};

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use jackfield_api::host::FileList;

use super::{FileError, Folder, MOST_ENTRIES, refusal, shown};

/// How many entries are looked at.
const MOST_SEEN: usize = 50_000;
/// How long the walk may take.
const LONGEST_WALK: Duration = Duration::from_secs(2);
/// How large a `.gitignore` is read.
const MOST_IGNORES: u64 = 64 * 1024;
/// How long a query may be; what is behind it says nothing more.
const LONGEST_QUERY: usize = 256;

impl Folder {
    /// Files and folders whose path contains the query's letters in their order, best first; without a query
    /// those nearest to the top.
    pub fn find(&self, query: &str, limit: usize) -> Result<FileList, FileError> {
        let query: Vec<char> = query
            .chars()
            .filter(|c| !c.is_whitespace())
            .flat_map(char::to_lowercase)
            .take(LONGEST_QUERY)
            .collect();
        let mut found: Vec<(Reverse<i64>, usize, PathBuf)> = Vec::new();
        let ended_early = self.walk(|path| {
            let text = path.to_string_lossy();
            if let Some(score) = score(&query, &text) {
                found.push((Reverse(score), text.len(), path.to_owned()));
            }
        })?;
        let limit = limit.min(MOST_ENTRIES);
        let truncated = ended_early || found.len() > limit;
        found.sort();
        let entries = found.iter().filter_map(|(_, _, path)| self.entry(path)).take(limit).collect();
        Ok(FileList { entries, truncated })
    }

    /// Shows every path that is not ignored, the nearest first; whether it ended before the end.
    fn walk(&self, mut see: impl FnMut(&Path)) -> Result<bool, FileError> {
        let began = Instant::now();
        let mut seen = 0;
        let mut waiting = VecDeque::from([(PathBuf::new(), self.ignores(Path::new(""), None))]);
        while let Some((folder, ignores)) = waiting.pop_front() {
            let here = if folder.as_os_str().is_empty() { Path::new(".") } else { &folder };
            let mut names: Vec<_> = match self.dir.read_dir(here) {
                Ok(entries) => entries.flatten().take(MOST_SEEN - seen + 1).collect(),
                // The folder itself has to be there; one below may be gone or closed to us.
                Err(error) if folder.as_os_str().is_empty() => return Err(refusal(".", error)),
                Err(_) => continue,
            };
            names.sort_by_key(cap_std::fs::DirEntry::file_name);
            for entry in names {
                if seen == MOST_SEEN || began.elapsed() > LONGEST_WALK {
                    return Ok(true);
                }
                seen += 1;
                let name = entry.file_name();
                let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
                let path = folder.join(&name);
                if name == ".git"
                    || ignores.as_ref().is_some_and(|ignores| ignores.leave_out(&path, is_folder))
                {
                    continue;
                }
                see(&path);
                if is_folder {
                    let below = self.ignores(&path, ignores.clone());
                    waiting.push_back((path, below));
                }
            }
        }
        Ok(false)
    }

    /// What holds in a folder: its own `.gitignore` over those above it.
    fn ignores(&self, folder: &Path, above: Option<Rc<Ignores>>) -> Option<Rc<Ignores>> {
        let mut builder = GitignoreBuilder::new(folder);
        let mut names = vec![folder.join(".gitignore")];
        if above.is_none() && folder.as_os_str().is_empty() {
            names.insert(0, PathBuf::from(".git/info/exclude"));
        }
        for name in names {
            let Ok(bytes) = self.read_whole(&shown(&name), MOST_IGNORES) else { continue };
            for line in String::from_utf8_lossy(&bytes).trim_start_matches('\u{feff}').lines() {
                // A line that git could not read either leaves nothing out.
                let _ = builder.add_line(None, line);
            }
        }
        match builder.build() {
            Ok(own) if !own.is_empty() => Some(Rc::new(Ignores { own, above })),
            _ => above,
        }
    }
}

/// What is left out in a folder.
struct Ignores {
    own: Gitignore,
    above: Option<Rc<Ignores>>,
}

impl Ignores {
    fn leave_out(&self, path: &Path, is_folder: bool) -> bool {
        let mut next = Some(self);
        while let Some(ignores) = next {
            match ignores.own.matched(path, is_folder) {
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => return false,
                Match::None => next = ignores.above.as_deref(),
            }
        }
        false
    }
}

/// How well a path fits; `None` if the query's letters are not in it in this order.
fn score(query: &[char], path: &str) -> Option<i64> {
    let letters: Vec<char> = path.chars().collect();
    let depth = letters.iter().filter(|c| **c == '/').count();
    let depth = i64::try_from(depth).unwrap_or(i64::MAX);
    if query.is_empty() {
        return Some(-depth);
    }
    let name_from = letters.iter().rposition(|c| *c == '/').map_or(0, |at| at + 1);
    // The name is what people type; only where it does not fit does the whole path count.
    let in_name = follow(query, &letters, name_from).map(|score| score + 50);
    in_name.or_else(|| follow(query, &letters, 0)).map(|score| score - depth)
}

/// Finds the letters one after the other from `from` on. Letters side by side and at the beginning of words
/// count more.
fn follow(query: &[char], letters: &[char], from: usize) -> Option<i64> {
    let mut at = from;
    let mut last = None;
    let mut score = 0;
    for wanted in query {
        let found = at + letters[at..].iter().position(|c| c.to_lowercase().next() == Some(*wanted))?;
        let begins_word = found == 0
            || !letters[found - 1].is_alphanumeric()
            || letters[found].is_uppercase() && letters[found - 1].is_lowercase();
        score += 1;
        if found.checked_sub(1).is_some_and(|before| last == Some(before)) {
            score += 8;
        }
        if begins_word {
            score += 5;
        }
        last = Some(found);
        at = found + 1;
    }
    // The query as it stands beats the same letters found here and there.
    let exact = letters[from..]
        .windows(query.len())
        .any(|window| window.iter().zip(query).all(|(c, wanted)| c.to_lowercase().next() == Some(*wanted)));
    Some(score + if exact { 100 } else { 0 })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn best<'a>(query: &str, paths: &[&'a str]) -> Option<&'a str> {
        let query: Vec<char> = query.chars().collect();
        let scored = paths.iter().filter_map(|path| Some((score(&query, path)?, Reverse(path.len()), *path)));
        scored.max().map(|(_, _, path)| path)
    }

    #[test]
    fn the_path_that_a_person_means_comes_first() {
        assert_eq!(best("main", &["src/domain.rs", "src/main.rs", "m/a/i/n"]), Some("src/main.rs"));
        assert_eq!(best("lib", &["crates/host/src/lib.rs", "lib.rs", "library/x"]), Some("lib.rs"));
        assert_eq!(
            best("hostlib", &["crates/host/src/lib.rs", "crates/core/src/lib.rs"]),
            Some("crates/host/src/lib.rs")
        );
        assert_eq!(best("pr", &["xpxr.rs", "permission_request.rs"]), Some("permission_request.rs"));
        assert_eq!(best("src/m", &["src/main.rs", "src/lib.rs"]), Some("src/main.rs"));
        assert_eq!(best("zz", &["src/main.rs"]), None);
        assert_eq!(best("", &["a/b", "a"]), Some("a"));
    }
}

//! How much memory processes take, with everything they have started.
//!
//! Read from `/proc`; where there is none, nothing is known and nothing is claimed. The one rule it keeps: all
//! processes are looked at once, so that the figures of one answer belong together.

use std::collections::BTreeMap;
use std::fs;

/// The processes of this machine, as they were at one moment.
#[derive(Debug, Default)]
pub(crate) struct Processes {
    /// What each takes in bytes, and who started it.
    known: BTreeMap<u32, (u32, u64)>,
}

impl Processes {
    /// Looks at all of them.
    pub(crate) fn look() -> Self {
        let page = u64::try_from(rustix::param::page_size()).unwrap_or(4096);
        let Ok(entries) = fs::read_dir("/proc") else { return Self::default() };
        let read = |entry: fs::DirEntry| {
            let id: u32 = entry.file_name().to_str()?.parse().ok()?;
            let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
            let (parent, pages) = parse(&stat)?;
            Some((id, (parent, pages * page)))
        };
        Self { known: entries.filter_map(|entry| read(entry.ok()?)).collect() }
    }

    /// What a process takes by itself.
    pub(crate) fn alone(&self, id: u32) -> Option<u64> {
        self.known.get(&id).map(|(_, bytes)| *bytes)
    }

    /// What a process takes with all that it has started.
    pub(crate) fn tree(&self, root: u32) -> Option<u64> {
        let mut bytes = self.alone(root)?;
        for (id, (_, own)) in &self.known {
            if *id != root && self.descends(*id, root) {
                bytes += own;
            }
        }
        Some(bytes)
    }

    fn descends(&self, mut id: u32, root: u32) -> bool {
        // No chain is longer than there are processes; names may be given anew while they are read.
        for _ in 0..self.known.len() {
            match self.known.get(&id) {
                Some((parent, _)) if *parent == root => return true,
                Some((parent, _)) => id = *parent,
                None => return false,
            }
        }
        false
    }
}

/// The parent and the resident pages in a process's `stat`. The program's name may hold anything, so what is behind
/// its last bracket counts.
fn parse(stat: &str) -> Option<(u32, u64)> {
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace();
    let parent = fields.nth(1)?.parse().ok()?;
    // From the state on, which is the first: the 22nd is the resident set.
    let pages = fields.nth(19)?.parse().ok()?;
    Some((parent, pages))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_brackets_and_spaces_is_no_trouble() {
        let stat = "42 (a) (b) R) S 7 42 42 0 -1 4194560 1 0 0 0 1 2 0 0 20 0 1 0 99 1000 321 18446744073709551615 1";
        assert_eq!(parse(stat), Some((7, 321)));
        assert_eq!(parse("nonsense"), None);
    }

    #[test]
    fn a_tree_is_a_process_with_all_that_descend_from_it() {
        let known = [(1, (0, 1)), (2, (1, 10)), (3, (2, 100)), (4, (3, 1000)), (5, (1, 10000)), (6, (6, 5))];
        let processes = Processes { known: known.into() };
        assert_eq!(processes.tree(2), Some(1110));
        assert_eq!(processes.tree(4), Some(1000));
        assert_eq!(processes.tree(9), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_process_is_found() {
        let bytes = Processes::look().alone(std::process::id()).unwrap();
        assert!(bytes > 64 * 1024, "{bytes}");
    }
}

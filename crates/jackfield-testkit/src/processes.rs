//! Ending a process and everything below it.
//!
//! Not for processes we did not start. The one rule it keeps: it kills by process id, found from the one child
//! it is given or from the private folder in which only our own processes work, never by name.
//!
//! A process group is not enough: the CLI's Bash tools run in process sessions of their own
//! `[process/sigkill_mid_tool]`.

use std::fs;
use std::path::Path;

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

/// Kills the process, its group and (where `/proc` tells) all its descendants.
pub fn kill_tree(id: u32) {
    let Some(root) = pid(id) else { return };
    for descendant in descendants(id).into_iter().filter_map(pid) {
        // Already gone is fine, here and below.
        let _ = kill_process(descendant, Signal::KILL);
    }
    let _ = kill_process_group(root, Signal::KILL);
    let _ = kill_process(root, Signal::KILL);
}

/// Every process whose working folder is inside this one (where `/proc` tells).
pub fn inside(folder: &Path) -> Vec<u32> {
    let works_inside =
        |id: &u32| fs::read_link(format!("/proc/{id}/cwd")).is_ok_and(|cwd| cwd.starts_with(folder));
    all().filter(works_inside).collect()
}

/// Kills every process whose working folder is inside this one: what the CLI left behind when it ended has no
/// parent by which to find it.
pub fn kill_inside(folder: &Path) {
    for left in inside(folder).into_iter().filter_map(pid) {
        let _ = kill_process(left, Signal::KILL);
    }
}

/// Sends a signal to one process.
pub fn signal(id: u32, signal: Signal) {
    if let Some(pid) = pid(id) {
        let _ = kill_process(pid, signal);
    }
}

fn pid(id: u32) -> Option<Pid> {
    i32::try_from(id).ok().and_then(Pid::from_raw)
}

fn all() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten();
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
}

fn descendants(root: u32) -> Vec<u32> {
    let parents: Vec<(u32, u32)> = all()
        .filter_map(|id| Some((id, parent(&fs::read_to_string(format!("/proc/{id}/stat")).ok()?)?)))
        .collect();
    let mut found = vec![root];
    let mut next = 0;
    while next < found.len() {
        let children = parents.iter().filter(|(_, parent)| *parent == found[next]).map(|(id, _)| *id);
        let children: Vec<u32> = children.filter(|id| !found.contains(id)).collect();
        found.extend(children);
        next += 1;
    }
    found.split_off(1)
}

/// The parent's id in a line of `/proc/ID/stat`; the program's name before it may contain anything.
fn parent(stat: &str) -> Option<u32> {
    stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parent_is_found_behind_any_program_name() {
        assert_eq!(parent("12 (a) b (c) S 7 12 12 0"), Some(7));
        assert_eq!(parent("nonsense"), None);
    }
}

//! Where the CLI looks for what a folder brings.
//!
//! Found out with the real CLI (2.1.197 and 2.1.325): `settings.json` only in the folder itself; `.mcp.json` and
//! instructions in it and in all above, up to the root of the machine; agents, commands, skills, workflows and
//! styles up to the top of the repository, without a repository in all above; `settings.local.json` also at that
//! top, and where a worktree was made from, as are agents, commands and skills.
//!
//! Git is not asked, and a `.git` file is not believed: it can only add a place. The one rule it keeps: rather one
//! place too many than one too few.

use std::path::{Path, PathBuf};

use super::reading::Reader;

/// What a place is to the folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    /// It is the folder.
    Itself,
    /// It lies above.
    Above,
    /// The folder, or one above, says that it is a worktree of this one.
    Main,
}

/// All places, the folder first.
pub(super) fn of(folder: &Path) -> Vec<(PathBuf, Standing)> {
    let mut places = vec![(folder.to_owned(), Standing::Itself)];
    places.extend(folder.ancestors().skip(1).map(|above| (above.to_owned(), Standing::Above)));
    for place in folder.ancestors() {
        if let Some(main) = main(place)
            && places.iter().all(|(known, _)| *known != main)
        {
            places.push((main, Standing::Main));
        }
    }
    places
}

/// Where a worktree was made from, by its own word.
fn main(worktree: &Path) -> Option<PathBuf> {
    let pointer = Reader::pointer(&worktree.join(".git"))?;
    let git_folder = worktree.join(pointer.strip_prefix("gitdir:")?.trim());
    let common = Reader::pointer(&git_folder.join("commondir"))?;
    let common = git_folder.join(common.trim()).canonicalize().ok()?;
    match common.file_name() {
        Some(name) if name == ".git" => common.parent().map(Path::to_owned),
        _ => Some(common),
    }
}

//! The folders of one run and the names they have in scenarios and recordings.
//!
//! Not the making of the folders (that is [`crate::cli`]). The one rule it keeps: what [`Places::fill`]
//! writes into a scenario, [`Places::hide`] takes out of a recording, so both read the same on any machine.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;

/// How the working folder is called in scenarios and recordings.
pub const WORKSPACE: &str = "/ws";
/// How the home folder is called in scenarios and recordings.
pub const HOME: &str = "/home/user";

/// The real folders behind the names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Places {
    /// The CLI's working folder.
    pub workspace: PathBuf,
    /// The CLI's home folder.
    pub home: PathBuf,
    /// The CLI's folder for temporary files.
    pub temporary: PathBuf,
}

impl Default for Places {
    /// The names stand for themselves.
    fn default() -> Self {
        Self { workspace: WORKSPACE.into(), home: HOME.into(), temporary: "/tmp".into() }
    }
}

impl Places {
    /// Replaces the names by the real folders.
    pub fn fill(&self, text: &str) -> String {
        static NAMES: LazyLock<Regex> = LazyLock::new(|| pattern(r"(^|[^\w/.-])(/ws|/home/user)\b"));
        let replace = |found: &regex::Captures<'_>| {
            let folder = if &found[2] == WORKSPACE { &self.workspace } else { &self.home };
            format!("{}{}", &found[1], folder.display())
        };
        NAMES.replace_all(text, replace).into_owned()
    }

    /// Replaces the real folders by the names, also where the CLI made a folder name of the working folder
    /// (every character that is not a letter or digit becomes a dash) [session/resume].
    pub fn hide(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (folder, name) in [(&self.workspace, WORKSPACE), (&self.home, HOME), (&self.temporary, "/tmp")] {
            text = text.replace(&*folder.to_string_lossy(), name);
            text = text.replace(&slug(folder), &slug(Path::new(name)));
        }
        text
    }

    /// Whether cutting the text at this byte would cut one of the names.
    pub(crate) fn is_inside_a_name(text: &str, at: usize) -> bool {
        [WORKSPACE, HOME].iter().any(|name| {
            let earliest = (at + 1).saturating_sub(name.len());
            (earliest..at).any(|start| text.as_bytes()[start..].starts_with(name.as_bytes()))
        })
    }
}

/// A pattern that is a constant of this crate.
#[expect(clippy::expect_used, reason = "the patterns are constants, and the tests compile every one")]
pub(crate) fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a constant pattern")
}

fn slug(path: &Path) -> String {
    path.to_string_lossy().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places() -> Places {
        Places {
            workspace: "/tmp/x.1/ws".into(),
            home: "/tmp/x.1/home".into(),
            temporary: "/tmp/x.1/tmp".into(),
        }
    }

    #[test]
    fn what_is_filled_in_is_hidden_again() {
        let text = r#"{"file_path":"/ws/a.txt","command":"cat /ws/b /home/user/c; ls /ws"}"#;
        let filled = places().fill(text);
        assert!(filled.contains("/tmp/x.1/ws/a.txt") && filled.contains("/tmp/x.1/home/c"), "{filled}");
        assert_eq!(places().hide(&filled), text);
    }

    #[test]
    fn other_words_are_left_alone() {
        let text = "/wsx a/ws ../ws /var/ws";
        assert_eq!(places().fill(text), text);
    }

    #[test]
    fn the_folder_name_made_of_a_path_is_hidden_too() {
        assert_eq!(
            places().hide("/tmp/x.1/home/.claude/projects/-tmp-x-1-ws/a"),
            "/home/user/.claude/projects/-ws/a"
        );
    }

    #[test]
    fn a_name_is_not_cut() {
        let text = "a /ws/b";
        let inside: Vec<_> = (0..text.len()).filter(|&at| Places::is_inside_a_name(text, at)).collect();
        assert_eq!(inside, [3, 4]);
    }
}

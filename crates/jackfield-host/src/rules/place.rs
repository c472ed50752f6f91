//! Where a named file is, as far as its name tells.
//!
//! Names only, as the CLI reads them: `.` and `..` go by text. Links are not followed here; see
//! [`crate::files::resolve`].

use super::pattern::PathPattern;

/// The longest path that a system takes.
const LONGEST_PATH: usize = 4096;

/// Where a named file is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Place {
    /// Somewhere that can be told.
    Known {
        /// From the root, without `.` and `..`.
        segments: Vec<String>,
        /// How many of them are the session's folder; `None` if the file is not in it.
        folder: Option<usize>,
    },
    /// The name does not tell: another layer may read it differently.
    Unknown,
}

impl Place {
    /// The place of `path` for a session in `folder`.
    pub(super) fn of(folder: &str, path: &str) -> Self {
        let folder = segments(folder);
        // The CLI may put the home folder in the place of `~`, which is not known here.
        if path.is_empty() || path.len() > LONGEST_PATH || path.starts_with('~') || path.contains('\0') {
            return Self::Unknown;
        }
        let segments = match (&folder, segments(path)) {
            (_, Some(absolute)) => absolute,
            (Some(folder), None) => normal(folder.iter().copied().chain(path.split('/'))),
            (None, None) => return Self::Unknown,
        };
        let folder = folder.filter(|folder| segments.starts_with(folder)).map(|folder| folder.len());
        Self::Known { segments: segments.into_iter().map(str::to_owned).collect(), folder }
    }

    /// Whether a pattern fits; a relative one only fits what is in the session's folder.
    pub(super) fn fits(&self, pattern: &PathPattern<'_>) -> bool {
        let Self::Known { segments, folder } = self else { return false };
        let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
        if pattern.absolute {
            pattern.fits(&segments)
        } else {
            folder.is_some_and(|folder| pattern.fits(&segments[folder..]))
        }
    }
}

/// Whether `path` is `folder` or below it; `None` if one of them is not absolute.
pub(super) fn is_below(folder: &str, path: &str) -> Option<bool> {
    Some(segments(path)?.starts_with(&segments(folder)?))
}

/// The segments of an absolute path, without `.` and `..`.
fn segments(path: &str) -> Option<Vec<&str>> {
    path.starts_with('/').then(|| normal(path.split('/')))
}

fn normal<'a>(parts: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut segments = Vec::new();
    for part in parts {
        match part {
            "" | "." => {}
            ".." => _ = segments.pop(),
            name => segments.push(name),
        }
    }
    segments
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn fits(pattern: &str, path: &str) -> bool {
        Place::of("/ws/project", path).fits(&PathPattern::read(pattern).unwrap())
    }

    #[test]
    fn a_relative_pattern_only_fits_what_is_in_the_folder() {
        assert!(fits("src/*", "src/a.rs"));
        assert!(fits("src/*", "/ws/project/src/a.rs"));
        assert!(fits("src/*", "./docs/..//src/./a.rs"));
        assert!(!fits("**", "../other/a.rs"));
        assert!(!fits("**", "src/../../other/a.rs"));
        assert!(!fits("**", "/ws/projects/a.rs"));
        assert!(!fits("**", "/etc/passwd"));
    }

    #[test]
    fn an_absolute_pattern_fits_wherever_the_file_is() {
        assert!(fits("/ws/*/src/*", "src/a.rs"));
        assert!(fits("/etc/*", "../../../../../etc/passwd"));
        assert!(fits("/**", "/etc/passwd"));
        assert!(!fits("/etc/*", "etc/passwd"));
    }

    #[test]
    fn a_name_that_others_may_read_differently_is_nowhere() {
        for path in ["", "~/.ssh/id", "a\0b", &"a/".repeat(3000)] {
            assert_eq!(Place::of("/ws", path), Place::Unknown);
            assert!(!fits("**", path) && !fits("/**", path));
        }
        assert_eq!(Place::of("relative", "a"), Place::Unknown);
    }

    #[test]
    fn a_folder_holds_what_is_below_it_by_whole_names() {
        assert_eq!(is_below("/ws", "/ws/a"), Some(true));
        assert_eq!(is_below("/ws/", "/ws"), Some(true));
        assert_eq!(is_below("/ws", "/wsx"), Some(false));
        assert_eq!(is_below("/ws", "/ws/../etc"), Some(false));
        assert_eq!(is_below("ws", "/ws"), None);
    }
}

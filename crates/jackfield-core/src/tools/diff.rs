//! Unified diffs: written from the CLI's patch, or made from two texts.
//!
//! Not a place that knows tools or files on disk. The one rule: no diff that leaves here is over
//! [`SIZE_LIMIT`]; one that would be ends at a line and says so.

use std::fmt::Write as _;

use similar::TextDiff;

use super::fields::Fields;

/// The most that is told of one content or one diff, in bytes.
pub(super) const SIZE_LIMIT: usize = 256 * 1024;

/// A unified diff within the limit.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Diff {
    /// Empty when it is not known, or when nothing changed.
    pub(super) text: String,
    /// Whether something was left out for its size.
    pub(super) truncated: bool,
}

impl Diff {
    /// The diff of two texts; `old` is `None` for a file that is new.
    pub(super) fn between(path: &str, old: Option<&str>, new: &str) -> Self {
        // To compare is costlier than to copy: half a second at the limit, in the worst case.
        if old.is_some_and(|old| old.len().max(new.len()) > SIZE_LIMIT) {
            return Self { text: String::new(), truncated: true };
        }
        let (before, after) = headers(path, old.is_some());
        let diff = TextDiff::from_lines(old.unwrap_or_default(), new);
        Self::cut(diff.unified_diff().header(&before, &after).to_string())
    }

    /// Adds the diff of another part of the same file.
    pub(super) fn append(self, other: &Self) -> Self {
        let joined = Self::cut(self.text + &other.text);
        Self { truncated: joined.truncated || self.truncated || other.truncated, ..joined }
    }

    /// Cuts what is over the limit after the last line that fits.
    fn cut(mut text: String) -> Self {
        if text.len() <= SIZE_LIMIT {
            return Self { text, truncated: false };
        }
        let end =
            text.as_bytes()[..SIZE_LIMIT].iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        text.truncate(end);
        Self { text, truncated: true }
    }
}

/// A change as the CLI tells it, `structuredPatch`.
#[derive(Debug)]
pub(super) struct Patch(Vec<Hunk>);

#[derive(Debug)]
struct Hunk {
    old_start: u64,
    old_lines: u64,
    new_start: u64,
    new_lines: u64,
    /// Each with its mark: a blank, `-`, `+`, or `\` for a missing newline.
    lines: Vec<String>,
}

impl Patch {
    /// The patch in a structured result; `None` when there is none or it is empty.
    pub(super) fn read(result: &Fields<'_>) -> Option<Self> {
        // It is empty for a new file [control/rewind_files].
        let hunks: Vec<Hunk> = result.objects("structuredPatch")?.iter().map(Hunk::read).collect();
        (!hunks.is_empty()).then_some(Self(hunks))
    }

    /// The patch as a unified diff.
    pub(super) fn diff(&self, path: &str) -> Diff {
        let (before, after) = headers(path, true);
        let mut diff = format!("--- {before}\n+++ {after}\n");
        for hunk in &self.0 {
            hunk.write(&mut diff);
        }
        Diff::cut(diff)
    }

    /// The text that the patch makes of `original`; `None` when it does not fit.
    pub(super) fn apply(&self, original: &str) -> Option<String> {
        let mut rest: Vec<&str> = original.split_inclusive('\n').collect();
        rest.reverse();
        let mut done = 0;
        let mut new = String::with_capacity(original.len());
        for hunk in &self.0 {
            let start = hunk.old_start.saturating_sub(1);
            while done < start {
                new.push_str(rest.pop()?);
                done += 1;
            }
            let mut added = false;
            for line in &hunk.lines {
                if let Some(text) = line.strip_prefix('+') {
                    new.push_str(text);
                    new.push('\n');
                    added = true;
                } else if line.starts_with('\\') {
                    if std::mem::take(&mut added) {
                        new.pop();
                    }
                } else {
                    let old = rest.pop()?;
                    done += 1;
                    added = false;
                    if line.get(1..)? != old.strip_suffix('\n').unwrap_or(old) {
                        return None;
                    }
                    if line.starts_with(' ') {
                        new.push_str(old);
                    }
                }
            }
        }
        new.extend(rest.into_iter().rev());
        Some(new)
    }
}

impl Hunk {
    fn read(hunk: &Fields<'_>) -> Self {
        Self {
            old_start: hunk.count("oldStart").unwrap_or_default(),
            old_lines: hunk.count("oldLines").unwrap_or_default(),
            new_start: hunk.count("newStart").unwrap_or_default(),
            new_lines: hunk.count("newLines").unwrap_or_default(),
            lines: hunk.texts("lines").unwrap_or_default(),
        }
    }

    fn write(&self, to: &mut String) {
        // The CLI counts from where the lines would be; a unified diff names the line before them.
        let start = |start: u64, lines: u64| if lines == 0 { start.saturating_sub(1) } else { start };
        // Writing to a string cannot fail.
        let _ = writeln!(
            to,
            "@@ -{},{} +{},{} @@",
            start(self.old_start, self.old_lines),
            self.old_lines,
            start(self.new_start, self.new_lines),
            self.new_lines
        );
        for line in &self.lines {
            to.push_str(line);
            to.push('\n');
        }
    }
}

/// The names in the two header lines. A line break in a path would end its line.
fn headers(path: &str, existed: bool) -> (String, String) {
    let path = path.replace(['\n', '\r'], " ");
    (if existed { path.clone() } else { "/dev/null".to_owned() }, path)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn patch(hunks: &str) -> Patch {
        Patch::read(&Fields::read(&format!(r#"{{"structuredPatch":{hunks}}}"#)).unwrap()).unwrap()
    }

    // [tools/read_write_edit]
    const EDIT: &str = r#"[{"oldStart":1,"oldLines":3,"newStart":1,"newLines":3,
        "lines":["-alpha","+beta"," line2"," line3"]}]"#;

    #[test]
    fn a_patch_is_written_as_a_unified_diff() {
        assert_eq!(
            patch(EDIT).diff("/ws/a.txt").text,
            "--- /ws/a.txt\n+++ /ws/a.txt\n@@ -1,3 +1,3 @@\n-alpha\n+beta\n line2\n line3\n"
        );
    }

    #[test]
    fn a_patch_makes_the_new_text_from_the_old() {
        assert_eq!(patch(EDIT).apply("alpha\nline2\nline3\n").as_deref(), Some("beta\nline2\nline3\n"));
        assert_eq!(patch(EDIT).apply("gamma\nline2\nline3\n"), None);
        assert_eq!(patch(EDIT).apply("alpha\n"), None);
    }

    #[test]
    fn a_patch_of_a_later_part_leaves_the_rest_as_it_is() {
        let late = r#"[{"oldStart":3,"oldLines":1,"newStart":3,"newLines":2,"lines":["-c","+C","+D"]}]"#;
        assert_eq!(patch(late).apply("a\nb\nc\nd").as_deref(), Some("a\nb\nC\nD\nd"));
    }

    #[test]
    fn a_missing_newline_stays_missing_or_goes_as_the_patch_says() {
        let mark = r"\\ No newline at end of file";
        let kept = format!(
            r#"[{{"oldStart":1,"oldLines":1,"newStart":1,"newLines":1,"lines":["-a","{mark}","+b","{mark}"]}}]"#
        );
        assert_eq!(patch(&kept).apply("a").as_deref(), Some("b"));
        let added = format!(
            r#"[{{"oldStart":1,"oldLines":1,"newStart":1,"newLines":1,"lines":["-a","{mark}","+a"]}}]"#
        );
        assert_eq!(patch(&added).apply("a").as_deref(), Some("a\n"));
    }

    #[test]
    fn a_hunk_without_old_lines_names_the_line_before() {
        let insert = r#"[{"oldStart":1,"oldLines":0,"newStart":1,"newLines":1,"lines":["+a"]}]"#;
        assert_eq!(patch(insert).diff("f").text, "--- f\n+++ f\n@@ -0,0 +1,1 @@\n+a\n");
        assert_eq!(patch(insert).apply("").as_deref(), Some("a\n"));
    }

    #[test]
    fn a_new_file_is_a_diff_from_nothing() {
        let diff = Diff::between("/ws/new.txt", None, "n\n").text;
        assert!(diff.starts_with("--- /dev/null\n+++ /ws/new.txt\n"), "{diff}");
        assert!(diff.ends_with("\n+n\n"), "{diff}");
    }

    #[test]
    fn a_long_diff_is_cut_at_a_line() {
        let line = "+0123456789\n";
        let long = Diff::cut(line.repeat(SIZE_LIMIT / 8));
        assert!(long.truncated);
        assert!(long.text.len() <= SIZE_LIMIT && long.text.len() > SIZE_LIMIT - line.len());
        assert!(long.text.ends_with(line));
        assert_eq!(Diff::cut("é".repeat(SIZE_LIMIT)), Diff { text: String::new(), truncated: true });
        let short = Diff { text: "+a\n".to_owned(), truncated: false };
        assert_eq!(Diff::cut("+a\n".to_owned()), short);
        assert!(short.append(&long).truncated);
    }

    #[test]
    fn texts_over_the_limit_are_not_compared() {
        let long = "a\n".repeat(SIZE_LIMIT);
        assert_eq!(Diff::between("f", Some("a"), &long), Diff { text: String::new(), truncated: true });
    }
}

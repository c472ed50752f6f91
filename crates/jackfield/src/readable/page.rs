//! The page that text is written on: margins, colours, and nothing that could command a terminal.
//!
//! It knows no events. The one rule: every text goes through [`Page::put`], which lets no control
//! character through but the newline and the tab; escape sequences on the page are the page's own.

use std::fmt::Write;

pub(crate) use clap::builder::styling::Style;
use clap::builder::styling::{AnsiColor, Color};
use jackfield_api::unseen::{is_joiner, is_unseen};

/// Whether there are colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Colours {
    On,
    Off,
}

pub(crate) const PLAIN: Style = Style::new();
pub(crate) const BOLD: Style = Style::new().bold();
pub(crate) const DIM: Style = Style::new().dimmed();
pub(crate) const RED: Style = colour(AnsiColor::Red);
pub(crate) const GREEN: Style = colour(AnsiColor::Green);
pub(crate) const YELLOW: Style = colour(AnsiColor::Yellow);
pub(super) const CYAN: Style = colour(AnsiColor::Cyan);

/// A line of an excerpt is cut behind this many characters.
const EXCERPT_WIDTH: usize = 160;

/// Text that grows, and where its end stands.
#[derive(Debug)]
pub(crate) struct Page {
    text: String,
    colours: Colours,
    margin: usize,
    /// Whether the next text begins a line.
    fresh: bool,
}

impl Page {
    pub(crate) fn new(colours: Colours) -> Self {
        Self { text: String::new(), colours, margin: 0, fresh: true }
    }

    /// What was written since it was last taken.
    pub(crate) fn take_into(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.text.as_bytes());
        self.text.clear();
    }

    /// The column at which the lines that begin from now on begin.
    pub(super) fn set_margin(&mut self, columns: usize) {
        self.margin = columns;
    }

    /// Goes on where the last text ended; newlines in it are kept.
    pub(crate) fn put(&mut self, style: Style, text: &str) {
        let mut lines = text.split('\n').peekable();
        while let Some(line) = lines.next() {
            let last = lines.peek().is_none();
            let line = if last { line } else { line.strip_suffix('\r').unwrap_or(line) };
            if !line.is_empty() {
                self.put_in_line(style, line);
            }
            if !last {
                self.text.push('\n');
                self.fresh = true;
            }
        }
    }

    /// Ends the line, if one has begun.
    pub(crate) fn end_line(&mut self) {
        if !self.fresh {
            self.text.push('\n');
            self.fresh = true;
        }
    }

    /// Text on lines of its own.
    pub(crate) fn line(&mut self, style: Style, text: &str) {
        self.end_line();
        self.put(style, text);
        self.end_line();
    }

    /// Text on lines of its own behind a mark, all of it to the right of the mark.
    pub(crate) fn marked(&mut self, mark: (Style, &str), style: Style, text: &str) {
        self.end_line();
        self.put(mark.0, mark.1);
        self.put(PLAIN, " ");
        self.deeper(mark.1.chars().count() + 1, |page| page.put(style, text));
        self.end_line();
    }

    /// The first lines of a text, each cut, and how many more there are.
    pub(super) fn excerpt(&mut self, style: impl Fn(&str) -> Style, text: &str, at_most: usize) {
        self.end_line();
        let text = text.trim_end();
        let mut lines = text.lines();
        for line in lines.by_ref().take(at_most) {
            self.put(style(line), &cut(line, EXCERPT_WIDTH));
            self.put(PLAIN, "\n");
        }
        match lines.count() {
            0 => {}
            1 => self.line(DIM, "… 1 more line"),
            more => self.line(DIM, &format!("… {more} more lines")),
        }
    }

    /// Writes further to the right.
    pub(crate) fn deeper(&mut self, columns: usize, write: impl FnOnce(&mut Self)) {
        self.margin += columns;
        write(self);
        self.margin -= columns;
    }

    fn put_in_line(&mut self, style: Style, line: &str) {
        if self.fresh {
            self.text.extend(std::iter::repeat_n(' ', self.margin));
            self.fresh = false;
        }
        let style = if self.colours == Colours::On { style } else { PLAIN };
        // Writing to a string cannot fail.
        let _ = write!(self.text, "{style}");
        self.text.extend(line.chars().map(harmless));
        let _ = write!(self.text, "{style:#}");
    }
}

/// The first line of a text, cut behind so many characters.
pub(super) fn brief(text: &str, width: usize) -> String {
    let text = text.trim();
    let line = text.lines().next().unwrap_or_default();
    let short = cut(line, width);
    if short.len() == line.len() && line.len() < text.len() { format!("{short} …") } else { short }
}

fn cut(line: &str, width: usize) -> String {
    match line.char_indices().nth(width) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

const fn colour(colour: AnsiColor) -> Style {
    Style::new().fg_color(Some(Color::Ansi(colour)))
}

/// A picture in the place of a character that a terminal might obey, that turns the order of text or that nobody sees.
/// The two joiners stay: scripts and emoji need them.
fn harmless(character: char) -> char {
    match character {
        '\n' | '\t' => character,
        '\u{0}'..='\u{1f}' => char::from_u32(0x2400 + u32::from(character)).unwrap_or('\u{fffd}'),
        '\u{7f}' => '\u{2421}',
        '\u{80}'..='\u{9f}' => '\u{fffd}',
        unseen if is_unseen(unseen) && !is_joiner(unseen) => '\u{fffd}',
        _ => character,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(colours: Colours, write: impl FnOnce(&mut Page)) -> String {
        let mut page = Page::new(colours);
        write(&mut page);
        page.text
    }

    #[test]
    fn s18_no_control_character_passes_but_newline_and_tab_and_nothing_unseen() {
        let unseen =
            "\u{ad}\u{61c}\u{200b}\u{200e}\u{200f}\u{202a}\u{202e}\u{2060}\u{2066}\u{2069}\u{feff}\u{e0041}";
        let all: String = ('\0'..='\u{a0}').chain(unseen.chars()).collect();
        let text = written(Colours::Off, |page| page.put(RED, &all));
        let passed: String = text.chars().filter(|c| c.is_control() || unseen.contains(*c)).collect();
        assert_eq!(passed, "\t\n");
        // What writes to the clipboard, makes a link or names the window is text.
        for sequence in [
            "\u{1b}]52;c;aGk=\u{7}",
            "\u{1b}]8;;javascript:x\u{1b}\\",
            "\u{1b}]0;t\u{7}",
            "\u{1b}P+q\u{1b}\\",
        ] {
            let text = written(Colours::Off, |page| page.put(PLAIN, sequence));
            assert!(!text.contains(['\u{1b}', '\u{7}']) && text.contains('\u{241b}'), "{text}");
        }
    }

    #[test]
    fn a_margin_stands_before_every_line_that_is_not_empty() {
        let text = written(Colours::Off, |page| {
            page.set_margin(2);
            page.line(PLAIN, "one\r\n\ntwo");
        });
        assert_eq!(text, "  one\n\n  two\n");
    }

    #[test]
    fn a_colour_ends_with_its_line() {
        let text = written(Colours::On, |page| page.put(RED, "one\ntwo"));
        assert_eq!(text, "\u{1b}[31mone\u{1b}[0m\n\u{1b}[31mtwo\u{1b}[0m");
    }

    #[test]
    fn a_brief_text_says_that_it_was_cut() {
        assert_eq!(brief("short", 10), "short");
        assert_eq!(brief("one\ntwo", 10), "one …");
        assert_eq!(brief("ääääää", 3), "äää…");
    }
}

//! What a piece of code has shown, gathered from a kernel's messages.
//!
//! It does no IO. The one rule it keeps: what is shown is in the order in which the code showed it, and however much
//! the code shows, it stays small.

use jupyter_protocol::{JupyterMessageContent, Media, MediaType};

/// How much text is kept; of more, the beginning and the end.
const TEXT: usize = 200_000;
/// How many pictures are kept.
const PICTURES: usize = 16;
/// How large a picture may be, in Base64.
const PICTURE: usize = 5 * 1024 * 1024;

/// What a piece of code has shown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Output {
    /// Texts and pictures, in order.
    pub parts: Vec<Part>,
    /// Whether the code ended with an error; the last text then tells it.
    pub failed: bool,
}

/// A part of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// A text, without colours.
    Text(String),
    /// A picture that models can see.
    Picture {
        /// `image/png`, `image/jpeg` or `image/gif`.
        media_type: &'static str,
        /// Its bytes in Base64, in one line.
        base64: String,
    },
}

/// Output that is still growing.
#[derive(Debug, Default)]
pub(super) struct Gathering {
    shown: Vec<Shown>,
    failed: bool,
    clears: bool,
}

#[derive(Debug)]
struct Shown {
    display: Option<String>,
    part: Part,
}

impl Gathering {
    /// Takes what a message shows; those that show nothing are passed over.
    pub(super) fn take(&mut self, content: JupyterMessageContent) {
        match content {
            JupyterMessageContent::StreamContent(stream) => self.show(None, Part::Text(plain(&stream.text))),
            JupyterMessageContent::ExecuteResult(result) => {
                let display = result.transient.and_then(|transient| transient.display_id);
                self.show_media(display, &result.data);
            }
            JupyterMessageContent::DisplayData(data) => {
                let display = data.transient.and_then(|transient| transient.display_id);
                self.show_media(display, &data.data);
            }
            JupyterMessageContent::UpdateDisplayData(update) => {
                let display = update.transient.display_id;
                let earlier =
                    self.shown.iter_mut().find(|shown| display.is_some() && shown.display == display);
                if let (Some(earlier), Some(part)) = (earlier, best(&update.data)) {
                    earlier.part = part;
                }
            }
            JupyterMessageContent::ErrorOutput(error) => {
                self.failed = true;
                let mut text = plain(&error.traceback.join("\n"));
                if text.trim().is_empty() {
                    text = format!("{}: {}", error.ename, error.evalue);
                }
                self.show(None, Part::Text(text));
            }
            JupyterMessageContent::ClearOutput(clear) if clear.wait => self.clears = true,
            JupyterMessageContent::ClearOutput(_) => self.shown.clear(),
            _ => {}
        }
    }

    /// What was shown.
    pub(super) fn finish(self) -> Output {
        let mut parts: Vec<Part> = Vec::new();
        let mut pictures = 0;
        for Shown { part, .. } in self.shown {
            match (part, parts.last_mut()) {
                (Part::Text(text), Some(Part::Text(before))) => before.push_str(&text),
                (Part::Picture { base64, .. }, _) if base64.len() > PICTURE || pictures == PICTURES => {
                    parts.push(Part::Text("[a picture that is too large or one too many]\n".to_owned()));
                }
                (part, _) => {
                    pictures += usize::from(matches!(part, Part::Picture { .. }));
                    parts.push(part);
                }
            }
        }
        for part in &mut parts {
            if let Part::Text(text) = part {
                shorten(text);
            }
        }
        Output { parts, failed: self.failed }
    }

    fn show_media(&mut self, display: Option<String>, media: &Media) {
        if let Some(part) = best(media) {
            self.show(display, part);
        }
    }

    fn show(&mut self, display: Option<String>, part: Part) {
        if std::mem::take(&mut self.clears) {
            self.shown.clear();
        }
        match (&part, self.shown.last_mut()) {
            (Part::Text(text), Some(Shown { display: None, part: Part::Text(before) }))
                if display.is_none() =>
            {
                before.push_str(text);
                // Twice as much as is kept, so that not every line moves the whole.
                if before.len() > 2 * TEXT {
                    shorten(before);
                }
            }
            _ => self.shown.push(Shown { display, part }),
        }
    }
}

/// The form of a value that says most to a model.
fn best(media: &Media) -> Option<Part> {
    let picture = media.content.iter().find_map(|form| match form {
        MediaType::Png(base64) => Some(("image/png", base64)),
        MediaType::Jpeg(base64) => Some(("image/jpeg", base64)),
        MediaType::Gif(base64) => Some(("image/gif", base64)),
        _ => None,
    });
    if let Some((media_type, base64)) = picture {
        let base64 = base64.chars().filter(|character| !character.is_whitespace()).collect();
        return Some(Part::Picture { media_type, base64 });
    }
    let text = |wanted: fn(&MediaType) -> Option<&String>| media.content.iter().find_map(wanted);
    let text = text(|form| match form {
        MediaType::Markdown(text) | MediaType::Latex(text) => Some(text),
        _ => None,
    })
    .or_else(|| text(|form| if let MediaType::Plain(text) = form { Some(text) } else { None }))
    .or_else(|| {
        text(|form| match form {
            MediaType::Svg(text) | MediaType::Html(text) => Some(text),
            _ => None,
        })
    });
    // Values stand on lines of their own, as notebooks show them.
    text.map(|text| Part::Text(plain(text).trim_end_matches('\n').to_owned() + "\n"))
}

/// A text without what colours it, and with lines that were written over as they ended.
fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(character) = rest.next() {
        match character {
            '\u{1b}' if rest.peek() == Some(&'[') => {
                rest.next();
                while rest.next_if(|next| !('@'..='~').contains(next)).is_some() {}
                rest.next();
            }
            '\r' if rest.peek() != Some(&'\n') => {
                let line = plain.rfind('\n').map_or(0, |newline| newline + 1);
                plain.truncate(line);
            }
            '\r' => {}
            character => plain.push(character),
        }
    }
    plain
}

/// Keeps the beginning and the end of a text that is too long.
fn shorten(text: &mut String) {
    if text.len() <= TEXT {
        return;
    }
    let first = text.floor_char_boundary(TEXT / 2);
    let last = text.ceil_char_boundary(text.len() - TEXT / 2);
    text.replace_range(first..last, "\n[the middle is left out here]\n");
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::{Value, json};

    use super::*;

    fn gathered(messages: &[(&str, Value)]) -> Output {
        let mut gathering = Gathering::default();
        for (kind, content) in messages {
            gathering.take(JupyterMessageContent::from_type_and_content(kind, content.clone()).unwrap());
        }
        gathering.finish()
    }

    fn text(text: &str) -> Part {
        Part::Text(text.to_owned())
    }

    fn stream(text: &str) -> (&'static str, Value) {
        ("stream", json!({"name": "stdout", "text": text}))
    }

    fn display(id: Option<&str>, data: &Value) -> (&'static str, Value) {
        ("display_data", json!({"data": data, "metadata": {}, "transient": {"display_id": id}}))
    }

    #[test]
    fn texts_and_pictures_come_in_order() {
        let output = gathered(&[
            stream("one\n"),
            ("stream", json!({"name": "stderr", "text": "two\n"})),
            display(None, &json!({"text/plain": "<Figure>", "image/png": "aGV\nsbG8=\n"})),
            display(None, &json!({"text/html": "<b>1</b>", "text/plain": "1"})),
            (
                "execute_result",
                json!({"execution_count": 1, "data": {"text/plain": "42"}, "metadata": {}, "transient": {}}),
            ),
        ]);
        let picture = Part::Picture { media_type: "image/png", base64: "aGVsbG8=".to_owned() };
        assert_eq!(output.parts, [text("one\ntwo\n"), picture, text("1\n42\n")]);
        assert!(!output.failed);
    }

    #[test]
    fn an_error_is_told_without_its_colours() {
        let output = gathered(&[
            stream("before\n"),
            ("error", json!({"ename": "E", "evalue": "v", "traceback": ["\u{1b}[0;31mE\u{1b}[0m", "line"]})),
        ]);
        assert_eq!((output.parts, output.failed), (vec![text("before\nE\nline")], true));
        let bare = gathered(&[("error", json!({"ename": "E", "evalue": "v", "traceback": []}))]);
        assert_eq!(bare.parts, [text("E: v")]);
    }

    #[test]
    fn what_is_written_over_or_cleared_is_not_shown() {
        let bar = gathered(&[stream("1%\r50%\r100%\r\ndone\n")]);
        assert_eq!(bar.parts, [text("100%\ndone\n")]);
        let cleared = gathered(&[
            stream("old\n"),
            ("clear_output", json!({"wait": true})),
            stream("new\n"),
            ("clear_output", json!({"wait": false})),
            stream("newest\n"),
            ("clear_output", json!({"wait": true})),
        ]);
        assert_eq!(cleared.parts, [text("newest\n")]);
        let updated = gathered(&[
            display(Some("a"), &json!({"text/plain": "0%"})),
            display(None, &json!({"text/plain": "other"})),
            (
                "update_display_data",
                json!({"data": {"text/plain": "9%"}, "metadata": {}, "transient": {"display_id": "a"}}),
            ),
        ]);
        assert_eq!(updated.parts, [text("9%\nother\n")]);
    }

    #[test]
    fn however_much_is_shown_little_is_kept() {
        let line = "ä".repeat(1000) + "\n";
        let mut gathering = Gathering::default();
        for _ in 0..1000 {
            let (kind, content) = stream(&line);
            gathering.take(JupyterMessageContent::from_type_and_content(kind, content).unwrap());
        }
        let [Part::Text(kept)] = &*gathering.finish().parts else { unreachable!() };
        assert!(kept.len() < TEXT + 200 && kept.contains("left out here"), "{}", kept.len());

        let picture = json!({"image/png": "aaaa"});
        let many = gathered(&vec![display(None, &picture); PICTURES + 1]);
        assert!(matches!(many.parts.last(), Some(Part::Text(_))) && many.parts.len() == PICTURES + 1);
        let large = gathered(&[display(None, &json!({"image/png": "a".repeat(PICTURE + 1)}))]);
        assert!(matches!(&*large.parts, [Part::Text(_)]));
    }
}

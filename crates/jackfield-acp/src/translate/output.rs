//! What a tool gave, as content to show.
//!
//! The one rule it keeps: what is too long to show is cut, and says so.

use serde::Deserialize;

use jackfield_api::Json;

use crate::schema::{Content, ContentBlock, ImageContent, ToolCallContent};

/// How much text of one result is shown.
const MOST: usize = 256 * 1024;
/// How long a picture may be, encoded.
const PICTURE: usize = 4 * 1024 * 1024;

/// A part of what a tool gave to the model.
#[derive(Deserialize)]
struct Part {
    #[serde(default)]
    r#type: String,
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    source: Option<Source>,
}

#[derive(Deserialize)]
struct Source {
    #[serde(default)]
    media_type: String,
    #[serde(default)]
    data: String,
}

/// What a tool gave to the model, as content.
pub(super) fn content(output: &Json) -> Vec<ToolCallContent> {
    if let Ok(text) = output.read::<String>() {
        return text_content(&text).into_iter().collect();
    }
    let Ok(parts) = output.read::<Vec<Part>>() else {
        return match output.get() {
            "null" | "{}" | "[]" => Vec::new(),
            other => vec![block(fenced(cut(other), "json"))],
        };
    };
    let mut content = Vec::new();
    for part in parts {
        match (part.text, part.source) {
            (Some(text), _) => content.extend(text_content(&text)),
            (None, Some(source)) if part.r#type == "image" && source.data.len() <= PICTURE => {
                content.push(block(ContentBlock::Image(ImageContent::new(source.data, source.media_type))));
            }
            (None, _) => content.push(block(format!("[{}]", part.r#type))),
        }
    }
    content
}

/// A text as content, in a fence; none if there is nothing to see.
pub(super) fn text_content(text: &str) -> Option<ToolCallContent> {
    (!text.trim().is_empty()).then(|| block(fenced(cut(text), "")))
}

/// A part of content.
pub(super) fn block(block: impl Into<ContentBlock>) -> ToolCallContent {
    ToolCallContent::Content(Content::new(block))
}

/// A text in a fence that is longer than any in it.
pub(super) fn fenced(text: &str, language: &str) -> String {
    let longest = text.split(|letter| letter != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    let end = if text.ends_with('\n') { "" } else { "\n" };
    format!("{fence}{language}\n{text}{end}{fence}")
}

/// As much of a text as is shown.
pub(super) fn cut(text: &str) -> &str {
    if text.len() <= MOST {
        return text;
    }
    let end = (0..=MOST).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    &text[..end]
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_fence_is_longer_than_what_it_holds() {
        assert_eq!(fenced("a", "rust"), "```rust\na\n```");
        assert_eq!(fenced("````\n", ""), "`````\n````\n`````");
    }

    #[test]
    fn texts_pictures_and_anything_else_become_content() {
        let read =
            |text: &str| serde_json::to_value(content(&Json::parse(text.to_owned()).unwrap())).unwrap();
        assert_eq!(read("\"hello\"")[0]["content"]["text"], "```\nhello\n```");
        let parts = r#"[{"type":"text","text":"t"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"QQ=="}},{"type":"odd"}]"#;
        let parts = read(parts);
        assert_eq!(parts[1]["content"]["mimeType"], "image/png");
        assert_eq!(parts[2]["content"]["text"], "[odd]");
        assert!(read("null").as_array().unwrap().is_empty());
        assert!(read("{\"a\":1}")[0]["content"]["text"].as_str().unwrap().contains("json"));
    }

    #[test]
    fn what_is_too_long_is_cut_between_letters() {
        let text = "é".repeat(MOST);
        assert!(cut(&text).len() <= MOST && cut(&text).len() > MOST - 4);
    }
}

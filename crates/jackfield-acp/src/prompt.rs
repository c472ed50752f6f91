//! What a prompt says, from the protocol's blocks to the host's, and the trace that it is a part of.
//!
//! Resources are told as the CLI knows them: a link as a mention, a text in full behind a mention. The one rule it
//! keeps: nothing that was said is left out in silence.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

use jackfield_api::command::Content;
use jackfield_client::Trace;
use percent_encoding::percent_decode_str;

use crate::rpc::invalid;
use crate::schema::{ContentBlock, EmbeddedResourceResource, Error, Meta};

/// The files that a prompt only names: their addresses, and where they lie.
pub(crate) fn files(blocks: &[ContentBlock]) -> Vec<(String, PathBuf)> {
    let mut files = Vec::new();
    for block in blocks {
        if let ContentBlock::ResourceLink(link) = block
            && let Some(path) = path(&link.uri)
            && !files.iter().any(|(uri, _)| *uri == link.uri)
        {
            files.push((link.uri.clone(), path));
        }
    }
    files
}

/// Where the file lies that an address names; lines in it do not matter.
fn path(uri: &str) -> Option<PathBuf> {
    let path = uri.strip_prefix("file://")?.split('#').next()?;
    let path = PathBuf::from(percent_decode_str(path).decode_utf8().ok()?.into_owned());
    path.is_absolute().then_some(path)
}

/// What a prompt says, with the texts of files that the editor has not saved, by their addresses.
pub(crate) fn content(
    blocks: Vec<ContentBlock>,
    unsaved: &BTreeMap<String, String>,
) -> Result<Vec<Content>, Error> {
    let mut content = Vec::new();
    let mut resources = String::new();
    for block in blocks {
        match block {
            ContentBlock::Text(text) => content.push(Content::Text { text: text.text }),
            ContentBlock::Image(image) => {
                if image.data.is_empty() {
                    return Err(invalid("the picture is empty: its bytes are wanted, not its address"));
                }
                content.push(Content::Image { media_type: image.mime_type, base64: image.data });
            }
            ContentBlock::ResourceLink(link) => {
                content.push(Content::Text { text: mention(&link.uri, Some(&link.name)) });
                if let Some(text) = unsaved.get(&link.uri) {
                    let uri = link.uri.replace('"', "%22");
                    // Writing to a text cannot fail.
                    let _ = write!(
                        resources,
                        "\n<context ref=\"{uri}\" note=\"as it stands in the editor, not saved yet\">\n{text}\n</context>"
                    );
                }
            }
            ContentBlock::Resource(resource) => match resource.resource {
                EmbeddedResourceResource::TextResourceContents(text) => {
                    content.push(Content::Text { text: mention(&text.uri, None) });
                    let uri = text.uri.replace('"', "%22");
                    // Writing to a text cannot fail.
                    let _ = write!(resources, "\n<context ref=\"{uri}\">\n{}\n</context>", text.text);
                }
                EmbeddedResourceResource::BlobResourceContents(blob) => {
                    let media_type = blob.mime_type.unwrap_or_default();
                    content.push(match media_type.as_str() {
                        "application/pdf" => Content::Document { media_type, base64: blob.blob },
                        kind if kind.starts_with("image/") => {
                            Content::Image { media_type, base64: blob.blob }
                        }
                        _ => Content::Text { text: mention(&blob.uri, None) },
                    });
                }
                _ => return Err(invalid("a resource of this kind is not understood")),
            },
            ContentBlock::Audio(_) => return Err(invalid("sound is not understood")),
            _ => return Err(invalid("content of this kind is not understood")),
        }
    }
    if !resources.is_empty() {
        content.push(Content::Text { text: resources });
    }
    let empty = |part: &Content| matches!(part, Content::Text { text } if text.is_empty());
    content.retain(|part| !empty(part));
    if content.is_empty() {
        return Err(invalid("the prompt is empty"));
    }
    Ok(content)
}

/// The trace that a prompt is a part of. The protocol reserves these names for it; what is no text is none.
pub(crate) fn trace(meta: Option<&Meta>) -> Option<Trace> {
    let text = |name| Some(meta?.get(name)?.as_str()?.to_owned());
    Some(Trace { parent: text("traceparent")?, state: text("tracestate") })
}

/// A resource, as it is mentioned in a text.
fn mention(uri: &str, name: Option<&str>) -> String {
    let path = uri.strip_prefix("file://").unwrap_or(uri);
    let last = path.rsplit('/').find(|part| !part.is_empty()).unwrap_or(path);
    let name = name.filter(|name| !name.is_empty()).unwrap_or(last);
    format!("[@{name}]({uri})")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]

    use super::*;

    fn read(blocks: &str) -> Result<Vec<Content>, Error> {
        content(serde_json::from_str(blocks).unwrap(), &BTreeMap::new())
    }

    #[test]
    fn a_trace_is_what_stands_as_a_text_under_the_names_that_are_reserved_for_it() {
        let read = |meta| trace(Some(&serde_json::from_str(meta).unwrap()));
        let of = |parent: &str, state: Option<&str>| {
            Some(Trace { parent: parent.to_owned(), state: state.map(str::to_owned) })
        };
        assert_eq!(read(r#"{"traceparent":"p","tracestate":"s","other":1}"#), of("p", Some("s")));
        assert_eq!(read(r#"{"traceparent":"p","tracestate":["s"]}"#), of("p", None));
        for none in [r#"{"traceparent":["p"]}"#, r#"{"traceparent":null}"#, r#"{"tracestate":"s"}"#, "{}"] {
            assert_eq!(read(none), None, "{none}");
        }
        assert_eq!(trace(None), None);
    }

    fn text(text: &str) -> Content {
        Content::Text { text: text.to_owned() }
    }

    #[test]
    fn links_are_mentions_and_texts_of_resources_follow_the_prompt() {
        let said = read(
            r#"[{"type":"text","text":"look at "},
                {"type":"resource_link","name":"a.rs","uri":"file:///w/a.rs"},
                {"type":"resource","resource":{"uri":"file:///w/b.rs","text":"fn b() {}"}},
                {"type":"text","text":" please"}]"#,
        );
        let expected = [
            text("look at "),
            text("[@a.rs](file:///w/a.rs)"),
            text("[@b.rs](file:///w/b.rs)"),
            text(" please"),
            text("\n<context ref=\"file:///w/b.rs\">\nfn b() {}\n</context>"),
        ];
        assert_eq!(said.unwrap(), expected);
    }

    #[test]
    fn what_is_not_saved_follows_the_prompt() {
        let blocks = r#"[{"type":"text","text":"look"},
            {"type":"resource_link","name":"a b.rs","uri":"file:///w/a%20b.rs#L3:4"},
            {"type":"resource_link","name":"a b.rs","uri":"file:///w/a%20b.rs#L3:4"},
            {"type":"resource_link","name":"x","uri":"https://h/x"},
            {"type":"resource","resource":{"uri":"file:///w/b.rs","text":"fn b() {}"}}]"#;
        let blocks: Vec<ContentBlock> = serde_json::from_str(blocks).unwrap();
        let uri = "file:///w/a%20b.rs#L3:4".to_owned();
        assert_eq!(files(&blocks), [(uri.clone(), PathBuf::from("/w/a b.rs"))]);
        let said = content(blocks, &BTreeMap::from([(uri, "fn new() {}".to_owned())])).unwrap();
        let Some(Content::Text { text }) = said.last() else { panic!("{said:?}") };
        assert!(text.contains("not saved yet\">\nfn new() {}\n</context>"), "{text}");
        assert!(text.contains("fn b() {}"), "{text}");
    }

    #[test]
    fn pictures_go_as_they_are_and_sound_is_refused() {
        let said = read(r#"[{"type":"image","mimeType":"image/png","data":"QQ=="}]"#).unwrap();
        assert_eq!(said, [Content::Image { media_type: "image/png".to_owned(), base64: "QQ==".to_owned() }]);
        assert!(read(r#"[{"type":"audio","mimeType":"audio/wav","data":"QQ=="}]"#).is_err());
        assert!(read(r#"[{"type":"text","text":""}]"#).is_err() && read("[]").is_err());
    }
}

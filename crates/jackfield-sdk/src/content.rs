//! What prompts are made of besides words: pictures, documents, files by name, commands.
//!
//! Not a picture library: nothing is decoded, scaled or converted (the CLI makes large pictures smaller
//! itself). The one rule it keeps: what the API would refuse is refused here, before it is sent. A bad block
//! kills the CLI or is replaced [basic/image_block_bad], and one that gets through stays in the conversation,
//! so that every later turn fails as well.

mod picture;

use std::io;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jackfield_api::command::{Content, Rejection, RejectionCode};
use tokio::io::AsyncReadExt as _;

pub use picture::{Format, PictureError, Size, look};

/// The largest picture, in bytes.
pub const PICTURE_LIMIT: usize = 32 * 1024 * 1024;
/// The largest document, in bytes; the API takes no larger request.
pub const DOCUMENT_LIMIT: usize = 24 * 1024 * 1024;

/// Why something cannot be part of a prompt.
#[derive(Debug, thiserror::Error)]
pub enum ContentError {
    /// It is no picture that the API takes.
    #[error("cannot send a picture: {0}")]
    Picture(#[from] PictureError),
    /// A picture is called what it is not.
    #[error("cannot send a picture as `{said}`: it is {found:?}")]
    WrongFormat {
        /// The media type that was given.
        said: String,
        /// What it is.
        found: Format,
    },
    /// A document is empty.
    #[error("cannot send a document: it is empty")]
    EmptyDocument,
    /// A document is too large.
    #[error("cannot send a document of {bytes} bytes: at most {DOCUMENT_LIMIT} are taken")]
    LargeDocument {
        /// Its size.
        bytes: usize,
    },
    /// It does not begin like a PDF.
    #[error("cannot send a document as PDF: it does not begin with `%PDF-`")]
    NotPdf,
    /// A plain text is not UTF-8.
    #[error("cannot send a document as plain text: it is not UTF-8")]
    NotText,
    /// The API takes other documents.
    #[error("cannot send a document of the type `{media_type}`: PDF and plain text are taken")]
    UnknownDocument {
        /// Its media type.
        media_type: String,
    },
    /// What should be Base64 is not.
    #[error("cannot send an attachment: it is not Base64")]
    NotBase64,
    /// A file cannot be read.
    #[error("cannot read {} for a prompt: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// The CLI would not find a file by this name in a text.
    #[error("cannot mention {}: a path with `\"`, `#`, a line break or bytes that are not UTF-8 is not understood", path.display())]
    Mention {
        /// The path.
        path: PathBuf,
    },
    /// It is not the name of a command.
    #[error("cannot run the command `{name}`: a name has no spaces and no `/`, and is not empty")]
    CommandName {
        /// The name.
        name: String,
    },
}

/// Words.
pub fn text(text: impl Into<String>) -> Content {
    Content::Text { text: text.into() }
}

/// A picture: PNG, JPEG, GIF or WebP, recognised by its bytes.
///
/// ```
/// use jackfield_sdk::content;
///
/// let gif = b"GIF89a\x01\0\x01\0\0\0\0,\0\0\0\0\x01\0\x01\0\0\x02\x01D\0;";
/// assert!(content::picture(gif).is_ok());
/// assert!(content::picture(b"<svg/>").is_err());
/// ```
pub fn picture(bytes: &[u8]) -> Result<Content, ContentError> {
    let (format, _) = look(bytes)?;
    Ok(Content::Image { media_type: format.media_type().to_owned(), base64: STANDARD.encode(bytes) })
}

/// A picture in a file.
pub async fn picture_file(path: impl AsRef<Path>) -> Result<Content, ContentError> {
    picture(&read(path.as_ref(), PICTURE_LIMIT).await?)
}

/// A PDF.
pub fn pdf(bytes: &[u8]) -> Result<Content, ContentError> {
    document("application/pdf", bytes)
}

/// A PDF in a file.
pub async fn pdf_file(path: impl AsRef<Path>) -> Result<Content, ContentError> {
    pdf(&read(path.as_ref(), DOCUMENT_LIMIT).await?)
}

/// A plain text that is a document, not words of the user.
pub fn text_document(text: &str) -> Result<Content, ContentError> {
    document("text/plain", text.as_bytes())
}

/// The words by which a prompt's text brings a file or folder along: the CLI reads it before the model does.
/// They must stand between spaces or line breaks, in the last part of the prompt. A relative path is relative to the session's folder; a file
/// that is not there is passed over in silence [basic/at_file_mention].
///
/// ```
/// use jackfield_sdk::content::mention;
///
/// let prompt = format!("Explain {} please", mention("src/my file.rs")?);
/// assert_eq!(prompt, r#"Explain @"src/my file.rs" please"#);
/// # Ok::<(), jackfield_sdk::content::ContentError>(())
/// ```
pub fn mention(path: impl AsRef<Path>) -> Result<String, ContentError> {
    Ok(format!("@\"{}\"", mentionable(path.as_ref())?))
}

/// [`mention`] for some lines of a file, counted from 1.
pub fn mention_lines(path: impl AsRef<Path>, lines: RangeInclusive<u32>) -> Result<String, ContentError> {
    Ok(format!("@\"{}#L{}-{}\"", mentionable(path.as_ref())?, lines.start(), lines.end()))
}

/// A slash command, which has to be the last part of the prompt and nothing else in it. [`Session::ready`](crate::Session::ready) tells which
/// there are.
pub fn command(name: &str, arguments: &str) -> Result<Content, ContentError> {
    if name.is_empty() || name.contains(|letter: char| letter.is_whitespace() || letter == '/') {
        return Err(ContentError::CommandName { name: name.to_owned() });
    }
    Ok(text(format!("/{name} {arguments}").trim_end()))
}

/// Checks a prompt that somebody else may have put together.
pub(crate) fn check(content: &[Content]) -> Result<(), Rejection> {
    let bad = content.iter().find_map(|content| check_content(content).err());
    bad.map_or(Ok(()), |error| Err(Rejection { code: RejectionCode::Invalid, reason: error.to_string() }))
}

fn check_content(content: &Content) -> Result<(), ContentError> {
    match content {
        Content::Text { .. } => Ok(()),
        Content::Image { media_type, base64 } => {
            let (found, _) = look(&decode(base64)?)?;
            if found.media_type() == media_type {
                return Ok(());
            }
            Err(ContentError::WrongFormat { said: media_type.clone(), found })
        }
        Content::Document { media_type, base64 } => check_document(media_type, &decode(base64)?),
    }
}

fn document(media_type: &str, bytes: &[u8]) -> Result<Content, ContentError> {
    check_document(media_type, bytes)?;
    Ok(Content::Document { media_type: media_type.to_owned(), base64: STANDARD.encode(bytes) })
}

fn check_document(media_type: &str, bytes: &[u8]) -> Result<(), ContentError> {
    if bytes.is_empty() {
        return Err(ContentError::EmptyDocument);
    }
    if bytes.len() > DOCUMENT_LIMIT {
        return Err(ContentError::LargeDocument { bytes: bytes.len() });
    }
    match media_type {
        "application/pdf" if bytes.starts_with(b"%PDF-") => Ok(()),
        "application/pdf" => Err(ContentError::NotPdf),
        "text/plain" => std::str::from_utf8(bytes).map(drop).map_err(|_| ContentError::NotText),
        _ => Err(ContentError::UnknownDocument { media_type: media_type.to_owned() }),
    }
}

fn decode(base64: &str) -> Result<Vec<u8>, ContentError> {
    STANDARD.decode(base64).map_err(|_| ContentError::NotBase64)
}

/// Reads one byte more than may be, so that what is too large is known to be.
async fn read(path: &Path, limit: usize) -> Result<Vec<u8>, ContentError> {
    let failed = |source| ContentError::File { path: path.to_owned(), source };
    let file = tokio::fs::File::open(path).await.map_err(failed)?;
    let mut bytes = Vec::new();
    file.take(limit as u64 + 1).read_to_end(&mut bytes).await.map_err(failed)?;
    Ok(bytes)
}

fn mentionable(path: &Path) -> Result<String, ContentError> {
    let error = || ContentError::Mention { path: path.to_owned() };
    let text = path.to_str().filter(|text| !text.is_empty() && !text.contains(['"', '#', '\n', '\r']));
    let text = text.ok_or_else(error)?;
    // By itself it would be somebody's home.
    Ok(if text.starts_with('~') { format!("./{text}") } else { text.to_owned() })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use super::*;

    #[test]
    fn documents_are_looked_at_before_they_are_sent() {
        assert!(pdf(b"%PDF-1.7\n%%EOF").is_ok());
        assert!(matches!(pdf(b"<html>").unwrap_err(), ContentError::NotPdf));
        assert!(matches!(pdf(b"").unwrap_err(), ContentError::EmptyDocument));
        assert!(text_document("words").is_ok());
        assert!(matches!(document("text/plain", b"\xff").unwrap_err(), ContentError::NotText));
        assert!(matches!(document("text/html", b"x").unwrap_err(), ContentError::UnknownDocument { .. }));
        let large = vec![b' '; DOCUMENT_LIMIT + 1];
        assert!(matches!(document("text/plain", &large).unwrap_err(), ContentError::LargeDocument { .. }));
    }

    #[test]
    fn what_somebody_else_encoded_is_checked_too() {
        let image = |media_type: &str, base64: &str| {
            check_content(&Content::Image { media_type: media_type.to_owned(), base64: base64.to_owned() })
        };
        let gif = "R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7";
        assert!(image("image/gif", gif).is_ok());
        assert!(matches!(image("image/png", gif).unwrap_err(), ContentError::WrongFormat { .. }));
        assert!(matches!(image("image/gif", "no base64").unwrap_err(), ContentError::NotBase64));
        assert!(matches!(image("image/gif", "").unwrap_err(), ContentError::Picture(PictureError::Empty)));
    }

    #[test]
    fn paths_are_quoted_and_impossible_ones_refused() {
        assert_eq!(mention("a b.rs").unwrap(), r#"@"a b.rs""#);
        assert_eq!(mention("~").unwrap(), r#"@"./~""#);
        assert_eq!(mention_lines("/ws/a.rs", 2..=3).unwrap(), r#"@"/ws/a.rs#L2-3""#);
        for path in ["", "a\"b", "a#b", "a\nb"] {
            assert!(mention(path).is_err(), "{path:?}");
        }
    }

    #[test]
    fn commands_have_names_without_spaces() {
        assert_eq!(command("compact", "").unwrap(), text("/compact"));
        assert_eq!(command("review", "the last commit").unwrap(), text("/review the last commit"));
        for name in ["", "a b", "/compact", "usr/bin"] {
            assert!(command(name, "").is_err(), "{name:?}");
        }
    }
}

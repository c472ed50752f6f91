//! What a tool gives back: text, JSON, pictures, or the reason why there is nothing.
//!
//! Not the answer's form on the wire; `rmcp` has that. The one rule it keeps: an error is a result too, which
//! the model reads.

use std::error::Error;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rmcp::model::{CallToolResult, ContentBlock};
use serde::Serialize;
use serde_json::Value;

/// The result of a tool: any number of texts and pictures, and at most one structured value.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ToolOutput {
    content: Vec<ContentBlock>,
    structured: Option<Value>,
}

/// Why a tool has no result, in words for the model.
///
/// Every error becomes one, with its sources, so `?` works in a tool's function. (For that it is no
/// [`std::error::Error`] itself.)
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolError {
    text: String,
}

/// The pictures that the model can see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImageType {
    /// `image/png`
    Png,
    /// `image/jpeg`
    Jpeg,
    /// `image/gif`
    Gif,
    /// `image/webp`
    Webp,
}

impl ToolOutput {
    /// Nothing to say.
    pub fn empty() -> Self {
        Self::default()
    }

    /// A text.
    pub fn text(text: impl Into<String>) -> Self {
        Self { content: vec![ContentBlock::text(text)], structured: None }
    }

    /// A value as JSON: structured for programs, and the same as text for the model. Beside other texts it is
    /// only text.
    pub fn json<T: Serialize + ?Sized>(value: &T) -> Result<Self, ToolError> {
        let value = serde_json::to_value(value)?;
        let content = vec![ContentBlock::text(value.to_string())];
        // Structured content is an object up to the protocol version that the CLI speaks.
        let structured = value.is_object().then_some(value);
        Ok(Self { content, structured })
    }

    /// A picture, from its bytes.
    pub fn image(bytes: impl AsRef<[u8]>, image_type: ImageType) -> Self {
        let data = STANDARD.encode(bytes);
        Self { content: vec![ContentBlock::image(data, image_type.media_type())], structured: None }
    }

    /// This and then that.
    #[must_use]
    pub fn and(mut self, next: impl Into<Self>) -> Self {
        let next = next.into();
        self.content.extend(next.content);
        self.structured = next.structured.or(self.structured);
        self
    }

    pub(super) fn into_result(self) -> CallToolResult {
        // The CLI shows the model a structured value in the place of all texts, so others would be lost.
        let texts = self.content.iter().filter(|content| content.as_text().is_some()).count();
        let mut result = CallToolResult::success(self.content);
        result.structured_content = self.structured.filter(|_| texts == 1);
        result
    }
}

impl From<String> for ToolOutput {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

impl From<&str> for ToolOutput {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl From<()> for ToolOutput {
    fn from((): ()) -> Self {
        Self::empty()
    }
}

impl ToolError {
    /// An error in words.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into() }
    }

    /// The words.
    pub fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn into_result(self) -> CallToolResult {
        CallToolResult::error(vec![ContentBlock::text(self.text)])
    }
}

impl<E: Error> From<E> for ToolError {
    fn from(error: E) -> Self {
        let mut text = error.to_string();
        let mut source = error.source();
        while let Some(cause) = source {
            text = format!("{text}: {cause}");
            source = cause.source();
        }
        Self { text }
    }
}

impl ImageType {
    /// The name in the MIME system.
    pub fn media_type(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
            Self::Gif => "image/gif",
            Self::Webp => "image/webp",
        }
    }
}

//! The page, embedded in the program.
//!
//! Its build output is in `web/dist`, and names its files from the root; below a base path they are named from there.
//! The one rule it keeps: whatever path the page itself gave a name gets the
//! page, and a file that is not there is not there.

use std::borrow::Cow;

use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, IF_NONE_MATCH};
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rust_embed::{EmbeddedFile, RustEmbed};

use crate::refusal::Refusal;
use crate::router::Server;

#[derive(RustEmbed)]
#[folder = "../../web/dist"]
struct Files;

/// Answers with a file of the page, or with the page.
pub(crate) async fn page(
    State(server): State<Server>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
) -> Response {
    let base = &server.access.gate.names().base;
    let path = uri.path().trim_start_matches('/');
    if path == "api" || path.starts_with("api/") {
        return Refusal::not_found("route").into_response();
    }
    if method != Method::GET && method != Method::HEAD {
        return Refusal::new(StatusCode::METHOD_NOT_ALLOWED, "invalid", "the page can only be read")
            .into_response();
    }
    if let Some(file) = Files::get(path) {
        return answer(path, &file, base, &headers);
    }
    // A name with a dot is a file's.
    let named = path.rsplit('/').next().unwrap_or_default();
    match Files::get("index.html").filter(|_| !named.contains('.')) {
        Some(file) => answer("index.html", &file, base, &headers),
        None => Refusal::not_found("file").into_response(),
    }
}

fn answer(path: &str, file: &EmbeddedFile, base: &str, headers: &HeaderMap) -> Response {
    let tag = format!("\"{}{base}\"", URL_SAFE_NO_PAD.encode(file.metadata.sha256_hash()));
    // The build puts a digest of the content into the names there.
    let kept = if path.starts_with("assets/") { "public, max-age=31536000, immutable" } else { "no-cache" };
    let known = headers.get(IF_NONE_MATCH).is_some_and(|known| known.as_bytes() == tag.as_bytes());
    let head = [(CACHE_CONTROL, kept.to_owned()), (ETAG, tag)];
    if known {
        return (StatusCode::NOT_MODIFIED, head).into_response();
    }
    (head, [(CONTENT_TYPE, media_type(path))], below(path, file, base)).into_response()
}

/// A file with the names in it as they are below the base path.
fn below(path: &str, file: &EmbeddedFile, base: &str) -> Cow<'static, [u8]> {
    let text = std::str::from_utf8(&file.data).ok();
    match (path, text) {
        _ if base.is_empty() => file.data.clone(),
        ("index.html", Some(text)) => text.replace("=\"/", &format!("=\"{base}/")).into_bytes().into(),
        ("manifest.webmanifest", Some(text)) => {
            text.replace(": \"/", &format!(": \"{base}/")).into_bytes().into()
        }
        _ => file.data.clone(),
    }
}

fn media_type(path: &str) -> &'static str {
    match path.rsplit('.').next().unwrap_or_default() {
        "html" => "text/html; charset=utf-8",
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "ico" => "image/x-icon",
        "woff2" => "font/woff2",
        "json" | "map" => "application/json",
        "webmanifest" => "application/manifest+json",
        "wasm" => "application/wasm",
        "txt" => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}

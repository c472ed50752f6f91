//! Tools that ask the web: `WebFetch`, `WebSearch`.
//!
//! Not a client: the CLI does the asking. The one rule: a search looks like a request whose address is what
//! is searched for.

use jackfield_api::normalized::HttpRequest;

use super::ToolResult;
use super::fields::Fields;

/// The shape of a `WebFetch`.
pub(super) fn fetch(input: &Fields<'_>) -> HttpRequest {
    request("GET", input.text("url"))
}

/// The shape of a `WebSearch`.
pub(super) fn search(input: &Fields<'_>) -> HttpRequest {
    request("SEARCH", input.text("query"))
}

/// Adds what came back.
pub(super) fn complete(request: &mut HttpRequest, result: &ToolResult<'_>) {
    request.response = result.text().or_else(|| result.fields()?.text("result"));
    request.is_error = result.is_error;
}

fn request(method: &str, url: Option<String>) -> HttpRequest {
    HttpRequest { url: url.unwrap_or_default(), method: method.to_owned(), response: None, is_error: false }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_failed_fetch_says_why() {
        // [tools/webfetch_websearch]
        let input = r#"{"url":"http://127.0.0.1:9/x","prompt":"p"}"#;
        let mut request = fetch(&Fields::read(input).unwrap());
        assert_eq!((request.method.as_str(), request.url.as_str()), ("GET", "http://127.0.0.1:9/x"));
        let content = Some(r#""Unable to verify if domain 127.0.0.1 is safe to fetch.""#);
        complete(&mut request, &ToolResult { content, structured: None, is_error: true });
        assert!(request.is_error);
        assert!(request.response.unwrap().starts_with("Unable to verify"));
    }

    #[test]
    fn a_fetch_without_content_takes_the_structured_result() {
        let mut request = fetch(&Fields::read(r#"{"url":"u"}"#).unwrap());
        let structured = Some(r#"{"bytes":9,"code":200,"codeText":"OK","result":"page"}"#);
        complete(&mut request, &ToolResult { content: None, structured, is_error: false });
        assert_eq!((request.response.as_deref(), request.is_error), (Some("page"), false));
    }

    #[test]
    fn a_search_is_a_request_for_its_words() {
        let request = search(&Fields::read(r#"{"query":"jackfield"}"#).unwrap());
        assert_eq!((request.method.as_str(), request.url.as_str()), ("SEARCH", "jackfield"));
    }
}

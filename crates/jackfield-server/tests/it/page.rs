//! The embedded page.

use crate::stage::Stage;
use crate::wire::{Answer, ask, request};

async fn get(stage: &Stage, path: &str, headers: &[(&str, &str)]) -> Answer {
    let host = stage.address.to_string();
    let headers = [&[("host", host.as_str())], headers].concat();
    ask(stage.address, request(&format!("GET {path}"), &headers, "")).await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_and_all_that_it_names_are_there_and_none_of_it_is_inline() {
    let stage = Stage::new().await;
    let page = get(&stage, "/", &[]).await;
    assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"));
    assert_eq!(page.header("cache-control"), Some("no-cache"));
    let names = page.body.split(['"', '\'']).filter(|word| word.starts_with('/') || word.starts_with("./"));
    let mut scripts = 0;
    for name in names {
        let file = get(&stage, name.trim_start_matches('.'), &[]).await;
        assert_eq!(file.status, 200, "{name}");
        let kind = file.header("content-type").unwrap();
        match name.rsplit('.').next() {
            Some("js") => {
                assert_eq!(kind, "text/javascript; charset=utf-8");
                scripts += 1;
            }
            Some("css") => assert_eq!(kind, "text/css; charset=utf-8"),
            _ => {}
        }
    }
    assert!(scripts > 0, "{}", page.body);
    // Its own policy would not run them.
    for script in page.body.split("<script").skip(1) {
        let inside = script.split_once('>').unwrap().1.split("</script>").next().unwrap();
        assert_eq!(inside.trim(), "");
    }
    assert!(!page.body.contains("<style") && !page.body.contains(" style="));
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_browser_has_already_is_not_sent_again() {
    let stage = Stage::new().await;
    let page = get(&stage, "/", &[]).await;
    let tag = page.header("etag").unwrap();
    let again = get(&stage, "/", &[("if-none-match", tag)]).await;
    assert_eq!((again.status, again.body.as_str()), (304, ""));
    assert_eq!(get(&stage, "/", &[("if-none-match", "\"other\"")]).await.status, 200);
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_view_is_the_page_and_nothing_else_of_the_disk_is() {
    let stage = Stage::new().await;
    let page = get(&stage, "/", &[]).await.body;
    assert_eq!(get(&stage, "/sessions/some-id", &[]).await.body, page);
    for path in
        ["/missing.js", "/../Cargo.toml", "/%2e%2e/Cargo.toml", "/assets/../../Cargo.toml", "/api", "/api/"]
    {
        assert_eq!(get(&stage, path, &[]).await.status, 404, "{path}");
    }
    stage.end().await;
}

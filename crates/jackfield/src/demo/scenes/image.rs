//! A picture as the result of a tool.

use serde_json::json;

use super::Stage;
use crate::demo::files;
use crate::demo::step::{Call, Reply, Step, Work, say};

/// A panel of jacks, 96 by 64 pixels.
const PICTURE: &str = "iVBORw0KGgoAAAANSUhEUgAAAGAAAABABAMAAAAXGm89AAAAMFBMVEUePIwrQog4SIRGToBTVHxgWnhuYHR7ZnCIbGyWcmijeGSw\
    fmC+hFzLiljYkFTmllBXbHl+AAAAxklEQVR42uWSsQ1CMQxEvUImQMoCFKxAT5WajhUoadNR/xVoGCAFC7AMCASC4rAzwfkXURSu\
    eXeWXmeRf0wIAbiFwFKFBQDbHHsUYlxqiZGlChG424GjRGcaCCtnhhDWzpgAPGqnqMJGf8Q2xwZCSlstKbGcIyTgaQeOkpzxCztn\
    hhD2zswSgFftFFU46I/Y5ugXcj5qyZllEyEDbztwlOyMTM4MIZycaSMAn9opqnDWH7HNUUq5aCmFZZ9CAb524ChXZzoUfpz65Oyy\
    NhE0AAAAAElFTkSuQmCC";

pub(super) fn steps(stage: &Stage<'_>) -> Vec<Step> {
    let source = json!({ "type": "base64", "data": PICTURE, "media_type": "image/png" });
    let file = json!({ "base64": PICTURE, "type": "image/png", "originalSize": PICTURE.len() / 4 * 3 });
    let reply =
        Reply::new(json!([{ "type": "image", "source": source }]), json!({ "type": "image", "file": file }));
    let input = json!({ "file_path": files::path(stage.cwd, "jackfield-demo/panel.png") });
    vec![
        say("I look at a picture."),
        Call::new("Read", input, Work::Reply(reply)).into(),
        say("A panel with rows of jacks."),
    ]
}

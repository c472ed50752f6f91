//! Text to read, as a person has looked at it.

use crate::program::{recording, recordings, run};

fn text(name: &str, color: &str) -> String {
    let path = recording(name);
    let finished = run([
        "replay".as_ref(),
        "--format=text".as_ref(),
        format!("--color={color}").as_ref(),
        path.as_os_str(),
    ]);
    assert_eq!((finished.code, finished.err.as_str()), (Some(0), ""));
    finished.out
}

#[test]
fn recordings_can_be_read() {
    for name in ["tools/parallel_subagents", "tools/read_write_edit", "permission/ask_user_question_answers"]
    {
        insta::assert_snapshot!(name.replace('/', "-"), text(name, "never"));
    }
}

#[test]
fn colours_can_be_asked_for() {
    let coloured = text("errors/http_529_exhausted", "always");
    insta::assert_snapshot!("errors-http_529_exhausted-coloured", coloured.replace('\u{1b}', "␛"));
}

#[test]
fn there_are_no_colours_where_there_is_no_terminal() {
    assert_eq!(text("tools/read_write_edit", "auto"), text("tools/read_write_edit", "never"));
}

#[test]
fn every_recording_can_be_read_and_none_commands_the_terminal() {
    for path in recordings() {
        let finished = run(["replay".as_ref(), "--format=text".as_ref(), path.as_os_str()]);
        assert_eq!((finished.code, finished.err.as_str()), (Some(0), ""), "{}", path.display());
        // Recordings of an editor's wire have nothing to say about a session.
        let silent = run(["replay".as_ref(), path.as_os_str()]).out.is_empty();
        assert_eq!(finished.out.is_empty(), silent, "{}", path.display());
        let commands = finished.out.chars().filter(|c| c.is_control() && !matches!(c, '\n' | '\t')).count();
        assert_eq!(commands, 0, "{}", path.display());
    }
}

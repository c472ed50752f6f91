//! How a run ends: what is on which stream, and with which code.

use std::io::Read;
use std::process::Stdio;

use rustix::process::Signal;

use super::stage::{Stage, lines, object, signal, until};
use crate::program::{Finished, feed};

#[test]
fn text_is_the_last_answer_alone() {
    let finished = Stage::new().demo("read", &[]);
    assert_eq!((finished.code, finished.err.as_str()), (Some(0), ""));
    let whole = Stage::new().demo("read", &["--output-format", "events"]);
    let texts: Vec<String> = lines(&whole)
        .iter()
        .filter(|event| event["type"] == "message_chunk")
        .map(|event| event["text"].as_str().unwrap().to_owned())
        .collect();
    let said = texts.concat();
    assert!(said.trim_end().ends_with(finished.out.trim_end()), "{said}\n---\n{}", finished.out);
    assert!(said.len() > finished.out.len(), "what was said before the last tool is not the answer");
}

#[test]
fn json_is_one_object_with_everything() {
    let stage = Stage::new();
    let finished = stage.demo("markdown", &["--output-format", "json"]);
    assert_eq!((finished.code, finished.err.as_str()), (Some(0), ""));
    assert_eq!(finished.out.lines().count(), 1);
    let told = object(&finished);
    assert!(told["result"].as_str().unwrap().starts_with("## An answer"));
    assert_eq!(
        (&told["error"], &told["exit_code"], &told["turn"]),
        (&serde_json::Value::Null, &0.into(), &1.into())
    );
    assert!(told["cost_usd"].as_f64().unwrap() > 0.0);
    assert!(told["usage"]["output_tokens"].as_u64().unwrap() > 0);
    let [session] = &stage.sessions()[..] else { panic!("one session was made") };
    assert_eq!(told["session_id"], session["session_id"]);
    assert_eq!(told["cli_session_id"], session["cli_session_id"]);
    assert_eq!((&session["title"], &session["state"]), (&"markdown".into(), &"ended".into()));
}

#[test]
fn events_are_all_of_the_session_and_the_same_as_the_host_keeps() {
    let stage = Stage::new();
    let finished = stage.demo("think", &["--output-format", "events"]);
    assert_eq!((finished.code, finished.err.as_str()), (Some(0), ""));
    let events = lines(&finished);
    let seqs: Vec<u64> = events.iter().map(|event| event["seq"].as_u64().unwrap()).collect();
    assert!(seqs.windows(2).all(|pair| pair[1] == pair[0] + 1), "{seqs:?}");
    assert_eq!(events.last().unwrap()["type"], "run_ended");
    let id = events[0]["session_id"].as_str().unwrap();
    let shown = stage.jackfield(&["sessions", "show", &id[..8]]);
    assert!(shown.out.contains("❯ think"), "{}", shown.out);
}

#[test]
fn a_question_without_a_terminal_is_denied_and_the_code_says_so() {
    let finished = Stage::new().demo("edit", &[]);
    assert_eq!(finished.code, Some(4));
    assert!(finished.out.contains("Nothing on your disk was changed."), "{}", finished.out);
    let denied: Vec<&str> = finished.err.lines().collect();
    assert_eq!(denied.len(), 2, "{}", finished.err);
    assert!(
        denied[0].starts_with("jackfield: denied, because nobody can be asked: Edit "),
        "{}",
        finished.err
    );
}

#[test]
fn what_was_allowed_beforehand_runs_and_what_was_denied_does_not() {
    let allowed = Stage::new().demo("edit", &["--allow", "Edit", "--allow", "Write"]);
    assert_eq!((allowed.code, allowed.err.as_str()), (Some(0), ""));
    let edits = Stage::new().demo("edit", &["--mode", "act"]);
    assert_eq!((edits.code, edits.out), (Some(0), allowed.out));

    // Who denies it beforehand wants it so.
    let denied =
        Stage::new().demo("edit", &["--allow", "Edit", "--deny", "Write", "--output-format", "json"]);
    assert_eq!((denied.code, denied.err.as_str()), (Some(0), ""));
    let told = object(&denied);
    assert_eq!(told["permission_denials"].as_array().unwrap().len(), 1);
    let one = Stage::new().demo("edit", &["--allow", "Edit(elsewhere/**)"]);
    assert_eq!(one.code, Some(4), "{}", one.err);
}

#[test]
fn a_turn_that_fails_has_no_answer_and_code_1() {
    let finished = Stage::new().demo("error", &[]);
    assert_eq!((finished.code, finished.out.as_str()), (Some(1), ""));
    assert!(finished.err.contains("the turn failed: API Error: Repeated 529"), "{}", finished.err);
    let crashed = Stage::new().demo("crash", &["--output-format", "json"]);
    assert_eq!(crashed.code, Some(1));
    assert!(object(&crashed)["error"]["error"].as_str().unwrap().contains("exited"), "{}", crashed.out);
}

#[test]
fn without_a_cli_the_code_is_3_and_nothing_is_left_behind() {
    let stage = Stage::new();
    let finished = stage.jackfield(&["run", "hello"]);
    assert_eq!((finished.code, finished.out.as_str()), (Some(3), ""));
    assert!(finished.err.contains("hint: `jackfield doctor`"), "{}", finished.err);
    assert!(stage.sessions().is_empty());
    let alone = stage.jackfield(&["run", "hello", "--output-format", "stream-json"]);
    assert_eq!((alone.code, alone.out.as_str()), (Some(3), ""));
}

#[test]
fn a_spent_budget_is_code_5() {
    let stage = Stage::new();
    let first = stage.demo("think", &["--budget", "0.000001"]);
    assert_eq!(first.code, Some(0), "{}", first.err);
    let second = stage.jackfield(&["run", "--continue", "think"]);
    assert_eq!((second.code, second.out.as_str()), (Some(5), ""), "{}", second.err);
    assert!(second.err.contains("hint: `--budget` raises it"), "{}", second.err);
    let third = stage.jackfield(&["run", "--continue", "think", "--budget", "10"]);
    assert_eq!(third.code, Some(0), "{}", third.err);
}

#[test]
fn words_that_make_no_sense_are_code_2() {
    let stage = Stage::new();
    for (arguments, told) in [
        (vec!["run"], "there is no prompt"),
        (vec!["run", "x", "--cwd", "/no/such/folder"], "cannot use the folder `/no/such/folder`"),
        (
            vec!["run", "x", "--json-schema", "nowhere.json"],
            "`--json-schema` is neither a file nor a JSON object",
        ),
        (vec!["run", "x", "--allow", "Bash("], "`--allow Bash(` makes no sense"),
        (vec!["run", "x", "--resume", "nobody"], "there is no session `nobody`"),
        (vec!["run", "x", "--continue"], "there is no session yet"),
        (vec!["run", "x", "--agent", "demo", "--ask", "host"], "no host is running"),
        (vec!["run", "x", "--mode", "yolo"], "expected `ask`, `act`, `plan`"),
        (vec!["run", "x", "--resume", "a", "--trust"], "cannot be used with"),
    ] {
        let finished = stage.jackfield(&arguments);
        assert_eq!((finished.code, finished.out.as_str()), (Some(2), ""), "{arguments:?}: {}", finished.err);
        assert!(finished.err.contains(told), "{arguments:?}: {}", finished.err);
    }
    assert!(stage.sessions().is_empty());
}

#[test]
fn a_prompt_comes_from_standard_input_alone_or_behind_the_argument() {
    let stage = Stage::new();
    for (argument, input, whole) in [
        (None, "think\n", "think"),
        (Some("-"), "think", "think"),
        (Some("think"), "of this\n", "think\n\nof this"),
    ] {
        let mut arguments = vec!["run", "--agent", "demo", "--output-format", "events"];
        arguments.extend(argument);
        let mut child = stage.command(&arguments).stdin(Stdio::piped()).spawn().unwrap();
        feed(&mut child, input.as_bytes());
        let finished: Finished = child.wait_with_output().unwrap().into();
        let events = lines(&finished);
        let said = events.iter().find(|event| event["type"] == "user_message").unwrap();
        assert_eq!(said["text"], whole);
    }
}

#[test]
fn an_open_pipe_in_which_nothing_comes_does_not_hold_a_prompt_up() {
    let stage = Stage::new();
    let mut child =
        stage.command(&["run", "think", "--agent", "demo"]).stdin(Stdio::piped()).spawn().unwrap();
    let _open = child.stdin.take().unwrap();
    let finished: Finished = child.wait_with_output().unwrap().into();
    assert_eq!(finished.code, Some(0));
    assert!(finished.err.contains("nothing came on standard input"), "{}", finished.err);
}

#[test]
fn a_signal_interrupts_the_turn() {
    let stage = Stage::new().slowly();
    let mut child =
        stage.command(&["run", "slow", "--agent", "demo", "--output-format", "events"]).spawn().unwrap();
    let mut rest = until(child.stdout.take().unwrap(), "\"message_chunk\"");
    signal(&child, Signal::INT);
    let mut events = String::new();
    rest.read_to_string(&mut events).unwrap();
    let finished: Finished = child.wait_with_output().unwrap().into();
    assert_eq!(finished.code, Some(130));
    assert!(finished.err.contains("interrupting; once more ends at once"), "{}", finished.err);
    assert!(events.contains("\"code\":\"interrupted\""), "{events}");
    let [session] = &stage.sessions()[..] else { panic!("one session") };
    assert_eq!(session["state"], "ended", "it ended in order");
}

#[test]
fn a_second_signal_ends_at_once() {
    let stage = Stage::new().slowly();
    // An agent that is busy in a tool and hears nothing would do; the demo agent hears, so both come together.
    let mut child =
        stage.command(&["run", "slow", "--agent", "demo", "--output-format", "events"]).spawn().unwrap();
    let _rest = until(child.stdout.take().unwrap(), "\"message_chunk\"");
    signal(&child, Signal::INT);
    signal(&child, Signal::TERM);
    let finished: Finished = child.wait_with_output().unwrap().into();
    assert_eq!(finished.code, Some(130));
    // Whatever was left open is closed by the next host on the folder.
    stage.sessions();
    let [session] = &stage.sessions()[..] else { panic!("one session") };
    assert_eq!(session["state"], "ended");
}

#[test]
fn a_run_that_takes_too_long_is_stopped() {
    let stage = Stage::new().slowly();
    let finished = stage.demo("slow", &["--timeout", "1", "--output-format", "json"]);
    assert_eq!(finished.code, Some(1));
    assert!(finished.err.contains("not done within 1 s"), "{}", finished.err);
    let told = object(&finished);
    assert_eq!((&told["error"]["code"], &told["exit_code"]), (&"interrupted".into(), &1.into()));
}

#[test]
fn a_reader_that_has_seen_enough_ends_the_run_quietly() {
    let stage = Stage::new();
    let mut child = stage
        .command(&["run", "many 20000", "--agent", "demo", "--output-format", "events"])
        .spawn()
        .unwrap();
    drop(until(child.stdout.take().unwrap(), "\"message_chunk\""));
    let mut err = String::new();
    child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
    assert_eq!((child.wait().unwrap().code(), err.as_str()), (Some(0), ""));
    let [session] = &stage.sessions()[..] else { panic!("one session") };
    assert_eq!(session["state"], "ended");
}

//! Cancellations at seeded moments: before the first word, in the middle of a text, in the middle of a tool, while a
//! question is open, twice. Always exactly one answer, and the session can be used afterwards.

use jackfield_testkit::api::{Block, Content, Reply};
use serde_json::json;

use crate::editor::Editor;
use crate::stage::Stage;

/// How many moments; `JACKFIELD_SEEDS` says so, and `cargo xtask soak` sets it.
fn moments() -> u64 {
    std::env::var("JACKFIELD_SEEDS").map_or(20, |count| count.parse().expect("a number of seeds"))
}

with_both_clis![cancellations_end_once_and_the_session_goes_on, a_prompt_that_waits_is_cancelled_too];

/// A small generator: the same seed gives the same moments.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

fn replies() -> Vec<Reply> {
    let often = |reply: Reply, word: &str| Reply {
        match_last: Some(word.to_owned()),
        repeat: Some(usize::try_from(moments()).unwrap() * 20),
        ..reply
    };
    let chunks: Vec<String> = (0..400).map(|number| format!("word {number} ")).collect();
    let content = Content::Text { text: chunks.concat() };
    let slow = Block { chunks: Some(chunks), chunk_delay: Some(0.02), ..Block::new(content) };
    let tool = |command: &str| Reply::tool_use("Bash", json!({ "command": command, "description": "Wait" }));
    vec![
        // First: what was cancelled before it was answered is said once more together with this.
        often(Reply::text("here I am"), "are you there"),
        often(Reply { blocks: vec![slow], ..Reply::default() }, "speak slowly"),
        often(Reply { delay_start: Some(20.0), ..Reply::text("late") }, "say nothing"),
        often(tool("tail -f /dev/null; touch late"), "run something"),
    ]
}

/// Stops the prompt at a moment that the dice choose, and tells how often its end was told.
async fn cancelled_somewhere(editor: &mut Editor, session: &str, dice: &mut Dice) -> usize {
    let from = editor.seen.len();
    let (word, allow) = match dice.roll(4) {
        0 => ("say nothing", false),
        1 => ("speak slowly", false),
        2 => ("run something", false),
        _ => ("run something", true),
    };
    let id = editor.prompt(session, word);
    let wait = match word {
        "speak slowly" => dice.roll(30),
        _ => 0,
    };
    for _ in 0..wait {
        editor.update("agent_message_chunk").await;
    }
    let question = if word == "run something" && dice.roll(5) > 0 {
        let asked = editor.asked_for("session/request_permission").await;
        if allow {
            editor.choose(&asked, "allow");
        }
        (!allow).then_some(asked)
    } else {
        None
    };
    editor.cancel(session);
    if dice.roll(3) == 0 {
        editor.cancel(session);
    }
    if let Some(asked) = question {
        editor.answer(&asked, &json!({ "outcome": { "outcome": "cancelled" } }));
    }
    // A question that comes up meanwhile is put away as well, as the protocol wants it.
    loop {
        let message = editor.next().await.expect("the agent is there");
        if message["method"] == "session/request_permission" {
            editor.answer(&message, &json!({ "outcome": { "outcome": "cancelled" } }));
        }
        if message["id"] == id && message.get("method").is_none() {
            assert_eq!(message["result"]["stopReason"], "cancelled", "{message}");
            break;
        }
    }
    let ended = editor.turn(session, "are you there").await.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(ended["stopReason"], "end_turn");
    let ends = |message: &&serde_json::Value| message["id"] == id && message.get("method").is_none();
    editor.seen[from..].iter().filter(ends).count()
}

async fn cancellations_end_once_and_the_session_goes_on(version: &str) {
    let stage = Stage::new(version, replies()).await;
    let (mut editor, session, agent) = stage.opened().await;
    for seed in 0..moments() {
        let mut dice = Dice(seed * 7919 + 11);
        let ends = cancelled_somewhere(&mut editor, &session, &mut dice).await;
        assert_eq!(ends, 1, "seed {seed}");
    }
    let heard = editor.text("agent_message_chunk").matches("here I am").count();
    assert_eq!(heard, usize::try_from(moments()).unwrap());
    assert!(!stage.sandbox.places().workspace.join("late").exists());
    stage.end(editor, agent).await;
}

async fn a_prompt_that_waits_is_cancelled_too(version: &str) {
    let stage = Stage::new(version, replies()).await;
    let (mut editor, session, agent) = stage.opened().await;
    let first = editor.prompt(&session, "speak slowly");
    editor.update("agent_message_chunk").await;
    let second = editor.prompt(&session, "are you there");
    editor.cancel(&session);
    let (mut ended, mut reasons) = (0, Vec::new());
    while ended < 2 {
        let message = editor.next().await.unwrap();
        if message["id"] == first || message["id"] == second {
            reasons.push(message["result"]["stopReason"].clone());
            ended += 1;
        }
    }
    assert_eq!(reasons, ["cancelled", "cancelled"]);
    assert_eq!(editor.turn(&session, "are you there").await.unwrap()["stopReason"], "end_turn");
    stage.end(editor, agent).await;
}

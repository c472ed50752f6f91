//! Windows of any size, and what they show.

#![allow(clippy::unwrap_used)]

use std::time::Instant;

use jackfield_api::Json;
use jackfield_api::normalized::{ModifyFile, Mutation, MutationKind, Normalized, ShellExec};
use jackfield_api::permission::{PermissionKind, PermissionRequest};
use jackfield_api::snapshot::SessionState;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::CellWidth as _;
use ratatui::crossterm::event::KeyCode;
use serde_json::json;

use super::super::guard::SETTLED;
use super::super::model::Sight;
use super::super::model::tests::{asking, model, question as asked, request, session, sight};
use super::*;

/// What a window shows, and how much of a question that is.
fn window(model: &Model, width: u16, height: u16) -> (String, Option<Shown>) {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    let mut shown = None;
    terminal.draw(|frame| shown = draw(frame, model).map(|on_screen| on_screen.shown)).unwrap();
    let cells = terminal.backend().buffer().content().chunks(width.into());
    let lines = cells.map(|cells| {
        let mut line = String::new();
        let mut cells = cells.iter();
        while let Some(cell) = cells.next() {
            line += cell.symbol();
            // What stands behind a wide letter is not seen.
            cells.by_ref().take(usize::from(cell.symbol().cell_width().max(1)) - 1).for_each(drop);
        }
        line.trim_end().to_owned() + "\n"
    });
    (lines.collect(), shown)
}

fn screen(model: &Model) -> String {
    window(model, 90, 9).0
}

fn asking_model(request: PermissionRequest) -> Model {
    let mut model = Model::default();
    model.look(sight(asking(request)));
    model
}

/// A model whose question was looked at for long enough, and a key was pressed.
fn pressed(mut model: Model, key: char) -> Model {
    let now = Instant::now();
    let (place, _) = model.question().unwrap().clone();
    model.drawn(Some(OnScreen { place, shown: Shown::Enough }), now);
    model.key(KeyCode::Char(key), now + SETTLED);
    model
}

fn shell(command: &str) -> PermissionRequest {
    let exec = ShellExec { command: command.to_owned(), ..ShellExec::default() };
    PermissionRequest {
        tool_title: format!("$ {}", command.chars().take(40).collect::<String>()),
        normalized: Some(Normalized::ShellExec(exec.into())),
        input: Some(Json::of(&json!({ "command": command, "dangerouslyDisableSandbox": true }))),
        ..request()
    }
}

fn edit(path: &str, old: &str, new: &str) -> PermissionRequest {
    let mutation = Mutation {
        kind: MutationKind::Edit,
        content: None,
        old_content: Some(old.to_owned()),
        new_content: Some(new.to_owned()),
        diff: None,
    };
    let file = ModifyFile { file_path: path.to_owned(), mutations: vec![mutation] };
    let input = json!({ "file_path": path, "old_string": old, "new_string": new, "replace_all": true });
    PermissionRequest {
        tool_title: "Edit a file".to_owned(),
        normalized: Some(Normalized::ModifyFile(file.into())),
        input: Some(Json::of(&input)),
        ..request()
    }
}

#[test]
fn the_screen_is_the_model() {
    assert_eq!(
        screen(&model()),
        "\
4 sessions: 1 ask, 1 run, 1 idle   $1.50   300M
STATE  TURN    TOK/S  COST      CTX  MEM    ASKS MODEL              TITLE
asks   2m04s   0      $1.50                 1    claude-test        Write the file
runs   1m05s   42     $0.00     25%  300M        claude-test        Think about it
idle                  $0.00                      claude-test        Ready [31mto go
ended                 $0.00                      claude-test        Long ago

? [7] may this run? Write a.txt
↑↓ choose   a allow   d deny   1-9 answer   i interrupt   q end
"
    );
}

#[test]
fn without_sessions_nothing_was_spent() {
    assert!(screen(&Model::default()).starts_with("0 sessions: 0 ask, 0 run, 0 idle   $0.00   0M\n"));
}

#[test]
fn a_narrow_window_has_fewer_columns_and_shorter_words() {
    let at = |width: u16| {
        let (text, shown) = window(&model(), width, 8);
        assert_eq!(shown, Some(Shown::Enough));
        let line = |at: usize| text.lines().nth(at).unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
        (line(0), line(1), text.lines().last().unwrap().to_owned())
    };
    let all = "4 sessions: 1 ask, 1 run, 1 idle $1.50 300M";
    let [long, middle, short, _] = KEYS.map(str::to_owned);
    let columns = |columns: &str| columns.to_owned();
    let expected = [
        (80, all, columns("STATE TURN TOK/S COST CTX MEM ASKS MODEL TITLE"), &long),
        (77, all, columns("STATE TURN TOK/S COST CTX MEM ASKS TITLE"), &long),
        (58, all, columns("STATE TURN TOK/S COST CTX ASKS TITLE"), &middle),
        (51, all, columns("STATE TURN TOK/S COST ASKS TITLE"), &short),
        (40, "4 sessions: 1 ask, 1 run, 1 idle $1.50", columns("STATE TURN COST ASKS TITLE"), &short),
    ];
    for (width, head, columns, keys) in expected {
        assert_eq!(at(width), (head.to_owned(), columns, keys.clone()), "{width}");
    }
}

#[test]
fn it_is_said_how_many_sessions_there_are_of_which_these_are_shown() {
    let head = |known| {
        let mut model = Model::default();
        model.look(Sight { known, ..sight(vec![session("one", "One", SessionState::Idle)]) });
        screen(&model).lines().next().unwrap().split(':').next().unwrap().to_owned()
    };
    assert_eq!(head(Known::All), "1 sessions");
    assert_eq!(head(Known::Of(345)), "the newest 1 of 345 sessions");
    assert_eq!(head(Known::Newest), "the newest 1 sessions");
}

#[test]
fn a_host_that_does_not_answer_is_told_first_however_small_the_window() {
    let away = || Sight { link: Link::Away, ..sight(asking(request())) };
    let mut model = Model::default();
    model.look(away());
    for (width, height) in [(90, 9), (40, 8), (40, 4), (30, 3)] {
        let (text, _) = window(&model, width, height);
        assert!(text.starts_with("the host does not answer"), "{width}x{height}\n{text}");
    }
    model.look(sight(asking(request())));
    assert!(!screen(&model).contains("does not answer"));
}

#[test]
fn what_may_be_chosen_stands_below_the_question_also_when_there_is_trouble() {
    let model = asking_model(asked(1));
    let options = ["? Which?", "  1 [ ] One", "  2 [ ] Two", "  Enter: these"];
    let text = screen(&model);
    assert_eq!(text.lines().collect::<Vec<_>>()[4..8], options, "{text}");
    let model = pressed(model, 'a');
    let trouble = "answer with the number of an option";
    let text = screen(&model);
    let lines: Vec<_> = text.lines().collect();
    assert_eq!((&lines[3..7], lines[7], lines[8]), (&options[..], trouble, KEYS[0]), "{text}");
    // Where there is no other room it stands in the place of the keys, and nothing of the question moves.
    for height in [6, 7] {
        let (text, shown) = window(&model, 90, height);
        let lines: Vec<_> = text.lines().collect();
        let last = lines.len() - 1;
        assert_eq!((&lines[last - 4..last], lines[last]), (&options[..], trouble), "{text}");
        assert_eq!(shown, Some(Shown::Enough));
    }
}

#[test]
fn what_is_being_done_stands_where_the_question_was() {
    let model = pressed(model(), 'a');
    let (text, shown) = window(&model, 90, 9);
    assert!(text.contains("\nanswering …\n") && !text.contains("may this run"), "{text}");
    assert_eq!(shown, None);
    let model = pressed(self::model(), 'a');
    let mut model = model;
    model.key(KeyCode::Char('q'), Instant::now());
    assert!(screen(&model).ends_with(&format!("{ENDING}\n")));
}

#[test]
fn a_key_that_came_too_early_is_told() {
    let mut model = model();
    let now = Instant::now();
    let (place, _) = model.question().unwrap().clone();
    model.drawn(Some(OnScreen { place, shown: Shown::Enough }), now);
    assert_eq!(model.key(KeyCode::Char('a'), now), None);
    assert!(screen(&model).ends_with(&format!("{EARLY}\n")));
    model.pass(now + SETTLED);
    assert!(screen(&model).ends_with(&format!("{}\n", KEYS[0])));
}

#[test]
fn nothing_of_others_steers_the_terminal_turns_text_around_or_hides_in_it() {
    let steering = "a\u{1b}[2J\u{9b}2Jb\u{202e}c\u{200b}d\u{2066}e\u{2069}\tf\ng";
    assert_eq!(plain(steering), "a[2J2Jbcde f g");
    let mut asks = session(steering, steering, SessionState::Running);
    asks.model = Some(steering.to_owned());
    let input = json!({ steering: steering, "b": { steering: 1 } });
    let question = || {
        let mut question = asked(1);
        question.questions[0].question = steering.to_owned();
        question.questions[0].options[0].label = steering.to_owned();
        question
    };
    let requests = [
        PermissionRequest { tool_title: steering.to_owned(), input: Some(Json::of(&input)), ..request() },
        PermissionRequest { plan: Some(steering.to_owned()), kind: PermissionKind::Plan, ..request() },
        shell(steering),
        edit(steering, steering, steering),
        question(),
    ];
    for request in requests {
        asks.pending = vec![request];
        let mut model = Model::default();
        model.look(sight(vec![asks.clone()]));
        let (text, shown) = window(&model, 90, 40);
        assert_eq!(shown, Some(Shown::Enough));
        let hides = |letter: char| (letter.is_control() && letter != '\n') || is_unseen(letter);
        assert!(!text.contains(hides), "{text:?}");
    }
}

#[test]
fn what_decides_is_shown_whatever_kind_of_question_it_is() {
    let text = |request| window(&asking_model(request), 60, 30).0;
    let command =
        "make clean &&\nrm -rf build; echo done | tee /tmp/log-of-a-long-command-that-needs-two-lines";
    let shown = text(shell(command));
    for part in ["$ make clean &&\n", "    rm -rf build; echo done", "dangerouslyDisableSandbox: true"] {
        assert!(shown.contains(part), "{part}\n{shown}");
    }
    let shown = text(edit("/ws/src/main.rs", "one\ntwo\n", "one\nthree\nfour\n"));
    for part in [
        "  file_path: /ws/src/main.rs\n",
        "  replace_all: true\n",
        "  lines: +3 −2\n",
        "  old_string:\n    one\n    two\n",
        "  new_string:\n    one\n    three\n    four\n",
    ] {
        assert!(shown.contains(part), "{part}\n{shown}");
    }
    let plan = PermissionRequest {
        kind: PermissionKind::Plan,
        plan: Some("1. Look\n2. Mend".to_owned()),
        ..request()
    };
    assert!(text(plan).contains("? [7] is this plan good?\n    1. Look\n    2. Mend\n"));
    let foreign = PermissionRequest {
        tool_title: "github: create_issue".to_owned(),
        input: Some(Json::of(&json!({ "title": "It fails", "labels": ["bug"] }))),
        reason: Some("a hook wants it to be asked".to_owned()),
        ..request()
    };
    let shown = text(foreign);
    for part in [
        "? [7] may this run? github: create_issue\n",
        "a hook wants",
        "title: It fails\n",
        "labels: [\"bug\"]\n",
    ] {
        assert!(shown.contains(part), "{part}\n{shown}");
    }
}

#[test]
fn a_long_change_is_allowed_where_its_file_and_its_length_are_shown_and_it_is_said_what_is_missing() {
    let new = (0..500).map(|line| format!("line {line}")).collect::<Vec<_>>().join("\n");
    let model = asking_model(edit("/ws/a.txt", "", &new));
    let (text, shown) = window(&model, 80, 24);
    assert_eq!(shown, Some(Shown::Enough));
    for part in
        ["file_path: /ws/a.txt", "lines: +500 −0", "    line 0\n", "… not shown here: 487 more lines, "]
    {
        assert!(text.contains(part), "{part}\n{text}");
    }
    assert!(text.contains("\nasks "), "the session is there too: {text}");
    assert_eq!(text.lines().count(), 24);
    // A command has no such part.
    let (text, shown) = window(&asking_model(shell(&new)), 80, 24);
    assert_eq!(shown, Some(Shown::Part));
    assert!(
        text.contains("the window is too small to show all of this question\n? [7] may this run?"),
        "{text}"
    );
}

/// A text without blanks, so that it does not matter where its rows end.
fn dense(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_whitespace()).collect()
}

#[test]
fn whatever_the_size_the_whole_question_is_on_the_screen_or_it_is_not_answered() {
    let command =
        "find . -name '*.orig' -print0 | xargs -0 rm -f && git clean -fdx; ".repeat(4) + "echo the end";
    let path = format!("/ws/{}main.rs", "deep/er/".repeat(9));
    let plan = (1..9).map(|step| format!("{step}. do something that takes some words to say\n"));
    let plan = plan.collect::<String>();
    let wide = "寿司を食べる ☺\u{fe0f} e\u{301}t cetera ".repeat(9);
    let several = json!({
        "question": "Which of these shall it be, and are you quite sure about that?", "multi_select": true,
        "options": [{ "label": "The first", "description": "which is long enough to need some room" },
            { "label": "The other" }],
    });
    let several = PermissionRequest {
        kind: PermissionKind::Question,
        questions: vec![serde_json::from_value(several).unwrap()],
        ..request()
    };
    let payload = "everything that this would send to others ".repeat(5);
    let dialog = PermissionRequest {
        kind: PermissionKind::Dialog,
        tool_title: "dialog: pick".to_owned(),
        message: Some("pick".to_owned()),
        input: Some(Json::of(&json!({ "text": payload, "danger": true }))),
        ..request()
    };
    let requests = [
        (shell(&command), vec![command.as_str(), "dangerouslyDisableSandbox"]),
        (shell(&wide), vec![wide.as_str()]),
        (
            edit(&path, "old\n", &"new line\n".repeat(60)),
            vec![path.as_str(), "replace_all:true", "lines:+60−1"],
        ),
        (
            PermissionRequest { kind: PermissionKind::Plan, plan: Some(plan.clone()), ..request() },
            vec![&plan],
        ),
        (
            several,
            vec![
                "quite sure about that?1[ ] The first: which is long enough to need some room2[ ] The other",
            ],
        ),
        (dialog, vec!["the CLI asks dialog: pick", payload.as_str(), "danger: true"]),
        (request(), vec!["may this run? Write a.txt"]),
    ];
    for (request, parts) in requests {
        let model = asking_model(request);
        let (mut enough, mut part) = (0, 0);
        let heights = || (1..13).chain([15, 19, 24, 30, 39]);
        for (width, height) in
            (1..130).step_by(11).flat_map(|width| heights().map(move |height| (width, height)))
        {
            let (text, shown) = window(&model, width, height);
            let is_whole = parts.iter().all(|part| dense(&text).contains(&dense(part)));
            match shown.unwrap() {
                Shown::Enough => {
                    assert!(is_whole, "{width}x{height}\n{text}");
                    // Also which session asks.
                    assert!(text.contains("asks"), "{width}x{height}\n{text}");
                    enough += 1;
                }
                Shown::Part => {
                    let is_said = dense(&text).contains(&dense("the window is too small"));
                    assert!(is_said || width < 23 || height < 2, "{width}x{height}\n{text}");
                    part += 1;
                }
            }
        }
        assert!(enough > 20 && part > 20, "{enough} {part}");
        // Nothing is there to answer, and it is drawn all the same.
        window(&Model::default(), 1, 1);
    }
}

//! The picture of a model: a table of sessions, the question of the chosen one, and the keys.
//!
//! A pure function of the model and of the size of the screen. The one rule it keeps: what a question says is on the
//! screen, all of it, or it is said that it is not; and of others' text nothing steers the terminal or hides in it.

use jackfield_api::unseen::is_unseen;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::Line;
use ratatui::widgets::{Cell, Paragraph, Row as TableRow, Table, TableState};

use super::guard::{OnScreen, Shown};
use super::model::{Model, Row, State};
use super::rows::wrapped;
use super::seen::{Known, Link};
use super::sheet::{self, Sheet, Weight};
use crate::commands::run::fit;

/// A column: its name, how wide it is, and how soon it makes room for others.
const COLUMNS: [(&str, u16, usize); 8] = [
    ("STATE", 6, KEPT),
    ("TURN", 7, 6),
    ("TOK/S", 6, 4),
    ("COST", 9, 5),
    ("CTX", 4, 3),
    ("MEM", 6, 2),
    ("ASKS", 4, KEPT),
    ("MODEL", 18, 1),
];
/// It stays.
const KEPT: usize = usize::MAX;
/// How wide a title is at least.
const TITLE: u16 = 10;

/// What keys do, in fewer and fewer words.
const KEYS: [&str; 4] = [
    "↑↓ choose   a allow   d deny   1-9 answer   i interrupt   q end",
    "↑↓ choose  a allow  d deny  1-9 answer  i interrupt  q end",
    "↑↓ a allow d deny 1-9 i interrupt q end",
    "↑↓ a d 1-9 i q",
];
const EARLY: &str = "too soon: look at it, and press again";
const ENDING: &str = "waiting for it; q again ends at once";
const AWAY: &str = "the host does not answer";

/// How the rows of a window are shared out, but for the last, which has the keys.
#[derive(Debug)]
struct Shares {
    has_head: bool,
    has_header: bool,
    question: Vec<sheet::Row>,
    shown: Shown,
}

/// Draws the model, and tells what of a question is on the screen now.
pub(super) fn draw(frame: &mut Frame<'_>, model: &Model) -> Option<OnScreen> {
    let area = frame.area();
    let question = model.question();
    let shares = share(question.map(|(_, sheet)| sheet), model.link, area.width, area.height);
    let asked = match model.underway() {
        Some(deed) => vec![Line::styled(deed.word(), Style::new().fg(Color::Yellow))],
        None => shares.question.into_iter().map(drawn).collect(),
    };
    let left = usize::from(area.height).saturating_sub(1 + usize::from(shares.has_head) + asked.len());
    // What is troubling takes room that only other sessions have; where they have none, that of the keys.
    let troubles = model.trouble().map(|words| wrapped(&plain(words), area.width.max(1), usize::MAX).rows);
    let troubles = troubles.filter(|rows| rows.len() + 2 <= left).unwrap_or_default();
    let red = Style::new().fg(Color::Red);
    let foot = match model.trouble().filter(|_| troubles.is_empty()) {
        Some(trouble) => Line::styled(fit(&plain(trouble), area.width.into()), red),
        None => foot(model, area.width),
    };
    let areas = Layout::vertical([
        Constraint::Length(shares.has_head.into()),
        Constraint::Min(0),
        Constraint::Length(rows(asked.len())),
        Constraint::Length(rows(troubles.len())),
        Constraint::Length(1),
    ]);
    let [top, middle, below, trouble, bottom] = areas.areas(area);
    frame.render_widget(head(model, area.width), top);
    let (table, mut state) = table(model, area.width, shares.has_header);
    frame.render_stateful_widget(table, middle, &mut state);
    frame.render_widget(Paragraph::new(asked), below);
    let troubles: Vec<_> = troubles.into_iter().map(|words| Line::styled(words, red)).collect();
    frame.render_widget(Paragraph::new(troubles), trouble);
    frame.render_widget(foot, bottom);
    question.map(|(place, _)| OnScreen { place: place.clone(), shown: shares.shown })
}

/// Shares the window out: the question has what it needs before the table has more than the chosen session, and
/// before there is a head. Only that the host does not answer is always said.
fn share(question: Option<&Sheet>, link: Link, width: u16, height: u16) -> Shares {
    let above = usize::from(height.saturating_sub(1));
    let Some(sheet) = question else {
        return Shares {
            has_head: above > 1,
            has_header: above > 2,
            question: Vec::new(),
            shown: Shown::Part,
        };
    };
    let shapes = [(true, true), (true, false), (false, false)];
    let shapes = shapes.into_iter().filter(|(has_head, _)| *has_head || link == Link::Live);
    let room = |has_head: bool, has_header: bool| {
        above.checked_sub(1 + usize::from(has_head) + usize::from(has_header))
    };
    for short in [Sheet::whole, Sheet::shortened] {
        for (has_head, has_header) in shapes.clone() {
            if let Some(question) = room(has_head, has_header).and_then(|room| short(sheet, width, room)) {
                return Shares { has_head, has_header, question, shown: Shown::Enough };
            }
        }
    }
    let has_head = above > 3 || (link == Link::Away && above > 0);
    let question =
        sheet.beginning(width, above.saturating_sub(usize::from(has_head) + usize::from(above > 1)));
    Shares { has_head, has_header: false, question, shown: Shown::Part }
}

fn drawn(row: sheet::Row) -> Line<'static> {
    let style = match row.weight {
        Weight::Asked => Style::new().fg(Color::Yellow),
        Weight::Plain => Style::new(),
        Weight::Remark => Style::new().fg(Color::Red),
    };
    Line::styled(row.words, style)
}

/// How many there are and how they stand, as far as there is room for it; and before that, whether it is so at all.
fn head(model: &Model, width: u16) -> Line<'static> {
    let count = |state| model.rows.iter().filter(|row| row.state == state).count();
    let [ask, run, idle] = [State::Asks, State::Runs, State::Idle].map(count);
    // The sum of nothing would be -0.
    let cost = model.rows.iter().fold(0.0, |sum, row| sum + row.cost_usd);
    let memory: u64 = model.rows.iter().filter_map(|row| row.memory_bytes).sum();
    let shown = model.rows.len();
    let sessions = match model.known {
        Known::All => format!("{shown} sessions"),
        Known::Of(all) => format!("the newest {shown} of {all} sessions"),
        Known::Newest => format!("the newest {shown} sessions"),
    };
    let states = format!("{sessions}: {ask} ask, {run} run, {idle} idle");
    let away = (model.link == Link::Away).then(|| AWAY.to_owned());
    let style = match away {
        Some(_) => Style::new().fg(Color::Red).add_modifier(Modifier::BOLD),
        None => Style::new(),
    };
    let mut words = String::new();
    for part in away.into_iter().chain([states, format!("${cost:.2}"), bytes(memory)]) {
        let gap = if words.is_empty() { "" } else { "   " };
        if words.is_empty() || words.chars().count() + gap.len() + part.chars().count() <= width.into() {
            words = words + gap + &part;
        } else {
            break;
        }
    }
    Line::styled(fit(&words, width.into()), style)
}

/// What keys do, or what there is to say of the last.
fn foot(model: &Model, width: u16) -> Line<'static> {
    let dim = Style::new().add_modifier(Modifier::DIM);
    let yellow = Style::new().fg(Color::Yellow);
    if model.is_ending() {
        return Line::styled(fit(ENDING, width.into()), yellow);
    }
    if model.is_early() {
        return Line::styled(fit(EARLY, width.into()), yellow);
    }
    let fits = |keys: &&str| keys.chars().count() <= width.into();
    Line::styled(KEYS.into_iter().find(fits).unwrap_or(KEYS[KEYS.len() - 1]), dim)
}

/// The sessions, in as many columns as there is room for.
fn table(model: &Model, width: u16, has_header: bool) -> (Table<'static>, TableState) {
    let columns = columns(width);
    let names = columns.iter().map(|at| COLUMNS[*at].0).chain(["TITLE"]);
    let widths = columns.iter().map(|at| Constraint::Length(COLUMNS[*at].1));
    let widths: Vec<_> = widths.chain([Constraint::Min(TITLE)]).collect();
    let title = width.saturating_sub(taken(&columns)).into();
    let table = Table::new(model.rows.iter().map(|row| line(row, &columns, title)), widths)
        .row_highlight_style(Style::new().add_modifier(Modifier::REVERSED));
    let table = match model.link {
        Link::Live => table,
        Link::Away => table.style(Style::new().add_modifier(Modifier::DIM)),
    };
    let header = TableRow::new(names.collect::<Vec<_>>()).style(Style::new().add_modifier(Modifier::BOLD));
    let table = if has_header { table.header(header) } else { table };
    (table, TableState::new().with_selected(model.chosen().map(|(at, _)| at)))
}

/// The columns that a window has room for, beside the title.
fn columns(width: u16) -> Vec<usize> {
    let mut columns: Vec<usize> = (0..COLUMNS.len()).collect();
    while taken(&columns) + TITLE > width
        && let Some(first) =
            columns.iter().copied().filter(|at| COLUMNS[*at].2 != KEPT).min_by_key(|at| COLUMNS[*at].2)
    {
        columns.retain(|at| *at != first);
    }
    columns
}

/// How wide columns are, with the gaps behind them.
fn taken(columns: &[usize]) -> u16 {
    columns.iter().map(|at| COLUMNS[*at].1 + 1).sum()
}

fn line(row: &Row, columns: &[usize], title: usize) -> TableRow<'static> {
    let colour = match row.state {
        State::Asks => Color::Yellow,
        State::Runs => Color::Green,
        State::Idle | State::Ended => Color::Reset,
    };
    let cells: [String; COLUMNS.len()] = [
        row.state.word().to_owned(),
        row.turn_seconds.map(duration).unwrap_or_default(),
        row.tokens_per_second.map(|rate| rate.to_string()).unwrap_or_default(),
        format!("${:.2}", row.cost_usd),
        row.context.map(|full| format!("{full}%")).unwrap_or_default(),
        row.memory_bytes.map(bytes).unwrap_or_default(),
        if row.questions.is_empty() { String::new() } else { row.questions.len().to_string() },
        fit(&plain(&row.model), COLUMNS[7].1.into()),
    ];
    let cells = columns.iter().filter_map(|at| cells.get(*at)).map(|cell| Cell::from(cell.clone()));
    let mut cells: Vec<_> = cells.chain([Cell::from(fit(&plain(&row.title), title))]).collect();
    if let Some(state) = cells.first_mut() {
        *state = std::mem::take(state).style(Style::new().fg(colour));
    }
    TableRow::new(cells)
}

fn rows(count: usize) -> u16 {
    u16::try_from(count).unwrap_or(u16::MAX)
}

fn duration(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => format!("{}m{:02}s", seconds / 60, seconds % 60),
        _ => format!("{}h{:02}m", seconds / 3600, seconds % 3600 / 60),
    }
}

fn bytes(bytes: u64) -> String {
    format!("{}M", bytes / (1024 * 1024))
}

/// Text of others: what would steer the terminal is left out.
fn plain(text: &str) -> String {
    text.chars()
        .map(|letter| if letter.is_whitespace() { ' ' } else { letter })
        .filter(|letter| !letter.is_control() && !is_unseen(*letter))
        .collect()
}

#[cfg(test)]
mod tests {
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
            let line =
                |at: usize| text.lines().nth(at).unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
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
}

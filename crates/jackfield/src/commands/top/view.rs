//! The picture of a model: a table of sessions, the question of the chosen one, and the keys.
//!
//! A pure function of the model and of the size of the screen. The one rule it keeps: what sessions are called and what
//! they ask reaches the terminal without control characters.

use jackfield_api::unseen::is_unseen;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Cell, Paragraph, Row as TableRow, Table, TableState};

use super::model::{Model, Row, State};

const COLUMNS: [(&str, Constraint); 9] = [
    ("STATE", Constraint::Length(6)),
    ("TURN", Constraint::Length(7)),
    ("TOK/S", Constraint::Length(6)),
    ("COST", Constraint::Length(9)),
    ("CTX", Constraint::Length(4)),
    ("MEM", Constraint::Length(6)),
    ("ASKS", Constraint::Length(4)),
    ("MODEL", Constraint::Length(18)),
    ("TITLE", Constraint::Min(10)),
];

const KEYS: &str = "↑↓ choose   a allow   d deny   1-9 answer   i interrupt   q end";

/// Draws the model.
pub(super) fn draw(frame: &mut Frame<'_>, model: &Model) {
    let question = question(model);
    let areas = Layout::vertical([
        Constraint::Length(1),
        Constraint::Min(1),
        Constraint::Length(u16::try_from(question.len().max(1)).unwrap_or(u16::MAX)),
        Constraint::Length(1),
    ]);
    let [top, middle, asked, bottom] = areas.areas(frame.area());
    frame.render_widget(Paragraph::new(head(model)), top);
    let header =
        TableRow::new(COLUMNS.map(|(name, _)| name)).style(Style::new().add_modifier(Modifier::BOLD));
    let table = Table::new(model.rows.iter().map(line), COLUMNS.map(|(_, width)| width))
        .header(header)
        .row_highlight_style(Style::new().add_modifier(Modifier::REVERSED));
    let mut state = TableState::new().with_selected(model.chosen().map(|(at, _)| at));
    frame.render_stateful_widget(table, middle, &mut state);
    frame.render_widget(Paragraph::new(question), asked);
    frame.render_widget(Paragraph::new(Span::styled(KEYS, Style::new().add_modifier(Modifier::DIM))), bottom);
}

fn head(model: &Model) -> Line<'static> {
    let count = |state| model.rows.iter().filter(|row| row.state == state).count();
    // The sum of nothing would be -0.
    let cost = model.rows.iter().fold(0.0, |sum, row| sum + row.cost_usd);
    let memory: u64 = model.rows.iter().filter_map(|row| row.memory_bytes).sum();
    Line::from(format!(
        "{} sessions: {} ask, {} run, {} idle   ${cost:.2}   {}",
        model.rows.len(),
        count(State::Asks),
        count(State::Runs),
        count(State::Idle),
        bytes(memory)
    ))
}

fn line(row: &Row) -> TableRow<'static> {
    let colour = match row.state {
        State::Asks => Color::Yellow,
        State::Runs => Color::Green,
        State::Idle | State::Ended => Color::Reset,
    };
    let cells = [
        row.state.word().to_owned(),
        row.turn_seconds.map(duration).unwrap_or_default(),
        row.tokens_per_second.map(|rate| rate.to_string()).unwrap_or_default(),
        format!("${:.2}", row.cost_usd),
        row.context.map(|full| format!("{full}%")).unwrap_or_default(),
        row.memory_bytes.map(bytes).unwrap_or_default(),
        if row.questions.is_empty() { String::new() } else { row.questions.len().to_string() },
        plain(&row.model),
        plain(&row.title),
    ];
    let mut cells = cells.map(Cell::from);
    cells[0] = std::mem::take(&mut cells[0]).style(Style::new().fg(colour));
    TableRow::new(cells)
}

/// What is being done; or what is asked, or why it could not be answered, and below it what may be chosen.
fn question(model: &Model) -> Vec<Line<'static>> {
    if let Some(underway) = model.underway {
        return vec![Line::styled(underway, Style::new().fg(Color::Yellow))];
    }
    let mut words = model.question().into_iter();
    let asked = words.next().map(|asked| (format!("? {}", plain(&asked)), Color::Yellow));
    let trouble = model.trouble.as_ref().map(|trouble| (plain(trouble), Color::Red));
    let options = words.map(|option| (format!("  {}", plain(&option)), Color::Yellow));
    let lines = trouble.or(asked).into_iter().chain(options);
    lines.map(|(words, colour)| Line::styled(words, Style::new().fg(colour))).collect()
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

    use std::collections::BTreeMap;

    use jackfield_api::Timestamp;
    use jackfield_api::permission::PermissionRequest;
    use jackfield_api::snapshot::SessionState;
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;
    use ratatui::crossterm::event::KeyCode;

    use super::super::model::tests::{model, question as asked, request, session};
    use super::*;

    fn screen(model: &Model) -> String {
        let mut terminal = Terminal::new(TestBackend::new(90, 9)).unwrap();
        terminal.draw(|frame| draw(frame, model)).unwrap();
        terminal.backend().to_string()
    }

    #[test]
    fn the_screen_is_the_model() {
        assert_eq!(
            screen(&model()),
            "\
\"4 sessions: 1 ask, 1 run, 1 idle   $1.50   300M                                           \"
\"STATE  TURN    TOK/S  COST      CTX  MEM    ASKS MODEL              TITLE                 \"
\"asks   2m04s   0      $1.50                 1    claude-test        Write the file        \"
\"runs   1m05s   42     $0.00     25%  300M        claude-test        Think about it        \"
\"idle                  $0.00                      claude-test        Ready [31mto go       \"
\"ended                 $0.00                      claude-test        Long ago              \"
\"                                                                                          \"
\"? Write a.txt                                                                             \"
\"↑↓ choose   a allow   d deny   1-9 answer   i interrupt   q end                           \"
"
        );
    }

    #[test]
    fn without_sessions_nothing_was_spent() {
        assert!(screen(&Model::default()).contains("\"0 sessions: 0 ask, 0 run, 0 idle   $0.00   0M "));
    }

    #[test]
    fn what_may_be_chosen_stands_below_the_question() {
        let mut asks = session("asks", "Ask me", SessionState::Running);
        asks.pending.push(asked(1));
        let mut model = Model::default();
        model.look(vec![asks], &[], &BTreeMap::new(), Timestamp(0));
        let screen = self::screen(&model);
        let lines: Vec<_> = screen.lines().map(|line| line.trim_matches('"').trim_end()).collect();
        assert_eq!(lines[4..8], ["? Which?", "  1 [ ] One", "  2 [ ] Two", "  Enter: these"], "{screen}");
        model.told(Some("no".to_owned()));
        let screen = self::screen(&model);
        assert!(
            screen.contains("\"no ") && screen.contains("\"  1 [ ] One"),
            "it can still be answered: {screen}"
        );
    }

    #[test]
    fn trouble_stands_where_the_question_was() {
        let mut model = model();
        model.told(Some("question 7 is no longer open".to_owned()));
        assert!(screen(&model).contains("\"question 7 is no longer open"));
    }

    #[test]
    fn what_is_being_done_stands_where_the_question_was() {
        let mut model = model();
        model.key(KeyCode::Char('a'));
        let screen = screen(&model);
        assert!(screen.contains("\"answering … ") && !screen.contains("? Write"), "{screen}");
    }

    #[test]
    fn nothing_of_others_steers_the_terminal_turns_text_around_or_hides_in_it() {
        let steering = "a\u{1b}[2J\u{9b}2Jb\u{202e}c\u{200b}d\u{2066}e\u{2069}\tf\ng";
        assert_eq!(plain(steering), "a[2J2Jbcde f g");
        let mut asks = session(steering, steering, SessionState::Running);
        asks.model = Some(steering.to_owned());
        asks.pending.push(PermissionRequest { tool_title: steering.to_owned(), ..request() });
        let mut model = Model::default();
        model.look(vec![asks], &[], &BTreeMap::new(), Timestamp(0));
        let screen = screen(&model);
        assert!(!screen.chars().any(|letter| (letter.is_control() && letter != '\n') || is_unseen(letter)));
    }

    #[test]
    fn any_screen_is_large_enough() {
        for (width, height) in [(1, 1), (5, 2), (20, 3), (200, 60)] {
            let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
            terminal.draw(|frame| draw(frame, &model())).unwrap();
            terminal.draw(|frame| draw(frame, &Model::default())).unwrap();
        }
    }
}

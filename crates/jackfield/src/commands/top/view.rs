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
mod tests;

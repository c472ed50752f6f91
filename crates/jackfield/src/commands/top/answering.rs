//! The first question of the chosen session, answered key by key.
//!
//! Plain values: keys in, an answer out. The one rule it keeps: only what was chosen is an answer, so what the model
//! wants to know is not answered by a mere yes.

use std::collections::BTreeSet;

use jackfield_api::command::{Allow, Answers, Deny, Verdict};
use jackfield_api::permission::{PermissionKind, PermissionRequest, Question};
use ratatui::crossterm::event::KeyCode;

/// What was answered so far of the model's questions.
#[derive(Debug, Clone, Default)]
pub(super) struct Answering {
    /// The question that is answered next.
    at: usize,
    /// The options of it that were ticked, where there may be several.
    ticked: BTreeSet<usize>,
    answers: Answers,
}

/// Whether a key says something to a question.
pub(super) fn is_answer(key: KeyCode) -> bool {
    matches!(key, KeyCode::Enter | KeyCode::Char('a' | 'd' | '0'..='9'))
}

/// What a key brought.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Heard {
    /// The whole answer.
    Verdict(Verdict),
    /// Nothing that anybody has to be told yet.
    Nothing,
    /// Why it is no answer.
    Not(&'static str),
}

impl Answering {
    /// Takes a key.
    pub(super) fn hear(&mut self, request: &PermissionRequest, key: KeyCode) -> Heard {
        match (key, request.kind, self.question(request)) {
            (KeyCode::Char('d'), ..) => Heard::Verdict(Verdict::Deny(Deny {
                message: "denied by the person at the terminal".to_owned(),
                interrupt: false,
            })),
            (KeyCode::Char('a'), _, Some(_)) => Heard::Not("answer with the number of an option"),
            (KeyCode::Char('a'), PermissionKind::Elicitation, _) => {
                Heard::Not("a form is for the page; d declines it")
            }
            // Its answer is a value that only it knows.
            (KeyCode::Char('a'), PermissionKind::Dialog, _) => {
                Heard::Not("a dialog is for the page; d declines it")
            }
            (KeyCode::Char('a'), ..) => Heard::Verdict(Verdict::Allow(Allow::default())),
            (KeyCode::Enter, _, Some(question)) if question.multi_select => {
                let ticked = std::mem::take(&mut self.ticked);
                self.answer(request, question, &ticked)
            }
            (KeyCode::Char(number), _, Some(question)) => match option(question, number) {
                Some(option) if question.multi_select => {
                    if !self.ticked.remove(&option) {
                        self.ticked.insert(option);
                    }
                    Heard::Nothing
                }
                Some(option) => self.answer(request, question, &BTreeSet::from([option])),
                None => Heard::Nothing,
            },
            _ => Heard::Nothing,
        }
    }

    /// The question that is answered next.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// What the model wants to know, and what may be chosen, a line for each; nothing where something else is asked.
    pub(super) fn words(&self, request: &PermissionRequest) -> Option<(String, Vec<String>)> {
        let question = self.question(request)?;
        let place = match request.questions.len() {
            1 => String::new(),
            all => format!(" ({} of {all})", self.at + 1),
        };
        let options = question.options.iter().enumerate().map(|(at, option)| {
            let tick = match (question.multi_select, self.ticked.contains(&at)) {
                (true, true) => "[x] ",
                (true, false) => "[ ] ",
                (false, _) => "",
            };
            let more = if option.description.is_empty() { "" } else { ": " };
            // What stands on a line of its own is an option of its own.
            format!("{} {tick}{}{more}{}", at + 1, option.label, option.description)
                .replace(['\n', '\r'], " ")
        });
        let these = question.multi_select.then(|| "Enter: these".to_owned());
        Some((question.question.clone() + &place, options.chain(these).collect()))
    }

    /// What the model wants to know next.
    fn question<'a>(&self, request: &'a PermissionRequest) -> Option<&'a Question> {
        request.questions.get(self.at).filter(|_| request.kind == PermissionKind::Question)
    }

    fn answer(
        &mut self,
        request: &PermissionRequest,
        question: &Question,
        chosen: &BTreeSet<usize>,
    ) -> Heard {
        let labels = chosen.iter().filter_map(|at| question.options.get(*at));
        let labels: Vec<&str> = labels.map(|option| option.label.as_str()).collect();
        if labels.is_empty() {
            return Heard::Not("nothing is chosen");
        }
        self.answers.answers.insert(question.question.clone(), labels.join(", "));
        self.at += 1;
        if self.at < request.questions.len() {
            return Heard::Nothing;
        }
        Heard::Verdict(Verdict::Answers(std::mem::take(self).answers))
    }
}

/// The option that a digit means.
fn option(question: &Question, digit: char) -> Option<usize> {
    let number = usize::try_from(digit.to_digit(10)?).ok()?;
    number.checked_sub(1).filter(|at| *at < question.options.len())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;

    use super::super::model::tests::request;
    use super::*;

    fn questions() -> PermissionRequest {
        let question = |text: &str, multi_select: bool| {
            let options = json!([{ "label": "One", "description": "the first" }, { "label": "Two" }]);
            let question = json!({ "question": text, "multi_select": multi_select, "options": options });
            serde_json::from_value(question).unwrap()
        };
        let questions = vec![question("Which?", false), question("Which of them?", true)];
        PermissionRequest { kind: PermissionKind::Question, questions, ..request() }
    }

    #[test]
    fn questions_are_answered_one_after_the_other_by_what_was_chosen_and_nothing_else() {
        let (request, mut answering) = (questions(), Answering::default());
        let words = |answering: &Answering| {
            let (question, options) = answering.words(&request).unwrap();
            format!("{question}|{}", options.join("|"))
        };
        let first = "Which? (1 of 2)|1 One: the first|2 Two";
        assert_eq!(words(&answering), first);
        let mut hear = |letter: char| {
            let key = if letter == '\n' { KeyCode::Enter } else { KeyCode::Char(letter) };
            let heard = answering.hear(&request, key);
            (heard, if answering.question(&request).is_some() { words(&answering) } else { String::new() })
        };
        for none in ['0', '3', 'x', '\n'] {
            assert_eq!(hear(none), (Heard::Nothing, first.to_owned()));
        }
        assert!(matches!(hear('a').0, Heard::Not(_)), "a mere yes is no answer");
        let second = |one: &str, two: &str| {
            (
                Heard::Nothing,
                format!("Which of them? (2 of 2)|1 [{one}] One: the first|2 [{two}] Two|Enter: these"),
            )
        };
        assert_eq!(hear('2'), second(" ", " "));
        assert!(matches!(hear('\n').0, Heard::Not(_)), "nothing is chosen");
        assert_eq!(hear('2'), second(" ", "x"));
        assert_eq!(hear('1'), second("x", "x"));
        assert_eq!(hear('2'), second("x", " "));
        assert_eq!(hear('2'), second("x", "x"));
        let answers = [("Which?", "Two"), ("Which of them?", "One, Two")];
        let answers = answers.map(|(question, answer)| (question.to_owned(), answer.to_owned())).into();
        assert_eq!(hear('\n').0, Heard::Verdict(Verdict::Answers(Answers { answers })));
    }

    #[test]
    fn tools_and_plans_are_allowed_and_a_form_or_a_dialog_is_only_declined() {
        for (kind, is_allowed) in [
            (PermissionKind::Tool, true),
            (PermissionKind::Plan, true),
            (PermissionKind::Elicitation, false),
            (PermissionKind::Dialog, false),
        ] {
            let request = PermissionRequest { kind, ..request() };
            let heard = Answering::default().hear(&request, KeyCode::Char('a'));
            assert_eq!(heard == Heard::Verdict(Verdict::Allow(Allow::default())), is_allowed, "{heard:?}");
            let heard = Answering::default().hear(&request, KeyCode::Char('d'));
            assert!(matches!(heard, Heard::Verdict(Verdict::Deny(_))));
            assert_eq!(Answering::default().hear(&request, KeyCode::Char('1')), Heard::Nothing);
            assert_eq!(Answering::default().words(&request), None);
        }
    }
}

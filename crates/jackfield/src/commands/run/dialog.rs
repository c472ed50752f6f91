//! A question to a person at a terminal, line by line.
//!
//! Pure: lines in, an answer out. The one rule it keeps: only a plain yes is a yes. An empty line asks again, and the
//! end of the input is a no.

use jackfield_api::Json;
use jackfield_api::command::{Allow, Answers, Deny, Verdict};
use jackfield_api::permission::{
    Behavior, Change, Destination, PermissionKind, PermissionRequest, Question, Remember, Rule,
};
use serde_json::{Map, Value};

/// What the model is told when a person only says no.
const NO: &str = "the user said no";

/// A question that is being asked.
#[derive(Debug)]
pub(super) struct Dialog {
    pub(super) request: PermissionRequest,
    step: Step,
    answers: Answers,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    /// Yes or no.
    Verdict,
    /// The input to run with.
    Input,
    /// What a form is filled in with, or a dialog ends with.
    Form,
    /// This one of the model's questions.
    Question(usize),
}

/// What a line brought.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Heard {
    /// The answer.
    Answer(Box<Verdict>),
    /// Something more is to be said; the words are shown first.
    More(String),
}

impl Dialog {
    pub(super) fn new(request: PermissionRequest) -> Self {
        let step = match request.kind {
            PermissionKind::Question if !request.questions.is_empty() => Step::Question(0),
            // A mere yes to a dialog would be an answer that nobody has chosen.
            PermissionKind::Elicitation | PermissionKind::Dialog => Step::Form,
            _ => Step::Verdict,
        };
        Self { request, step, answers: Answers::default() }
    }

    /// What stands before the place to write.
    pub(super) fn ask(&self) -> String {
        match self.step {
            Step::Verdict if self.request.kind == PermissionKind::Tool => {
                let always =
                    remembered(&self.request).map(|_| "[a]lways in this session, ").unwrap_or_default();
                let edit = if self.request.input.is_some() { "[e]dit, " } else { "" };
                format!("[y]es, [n]o, {always}{edit}or say why not: ")
            }
            Step::Verdict => "[y]es, [n]o, or say what to change: ".to_owned(),
            Step::Input => "the new input, as JSON (nothing leaves it as it is): ".to_owned(),
            Step::Form if self.request.kind == PermissionKind::Dialog => {
                "what the dialog ends with, as JSON, or [n]o: ".to_owned()
            }
            Step::Form => "the form, as JSON, or [n]o: ".to_owned(),
            Step::Question(at) => {
                let Some(question) = self.request.questions.get(at) else { return String::new() };
                let several = if question.multi_select { "numbers with commas" } else { "a number" };
                let place = match self.request.questions.len() {
                    1 => String::new(),
                    all => format!("({} of {all}) {} ", at + 1, question.question),
                };
                format!("{place}{several}, or your own words: ")
            }
        }
    }

    /// Takes a line; `None` is the end of the input.
    pub(super) fn hear(&mut self, line: Option<&str>) -> Heard {
        let Some(line) = line.map(str::trim) else { return deny(NO) };
        match self.step {
            Step::Verdict => self.verdict(line),
            Step::Input => self.input(line),
            Step::Form => form(line),
            Step::Question(at) => self.question(at, line),
        }
    }

    fn verdict(&mut self, line: &str) -> Heard {
        let is_tool = self.request.kind == PermissionKind::Tool;
        match line.to_lowercase().as_str() {
            "" => Heard::More(String::new()),
            "y" | "yes" => allow(Allow::default()),
            "n" | "no" => deny(NO),
            "a" | "always" if is_tool => match remembered(&self.request) {
                Some(remember) => allow(Allow { input: None, remember }),
                None => Heard::More("this cannot be remembered".to_owned()),
            },
            "e" | "edit" if is_tool => match &self.request.input {
                Some(input) => {
                    self.step = Step::Input;
                    Heard::More(input.get().to_owned())
                }
                None => Heard::More("there is no input".to_owned()),
            },
            // A slip of the finger is no reason.
            short if short.chars().count() < 3 => Heard::More(format!("`{short}` is none of the answers")),
            _ => deny(line),
        }
    }

    fn input(&mut self, line: &str) -> Heard {
        if line.is_empty() {
            self.step = Step::Verdict;
            return Heard::More("it stays as it is".to_owned());
        }
        match object(line) {
            Ok(input) => allow(Allow { input: Some(input), remember: Vec::new() }),
            Err(why) => Heard::More(why),
        }
    }

    fn question(&mut self, at: usize, line: &str) -> Heard {
        let Some(question) = self.request.questions.get(at) else { return deny(NO) };
        match choice(question, line) {
            Err(why) => Heard::More(why),
            Ok(answer) => {
                self.answers.answers.insert(question.question.clone(), answer);
                if at + 1 < self.request.questions.len() {
                    self.step = Step::Question(at + 1);
                    return Heard::More(String::new());
                }
                Heard::Answer(Box::new(Verdict::Answers(std::mem::take(&mut self.answers))))
            }
        }
    }
}

/// What "always in this session" leaves behind, if anything can.
fn remembered(request: &PermissionRequest) -> Option<Vec<Remember>> {
    let offered = request
        .suggestions
        .iter()
        .map(|offered| Remember { change: offered.change.clone(), destination: Destination::Session });
    let offered: Vec<Remember> = offered.collect();
    if !offered.is_empty() {
        return Some(offered);
    }
    let rule = Rule { tool_name: request.tool_name.clone()?, rule_content: None };
    let change = Change::AddRules { rules: vec![rule], behavior: Behavior::Allow };
    Some(vec![Remember { change, destination: Destination::Session }])
}

/// An answer to a question of the model: numbers of options, or own words.
fn choice(question: &Question, line: &str) -> Result<String, String> {
    if line.is_empty() {
        return Err(String::new());
    }
    let numbers: Option<Vec<usize>> = line.split(',').map(|part| part.trim().parse().ok()).collect();
    let Some(numbers) = numbers.filter(|_| !question.options.is_empty()) else { return Ok(line.to_owned()) };
    if numbers.len() > 1 && !question.multi_select {
        return Err("only one may be chosen".to_owned());
    }
    let label =
        |number: &usize| question.options.get(number.wrapping_sub(1)).map(|option| option.label.as_str());
    let labels: Option<Vec<&str>> = numbers.iter().map(label).collect();
    let most = question.options.len();
    labels.map(|labels| labels.join(", ")).ok_or_else(|| format!("the options are 1 to {most}"))
}

fn form(line: &str) -> Heard {
    match line.to_lowercase().as_str() {
        "" => Heard::More(String::new()),
        "n" | "no" => deny(NO),
        _ => match object(line) {
            Ok(input) => allow(Allow { input: Some(input), remember: Vec::new() }),
            Err(why) => Heard::More(why),
        },
    }
}

fn object(line: &str) -> Result<Json, String> {
    let read: Result<Map<String, Value>, _> = serde_json::from_str(line);
    match read {
        Ok(object) => Ok(Json::of(&object)),
        Err(error) => Err(format!("this is no JSON object: {error}")),
    }
}

fn allow(allow: Allow) -> Heard {
    Heard::Answer(Box::new(Verdict::Allow(allow)))
}

fn deny(message: &str) -> Heard {
    Heard::Answer(Box::new(Verdict::Deny(Deny { message: message.to_owned(), interrupt: false })))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]

    use jackfield_api::PendingId;
    use jackfield_api::permission::QuestionOption;

    use super::*;

    fn request(kind: PermissionKind) -> PermissionRequest {
        PermissionRequest {
            pending_id: PendingId(7),
            kind,
            tool_call_id: None,
            tool_name: Some("Bash".to_owned()),
            tool_title: "ls".to_owned(),
            normalized: None,
            input: Some(Json::parse("{\"command\":\"ls\"}".to_owned()).unwrap()),
            suggestions: Vec::new(),
            reason: None,
            questions: Vec::new(),
            plan: None,
            message: None,
            schema: None,
        }
    }

    fn tool() -> Dialog {
        Dialog::new(request(PermissionKind::Tool))
    }

    fn answer(heard: Heard) -> Verdict {
        match heard {
            Heard::Answer(verdict) => *verdict,
            Heard::More(words) => panic!("more: {words}"),
        }
    }

    #[test]
    fn only_a_plain_yes_is_a_yes() {
        for yes in ["y", " Yes\n"] {
            assert_eq!(tool().hear(Some(yes)), allow(Allow::default()));
        }
        for again in ["", " ", "ye", "j", "Y!", "ok"] {
            assert!(matches!(tool().hear(Some(again)), Heard::More(_)), "{again}");
        }
        assert_eq!(tool().hear(Some("no")), deny(NO));
        assert_eq!(tool().hear(None), deny(NO));
        assert_eq!(tool().hear(Some("use rg instead")), deny("use rg instead"));
        assert_eq!(tool().hear(Some("yes please")), deny("yes please"));
    }

    #[test]
    fn always_means_in_this_session_whatever_was_offered() {
        let Verdict::Allow(allowed) = answer(tool().hear(Some("a"))) else { panic!() };
        let rule = Rule { tool_name: "Bash".to_owned(), rule_content: None };
        let change = Change::AddRules { rules: vec![rule], behavior: Behavior::Allow };
        assert_eq!(
            allowed.remember,
            [Remember { change: change.clone(), destination: Destination::Session }]
        );

        let mut offered = request(PermissionKind::Tool);
        offered.suggestions =
            vec![Remember { change: change.clone(), destination: Destination::UserSettings }];
        let Verdict::Allow(allowed) = answer(Dialog::new(offered).hear(Some("always"))) else { panic!() };
        assert_eq!(allowed.remember, [Remember { change, destination: Destination::Session }]);

        let plan = Dialog::new(request(PermissionKind::Plan)).hear(Some("a"));
        assert!(matches!(plan, Heard::More(_)), "a plan is not approved for ever");
    }

    #[test]
    fn an_input_can_be_changed_and_must_be_an_object() {
        let mut dialog = tool();
        assert_eq!(dialog.hear(Some("e")), Heard::More("{\"command\":\"ls\"}".to_owned()));
        assert!(matches!(dialog.hear(Some("ls -l")), Heard::More(_)));
        assert!(matches!(dialog.hear(Some("[1]")), Heard::More(_)));
        let Verdict::Allow(allowed) = answer(dialog.hear(Some("{\"command\":\"ls -l\"}"))) else { panic!() };
        assert_eq!(allowed.input.unwrap().get(), "{\"command\":\"ls -l\"}");

        let mut dialog = tool();
        dialog.hear(Some("e"));
        dialog.hear(Some(""));
        assert_eq!(dialog.hear(Some("y")), allow(Allow::default()));
    }

    #[test]
    fn questions_are_answered_one_after_the_other_by_number_or_in_own_words() {
        let option = |label: &str| QuestionOption { label: label.to_owned(), description: String::new() };
        let question = |text: &str, multi_select| Question {
            question: text.to_owned(),
            header: String::new(),
            multi_select,
            options: vec![option("One"), option("Two")],
        };
        let mut asked = request(PermissionKind::Question);
        asked.questions =
            vec![question("which?", false), question("which ones?", true), question("why?", false)];
        let mut dialog = Dialog::new(asked);
        for wrong in ["", "3", "0", "1,2"] {
            assert!(matches!(dialog.hear(Some(wrong)), Heard::More(_)), "{wrong}");
        }
        assert_eq!(dialog.hear(Some("2")), Heard::More(String::new()));
        assert_eq!(dialog.hear(Some("1, 2")), Heard::More(String::new()));
        let Verdict::Answers(answers) = answer(dialog.hear(Some("because"))) else { panic!() };
        let told: Vec<_> =
            answers.answers.iter().map(|(question, answer)| (&**question, &**answer)).collect();
        assert_eq!(told, [("which ones?", "One, Two"), ("which?", "Two"), ("why?", "because")]);
    }

    #[test]
    fn a_form_or_a_dialog_is_filled_in_or_refused() {
        for kind in [PermissionKind::Elicitation, PermissionKind::Dialog] {
            let form = || Dialog::new(request(kind));
            assert_eq!(form().hear(Some("n")), deny(NO));
            for none in ["Atlantis", "y", "yes", "a", "e"] {
                assert!(matches!(form().hear(Some(none)), Heard::More(_)), "{none}");
            }
            assert!(form().ask().contains("as JSON, or [n]o"));
            let Verdict::Allow(allowed) = answer(form().hear(Some("{\"place\":\"here\"}"))) else { panic!() };
            assert_eq!(allowed.input.unwrap().get(), "{\"place\":\"here\"}");
        }
    }
}

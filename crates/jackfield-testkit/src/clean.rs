//! Cleaning a recording, so that it is private and the same on every machine and every run.
//!
//! Only [`crate::recordings::Recorded::line`] is cleaned; `t` keeps the real time, in milliseconds. The rules, in this order:
//!
//! | what | becomes |
//! |---|---|
//! | the working folder, the home folder, the folder for temporary files, and the folder names the CLI makes of them | `/ws`, `/home/user`, `/tmp` ([`Places::hide`]) |
//! | the API's port on 127.0.0.1 | `PORT` |
//! | a UUID that the case itself does not contain | `00000000-0000-4000-8000-000000000001` and so on, by first appearance |
//! | the value of an id field that is no UUID (`task_id`, `agentId`, …), wherever it appears | its first character, then its number by first appearance, in its old length |
//! | a time such as `2026-11-15T06:11:11.603Z` | `2026-01-01T00:00:00.000Z` |
//! | a date of this century in a text | `2026-01-01` |
//! | an epoch time in milliseconds | `1767225600000` |
//! | the number of a field that ends in `_ms` or `Ms` (`duration_ms`, `ttft_ms`, …), also in a text | `0`; `500` for `retry_delay_ms`, where none would mean something |
//! | `pid` | `1` |
//! | the user's number in the name of the CLI's folder for temporary files | `claude-0` |
//! | the process id in the name of the CLI's socket | `1` |
//! | the name the CLI invents for a plan's file | `plan` |
//!
//! The one rule it keeps: cleaning is a pure function of the lines, and cleaning twice changes nothing.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::{Captures, Regex};

use crate::case::Case;
use crate::drive::Run;
use crate::places::{Places, pattern};
use crate::recordings::Recorded;

/// The cleaned lines of a run.
pub fn clean_run(run: &Run, case: &Case) -> Vec<Recorded> {
    let given = serde_json::to_string(case).unwrap_or_default();
    clean(&run.lines, &run.places, run.port, &given)
}

/// Other texts of a run (one per line), cleaned with the names its transcript gave.
pub fn clean_texts(run: &Run, case: &Case, texts: impl Iterator<Item = String>) -> String {
    let given = serde_json::to_string(case).unwrap_or_default();
    let hidden: Vec<String> = texts.map(|text| hide(&text, &run.places, run.port)).collect();
    let transcript = run.lines.iter().map(|recorded| hide(&recorded.line, &run.places, run.port));
    let all: Vec<String> = transcript.chain(hidden.iter().cloned()).collect();
    let names = Names::collect(&all, &given);
    hidden.iter().map(|text| fix(&names.replace(text)) + "\n").collect()
}

/// Cleans lines; the UUIDs in `given` are kept.
pub fn clean(lines: &[Recorded], places: &Places, port: u16, given: &str) -> Vec<Recorded> {
    let texts: Vec<String> = lines.iter().map(|recorded| hide(&recorded.line, places, port)).collect();
    let names = Names::collect(&texts, given);
    let cleaned = texts.iter().map(|text| fix(&names.replace(text)));
    lines.iter().zip(cleaned).map(|(recorded, line)| Recorded { line, ..recorded.clone() }).collect()
}

fn hide(text: &str, places: &Places, port: u16) -> String {
    places.hide(text).replace(&format!("127.0.0.1:{port}"), "127.0.0.1:PORT")
}

/// The new names of ids.
#[derive(Debug, Default)]
struct Names {
    new: BTreeMap<String, String>,
}

impl Names {
    fn collect(texts: &[String], given: &str) -> Self {
        let rules = &*RULES;
        let mut names = Self::default();
        let (mut uuids, mut others) = (0, 0);
        for text in texts {
            for found in rules.uuid.find_iter(text) {
                if given.contains(found.as_str()) || names.new.contains_key(found.as_str()) {
                    continue;
                }
                uuids += 1;
                names.new.insert(found.as_str().to_owned(), format!("00000000-0000-4000-8000-{uuids:012}"));
            }
            for found in rules.short_id.captures_iter(text) {
                let id = &found[1];
                if rules.uuid.is_match(id) || names.new.contains_key(id) {
                    continue;
                }
                others += 1;
                let first: String = id.chars().take(1).collect();
                let width = id.chars().count() - 1;
                names.new.insert(id.to_owned(), format!("{first}{others:0width$}"));
            }
        }
        names
    }

    fn replace(&self, text: &str) -> String {
        let new_name = |found: &Captures<'_>| {
            let word = &found[0];
            self.new.get(word).cloned().unwrap_or_else(|| word.to_owned())
        };
        let text = RULES.uuid.replace_all(text, new_name);
        let text = RULES.word.replace_all(&text, new_name).into_owned();
        let compound = self.new.iter().filter(|(old, _)| old.contains('-') && !RULES.uuid.is_match(old));
        compound.fold(text, |text, (old, new)| text.replace(old, new))
    }
}

/// Everything that needs no memory.
fn fix(text: &str) -> String {
    let rules = &*RULES;
    let text = rules.time.replace_all(text, "2026-01-01T00:00:00.000Z");
    let text = rules.date.replace_all(&text, "2026-01-01");
    let text = rules.epoch.replace_all(&text, "${1}1767225600000");
    let text = rules.milliseconds.replace_all(&text, |found: &Captures<'_>| {
        let fixed = if &found[2] == "retry_delay_ms" { "500" } else { "0" };
        format!("{}{fixed}", &found[1])
    });
    let text = rules.pid.replace_all(&text, "${1}1");
    let text = rules.user.replace_all(&text, "/tmp/claude-0/");
    let text = rules.socket.replace_all(&text, "cc-socks/1.sock");
    rules.plan.replace_all(&text, "plans/plan.md").into_owned()
}

struct Rules {
    uuid: Regex,
    short_id: Regex,
    word: Regex,
    time: Regex,
    date: Regex,
    epoch: Regex,
    milliseconds: Regex,
    pid: Regex,
    user: Regex,
    socket: Regex,
    plan: Regex,
}

// A quote may itself be escaped, where the CLI quotes JSON inside a text.
static RULES: LazyLock<Rules> = LazyLock::new(|| Rules {
    uuid: pattern(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"),
    short_id: pattern(
        r#"\\?"(?:task_id|taskId|agent_id|agentId|backgroundTaskId|hook_id|run_id)\\?":\s?\\?"([\w-]{5,})\\?""#,
    ),
    word: pattern(r"\b\w{5,}\b"),
    time: pattern(r"\b20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z"),
    date: pattern(r"\b20\d\d-\d\d-\d\d\b"),
    epoch: pattern(r#"(":\s?)1[789]\d{11}\b(?:\.\d+)?"#),
    milliseconds: pattern(r#"(\b(\w*(?:_ms|Ms))\\?"?:\s?)\d+(?:\.\d+)?"#),
    pid: pattern(r#"("pid":\s?)\d+"#),
    user: pattern(r"/tmp/claude-\d+/"),
    socket: pattern(r"\bcc-socks/\d+\.sock\b"),
    plan: pattern(r"\bplans/[a-z0-9-]+\.md\b"),
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recordings::Direction;

    fn cleaned(lines: &[&str]) -> Vec<String> {
        cleaned_with(lines, "")
    }

    fn cleaned_with(lines: &[&str], given: &str) -> Vec<String> {
        let record = |line: &&str| Recorded { t: 0.5, dir: Direction::Out, line: (*line).to_owned() };
        let lines: Vec<_> = lines.iter().map(record).collect();
        let once = clean(&lines, &Places::default(), 4321, given);
        assert_eq!(clean(&once, &Places::default(), 4321, given), once, "cleaning twice changed something");
        once.into_iter().map(|recorded| recorded.line).collect()
    }

    #[test]
    fn uuids_are_numbered_by_first_appearance() {
        let (a, b) = ("0e0a1111-2222-4333-8444-555555555555", "d53e1111-2222-4333-8444-555555555555");
        assert_eq!(
            cleaned(&[&format!(r#"{{"uuid":"{b}"}}"#), &format!("{a} {b}")]),
            [
                r#"{"uuid":"00000000-0000-4000-8000-000000000001"}"#,
                "00000000-0000-4000-8000-000000000002 00000000-0000-4000-8000-000000000001"
            ]
        );
    }

    #[test]
    fn a_uuid_of_the_case_is_kept() {
        let uuid = "11111111-1111-4111-8111-111111111111";
        assert_eq!(cleaned_with(&[uuid], uuid), [uuid]);
    }

    #[test]
    fn a_task_id_is_renamed_wherever_it_appears() {
        assert_eq!(
            cleaned(&[
                r#"{"text":"see bq1x9z7k.output","task_id":"bq1x9z7k"}"#,
                "task bq1x9z7k, not bq1x9z7kk"
            ]),
            [r#"{"text":"see b0000001.output","task_id":"b0000001"}"#, "task b0000001, not bq1x9z7kk"]
        );
    }

    #[test]
    fn times_dates_and_durations_are_fixed() {
        assert_eq!(
            cleaned(&[
                r#"{"timestamp":"2026-11-15T06:11:11.603Z","end_time":1794726671603,"duration_ms":55,"num_turns":1}"#,
                "Today's date is 2026-11-15.",
                r#"{"retry_delay_ms":543.21,"pid":77}"#,
            ]),
            [
                r#"{"timestamp":"2026-01-01T00:00:00.000Z","end_time":1767225600000,"duration_ms":0,"num_turns":1}"#,
                "Today's date is 2026-01-01.",
                r#"{"retry_delay_ms":500,"pid":1}"#,
            ]
        );
    }

    #[test]
    fn the_port_and_the_plan_lose_their_names() {
        assert_eq!(
            cleaned(&["http://127.0.0.1:4321/v1 /home/user/.claude/plans/merry-old-otter.md"]),
            ["http://127.0.0.1:PORT/v1 /home/user/.claude/plans/plan.md"]
        );
    }
}

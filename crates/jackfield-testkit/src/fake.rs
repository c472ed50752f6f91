//! The script of `fake-claude`: a program that plays one side of a conversation, for what the real CLI cannot
//! be made to do (hang, flood, half a line, nonsense).
//!
//! It knows nothing about the protocol. The one rule it keeps: what the host does not do as the script says
//! ends the program with [`UNEXPECTED`] and the reason on standard error.

use std::fs;
use std::io::{self, BufRead, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::case::Nothing;
use crate::matching::line_contains;

/// The exit code when the host did something else than the script says.
pub const UNEXPECTED: u8 = 97;
/// The exit code when the script cannot be read.
pub const BAD_SCRIPT: u8 = 96;
/// The longest `hang`; nothing we start lives for ever.
const LONGEST_HANG: Duration = Duration::from_mins(10);

/// One step; a script is a file with one step per line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FakeStep {
    /// What `--version` prints; does nothing otherwise.
    Version(String),
    /// The next line of standard input must contain this (see [`crate::matching`]).
    Expect(Value),
    /// Read lines until one contains this; the others are ignored.
    Await(Value),
    /// Write a line. The texts `$request_id` and `$uuid` become those of the last line that was read, `$session`
    /// the session's name, and `$unique`, here and in what is waited for, a name that no other
    /// [`Scenes`](FakeStep::Scenes) has.
    Send(Value),
    /// Read a line and do the steps of the first scene that it fits; the end of standard input ends the program.
    Scenes(Vec<Scene>),
    /// Do these steps so many times.
    Repeat {
        /// How often.
        times: u64,
        /// The steps.
        steps: Vec<FakeStep>,
    },
    /// Write bytes without a newline.
    SendRaw(Bytes),
    /// Wait some seconds.
    Sleep(f64),
    /// Write a line to standard error.
    Stderr(String),
    /// Write many lines, or one endless line.
    Flood(Flood),
    /// Close standard output and go on.
    CloseStdout(Nothing),
    /// Read until standard input ends.
    AwaitEof(Nothing),
    /// Do nothing more, but stay.
    Hang(Nothing),
    /// End with this code.
    Exit(u8),
}

/// What to do about a line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Scene {
    /// What the line must contain (see [`crate::matching`]).
    pub when: Value,
    /// What is done then.
    pub steps: Vec<FakeStep>,
}

/// Bytes in a script.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Bytes {
    /// As text.
    Text(String),
    /// As base64, for bytes that are no text.
    Base64(String),
}

/// A flood of output.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Flood {
    /// The same line many times.
    Lines {
        /// How often.
        count: u64,
        /// The line.
        line: Value,
    },
    /// So many bytes without a newline.
    Bytes(u64),
}

/// Why a script could not be loaded.
#[derive(Debug, thiserror::Error)]
pub enum ScriptError {
    /// The file could not be read or written.
    #[error("cannot open the script {}: {source}", path.display())]
    File {
        /// The script.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// A line is not a step.
    #[error("cannot parse {} line {number}: {source}", path.display())]
    Parse {
        /// The script.
        path: PathBuf,
        /// The line's number, from 1.
        number: usize,
        /// The reason.
        source: serde_json::Error,
    },
    /// The program is not built.
    #[error("`fake-claude` is not at {}: run `cargo build -p jackfield-testkit`", .0.display())]
    NotBuilt(PathBuf),
}

/// Why a script ended before its end.
#[derive(Debug, thiserror::Error)]
pub enum PlayError {
    /// The host did something else.
    #[error("step {number} expected {expected}, got {got}")]
    Unexpected {
        /// The step's number, from 1.
        number: usize,
        /// What the script says.
        expected: Value,
        /// What came.
        got: String,
    },
    /// A pipe failed.
    #[error("step {number} failed: {source}")]
    Pipe {
        /// The step's number, from 1.
        number: usize,
        /// The reason.
        source: io::Error,
    },
}

/// Reads a script.
pub fn read_script(path: &Path) -> Result<Vec<FakeStep>, ScriptError> {
    let text =
        fs::read_to_string(path).map_err(|source| ScriptError::File { path: path.to_owned(), source })?;
    let lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(number, line)| {
            serde_json::from_str(line).map_err(|source| ScriptError::Parse {
                path: path.to_owned(),
                number,
                source,
            })
        })
        .collect()
}

/// Writes a script.
pub fn write_script(path: &Path, steps: &[FakeStep]) -> Result<(), ScriptError> {
    let line = |step| serde_json::to_string(step).unwrap_or_default() + "\n";
    let text: String = steps.iter().map(line).collect();
    fs::write(path, text).map_err(|source| ScriptError::File { path: path.to_owned(), source })
}

/// The program `fake-claude`, beside the test that runs.
pub fn program() -> Result<PathBuf, ScriptError> {
    let name = "fake-claude";
    let beside = |folder: &Path| folder.join(name);
    let test = std::env::current_exe().unwrap_or_default();
    // A test lies in `target/PROFILE/deps`, a program in `target/PROFILE`.
    let candidates = test.ancestors().skip(1).take(2).map(beside).collect::<Vec<_>>();
    let missing = candidates.last().cloned().unwrap_or_default();
    candidates.into_iter().find(|path| path.is_file()).ok_or(ScriptError::NotBuilt(missing))
}

/// Plays a script in a session of this name, and gives the exit code.
pub fn play(
    steps: &[FakeStep],
    session: &str,
    input: impl BufRead,
    output: impl Write,
    errors: impl Write,
) -> Result<u8, PlayError> {
    let session = session.to_owned();
    let mut player = Player { session, input, output, errors, last: Value::Null, scenes: 0 };
    player.play(steps).map(Option::unwrap_or_default)
}

/// A script while it is played.
struct Player<I, O, E> {
    session: String,
    input: I,
    output: O,
    errors: E,
    /// The last line that was read.
    last: Value,
    /// How many scenes there were.
    scenes: u64,
}

impl<I: BufRead, O: Write, E: Write> Player<I, O, E> {
    /// Plays steps; the exit code, if they end the program.
    fn play(&mut self, steps: &[FakeStep]) -> Result<Option<u8>, PlayError> {
        for (number, step) in (1..).zip(steps) {
            if let Some(code) = self.step(number, step)? {
                return Ok(Some(code));
            }
        }
        Ok(None)
    }

    fn step(&mut self, number: usize, step: &FakeStep) -> Result<Option<u8>, PlayError> {
        let pipe = |source| PlayError::Pipe { number, source };
        match step {
            FakeStep::Version(_) => {}
            FakeStep::Expect(pattern) => {
                let line = read_line(&mut self.input).map_err(pipe)?;
                self.last = matched(number, &self.filled(pattern), line)?;
            }
            FakeStep::Await(pattern) => {
                let pattern = self.filled(pattern);
                loop {
                    let line = read_line(&mut self.input).map_err(pipe)?;
                    if line.is_none() || line.as_ref().is_some_and(|line| line_contains(line, &pattern)) {
                        self.last = matched(number, &pattern, line)?;
                        break;
                    }
                }
            }
            FakeStep::Scenes(scenes) => {
                let Some(line) = read_line(&mut self.input).map_err(pipe)? else { return Ok(Some(0)) };
                let Some(scene) = scenes.iter().find(|scene| line_contains(&line, &scene.when)) else {
                    let expected = "the beginning of a scene".into();
                    return Err(PlayError::Unexpected { number, expected, got: line });
                };
                self.last = serde_json::from_str(&line).unwrap_or_default();
                self.scenes += 1;
                return self.play(&scene.steps);
            }
            FakeStep::Repeat { times, steps } => {
                for _ in 0..*times {
                    if let Some(code) = self.play(steps)? {
                        return Ok(Some(code));
                    }
                }
            }
            FakeStep::Send(message) => {
                let line = self.filled(message);
                writeln!(self.output, "{line}").map_err(pipe)?;
            }
            FakeStep::SendRaw(bytes) => {
                self.output.write_all(&bytes.decode().map_err(pipe)?).map_err(pipe)?;
            }
            FakeStep::Sleep(seconds) => sleep(Duration::from_secs_f64(*seconds)),
            FakeStep::Stderr(text) => writeln!(self.errors, "{text}").map_err(pipe)?,
            FakeStep::Flood(flood) => flood.write(&mut self.output).map_err(pipe)?,
            FakeStep::CloseStdout(_) => {
                self.output.flush().map_err(pipe)?;
                close_stdout().map_err(pipe)?;
            }
            FakeStep::AwaitEof(_) => {
                io::copy(&mut self.input, &mut io::sink()).map_err(pipe)?;
            }
            FakeStep::Hang(_) => {
                self.output.flush().map_err(pipe)?;
                sleep(LONGEST_HANG);
            }
            FakeStep::Exit(code) => return Ok(Some(*code)),
        }
        self.output.flush().map_err(pipe)?;
        Ok(None)
    }

    /// A message with the names in it that are only known now.
    fn filled(&self, message: &Value) -> Value {
        match message {
            Value::String(text) => match text.as_str() {
                "$request_id" => self.last["request_id"].clone(),
                "$uuid" => self.last["uuid"].clone(),
                "$session" => self.session.clone().into(),
                text => text.replace("$unique", &self.unique()).into(),
            },
            Value::Array(parts) => parts.iter().map(|part| self.filled(part)).collect(),
            Value::Object(fields) => {
                fields.iter().map(|(name, value)| (name.clone(), self.filled(value))).collect()
            }
            other => other.clone(),
        }
    }

    fn unique(&self) -> String {
        format!("{}-{}", std::process::id(), self.scenes)
    }
}

impl Bytes {
    fn decode(&self) -> io::Result<Vec<u8>> {
        match self {
            Self::Text(text) => Ok(text.clone().into_bytes()),
            Self::Base64(text) => BASE64_STANDARD.decode(text).map_err(io::Error::other),
        }
    }
}

impl Flood {
    fn write(&self, output: &mut impl Write) -> io::Result<()> {
        match self {
            Self::Lines { count, line } => {
                let line = format!("{line}\n");
                (0..*count).try_for_each(|_| output.write_all(line.as_bytes()))
            }
            Self::Bytes(count) => io::copy(&mut io::repeat(b'x').take(*count), output).map(drop),
        }
    }
}

/// The next line without its newline; `None` at the end.
fn read_line(input: &mut impl BufRead) -> io::Result<Option<String>> {
    let mut line = Vec::new();
    if input.read_until(b'\n', &mut line)? == 0 {
        return Ok(None);
    }
    let text = line.strip_suffix(b"\n").unwrap_or(&line);
    Ok(Some(String::from_utf8_lossy(text).into_owned()))
}

fn matched(number: usize, pattern: &Value, line: Option<String>) -> Result<Value, PlayError> {
    let got = line.unwrap_or_else(|| "the end of standard input".to_owned());
    if line_contains(&got, pattern) {
        return Ok(serde_json::from_str(&got).unwrap_or_default());
    }
    Err(PlayError::Unexpected { number, expected: pattern.clone(), got })
}

#[expect(clippy::disallowed_methods, reason = "a program of its own, which waits because its script says so")]
fn sleep(time: Duration) {
    std::thread::sleep(time);
}

/// Closing means putting another file in its place: the standard library flushes standard output at the end.
fn close_stdout() -> io::Result<()> {
    let nowhere = fs::OpenOptions::new().write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdout(nowhere).map_err(Into::into)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use serde_json::json;

    use super::*;

    fn played(steps: &[FakeStep], input: &str) -> (Result<u8, String>, String) {
        let mut output = Vec::new();
        let result = play(steps, "s", input.as_bytes(), &mut output, io::sink());
        (result.map_err(|error| error.to_string()), String::from_utf8(output).unwrap())
    }

    #[test]
    fn the_id_of_the_last_line_is_answered() {
        let steps = [
            FakeStep::Expect(json!({"request": {"subtype": "initialize"}})),
            FakeStep::Send(json!({"response": {"request_id": "$request_id"}})),
            FakeStep::Exit(3),
        ];
        let input = r#"{"request_id":"a-1","request":{"subtype":"initialize"}}"#;
        assert_eq!(played(&steps, input), (Ok(3), "{\"response\":{\"request_id\":\"a-1\"}}\n".to_owned()));
    }

    #[test]
    fn another_line_than_expected_is_named() {
        let (result, _) = played(&[FakeStep::Expect(json!({"type": "user"}))], "{\"type\":\"other\"}\n");
        assert_eq!(result.unwrap_err(), r#"step 1 expected {"type":"user"}, got {"type":"other"}"#);
        let (result, _) = played(&[FakeStep::Await(json!({"type": "user"}))], "{\"type\":\"other\"}\n");
        assert!(result.unwrap_err().ends_with("got the end of standard input"));
    }

    #[test]
    fn waiting_ignores_the_lines_before() {
        let steps = [FakeStep::Await(json!({"type": "b"})), FakeStep::Exit(0)];
        assert_eq!(played(&steps, "{\"type\":\"a\"}\nx\n{\"type\":\"b\"}\n").0, Ok(0));
    }

    #[test]
    fn a_line_chooses_its_scene_and_the_end_of_input_is_the_end() {
        let scene = |word: &str, said: &str| Scene {
            when: json!({"text": {"$contains": word}}),
            steps: vec![FakeStep::Send(json!({"said": said}))],
        };
        let steps = [FakeStep::Repeat {
            times: 9,
            steps: vec![FakeStep::Scenes(vec![scene("a", "one of $unique"), scene("b", "two")])],
        }];
        let (result, said) = played(&steps, "{\"text\":\"b\"}\n{\"text\":\"an a\"}\n");
        let process = std::process::id();
        assert_eq!(said, format!("{{\"said\":\"two\"}}\n{{\"said\":\"one of {process}-2\"}}\n"));
        assert_eq!(result, Ok(0));
        assert!(played(&steps, "{\"text\":\"c\"}\n").0.is_err());
    }

    #[test]
    fn a_flood_is_as_long_as_it_says() {
        let steps = [
            FakeStep::Flood(Flood::Lines { count: 3, line: json!({}) }),
            FakeStep::Flood(Flood::Bytes(5)),
            FakeStep::SendRaw(Bytes::Base64("aGk=".to_owned())),
        ];
        assert_eq!(played(&steps, "").1, "{}\n{}\n{}\nxxxxxhi");
    }

    #[test]
    fn a_script_survives_its_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("script.jsonl");
        let steps = [FakeStep::Version("1.2.3".to_owned()), FakeStep::Hang(Nothing {}), FakeStep::Sleep(0.5)];
        write_script(&path, &steps).unwrap();
        assert_eq!(read_script(&path).unwrap(), steps);
    }
}

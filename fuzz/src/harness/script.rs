//! Bytes to steps: a script of one step per line, the first byte of which says what it is.
//!
//! | first byte | the rest |
//! |---|---|
//! | `o` | a line of the CLI (any other first byte: the whole line is one) |
//! | `i`, `I` | a line to the CLI, by an unknown and by a client |
//! | `e` | a line on standard error |
//! | `c` | a command, as JSON |
//! | `R` | a control request of a program, as the host would write it |
//! | `a` | which question, a space, a verdict as JSON |
//! | `r` | which call, a space, `h` and a hook's output, `m` and a message, or `f` and why it failed |
//! | `s` | a process begins; its arguments |
//! | `x` | it ends: a code, a negative signal, `n` and why it did not start, or `o` |
//! | `D` | the host dies, and another one begins a process; its arguments |
//! | `q`, `k`, `K` | input closed, killed, terminated |
//! | `t`, `d`, `w` | time-out now, time-out when it is due, milliseconds that pass |
//! | `h`, `l` | the shell holds back, the shell goes on |
//! | `L`, `u` | a line of so many bytes, a line that nobody can read |
//! | `n` | a notice of the shell's own |
//! | `f` | a call's id, a space, a path |
//!
//! The one rule: every script is a script. What cannot be read as its first byte says is left out.

use jackfield_api::Json;
use jackfield_core::input::FileChange;
use jackfield_core::{By, Exit, HostReply, Launch, Signal};
use jackfield_wire::{HookOutput, Object, Outbound, OutboundMessage};

use super::stage::Step;

/// More steps than this tell nothing new, and take time.
const STEPS_AT_MOST: usize = 400;

/// Reads a script.
pub fn read_script(bytes: &[u8]) -> Vec<Step> {
    bytes.split(|byte| *byte == b'\n').take(STEPS_AT_MOST).filter_map(read_step).collect()
}

fn read_step(line: &[u8]) -> Option<Step> {
    let (&first, rest) = line.split_first()?;
    let text = String::from_utf8_lossy(rest);
    let client = || By::Client("somebody".into());
    Some(match first {
        b'o' => Step::Line(rest.to_vec()),
        b'i' => Step::Sent(rest.to_vec(), By::Unknown),
        b'I' => Step::Sent(rest.to_vec(), client()),
        b'e' => Step::Stderr(text.into_owned()),
        b'c' => Step::Command(serde_json::from_str(&text).ok()?, client()),
        b'R' => match Outbound::decode(rest).message {
            OutboundMessage::Known(Outbound::ControlRequest(control)) => {
                Step::Request(control.request, client())
            }
            _ => return None,
        },
        b'a' => {
            let (which, verdict) = text.split_once(' ')?;
            Step::Answer(which.parse().ok()?, Json::parse(verdict.to_owned()).ok()?.read().ok()?, client())
        }
        b'r' => {
            let (which, reply) = text.split_once(' ')?;
            Step::Reply(which.parse().ok()?, read_reply(reply)?)
        }
        b's' => Step::Started(launch(&text)),
        b'D' => Step::HostDied(launch(&text)),
        b'x' => Step::Exited(read_exit(&text)?),
        b'q' => Step::StdinClosed,
        b'k' => Step::Signalled(Signal::Kill),
        b'K' => Step::Signalled(Signal::Terminate),
        b't' => Step::Timeout,
        b'd' => Step::Deadline,
        b'w' => Step::Wait(text.parse::<u32>().ok()?.into()),
        b'h' => Step::Hold,
        b'l' => Step::Release,
        b'L' => Step::LongLine(text.parse::<u32>().ok()?.into()),
        b'n' => Step::Notice(text.into_owned()),
        b'u' => Step::Unreadable(text.into_owned()),
        b'f' => {
            let (call, path) = text.split_once(' ')?;
            Step::File(FileChange {
                tool_call_id: call.into(),
                path: path.to_owned(),
                before: None,
                after: Some(path.to_owned()),
            })
        }
        _ => Step::Line(line.to_vec()),
    })
}

fn launch(arguments: &str) -> Launch {
    Launch::from_arguments(&arguments.split_whitespace().collect::<Vec<_>>())
}

fn read_reply(text: &str) -> Option<HostReply> {
    let (kind, rest) = text.split_at_checked(1)?;
    Some(match kind {
        "h" => HostReply::Hook(serde_json::from_str::<HookOutput>(rest).ok()?),
        "m" => HostReply::Mcp(serde_json::from_str::<Object>(rest).ok()?),
        "f" => HostReply::Failed(rest.to_owned()),
        _ => return None,
    })
}

fn read_exit(text: &str) -> Option<Exit> {
    Some(match text.as_bytes().first() {
        Some(b'n') => Exit::NotStarted(text.get(1..)?.to_owned()),
        Some(b'o') => Exit::OutputEnded,
        _ => match text.parse::<i16>().ok()? {
            code if code < 0 => Exit::Signal(-i32::from(code)),
            code => Exit::Code(code.into()),
        },
    })
}

//! The client of the benchmark: one agent as its child, one session, and the clocks.
//!
//! It looks at an update no closer than it must to count it. The one rule it keeps: the processor time and the memory
//! are the agent's own, as the kernel counts them, never the client's or the CLI's.

use std::fs;
use std::io::{BufRead, BufReader, Read as _, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use jackfield_testkit::processes;
use nix::time::{ClockId, clock_getcpuclockid, clock_gettime};
use nix::unistd::Pid;
use serde_json::{Value, json};

use super::file;
use crate::bench::BenchError;
use crate::process;

/// How long an agent may take to leave after its input has ended.
const LEAVING: Duration = Duration::from_secs(5);
const BUFFER: usize = 256 * 1024;
/// How much a client that crawls reads at once, and how long it waits behind that.
pub(super) const SIP: usize = 1024;
pub(super) const REST: Duration = Duration::from_millis(10);

/// An agent that runs, and its session.
pub(super) struct Client {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    clock: ClockId,
    calls: u64,
    session: Value,
    line: Vec<u8>,
}

/// What a turn was like.
#[derive(Debug, Clone, Copy)]
pub(super) struct Turn {
    pub(super) updates: u64,
    pub(super) cpu: Duration,
    pub(super) wall: Duration,
    /// From the prompt to its first update.
    pub(super) first: Duration,
}

impl Client {
    /// Starts an agent; gives the time until it has answered `initialize` too.
    pub(super) fn start(mut command: Command) -> Result<(Self, Duration), BenchError> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let begun = Instant::now();
        let mut child = command.spawn().map_err(|source| process::not_started(&command, source))?;
        let pipes = child.stdin.take().zip(child.stdout.take());
        let (stdin, stdout) = pipes.ok_or_else(|| missing("the pipes", "a new process"))?;
        let pid = Pid::from_raw(i32::try_from(child.id()).unwrap_or_default());
        let clock = clock_getcpuclockid(pid).map_err(|error| file("read the agent's clock")(error.into()))?;
        let stdout = BufReader::with_capacity(BUFFER, stdout);
        let (stdin, session, line) = (Some(stdin), Value::Null, Vec::new());
        let mut client = Self { child, stdin, stdout, clock, calls: 0, session, line };
        client.call("initialize", &json!({ "protocolVersion": 1, "clientCapabilities": {} }))?;
        Ok((client, begun.elapsed()))
    }

    /// Makes the session.
    pub(super) fn session(&mut self, folder: &Path) -> Result<(), BenchError> {
        let made = self.call("session/new", &json!({ "cwd": folder, "mcpServers": [] }))?;
        self.session = made["sessionId"].clone();
        Ok(())
    }

    /// Says something and reads up to the answer, so long for each update.
    pub(super) fn turn(&mut self, spin: Duration) -> Result<Turn, BenchError> {
        let prompt = json!([{ "type": "text", "text": "Go on." }]);
        let cpu = self.processor_time()?;
        let begun = Instant::now();
        let call = self.say("session/prompt", &json!({ "sessionId": self.session, "prompt": prompt }))?;
        let (mut updates, mut first) = (0, None);
        while !self.hear(call)? {
            updates += 1;
            first.get_or_insert_with(|| begun.elapsed());
            let until = Instant::now() + spin;
            while Instant::now() < until {
                std::hint::spin_loop();
            }
        }
        let (wall, cpu) = (begun.elapsed(), self.processor_time()?.saturating_sub(cpu));
        self.result()?;
        Ok(Turn { updates, cpu, wall, first: first.unwrap_or(wall) })
    }

    /// Says something, reads very slowly for so long, and then as fast as it can. Gives the most memory that the agent
    /// was seen to have for itself, in kilobytes.
    pub(super) fn crawl(&mut self, so_long: Duration) -> Result<f64, BenchError> {
        let prompt = json!([{ "type": "text", "text": "Go on." }]);
        let call = self.say("session/prompt", &json!({ "sessionId": self.session, "prompt": prompt }))?;
        let begun = Instant::now();
        let (mut most, mut sip) = (0.0_f64, [0; SIP]);
        let mut answered = false;
        self.line.clear();
        while begun.elapsed() < so_long && !answered {
            // Past the buffer, which would take much more.
            let read = self.stdout.get_mut().read(&mut sip).map_err(file("hear the agent"))?;
            if read == 0 {
                return Err(missing("an answer", "what an agent said that has left"));
            }
            for byte in &sip[..read] {
                self.line.push(*byte);
                if *byte == b'\n' {
                    answered = self.is_answer(call);
                    if !answered {
                        self.line.clear();
                    }
                }
            }
            most = most.max(self.memory("RssAnon:")?);
            #[expect(clippy::disallowed_methods, reason = "a program that does nothing else")]
            thread::sleep(REST);
        }
        let mut heard = 0_u32;
        while !answered {
            answered = self.hear_on(call)?;
            if !answered {
                self.line.clear();
            }
            heard += 1;
            if heard.is_multiple_of(256) || answered {
                most = most.max(self.memory("RssAnon:")?);
            }
        }
        self.result()?;
        Ok(most)
    }

    /// Lets it leave by itself, however long that takes.
    pub(super) fn leave(mut self) -> Result<(), BenchError> {
        drop(self.stdin.take());
        self.child.wait().map_err(file("wait for the agent"))?;
        Ok(())
    }

    /// The most memory it ever had, in kilobytes.
    pub(super) fn peak(&self) -> Result<f64, BenchError> {
        self.memory("VmHWM:")
    }

    fn memory(&self, which: &str) -> Result<f64, BenchError> {
        let status = format!("/proc/{}/status", self.child.id());
        let text = fs::read_to_string(&status).map_err(file("read the agent's memory"))?;
        let value = text.lines().find_map(|line| line.strip_prefix(which));
        let value = value.and_then(|value| value.trim().trim_end_matches(" kB").parse().ok());
        value.ok_or_else(|| missing("the peak", &status))
    }

    fn call(&mut self, method: &str, params: &Value) -> Result<Value, BenchError> {
        let call = self.say(method, params)?;
        while !self.hear(call)? {}
        self.result()
    }

    fn say(&mut self, method: &str, params: &Value) -> Result<u64, BenchError> {
        self.calls += 1;
        let line = json!({ "jsonrpc": "2.0", "id": self.calls, "method": method, "params": params });
        let stdin = self.stdin.as_mut().ok_or_else(|| missing("the input", "an agent that has left"))?;
        stdin.write_all(format!("{line}\n").as_bytes()).map_err(file("speak to the agent"))?;
        Ok(self.calls)
    }

    /// Reads a line; whether it is the answer of the call.
    fn hear(&mut self, call: u64) -> Result<bool, BenchError> {
        self.line.clear();
        self.hear_on(call)
    }

    /// Reads the rest of a line; whether it is the answer of the call.
    fn hear_on(&mut self, call: u64) -> Result<bool, BenchError> {
        let read = self.stdout.read_until(b'\n', &mut self.line).map_err(file("hear the agent"))?;
        if read == 0 {
            return Err(missing("an answer", "what an agent said that has left"));
        }
        Ok(self.is_answer(call))
    }

    fn is_answer(&self, call: u64) -> bool {
        // Updates are long and many; answers are not.
        let is_update = memchr::memmem::find(&self.line, br#""session/update""#).is_some();
        if is_update {
            return false;
        }
        let message: Value = serde_json::from_slice(&self.line).unwrap_or_default();
        message["id"] == call && message.get("method").is_none()
    }

    fn result(&self) -> Result<Value, BenchError> {
        let message: Value = serde_json::from_slice(&self.line).unwrap_or_default();
        let failed = || missing("a result", &String::from_utf8_lossy(&self.line));
        message.get("result").cloned().ok_or_else(failed)
    }

    fn processor_time(&self) -> Result<Duration, BenchError> {
        let time = clock_gettime(self.clock).map_err(|error| file("read the agent's clock")(error.into()))?;
        Ok(time.into())
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        drop(self.stdin.take());
        let begun = Instant::now();
        while begun.elapsed() < LEAVING {
            if matches!(self.child.try_wait(), Ok(Some(_))) {
                return;
            }
            #[expect(clippy::disallowed_methods, reason = "a program that does nothing else")]
            thread::sleep(Duration::from_millis(5));
        }
        // Not every agent leaves by itself, nor takes its CLIs along.
        processes::kill_tree(self.child.id());
        let _ = self.child.wait();
    }
}

fn missing(what: &'static str, place: &str) -> BenchError {
    BenchError::Missing { what, place: place.to_owned() }
}

//! A terminal to ask somebody questions at, one after the other.
//!
//! The one rule it keeps: it reads only while a question is open, so that an editor in the same terminal gets every
//! key that is meant for it; a line that nobody waits for any more answers the next question, which is what the person
//! saw when they wrote it.

use std::fmt;
use std::io::{BufRead, Write};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::mpsc;

/// A terminal.
pub struct Console {
    wanted: mpsc::Sender<()>,
    lines: mpsc::Receiver<String>,
    is_reading: bool,
    output: Output,
}

/// Where it writes. Clones are the same place.
#[derive(Clone)]
pub(crate) struct Output {
    writer: Arc<Mutex<dyn Write + Send>>,
}

impl Console {
    /// A console over a reader, for which it starts a thread, and a writer.
    pub fn new(mut input: impl BufRead + Send + 'static, output: impl Write + Send + 'static) -> Self {
        let (wanted, mut asked) = mpsc::channel(1);
        let (written, lines) = mpsc::channel(1);
        std::thread::spawn(move || {
            while asked.blocking_recv().is_some() {
                let mut line = String::new();
                match input.read_line(&mut line) {
                    Ok(0) | Err(_) => return,
                    Ok(_) => {}
                }
                if written.blocking_send(line).is_err() {
                    return;
                }
            }
        });
        Self { wanted, lines, is_reading: false, output: Output { writer: Arc::new(Mutex::new(output)) } }
    }

    /// What somebody writes to a question; `None` when nobody is there any more.
    pub(crate) async fn ask(&mut self, question: &str) -> Option<String> {
        self.output.write(question);
        if !self.is_reading {
            self.wanted.send(()).await.ok()?;
            self.is_reading = true;
        }
        let line = self.lines.recv().await?;
        self.is_reading = false;
        Some(line.trim().to_owned())
    }

    pub(crate) fn output(&self) -> Output {
        self.output.clone()
    }
}

impl Output {
    /// Writes a text; what could make the terminal do something is shown instead.
    pub(crate) fn write(&self, text: &str) {
        let shown: String = text.chars().map(shown).collect();
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        // Without a terminal there is nobody to tell.
        let _ = writer.write_all(shown.as_bytes()).and_then(|()| writer.flush());
    }
}

fn shown(character: char) -> char {
    match character {
        '\n' | '\t' => character,
        // The pictures of the control characters, in the same order.
        '\0'..'\x20' => char::from_u32(0x2400 + u32::from(character)).unwrap_or('\u{fffd}'),
        '\x7f'..='\u{9f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => '\u{fffd}',
        _ => character,
    }
}

impl fmt::Debug for Console {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Console").field("is_reading", &self.is_reading).finish_non_exhaustive()
    }
}

impl fmt::Debug for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Output")
    }
}

//! The recogniser's own process: frames in at standard input, lines out at what was standard output.
//!
//! It keeps nothing and opens nothing but its library and its model. The one rule it keeps: it ends when nobody holds the
//! other end of its standard input, whatever the engine is doing just then.

use std::fs::File;
use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Instant;

use crate::engine::{self, EngineSetup};
use crate::frames::{Begin, Frame, Said, samples};
use crate::pace::Pace;
use crate::recognizer::Recognizer;

/// How many frames may wait for the engine: ten minutes of sound in short ones.
const FRAMES: usize = 16 * 1024;

/// Recognises until standard input ends. It is given a setup as JSON.
pub fn run(setup: &str) -> ExitCode {
    match begun(setup) {
        Ok(code) => code,
        // Whoever started it has gone, or is no host.
        Err(_) => ExitCode::FAILURE,
    }
}

fn begun(setup: &str) -> io::Result<ExitCode> {
    // Engines print; what they print is no answer.
    let mut output = File::from(rustix::io::dup(rustix::stdio::stdout())?);
    rustix::stdio::dup2_stdout(rustix::stdio::stderr())?;
    let (frames, coming) = mpsc::sync_channel(FRAMES);
    thread::Builder::new().name("frames".to_owned()).spawn(move || {
        let mut input = io::stdin().lock();
        while let Ok(Some(frame)) = Frame::read(&mut input) {
            if frames.send(frame).is_err() {
                break;
            }
        }
        // An engine at work cannot be told to stop; this process has no children and nothing to put in order.
        #[allow(clippy::disallowed_methods)]
        std::process::exit(0);
    })?;
    let mut say = |said: &Said| {
        let mut line = serde_json::to_vec(said)?;
        line.push(b'\n');
        output.write_all(&line)
    };
    let loaded = match serde_json::from_str::<EngineSetup>(setup) {
        Ok(setup) => engine::open(&setup).map_err(|error| error.to_string()),
        Err(error) => Err(format!("no setup of an engine: {error}")),
    };
    match loaded {
        Ok(mut recognizer) => {
            say(&Said::Ready)?;
            attend(&mut *recognizer, &coming, &mut say)?;
            Ok(ExitCode::SUCCESS)
        }
        Err(reason) => {
            say(&Said::Unusable { reason })?;
            Ok(ExitCode::FAILURE)
        }
    }
}

/// One utterance after the other, until there are no more frames.
fn attend(
    recognizer: &mut dyn Recognizer,
    frames: &Receiver<Frame>,
    say: &mut dyn FnMut(&Said) -> io::Result<()>,
) -> io::Result<()> {
    let mut open: Option<Open> = None;
    while let Ok(first) = frames.recv() {
        // All that has come, before there is time for anything else.
        let mut next = Some(first);
        while let Some(frame) = next {
            let said = match frame {
                Frame::Begin(begin) => {
                    // What was open is not wanted any more.
                    let forgotten = if open.is_some() { recognizer.forget() } else { Ok(()) };
                    open = Some(Open::new(begin));
                    forgotten.err().map(|error| begin.failed(&error))
                }
                Frame::Sound(sound) => open.as_mut().and_then(|open| {
                    let sound = samples(&sound);
                    open.pace.heard(sound.len());
                    recognizer.hear(&sound).err().map(|error| open.begin.failed(&error))
                }),
                Frame::End => open.take().map(|open| match recognizer.finish() {
                    Ok(text) => Said::Final { utterance: open.begin.utterance, text },
                    Err(error) => open.begin.failed(&error),
                }),
            };
            if let Some(said) = said {
                if matches!(said, Said::Failed { .. }) {
                    open = None;
                }
                say(&said)?;
            }
            next = frames.try_recv().ok();
        }
        if let Some(said) = open.as_mut().and_then(|open| open.interim(recognizer)) {
            if matches!(said, Said::Failed { .. }) {
                open = None;
            }
            say(&said)?;
        }
    }
    Ok(())
}

/// An utterance that is being spoken.
struct Open {
    begin: Begin,
    pace: Pace,
    told: String,
}

impl Open {
    fn new(begin: Begin) -> Self {
        Self { begin, pace: Pace::default(), told: String::new() }
    }

    /// What is understood by now, if it is time and something new.
    fn interim(&mut self, recognizer: &mut dyn Recognizer) -> Option<Said> {
        if !self.begin.interims || !self.pace.is_due() {
            return None;
        }
        let asked = Instant::now();
        let text = match recognizer.interim() {
            Ok(text) => text,
            Err(error) => return Some(self.begin.failed(&error)),
        };
        self.pace.understood(&text, asked.elapsed());
        if text.is_empty() || text == self.told {
            return None;
        }
        self.told.clone_from(&text);
        Some(Said::Interim { utterance: self.begin.utterance, text })
    }
}

impl Begin {
    fn failed(self, reason: &dyn std::fmt::Display) -> Said {
        Said::Failed { utterance: self.utterance, reason: reason.to_string() }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::recognizer::EngineError;

    /// Understands how many samples there were.
    #[derive(Default)]
    struct Counting {
        heard: usize,
        fails: bool,
    }

    impl Recognizer for Counting {
        fn hear(&mut self, samples: &[f32]) -> Result<(), EngineError> {
            self.heard += samples.len();
            Ok(())
        }

        fn interim(&mut self) -> Result<String, EngineError> {
            Ok(self.heard.to_string())
        }

        fn finish(&mut self) -> Result<String, EngineError> {
            if self.fails {
                return Err(EngineError::Failed { doing: "understand", reason: "tired".to_owned() });
            }
            Ok(std::mem::take(&mut self.heard).to_string())
        }

        fn forget(&mut self) -> Result<(), EngineError> {
            self.heard = 0;
            Ok(())
        }
    }

    fn said(recognizer: &mut Counting, frames: Vec<Frame>) -> Vec<Said> {
        let (send, coming) = mpsc::sync_channel(FRAMES);
        for frame in frames {
            send.send(frame).unwrap();
        }
        drop(send);
        let mut all = Vec::new();
        attend(recognizer, &coming, &mut |said| {
            all.push(said.clone());
            Ok(())
        })
        .unwrap();
        all
    }

    fn begin(utterance: u64) -> Frame {
        Frame::Begin(Begin { utterance, interims: true })
    }

    #[test]
    fn utterances_do_not_mix() {
        let sound = Frame::Sound(vec![0; 8_000]);
        let frames = vec![
            // Sound before the beginning is nobody's.
            sound.clone(),
            begin(1),
            sound.clone(),
            // The second takes the place of the first.
            begin(2),
            sound.clone(),
            sound,
            Frame::End,
            Frame::End,
        ];
        let text = "8000".to_owned();
        assert_eq!(said(&mut Counting::default(), frames), [Said::Final { utterance: 2, text }]);
    }

    #[test]
    fn what_is_understood_is_told_while_it_is_spoken() {
        let frames = vec![begin(3), Frame::Sound(vec![0; 16_000])];
        let text = "8000".to_owned();
        assert_eq!(said(&mut Counting::default(), frames), [Said::Interim { utterance: 3, text }]);
        let quiet = Frame::Begin(Begin { utterance: 4, interims: false });
        assert_eq!(said(&mut Counting::default(), vec![quiet, Frame::Sound(vec![0; 16_000])]), []);
    }

    #[test]
    fn an_engine_that_fails_says_why() {
        let mut recognizer = Counting { fails: true, ..Counting::default() };
        let said = said(&mut recognizer, vec![begin(5), Frame::End]);
        let [Said::Failed { utterance: 5, reason }] = &said[..] else { unreachable!("{said:?}") };
        assert!(reason.contains("tired"));
    }
}

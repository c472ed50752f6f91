//! Dictation: sound in, text out, without the sound leaving the machine.
//!
//! An engine is a C library with a model, loaded at run time, in a process of its own ([`recognizer_process`]); what is
//! on this side of the pipe knows neither. It has nothing to do with sessions: what was said is given to whoever asked,
//! and kept nowhere. The one rule it keeps: whatever an engine does, it costs one utterance and nothing else.
//!
//! # Layout
//! * [`Recognizer`] – what an engine can do; [`engine`] – which there are, and whether they are here
//! * `moonshine`, `sherpa` – the engines; `foreign` – their C interfaces, the only unsafe code
//! * [`Speech`], [`Utterance`] – the process, started when somebody speaks and ended when nobody does
//! * [`wav`], [`resample`] – files to 16 kHz mono; `pauses`, `pieces`, `pace`, [`meter`] – decisions without IO
//! * [`fetch`] – how the tested engine comes here

pub mod engine;
pub mod fetch;
mod foreign;
mod frames;
pub mod meter;
mod moonshine;
mod pace;
mod pauses;
mod pieces;
mod process;
mod recognizer;
pub mod resample;
mod sherpa;
mod speech;
mod utterance;
pub mod wav;

pub use engine::{Engine, EngineSetup, Unavailable, Wanted};
pub use process::run as recognizer_process;
pub use recognizer::{EngineError, Recognizer};
pub use speech::{Speech, Surroundings};
pub use utterance::{Heard, Interims, SpeechError, Utterance};

/// How many samples of sound there are in a second, everywhere behind [`resample`].
pub const RATE: u32 = 16_000;

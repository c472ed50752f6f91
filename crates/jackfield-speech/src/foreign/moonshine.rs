//! The C interface of `libmoonshine` 0.0.73, whose header says version 20000.
//!
//! The one rule it keeps: the detector always has one stream, started, and no line is read after the next call.
#![allow(unsafe_code)]

use std::ffi::{CStr, CString, c_char};
use std::fmt;
use std::path::Path;
use std::ptr;

use super::{c_path, function, load, text};
use crate::RATE;
use crate::recognizer::EngineError;

/// The version of the header that the structs below are from.
const HEADER: i32 = 20_000;

/// Look at what has come since, however little it is.
const FORCE_UPDATE: u32 = 1;

/// What only tells speech from the rest: it needs no model.
const DETECTING: &[(&CStr, &CStr)] = &[(c"skip_transcription", c"true"), (c"return_audio_data", c"false")];

/// What takes a piece of speech as one, with its pauses: cut apart it would lack what is around its words.
const UNDERSTANDING: &[(&CStr, &CStr)] = &[(c"vad_threshold", c"0"), (c"return_audio_data", c"false")];

/// The library, with a detector of speech and a model.
pub(crate) struct Library {
    functions: Functions,
    detector: i32,
    stream: i32,
    model: i32,
    // Behind everything that calls into it.
    _library: libloading::Library,
}

/// Speech, in seconds from the beginning.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Voice {
    pub(crate) start: f32,
    pub(crate) duration: f32,
    /// Whether it goes on.
    pub(crate) is_open: bool,
}

type Load = unsafe extern "C" fn(*const c_char, u32, *const Choice, u64, i32) -> i32;
type Add = unsafe extern "C" fn(i32, i32, *const f32, u64, i32, u32) -> i32;
type Look = unsafe extern "C" fn(i32, i32, u32, *mut *mut Transcript) -> i32;
type Transcribe = unsafe extern "C" fn(i32, *const f32, u64, i32, u32, *mut *mut Transcript) -> i32;
type OfStream = unsafe extern "C" fn(i32, i32) -> i32;

#[derive(Clone, Copy)]
struct Functions {
    load: Load,
    create_stream: unsafe extern "C" fn(i32, u32) -> i32,
    start_stream: OfStream,
    stop_stream: OfStream,
    free_stream: OfStream,
    add: Add,
    look: Look,
    transcribe: Transcribe,
    free_transcriber: unsafe extern "C" fn(i32),
    error_text: unsafe extern "C" fn(i32) -> *const c_char,
}

/// `moonshine_option_t`.
#[repr(C)]
struct Choice {
    name: *const c_char,
    value: *const c_char,
}

/// `transcript_t`.
#[repr(C)]
struct Transcript {
    lines: *const Line,
    line_count: u64,
}

/// `transcript_line_t`.
#[repr(C)]
struct Line {
    text: *const c_char,
    audio: *const f32,
    audio_count: usize,
    start: f32,
    duration: f32,
    id: u64,
    /// `is_complete`, `is_updated`, `is_new`, `has_text_changed`, `have_speakers_changed`.
    states: [i8; 5],
    speakers: *const (),
    speaker_count: u64,
    latency_ms: u32,
    words: *const (),
    word_count: u64,
}

// The library's own Python half checks the same sizes before it trusts a line.
#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<Line>() == 88 && size_of::<Transcript>() == 16);

impl Library {
    /// Loads the library and a model, and starts a stream for the detector.
    pub(crate) fn open(path: &Path, model: &Path, architecture: u32) -> Result<Self, EngineError> {
        let library = load(path)?;
        // SAFETY: the types are those of the header of this version, which is asked for before anything else is called;
        // the functions are kept beside the library and leave before it.
        let (version, functions) = unsafe {
            let version: unsafe extern "C" fn() -> i32 = function(&library, path, c"moonshine_get_version")?;
            let functions = Functions {
                load: function(&library, path, c"moonshine_load_transcriber_from_files")?,
                create_stream: function(&library, path, c"moonshine_create_stream")?,
                start_stream: function(&library, path, c"moonshine_start_stream")?,
                stop_stream: function(&library, path, c"moonshine_stop_stream")?,
                free_stream: function(&library, path, c"moonshine_free_stream")?,
                add: function(&library, path, c"moonshine_transcribe_add_audio_to_stream")?,
                look: function(&library, path, c"moonshine_transcribe_stream")?,
                transcribe: function(&library, path, c"moonshine_transcribe_without_streaming")?,
                free_transcriber: function(&library, path, c"moonshine_free_transcriber")?,
                error_text: function(&library, path, c"moonshine_error_to_string")?,
            };
            (version(), functions)
        };
        if version != HEADER {
            let library = path.display().to_string();
            return Err(EngineError::OtherVersion { library, found: version.to_string(), known: "20000" });
        }
        let mut this = Self { functions, detector: -1, stream: -1, model: -1, _library: library };
        this.detector = functions.transcriber(model, architecture, DETECTING)?;
        this.model = functions.transcriber(model, architecture, UNDERSTANDING)?;
        // SAFETY: the detector was made above.
        this.stream =
            this.checked("make a stream", unsafe { (functions.create_stream)(this.detector, 0) })?;
        // SAFETY: both were made above.
        this.checked("begin", unsafe { (functions.start_stream)(this.detector, this.stream) })?;
        Ok(this)
    }

    /// Gives the detector sound.
    pub(crate) fn add(&mut self, samples: &[f32]) -> Result<(), EngineError> {
        if samples.is_empty() {
            return Ok(());
        }
        let (count, rate) = (samples.len() as u64, RATE.cast_signed());
        // SAFETY: detector and stream are ours, and the count is that of the samples, which the library copies.
        let code =
            unsafe { (self.functions.add)(self.detector, self.stream, samples.as_ptr(), count, rate, 0) };
        self.checked("take sound", code).map(drop)
    }

    /// Where there is speech in all that the detector was given.
    pub(crate) fn voices(&mut self) -> Result<Vec<Voice>, EngineError> {
        let mut transcript: *mut Transcript = ptr::null_mut();
        // SAFETY: detector and stream are ours; the pointer is written by the call.
        let code =
            unsafe { (self.functions.look)(self.detector, self.stream, FORCE_UPDATE, &raw mut transcript) };
        self.checked("find speech", code)?;
        // SAFETY: the call went well, and nothing is called while the lines are read.
        let lines = unsafe { lines(transcript) };
        let voice =
            |line: &Line| Voice { start: line.start, duration: line.duration, is_open: line.states[0] == 0 };
        Ok(lines.iter().map(voice).collect())
    }

    /// The detector forgets all that it was given.
    pub(crate) fn restart(&mut self) -> Result<(), EngineError> {
        // SAFETY: detector and stream are ours.
        let (stopped, started) = unsafe {
            let stopped = (self.functions.stop_stream)(self.detector, self.stream);
            (stopped, (self.functions.start_stream)(self.detector, self.stream))
        };
        self.checked("stop", stopped)?;
        self.checked("begin", started).map(drop)
    }

    /// What was said in a piece of speech.
    pub(crate) fn understand(&mut self, samples: &[f32]) -> Result<Vec<String>, EngineError> {
        if samples.is_empty() {
            return Ok(Vec::new());
        }
        let mut transcript: *mut Transcript = ptr::null_mut();
        let (count, rate) = (samples.len() as u64, RATE.cast_signed());
        // SAFETY: the model is ours, the count is that of the samples; the pointer is written by the call.
        let code = unsafe {
            (self.functions.transcribe)(self.model, samples.as_ptr(), count, rate, 0, &raw mut transcript)
        };
        self.checked("understand", code)?;
        // SAFETY: the call went well, and nothing is called while the lines are read, whose texts are null or end with a
        // zero.
        Ok(unsafe { lines(transcript).iter().map(|line| text(line.text)).collect() })
    }

    fn checked(&self, doing: &'static str, code: i32) -> Result<i32, EngineError> {
        if code >= 0 {
            return Ok(code);
        }
        Err(EngineError::Failed { doing, reason: self.functions.reason(code) })
    }
}

/// The lines at a pointer of the library.
///
/// # Safety
/// The pointer must come from a call that went well, and there must be no other call while the lines are read.
unsafe fn lines<'a>(transcript: *mut Transcript) -> &'a [Line] {
    // SAFETY: then it is null or points to a transcript, which is the library's until the next call.
    let Some(transcript) = (unsafe { transcript.as_ref() }) else { return &[] };
    let count = usize::try_from(transcript.line_count).unwrap_or_default();
    if count == 0 || transcript.lines.is_null() {
        return &[];
    }
    // SAFETY: it has so many lines, of the size that is checked above.
    unsafe { std::slice::from_raw_parts(transcript.lines, count) }
}

impl Functions {
    fn transcriber(
        &self,
        model: &Path,
        architecture: u32,
        options: &[(&CStr, &CStr)],
    ) -> Result<i32, EngineError> {
        let folder: CString = c_path(model);
        let options: Vec<Choice> = options
            .iter()
            .map(|(name, value)| Choice { name: name.as_ptr(), value: value.as_ptr() })
            .collect();
        // SAFETY: the texts and the options live until the call is over, and the count is that of the options.
        let transcriber = unsafe {
            (self.load)(folder.as_ptr(), architecture, options.as_ptr(), options.len() as u64, HEADER)
        };
        if transcriber >= 0 {
            return Ok(transcriber);
        }
        Err(EngineError::Model { model: model.display().to_string(), reason: self.reason(transcriber) })
    }

    fn reason(&self, code: i32) -> String {
        // SAFETY: the function gives a text of its own for every number.
        unsafe { text((self.error_text)(code)) }
    }
}

impl Drop for Library {
    fn drop(&mut self) {
        // SAFETY: all were made by this library and are not used any more.
        unsafe {
            if self.stream >= 0 {
                (self.functions.free_stream)(self.detector, self.stream);
            }
            for transcriber in [self.detector, self.model] {
                if transcriber >= 0 {
                    (self.functions.free_transcriber)(transcriber);
                }
            }
        }
    }
}

impl fmt::Debug for Library {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Library").field("model", &self.model).finish_non_exhaustive()
    }
}

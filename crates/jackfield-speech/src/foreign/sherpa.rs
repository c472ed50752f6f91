//! The C interface of `libsherpa-onnx-c-api` 2.0, as far as whole utterances go.
//!
//! The library ends its process when it does not like a model; that is what the process is for. The one rule this module
//! keeps: the layout below is that of one version, and no other is called.
#![allow(unsafe_code)]

use std::ffi::{CString, c_char};
use std::fmt;
use std::path::Path;
use std::ptr;

use super::{c_path, function, load, text};
use crate::RATE;
use crate::recognizer::EngineError;
use crate::sherpa::model::Model;

/// The versions whose layout is below.
const KNOWN: &str = "2.0.";

/// The library, with a model.
pub(crate) struct Library {
    functions: Functions,
    recognizer: *const Recognizer,
    // Behind everything that calls into it.
    _library: libloading::Library,
}

/// What the library knows of a model.
#[repr(C)]
struct Recognizer {
    _private: [u8; 0],
}

/// What it knows of an utterance.
#[repr(C)]
struct Stream {
    _private: [u8; 0],
}

/// `SherpaOnnxOfflineRecognizerResult`, of which only the first member is read.
#[repr(C)]
struct Understood {
    text: *const c_char,
}

struct Functions {
    create_stream: unsafe extern "C" fn(*const Recognizer) -> *const Stream,
    accept: unsafe extern "C" fn(*const Stream, i32, *const f32, i32),
    decode: unsafe extern "C" fn(*const Recognizer, *const Stream),
    result: unsafe extern "C" fn(*const Stream) -> *const Understood,
    destroy_result: unsafe extern "C" fn(*const Understood),
    destroy_stream: unsafe extern "C" fn(*const Stream),
    destroy: unsafe extern "C" fn(*const Recognizer),
}

/// `SherpaOnnxOfflineRecognizerConfig`. What is null or zero is not set.
#[repr(C)]
struct Configuration {
    sample_rate: i32,
    feature_dim: i32,
    transducer: [*const c_char; 3],
    paraformer: *const c_char,
    nemo_ctc: *const c_char,
    whisper: [*const c_char; 4],
    whisper_numbers: [i32; 4],
    tdnn: *const c_char,
    tokens: *const c_char,
    num_threads: i32,
    debug: i32,
    provider: *const c_char,
    model_words: [*const c_char; 4],
    sense_voice: [*const c_char; 2],
    sense_voice_itn: i32,
    /// Preprocessor, encoder, two decoders of older models, decoder.
    moonshine: [*const c_char; 5],
    /// Models that are of no use here.
    other_models: [u64; 36],
    language_model: *const c_char,
    language_model_scale: f32,
    decoding_method: *const c_char,
    max_active_paths: i32,
    hotwords_file: *const c_char,
    hotwords_score: f32,
    rules: [*const c_char; 2],
    blank_penalty: f32,
    replacer: [*const c_char; 3],
    graph: *const c_char,
    graph_max_active: i32,
}

#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<Configuration>() == 624);

impl Library {
    /// Loads the library and a model.
    pub(crate) fn open(
        path: &Path,
        folder: &Path,
        model: &Model,
        language: &str,
    ) -> Result<Self, EngineError> {
        let library = load(path)?;
        // SAFETY: the types are those of the header of the version that is checked before anything else is called; the
        // functions are kept beside the library and leave before it.
        let (version, create, functions) = unsafe {
            let version: unsafe extern "C" fn() -> *const c_char =
                function(&library, path, c"SherpaOnnxGetVersionStr")?;
            let create: unsafe extern "C" fn(*const Configuration) -> *const Recognizer =
                function(&library, path, c"SherpaOnnxCreateOfflineRecognizer")?;
            let functions = Functions {
                create_stream: function(&library, path, c"SherpaOnnxCreateOfflineStream")?,
                accept: function(&library, path, c"SherpaOnnxAcceptWaveformOffline")?,
                decode: function(&library, path, c"SherpaOnnxDecodeOfflineStream")?,
                result: function(&library, path, c"SherpaOnnxGetOfflineStreamResult")?,
                destroy_result: function(&library, path, c"SherpaOnnxDestroyOfflineRecognizerResult")?,
                destroy_stream: function(&library, path, c"SherpaOnnxDestroyOfflineStream")?,
                destroy: function(&library, path, c"SherpaOnnxDestroyOfflineRecognizer")?,
            };
            (text(version()), create, functions)
        };
        if !version.starts_with(KNOWN) {
            let library = path.display().to_string();
            return Err(EngineError::OtherVersion { library, found: version, known: "2.0" });
        }
        let in_folder = |name: &String| c_path(&folder.join(name));
        let files: Vec<CString> = model.files().into_iter().map(in_folder).collect();
        let (tokens, language) = (in_folder(model.tokens()), CString::new(language).unwrap_or_default());
        let file = |at: usize| files.get(at).map_or(ptr::null(), |file| file.as_ptr());
        let mut configuration = Configuration::new(&tokens);
        match model {
            Model::Moonshine { .. } => {
                configuration.moonshine[1] = file(0);
                configuration.moonshine[4] = file(1);
            }
            Model::Whisper { .. } => {
                let task = c"transcribe".as_ptr();
                configuration.whisper = [file(0), file(1), language.as_ptr(), task];
                // What the library takes when nothing is said.
                configuration.whisper_numbers[0] = -1;
            }
            Model::Transducer { .. } => configuration.transducer = [file(0), file(1), file(2)],
        }
        // SAFETY: the layout is that of this version, and all texts live until the call is over.
        let recognizer = unsafe { create(&raw const configuration) };
        if recognizer.is_null() {
            let reason = "the library does not take it".to_owned();
            return Err(EngineError::Model { model: folder.display().to_string(), reason });
        }
        Ok(Self { functions, recognizer, _library: library })
    }

    /// What was said in a piece of sound.
    pub(crate) fn understand(&mut self, samples: &[f32]) -> Result<String, EngineError> {
        let count = i32::try_from(samples.len());
        let Ok(count @ 1..) = count else { return Ok(String::new()) };
        let Functions { create_stream, accept, decode, result, destroy_result, destroy_stream, .. } =
            self.functions;
        // SAFETY: the recogniser is ours; the stream is made, used and destroyed here, the result read before it is
        // destroyed; the count is that of the samples, which the library copies.
        unsafe {
            let stream = create_stream(self.recognizer);
            if stream.is_null() {
                let reason = "the library gives none".to_owned();
                return Err(EngineError::Failed { doing: "make a stream", reason });
            }
            accept(stream, RATE.cast_signed(), samples.as_ptr(), count);
            decode(self.recognizer, stream);
            let understood = result(stream);
            let said = understood.as_ref().map(|understood| text(understood.text)).unwrap_or_default();
            if !understood.is_null() {
                destroy_result(understood);
            }
            destroy_stream(stream);
            Ok(said)
        }
    }
}

impl Configuration {
    fn new(tokens: &CString) -> Self {
        let none = ptr::null();
        Self {
            sample_rate: RATE.cast_signed(),
            feature_dim: 80,
            transducer: [none; 3],
            paraformer: none,
            nemo_ctc: none,
            whisper: [none; 4],
            whisper_numbers: [0; 4],
            tdnn: none,
            tokens: tokens.as_ptr(),
            num_threads: 1,
            debug: 0,
            provider: c"cpu".as_ptr(),
            model_words: [none; 4],
            sense_voice: [none; 2],
            sense_voice_itn: 0,
            moonshine: [none; 5],
            other_models: [0; 36],
            language_model: none,
            language_model_scale: 0.0,
            decoding_method: c"greedy_search".as_ptr(),
            max_active_paths: 0,
            hotwords_file: none,
            hotwords_score: 0.0,
            rules: [none; 2],
            blank_penalty: 0.0,
            replacer: [none; 3],
            graph: none,
            graph_max_active: 0,
        }
    }
}

impl Drop for Library {
    fn drop(&mut self) {
        // SAFETY: it was made by this library and is not used any more.
        unsafe { (self.functions.destroy)(self.recognizer) }
    }
}

impl fmt::Debug for Library {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Library").field("recognizer", &self.recognizer).finish_non_exhaustive()
    }
}

//! The C interfaces of the engines: the only unsafe code of the crate.
//!
//! Nothing is decided here. The one rule it keeps: a pointer of a library is read before the next call of it, and what
//! leaves these modules is a Rust value.

pub(crate) mod moonshine;
pub(crate) mod sherpa;

use std::ffi::{CStr, CString, c_char};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use crate::recognizer::EngineError;

/// Loads a library.
#[allow(unsafe_code)]
fn load(path: &Path) -> Result<libloading::Library, EngineError> {
    // SAFETY: loading runs the library's own beginnings. It is one that the user has named or that was fetched with a
    // checked digest, and this process has no other work than to run it.
    unsafe { libloading::Library::new(path) }.map_err(|error| broken(path, &error))
}

/// Takes a function out of a library.
///
/// # Safety
/// `F` must be the function's type, and must not be called when the library is gone.
#[allow(unsafe_code)]
unsafe fn function<F: Copy>(
    library: &libloading::Library,
    path: &Path,
    name: &CStr,
) -> Result<F, EngineError> {
    // SAFETY: the type is the caller's word.
    unsafe { library.get::<F>(name.to_bytes_with_nul()) }
        .map(|symbol| *symbol)
        .map_err(|error| broken(path, &error))
}

/// The text at a pointer of a library.
///
/// # Safety
/// The pointer must be null, or point to bytes with a zero behind them.
#[allow(unsafe_code)]
unsafe fn text(pointer: *const c_char) -> String {
    if pointer.is_null() {
        return String::new();
    }
    // SAFETY: it is not null, and the rest is the caller's word.
    unsafe { CStr::from_ptr(pointer) }.to_string_lossy().into_owned()
}

/// A path as a library takes it. One with a zero in it is no path of any file.
fn c_path(path: &Path) -> CString {
    CString::new(path.as_os_str().as_bytes()).unwrap_or_default()
}

fn broken(path: &Path, error: &dyn std::error::Error) -> EngineError {
    let reason = error.source().map_or_else(|| error.to_string(), ToString::to_string);
    EngineError::Library { library: path.display().to_string(), reason }
}

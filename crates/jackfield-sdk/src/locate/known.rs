//! Versions that programs have told this process before.
//!
//! Asking takes a process of its own, which is most of what a start costs. The one rule it keeps: a program
//! that may be another by now is asked again. Its file, the words before its arguments and its environment are
//! compared; a program that starts others is forgotten when what it starts does not fit to what it told, and
//! from then on only its own word counts.

use std::collections::hash_map::DefaultHasher;
use std::ffi::{OsStr, OsString};
use std::hash::{Hash as _, Hasher as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::environment::Environment;
use crate::version::Version;

/// How many are known at once.
const AT_MOST: usize = 32;

static KNOWN: Mutex<Known> = Mutex::new(Known { answers: Vec::new(), doubted: Vec::new() });

struct Known {
    answers: Vec<(Question, Version)>,
    /// Programs that turned out to be another version than was believed.
    doubted: Vec<PathBuf>,
}

/// What a program was asked, and which program it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Question {
    program: PathBuf,
    /// The file behind all links: device, number, size, and when it and its name were last changed.
    file: (u64, u64, u64, (i64, i64), (i64, i64)),
    /// A digest of the words and the environment, which may be long.
    words: u64,
}

impl Question {
    /// `None` if the program cannot be looked at, which asking will tell better.
    pub(super) fn new(
        program: &Path,
        first_arguments: &[OsString],
        environment: &Environment,
    ) -> Option<Self> {
        let file = program.metadata().ok()?;
        let mut digest = DefaultHasher::new();
        first_arguments.hash(&mut digest);
        // The question is asked in a folder of its own.
        for variable in environment.iter().filter(|(name, _)| *name != OsStr::new("PWD")) {
            variable.hash(&mut digest);
        }
        Some(Self {
            program: program.to_owned(),
            file: (
                file.dev(),
                file.ino(),
                file.size(),
                (file.mtime(), file.mtime_nsec()),
                (file.ctime(), file.ctime_nsec()),
            ),
            words: digest.finish(),
        })
    }

    /// What was answered the last time.
    pub(super) fn answer(&self) -> Option<Version> {
        known().answers.iter().find(|(question, _)| question == self).map(|(_, version)| *version)
    }

    /// Remembers the answer.
    pub(super) fn answered(self, version: Version) {
        let answers = &mut known().answers;
        answers.retain(|(question, _)| *question != self);
        if answers.len() == AT_MOST {
            answers.remove(0);
        }
        answers.push((self, version));
    }
}

/// What the program has told is no longer believed.
pub(super) fn forget(program: &Path) {
    let mut known = known();
    known.answers.retain(|(question, _)| question.program != program);
    if !known.doubted.iter().any(|doubted| doubted == program) {
        known.doubted.truncate(AT_MOST - 1);
        known.doubted.insert(0, program.to_owned());
    }
}

/// Whether only what the program itself says of its version is to be believed.
pub(super) fn is_doubted(program: &Path) -> bool {
    known().doubted.iter().any(|doubted| doubted == program)
}

fn known() -> MutexGuard<'static, Known> {
    // A panic while the lock is held leaves plain data in a usable state.
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

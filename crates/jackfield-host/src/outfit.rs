//! What sessions are given beside what clients ask for: tools and hooks of the program around the host.
//!
//! The host knows only that there is something. The one rule it keeps: what a run was given ends with it.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use jackfield_sdk::{Callbacks, Trust};

type Give = dyn Fn(Callbacks, &Path, Trust) -> Callbacks + Send + Sync;

/// What sessions are given. Clones give the same.
#[derive(Clone)]
pub struct Outfit {
    give: Arc<Give>,
}

impl Outfit {
    /// By a function of the callbacks so far, the session's folder, and whether the folder takes part.
    pub fn new(give: impl Fn(Callbacks, &Path, Trust) -> Callbacks + Send + Sync + 'static) -> Self {
        Self { give: Arc::new(give) }
    }

    pub(crate) fn give(&self, callbacks: Callbacks, folder: &Path, trust: Trust) -> Callbacks {
        (self.give)(callbacks, folder, trust)
    }
}

impl fmt::Debug for Outfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Outfit")
    }
}

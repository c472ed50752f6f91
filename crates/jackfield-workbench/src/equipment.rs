//! A session's tools and hooks: it can ask for problems and run code, and is told what its edits have brought.
//!
//! Whether a tool may run is asked like for every other tool. The one rule it keeps: a session gets what was configured
//! and nothing else, so that no prompt names a tool that cannot work.

mod hooks;
mod tools;

use std::collections::VecDeque;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jackfield_sdk::{Callbacks, Trust};

use crate::address::file_of;
use crate::buffers::Buffers;
use crate::kernel::{Kernel, KernelSetup};
use crate::language_server::{LanguageServerSetup, LanguageServers};
use crate::problem::{Diagnostic, FileDiagnostics};
use crate::process::Surroundings;

/// How many edits may be under way.
const EDITS: usize = 64;

/// What sessions are given.
#[derive(Debug, Clone)]
pub struct Equipment {
    /// The Python with `ipykernel` for `executeCode`, if there is one.
    pub python: Option<OsString>,
    /// How long a piece of code may run.
    pub code_limit: Duration,
    /// The language servers.
    pub language_servers: Vec<LanguageServerSetup>,
    /// How programs are started.
    pub surroundings: Surroundings,
}

/// Where a session works, and with whom.
#[derive(Debug, Clone)]
pub struct Reach {
    /// Its folder.
    pub folder: PathBuf,
    /// Whether what lies in the folder may run: language servers may run it.
    pub trust: Trust,
    /// The editor in which the user has the folder open, if there is one.
    pub buffers: Option<Arc<dyn Buffers>>,
}

impl Equipment {
    /// Gives a session what there is for it. What was lent ends with the last of these callbacks.
    #[must_use]
    pub fn equip(&self, callbacks: Callbacks, reach: Reach) -> Callbacks {
        let setups = match reach.trust {
            Trust::Trusted => self.language_servers.clone(),
            Trust::Untrusted => Vec::new(),
        };
        let has_problems = !setups.is_empty() || reach.buffers.is_some();
        let kernel = self.python.clone().map(|python| {
            Kernel::new(KernelSetup {
                python,
                folder: reach.folder.clone(),
                limit: self.code_limit,
                surroundings: self.surroundings.clone(),
            })
        });
        let servers = LanguageServers::new(setups, &reach.folder, &self.surroundings);
        let lent = Arc::new(Lent {
            folder: reach.folder,
            servers,
            buffers: reach.buffers,
            before: Mutex::default(),
        });
        let callbacks = match tools::tools(has_problems.then_some(&lent), kernel) {
            Some(tools) => callbacks.tools(tools),
            None => callbacks,
        };
        if has_problems { hooks::hooks(callbacks, &lent) } else { callbacks }
    }
}

/// What one session was lent.
#[derive(Debug)]
struct Lent {
    folder: PathBuf,
    servers: LanguageServers,
    buffers: Option<Arc<dyn Buffers>>,
    /// The problems before edits that are under way, by their calls.
    before: Mutex<VecDeque<(String, Vec<Diagnostic>)>>,
}

impl Lent {
    /// The problems in a file: a language server knows the file as it lies on the disk, an editor as it has it.
    async fn problems(&self, path: &Path) -> Result<Vec<Diagnostic>, String> {
        if self.servers.know(path) {
            return self.servers.diagnostics(path).await.map_err(|error| error.to_string());
        }
        let Some(buffers) = &self.buffers else { return Ok(Vec::new()) };
        let found = buffers.diagnostics(Some(path.to_owned())).await?;
        Ok(found.into_iter().filter(|file| file.path == path).flat_map(|file| file.diagnostics).collect())
    }

    /// The problems in all files that are known.
    async fn all_problems(&self) -> Result<Vec<FileDiagnostics>, String> {
        let mut all = self.servers.known().await.map_err(|error| error.to_string())?;
        if let Some(buffers) = &self.buffers {
            let found = buffers.diagnostics(None).await?;
            all.extend(found.into_iter().filter(|file| {
                file.path.starts_with(&self.folder)
                    && !self.servers.know(&file.path)
                    && !file.diagnostics.is_empty()
            }));
        }
        Ok(all)
    }

    /// A file of the session's folder, by its path or address; `None` for every other one.
    fn file(&self, named: &str) -> Option<PathBuf> {
        let path = self.folder.join(file_of(named));
        let folder = self.folder.canonicalize().ok()?;
        // A file that is to be made has no path of its own yet, but its folder has.
        let real = path
            .canonicalize()
            .ok()
            .or_else(|| Some(path.parent()?.canonicalize().ok()?.join(path.file_name()?)));
        real.filter(|real| real.starts_with(folder)).map(|_| path)
    }

    fn remember(&self, call: String, problems: Vec<Diagnostic>) {
        let mut before = self.before.lock().unwrap_or_else(PoisonError::into_inner);
        before.push_back((call, problems));
        if before.len() > EDITS {
            before.pop_front();
        }
    }

    fn recall(&self, call: &str) -> Option<Vec<Diagnostic>> {
        let mut before = self.before.lock().unwrap_or_else(PoisonError::into_inner);
        let at = before.iter().position(|(known, _)| known == call)?;
        before.remove(at).map(|(_, problems)| problems)
    }
}

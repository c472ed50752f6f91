//! Trust of folders, as a client asks for it.

use jackfield_api::Fingerprint;
use jackfield_api::command::Rejection;
use jackfield_api::trust::{FolderTrust, FolderVerdicts};

use super::Host;
use crate::trust::{self, Verdict};

impl Host {
    /// A folder, what it would add to the CLI by itself, and what is remembered of it.
    pub async fn folder_trust(&self, path: &str) -> Result<FolderTrust, Rejection> {
        trust::of(&self.shared, path).await
    }

    /// What was said to all folders.
    pub async fn folder_verdicts(&self) -> Result<FolderVerdicts, Rejection> {
        trust::verdicts(&self.shared).await
    }

    /// Forgets what was said to a folder, by its real path. Runs that are there already go on as they began.
    pub async fn forget_folder(&self, path: &str) -> Result<(), Rejection> {
        trust::forget(&self.shared, path).await
    }

    /// Remembers whether a folder is trusted with what a person was shown of it. Rejected if it brings something
    /// else by now. Runs that are there already go on as they began.
    pub async fn set_folder_trust(
        &self,
        path: &str,
        shown: &Fingerprint,
        verdict: Verdict,
    ) -> Result<FolderTrust, Rejection> {
        trust::set(&self.shared, path, shown, verdict).await
    }
}

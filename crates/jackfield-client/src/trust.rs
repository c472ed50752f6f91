//! Trust of folders, asked of a host and told to it.
//!
//! What a folder brings is read by the host, and what a person says to it is kept there. The one rule it keeps: trust
//! names what was shown, so a folder that changed in between is not trusted by mistake.

use jackfield_api::Fingerprint;
use jackfield_api::trust::{FolderTrust, SetFolderTrust};
use jackfield_host::trust::Verdict;

use crate::client::{Client, Way};
use crate::error::ClientError;

impl Client {
    /// A folder, what it would add to the CLI by itself, and what is remembered of it. The path is absolute.
    pub async fn folder_trust(&self, path: &str) -> Result<FolderTrust, ClientError> {
        match &self.way {
            Way::Here(host, _) => Ok(host.folder_trust(path).await?),
            Way::Running(remote) => remote.get("/api/trust", [("path", Some(path.to_owned()))]).await,
        }
    }

    /// Remembers what a person says to a folder, if it still brings what they were shown.
    pub async fn set_folder_trust(
        &self,
        path: &str,
        shown: &Fingerprint,
        verdict: Verdict,
    ) -> Result<FolderTrust, ClientError> {
        match &self.way {
            Way::Here(host, _) => Ok(host.set_folder_trust(path, shown, verdict).await?),
            Way::Running(remote) => {
                let set = SetFolderTrust {
                    path: path.to_owned(),
                    fingerprint: shown.clone(),
                    trusted: verdict == Verdict::Trusted,
                };
                remote.put("/api/trust", &set).await
            }
        }
    }
}

//! What the folder and the machine add to a session: settings, hooks, servers, memory.
//!
//! Whether a folder *is* trusted is known elsewhere. The one rule it keeps: nothing in the folder is loaded
//! before it is trusted, whatever else is set here.

use std::path::PathBuf;

use serde_json::{Map, Value};

use super::{Options, SettingSource, Settings, Switch, Trust};

impl Options {
    /// Whether the folder is trusted. It is not by default.
    #[must_use]
    pub fn trust(mut self, trust: Trust) -> Self {
        self.trust = trust;
        self
    }

    /// Settings that come on top of those in files.
    #[must_use]
    pub fn settings(mut self, settings: Map<String, Value>) -> Self {
        self.settings = Some(Settings::Json(settings));
        self
    }

    /// A file of settings that come on top of the others.
    #[must_use]
    pub fn settings_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.settings = Some(Settings::File(path.into()));
        self
    }

    /// Which settings files are read; none for an empty list. If never called, all of them in a trusted
    /// folder, and only the user's in another. A folder that is not trusted cannot be a source.
    #[must_use]
    pub fn setting_sources(mut self, sources: impl IntoIterator<Item = SettingSource>) -> Self {
        self.setting_sources = Some(sources.into_iter().collect());
        self
    }

    /// Settings that win over all others, as an administrator's would.
    #[must_use]
    pub fn managed_settings(mut self, settings: Map<String, Value>) -> Self {
        self.managed_settings = Some(settings);
        self
    }

    /// The folder whose project settings are meant, if not the working directory. Needs trust like the
    /// working directory. Newer CLIs only.
    #[must_use]
    pub fn project_config_root(mut self, path: impl Into<PathBuf>) -> Self {
        self.project_config_root = Some(path.into());
        self
    }

    /// The CLI with as little as possible: no hooks, plugins, memory or keychain. Off by default.
    #[must_use]
    pub fn bare(mut self, bare: Switch) -> Self {
        self.bare = bare;
        self
    }

    /// The CLI without anybody's customisations, for finding out what is broken. Off by default.
    #[must_use]
    pub fn safe_mode(mut self, mode: Switch) -> Self {
        self.safe_mode = mode;
        self
    }

    /// No tools that run commands, file tools confined to the working directories, no settings files. Off by
    /// default. Newer CLIs only.
    #[must_use]
    pub fn restricted(mut self, restricted: Switch) -> Self {
        self.restricted = restricted;
        self
    }
}

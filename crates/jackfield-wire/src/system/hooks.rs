//! Hook commands as the CLI runs them itself (not the host's callbacks).
//!
//! Seen with `--include-hook-events`; for `SessionStart` always. The rule: `hook_id` joins the
//! lines of one run.

use super::line;
use crate::lenient;
use crate::open_enum::open_enum;

open_enum! {
    /// How a hook command ended.
    pub enum HookOutcome {
        /// Well.
        Success = "success",
        /// Badly.
        Error = "error",
        /// It was cancelled.
        Cancelled = "cancelled",
    }
}

line! {
    /// A hook command started.
    pub struct HookStarted {
        /// This run of the hook.
        pub hook_id: String,
        /// The hook.
        #[serde(default, deserialize_with = "lenient::or_default")]
        pub hook_name: String,
        /// What it was run for.
        #[serde(default, deserialize_with = "lenient::or_default")]
        pub hook_event: String,
    }
}

line! {
    /// A hook command prints.
    pub struct HookProgress {
        /// This run of the hook.
        pub hook_id: String,
        /// The hook.
        #[serde(default, deserialize_with = "lenient::or_default")]
        pub hook_name: String,
        /// What it was run for.
        #[serde(default, deserialize_with = "lenient::or_default")]
        pub hook_event: String,
        /// Both outputs together.
        #[serde(default, deserialize_with = "lenient::or_default")]
        pub output: String,
        /// Its standard output.
        #[serde(default, deserialize_with = "lenient::or_default")]
        pub stdout: String,
        /// Its standard error.
        #[serde(default, deserialize_with = "lenient::or_default")]
        pub stderr: String,
    }
}

line! {
    /// A hook command ended.
    pub struct HookResponse {
        /// This run of the hook.
        pub hook_id: String,
        /// The hook.
        #[serde(default, deserialize_with = "lenient::or_default")]
        pub hook_name: String,
        /// What it was run for.
        #[serde(default, deserialize_with = "lenient::or_default")]
        pub hook_event: String,
        /// Both outputs together.
        #[serde(default, deserialize_with = "lenient::or_default")]
        pub output: String,
        /// Its standard output.
        #[serde(default, deserialize_with = "lenient::or_default")]
        pub stdout: String,
        /// Its standard error.
        #[serde(default, deserialize_with = "lenient::or_default")]
        pub stderr: String,
        /// Its exit code.
        pub exit_code: Option<i64>,
        /// How it ended.
        pub outcome: Option<HookOutcome>,
    }
}

//! The agent as an editor sees it: over its pipes, on a host in the same process.
//!
//! * `recordings` – every recording through the translation
//! * `turns`, `questions`, `sessions`, `trust`, `brought` – the real CLIs, with a scripted API behind them
//! * `cancel` – cancellations at seeded moments
//! * `faults` – what a CLI can do wrong, and an editor
//! * `editor`, `stage` – the other ends

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

/// Each of these tests runs with both pinned CLIs.
macro_rules! with_both_clis {
    ($($name:ident),+ $(,)?) => {
        mod older {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $name() {
                super::$name(jackfield_testkit::cli::OLDER_VERSION).await;
            })+
        }
        mod newer {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $name() {
                super::$name(jackfield_testkit::cli::NEWER_VERSION).await;
            })+
        }
    };
}

mod brought;
mod cancel;
mod editor;
mod faults;
mod questions;
mod recordings;
mod sessions;
mod stage;
mod trust;
mod turns;

//! Something that is waited for while everything else goes on.
//!
//! The one rule it keeps: there is one of it at a time, and what is begun meanwhile is not.

use std::future::pending;
use std::pin::Pin;

/// What is waited for, if anything is.
pub(super) struct Beside<T>(Option<Pin<Box<dyn Future<Output = T>>>>);

impl<T> Beside<T> {
    pub(super) fn nothing() -> Self {
        Self(None)
    }

    /// Begins, unless something is under way.
    pub(super) fn begin(&mut self, future: impl Future<Output = T> + 'static) {
        if self.0.is_none() {
            self.0 = Some(Box::pin(future));
        }
    }

    /// What came of it; never, if nothing is under way. Cancel-safe.
    pub(super) async fn done(&mut self) -> T {
        let Some(future) = &mut self.0 else { return pending().await };
        let came = future.await;
        self.0 = None;
        came
    }
}

//! What others see of a host: traces at a collector, figures, debug files, logs; from the real program.

mod asked;
mod blocked;
mod bundle;
mod canary;
mod collector;
mod debug;
mod editor;
pub(super) mod figures;
mod handed_on;
mod log;
mod moving;
mod top;
mod traces;

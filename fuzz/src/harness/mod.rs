//! What a session is put through when nobody knows what will come: steps in, every output checked.
//!
//! Shared by the fuzz targets, by the tests of `jackfield-core` (which include it by path) and by
//! `cargo xtask fuzz`; it needs nothing but the pure crates. The one rule: what is checked here holds for
//! *every* input, so a failed check is a bug of the machine, never of the input.

mod decoding;
mod ledger;
mod script;
mod stage;

pub use decoding::check_decoding;
pub use ledger::Ledger;
pub use script::read_script;
pub use stage::{Stage, Step, replay};

/// Plays a script through a session, ends its run, and checks everything that always holds.
pub fn check_session(bytes: &[u8]) {
    let mut stage = Stage::new(Some("fuzz"));
    for step in read_script(bytes) {
        stage.take(&step);
    }
    stage.end();
    let again = replay(Some("fuzz"), stage.journal());
    assert_eq!(stage.events(), again, "a replay of the journal gives other events");
}

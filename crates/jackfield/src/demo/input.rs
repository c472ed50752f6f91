//! Standard input, line by line.
//!
//! The one rule: reading never waits for what is being played, so an interrupt is always heard.

use std::io::{self, BufRead};
use std::thread;

use tokio::sync::mpsc;

/// How many lines may wait to be heard.
const WAITING: usize = 256;

/// The lines, without their ends. The channel closes when the input does.
pub(super) fn lines() -> mpsc::Receiver<Vec<u8>> {
    let (to, from) = mpsc::channel(WAITING);
    // It ends with the input or with the process, whichever comes first.
    thread::spawn(move || {
        for mut line in io::stdin().lock().split(b'\n').map_while(Result::ok) {
            if line.last() == Some(&b'\r') {
                line.pop();
            }
            if to.blocking_send(line).is_err() {
                return;
            }
        }
    });
    from
}

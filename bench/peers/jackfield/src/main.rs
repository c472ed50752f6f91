//! The driver of `jackfield-sdk`: one session with a lossless reader, no transcript and no guard.
//!
//! Peers keep no transcript and have no guard. The one rule it keeps: a hole in the sequence is an error, so
//! that a figure is never one of lost events.

use std::path::Path;
use std::process::ExitCode;

use bench_driver::{Peer, Trouble};
use jackfield_api::Body;
use jackfield_sdk::{Callbacks, Events, Options, Pace, Session, Switch};

struct Live {
    session: Session,
    events: Events,
    seq: u64,
}

impl Peer for Live {
    async fn start(claude: &Path) -> Result<Self, Trouble> {
        let options = Options::new(std::env::current_dir()?).claude(claude).transcript(Switch::Off);
        let session = Session::start(options, Callbacks::new()).await?;
        let events = session.events(Pace::Lossless);
        Ok(Self { session, events, seq: 0 })
    }

    async fn turn(&mut self, mut each: impl FnMut() + Send) -> Result<(), Trouble> {
        self.session.prompt("Go on.").await?;
        loop {
            let event = self.events.next().await.ok_or("the session ended before the result")?;
            self.seq += 1;
            if event.seq.0 != self.seq {
                return Err(format!("event {} came where {} was due", event.seq.0, self.seq).into());
            }
            // The queue is told when a prompt is written; everything else comes from the CLI.
            if !matches!(event.body, Body::Queue(_)) {
                each();
            }
            if matches!(event.body, Body::Complete(_)) {
                return Ok(());
            }
        }
    }
}

#[tokio::main]
async fn main() -> ExitCode {
    bench_driver::run::<Live>().await
}

//! What a conversation had cost when its CLI last ended in peace.
//!
//! 2.1.325 writes it down at its end and counts on from there when it goes on; 2.1.197 does neither. The one rule it
//! keeps: the file is read from its end, because the line is the last one unless the CLI was killed.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom};
use std::path::Path;

use jackfield_core::Spent;
use jackfield_wire::UsageByModel;
use memchr::memmem::rfind;
use serde::Deserialize;

use crate::history::HistoryError;
use crate::history::files;

/// The end of a line and how such a line begins. It is never the first one, which is about a message.
const BEGINNING: &[u8] = b"\n{\"type\":\"cost-state\"";
/// How much is searched at a time.
const CHUNK: u64 = 256 * 1024;
/// The longest such line that is believed.
const LONGEST: u64 = 1024 * 1024;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CostState {
    #[serde(rename = "totalCostUSD")]
    total_cost_usd: f64,
    #[serde(rename = "totalAPIDuration", default)]
    total_api_duration: u64,
    /// Money counts without it.
    #[serde(default)]
    model_usage: serde_json::Value,
}

pub(super) fn read(path: &Path) -> Result<Option<Spent>, HistoryError> {
    let find = || {
        let mut file = files::open(path, OpenOptions::new().read(true))?;
        let mut end = file.metadata()?.len();
        while let Some(at) = last(&mut file, end)? {
            if let Some(spent) = line(&mut file, at)? {
                return Ok(Some(spent));
            }
            end = at;
        }
        Ok(None)
    };
    find().map_err(files::failed("read", path))
}

/// Where the last such beginning before `end` is.
fn last(file: &mut File, mut end: u64) -> io::Result<Option<u64>> {
    let mut chunk = Vec::new();
    while 0 < end {
        let start = end.saturating_sub(CHUNK);
        // What begins before the end may reach beyond it.
        let reach = (end - start) + BEGINNING.len() as u64 - 1;
        chunk.clear();
        file.seek(SeekFrom::Start(start))?;
        file.by_ref().take(reach).read_to_end(&mut chunk)?;
        if let Some(found) = rfind(&chunk, BEGINNING) {
            return Ok(Some(start + found as u64));
        }
        end = start;
    }
    Ok(None)
}

fn line(file: &mut File, at: u64) -> io::Result<Option<Spent>> {
    file.seek(SeekFrom::Start(at + 1))?;
    let mut line = Vec::new();
    BufReader::new(file.by_ref().take(LONGEST)).read_until(b'\n', &mut line)?;
    let state: Option<CostState> = serde_json::from_slice(&line).ok();
    Ok(state.map(|state| {
        let by_model = serde_json::from_value::<UsageByModel>(state.model_usage).unwrap_or_default();
        Spent::new(state.total_cost_usd, state.total_api_duration, &by_model)
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spent(content: &str) -> Option<f64> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("session.jsonl");
        std::fs::write(&path, content).unwrap();
        read(&path).unwrap().map(|spent| spent.cost_usd)
    }

    fn state(cost: &str) -> String {
        format!("{{\"type\":\"cost-state\",\"totalCostUSD\":{cost},\"totalAPIDuration\":7,\"more\":{{}}}}\n")
    }

    #[test]
    fn the_last_line_counts_wherever_it_stands() {
        let message = "{\"type\":\"user\",\"text\":\"{\\\"type\\\":\\\"cost-state\\\"}\"}\n";
        assert_eq!(spent(""), None);
        assert_eq!(spent(message), None);
        assert_eq!(spent(&format!("{message}{}{message}{}", state("0.5"), state("1.25"))), Some(1.25));
        // Around the seams of what is searched at a time.
        for length in (1..=BEGINNING.len() + 1).chain([0, 1000]) {
            let length = usize::try_from(CHUNK).unwrap() - length;
            let after = format!("{}\n", "x".repeat(length));
            assert_eq!(spent(&format!("{message}{}{after}", state("0.5"))), Some(0.5), "{length}");
        }
    }

    #[test]
    fn a_broken_line_is_passed_over() {
        let half = "{\"type\":\"cost-state\",\"totalCo";
        assert_eq!(spent(&format!("{{}}\n{}{half}", state("0.5"))), Some(0.5));
        assert_eq!(spent(&format!("{{}}\n{}{}", state("0.5"), state("\"much\""))), Some(0.5));
    }
}

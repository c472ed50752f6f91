//! A collector of traces in another language, with the official types.

use std::path::Path;
use std::process::Stdio;

use jackfield_testkit::programs;
use serde::Deserialize;
use serde_json::{Map, Value};
use tokio::io::{AsyncBufReadExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};
use tokio::time::timeout;

use super::super::server::{PATIENCE, Place};

pub(super) const CONTEXT: &str = "streamjson.context_window";

/// A span as it arrived.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Arrived {
    pub(super) service: Option<String>,
    pub(super) scope: String,
    pub(super) trace: String,
    pub(super) state: String,
    pub(super) id: String,
    pub(super) parent: String,
    pub(super) name: String,
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) attributes: Map<String, Value>,
    pub(super) events: Vec<(String, Map<String, Value>)>,
    pub(super) failed: Option<String>,
    pub(super) header: Option<String>,
}

/// The collector, and all that it was told.
pub(super) struct Collector {
    child: Child,
    said: Lines<BufReader<ChildStdout>>,
    port: u16,
    pub(super) spans: Vec<Arrived>,
}

impl Collector {
    pub(super) async fn start() -> Self {
        let packages = programs::otlp_packages();
        assert!(packages.join("opentelemetry").is_dir(), "no Python types of OTLP: run `cargo xtask setup`");
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/host/observe/collector.py");
        let mut child = Command::new("python3")
            .arg(script)
            .env("PYTHONPATH", packages)
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut said = BufReader::new(child.stdout.take().unwrap()).lines();
        let port =
            timeout(PATIENCE, said.next_line()).await.unwrap().unwrap().expect("the collector listens");
        Self { child, said, port: port.parse().unwrap(), spans: Vec::new() }
    }

    /// Lets a host export to it.
    pub(super) fn wanted_by(&self, place: &mut Place) {
        for (name, value) in [
            ("OTEL_EXPORTER_OTLP_ENDPOINT", format!("http://127.0.0.1:{}", self.port)),
            ("OTEL_EXPORTER_OTLP_HEADERS", "x-test=told".to_owned()),
            ("OTEL_BSP_SCHEDULE_DELAY", "50".to_owned()),
        ] {
            place.environment.insert(name.to_owned(), value);
        }
    }

    /// Waits until so many spans with this name have arrived. A parent comes behind its children.
    pub(super) async fn until(&mut self, name: &str, count: usize) {
        while self.count(name) < count {
            assert!(self.next().await, "the collector has ended");
        }
    }

    /// All spans, when nobody is there any more who could send some.
    pub(super) async fn all(&mut self) {
        self.child.start_kill().unwrap();
        while self.next().await {}
    }

    async fn next(&mut self) -> bool {
        let line = timeout(PATIENCE, self.said.next_line()).await.expect("spans arrive").unwrap();
        let Some(line) = line else { return false };
        self.spans.push(serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}")));
        true
    }

    /// The spans as a tree, one per line, with what is known of each. What is inside of the same span stands in the
    /// order of the alphabet, so that a tree is always written the same. How often the context changes differs with the
    /// CLI's version, so of these spans there is only the number.
    pub(super) fn tree(&self) -> String {
        self.written("", 0)
    }

    /// The spans with this name.
    pub(super) fn of(&self, name: &str) -> impl Iterator<Item = &Arrived> {
        self.spans.iter().filter(move |span| span.name == name)
    }

    fn count(&self, name: &str) -> usize {
        self.of(name).count()
    }

    fn written(&self, parent: &str, depth: usize) -> String {
        let known = |id: &str| self.spans.iter().any(|span| span.id == id);
        let inside = self
            .spans
            .iter()
            .filter(|span| span.name != CONTEXT)
            .filter(|span| if parent.is_empty() { !known(&span.parent) } else { span.parent == parent });
        let line = |span: &Arrived| {
            let word = |name: &str| match span.attributes.get(name) {
                Some(Value::String(word)) => format!(" {word}"),
                _ => String::new(),
            };
            let name = span.name.trim_start_matches("streamjson.");
            let known = word("gen_ai.tool.name") + &word("jackfield.outcome") + &word("error.type");
            format!("{}{name}{known}\n{}", "  ".repeat(depth), self.written(&span.id, depth + 1))
        };
        let mut lines: Vec<String> = inside.map(line).collect();
        lines.sort();
        lines.concat()
    }
}

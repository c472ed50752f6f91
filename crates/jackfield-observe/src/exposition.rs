//! Figures as text that Prometheus reads.
//!
//! It only writes; what is counted is known elsewhere. The one rule it keeps: what stands in a label is escaped,
//! whatever it is, so that no name from outside can make a line of its own.

use std::fmt::{self, Display, Write as _};

use crate::histogram::Histogram;
use crate::tally::Tally;

/// A page of figures.
#[derive(Debug, Default)]
pub struct Page {
    text: String,
}

/// What a figure does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// It only grows.
    Counter,
    /// It goes up and down.
    Gauge,
    /// It says how often something took how long.
    Histogram,
}

/// Labels with what they hold.
pub type Labels<'a> = &'a [(&'static str, &'a str)];

impl Page {
    /// Begins a figure. Its samples follow.
    pub fn figure(&mut self, name: &str, kind: Kind, help: &str) {
        let kind = match kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
        };
        self.line(format_args!("# HELP {name} {help}\n# TYPE {name} {kind}"));
    }

    /// A sample.
    pub fn sample(&mut self, name: &str, labels: Labels<'_>, value: impl Display) {
        let labels = Written(labels, None);
        self.line(format_args!("{name}{labels} {value}"));
    }

    /// The samples of a histogram.
    pub fn histogram(&mut self, name: &str, labels: Labels<'_>, histogram: &Histogram) {
        for (bound, count) in histogram.cumulative() {
            let bound = bound.map_or_else(|| "+Inf".to_owned(), |bound| bound.to_string());
            let labels = Written(labels, Some(&bound));
            self.line(format_args!("{name}_bucket{labels} {count}"));
        }
        let labels = Written(labels, None);
        self.line(format_args!("{name}_sum{labels} {}", histogram.sum()));
        self.line(format_args!("{name}_count{labels} {}", histogram.total()));
    }

    /// All figures that are folded from events.
    pub fn tally(&mut self, tally: &Tally) {
        self.figure("jackfield_events_total", Kind::Counter, "Events by type.");
        for (name, count) in tally.events() {
            self.sample("jackfield_events_total", &[("type", name)], count);
        }
        self.counts("jackfield_turns_total", "Turns by how they ended.", "outcome", &tally.turns);
        self.counts("jackfield_runs_ended_total", "CLI processes by how they ended.", "reason", &tally.runs);
        self.counts(
            "jackfield_api_retries_total",
            "Requests tried again, by HTTP status.",
            "status",
            &tally.retries,
        );
        self.counts("jackfield_rate_limits_total", "Words on the account's limits.", "status", &tally.limits);
        let help = "Messages of the CLI that are not known, by name.";
        self.counts("jackfield_unknown_messages_total", help, "name", &tally.unknown);
        self.figure("jackfield_tokens_total", Kind::Counter, "Tokens by model and kind.");
        for (model, spent) in &tally.spent {
            for (kind, tokens) in [
                ("input", spent.input_tokens),
                ("output", spent.output_tokens),
                ("cache_read", spent.cache_read_tokens),
                ("cache_creation", spent.cache_creation_tokens),
            ] {
                self.sample("jackfield_tokens_total", &[("model", model), ("kind", kind)], tokens);
            }
        }
        self.figure("jackfield_cost_usd_total", Kind::Counter, "Money by model, in dollars.");
        for (model, spent) in &tally.spent {
            self.sample("jackfield_cost_usd_total", &[("model", model)], spent.cost_usd);
        }
        let name = "jackfield_permission_wait_seconds";
        self.figure(name, Kind::Histogram, "How long questions waited, by how they ended.");
        for (how, waits) in &tally.waits {
            self.histogram(name, &[("outcome", how)], waits);
        }
        let name = "jackfield_tool_duration_seconds";
        self.figure(name, Kind::Histogram, "How long tool calls took, with the wait for permission.");
        for ((kind, how), took) in &tally.tools {
            self.histogram(name, &[("kind", kind), ("outcome", how)], took);
        }
    }

    /// The whole page.
    pub fn finish(self) -> String {
        self.text
    }

    fn counts<'a, Name: AsRef<str> + 'a>(
        &mut self,
        name: &str,
        help: &str,
        label: &'static str,
        counts: impl IntoIterator<Item = (&'a Name, &'a u64)>,
    ) {
        self.figure(name, Kind::Counter, help);
        for (value, count) in counts {
            self.sample(name, &[(label, value.as_ref())], count);
        }
    }

    fn line(&mut self, line: fmt::Arguments<'_>) {
        // Writing to a string does not fail.
        let _ = writeln!(self.text, "{line}");
    }
}

/// Labels as they stand behind a name, with a histogram's bound where there is one.
struct Written<'a>(Labels<'a>, Option<&'a str>);

impl Display for Written<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(labels, bound) = self;
        let all = labels.iter().map(|(name, value)| (*name, *value)).chain(bound.map(|bound| ("le", bound)));
        let mut before = '{';
        for (name, value) in all {
            write!(f, "{before}{name}=\"")?;
            for letter in value.chars() {
                match letter {
                    '\\' => f.write_str("\\\\")?,
                    '"' => f.write_str("\\\"")?,
                    '\n' => f.write_str("\\n")?,
                    letter => f.write_char(letter)?,
                }
            }
            f.write_char('"')?;
            before = ',';
        }
        if before == ',' { f.write_char('}') } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_from_outside_make_no_line_of_their_own() {
        let mut page = Page::default();
        page.sample("a_total", &[("name", "x\"} 9\nb_total{y=\"\\")], 1);
        assert_eq!(page.finish(), "a_total{name=\"x\\\"} 9\\nb_total{y=\\\"\\\\\"} 1\n");
    }

    #[test]
    fn a_histogram_ends_with_all_of_it() {
        let mut histogram = Histogram::default();
        histogram.count(0.5);
        histogram.count(5000.0);
        let mut page = Page::default();
        page.figure("wait_seconds", Kind::Histogram, "Waits.");
        page.histogram("wait_seconds", &[("outcome", "allowed")], &histogram);
        let text = page.finish();
        assert!(text.starts_with("# HELP wait_seconds Waits.\n# TYPE wait_seconds histogram\n"), "{text}");
        assert!(text.contains("wait_seconds_bucket{outcome=\"allowed\",le=\"0.5\"} 1\n"), "{text}");
        assert!(text.contains("wait_seconds_bucket{outcome=\"allowed\",le=\"+Inf\"} 2\n"), "{text}");
        assert!(text.ends_with(
            "wait_seconds_sum{outcome=\"allowed\"} 5000.5\nwait_seconds_count{outcome=\"allowed\"} 2\n"
        ));
    }
}

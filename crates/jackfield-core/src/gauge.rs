//! What is counted: how full the context is, and what a turn costs.
//!
//! The CLI's cost is cumulative over its process, for newer ones over those before it too, and its token counts are
//! provisional on assistant lines; here they become per-turn figures and one number for the context. Subagents do not
//! count for that one: their context is not the conversation's.

use std::collections::BTreeMap;

use jackfield_api as api;
use jackfield_wire::{Usage, UsageByModel};
use serde::{Deserialize, Serialize};

use api::usage::{ContextWindow, ModelFigures};

use crate::outbox::Outbox;

/// The window until the CLI tells a better one.
const DEFAULT_WINDOW: u64 = 200_000;

/// How full the main thread's context is.
#[derive(Debug, Default)]
pub(crate) struct ContextGauge {
    model: String,
    windows: BTreeMap<String, u64>,
    counted: Usage,
    /// The message whose final count is known: its later lines tell only provisional ones.
    settled: Option<String>,
    told: Option<(u64, u64)>,
}

impl ContextGauge {
    pub(crate) fn set_model(&mut self, model: &str) {
        if self.model != model {
            model.clone_into(&mut self.model);
        }
    }

    /// Provisional counts of a message.
    pub(crate) fn count(&mut self, message: &str, usage: &Usage, out: &mut Outbox) {
        if self.settled.as_deref() != Some(message) {
            self.counted = usage.clone();
            self.tell(out);
        }
    }

    /// Final counts of a message; those it does not repeat stay as they were.
    pub(crate) fn settle(&mut self, message: Option<&str>, usage: &Usage, out: &mut Outbox) {
        let keep = |new: u64, old: u64| if new == 0 { old } else { new };
        self.counted.input_tokens = keep(usage.input_tokens, self.counted.input_tokens);
        self.counted.output_tokens = keep(usage.output_tokens, self.counted.output_tokens);
        self.counted.cache_creation_input_tokens =
            keep(usage.cache_creation_input_tokens, self.counted.cache_creation_input_tokens);
        self.counted.cache_read_input_tokens =
            keep(usage.cache_read_input_tokens, self.counted.cache_read_input_tokens);
        self.settled = message.map(str::to_owned);
        self.tell(out);
    }

    /// The windows of all models, as a result tells them.
    pub(crate) fn learn(&mut self, by_model: &UsageByModel, out: &mut Outbox) {
        for (model, usage) in by_model {
            if let Some(window) = usage.context_window.filter(|window| *window > 0) {
                self.windows.insert(model.clone(), window);
            }
        }
        if self.told.is_some() {
            self.tell(out);
        }
    }

    fn window(&self) -> u64 {
        // The key may carry a suffix that the messages' model lacks, and the other way round: `[1m]`.
        let bare = |name: &str| name.split('[').next().unwrap_or_default().to_owned();
        self.windows
            .get(&self.model)
            .or_else(|| {
                self.windows.iter().find(|(name, _)| bare(name) == bare(&self.model)).map(|(_, size)| size)
            })
            .copied()
            .unwrap_or(DEFAULT_WINDOW)
    }

    fn tell(&mut self, out: &mut Outbox) {
        let used = [
            self.counted.input_tokens,
            self.counted.output_tokens,
            self.counted.cache_creation_input_tokens,
            self.counted.cache_read_input_tokens,
        ]
        .into_iter()
        .fold(0_u64, u64::saturating_add);
        let size = self.window();
        if self.told == Some((size, used)) {
            return;
        }
        self.told = Some((size, used));
        let remaining = size.saturating_sub(used);
        #[expect(clippy::cast_precision_loss, reason = "a percentage")]
        let efficiency = remaining as f64 / size as f64 * 100.0;
        out.event(ContextWindow {
            context_window_size: size,
            context_window_used: used,
            context_window_remaining: remaining,
            context_efficiency: efficiency,
        });
    }
}

/// What a conversation had cost at some time.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Spent {
    /// Dollars.
    pub cost_usd: f64,
    /// How long the API took.
    pub api_ms: u64,
    /// What each model was used for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<ModelFigures>,
}

impl Spent {
    /// What the CLI counts.
    pub fn new(cost_usd: f64, api_ms: u64, by_model: &UsageByModel) -> Self {
        let models = by_model.iter().map(|(model, usage)| ModelFigures {
            model: model.clone(),
            input_tokens: usage.input_tokens,
            output_tokens: usage.output_tokens,
            cache_read_tokens: usage.cache_read_input_tokens,
            cache_creation_tokens: usage.cache_creation_input_tokens,
            cost_usd: usage.cost_usd,
        });
        Self { cost_usd, api_ms, models: models.collect() }
    }
}

/// A count that only grows, read as steps. It begins where its process began to count.
#[derive(Debug)]
pub(crate) struct Meter(pub(crate) Spent);

impl Meter {
    /// What has come since the last reading. A count that fell has begun anew.
    pub(crate) fn step(&mut self, total: Spent) -> Spent {
        let before = std::mem::replace(&mut self.0, total);
        let total = &self.0;
        let models = total.models.iter().filter_map(|now| {
            let before = before.models.iter().find(|before| before.model == now.model);
            let came = before.map_or_else(|| now.clone(), |before| model_step(before, now));
            (came != ModelFigures { model: came.model.clone(), ..ModelFigures::default() }).then_some(came)
        });
        Spent {
            cost_usd: money_step(before.cost_usd, total.cost_usd),
            api_ms: step(before.api_ms, total.api_ms),
            models: models.collect(),
        }
    }
}

fn model_step(before: &ModelFigures, total: &ModelFigures) -> ModelFigures {
    ModelFigures {
        model: total.model.clone(),
        input_tokens: step(before.input_tokens, total.input_tokens),
        output_tokens: step(before.output_tokens, total.output_tokens),
        cache_read_tokens: step(before.cache_read_tokens, total.cache_read_tokens),
        cache_creation_tokens: step(before.cache_creation_tokens, total.cache_creation_tokens),
        cost_usd: money_step(before.cost_usd, total.cost_usd),
    }
}

fn step(before: u64, total: u64) -> u64 {
    total.checked_sub(before).unwrap_or(total)
}

fn money_step(before: f64, total: f64) -> f64 {
    if total < before { total } else { total - before }
}

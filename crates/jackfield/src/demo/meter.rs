//! Tokens and what they would cost.
//!
//! They are guessed from the length of the texts. The one rule: what the results of a process say adds up.

use serde_json::{Value, json};

/// How much the demo model can keep in mind.
pub(super) const WINDOW: u64 = 200_000;
/// What is in the context before anything was said: instructions and tools.
const INSTRUCTIONS: u64 = 14_200;

/// Tokens of some requests.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Tokens {
    input: u64,
    output: u64,
    cache_creation: u64,
    cache_read: u64,
}

/// What was used so far.
#[derive(Debug)]
pub(super) struct Meter {
    /// What the next request has in its cache.
    cached: u64,
    /// What was said since the last request.
    fresh: u64,
    total: Tokens,
    turn: Tokens,
    api_ms: u64,
}

impl Meter {
    pub(super) fn new() -> Self {
        Self { cached: 0, fresh: INSTRUCTIONS, total: Tokens::default(), turn: Tokens::default(), api_ms: 0 }
    }

    pub(super) fn begin_turn(&mut self) {
        self.turn = Tokens::default();
    }

    /// Something was put into the context.
    pub(super) fn heard(&mut self, text: &str) {
        self.fresh += tokens(text);
    }

    /// A request begins; its usage so far.
    pub(super) fn request(&mut self) -> Tokens {
        let used = Tokens { input: 4, output: 1, cache_creation: self.fresh, cache_read: self.cached };
        self.cached += std::mem::take(&mut self.fresh);
        used
    }

    /// A request is over, with this much output.
    pub(super) fn answered(&mut self, request: Tokens, output: u64) {
        self.fresh += output;
        for tokens in [&mut self.total, &mut self.turn] {
            tokens.input += request.input;
            tokens.output += output;
            tokens.cache_creation += request.cache_creation;
            tokens.cache_read += request.cache_read;
        }
    }

    /// All that is in the context.
    pub(super) fn context(&self) -> u64 {
        self.cached + self.fresh
    }

    /// The conversation was summed up; how much it was, and is.
    pub(super) fn compact(&mut self) -> (u64, u64) {
        let before = self.context();
        (self.cached, self.fresh) = (0, INSTRUCTIONS + 640);
        (before, self.context())
    }

    /// How long requests took so far, with those of a turn that took this long.
    pub(super) fn api_time(&mut self, turn: u64) -> u64 {
        self.api_ms += turn;
        self.api_ms
    }

    pub(super) fn cost(&self) -> f64 {
        self.total.cost()
    }

    /// `usage` of a result.
    pub(super) fn usage(&self) -> Value {
        self.turn.usage()
    }

    /// `modelUsage` of a result.
    pub(super) fn by_model(&self, model: &str) -> Value {
        let total = self.total;
        json!({ model: {
            "inputTokens": total.input, "outputTokens": total.output,
            "cacheReadInputTokens": total.cache_read, "cacheCreationInputTokens": total.cache_creation,
            "webSearchRequests": 0, "costUSD": total.cost(), "contextWindow": WINDOW,
            "maxOutputTokens": 64_000,
        } })
    }
}

impl Tokens {
    pub(super) fn usage(self) -> Value {
        json!({
            "input_tokens": self.input, "output_tokens": self.output,
            "cache_creation_input_tokens": self.cache_creation, "cache_read_input_tokens": self.cache_read,
        })
    }

    fn cost(self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "play money")]
        let dollars = |tokens: u64, per_million: f64| tokens as f64 * per_million / 1e6;
        dollars(self.input, 4.0)
            + dollars(self.output, 20.0)
            + dollars(self.cache_creation, 5.0)
            + dollars(self.cache_read, 0.4)
    }
}

/// About as many tokens as a text has.
pub(super) fn tokens(text: &str) -> u64 {
    1 + text.len() as u64 / 4
}

//! The model, what it is told, and what it may spend.
//!
//! Nothing here decides what tools may do. The one rule it keeps: an option that is not set leaves the
//! decision to the user's settings and the CLI.

use std::num::{NonZeroU32, NonZeroU64};
use std::path::PathBuf;

use serde_json::{Map, Value};

use super::{Effort, Options, Prompt, Switch, Thinking, ThinkingDisplay};

impl Options {
    /// The model, by alias (`opus`) or by its full name.
    #[must_use]
    pub fn model(mut self, model: impl Into<String>) -> Self {
        self.model = Some(model.into());
        self
    }

    /// A model to try when the one before it is overloaded or missing; each call adds one.
    #[must_use]
    pub fn fallback_model(mut self, model: impl Into<String>) -> Self {
        self.fallback_models.push(model.into());
        self
    }

    /// How hard the model tries.
    #[must_use]
    pub fn effort(mut self, effort: Effort) -> Self {
        self.effort = Some(effort);
        self
    }

    /// Whether the model thinks.
    #[must_use]
    pub fn thinking(mut self, thinking: Thinking) -> Self {
        self.thinking = Some(thinking);
        self
    }

    /// How many tokens a thought may take; 0 turns thinking off.
    #[must_use]
    pub fn max_thinking_tokens(mut self, tokens: u32) -> Self {
        self.max_thinking_tokens = Some(tokens);
        self
    }

    /// How much of the thinking is shown.
    #[must_use]
    pub fn thinking_display(mut self, display: ThinkingDisplay) -> Self {
        self.thinking_display = Some(display);
        self
    }

    /// A beta of the API to ask for; each call adds one. The CLI warns about those it does not support.
    #[must_use]
    pub fn beta(mut self, name: impl Into<String>) -> Self {
        self.betas.push(name.into());
        self
    }

    /// Replaces the system prompt.
    #[must_use]
    pub fn system_prompt(mut self, text: impl Into<String>) -> Self {
        self.system_prompt = Some(Prompt::Text(text.into()));
        self
    }

    /// Replaces the system prompt by what a file holds.
    #[must_use]
    pub fn system_prompt_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.system_prompt = Some(Prompt::File(path.into()));
        self
    }

    /// Adds to the system prompt.
    #[must_use]
    pub fn append_system_prompt(mut self, text: impl Into<String>) -> Self {
        self.append_system_prompt = Some(Prompt::Text(text.into()));
        self
    }

    /// Adds what a file holds to the system prompt.
    #[must_use]
    pub fn append_system_prompt_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.append_system_prompt = Some(Prompt::File(path.into()));
        self
    }

    /// Adds to the system prompt of subagents. Newer CLIs only.
    #[must_use]
    pub fn append_subagent_system_prompt(mut self, prompt: Prompt) -> Self {
        self.append_subagent_system_prompt = Some(prompt);
        self
    }

    /// Whether the system prompt is recorded at the first request and used again as it was, also after a
    /// resume with another text. Newer CLIs only.
    #[must_use]
    pub fn system_prompt_snapshot(mut self, snapshot: Switch) -> Self {
        self.system_prompt_snapshot = Some(snapshot);
        self
    }

    /// Whether the default system prompt tells about this machine (folder, git status, memory). Off moves
    /// that into the first user message, so that users share the prompt's cache. On by default.
    #[must_use]
    pub fn dynamic_sections(mut self, sections: Switch) -> Self {
        self.dynamic_sections = sections;
        self
    }

    /// The agent that leads the session, instead of the one of the settings.
    #[must_use]
    pub fn agent(mut self, name: impl Into<String>) -> Self {
        self.agent = Some(name.into());
        self
    }

    /// Agents by name: `{"reviewer": {"description": …, "prompt": …}}`.
    #[must_use]
    pub fn agents(mut self, agents: Map<String, Value>) -> Self {
        self.agents = Some(agents);
        self
    }

    /// The JSON Schema of the structured output that a turn ends with.
    #[must_use]
    pub fn json_schema(mut self, schema: Map<String, Value>) -> Self {
        self.json_schema = Some(schema);
        self
    }

    /// How many API round trips a turn may take.
    #[must_use]
    pub fn max_turns(mut self, turns: NonZeroU32) -> Self {
        self.max_turns = Some(turns);
        self
    }

    /// How many dollars the session may cost. Once they are spent, every further prompt fails.
    #[must_use]
    pub fn max_budget_usd(mut self, dollars: f64) -> Self {
        self.max_budget_usd = Some(dollars);
        self
    }

    /// How many tokens a task may take; the model is told and plans with them.
    #[must_use]
    pub fn task_budget(mut self, tokens: NonZeroU64) -> Self {
        self.task_budget = Some(tokens);
        self
    }
}

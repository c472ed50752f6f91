//! Modes and options of a session: what there is to choose from, and what is chosen.
//!
//! The permission mode is told twice, as a mode and as an option, because editors look for either. The one rule it
//! keeps: what is told to be chosen is in the list to choose from.

use jackfield_api::command::{SetEffort, SetThinking};
use jackfield_api::{Body, Event};

use crate::schema::{
    ConfigOptionUpdate, CurrentModeUpdate, SessionConfigOption, SessionConfigOptionCategory,
    SessionConfigSelectOption, SessionMode, SessionModeState, SessionUpdate,
};

/// The option that is the permission mode.
pub(crate) const MODE: &str = "mode";
/// The option that is the model.
pub(crate) const MODEL: &str = "model";
/// The option that says how much the model may think.
pub(crate) const THINKING: &str = "thinking";
/// The option that says how much effort the model makes.
pub(crate) const EFFORT: &str = "effort";
/// The CLI's own choice of a model.
pub(crate) const DEFAULT_MODEL: &str = "default";
/// The CLI's own measure of effort.
const DEFAULT_EFFORT: &str = "default";

const MODES: [(&str, &str, &str); 6] = [
    ("default", "Ask", "Asks before anything is changed or run"),
    ("acceptEdits", "Act", "Edits files without asking; asks before anything is run"),
    ("plan", "Plan", "Reads and plans; changes nothing"),
    ("auto", "Auto", "Decides by itself what is safe, and asks for the rest"),
    ("dontAsk", "Don't ask", "Denies what is not allowed already"),
    ("bypassPermissions", "Bypass", "Asks for nothing: only in a place where nothing can be lost"),
];

/// How much the model may think, in tokens at most: the levels that the page has.
const LEVELS: [(&str, Option<u64>, &str); 5] = [
    ("default", None, "Default"),
    ("none", Some(0), "None"),
    ("some", Some(4_000), "Some"),
    ("more", Some(12_000), "More"),
    ("most", Some(31_999), "Most"),
];

/// A model to choose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Model {
    /// What it is called in a command.
    pub(crate) value: String,
    /// What it is called for people.
    pub(crate) name: String,
    /// What it is good for.
    pub(crate) description: String,
    /// What it is called when it is in effect, if that is something else.
    pub(crate) resolved: Option<String>,
    /// How much effort it can be told to make.
    pub(crate) efforts: Vec<String>,
}

/// Whether all permissions may be bypassed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bypass {
    /// It was allowed on this machine.
    Allowed,
    /// It was not.
    Forbidden,
}

/// What is chosen.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    mode: String,
    /// As it was chosen, or as it is in effect.
    model: String,
    models: Vec<Model>,
    thinking: Option<u64>,
    effort: Option<String>,
    bypass: Bypass,
}

impl Settings {
    pub(crate) fn new(mode: Option<String>, model: Option<String>, bypass: Bypass) -> Self {
        let mode = mode.unwrap_or_else(|| "default".to_owned());
        let model = model.unwrap_or_else(|| DEFAULT_MODEL.to_owned());
        Self { mode, model, models: Vec::new(), thinking: None, effort: None, bypass }
    }

    /// The modes, and the one in effect.
    pub(crate) fn modes(&self) -> SessionModeState {
        let mode =
            |(id, name, about): (&str, &str, &str)| SessionMode::new(id.to_owned(), name).description(about);
        SessionModeState::new(self.mode.clone(), self.known_modes().map(mode).collect())
    }

    /// All options, and what is chosen of each.
    pub(crate) fn options(&self) -> Vec<SessionConfigOption> {
        let option = |(id, name, about): (&str, &str, &str)| {
            SessionConfigSelectOption::new(id.to_owned(), name).description(about)
        };
        let permissions: Vec<_> = self.known_modes().map(option).collect();
        let permission = SessionConfigOption::select(MODE, "Mode", self.mode.clone(), permissions)
            .description("What is asked before it is done")
            .category(SessionConfigOptionCategory::Mode);
        let current = self.model();
        let mut models: Vec<_> = self
            .models
            .iter()
            .map(|model| {
                SessionConfigSelectOption::new(model.value.clone(), model.name.clone())
                    .description(model.description.clone())
            })
            .collect();
        if !self.models.iter().any(|model| model.value == current) {
            let name = if current == DEFAULT_MODEL { "Default" } else { &current };
            models.insert(0, SessionConfigSelectOption::new(current.clone(), name));
        }
        let model = SessionConfigOption::select(MODEL, "Model", current, models)
            .description("Who answers")
            .category(SessionConfigOptionCategory::Model);
        let level = |(id, _, name): &(&str, Option<u64>, &str)| {
            SessionConfigSelectOption::new((*id).to_owned(), *name)
        };
        let mut levels: Vec<_> = LEVELS.iter().map(level).collect();
        let thinks = LEVELS.iter().find(|(_, tokens, _)| *tokens == self.thinking);
        let thinks = match (thinks, self.thinking) {
            (None, Some(tokens)) => {
                levels.push(SessionConfigSelectOption::new(tokens.to_string(), format!("{tokens} tokens")));
                tokens.to_string()
            }
            (level, _) => level.map_or("default", |(id, ..)| id).to_owned(),
        };
        let thinking = SessionConfigOption::select(THINKING, "Thinking", thinks, levels)
            .description("How much it may think before it answers")
            .category(SessionConfigOptionCategory::ModelConfig);
        [Some(permission), Some(model), self.effort_option(), Some(thinking)].into_iter().flatten().collect()
    }

    /// How much effort the model makes, if it can be told.
    fn effort_option(&self) -> Option<SessionConfigOption> {
        let current = self.model();
        let offered = self.models.iter().find(|model| model.value == current).map(|model| &model.efforts);
        let mut levels: Vec<&str> = offered.into_iter().flatten().map(String::as_str).collect();
        let chosen = self.effort.as_deref().unwrap_or(DEFAULT_EFFORT);
        if levels.is_empty() && self.effort.is_none() {
            return None;
        }
        levels.insert(0, DEFAULT_EFFORT);
        if !levels.contains(&chosen) {
            // Another model has it.
            levels.push(chosen);
        }
        let option = |level: &&str| SessionConfigSelectOption::new((*level).to_owned(), named(level));
        let levels: Vec<_> = levels.iter().map(option).collect();
        let option = SessionConfigOption::select(EFFORT, "Effort", chosen.to_owned(), levels)
            .description("How much effort it makes")
            .category(SessionConfigOptionCategory::ThoughtLevel);
        Some(option)
    }

    /// So much effort is made.
    pub(crate) fn set_effort(&mut self, effort: Option<String>) -> Vec<SessionUpdate> {
        if self.effort == effort {
            return Vec::new();
        }
        self.effort = effort;
        vec![self.told()]
    }

    /// What a level of effort asks of the host; `None` if there is none of this name to choose.
    pub(crate) fn effort(&self, level: &str) -> Option<SetEffort> {
        if level == DEFAULT_EFFORT {
            return Some(SetEffort { effort: None });
        }
        let current = self.model();
        let model = self.models.iter().find(|model| model.value == current)?;
        let known = model.efforts.iter().any(|known| known == level);
        known.then(|| SetEffort { effort: Some(level.to_owned()) })
    }

    /// So much may be thought.
    pub(crate) fn set_thinking(&mut self, tokens: Option<u64>) -> Vec<SessionUpdate> {
        if std::mem::replace(&mut self.thinking, tokens) == tokens { Vec::new() } else { vec![self.told()] }
    }

    /// Whether there is such a mode to choose.
    pub(crate) fn has_mode(&self, mode: &str) -> bool {
        self.known_modes().any(|(id, ..)| id == mode)
    }

    /// This mode is in effect; what there is to be told about it.
    pub(crate) fn set_mode(&mut self, mode: &str) -> Vec<SessionUpdate> {
        if self.mode == mode {
            return Vec::new();
        }
        mode.clone_into(&mut self.mode);
        vec![SessionUpdate::CurrentModeUpdate(CurrentModeUpdate::new(mode.to_owned())), self.told()]
    }

    /// This model was chosen, or is in effect.
    pub(crate) fn set_model(&mut self, model: &str) -> Vec<SessionUpdate> {
        let before = self.model();
        model.clone_into(&mut self.model);
        if self.model() == before { Vec::new() } else { vec![self.told()] }
    }

    /// These are the models to choose from.
    pub(crate) fn set_models(&mut self, models: Vec<Model>) -> Vec<SessionUpdate> {
        if self.models == models {
            return Vec::new();
        }
        self.models = models;
        vec![self.told()]
    }

    /// What an event changes.
    pub(crate) fn see(&mut self, event: &Event) -> Vec<SessionUpdate> {
        match &event.body {
            Body::ModeChanged(changed) => self.set_mode(&changed.permission_mode),
            Body::ModelChanged(changed) => self.set_model(&changed.model),
            Body::SessionStatus(status) => {
                let mut updates = self.set_mode(&status.permission_mode);
                if !status.model.is_empty() && self.resolved() != status.model {
                    updates.extend(self.set_model(&status.model));
                }
                updates
            }
            _ => Vec::new(),
        }
    }

    /// The model as it stands in the list, if it does.
    fn model(&self) -> String {
        let by_value = self.models.iter().find(|model| model.value == self.model);
        let by_name = || self.models.iter().find(|model| model.resolved.as_deref() == Some(&self.model));
        by_value.or_else(by_name).map_or_else(|| self.model.clone(), |model| model.value.clone())
    }

    /// The name of the chosen model when it is in effect, if the list tells it.
    fn resolved(&self) -> &str {
        let chosen = self.models.iter().find(|model| model.value == self.model);
        chosen.and_then(|model| model.resolved.as_deref()).unwrap_or(&self.model)
    }

    fn told(&self) -> SessionUpdate {
        SessionUpdate::ConfigOptionUpdate(ConfigOptionUpdate::new(self.options()))
    }

    fn known_modes(&self) -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
        // One that is in effect is in the list, however it came to be.
        MODES.into_iter().filter(|(id, ..)| {
            *id != "bypassPermissions" || self.bypass == Bypass::Allowed || self.mode == *id
        })
    }
}

/// A level as people read it.
fn named(level: &str) -> String {
    let mut letters = level.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// What a level of thinking asks of the host, and how many tokens it is; `None` if there is no such level.
pub(crate) fn thinking(level: &str) -> Option<SetThinking> {
    let known = LEVELS.iter().find(|(id, ..)| *id == level).map(|(_, tokens, _)| *tokens);
    let max_thinking_tokens = known.or_else(|| level.parse().ok().map(Some))?;
    Some(SetThinking { max_thinking_tokens })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn model(value: &str, resolved: &str) -> Model {
        let (name, description) = (value.to_uppercase(), String::new());
        let efforts = if value == "x" { vec!["low".to_owned(), "high".to_owned()] } else { Vec::new() };
        Model { value: value.to_owned(), name, description, resolved: Some(resolved.to_owned()), efforts }
    }

    #[test]
    fn what_is_chosen_is_always_in_the_list() {
        let mut settings = Settings::new(None, None, Bypass::Forbidden);
        let check = |settings: &Settings| {
            let options = serde_json::to_value(settings.options()).unwrap();
            for option in options.as_array().unwrap() {
                let current = &option["currentValue"];
                let listed = option["options"].as_array().unwrap();
                assert_eq!(listed.iter().filter(|one| one["value"] == *current).count(), 1, "{option}");
            }
            let modes = serde_json::to_value(settings.modes()).unwrap();
            let current = &modes["currentModeId"];
            assert!(modes["availableModes"].as_array().unwrap().iter().any(|mode| mode["id"] == *current));
        };
        check(&settings);
        assert!(!settings.has_mode("bypassPermissions"));
        settings.set_model("claude-x-1");
        check(&settings);
        settings.set_models(vec![model("default", "claude-y-2"), model("x", "claude-x-1")]);
        check(&settings);
        assert_eq!(settings.model(), "x");
        settings.set_mode("bypassPermissions");
        check(&settings);
        for tokens in [Some(0), Some(4_000), Some(77), None] {
            settings.set_thinking(tokens);
            check(&settings);
        }
        for effort in ["high", "of another model"] {
            settings.set_effort(Some(effort.to_owned()));
            check(&settings);
        }
        let tokens = |level: &str| thinking(level).map(|set| set.max_thinking_tokens);
        assert_eq!((tokens("most"), tokens("?")), (Some(Some(31_999)), None));
    }

    #[test]
    fn effort_can_be_chosen_only_where_the_model_can_be_told() {
        let mut settings = Settings::new(None, Some("x".to_owned()), Bypass::Forbidden);
        assert!(settings.effort_option().is_none() && settings.effort("low").is_none());
        settings.set_models(vec![model("x", "claude-x-1"), model("y", "claude-y-1")]);
        let levels = |settings: &Settings| -> Vec<String> {
            let option = serde_json::to_value(settings.effort_option()).unwrap();
            let levels = option["options"].as_array().cloned().unwrap_or_default();
            levels.iter().map(|level| level["value"].as_str().unwrap().to_owned()).collect()
        };
        assert_eq!(levels(&settings), ["default", "low", "high"]);
        assert_eq!(settings.effort("high"), Some(SetEffort { effort: Some("high".to_owned()) }));
        assert_eq!(
            (settings.effort("default"), settings.effort("?")),
            (Some(SetEffort { effort: None }), None)
        );
        assert_eq!(settings.set_effort(Some("high".to_owned())).len(), 1);
        assert!(settings.set_effort(Some("high".to_owned())).is_empty());
        settings.set_effort(None);
        settings.set_model("y");
        assert!(levels(&settings).is_empty());
    }

    #[test]
    fn what_has_not_changed_is_not_told() {
        let mut settings = Settings::new(Some("plan".to_owned()), None, Bypass::Forbidden);
        assert!(settings.set_mode("plan").is_empty());
        assert_eq!(settings.set_mode("default").len(), 2);
        settings.set_models(vec![model("default", "claude-y-2")]);
        assert!(settings.set_model("claude-y-2").is_empty());
    }
}

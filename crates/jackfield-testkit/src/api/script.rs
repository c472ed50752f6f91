//! Which reply a request gets.
//!
//! Not the reply's bytes. The one rule it keeps: requests that the CLI makes on the side never consume a
//! reply that was written for the conversation.
//!
//! A request belongs to the conversation when it offers tools: the main loop, subagents and `/compact` all
//! do. Titles, side questions and the like offer none and get [`ASIDE`] unless the next reply says `aux`
//! `[control/all_subtypes_valid]`.

use serde_json::Value;

use super::scenario::{Reply, Scenario};

/// What a request on the side is answered when the scenario has nothing for it.
pub const ASIDE: &str = "aside";

/// The replies of a scenario and how often each was used.
#[derive(Debug)]
pub(super) struct Script {
    replies: Vec<Reply>,
    used: Vec<usize>,
}

/// A reply chosen for a request.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Choice {
    /// The place of the reply in the scenario, from 0.
    pub(super) index: usize,
    /// How often it was used before.
    pub(super) repetition: usize,
    pub(super) reply: Reply,
}

/// Why the CLI asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// The conversation: the main loop, a subagent, a compaction.
    Conversation,
    /// Something beside it, such as a title.
    Aside,
    /// A token count, or anything that is not a message.
    Other,
}

impl Purpose {
    /// The purpose of a message request, by its body.
    pub(super) fn of(body: &Value) -> Self {
        let offers_tools = body["tools"].as_array().is_some_and(|tools| !tools.is_empty());
        if offers_tools { Self::Conversation } else { Self::Aside }
    }
}

impl Script {
    pub(super) fn new(scenario: Scenario) -> Self {
        let used = vec![0; scenario.turns.len()];
        Self { replies: scenario.turns, used }
    }

    /// Takes the reply for a request; `None` when the scenario has none left for it.
    pub(super) fn take(&mut self, body: &Value) -> Option<Choice> {
        let conversation = body["messages"].to_string();
        // Behind it there may be words of the CLI's own, in the role of the system.
        let mut messages = body["messages"].as_array().into_iter().flatten().rev();
        let last = messages.find(|message| message["role"] == "user");
        let last = last.map_or_else(String::new, Value::to_string);
        let purpose = Purpose::of(body);
        let mut open = (0..self.replies.len()).filter(|&index| !self.is_used_up(index));
        let index = match purpose {
            Purpose::Conversation => open.find(|&index| self.replies[index].fits(&conversation, &last)),
            _ => open.next().filter(|&index| self.replies[index].aux),
        }?;
        let repetition = self.used[index];
        self.used[index] += 1;
        Some(Choice { index, repetition, reply: self.replies[index].clone() })
    }

    /// The replies that no request consumed, by their place in the scenario.
    pub(super) fn unused(&self) -> Vec<usize> {
        (0..self.replies.len()).filter(|&index| self.used[index] == 0).collect()
    }

    fn is_used_up(&self, index: usize) -> bool {
        self.replies[index].repeat.unwrap_or(1) <= self.used[index]
    }
}

impl Reply {
    fn fits(&self, conversation: &str, last: &str) -> bool {
        self.match_last.as_ref().is_none_or(|text| last.contains(text.as_str()))
            && self.matching.as_ref().is_none_or(|text| conversation.contains(text.as_str()))
            && self.not_match.as_ref().is_none_or(|text| !conversation.contains(text.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn script(replies: Vec<Reply>) -> Script {
        Script::new(Scenario { turns: replies })
    }

    fn conversation(text: &str) -> Value {
        json!({"tools": [{"name": "Bash"}], "messages": [{"role": "user", "content": text}]})
    }

    fn index(choice: Option<Choice>) -> Option<usize> {
        choice.map(|choice| choice.index)
    }

    #[test]
    fn replies_are_taken_in_order_and_run_out() {
        let mut script = script(vec![Reply::text("a"), Reply { repeat: Some(2), ..Reply::text("b") }]);
        assert_eq!(script.unused(), [0, 1]);
        let taken: Vec<_> = (0..4).map(|_| index(script.take(&conversation("x")))).collect();
        assert_eq!(taken, [Some(0), Some(1), Some(1), None]);
        assert!(script.unused().is_empty());
    }

    #[test]
    fn a_request_without_tools_leaves_the_conversation_alone() {
        let mut script = script(vec![Reply::text("a"), Reply { aux: true, ..Reply::text("b") }]);
        let aside = json!({"messages": [{"role": "user", "content": "title"}]});
        assert_eq!(index(script.take(&aside)), None);
        assert_eq!(index(script.take(&conversation("x"))), Some(0));
        assert_eq!(index(script.take(&aside)), Some(1));
    }

    #[test]
    fn a_reply_to_the_last_message_does_not_see_those_before() {
        let to_last = Reply { match_last: Some("NOW".into()), repeat: Some(9), ..Reply::text("now") };
        let mut script = script(vec![to_last, Reply { repeat: Some(9), ..Reply::text("else") }]);
        let said = |texts: [&str; 2]| {
            let said = |text| json!({"role": "user", "content": text});
            json!({"tools": [{"name": "Bash"}], "messages": texts.map(said)})
        };
        assert_eq!(index(script.take(&said(["x", "NOW"]))), Some(0));
        assert_eq!(index(script.take(&said(["NOW", "x"]))), Some(1));
        let mut followed = said(["x", "NOW"]);
        if let Some(messages) = followed["messages"].as_array_mut() {
            messages.push(json!({"role": "system", "content": "a reminder"}));
        }
        assert_eq!(index(script.take(&followed)), Some(0));
    }

    #[test]
    fn a_matching_reply_waits_for_its_request() {
        let only_subagent = Reply { matching: Some("SUBPROMPT".into()), ..Reply::text("sub") };
        let mut script = script(vec![only_subagent, Reply::text("main")]);
        assert_eq!(index(script.take(&conversation("main"))), Some(1));
        assert_eq!(index(script.take(&conversation("SUBPROMPT go"))), Some(0));
    }
}

//! Whether a call may run, and whom to ask.
//!
//! The one rule: no answer is never "yes".

use jackfield_wire::{
    ElicitationAction, HostAnswer, HostOutcome, PermissionAnswer, PermissionUpdate, RuleBehavior,
};
use serde_json::{Value, json};

use super::agent::{Agent, Pending, Stop};
use super::step::{Call, Needs, Step};
use super::subagent::Subagent;

/// Whether a call may run.
pub(super) enum Verdict {
    /// With this input.
    Run(Value),
    /// Why not.
    Refuse(String),
}

/// What is to be done about a call.
#[derive(Debug, PartialEq, Eq)]
enum Rule {
    Run,
    Ask,
    Refuse,
}

impl Agent {
    pub(super) async fn may(
        &mut self,
        id: &str,
        call: &Call,
        agent: Option<&Subagent>,
    ) -> Result<Verdict, Stop> {
        match rule(&self.mode, call.needs) {
            Rule::Run => Ok(Verdict::Run(call.input.clone())),
            _ if self.allowed.contains(call.tool) => Ok(Verdict::Run(call.input.clone())),
            Rule::Ask if self.arguments.prompts => self.ask_about(id, call, agent).await,
            Rule::Ask | Rule::Refuse => {
                let message = format!("{} is not allowed in the permission mode {}.", call.tool, self.mode);
                let denied = json!({
                    "tool_name": call.tool, "tool_use_id": id, "decision_reason_type": "mode",
                    "message": message,
                });
                self.out.system("permission_denied", &denied);
                Ok(Verdict::Refuse(message))
            }
        }
    }

    async fn ask_about(&mut self, id: &str, call: &Call, agent: Option<&Subagent>) -> Result<Verdict, Stop> {
        let mut request = json!({
            "subtype": "can_use_tool", "tool_name": call.tool, "display_name": call.tool,
            "input": call.input, "tool_use_id": id,
        });
        if call.needs == Needs::Person {
            request["requires_user_interaction"] = true.into();
        } else {
            request["permission_suggestions"] = suggestions(call);
        }
        if call.tool == "ExitPlanMode" {
            // The plan is in the call (2.1.325/exit_plan).
            request["input"] = json!({});
        }
        if let Some(words) = call.input.get("description").or_else(|| call.input.get("url")) {
            request["description"] = words.clone();
        }
        if let Some(agent) = agent {
            request["agent_id"] = agent.id.as_str().into();
        }
        Ok(match self.ask(request).await? {
            Some(HostOutcome::Success(HostAnswer::Permission(PermissionAnswer::Allow(allow)))) => {
                for update in allow.updated_permissions.iter().flatten() {
                    self.remember_rule(update);
                }
                let changed: Value = serde_json::from_str(allow.updated_input.get()).unwrap_or_default();
                // Nothing means: as it was asked [permission/bash_allow_empty_updatedinput].
                let unchanged = changed.as_object().is_none_or(serde_json::Map::is_empty);
                Verdict::Run(if unchanged { call.input.clone() } else { changed })
            }
            Some(HostOutcome::Success(HostAnswer::Permission(PermissionAnswer::Deny(deny)))) => {
                if deny.interrupt == Some(true) {
                    // The message is lost [permission/bash_deny_interrupt].
                    return Err(Stop::Interrupted);
                }
                Verdict::Refuse(deny.message().to_owned())
            }
            Some(HostOutcome::Error { error }) => {
                Verdict::Refuse(format!("Tool permission request failed: {error}"))
            }
            Some(HostOutcome::Success(_)) => Verdict::Refuse("Tool permission request failed".to_owned()),
            // [permission/eof_with_pending_request]
            None => Verdict::Refuse("Tool permission stream closed before response received".to_owned()),
        })
    }

    /// A server of tools asks the person for something.
    pub(super) async fn fill_in(
        &mut self,
        mut form: Value,
        then: fn(Option<&Value>) -> Vec<Step>,
    ) -> Result<Vec<Step>, Stop> {
        form["subtype"] = "elicitation".into();
        let answer = if self.arguments.prompts { self.ask(form).await? } else { None };
        let content = match answer {
            Some(HostOutcome::Success(HostAnswer::Elicitation(answer)))
                if answer.action == ElicitationAction::Accept =>
            {
                let content =
                    answer.content.as_ref().and_then(|object| serde_json::from_str(object.get()).ok());
                Some(content.unwrap_or(Value::Null))
            }
            _ => None,
        };
        Ok(then(content.as_ref()))
    }

    /// Asks the host, and listens until it answers; `None` when it no longer can.
    async fn ask(&mut self, request: Value) -> Result<Option<HostOutcome>, Stop> {
        let request_id = self.out.uuid();
        self.tell_state("requires_action");
        self.out.control("control_request", &json!({ "request_id": request_id, "request": request }));
        self.pending = Some(Pending { request_id: request_id.into(), answer: None });
        let answer = loop {
            match &mut self.pending {
                Some(Pending { answer, .. }) if answer.is_some() => break answer.take(),
                Some(_) if !self.input_over => self.listen(None).await?,
                _ => break None,
            }
        };
        self.pending = None;
        self.tell_state("running");
        Ok(answer)
    }

    fn remember_rule(&mut self, update: &PermissionUpdate) {
        match update {
            PermissionUpdate::SetMode(update) => {
                let mode = update.mode.as_str();
                // [permission/updated_permissions_setmode_bypass]
                if mode != "bypassPermissions" || self.arguments.bypass_allowed {
                    self.set_mode(mode);
                }
            }
            PermissionUpdate::AddRules(update) if update.behavior == RuleBehavior::Allow => {
                self.allowed.extend(update.rules.iter().map(|rule| rule.tool_name.clone()));
            }
            _ => {}
        }
    }
}

fn rule(mode: &str, needs: Needs) -> Rule {
    match (needs, mode) {
        (Needs::Nothing, _)
        | (Needs::Edit, "acceptEdits")
        | (Needs::Edit | Needs::Allowance, "bypassPermissions" | "auto") => Rule::Run,
        (Needs::Edit, "plan") | (_, "dontAsk") => Rule::Refuse,
        _ => Rule::Ask,
    }
}

/// What the host may offer to remember.
fn suggestions(call: &Call) -> Value {
    if call.needs == Needs::Edit {
        return json!([{ "type": "setMode", "mode": "acceptEdits", "destination": "session" }]);
    }
    let mut rule = json!({ "toolName": call.tool });
    let words = call.input["command"].as_str().and_then(|command| command.split(' ').next());
    let host = call.input["url"].as_str().and_then(|url| url.split('/').nth(2));
    if let Some(word) = words {
        rule["ruleContent"] = format!("{word} *").into();
    } else if let Some(host) = host {
        rule["ruleContent"] = format!("domain:{host}").into();
    }
    json!([{ "type": "addRules", "rules": [rule], "behavior": "allow", "destination": "session" }])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_decide_what_is_asked() {
        let rules =
            |mode| [Needs::Nothing, Needs::Edit, Needs::Allowance, Needs::Person].map(|it| rule(mode, it));
        assert_eq!(rules("default"), [Rule::Run, Rule::Ask, Rule::Ask, Rule::Ask]);
        assert_eq!(rules("acceptEdits"), [Rule::Run, Rule::Run, Rule::Ask, Rule::Ask]);
        assert_eq!(rules("plan"), [Rule::Run, Rule::Refuse, Rule::Ask, Rule::Ask]);
        assert_eq!(rules("dontAsk"), [Rule::Run, Rule::Refuse, Rule::Refuse, Rule::Refuse]);
        assert_eq!(rules("bypassPermissions"), [Rule::Run, Rule::Run, Rule::Run, Rule::Ask]);
        assert_eq!(rules("nonsense"), [Rule::Run, Rule::Ask, Rule::Ask, Rule::Ask]);
    }
}

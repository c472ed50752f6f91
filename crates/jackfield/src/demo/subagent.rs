//! A subagent: a thread of its own below a call.
//!
//! The one rule: nothing of it comes in pieces, and its words come only where the host wants them
//! [tools/subagent_partial_default].

use serde_json::{Value, json};
use tokio::time::Instant;

use super::agent::{Agent, Stop};
use super::pace;
use super::step::{Reply, Step};

/// A subagent at work.
#[derive(Debug)]
pub(super) struct Subagent {
    /// Its own id.
    pub(super) id: String,
    /// The call that it works for.
    pub(super) call: String,
    kind: String,
    description: String,
    uses: std::cell::Cell<u64>,
    began: Instant,
}

impl Subagent {
    /// Says on a line whose it is.
    pub(super) fn sign(&self, line: &mut Value) {
        line["agent_id"] = self.id.as_str().into();
        line["subagent_type"] = self.kind.as_str().into();
        line["task_description"] = self.description.as_str().into();
    }

    fn usage(&self) -> Value {
        let uses = self.uses.get();
        let milliseconds = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        json!({ "total_tokens": 2_400 + 850 * uses, "tool_uses": uses, "duration_ms": milliseconds })
    }
}

impl Agent {
    pub(super) async fn delegate(
        &mut self,
        call: &str,
        input: &Value,
        steps: Vec<Step>,
        report: &str,
    ) -> Result<Reply, Stop> {
        let text = |name: &str| input[name].as_str().unwrap_or_default().to_owned();
        let agent = Subagent {
            id: self.out.id("a"),
            call: call.to_owned(),
            kind: text("subagent_type"),
            description: text("description"),
            uses: std::cell::Cell::new(0),
            began: Instant::now(),
        };
        if let Some(open) = self.turn.open.iter_mut().find(|open| open.id == call) {
            open.task = Some((agent.id.clone(), agent.description.clone()));
        }
        let started = json!({
            "task_id": agent.id, "tool_use_id": call, "description": agent.description,
            "subagent_type": agent.kind, "is_backgrounded": false, "spawn_depth": 1,
            "task_type": "local_agent", "prompt": input["prompt"],
        });
        self.out.system("task_started", &started);
        let prompt = json!({ "role": "user", "content": [{ "type": "text", "text": input["prompt"] }] });
        let mut line = json!({ "message": prompt, "parent_tool_use_id": call });
        agent.sign(&mut line);
        self.out.line("user", &line);

        for step in steps {
            self.step_of(&agent, step).await?;
        }

        let updated = json!({ "task_id": agent.id, "patch": { "status": "completed" } });
        self.out.system("task_updated", &updated);
        let ended = json!({
            "task_id": agent.id, "tool_use_id": call, "status": "completed", "output_file": "",
            "summary": report, "usage": agent.usage(),
        });
        self.out.system("task_notification", &ended);
        let content = json!([{ "type": "text", "text": report }]);
        let structured = json!({
            "status": "completed", "prompt": input["prompt"], "agentId": agent.id, "agentType": agent.kind,
            "content": content, "totalToolUseCount": agent.uses.get(),
        });
        Ok(Reply::new(content, structured))
    }

    /// What it does just now.
    pub(super) fn tell_progress(&mut self, agent: &Subagent, tool: &str, input: &Value) {
        agent.uses.set(agent.uses.get() + 1);
        let about = ["description", "pattern", "file_path"].iter().find_map(|name| input[*name].as_str());
        let progress = json!({
            "task_id": agent.id, "tool_use_id": agent.call,
            "description": format!("{tool}: {}", about.unwrap_or_default()), "subagent_type": agent.kind,
            "usage": agent.usage(), "last_tool_name": tool,
        });
        self.out.system("task_progress", &progress);
    }

    async fn step_of(&mut self, agent: &Subagent, step: Step) -> Result<(), Stop> {
        match step {
            Step::Say(text) => {
                self.pause(pace::SPEAKING * 20).await?;
                if self.arguments.subagent_text {
                    self.tell_block_of(agent, &json!({ "type": "text", "text": text }));
                }
            }
            Step::Think(text) => {
                self.pause(pace::THINKING * 20).await?;
                if self.arguments.subagent_text {
                    let block = json!({ "type": "thinking", "thinking": text, "signature": "" });
                    self.tell_block_of(agent, &block);
                }
            }
            // A subagent may have subagents.
            Step::Call(call) => {
                let follow = Box::pin(self.call(*call, Some(agent))).await?;
                for step in follow {
                    Box::pin(self.step_of(agent, step)).await?;
                }
            }
            Step::Wait(time) => self.pause(time).await?,
            // Not for subagents.
            _ => {}
        }
        Ok(())
    }
}

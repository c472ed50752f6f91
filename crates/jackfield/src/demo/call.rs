//! A tool call, from its input to its result.
//!
//! The one rule: a call that was written gets exactly one result, whoever says no to it.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use super::agent::{Agent, Stop, Task};
use super::question::Verdict;
use super::step::{Call, Outcome, Reply, Step, Work};
use super::subagent::Subagent;
use super::turn::Open;

impl Agent {
    /// Calls a tool, on the main thread or in a subagent, and gives what follows.
    pub(super) async fn call(&mut self, call: Call, agent: Option<&Subagent>) -> Result<Vec<Step>, Stop> {
        let id = self.out.id("toolu_");
        match agent {
            None => self.write_call(&id, call.tool, &call.input).await?,
            Some(agent) => {
                self.tell_progress(agent, call.tool, &call.input);
                let block = json!({ "type": "tool_use", "id": id, "name": call.tool, "input": call.input });
                self.tell_block_of(agent, &block);
            }
        }
        self.turn.open.push(Open { id: id.clone(), task: None });
        let input = match self.may(&id, &call, agent).await? {
            Verdict::Run(input) => input,
            Verdict::Refuse(message) => {
                self.turn.denials.push(json!({
                    "tool_name": call.tool, "tool_use_id": id, "tool_input": call.input,
                }));
                self.finish(&id, &Reply::failure(&message), agent);
                return Ok((call.then)(&Outcome::Denied(message)));
            }
        };
        let reply = self.work(&id, call.tool, &input, call.work, call.takes).await?;
        self.finish(&id, &reply, agent);
        Ok((call.then)(&Outcome::Done(input)))
    }

    async fn work(
        &mut self,
        id: &str,
        tool: &str,
        input: &Value,
        work: Work,
        takes: Duration,
    ) -> Result<Reply, Stop> {
        if !matches!(work, Work::Delegate { .. } | Work::Background { .. }) {
            self.pause(takes).await?;
        }
        Ok(match work {
            Work::Reply(reply) => reply,
            Work::File => self.files.work(tool, input),
            Work::Answers => answered(input),
            Work::EnterPlan => {
                self.set_mode("plan");
                Reply::new("Entered plan mode.", json!({ "message": "Entered plan mode." }))
            }
            Work::ExitPlan => {
                // The person may have chosen another mode with the answer [permission/exit_plan_allow_setmode].
                if self.mode == "plan" {
                    self.set_mode("default");
                }
                let structured = json!({ "plan": null, "isAgent": false, "filePath": "" });
                Reply::new("User has approved exiting plan mode. You can now proceed.", structured)
            }
            Work::Delegate { steps, report } => self.delegate(id, input, steps, report).await?,
            Work::Background { takes, then } => self.begin_task(id, input, takes, then),
        })
    }

    fn finish(&mut self, id: &str, reply: &Reply, agent: Option<&Subagent>) {
        self.turn.open.retain(|open| open.id != id);
        match agent {
            None => {
                self.meter.heard(&reply.content.to_string());
                self.tell_result_of(id, &reply.content, &reply.structured, reply.failed);
            }
            Some(agent) => {
                // Inside a subagent there is only the text [tools/subagent].
                let mut line = tool_result(id, &reply.content, reply.failed);
                line["parent_tool_use_id"] = agent.call.as_str().into();
                agent.sign(&mut line);
                self.out.line("user", &line);
            }
        }
    }

    pub(super) fn tell_result_of(&mut self, id: &str, content: &Value, structured: &Value, failed: bool) {
        let mut line = tool_result(id, content, failed);
        if !structured.is_null() {
            line["tool_use_result"] = structured.clone();
        }
        self.out.line("user", &line);
    }

    pub(super) fn set_mode(&mut self, mode: &str) {
        mode.clone_into(&mut self.mode);
        self.out.system("status", &json!({ "status": null, "permissionMode": mode }));
    }

    /// [2.1.325/background_bash]
    fn begin_task(&mut self, call: &str, input: &Value, takes: Duration, then: fn() -> Vec<Step>) -> Reply {
        let id = self.out.id("b");
        let description = input["description"].as_str().unwrap_or_default().to_owned();
        let due = Instant::now() + self.pace.of(takes);
        self.tasks.push(Task { id: id.clone(), call: call.to_owned(), description, due, then });
        self.tell_tasks();
        let started = json!({
            "task_id": id, "tool_use_id": call, "description": input["description"],
            "is_backgrounded": true, "task_type": "local_bash",
        });
        self.out.system("task_started", &started);
        let mut reply = Reply::printed("");
        reply.structured["backgroundTaskId"] = id.as_str().into();
        reply.content =
            format!("Command running in background with ID: {id}. You will be notified when it completes.")
                .into();
        reply
    }

    /// What runs in the background.
    pub(super) fn tell_tasks(&mut self) {
        let tasks: Vec<Value> = self
            .tasks
            .iter()
            .map(|task| {
                json!({ "task_id": task.id, "task_type": "local_bash", "description": task.description })
            })
            .collect();
        self.out.system("background_tasks_changed", &json!({ "tasks": tasks }));
    }

    /// A task in the background ended: its status in the two lines that tell it.
    pub(super) fn tell_task_end(&mut self, task: &Task, statuses: [&str; 2], summary: &str) {
        self.tell_end_of(&task.id, &task.call, statuses, summary);
    }

    pub(super) fn tell_end_of(&mut self, task: &str, call: &str, statuses: [&str; 2], summary: &str) {
        let [updated, notified] = statuses;
        self.out.system("task_updated", &json!({ "task_id": task, "patch": { "status": updated } }));
        let ended = json!({
            "task_id": task, "tool_use_id": call, "status": notified, "output_file": "", "summary": summary,
        });
        self.out.system("task_notification", &ended);
    }
}

fn tool_result(id: &str, content: &Value, failed: bool) -> Value {
    let block = json!({ "type": "tool_result", "tool_use_id": id, "content": content, "is_error": failed });
    json!({ "message": { "role": "user", "content": [block] }, "parent_tool_use_id": null })
}

/// [permission/ask_user_question_answers]
fn answered(input: &Value) -> Reply {
    let answers = input["answers"].as_object().filter(|answers| !answers.is_empty());
    let content = match answers {
        None => "The user did not answer the questions.".to_owned(),
        Some(answers) => {
            let told: Vec<String> =
                answers.iter().map(|(question, answer)| format!("\"{question}\"={answer}")).collect();
            let told = told.join(", ");
            format!(
                "Your questions have been answered: {told}. You can now continue with these answers in mind."
            )
        }
    };
    Reply::new(content, json!({ "questions": input["questions"], "answers": input["answers"] }))
}

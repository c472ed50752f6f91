//! The end of a turn.
//!
//! `is_error` decides whether it failed, not the subtype: a failed API request is a `success` with
//! `is_error` [errors/http_403]. Cost and API time are cumulative over the process and become this turn's.

use jackfield_api as api;
use jackfield_wire as wire;

use api::conversation::ItemOutcome;
use api::usage::{Complete, PermissionDenial, TurnFigures};
use wire::{ResultMessage, ResultSubtype};

use crate::gauge::Spent;
use crate::run::Phase;
use crate::session::Session;
use crate::words;

impl Session {
    pub(crate) fn on_result(&mut self, line: &ResultMessage) {
        if let Some(id) = &line.session_id {
            self.saw_cli_session(id.as_str());
        }
        self.in_turn();
        let named: Vec<&str> = line.user_message_uuids.iter().map(wire::Uuid::as_str).collect();
        let taken = self.prompts.bound(&named);
        self.enter(taken);
        let Some(run) = &mut self.run else { return };

        let turn = match std::mem::replace(&mut run.phase, Phase::Idle) {
            Phase::Running(turn) | Phase::Interrupting { turn, .. } => Some(turn),
            Phase::Starting | Phase::Idle => None,
        };
        run.main.abandon(ItemOutcome::Aborted, &mut self.calls, &mut self.out);
        let tasks = &run.tasks;
        self.calls.end_turn(|parent| tasks.runs_for(parent), &mut self.out);
        if std::mem::take(&mut run.compacting) {
            self.out.event(words::compaction_lost("the turn ended"));
        }
        self.context.learn(&line.model_usage, &mut self.out);

        let failed = line.is_error || line.subtype != ResultSubtype::Success;
        let said = line.result.as_deref().unwrap_or_default();
        if !failed && turn.as_ref().is_some_and(|turn| !turn.spoke) {
            run.main.say(said, &mut self.out);
        }

        let pending = self.uuids.pending.take();
        if !failed && pending.is_some() {
            self.uuids.safe = pending;
        }
        let total = Spent::new(line.total_cost_usd, line.duration_api_ms, &line.model_usage);
        let spent = run.meter.step(total);
        let usage = line.usage.clone().unwrap_or_default();
        self.out.event(Complete {
            data: TurnFigures {
                cost_usd: spent.cost_usd,
                total_cost_usd: line.total_cost_usd,
                duration_ms: line.duration_ms,
                duration_api_ms: spent.api_ms,
                num_turns: line.num_turns,
                input_tokens: usage.input_tokens,
                output_tokens: usage.output_tokens,
                cache_read_tokens: usage.cache_read_input_tokens,
                cache_creation_tokens: usage.cache_creation_input_tokens,
                last_message_uuid: self.uuids.safe.clone(),
                terminal_reason: line.terminal_reason.as_ref().map(|reason| reason.as_str().to_owned()),
                permission_denials: line.permission_denials.iter().map(denial).collect(),
                structured_output: line.structured_output.as_ref().map(words::json),
                models: spent.models,
            },
        });
        run.told_failure = failed;
        if run.ending.waits_for_the_turn() {
            // What was interrupted for the sake of the end has stopped.
            self.out.close_stdin();
        }
        if failed {
            self.out.event(words::turn_failure(line, turn.as_ref().and_then(|turn| turn.error.as_deref())));
        }
    }
}

fn denial(denied: &wire::PermissionDenial) -> PermissionDenial {
    PermissionDenial {
        tool_name: denied.tool_name.clone(),
        tool_call_id: denied.tool_use_id.as_ref().map_or("", wire::ToolUseId::as_str).into(),
        input: denied.tool_input.as_ref().map(words::json).unwrap_or_default(),
    }
}

//! Assistant and user lines: the conversation, block by block.
//!
//! An assistant line is one finished block, which partial messages may have told already. A user line is
//! a tool's result, the echo of a prompt, or words that the CLI puts into the user's mouth.

use jackfield_api as api;
use jackfield_wire as wire;

use api::ToolCallId;
use api::conversation::{ItemOutcome, UserMessage};
use api::permission::PermissionOutcome;
use api::trouble::{NoticeLevel, Unknown};
use wire::{Assistant, Block, Content, ToolProgress, User};

use crate::input::InputSeen;
use crate::session::Session;
use crate::stream::Voice;
use crate::tools::ToolResult;
use crate::words;

impl Session {
    pub(crate) fn on_assistant(&mut self, line: &Assistant) {
        if let Some(id) = &line.session_id {
            self.saw_cli_session(id.as_str());
        }
        if let Some(uuid) = line.uuid.as_ref().filter(|uuid| self.uuids.is_repeated(uuid)) {
            let twice = format!("the message {} came twice", uuid.as_str());
            self.out.event(words::notice(NoticeLevel::Warning, &twice));
            return;
        }
        let parent = line.parent_tool_use_id.as_ref().map(|id| ToolCallId::from(id.as_str()));
        self.in_turn_of(parent.as_ref());
        self.bind(&line.user_message_uuids);
        let (message, synthetic) = (line.message.id.as_str(), line.is_synthetic());
        if parent.is_none() {
            if let Some(uuid) = &line.uuid {
                self.uuids.pending = Some(uuid.as_str().into());
            }
            if let (Some(usage), false) = (&line.message.usage, synthetic) {
                self.context.count(message, usage, &mut self.out);
            }
        }
        let Some(run) = &mut self.run else { return };
        if parent.is_none()
            && let Some(turn) = run.turn_mut()
        {
            if let Some(error) = &line.error {
                turn.error = Some(error.as_str().to_owned());
            }
            turn.spoke |= line.message.content.iter().any(|block| matches!(block, Block::Text(_)));
        }
        // Words of the CLI itself end nothing anew; a message of the model does [errors/midstream_drop].
        let outcome = if synthetic { ItemOutcome::Aborted } else { ItemOutcome::Replaced };
        run.stream(parent.as_ref().map(ToolCallId::as_str)).leave(
            message,
            outcome,
            &mut self.calls,
            &mut self.out,
        );
        for block in &line.message.content {
            self.on_block(message, parent.as_ref(), block);
        }
    }

    fn on_block(&mut self, message: &str, parent: Option<&ToolCallId>, block: &Block) {
        let Some(run) = &mut self.run else { return };
        let stream = run.stream(parent.map(ToolCallId::as_str));
        match block {
            Block::Text(block) => stream.confirm_prose(message, Voice::Text, &block.text, &mut self.out),
            Block::Thinking(block) => {
                stream.confirm_prose(message, Voice::Thinking, &block.thinking, &mut self.out);
            }
            Block::ToolUse(block) | Block::ServerToolUse(block) => {
                stream.confirm_tool(message, block.id.as_str());
                let input = words::json(&block.input);
                self.calls.call(block.id.as_str().into(), &block.name, input, parent.cloned(), &mut self.out);
            }
            Block::ToolResult(block) => self.on_tool_result(block, None, failed(block)),
            Block::ServerToolResult(block) => {
                self.on_tool_result(
                    block,
                    None,
                    failed(block) || words::is_server_error(block.content.as_ref()),
                );
            }
            // It has no words.
            Block::RedactedThinking(_) => {}
            Block::Image(_) | Block::Document(_) => {
                self.out.event_in(
                    parent,
                    words::notice(NoticeLevel::Info, "the model sent a picture or document"),
                );
            }
            Block::Unknown { tag, raw } | Block::Malformed { tag, raw, .. } => {
                let unknown = Unknown { tag: format!("assistant/{tag}"), text: raw.get().to_owned() };
                self.out.event_in(parent, unknown);
            }
        }
    }

    pub(crate) fn on_user(&mut self, line: &User) {
        if let Some(id) = &line.session_id {
            self.saw_cli_session(id.as_str());
        }
        let parent = line.parent_tool_use_id.as_ref().map(|id| ToolCallId::from(id.as_str()));
        if parent.is_none()
            && let Some(uuid) = &line.uuid
        {
            self.uuids.safe = Some(uuid.as_str().into());
        }
        if line.is_replay {
            self.on_replay(line);
            return;
        }
        let text = line.message.content.text();
        if let Content::Blocks(blocks) = &line.message.content {
            for block in blocks {
                match block {
                    Block::ToolResult(result) => {
                        self.in_turn_of(parent.as_ref());
                        self.on_tool_result(result, line.tool_use_result.as_ref(), failed(result));
                    }
                    Block::Unknown { tag, raw } | Block::Malformed { tag, raw, .. } => {
                        let unknown = Unknown { tag: format!("user/{tag}"), text: raw.get().to_owned() };
                        self.out.event_in(parent.as_ref(), unknown);
                    }
                    _ => {}
                }
            }
        }
        if text.is_empty() {
            for attachment in words::attachments(&line.message.content) {
                let notice = words::notice(NoticeLevel::Info, format!("the CLI added a {}", attachment.kind));
                self.out.event_in(parent.as_ref(), notice);
            }
            return;
        }
        if let Some(output) = words::command_output(&text) {
            self.on_command_output(output);
        } else if parent.is_some() {
            // What a subagent was told.
            self.out.event_in(parent.as_ref(), user_message(line, text));
        } else {
            // The CLI's own words in the user's mouth: an interrupt, a hook's feedback, a summary.
            self.out.event(words::notice(NoticeLevel::Info, text));
        }
    }

    /// The CLI repeats what it was told, once it takes it.
    fn on_replay(&mut self, line: &User) {
        let text = words::joined(&line.message.content);
        if let Some(output) = words::command_output(&text) {
            self.on_command_output(output);
            return;
        }
        let before = self.out.next_seq();
        self.prompts.replayed(line.uuid.as_ref().map(wire::Uuid::as_str), &text);
        self.enter_started();
        if self.out.next_seq() != before {
            return;
        }
        let told = line.uuid.as_ref().is_some_and(|uuid| self.prompts.is_known(uuid.as_str()));
        let output_only = self.run.as_ref().is_some_and(|run| run.launch.input_seen == InputSeen::OutputOnly);
        if output_only {
            let text = words::command_echo(&text).unwrap_or(text);
            self.out.event(user_message(line, text));
        } else if words::command_echo(&text).is_some() {
            // The prompt of a custom command in other words [slash/custom].
        } else if !told && words::is_tagged(&text) {
            // `<bash-input>` and the like [basic/bash_command_type].
            self.out.event(words::notice(NoticeLevel::Info, text));
        }
    }

    /// What a slash command printed. Within a turn it is an answer; otherwise somebody changed a setting.
    fn on_command_output(&mut self, output: &str) {
        let Some(run) = &mut self.run else { return };
        // Where only the output is seen, a turn that has said nothing else is a command's.
        let output_only = run.launch.input_seen == InputSeen::OutputOnly;
        match run.turn_mut() {
            Some(turn)
                if (output_only && !turn.spoke) || turn.trigger == api::conversation::Trigger::Command =>
            {
                turn.spoke = true;
                run.main.say(output, &mut self.out);
            }
            _ => self.out.event(words::notice(NoticeLevel::Info, output)),
        }
    }

    fn on_tool_result(
        &mut self,
        block: &wire::ToolResultBlock,
        structured: Option<&wire::Raw>,
        is_error: bool,
    ) {
        let id = ToolCallId::from(block.tool_use_id.as_str());
        if let Some(run) = &mut self.run {
            let outcome = if is_error { PermissionOutcome::Lost } else { PermissionOutcome::Allowed };
            run.questions.tool_ended(&id, outcome, &mut self.out);
        }
        let content = block.content.as_ref().map(wire::Raw::get);
        let result = ToolResult { content, structured: structured.map(wire::Raw::get), is_error };
        let output = block.content.as_ref().map(words::json);
        self.calls.finish(&id, &result, output, &mut self.out);
    }

    pub(crate) fn on_tool_progress(&mut self, line: &ToolProgress) {
        let id = ToolCallId::from(line.tool_use_id.as_str());
        self.calls.progress(&id, format!("running for {} s", line.elapsed_time_seconds), &mut self.out);
    }

    /// A line names the prompts that it answers.
    fn bind(&mut self, uuids: &[wire::Uuid]) {
        if uuids.is_empty() || self.prompts.is_empty() {
            return;
        }
        let named: Vec<&str> = uuids.iter().map(wire::Uuid::as_str).collect();
        let taken = self.prompts.bound(&named);
        self.enter(taken);
    }
}

fn failed(block: &wire::ToolResultBlock) -> bool {
    block.is_error == Some(true)
}

fn user_message(line: &User, text: String) -> UserMessage {
    UserMessage {
        text,
        attachments: words::attachments(&line.message.content),
        uuid: line.uuid.as_ref().map(|uuid| uuid.as_str().into()),
    }
}

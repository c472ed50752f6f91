//! The written list of lines that may lead to nothing, each with its reason.
//!
//! A line is on it for what it is and holds, not for the state of the session. The one rule: whatever is not
//! on it leads to an output whenever it comes.

use jackfield_wire::{Activity, ApiEvent, Block, Content, Decoded, Delta, Inbound, StreamEvent, System};

macro_rules! silent {
    ($($name:ident: $reason:literal,)+) => {
        /// Why a line may lead to nothing.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub(crate) enum Silent { $($name),+ }

        impl Silent {
            /// The whole list.
            pub(crate) const ALL: &[Self] = &[$(Self::$name),+];

            /// The reason, for a person.
            pub(crate) fn reason(self) -> &'static str {
                match self { $(Self::$name => $reason),+ }
            }
        }
    };
}

silent! {
    Blank: "an empty line says nothing",
    SignOfLife: "the CLI is alive, which everything else it says tells too",
    Mirror: "lines of the CLI's own file, which the stream has told already",
    Goal: "how the CLI steers itself is no part of the conversation",
    State: "running, waiting and idle are told by turns, questions and results",
    Requesting: "an API request begins or is over; what comes of it is told",
    Compacted: "the boundary that follows tells more",
    Thinking: "an estimate of a count that the message itself brings",
    Prepared: "a tool's input is told in steps of some kilobytes, not piece by piece",
    Signature: "a signature is between the API and the CLI",
    NoText: "a block or piece without text; the item begins with its first word",
    BlockBegin: "its final form tells what a block without words or of an unknown kind is",
    BlockEnd: "the final form of the block has ended it, or will",
    MessageEnd: "the next message or the result ends it",
    SameCount: "counts are told when they change",
    ApiTrouble: "what an error of the API means is told by the lines that follow it",
    SameStatus: "the status is told when it changes",
    SameCommands: "the commands are told when they change",
    TaskEnd: "the announcement of a task's end, which follows, tells it",
    SameTasks: "each task of the list was told by lines of its own",
    Answer: "an answer that changes nothing, or our own answer repeated",
    Repeated: "a prompt that was told when it was sent or when its turn began",
    Lifecycle: "where a prompt entered is told there",
    StaleProgress: "the call that goes on is over or was never told",
    FormEnd: "a form's end was told when it was answered",
    Progress: "a request of ours is being worked on; its answer follows",
}

/// Why this line may lead to nothing; `None` if it may not.
pub(crate) fn why_silent(line: &Decoded<'_>) -> Option<Silent> {
    if line.repaired {
        return None;
    }
    Some(match &line.message {
        Inbound::Blank => Silent::Blank,
        Inbound::KeepAlive(_) => Silent::SignOfLife,
        Inbound::TranscriptMirror(_) => Silent::Mirror,
        Inbound::ActiveGoal(_) | Inbound::AutocompactState(_) => Silent::Goal,
        Inbound::CommandLifecycle(_) => Silent::Lifecycle,
        Inbound::ControlResponse(_) => Silent::Answer,
        Inbound::User(user) if user.is_replay => Silent::Repeated,
        Inbound::User(user) if is_empty(&user.message.content) => Silent::NoText,
        Inbound::Assistant(message) if message.message.content.iter().all(is_wordless) => Silent::NoText,
        Inbound::ToolProgress(_) => Silent::StaleProgress,
        Inbound::System(system) => return why_silent_system(system),
        Inbound::StreamEvent(event) => return why_silent_event(event),
        _ => return None,
    })
}

fn why_silent_system(system: &System) -> Option<Silent> {
    Some(match system {
        System::SessionStateChanged(_) => Silent::State,
        System::ThinkingTokens(_) => Silent::Thinking,
        System::Init(_) => Silent::SameStatus,
        System::CommandsChanged(_) => Silent::SameCommands,
        System::BackgroundTasksChanged(_) => Silent::SameTasks,
        System::TaskUpdated(_) => Silent::TaskEnd,
        System::ElicitationComplete(_) => Silent::FormEnd,
        System::ControlRequestProgress(_) => Silent::Progress,
        System::Status(status) => match (&status.status, status.compact_result.as_deref()) {
            (None, Some("success")) => Silent::Compacted,
            (Some(Activity::Compacting), _) | (_, Some(_)) => return None,
            (_, None) if status.permission_mode.is_some() => Silent::SameStatus,
            (_, None) => Silent::Requesting,
        },
        _ => return None,
    })
}

fn why_silent_event(event: &StreamEvent<'_>) -> Option<Silent> {
    Some(match &event.event {
        ApiEvent::ContentBlockDelta { delta, .. } => match delta {
            Delta::Text(piece) | Delta::Thinking(piece) if piece.is_empty() => Silent::NoText,
            Delta::InputJson(_) => Silent::Prepared,
            Delta::Signature(_) => Silent::Signature,
            _ => return None,
        },
        ApiEvent::ContentBlockStart { content_block, .. } => match &**content_block {
            Block::Text(_) | Block::Thinking(_) if is_wordless(content_block) => Silent::NoText,
            Block::RedactedThinking(_) | Block::Unknown { .. } => Silent::BlockBegin,
            _ => return None,
        },
        ApiEvent::ContentBlockStop { .. } => Silent::BlockEnd,
        ApiEvent::MessageStop => Silent::MessageEnd,
        ApiEvent::MessageStart(_) | ApiEvent::MessageDelta(_) => Silent::SameCount,
        ApiEvent::Ping => Silent::SignOfLife,
        ApiEvent::Error { .. } => Silent::ApiTrouble,
        ApiEvent::Unknown { .. } => return None,
    })
}

/// Nothing in it that could be shown.
fn is_wordless(block: &Block) -> bool {
    match block {
        Block::Text(block) => block.text.is_empty(),
        Block::Thinking(block) => block.thinking.is_empty(),
        Block::RedactedThinking(_) => true,
        _ => false,
    }
}

fn is_empty(content: &Content) -> bool {
    match content {
        Content::Text(text) => text.is_empty(),
        Content::Blocks(blocks) => blocks.is_empty(),
    }
}

//! The trees of a few recordings, whole: what is inside of what, and how it ended.

use std::fmt::Write as _;

use jackfield_observe::{Parent, Span, SpanId, Value};

use crate::recordings;
use crate::spans::spans_of;

/// A tree as text, one span per line.
fn tree(spans: &[Span]) -> String {
    let mut text = String::new();
    write(spans, None, 0, &mut text);
    text
}

fn write(spans: &[Span], parent: Option<SpanId>, depth: usize, text: &mut String) {
    let mut inside: Vec<&Span> = spans
        .iter()
        .filter(|span| match span.parent {
            Parent::Ours(id) => Some(id) == parent,
            Parent::None | Parent::Remote(_) => parent.is_none(),
        })
        .collect();
    inside.sort_by_key(|span| span.start);
    for span in inside {
        let word = |name: &str| match span.attribute(name) {
            Some(Value::Text(word)) => format!(" {word}"),
            _ => String::new(),
        };
        let name = span.name.trim_start_matches("streamjson.");
        let known = word("gen_ai.tool.name") + &word("jackfield.outcome") + &word("error.type");
        writeln!(text, "{}{name}{known}", "  ".repeat(depth)).unwrap();
        write(spans, Some(span.span_id), depth + 1, text);
    }
}

fn tree_of(recording: &str) -> String {
    tree(&spans_of(&recordings::named(recording).events))
}

#[test]
fn subagents_nest_under_their_tool_calls() {
    assert_eq!(
        tree_of("recordings/tools/parallel_subagents"),
        "\
prompt complete
  system
  context_window
  tool_call Task complete
    tool_call Bash complete
  tool_call Task complete
    tool_call Bash complete
  message_chunk complete
  context_window
  complete
"
    );
}

#[test]
fn a_refusal_that_interrupts_is_told_and_the_next_turn_is_a_tree_of_its_own() {
    assert_eq!(
        tree_of("recordings/permission/bash_deny_interrupt"),
        "\
prompt interrupted interrupted
  system
  context_window
  tool_call Bash error tool_error
  control.control_request.can_use_tool Bash denied
    control.permission_response denied
  context_window
  complete
prompt complete
  message_chunk complete
  complete
"
    );
}

#[test]
fn an_interrupt_in_the_middle_of_a_text_ends_the_text_and_the_turn() {
    assert_eq!(
        tree_of("recordings/interrupt/mid_stream_text"),
        "\
prompt interrupted interrupted
  system
  context_window
  message_chunk complete
  complete
prompt complete
  message_chunk complete
  context_window
  context_window
  complete
"
    );
}

#[test]
fn hooks_have_their_answers_inside() {
    // A hook and its answer are always two lines.
    let mut tree = String::new();
    for line in tree_of("recordings/hooks/all_events_observed").lines() {
        match line.trim_start().strip_prefix("control.hook_response.") {
            Some(answer) => writeln!(tree, "{answer}").unwrap(),
            None => match line.strip_suffix("control.control_request.hook_callback complete") {
                Some(depth) => write!(tree, "{depth}hook ").unwrap(),
                None => writeln!(tree, "{line}").unwrap(),
            },
        }
    }
    assert_eq!(
        tree,
        "\
prompt complete
  hook user_prompt_submit complete
  system
  context_window
  message_chunk complete
  tool_call Bash complete
  hook pre_tool_use complete
  control.control_request.can_use_tool Bash allowed
    control.permission_response allowed
  hook permission_request complete
  hook post_tool_use complete
  hook post_tool_batch complete
  tool_call Bash error tool_error
  hook pre_tool_use complete
  hook post_tool_use_failure complete
  hook post_tool_batch complete
  tool_call TaskCreate complete
  hook pre_tool_use complete
  hook task_created complete
  hook post_tool_use complete
  hook post_tool_batch complete
  message_chunk complete
  hook stop complete
  context_window
  complete
prompt complete
  hook user_prompt_submit complete
  tool_call Task complete
    hook subagent_start complete
    hook subagent_stop complete
  hook pre_tool_use complete
  hook post_tool_use complete
  hook post_tool_batch complete
  message_chunk complete
  hook stop complete
  complete
prompt complete
  hook pre_compact complete
  hook subagent_stop complete
  hook session_start complete
  hook post_compact complete
  message_chunk complete
  complete
"
    );
}

#[test]
fn thinking_is_a_span_of_its_own() {
    assert_eq!(
        tree_of("recordings/basic/partial_all_blocks"),
        "\
prompt complete
  system
  context_window
  reasoning complete
  message_chunk complete
  tool_call Bash complete
  tool_call Read complete
  context_window
  context_window
  message_chunk complete
  context_window
  context_window
  complete
"
    );
}

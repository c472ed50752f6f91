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
    let tree = tree_of("recordings/interrupt/mid_stream_text");
    assert!(tree.starts_with("prompt interrupted interrupted\n"), "{tree}");
    assert!(tree.contains("  message_chunk complete\n"), "{tree}");
}

#[test]
fn hooks_have_their_answers_inside() {
    let tree = tree_of("recordings/hooks/all_events_observed");
    assert!(tree.contains("  control.control_request.hook_callback complete\n    control.hook_response.pre_tool_use complete\n"), "{tree}");
}

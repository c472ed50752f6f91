//! The same scenarios by a client in another language: it understands the same.

use super::normal::{Scope, facts};
use super::play::play;
use super::promises;
use super::schema::Schema;
use super::stage::{Agent, Driver};

async fn told_to(name: &str, driver: Driver) -> Vec<String> {
    let (record, stage) = play(name, Agent::Ours, driver).await;
    let (faults, broken) = (Schema::published().faults(&record), promises::broken(&record));
    assert!(faults.is_empty() && broken.is_empty(), "{name}: {faults:#?} {broken:#?}");
    facts(&record, stage.sandbox.places(), Scope::Course)
}

/// What the client for Node is told, the client for Python is told; the package has read it into its models, or it
/// would not have gone on.
async fn the_same(name: &str) {
    assert_eq!(told_to(name, Driver::Python).await, told_to(name, Driver::Node).await, "{name}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_in_python_understands_texts_thoughts_and_images() {
    for name in ["two_turns", "thinking", "an_image"] {
        the_same(name).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_in_python_understands_calls_and_answers_permissions() {
    for name in ["an_edit_that_is_allowed", "a_command_that_is_rejected", "a_subagent"] {
        the_same(name).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_in_python_understands_plans_and_modes() {
    for name in ["a_plan_that_is_approved", "tasks", "another_mode"] {
        the_same(name).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_in_python_cancels_and_opens_sessions_again() {
    for name in ["cancelled_in_a_text", "a_session_that_is_loaded", "a_list_of_sessions"] {
        the_same(name).await;
    }
}

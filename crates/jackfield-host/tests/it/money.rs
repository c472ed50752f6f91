//! What sessions cost, what they may cost, and limits that stop them.

use std::time::{SystemTime, UNIX_EPOCH};

use jackfield_api::Body;
use jackfield_api::command::{RejectionCode, SetBudget};
use jackfield_host::Host;
use jackfield_host::settings::AfterLimit;
use jackfield_host::store::CostBy;
use jackfield_testkit::api::{Purpose, Reply};
use jackfield_testkit::cli::NEWER_VERSION;
use jackfield_testkit::fake::{FakeStep, write_script};
use serde_json::json;

use crate::faults_fake::{Faked, init, ready, stay, turn};
use crate::stage::{Stage, give, prompt, with_both_clis};

with_both_clis![a_budget_stops_work_and_a_larger_one_lets_it_go_on];

async fn a_budget_stops_work_and_a_larger_one_lets_it_go_on(version: &str) {
    let stage = Stage::new(version, vec![Reply { repeat: Some(4), ..Reply::text("costly") }]).await;
    let id = stage.session().await;
    let mut follower = stage.follow(&id).await;
    give(&stage.host, Some(&id), prompt("first")).await.unwrap();
    follower.completed().await;
    let spent = stage.host.session(&id).await.unwrap().unwrap().total_cost_usd;
    assert!(spent > 0.0);
    give(&stage.host, Some(&id), SetBudget { max_budget_usd: Some(spent * 1.5) }).await.unwrap();
    give(&stage.host, Some(&id), prompt("second")).await.unwrap();
    follower.completed().await;
    follower.until(|body| matches!(body, Body::Notice(notice) if notice.text.contains("budget"))).await;
    let refused = give(&stage.host, Some(&id), prompt("third")).await.unwrap_err();
    assert_eq!(refused.code, RejectionCode::Forbidden, "{refused:?}");
    let asked = |stage: &Stage| {
        let requests = stage.api.requests().into_iter();
        requests.filter(|request| request.purpose == Purpose::Conversation).count()
    };
    assert_eq!(asked(&stage), 2);

    give(&stage.host, Some(&id), SetBudget { max_budget_usd: Some(spent * 100.0) }).await.unwrap();
    give(&stage.host, Some(&id), prompt("third")).await.unwrap();
    follower.completed().await;
    assert_eq!(asked(&stage), 3);

    let summary = stage.host.session(&id).await.unwrap().unwrap();
    for by in [CostBy::Session, CostBy::Day, CostBy::Model] {
        let costs = stage.host.costs(by, None).await.unwrap();
        assert_eq!((costs.rows.len(), costs.total.turns), (1, 3));
        assert!((costs.total.cost_usd - summary.total_cost_usd).abs() < 1e-9, "{costs:?}");
    }
    stage.host.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_that_a_limit_stopped_is_tried_again_when_it_ends_if_that_is_wanted() {
    let ends = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() + 12;
    let limit = json!({
        "type": "rate_limit_event", "uuid": "u-limit", "session_id": "s",
        "rate_limit_info": {"status": "rejected", "resetsAt": ends, "rateLimitType": "five_hour"},
    });
    let failed = json!({
        "type": "result", "subtype": "success", "is_error": true, "duration_ms": 1, "duration_api_ms": 1,
        "num_turns": 1, "result": "you have reached your limit", "session_id": "s", "uuid": "u-failed",
        "total_cost_usd": 0.0, "usage": {"input_tokens": 1, "output_tokens": 2}, "modelUsage": {},
        "permission_denials": [], "terminal_reason": "api_error",
    });
    let steps = [
        FakeStep::Await(json!({"type": "user"})),
        FakeStep::Send(init()),
        FakeStep::Send(limit),
        FakeStep::Send(failed),
        stay(),
    ];
    let mut faked = Faked::new(steps).await;
    faked.host.close().await;
    faked.settings.after_limit = AfterLimit::Retry;
    faked.host = Host::open(faked.settings.clone()).await.unwrap();
    let (id, mut follower) = faked.session().await;
    give(&faked.host, Some(&id), prompt("do it")).await.unwrap();
    follower.until(|body| matches!(body, Body::Error(_))).await;

    // From now on the limit is gone.
    let version = [FakeStep::Version(NEWER_VERSION.to_owned())];
    let better: Vec<FakeStep> = version.into_iter().chain(ready()).chain(turn([])).chain([stay()]).collect();
    write_script(&faked.sandbox.places().temporary.join("script"), &better).unwrap();
    let said = follower.until(|body| matches!(body, Body::UserMessage(_))).await;
    assert!(matches!(said.body, Body::UserMessage(said) if said.text == "do it"));
    follower.completed().await;
    assert_eq!(faked.host.session(&id).await.unwrap().unwrap().last_error, None);
    let limits = faked.host.settings().await.rate_limits;
    assert_eq!(limits.first().and_then(|limit| limit.resets_at), Some(ends));
    faked.host.close().await;
}

//! What the host keeps beside the conversations: money, decisions, commands, rules.

use jackfield_api::command::{Created, Done, Rejection, RejectionCode, Reply};
use jackfield_api::host::{CostRow, HostRule, HostRules};
use jackfield_api::permission::{Behavior, PermissionOutcome};
use jackfield_api::{PendingId, SessionId, Timestamp};
use jackfield_host::store::{Batch, Begun, CostBy, Store};

use crate::store_fixtures::{batch, create, open, question, turn};

#[tokio::test]
async fn costs_add_up_by_day_model_session_and_turn() {
    const DAY: u64 = 24 * 3600 * 1000;
    let (_folder, store) = open();
    let (one, two) = (create(&store, "one").await, create(&store, "two").await);
    let turns = vec![
        turn(1, 1, DAY, "opus", 1.0),
        turn(2, 1, 2 * DAY - 1, "opus", 0.5),
        turn(3, 2, 2 * DAY, "haiku", 0.25),
    ];
    store.append(&Batch { turns, ..batch(&one, 1, 3) }).await.unwrap().unwrap();
    let turns = vec![turn(1, 1, 2 * DAY + 5, "haiku", 4.0)];
    store.append(&Batch { turns, ..batch(&two, 1, 1) }).await.unwrap().unwrap();

    let rows = async |by, since: Option<u64>| {
        let costs = store.costs(by, since.map(Timestamp)).await.unwrap();
        let total: f64 = costs.rows.iter().map(|row| row.cost_usd).sum();
        let turns: u64 = costs.rows.iter().map(|row| row.turns).sum();
        assert!((costs.total.cost_usd - total).abs() < 1e-9);
        assert_eq!((costs.total.turns, costs.total.input_tokens), (turns, 100 * turns));
        let tell = |row: &CostRow| format!("{}: {} in {}", row.group, row.cost_usd, row.turns);
        costs.rows.iter().map(tell).collect::<Vec<_>>()
    };
    assert_eq!(rows(CostBy::Day, None).await, ["1970-01-03: 4.25 in 2", "1970-01-02: 1.5 in 2"]);
    assert_eq!(rows(CostBy::Day, Some(2 * DAY)).await, ["1970-01-03: 4.25 in 2"]);
    let divided = store.costs(CostBy::DayModel, None).await.unwrap().rows;
    let divided: Vec<_> =
        divided.iter().map(|row| (row.group.as_str(), row.model.as_deref(), row.turns)).collect();
    assert_eq!(divided, [("1970-01-03", Some("haiku"), 2), ("1970-01-02", Some("opus"), 2)]);
    assert_eq!(rows(CostBy::Model, None).await, ["haiku: 4.25 in 2", "opus: 1.5 in 2"]);
    assert_eq!(rows(CostBy::Session, None).await, ["two: 4 in 1", "one: 1.75 in 3"]);
    assert_eq!(rows(CostBy::Turn(one), None).await, ["2: 0.25 in 1", "1: 1.5 in 2"]);
    assert!(rows(CostBy::Turn("three".into()), None).await.is_empty());
}

#[tokio::test]
async fn s28_every_decision_is_kept_as_it_was_first_made() {
    let (_folder, store) = open();
    let (one, two) = (create(&store, "one").await, create(&store, "two").await);
    let by = |name: &str| Some(name.to_owned());
    let asked = vec![(Timestamp(10), question(1)), (Timestamp(20), question(2))];
    store.append(&Batch { asked, ..batch(&one, 1, 2) }).await.unwrap().unwrap();
    let asked = vec![(Timestamp(15), question(1))];
    let decided = vec![(Timestamp(30), PendingId(1), None, None, None)];
    store.append(&Batch { asked, decided, ..batch(&two, 1, 2) }).await.unwrap().unwrap();
    let decided = vec![
        (Timestamp(40), PendingId(1), Some(PermissionOutcome::Denied), by("phone"), by("not this")),
        (Timestamp(50), PendingId(1), Some(PermissionOutcome::Allowed), by("laptop"), None),
    ];
    store.append(&Batch { decided, ..batch(&one, 3, 4) }).await.unwrap().unwrap();

    let made = store.decisions(None, None, 10).await.unwrap();
    assert_eq!(made.len(), 2, "the second question is still open");
    assert_eq!((made[0].session_id.as_str(), made[0].outcome), ("one", Some(PermissionOutcome::Denied)));
    assert_eq!((made[0].by.as_deref(), made[0].message.as_deref()), (Some("phone"), Some("not this")));
    assert_eq!((made[0].asked_at, made[0].decided_at), (Timestamp(10), Timestamp(40)));
    assert_eq!((made[0].tool_name.as_deref(), made[0].tool_title.as_str()), (Some("Bash"), "run number 1"));
    assert_eq!((made[1].session_id.as_str(), made[1].outcome), ("two", None));
    assert_eq!(store.decisions(Some(&two), None, 10).await.unwrap(), made[1..]);
    assert_eq!(store.decisions(None, Some(Timestamp(40)), 10).await.unwrap(), made[1..]);
    assert_eq!(store.decisions(None, None, 1).await.unwrap(), made[..1]);

    let asked = store.questions(2).await.unwrap();
    assert_eq!(asked, [(one, question(2)), (two, question(1))]);
}

#[tokio::test]
async fn a_command_is_begun_once_answered_the_same_and_lost_with_its_host() {
    let (folder, store) = open();
    let one: SessionId = "one".into();
    assert_eq!(store.begin_command("a", Some(&one)).await.unwrap(), Begun::New);
    assert_eq!(store.begin_command("a", Some(&one)).await.unwrap(), Begun::Running);
    let accepted = Ok(Reply::Created(Created { session_id: one.clone() }));
    store.end_command("a", &accepted).await.unwrap();
    assert_eq!(store.begin_command("a", None).await.unwrap(), Begun::Answered(accepted.clone()));

    assert_eq!(store.begin_command("b", None).await.unwrap(), Begun::New);
    let rejected = Err(Rejection { code: RejectionCode::TooLate, reason: "no".to_owned() });
    store.end_command("b", &rejected).await.unwrap();
    assert_eq!(store.begin_command("c", None).await.unwrap(), Begun::New);
    store.close().await;

    let store = Store::open(folder.path()).unwrap();
    assert_eq!(store.begin_command("a", None).await.unwrap(), Begun::Answered(accepted));
    assert_eq!(store.begin_command("b", None).await.unwrap(), Begun::Answered(rejected.clone()));
    assert_eq!(store.begin_command("c", None).await.unwrap(), Begun::Lost);
    store.end_command("c", &rejected).await.unwrap();
    assert_eq!(store.begin_command("c", None).await.unwrap(), Begun::Answered(rejected));
}

#[tokio::test]
async fn only_one_of_many_who_begin_a_command_at_once_is_to_do_it() {
    let (_folder, store) = open();
    let begun: Vec<_> = (0..50)
        .map(|_| {
            let store = store.clone();
            tokio::spawn(async move { store.begin_command("a", None).await.unwrap() })
        })
        .collect();
    let mut new = 0;
    for one in begun {
        new += usize::from(one.await.unwrap() == Begun::New);
    }
    assert_eq!(new, 1);
}

#[tokio::test]
async fn commands_are_forgotten_after_a_day() {
    let (folder, store) = open();
    let done = Ok(Reply::Done(Done {}));
    for id in ["old", "new"] {
        store.begin_command(id, None).await.unwrap();
        store.end_command(id, &done).await.unwrap();
    }
    store.close().await;
    let database = rusqlite::Connection::open(folder.path().join("jackfield.db")).unwrap();
    database.execute("UPDATE command SET begun_at = begun_at - 86400001 WHERE id = 'old'", []).unwrap();
    drop(database);

    let store = Store::open(folder.path()).unwrap();
    assert_eq!(store.begin_command("old", None).await.unwrap(), Begun::New);
    assert_eq!(store.begin_command("new", None).await.unwrap(), Begun::Answered(done));
}

#[tokio::test]
async fn rules_are_kept_in_their_order() {
    let (folder, store) = open();
    assert_eq!(store.rules().await.unwrap(), HostRules::default());
    let rule = |tool: &str, behavior| HostRule {
        behavior,
        tool: Some(tool.to_owned()),
        path: None,
        command: None,
        folder: None,
        session_id: None,
        note: None,
    };
    let rules = HostRules { rules: vec![rule("Read", Behavior::Allow), rule("*", Behavior::Ask)] };
    store.set_rules(&rules).await.unwrap();
    store.close().await;
    assert_eq!(Store::open(folder.path()).unwrap().rules().await.unwrap(), rules);
}

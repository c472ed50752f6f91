//! What is stored is found again: sessions, events, items, money, decisions, commands, settings.

use bytes::Bytes;
use jackfield_api::command::{Created, Rejection, RejectionCode, Reply};
use jackfield_api::host::{HostRule, HostRules};
use jackfield_api::permission::{Behavior, PermissionOutcome};
use jackfield_api::snapshot::SessionState;
use jackfield_api::{PendingId, Seq, SessionId, Snapshot, Timestamp};
use jackfield_host::store::{
    AppendError, Archived, Batch, Begun, CostBy, SessionQuery, SessionRecord, Store, StoreError,
};
use tempfile::TempDir;

use crate::store_fixtures::{
    append, batch, create, event, last, lines, prompted, question, record, said, seqs, settle, turn,
};

fn open() -> (TempDir, Store) {
    let folder = TempDir::new().unwrap();
    let store = Store::open(folder.path()).unwrap();
    (folder, store)
}

#[tokio::test]
async fn everything_is_there_again_after_a_restart() {
    let (folder, store) = open();
    let one = create(&store, "one").await;
    append(&store, &one, 1, 3).await;
    settle(&store, &one, vec![said(1, "hello")]).await;
    store.set_value("theme", "dark").await.unwrap();
    let host_id = store.host_id().to_owned();
    store.close().await;

    let store = Store::open(folder.path()).unwrap();
    assert_eq!(store.host_id(), host_id);
    assert_eq!(store.session(&one).await.unwrap(), Some(record("one")));
    assert_eq!(last(&store, &one).await, 3);
    assert_eq!(store.items(&one, None, 10).await.unwrap().items, [said(1, "hello")]);
    assert_eq!(store.value("theme").await.unwrap().as_deref(), Some("dark"));
    assert_eq!(store.value("other").await.unwrap(), None);
}

#[tokio::test]
async fn a_session_is_made_once_and_can_be_changed() {
    let (_folder, store) = open();
    let one = create(&store, "one").await;
    assert!(matches!(store.create(&record("one")).await, Err(StoreError::Exists(id)) if id == one));

    let mut changed = record("one");
    changed.summary.title = "Another".to_owned();
    changed.create.model = Some("haiku".to_owned());
    store.update(&changed).await.unwrap();
    assert_eq!(store.session(&one).await.unwrap(), Some(changed));

    assert!(matches!(store.update(&record("two")).await, Err(StoreError::NoSession(_))));
    assert_eq!(store.session(&"two".into()).await.unwrap(), None);
}

#[tokio::test]
async fn events_that_do_not_come_next_are_refused_and_disturb_nobody_else() {
    let (_folder, store) = open();
    let (one, two) = (create(&store, "one").await, create(&store, "two").await);
    append(&store, &one, 1, 2).await;

    // All of these wait at the same time, so they may share a transaction.
    let hole = store.append(batch(&one, 4, 5));
    let double = store.append(batch(&one, 2, 3));
    let nobody = store.append(batch(&"three".into(), 1, 1));
    let uneven = store.append(Batch::new(one.clone(), Seq(3), Seq(5), lines(&one, 3, 4)));
    let backwards = store.append(Batch::new(one.clone(), Seq(3), Seq(1), Bytes::new()));
    let cut = store.append(Batch::new(one.clone(), Seq(3), Seq(3), lines(&one, 3, 3).slice(..10)));
    let good = store.append(batch(&two, 1, 7));
    let next = store.append(batch(&one, 3, 3));

    let out_of_order =
        |found| Err(AppendError::OutOfOrder { session: one.clone(), expected: Seq(3), found: Seq(found) });
    assert_eq!(hole.await.unwrap(), out_of_order(4));
    assert_eq!(double.await.unwrap(), out_of_order(2));
    assert_eq!(nobody.await.unwrap(), Err(AppendError::NoSession("three".into())));
    for bad in [uneven, backwards, cut] {
        assert!(matches!(bad.await.unwrap(), Err(AppendError::Uneven { .. })));
    }
    assert_eq!((good.await.unwrap(), next.await.unwrap()), (Ok(()), Ok(())));
    assert_eq!((last(&store, &one).await, last(&store, &two).await), (3, 7));
}

#[tokio::test]
async fn what_is_to_be_done_after_a_commit_is_done_in_order_and_finds_the_events_stored() {
    let (folder, store) = open();
    let one = create(&store, "one").await;
    let (told, mut heard) = tokio::sync::mpsc::channel(100);
    for seq in 1..=100 {
        let told = told.clone();
        let path = folder.path().join("jackfield.db");
        let done = Box::new(move |came: Result<(), AppendError>| {
            let reader = rusqlite::Connection::open(path).unwrap();
            let last = reader.query_row("SELECT max(last) FROM log", [], |row| row.get::<_, u32>(0)).unwrap();
            told.try_send((seq, came, last)).unwrap();
        });
        store.append_then(batch(&one, seq, seq), done);
    }
    for expected in 1..=100 {
        let (seq, came, last) = heard.recv().await.unwrap();
        assert_eq!((seq, came), (expected, Ok(())));
        assert!(seq <= u64::from(last), "{seq} was told before it was stored");
    }
}

#[tokio::test]
async fn a_closed_store_says_so_to_everyone() {
    let (_folder, store) = open();
    let one = create(&store, "one").await;
    let waiting = store.append(batch(&one, 1, 1));
    let other = store.clone();
    store.close().await;
    assert_eq!(waiting.await.unwrap(), Ok(()), "what waited was written");
    assert!(matches!(other.append(batch(&one, 2, 2)).await.unwrap(), Err(AppendError::Stopped(_))));
    assert!(matches!(other.session(&one).await, Err(StoreError::Closed)));
    assert!(matches!(other.set_value("a", "b").await, Err(StoreError::Closed)));
    other.close().await;
}

#[tokio::test]
async fn the_log_is_read_from_any_event_on_and_in_parts() {
    let (_folder, store) = open();
    let one = create(&store, "one").await;
    for (first, last) in [(1, 10), (11, 11), (12, 40), (41, 45)] {
        append(&store, &one, first, last).await;
    }
    for after in 0..=46 {
        let pages = store.log(&one, Seq(after), usize::MAX).await.unwrap();
        assert_eq!(seqs(&pages), (after + 1..=45).collect::<Vec<_>>());
    }
    assert!(store.log(&one, Seq(u64::MAX), usize::MAX).await.unwrap().is_empty());

    let first = store.log(&one, Seq(4), 1).await.unwrap();
    assert_eq!(seqs(&first), (5..=10).collect::<Vec<_>>(), "one page, however large");
    let two = first[0].lines.len() + lines(&one, 11, 11).len();
    assert_eq!(seqs(&store.log(&one, Seq(4), two).await.unwrap()), (5..=11).collect::<Vec<_>>());
    assert_eq!(seqs(&store.log(&one, Seq(4), two - 1).await.unwrap()), (5..=10).collect::<Vec<_>>());
    assert!(matches!(store.log(&"two".into(), Seq(0), 1).await, Err(StoreError::NoSession(_))));
}

#[tokio::test]
async fn a_session_goes_on_from_its_last_checkpoint_and_the_events_behind_it() {
    let (_folder, store) = open();
    let one = create(&store, "one").await;
    assert_eq!(store.resume_point(&"two".into()).await.unwrap(), None);

    append(&store, &one, 1, 2).await;
    let point = store.resume_point(&one).await.unwrap().unwrap();
    assert_eq!(point.checkpoint, Snapshot::default());
    assert_eq!(point.events, [event(&one, 1), event(&one, 2)]);

    let checkpoint = |seq| Snapshot {
        session_id: Some("one".into()),
        seq: Seq(seq),
        state: SessionState::Running,
        pending: vec![question(2)],
        ..Snapshot::default()
    };
    for seq in [3, 4] {
        let unsettled = vec![said(seq, "growing")];
        let batch = Batch { checkpoint: Some((checkpoint(seq), unsettled)), ..batch(&one, seq, seq) };
        store.append(batch).await.unwrap().unwrap();
    }
    append(&store, &one, 5, 6).await;
    let point = store.resume_point(&one).await.unwrap().unwrap();
    assert_eq!(point.checkpoint, checkpoint(4));
    assert_eq!(point.unsettled, [said(4, "growing")]);
    assert_eq!(point.events, [event(&one, 5), event(&one, 6)]);
}

#[tokio::test]
async fn items_are_read_backwards_page_by_page_and_each_page_forwards() {
    let (_folder, store) = open();
    let (one, two) = (create(&store, "one").await, create(&store, "two").await);
    settle(&store, &one, (1..=10).map(|n| said(n * 3, &format!("text {n}"))).collect()).await;
    settle(&store, &two, vec![said(4, "of another session")]).await;

    let (mut before, mut pages) = (None, Vec::new());
    loop {
        let page = store.items(&one, before, 4).await.unwrap();
        pages.push(page.items.iter().map(|item| item.seq.0).collect::<Vec<_>>());
        before = page.items.first().map(|item| item.seq);
        if !page.earlier {
            break;
        }
    }
    assert_eq!(pages, [vec![21, 24, 27, 30], vec![9, 12, 15, 18], vec![3, 6]]);
    let exactly = store.items(&one, Some(Seq(9)), 2).await.unwrap();
    assert_eq!((exactly.items.len(), exactly.earlier), (2, false));

    settle(&store, &one, vec![said(30, "changed after all")]).await;
    assert_eq!(store.items(&one, None, 1).await.unwrap().items, [said(30, "changed after all")]);
}

#[tokio::test]
async fn sessions_are_listed_by_their_last_change_in_pages_that_neither_repeat_nor_skip() {
    let (_folder, store) = open();
    for number in 0..25_u64 {
        let mut record = record(&format!("s{number:02}"));
        // Several have the same time.
        record.summary.updated_at = Timestamp(number / 4);
        store.create(&record).await.unwrap();
    }
    let mut query = SessionQuery { limit: 7, ..SessionQuery::default() };
    let mut listed = Vec::new();
    loop {
        let page = store.sessions(query.clone()).await.unwrap();
        listed.extend(page.sessions.into_iter().map(|session| session.session_id.to_string()));
        // What happens between two pages moves only what it happens to.
        if listed.len() == 7 {
            let mut moved = record("s00");
            moved.summary.updated_at = Timestamp(1_000);
            store.update(&moved).await.unwrap();
        }
        match page.next {
            Some(next) => query.before = Some(next),
            None => break,
        }
    }
    assert_eq!(listed, (1..25).rev().map(|number| format!("s{number:02}")).collect::<Vec<_>>());
    let nowhere = SessionQuery { before: Some("nowhere".to_owned()), ..SessionQuery::default() };
    assert!(matches!(store.sessions(nowhere).await, Err(StoreError::NoPlace(_))));
}

#[tokio::test]
async fn a_list_can_be_narrowed_by_archive_folder_and_title() {
    let (_folder, store) = open();
    let make = |id: &str, title: &str, cwd: &str, archived| {
        let mut record = record(id);
        record.summary.title = title.to_owned();
        record.summary.cwd = cwd.to_owned();
        record.summary.archived = archived;
        record
    };
    let records = [
        make("a", "Größe ändern", "/ws/one", false),
        make("b", "100% of_it", "/ws/one/deep", false),
        make("c", "other", "/ws/one-more", false),
        make("d", "other", "/ws/one", true),
    ];
    for record in &records {
        store.create(record).await.unwrap();
    }
    let found = async |query: SessionQuery| {
        let page = store.sessions(query).await.unwrap();
        let mut ids: Vec<_> = page.sessions.iter().map(|session| session.session_id.to_string()).collect();
        ids.sort();
        ids.concat()
    };
    let all = SessionQuery { archived: Archived::All, ..SessionQuery::default() };
    let folder = |folder: &str| SessionQuery { folder: Some(folder.to_owned()), ..all.clone() };
    let text = |text: &str| SessionQuery { text: Some(text.to_owned()), ..all.clone() };
    assert_eq!(found(SessionQuery::default()).await, "abc");
    assert_eq!(found(SessionQuery { archived: Archived::Only, ..all.clone() }).await, "d");
    assert_eq!(found(all.clone()).await, "abcd");
    assert_eq!(found(folder("/ws/one")).await, "abd");
    assert_eq!(found(folder("/ws/one/")).await, "abd");
    assert_eq!(found(folder("/")).await, "abcd");
    assert_eq!(found(folder("/ws/%")).await, "");
    assert_eq!(found(text("GRÖSSE")).await, "", "ß and SS are different letters");
    assert_eq!(found(text("ÄNDERN")).await, "a");
    assert_eq!(found(text("0% OF_")).await, "b");
    assert_eq!(found(text("%")).await, "b", "a per cent sign is only that");
}

#[tokio::test]
async fn a_host_finds_what_the_one_before_left_unfinished() {
    let (_folder, store) = open();
    for (id, state) in
        [("one", SessionState::Running), ("two", SessionState::Ended), ("three", SessionState::Idle)]
    {
        let mut record = record(id);
        record.summary.state = state;
        store.create(&record).await.unwrap();
    }
    assert_eq!(store.unfinished().await.unwrap(), [SessionId::from("one"), "three".into()]);
    let batch = Batch { summary: Some(record("one").summary), ..batch(&"one".into(), 1, 1) };
    store.append(batch).await.unwrap().unwrap();
    assert_eq!(store.unfinished().await.unwrap(), [SessionId::from("three")]);
}

#[tokio::test]
async fn a_session_is_found_by_every_id_that_the_cli_gave_it() {
    let (_folder, store) = open();
    let with = |id: &str, cli: &str| {
        let mut record = record(id);
        record.summary.cli_session_id = Some(cli.to_owned());
        record
    };
    store.create(&with("one", "first")).await.unwrap();
    store.update(&with("one", "second")).await.unwrap();
    store.create(&with("two", "third")).await.unwrap();
    let found = async |cli: &str| store.by_cli_id(cli).await.unwrap().map(|id| id.to_string());
    assert_eq!(found("first").await.as_deref(), Some("one"));
    assert_eq!(found("second").await.as_deref(), Some("one"));
    assert_eq!(found("third").await.as_deref(), Some("two"));
    assert_eq!(found("fourth").await, None);
    store.delete(&"one".into()).await.unwrap();
    assert_eq!(found("first").await, None);
}

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
    store.append(Batch { turns, ..batch(&one, 1, 3) }).await.unwrap().unwrap();
    let turns = vec![turn(1, 1, 2 * DAY + 5, "haiku", 4.0)];
    store.append(Batch { turns, ..batch(&two, 1, 1) }).await.unwrap().unwrap();

    let rows = async |by, since: Option<u64>| {
        let costs = store.costs(by, since.map(Timestamp)).await.unwrap();
        let total: f64 = costs.rows.iter().map(|row| row.cost_usd).sum();
        let turns: u64 = costs.rows.iter().map(|row| row.turns).sum();
        assert!((costs.total.cost_usd - total).abs() < 1e-9);
        assert_eq!((costs.total.turns, costs.total.input_tokens), (turns, 100 * turns));
        let tell =
            |row: &jackfield_api::host::CostRow| format!("{}: {} in {}", row.group, row.cost_usd, row.turns);
        costs.rows.iter().map(tell).collect::<Vec<_>>()
    };
    assert_eq!(rows(CostBy::Day, None).await, ["1970-01-03: 4.25 in 2", "1970-01-02: 1.5 in 2"]);
    assert_eq!(rows(CostBy::Day, Some(2 * DAY)).await, ["1970-01-03: 4.25 in 2"]);
    assert_eq!(rows(CostBy::Model, None).await, ["haiku: 4.25 in 2", "opus: 1.5 in 2"]);
    assert_eq!(rows(CostBy::Session, None).await, ["two: 4 in 1", "one: 1.75 in 3"]);
    assert_eq!(rows(CostBy::Turn(one), None).await, ["2: 0.25 in 1", "1: 1.5 in 2"]);
    assert!(rows(CostBy::Turn("three".into()), None).await.is_empty());
}

#[tokio::test]
async fn every_decision_is_kept_as_it_was_first_made() {
    let (_folder, store) = open();
    let (one, two) = (create(&store, "one").await, create(&store, "two").await);
    let by = |name: &str| Some(name.to_owned());
    let asked = vec![(Timestamp(10), question(1)), (Timestamp(20), question(2))];
    store.append(Batch { asked, ..batch(&one, 1, 2) }).await.unwrap().unwrap();
    let asked = vec![(Timestamp(15), question(1))];
    let decided = vec![(Timestamp(30), PendingId(1), None, None, None)];
    store.append(Batch { asked, decided, ..batch(&two, 1, 2) }).await.unwrap().unwrap();
    let decided = vec![
        (Timestamp(40), PendingId(1), Some(PermissionOutcome::Denied), by("phone"), by("not this")),
        (Timestamp(50), PendingId(1), Some(PermissionOutcome::Allowed), by("laptop"), None),
    ];
    store.append(Batch { decided, ..batch(&one, 3, 4) }).await.unwrap().unwrap();

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
    let done = Ok(Reply::Done(jackfield_api::command::Done {}));
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

#[tokio::test]
async fn a_deleted_session_leaves_nothing_behind_and_takes_nothing_else_along() {
    const SECRET: &str = "xylophonequartz";
    let (folder, store) = open();
    let kept = create(&store, "kept").await;
    settle(&store, &kept, vec![said(1, "what stays")]).await;
    let mut record: SessionRecord = record("gone");
    record.summary.title = format!("about {SECRET}");
    record.summary.state = SessionState::Running;
    record.summary.cli_session_id = Some("cli".to_owned());
    store.create(&record).await.unwrap();
    let gone: SessionId = "gone".into();
    for round in 0..10 {
        let items = (1..=50).map(|n| prompted(round * 50 + n, &format!("{SECRET} number {n}"))).collect();
        settle(&store, &gone, items).await;
    }
    for seq in 1..=250 {
        append(&store, &gone, seq, seq).await;
    }
    let asked = vec![(Timestamp(1), question(251))];
    let decided = vec![(Timestamp(2), PendingId(251), None, None, Some(SECRET.to_owned()))];
    let checkpoint = Some((Snapshot::default(), vec![said(251, SECRET)]));
    let turns = vec![turn(251, 1, 1, SECRET, 1.0)];
    let batch = Batch { asked, decided, checkpoint, turns, ..batch(&gone, 251, 251) };
    store.append(batch).await.unwrap().unwrap();
    store.begin_command("prompted", Some(&gone)).await.unwrap();
    let told = Reply::Told(jackfield_api::command::Told { answer: jackfield_api::Json::of(SECRET) });
    store.end_command("prompted", &Ok(told)).await.unwrap();
    assert_eq!(store.begin_command("delete", Some(&gone)).await.unwrap(), Begun::New);

    store.delete(&gone).await.unwrap();
    assert_eq!(store.session(&gone).await.unwrap(), None);
    assert_eq!(store.sessions(SessionQuery::default()).await.unwrap().sessions.len(), 1);
    assert!(store.search(SECRET, 10).await.unwrap().hits.is_empty());
    assert!(store.decisions(None, None, 10).await.unwrap().is_empty());
    assert!(store.questions(10).await.unwrap().is_empty());
    assert!(store.costs(CostBy::Model, None).await.unwrap().rows.is_empty());
    assert!(store.unfinished().await.unwrap().is_empty());
    assert_eq!(store.append(batch_behind(&gone)).await.unwrap(), Err(AppendError::NoSession(gone.clone())));
    assert_eq!(store.begin_command("delete", Some(&gone)).await.unwrap(), Begun::Running);
    assert_eq!(store.search("stays", 10).await.unwrap().hits.len(), 1);

    // The name is free again, and what is new has nothing of the old.
    let again = create(&store, "gone").await;
    assert_eq!(last(&store, &again).await, 0);
    store.delete(&again).await.unwrap();
    store.delete(&again).await.unwrap();
    store.close().await;

    let database = rusqlite::Connection::open(folder.path().join("jackfield.db")).unwrap();
    let count = |table: &str| {
        database.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get::<_, u32>(0)).unwrap()
    };
    let counts =
        ["session", "item", "words", "removed", "log", "turn", "question", "checkpoint", "cli_session"];
    assert_eq!(counts.map(count), [1, 1, 1, 0, 0, 0, 0, 0, 0]);
    for file in std::fs::read_dir(folder.path()).unwrap() {
        let path = file.unwrap().path();
        let found = memchr::memmem::find(&std::fs::read(&path).unwrap(), SECRET.as_bytes());
        assert_eq!(found, None, "in {}", path.display());
    }
}

fn batch_behind(session: &SessionId) -> Batch {
    batch(session, 252, 252)
}

#[tokio::test]
async fn what_cannot_be_read_of_one_session_is_told_by_its_name_and_hides_no_other() {
    let (folder, store) = open();
    let (good, bad) = (create(&store, "good").await, create(&store, "bad").await);
    for session in [&good, &bad] {
        append(&store, session, 1, 2).await;
        settle(&store, session, vec![said(1, "text")]).await;
    }
    store.close().await;
    let database = rusqlite::Connection::open(folder.path().join("jackfield.db")).unwrap();
    database
        .execute_batch(
            "UPDATE session SET summary = '{}' WHERE id = 'bad';
             UPDATE log SET lines = x'7b7d0a7b7d0a' WHERE session = 2;
             UPDATE item SET item = 'nonsense' WHERE session = 2;",
        )
        .unwrap();
    drop(database);

    let store = Store::open(folder.path()).unwrap();
    let names_it = |error: StoreError| {
        assert!(matches!(&error, StoreError::Unreadable { session, .. } if *session == bad), "{error}");
        assert!(error.to_string().contains("of session bad"), "{error}");
    };
    names_it(store.session(&bad).await.unwrap_err());
    names_it(store.resume_point(&bad).await.unwrap_err());
    names_it(store.items(&bad, None, 10).await.unwrap_err());
    assert_eq!(last(&store, &good).await, 2);
    assert_eq!(store.items(&good, None, 10).await.unwrap().items.len(), 1);
    assert_eq!(store.resume_point(&good).await.unwrap().unwrap().events.len(), 2);

    let listed = store.sessions(SessionQuery::default()).await.unwrap().sessions;
    assert_eq!(listed.len(), 2);
    let shown = listed.iter().find(|session| session.session_id == bad).unwrap();
    assert_eq!(shown.title, "Title of bad");
    assert!(shown.last_error.as_deref().unwrap().contains("cannot be read"));
}

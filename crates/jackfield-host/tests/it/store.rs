//! What is stored of sessions is found again: lists, events, items, and nothing once they are deleted.

use bytes::Bytes;
use jackfield_api::command::{Reply, Told};
use jackfield_api::snapshot::SessionState;
use jackfield_api::{PendingId, Seq, SessionId, Snapshot, Timestamp};
use jackfield_host::store::{
    AppendError, Archived, Batch, Begun, CostBy, SessionQuery, SessionRecord, Store, StoreError,
};

use crate::store_fixtures::{
    append, batch, create, event, last, lines, open, prompted, question, record, said, seqs, settle, turn,
};

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
    let hole = store.append(&batch(&one, 4, 5));
    let double = store.append(&batch(&one, 2, 3));
    let nobody = store.append(&batch(&"three".into(), 1, 1));
    let uneven = store.append(&Batch::new(one.clone(), Seq(3), Seq(5), lines(&one, 3, 4)));
    let backwards = store.append(&Batch::new(one.clone(), Seq(3), Seq(1), Bytes::new()));
    let cut = store.append(&Batch::new(one.clone(), Seq(3), Seq(3), lines(&one, 3, 3).slice(..10)));
    let good = store.append(&batch(&two, 1, 7));
    let next = store.append(&batch(&one, 3, 3));

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
        store.append_then(&batch(&one, seq, seq), done);
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
    let waiting = store.append(&batch(&one, 1, 1));
    let other = store.clone();
    store.close().await;
    assert_eq!(waiting.await.unwrap(), Ok(()), "what waited was written");
    assert!(matches!(other.append(&batch(&one, 2, 2)).await.unwrap(), Err(AppendError::Stopped(_))));
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
    let enough = first[0].lines.len();
    assert_eq!(seqs(&store.log(&one, Seq(4), enough).await.unwrap()), (5..=10).collect::<Vec<_>>());
    assert_eq!(seqs(&store.log(&one, Seq(4), enough + 1).await.unwrap()), (5..=11).collect::<Vec<_>>());
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
        store.append(&batch).await.unwrap().unwrap();
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
    store.append(&batch).await.unwrap().unwrap();
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
    store.append(&batch).await.unwrap().unwrap();
    store.begin_command("prompted", Some(&gone)).await.unwrap();
    let told = Reply::Told(Told { answer: jackfield_api::Json::of(SECRET) });
    store.end_command("prompted", &Ok(told)).await.unwrap();
    assert_eq!(store.begin_command("delete", Some(&gone)).await.unwrap(), Begun::New);

    store.delete(&gone).await.unwrap();
    assert_eq!(store.session(&gone).await.unwrap(), None);
    assert_eq!(store.sessions(SessionQuery::default()).await.unwrap().sessions.len(), 1);
    assert!(store.search(SECRET, 10).await.unwrap().hits.is_empty());
    // Who decided what and when outlives it; what was said does not.
    let decisions = store.decisions(None, None, 10).await.unwrap();
    let [decision] = decisions.as_slice() else { panic!("{decisions:?}") };
    assert_eq!(
        (decision.decided_at, decision.pending_id, &decision.message),
        (Timestamp(2), PendingId(251), &None)
    );
    assert_eq!(store.decisions(Some(&gone), None, 10).await.unwrap(), decisions);
    assert_eq!(store.decisions(Some(&kept), None, 10).await.unwrap(), []);
    assert!(store.questions(10).await.unwrap().is_empty());
    assert!(store.costs(CostBy::Model, None).await.unwrap().rows.is_empty());
    assert!(store.unfinished().await.unwrap().is_empty());
    assert_eq!(store.append(&batch_behind(&gone)).await.unwrap(), Err(AppendError::NoSession(gone.clone())));
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

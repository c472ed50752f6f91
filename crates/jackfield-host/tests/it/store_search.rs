//! What is searched and found, and that a query is only ever words.

use jackfield_api::host::SearchHit;
use jackfield_api::normalized::{Generic, Normalized, ReadFile, ShellExec};
use jackfield_api::snapshot::{Item, ItemContent, QuestionItem, ToolItem};
use jackfield_api::tool::ToolStatus;
use jackfield_api::trouble::Error;
use jackfield_api::{Json, Timestamp};
use jackfield_host::store::Store;
use proptest::prelude::*;
use tempfile::TempDir;

use crate::store_fixtures::{create, item, prompted, question, said, settle};

async fn store_with(items: Vec<Item>) -> (TempDir, Store) {
    let folder = TempDir::new().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let session = create(&store, "one").await;
    settle(&store, &session, items).await;
    (folder, store)
}

async fn hits(store: &Store, query: &str) -> Vec<SearchHit> {
    store.search(query, 50).await.unwrap().hits
}

/// The numbers of the items that are found.
async fn found(store: &Store, query: &str) -> Vec<u64> {
    let mut seqs: Vec<u64> = hits(store, query).await.iter().map(|hit| hit.seq.0).collect();
    seqs.sort_unstable();
    seqs
}

fn tool(seq: u64, normalized: Normalized, output: &str) -> Item {
    let tool = ToolItem {
        tool_call_id: "toolu_1".into(),
        tool_name: "SomeTool".to_owned(),
        tool_title: "a fine title".to_owned(),
        tool_status: ToolStatus::Complete,
        bytes: 0,
        normalized: Some(normalized),
        input: None,
        output: Some(Json::parse(output.to_owned()).unwrap()),
        message: None,
    };
    item(seq, ItemContent::Tool(Box::new(tool)))
}

#[tokio::test]
async fn every_kind_of_text_is_found() {
    let mut plan = question(5);
    plan.plan = Some("first the foundation".to_owned());
    let shell = ShellExec { command: "cargo nextest run".to_owned(), ..ShellExec::default() };
    let read = ReadFile { file_path: "/ws/src/turbine.rs".to_owned(), ..ReadFile::default() };
    let generic = Generic { name: "x".to_owned(), input: Json::of("zebra"), output: None };
    let long = format!("{} farbehind", "filler ".repeat(1000));
    let (_folder, store) = store_with(vec![
        prompted(1, "please mend the Gearbox"),
        said(2, "it is mended"),
        tool(3, Normalized::ShellExec(Box::new(shell)), r#""all tests are green""#),
        tool(
            4,
            Normalized::ReadFile(Box::new(read)),
            r#"[{"type":"text","text":"inside a block"},{"type":"image"}]"#,
        ),
        item(5, ItemContent::Question(Box::new(QuestionItem { request: plan, ending: None }))),
        item(6, ItemContent::Error(Box::new(Error { error: "overloaded".to_owned(), code: "x".to_owned() }))),
        tool(7, Normalized::Generic(Box::new(generic)), &serde_json::to_string(&long).unwrap()),
    ])
    .await;
    for (query, expected) in [
        ("gearbox", vec![1]),
        ("mended", vec![2]),
        ("mend", vec![1, 2]),
        ("nextest", vec![3]),
        ("green", vec![3]),
        ("fine title", vec![3, 4, 7]),
        ("turbine.rs", vec![4]),
        ("inside block", vec![4]),
        ("foundation", vec![5]),
        ("overloaded", vec![6]),
        ("zebra", vec![7]),
        ("filler", vec![7]),
        ("farbehind", vec![]),
        ("gearbox overloaded", vec![]),
    ] {
        assert_eq!(found(&store, query).await, expected, "{query}");
    }
}

#[tokio::test]
async fn a_hit_says_where_it_is_and_marks_what_was_found() {
    let filler = "some words that nobody looks for ".repeat(20);
    let text = format!("{filler}the needle\u{2} lies\u{3} here {filler}");
    let (_folder, store) = store_with(vec![said(9, &text)]).await;
    let hits = hits(&store, "needle her").await;
    assert_eq!(hits.len(), 1);
    let hit = &hits[0];
    assert_eq!((hit.session_id.as_str(), hit.title.as_str()), ("one", "Title of one"));
    assert_eq!((hit.seq.0, hit.at, hit.kind.as_str()), (9, Timestamp(1_009), "text"));
    assert!(hit.excerpt.contains("the \u{2}needle\u{3}  lies  \u{2}here\u{3}"), "{:?}", hit.excerpt);
    assert_eq!(hit.excerpt.matches('\u{2}').count(), 2, "marks of the text itself are not in it");
    assert!(hit.excerpt.len() < 400, "{:?}", hit.excerpt);
}

#[tokio::test]
async fn what_fits_better_comes_first_and_of_equals_the_newer() {
    let day = 24 * 3600 * 1000;
    let at = |mut item: Item, days: u64| {
        item.at = Timestamp(days * day);
        item
    };
    let padding = "and other things of no interest to anybody at all ".repeat(10);
    let (_folder, store) = store_with(vec![
        at(said(1, "walnut"), 1),
        at(said(2, "walnut"), 300),
        at(said(3, &format!("walnut {padding}")), 300),
    ])
    .await;
    let order: Vec<u64> = hits(&store, "walnut").await.iter().map(|hit| hit.seq.0).collect();
    assert_eq!(order[0], 2, "{order:?}");
    assert_eq!(order.len(), 3);
    assert_eq!(store.search("walnut", 1).await.unwrap().hits.len(), 1);
    assert!(store.search("walnut", 0).await.unwrap().hits.is_empty());
}

#[tokio::test]
async fn words_are_found_whatever_their_case_and_accents_and_the_last_may_be_unfinished() {
    let (_folder, store) = store_with(vec![said(1, "Füße in der Straße, café")]).await;
    for query in ["FÜSSE", "straß", "STRASSE"] {
        let expected = if query == "straß" { vec![1] } else { vec![] };
        assert_eq!(found(&store, query).await, expected, "{query}");
    }
    for query in ["füße", "CAFE", "café", "caf", "in der stra", "fuße  café "] {
        assert_eq!(found(&store, query).await, [1], "{query}");
    }
    assert!(found(&store, "caf straße").await.is_empty(), "only the last word may be unfinished");
}

#[tokio::test]
async fn an_item_that_changed_is_found_by_its_new_words_only() {
    let (_folder, store) = store_with(vec![said(1, "earlier words")]).await;
    settle(&store, &"one".into(), vec![said(1, "later words")]).await;
    assert!(found(&store, "earlier").await.is_empty());
    assert_eq!(found(&store, "later").await, [1]);
    settle(&store, &"one".into(), vec![said(1, " ")]).await;
    assert!(found(&store, "words").await.is_empty());
}

#[tokio::test]
async fn what_looks_like_a_query_language_is_taken_for_words() {
    let (_folder, store) = store_with(vec![
        said(1, "apples AND pears OR NOT plums NEAR trees"),
        said(2, r#"fn main() { println!("x * y: {}", a^b); } -- text: words"#),
    ])
    .await;
    for (query, expected) in [
        ("", vec![]),
        (" \t\n", vec![]),
        ("\"", vec![]),
        ("*", vec![]),
        ("\"\"\"", vec![]),
        ("()", vec![]),
        ("AND", vec![1]),
        ("apples OR nothing", vec![]),
        ("NOT apples", vec![1]),
        ("NEAR(apples pears, 2)", vec![]),
        ("text:words", vec![2]),
        ("nocolumn:words", vec![]),
        ("{text}: words", vec![2]),
        ("println!(\"x", vec![2]),
        ("\"x * y", vec![2]),
        ("a^b", vec![2]),
        ("^fn", vec![2]),
        ("apples + pears", vec![1]),
        ("- pears", vec![1]),
        ("'; DROP TABLE words; --", vec![]),
        ("pears\0plums", vec![]),
        ("pea\u{2}rs", vec![]),
    ] {
        assert_eq!(found(&store, query).await, expected, "{query:?}");
    }
    assert!(found(&store, &"long ".repeat(100_000)).await.is_empty());
    assert!(found(&store, &"\"(".repeat(10_000)).await.is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn there_is_no_query_that_fails(queries in prop::collection::vec("(\\PC|[\"*(){}:^+\0 -]|AND|NEAR){0,12}", 16)) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let (_folder, store) = store_with(vec![said(1, "some words")]).await;
            for query in queries {
                store.search(&query, 10).await.unwrap();
            }
            store.close().await;
        });
    }
}

/// What the index has not taken in yet, and what it finds.
fn index(folder: &TempDir) -> (i64, i64) {
    let database = rusqlite::Connection::open(folder.path().join("jackfield.db")).unwrap();
    let count = |sql: &str| database.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
    (count("SELECT count(*) FROM unindexed"), count("SELECT count(*) FROM words WHERE words MATCH 'gearbox'"))
}

async fn caught_up(folder: &TempDir, found: i64) {
    let index = async {
        while index(folder) != (0, found) {
            tokio::time::sleep(std::time::Duration::from_millis(2)).await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_mins(1), index).await.unwrap();
}

#[tokio::test]
async fn the_index_takes_in_by_itself_what_was_stored_and_what_an_earlier_host_has_left() {
    let long = |seq| said(seq, &format!("the gearbox {}", "and more ".repeat(2_000)));
    let (folder, store) = store_with((1..=30).map(long).collect()).await;
    caught_up(&folder, 30).await;
    store.close().await;

    // As a host that was killed leaves it: the last items never taken in, the first ones written again since. One of
    // them has no words any more.
    let database = rusqlite::Connection::open(folder.path().join("jackfield.db")).unwrap();
    database
        .execute_batch(
            "DELETE FROM words WHERE rowid > 20;
             UPDATE indexed SET upto = 20;
             UPDATE item SET item = replace(item, 'gearbox', 'rudder') WHERE number = 1;
             UPDATE item SET item = 'nonsense' WHERE number = 2;
             INSERT INTO unindexed VALUES (1), (2), (3);",
        )
        .unwrap();
    drop(database);
    let store = Store::open(folder.path()).unwrap();
    caught_up(&folder, 28).await;
    assert_eq!(found(&store, "rudder").await, [1]);
    assert_eq!(found(&store, "gearbox").await.len(), 28);
    store.close().await;
}

#[tokio::test]
async fn an_item_with_the_number_of_one_that_was_removed_is_found() {
    let (folder, store) = store_with(vec![said(1, "a gearbox"), said(2, "a gearbox")]).await;
    caught_up(&folder, 2).await;
    store.delete(&"one".into()).await.unwrap();
    let items = || {
        let database = rusqlite::Connection::open(folder.path().join("jackfield.db")).unwrap();
        database.query_row("SELECT count(*) FROM item", [], |row| row.get::<_, i64>(0)).unwrap()
    };
    while items() != 0 {
        tokio::time::sleep(std::time::Duration::from_millis(2)).await;
    }
    let two = create(&store, "two").await;
    settle(&store, &two, vec![said(1, "a rudder"), said(2, "a mast"), said(3, "a keel")]).await;
    for (query, expected) in [("rudder", vec![1]), ("mast", vec![2]), ("keel", vec![3]), ("gearbox", vec![])]
    {
        assert_eq!(found(&store, query).await, expected, "{query}");
    }
    store.close().await;
}

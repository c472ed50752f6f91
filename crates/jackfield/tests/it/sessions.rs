//! `jackfield sessions` as people and scripts meet it.

use serde_json::Value;

use crate::program::Finished;
use crate::run::stage::Stage;

fn sessions(stage: &Stage, arguments: &[&str]) -> Finished {
    stage.jackfield(&[&["sessions"], arguments].concat())
}

fn json(stage: &Stage, arguments: &[&str]) -> Value {
    let finished = sessions(stage, &[arguments, &["--json"]].concat());
    assert_eq!((finished.code, finished.err.as_str()), (Some(0), ""), "{arguments:?}");
    serde_json::from_str(&finished.out).unwrap()
}

fn said(stage: &Stage, prompt: &str) -> String {
    let finished = stage.demo(prompt, &["--output-format", "json"]);
    let told: Value = serde_json::from_str(&finished.out).unwrap();
    told["session_id"].as_str().unwrap().to_owned()
}

#[test]
fn nothing_yet_says_what_to_do() {
    let stage = Stage::new();
    for (arguments, told) in [
        (vec!["list"], "`jackfield run \"…\"` begins one"),
        (vec!["search", "anything"], "Nothing was found for `anything`"),
        (vec!["import"], "There is nothing to import"),
        (vec!["import", "--all"], "There was nothing to import"),
    ] {
        let finished = sessions(&stage, &arguments);
        assert_eq!((finished.code, finished.err.as_str()), (Some(0), ""), "{arguments:?}");
        assert!(finished.out.contains(told), "{}", finished.out);
    }
    assert_eq!(json(&stage, &["list"]), Value::Array(Vec::new()));
    let unknown = sessions(&stage, &["show", "nobody"]);
    assert_eq!((unknown.code, unknown.out.as_str()), (Some(2), ""));
    assert!(unknown.err.contains("there is no session `nobody`\nhint: "), "{}", unknown.err);
}

#[test]
fn the_same_is_told_with_and_without_a_running_host() {
    let stage = Stage::new();
    let ids = [said(&stage, "think"), said(&stage, "markdown")];
    let told = || {
        let list = sessions(&stage, &["list"]).out;
        let short = &ids[0][..8];
        let show = sessions(&stage, &["show", short]).out;
        let export = sessions(&stage, &["export", short]).out;
        (
            list,
            show,
            export,
            json(&stage, &["list"]),
            json(&stage, &["show", short]),
            json(&stage, &["search", "table"]),
        )
    };
    let alone = told();
    let host = stage.serve();
    let through = told();
    drop(host);
    assert_eq!(alone, through);

    let (list, show, export, listed, shown, found) = alone;
    let lines: Vec<&str> = list.lines().collect();
    assert!(lines[0].starts_with("ID        STATE"), "{list}");
    assert!(lines[1].starts_with(&ids[1][..8]) && lines[2].starts_with(&ids[0][..8]), "newest first: {list}");
    assert!(show.contains("❯ think") && show.contains("── turn 1 ended"), "{show}");
    assert!(export.starts_with("# think\n"), "{export}");
    assert_eq!(listed[0]["session_id"], ids[1]);
    assert_eq!(shown["session"]["session_id"], ids[0]);
    assert_eq!(found["hits"][0]["session_id"], ids[1]);
}

#[test]
fn a_name_that_could_mean_several_means_none() {
    let stage = Stage::new();
    let ids: Vec<String> = (0..2).map(|_| said(&stage, "help")).collect();
    let both = sessions(&stage, &["show", ""]);
    assert_eq!(both.code, Some(2), "{}", both.err);
    for id in &ids {
        let other = ids.iter().find(|other| *other != id).unwrap();
        let same = id.chars().zip(other.chars()).take_while(|(one, other)| one == other).count();
        // The CLI's own names count too, so that one letter may not be enough.
        let finished = sessions(&stage, &["rename", &id[..8.max(same + 1)], "mine"]);
        assert_eq!(finished.code, Some(0), "{}", finished.err);
        if same > 0 {
            assert_eq!(sessions(&stage, &["show", &id[..same]]).code, Some(2));
        }
    }
}

#[test]
fn sessions_are_renamed_archived_and_deleted() {
    let stage = Stage::new();
    let ids = [said(&stage, "help"), said(&stage, "think")];
    let short = &ids[0][..13];
    let renamed = json(&stage, &["rename", short, "a better title"]);
    assert_eq!(renamed[0]["title"], "a better title");
    assert_eq!(sessions(&stage, &["rename", short, " "]).code, Some(2));

    json(&stage, &["archive", short]);
    let left = |stage: &Stage, arguments: &[&str]| json(stage, arguments).as_array().unwrap().len();
    assert_eq!((left(&stage, &["list"]), left(&stage, &["list", "--all"])), (1, 2));
    json(&stage, &["archive", "--undo", short]);
    assert_eq!(left(&stage, &["list"]), 2);

    let unsure = sessions(&stage, &["delete", short]);
    assert_eq!((unsure.code, unsure.out.as_str()), (Some(2), ""));
    assert!(unsure.err.contains("`--yes`"), "{}", unsure.err);
    let deleted = sessions(&stage, &["delete", short, &ids[1], "--yes"]);
    assert_eq!((deleted.code, deleted.out.lines().count()), (Some(0), 2), "{}", deleted.err);
    assert_eq!(left(&stage, &["list", "--all"]), 0);
}

#[test]
fn an_export_is_a_file_that_is_asked_for() {
    let stage = Stage::new();
    let id = said(&stage, "edit");
    let path = stage.folder.path().join("talk.md");
    let finished = sessions(&stage, &["export", &id, "-o", path.to_str().unwrap()]);
    assert_eq!((finished.code, finished.out.as_str(), finished.err.as_str()), (Some(0), "", ""));
    let written = std::fs::read_to_string(&path).unwrap();
    assert_eq!(written.trim_end(), sessions(&stage, &["export", &id]).out.trim_end());
    let json = sessions(&stage, &["export", &id, "--format", "json"]).out;
    let document: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(document["session"]["session_id"], id);
    let nowhere = sessions(&stage, &["export", &id, "-o", "/no/such/folder/talk.md"]);
    assert_eq!(nowhere.code, Some(2), "{}", nowhere.err);
}

//! Rules of the host: what they say to questions as the core really asks them.

use jackfield_api::host::{HostRule, HostRules};
use jackfield_api::normalized::{Generic, ModifyFile, Normalized, ReadFile, ShellExec};
use jackfield_api::permission::{Behavior, PermissionKind, PermissionRequest};
use jackfield_api::{Json, PendingId, SessionId};
use jackfield_host::files;
use jackfield_host::rules::{
    Asked, Judgement, LONGEST_PATTERN, MOST_RULES, files_asked_about, judge, judge_resolved, validate,
};
use proptest::prelude::*;
use serde_json::json;

fn request(tool: &str, normalized: Normalized, input: &serde_json::Value) -> PermissionRequest {
    PermissionRequest {
        pending_id: PendingId(1),
        kind: PermissionKind::Tool,
        tool_call_id: None,
        tool_name: Some(tool.to_owned()),
        tool_title: tool.to_owned(),
        normalized: Some(normalized),
        input: Some(Json::of(input)),
        suggestions: Vec::new(),
        reason: None,
        questions: Vec::new(),
        plan: None,
        message: None,
        schema: None,
    }
}

fn bash(command: &str) -> PermissionRequest {
    let exec = ShellExec { command: command.to_owned(), ..ShellExec::default() };
    request("Bash", Normalized::ShellExec(Box::new(exec)), &json!({ "command": command }))
}

fn edit(path: &str) -> PermissionRequest {
    let modify = ModifyFile { file_path: path.to_owned(), mutations: Vec::new() };
    request(
        "Edit",
        Normalized::ModifyFile(Box::new(modify)),
        &json!({ "file_path": path, "old_string": "a" }),
    )
}

fn read(path: &str) -> PermissionRequest {
    let read = ReadFile { file_path: path.to_owned(), ..ReadFile::default() };
    request("Read", Normalized::ReadFile(Box::new(read)), &json!({ "file_path": path }))
}

fn foreign(input: &serde_json::Value) -> PermissionRequest {
    let generic = Generic { name: "mcp__x__y".to_owned(), input: Json::of(input), output: None };
    request("mcp__x__y", Normalized::Generic(Box::new(generic)), input)
}

/// `allow tool=Edit path=src/**`
fn rule(text: &str) -> HostRule {
    let (behavior, rest) = text.split_once(' ').unwrap_or((text, ""));
    let behavior = match behavior {
        "allow" => Behavior::Allow,
        "deny" => Behavior::Deny,
        "ask" => Behavior::Ask,
        other => panic!("{other}"),
    };
    let mut rule = HostRule {
        behavior,
        tool: None,
        path: None,
        command: None,
        folder: None,
        session_id: None,
        note: None,
    };
    for field in rest.split(", ").filter(|field| !field.is_empty()) {
        let (name, value) = field.split_once('=').unwrap();
        let value = value.to_owned();
        match name {
            "tool" => rule.tool = Some(value),
            "path" => rule.path = Some(value),
            "command" => rule.command = Some(value),
            "folder" => rule.folder = Some(value),
            "session" => rule.session_id = Some(value.into()),
            other => panic!("{other}"),
        }
    }
    rule
}

fn rules(texts: &[&str]) -> HostRules {
    HostRules { rules: texts.iter().map(|text| rule(text)).collect() }
}

fn said(texts: &[&str], request: &PermissionRequest) -> (Behavior, Option<usize>) {
    let session_id = SessionId::from("s1");
    let Judgement { behavior, rule } =
        judge(&rules(texts), &Asked { session_id: &session_id, folder: "/ws/project", request });
    (behavior, rule)
}

#[test]
fn without_a_rule_that_fits_a_person_is_asked() {
    assert_eq!(said(&[], &bash("ls")), (Behavior::Ask, None));
    assert_eq!(said(&["allow tool=Edit", "deny command=rm *"], &bash("ls")), (Behavior::Ask, None));
}

#[test]
fn the_first_rule_that_fits_counts() {
    let texts = ["ask command=git push*", "allow command=git *", "deny tool=Bash"];
    assert_eq!(said(&texts, &bash("git push origin")), (Behavior::Ask, Some(0)));
    assert_eq!(said(&texts, &bash("git status")), (Behavior::Allow, Some(1)));
    assert_eq!(said(&texts, &bash("ls")), (Behavior::Deny, Some(2)));
}

#[test]
fn a_rule_by_tool_takes_a_name_or_a_pattern() {
    let question = foreign(&json!({}));
    assert_eq!(said(&["allow tool=mcp__x__*"], &question).0, Behavior::Allow);
    assert_eq!(said(&["allow tool=mcp__x__y"], &question).0, Behavior::Allow);
    assert_eq!(said(&["allow tool=mcp__x"], &question).0, Behavior::Ask);
    assert_eq!(said(&["allow tool=MCP__X__Y"], &question).0, Behavior::Ask);
}

#[test]
fn a_rule_by_path_goes_by_the_sessions_folder() {
    for path in ["src/a.rs", "/ws/project/src/a.rs", "/ws/project/./docs/../src/a.rs"] {
        assert_eq!(said(&["allow tool=Edit, path=src/**"], &edit(path)).0, Behavior::Allow, "{path}");
    }
    for path in [
        "docs/a.md",
        "/src/a.rs",
        "src/../a.rs",
        "../project2/src/a.rs",
        "/ws/project/src/../../x",
        "~/src/a",
    ] {
        assert_eq!(said(&["allow tool=Edit, path=src/**"], &edit(path)).0, Behavior::Ask, "{path}");
    }
    assert_eq!(said(&["allow path=/etc/hosts"], &read("/etc/hosts")).0, Behavior::Allow);
    assert_eq!(said(&["allow path=/etc/*"], &read("../../etc/hosts")).0, Behavior::Allow);
}

#[test]
fn a_rule_may_hold_only_in_a_folder_or_a_session() {
    assert_eq!(said(&["allow tool=Edit, folder=/ws"], &edit("a")).0, Behavior::Allow);
    assert_eq!(said(&["allow tool=Edit, folder=/ws/project/"], &edit("a")).0, Behavior::Allow);
    assert_eq!(said(&["allow tool=Edit, folder=/ws/proj"], &edit("a")).0, Behavior::Ask);
    assert_eq!(said(&["allow tool=Edit, session=s1"], &edit("a")).0, Behavior::Allow);
    assert_eq!(said(&["allow tool=Edit, session=s2"], &edit("a")).0, Behavior::Ask);
}

#[test]
fn a_rule_that_allows_by_command_never_covers_several() {
    for command in
        ["git log; rm x", "git log && rm x", "git log | sh", "git log $(rm x)", "git log > x", "git log\nrm"]
    {
        assert_eq!(said(&["allow command=git *"], &bash(command)).0, Behavior::Ask, "{command}");
        // And a rule against it finds it.
        assert_eq!(
            said(&["deny command=git *", "allow tool=Bash"], &bash(command)).0,
            Behavior::Deny,
            "{command}"
        );
    }
}

#[test]
fn a_rule_that_denies_and_may_fit_stops_those_that_allow() {
    assert_eq!(said(&["deny command=rm *", "allow tool=Bash"], &bash("$X -rf /")), (Behavior::Ask, Some(0)));
    assert_eq!(said(&["deny command=rm *", "allow tool=Bash"], &bash("ls 'a")), (Behavior::Ask, Some(0)));
    assert_eq!(said(&["deny command=rm *", "allow tool=Bash"], &bash("ls $X")), (Behavior::Allow, Some(1)));
    // The CLI may know where `~` is; here it is not known.
    assert_eq!(
        said(&["deny path=/home/**", "allow tool=Read"], &read("~/.ssh/id")),
        (Behavior::Ask, Some(0))
    );
    let mut unreadable = edit("a");
    unreadable.input = Some(Json::parse(r#"{"file_path":"\ud800"}"#.to_owned()).unwrap());
    assert_eq!(said(&["deny path=secret/*", "allow tool=Edit"], &unreadable), (Behavior::Ask, Some(0)));
    assert_eq!(said(&["allow path=**"], &unreadable), (Behavior::Ask, None));
}

#[test]
fn a_rule_allows_only_files_and_commands_of_tools_that_are_understood() {
    // What a foreign tool does with a path or a command is not known; a rule against it still counts.
    let question = foreign(&json!({ "path": "src/a", "destination": "/etc/passwd", "command": "ls" }));
    assert_eq!(said(&["allow path=src/*", "allow command=ls"], &question), (Behavior::Ask, None));
    assert_eq!(said(&["deny path=src/*"], &question).0, Behavior::Deny);
    assert_eq!(said(&["deny command=ls"], &question).0, Behavior::Deny);
    // A look at a running command is no command.
    let exec = ShellExec { command: "ls".to_owned(), ..ShellExec::default() };
    let look = request("BashOutput", Normalized::ShellExec(Box::new(exec)), &json!({ "bash_id": "ls" }));
    assert_eq!(said(&["allow command=*"], &look), (Behavior::Ask, None));
    // Two names for the file: both have to be allowed.
    let mut both = edit("src/a");
    both.input = Some(Json::of(&json!({ "file_path": "src/a", "path": "/etc/passwd" })));
    assert_eq!(said(&["allow path=src/*"], &both), (Behavior::Ask, None));
    both.input = Some(Json::of(&json!({ "file_path": ["src/a"] })));
    assert_eq!(said(&["allow path=src/*"], &both), (Behavior::Ask, None));
}

#[test]
fn questions_plans_and_forms_are_never_allowed_by_a_rule() {
    for kind in
        [PermissionKind::Question, PermissionKind::Plan, PermissionKind::Elicitation, PermissionKind::Dialog]
    {
        let mut question = edit("a");
        question.kind = kind;
        assert_eq!(said(&["allow tool=Edit", "allow path=**"], &question), (Behavior::Ask, None));
        assert_eq!(said(&["deny tool=Edit"], &question), (Behavior::Deny, Some(0)));
    }
}

#[test]
fn a_rule_that_would_allow_everything_allows_nothing() {
    for text in ["allow", "allow tool=*", "allow tool=**, folder=/ws", "allow session=s1"] {
        assert_eq!(said(&[text], &bash("ls")), (Behavior::Ask, None), "{text}");
        assert!(validate(&rules(&[text])).is_err(), "{text}");
    }
    assert_eq!(said(&["deny"], &bash("ls")), (Behavior::Deny, Some(0)));
    assert_eq!(validate(&rules(&["deny", "ask tool=*"])), Ok(()));
}

#[test]
fn a_link_in_an_allowed_folder_allows_nothing_elsewhere() {
    let home = tempfile::tempdir().unwrap();
    let root = std::fs::canonicalize(home.path()).unwrap();
    let (project, secret) = (root.join("project"), root.join("secret"));
    std::fs::create_dir_all(project.join("src")).unwrap();
    std::fs::create_dir(&secret).unwrap();
    std::fs::write(project.join("src/real"), "").unwrap();
    std::os::unix::fs::symlink(&secret, project.join("src/out")).unwrap();
    std::os::unix::fs::symlink(secret.join("yet-to-be-made"), project.join("src/new")).unwrap();
    std::os::unix::fs::symlink("real", project.join("src/in")).unwrap();
    // The session knows its folder by another name.
    std::os::unix::fs::symlink(&project, root.join("alias")).unwrap();

    let session_id = SessionId::from("s1");
    let folder = root.join("alias").to_string_lossy().into_owned();
    let allow = rules(&["allow tool=Edit, path=src/**"]);
    let outside = rules(&[&format!("deny path={}/**", secret.display()), "allow tool=Edit"]);
    for (path, allowed) in [
        ("src/real", true),
        ("src/in", true),
        ("src/fresh", true),
        ("src/out/x", false),
        ("src/out", false),
        ("src/new", false),
    ] {
        let request = edit(path);
        let asked = Asked { session_id: &session_id, folder: &folder, request: &request };
        let resolved = files::resolve(folder.as_ref(), &files_asked_about(&request));
        let expected = if allowed { Behavior::Allow } else { Behavior::Ask };
        assert_eq!(judge_resolved(&allow, &asked, &resolved).behavior, expected, "{path} {resolved:?}");
        let expected = if allowed { Behavior::Allow } else { Behavior::Deny };
        assert_eq!(judge_resolved(&outside, &asked, &resolved).behavior, expected, "{path} {resolved:?}");
        // By name alone they all look alike.
        assert_eq!(judge(&allow, &asked).behavior, Behavior::Allow);
    }
}

#[test]
fn what_is_wrong_with_rules_is_said_in_plain_words() {
    let problems = |texts: &[&str]| -> Vec<String> {
        validate(&rules(texts)).unwrap_err().iter().map(ToString::to_string).collect()
    };
    assert_eq!(
        problems(&["deny", "allow"]),
        ["rule 2 would allow everything: say which tool, which path or which command"]
    );
    assert_eq!(
        problems(&["deny path=a, command=b"]),
        ["rule 1 asks for a path and a command, and nothing has both: make two rules"]
    );
    assert_eq!(problems(&["deny tool="]), ["the tool of rule 1 is empty: leave it out to mean all"]);
    assert_eq!(
        problems(&["deny path=../x", "deny path=~/x"]),
        [
            "the path of rule 1 contains `..` or begins with `~`: write it out from `/`",
            "the path of rule 2 contains `..` or begins with `~`: write it out from `/`"
        ]
    );
    assert_eq!(problems(&["deny folder=ws"]), ["the folder of rule 1 does not begin with `/`"]);
    assert_eq!(problems(&["deny command=a\nb"]), ["the command of rule 1 contains a control character"]);
    let long = format!("deny command={}", "a".repeat(LONGEST_PATTERN + 1));
    assert_eq!(problems(&[&long]), ["the command of rule 1 is longer than 1000 bytes"]);
    let many = vec!["deny"; MOST_RULES + 1];
    assert_eq!(problems(&many), ["there are 1001 rules, and at most 1000 are possible"]);
    assert_eq!(validate(&rules(&many[1..])), Ok(()));
}

proptest! {
    #[test]
    fn no_rule_and_no_question_makes_the_judge_fail(
        behavior in prop::sample::select(vec!["allow", "deny", "ask"]),
        tool in prop::option::of("\\PC{0,12}"),
        path in prop::option::of("[a/.*?~]{0,20}|\\PC{0,12}"),
        command in prop::option::of(r#"[a *;$()'"`\\]{0,20}|\PC{0,12}"#),
        folder in prop::option::of("[/a.]{0,8}"),
        text in r#"[a/.*?~ ;$()'"`\\]{0,30}|\PC{0,30}"#,
        session_folder in "[/a.]{0,8}",
    ) {
        let rule = HostRule { tool, path, command, folder, ..rule(behavior) };
        let rules = HostRules { rules: vec![rule] };
        let session_id = SessionId::from("s");
        let _ = validate(&rules);
        for request in [bash(&text), edit(&text), read(&text), foreign(&json!({ "path": text }))] {
            let asked = Asked { session_id: &session_id, folder: &session_folder, request: &request };
            let judgement = judge(&rules, &asked);
            // What a rule does not say is not done.
            prop_assert!(judgement.behavior == Behavior::Ask || judgement.behavior == rules.rules[0].behavior);
        }
    }

    #[test]
    fn a_path_that_leaves_the_folder_is_allowed_by_no_relative_rule(
        parts in prop::collection::vec(prop::sample::select(vec!["..", ".", "a", "b", ""]), 0..12),
    ) {
        let path = parts.join("/");
        let mut depth = 0_i32;
        let mut left = path.starts_with('/');
        for part in &parts {
            depth += match *part { ".." => -1, "." | "" => 0, _ => 1 };
            left |= depth < 0;
        }
        // It may leave and come back by the folder's own name only, which is not among the parts.
        if left {
            prop_assert_eq!(said(&["allow path=**"], &edit(&path)).0, Behavior::Ask);
        }
    }
}

//! Options against the real CLIs: the table of flags, and what values and folders can and cannot do.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

use jackfield_sdk::flags::{Form, Listing, TABLE};
use jackfield_sdk::{Environment, Options, Switch, Trust, Version, command_line, environment};
use jackfield_testkit::api::{Block, Content, Reply, Scenario, ScriptedApi};
use jackfield_testkit::cli::{Cli, NEWER_VERSION, PINNED_VERSIONS, Sandbox};
use jackfield_wire::McpServer;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::timeout;

use crate::live::TIME_LIMIT;

/// A port on which nobody listens: these questions end before the CLI has anything to ask the API.
const NO_API: &str = "http://127.0.0.1:9";

/// No CLI knows this flag. The first unknown flag is the one that the CLI complains about.
const LAST: &str = "--no-cli-knows-this";

/// What a CLI that ran to its end said.
struct Said {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

#[tokio::test(flavor = "multi_thread")]
async fn the_table_says_what_the_older_cli_takes() {
    compare_the_table(PINNED_VERSIONS[0]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_table_says_what_the_newer_cli_takes() {
    compare_the_table(PINNED_VERSIONS[1]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_we_refuse_the_cli_refuses_too() {
    let id = "11111111-2222-4333-8444-555555555555";
    let session = format!("--session-id={id}");
    let resume = format!("--resume={id}");
    let at = format!("--resume-session-at={id}");
    for version in PINNED_VERSIONS {
        for (flags, complaint) in [
            (vec![&*session, &*resume], "--fork-session"),
            (vec![&*session, "--continue"], "--fork-session"),
            (vec!["--session-id=-x"], "Must be a valid UUID"),
            (vec!["--continue", &*at], "requires --resume"),
            (vec!["--max-budget-usd=0"], "must be a positive number"),
        ] {
            let stream = ["--input-format=stream-json", "--output-format=stream-json", "--verbose"];
            let words: Vec<_> = ["-p"].into_iter().chain(stream).chain(flags).collect();
            let said = ask(version, &words).await;
            assert_eq!(said.code, Some(1), "{version} {words:?}: {}", said.stderr);
            assert!(said.stderr.contains(complaint), "{version} {words:?}: {}", said.stderr);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn s22_values_that_begin_with_a_dash_reach_the_cli_as_values() {
    for version in PINNED_VERSIONS {
        let sandbox = Sandbox::new().unwrap();
        let nothing =
            |name: &str| McpServer::Stdio { command: name.to_owned(), args: vec![], env: [].into() };
        let options = Options::new(&sandbox.places().workspace)
            .model("--bare")
            .append_system_prompt("--safe-mode")
            .name("--continue")
            .tools(["Read", "Bash"])
            .allow_tool("Bash(echo a, b)")
            .allow_tool("-x")
            .disallow_tool("Bash")
            .add_directory("--fork-session")
            .add_directory(&sandbox.places().home)
            .mcp_server("one", nothing("--version"))
            .mcp_server("two", nothing("false"));
        let (lines, requests) = converse(version, &sandbox, &options).await;
        let init = line(&lines, "init");
        assert_eq!(init["model"], "--bare", "{version}");
        assert_eq!(init["tools"], json!(["Read"]), "{version}");
        let servers: Vec<_> =
            init["mcp_servers"].as_array().unwrap().iter().map(|server| &server["name"]).collect();
        assert_eq!(servers, ["one", "two"], "{version}");
        assert!(requests.iter().any(|body| body["system"].to_string().contains("--safe-mode")), "{version}");
        if version == NEWER_VERSION {
            let directories = init["additional_directories"].to_string();
            assert!(directories.contains(&*sandbox.places().home.to_string_lossy()), "{directories}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn s20_a_folder_runs_nothing_before_it_is_trusted() {
    for version in PINNED_VERSIONS {
        for trust in [Trust::Untrusted, Trust::Trusted] {
            let sandbox = Sandbox::new().unwrap();
            let proof = sandbox.places().temporary.join("proof");
            let (hook, server) = (format!("{}.hook", proof.display()), format!("{}.server", proof.display()));
            let command = json!({ "type": "command", "command": format!("touch {hook}") });
            let settings = json!({
                "hooks": { "SessionStart": [{ "hooks": [command] }] },
                "env": { "ANTHROPIC_MODEL": "model-of-the-folder" },
                "enableAllProjectMcpServers": true,
            });
            let servers = json!({ "mcpServers": { "evil": { "command": "touch", "args": [server] } } });
            sandbox.write(".claude/settings.json", &settings.to_string()).unwrap();
            sandbox.write(".mcp.json", &servers.to_string()).unwrap();
            sandbox.write(".env", "ANTHROPIC_MODEL=model-of-the-folder\n").unwrap();
            let options = Options::new(&sandbox.places().workspace).trust(trust);
            let (lines, _) = converse(version, &sandbox, &options).await;

            let is_trusted = trust == Trust::Trusted;
            let ran = |path: &str| std::path::Path::new(path).exists();
            assert_eq!((ran(&hook), ran(&server)), (is_trusted, is_trusted), "{version} {trust:?}");
            let init = line(&lines, "init");
            assert_eq!(init["model"] == "model-of-the-folder", is_trusted, "{version} {trust:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn session_state_and_replay_come_unless_switched_off() {
    for version in PINNED_VERSIONS {
        let sandbox = Sandbox::new().unwrap();
        for switch in [Switch::On, Switch::Off] {
            let options = Options::new(&sandbox.places().workspace)
                .session_state_events(switch)
                .replay_user_messages(switch)
                .partial_messages(switch);
            let (lines, _) = converse(version, &sandbox, &options).await;
            let has = |is: fn(&Value) -> bool| lines.iter().any(is);
            let seen = [
                has(|line| line["subtype"] == "session_state_changed"),
                has(|line| line["isReplay"] == true),
                has(|line| line["type"] == "stream_event"),
            ];
            assert_eq!(seen, [switch.is_on(); 3], "{version} {switch:?}");
        }
    }
}

async fn compare_the_table(version: &str) {
    let number: Version = version.parse().unwrap();
    let help = ask(version, &["--help"]).await.stdout;
    let mut with_values = Vec::new();
    for flag in TABLE {
        if !flag.is_known_to(number) {
            let complaint =
                if flag.form == Form::Choice { "is invalid".to_owned() } else { unknown(flag.name) };
            expect(version, &[flag.name, LAST], &complaint).await;
            continue;
        }
        if flag.form != Form::Choice {
            let is_shown = help.split([' ', ',', '\n']).any(|word| word == flag.name);
            assert_eq!(is_shown, flag.listing == Listing::Shown, "{version} --help and {}", flag.name);
        }
        // By itself: a flag that must have a value would swallow the word behind it.
        if matches!(flag.form, Form::Switch | Form::Choice | Form::Optional) {
            expect(version, &[flag.name, LAST], &unknown(LAST)).await;
        }
        if matches!(flag.form, Form::Value | Form::List | Form::Optional) {
            with_values.push(format!("{}={}", flag.name, a_value_for(flag.name)));
        }
    }
    // All at once: a flag that takes no value makes an unknown flag of the whole word.
    let words: Vec<_> = with_values.iter().map(|word| &**word).chain([LAST]).collect();
    expect(version, &words, &unknown(LAST)).await;
}

async fn expect(version: &str, words: &[&str], complaint: &str) {
    let said = ask(version, words).await;
    assert!(said.stderr.contains(complaint), "{version} {words:?}, not `{complaint}`: {}", said.stderr);
}

fn unknown(word: &str) -> String {
    format!("unknown option '{word}'")
}

fn a_value_for(name: &str) -> &'static str {
    match name {
        "--effort" => "low",
        "--input-format" | "--output-format" => "stream-json",
        "--permission-mode" => "plan",
        "--permission-prompts" => "none",
        "--prompt-suggestions" => "true",
        "--setting-sources" => "user",
        "--settings" => "{}",
        "--system-prompt-snapshot" => "on",
        "--thinking" => "adaptive",
        "--thinking-display" => "omitted",
        _ => "1",
    }
}

/// Starts a CLI that is expected to end by itself, with nothing on its standard input.
async fn ask<Flag: AsRef<OsStr>>(version: &str, flags: &[Flag]) -> Said {
    let cli = Cli::locate(version).unwrap_or_else(|error| panic!("{error}"));
    let sandbox = Sandbox::new().unwrap();
    let mut running = cli.start(&sandbox, NO_API, flags, &BTreeMap::new()).unwrap();
    let child = running.child();
    drop(child.stdin.take());
    let (mut stdout, mut stderr) = (String::new(), String::new());
    let (mut out, mut err) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
    let read = async { tokio::try_join!(out.read_to_string(&mut stdout), err.read_to_string(&mut stderr)) };
    timeout(TIME_LIMIT, read).await.unwrap().unwrap();
    let code = timeout(TIME_LIMIT, child.wait()).await.unwrap().unwrap().code();
    Said { code, stdout, stderr }
}

/// One prompt to a CLI started as the options say, until it ends. Gives its lines and what it asked the API.
async fn converse(version: &str, sandbox: &Sandbox, options: &Options) -> (Vec<Value>, Vec<Value>) {
    let cli = Cli::locate(version).unwrap_or_else(|error| panic!("{error}"));
    let reply = Reply { blocks: vec![Block::new(Content::Text { text: "done".into() })], ..Reply::default() };
    let api = ScriptedApi::start(Scenario { turns: vec![reply] }, sandbox.places().clone()).await.unwrap();
    let inherited = sandbox.environment(&api.url());
    let inherited = inherited.into_iter().map(|(name, value)| (OsString::from(name), OsString::from(value)));
    let additions = as_text(environment(inherited, options));
    let arguments = command_line(options, version.parse().unwrap()).unwrap();
    let mut running = cli.start(sandbox, &api.url(), &arguments, &additions).unwrap();
    let child = running.child();
    let prompt = json!({ "type": "user", "message": { "role": "user", "content": "hello" } });
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(format!("{prompt}\n").as_bytes()).await.unwrap();
    drop(stdin);
    let (mut stdout, mut stderr) = (String::new(), String::new());
    let (mut out, mut err) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
    let read = async { tokio::try_join!(out.read_to_string(&mut stdout), err.read_to_string(&mut stderr)) };
    timeout(TIME_LIMIT, read).await.unwrap().unwrap();
    let status = timeout(TIME_LIMIT, child.wait()).await.unwrap().unwrap();
    assert!(status.success(), "{version}: {status}\n{stderr}\n{stdout}");
    let lines = stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    (lines, api.requests().into_iter().map(|request| request.body).collect())
}

fn line<'a>(lines: &'a [Value], subtype: &str) -> &'a Value {
    lines
        .iter()
        .find(|line| line["subtype"] == subtype)
        .unwrap_or_else(|| panic!("no {subtype} in {lines:#?}"))
}

fn as_text(environment: Environment) -> BTreeMap<String, String> {
    let text = |word: OsString| word.into_string().unwrap();
    environment.into_iter().map(|(name, value)| (text(name), text(value))).collect()
}

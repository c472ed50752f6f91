//! What options become, and what they are refused for.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::ffi::OsString;
use std::num::{NonZeroU32, NonZeroU64};
use std::os::unix::ffi::OsStringExt;

use jackfield_wire::McpServer;
use serde_json::{Map, Value};

use super::*;
use crate::version::MINIMUM_VERSION;

const LATER: Version = Version::new(2, 1, 325);
const ID: &str = "11111111-2222-4333-8444-555555555555";

fn words(options: &Options) -> Vec<String> {
    let words = command_line(options, LATER).unwrap();
    words.into_iter().map(|word| word.into_string().unwrap()).collect()
}

fn error(options: &Options) -> OptionError {
    command_line(options, LATER).unwrap_err()
}

fn object(value: Value) -> Map<String, Value> {
    let Value::Object(object) = value else { panic!("not an object: {value}") };
    object
}

#[test]
fn a_session_starts_as_the_design_says() {
    let expected = [
        "--print",
        "--input-format=stream-json",
        "--output-format=stream-json",
        "--verbose",
        "--include-partial-messages",
        "--replay-user-messages",
        "--permission-prompt-tool=stdio",
        "--setting-sources=user",
        "--strict-mcp-config",
    ];
    assert_eq!(words(&Options::new("/ws")), expected);
}

#[test]
fn a_trusted_folder_adds_its_settings_and_servers() {
    let words = words(&Options::new("/ws").trust(Trust::Trusted));
    assert!(!words.iter().any(|word| word.starts_with("--setting-sources") || word == "--strict-mcp-config"));
}

#[test]
fn what_is_on_can_be_switched_off() {
    let options = Options::new("/ws")
        .trust(Trust::Trusted)
        .partial_messages(Switch::Off)
        .replay_user_messages(Switch::Off)
        .permission_prompts(PermissionPrompts::Nobody);
    assert_eq!(words(&options)[4..], ["--permission-prompts=none"]);
    // Older versions ask nobody without being told.
    assert_eq!(command_line(&options, MINIMUM_VERSION).unwrap().len(), 4);
}

#[test]
fn s22_every_value_stays_with_its_flag() {
    let evil = "--dangerously-skip-permissions";
    let options = Options::new("/ws")
        .model(evil)
        .fallback_model(evil)
        .effort(Effort::Other(evil.to_owned()))
        .beta(evil)
        .system_prompt(evil)
        .append_system_prompt(evil)
        .append_subagent_system_prompt(Prompt::Text(evil.to_owned()))
        .agent(evil)
        .permission_mode(evil.into())
        .permission_prompts(PermissionPrompts::Tool(evil.to_owned()))
        .tools([evil])
        .allow_tool(evil)
        .disallow_tool(evil)
        .add_directory(evil)
        .mcp_config_file(evil)
        .plugin(Plugin::Path(evil.into()))
        .plugin(Plugin::WithoutMcp(evil.into()))
        .plugin(Plugin::Url(evil.to_owned()))
        .channel(evil)
        .settings_file(evil)
        .project_config_root(evil)
        .name(evil)
        .worktree(Worktree::Named(evil.to_owned()))
        .debug(DebugFilter::Categories(evil.to_owned()))
        .debug_file(evil)
        .extra_flag_with("advisor", evil);
    let words = words(&options);
    assert!(words.iter().all(|word| word.starts_with("--") && word != evil), "{words:#?}");
    assert_eq!(words.iter().filter(|word| word.ends_with(evil)).count(), 26);
}

#[test]
fn each_option_becomes_its_flag() {
    let server = McpServer::Stdio { command: "x".into(), args: vec!["-y".into()], env: [].into() };
    let options = Options::new("/ws")
        .trust(Trust::Trusted)
        .fallback_model("one")
        .fallback_model("two")
        .effort(Effort::ExtraHigh)
        .thinking(Thinking::Adaptive)
        .max_thinking_tokens(0)
        .thinking_display(ThinkingDisplay::Highlights)
        .system_prompt_file("p.md")
        .system_prompt_snapshot(Switch::Off)
        .dynamic_sections(Switch::Off)
        .agents(object(json!({ "reviewer": { "description": "d" } })))
        .json_schema(object(json!({ "type": "object" })))
        .max_turns(NonZeroU32::MIN)
        .max_budget_usd(0.5)
        .task_budget(NonZeroU64::MIN)
        .permission_mode(PermissionMode::BypassPermissions)
        .allow_bypass()
        .tools::<String>([])
        .allow_tool("Bash(git log *)")
        .allow_tool("Edit")
        .mcp_server("tools", server)
        .mcp_config_file("{}")
        .slash_commands(Switch::Off)
        .setting_sources([SettingSource::User, SettingSource::Local])
        .settings(object(json!({ "env": {} })))
        .managed_settings(Map::new())
        .bare(Switch::On)
        .safe_mode(Switch::On)
        .session_id(ID)
        .resume(ID)
        .fork()
        .resume_at(ID)
        .resume_drops_turn(ID)
        .persistence(Switch::Off)
        .worktree(Worktree::Unnamed)
        .hook_events(Switch::On)
        .subagent_text(Switch::On)
        .prompt_suggestions(Switch::On)
        .session_mirror(Switch::On)
        .await_initialize(Switch::On)
        .debug(DebugFilter::All)
        .extra_flag("brief");
    let expected = format!(
        r#"--include-partial-messages
--replay-user-messages
--include-hook-events
--forward-subagent-text
--session-mirror
--await-initialize
--prompt-suggestions=true
--debug
--fallback-model=one,two
--effort=xhigh
--thinking=adaptive
--max-thinking-tokens=0
--thinking-display=highlights
--system-prompt-file=p.md
--system-prompt-snapshot=off
--exclude-dynamic-system-prompt-sections
--agents={{"reviewer":{{"description":"d"}}}}
--json-schema={{"type":"object"}}
--max-turns=1
--max-budget-usd=0.5
--task-budget=1
--permission-mode=bypassPermissions
--permission-prompt-tool=stdio
--allow-dangerously-skip-permissions
--tools=
--allowedTools=Bash(git log *)
--allowedTools=Edit
--mcp-config={{"mcpServers":{{"tools":{{"type":"stdio","command":"x","args":["-y"]}}}}}}
--mcp-config=./{{}}
--disable-slash-commands
--setting-sources=user,local
--settings={{"env":{{}}}}
--managed-settings={{}}
--bare
--safe-mode
--session-id={ID}
--resume={ID}
--fork-session
--resume-session-at={ID}
--resume-drops-turn={ID}
--no-session-persistence
--worktree
--brief"#
    );
    assert_eq!(words(&options)[4..].join("\n"), expected);
}

#[test]
fn a_path_need_not_be_text() {
    let path = OsString::from_vec(vec![b'/', 0xff]);
    let words = command_line(&Options::new("/ws").add_directory(&path), LATER).unwrap();
    let mut expected = OsString::from("--add-dir=");
    expected.push(path);
    assert!(words.contains(&expected));
}

#[test]
fn what_the_version_lacks_is_unsupported() {
    let has = MINIMUM_VERSION;
    let unsupported = |flag| Err(OptionError::Unsupported { flag, needs: LATER, has });
    let options = || Options::new("/ws");
    let cases = [
        (options().subagent_text(Switch::On), "--forward-subagent-text"),
        (options().await_initialize(Switch::On), "--await-initialize"),
        (options().restricted(Switch::On), "--restricted"),
        (options().project_config_root("/"), "--project-config-root"),
        (options().system_prompt_snapshot(Switch::On), "--system-prompt-snapshot"),
        (options().resume(ID).resume_at(ID).resume_drops_turn(ID), "--resume-drops-turn"),
        (options().thinking_display(ThinkingDisplay::Highlights), "--thinking-display=highlights"),
    ];
    for (options, flag) in cases {
        assert_eq!(command_line(&options, has), unsupported(flag));
        assert!(command_line(&options, LATER).is_ok(), "{flag}");
    }
}

#[test]
fn conversations_that_do_not_fit_are_refused() {
    let options = || Options::new("/ws");
    assert_eq!(error(&options().session_id(ID).resume(ID)), OptionError::SessionIdWithoutFork);
    assert_eq!(error(&options().session_id(ID).continue_latest()), OptionError::SessionIdWithoutFork);
    assert_eq!(error(&options().resume(ID).continue_latest()), OptionError::ResumeAndContinue);
    assert_eq!(error(&options().fork()), OptionError::ForkOfNothing);
    assert_eq!(error(&options().continue_latest().resume_at(ID)), OptionError::ResumeAtWithoutResume);
    assert_eq!(error(&options().resume(ID).resume_drops_turn(ID)), OptionError::DropsTurnWithoutResumeAt);
    let value = "--model=x".to_owned();
    assert_eq!(error(&options().resume(&*value)), OptionError::NotAUuid { flag: "--resume", value });
}

#[test]
fn bypass_needs_to_be_allowed() {
    let options = Options::new("/ws").permission_mode(PermissionMode::BypassPermissions);
    assert_eq!(error(&options), OptionError::BypassNotAllowed);
    assert_eq!(error(&options.allow_bypass().restricted(Switch::On)), OptionError::BypassRestricted);
}

#[test]
fn an_untrusted_folder_is_no_source_of_settings() {
    let options = Options::new("/ws").setting_sources([SettingSource::User, SettingSource::Project]);
    let refused = OptionError::UntrustedSource { source_name: SettingSource::Project };
    assert_eq!(error(&options), refused);
    assert_eq!(refused.to_string(), "cannot load project settings: the folder is not trusted");
    let none = words(&Options::new("/ws").setting_sources([]));
    assert!(none.contains(&"--setting-sources=".to_owned()));
}

#[test]
fn s22_values_that_cannot_be_arguments_are_refused() {
    let options = || Options::new("/ws");
    assert_eq!(error(&options().model("a\0b")), OptionError::NulByte { flag: "--model".into() });
    let length = LONGEST_ARGUMENT - "--model=".len();
    let too_long = OptionError::TooLong { flag: "--model".into(), length: LONGEST_ARGUMENT };
    assert_eq!(error(&options().model("x".repeat(length))), too_long);
    assert!(command_line(&options().model("x".repeat(length - 1)), LATER).is_ok());
    for (name, value) in [("", "x"), ("A=B", "x"), ("A\0", "x"), ("A", "\0")] {
        assert_eq!(error(&options().variable(name, value)), OptionError::Variable { name: name.into() });
    }
    for dollars in [0.0, -1.0, f64::INFINITY] {
        assert_eq!(error(&options().max_budget_usd(dollars)), OptionError::Budget { dollars });
    }
    let rule = "Edit,Bash".to_owned();
    assert_eq!(error(&options().allow_tool(&rule)), OptionError::NotOneRule { flag: "--allowedTools", rule });
}

#[test]
fn extra_flags_are_only_flags_that_nothing_else_covers() {
    for name in ["", "-", "-x", "--brief", "a=b", "a b", "\0"] {
        let refused = OptionError::FlagName { name: name.to_owned() };
        assert_eq!(error(&Options::new("/ws").extra_flag(name)), refused);
    }
    for name in ["model", "allowed-tools", "print", "dangerously-skip-permissions", "bg", "setting-sources"] {
        let error = error(&Options::new("/ws").extra_flag_with(name, "x"));
        assert!(matches!(error, OptionError::FlagTaken { .. }), "{name}: {error}");
    }
}

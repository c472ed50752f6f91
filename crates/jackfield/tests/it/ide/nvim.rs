//! The Neovim plugin in a real Neovim, with the real CLI at the other end.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use jackfield_testkit::cli::{Cli, PINNED_VERSIONS};
use jackfield_testkit::processes;
use jackfield_testkit::recordings::workspace_dir;
use rustix::process::Signal;
use serde_json::{Value, json};

use super::stage::{Stage, a_word, an_edit, patiently};
use super::terminal::Terminal;

/// How often Neovim is asked whether something has happened; it has no way to say so.
const AGAIN: Duration = Duration::from_millis(50);

/// A CLI is connected that has said who it is.
const CONNECTED: &str = "#require('jackfield.link').connections == 1 \
                         and require('jackfield.link').connections[1].process ~= vim.NIL";

/// A Neovim in a terminal, with the plugin and one file.
struct Neovim {
    socket: PathBuf,
    _terminal: Terminal,
}

impl Neovim {
    async fn start(stage: &Stage) -> Self {
        let socket = stage.sandbox.places().temporary.join("nvim");
        let plugin = workspace_dir().join("editors/nvim");
        let program = env!("CARGO_BIN_EXE_jackfield");
        let mut command = Command::new("nvim");
        command.env_clear().envs(stage.sandbox.environment(&stage.api.url())).current_dir(stage.workspace());
        command.args(["-u", "NONE", "-i", "NONE", "-n", "--listen"]).arg(&socket);
        command.args(["--cmd", &format!("set runtimepath+={}", plugin.display())]);
        command.args(["--cmd", "set autoread shortmess+=I", "--cmd", "filetype on"]);
        command.args(["-c", "runtime! plugin/jackfield.lua"]);
        command.args([
            "-c",
            &format!("lua require('jackfield').setup({{ command = '{program}', autostart = true }})"),
        ]);
        command.arg("a.txt");
        let neovim = Self { socket, _terminal: Terminal::run(&command) };
        neovim.shows("require('jackfield').ready() ~= nil").await;
        neovim
    }

    /// What a piece of Lua gives; `None` while Neovim does not listen yet.
    fn try_lua(&self, code: &str) -> Option<Value> {
        let code = format!("luaeval(\"vim.fn.json_encode(loadstring(_A)())\", {})", quoted(code));
        let asked =
            Command::new("nvim").arg("--server").arg(&self.socket).args(["--remote-expr", &code]).output();
        let asked = asked.unwrap();
        assert!(asked.status.success() || asked.stdout.is_empty());
        // Neovim 0.7 answers on standard error.
        let text = if asked.stdout.is_empty() { asked.stderr } else { asked.stdout };
        serde_json::from_slice(&text).ok()
    }

    fn lua(&self, code: &str) -> Value {
        self.try_lua(code).unwrap_or_else(|| panic!("Neovim says nothing to {code}"))
    }

    /// Presses keys.
    fn types(&self, keys: &str) {
        let pressed =
            Command::new("nvim").arg("--server").arg(&self.socket).args(["--remote-send", keys]).status();
        assert!(pressed.unwrap().success());
    }

    /// Waits until a piece of Lua is true.
    async fn shows(&self, expression: &str) {
        let code = format!("return ({expression})");
        let shown = async {
            while self.try_lua(&code) != Some(json!(true)) {
                tokio::time::sleep(AGAIN).await;
            }
        };
        patiently(expression, shown).await;
    }

    /// A CLI that has found it.
    async fn connected(&self, stage: &Stage, version: &str) -> Terminal {
        let terminal = Terminal::run(&stage.claude(version, &["--ide", "--permission-mode", "default"]));
        self.shows(CONNECTED).await;
        terminal
    }

    /// A CLI that has proposed a change, which is shown.
    async fn proposed(&self, stage: &Stage, version: &str) -> Terminal {
        let mut terminal = self.connected(stage, version).await;
        terminal.sees("In a.txt").await;
        terminal.prompt("edit it").await;
        self.shows("require('jackfield.diff').count() == 1").await;
        let shown = self.lua("return vim.api.nvim_buf_get_lines(0, 0, -1, true)");
        assert_eq!(shown, json!(["alpha", "BETA", "gamma"]), "{version}");
        assert_eq!(self.lua("return vim.wo.diff"), json!(true));
        terminal
    }
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

async fn goes_on(stage: &Stage) {
    patiently("the next request", stage.api.gates().reached("done")).await;
}

#[tokio::test]
async fn a_change_is_edited_and_accepted_by_writing_it() {
    for version in PINNED_VERSIONS {
        let stage = Stage::set(an_edit()).await;
        let neovim = Neovim::start(&stage).await;
        let _terminal = neovim.proposed(&stage, version).await;
        neovim.types("jccMINE<Esc>:w<CR>");
        goes_on(&stage).await;
        assert_eq!(stage.file(), "alpha\nMINE\ngamma\n", "{version}");
        neovim.shows("require('jackfield.diff').count() == 0 and #vim.api.nvim_list_tabpages() == 1").await;
        // The file that is open is read again.
        neovim.shows("vim.api.nvim_buf_get_lines(vim.fn.bufnr('a.txt'), 1, 2, true)[1] == 'MINE'").await;
    }
}

#[tokio::test]
async fn a_change_is_accepted_and_rejected_by_command_and_rejected_by_closing_it() {
    for version in PINNED_VERSIONS {
        for (keys, file) in [
            (":Jackfield accept<CR>", "alpha\nBETA\ngamma\n"),
            (":Jackfield reject<CR>", "alpha\nbeta\ngamma\n"),
            (":q<CR>", "alpha\nbeta\ngamma\n"),
            (":tabclose<CR>", "alpha\nbeta\ngamma\n"),
        ] {
            let stage = Stage::set(an_edit()).await;
            let neovim = Neovim::start(&stage).await;
            let mut terminal = neovim.proposed(&stage, version).await;
            neovim.types(keys);
            if file.contains("BETA") {
                goes_on(&stage).await;
            } else {
                terminal.sees("User rejected update to a.txt").await;
            }
            assert_eq!(stage.file(), file, "{version} {keys}");
            neovim
                .shows("require('jackfield.diff').count() == 0 and #vim.api.nvim_list_tabpages() == 1")
                .await;
        }
    }
}

#[tokio::test]
async fn a_change_that_is_answered_in_the_terminal_goes_away_in_neovim() {
    for version in PINNED_VERSIONS {
        let stage = Stage::set(an_edit()).await;
        let neovim = Neovim::start(&stage).await;
        let mut terminal = neovim.proposed(&stage, version).await;
        terminal.sees("Do you want to make this edit").await;
        terminal.press_until("1", goes_on(&stage)).await;
        assert_eq!(stage.file(), "alpha\nBETA\ngamma\n", "{version}");
        neovim.shows("require('jackfield.diff').count() == 0 and #vim.api.nvim_list_tabpages() == 1").await;
    }
}

#[tokio::test]
async fn a_change_that_is_rejected_in_the_terminal_goes_away_in_neovim() {
    for version in PINNED_VERSIONS {
        let stage = Stage::set(an_edit()).await;
        let neovim = Neovim::start(&stage).await;
        let mut terminal = neovim.proposed(&stage, version).await;
        terminal.sees("Do you want to make this edit").await;
        let gone =
            neovim.shows("require('jackfield.diff').count() == 0 and #vim.api.nvim_list_tabpages() == 1");
        terminal.press_until("\x1b", gone).await;
        assert_eq!(stage.file(), "alpha\nbeta\ngamma\n", "{version}");
    }
}

#[tokio::test]
async fn a_cli_that_neovim_starts_is_connected_to_it() {
    for version in PINNED_VERSIONS {
        let stage = Stage::set(a_word()).await;
        let neovim = Neovim::start(&stage).await;
        let program = Cli::locate(version).unwrap().program;
        neovim
            .lua(&format!("require('jackfield').setup({{ claude = '{}' }}) return true", program.display()));
        neovim.types(":Jackfield claude<CR>");
        neovim.shows(CONNECTED).await;
        assert_eq!(neovim.lua("return vim.bo.buftype"), json!("terminal"), "{version}");
    }
}

#[tokio::test]
async fn a_server_that_was_killed_comes_back_and_the_cli_with_it() {
    for version in PINNED_VERSIONS {
        let stage = Stage::set(a_word()).await;
        let neovim = Neovim::start(&stage).await;
        let mut terminal = neovim.connected(&stage, version).await;
        terminal.sees("In a.txt").await;
        let lock = stage.lock_folder().join(&stage.lock_files()[0]);
        let server = || -> Option<u64> {
            let text = std::fs::read(&lock).ok()?;
            serde_json::from_slice::<Value>(&text).ok()?["pid"].as_u64()
        };
        let killed = server().unwrap();
        processes::signal(u32::try_from(killed).unwrap(), Signal::KILL);
        let another = async {
            while server().is_none_or(|now| now == killed) {
                tokio::time::sleep(AGAIN).await;
            }
        };
        patiently("another server on the same port", another).await;
        neovim.shows(CONNECTED).await;
        // It listens as before.
        neovim.types("jVj");
        terminal.sees("2 lines selected").await;
    }
}

#[tokio::test]
async fn a_selection_and_a_mention_reach_the_model() {
    for version in PINNED_VERSIONS {
        let stage = Stage::set(a_word()).await;
        let neovim = Neovim::start(&stage).await;
        neovim.types("jVj");
        let mut terminal = neovim.connected(&stage, version).await;
        terminal.sees("2 lines selected").await;
        // What was selected stays when visual mode is left.
        neovim.types("<Esc>:1,1Jackfield mention<CR>");
        terminal.sees("@a.txt#L1").await;
        terminal.press("\r");
        goes_on(&stage).await;
        let request = stage.last_request();
        assert!(request.contains("The user selected the lines 2 to 3 from"), "{version}: {request}");
    }
}

#[tokio::test]
async fn problems_of_neovim_reach_the_model_after_an_edit() {
    for version in PINNED_VERSIONS {
        let stage = Stage::set(an_edit()).await;
        let neovim = Neovim::start(&stage).await;
        let mut terminal = neovim.proposed(&stage, version).await;
        neovim.types(":w<CR>");
        goes_on(&stage).await;
        let report = "vim.diagnostic.set(vim.api.nvim_create_namespace('lint'), vim.fn.bufnr('a.txt'), \
                      { { lnum = 1, col = 0, end_lnum = 1, end_col = 4, severity = 1, message = 'BETA is wrong', \
                      source = 'lint' } })";
        neovim.lua(&format!("{report} return true"));
        stage.api.gates().release("done");
        terminal.sees("Edit finished.").await;
        terminal.prompt("and now?").await;
        patiently("the request", stage.api.gates().reached("then")).await;
        let request = stage.last_request();
        assert!(request.contains("BETA is wrong"), "{version}: {request}");
    }
}

#[tokio::test]
async fn neovim_tells_what_is_open_and_saves_it() {
    let stage = Stage::set(a_word()).await;
    let neovim = Neovim::start(&stage).await;
    let path = stage.workspace().join("a.txt");
    let asked = |method: &str, params: &str| {
        neovim.lua(&format!(
            "local answer; require('jackfield.state').{method}({params}, \
             function(result) answer = {{ result = result == nil and vim.NIL or result }} end) return answer"
        ))["result"]
            .clone()
    };
    let file = format!("{{ path = '{}' }}", path.display());
    assert_eq!(asked("document_state", &file), json!({ "dirty": false, "untitled": false }));
    neovim.types("ccä𝄞x<Esc>");
    neovim.shows("vim.bo.modified").await;
    let tab = json!({ "path": path, "label": "a.txt", "language": "text", "active": true, "dirty": true });
    assert_eq!(asked("tabs", "{}"), json!([tab]));
    assert_eq!(asked("save", &file), json!({ "saved": "yes" }));
    assert_eq!(stage.file(), "ä𝄞x\nbeta\ngamma\n");
    assert_eq!(asked("document_state", "{ path = '/not/open' }"), Value::Null);
    let place = neovim.lua("return require('jackfield.position').of(0, 0, 6)");
    assert_eq!(place, json!({ "line": 0, "character": 3 }));
    assert_eq!(
        neovim.lua("return require('jackfield.position').byte(0, { line = 0, character = 3 })"),
        json!(6)
    );
    neovim.types(":checkhealth jackfield<CR>");
    neovim
        .shows("table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, true)):find('the server: port') ~= nil")
        .await;
    neovim.types(":qa!<CR>");
    let gone = async {
        while !stage.lock_files().is_empty() {
            tokio::time::sleep(AGAIN).await;
        }
    };
    patiently("the end of the server", gone).await;
}

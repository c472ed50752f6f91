//! A person at the CLI's own terminal.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use jackfield_testkit::processes;
use rustix::fs::{Mode, OFlags, open};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use tokio::sync::watch;

use super::stage::patiently;

/// A terminal, and the program in front of it, which is killed with it.
pub(super) struct Terminal {
    keys: File,
    shown: watch::Receiver<String>,
    child: Child,
}

impl Terminal {
    /// Runs a command in a terminal of its own. Its environment is what it has been given, and no more.
    pub(super) fn run(command: &Command) -> Self {
        let far = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&far).unwrap();
        unlockpt(&far).unwrap();
        let name = ptsname(&far, Vec::new()).unwrap();
        let near = open(&name, OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty()).unwrap();
        tcsetwinsize(&near, Winsize { ws_row: 50, ws_col: 160, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
        let mut held = Command::new("setsid");
        held.args(["--ctty", "--wait"]).arg(command.get_program()).args(command.get_args()).env_clear();
        held.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        held.env("TERM", "xterm-256color");
        if let Some(folder) = command.get_current_dir() {
            held.current_dir(folder);
        }
        held.stdin(Stdio::from(near.try_clone().unwrap()));
        held.stdout(Stdio::from(near.try_clone().unwrap()));
        held.stderr(Stdio::from(near));
        let child = held.spawn().unwrap();
        // Or this process would keep the terminal open.
        drop(held);
        let mut screen = File::from(far);
        let keys = screen.try_clone().unwrap();
        let (seen, shown) = watch::channel(String::new());
        std::thread::spawn(move || {
            let mut bytes = vec![0; 64 * 1024];
            let mut raw = Vec::new();
            while let Ok(read @ 1..) = screen.read(&mut bytes) {
                raw.extend_from_slice(&bytes[..read]);
                let text = letters(&String::from_utf8_lossy(&raw));
                seen.send_replace(text);
            }
        });
        Self { keys, shown, child }
    }

    /// Waits until this has been shown, at any time. Spaces do not count: the CLI jumps over them.
    pub(super) async fn sees(&mut self, text: &str) {
        let wanted = letters(text);
        let shown = self.shown.clone();
        let seen = patiently(text, self.shown.wait_for(|shown| shown.contains(&wanted))).await;
        assert!(seen.is_ok(), "the program has ended; it showed {}", *shown.borrow());
    }

    /// Presses keys.
    pub(super) fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
    }

    /// Presses keys until something has happened: a question can be seen some time before it can be answered.
    pub(super) async fn press_until<Happened>(
        &mut self,
        keys: &str,
        happening: impl Future<Output = Happened>,
    ) -> Happened {
        let mut happening = std::pin::pin!(happening);
        let mut again = tokio::time::interval(Duration::from_secs(2));
        loop {
            tokio::select! {
                biased;
                happened = &mut happening => return happened,
                _ = again.tick() => self.press(keys),
            }
        }
    }

    /// Writes a prompt. The key that sends it must not come together with the text: that would be a paste.
    pub(super) async fn prompt(&mut self, text: &str) {
        self.press(text);
        self.sees(text).await;
        self.press("\r");
    }

    pub(super) fn ended(mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }
}

impl Drop for Terminal {
    #[expect(clippy::print_stderr, reason = "a test that fails says what was to be seen")]
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the terminal showed: {}", *self.shown.borrow());
        }
        if self.child.try_wait().unwrap().is_none() {
            processes::kill_tree(self.child.id());
            let _ = self.child.wait();
        }
    }
}

/// What is left of a text without spaces and without commands for the terminal.
fn letters(text: &str) -> String {
    let mut left = String::new();
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match character {
            '\x1b' => match characters.next() {
                Some('[') => _ = characters.by_ref().find(|end| ('\x40'..='\x7e').contains(end)),
                Some(']') => _ = characters.by_ref().find(|end| matches!(end, '\x07' | '\x1b')),
                _ => {}
            },
            character if character.is_whitespace() || character.is_control() => {}
            character => left.push(character),
        }
    }
    left
}

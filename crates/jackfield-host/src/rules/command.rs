//! Shell commands, as far as a rule has to understand them.
//!
//! Not a shell. Two questions are answered, each on its safe side: may an allowing pattern cover this command
//! ([`is_covered`]: no, as soon as it might be more than one), and which commands may run in it ([`parts`]: too
//! many rather than too few). Both read the text once, and both give up on what no person would write.

use super::pattern::text_fits;

/// The longest command that is looked into.
const LONGEST_COMMAND: usize = 128 * 1024;
/// The most text that the parts of one command may add up to.
const MOST_PARTS: usize = 1024 * 1024;
/// How deeply commands may stand in one another.
const DEEPEST: usize = 24;

/// Words behind which, or in whose arguments, another command stands.
const RUNNERS: &[&str] = &[
    "!", "{", "if", "then", "elif", "else", "while", "until", "do", "time", "builtin", "command", "exec",
    "eval", "source", ".", "sh", "bash", "zsh", "dash", "ksh", "fish", "busybox", "env", "sudo", "doas",
    "su", "runuser", "nohup", "nice", "ionice", "chrt", "taskset", "setsid", "stdbuf", "timeout", "flock",
    "xargs", "parallel", "find", "fd", "watch", "ssh", "chroot", "unshare", "nsenter", "script", "strace",
    "ltrace", "coproc", "trap",
];

/// Programs that run code from their command line.
const INTERPRETERS: &[&str] = &[
    "python",
    "python2",
    "python3",
    "node",
    "nodejs",
    "deno",
    "bun",
    "perl",
    "ruby",
    "php",
    "lua",
    "awk",
    "gawk",
    "mawk",
    "sed",
    "expect",
    "tclsh",
    "osascript",
];

/// Whether an allowing pattern covers a command: it is one simple command, and the whole of it fits.
pub(super) fn is_covered(pattern: &str, command: &str) -> bool {
    let command = command.trim_matches([' ', '\t']);
    if !is_simple(command) || !text_fits(pattern, command) {
        return false;
    }
    // `* --version` is not meant for `bash -c '…' --version`: what runs other things has to be named.
    let (first, meant) = (first_word(command), first_word(pattern));
    let name = base_name(first);
    let odd = first.contains(['\'', '"', '\\', '=', '*', '?', '[', '{', '~']);
    let runs_others = RUNNERS.contains(&name) || INTERPRETERS.contains(&name);
    !(odd || runs_others) || first == meant
}

/// Whether this is one command without redirections, expansions and comments, whatever shell reads it.
fn is_simple(command: &str) -> bool {
    if command.is_empty() || command.len() > LONGEST_COMMAND {
        return false;
    }
    let mut quote = None;
    let mut at_word_start = true;
    let mut chars = command.chars();
    while let Some(c) = chars.next() {
        if c.is_control() && c != '\t' {
            return false;
        }
        match (quote, c) {
            (Some('\''), c) if c != '\'' => {}
            (Some(open), c) if c == open => quote = None,
            (_, '`' | '$') | (None, ';' | '&' | '|' | '<' | '>' | '(' | ')') => return false,
            (_, '\\') => match chars.next() {
                Some(escaped) if !escaped.is_control() => {}
                _ => return false,
            },
            (None, '\'' | '"') => quote = Some(c),
            // The rest is a comment, and a pattern that ends in it would be fooled.
            (None, '#') if at_word_start => return false,
            _ => {}
        }
        at_word_start = quote.is_none() && matches!(c, ' ' | '\t');
    }
    quote.is_none()
}

/// The commands that may run in a command.
#[derive(Debug, Default)]
pub(super) struct Parts {
    /// Each in its own words, one space between them; some are there in several readings.
    pub(super) commands: Vec<String>,
    /// Whether there can be no others.
    pub(super) understood: bool,
}

/// Takes a command apart.
pub(super) fn parts(command: &str) -> Parts {
    let mut parts = Parts { commands: vec![command.trim().to_owned()], understood: true };
    if command.len() > LONGEST_COMMAND {
        parts.understood = false;
        return parts;
    }
    let mut room = MOST_PARTS;
    scan(command, 0, &mut parts, &mut room);
    parts
}

fn scan(text: &str, depth: usize, parts: &mut Parts, room: &mut usize) {
    Scan { rest: text.chars().peekable(), parts, room }.list(None, depth);
}

/// A word of a command.
#[derive(Debug, Default)]
struct Word {
    /// Without its quotes.
    text: String,
    /// Whether a part of it is only known when it runs.
    expands: bool,
}

struct Scan<'a> {
    rest: std::iter::Peekable<std::str::Chars<'a>>,
    parts: &'a mut Parts,
    room: &'a mut usize,
}

impl Scan<'_> {
    /// Reads commands up to `close`, or to the end.
    fn list(&mut self, close: Option<char>, depth: usize) {
        if depth > DEEPEST {
            self.parts.understood = false;
            self.rest.by_ref().for_each(drop);
            return;
        }
        let mut words = Vec::new();
        let mut word: Option<Word> = None;
        loop {
            let next = self.rest.next();
            if next == close || next.is_none() {
                if next != close {
                    self.parts.understood = false;
                }
                words.extend(word);
                self.command(&words, depth);
                return;
            }
            match next.unwrap_or_default() {
                ' ' | '\t' => words.extend(word.take()),
                '<' | '>' => {
                    words.extend(word.take());
                    self.redirection();
                }
                '&' if self.rest.peek() == Some(&'>') => words.extend(word.take()),
                '\n' | '\r' | ';' | '|' | '&' | ')' => {
                    words.extend(word.take());
                    self.command(&std::mem::take(&mut words), depth);
                }
                '(' => {
                    words.extend(word.take());
                    self.command(&std::mem::take(&mut words), depth);
                    self.list(Some(')'), depth + 1);
                }
                '\'' => self.single_quoted(word.get_or_insert_default()),
                '"' => self.double_quoted(word.get_or_insert_default(), depth),
                '\\' => self.escaped(word.get_or_insert_default(), close),
                '`' => {
                    word.get_or_insert_default().expands = true;
                    self.list(Some('`'), depth + 1);
                }
                '$' => self.dollar(word.get_or_insert_default(), depth),
                // A glob or braces in the place of a command's name may become any name.
                c @ ('*' | '?' | '[' | '{' | '~') => {
                    let word = word.get_or_insert_default();
                    word.expands |= c != '{' || !word.text.is_empty() || self.rest.peek() != Some(&' ');
                    word.text.push(c);
                }
                c => word.get_or_insert_default().text.push(c),
            }
        }
    }

    /// The rest of `>`, `>>`, `<<<`, `>&` …; where it leads to reads like an argument.
    fn redirection(&mut self) {
        while self.rest.next_if(|c| matches!(c, '<' | '>' | '&' | '|')).is_some() {}
    }

    fn single_quoted(&mut self, word: &mut Word) {
        for c in self.rest.by_ref() {
            if c == '\'' {
                return;
            }
            word.text.push(c);
        }
        self.parts.understood = false;
    }

    fn double_quoted(&mut self, word: &mut Word, depth: usize) {
        while let Some(c) = self.rest.next() {
            match c {
                '"' => return,
                '\\' => match self.rest.next() {
                    Some('\n') | None => {}
                    Some(c @ ('"' | '\\' | '$' | '`')) => word.text.push(c),
                    Some(c) => word.text.extend(['\\', c]),
                },
                '`' => {
                    word.expands = true;
                    self.list(Some('`'), depth + 1);
                }
                '$' => self.dollar(word, depth),
                c => word.text.push(c),
            }
        }
        self.parts.understood = false;
    }

    fn escaped(&mut self, word: &mut Word, close: Option<char>) {
        match self.rest.next() {
            Some('\n') => {}
            // Backticks within backticks: a further command that is not looked into.
            Some('`') if close == Some('`') => self.parts.understood = false,
            Some(c) => word.text.push(c),
            None => self.parts.understood = false,
        }
    }

    fn dollar(&mut self, word: &mut Word, depth: usize) {
        word.expands = true;
        match self.rest.peek() {
            Some('(') => {
                self.rest.next();
                self.list(Some(')'), depth + 1);
            }
            _ => word.text.push('$'),
        }
    }

    /// Notes one command in all its readings.
    fn command(&mut self, words: &[Word], depth: usize) {
        let mut behind_runner = false;
        for (at, word) in words.iter().enumerate() {
            let assigns = is_assignment(&word.text);
            if word.expands && (behind_runner || !assigns) {
                self.parts.understood = false;
            }
            let rest = words[at..].iter().map(|word| word.text.as_str());
            self.note(&rest.clone().collect::<Vec<_>>().join(" "));
            let name = base_name(&word.text);
            if name != word.text {
                let named: Vec<&str> = std::iter::once(name).chain(rest.skip(1)).collect();
                self.note(&named.join(" "));
            }
            behind_runner |= RUNNERS.contains(&name);
            // `sh -c "…"`, `ssh host "…"`: the argument is a command again.
            if behind_runner && word.text.contains([' ', '\t', '\n', ';', '|', '&', '`', '$']) {
                scan(&word.text, depth + 1, self.parts, self.room);
            }
            if !behind_runner && !assigns {
                return;
            }
            if *self.room == 0 {
                return;
            }
        }
    }

    fn note(&mut self, command: &str) {
        if command.len() >= *self.room {
            *self.room = 0;
            self.parts.understood = false;
            return;
        }
        *self.room -= command.len();
        self.parts.commands.push(command.to_owned());
    }
}

/// `NAME=value` before a command.
fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        let name = name.strip_suffix('+').unwrap_or(name);
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}

fn first_word(text: &str) -> &str {
    text.split([' ', '\t']).next().unwrap_or_default()
}

fn base_name(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_allowing_pattern_covers_simple_commands() {
        for (pattern, command) in [
            ("git status", "git status"),
            ("git status", "  git status\t"),
            ("git *", "git log --oneline -5"),
            ("git *", "git commit -m 'a; b && c | d > e `f` $(g)'"),
            ("git *", "git commit -m \"a; b && c\""),
            ("git *", r"git log a\;b"),
            ("git *", r"git log 'a'\''; rm x'"),
            ("git *", "git show stash@{0}"),
            ("git *", "git log issue#4"),
            ("* --version", "cargo --version"),
            ("bash scripts/*", "bash scripts/check"),
            ("python *", "python -c 'print(1)'"),
            ("CI=1 npm test", "CI=1 npm test"),
            ("ls *", "ls *.rs"),
        ] {
            assert!(is_covered(pattern, command), "{pattern} should cover {command}");
        }
    }

    #[test]
    fn no_allowing_pattern_covers_what_may_be_several_commands() {
        for command in [
            "",
            " ",
            "git status; rm -rf x",
            "git status;",
            "git status && rm x",
            "git status || rm x",
            "git log | sh",
            "git log & rm x",
            "git log &",
            "git log\nrm x",
            "git log\rrm x",
            "git log \\\nrm x",
            "git log `rm x`",
            "git log $(rm x)",
            "git log \"$(rm x)\"",
            "git log \"`rm x`\"",
            "git log ${x:=$(rm x)}",
            "git log $X",
            "git log \"$X\"",
            "git log $'a'",
            "git diff <(rm x)",
            "git diff >(rm x)",
            "git log > /etc/passwd",
            "git log >> x",
            "git log < x",
            "git log 2>&1",
            "git log << EOF",
            "(git log)",
            "git log *(e:x:)",
            "git log 'a",
            "git log \"a",
            "git log \"a' b",
            "git log 'a\\'; rm x",
            "git log a\\",
            "git log # x",
            "git log\0x",
            "git log \u{1b}[2K",
            "git log \u{85} x",
        ] {
            assert!(!is_covered("*", command), "* should not cover {command:?}");
            assert!(!is_covered(command, command), "{command:?} should not cover itself");
        }
        assert!(!is_covered("*", &"a".repeat(LONGEST_COMMAND + 1)));
    }

    #[test]
    fn what_runs_other_things_has_to_be_named() {
        for command in [
            "bash -c 'rm x' --version",
            "/bin/sh -c 'rm x' --version",
            "eval 'rm x' --version",
            "sudo rm x --version",
            "python -c 'x' --version",
            "b\\ash -c x --version",
            "'bash' -c x --version",
            "LD_PRELOAD=x ls --version",
        ] {
            assert!(!is_covered("* --version", command), "* --version should not cover {command}");
        }
    }

    fn denied(pattern: &str, command: &str) -> bool {
        parts(command).commands.iter().any(|part| text_fits(pattern, part))
    }

    #[test]
    fn a_denying_pattern_finds_its_command_wherever_it_stands() {
        for command in [
            "rm -rf x",
            "  rm   -rf\tx ",
            "ls; rm -rf x",
            "ls && rm -rf x",
            "ls || rm -rf x",
            "ls | rm -rf x",
            "ls & rm -rf x",
            "ls\nrm -rf x",
            "(rm -rf x)",
            "{ rm -rf x; }",
            "echo $(rm -rf x)",
            "echo \"a $(rm -rf x)\"",
            "echo `rm -rf x`",
            "echo \"`rm -rf x`\"",
            "cat <(rm -rf x)",
            "ls > y; rm -rf x",
            "ls 2>&1 | rm -rf x",
            "ls &> y; rm -rf x",
            "/bin/rm -rf x",
            "'rm' -rf x",
            "r\"m\" -rf x",
            "\\rm -rf x",
            "r\\\nm -rf x",
            "A=1 B=2 rm -rf x",
            "sudo -u root rm -rf x",
            "env -i A=1 rm -rf x",
            "xargs -n 1 rm -rf x",
            "timeout 5 rm -rf x",
            "find . -exec rm -rf x",
            "sh -c 'rm -rf x'",
            "/bin/bash -lc \"cd /; rm -rf x\"",
            "sudo bash -c 'sh -c \"rm -rf x\"'",
            "eval 'rm -rf x'",
            "ssh host 'rm -rf x'",
            "if true; then rm -rf x; fi",
            "for i in a; do rm -rf x; done",
            "! rm -rf x",
            "echo \"$(echo $(rm -rf x))\"",
            "rm -rf x 'unbalanced",
        ] {
            assert!(denied("rm -rf *", command), "{command:?}");
        }
        for command in ["echo rm -rf x", "git commit -m 'rm -rf x'", "ls rm", "echo 'a; rm -rf x'"] {
            assert!(!denied("rm -rf *", command), "{command:?}");
        }
    }

    #[test]
    fn it_is_told_when_there_may_be_more_than_was_found() {
        for command in [
            "ls 'a",
            "ls \"a",
            "ls \\",
            "ls `a",
            "ls $(a",
            "$X -rf /",
            "sudo $X",
            "`cat x` y",
            "$'\\x72m' -rf /",
            "r{m,} x",
            "/bin/r? x",
            "sh -c \"$X\"",
            "echo `echo \\`rm x\\``",
            "~/rm x",
        ] {
            assert!(!parts(command).understood, "{command:?}");
        }
        for command in ["ls $X", "ls *.rs", "git log | head", "{ ls; }", "echo \"$HOME\"", "ls $(pwd)"] {
            assert!(parts(command).understood, "{command:?}");
        }
        assert!(!parts(&"a".repeat(LONGEST_COMMAND + 1)).understood);
        assert!(!parts(&"$(".repeat(10_000)).understood);
        assert!(!parts(&format!("sudo {}", "a ".repeat(20_000))).understood);
    }

    proptest! {
        #[test]
        fn no_command_and_no_pattern_is_too_much(
            pattern in r#"[a *;$()'"`\\\n]{0,20}"#,
            command in r#"([a-c {}*?;&|<>=$()'"`\\\n#~]|sudo |sh -c |\PC){0,60}"#,
        ) {
            is_covered(&pattern, &command);
            parts(&command);
        }

        #[test]
        fn what_is_covered_is_one_part_of_words_that_do_not_expand(command in r#"[abc ;&|$()'"`\\\n<>#]{1,12}"#) {
            if is_covered("*", &command) {
                let parts = parts(&command);
                prop_assert!(parts.understood);
                // The command as it is, and the command in its words.
                prop_assert!(parts.commands.len() <= 2, "{:?}", parts.commands);
            }
        }
    }
}

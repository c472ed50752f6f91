//! Tools that run commands: `Bash`, and `BashOutput` and `KillShell` of older versions.
//!
//! Not a judge of a command: 0 means that the CLI calls it a success. The one rule: an exit code that the
//! CLI does not tell is null.

use jackfield_api::normalized::{ShellExec, ShellOutput};

use super::ToolResult;
use super::fields::Fields;

/// The shape of a command; a look at a running one, or its end, has its id in the command's place.
pub(super) fn shell(input: &Fields<'_>) -> ShellExec {
    ShellExec {
        command: input
            .text("command")
            .or_else(|| input.id("bash_id"))
            .or_else(|| input.id("shell_id"))
            .unwrap_or_default(),
        work_dir: input.text("cwd"),
        description: input.text("description"),
        timeout: input.count("timeout"),
        background: input.flag("run_in_background"),
        output: None,
    }
}

/// Adds what came of it.
pub(super) fn complete(shell: &mut ShellExec, result: &ToolResult<'_>) {
    if result.is_error {
        shell.output = Some(failed(result.text().unwrap_or_default()));
        return;
    }
    let structured = result.fields();
    // A command can also be sent to the background while it runs.
    shell.background |= structured.as_ref().is_some_and(|fields| fields.raw("backgroundTaskId").is_some());
    shell.output = Some(match structured {
        Some(fields) if fields.raw("stdout").is_some() => ShellOutput {
            exit_code: if fields.raw("exitCode").is_some() {
                fields.integer("exitCode")
            } else {
                (!fields.flag("interrupted")).then_some(0)
            },
            stdout: fields.text("stdout").unwrap_or_default(),
            stderr: fields.text("stderr").unwrap_or_default(),
        },
        // The word that a command was stopped says nothing of its exit code.
        Some(_) => ShellOutput { stdout: result.text().unwrap_or_default(), ..ShellOutput::default() },
        // Inside a subagent there is only the text [tools/subagent].
        None => ShellOutput {
            exit_code: Some(0),
            stdout: result.text().filter(|text| text != NO_OUTPUT).unwrap_or_default(),
            stderr: String::new(),
        },
    });
}

/// What the CLI tells the model of a command without output.
const NO_OUTPUT: &str = "(Bash completed with no output)";

/// A failure: `Exit code 3` and a line break before the output, or, when the command did not run or did not
/// end, a sentence of the CLI, which is no output of the command.
fn failed(text: String) -> ShellOutput {
    let (first, rest) = text.split_once('\n').unwrap_or((&text, ""));
    match first.strip_prefix("Exit code ").and_then(|number| number.trim().parse().ok()) {
        Some(code) => ShellOutput { exit_code: Some(code), stdout: rest.to_owned(), stderr: String::new() },
        None => ShellOutput { exit_code: None, stdout: String::new(), stderr: text },
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn completed(content: &str, structured: Option<&str>, is_error: bool) -> ShellExec {
        let mut shell = ShellExec::default();
        complete(&mut shell, &ToolResult { content: Some(content), structured, is_error });
        shell
    }

    #[test]
    fn the_input_is_told_in_full() {
        // [tools/bash_timeout], [tools/bash_background_eof]
        let input = r#"{"command":"sleep 5","description":"d","timeout":1500,"run_in_background":true}"#;
        assert_eq!(
            shell(&Fields::read(input).unwrap()),
            ShellExec {
                command: "sleep 5".to_owned(),
                description: Some("d".to_owned()),
                timeout: Some(1500),
                background: true,
                ..ShellExec::default()
            }
        );
        assert_eq!(shell(&Fields::read(r#"{"bash_id":"bash_1"}"#).unwrap()).command, "bash_1");
    }

    #[test]
    fn success_is_exit_code_zero() {
        // [basic/partial_all_blocks]
        let structured = r#"{"stdout":"hi","stderr":"","interrupted":false,"isImage":false}"#;
        let output = completed(r#""hi""#, Some(structured), false).output.unwrap();
        assert_eq!(
            output,
            ShellOutput { exit_code: Some(0), stdout: "hi".to_owned(), stderr: String::new() }
        );
    }

    #[test]
    fn success_inside_a_subagent_is_exit_code_zero() {
        // [tools/parallel_subagents], [tools/subagent]
        let output = completed(r#""b""#, None, false).output.unwrap();
        assert_eq!((output.exit_code, output.stdout.as_str()), (Some(0), "b"));
        let silent = completed(r#""(Bash completed with no output)""#, None, false).output.unwrap();
        assert_eq!((silent.exit_code, silent.stdout.as_str()), (Some(0), ""));
    }

    #[test]
    fn a_failure_tells_its_exit_code() {
        // [tools/bash_timeout], [hooks/all_events_observed]
        let timeout = r#""Exit code 143\nCommand timed out after 1s""#;
        let output =
            completed(timeout, Some(r#""Error: Exit code 143\nCommand timed out""#), true).output.unwrap();
        assert_eq!((output.exit_code, output.stdout.as_str()), (Some(143), "Command timed out after 1s"));
        let output = completed(r#""Exit code 1""#, Some(r#""Error: Exit code 1""#), true).output.unwrap();
        assert_eq!((output.exit_code, output.stdout.as_str()), (Some(1), ""));
    }

    #[test]
    fn a_command_that_was_refused_has_no_exit_code() {
        // [modes/allowed_tools]
        let output = completed(r#""host said no""#, Some(r#""Error: host said no""#), true).output.unwrap();
        assert_eq!(output.exit_code, None);
        assert_eq!((output.stdout.as_str(), output.stderr.as_str()), ("", "host said no"));
    }

    #[test]
    fn an_interrupted_command_has_no_exit_code() {
        let structured = r#"{"stdout":"par","stderr":"","interrupted":true}"#;
        assert_eq!(completed(r#""par""#, Some(structured), false).output.unwrap().exit_code, None);
    }

    #[test]
    fn a_command_sent_to_the_background_says_so() {
        // [tools/bash_background_eof]
        let structured = r#"{"stdout":"","stderr":"","interrupted":false,"backgroundTaskId":"btwutv9ve"}"#;
        assert!(completed(r#""Command running in background""#, Some(structured), false).background);
    }

    #[test]
    fn a_look_at_a_running_command_has_the_exit_code_it_tells() {
        let code = |json: &str| completed(r#""x""#, Some(json), false).output.unwrap().exit_code;
        assert_eq!(code(r#"{"stdout":"x","stderr":"","exitCode":2}"#), Some(2));
        assert_eq!(code(r#"{"stdout":"x","stderr":"","exitCode":null}"#), None);
        assert_eq!(code(r#"{"message":"killed","shell_id":"bash_1"}"#), None);
    }

    #[test]
    fn persisted_output_stays_as_it_is() {
        // [tools/bash_long_output]
        let content = r#""<persisted-output>\nOutput too large (106.3KB).\n</persisted-output>""#;
        let output = completed(content, None, false).output.unwrap();
        assert_eq!(output.stdout, "<persisted-output>\nOutput too large (106.3KB).\n</persisted-output>");
    }
}

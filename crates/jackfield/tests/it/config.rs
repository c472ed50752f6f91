//! The configuration as its users meet it: files, variables, flags, and words that are wrong.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::program::{Finished, jackfield};

/// A home with this configuration file in its usual place.
fn home(text: &str) -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join(".config/jackfield");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("config.toml"), text).unwrap();
    home
}

fn config(home: &Path, variables: &[(&str, &str)], arguments: &[&str]) -> Finished {
    let mut command = jackfield(["config"].iter().chain(arguments));
    command.env("HOME", home).envs(variables.iter().copied()).output().unwrap().into()
}

/// The value of an option, and where it comes from.
fn option(finished: &Finished, key: &str) -> (Value, Value) {
    assert_eq!((finished.code, finished.err.as_str()), (Some(0), ""));
    let whole: Value = serde_json::from_str(&finished.out).unwrap();
    let options = whole["options"].as_array().unwrap();
    let found = options.iter().find(|option| option["option"] == key).unwrap();
    (found["value"].clone(), found["from"].clone())
}

#[test]
fn a_flag_wins_over_a_variable_a_variable_over_the_file_and_the_file_over_the_default() {
    let with_file = home("# mine\n[server]\nlisten = \"127.0.0.1:1000\"\n");
    let without = tempfile::tempdir().unwrap();
    let variable = [("JACKFIELD_LISTEN", "127.0.0.1:2000")];
    let flag = ["--listen", "127.0.0.1:3000", "--set", "server.listen=127.0.0.1:4000", "--json"];
    let listen = |home: &Path, variables: &[(&str, &str)], flags: &[&str]| {
        option(&config(home, variables, flags), "server.listen")
    };

    let (value, from) = listen(without.path(), &[], &["--json"]);
    assert_eq!((value, from), ("127.0.0.1:4180".into(), "default".into()));
    let (value, from) = listen(with_file.path(), &[], &["--json"]);
    assert_eq!((value, &from["file"]["line"]), ("127.0.0.1:1000".into(), &3.into()));
    let (value, from) = listen(with_file.path(), &variable, &["--json"]);
    assert_eq!((value, &from["variable"]), ("127.0.0.1:2000".into(), &"JACKFIELD_LISTEN".into()));
    let (value, from) = listen(with_file.path(), &variable, &flag);
    assert_eq!((value, &from["flag"]), ("127.0.0.1:3000".into(), &"--listen".into()));
    let (value, from) = listen(with_file.path(), &variable, &flag[2..]);
    assert_eq!((value, &from["flag"]), ("127.0.0.1:4000".into(), &"--set".into()));
}

#[test]
fn the_file_is_the_one_that_was_named() {
    let usual = home("[log]\nlevel = \"error\"\n");
    let path = |name: &str| usual.path().join(name);
    fs::create_dir_all(path("xdg/jackfield")).unwrap();
    for (name, level) in [("xdg/jackfield/config.toml", "warn"), ("named", "debug"), ("flag", "trace")] {
        fs::write(path(name), format!("log.level = \"{level}\"\n")).unwrap();
    }
    let text = |name: &str| path(name).to_str().unwrap().to_owned();
    let (xdg, named, flag) = (text("xdg"), text("named"), text("flag"));
    let level = |variables: &[(&str, &str)], flags: &[&str]| {
        option(&config(usual.path(), variables, &[flags, &["--json"]].concat()), "log.level").0
    };

    assert_eq!(level(&[], &[]), "error");
    assert_eq!(level(&[("XDG_CONFIG_HOME", &xdg)], &[]), "warn");
    assert_eq!(level(&[("XDG_CONFIG_HOME", "relative")], &[]), "error", "a relative folder is not meant");
    let both = [("XDG_CONFIG_HOME", &*xdg), ("JACKFIELD_CONFIG", &*named)];
    assert_eq!(level(&both, &[]), "debug");
    assert_eq!(level(&both, &["--config", &flag]), "trace");

    let missing = config(usual.path(), &[], &["--config", &text("missing")]);
    assert_eq!(missing.code, Some(2));
    assert!(missing.err.starts_with("jackfield: cannot read the configuration file `"), "{}", missing.err);
}

#[test]
fn a_wrong_word_says_where_it_stands_and_what_is_expected() {
    for (file, told) in [
        (
            "[server]\n\nlisten = 4180\n",
            "`server.listen` is 4180 (FILE, line 3), expected an address and a port, such as `127.0.0.1:4180`",
        ),
        (
            "[server]\nlisen = 1\n",
            "there is no option `server.lisen` (FILE, line 2), the nearest is `server.listen`",
        ),
        ("[sever]\nlisten = 1\n", "there is no option `sever` (FILE, line 1), the nearest is `server`"),
        ("\n\nserver = 1\n", "cannot read FILE, line 3: expected a table `[server]`, found integer"),
        (
            "limits.max_running_sessions = 0",
            "`limits.max_running_sessions` is 0 (FILE, line 1), expected a whole number from 1 to 1000",
        ),
        (
            "[log]\nlevel = \"loud\"",
            "`log.level` is \"loud\" (FILE, line 2), expected one of `off`, `error`, `warn`, `info`, `debug`, `trace`",
        ),
        (
            "[data]\nfolder = \"data\"",
            "`data.folder` is \"data\" (FILE, line 2), expected an absolute path, or one that begins with `~/`",
        ),
        (
            "[claude]\npermission_mode = \"bypassPermissions\"",
            "`claude.permission_mode` is `bypassPermissions` (FILE, line 2), which needs `claude.allow_bypass = true`",
        ),
        (
            "[claude.environment]\nallow = [\"JACKFIELD_DATA\"]",
            "`claude.environment.allow` is [\"JACKFIELD_DATA\"] (FILE, line 2), expected a list of names of \
             environment variables (not ours), such as `[\"DEBUG\"]`",
        ),
    ] {
        let home = home(file);
        let path = home.path().join(".config/jackfield/config.toml");
        let finished = config(home.path(), &[], &[]);
        assert_eq!((finished.code, finished.out.as_str()), (Some(2), ""), "{file}");
        let told = told.replace("FILE", path.to_str().unwrap());
        let expected = "hint: `jackfield config --example` prints every option with its meaning\n";
        assert_eq!(finished.err, format!("jackfield: {told}\n{expected}"));
    }
}

#[test]
fn a_file_that_is_no_toml_says_in_which_line() {
    for file in ["[server]\nlisten = \n", "[server]\nlisten \"x\"\n", "[log]\nlevel = \"a\nb\"\n"] {
        let home = home(file);
        let finished = config(home.path(), &[], &[]);
        assert_eq!(finished.code, Some(2));
        assert!(finished.err.contains("config.toml, line 2: "), "{}", finished.err);
    }
    let twice = home("[demo]\nenabled = true\nenabled = false\n");
    let finished = config(twice.path(), &[], &[]);
    assert!(finished.err.contains("config.toml, line 3: "), "{}", finished.err);
}

#[test]
fn wrong_variables_and_flags_are_named() {
    let home = tempfile::tempdir().unwrap();
    for (variables, flags, told) in [
        (
            &[("JACKFIELD_LOG", "loud")][..],
            &[][..],
            "`log.level` is \"loud\" (JACKFIELD_LOG), expected one of ",
        ),
        (
            &[],
            &["--set", "limits.idle_minutes=soon"],
            "`limits.idle_minutes` is \"soon\" (--set), expected a whole",
        ),
        (&[], &["--set", "idle=5"], "there is no option `idle` (--set), the nearest is `"),
        (
            &[],
            &["--set", "demo.enabled"],
            "`demo.enabled` is no option with a value (--set), expected `OPTION=VALUE`",
        ),
        (&[], &["--listen", "4180"], "`server.listen` is \"4180\" (--listen), expected an address"),
    ] {
        let finished = config(home.path(), variables, flags);
        assert_eq!((finished.code, finished.out.as_str()), (Some(2), ""));
        assert!(finished.err.starts_with(&format!("jackfield: {told}")), "{}", finished.err);
    }
}

#[test]
fn what_is_printed_is_a_file_that_says_the_same() {
    let home = home("[limits]\nbudget_usd_per_session = 5\n[claude]\nenvironment.deny = [\"A\", \"B\"]\n");
    let first = config(home.path(), &[], &["--claude", "other-claude", "--set", "demo.enabled=false"]);
    assert_eq!((first.code, first.err.as_str()), (Some(0), ""));
    for line in [
        "budget_usd_per_session = 5.0             # line 2",
        "deny = [\"A\", \"B\"]                        # line 4",
        "program = \"other-claude\"                 # --claude",
        "enabled = false                          # --set",
        "# model                                  # not set",
        "max_running_sessions = 20                # default",
    ] {
        assert!(first.out.lines().any(|printed| printed == line), "no `{line}` in\n{}", first.out);
    }
    let printed = home.path().join("printed.toml");
    fs::write(&printed, &first.out).unwrap();
    let second = config(home.path(), &[], &["--config", printed.to_str().unwrap()]);
    assert_eq!((second.code, second.err.as_str()), (Some(0), ""));
    let without_places = |text: &str| {
        let value = |line: &str| line.rsplit_once(" # ").map_or("", |(value, _)| value).trim().to_owned();
        text.lines().skip(1).map(value).collect::<Vec<_>>()
    };
    assert_eq!(without_places(&first.out), without_places(&second.out));
}

#[test]
fn the_example_is_a_file_that_changes_nothing_and_has_every_option() {
    let empty = tempfile::tempdir().unwrap();
    let example = config(empty.path(), &[], &["--example"]);
    assert_eq!((example.code, example.err.as_str()), (Some(0), ""));
    let home = home(&example.out);
    let options = |home: &Path| {
        let finished = config(home, &[("XDG_DATA_HOME", "/srv/data")], &["--json"]);
        assert_eq!((finished.code, finished.err.as_str()), (Some(0), ""));
        let whole: Value = serde_json::from_str(&finished.out).unwrap();
        let options = whole["options"].as_array().unwrap().clone();
        options
            .into_iter()
            .map(|option| (option["option"].clone(), option["value"].clone()))
            .collect::<Vec<_>>()
    };
    assert_eq!(options(home.path()), options(empty.path()));
    for (key, _) in options(home.path()) {
        let name = key.as_str().unwrap().rsplit('.').next().unwrap().to_owned();
        let shown = |line: &str| line.trim_start_matches("# ").starts_with(&format!("{name} = "));
        assert!(example.out.lines().any(shown), "{key} is not in the example");
    }

    // What stands behind a `#` is true too.
    let uncommented = |line: &str| {
        let bare = line
            .strip_prefix("# ")
            .filter(|line| line.split_once(" = ").is_some_and(|(name, _)| !name.contains(' ')));
        bare.unwrap_or(line).to_owned()
    };
    let text: Vec<String> = example.out.lines().map(uncommented).collect();
    let home = self::home(&text.join("\n"));
    let finished = config(home.path(), &[], &["--json"]);
    assert_eq!(option(&finished, "claude.model").0, "opus");
}

#[test]
fn the_reference_in_the_repository_is_the_programs_own() {
    let home = tempfile::tempdir().unwrap();
    let printed = config(home.path(), &[], &["--reference"]);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/configuration.md");
    let written = fs::read_to_string(path).unwrap();
    assert!(
        written == printed.out,
        "docs/configuration.md is behind: cargo run -- config --reference > docs/configuration.md"
    );
}

#[test]
fn a_user_without_a_home_has_a_configuration_too() {
    let finished: Finished = jackfield(["config"]).output().unwrap().into();
    assert_eq!((finished.code, finished.err.as_str()), (Some(0), ""));
    assert!(finished.out.starts_with("# no place for a configuration file: HOME is not set\n"));
    assert!(finished.out.contains("# folder                                 # not set"), "{}", finished.out);
}

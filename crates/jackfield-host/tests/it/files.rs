//! Files below a session's folder: what can be had, and what cannot, however it is asked for.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use jackfield_api::host::{FileKind, FileList};
use jackfield_host::files::{FileError, Folder, MOST_BYTES, MOST_ENTRIES, folders};
use proptest::prelude::*;

/// A place with a session's folder and a secret beside it.
struct Place {
    root: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("ws")).unwrap();
        fs::create_dir(root.path().join("outside")).unwrap();
        fs::write(root.path().join("outside/secret"), "secret").unwrap();
        Self { root }
    }

    fn ws(&self) -> PathBuf {
        self.root.path().join("ws")
    }

    fn write(&self, path: &str, text: &str) -> &Self {
        let path = self.ws().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    fn link(&self, path: &str, to: impl AsRef<Path>) -> &Self {
        symlink(to, self.ws().join(path)).unwrap();
        self
    }

    fn folder(&self) -> Folder {
        Folder::open(&self.ws()).unwrap()
    }
}

fn paths(list: &FileList) -> Vec<&str> {
    list.entries.iter().map(|entry| entry.path.as_str()).collect()
}

#[test]
fn s11_nothing_outside_is_reached_however_it_is_named() {
    let place = Place::new();
    place.write("sub/a", "a").link("absolute", place.root.path().join("outside/secret"));
    place
        .link("relative", "../outside/secret")
        .link("sub/up", "../..")
        .link("etc", "/etc")
        .link("chain", "relative");
    place.link("root", "/");
    let folder = place.folder();
    let secret = place.root.path().join("outside/secret");
    let outside = [
        secret.to_str().unwrap(),
        "/etc/passwd",
        "//etc/passwd",
        "///etc/passwd",
        "../outside/secret",
        "sub/../../outside/secret",
        "./../outside/secret",
        "absolute",
        "relative",
        "chain",
        "sub/up/outside/secret",
        "etc/passwd",
        "root/etc/passwd",
    ];
    let sibling = format!("{}-sibling/secret", place.ws().display());
    let through_self = format!("{}/../outside/secret", place.ws().display());
    for path in outside.into_iter().chain([sibling.as_str(), through_self.as_str()]) {
        assert!(
            matches!(folder.read(path, MOST_BYTES), Err(FileError::Outside { .. })),
            "{path}: {:?}",
            folder.read(path, MOST_BYTES)
        );
    }
    for path in ["..", "/", "/etc", "etc", "sub/up", "root", "../outside"] {
        assert!(matches!(folder.list(path), Err(FileError::Outside { .. })), "{path}");
    }
    for path in ["sub/a\0b", "\0", "missing", "sub/missing/x"] {
        assert!(matches!(folder.read(path, MOST_BYTES), Err(FileError::NotFound { .. })), "{path:?}");
    }
    for path in ["a/".repeat(5_000), "a".repeat(300), "sub/".repeat(1_100) + "a"] {
        assert!(folder.read(&path, MOST_BYTES).is_err());
        assert!(folder.list(&path).is_err());
    }
}

proptest! {
    #[test]
    fn s11_no_path_reads_the_secret(
        parts in prop::collection::vec(
            prop::sample::select(vec!["..", ".", "", "ws", "sub", "up", "out", "outside", "secret", "a"]), 0..8),
    ) {
        let place = Place::new();
        place.write("sub/a", "a").link("sub/up", "../..").link("out", "../outside");
        let path = parts.join("/");
        if let Ok(content) = place.folder().read(&path, MOST_BYTES) {
            prop_assert_eq!(content.text.as_deref(), Some("a"));
        }
    }
}

#[test]
fn s12_a_file_that_turns_into_a_link_out_is_never_followed() {
    let place = Place::new();
    place.write("real/file", "inside");
    let folder = place.folder();
    let (target, ws) = (place.root.path().join("outside"), place.ws());
    fs::write(target.join("file"), "secret").unwrap();
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // `flip` is by turns a link to the folder within and one to the folder without.
            while !over.load(Ordering::Relaxed) {
                for to in [Path::new("real"), &target] {
                    let _ = fs::remove_file(ws.join("next"));
                    symlink(to, ws.join("next")).unwrap();
                    fs::rename(ws.join("next"), ws.join("flip")).unwrap();
                }
            }
        });
        let mut inside = 0;
        let mut refused = 0;
        // At least so many reads, and until both sides were seen.
        let mut reads = 0;
        while reads < 20_000 || (inside == 0 || refused == 0) && reads < 2_000_000 {
            reads += 1;
            match folder.read("flip/file", MOST_BYTES) {
                Ok(content) => {
                    assert_eq!(content.text.as_deref(), Some("inside"));
                    inside += 1;
                }
                Err(FileError::Outside { .. }) => refused += 1,
                Err(_) => {}
            }
        }
        over.store(true, Ordering::Relaxed);
        assert!(inside > 0 && refused > 0, "{inside} read, {refused} refused");
    });
}

#[test]
fn links_that_stay_within_are_followed() {
    let place = Place::new();
    place.write("sub/a", "a").link("near", "sub/a").link("sub/back", "../sub/a").link("folder", "sub");
    let folder = place.folder();
    for path in ["near", "sub/back", "folder/a", "sub/../near", "./sub//a"] {
        assert_eq!(folder.read(path, MOST_BYTES).unwrap().text.as_deref(), Some("a"), "{path}");
    }
    assert_eq!(paths(&folder.list("folder").unwrap()), ["folder/a", "folder/back"]);
}

#[test]
fn a_full_path_below_the_folder_is_taken_as_one_below_it() {
    let place = Place::new();
    place.write("sub/a", "a");
    let full = place.ws().join("sub/a");
    let content = place.folder().read(full.to_str().unwrap(), MOST_BYTES).unwrap();
    assert_eq!((content.path.as_str(), content.text.as_deref()), ("sub/a", Some("a")));
    assert_eq!(paths(&place.folder().list(place.ws().to_str().unwrap()).unwrap()), ["sub"]);
}

#[test]
fn a_list_has_folders_first_and_tells_what_is_what() {
    let place = Place::new();
    place
        .write("b.txt", "12345")
        .write("z/x", "")
        .write("a/x", "")
        .link("link", "b.txt")
        .link("away", "/etc");
    let list = place.folder().list("").unwrap();
    assert_eq!(paths(&list), ["a", "z", "away", "b.txt", "link"]);
    let kinds: Vec<FileKind> = list.entries.iter().map(|entry| entry.kind).collect();
    assert_eq!(kinds, [FileKind::Folder, FileKind::Folder, FileKind::Link, FileKind::File, FileKind::Link]);
    assert_eq!(list.entries[3].size, 5);
    assert!(list.entries[3].modified_at.is_some());
    assert!(!list.truncated);
    assert!(matches!(place.folder().list("b.txt"), Err(FileError::NotAFile { .. })));
}

#[test]
fn a_list_that_is_too_long_is_cut_and_says_so() {
    let place = Place::new();
    for number in 0..=MOST_ENTRIES {
        fs::write(place.ws().join(format!("{number:05}")), "").unwrap();
    }
    let list = place.folder().list("").unwrap();
    assert_eq!(list.entries.len(), MOST_ENTRIES);
    assert!(list.truncated);
    assert_eq!(list.entries[0].path, "00000");
}

#[test]
fn a_long_file_is_cut_at_a_character_and_says_so() {
    let place = Place::new();
    place
        .write("euros", &"€".repeat(10))
        .write("long", &"a".repeat(usize::try_from(MOST_BYTES).unwrap() + 1));
    let folder = place.folder();
    let content = folder.read("euros", 10).unwrap();
    assert_eq!((content.text.as_deref(), content.truncated, content.size), (Some("€€€"), true, 30));
    let whole = folder.read("euros", 30).unwrap();
    assert_eq!((whole.text.unwrap().len(), whole.truncated), (30, false));
    let long = folder.read("long", u64::MAX).unwrap();
    assert_eq!(
        (long.text.unwrap().len() as u64, long.truncated, long.size),
        (MOST_BYTES, true, MOST_BYTES + 1)
    );
}

#[test]
fn what_is_not_text_has_no_text() {
    let place = Place::new();
    for (name, bytes, is_text) in [
        ("empty", &b""[..], true),
        ("text", "grün\n\t\u{1b}[0m".as_bytes(), true),
        ("zero", b"a\0b", false),
        ("latin", b"gr\xfcn", false),
        ("half", b"\xe2\x82", false),
    ] {
        fs::write(place.ws().join(name), bytes).unwrap();
        let content = place.folder().read(name, MOST_BYTES).unwrap();
        assert_eq!(content.text.is_some(), is_text, "{name}");
        assert_eq!(content.size, bytes.len() as u64);
    }
}

#[test]
fn a_pipe_a_socket_a_device_and_a_folder_are_refused_and_nothing_waits() {
    let place = Place::new();
    place.write("sub/a", "");
    let made = std::process::Command::new("mkfifo").arg(place.ws().join("pipe")).status().unwrap();
    assert!(made.success());
    let _socket = std::os::unix::net::UnixListener::bind(place.ws().join("socket")).unwrap();
    let folder = place.folder();
    for path in ["pipe", "socket", "sub", "", "."] {
        assert!(matches!(folder.read(path, MOST_BYTES), Err(FileError::NotAFile { .. })), "{path}");
    }
    let list = folder.list("").unwrap();
    let pipe = list.entries.iter().find(|entry| entry.path == "pipe").unwrap();
    assert_eq!(pipe.kind, FileKind::Other);
    // A pipe in the place of a list of what to ignore does not hold a search up either.
    fs::rename(place.ws().join("pipe"), place.ws().join(".gitignore")).unwrap();
    assert_eq!(paths(&folder.find("suba", 5).unwrap()), ["sub/a"]);
}

#[test]
fn odd_names_are_listed_and_those_that_json_can_carry_are_read() {
    let place = Place::new();
    let odd = ["line\nbreak", "tab\t", "-rf", "a b", "$(x)", "quote'\"", "ü\u{202e}"];
    for name in odd {
        place.write(name, name);
    }
    let not_utf8 = OsStr::from_bytes(b"bad\xff");
    fs::write(place.ws().join(not_utf8), "").unwrap();
    let folder = place.folder();
    let list = folder.list("").unwrap();
    for name in odd {
        assert!(paths(&list).contains(&name), "{name:?}");
        assert_eq!(folder.read(name, MOST_BYTES).unwrap().text.as_deref(), Some(name));
    }
    assert!(paths(&list).contains(&"bad\u{fffd}"));
    assert!(matches!(folder.read("bad\u{fffd}", MOST_BYTES), Err(FileError::NotFound { .. })));
}

#[test]
fn a_folder_that_was_moved_is_still_the_folder_that_was_opened() {
    let place = Place::new();
    place.write("a", "old");
    let folder = place.folder();
    fs::rename(place.ws(), place.root.path().join("moved")).unwrap();
    fs::create_dir(place.ws()).unwrap();
    place.write("a", "new");
    assert_eq!(folder.read("a", MOST_BYTES).unwrap().text.as_deref(), Some("old"));
}

#[test]
fn a_search_finds_by_letters_and_leaves_out_what_git_ignores() {
    let place = Place::new();
    place
        .write("src/main.rs", "")
        .write("src/domain.rs", "")
        .write("target/main.rs", "")
        .write("docs/main.md", "");
    place
        .write(".gitignore", "/target\n*.log\n")
        .write("a.log", "")
        .write(".git/main", "")
        .write(".github/main.yml", "");
    place
        .write("docs/.gitignore", "!keep.log\nmain.*\n")
        .write("docs/keep.log", "")
        .write("docs/deep/other.log", "");
    place.write(".git/info/exclude", "excluded\n").write("excluded", "");
    let folder = place.folder();
    let found = folder.find("main", 10).unwrap();
    // The name that is the query comes first, then what only contains it.
    assert_eq!(paths(&found), ["src/main.rs", ".github/main.yml", "src/domain.rs"]);
    assert!(!found.truncated);
    assert_eq!(paths(&folder.find("log", 10).unwrap()), ["docs/keep.log"]);
    assert_eq!(paths(&folder.find("excluded", 10).unwrap()), Vec::<&str>::new());
    assert_eq!(paths(&folder.find("SRC MAIN", 10).unwrap())[0], "src/main.rs");
    let all = folder.find("", 2).unwrap();
    assert_eq!((all.entries.len(), all.truncated), (2, true));
}

#[test]
fn a_search_goes_into_no_link() {
    let place = Place::new();
    place.write("sub/needle", "").link("out", "../outside").link("loop", ".").link("sub/up", "..");
    assert_eq!(paths(&place.folder().find("secret", 10).unwrap()), Vec::<&str>::new());
    assert_eq!(paths(&place.folder().find("needle", 10).unwrap()), ["sub/needle"]);
}

#[test]
fn a_search_in_too_many_files_ends_and_says_so() {
    let place = Place::new();
    for folder in 0..60 {
        let folder = place.ws().join(format!("f{folder}"));
        fs::create_dir(&folder).unwrap();
        for file in 0..850 {
            fs::hard_link(place.root.path().join("outside/secret"), folder.join(format!("needle{file}")))
                .unwrap();
        }
    }
    let found = place.folder().find("needle", 20).unwrap();
    assert!(found.truncated);
    assert_eq!(found.entries.len(), 20);
}

#[test]
fn a_folder_to_begin_in_is_chosen_by_name() {
    let place = Place::new();
    for name in ["b", "a", ".hidden"] {
        fs::create_dir(place.ws().join(name)).unwrap();
    }
    place.write("file", "").link("linked", "a").link("broken", "nowhere").link("to-file", "file");
    let list = folders(&place.ws().join("a/..")).unwrap();
    assert_eq!(list.folders, ["a", "b", "linked", ".hidden"]);
    assert_eq!(list.path, place.ws().to_string_lossy());
    assert_eq!(list.parent.as_deref(), place.ws().parent().and_then(Path::to_str));
    assert_eq!(folders(Path::new("/")).unwrap().parent, None);
    assert!(matches!(folders(Path::new("relative")), Err(FileError::NotFound { .. })));
    assert!(matches!(folders(&place.ws().join("nowhere")), Err(FileError::NotFound { .. })));
    assert!(matches!(folders(&place.ws().join("file")), Err(FileError::NotAFile { .. })));
}

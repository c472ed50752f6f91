//! Where installers put the CLI.
//!
//! Only paths; apart from the names of Node versions nothing is read. The one rule it keeps: every place is
//! absolute, since a relative one would lie in the opened folder.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use super::folder;
use crate::environment::Environment;
use crate::version::Version;

/// The CLI in `PATH` and in the usual places, in that order, each once.
pub(super) fn all(environment: &Environment) -> Vec<PathBuf> {
    let name = Path::new("claude");
    let mut places = in_path(name, environment);
    for folder in usual_folders(environment) {
        let place = folder.join(name);
        if !places.contains(&place) {
            places.push(place);
        }
    }
    places
}

/// A program in `PATH`.
pub(super) fn in_path(name: &Path, environment: &Environment) -> Vec<PathBuf> {
    let path = environment.get(OsStr::new("PATH")).map(std::env::split_paths);
    path.into_iter().flatten().filter(|folder| folder.is_absolute()).map(|folder| folder.join(name)).collect()
}

fn usual_folders(environment: &Environment) -> Vec<PathBuf> {
    let named = |name, below: &str| folder(environment, name).map(|folder| folder.join(below));
    let mut folders: Vec<_> = [
        named("NPM_CONFIG_PREFIX", "bin"),
        named("npm_config_prefix", "bin"),
        named("BUN_INSTALL", "bin"),
        named("PNPM_HOME", ""),
        named("VOLTA_HOME", "bin"),
        named("HOMEBREW_PREFIX", "bin"),
    ]
    .into_iter()
    .flatten()
    .collect();
    if let Some(home) = folder(environment, "HOME") {
        let below_home = [
            ".local/bin",
            ".claude/local",
            ".claude/local/node_modules/.bin",
            ".npm-global/bin",
            ".npm-packages/bin",
            ".bun/bin",
            ".local/share/pnpm",
            "Library/pnpm",
            ".yarn/bin",
            ".config/yarn/global/node_modules/.bin",
            ".volta/bin",
            ".asdf/shims",
            ".local/share/mise/shims",
            "node_modules/.bin",
        ];
        folders.extend(below_home.map(|below| home.join(below)));
        folders.extend(node_versions(&home.join(".nvm/versions/node"), "bin"));
        folders.extend(node_versions(&home.join(".local/share/fnm/node-versions"), "installation/bin"));
    }
    let of_the_machine =
        ["/opt/homebrew/bin", "/home/linuxbrew/.linuxbrew/bin", "/usr/local/bin", "/usr/bin", "/snap/bin"];
    folders.extend(of_the_machine.map(PathBuf::from));
    folders
}

/// The folders of installed Node versions, the newest first.
fn node_versions(folder: &Path, below: &str) -> Vec<PathBuf> {
    let version = |path: &Path| path.file_name()?.to_str()?.trim_start_matches('v').parse::<Version>().ok();
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut versions: Vec<_> =
        entries.map(|entry| entry.path()).filter_map(|path| Some((version(&path)?, path))).collect();
    versions.sort();
    versions.into_iter().rev().map(|(_, path)| path.join(below)).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn path_comes_first_and_no_place_twice() {
        let environment = [("PATH", "/usr/local/bin:/b"), ("HOME", "/home/me"), ("BUN_INSTALL", "/bun")];
        let environment = environment.map(|(name, value)| (name.into(), value.into())).into();
        let places = all(&environment);
        assert_eq!(places[..3], ["/usr/local/bin/claude", "/b/claude", "/bun/bin/claude"].map(PathBuf::from));
        for (index, place) in places.iter().enumerate() {
            assert!(place.is_absolute() && !places[..index].contains(place), "{}", place.display());
        }
        for place in
            ["/home/me/.local/bin/claude", "/home/me/.claude/local/claude", "/opt/homebrew/bin/claude"]
        {
            assert!(places.contains(&place.into()), "{place}");
        }
    }

    #[test]
    fn nothing_is_searched_below_the_opened_folder() {
        let environment = [("PATH", ":.:bin:/a:"), ("HOME", "home"), ("BUN_INSTALL", "./bun")];
        let environment = environment.map(|(name, value)| (name.into(), value.into())).into();
        assert_eq!(in_path(Path::new("claude"), &environment), [PathBuf::from("/a/claude")]);
        assert!(all(&environment).iter().all(|place| place.is_absolute()));
    }

    #[test]
    fn the_newest_node_is_asked_first() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["v9.0.0", "v22.1.0", "v22.10.0", "system"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        let expected = ["v22.10.0", "v22.1.0", "v9.0.0"].map(|name| folder.path().join(name).join("bin"));
        assert_eq!(node_versions(folder.path(), "bin"), expected);
    }
}

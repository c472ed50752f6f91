//! What the configuration lends: a kernel and language servers, to the editor's tools and to sessions.
//!
//! It only translates. The one rule it keeps: programs come from the user's configuration, never from a folder.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use jackfield_host::outfit::Outfit;
use jackfield_ide::{LinkedEditor, lock_folder};
use jackfield_sdk::{Callbacks, Environment, Options, Trust};
use jackfield_workbench::{
    Buffers, Equipment, KernelSetup, LanguageServerSetup, LanguageServers, Reach, Surroundings,
};

use crate::config::Config;
use crate::variables;

/// The Python that `jackfield ide` runs code in if none is named.
const PYTHON: &str = "python3";

/// A language server as the configuration writes it: `py pyi: pyright-langserver --stdio`.
pub(crate) fn language_server(text: &str) -> Option<LanguageServerSetup> {
    let (extensions, command) = text.split_once(':')?;
    let extensions: Vec<String> =
        extensions.split_whitespace().map(|word| word.trim_start_matches('.').to_owned()).collect();
    let mut words = command.split_whitespace().map(OsString::from);
    let program = words.next()?;
    // A name is looked for in PATH; a path from nowhere could be anybody's.
    let is_named = Path::new(&program).components().count() == 1 || Path::new(&program).is_absolute();
    let is_whole =
        is_named && !extensions.is_empty() && extensions.iter().all(|extension| !extension.is_empty());
    is_whole.then(|| LanguageServerSetup { extensions, program, arguments: words.collect() })
}

/// The language servers of a folder; `None` if none is configured.
pub(crate) fn language_servers(
    config: &Config,
    environment: &Environment,
    folder: &Path,
) -> Option<Arc<LanguageServers>> {
    let setups: Vec<_> =
        config.tools.language_servers.iter().filter_map(|text| language_server(text)).collect();
    let servers = || LanguageServers::new(setups.clone(), folder, &surroundings(config, environment));
    (!setups.is_empty()).then(|| Arc::new(servers()))
}

/// The kernel of an editor's own: the CLI asks for leave before it runs code.
pub(crate) fn kernel(config: &Config, environment: &Environment, folder: PathBuf) -> KernelSetup {
    KernelSetup {
        python: config.tools.python.clone().map_or_else(|| PYTHON.into(), Into::into),
        folder,
        limit: Duration::from_secs(config.tools.code_seconds),
        surroundings: surroundings(config, environment),
    }
}

/// What sessions of a host are given; `None` if nothing is configured.
pub(crate) fn outfit(config: &Config, environment: &Environment) -> Option<Outfit> {
    let equip = equip(config, environment)?;
    Some(Outfit::new(equip))
}

/// What a session is given; `None` if nothing is configured.
pub(crate) fn equip(
    config: &Config,
    environment: &Environment,
) -> Option<impl Fn(Callbacks, &Path, Trust) -> Callbacks + Send + Sync + 'static> {
    let tools = &config.tools;
    if tools.python.is_none() && tools.language_servers.is_empty() && !tools.editor {
        return None;
    }
    let equipment = Equipment {
        python: tools.python.clone().map(Into::into),
        code_limit: Duration::from_secs(tools.code_seconds),
        language_servers: tools.language_servers.iter().filter_map(|text| language_server(text)).collect(),
        surroundings: surroundings(config, environment),
    };
    let locks = lock_folders(environment).filter(|_| tools.editor);
    let own = tools.folders.clone();
    Some(move |callbacks, folder: &Path, trust| {
        let trust = if is_below(folder, &own) { Trust::Trusted } else { trust };
        let editor = locks.as_ref().and_then(|locks| LinkedEditor::find(locks, folder));
        let buffers = editor.map(|editor| Arc::new(editor) as Arc<dyn Buffers>);
        equipment.equip(callbacks, Reach { folder: folder.to_owned(), trust, buffers })
    })
}

/// Whether a folder is one of these, or below one; where it really is counts, not how it is written.
fn is_below(folder: &Path, own: &[PathBuf]) -> bool {
    let real = folder.canonicalize();
    real.is_ok_and(|real| {
        own.iter().filter_map(|own| own.canonicalize().ok()).any(|own| real.starts_with(own))
    })
}

/// Where CLIs of this user look for editors; `None` for a user without a home.
pub(crate) fn lock_folders(environment: &Environment) -> Option<PathBuf> {
    let home = || Some(variables::HOME.folder(environment)?.join(".claude"));
    let config = variables::CLAUDE_CONFIG_DIR.folder(environment).or_else(home)?;
    Some(lock_folder(&config))
}

/// Programs see what the CLI sees, and end with this one.
pub(crate) fn surroundings(config: &Config, environment: &Environment) -> Surroundings {
    let options = config.session("/", environment);
    let environment = jackfield_sdk::environment(environment.clone(), &Options::clone(&options));
    // Without its own file this program could not have been started.
    let guard = env::current_exe().map(|program| vec![program.into_os_string(), "guard".into()]);
    Surroundings { environment, guard: guard.unwrap_or_default() }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_folder_is_below_another_by_where_it_really_is() {
        let place = tempfile::tempdir().unwrap();
        let [own, inside, other] = ["own", "own/project", "own-not"].map(|name| place.path().join(name));
        for folder in [&inside, &other] {
            std::fs::create_dir_all(folder).unwrap();
        }
        let link = own.join("link");
        std::os::unix::fs::symlink(&other, &link).unwrap();
        let is_own = |folder: &Path| is_below(folder, std::slice::from_ref(&own));
        assert!(is_own(&own) && is_own(&inside) && is_own(&other.join("../own/project")));
        assert!(!is_own(&other) && !is_own(&link) && !is_own(place.path()) && !is_own(&own.join("gone")));
        assert!(!is_below(&inside, &[]));
    }

    #[test]
    fn a_language_server_is_named_with_its_files() {
        let read = language_server("py .pyi: pyright-langserver --stdio").unwrap();
        assert_eq!(read.extensions, ["py", "pyi"]);
        assert_eq!((read.program, read.arguments), ("pyright-langserver".into(), vec!["--stdio".into()]));
        assert!(language_server("rs: /usr/bin/rust-analyzer").is_some());
        for wrong in
            ["", "py", "py:", ": server", ".: server", "py: ./server", "py: node_modules/.bin/server"]
        {
            assert_eq!(language_server(wrong), None, "{wrong}");
        }
    }
}

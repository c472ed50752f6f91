//! The checkout as the other commands see it: where it is, which packages it has, which files.
//!
//! It reads and never writes. The one rule it keeps: what it tells comes from `cargo` and `git`, not from a
//! list of its own.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;

use crate::process::{self, ProcessError};

/// The folder with the workspace's `Cargo.toml`.
pub(crate) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_owned()
}

/// A `cargo` command, the same `cargo` that runs us, in the workspace's folder.
pub(crate) fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root());
    command
}

/// The folder that `cargo` builds into.
pub(crate) fn cargo_target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), |folder| root().join(folder))
}

/// Why the checkout could not be looked at.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WorkspaceError {
    /// `cargo` or `git` failed.
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// `cargo metadata` wrote something else.
    #[error("cannot read what `cargo metadata` wrote: {0}")]
    Metadata(#[from] serde_json::Error),
}

/// All files that are or would be under version control, with `/` between folders, in order.
pub(crate) fn files() -> Result<Vec<String>, WorkspaceError> {
    let mut git = Command::new("git");
    git.current_dir(root()).args(["ls-files", "--cached", "--others", "--exclude-standard", "-z"]);
    let listed = process::capture(&mut git)?;
    let mut files: Vec<String> = listed
        .split('\0')
        .filter(|path| !path.is_empty() && root().join(path).is_file())
        .map(str::to_owned)
        .collect();
    files.sort();
    Ok(files)
}

/// What `cargo metadata` tells of the packages and of what depends on what.
pub(crate) fn metadata() -> Result<Metadata, WorkspaceError> {
    let version = process::capture(Command::new("rustc").arg("-vV"))?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: ")).unwrap_or_default();
    // For this machine only: packages for other systems need not be there.
    let mut command = cargo();
    command.args(["metadata", "--format-version", "1", "--locked", "--filter-platform", host]);
    Ok(serde_json::from_str(&process::capture(&mut command)?)?)
}

/// The part of `cargo metadata` that we look at.
#[derive(Debug, Deserialize)]
pub(crate) struct Metadata {
    /// All packages of the tree.
    pub(crate) packages: Vec<Package>,
    /// The ids of our own.
    workspace_members: Vec<String>,
    resolve: Resolve,
}

/// A package, ours or another's.
#[derive(Debug, Deserialize)]
pub(crate) struct Package {
    /// How the tree calls it.
    pub(crate) id: String,
    /// Its name.
    pub(crate) name: String,
    /// Where its manifest is.
    pub(crate) manifest_path: PathBuf,
    /// What its manifest asks for.
    pub(crate) dependencies: Vec<Dependency>,
}

/// One line of a manifest.
#[derive(Debug, Deserialize)]
pub(crate) struct Dependency {
    /// The package that is asked for.
    pub(crate) name: String,
    /// When it is needed.
    pub(crate) kind: Option<Kind>,
    /// Whether only a feature brings it in.
    #[serde(default)]
    optional: bool,
}

/// When a dependency is needed; always, if it has none of these.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kind {
    /// For tests.
    Dev,
    /// For the build script.
    Build,
}

#[derive(Debug, Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}

#[derive(Debug, Deserialize)]
struct Node {
    id: String,
    deps: Vec<Edge>,
}

#[derive(Debug, Deserialize)]
struct Edge {
    pkg: String,
    dep_kinds: Vec<EdgeKind>,
}

#[derive(Debug, Deserialize)]
struct EdgeKind {
    kind: Option<Kind>,
}

impl Metadata {
    /// Our own packages, by name.
    pub(crate) fn members(&self) -> impl Iterator<Item = &Package> {
        self.packages.iter().filter(|package| self.workspace_members.contains(&package.id))
    }

    /// Everything that is linked into `package`, each with the way to it, itself left out. What only a feature
    /// of one of our own crates brings in is not: the whole tree is resolved at once, generator included.
    pub(crate) fn linked_into<'a>(&'a self, package: &'a Package) -> BTreeMap<&'a str, Vec<&'a str>> {
        let names: BTreeMap<&str, &str> =
            self.packages.iter().map(|package| (&*package.id, &*package.name)).collect();
        let nodes: BTreeMap<&str, &Node> = self.resolve.nodes.iter().map(|node| (&*node.id, node)).collect();
        let members: BTreeMap<&str, &Package> = self.members().map(|member| (&*member.id, member)).collect();
        let optional = |id: &str, name: &str| {
            let asked = members.get(id).map(|member| &*member.dependencies).unwrap_or_default();
            asked.iter().any(|dependency| dependency.name == name && dependency.optional)
        };
        let mut found = BTreeMap::new();
        let mut open = vec![(&*package.id, vec![&*package.name])];
        while let Some((id, way)) = open.pop() {
            for edge in nodes.get(id).map(|node| &*node.deps).unwrap_or_default() {
                let linked = edge.dep_kinds.iter().any(|kind| kind.kind.is_none());
                let name = names.get(&*edge.pkg).copied().unwrap_or_default();
                if linked && !optional(id, name) && !found.contains_key(name) {
                    let way: Vec<&str> = way.iter().copied().chain([name]).collect();
                    found.insert(name, way.clone());
                    open.push((&edge.pkg, way));
                }
            }
        }
        found
    }
}

//! Who may know whom: the crates' table of the design, as data.
//!
//! Our own crates are judged by what their manifests name, other people's by what is really linked in, however
//! many steps away. The one rule it keeps: a crate that is not in the table is not in the house.

use std::path::Path;

use super::{Finding, House};
use crate::workspace::{self, Kind, Package};

struct Layer {
    name: &'static str,
    /// Our crates that it may name.
    may_use: &'static [&'static str],
    /// Packages that must not be linked into it, by whatever way.
    must_not_reach: &'static [&'static [&'static str]],
    /// Packages that it must not name itself, though a crate below it may.
    must_not_name: &'static [&'static [&'static str]],
}

const RUNTIME: &[&str] =
    &["tokio", "mio", "async-std", "smol", "async-io", "rayon", "crossbeam", "parking_lot"];
const NETWORK: &[&str] =
    &["axum", "hyper", "hyper-util", "reqwest", "ureq", "isahc", "socket2", "tungstenite"];
const CHANCE: &[&str] = &["rand", "rand_core", "getrandom", "fastrand", "uuid", "ulid"];
const CLOCK: &[&str] = &["chrono", "time", "jiff", "web-time"];
const FILES: &[&str] = &["tempfile", "walkdir", "notify", "rustix", "nix", "rusqlite", "libsqlite3-sys"];
const STORE: &[&str] = &["rusqlite", "libsqlite3-sys", "sqlx", "redb"];
const HTTP: &[&str] = &["axum", "hyper", "hyper-util", "reqwest", "ureq", "tungstenite", "tokio-tungstenite"];
const ACP: &[&str] = &["agent-client-protocol", "agent-client-protocol-schema"];

const LAYERS: &[Layer] = &[
    Layer {
        name: "jackfield-wire",
        may_use: &[],
        must_not_reach: &[RUNTIME, NETWORK, CHANCE, CLOCK, FILES],
        must_not_name: &[],
    },
    Layer {
        name: "jackfield-api",
        may_use: &[],
        must_not_reach: &[RUNTIME, NETWORK, CHANCE, CLOCK, FILES],
        must_not_name: &[],
    },
    Layer {
        name: "jackfield-core",
        may_use: &["jackfield-wire", "jackfield-api"],
        must_not_reach: &[RUNTIME, NETWORK, CHANCE, CLOCK, FILES],
        must_not_name: &[],
    },
    Layer {
        name: "jackfield-observe",
        may_use: &["jackfield-api"],
        must_not_reach: &[RUNTIME, NETWORK, CHANCE, CLOCK, FILES],
        must_not_name: &[],
    },
    Layer {
        name: "jackfield-sdk",
        may_use: &["jackfield-wire", "jackfield-api", "jackfield-core"],
        must_not_reach: &[HTTP, ACP, STORE],
        must_not_name: &[],
    },
    Layer {
        name: "jackfield-host",
        may_use: &["jackfield-api", "jackfield-core", "jackfield-observe", "jackfield-sdk"],
        must_not_reach: &[HTTP, ACP],
        must_not_name: &[],
    },
    Layer {
        name: "jackfield-client",
        may_use: &["jackfield-api", "jackfield-core", "jackfield-sdk", "jackfield-host"],
        must_not_reach: &[ACP],
        must_not_name: &[],
    },
    // Sound in, text out: it knows nobody.
    Layer { name: "jackfield-speech", may_use: &[], must_not_reach: &[HTTP, ACP, STORE], must_not_name: &[] },
    Layer {
        name: "jackfield-server",
        may_use: &["jackfield-api", "jackfield-core", "jackfield-sdk", "jackfield-host", "jackfield-speech"],
        must_not_reach: &[ACP],
        must_not_name: &[STORE],
    },
    Layer {
        name: "jackfield-workbench",
        may_use: &["jackfield-sdk"],
        must_not_reach: &[HTTP, ACP, STORE],
        must_not_name: &[],
    },
    Layer {
        name: "jackfield-ide",
        may_use: &["jackfield-api", "jackfield-client", "jackfield-workbench"],
        must_not_reach: &[ACP],
        must_not_name: &[STORE],
    },
    Layer {
        name: "jackfield-acp",
        may_use: &["jackfield-api", "jackfield-core", "jackfield-client"],
        must_not_reach: &[],
        must_not_name: &[HTTP, STORE],
    },
    Layer {
        name: "jackfield",
        may_use: &[
            "jackfield-wire",
            "jackfield-api",
            "jackfield-core",
            "jackfield-observe",
            "jackfield-sdk",
            "jackfield-host",
            "jackfield-client",
            "jackfield-server",
            "jackfield-speech",
            "jackfield-ide",
            "jackfield-workbench",
            "jackfield-acp",
        ],
        must_not_reach: &[],
        must_not_name: &[],
    },
    // It drives the real CLI, and so it must not lean on our own reading of it.
    Layer { name: "jackfield-testkit", may_use: &[], must_not_reach: &[], must_not_name: &[] },
    Layer {
        name: "xtask",
        may_use: &[
            "jackfield-api",
            "jackfield-wire",
            "jackfield-core",
            "jackfield-host",
            "jackfield-client",
            "jackfield-server",
            "jackfield-speech",
            "jackfield-testkit",
        ],
        must_not_reach: &[],
        must_not_name: &[],
    },
];

/// Which of our crates a crate's tests need beside it: what it talks to, over a socket.
const TESTED_WITH: &[(&str, &str)] = &[
    ("jackfield-acp", "jackfield-host"),
    ("jackfield-client", "jackfield-server"),
    ("jackfield-observe", "jackfield-core"),
];

/// Compares the workspace with the table.
pub(super) fn check(house: &House) -> Vec<Finding> {
    let mut findings = Vec::new();
    for package in house.metadata.members() {
        let path = manifest(package);
        let Some(layer) = LAYERS.iter().find(|layer| layer.name == package.name) else {
            let text = format!(
                "`{}` is in no layer: write into the table in xtask/src/tidy/layering.rs what it may use",
                package.name
            );
            findings.push(Finding::new(&path, 1, text));
            continue;
        };
        let line = |name: &str| line_of(house.text(&path).unwrap_or_default(), name);
        for dependency in &package.dependencies {
            let (name, kind) = (&*dependency.name, dependency.kind);
            let ours = name.starts_with("jackfield") || name == "xtask";
            let allowed = layer.may_use.contains(&name)
                || kind == Some(Kind::Dev)
                    && (name == layer.name || TESTED_WITH.contains(&(layer.name, name)))
                || kind == Some(Kind::Dev) && name == "jackfield-testkit";
            if ours && !allowed {
                let text = format!("`{}` must not know `{name}`: take it out", layer.name);
                findings.push(Finding::new(&path, line(name), text));
            }
            if kind.is_none() && layer.must_not_name.iter().any(|list| list.contains(&name)) {
                let text = format!("`{}` must not name `{name}`: ask the crate below for it", layer.name);
                findings.push(Finding::new(&path, line(name), text));
            }
        }
        for (name, way) in house.metadata.linked_into(package) {
            if layer.must_not_reach.iter().any(|list| list.contains(&name)) {
                let first = way.get(1).copied().unwrap_or(name);
                let text = format!(
                    "`{}` must not reach `{name}` (by {}): take the first step out, or switch off its feature",
                    layer.name,
                    way.join(" → ")
                );
                findings.push(Finding::new(&path, line(first), text));
            }
        }
    }
    findings
}

/// A package's manifest, from the workspace's folder.
pub(super) fn manifest(package: &Package) -> String {
    let root = workspace::root();
    let path: &Path = package.manifest_path.strip_prefix(&root).unwrap_or(&package.manifest_path);
    path.to_string_lossy().into_owned()
}

fn line_of(manifest: &str, name: &str) -> usize {
    let starts = |line: &str| line.strip_prefix(name).is_some_and(|rest| rest.starts_with([' ', '=', '.']));
    manifest.lines().position(starts).map_or(1, |at| at + 1)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;

    use super::*;

    /// A workspace of one crate that names `names`, with one step from each of `links` to the next.
    fn house(name: &str, names: &[&str], kind: Option<&str>, links: &[&str]) -> House {
        let package = |name: &str, names: &[&str]| {
            let dependencies: Vec<_> =
                names.iter().map(|name| json!({ "name": name, "kind": kind })).collect();
            json!({ "id": name, "name": name, "manifest_path": "Cargo.toml", "dependencies": dependencies })
        };
        let node = |pair: &[&str]| {
            let edge = json!({ "pkg": pair[1], "dep_kinds": [{ "kind": kind }] });
            json!({ "id": pair[0], "deps": [edge] })
        };
        let way: Vec<&str> = [name].into_iter().chain(links.iter().copied()).collect();
        let others = links.iter().map(|link| package(link, &[]));
        let packages: Vec<_> = [package(name, names)].into_iter().chain(others).collect();
        let nodes: Vec<_> = way.windows(2).map(node).collect();
        let metadata =
            json!({ "packages": packages, "workspace_members": [name], "resolve": { "nodes": nodes } });
        let manifest = "[dependencies]\nserde = \"1\"\njackfield-wire = \"1\"\n".to_owned();
        let texts = vec![("Cargo.toml".to_owned(), manifest)];
        House { metadata: serde_json::from_value(metadata).unwrap(), texts }
    }

    fn findings(house: &House) -> Vec<String> {
        check(house).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_runtime_two_steps_away_is_found_with_the_way_to_it() {
        let found = findings(&house("jackfield-core", &["serde"], None, &["serde", "helper", "tokio"]));
        assert_eq!(found.len(), 1);
        assert!(found[0].starts_with("Cargo.toml:2: "), "{found:?}");
        assert!(found[0].contains("jackfield-core → serde → helper → tokio"), "{found:?}");
    }

    #[test]
    fn what_only_the_tests_need_is_not_linked_in() {
        let tests_only = house("jackfield-core", &["proptest"], Some("dev"), &["proptest", "rand"]);
        assert_eq!(findings(&tests_only), Vec::<String>::new());
    }

    #[test]
    fn the_server_must_not_know_the_wire() {
        let found = findings(&house("jackfield-server", &["jackfield-wire"], None, &[]));
        assert_eq!(found, ["Cargo.toml:3: `jackfield-server` must not know `jackfield-wire`: take it out"]);
    }

    #[test]
    fn a_crate_that_is_in_no_layer_is_found() {
        let found = findings(&house("jackfield-extra", &[], None, &[]));
        assert!(found[0].contains("`jackfield-extra` is in no layer"), "{found:?}");
    }
}

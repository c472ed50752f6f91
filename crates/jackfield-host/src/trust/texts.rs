//! What lies in the folders of a `.claude`: agents, commands, skills and the like, each whole with all its files.
//!
//! Their front matter can allow tools and set hooks, and commands can hold programs; which of it the CLI honours
//! changes from version to version, so the words are looked for anywhere.

use std::collections::BTreeMap;
use std::path::Path;

use jackfield_api::trust::BroughtKind;

use super::piece::{Danger, Piece, hash};
use super::reading::{Found, Reader};

/// The folders, and whether an entry in them is one thing with all that is below.
const FOLDERS: [(&str, BroughtKind, Entry); 7] = [
    ("agents", BroughtKind::Agent, Entry::File),
    ("commands", BroughtKind::Command, Entry::File),
    ("hooks", BroughtKind::Hook, Entry::File),
    ("output-styles", BroughtKind::Setting, Entry::File),
    ("plugins", BroughtKind::Plugin, Entry::Whole),
    ("skills", BroughtKind::Skill, Entry::Whole),
    ("workflows", BroughtKind::Command, Entry::File),
];

/// Words that stand for something that runs, or that lifts a question.
const TELLING: [&str; 7] =
    ["allowed-tools", "allowedTools", "hooks:", "mcpServers", "permissionMode", "permission-mode", "!`"];

/// Files with words for the model.
const INSTRUCTIONS: [&str; 6] =
    ["CLAUDE.md", "CLAUDE.local.md", "AGENTS.md", ".claude/CLAUDE.md", ".claude/AGENTS.md", ".claude/rules"];

/// What is one thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Entry {
    /// Each file, however deep.
    File,
    /// Each entry of the folder, with all that is below.
    Whole,
}

/// What lies in the folders of a `.claude`.
pub(super) fn pieces(configuration: &Path, reader: &mut Reader) -> Vec<Piece> {
    let mut pieces = Vec::new();
    for (folder, kind, entry) in FOLDERS {
        let mut entries: BTreeMap<String, Vec<(String, Found)>> = BTreeMap::new();
        for (within, found) in reader.below(&configuration.join(folder)) {
            let first = within.split('/').next().unwrap_or_default();
            let name = if entry == Entry::Whole { first } else { within.as_str() };
            entries.entry(name.to_owned()).or_default().push((within, found));
        }
        let runs = matches!(folder, "hooks" | "plugins" | "workflows");
        pieces.extend(entries.into_iter().filter_map(|(name, files)| piece(kind, &name, &files, runs)));
    }
    pieces
}

/// Files with words for the model, where there are any.
pub(super) fn instructions(place: &Path) -> Vec<Piece> {
    let there = |name: &&str| place.join(name).exists();
    let piece = |name: &str| Piece::instructions(name, place.join(name).to_string_lossy());
    INSTRUCTIONS.into_iter().filter(there).map(piece).collect()
}

fn piece(kind: BroughtKind, name: &str, files: &[(String, Found)], runs: bool) -> Option<Piece> {
    let tells = |(_, found): &(String, Found)| {
        let text = String::from_utf8_lossy(&found.bytes);
        TELLING.iter().any(|word| text.contains(word))
    };
    let danger = if runs || files.iter().any(tells) { Danger::Dangerous } else { Danger::Harmless };
    // Of several files the one that says what the thing is comes first.
    let is_main =
        |(within, _): &&(String, Found)| within.ends_with("/SKILL.md") || within.ends_with("plugin.json");
    let (_, main) = files.iter().find(is_main).or_else(|| files.first())?;
    let mut detail = String::from_utf8_lossy(&main.bytes).into_owned();
    let others: Vec<&str> = files
        .iter()
        .filter(|(_, file)| file.named != main.named)
        .map(|(within, _)| within.as_str())
        .collect();
    if !others.is_empty() {
        detail = format!("with {}\n\n{detail}", others.join(", "));
    }
    let parts =
        files.iter().flat_map(|(within, found)| [within.as_bytes(), found.real.as_bytes(), &found.bytes]);
    Some(Piece::new((kind, danger), name, &detail, hash(parts).as_bytes(), main))
}

//! Transcript files on disk.

use std::collections::BTreeSet;
use std::fs;

use jackfield_wire::{TranscriptEntry, decode_entry, project_folder};

use crate::recordings::root;

#[test]
fn every_line_of_every_recorded_transcript_file_is_known_and_linked() {
    let mut files = 0;
    for folder in fs::read_dir(root().join("session")).unwrap() {
        for file in fs::read_dir(folder.unwrap().path()).unwrap() {
            let path = file.unwrap().path();
            if !path.file_name().unwrap().to_str().unwrap().starts_with("session_") {
                continue;
            }
            files += 1;
            let mut seen = BTreeSet::new();
            for line in fs::read_to_string(&path).unwrap().split_terminator('\n') {
                let decoded = decode_entry(line.as_bytes());
                assert!(!decoded.repaired);
                assert_eq!(decoded.text, line);
                let (uuid, parent) = match decoded.entry {
                    TranscriptEntry::User(entry) => (entry.uuid, entry.parent_uuid),
                    TranscriptEntry::Assistant(entry) => (entry.uuid, entry.parent_uuid),
                    TranscriptEntry::Attachment(entry) => (entry.uuid, entry.parent_uuid),
                    TranscriptEntry::QueueOperation(_)
                    | TranscriptEntry::LastPrompt(_)
                    | TranscriptEntry::Mode(_) => {
                        continue;
                    }
                    other => panic!("{}: {other:?}", path.display()),
                };
                if let Some(parent) = parent {
                    assert!(seen.contains(&parent), "{}: {parent} is not an earlier line", path.display());
                }
                seen.insert(uuid.expect("a line of the conversation has an id"));
            }
            assert!(!seen.is_empty());
        }
    }
    assert!(files >= 5, "only {files} transcript files");
}

#[test]
fn unknown_and_cut_lines_of_a_transcript_file_are_kept_apart() {
    let unknown = decode_entry(br#"{"type":"new-thing","uuid":"u"}"#).entry;
    assert!(
        matches!(&unknown, TranscriptEntry::Unknown(unknown) if unknown.tag == "new-thing"),
        "{unknown:?}"
    );
    let cut = decode_entry(br#"{"type":"user","message":{"role":"us"#).entry;
    assert!(matches!(cut, TranscriptEntry::Malformed(_)), "{cut:?}");
    let misfit = decode_entry(br#"{"type":"mode","mode":7}"#).entry;
    assert!(
        matches!(&misfit, TranscriptEntry::Malformed(malformed) if malformed.tag.as_deref() == Some("mode")),
        "{misfit:?}"
    );
}

#[test]
fn a_working_directory_becomes_its_folder() {
    assert_eq!(project_folder("/ws"), "-ws");
    assert_eq!(project_folder("/home/user/my_app.v2"), "-home-user-my-app-v2");
    assert_eq!(project_folder("/é/😀"), "-----");
}

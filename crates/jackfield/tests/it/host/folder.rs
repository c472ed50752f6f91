//! One data folder and several programs: a second server, one of the past, one of the future.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use tokio::time::timeout;

use super::client::prompt;
use super::server::{PATIENCE, Place};

/// Every file below a folder.
fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    files.filter(|path| path.is_file()).map(|path| (path.clone(), fs::read(path).unwrap())).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn f27_a_second_server_on_one_data_folder_shows_the_way_to_the_first() {
    let place = Place::demo();
    let server = place.serve().await;
    let mut socket = place.client("one").await;
    let id = socket.create(place.create()).await;
    socket.follow(&id).await;
    socket.give(Some(&id), prompt("edit")).await.unwrap();
    socket.asked(&id).await;

    let second = timeout(PATIENCE, place.command().output()).await.unwrap().unwrap();
    let said = String::from_utf8(second.stdout).unwrap();
    assert!(second.status.success(), "{}", String::from_utf8_lossy(&second.stderr));
    assert!(said.contains("already runs"), "{said}");
    assert!(said.contains(&format!("http://{}/", server.address)), "{said}");
    // The first one was not disturbed.
    let mut other = place.client("two").await;
    other.follow(&id).await;
    other.asked(&id).await;
    assert!(server.stop().await.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn f28_a_database_of_a_newer_program_is_refused_and_left_as_it_is() {
    let place = Place::demo();
    assert!(place.serve().await.stop().await.success());
    let path = place.data.join("jackfield.db");
    // The number in the file's header that SQLite keeps for the program.
    let mut database = fs::read(&path).unwrap();
    database[60..64].copy_from_slice(&9_999_u32.to_be_bytes());
    fs::write(&path, database).unwrap();
    let before = contents(&place.data);

    let refused = timeout(PATIENCE, place.command().output()).await.unwrap().unwrap();
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(!refused.status.success());
    assert!(said.contains("newer") && said.contains("nothing was changed"), "{said}");
    let after = contents(&place.data);
    for (path, bytes) in before {
        // The lock names whoever looked last.
        if !path.ends_with("jackfield.lock") {
            assert!(after.get(&path) == Some(&bytes), "{} was changed", path.display());
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn f28_a_configuration_with_words_of_a_newer_program_is_refused_by_their_names() {
    let place = Place::demo();
    let file = place.sandbox.places().temporary.join("config.toml");
    fs::write(&file, "[server]\nteleport = true\n").unwrap();
    let refused = place.command().arg("--config").arg(&file).output();
    let refused = timeout(PATIENCE, refused).await.unwrap().unwrap();
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(!refused.status.success());
    assert!(said.contains("teleport"), "{said}");
    assert!(!place.data.exists(), "nothing was begun");
}

//! Dictation over a connection, with the real engine behind it.

use std::path::Path;
use std::time::Duration;

use jackfield_api::socket::{ClientFrame, ServerFrame};
use jackfield_api::speech::{
    CancelDictation, Dictation, DictationFailureCode, DictationState, StartDictation, StopDictation,
};
use jackfield_server::{Dictating, Instead};
use jackfield_speech::{Speech, Surroundings, Wanted, resample, wav};
use jackfield_testkit::{cli, programs};
use tempfile::TempDir;
use tokio::process::Command;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::Message;

use crate::stage::{PATIENCE, Socket, Stage, program};

/// A host that understands speech by what is in this folder.
async fn stage(folder: &Path) -> Stage {
    let wanted = Wanted { engine: None, library: None, model: None, folder: folder.to_owned() };
    let process = vec![program().into_os_string(), "recognizer".into()];
    let surroundings = Surroundings { process, idle: Duration::from_mins(1) };
    let speech = Some(Speech::new(wanted, "en", surroundings));
    Stage::listening(|listen| listen.speech = Dictating { speech, instead: Instead::Browser }).await
}

/// The fetched engine, under a path that nobody else has.
fn engine() -> TempDir {
    let fetched = programs::speech_folder();
    assert!(fetched.is_dir(), "there is no engine: run `cargo xtask setup`");
    let folder = tempfile::tempdir().unwrap();
    for entry in std::fs::read_dir(fetched).unwrap() {
        let entry = entry.unwrap();
        std::os::unix::fs::symlink(entry.path(), folder.path().join(entry.file_name())).unwrap();
    }
    folder
}

impl Socket {
    async fn start_dictation(&mut self, id: &str, language: Option<&str>) {
        let start = StartDictation { id: id.into(), language: language.map(str::to_owned) };
        self.send(&ClientFrame::StartDictation(start)).await;
    }

    async fn stop_dictation(&mut self, id: &str) {
        self.send(&ClientFrame::StopDictation(StopDictation { id: id.into() })).await;
    }

    async fn sound(&mut self, sound: &[u8]) {
        for portion in sound.chunks(3_200) {
            self.send_message(Message::binary(portion.to_vec())).await;
        }
    }

    async fn dictation(&mut self) -> Dictation {
        match self.next().await {
            Some(ServerFrame::Dictation(dictation)) => dictation,
            other => panic!("no dictation: {other:?}"),
        }
    }

    /// The last word on a dictation, which every dictation has.
    async fn last_word(&mut self, id: &str) -> Dictation {
        loop {
            let dictation = self.dictation().await;
            assert_eq!(dictation.id.as_str(), id);
            if !matches!(dictation.state, DictationState::Listening | DictationState::Interim) {
                return dictation;
            }
        }
    }

    async fn failure(&mut self, id: &str) -> (DictationFailureCode, String) {
        let last = self.last_word(id).await;
        let failure = last.failure.unwrap_or_else(|| panic!("{:?}: {:?}", last.state, last.text));
        (failure.code, failure.reason)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dictation_without_speech_ends_with_a_sentence_that_says_so() {
    let engine = engine();
    let stage = stage(engine.path()).await;
    let mut socket = stage.client("speaker").await;
    assert!(socket.hello.as_ref().unwrap().capabilities.contains(&"dictation".to_owned()));
    // Sound that nobody has asked for.
    socket.sound(&[0; 320]).await;
    assert!(matches!(socket.next().await, Some(ServerFrame::Refused(_))));

    socket.start_dictation("silence", None).await;
    socket.sound(&vec![0; 64_000]).await;
    // One at a time.
    socket.start_dictation("second", None).await;
    let refused = socket.until(|frame| match frame {
        ServerFrame::Dictation(other) if other.id.as_str() == "second" => other.failure,
        _ => None,
    });
    assert_eq!(refused.await.code, DictationFailureCode::Busy);
    socket.stop_dictation("silence").await;
    let (code, reason) = socket.failure("silence").await;
    assert_eq!(code, DictationFailureCode::NothingHeard);
    assert!(reason.contains("microphone"), "{reason}");

    socket.start_dictation("nothing", Some("en-GB")).await;
    socket.stop_dictation("nothing").await;
    assert_eq!(socket.failure("nothing").await.0, DictationFailureCode::NoSound);

    socket.start_dictation("odd", None).await;
    socket.send_message(Message::binary(vec![0; 3])).await;
    assert_eq!(socket.failure("odd").await.0, DictationFailureCode::Invalid);
    // What was on its way is nobody's, and says nothing.
    socket.sound(&[0; 320]).await;

    socket.start_dictation("flood", None).await;
    for _ in 0..2 {
        socket.send_message(Message::binary(vec![0; 700_000])).await;
    }
    assert_eq!(socket.failure("flood").await.0, DictationFailureCode::TooFast);

    socket.start_dictation("german", Some("de")).await;
    let (code, reason) = socket.failure("german").await;
    assert!(code == DictationFailureCode::NotAvailable && reason.contains("`de`"), "{reason}");

    socket.start_dictation("cancelled", None).await;
    socket.sound(&[0; 3_200]).await;
    socket.send(&ClientFrame::CancelDictation(CancelDictation { id: "cancelled".into() })).await;
    assert_eq!(socket.last_word("cancelled").await.state, DictationState::Cancelled);
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_an_engine_it_is_told_how_to_get_one() {
    let empty = tempfile::tempdir().unwrap();
    let stage = stage(empty.path()).await;
    let bearer = format!("Bearer {}", stage.token);
    let state = stage.ask("GET /api/speech", &[("authorization", &bearer)], "").await.json();
    assert_eq!((&state["available"], &state["browser_fallback"]), (&false.into(), &true.into()));
    assert!(state["reason"].as_str().unwrap().contains("jackfield speech setup"), "{state}");
    let mut socket = stage.client("speaker").await;
    socket.start_dictation("early", None).await;
    let (code, reason) = socket.failure("early").await;
    assert!(
        code == DictationFailureCode::NotAvailable && reason.contains("jackfield speech setup"),
        "{reason}"
    );

    // It is fetched, and there without a restart.
    let fetched = programs::speech_folder();
    let place = jackfield_speech::fetch::place(empty.path());
    std::os::unix::fs::symlink(jackfield_speech::fetch::place(&fetched), place).unwrap();
    let state = stage.ask("GET /api/speech", &[("authorization", &bearer)], "").await.json();
    assert_eq!((&state["available"], &state["engine"]), (&true.into(), &"moonshine".into()), "{state}");
    assert_eq!(state["languages"], serde_json::json!(["en"]));
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s6_who_may_only_look_may_not_dictate() {
    let engine = engine();
    let stage = stage(engine.path()).await;
    for (scope, expected) in
        [("view", DictationFailureCode::Forbidden), ("answer", DictationFailureCode::NoSound)]
    {
        let browser = stage.device(scope, None).await;
        let origin = stage.own_origin();
        let headers = [("cookie", browser.cookie.as_str()), ("origin", origin.as_str())];
        let mut socket = stage.connect(&headers).await.unwrap();
        socket.greet("page", Some(browser.key.clone())).await;
        socket.start_dictation("mine", None).await;
        socket.stop_dictation("mine").await;
        assert_eq!(socket.failure("mine").await.0, expected, "{scope}");
    }
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_recogniser_that_is_killed_costs_its_dictation_only() {
    let engine = engine();
    let stage = stage(engine.path()).await;
    let mut socket = stage.client("speaker").await;
    socket.start_dictation("first", None).await;
    assert_eq!(socket.dictation().await.state, DictationState::Listening);
    socket.sound(&[0; 3_200]).await;
    let process = recogniser(engine.path());
    assert!(Command::new("kill").args(["-KILL", &process.to_string()]).status().await.unwrap().success());
    let (code, reason) = socket.failure("first").await;
    assert!(code == DictationFailureCode::EngineFailed && reason.contains("signal: 9"), "{reason}");
    // The connection, the host and the next dictation are as they were.
    socket.start_dictation("second", None).await;
    socket.stop_dictation("second").await;
    assert_eq!(socket.failure("second").await.0, DictationFailureCode::NoSound);
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_goes_away_leaves_no_recogniser_behind() {
    let engine = engine();
    let stage = stage(engine.path()).await;
    let mut socket = stage.client("speaker").await;
    socket.start_dictation("mine", None).await;
    assert_eq!(socket.dictation().await.state, DictationState::Listening);
    let process = recogniser(engine.path());
    drop(socket);
    let left = async {
        while Path::new(&format!("/proc/{process}/exe")).read_link().is_ok() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(PATIENCE, left).await.expect("it ends");
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Debian's espeak-ng: `cargo xtask test` installs it"]
async fn what_is_spoken_is_shown_to_who_speaks_and_to_nobody_else() {
    let engine = engine();
    let stage = stage(engine.path()).await;
    let mut socket = stage.client("speaker").await;
    let mut other = stage.client("other").await;
    other.watch().await;
    assert!(matches!(other.next().await, Some(ServerFrame::Sessions(_))));
    socket.start_dictation("mine", None).await;
    assert_eq!(socket.dictation().await.state, DictationState::Listening);
    socket.sound(&spoken("please open the configuration file").await).await;
    let interim = socket.dictation().await;
    assert!(interim.state == DictationState::Interim && interim.text.is_some_and(|text| !text.is_empty()));
    socket.stop_dictation("mine").await;
    let last = socket.last_word("mine").await;
    let text = last.text.unwrap().to_lowercase();
    assert!(last.state == DictationState::Final && text.contains("configuration file"), "{text}");
    // The next thing that the other one hears is what it asks for itself.
    other.watch().await;
    assert!(matches!(other.next().await, Some(ServerFrame::Sessions(_))));
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Debian's espeak-ng: `cargo xtask test` installs it"]
async fn a_client_in_another_language_dictates() {
    let engine = engine();
    let stage = stage(engine.path()).await;
    let sound = stage.folder.path().join("sound.raw");
    std::fs::write(&sound, spoken("how long does it take to start the program").await).unwrap();
    let client = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/python_dictation.py");
    let run = Command::new("python3")
        .arg(client)
        .arg(stage.address.to_string())
        .arg(stage.settings.data.join("token"))
        .arg(sound)
        .env("PYTHONPATH", cli::cache_dir().join("python"))
        .kill_on_drop(true)
        .output();
    let output = timeout(PATIENCE * 3, run).await.unwrap().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let seen: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let text = seen["text"].as_str().unwrap().to_lowercase();
    assert!(text.contains("start the program"), "{seen}");
    assert!(seen["interims"].as_u64().unwrap() > 0, "{seen}");
    stage.end().await;
}

/// The process that has loaded the engine in this folder.
fn recogniser(engine: &Path) -> u32 {
    let engine = engine.to_str().unwrap();
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let mut ids = processes.filter_map(|entry| {
        let line = std::fs::read(entry.path().join("cmdline")).ok()?;
        let line = String::from_utf8_lossy(&line).into_owned();
        let id = entry.file_name().to_str()?.parse().ok()?;
        (line.contains("recognizer") && line.contains(engine)).then_some(id)
    });
    ids.next().expect("there is one")
}

async fn spoken(text: &str) -> Vec<u8> {
    let espeak = Command::new("espeak-ng").args(["-v", "en-us", "--stdout", "-s", "150", text]).output();
    let sound = wav::read(&espeak.await.unwrap().stdout).unwrap();
    resample::to_bytes(&resample::to_16k(&sound.samples, sound.rate))
}

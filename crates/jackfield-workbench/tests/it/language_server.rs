//! Problems from a real language server.

use jackfield_workbench::{LanguageServerError, LanguageServerSetup, LanguageServers, Severity};

use crate::bench::Bench;

#[tokio::test]
async fn problems_are_those_of_the_text_that_is_there_now() {
    let bench = Bench::new();
    let servers = LanguageServers::new(vec![Bench::pyright()], &bench.folder, &bench.surroundings());
    let path = bench.write("a ä (1).py", "x: int = 1\n");
    assert!(servers.know(&path) && !servers.know(&bench.folder.join("a.rs")));
    assert_eq!(servers.diagnostics(&path).await.unwrap(), []);

    bench.write("a ä (1).py", "x: int = 1\ny: int = 'text'\n");
    let found = servers.diagnostics(&path).await.unwrap();
    let [problem] = &*found else { panic!("{found:?}") };
    assert_eq!((problem.severity, problem.range.start.line), (Severity::Error, 1));
    assert_eq!(problem.source.as_deref(), Some("Pyright"));
    assert!(problem.message.contains("not assignable"), "{problem:?}");
    assert_eq!(servers.diagnostics(&path).await.unwrap(), found, "the same text has the same problems");

    let other = bench.write("b.py", "import a_that_is_not_there\n");
    assert_eq!(servers.diagnostics(&other).await.unwrap().len(), 1);
    let all = servers.known().await.unwrap();
    assert_eq!(all.iter().map(|file| &file.path).collect::<Vec<_>>(), [&path, &other]);

    bench.write("b.py", "");
    assert_eq!(servers.diagnostics(&other).await.unwrap(), []);
    std::fs::remove_file(&path).unwrap();
    assert_eq!(servers.diagnostics(&path).await.unwrap(), [], "what is not there has no problems");
    assert_eq!(servers.diagnostics(&bench.write("c.txt", "x")).await.unwrap(), []);
}

#[tokio::test]
async fn a_server_that_is_none_is_told_of() {
    let bench = Bench::new();
    let path = bench.write("a.py", "");
    let with = |program: &str, arguments: &[&str]| {
        let setup = LanguageServerSetup {
            extensions: vec!["py".to_owned()],
            program: program.into(),
            arguments: arguments.iter().map(Into::into).collect(),
        };
        LanguageServers::new(vec![setup], &bench.folder, &bench.surroundings())
    };
    let missing = with("/no/such/server", &[]).diagnostics(&path).await.unwrap_err();
    assert!(matches!(missing, LanguageServerError::Start { .. }), "{missing}");
    let dies = with("sh", &["-c", "echo no licence >&2; exit 3"]).diagnostics(&path).await.unwrap_err();
    assert!(dies.to_string().contains("no licence"), "{dies}");
    let babbles = with("sh", &["-c", "echo hello; exec cat"]).diagnostics(&path).await.unwrap_err();
    assert!(matches!(babbles, LanguageServerError::Start { .. }), "{babbles}");
}

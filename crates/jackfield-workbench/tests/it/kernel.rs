//! Code in a real Jupyter kernel.

use std::time::Duration;

use jackfield_workbench::{Kernel, KernelError, Output, Part};

use crate::bench::{Bench, PATIENCE, gone};

/// A picture of one point.
const PICTURE: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

fn text(output: &Output) -> String {
    let texts = output.parts.iter().map(|part| match part {
        Part::Text(text) => text.clone(),
        Part::Picture { media_type, .. } => format!("[{media_type}]"),
    });
    texts.collect()
}

async fn run(kernel: &Kernel, code: &str) -> Output {
    tokio::time::timeout(PATIENCE, kernel.execute(code.to_owned())).await.unwrap().unwrap()
}

async fn process(kernel: &Kernel) -> u32 {
    text(&run(kernel, "import os; os.getpid()").await).trim().parse().unwrap()
}

#[tokio::test]
async fn code_runs_and_its_state_is_kept() {
    let bench = Bench::new();
    // What lies in the folder must not begin with the kernel, whatever it is called.
    bench.write("ipykernel.py", "raise SystemExit('from the folder')");
    let kernel = Kernel::new(bench.kernel(PATIENCE));
    assert_eq!(run(&kernel, "x = 20").await, Output::default());
    assert_eq!(text(&run(&kernel, "print('one')\nx + 1").await), "one\n21\n");
    let below = run(&kernel, "import os; _ = os.system('echo from below')").await;
    assert_eq!(text(&below), "from below\n", "what programs of the code write is caught too");
    assert_eq!(
        text(&run(&kernel, "import os; os.getcwd()").await),
        format!("'{}'\n", bench.folder.display())
    );

    let code = format!(
        "from IPython.display import Image, display\nimport base64\nprint('before')\n\
                        display(Image(data=base64.b64decode('{PICTURE}'), format='png'))\nprint('after')"
    );
    let shown = run(&kernel, &code).await;
    let picture = Part::Picture { media_type: "image/png", base64: PICTURE.to_owned() };
    assert_eq!(shown.parts, [Part::Text("before\n".to_owned()), picture, Part::Text("after\n".to_owned())]);

    let failed = run(&kernel, "print('so far')\n1 / 0").await;
    let words = text(&failed);
    assert!(failed.failed && words.starts_with("so far\n"), "{words}");
    assert!(
        words.contains("ZeroDivisionError") && words.contains("1 / 0") && !words.contains('\u{1b}'),
        "{words}"
    );
    let asking = run(&kernel, "input()").await;
    assert!(asking.failed && text(&asking).contains("StdinNotImplementedError"), "{asking:?}");
    assert_eq!(text(&run(&kernel, "x").await), "20\n", "an error ends nothing");

    let id = process(&kernel).await;
    drop(kernel);
    gone(id).await;
}

#[tokio::test]
async fn code_that_takes_too_long_is_interrupted_and_the_state_is_kept() {
    let bench = Bench::new();
    let kernel = Kernel::new(bench.kernel(Duration::from_secs(3)));
    run(&kernel, "x = 1").await;
    let stopped = run(&kernel, "print('begun', flush=True)\nimport time\nwhile True: time.sleep(0.1)").await;
    let words = text(&stopped);
    assert!(stopped.failed && words.starts_with("begun\n") && words.contains("KeyboardInterrupt"), "{words}");
    assert!(
        words.ends_with("interrupted after 3 seconds; what it had in memory is still there.\n"),
        "{words}"
    );
    assert_eq!(text(&run(&kernel, "x").await), "1\n");
}

#[tokio::test]
async fn code_that_does_not_let_itself_be_stopped_costs_the_kernel() {
    let bench = Bench::new();
    let kernel = Kernel::new(bench.kernel(Duration::from_secs(3)));
    let id = process(&kernel).await;
    let stubborn = "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True: pass";
    let words = text(&run(&kernel, stubborn).await);
    assert!(words.contains("the kernel was ended, and what it had in memory is lost"), "{words}");
    gone(id).await;
    assert_eq!(text(&run(&kernel, "1 + 1").await), "2\n", "the next call has a new one");
}

#[tokio::test]
async fn a_call_that_nobody_waits_for_is_interrupted() {
    let bench = Bench::new();
    let kernel = Kernel::new(bench.kernel(PATIENCE));
    run(&kernel, "x = 5").await;
    let begun = bench.folder.join("begun");
    let code = format!(
        "open({:?}, 'w').close()\nimport time\nwhile True: time.sleep(0.1)",
        begun.display().to_string()
    );
    let waiting = kernel.execute(code);
    let seen = async {
        while !begun.exists() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::select! {
        _ = waiting => panic!("it ends only when it is interrupted"),
        () = seen => {}
    }
    assert_eq!(text(&run(&kernel, "x").await), "5\n", "the next call comes to its turn in the same kernel");
}

#[tokio::test]
async fn a_kernel_that_dies_is_told_of_and_replaced() {
    let bench = Bench::new();
    let kernel = Kernel::new(bench.kernel(PATIENCE));
    let died = kernel.execute("import os; os._exit(3)".to_owned()).await;
    assert!(matches!(died, Err(KernelError::Died { .. })), "{died:?}");
    assert_eq!(text(&run(&kernel, "'new'").await), "'new'\n");
}

#[tokio::test]
async fn without_jupyter_it_is_said_how_to_get_it() {
    let bench = Bench::new();
    let mut setup = bench.kernel(PATIENCE);
    setup.surroundings.environment.remove(std::ffi::OsStr::new("PYTHONPATH"));
    // The machine's own Python may have one.
    setup.surroundings.environment.insert("PYTHONNOUSERSITE".into(), "1".into());
    let bare = bench.write("bare-python", "#!/bin/sh\nexec python3 -S \"$@\"\n");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&bare, mode).unwrap();
    setup.python = bare.clone().into();
    let error = Kernel::new(setup.clone()).execute("1".to_owned()).await.unwrap_err();
    assert_eq!(error, KernelError::NoJupyter { python: bare.display().to_string() });
    assert!(error.to_string().contains("-m pip install ipykernel"), "{error}");

    setup.python = bench.folder.join("no-python").into();
    let error = Kernel::new(setup).execute("1".to_owned()).await.unwrap_err();
    assert!(matches!(error, KernelError::NoPython { .. }), "{error:?}");
}

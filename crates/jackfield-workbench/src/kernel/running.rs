//! A kernel at work: its process, and its sockets in a folder that nobody else can enter.
//!
//! Which code runs and for how long is not its business. The one rule it keeps: it has begun only when both of its
//! ways answer, so that nothing the code shows is missed.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jupyter_protocol::connection_info::{ConnectionInfo, Transport};
use jupyter_protocol::{
    ExecuteRequest, ExecutionState, InterruptRequest, JupyterMessage, JupyterMessageContent,
    KernelInfoRequest, ShutdownRequest,
};
use jupyter_zmq_client::{
    ClientControlConnection, ClientIoPubConnection, DealerRecvConnection, DealerSendConnection, RuntimeError,
    create_client_control_connection, create_client_iopub_connection,
    create_client_shell_connection_with_identity, peer_identity_for_session,
};
use tempfile::TempDir;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, timeout, timeout_at};
use uuid::Uuid;

use super::{KernelError, KernelSetup};
use crate::process::{Attended, Streams, Words};

/// How long a kernel may take to begin.
const BEGINNING: Duration = Duration::from_mins(1);
/// How often it is looked whether it has begun, and asked whether it listens.
const AGAIN: Duration = Duration::from_millis(50);
const ASK_AGAIN: Duration = Duration::from_millis(500);
/// How long it has to end by itself.
const FAREWELL: Duration = Duration::from_secs(2);
/// How many messages may wait to be taken.
const WAITING: usize = 256;

/// Starts the kernel without looking for modules in the folder: what lies there must not begin with it.
const BEGIN: &str = "import sys; sys.path[:] = [place for place in sys.path if place]; \
                     from ipykernel.kernelapp import launch_new_instance; launch_new_instance()";

/// What happened to a piece of code.
#[derive(Debug)]
pub(super) enum Happened {
    /// It may have shown something.
    Shown(Box<JupyterMessageContent>),
    /// It is over, and everything that it showed has come.
    Done,
    /// The kernel has ended, with these words.
    Ended(String),
}

/// The name of a call in the kernel's messages.
#[derive(Debug)]
pub(super) struct CallId(String);

#[derive(Debug)]
pub(super) struct Running {
    process: Attended,
    shell: Sending,
    control: Control,
    messages: mpsc::Receiver<JupyterMessage>,
    _folder: TempDir,
}

struct Sending(DealerSendConnection);
struct Control(ClientControlConnection);

impl Running {
    pub(super) async fn start(setup: &KernelSetup) -> Result<Self, KernelError> {
        let python = setup.python.to_string_lossy().into_owned();
        let failed = |reason: String| KernelError::Start { python: python.clone(), reason };
        let folder = tempfile::Builder::new().prefix("jackfield-").tempdir();
        let folder = folder.map_err(|error| failed(error.to_string()))?;
        let place = Place::new(folder.path());
        let text = serde_json::to_vec(&place.connection).map_err(|error| failed(error.to_string()))?;
        fs::write(&place.file, text).map_err(|error| failed(error.to_string()))?;
        let words = Words {
            program: setup.python.clone(),
            arguments: vec![
                "-c".into(),
                BEGIN.into(),
                "-f".into(),
                place.file.clone().into(),
                // What the model tries is not what the user typed.
                "--HistoryManager.hist_file=:memory:".into(),
            ],
            folder: setup.folder.clone(),
            variables: place.variables(setup),
            // What the code writes to them, the kernel catches.
            streams: Streams::Closed,
        };
        let mut process = Attended::start(&words, &setup.surroundings).map_err(|error| {
            if error.kind() == std::io::ErrorKind::NotFound && setup.folder.is_dir() {
                KernelError::NoPython { python: python.clone() }
            } else {
                failed(error.to_string())
            }
        })?;
        let deadline = Instant::now() + BEGINNING;
        let begun = tokio::select! {
            begun = timeout_at(deadline, connected(&place.connection)) => begun,
            _ = process.ended() => {
                return Err(not_begun(&python, &mut process).await);
            }
        };
        let (mut shell, control, mut messages) = begun
            .map_err(|_| failed("it does not answer".to_owned()))?
            .map_err(|error| failed(error.to_string()))?;
        let answers = timeout_at(deadline, answers(&mut shell, &mut messages));
        tokio::select! {
            answered = answers => answered.map_err(|_| failed("it does not answer".to_owned()))?,
            _ = process.ended() => return Err(not_begun(&python, &mut process).await),
        }
        .map_err(|error| failed(error.to_string()))?;
        let (shell, control) = (Sending(shell), Control(control));
        Ok(Self { process, shell, control, messages, _folder: folder })
    }

    /// Gives the kernel a piece of code.
    pub(super) async fn execute(&mut self, code: String) -> Result<CallId, RuntimeError> {
        let request = ExecuteRequest { allow_stdin: false, store_history: true, ..ExecuteRequest::new(code) };
        let message = JupyterMessage::from(request);
        let id = CallId(message.header.msg_id.clone());
        self.shell.0.send(message).await.map(|()| id)
    }

    /// What happens next to a call. Cancel-safe.
    pub(super) async fn next(&mut self, call: &CallId) -> Happened {
        loop {
            let message = tokio::select! {
                biased;
                message = self.messages.recv() => message,
                _ = self.process.ended() => None,
            };
            let Some(message) = message else { return Happened::Ended(self.last_words().await) };
            // What threads of earlier code show belongs to nobody.
            if message.parent_header.as_ref().is_none_or(|parent| parent.msg_id != call.0) {
                continue;
            }
            match message.content {
                JupyterMessageContent::Status(status) if status.execution_state == ExecutionState::Idle => {
                    return Happened::Done;
                }
                content => return Happened::Shown(Box::new(content)),
            }
        }
    }

    /// Stops the code, if it lets itself be stopped.
    pub(super) async fn interrupt(&mut self) {
        // A kernel that is gone has nothing to stop.
        let _ = self.control.0.send(InterruptRequest {}.into()).await;
    }

    /// Ends the kernel.
    pub(super) async fn end(mut self) {
        let _ = self.control.0.send(ShutdownRequest { restart: false }.into()).await;
        // What does not end is killed when it is dropped.
        let _ = timeout(FAREWELL, self.process.ended()).await;
    }

    pub(super) async fn last_words(&mut self) -> String {
        let said = self.process.last_words().await;
        if said.is_empty() { "it said nothing".to_owned() } else { said }
    }
}

/// Where a kernel is reached.
struct Place {
    file: PathBuf,
    connection: ConnectionInfo,
}

impl Place {
    fn new(folder: &Path) -> Self {
        let connection = ConnectionInfo {
            // Sockets in the folder; ports of loopback would be open to everybody on the machine.
            transport: Transport::IPC,
            ip: folder.join("kernel").to_string_lossy().into_owned(),
            shell_port: 1,
            iopub_port: 2,
            stdin_port: 3,
            control_port: 4,
            hb_port: 5,
            key: Uuid::new_v4().to_string(),
            signature_scheme: "hmac-sha256".to_owned(),
            kernel_name: None,
        };
        Self { file: folder.join("connection.json"), connection }
    }

    fn variables(&self, setup: &KernelSetup) -> Vec<(&'static str, std::ffi::OsString)> {
        let folder = self.file.parent().unwrap_or(Path::new("/")).to_owned();
        let mut variables = vec![
            // It would warn of a debugger that nobody uses.
            ("PYDEVD_DISABLE_FILE_VALIDATION", "1".into()),
            ("JUPYTER_RUNTIME_DIR", folder.into()),
        ];
        if setup.surroundings.guard.is_empty() {
            // Without a guard it looks for itself whether we are still there.
            variables.push(("JPY_PARENT_PID", std::process::id().to_string().into()));
        }
        variables
    }
}

/// Why a kernel ended before it had begun.
async fn not_begun(python: &str, process: &mut Attended) -> KernelError {
    let (python, reason) = (python.to_owned(), process.last_words().await);
    if reason.contains("No module named 'ipykernel") || reason.contains("No module named ipykernel") {
        return KernelError::NoJupyter { python };
    }
    if reason.starts_with("jackfield-guard: cannot start") && reason.contains("(os error 2)") {
        return KernelError::NoPython { python };
    }
    KernelError::Start { python, reason }
}

type Ways = (DealerSendConnection, ClientControlConnection, mpsc::Receiver<JupyterMessage>);

/// Connects as soon as the kernel's sockets are there.
async fn connected(connection: &ConnectionInfo) -> Result<Ways, RuntimeError> {
    let session = Uuid::new_v4().to_string();
    for port in [connection.shell_port, connection.iopub_port, connection.control_port] {
        let socket = PathBuf::from(format!("{}-{port}", connection.ip));
        // A socket file is there a moment before somebody listens on it.
        while tokio::net::UnixStream::connect(&socket).await.is_err() {
            sleep(AGAIN).await;
        }
    }
    let identity = peer_identity_for_session(&session)?;
    let shell = create_client_shell_connection_with_identity(connection, &session, identity).await?;
    let control = create_client_control_connection(connection, &session).await?;
    let shown = create_client_iopub_connection(connection, "", &session).await?;
    let (sending, answers) = shell.split();
    let (forward, messages) = mpsc::channel(WAITING);
    tokio::spawn(pass_on(Socket::Answers(answers), forward.clone()));
    tokio::spawn(pass_on(Socket::Shown(shown), forward));
    Ok((sending, control, messages))
}

/// Where messages of the kernel come from.
enum Socket {
    Answers(DealerRecvConnection),
    Shown(ClientIoPubConnection),
}

impl Socket {
    async fn read(&mut self) -> Result<JupyterMessage, RuntimeError> {
        match self {
            Self::Answers(socket) => socket.read().await,
            Self::Shown(socket) => socket.read().await,
        }
    }
}

/// Passes a socket's messages on until nobody takes them.
async fn pass_on(mut socket: Socket, forward: mpsc::Sender<JupyterMessage>) {
    loop {
        let message = tokio::select! {
            message = socket.read() => message,
            () = forward.closed() => return,
        };
        match message {
            Ok(message) => {
                if forward.send(message).await.is_err() {
                    return;
                }
            }
            // The kernel is gone.
            Err(RuntimeError::ZmqError(_) | RuntimeError::IoError(_)) => return,
            // A message that nobody knows.
            Err(_) => {}
        }
    }
}

/// Asks until the kernel has answered, and until what it shows arrives too.
async fn answers(
    shell: &mut DealerSendConnection,
    messages: &mut mpsc::Receiver<JupyterMessage>,
) -> Result<(), RuntimeError> {
    let (mut answered, mut shown) = (false, false);
    while !(answered && shown) {
        shell.send(KernelInfoRequest {}.into()).await?;
        let again = Instant::now() + ASK_AGAIN;
        while let Ok(message) = timeout_at(again, messages.recv()).await {
            let Some(message) = message else {
                return Err(RuntimeError::ZmqMessageError("its sockets were closed".to_owned()));
            };
            match message.content {
                JupyterMessageContent::KernelInfoReply(_) => answered = true,
                JupyterMessageContent::Status(_) => shown = true,
                _ => {}
            }
            if answered && shown {
                break;
            }
        }
    }
    Ok(())
}

impl std::fmt::Debug for Sending {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Sending")
    }
}

impl std::fmt::Debug for Control {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Control")
    }
}

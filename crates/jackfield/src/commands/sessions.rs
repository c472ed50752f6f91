//! `jackfield sessions`: what the host keeps, from the shell.
//!
//! It asks the running host, or opens the data folder itself. The one rule it keeps: what is printed as JSON is the
//! contract's own type, unchanged.

pub(crate) mod choice;
mod print;
pub(crate) mod table;

use std::env;
use std::fs;
use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use jackfield_api::command::{Archive, Delete, Import, Rename};
use jackfield_api::host::{HistoryEntry, SessionSummary};
use jackfield_api::{Seq, SessionId};
use jackfield_client::{Archived, Client, ExportFormat};
use jackfield_sdk::Environment;
use serde::Serialize;
use thiserror::Error;

use super::run::reach::{HostFailure, Reached};
use crate::config::{self, Flags};
use crate::failure::{Exit, Failure};
use crate::output::When;
use crate::readable::{Colours, Readable};

/// Who asks, as others are told.
const NAME: &str = "jackfield sessions";
/// How many places a search shows.
const HITS: u32 = 50;
/// How long another host that has just begun, or is just ending, is waited for.
const PATIENCE: Duration = Duration::from_secs(5);

/// List, show, search, export, import and tidy sessions
///
/// Sessions are named by the beginning of their id, or of the CLI's own id of the conversation.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  jackfield sessions list
  jackfield sessions show 3f2a
  jackfield sessions search 'race in the writer'
  jackfield sessions export 3f2a -o talk.md
  jackfield sessions import --all")]
pub(crate) struct Sessions {
    #[command(subcommand)]
    command: Wanted,
    /// Print JSON
    #[arg(long, global = true)]
    json: bool,
    /// Whether text has colours; `auto` means on a terminal, unless `NO_COLOR` is set or `TERM` is `dumb`
    #[arg(long, global = true, value_enum, value_name = "WHEN", default_value_t = When::Auto)]
    color: When,
    #[command(flatten)]
    flags: Flags,
}

#[derive(Debug, Subcommand)]
enum Wanted {
    /// List sessions, the last used first
    List {
        /// Archived ones too
        #[arg(long)]
        all: bool,
    },
    /// Print a whole session
    Show {
        /// The session
        id: String,
    },
    /// Search all conversations
    Search {
        /// What to look for; the last word may be the beginning of one
        #[arg(required = true)]
        words: Vec<String>,
    },
    /// Write a session as a document, without the secrets that can be told by their looks
    Export {
        /// The session
        id: String,
        /// For people or for programs
        #[arg(long, value_enum, default_value_t = Document::Markdown)]
        format: Document,
        /// The file; standard output if absent
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Take conversations of the CLI's own history in; without a name, list what could be
    Import {
        /// The CLI's own ids of them, or their beginnings
        ids: Vec<String>,
        /// All of them
        #[arg(long, conflicts_with = "ids")]
        all: bool,
    },
    /// Give a session a title
    Rename {
        /// The session
        id: String,
        /// The title
        title: String,
    },
    /// Put sessions out of the way
    Archive {
        /// The sessions
        #[arg(required = true)]
        ids: Vec<String>,
        /// Put them back instead
        #[arg(long)]
        undo: bool,
    },
    /// Remove sessions from the host for good; the CLI's own record of them stays
    Delete {
        /// The sessions
        #[arg(required = true)]
        ids: Vec<String>,
        /// Do not ask
        #[arg(long)]
        yes: bool,
    },
}

/// The form of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Document {
    Markdown,
    Json,
}

/// Why nothing was done.
#[derive(Debug, Error)]
pub(crate) enum SessionsFailure {
    #[error("nothing was deleted: nobody can be asked whether that is meant")]
    NotSure,
    #[error("there is no conversation `{0}` in the CLI's history")]
    NoConversation(String),
    #[error("{count} conversations begin with `{prefix}`")]
    Ambiguous { prefix: String, count: usize },
}

impl SessionsFailure {
    pub(crate) fn hint(&self) -> &'static str {
        match self {
            Self::NotSure => "`--yes` says that it is",
            Self::NoConversation(_) => "`jackfield sessions import` lists them",
            Self::Ambiguous { .. } => "give more of its name",
        }
    }
}

impl Sessions {
    pub(crate) fn run(&self) -> Result<ExitCode, Failure> {
        let environment: Environment = env::vars_os().collect();
        let config = config::load(&self.flags, &environment)?.config;
        let runtime =
            tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(Failure::Runtime)?;
        runtime.block_on(async {
            let reached = Reached::usual(&config, &environment, NAME, PATIENCE).await?;
            let done = self.perform(&reached.client).await;
            reached.close().await;
            done
        })
    }

    async fn perform(&self, client: &Client) -> Result<ExitCode, Failure> {
        match &self.command {
            Wanted::List { all } => self.list(client, *all).await?,
            Wanted::Show { id } => self.show(client, &choice::by_prefix(client, id).await?).await?,
            Wanted::Search { words } => {
                let words = words.join(" ");
                let found = client.search(&words, HITS).await.map_err(HostFailure::Client)?;
                self.print(&found, |colours| print::hits(&words, &found.hits, colours))?;
            }
            Wanted::Export { id, format, output } => {
                let session = choice::by_prefix(client, id).await?;
                let format = match format {
                    Document::Markdown if !self.json => ExportFormat::Markdown,
                    Document::Markdown | Document::Json => ExportFormat::Json,
                };
                export(client, &session.session_id, format, output.as_ref()).await?;
            }
            Wanted::Import { ids, all } => self.import(client, ids, *all).await?,
            Wanted::Rename { id, title } => {
                let session = choice::by_prefix(client, id).await?.session_id;
                let rename = Rename { title: title.clone() };
                client.command(Some(&session), rename).await.map_err(HostFailure::Client)?;
                self.changed(client, &[session]).await?;
            }
            Wanted::Archive { ids, undo } => {
                let sessions = chosen(client, ids).await?;
                for session in &sessions {
                    let archive = Archive { archived: !undo };
                    client.command(Some(&session.session_id), archive).await.map_err(HostFailure::Client)?;
                }
                self.changed(client, &names(&sessions)).await?;
            }
            Wanted::Delete { ids, yes } => {
                let sessions = chosen(client, ids).await?;
                if !yes && !agreed(&sessions)? {
                    return Ok(Exit::Unanswered.into());
                }
                for session in &sessions {
                    client
                        .command(Some(&session.session_id), Delete {})
                        .await
                        .map_err(HostFailure::Client)?;
                }
                self.print(&names(&sessions), |colours| print::deleted(&sessions, colours))?;
            }
        }
        Ok(ExitCode::SUCCESS)
    }

    async fn list(&self, client: &Client, all: bool) -> Result<(), Failure> {
        let archived = if all { Archived::All } else { Archived::Without };
        let sessions = choice::all(client, archived).await?;
        self.print(&sessions, |colours| print::list(&sessions, colours))
    }

    async fn show(&self, client: &Client, session: &SessionSummary) -> Result<(), Failure> {
        let id = &session.session_id;
        if self.json {
            let document = client.export(id, ExportFormat::Json).await.map_err(HostFailure::Client)?;
            return put(document.trim_end());
        }
        let colours = self.color.colours(&io::stdout());
        let mut stdout = io::stdout().lock();
        stdout.write_all(&print::heading(session, colours))?;
        let (mut readable, mut cursor) = (Readable::new(colours), Seq(0));
        loop {
            let events = client.events(id, cursor).await.map_err(HostFailure::Client)?;
            let Some(last) = events.last() else { return Ok(()) };
            cursor = last.seq;
            let mut text = Vec::new();
            for event in &events {
                readable.print(event, &mut text);
            }
            stdout.write_all(&text)?;
        }
    }

    async fn import(&self, client: &Client, ids: &[String], all: bool) -> Result<(), Failure> {
        let history = client.history().await.map_err(HostFailure::Client)?.entries;
        if ids.is_empty() && !all {
            let new: Vec<HistoryEntry> =
                history.into_iter().filter(|entry| entry.session_id.is_none()).collect();
            return self.print(&new, |colours| print::importable(&new, colours));
        }
        let mut wanted = Vec::new();
        if all {
            let new = history.into_iter().filter(|entry| entry.session_id.is_none());
            wanted.extend(new.map(|entry| entry.cli_session_id));
        } else {
            for id in ids {
                wanted.push(conversation(&history, id)?);
            }
        }
        if !wanted.is_empty() {
            let import = Import { cli_session_ids: wanted.clone() };
            client.command(None, import).await.map_err(HostFailure::Client)?;
        }
        let mut entries = client.history().await.map_err(HostFailure::Client)?.entries;
        entries.retain(|entry| wanted.contains(&entry.cli_session_id));
        self.print(&entries, |colours| print::imported(&entries, colours))
    }

    /// Shows sessions as they are now.
    async fn changed(&self, client: &Client, ids: &[SessionId]) -> Result<(), Failure> {
        let mut sessions = Vec::new();
        for id in ids {
            sessions.extend(client.session(id).await.map_err(HostFailure::Client)?);
        }
        self.print(&sessions, |colours| print::list(&sessions, colours))
    }

    /// JSON for programs, or text for people.
    fn print(&self, value: &impl Serialize, text: impl FnOnce(Colours) -> Vec<u8>) -> Result<(), Failure> {
        if self.json {
            return put(&serde_json::to_string(value).unwrap_or_default());
        }
        let stdout = io::stdout();
        let text = text(self.color.colours(&stdout));
        Ok(stdout.lock().write_all(&text)?)
    }
}

async fn export(
    client: &Client,
    id: &SessionId,
    format: ExportFormat,
    output: Option<&PathBuf>,
) -> Result<(), Failure> {
    let document = client.export(id, format).await.map_err(HostFailure::Client)?;
    match output {
        None => put(document.trim_end()),
        Some(path) => fs::write(path, document)
            .map_err(|source| Failure::Written { path: path.display().to_string(), source }),
    }
}

async fn chosen(client: &Client, ids: &[String]) -> Result<Vec<SessionSummary>, HostFailure> {
    let mut sessions: Vec<SessionSummary> = Vec::new();
    for id in ids {
        let session = choice::by_prefix(client, id).await?;
        if !sessions.iter().any(|known| known.session_id == session.session_id) {
            sessions.push(session);
        }
    }
    Ok(sessions)
}

fn names(sessions: &[SessionSummary]) -> Vec<SessionId> {
    sessions.iter().map(|session| session.session_id.clone()).collect()
}

/// The conversation whose id begins like this.
fn conversation(history: &[HistoryEntry], text: &str) -> Result<String, SessionsFailure> {
    let found: Vec<&HistoryEntry> =
        history.iter().filter(|entry| entry.cli_session_id.starts_with(text)).collect();
    match found[..] {
        [] => Err(SessionsFailure::NoConversation(text.to_owned())),
        [entry] => Ok(entry.cli_session_id.clone()),
        _ => Err(SessionsFailure::Ambiguous { prefix: text.to_owned(), count: found.len() }),
    }
}

/// Whether a person agrees that these go.
fn agreed(sessions: &[SessionSummary]) -> Result<bool, Failure> {
    let stdin = io::stdin();
    if !(stdin.is_terminal() && io::stderr().is_terminal()) {
        return Err(SessionsFailure::NotSure.into());
    }
    let mut text = print::list(sessions, Colours::Off);
    text.extend(b"Delete for good? [y]es, [n]o: ");
    io::stderr().write_all(&text)?;
    let mut line = String::new();
    stdin.read_line(&mut line).map_err(Failure::Stdin)?;
    Ok(matches!(line.trim().to_lowercase().as_str(), "y" | "yes"))
}

fn put(text: &str) -> Result<(), Failure> {
    Ok(io::stdout().lock().write_all(format!("{text}\n").as_bytes())?)
}

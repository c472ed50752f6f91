//! The control plane: everything that the CLI can be asked, typed.
//!
//! Each request has a deadline in the machine. One that this CLI does not know is refused with
//! [`RejectionCode::Unsupported`](jackfield_api::command::RejectionCode), it never hangs.

use std::collections::BTreeMap;

use jackfield_api::command::{Background, Reply, SetEffort, SetMode, SetModel, SetThinking, StopTask};
use jackfield_api::{Json, TaskId, ToolCallId, Uuid};
use jackfield_wire::{
    ApplyFlagSettings, FileSuggestions, GenerateSessionTitle, GetContextUsage, HostMcpMessage, HostRequest,
    McpCall, McpReadResource, McpServer, McpServerName, McpSetServers, McpSetServersAnswer, McpStatus,
    McpStatusAnswer, McpToggle, Object, OtherRequest, ReadFile, RenameSession, RewindFiles,
    RewindFilesAnswer, SeedReadState, SideQuestion, TaskArgument,
};
use serde::de::DeserializeOwned;

use crate::error::Refused;
use crate::{Effort, Session};

impl Session {
    /// Sets the permission mode.
    pub async fn set_mode(&self, mode: &str) -> Result<(), Refused> {
        self.command(SetMode { permission_mode: mode.to_owned() }).await.map(drop)
    }

    /// Sets the model; `None` for the CLI's default.
    pub async fn set_model(&self, model: Option<&str>) -> Result<(), Refused> {
        self.command(SetModel { model: model.map(str::to_owned) }).await.map(drop)
    }

    /// Sets how many tokens the model may think; `None` for the CLI's default.
    pub async fn set_thinking(&self, max_thinking_tokens: Option<u64>) -> Result<(), Refused> {
        self.command(SetThinking { max_thinking_tokens }).await.map(drop)
    }

    /// Sets how much effort the model makes; `None` for the CLI's default.
    pub async fn set_effort(&self, effort: Option<Effort>) -> Result<(), Refused> {
        self.command(SetEffort { effort: effort.map(|effort| effort.as_str().to_owned()) }).await.map(drop)
    }

    /// Stops a subagent or a command in the background.
    pub async fn stop_task(&self, task_id: TaskId) -> Result<(), Refused> {
        self.command(StopTask { task_id }).await.map(drop)
    }

    /// Lets a running call (or all that can) go on in the background.
    pub async fn background(&self, tool_call_id: Option<ToolCallId>) -> Result<(), Refused> {
        self.command(Background { tool_call_id }).await.map(drop)
    }

    /// How the MCP servers are.
    pub async fn mcp_status(&self) -> Result<McpStatusAnswer, Refused> {
        self.told(HostRequest::McpStatus(McpStatus::default())).await
    }

    /// Puts these MCP servers in the place of all that were set this way before.
    pub async fn mcp_set_servers(
        &self,
        servers: BTreeMap<String, McpServer>,
    ) -> Result<McpSetServersAnswer, Refused> {
        self.told(HostRequest::McpSetServers(McpSetServers { servers })).await
    }

    /// Connects an MCP server again.
    pub async fn mcp_reconnect(&self, server_name: &str) -> Result<(), Refused> {
        let server = McpServerName { server_name: server_name.to_owned() };
        self.request(HostRequest::McpReconnect(server)).await.map(drop)
    }

    /// Switches an MCP server on.
    pub async fn mcp_enable(&self, server_name: &str) -> Result<(), Refused> {
        let toggle = McpToggle { server_name: server_name.to_owned(), enabled: true };
        self.request(HostRequest::McpToggle(toggle)).await.map(drop)
    }

    /// Switches an MCP server off.
    pub async fn mcp_disable(&self, server_name: &str) -> Result<(), Refused> {
        let toggle = McpToggle { server_name: server_name.to_owned(), enabled: false };
        self.request(HostRequest::McpToggle(toggle)).await.map(drop)
    }

    /// Sends a JSON-RPC message in the name of an MCP server inside this program.
    pub async fn mcp_message(&self, server_name: &str, message: Object) -> Result<(), Refused> {
        let message = HostMcpMessage { server_name: server_name.to_owned(), message };
        self.request(HostRequest::McpMessage(message)).await.map(drop)
    }

    /// Calls a tool of an MCP server without the model.
    pub async fn mcp_call(&self, tool: &str, arguments: Object) -> Result<Json, Refused> {
        let call = McpCall { tool: tool.to_owned(), arguments: Some(arguments) };
        self.told(HostRequest::McpCall(call)).await
    }

    /// Reads a resource of an MCP server.
    pub async fn mcp_read_resource(&self, server_name: &str, uri: &str) -> Result<Json, Refused> {
        let read = McpReadResource { server_name: server_name.to_owned(), uri: uri.to_owned() };
        self.told(HostRequest::McpReadResource(read)).await
    }

    /// What taking the files back to a prompt would change.
    pub async fn preview_rewind(&self, prompt: &Uuid) -> Result<RewindFilesAnswer, Refused> {
        let rewind = RewindFiles { user_message_id: prompt.as_str().into(), dry_run: Some(true) };
        self.told(HostRequest::RewindFiles(rewind)).await
    }

    /// Takes the files back to a prompt.
    pub async fn rewind_files(&self, prompt: &Uuid) -> Result<RewindFilesAnswer, Refused> {
        let rewind = RewindFiles { user_message_id: prompt.as_str().into(), dry_run: None };
        self.told(HostRequest::RewindFiles(rewind)).await
    }

    /// What fills the context, in detail.
    pub async fn context_usage(&self) -> Result<Json, Refused> {
        self.told(HostRequest::GetContextUsage(GetContextUsage::default())).await
    }

    /// The settings in effect and where they come from.
    pub async fn settings(&self) -> Result<Json, Refused> {
        self.told(HostRequest::GetSettings).await
    }

    /// Changes settings for this run; `null` deletes a key.
    pub async fn apply_settings(&self, settings: Object) -> Result<(), Refused> {
        self.request(HostRequest::ApplyFlagSettings(ApplyFlagSettings { settings })).await.map(drop)
    }

    /// What the session has cost, in words.
    pub async fn cost(&self) -> Result<Json, Refused> {
        self.told(HostRequest::GetSessionCost).await
    }

    /// What was used, and the account's limits.
    pub async fn usage(&self) -> Result<Json, Refused> {
        self.told(HostRequest::GetUsage).await
    }

    /// The program's version.
    pub async fn binary_version(&self) -> Result<Json, Refused> {
        self.told(HostRequest::GetBinaryVersion).await
    }

    /// The models on offer (newer versions; [`Session::ready`] has them for all).
    pub async fn models(&self) -> Result<Json, Refused> {
        self.told(HostRequest::ListModels).await
    }

    /// The permission rules in effect (newer versions).
    pub async fn permission_rules(&self) -> Result<Json, Refused> {
        self.told(HostRequest::ListPermissionRules).await
    }

    /// The hooks in effect (newer versions).
    pub async fn hooks_listing(&self) -> Result<Json, Refused> {
        self.told(HostRequest::GetHooksListing).await
    }

    /// Reads a file as the CLI sees it.
    pub async fn read_file(&self, path: &str, max_bytes: Option<u64>) -> Result<Json, Refused> {
        let read = ReadFile { path: path.to_owned(), max_bytes, encoding: None };
        self.told(HostRequest::ReadFile(read)).await
    }

    /// Files that fit what was typed.
    pub async fn file_suggestions(&self, query: &str) -> Result<Json, Refused> {
        self.told(HostRequest::FileSuggestions(FileSuggestions { query: query.to_owned() })).await
    }

    /// Tells the CLI that a file was read at this time, so that it may be edited.
    pub async fn seed_read_state(&self, path: &str, modified_ms: u64) -> Result<(), Refused> {
        let seed = SeedReadState { path: path.to_owned(), mtime: modified_ms };
        self.request(HostRequest::SeedReadState(seed)).await.map(drop)
    }

    /// What a task has printed so far (newer versions).
    pub async fn task_output(&self, task_id: &TaskId) -> Result<Json, Refused> {
        self.told(HostRequest::GetTaskOutput(TaskArgument { task_id: task_id.as_str().into() })).await
    }

    /// Gives the session a title.
    pub async fn rename(&self, title: &str) -> Result<(), Refused> {
        let rename = RenameSession { title: title.to_owned(), source: None, session_id: None };
        self.request(HostRequest::RenameSession(rename)).await.map(drop)
    }

    /// Has the model make a title.
    pub async fn generate_title(&self, description: &str) -> Result<Json, Refused> {
        let generate = GenerateSessionTitle { description: description.to_owned(), persist: None };
        self.told(HostRequest::GenerateSessionTitle(generate)).await
    }

    /// Asks the model something beside the conversation.
    pub async fn side_question(&self, question: &str) -> Result<Json, Refused> {
        self.told(HostRequest::SideQuestion(SideQuestion { question: question.to_owned() })).await
    }

    /// Reads the plugins again.
    pub async fn reload_plugins(&self) -> Result<Json, Refused> {
        self.told(HostRequest::ReloadPlugins).await
    }

    /// Reads the skills again.
    pub async fn reload_skills(&self) -> Result<Json, Refused> {
        self.told(HostRequest::ReloadSkills).await
    }

    /// A request that has no method here, for newer versions. `None` if it has a type of its own or is known
    /// to silence the CLI.
    pub async fn other(&self, subtype: &str, arguments: Object) -> Option<Result<Json, Refused>> {
        let request = OtherRequest::new(subtype, arguments)?;
        Some(self.told(HostRequest::Other(request)).await)
    }

    /// Sends a request and reads its answer as a `T`.
    async fn told<T: DeserializeOwned>(&self, request: HostRequest) -> Result<T, Refused> {
        let answer = match self.request(request).await? {
            Reply::Told(told) => told.answer,
            Reply::Done(_) | Reply::Created(_) => Json::null(),
        };
        serde_json::from_str(answer.get()).map_err(|error| {
            Refused(jackfield_api::command::Rejection {
                code: jackfield_api::command::RejectionCode::Refused,
                reason: format!("the CLI's answer cannot be read: {error}"),
            })
        })
    }
}

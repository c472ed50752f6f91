//! The protocol's types: version 1, from the official schema crate.
//!
//! The crate changes often, so nothing else here names it. What is not re-exported is not used. The one rule it
//! keeps: a type of the protocol is the crate's, never one of ours that looks like it.

pub use agent_client_protocol_schema::ProtocolVersion;
pub use agent_client_protocol_schema::v1::{
    AGENT_METHOD_NAMES, AgentCapabilities, AuthMethod, AuthMethodAgent, AuthMethodTerminal,
    AuthenticateRequest, AuthenticateResponse, AvailableCommand, AvailableCommandInput,
    AvailableCommandsUpdate, CLIENT_METHOD_NAMES, CancelNotification, CancelRequestNotification,
    ClientCapabilities, CloseSessionRequest, CloseSessionResponse, CompactionStatus, CompactionSummaryChunk,
    CompactionUpdate, ConfigOptionUpdate, Content, ContentBlock, ContentChunk, Cost,
    CreateElicitationRequest, CreateElicitationResponse, CurrentModeUpdate, DeleteSessionRequest,
    DeleteSessionResponse, Diff, ElicitationAction, ElicitationContentValue, ElicitationFormMode,
    ElicitationMode, ElicitationPropertySchema, ElicitationSchema, ElicitationSessionScope,
    EmbeddedResourceResource, EnumOption, Error, ErrorCode, ForkSessionRequest, ForkSessionResponse,
    ImageContent, Implementation, InitializeRequest, InitializeResponse, ListSessionsRequest,
    ListSessionsResponse, LoadSessionRequest, LoadSessionResponse, McpCapabilities, McpServer, MessageId,
    Meta, MultiSelectPropertySchema, NewSessionRequest, NewSessionResponse, Notice, NoticeSeverity,
    PROTOCOL_LEVEL_METHOD_NAMES, PermissionOption, PermissionOptionKind, Plan, PlanEntry, PlanEntryPriority,
    PlanEntryStatus, PromptCapabilities, PromptRequest, PromptResponse, ReadTextFileRequest,
    ReadTextFileResponse, RequestId, RequestPermissionOutcome, RequestPermissionRequest,
    RequestPermissionResponse, ResumeSessionRequest, ResumeSessionResponse,
    SessionAdditionalDirectoriesCapabilities, SessionCapabilities, SessionCloseCapabilities,
    SessionConfigOption, SessionConfigOptionCategory, SessionConfigOptionValue, SessionConfigSelectOption,
    SessionDeleteCapabilities, SessionForkCapabilities, SessionId, SessionInfo, SessionInfoUpdate,
    SessionListCapabilities, SessionMode, SessionModeState, SessionNotification, SessionResumeCapabilities,
    SessionUpdate, SetSessionConfigOptionRequest, SetSessionConfigOptionResponse, SetSessionModeRequest,
    SetSessionModeResponse, StopReason, StringPropertySchema, Terminal, TerminalId, TextContent, ToolCall,
    ToolCallContent, ToolCallId, ToolCallLocation, ToolCallStatus, ToolCallUpdate, ToolCallUpdateFields,
    ToolKind, UnstructuredCommandInput, Usage, UsageUpdate,
};

//! Tools of the program itself: Rust functions that the model can call.
//!
//! A set of tools is an MCP server inside the program, served by `rmcp` over the messages that the CLI sends
//! through its own control plane; no process and no socket is involved. The one rule it keeps: whatever a
//! function does (fail, panic, get input that does not fit), the model gets a result and the session goes on.
//!
//! ```
//! use jackfield_sdk::tools::{ToolError, ToolOutput, Tools};
//!
//! #[derive(serde::Deserialize, schemars::JsonSchema)]
//! struct Add {
//!     a: i64,
//!     b: i64,
//! }
//!
//! let tools = Tools::new("calc", "1.0").tool("add", "Adds two numbers", |input: Add| async move {
//!     let sum = input.a.checked_add(input.b).ok_or(ToolError::new("the sum is too large"))?;
//!     Ok::<_, ToolError>(ToolOutput::text(sum.to_string()))
//! });
//! assert_eq!(tools.name(), "calc");
//! ```

mod call;
mod connection;
mod output;
mod schema;
mod server;
mod toolset;

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use rmcp::model::{JsonObject, Tool as Description};
pub use schemars;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;

pub use self::call::ToolCall;
pub use self::connection::Connection;
pub use self::output::{ImageType, ToolError, ToolOutput};
use self::schema::InputSchema;
pub use self::toolset::{ToolServer, Toolset};

/// A named set of tools. The model sees each as `mcp__<set>__<tool>`.
#[derive(Clone)]
pub struct Tools {
    name: String,
    version: String,
    instructions: Option<String>,
    tools: Vec<Tool>,
}

/// A property of a tool that the CLI may go by. A tool without any may do everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hint {
    /// It changes nothing. The CLI runs such tools side by side.
    ReadOnly,
    /// It adds and never overwrites or deletes.
    Additive,
    /// Calling it again with the same input changes nothing more.
    Idempotent,
    /// It deals with nothing outside the program.
    ClosedWorld,
    /// The model knows it from the start. Newer CLIs let it search for the tools of MCP servers first, and
    /// tell it only their names.
    AlwaysLoaded,
}

/// The member of a tool's `_meta` that keeps it out of the search.
const ALWAYS_LOAD: &str = "anthropic/alwaysLoad";

/// One tool: what is told of it, and the function behind it.
#[derive(Clone)]
struct Tool {
    description: Description,
    run: Arc<Run>,
}

type Run = dyn Fn(JsonObject, ToolCall) -> Running + Send + Sync;
type Running = Pin<Box<dyn Future<Output = Result<ToolOutput, ToolError>> + Send>>;

impl Tools {
    /// A set without tools. Its name is the server's in [`Session::mcp_status`](crate::Session::mcp_status),
    /// and a part of its tools' names.
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        Self { name: name.into(), version: version.into(), instructions: None, tools: Vec::new() }
    }

    /// Adds a tool. One of the same name is replaced.
    ///
    /// The input's schema is the tool's. An input that is no plain object (a text, a number, a list, an enum)
    /// becomes the member `input` of one, because tools take objects; `()` is a tool without input.
    ///
    /// The function's future is dropped when the model's turn is interrupted.
    #[must_use]
    pub fn tool<Input, Function, Answer, Output, Error>(
        self,
        name: impl Into<String>,
        description: impl Into<String>,
        function: Function,
    ) -> Self
    where
        Input: DeserializeOwned + JsonSchema,
        Function: Fn(Input) -> Answer + Send + Sync + 'static,
        Answer: Future<Output = Result<Output, Error>> + Send + 'static,
        Output: Into<ToolOutput>,
        Error: Into<ToolError>,
    {
        self.tool_with(name, description, move |input, _call| function(input))
    }

    /// Adds a tool whose function also learns which call it serves, and whether that is over.
    #[must_use]
    pub fn tool_with<Input, Function, Answer, Output, Error>(
        mut self,
        name: impl Into<String>,
        description: impl Into<String>,
        function: Function,
    ) -> Self
    where
        Input: DeserializeOwned + JsonSchema,
        Function: Fn(Input, ToolCall) -> Answer + Send + Sync + 'static,
        Answer: Future<Output = Result<Output, Error>> + Send + 'static,
        Output: Into<ToolOutput>,
        Error: Into<ToolError>,
    {
        let (name, description) = (name.into(), description.into());
        let InputSchema { schema, form } = InputSchema::of::<Input>();
        let run = move |arguments: JsonObject, call: ToolCall| -> Running {
            match form.read(arguments) {
                Ok(input) => {
                    let answer = function(input, call);
                    Box::pin(async move { answer.await.map(Into::into).map_err(Into::into) })
                }
                Err(error) => {
                    let refusal = ToolError::new(format!("the input does not fit the tool: {error}"));
                    Box::pin(std::future::ready(Err(refusal)))
                }
            }
        };
        self.tools.retain(|tool| tool.description.name != name);
        let description = Description::new(name, description, schema);
        self.tools.push(Tool { description, run: Arc::new(run) });
        self
    }

    /// Gives the tool that was added last a title for people.
    #[must_use]
    pub fn titled(mut self, title: impl Into<String>) -> Self {
        if let Some(tool) = self.tools.last_mut() {
            tool.description.title = Some(title.into());
        }
        self
    }

    /// Says something about the tool that was added last.
    #[must_use]
    pub fn hint(mut self, hint: Hint) -> Self {
        if let Some(Tool { description, .. }) = self.tools.last_mut() {
            let annotations = description.annotations.clone().unwrap_or_default();
            match hint {
                Hint::ReadOnly => description.annotations = Some(annotations.read_only(true)),
                Hint::Additive => description.annotations = Some(annotations.destructive(false)),
                Hint::Idempotent => description.annotations = Some(annotations.idempotent(true)),
                Hint::ClosedWorld => description.annotations = Some(annotations.open_world(false)),
                Hint::AlwaysLoaded => {
                    description.meta.get_or_insert_default().insert(ALWAYS_LOAD.to_owned(), true.into());
                }
            }
        }
        self
    }

    /// Tells the model how the set is to be used.
    #[must_use]
    pub fn instructions(mut self, instructions: impl Into<String>) -> Self {
        self.instructions = Some(instructions.into());
        self
    }

    /// The set's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The names of the tools, as they were given.
    pub fn tool_names(&self) -> impl Iterator<Item = &str> {
        self.tools.iter().map(|tool| tool.description.name.as_ref())
    }

    fn find(&self, name: &str) -> Option<&Tool> {
        self.tools.iter().find(|tool| tool.description.name == name)
    }
}

impl fmt::Debug for Tools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tools")
            .field("name", &self.name)
            .field("version", &self.version)
            .field("tools", &self.tool_names().collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;

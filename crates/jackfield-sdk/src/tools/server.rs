//! A set of functions as tools that are served.
//!
//! Not a transport and not the functions. The one rule it keeps: whatever a function does, its call has a result.

use std::any::Any;
use std::panic::AssertUnwindSafe;

use futures_util::FutureExt as _;
use rmcp::model::{CallToolRequestParams, CallToolResult, Implementation, Tool as Description};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};

use super::{ToolCall, ToolError, Tools, Toolset};

impl Toolset for Tools {
    fn introduction(&self) -> Implementation {
        Implementation::new(&self.name, &self.version)
    }

    fn instructions(&self) -> Option<String> {
        self.instructions.clone()
    }

    fn catalogue(&self) -> Vec<Description> {
        self.tools.iter().map(|tool| tool.description.clone()).collect()
    }

    async fn call(
        &self,
        request: CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResult, ErrorData> {
        let Some(tool) = self.find(&request.name) else {
            return Err(ErrorData::invalid_params(format!("there is no tool {}", request.name), None));
        };
        let call = ToolCall::of(context);
        let arguments = request.arguments.unwrap_or_default();
        // The function itself may panic too, not only its future. What it leaves half done is its own.
        let running = AssertUnwindSafe(async { (tool.run)(arguments, call).await }).catch_unwind();
        Ok(match running.await {
            Ok(Ok(output)) => output.into_result(),
            Ok(Err(error)) => error.into_result(),
            Err(panic) => ToolError::new(format!("the tool panicked: {}", words(&*panic))).into_result(),
        })
    }
}

/// What a panic said.
fn words(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("it did not say why")
}

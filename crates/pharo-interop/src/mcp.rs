//! The MCP side: the only module, with the transports, that knows the SDK's types. It translates
//! between them and `call`; it decides nothing.

use std::sync::Arc;

use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation,
        ListToolsResult, PaginatedRequestParams, ProgressNotificationParam, ServerCapabilities, ServerConfig,
        Tool, ToolAnnotations,
    },
    service::RequestContext,
};
use serde_json::Value;

use crate::{
    bounded_text::beginning,
    call::{Desk, Reply},
    tools,
    waiting::{Beat, Watcher},
};

const INSTRUCTIONS: &str = "\
Tools for a live Pharo Smalltalk image. Searches match the beginning of a name. A result is the \
image's own answer: `success` and `result`. A failed call has `isError`, and `failure` says what \
happened and what to do next. Long lists and sources come in pages: see `page.next_offset`. The \
image keeps its state between calls, also after a call that was cancelled or took too long: look \
with `ping_image` before repeating one that changes something.";

const NAME_CHARS_MAX: usize = 100;
const TEXT_BYTES_MAX: usize = 256 * 1024;

/// One MCP server; cheap to clone, one clone per session.
#[derive(Clone)]
pub(crate) struct Server {
    desk: Arc<Desk>,
    tools: Arc<[(Tool, &'static tools::Tool)]>,
}

impl Server {
    pub(crate) fn new(desk: Desk) -> Self {
        let tools = desk.tools().map(|tool| (definition(tool, &desk), tool)).collect();
        Self { desk: Arc::new(desk), tools }
    }

    fn tool(&self, name: &str) -> Option<&'static tools::Tool> {
        self.tools.iter().find(|(definition, _)| definition.name == name).map(|(_, tool)| *tool)
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let name = Implementation::new("pharo-interop-mcp", env!("CARGO_PKG_VERSION"))
            .with_title("Pharo Smalltalk Interop");
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(name)
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools = self.tools.iter().map(|(definition, _)| definition.clone()).collect();
        Ok(ListToolsResult::with_all_items(tools))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(tool) = self.tool(&request.name) else {
            let message = format!("Unknown tool: {}", beginning(&request.name, NAME_CHARS_MAX));
            return Err(ErrorData::invalid_params(message, None));
        };
        let arguments = request.arguments.unwrap_or_default();
        // Boxed: the SDK moves the future it is part of several times for each request.
        let reply = Box::pin(self.desk.call(tool, arguments, &Caller(context))).await;
        Ok(result(reply).into())
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.tools.iter().map(|(definition, _)| definition).find(|tool| tool.name == name).cloned()
    }
}

/// The client that waits for one call.
struct Caller(RequestContext<RoleServer>);

impl Watcher for Caller {
    async fn beat(&self, beat: Beat) {
        let Some(token) = self.0.meta.get_progress_token() else {
            return;
        };
        let progress = ProgressNotificationParam::new(token, beat.elapsed.as_secs_f64())
            .with_total(beat.limit.as_secs_f64())
            .with_message(beat.message);
        let _client_gone = self.0.peer.notify_progress(progress).await;
    }

    async fn cancelled(&self) {
        self.0.ct.cancelled().await;
    }
}

fn result(reply: Reply) -> CallToolResult {
    let json = ContentBlock::text(json_text(&reply.structured));
    let notes = reply.notes.into_iter().map(ContentBlock::text);
    let mut content: Vec<_> = if reply.is_error {
        notes.chain([json]).collect()
    } else {
        [json].into_iter().chain(notes).collect()
    };
    content.extend(reply.picture.map(|picture| ContentBlock::image(picture.0, "image/png")));
    let mut result =
        if reply.is_error { CallToolResult::error(content) } else { CallToolResult::success(content) };
    result.structured_content = Some(reply.structured);
    result
}

/// The structured content once more, for clients that read only texts; not when it is so large
/// that sending it twice would go beyond what clients accept.
fn json_text(structured: &Value) -> String {
    let json = structured.to_string();
    if json.len() <= TEXT_BYTES_MAX {
        return json;
    }
    format!("{} bytes of JSON, only in the structured content", json.len())
}

fn definition(tool: &tools::Tool, desk: &Desk) -> Tool {
    let hints = tool.hints;
    let annotations = ToolAnnotations::with_title(tool.title)
        .read_only(hints.read_only)
        .destructive(hints.destructive)
        .idempotent(hints.idempotent)
        .open_world(hints.open_world);
    Tool::new(tool.name, tool.description, tools::input_schema(tool, desk.images()))
        .with_title(tool.title)
        .with_raw_output_schema(Arc::new(tools::output_schema(tool)))
        .with_annotations(annotations)
}

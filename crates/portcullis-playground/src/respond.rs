//! What the server says to each request of either era.

use std::sync::Arc;

use hyper::StatusCode;
use hyper::header::HeaderValue;
use portcullis_json::{Object, Value};
use portcullis_mcp::meta::{self, ModernMeta};
use portcullis_mcp::params::{LogLevel, RequestParams};
use portcullis_mcp::{
    Era, Incoming, LegacyRevision, Message, Refused, Request, SUPPORTED_REVISIONS, code, result, write,
};
use tokio::sync::Notify;

use crate::answer::{self, Answer, SESSION};
use crate::exchange::Caller;
use crate::session::Session;
use crate::slow::Report;
use crate::tool::Work;
use crate::{Playground, find_tool, tools};

/// How long a modern client may keep a list.
const TTL_MS: i64 = 60_000;

/// Opens a session.
pub(crate) fn initialize(playground: &Playground, incoming: Incoming) -> Result<Answer, Refused> {
    let Message::Request(request) = incoming.place(Era::Legacy(LegacyRevision::NEWEST))? else {
        return Ok(answer::bare(StatusCode::BAD_REQUEST));
    };
    let requested = match request.view() {
        Ok(Some(RequestParams::Initialize(initialize))) => initialize.protocol_version,
        Ok(_) => return Ok(answer::bare(StatusCode::BAD_REQUEST)),
        Err(fault) => return Err(Refused { refusal: fault.into(), id: Some(request.id.clone()) }),
    };
    let revision = LegacyRevision::negotiate(requested);
    let result = Object::new()
        .with("protocolVersion", revision.as_str())
        .with("capabilities", capabilities())
        .with("serverInfo", server_info())
        .with("instructions", INSTRUCTIONS);
    let opened = playground.sessions.open(revision);
    let mut answer = answer::json(StatusCode::OK, write::result(&request.id, result));
    match opened.and_then(|id| HeaderValue::try_from(id).ok()) {
        Some(id) => answer.headers_mut().insert(SESSION, id),
        None => return Ok(answer::bare(StatusCode::SERVICE_UNAVAILABLE)),
    };
    Ok(answer)
}

const INSTRUCTIONS: &str = "A playground: notes, messages and money that are not real.";

fn capabilities() -> Object {
    Object::new().with("tools", Object::new()).with("logging", Object::new())
}

fn server_info() -> Object {
    Object::new().with("name", "portcullis-playground").with("version", env!("CARGO_PKG_VERSION"))
}

/// Answers one request.
pub(crate) fn respond(playground: &Arc<Playground>, caller: &Caller, request: Request) -> Answer {
    let view = match request.view() {
        Ok(Some(view)) => view,
        Ok(None) => return answer::bare(StatusCode::BAD_REQUEST),
        Err(fault) => {
            let refused = Refused { refusal: fault.into(), id: Some(request.id.clone()) };
            return answer::refused(&refused);
        }
    };
    let done = |result: Object| answer::json(StatusCode::OK, write::result(&request.id, result));
    match view {
        RequestParams::Ping => done(Object::new()),
        RequestParams::Discover => done(cacheable(caller.era(), discovery())),
        RequestParams::ToolList(list) if list.cursor.is_none() => done(cacheable(caller.era(), tool_list())),
        RequestParams::ToolList(_) => {
            answer::error(StatusCode::OK, Some(&request.id), code::INVALID_PARAMS, "unknown cursor")
        }
        RequestParams::LoggingLevel(level) => {
            if let Caller::Legacy(_, session) = caller {
                session.set_log_level(level.level);
            }
            done(Object::new())
        }
        RequestParams::ToolCall(call) => {
            let (name, arguments) = (call.name, call.arguments);
            tool_call(playground, caller, &request, name, arguments)
        }
        _ => {
            let status = if caller.era().is_modern() { StatusCode::NOT_FOUND } else { StatusCode::OK };
            answer::error(status, Some(&request.id), code::METHOD_NOT_FOUND, "method not found")
        }
    }
}

fn discovery() -> Object {
    Object::new()
        .with("supportedVersions", SUPPORTED_REVISIONS.map(Value::from).to_vec())
        .with("capabilities", capabilities())
        .with("instructions", INSTRUCTIONS)
}

fn tool_list() -> Object {
    let definitions: Vec<Value> = tools::TOOLS.iter().map(|tool| tool.definition()).collect();
    Object::new().with("tools", definitions)
}

/// With what a modern result must say of itself.
fn cacheable(era: Era, result: Object) -> Object {
    if !era.is_modern() {
        return result;
    }
    let mut result = result.with("resultType", "complete").with("ttlMs", TTL_MS).with("cacheScope", "public");
    meta::set(&mut result, meta::key::SERVER_INFO, server_info().into());
    result
}

fn tool_call(
    playground: &Arc<Playground>,
    caller: &Caller,
    request: &Request,
    name: &str,
    arguments: Option<&Object>,
) -> Answer {
    let Some(tool) = find_tool(name) else {
        let message = format!("Unknown tool: {name}");
        return answer::error(StatusCode::OK, Some(&request.id), code::INVALID_PARAMS, &message);
    };
    let outcome = match (tool.check(arguments), &tool.work) {
        (Err(fault), _) => Err(fault),
        (Ok(arguments), Work::Now(work)) => playground.with_world(|world| work(world, &arguments)),
        (Ok(arguments), Work::Count) => return slowly(caller, request, Some(arguments.integer("to"))),
        (Ok(_), Work::Story) => return slowly(caller, request, None),
    };
    let (text, is_error) = match outcome {
        Ok(text) => (text, false),
        Err(text) => (text, true),
    };
    let result = result::tool_result(caller.era(), &text, is_error, None);
    answer::json(StatusCode::OK, write::result(&request.id, result))
}

/// Counts to a number, or tells the story, on a stream.
fn slowly(caller: &Caller, request: &Request, count_to: Option<i64>) -> Answer {
    let session = match caller {
        Caller::Legacy(_, session) => Some(session.clone()),
        Caller::Modern => None,
    };
    let cancelled = match &session {
        Some(session) => session.start(&request.id),
        None => Some(Arc::new(Notify::new())),
    };
    let Some(cancelled) = cancelled else {
        let message = "too many calls are running in this session";
        return answer::error(StatusCode::OK, Some(&request.id), code::INTERNAL, message);
    };
    let (answer, events) = answer::stream();
    let report = Report {
        era: caller.era(),
        id: request.id.clone(),
        progress_token: meta::progress_token(request.params.as_ref()).unwrap_or_default(),
        wants_log: wants_log(session.as_deref(), request),
        cancelled,
        events,
    };
    let id = request.id.clone();
    tokio::spawn(async move {
        // A client that has gone, or has cancelled, wants no answer.
        let _ = match count_to {
            Some(to) => report.count(to).await,
            None => report.story().await,
        };
        if let Some(session) = session {
            session.finish(&id);
        }
    });
    answer
}

fn wants_log(session: Option<&Session>, request: &Request) -> bool {
    let level = match session {
        Some(session) => Some(session.log_level()),
        None => ModernMeta::read(request.params.as_ref()).ok().and_then(|meta| meta.log_level),
    };
    level.is_some_and(|level| level <= LogLevel::Info)
}

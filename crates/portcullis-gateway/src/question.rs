//! Caller and message to what is asked: of which tool, resource or prompt, and what would leave.
//!
//! From here on the message is the one that would be sent: under an id of ours, without what this gateway
//! does not carry.

use std::sync::Arc;

use http::{HeaderMap, HeaderName, HeaderValue};
use portcullis_json::{Object, Value};
use portcullis_mcp::headers::ParamPolicy;
use portcullis_mcp::meta::{ModernMeta, key};
use portcullis_mcp::params::{Reference, RequestParams};
use portcullis_mcp::{Era, LegacyRevision, Message, Notification, Request, Sender, Subject};
use portcullis_policy::Detectors;
use portcullis_state::log::RiskClass;

use crate::authenticate::{Caller, Door};
use crate::catalogue;
use crate::gateway::Gateway;
use crate::methods::{Handling, handling};
use crate::own::Place;
use crate::parse::{Parsed, compare_headers};
use crate::probe;
use crate::record::{OutgoingKind, Trail};
use crate::sessions::Call;
use crate::snapshot::EraSetting;
use crate::stop::{ClientFault, Refusal, Stop};
use crate::tool::Tool;

/// What is asked, and what would leave.
pub(crate) struct Asked {
    pub(crate) caller: Caller,
    pub(crate) place: Place,
    pub(crate) kind: OutgoingKind,
    pub(crate) about: About,
    /// How the answer finds back; none for what wants no answer.
    pub(crate) call: Option<Call>,
    pub(crate) trace: Vec<(HeaderName, HeaderValue)>,
    /// Headers do not repeat the arguments. Told only to those who may know the tool, so after the verdict.
    pub(crate) mismatch: Option<Stop>,
}

impl Asked {
    /// Something about nothing in particular, such as a stream or its end.
    pub(crate) fn plain(caller: Caller, place: Place, kind: OutgoingKind) -> Asked {
        Asked { caller, place, kind, about: About::Nothing, call: None, trace: Vec::new(), mismatch: None }
    }

    /// The same under the grant and policy of this moment.
    pub(crate) fn again(mut self, gateway: &Gateway) -> Result<Asked, Stop> {
        self.caller = self.caller.again(gateway)?;
        Ok(self)
    }

    /// The request that would leave, if it is one.
    pub(crate) fn request(&mut self) -> Option<&mut Request> {
        match &mut self.kind {
            OutgoingKind::Message { message: Message::Request(request), .. } => Some(request),
            _ => None,
        }
    }
}

/// What a message is about, for judgement.
pub(crate) enum About {
    Tool(Arc<Tool>),
    Resource(String),
    Prompt(String),
    /// A task of this grant, and what to blank out in its result.
    Task(Detectors),
    /// A stream; its resources are judged one by one.
    Listen,
    /// Nothing that a rule could name: it passes where there is a policy at all.
    Nothing,
}

/// What is asked with this message.
pub(crate) async fn ask(
    gateway: &Arc<Gateway>,
    caller: Caller,
    parsed: Parsed,
    headers: &HeaderMap,
    trail: &mut Trail,
) -> Result<Asked, Stop> {
    let era = parsed.era;
    check_era(gateway, &caller, era).await?;
    let place = match &caller.session {
        Some(session) => session.place(),
        None => Place { era, session: None, owner: Some(Arc::from(caller.grant_id())) },
    };
    trail.class = Some(RiskClass::Read);
    let mut mismatch = None;
    let (message, about, call) = match parsed.message {
        Message::Request(request) => {
            let about = about(gateway, &caller, era, &request, trail).await?;
            if let (About::Tool(tool), Era::Modern, Door::Http) = (&about, era, caller.door) {
                mismatch = compare_mirrored(headers, &request, tool).err();
            }
            let (request, call) = renumber(carry(request), &caller);
            (Message::Request(request), about, Some(call))
        }
        Message::Notification(notice) => (Message::Notification(notice), About::Nothing, None),
        Message::Response(response) => (Message::Response(response), About::Nothing, None),
    };
    let tool = match &about {
        About::Tool(tool) => Some(tool.clone()),
        _ => None,
    };
    let kind = OutgoingKind::Message { message, tool };
    Ok(Asked { caller, place, kind, about, call, trace: trace_context(headers), mismatch })
}

/// Client and server must speak the same era.
async fn check_era(gateway: &Arc<Gateway>, caller: &Caller, era: Era) -> Result<(), Stop> {
    let fits = match era {
        Era::Modern => Box::pin(probe::speaks_modern(gateway, &caller.server)).await?,
        Era::Legacy(_) => caller.server.config.era != EraSetting::Modern,
    };
    if fits { Ok(()) } else { Err(ClientFault::EraMismatch { client: era }.into()) }
}

async fn about(
    gateway: &Arc<Gateway>,
    caller: &Caller,
    era: Era,
    request: &Request,
    trail: &mut Trail,
) -> Result<About, Stop> {
    let resource = |uri: &str, trail: &mut Trail| {
        trail.resource = Some(uri.to_owned());
        About::Resource(uri.to_owned())
    };
    let prompt = |name: &str, trail: &mut Trail| {
        trail.tool = Some(name.to_owned());
        About::Prompt(name.to_owned())
    };
    if request.method.subject == Subject::ToolList {
        // Classes must be known before the list can be filtered.
        catalogue::ensure(gateway, &caller.server).await?;
    }
    Ok(match request.view()? {
        Some(RequestParams::ToolCall(call)) => {
            note_arguments(gateway, call.name, request.params.as_ref(), trail);
            let tool = catalogue::find(gateway, &caller.server, call.name).await?;
            let unknown = || Refusal::UnknownTool { name: call.name.to_owned(), rule: "(unknown tool)" };
            let tool = tool.filter(|tool| tool.is_offered(era)).ok_or_else(unknown)?;
            // What it is judged as is noted by `decide`; until then it counts as unknown.
            trail.class = None;
            About::Tool(tool)
        }
        Some(RequestParams::ResourceRead(read)) => resource(read.uri, trail),
        Some(RequestParams::ResourceSubscribe(uri) | RequestParams::ResourceUnsubscribe(uri)) => {
            resource(uri, trail)
        }
        Some(RequestParams::PromptGet(get)) => prompt(get.name, trail),
        Some(RequestParams::Completion(complete)) => match complete.reference {
            Reference::Prompt(name) => prompt(name, trail),
            Reference::Resource(uri) => resource(uri, trail),
        },
        Some(
            RequestParams::TaskGet(id)
            | RequestParams::TaskResult(id)
            | RequestParams::TaskUpdate(id, _)
            | RequestParams::TaskCancel(id),
        ) => {
            let task = gateway.tasks.find(&caller.server, id.0, caller.grant_id());
            About::Task(task.ok_or_else(|| no_task(era, request))?.redact)
        }
        Some(RequestParams::SubscriptionListen(_)) => About::Listen,
        _ => About::Nothing,
    })
}

/// What is wrong with a request about a task that is not the caller's. A server would first look whether the
/// client knows tasks at all.
fn no_task(era: Era, request: &Request) -> ClientFault {
    let declares = |meta: ModernMeta<'_>| {
        let extensions = meta.client_capabilities.get("extensions")?.as_object()?;
        extensions.get(key::TASKS).map(|_| ())
    };
    let meta = ModernMeta::read(request.params.as_ref()).ok();
    match era.is_modern() && meta.and_then(declares).is_none() {
        true => ClientFault::TasksUndeclared,
        false => ClientFault::UnknownTask,
    }
}

/// Keys and a keyed digest: never a value.
fn note_arguments(gateway: &Gateway, name: &str, params: Option<&Object>, trail: &mut Trail) {
    trail.is_tool_call = true;
    trail.tool = Some(name.to_owned());
    let empty = Value::Object(Object::new());
    let arguments = params.and_then(|params| params.get("arguments")).unwrap_or(&empty);
    let keys = arguments.as_object().into_iter().flatten().map(|member| member.key.clone());
    trail.argument_keys = keys.collect();
    trail.digest = Some(gateway.state.digest_key.digest(arguments));
}

fn compare_mirrored(headers: &HeaderMap, request: &Request, tool: &Tool) -> Result<(), Stop> {
    match &tool.headers {
        Some(mirrored) if mirrored.iter().next().is_some() => {
            let message = Message::Request(request.clone());
            compare_headers(headers, &message, ParamPolicy::Mirrored(mirrored))
        }
        _ => Ok(()),
    }
}

/// The request without what we do not carry: revisions that are not known, tasks that run at the client.
fn carry(mut request: Request) -> Request {
    if let (Subject::Initialize, Some(params)) = (request.method.subject, &mut request.params) {
        let wanted = params.get("protocolVersion").and_then(Value::as_str).unwrap_or_default();
        let revision = LegacyRevision::negotiate(wanted);
        params.insert("protocolVersion", revision.as_str().into());
        if let Some(Value::Object(capabilities)) = params.get_mut("capabilities") {
            *capabilities = capabilities.without("tasks");
        }
    }
    request
}

pub(crate) fn as_object_mut(value: &mut Value) -> Option<&mut Object> {
    match value {
        Value::Object(object) => Some(object),
        _ => None,
    }
}

/// Request ids upstream are ours.
fn renumber(mut request: Request, caller: &Caller) -> (Request, Call) {
    let our_id = caller.server.next_id();
    let client_id = std::mem::replace(&mut request.id, our_id.clone());
    let subject = request.method.subject;
    (request, Call { our_id, client_id, subject, redact: Detectors::default() })
}

/// The client's notification as the server must read it; none when it means nothing to the server.
pub(crate) fn translate_notice(caller: &Caller, notice: Notification) -> Option<Notification> {
    match handling(notice.method.subject, Sender::Client) {
        Handling::Notice => Some(notice),
        Handling::Cancel => {
            // In the modern era closing the stream cancels, and ids of other streams are nobody's business.
            let session = caller.session.as_ref()?;
            let params = notice.params?;
            let client_id = portcullis_mcp::Id::from_value(params.get("requestId")?)?;
            let our_id = session.our_id_of(&client_id)?;
            let params = params.with("requestId", our_id.to_value());
            Some(Notification { method: notice.method, params: Some(params) })
        }
        _ => None,
    }
}

/// W3C trace context, as far as it is well-formed.
fn trace_context(headers: &HeaderMap) -> Vec<(HeaderName, HeaderValue)> {
    let parent = headers.get("traceparent").filter(|value| is_trace_parent(value.as_bytes()));
    let Some(parent) = parent else {
        return Vec::new();
    };
    let mut context = vec![(HeaderName::from_static("traceparent"), parent.clone())];
    let state = headers.get("tracestate").filter(|value| value.len() <= 512 && value.to_str().is_ok());
    context.extend(state.map(|state| (HeaderName::from_static("tracestate"), state.clone())));
    context
}

/// The client's place in a trace.
pub(crate) fn trace_parent(headers: &HeaderMap) -> Option<&str> {
    let parent = headers.get("traceparent").filter(|value| is_trace_parent(value.as_bytes()));
    parent.and_then(|value| value.to_str().ok())
}

/// `00-` 32 hexadecimal digits `-` 16 `-` 2.
fn is_trace_parent(value: &[u8]) -> bool {
    value.len() == 55
        && value.starts_with(b"00-")
        && value.iter().enumerate().all(|(at, byte)| match at {
            2 | 35 | 52 => *byte == b'-',
            _ => byte.is_ascii_hexdigit() && !byte.is_ascii_uppercase(),
        })
}

//! What a server answers, cut to what the caller may see.
//!
//! Lists are filtered by the same `decide` as calls, results are redacted, the server's credential is taken
//! out, what the server asks inside a result is judged, and modern results are marked private.

use std::collections::HashSet;
use std::sync::Arc;

use portcullis_catalogue::fingerprint::of_definition;
use portcullis_json::{Object, Value};
use portcullis_mcp::list::{self, ListKind};
use portcullis_mcp::result::{self, ResultKind};
use portcullis_mcp::tool::ToolDefinition;
use portcullis_mcp::{Era, ErrorObject, Outcome, Subject};
use portcullis_policy::{self as policy, Detectors, Effect, ServerRequest};

use crate::approval::nobody_to_ask;
use crate::authenticate::Caller;
use crate::catalogue;
use crate::decide::{allows, ask, denial};
use crate::gateway::Gateway;
use crate::methods::{Handling, handling};
use crate::own;
use crate::pins;
use crate::question::as_object_mut;
use crate::sessions::Call;
use crate::stop::{Stop, UpstreamFault};

/// What must be known before an answer can be cut: the pins of the tools in it.
pub(crate) async fn prepare(
    gateway: &Arc<Gateway>,
    caller: &Caller,
    call: &Call,
    outcome: &Outcome,
) -> Result<(), Stop> {
    match outcome {
        Outcome::Result(result) if call.subject == Subject::ToolList => {
            Box::pin(catalogue::meet(gateway, &caller.server, result)).await
        }
        _ => Ok(()),
    }
}

/// The answer to `call` as its caller may see it.
pub(crate) fn outcome(
    gateway: &Gateway,
    caller: &Caller,
    era: Era,
    call: &Call,
    outcome: Outcome,
) -> Result<Outcome, Stop> {
    match outcome {
        Outcome::Error(error) => Ok(Outcome::Error(clean_error(caller, call.redact, error))),
        Outcome::Result(mut result) => {
            caller.server.scrubber.object(&mut result);
            judge_result(gateway, caller, era, call, &mut result)?;
            Ok(Outcome::Result(redact(call.redact, result)))
        }
    }
}

fn clean_error(caller: &Caller, detectors: Detectors, mut error: ErrorObject) -> ErrorObject {
    caller.server.scrubber.text(&mut error.message);
    if let Some(clean) = detectors.redact_text(&error.message) {
        error.message = clean;
    }
    if let Some(data) = &mut error.data {
        caller.server.scrubber.value(data);
        detectors.redact_value(data);
    }
    error
}

/// Parameters of a notification on the stream of a call.
pub(crate) fn clean_params(caller: &Caller, detectors: Detectors, params: Option<Object>) -> Option<Object> {
    params.map(|mut params| {
        caller.server.scrubber.object(&mut params);
        redact(detectors, params)
    })
}

fn redact(detectors: Detectors, object: Object) -> Object {
    let mut value = Value::Object(object);
    detectors.redact_value(&mut value);
    match value {
        Value::Object(object) => object,
        _ => Object::new(),
    }
}

fn judge_result(
    gateway: &Gateway,
    caller: &Caller,
    era: Era,
    call: &Call,
    result: &mut Object,
) -> Result<(), Stop> {
    let kind = match era {
        Era::Modern => {
            ResultKind::of(result).map_err(|_| UpstreamFault::NotMcp("an unknown type of result"))?
        }
        Era::Legacy(_) => ResultKind::Complete,
    };
    match kind {
        ResultKind::InputRequired => return judge_questions(gateway, caller, call, result),
        ResultKind::Task if call.subject != Subject::ToolCall => {
            return Err(UpstreamFault::NotMcp("a task that nobody asked for").into());
        }
        ResultKind::Task | ResultKind::Complete => {}
    }
    match call.subject {
        Subject::Initialize => opened(result)?,
        Subject::Discover => discovered(result),
        Subject::ToolCall => {
            note_task(gateway, caller, era, call, result)?;
            if kind == ResultKind::Task {
                judge_each(gateway, caller, result)?;
            }
        }
        Subject::TaskGet | Subject::TaskUpdate => judge_each(gateway, caller, result)?,
        subject => {
            if let Some(kind) = ListKind::of(subject) {
                filter_list(gateway, caller, era, kind, result)?;
            }
        }
    }
    let cacheable = ListKind::of(call.subject).is_some()
        || matches!(call.subject, Subject::Discover | Subject::ResourceRead);
    if era.is_modern() && cacheable {
        result::make_private(result, gateway.settings.list_ttl_ms_max);
    }
    Ok(())
}

/// INVARIANT: list equals call.
fn filter_list(
    gateway: &Gateway,
    caller: &Caller,
    era: Era,
    kind: ListKind,
    result: &mut Object,
) -> Result<(), Stop> {
    if kind == ListKind::Tools {
        caller.server.catalogue.learn(gateway, &caller.server, result);
    }
    let mut shown = HashSet::new();
    let filtered = list::filter(result, kind, |listed| {
        let name = listed.identity;
        match kind {
            ListKind::Tools => {
                let known = caller.server.catalogue.known_tool(name);
                let class = known.as_deref().and_then(|tool| caller.server.class_of(tool).0);
                let fingerprint = || match &known {
                    Some(tool) => tool.fingerprint_of(listed.definition),
                    None => of_definition(listed.definition),
                };
                // Of two with one name the first is the one that calls are judged with.
                let is_first = ToolDefinition::of(listed.definition).is_ok() && shown.insert(name.to_owned());
                is_first
                    && catalogue::may_show(era, listed.definition)
                    && pins::is_pinned(gateway, caller.server.name(), name, fingerprint())
                    && allows(gateway, caller, policy::Subject::List { tool: name, class })
            }
            ListKind::Resources | ListKind::ResourceTemplates => {
                allows(gateway, caller, policy::Subject::Resource(name))
            }
            ListKind::Prompts => allows(gateway, caller, policy::Subject::Prompt(name)),
            ListKind::Tasks => gateway.tasks.find(&caller.server, name, caller.grant_id()).is_some(),
        }
    });
    filtered.map(|_| ()).map_err(|_| UpstreamFault::NotMcp("a list that cannot be read").into())
}

/// A server may only ask what `server_requests` lets it ask.
fn judge_questions(gateway: &Gateway, caller: &Caller, call: &Call, result: &Object) -> Result<(), Stop> {
    if !matches!(call.subject, Subject::ToolCall | Subject::PromptGet | Subject::ResourceRead) {
        return Err(UpstreamFault::NotMcp("a question where none is allowed").into());
    }
    judge_each(gateway, caller, result)
}

/// The call became a task: only its grant may ask for it.
fn note_task(gateway: &Gateway, caller: &Caller, era: Era, call: &Call, result: &Object) -> Result<(), Stop> {
    let task = result::created_task(era, result);
    let task = task.map_err(|_| UpstreamFault::NotMcp("a task that cannot be read"))?;
    let Some(task) = task else {
        return Ok(());
    };
    let tasks_max = gateway.settings.tasks_max;
    let opened = gateway.tasks.open(&caller.server, task.0, caller.grant_id(), call.redact, tasks_max);
    opened.map_err(|_| UpstreamFault::NotMcp("a task that is another caller's").into())
}

/// Judges what is asked in a result, or in a notice about a task.
pub(crate) fn judge_each(gateway: &Gateway, caller: &Caller, result: &Object) -> Result<(), Stop> {
    let questions = result::input_requests(result);
    let questions = questions.map_err(|_| UpstreamFault::NotMcp("questions that cannot be read"))?;
    for question in questions {
        let kind = question_kind(question.method.subject);
        let kind = kind.ok_or(UpstreamFault::NotMcp("a question that is not known"))?;
        judge_question(gateway, caller, kind)?;
    }
    Ok(())
}

pub(crate) fn question_kind(subject: Subject) -> Option<ServerRequest> {
    match handling(subject, portcullis_mcp::Sender::Server) {
        Handling::Question(kind) => Some(kind),
        _ => None,
    }
}

/// Whether the server may ask this of the client.
pub(crate) fn judge_question(gateway: &Gateway, caller: &Caller, kind: ServerRequest) -> Result<(), Stop> {
    let verdict = ask(gateway, caller, policy::Subject::ServerRequest(kind));
    match verdict.effect {
        Effect::Allow => Ok(()),
        Effect::Deny => Err(denial(&verdict).into()),
        Effect::Approve => Err(nobody_to_ask(&verdict).into()),
    }
}

/// The result of `initialize`: a revision that we speak.
fn opened(result: &mut Object) -> Result<(), Stop> {
    let revision = own::revision_in(result);
    let revision = revision.ok_or(UpstreamFault::NotMcp("a revision that is not known"))?;
    result.insert("protocolVersion", revision.as_str().into());
    carry_capabilities(result);
    Ok(())
}

fn discovered(result: &mut Object) {
    let known = |version: &Value| version.as_str().and_then(Era::parse).is_some();
    if let Some(Value::Array(versions)) = result.get_mut("supportedVersions") {
        versions.retain(known);
    }
    carry_capabilities(result);
}

/// Changes of lists are told by us, also when the server never tells any.
fn carry_capabilities(result: &mut Object) {
    let Some(capabilities) = result.get_mut("capabilities").and_then(as_object_mut) else {
        return;
    };
    for list in ["tools", "resources", "prompts"] {
        if let Some(offered) = capabilities.get_mut(list).and_then(as_object_mut) {
            offered.insert("listChanged", true.into());
        }
    }
}

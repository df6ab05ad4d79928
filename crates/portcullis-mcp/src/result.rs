//! Results: which kind they are, what they ask for, how long they may be kept, and a tool's own.

use portcullis_json::{Object, Value};

use crate::params::{Fields, TaskId};
use crate::{Era, FieldFault, Method, Problem, Subject, keys};

/// The kind of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResultKind {
    /// Done.
    Complete,
    /// The server wants answers first.
    InputRequired,
    /// The server has made a task of it.
    Task,
}

impl ResultKind {
    /// The kind that `resultType` names; absent is complete, as from older servers.
    pub fn of(result: &Object) -> Result<ResultKind, FieldFault> {
        let fields = Fields::new("result", result);
        match fields.string("resultType")? {
            None | Some("complete") => Ok(ResultKind::Complete),
            Some("input_required") => Ok(ResultKind::InputRequired),
            Some("task") => Ok(ResultKind::Task),
            Some(_) => Err(fields.fault("resultType", Problem::Not("a known type of result"))),
        }
    }
}

/// One thing that a server wants to know, inside a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputRequest<'a> {
    /// The server's key for it.
    pub key: &'a str,
    /// Sampling, elicitation or roots.
    pub method: &'static Method,
    /// The parameters.
    pub params: Option<&'a Object>,
}

/// A result asks for at most this many things at once.
pub const INPUT_REQUESTS_MAX: usize = 64;

/// What a result asks for: none when it has no `inputRequests`.
pub fn input_requests(result: &Object) -> Result<Vec<InputRequest<'_>>, FieldFault> {
    let fields = Fields::new("result", result);
    let requests = fields.object("inputRequests")?;
    if requests.is_some_and(|requests| requests.len() > INPUT_REQUESTS_MAX) {
        return Err(fields.fault("inputRequests", Problem::LongerThan(INPUT_REQUESTS_MAX)));
    }
    let members = requests.into_iter().flatten();
    let read = members.map(|member| read_input_request(&member.key, &member.value));
    read.collect::<Option<_>>().ok_or_else(|| {
        let wanted = "a map of elicitation, sampling and roots requests";
        fields.fault("inputRequests", Problem::Not(wanted))
    })
}

fn read_input_request<'a>(key: &'a str, value: &'a Value) -> Option<InputRequest<'a>> {
    let request = value.as_object()?;
    let known = |key: &str| matches!(key, "method" | "params");
    let params = match request.get("params") {
        None => None,
        Some(params) => Some(params.as_object()?),
    };
    let clear = params.is_none_or(keys::params_are_clear);
    let method = Method::find(request.get("method")?.as_str()?).filter(|method| {
        matches!(method.subject, Subject::Sampling | Subject::Elicitation | Subject::RootList)
    })?;
    (clear && request.iter().all(|member| known(&member.key))).then_some(InputRequest { key, method, params })
}

/// The task that a result announces: flat in the modern era, under `task` in the legacy one.
pub fn created_task(era: Era, result: &Object) -> Result<Option<TaskId<'_>>, FieldFault> {
    if era.is_modern() {
        return match ResultKind::of(result)? {
            ResultKind::Task => TaskId::of("result", result).map(Some),
            ResultKind::Complete | ResultKind::InputRequired => Ok(None),
        };
    }
    match Fields::new("result", result).object("task")? {
        Some(task) => TaskId::of("result.task", task).map(Some),
        None => Ok(None),
    }
}

/// Marks a modern result as this caller's own, to be kept for at most `ttl_ms_max`.
///
/// An absent, negative or odd `ttlMs` counts as 0.
pub fn make_private(result: &mut Object, ttl_ms_max: i64) {
    let ttl = result.get("ttlMs").and_then(Value::as_number);
    let ttl = ttl.and_then(|number| number.as_i64()).unwrap_or(0);
    result.insert("ttlMs", Value::from(ttl.min(ttl_ms_max).max(0)));
    result.insert("cacheScope", Value::from("private"));
}

/// A tool's result that holds one text.
pub fn tool_result(era: Era, text: &str, is_error: bool, meta: Option<Object>) -> Object {
    let content = Object::new().with("type", "text").with("text", text);
    let mut result = Object::new();
    if era.is_modern() {
        result.insert("resultType", Value::from("complete"));
    }
    result.insert("content", Value::from(vec![content.into()]));
    result.insert("isError", Value::from(is_error));
    if let Some(meta) = meta {
        result.insert("_meta", meta.into());
    }
    result
}

//! What can go wrong with a call, told apart, each with what happened and what to do next.
//!
//! A failure becomes the structured content of an `isError` result. `error` in it keeps the form
//! that clients of the earlier server know: the image's own error, or a text that begins with
//! `Connection error`, `HTTP error` or `Invalid JSON response`.

use std::time::Duration;

use serde_json::{Value, json};

use crate::{image::ANSWER_BYTES_MAX, tools::ArgumentFault};

/// Why a call has no result.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Refused here, before the image was asked.
    Argument(ArgumentFault),
    /// Too many calls wait for the image already.
    QueueFull { waiting: usize },
    /// Nothing listens at the address.
    Refused,
    /// The address cannot be reached or resolved.
    Unreachable { reason: String },
    /// The connection ended before the answer did.
    ConnectionLost { reason: String },
    /// No place in the queue became free in time; the image was not asked.
    StillQueued { limit: Duration },
    /// The image was asked and did not answer in time.
    TimeLimit { limit: Duration },
    /// The caller gave the call up.
    Cancelled,
    /// The answer is larger than this server reads.
    AnswerTooLarge,
    /// An HTTP status other than success.
    HttpStatus { status: u16, body: String },
    /// The image side has no such endpoint, and says so with this HTTP status.
    EndpointMissing { path: &'static str, extra: bool, status: u16 },
    /// Something answers, but not an interop server.
    WrongServer { content_type: String, body: String },
    /// Broken JSON, from what says it is JSON.
    InvalidJson { reason: String, body: String },
    /// The code ran; its value has no JSON form.
    NotSerialisable { answer: Value },
    /// An error inside the image; `error` is an object, or a text from an old image side.
    Image { answer: Value },
    /// The result is not what this tool answers.
    UnexpectedResult { expected: &'static str, answer: Value },
}

impl Failure {
    /// A short name for programs.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Argument(_) => "invalid_argument",
            Self::QueueFull { .. } | Self::StillQueued { .. } => "busy",
            Self::Refused => "connection_refused",
            Self::Unreachable { .. } => "unreachable",
            Self::ConnectionLost { .. } => "connection_lost",
            Self::TimeLimit { .. } => "time_limit",
            Self::Cancelled => "cancelled",
            Self::AnswerTooLarge => "answer_too_large",
            Self::HttpStatus { .. } => "http_error",
            Self::EndpointMissing { .. } => "endpoint_missing",
            Self::WrongServer { .. } => "wrong_server",
            Self::InvalidJson { .. } => "invalid_json",
            Self::NotSerialisable { .. } => "not_serialisable",
            Self::Image { .. } => "image_error",
            Self::UnexpectedResult { .. } => "unexpected_result",
        }
    }

    /// What happened.
    pub(crate) fn what(&self) -> String {
        match self {
            Self::Argument(fault) => fault.to_string(),
            Self::QueueFull { waiting } => format!("{waiting} calls wait for the image already"),
            Self::Refused => "nothing listens at the image's address".to_owned(),
            Self::Unreachable { reason } => format!("the image cannot be reached: {reason}"),
            Self::ConnectionLost { reason } => {
                format!("the connection ended before the whole answer had come: {reason}")
            }
            Self::StillQueued { limit } => format!(
                "{} s passed while waiting behind other calls; the image was not asked",
                limit.as_secs()
            ),
            Self::TimeLimit { limit } => {
                format!("the image did not answer within {} s", limit.as_secs())
            }
            Self::Cancelled => "the call was cancelled".to_owned(),
            Self::AnswerTooLarge => {
                format!("the answer is larger than {} MiB", ANSWER_BYTES_MAX / 1024 / 1024)
            }
            Self::HttpStatus { status, .. } => format!("the answer has HTTP status {status}"),
            Self::EndpointMissing { path, .. } => {
                format!("the image answers, but its interop server has no endpoint `{path}`")
            }
            Self::WrongServer { content_type, .. } => format!(
                "something answers at the image's address, but not an interop server (content type `{content_type}`)"
            ),
            Self::InvalidJson { reason, .. } => format!("the answer is not valid JSON: {reason}"),
            Self::NotSerialisable { answer } | Self::Image { answer } => description(answer),
            Self::UnexpectedResult { expected, .. } => {
                format!("the image answered, but the result is not {expected}")
            }
        }
    }

    /// What to do next.
    pub(crate) fn next(&self) -> String {
        match self {
            Self::Argument(_) => "correct the argument and call again; the image was not asked",
            Self::QueueFull { .. } | Self::StillQueued { .. } => {
                "wait for the calls before to end, or cancel some; `ping_image` shows whether the image answers"
            }
            Self::Refused => {
                "start the image and in it `SisServer current start`; check the port (8086 unless set otherwise)"
            }
            Self::Unreachable { .. } => "check the host and port of the image's URL",
            Self::ConnectionLost { .. } => {
                "the image may have quit or restarted, and may have done the work before; look with `ping_image` before calling again"
            }
            Self::TimeLimit { .. } => {
                "the image may still be working on it, or wait in a debugger or dialog: look at the image; `ping_image` shows whether it answers; give a larger `timeout_seconds` for work that takes longer"
            }
            Self::Cancelled => "the image was not told and may still be working on it",
            Self::AnswerTooLarge => "ask for less: a part of the collection, or its size first",
            Self::HttpStatus { .. } => {
                "check that the URL is that of the image's interop server and has no proxy before it"
            }
            Self::EndpointMissing { extra: true, .. } => {
                "this tool needs a newer image side; `ping_image` shows what this one offers; much of it can be done with `eval`"
            }
            Self::EndpointMissing { extra: false, .. } => {
                "check that the URL is that of the image's interop server, and update the image side"
            }
            Self::WrongServer { .. } => "check the port: another program listens there",
            Self::InvalidJson { .. } => {
                "call again; if it stays so, update the image side, and look at the value with `printString`"
            }
            Self::NotSerialisable { answer } => return suggestion(answer),
            Self::Image { .. } => {
                "read the error and the stack trace, correct the call or the code, and call again"
            }
            Self::UnexpectedResult { .. } => {
                "check that the URL is that of an interop server, and update the image side"
            }
        }
        .to_owned()
    }

    /// The structured content of the result.
    pub(crate) fn into_structured(self) -> Value {
        let explanation = json!({"kind": self.kind(), "what": self.what(), "next": self.next()});
        let mut structured = match self {
            Self::NotSerialisable { answer }
            | Self::Image { answer }
            | Self::UnexpectedResult { answer, .. } => answer,
            other => json!({"error": other.earlier_text()}),
        };
        if let Value::Object(members) = &mut structured {
            members.insert("success".into(), false.into());
            members.insert("failure".into(), explanation);
        }
        structured
    }

    /// The `error` text, with the beginnings that clients of the earlier server look for.
    fn earlier_text(&self) -> String {
        match self {
            Self::Refused
            | Self::Unreachable { .. }
            | Self::ConnectionLost { .. }
            | Self::TimeLimit { .. } => format!("Connection error: {}", self.what()),
            Self::HttpStatus { status, body } => format!("HTTP error {status}: {body}"),
            Self::EndpointMissing { status, .. } => {
                format!("HTTP error {status}: {}", self.what())
            }
            Self::WrongServer { body, .. } | Self::InvalidJson { body, .. } => {
                format!("Invalid JSON response: {}: {body}", self.what())
            }
            _ => self.what(),
        }
    }
}

/// The image's own words: `error` is a text, or an object with a description.
fn description(answer: &Value) -> String {
    let error = answer.get("error").unwrap_or(&Value::Null);
    let text = error.as_str().or_else(|| error.get("description")?.as_str());
    match text {
        Some(text) if !text.is_empty() => text.to_owned(),
        _ => "the image reports an error without a description".to_owned(),
    }
}

fn suggestion(answer: &Value) -> String {
    answer
        .pointer("/error/suggestion")
        .and_then(Value::as_str)
        .unwrap_or("the code has run; answer something with a JSON form, such as its `printString`")
        .to_owned()
}

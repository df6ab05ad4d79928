//! From the bytes of an answer to a result or a failure. The image says 200 to everything, so the
//! body decides; what is no interop server's answer is told apart from a broken one.

mod paging;
mod screenshot;
mod test_report;

pub(crate) use paging::take_page;
pub(crate) use screenshot::{Picture, picture};
pub(crate) use test_report::test_report;

use serde_json::Value;

use crate::{
    bounded_text::{beginning, bounded_value},
    failure::Failure,
    image::RawAnswer,
    tools::{Endpoint, ResultKind, Tool},
};

const FOREIGN_BODY_CHARS_MAX: usize = 500;
const STACK_TRACE_CHARS_MAX: usize = 8_000;
const ERROR_TEXT_CHARS_MAX: usize = 2_000;
const ERROR_ENTRIES_MAX: usize = 50;

/// The image's answer object, if the call succeeded.
pub(crate) fn interpret(tool: &Tool, raw: &RawAnswer) -> Result<Value, Failure> {
    let answer = parse(tool.endpoint, raw)?;
    let has_result = answer.get("result").is_some();
    match answer.get("success").and_then(Value::as_bool) {
        Some(true) if has_result || answer.get("error").is_none() => fitting(tool.result, answer),
        Some(true) => Err(Failure::NotSerialisable { answer: bounded_error(answer) }),
        Some(false) => Err(Failure::Image { answer: bounded_error(answer) }),
        None => Err(wrong_server(raw)),
    }
}

fn parse(endpoint: Endpoint, raw: &RawAnswer) -> Result<Value, Failure> {
    if !raw.status.is_success() {
        return Err(bad_status(endpoint, raw));
    }
    match serde_json::from_slice::<Value>(&raw.body) {
        Ok(answer) => Ok(answer),
        Err(_) if !raw.content_type.contains("json") => Err(wrong_server(raw)),
        Err(fault) => Err(Failure::InvalidJson { reason: fault.to_string(), body: excerpt(raw) }),
    }
}

/// Web servers disagree about how to say that there is no such endpoint.
fn bad_status(endpoint: Endpoint, raw: &RawAnswer) -> Failure {
    let (status, extra) = (raw.status.as_u16(), matches!(endpoint, Endpoint::Extra(..)));
    match (status, endpoint.address()) {
        (404 | 405 | 501, Some((_, path))) => Failure::EndpointMissing { path, extra, status },
        _ => Failure::HttpStatus { status, body: excerpt(raw) },
    }
}

fn wrong_server(raw: &RawAnswer) -> Failure {
    Failure::WrongServer { content_type: raw.content_type.clone(), body: excerpt(raw) }
}

fn excerpt(raw: &RawAnswer) -> String {
    beginning(&String::from_utf8_lossy(&raw.body), FOREIGN_BODY_CHARS_MAX)
}

/// A client checks results against the schema of the tool; so what does not fit is a failure here,
/// with a reason, and not an exception there.
fn fitting(kind: ResultKind, answer: Value) -> Result<Value, Failure> {
    let result = answer.get("result").unwrap_or(&Value::Null);
    let texts = |list: &Vec<Value>| list.iter().all(Value::is_string);
    let objects = |list: &Vec<Value>| list.iter().all(Value::is_object);
    let (fits, expected) = match kind {
        ResultKind::Anything => (true, "a value"),
        ResultKind::Source | ResultKind::Message | ResultKind::TestReport => {
            (result.is_string() || result.is_null(), "a text")
        }
        ResultKind::Names => (result.as_array().is_some_and(texts), "a list of names"),
        ResultKind::Methods => (result.as_array().is_some_and(objects), "a list of methods"),
        ResultKind::Screen | ResultKind::Object(_) => (result.is_object(), "an object"),
    };
    if fits { Ok(answer) } else { Err(Failure::UnexpectedResult { expected, answer: bounded_error(answer) }) }
}

/// Stack traces and receivers can be of any size.
fn bounded_error(mut answer: Value) -> Value {
    let stack_trace = answer
        .pointer_mut("/error/stack_trace")
        .filter(|trace| trace.is_string())
        .map(|trace| beginning(trace.take().as_str().unwrap_or_default(), STACK_TRACE_CHARS_MAX));
    bounded_value(&mut answer, ERROR_TEXT_CHARS_MAX, ERROR_ENTRIES_MAX);
    if let (Some(trace), Some(place)) = (stack_trace, answer.pointer_mut("/error/stack_trace")) {
        *place = trace.into();
    }
    answer
}

#[cfg(test)]
mod tests {
    use http::StatusCode;
    use serde_json::json;

    use super::*;
    use crate::tools::named;

    fn interpreted(tool: &str, status: u16, content_type: &str, body: &str) -> Result<Value, Failure> {
        let raw = RawAnswer {
            status: StatusCode::from_u16(status).unwrap(),
            content_type: content_type.to_owned(),
            body: body.to_owned().into(),
        };
        interpret(named(tool).unwrap(), &raw)
    }

    fn check_failure(tool: &str, body: &str, kind: &str, what: &str) {
        let failure = interpreted(tool, 200, "application/json", body).unwrap_err();
        assert_eq!((failure.kind(), failure.what().as_str()), (kind, what));
        assert_eq!(failure.into_structured()["success"], json!(false));
    }

    #[test]
    fn nil_is_a_result_and_a_missing_result_is_none() {
        let nil = r#"{"success":true,"result":null}"#;
        assert_eq!(interpreted("eval", 200, "", nil).unwrap()["result"], Value::Null);
        check_failure(
            "eval",
            r#"{"success":true,"error":{"description":"Result is a Foo","suggestion":"use it"}}"#,
            "not_serialisable",
            "Result is a Foo",
        );
    }

    #[test]
    fn errors_are_objects_or_texts() {
        check_failure(
            "eval",
            r#"{"success":false,"error":{"description":"ZeroDivide"}}"#,
            "image_error",
            "ZeroDivide",
        );
        check_failure("eval", r#"{"success":false,"error":"old words"}"#, "image_error", "old words");
        check_failure(
            "eval",
            r#"{"success":false}"#,
            "image_error",
            "the image reports an error without a description",
        );
    }

    #[test]
    fn foreign_answers_are_told_apart() {
        let kind = |status, content_type, body| {
            interpreted("list_packages", status, content_type, body).unwrap_err().kind()
        };
        assert_eq!(kind(200, "text/html", "<html>"), "wrong_server");
        assert_eq!(kind(200, "application/json", "[1]"), "wrong_server");
        assert_eq!(kind(200, "application/json", r#"{"success":1}"#), "wrong_server");
        assert_eq!(kind(200, "application/json", "{"), "invalid_json");
        assert_eq!(kind(200, "application/json", ""), "invalid_json");
        assert_eq!(kind(302, "text/html", ""), "http_error");
        assert_eq!(kind(500, "application/json", "{}"), "http_error");
        assert_eq!(kind(404, "text/plain", ""), "endpoint_missing");
        assert_eq!(kind(405, "text/plain", ""), "endpoint_missing");
        assert_eq!(kind(200, "", r#"{"success":true,"result":{}}"#), "unexpected_result");
    }

    #[test]
    fn a_long_stack_trace_is_cut_and_the_rest_shorter() {
        let long = "x".repeat(20_000);
        let body = json!({"success": false, "error": {"description": long, "stack_trace": long}});
        let failure = interpreted("eval", 200, "", &body.to_string()).unwrap_err();
        let structured = failure.into_structured();
        let chars = |pointer| structured.pointer(pointer).unwrap().as_str().unwrap().chars().count();
        assert_eq!(
            chars("/error/stack_trace"),
            STACK_TRACE_CHARS_MAX + "… (12000 more characters)".chars().count()
        );
        assert_eq!(
            chars("/error/description"),
            ERROR_TEXT_CHARS_MAX + "… (18000 more characters)".chars().count()
        );
    }
}

//! Messages to text, always from values: nothing here has seen the bytes that came in.

use portcullis_json::{Object, Value, compact};

use crate::{ErrorObject, Id, Notification, Outcome, Refused, Request, Response};

/// A request under an id of ours.
pub fn request(id: &Id, method: &str, params: Option<Object>) -> String {
    let call = envelope().with("id", id.to_value()).with("method", method);
    finish(with_params(call, params))
}

/// A notification.
pub fn notification(method: &str, params: Option<Object>) -> String {
    finish(with_params(envelope().with("method", method), params))
}

/// A response that carries a result, under the caller's own id.
pub fn result(id: &Id, result: Object) -> String {
    finish(envelope().with("id", id.to_value()).with("result", result))
}

/// A response that carries a result which is written already.
pub fn written_result(id: &Id, result: &str) -> String {
    let id = compact(&id.to_value());
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)
}

/// A response that carries an error; without an id when the request had none that could be read.
pub fn error(id: Option<&Id>, error: ErrorObject) -> String {
    let mut object = Object::new().with("code", error.code).with("message", error.message);
    if let Some(data) = error.data {
        object.insert("data", data);
    }
    let id = id.map_or(Value::Null, Id::to_value);
    finish(envelope().with("id", id).with("error", object))
}

/// The answer to what was refused.
pub fn refusal(refused: &Refused) -> String {
    error(refused.id.as_ref(), ErrorObject::from(&refused.refusal))
}

impl Request {
    /// This request under an id of ours.
    pub fn into_text(self, id: &Id) -> String {
        request(id, self.method.name, self.params)
    }
}

impl Notification {
    /// This notification.
    pub fn into_text(self) -> String {
        notification(self.method.name, self.params)
    }
}

impl Response {
    /// This response under the id that the asker gave.
    pub fn into_text(self, id: &Id) -> String {
        match self.outcome {
            Outcome::Result(object) => result(id, object),
            Outcome::Error(object) => error(Some(id), object),
        }
    }
}

fn envelope() -> Object {
    Object::new().with("jsonrpc", "2.0")
}

fn with_params(call: Object, params: Option<Object>) -> Object {
    match params {
        Some(params) => call.with("params", params),
        None => call,
    }
}

fn finish(message: Object) -> String {
    compact(&Value::Object(message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_that_is_written_already_reads_as_one_that_is_not() {
        let object = Object::new().with("text", "a \"b\" \u{1}").with("n", 1);
        for id in [Id::from(7), Id::from("a \"quoted\" id\n")] {
            let written = compact(&Value::Object(object.clone()));
            assert_eq!(written_result(&id, &written), result(&id, object.clone()));
        }
    }
}

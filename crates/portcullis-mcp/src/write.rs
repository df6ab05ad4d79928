//! Messages to text, always from values: nothing here has seen the bytes that came in.

use portcullis_json::{Object, push_object, push_string};

use crate::{ErrorObject, Id, Notification, Outcome, Refused, Request, Response};

/// Room for an ordinary message: most are written without asking for more.
const ORDINARY_BYTES: usize = 1024;
const RESULT: &str = r#","result":"#;

/// A request under an id of ours.
pub fn request(id: &Id, method: &str, params: Option<Object>) -> String {
    let mut text = opened(Some(id));
    push_call(method, params.as_ref(), &mut text);
    text
}

/// A notification.
pub fn notification(method: &str, params: Option<Object>) -> String {
    let mut text = envelope();
    push_call(method, params.as_ref(), &mut text);
    text
}

/// A response that carries a result, under the caller's own id.
pub fn result(id: &Id, result: Object) -> String {
    let mut text = opened(Some(id));
    text.push_str(RESULT);
    push_object(&result, &mut text);
    text.push('}');
    text
}

/// A response that carries a result which is written already.
pub fn written_result(id: &Id, result: &str) -> String {
    let mut text = opened(Some(id));
    text.reserve(RESULT.len() + result.len() + 1);
    text.push_str(RESULT);
    text.push_str(result);
    text.push('}');
    text
}

/// A response that carries an error; without an id when the request had none that could be read.
pub fn error(id: Option<&Id>, error: ErrorObject) -> String {
    let mut object = Object::new().with("code", error.code).with("message", error.message);
    if let Some(data) = error.data {
        object.insert("data", data);
    }
    let mut text = opened(id);
    text.push_str(r#","error":"#);
    push_object(&object, &mut text);
    text.push('}');
    text
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

/// A message, begun.
fn envelope() -> String {
    let mut text = String::with_capacity(ORDINARY_BYTES);
    text.push_str(r#"{"jsonrpc":"2.0""#);
    text
}

/// A message under an id, begun.
fn opened(id: Option<&Id>) -> String {
    let mut text = envelope();
    text.push_str(r#","id":"#);
    match id {
        Some(Id::Integer(number)) => text.push_str(number.spelling()),
        Some(Id::String(id)) => push_string(id, &mut text),
        None => text.push_str("null"),
    }
    text
}

/// The rest of a message that calls a method.
fn push_call(method: &str, params: Option<&Object>, text: &mut String) {
    text.push_str(r#","method":"#);
    push_string(method, text);
    if let Some(params) = params {
        text.push_str(r#","params":"#);
        push_object(params, text);
    }
    text.push('}');
}

#[cfg(test)]
mod tests {
    use super::*;
    use portcullis_json::{Value, compact};

    #[test]
    fn a_result_that_is_written_already_reads_as_one_that_is_not() {
        let object = Object::new().with("text", "a \"b\" \u{1}").with("n", 1);
        for id in [Id::from(7), Id::from("a \"quoted\" id\n")] {
            let written = compact(&Value::Object(object.clone()));
            assert_eq!(written_result(&id, &written), result(&id, object.clone()));
        }
    }
}

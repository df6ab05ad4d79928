//! The shapes of answers. Failures have status 200 too; the body decides.

use serde_json::{Value, json};

use super::Age;

/// What an endpoint comes to.
#[derive(Debug)]
pub(super) enum Outcome {
    /// A result, as JSON text: numbers of any size pass.
    Result(String),
    /// An error inside the image.
    Error(SmalltalkError),
    /// A result of this kind, which has no JSON form.
    NotSerialisable(String),
    /// Never.
    Hang,
}

/// An error with the object that it happened in.
#[derive(Debug)]
pub(super) struct SmalltalkError {
    pub(super) description: String,
    pub(super) receiver_class: String,
    pub(super) receiver: String,
}

impl Outcome {
    pub(super) fn value(value: impl Into<Value>) -> Self {
        Self::Result(value.into().to_string())
    }

    pub(super) fn error(description: impl Into<String>) -> Self {
        Self::error_in(description, "SisServer", "a SisServer")
    }

    pub(super) fn error_in(description: impl Into<String>, receiver_class: &str, receiver: &str) -> Self {
        Self::Error(SmalltalkError {
            description: description.into(),
            receiver_class: receiver_class.to_owned(),
            receiver: receiver.to_owned(),
        })
    }

    /// The body of the answer; nothing for one that never comes.
    pub(super) fn into_body(self, path: &str, age: Age) -> Option<String> {
        Some(match self {
            Self::Result(json) => format!(r#"{{"success":true,"result":{json}}}"#),
            Self::Error(error) if age == Age::PlainTextErrors => {
                json!({"success": false, "error": error.description}).to_string()
            }
            Self::Error(error) => error.into_json().to_string(),
            Self::NotSerialisable(what) => not_serialisable(&what, path).to_string(),
            Self::Hang => return None,
        })
    }
}

impl SmalltalkError {
    fn into_json(self) -> Value {
        // Lines end with a carriage return, as in the image.
        let stack_trace = format!(
            "{} class(Exception)>>signalIn:\r{}>>doIt\rUndefinedObject>>DoIt\r",
            self.description, self.receiver_class
        );
        json!({"success": false, "error": {
            "description": self.description,
            "stack_trace": stack_trace,
            "receiver": {"class": self.receiver_class, "self": self.receiver,
                         "variables": {"teapot": "nil", "settings": "a SisSettings"}},
        }})
    }
}

/// On exactly `/eval` such an answer says success, and has no result.
fn not_serialisable(what: &str, path: &str) -> Value {
    if path != "/eval" {
        let description = format!("JSON mapping not found for: {what}");
        return json!({"success": false, "error": {"description": description}});
    }
    json!({"success": true, "error": {
        "description": format!("Result is a {what} instance which cannot be serialized as JSON"),
        "suggestion": "Modify the expression to return a serializable value, for example with `printString`",
    }})
}

//! A message of one era: what stages after the reader see.

use portcullis_json::{Object, Value};

use crate::{Id, Method};

/// One message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// Wants an answer.
    Request(Request),
    /// Wants none.
    Notification(Notification),
    /// Is one.
    Response(Response),
}

/// A request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The sender's id.
    pub id: Id,
    /// The row of the method table.
    pub method: &'static Method,
    /// The parameters, if there were any.
    pub params: Option<Object>,
}

/// A notification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notification {
    /// The row of the method table.
    pub method: &'static Method,
    /// The parameters, if there were any.
    pub params: Option<Object>,
}

/// A response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    /// The id of the request it answers; none only in a server's error about a request that it could not
    /// read.
    pub id: Option<Id>,
    /// How it went.
    pub outcome: Outcome,
}

/// A result or an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The result, an object in MCP.
    Result(Object),
    /// The error.
    Error(ErrorObject),
}

/// A JSON-RPC error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorObject {
    /// The code.
    pub code: i64,
    /// One sentence.
    pub message: String,
    /// More, if the sender had more.
    pub data: Option<Value>,
}

impl ErrorObject {
    /// An error without data.
    pub fn new(code: i64, message: impl Into<String>) -> ErrorObject {
        ErrorObject { code, message: message.into(), data: None }
    }

    /// The same error with data.
    #[must_use]
    pub fn with_data(mut self, data: impl Into<Value>) -> ErrorObject {
        self.data = Some(data.into());
        self
    }
}

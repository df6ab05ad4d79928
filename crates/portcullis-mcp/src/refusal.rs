//! Why a message is refused: one closed list, each with its JSON-RPC code and a message for the sender.
//!
//! No message repeats anything that the sender wrote: field names are ours. The one exception is the
//! name of an unknown revision, which the protocol wants back, and only if it looks like a date or a version.

use std::fmt;

use portcullis_json::{Object, Value};

use crate::headers::HeaderMismatch;
use crate::{ErrorObject, Id, SUPPORTED_REVISIONS};

/// JSON-RPC and MCP error codes.
pub mod code {
    /// Not JSON.
    pub const PARSE: i64 = -32700;
    /// JSON, but no message.
    pub const INVALID_REQUEST: i64 = -32600;
    /// A method that is not known, or not in this era or direction.
    pub const METHOD_NOT_FOUND: i64 = -32601;
    /// Parameters that do not fit the method; also unknown tools, prompts, resources, cursors, tasks.
    pub const INVALID_PARAMS: i64 = -32602;
    /// Our own failure.
    pub const INTERNAL: i64 = -32603;
    /// HTTP headers and body differ, or a required header is missing.
    pub const HEADER_MISMATCH: i64 = -32020;
    /// The request needs a capability that the client did not declare.
    pub const MISSING_CAPABILITY: i64 = -32021;
    /// A revision that we do not speak.
    pub const UNSUPPORTED_REVISION: i64 = -32022;
}

/// A refusal with the id to answer under, where one could be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// Why.
    pub refusal: Refusal,
    /// The id of the refused request; none for notifications, responses and what has no valid id.
    pub id: Option<Id>,
}

/// Why a message is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Not JSON: syntax, encoding, a byte order mark, trailing bytes.
    NotJson,
    /// More bytes than the limit.
    TooLarge,
    /// Nested deeper than the limit.
    TooDeep,
    /// A number with too many digits or too large an exponent.
    NumberTooLarge,
    /// A key stands twice in one object.
    DuplicateKey,
    /// An array: several messages in one body.
    Batch,
    /// JSON, but no object.
    NotAnObject,
    /// `jsonrpc` is missing or not `"2.0"`.
    WrongVersion,
    /// A key that no envelope has.
    UnknownKey,
    /// A key that another reader could take for a known one.
    ConfusableKey,
    /// `id` is neither a string nor an integer, or too long.
    BadId,
    /// `method` is not a string.
    BadMethod,
    /// `params` is not an object.
    BadParams,
    /// Neither request nor notification nor response, or more than one of them.
    BadShape,
    /// `result` is not an object.
    BadResult,
    /// `error` is not an error object.
    BadError,
    /// A response, sent by a client in an era that has none.
    ResponseForbidden,
    /// A method that is not known, or not in this era or direction.
    UnknownMethod,
    /// A method for requests, without an id.
    NeedsId,
    /// A method for notifications, with an id.
    NeedsNoId,
    /// A field does not fit.
    Field(FieldFault),
    /// A revision that we do not speak; its name, if it looked like one.
    UnsupportedRevision(Option<String>),
    /// The HTTP headers do not repeat the body.
    Headers(HeaderMismatch),
}

impl Refusal {
    /// Somebody asked for `revision`, which we do not speak.
    pub fn unsupported_revision(revision: &str) -> Refusal {
        const NAME_BYTES_MAX: usize = 32;
        let number = revision.strip_prefix('v').unwrap_or(revision);
        let digits = number.bytes().all(|byte| byte.is_ascii_digit() || b".-".contains(&byte));
        let is_name = digits && !number.is_empty() && revision.len() <= NAME_BYTES_MAX;
        Refusal::UnsupportedRevision(is_name.then(|| revision.to_owned()))
    }

    /// The JSON-RPC code.
    pub fn code(&self) -> i64 {
        use Refusal::*;
        match self {
            NotJson => code::PARSE,
            TooLarge | TooDeep | NumberTooLarge | DuplicateKey | Batch | NotAnObject | WrongVersion
            | UnknownKey | ConfusableKey | BadId | BadMethod | BadShape | BadParams | BadResult
            | BadError | ResponseForbidden | NeedsId | NeedsNoId => code::INVALID_REQUEST,
            UnknownMethod => code::METHOD_NOT_FOUND,
            Field(_) => code::INVALID_PARAMS,
            UnsupportedRevision(_) => code::UNSUPPORTED_REVISION,
            Headers(_) => code::HEADER_MISMATCH,
        }
    }

    /// For the sender: says what to mend, repeats nothing.
    pub fn public_message(&self) -> String {
        use Refusal::*;
        let text = match self {
            NotJson => "the body is not one JSON value in UTF-8",
            TooLarge => "the message is larger than allowed",
            TooDeep => "the message is nested deeper than allowed",
            NumberTooLarge => "a number has more digits or a larger exponent than allowed",
            DuplicateKey => "a key stands twice in one object; send each key once",
            Batch => "batches are not accepted; send one message per body",
            NotAnObject => "a message must be a JSON object",
            WrongVersion => "`jsonrpc` must be \"2.0\"",
            UnknownKey => "the message has a key that JSON-RPC does not know",
            ConfusableKey => "a key is confusable with a known key; send only the exact spelling",
            BadId => "`id` must be a string or an integer of at most 256 bytes",
            BadMethod => "`method` must be a string",
            BadParams => "`params` must be an object or be left out",
            BadShape => "a message must be exactly one of request, notification and response",
            BadResult => "`result` must be an object",
            BadError => "`error` must have an integer `code` and a string `message`",
            ResponseForbidden => "responses from clients do not exist in this protocol revision",
            UnknownMethod => "method not found",
            NeedsId => "this method is a request and needs an `id`",
            NeedsNoId => "this method is a notification and must not have an `id`",
            Field(fault) => return fault.to_string(),
            UnsupportedRevision(_) => "unsupported protocol version",
            Headers(mismatch) => return mismatch.to_string(),
        };
        text.to_owned()
    }

    /// The error's `data`, where the protocol asks for one.
    pub fn data(&self) -> Option<Value> {
        match self {
            Refusal::UnsupportedRevision(requested) => {
                Some(revisions(&SUPPORTED_REVISIONS, requested.as_deref()).into())
            }
            _ => None,
        }
    }
}

/// The `data` of an error about an unknown revision: those that could be asked for instead.
pub fn revisions(supported: &[&str], requested: Option<&str>) -> Object {
    let supported: Vec<Value> = supported.iter().map(|name| Value::from(*name)).collect();
    Object::new().with("supported", supported).with("requested", requested.unwrap_or("unknown"))
}

impl From<&Refusal> for ErrorObject {
    fn from(refusal: &Refusal) -> ErrorObject {
        ErrorObject { code: refusal.code(), message: refusal.public_message(), data: refusal.data() }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.public_message())
    }
}

impl std::error::Error for Refusal {}

impl From<FieldFault> for Refusal {
    fn from(fault: FieldFault) -> Refusal {
        Refusal::Field(fault)
    }
}

impl From<HeaderMismatch> for Refusal {
    fn from(mismatch: HeaderMismatch) -> Refusal {
        Refusal::Headers(mismatch)
    }
}

/// A field that does not fit; named, never quoted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FieldFault {
    /// The object it stands in, as a path.
    pub place: &'static str,
    /// Its key.
    pub key: &'static str,
    /// What is wrong.
    pub problem: Problem,
}

/// What can be wrong with a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Problem {
    /// It must be there.
    Missing,
    /// It is not what it must be.
    Not(&'static str),
    /// Longer than this many bytes, or more than this many elements.
    LongerThan(usize),
    /// It has a key that another reader could take for a known one.
    Confusable,
}

impl fmt::Display for FieldFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}.{}` ", self.place, self.key)?;
        match self.problem {
            Problem::Missing => f.write_str("is missing"),
            Problem::Not(wanted) => write!(f, "must be {wanted}"),
            Problem::LongerThan(max) => write!(f, "is longer than {max}"),
            Problem::Confusable => f.write_str("has a key that is confusable with a known key"),
        }
    }
}

impl std::error::Error for FieldFault {}

//! The reader: bytes to one message, or a refusal, before anything else looks at it.
//!
//! Called by the gateway for each body, each event of a stream and each line of a process.

use portcullis_json::{Fault, FaultKind, Limits, Object, Value, parse};

use crate::keys::{self, Key};
use crate::{
    Claim, Era, ErrorObject, Id, Message, Method, MethodKind, Notification, Outcome, Refusal, Refused,
    Request, Response, Sender, meta,
};

/// A message whose envelope holds, not yet placed in an era.
#[derive(Clone, Debug)]
pub struct Incoming {
    sender: Sender,
    message: Message,
}

impl Incoming {
    /// Reads exactly one message that `sender` wrote.
    pub fn read(bytes: &[u8], sender: Sender, limits: &Limits) -> Result<Incoming, Refused> {
        let value = parse(bytes, limits).map_err(|fault| without_id(of_fault(&fault)))?;
        let envelope = match value {
            Value::Object(object) => object,
            Value::Array(_) => return Err(without_id(Refusal::Batch)),
            _ => return Err(without_id(Refusal::NotAnObject)),
        };
        let id = envelope.get("id").and_then(Id::from_value);
        match read_envelope(envelope, sender) {
            Ok(message) => Ok(Incoming { sender, message }),
            Err(refusal) => Err(Refused { refusal, id }),
        }
    }

    /// What the message says of its own era; refused when it names a revision that we do not speak.
    pub fn claim(&self) -> Result<Claim, Refused> {
        let Message::Request(request) = &self.message else {
            return Ok(Claim::Unsaid);
        };
        let modern = meta::claims_modern(request.params.as_ref())
            .map_err(|refusal| Refused { refusal, id: Some(request.id.clone()) })?;
        Ok(match modern {
            true => Claim::Modern,
            false if request.method.name == "initialize" => Claim::Initialize,
            false => Claim::Unsaid,
        })
    }

    /// The revision that a request names, whatever it is worth.
    pub fn revision(&self) -> Option<&str> {
        match &self.message {
            Message::Request(request) => meta::revision(request.params.as_ref()),
            Message::Notification(_) | Message::Response(_) => None,
        }
    }

    /// The id to answer under, if this is a request.
    pub fn request_id(&self) -> Option<&Id> {
        match &self.message {
            Message::Request(request) => Some(&request.id),
            Message::Notification(_) | Message::Response(_) => None,
        }
    }

    /// The message, if `era` has it.
    pub fn place(self, era: Era) -> Result<Message, Refused> {
        match check_era(&self.message, self.sender, era) {
            Ok(()) => Ok(self.message),
            Err(refusal) => Err(Refused { refusal, id: self.request_id().cloned() }),
        }
    }
}

fn check_era(message: &Message, sender: Sender, era: Era) -> Result<(), Refusal> {
    let method = match message {
        Message::Request(request) => request.method,
        Message::Notification(notification) => notification.method,
        Message::Response(_) if sender == Sender::Client && !era.client_may_respond() => {
            return Err(Refusal::ResponseForbidden);
        }
        Message::Response(_) => return Ok(()),
    };
    if !method.exists(era, sender) {
        return Err(Refusal::UnknownMethod);
    }
    match message {
        Message::Request(request) if era.is_modern() => {
            meta::ModernMeta::read(request.params.as_ref()).map(|_| ())
        }
        _ => Ok(()),
    }
}

fn without_id(refusal: Refusal) -> Refused {
    Refused { refusal, id: None }
}

fn of_fault(fault: &Fault) -> Refusal {
    match fault.kind {
        FaultKind::TooLarge { .. } => Refusal::TooLarge,
        FaultKind::TooDeep { .. } => Refusal::TooDeep,
        FaultKind::NumberTooLarge => Refusal::NumberTooLarge,
        FaultKind::DuplicateKey { .. } => Refusal::DuplicateKey,
        FaultKind::NotUtf8
        | FaultKind::ByteOrderMark
        | FaultKind::Empty
        | FaultKind::UnexpectedEnd
        | FaultKind::Unexpected { .. }
        | FaultKind::ControlCharacter
        | FaultKind::BadEscape
        | FaultKind::LoneSurrogate
        | FaultKind::BadNumber
        | FaultKind::TrailingBytes => Refusal::NotJson,
    }
}

/// The members of an envelope, taken apart.
#[derive(Default)]
struct Envelope {
    version: Option<Value>,
    id: Option<Value>,
    method: Option<Value>,
    params: Option<Value>,
    result: Option<Value>,
    error: Option<Value>,
}

impl Envelope {
    fn take_apart(object: Object) -> Result<Envelope, Refusal> {
        let mut envelope = Envelope::default();
        for member in object {
            let place = match member.key.as_str() {
                "jsonrpc" => &mut envelope.version,
                "id" => &mut envelope.id,
                "method" => &mut envelope.method,
                "params" => &mut envelope.params,
                "result" => &mut envelope.result,
                "error" => &mut envelope.error,
                other if keys::in_envelope(other) == Key::Confusable => {
                    return Err(Refusal::ConfusableKey);
                }
                _ => return Err(Refusal::UnknownKey),
            };
            *place = Some(member.value);
        }
        Ok(envelope)
    }
}

fn read_envelope(object: Object, sender: Sender) -> Result<Message, Refusal> {
    let envelope = Envelope::take_apart(object)?;
    if envelope.version.as_ref().and_then(Value::as_str) != Some("2.0") {
        return Err(Refusal::WrongVersion);
    }
    let has_params = envelope.params.is_some();
    match (envelope.method, envelope.result, envelope.error) {
        (Some(method), None, None) => read_call(&method, envelope.id, envelope.params, sender),
        (None, Some(result), None) if !has_params => read_result(envelope.id, result),
        (None, None, Some(error)) if !has_params => read_error(envelope.id, error, sender),
        _ => Err(Refusal::BadShape),
    }
}

fn read_call(
    method: &Value,
    id: Option<Value>,
    params: Option<Value>,
    sender: Sender,
) -> Result<Message, Refusal> {
    let id = id.as_ref().map(require_id).transpose()?;
    let name = method.as_str().ok_or(Refusal::BadMethod)?;
    let method = Method::find(name).filter(|method| method.sent_by(sender)).ok_or(Refusal::UnknownMethod)?;
    let params = read_params(params)?;
    match (method.kind, id) {
        (MethodKind::Request, Some(id)) => Ok(Message::Request(Request { id, method, params })),
        (MethodKind::Notification, None) => Ok(Message::Notification(Notification { method, params })),
        (MethodKind::Request, None) => Err(Refusal::NeedsId),
        (MethodKind::Notification, Some(_)) => Err(Refusal::NeedsNoId),
    }
}

fn require_id(value: &Value) -> Result<Id, Refusal> {
    Id::from_value(value).ok_or(Refusal::BadId)
}

fn read_params(params: Option<Value>) -> Result<Option<Object>, Refusal> {
    match params {
        None => Ok(None),
        Some(Value::Object(params)) if keys::params_are_clear(&params) => Ok(Some(params)),
        Some(Value::Object(_)) => Err(Refusal::ConfusableKey),
        Some(_) => Err(Refusal::BadParams),
    }
}

fn read_result(id: Option<Value>, result: Value) -> Result<Message, Refusal> {
    let id = require_id(&id.ok_or(Refusal::BadId)?)?;
    match result {
        Value::Object(result) if keys::result_is_clear(&result) => {
            Ok(Message::Response(Response { id: Some(id), outcome: Outcome::Result(result) }))
        }
        Value::Object(_) => Err(Refusal::ConfusableKey),
        _ => Err(Refusal::BadResult),
    }
}

fn read_error(id: Option<Value>, error: Value, sender: Sender) -> Result<Message, Refusal> {
    let id = match (id, sender) {
        // A server that could not read our request does not know its id.
        (None | Some(Value::Null), Sender::Server) => None,
        (None, Sender::Client) => return Err(Refusal::BadId),
        (Some(id), _) => Some(require_id(&id)?),
    };
    let Value::Object(members) = error else {
        return Err(Refusal::BadError);
    };
    let outcome = Outcome::Error(read_error_object(members).ok_or(Refusal::BadError)?);
    Ok(Message::Response(Response { id, outcome }))
}

/// Members that an error object does not have are left behind.
fn read_error_object(members: Object) -> Option<ErrorObject> {
    let (mut code, mut message, mut data) = (None, None, None);
    for member in members {
        match (member.key.as_str(), member.value) {
            ("code", Value::Number(number)) => code = number.as_i64(),
            ("message", Value::String(text)) => message = Some(text),
            ("data", value) => data = Some(value),
            _ => {}
        }
    }
    Some(ErrorObject { code: code?, message: message?, data })
}

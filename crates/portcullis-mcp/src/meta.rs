//! `_meta`: what a modern request says about itself, and keys that both eras share.

use portcullis_json::{Object, Value};

use crate::params::{Fields, LogLevel};
use crate::{Era, FieldFault, Id, Refusal};

/// Keys of `_meta` that the protocol defines.
pub mod key {
    /// The revision of a modern request.
    pub const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
    /// The client's capabilities, for this request alone.
    pub const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
    /// The client's name for itself.
    pub const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
    /// From which level on log messages are wanted.
    pub const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
    /// The server's name for itself, on results.
    pub const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
    /// The id of the listen request whose stream a message is on.
    pub const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";
    /// The task that a legacy message belongs to.
    pub const RELATED_TASK: &str = "io.modelcontextprotocol/related-task";
    /// The extension that has tasks, in the capabilities.
    pub const TASKS: &str = "io.modelcontextprotocol/tasks";
    /// Under which progress is reported.
    pub const PROGRESS_TOKEN: &str = "progressToken";
}

const PLACE: &str = "params._meta";

/// The `_meta` of a modern request, with what it must have.
#[derive(Clone, Debug)]
pub struct ModernMeta<'a> {
    /// What the client can do, as far as this request goes.
    pub client_capabilities: &'a Object,
    /// The client's name for itself: to show and to log, never to decide by.
    pub client_info: Option<&'a Object>,
    /// From which level on log messages are wanted; without it none may be sent.
    pub log_level: Option<LogLevel>,
    /// Under which progress is reported.
    pub progress_token: Option<Id>,
    /// W3C trace context, unchecked.
    pub trace: Trace<'a>,
}

/// W3C trace context as it came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Trace<'a> {
    /// `traceparent`
    pub traceparent: Option<&'a str>,
    /// `tracestate`
    pub tracestate: Option<&'a str>,
    /// `baggage`
    pub baggage: Option<&'a str>,
}

impl<'a> ModernMeta<'a> {
    /// The `_meta` in the parameters of a modern request.
    pub fn read(params: Option<&'a Object>) -> Result<ModernMeta<'a>, Refusal> {
        let meta = Fields::params(params).require_fields("_meta", PLACE)?;
        check_revision(meta.require_string(key::PROTOCOL_VERSION)?)?;
        Ok(ModernMeta {
            client_capabilities: meta.require_object(key::CLIENT_CAPABILITIES)?,
            client_info: meta.object(key::CLIENT_INFO)?,
            log_level: LogLevel::optional(&meta, key::LOG_LEVEL)?,
            progress_token: meta.id(key::PROGRESS_TOKEN)?,
            trace: Trace {
                traceparent: meta.string("traceparent")?,
                tracestate: meta.string("tracestate")?,
                baggage: meta.string("baggage")?,
            },
        })
    }
}

/// Whether the parameters name the modern revision; refused when they name another.
pub(crate) fn claims_modern(params: Option<&Object>) -> Result<bool, Refusal> {
    let Some(meta) = Fields::params(params).fields("_meta", PLACE)? else {
        return Ok(false);
    };
    match meta.string(key::PROTOCOL_VERSION)? {
        Some(revision) => check_revision(revision).map(|()| true),
        None => Ok(false),
    }
}

/// The revision that the parameters of a request name, whatever it is worth.
pub(crate) fn revision(params: Option<&Object>) -> Option<&str> {
    params?.get("_meta")?.as_object()?.get(key::PROTOCOL_VERSION)?.as_str()
}

fn check_revision(revision: &str) -> Result<(), Refusal> {
    if Era::parse(revision) == Some(Era::Modern) {
        return Ok(());
    }
    Err(Refusal::unsupported_revision(revision))
}

/// The progress token in the parameters of a request of either era.
pub fn progress_token(params: Option<&Object>) -> Result<Option<Id>, FieldFault> {
    match Fields::params(params).fields("_meta", PLACE)? {
        Some(meta) => meta.id(key::PROGRESS_TOKEN),
        None => Ok(None),
    }
}

/// The id of the listen request that a notification names.
pub fn subscription_id(params: Option<&Object>) -> Result<Option<Id>, FieldFault> {
    match Fields::params(params).fields("_meta", PLACE)? {
        Some(meta) => meta.id(key::SUBSCRIPTION_ID),
        None => Ok(None),
    }
}

/// Puts `value` under `key` in the `_meta` of these parameters or this result, making one if needed.
pub fn set(holder: &mut Object, key: &str, value: Value) {
    match holder.get_mut("_meta") {
        Some(Value::Object(meta)) => {
            meta.insert(key, value);
        }
        _ => {
            holder.insert("_meta", Object::new().with(key, value).into());
        }
    }
}

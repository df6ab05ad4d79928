//! Parameters of what opens, tunes and listens; and of what a server asks a person.

use portcullis_json::Object;

use super::{Fields, LISTEN_ENTRIES_MAX, TASK_ID_BYTES_MAX, URI_BYTES_MAX};
use crate::{FieldFault, Problem};

/// `initialize`
#[derive(Clone, Debug)]
pub struct Initialize<'a> {
    /// The revision that the client would like.
    pub protocol_version: &'a str,
    /// What the client can do.
    pub capabilities: &'a Object,
    /// The client's name for itself: to show and to log, never to decide by.
    pub client_info: &'a Object,
}

impl<'a> Initialize<'a> {
    /// From the parameters of `initialize`.
    pub fn read(params: Option<&'a Object>) -> Result<Initialize<'a>, FieldFault> {
        let fields = Fields::params(params);
        Ok(Initialize {
            protocol_version: fields.require_string("protocolVersion")?,
            capabilities: fields.require_object("capabilities")?,
            client_info: fields.require_object("clientInfo")?,
        })
    }
}

/// How grave a log message is. In order of gravity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "the levels of RFC 5424 say what they are")]
pub enum LogLevel {
    Debug,
    Info,
    Notice,
    Warning,
    Error,
    Critical,
    Alert,
    Emergency,
}

impl LogLevel {
    /// The level of this name.
    pub fn parse(text: &str) -> Option<LogLevel> {
        Some(match text {
            "debug" => LogLevel::Debug,
            "info" => LogLevel::Info,
            "notice" => LogLevel::Notice,
            "warning" => LogLevel::Warning,
            "error" => LogLevel::Error,
            "critical" => LogLevel::Critical,
            "alert" => LogLevel::Alert,
            "emergency" => LogLevel::Emergency,
            _ => return None,
        })
    }

    pub(crate) fn optional(fields: &Fields<'_>, key: &'static str) -> Result<Option<LogLevel>, FieldFault> {
        match fields.string(key)? {
            None => Ok(None),
            Some(text) => match LogLevel::parse(text) {
                Some(level) => Ok(Some(level)),
                None => Err(fields.fault(key, Problem::Not("a log level"))),
            },
        }
    }
}

/// `logging/setLevel`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SetLevel {
    /// From which level on messages are wanted.
    pub level: LogLevel,
}

impl SetLevel {
    /// From the parameters of `logging/setLevel`.
    pub fn read(params: Option<&Object>) -> Result<SetLevel, FieldFault> {
        let fields = Fields::params(params);
        match LogLevel::optional(&fields, "level")? {
            Some(level) => Ok(SetLevel { level }),
            None => Err(fields.fault("level", Problem::Missing)),
        }
    }
}

/// `subscriptions/listen`: what the client wants to hear of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listen<'a> {
    /// Changes to the list of tools.
    pub tools_list_changed: bool,
    /// Changes to the list of prompts.
    pub prompts_list_changed: bool,
    /// Changes to the list of resources.
    pub resources_list_changed: bool,
    /// Changes to these resources, each judged as a resource.
    pub resource_uris: Vec<&'a str>,
    /// Changes to these tasks, each judged by its owner.
    pub task_ids: Vec<&'a str>,
}

impl<'a> Listen<'a> {
    /// From the parameters of `subscriptions/listen`, or of its acknowledgement.
    pub fn read(params: Option<&'a Object>) -> Result<Listen<'a>, FieldFault> {
        let filter = Fields::params(params).require_fields("notifications", "params.notifications")?;
        let wanted = |key| Ok::<bool, FieldFault>(filter.boolean(key)?.unwrap_or(false));
        Ok(Listen {
            tools_list_changed: wanted("toolsListChanged")?,
            prompts_list_changed: wanted("promptsListChanged")?,
            resources_list_changed: wanted("resourcesListChanged")?,
            resource_uris: filter.strings("resourceSubscriptions", LISTEN_ENTRIES_MAX, URI_BYTES_MAX)?,
            task_ids: filter.strings("taskIds", LISTEN_ENTRIES_MAX, TASK_ID_BYTES_MAX)?,
        })
    }
}

/// `elicitation/create`, as a request or inside an `input_required` result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Elicit<'a> {
    /// How the person is asked.
    pub mode: ElicitMode<'a>,
    /// What the person is asked.
    pub message: &'a str,
}

/// How a person is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ElicitMode<'a> {
    /// With a form; also when no mode is named.
    Form,
    /// By opening this address.
    Url(&'a str),
}

impl<'a> Elicit<'a> {
    /// From the parameters of `elicitation/create`.
    pub fn read(params: Option<&'a Object>) -> Result<Elicit<'a>, FieldFault> {
        let fields = Fields::params(params);
        let mode = match fields.string("mode")? {
            None | Some("form") => ElicitMode::Form,
            Some("url") => ElicitMode::Url(fields.require_bounded("url", URI_BYTES_MAX)?),
            Some(_) => return Err(fields.fault("mode", Problem::Not("`form` or `url`"))),
        };
        Ok(Elicit { mode, message: fields.require_string("message")? })
    }
}

//! Parameters of what clients ask for: tools, resources, prompts, completion, lists.

use portcullis_json::Object;

use super::{CURSOR_BYTES_MAX, Fields, NAME_BYTES_MAX, URI_BYTES_MAX};
use crate::{FieldFault, Problem};

/// `tools/call`
#[derive(Clone, Debug)]
pub struct CallTool<'a> {
    /// The tool.
    pub name: &'a str,
    /// The arguments; none is the same as an empty object.
    pub arguments: Option<&'a Object>,
    /// Legacy, 2025-11-25: the wish to run as a task.
    pub task: Option<&'a Object>,
    /// Modern: what makes this a retry.
    pub retry: Retry<'a>,
}

/// What a modern retry brings back. A retry is a new call and is judged as one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Retry<'a> {
    /// Answers to the server's questions.
    pub input_responses: Option<&'a Object>,
    /// The server's own state, which came through the client: hostile.
    pub request_state: Option<&'a str>,
}

impl<'a> Retry<'a> {
    fn read(fields: &Fields<'a>) -> Result<Retry<'a>, FieldFault> {
        Ok(Retry {
            input_responses: fields.object("inputResponses")?,
            request_state: fields.string("requestState")?,
        })
    }

    /// Whether there is anything to bring back.
    pub fn is_retry(&self) -> bool {
        self.input_responses.is_some() || self.request_state.is_some()
    }
}

impl<'a> CallTool<'a> {
    /// From the parameters of `tools/call`.
    pub fn read(params: Option<&'a Object>) -> Result<CallTool<'a>, FieldFault> {
        let fields = Fields::params(params);
        Ok(CallTool {
            name: fields.name()?,
            arguments: fields.object("arguments")?,
            task: fields.object("task")?,
            retry: Retry::read(&fields)?,
        })
    }
}

/// `resources/read`
#[derive(Clone, Debug)]
pub struct ReadResource<'a> {
    /// Which resource.
    pub uri: &'a str,
    /// Modern: what makes this a retry.
    pub retry: Retry<'a>,
}

impl<'a> ReadResource<'a> {
    /// From the parameters of `resources/read`.
    pub fn read(params: Option<&'a Object>) -> Result<ReadResource<'a>, FieldFault> {
        let fields = Fields::params(params);
        Ok(ReadResource { uri: fields.uri()?, retry: Retry::read(&fields)? })
    }
}

/// `prompts/get`
#[derive(Clone, Debug)]
pub struct GetPrompt<'a> {
    /// Which prompt.
    pub name: &'a str,
    /// Its arguments; none is the same as an empty object.
    pub arguments: Option<&'a Object>,
    /// Modern: what makes this a retry.
    pub retry: Retry<'a>,
}

impl<'a> GetPrompt<'a> {
    /// From the parameters of `prompts/get`.
    pub fn read(params: Option<&'a Object>) -> Result<GetPrompt<'a>, FieldFault> {
        let fields = Fields::params(params);
        Ok(GetPrompt {
            name: fields.name()?,
            arguments: fields.object("arguments")?,
            retry: Retry::read(&fields)?,
        })
    }
}

/// `completion/complete`
#[derive(Clone, Debug)]
pub struct Complete<'a> {
    /// What is being filled in: judged as that prompt or resource.
    pub reference: Reference<'a>,
    /// The name of the argument being filled in.
    pub argument: &'a str,
    /// What the user has typed so far.
    pub value: &'a str,
}

/// What a completion is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reference<'a> {
    /// The prompt of this name.
    Prompt(&'a str),
    /// The resource or template of this URI.
    Resource(&'a str),
}

impl<'a> Complete<'a> {
    /// From the parameters of `completion/complete`.
    pub fn read(params: Option<&'a Object>) -> Result<Complete<'a>, FieldFault> {
        let fields = Fields::params(params);
        let argument = fields.require_fields("argument", "params.argument")?;
        Ok(Complete {
            reference: Reference::read(&fields.require_fields("ref", "params.ref")?)?,
            argument: argument.name()?,
            value: argument.require_string("value")?,
        })
    }
}

impl<'a> Reference<'a> {
    fn read(fields: &Fields<'a>) -> Result<Reference<'a>, FieldFault> {
        let wanted = "`ref/prompt` or `ref/resource`";
        match fields.require_string("type")? {
            "ref/prompt" => Ok(Reference::Prompt(fields.require_bounded("name", NAME_BYTES_MAX)?)),
            "ref/resource" => Ok(Reference::Resource(fields.require_bounded("uri", URI_BYTES_MAX)?)),
            _ => Err(fields.fault("type", Problem::Not(wanted))),
        }
    }
}

/// Any request for a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListParams<'a> {
    /// Where to go on; opaque.
    pub cursor: Option<&'a str>,
}

impl<'a> ListParams<'a> {
    /// From the parameters of a list request.
    pub fn read(params: Option<&'a Object>) -> Result<ListParams<'a>, FieldFault> {
        let cursor = Fields::params(params).bounded_string("cursor", CURSOR_BYTES_MAX)?;
        Ok(ListParams { cursor })
    }
}

//! The HTTP headers that repeat parts of a modern body: compared with it, and built from it.
//!
//! Judgement looks at the body alone; headers are only compared, so that nothing in front of us can have
//! decided on something else. What goes to a server is built anew. Pure functions over pairs of name and
//! value; no HTTP here.

mod compare;
mod mirror;
mod schema;
mod sentinel;

use std::fmt;

pub use compare::{ParamPolicy, compare};
pub use mirror::for_server;
pub use schema::{Mirrored, ParamHeader, ParamHeaders, SchemaFault};
pub use sentinel::{decode, encode};

use portcullis_json::Object;

use crate::Subject;

/// The revision.
pub const PROTOCOL_VERSION: &str = "MCP-Protocol-Version";
/// The method.
pub const METHOD: &str = "Mcp-Method";
/// The tool, prompt, resource or task.
pub const NAME: &str = "Mcp-Name";
/// Before the name of a mirrored argument.
pub const PARAM_PREFIX: &str = "Mcp-Param-";

/// Why headers and body do not agree. Names the header, never its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeaderMismatch {
    /// Which header.
    pub header: String,
    /// What is wrong with it.
    pub problem: HeaderProblem,
}

/// What can be wrong with a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeaderProblem {
    /// It must be there.
    Missing,
    /// It is there more than once.
    Repeated,
    /// Its value is not visible ASCII, or its encoding is broken.
    Illegal,
    /// It says something else than the body.
    Differs,
    /// The body has nothing that it could repeat.
    Unfounded,
}

impl fmt::Display for HeaderMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let problem = match self.problem {
            HeaderProblem::Missing => "is missing",
            HeaderProblem::Repeated => "is there more than once",
            HeaderProblem::Illegal => "has an illegal value",
            HeaderProblem::Differs => "differs from the body",
            HeaderProblem::Unfounded => "repeats nothing in the body",
        };
        write!(f, "header `{}` {problem}", self.header)
    }
}

/// What `Mcp-Name` repeats: the key in the parameters.
fn name_key(subject: Subject) -> Option<&'static str> {
    match subject {
        Subject::ToolCall | Subject::PromptGet => Some("name"),
        Subject::ResourceRead => Some("uri"),
        Subject::TaskGet | Subject::TaskUpdate | Subject::TaskCancel => Some("taskId"),
        _ => None,
    }
}

/// The value that `Mcp-Name` repeats; none when the method has none or the field is not there.
fn name_value(subject: Subject, params: Option<&Object>) -> Option<&str> {
    params?.get(name_key(subject)?)?.as_str()
}

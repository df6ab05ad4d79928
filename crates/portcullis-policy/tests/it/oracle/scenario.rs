//! What happens in one scenario: a policy, the server's tools, and a few events against them.

use std::rc::Rc;

use super::document::{Class, Doc, RequestKind};
use super::value::Val;

#[derive(Clone, Debug)]
pub(crate) struct Scenario {
    /// None: the grant has no policy.
    pub(crate) doc: Option<Doc>,
    /// How the policy's text is spelled; None is plainly.
    pub(crate) spelling: Option<u64>,
    pub(crate) tools: Vec<Tool>,
    pub(crate) events: Vec<Event>,
}

/// A tool of the server, as the catalogue knows it.
#[derive(Clone, Debug)]
pub(crate) struct Tool {
    pub(crate) name: String,
    pub(crate) class: Option<Class>,
    pub(crate) input_schema: Option<Rc<Val>>,
}

#[derive(Clone, Debug)]
pub(crate) struct Event {
    pub(crate) who: Who,
    /// Microseconds since the epoch.
    pub(crate) at: i64,
    pub(crate) what: What,
}

#[derive(Clone, Debug)]
pub(crate) enum What {
    Call(CallCase),
    List,
    Read(String),
    Prompt(String),
    ServerRequest(RequestKind),
}

/// Who acts, and through what. A grant's id is as good as its label: one belongs to the other.
#[derive(Clone, Debug)]
pub(crate) struct Who {
    pub(crate) grant_id: String,
    pub(crate) grant_label: String,
    pub(crate) grant_tags: Vec<String>,
    pub(crate) server: String,
    pub(crate) session: Option<String>,
    pub(crate) client: Option<String>,
}

#[derive(Clone, Debug)]
pub(crate) struct CallCase {
    pub(crate) tool: Tool,
    /// None: the call came without `arguments`.
    pub(crate) arguments: Option<Val>,
    /// The same as text, in some spelling.
    pub(crate) arguments_text: Option<String>,
    /// A person has said yes.
    pub(crate) approved: bool,
}

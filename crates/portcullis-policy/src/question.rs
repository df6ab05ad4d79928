//! What is asked of a policy: who asks, and for what.

use portcullis_json::Value;

use crate::class::Class;
use crate::json_schema::JsonSchema;
use crate::time::Time;

/// Who asks, through which server, and when.
#[derive(Clone, Debug)]
pub struct Caller<'a> {
    /// The name under which the policy is known; counters belong to it.
    pub policy: &'a str,
    /// The grant, for counters.
    pub grant_id: &'a str,
    /// The grant, for rules.
    pub grant_label: &'a str,
    /// The grant's tags.
    pub grant_tags: &'a [String],
    /// The server's name.
    pub server: &'a str,
    /// The session, where there is one.
    pub session: Option<&'a str>,
    /// What the client calls itself.
    pub client: Option<&'a str>,
    /// The clock.
    pub now: Time,
}

/// A call of a tool.
#[derive(Clone, Debug)]
pub struct Call<'a> {
    /// The tool's name, as the server knows it.
    pub tool: &'a str,
    /// Its class, if it is known.
    pub class: Option<Class>,
    /// Its input schema, if it is known and compiles.
    pub schema: Option<&'a JsonSchema>,
    /// The arguments: an object; absent ones are an empty one.
    pub arguments: &'a Value,
    /// A person has said yes to this very call.
    pub approved: bool,
}

/// What the server may ask of the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ServerRequest {
    /// Use of the client's model.
    Sampling,
    /// A question to the user.
    Elicitation,
    /// The client's directories.
    Roots,
}

impl ServerRequest {
    /// All of them.
    pub const ALL: [ServerRequest; 3] =
        [ServerRequest::Sampling, ServerRequest::Elicitation, ServerRequest::Roots];
    /// Their names, in the same order.
    pub const NAMES: [&'static str; 3] = ["sampling", "elicitation", "roots"];

    /// The name, as policies write it.
    pub fn name(self) -> &'static str {
        match self {
            ServerRequest::Sampling => "sampling",
            ServerRequest::Elicitation => "elicitation",
            ServerRequest::Roots => "roots",
        }
    }

    /// The request with this name.
    pub fn from_name(name: &str) -> Option<ServerRequest> {
        ServerRequest::ALL.into_iter().find(|request| request.name() == name)
    }
}

/// What is asked for.
#[derive(Clone, Debug)]
pub enum Subject<'a> {
    /// To call a tool.
    Call(Call<'a>),
    /// To see a tool in a list.
    List {
        /// The tool's name.
        tool: &'a str,
        /// Its class, if it is known.
        class: Option<Class>,
    },
    /// To read, list, complete or subscribe to a resource.
    Resource(&'a str),
    /// To get, list or complete a prompt.
    Prompt(&'a str),
    /// From the server to the client.
    ServerRequest(ServerRequest),
}

/// Who asks for what.
#[derive(Clone, Debug)]
pub struct Question<'a> {
    /// Who.
    pub caller: Caller<'a>,
    /// What.
    pub subject: Subject<'a>,
}

//! Why an exchange ends early: a refusal (normal, has a rule) or a fault (broken, has a side).
//!
//! Only `respond.rs` turns these into codes and statuses; each text here is safe for the agent, and what
//! the operator needs beyond it is said through `tracing` where it happens.

use std::sync::Arc;

use portcullis_mcp::{Era, FieldFault};

/// The exchange ends here.
#[derive(Clone, Debug)]
pub(crate) enum Stop {
    /// The policy, or its absence, said no.
    Refused(Refusal),
    /// The client's side is at fault.
    Client(ClientFault),
    /// We are.
    Gateway(GatewayFault),
    /// The server is.
    Upstream(UpstreamFault),
}

/// No, by rule.
#[derive(Clone, Debug)]
pub(crate) enum Refusal {
    /// With a reason that the agent may read.
    Denied(Denial),
    /// Hidden, or not there: the agent cannot tell which. The log can, by the rule.
    UnknownTool { name: String, rule: &'static str },
}

/// A denial, as policy-language section 6 wants it told.
#[derive(Clone, Debug)]
pub(crate) struct Denial {
    pub(crate) rule: Arc<str>,
    pub(crate) message: String,
    pub(crate) retryable: bool,
    pub(crate) retry_after_s: Option<u64>,
    /// Whether it is the size of a limit that was in the way, for the error code of other methods.
    pub(crate) kind: DenialKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DenialKind {
    Rule,
    Limit,
    Approval,
}

#[derive(Clone, Debug)]
pub(crate) enum ClientFault {
    /// A path, or a server that is not there or not this grant's.
    NotFound,
    /// The path knows only these.
    WrongVerb(&'static str),
    ForbiddenHost,
    ForbiddenOrigin,
    Unauthenticated,
    NotAcceptable,
    WrongMediaType,
    BodyTooLarge,
    BodyTooSlow,
    BodyBroken,
    Malformed(portcullis_mcp::Refusal),
    SessionMissing,
    /// On a pipe, something before `initialize`.
    NotOpened,
    SessionUnknown,
    WrongRevisionHeader,
    /// Client and server speak different eras.
    EraMismatch {
        client: Era,
    },
    /// A revision that we do not speak, and those that could be asked for instead.
    UnsupportedRevision {
        requested: Option<String>,
        supported: Vec<&'static str>,
    },
    /// Another grant's task, or nobody's.
    UnknownTask,
    /// A task of nobody's, from a client that has not said that it knows tasks.
    TasksUndeclared,
    /// A method that exists and that we do not pass on.
    NotOffered(&'static str),
}

#[derive(Clone, Debug)]
pub(crate) enum GatewayFault {
    /// INVARIANT: no record, no call.
    LogUnavailable,
    /// What was pinned is not known, so nothing is offered.
    PinsUnavailable,
    /// The server was configured anew while something was under way with the old one.
    ServerChanged,
    /// A bound is reached; named.
    Full(&'static str),
    NoRandomness,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum UpstreamFault {
    /// No connection: the call certainly never left.
    Unreachable,
    TimedOut,
    /// The connection broke after the call had left.
    Broken,
    /// The server's program cannot be started.
    CannotStart,
    /// The server's program ended too often; it is not started at the moment.
    KeepsEnding,
    /// No further process of the server may be started.
    TooManyProcesses,
    /// The server's program ended before it answered.
    Ended,
    Redirect,
    /// It does not take the gateway's own credential.
    CredentialRefused,
    Status(u16),
    TooLarge,
    /// What came is not MCP; in words of ours.
    NotMcp(&'static str),
    SessionGone,
}

impl UpstreamFault {
    /// Whether the call certainly never reached the server.
    pub(crate) fn is_before_sending(&self) -> bool {
        matches!(
            self,
            UpstreamFault::Unreachable
                | UpstreamFault::CannotStart
                | UpstreamFault::KeepsEnding
                | UpstreamFault::TooManyProcesses
        )
    }

    /// Words for the agent and the log; nothing of what the server wrote.
    pub(crate) fn text(&self) -> String {
        let text = match self {
            UpstreamFault::Unreachable => "the server cannot be reached",
            UpstreamFault::TimedOut => "the server did not answer in time",
            UpstreamFault::Broken => "the connection to the server broke",
            UpstreamFault::CannotStart => {
                "the server's program cannot be started; ask the gateway's operator"
            }
            UpstreamFault::KeepsEnding => {
                "the server's program keeps ending; it is started again in a moment, try again then"
            }
            UpstreamFault::TooManyProcesses => {
                "too many processes of this server run at once; end another session, or try again later"
            }
            UpstreamFault::Ended => "the server's program ended before it answered",
            UpstreamFault::Redirect => "the server answered with a redirect, which is not followed",
            UpstreamFault::CredentialRefused => {
                "the server refused the gateway's credential; ask the gateway's operator"
            }
            UpstreamFault::Status(status) => return format!("the server answered with status {status}"),
            UpstreamFault::TooLarge => "the server's answer is larger than allowed",
            UpstreamFault::NotMcp(what) => {
                return format!("the server's answer is not valid MCP: {what}");
            }
            UpstreamFault::SessionGone => "the server has ended the session",
        };
        text.to_owned()
    }
}

impl From<Refusal> for Stop {
    fn from(refusal: Refusal) -> Stop {
        Stop::Refused(refusal)
    }
}

impl From<Denial> for Stop {
    fn from(denial: Denial) -> Stop {
        Stop::Refused(Refusal::Denied(denial))
    }
}

impl From<ClientFault> for Stop {
    fn from(fault: ClientFault) -> Stop {
        Stop::Client(fault)
    }
}

impl From<GatewayFault> for Stop {
    fn from(fault: GatewayFault) -> Stop {
        Stop::Gateway(fault)
    }
}

impl From<UpstreamFault> for Stop {
    fn from(fault: UpstreamFault) -> Stop {
        Stop::Upstream(fault)
    }
}

impl From<portcullis_mcp::Refusal> for Stop {
    fn from(refusal: portcullis_mcp::Refusal) -> Stop {
        Stop::Client(ClientFault::Malformed(refusal))
    }
}

impl From<FieldFault> for Stop {
    fn from(fault: FieldFault) -> Stop {
        Stop::Client(ClientFault::Malformed(fault.into()))
    }
}

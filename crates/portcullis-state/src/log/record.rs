//! What a caller puts into the log: decisions, their outcomes, administrative events, refusals.
//!
//! Plain borrowed data: no argument's value has a field here, except the amount that a limit charged.
//! `line.rs` turns it into text; `stored.rs` is what comes back.

use super::chain::Hash;

/// Arguments of a call whose keys are named; the rest is counted.
pub const ARGUMENT_KEYS_MAX: usize = 64;
/// Counters that one call may charge. More is refused, not cut: what was charged must be in the log.
pub const CHARGES_MAX: usize = 64;

/// What a tool can do, as the log needs to know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RiskClass {
    /// Looks, changes nothing.
    Read,
    /// Changes something that can be changed back.
    Write,
    /// Runs code.
    Execute,
    /// Takes away for good.
    Destructive,
    /// Moves money.
    Financial,
}

impl RiskClass {
    /// The word that policies and the log use.
    pub fn as_str(self) -> &'static str {
        match self {
            RiskClass::Read => "Read",
            RiskClass::Write => "Write",
            RiskClass::Execute => "Execute",
            RiskClass::Destructive => "Destructive",
            RiskClass::Financial => "Financial",
        }
    }

    /// The class with this word.
    pub fn parse(word: &str) -> Option<RiskClass> {
        use RiskClass::*;
        [Read, Write, Execute, Destructive, Financial].into_iter().find(|class| class.as_str() == word)
    }
}

/// How a call was decided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// May leave.
    Allowed,
    /// A rule, a limit or the default refused it.
    #[default]
    Denied,
    /// Answered as if the tool did not exist.
    Hidden,
    /// A person is asked.
    PendingApproval,
    /// A person refused.
    Rejected,
    /// Nobody answered in time.
    Expired,
    /// Not a message that could be judged.
    Malformed,
    /// Something the decision needs was out of order.
    Unavailable,
}

impl Verdict {
    /// The word in the log.
    pub fn as_str(self) -> &'static str {
        match self {
            Verdict::Allowed => "allowed",
            Verdict::Denied => "denied",
            Verdict::Hidden => "hidden",
            Verdict::PendingApproval => "pending_approval",
            Verdict::Rejected => "rejected",
            Verdict::Expired => "expired",
            Verdict::Malformed => "malformed",
            Verdict::Unavailable => "unavailable",
        }
    }
}

/// What the policy would have done, where it is in shadow mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Shadow {
    /// It would have refused.
    WouldDeny,
    /// It would have asked a person.
    WouldApprove,
}

/// Which policy decided.
#[derive(Clone, Copy, Debug)]
pub struct PolicyName<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its version.
    pub version: u32,
    /// Digest of its canonical text.
    pub hash: &'a Hash,
}

/// What a call added to one counter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Charge {
    /// Which counter: policy, counter and scope key in one text.
    pub counter: String,
    /// How much, as an exact decimal.
    pub amount: String,
    /// The window's length.
    pub window_seconds: u64,
}

/// Arguments, without their values.
#[derive(Clone, Copy, Debug, Default)]
pub struct Arguments<'a> {
    /// The top-level keys.
    pub keys: &'a [&'a str],
    /// Keyed digest of the canonical arguments.
    pub digest: Option<&'a Hash>,
}

/// A call was decided. Written before anything leaves.
#[derive(Clone, Copy, Debug, Default)]
pub struct Decision<'a> {
    /// The request's id, ours.
    pub request: &'a str,
    /// The grant's id.
    pub grant: Option<&'a str>,
    /// The session, where there is one.
    pub session: Option<&'a str>,
    /// The server's name.
    pub server: Option<&'a str>,
    /// The method.
    pub method: &'a str,
    /// The tool's or prompt's name.
    pub tool: Option<&'a str>,
    /// The resource's URI; stored without user, query and fragment.
    pub resource: Option<&'a str>,
    /// The tool's class, if it is known.
    pub class: Option<RiskClass>,
    /// An administrator set the class.
    pub class_is_override: bool,
    /// The policy that decided.
    pub policy: Option<PolicyName<'a>>,
    /// What was decided.
    pub verdict: Verdict,
    /// Pointer to the rule that decided.
    pub rule: Option<&'a str>,
    /// The reason as the agent reads it.
    pub message: Option<&'a str>,
    /// In shadow mode: what would have happened.
    pub shadow: Option<Shadow>,
    /// Keys and digest of the arguments.
    pub arguments: Arguments<'a>,
    /// What was charged.
    pub charges: &'a [Charge],
    /// The approval that was spent.
    pub approval: Option<&'a str>,
}

/// How a call that left came back.
#[derive(Clone, Copy, Debug, Default)]
pub struct Outcome<'a> {
    /// The request's id, as in the decision.
    pub request: &'a str,
    /// The decision's sequence number.
    pub decision: u64,
    /// The grant's id.
    pub grant: Option<&'a str>,
    /// The server's name.
    pub server: Option<&'a str>,
    /// The tool's or prompt's name.
    pub tool: Option<&'a str>,
    /// How it ended.
    pub ending: Ending,
    /// The upstream's status code, where there is one.
    pub status: Option<u16>,
    /// From forwarding to the end of the answer.
    pub latency_us: u64,
    /// What went wrong, for the operator. No upstream text: it may carry secrets.
    pub message: Option<&'a str>,
    /// Charges that were given back because the call certainly never left.
    pub given_back: &'a [Charge],
}

/// How a forwarded call ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Ending {
    /// The server answered.
    Answered,
    /// The server answered with an error.
    Failed,
    /// The caller went away.
    Cancelled,
    /// No answer in time.
    TimedOut,
    /// It certainly never left.
    NotSent,
    /// It may have arrived; nobody knows.
    #[default]
    Unknown,
}

impl Ending {
    /// The word in the log.
    pub fn as_str(self) -> &'static str {
        match self {
            Ending::Answered => "answered",
            Ending::Failed => "failed",
            Ending::Cancelled => "cancelled",
            Ending::TimedOut => "timed_out",
            Ending::NotSent => "not_sent",
            Ending::Unknown => "unknown",
        }
    }
}

/// Something was administered, or happened to the gateway itself.
#[derive(Clone, Copy, Debug)]
pub struct Event<'a> {
    /// What happened.
    pub action: Action,
    /// Who did it: a person's name, `cli`, `config`.
    pub by: Option<&'a str>,
    /// The grant's id.
    pub grant: Option<&'a str>,
    /// The server's name.
    pub server: Option<&'a str>,
    /// The tool's name.
    pub tool: Option<&'a str>,
    /// The policy.
    pub policy: Option<PolicyName<'a>>,
    /// Anything else worth knowing. Never a secret.
    pub detail: Option<&'a str>,
}

impl<'a> Event<'a> {
    /// An event of which only the action is known yet.
    pub fn new(action: Action) -> Event<'a> {
        let (by, grant, server, tool, policy, detail) = (None, None, None, None, None, None);
        Event { action, by, grant, server, tool, policy, detail }
    }
}

/// What can be administered or happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "each name says what happened")]
pub enum Action {
    Started,
    Stopped,
    ConfigReloaded,
    ConfigRefused,
    GrantCreated,
    GrantRotated,
    GrantRevoked,
    ServerAdded,
    ServerChanged,
    ServerRemoved,
    PolicyAdded,
    PolicyActivated,
    PolicyRolledBack,
    ToolPinned,
    ToolChanged,
    ToolAccepted,
    ToolRestored,
    CredentialSealed,
    ClockStepped,
}

impl Action {
    /// The word in the log.
    pub fn as_str(self) -> &'static str {
        match self {
            Action::Started => "started",
            Action::Stopped => "stopped",
            Action::ConfigReloaded => "config_reloaded",
            Action::ConfigRefused => "config_refused",
            Action::GrantCreated => "grant_created",
            Action::GrantRotated => "grant_rotated",
            Action::GrantRevoked => "grant_revoked",
            Action::ServerAdded => "server_added",
            Action::ServerChanged => "server_changed",
            Action::ServerRemoved => "server_removed",
            Action::PolicyAdded => "policy_added",
            Action::PolicyActivated => "policy_activated",
            Action::PolicyRolledBack => "policy_rolled_back",
            Action::ToolPinned => "tool_pinned",
            Action::ToolChanged => "tool_changed",
            Action::ToolAccepted => "tool_accepted",
            Action::ToolRestored => "tool_restored",
            Action::CredentialSealed => "credential_sealed",
            Action::ClockStepped => "clock_stepped",
        }
    }
}

/// Refusals before authentication, of one source in one second.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusals {
    /// The address, or `other` for all that found no room of their own.
    pub source: String,
    /// How many.
    pub count: u64,
    /// Why the first of them was refused.
    pub reason: &'static str,
}

/// One record.
#[derive(Clone, Copy, Debug)]
pub enum Entry<'a> {
    /// A call was decided.
    Decision(&'a Decision<'a>),
    /// A call came back.
    Outcome(&'a Outcome<'a>),
    /// Something was administered.
    Event(&'a Event<'a>),
    /// Strangers were refused.
    Refusals(&'a Refusals),
}

/// Who waits for the disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SyncMode {
    /// Decisions about calls of class Write and up, or of no known class, and administrative events.
    #[default]
    Group,
    /// Every decision and event.
    All,
}

impl Entry<'_> {
    /// Whether the caller must wait until the record is on stable storage.
    pub fn must_be_durable(&self, mode: SyncMode) -> bool {
        match self {
            Entry::Decision(decision) => mode == SyncMode::All || decision.class != Some(RiskClass::Read),
            Entry::Event(_) => true,
            // The call has left, or never was one: nothing is decided by these.
            Entry::Outcome(_) | Entry::Refusals(_) => false,
        }
    }
}

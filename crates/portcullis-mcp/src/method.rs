//! The method table: every method of both eras, who sends it, and what it is about.
//!
//! What is not in this table does not pass. The gateway decides by [`Subject`], without a `_` arm.

use crate::{Era, LegacyRevision};

use LegacyRevision::{June2025, March2025, November2025};
use MethodKind::{Notification, Request};
use Senders::{Both, Client, Server};

/// Who wrote a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sender {
    /// The agent's side.
    Client,
    /// The tool's side.
    Server,
}

/// Whether a method wants an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MethodKind {
    /// It does.
    Request,
    /// It does not.
    Notification,
}

/// What a method is about, for judgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "each variant is the method it is named after")]
pub enum Subject {
    Initialize,
    Initialized,
    Discover,
    Ping,
    ToolList,
    ToolCall,
    ResourceList,
    ResourceTemplateList,
    ResourceRead,
    ResourceSubscribe,
    ResourceUnsubscribe,
    PromptList,
    PromptGet,
    Completion,
    LoggingLevel,
    SubscriptionListen,
    TaskGet,
    TaskResult,
    TaskList,
    TaskUpdate,
    TaskCancel,
    Sampling,
    Elicitation,
    RootList,
    Cancelled,
    Progress,
    LogMessage,
    ToolListChanged,
    ResourceListChanged,
    ResourceUpdated,
    PromptListChanged,
    RootListChanged,
    SubscriptionAcknowledged,
    ElicitationComplete,
    TaskStatus,
}

/// One row of the table.
#[derive(Debug, PartialEq, Eq)]
pub struct Method {
    /// As it stands on the wire.
    pub name: &'static str,
    /// Request or notification.
    pub kind: MethodKind,
    /// What it is about.
    pub subject: Subject,
    /// Since when the legacy era has it, and from whom.
    legacy: Option<(LegacyRevision, Senders)>,
    /// From whom the modern era has it.
    modern: Option<Senders>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Senders {
    Client,
    Server,
    Both,
}

impl Senders {
    fn include(self, sender: Sender) -> bool {
        match self {
            Client => sender == Sender::Client,
            Server => sender == Sender::Server,
            Both => true,
        }
    }
}

impl Method {
    /// The row of this exact name.
    pub fn find(name: &str) -> Option<&'static Method> {
        METHODS.iter().find(|method| method.name == name)
    }

    /// Whether `era` has this method from `sender`.
    pub fn exists(&self, era: Era, sender: Sender) -> bool {
        match era {
            Era::Legacy(revision) => {
                self.legacy.is_some_and(|(since, senders)| revision >= since && senders.include(sender))
            }
            Era::Modern => self.modern.is_some_and(|senders| senders.include(sender)),
        }
    }

    /// Whether any era has this method from `sender`.
    pub fn sent_by(&self, sender: Sender) -> bool {
        self.exists(Era::Modern, sender) || self.exists(Era::Legacy(LegacyRevision::NEWEST), sender)
    }
}

const fn row(
    name: &'static str,
    kind: MethodKind,
    subject: Subject,
    legacy: Option<(LegacyRevision, Senders)>,
    modern: Option<Senders>,
) -> Method {
    Method { name, kind, subject, legacy, modern }
}

const FROM_CLIENT: Option<(LegacyRevision, Senders)> = Some((March2025, Client));
const FROM_SERVER: Option<(LegacyRevision, Senders)> = Some((March2025, Server));
const FROM_BOTH: Option<(LegacyRevision, Senders)> = Some((March2025, Both));
const TASKS: Option<(LegacyRevision, Senders)> = Some((November2025, Both));

/// Every method that passes the reader. Name, kind, subject, legacy, modern.
#[rustfmt::skip]
pub static METHODS: &[Method] = &[
    row("tools/call", Request, Subject::ToolCall, FROM_CLIENT, Some(Client)),
    row("tools/list", Request, Subject::ToolList, FROM_CLIENT, Some(Client)),
    row("resources/list", Request, Subject::ResourceList, FROM_CLIENT, Some(Client)),
    row("resources/templates/list", Request, Subject::ResourceTemplateList, FROM_CLIENT, Some(Client)),
    row("resources/read", Request, Subject::ResourceRead, FROM_CLIENT, Some(Client)),
    row("resources/subscribe", Request, Subject::ResourceSubscribe, FROM_CLIENT, None),
    row("resources/unsubscribe", Request, Subject::ResourceUnsubscribe, FROM_CLIENT, None),
    row("prompts/list", Request, Subject::PromptList, FROM_CLIENT, Some(Client)),
    row("prompts/get", Request, Subject::PromptGet, FROM_CLIENT, Some(Client)),
    row("completion/complete", Request, Subject::Completion, FROM_CLIENT, Some(Client)),
    row("logging/setLevel", Request, Subject::LoggingLevel, FROM_CLIENT, None),
    row("subscriptions/listen", Request, Subject::SubscriptionListen, None, Some(Client)),
    row("initialize", Request, Subject::Initialize, FROM_CLIENT, None),
    row("server/discover", Request, Subject::Discover, None, Some(Client)),
    row("ping", Request, Subject::Ping, FROM_BOTH, None),
    row("tasks/get", Request, Subject::TaskGet, TASKS, Some(Client)),
    row("tasks/result", Request, Subject::TaskResult, TASKS, None),
    row("tasks/list", Request, Subject::TaskList, TASKS, None),
    row("tasks/update", Request, Subject::TaskUpdate, None, Some(Client)),
    row("tasks/cancel", Request, Subject::TaskCancel, TASKS, Some(Client)),
    row("sampling/createMessage", Request, Subject::Sampling, FROM_SERVER, None),
    row("elicitation/create", Request, Subject::Elicitation, Some((June2025, Server)), None),
    row("roots/list", Request, Subject::RootList, FROM_SERVER, None),
    row("notifications/initialized", Notification, Subject::Initialized, FROM_CLIENT, None),
    row("notifications/cancelled", Notification, Subject::Cancelled, FROM_BOTH, Some(Both)),
    row("notifications/progress", Notification, Subject::Progress, FROM_BOTH, Some(Server)),
    row("notifications/message", Notification, Subject::LogMessage, FROM_SERVER, Some(Server)),
    row("notifications/tools/list_changed", Notification, Subject::ToolListChanged, FROM_SERVER, Some(Server)),
    row("notifications/resources/list_changed", Notification, Subject::ResourceListChanged, FROM_SERVER, Some(Server)),
    row("notifications/resources/updated", Notification, Subject::ResourceUpdated, FROM_SERVER, Some(Server)),
    row("notifications/prompts/list_changed", Notification, Subject::PromptListChanged, FROM_SERVER, Some(Server)),
    row("notifications/roots/list_changed", Notification, Subject::RootListChanged, FROM_CLIENT, None),
    row("notifications/subscriptions/acknowledged", Notification, Subject::SubscriptionAcknowledged, None, Some(Server)),
    row("notifications/elicitation/complete", Notification, Subject::ElicitationComplete, Some((November2025, Server)), None),
    row("notifications/tasks/status", Notification, Subject::TaskStatus, TASKS, None),
    row("notifications/tasks", Notification, Subject::TaskStatus, None, Some(Server)),
];

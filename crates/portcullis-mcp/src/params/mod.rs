//! Typed views over parameters: what a judge needs to know, read strictly.
//!
//! Views borrow from the message; fields that nobody judges stay in it untouched. A view is refused with
//! a [`FieldFault`] that names the field and never its value. `null` is not the same as absent.

mod call;
mod fields;
mod lifecycle;
mod notice;
mod task;

use portcullis_json::Object;

pub use call::{CallTool, Complete, GetPrompt, ListParams, ReadResource, Reference, Retry};
pub(crate) use fields::Fields;
pub use lifecycle::{Elicit, ElicitMode, Initialize, Listen, LogLevel, SetLevel};
pub use notice::{Cancelled, Progress};
pub use task::TaskId;

use crate::{FieldFault, Notification, Request, Subject};

/// A tool's or prompt's name is at most this long.
pub const NAME_BYTES_MAX: usize = 256;
/// A resource's URI is at most this long.
pub const URI_BYTES_MAX: usize = 8 << 10;
/// A cursor is at most this long.
pub const CURSOR_BYTES_MAX: usize = 8 << 10;
/// A task's id is at most this long.
pub const TASK_ID_BYTES_MAX: usize = 1 << 10;
/// The URIs or task ids that one `subscriptions/listen` names are at most this many.
pub const LISTEN_ENTRIES_MAX: usize = 1_000;

/// The parameters of a request, by subject.
#[derive(Clone, Debug)]
pub enum RequestParams<'a> {
    /// `initialize`
    Initialize(Initialize<'a>),
    /// `server/discover`
    Discover,
    /// `ping`
    Ping,
    /// `tools/list`
    ToolList(ListParams<'a>),
    /// `tools/call`
    ToolCall(CallTool<'a>),
    /// `resources/list`
    ResourceList(ListParams<'a>),
    /// `resources/templates/list`
    ResourceTemplateList(ListParams<'a>),
    /// `resources/read`
    ResourceRead(ReadResource<'a>),
    /// `resources/subscribe`: the URI
    ResourceSubscribe(&'a str),
    /// `resources/unsubscribe`: the URI
    ResourceUnsubscribe(&'a str),
    /// `prompts/list`
    PromptList(ListParams<'a>),
    /// `prompts/get`
    PromptGet(GetPrompt<'a>),
    /// `completion/complete`
    Completion(Complete<'a>),
    /// `logging/setLevel`
    LoggingLevel(SetLevel),
    /// `subscriptions/listen`
    SubscriptionListen(Listen<'a>),
    /// `tasks/get`
    TaskGet(TaskId<'a>),
    /// `tasks/result`
    TaskResult(TaskId<'a>),
    /// `tasks/list`
    TaskList(ListParams<'a>),
    /// `tasks/update`: the task and the answers
    TaskUpdate(TaskId<'a>, &'a Object),
    /// `tasks/cancel`
    TaskCancel(TaskId<'a>),
    /// `sampling/createMessage`
    Sampling,
    /// `elicitation/create`
    Elicitation(Elicit<'a>),
    /// `roots/list`
    RootList,
}

impl Request {
    /// The parameters, read by what the method is about. `None` for subjects of notifications, which no
    /// request that was read has.
    pub fn view(&self) -> Result<Option<RequestParams<'_>>, FieldFault> {
        request_view(self.method.subject, self.params.as_ref())
    }
}

fn request_view(subject: Subject, params: Option<&Object>) -> Result<Option<RequestParams<'_>>, FieldFault> {
    use RequestParams as View;
    let fields = Fields::params(params);
    Ok(Some(match subject {
        Subject::Initialize => View::Initialize(Initialize::read(params)?),
        Subject::Discover => View::Discover,
        Subject::Ping => View::Ping,
        Subject::ToolList => View::ToolList(ListParams::read(params)?),
        Subject::ToolCall => View::ToolCall(CallTool::read(params)?),
        Subject::ResourceList => View::ResourceList(ListParams::read(params)?),
        Subject::ResourceTemplateList => View::ResourceTemplateList(ListParams::read(params)?),
        Subject::ResourceRead => View::ResourceRead(ReadResource::read(params)?),
        Subject::ResourceSubscribe => View::ResourceSubscribe(fields.uri()?),
        Subject::ResourceUnsubscribe => View::ResourceUnsubscribe(fields.uri()?),
        Subject::PromptList => View::PromptList(ListParams::read(params)?),
        Subject::PromptGet => View::PromptGet(GetPrompt::read(params)?),
        Subject::Completion => View::Completion(Complete::read(params)?),
        Subject::LoggingLevel => View::LoggingLevel(SetLevel::read(params)?),
        Subject::SubscriptionListen => View::SubscriptionListen(Listen::read(params)?),
        Subject::TaskGet => View::TaskGet(TaskId::read(params)?),
        Subject::TaskResult => View::TaskResult(TaskId::read(params)?),
        Subject::TaskList => View::TaskList(ListParams::read(params)?),
        Subject::TaskUpdate => {
            View::TaskUpdate(TaskId::read(params)?, fields.require_object("inputResponses")?)
        }
        Subject::TaskCancel => View::TaskCancel(TaskId::read(params)?),
        Subject::Sampling => View::Sampling,
        Subject::Elicitation => View::Elicitation(Elicit::read(params)?),
        Subject::RootList => View::RootList,
        Subject::Initialized
        | Subject::Cancelled
        | Subject::Progress
        | Subject::LogMessage
        | Subject::ToolListChanged
        | Subject::ResourceListChanged
        | Subject::ResourceUpdated
        | Subject::PromptListChanged
        | Subject::RootListChanged
        | Subject::SubscriptionAcknowledged
        | Subject::ElicitationComplete
        | Subject::TaskStatus => return Ok(None),
    }))
}

/// The parameters of a notification, where they are judged or rewritten.
#[derive(Clone, Debug)]
pub enum NotificationParams<'a> {
    /// `notifications/cancelled`
    Cancelled(Cancelled<'a>),
    /// `notifications/progress`
    Progress(Progress),
    /// `notifications/resources/updated`: the URI
    ResourceUpdated(&'a str),
    /// `notifications/tasks` and `notifications/tasks/status`
    TaskStatus(TaskId<'a>),
    /// `notifications/subscriptions/acknowledged`: what the server took on
    SubscriptionAcknowledged(Listen<'a>),
    /// `notifications/message`
    LogMessage(LogLevel),
    /// Any other: only its method matters.
    Plain,
}

impl Notification {
    /// The parameters, read by what the method is about.
    pub fn view(&self) -> Result<NotificationParams<'_>, FieldFault> {
        use NotificationParams as View;
        let params = self.params.as_ref();
        Ok(match self.method.subject {
            Subject::Cancelled => View::Cancelled(Cancelled::read(params)?),
            Subject::Progress => View::Progress(Progress::read(params)?),
            Subject::ResourceUpdated => View::ResourceUpdated(Fields::params(params).uri()?),
            Subject::TaskStatus => View::TaskStatus(TaskId::read(params)?),
            Subject::SubscriptionAcknowledged => View::SubscriptionAcknowledged(Listen::read(params)?),
            Subject::LogMessage => View::LogMessage(SetLevel::read(params)?.level),
            _ => View::Plain,
        })
    }
}

//! What happens to each method: one row for each, no rest.
//!
//! The methods themselves, and who may send them in which era, are `portcullis_mcp::METHODS`. This table
//! says how a message is handled once the reader took it; `methods.md` beside the manifest shows it and a
//! test compares them.

use portcullis_mcp::{Sender, Subject};
use portcullis_policy::ServerRequest;

/// How a message is handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Handling {
    /// Opens a session at the server and here.
    OpenSession,
    /// Passed on to every grant that has a policy; what comes back is cut to what policy shows.
    Pass,
    /// Passed on; the list that comes back is filtered by the policy.
    List,
    /// Judged as a call of the tool.
    Tool,
    /// Judged as use of the resource.
    Resource,
    /// Judged as use of the prompt.
    Prompt,
    /// Judged as use of the prompt or resource that it completes.
    Completion,
    /// For the grant that owns the task.
    Task,
    /// Opens a stream; each resource in it is judged.
    Listen,
    /// Answered here.
    Answer,
    /// The server's question to the client, judged by `server_requests`.
    Question(ServerRequest),
    /// A notification, passed on.
    Notice,
    /// A notification that names a request: passed on under the other side's id.
    Cancel,
    /// A notification about a resource: passed on if the policy allows the resource.
    ResourceNotice,
    /// A notification about a task: passed on to the grant that owns it.
    TaskNotice,
    /// Refused, or dropped if it wants no answer.
    Refuse(&'static str),
}

const NO_CLIENT_TASKS: &str = "tasks that run at the client are not carried by this gateway";
const NOT_THIS_WAY: &str = "this method does not go in this direction";

/// How a message about `subject` from `sender` is handled. INVARIANT: deny by default.
pub(crate) fn handling(subject: Subject, sender: Sender) -> Handling {
    match sender {
        Sender::Client => from_client(subject),
        Sender::Server => from_server(subject),
    }
}

fn from_client(subject: Subject) -> Handling {
    match subject {
        Subject::Initialize => Handling::OpenSession,
        Subject::Discover | Subject::LoggingLevel => Handling::Pass,
        Subject::Ping => Handling::Answer,
        Subject::ToolList
        | Subject::ResourceList
        | Subject::ResourceTemplateList
        | Subject::PromptList
        | Subject::TaskList => Handling::List,
        Subject::ToolCall => Handling::Tool,
        Subject::ResourceRead | Subject::ResourceSubscribe | Subject::ResourceUnsubscribe => {
            Handling::Resource
        }
        Subject::PromptGet => Handling::Prompt,
        Subject::Completion => Handling::Completion,
        Subject::SubscriptionListen => Handling::Listen,
        Subject::Initialized | Subject::Progress | Subject::RootListChanged => Handling::Notice,
        Subject::Cancelled => Handling::Cancel,
        Subject::TaskGet | Subject::TaskResult | Subject::TaskUpdate | Subject::TaskCancel => Handling::Task,
        Subject::TaskStatus => Handling::Refuse(NO_CLIENT_TASKS),
        Subject::Sampling
        | Subject::Elicitation
        | Subject::RootList
        | Subject::LogMessage
        | Subject::ToolListChanged
        | Subject::ResourceListChanged
        | Subject::ResourceUpdated
        | Subject::PromptListChanged
        | Subject::SubscriptionAcknowledged
        | Subject::ElicitationComplete => Handling::Refuse(NOT_THIS_WAY),
    }
}

fn from_server(subject: Subject) -> Handling {
    match subject {
        Subject::Ping => Handling::Answer,
        Subject::Sampling => Handling::Question(ServerRequest::Sampling),
        Subject::Elicitation => Handling::Question(ServerRequest::Elicitation),
        Subject::RootList => Handling::Question(ServerRequest::Roots),
        Subject::Cancelled => Handling::Cancel,
        Subject::ResourceUpdated => Handling::ResourceNotice,
        Subject::Progress
        | Subject::LogMessage
        | Subject::ToolListChanged
        | Subject::ResourceListChanged
        | Subject::PromptListChanged
        | Subject::SubscriptionAcknowledged
        | Subject::ElicitationComplete => Handling::Notice,
        Subject::TaskStatus => Handling::TaskNotice,
        Subject::TaskGet
        | Subject::TaskResult
        | Subject::TaskList
        | Subject::TaskUpdate
        | Subject::TaskCancel => Handling::Refuse(NO_CLIENT_TASKS),
        Subject::Initialize
        | Subject::Initialized
        | Subject::Discover
        | Subject::ToolList
        | Subject::ToolCall
        | Subject::ResourceList
        | Subject::ResourceTemplateList
        | Subject::ResourceRead
        | Subject::ResourceSubscribe
        | Subject::ResourceUnsubscribe
        | Subject::PromptList
        | Subject::PromptGet
        | Subject::Completion
        | Subject::LoggingLevel
        | Subject::SubscriptionListen
        | Subject::RootListChanged => Handling::Refuse(NOT_THIS_WAY),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use portcullis_mcp::METHODS;

    /// The table that is checked in. Changing what passes shows up as a change of this file.
    const CHECKED_IN: &str = include_str!("../methods.md");

    #[test]
    fn every_method_has_its_row_in_the_table_that_is_checked_in() {
        let mut table = String::from("| method | from the client | from the server |\n|---|---|---|\n");
        for method in METHODS {
            let cell = |sender| match method.sent_by(sender) {
                true => match handling(method.subject, sender) {
                    Handling::Refuse(_) => "Refuse".to_owned(),
                    handling => format!("{handling:?}"),
                },
                false => "-".to_owned(),
            };
            let (client, server) = (cell(Sender::Client), cell(Sender::Server));
            table.push_str(&format!("| `{}` | {client} | {server} |\n", method.name));
        }
        assert!(CHECKED_IN.ends_with(&table), "methods.md must end with:\n{table}");
    }

    #[test]
    fn what_a_side_may_send_is_never_refused_as_the_wrong_direction() {
        for method in METHODS {
            for sender in [Sender::Client, Sender::Server] {
                let wrong = handling(method.subject, sender) == Handling::Refuse(NOT_THIS_WAY);
                assert_eq!(wrong, !method.sent_by(sender) && !is_task(method.subject), "{}", method.name);
            }
        }
    }

    fn is_task(subject: Subject) -> bool {
        use Subject::*;
        matches!(subject, TaskGet | TaskResult | TaskList | TaskUpdate | TaskCancel | TaskStatus)
    }
}

//! One event of a server: what it is, whether the client may have it, how it reads for the client.

use portcullis_json::Object;
use portcullis_mcp::params::{Listen, NotificationParams};
use portcullis_mcp::sse::Event;
use portcullis_mcp::{
    ErrorObject, Id, Message, Notification, Outcome, Request, Response, Sender, Subject, meta, write,
};
use portcullis_policy as policy;
use portcullis_state::log::{Ending, Verdict};

use super::{End, Lists, Purpose, Relay};
use crate::authenticate::Door;
use crate::decide::allows;
use crate::events::Arrived;
use crate::filter;
use crate::methods::{Handling, handling};
use crate::own;
use crate::record::{self, Decided, Trail};
use crate::respond;
use crate::sessions::Call;
use crate::settings::milliseconds;
use crate::stop::{Refusal, Stop, UpstreamFault};

/// JSON-RPC's code for an error inside: the client's, which says nothing.
const NO_ANSWER: i64 = portcullis_mcp::code::INTERNAL;

impl Relay {
    /// Relays one event; when it was the last, how the call ended.
    pub(super) async fn relay(&mut self, Arrived { event, message }: Arrived) -> Result<Option<Ending>, End> {
        let Some(message) = message else {
            return self.mark_place(event).await.map(|()| None);
        };
        match message {
            Message::Response(response) => self.response(response, event).await,
            Message::Request(request) => self.question(request, event).await.map(|()| None),
            Message::Notification(notice) => self.notice(notice, event).await.map(|()| None),
        }
    }

    /// An event without a message tells a legacy client where to come back to.
    async fn mark_place(&self, event: Event) -> Result<(), End> {
        let nowhere = self.caller.door == Door::Pipe || !self.era.has_sessions();
        let marker = Event { id: self.clean_id(event.id), data: String::new(), name: None, ..event };
        if nowhere || (marker.id.is_none() && marker.retry_ms.is_none()) {
            return Ok(());
        }
        match portcullis_mcp::sse::write_event(&marker) {
            Ok(text) => self.send_text(text).await,
            Err(_) => Err(End::Failed(UpstreamFault::NotMcp("an illegal event id"))),
        }
    }

    async fn response(&mut self, response: Response, event: Event) -> Result<Option<Ending>, End> {
        let Some(call) = self.call_of(response.id.as_ref()) else {
            // A foreign or repeated id is nobody's: dropped, and the operator may know.
            tracing::warn!(server = self.caller.server.name(), "a server answered what nobody asked");
            return Ok(None);
        };
        let mut outcome = response.outcome;
        let ending = record::ending_of(&outcome);
        if let (Purpose::Listen(listen, _), Outcome::Result(result)) = (&self.purpose, &mut outcome) {
            meta::set(result, meta::key::SUBSCRIPTION_ID, listen.client_id.to_value());
        }
        let clean = match filter::prepare(&self.gateway, &self.caller, &call, &outcome).await {
            Ok(()) => filter::outcome(&self.gateway, &self.caller, self.era, &call, outcome),
            Err(stop) => Err(stop),
        };
        let text = match clean {
            Ok(outcome) => Response { id: None, outcome }.into_text(&call.client_id),
            Err(Stop::Upstream(fault)) => return Err(End::Failed(fault)),
            Err(stop) => {
                // The refusal stands whether or not it can be written.
                let _ = self.record_question("input_required", Some(&stop)).await;
                respond::stop_text(&stop, &call, self.era)
            }
        };
        self.send_message(text, Some(event)).await?;
        // On a legacy stream answers to other calls of the session may come too.
        Ok(self.purpose.call().filter(|own| own.our_id == call.our_id).map(|_| ending))
    }

    /// The call that this id of ours belongs to: once, and again when a client comes back for what it missed.
    fn call_of(&self, id: Option<&Id>) -> Option<Call> {
        let own = self.purpose.call().cloned();
        let Some(id) = id else {
            // An error about a request that the server could not read.
            return own;
        };
        let session = self.caller.session.as_ref();
        let open = session.and_then(|session| session.close_call(id));
        // The stream's own call is answered here even if the session had to forget it; then the stream ends.
        let open = open.or_else(|| own.filter(|call| call.our_id == *id));
        let resumes = matches!(self.purpose, Purpose::Session { resumes: true });
        open.or_else(|| session.filter(|_| resumes).and_then(|session| session.answered_call(id)))
    }

    /// The server asks something of the client.
    async fn question(&mut self, request: Request, event: Event) -> Result<(), End> {
        self.answers.count().map_err(End::Failed)?;
        self.give_up_questions()?;
        let answer = match handling(request.method.subject, Sender::Server) {
            Handling::Answer => Ok(Object::new()),
            Handling::Question(kind) => match self.may_ask(&request, kind).await {
                Ok(our_id) => {
                    // Tasks at the client are not carried: the question is asked without one.
                    let params = request.params.map(|params| params.without("task"));
                    let params = filter::clean_params(&self.caller, self.redact(), params);
                    let text = write::request(&our_id, request.method.name, params);
                    return self.send_message(text, Some(event)).await;
                }
                Err(error) => Err(error),
            },
            _ => Err(ErrorObject::new(portcullis_mcp::code::METHOD_NOT_FOUND, "method not found")),
        };
        match self.caller.session.clone() {
            Some(session) => {
                self.answers.give(&self.gateway, &session, (request.id, answer)).map_err(End::Failed)
            }
            None => Ok(()),
        }
    }

    /// Judged and recorded like a call in the other direction; gives the id under which the client is asked.
    async fn may_ask(&self, request: &Request, kind: policy::ServerRequest) -> Result<Id, ErrorObject> {
        let refused = |text: &str| ErrorObject::new(respond::code::DENIED, text);
        let session = self.caller.session.as_ref().ok_or_else(|| refused("there is no session to ask in"))?;
        let judged = filter::judge_question(&self.gateway, &self.caller, kind);
        self.record_question(request.method.name, judged.as_ref().err()).await?;
        judged.map_err(|stop| respond::error_object(&stop))?;
        let questions_max = self.gateway.settings.session_questions_max;
        let opened = session.open_question(request.id.clone(), request.method.name, questions_max);
        opened.ok_or_else(|| refused("too many questions are waiting for the client"))
    }

    /// Questions that the client let lie make room, and the server need not wait for them any longer.
    pub(super) fn give_up_questions(&mut self) -> Result<(), End> {
        let Some(session) = self.caller.session.clone() else {
            return Ok(());
        };
        let patience = milliseconds(self.gateway.settings.question_timeout_ms);
        for id in session.expire_questions(patience) {
            let error = ErrorObject::new(NO_ANSWER, "the client did not answer in time");
            self.answers.give(&self.gateway, &session, (id, Err(error))).map_err(End::Failed)?;
        }
        Ok(())
    }

    async fn record_question(&self, method: &'static str, stop: Option<&Stop>) -> Result<(), ErrorObject> {
        let failed = |stop: Stop| respond::error_object(&stop);
        let mut trail = Trail::of(&self.gateway, &self.caller).map_err(failed)?;
        trail.session = self.caller.session.as_ref().map(|session| session.id.clone());
        trail.policy = self.caller.policy.clone();
        trail.method = method;
        let decided = match stop {
            Some(Stop::Refused(Refusal::Denied(denial))) => {
                Decided { message: Some(&denial.message), ..Decided::plain(Verdict::Denied, &denial.rule) }
            }
            Some(_) => Decided::plain(Verdict::Unavailable, "(unavailable)"),
            None => Decided { rule: None, ..Decided::plain(Verdict::Allowed, "") },
        };
        record::write(&self.gateway, &trail, &decided).await.map(|_| ()).map_err(failed)
    }

    async fn notice(&mut self, mut notice: Notification, event: Event) -> Result<(), End> {
        if notice.method.subject == Subject::ToolListChanged {
            self.caller.server.catalogue.mark_stale();
        }
        let passes = match handling(notice.method.subject, Sender::Server) {
            Handling::Notice => self.is_wanted(&notice),
            Handling::ResourceNotice => self.resource_is_allowed(&notice),
            Handling::TaskNotice => self.task_is_ours(&mut notice) && self.may_ask_in(&notice).await,
            Handling::Cancel => self.withdraw(&mut notice),
            _ => false,
        };
        if !passes {
            return Ok(());
        }
        let mut params = filter::clean_params(&self.caller, self.redact(), notice.params);
        if let Purpose::Listen(listen, _) = &self.purpose {
            let params = params.get_or_insert_default();
            meta::set(params, meta::key::SUBSCRIPTION_ID, listen.client_id.to_value());
        }
        let text = write::notification(notice.method.name, params);
        self.send_message(text, Some(event)).await
    }

    /// Progress and log messages belong to a call; a subscription never has them.
    fn is_wanted(&self, notice: &Notification) -> bool {
        let about_a_call = matches!(notice.method.subject, Subject::Progress | Subject::LogMessage);
        !(about_a_call && matches!(self.purpose, Purpose::Listen(..)))
    }

    fn resource_is_allowed(&self, notice: &Notification) -> bool {
        match notice.view() {
            Ok(NotificationParams::ResourceUpdated(uri)) => {
                allows(&self.gateway, &self.caller, policy::Subject::Resource(uri))
            }
            _ => false,
        }
    }

    /// A task's own result may stand in the notice: blanked out as in the answer.
    fn task_is_ours(&self, notice: &mut Notification) -> bool {
        let Ok(NotificationParams::TaskStatus(id)) = notice.view() else {
            return false;
        };
        let task = self.gateway.tasks.find(&self.caller.server, id.0, self.caller.grant_id());
        if let Some(task) = &task {
            notice.params = filter::clean_params(&self.caller, task.redact, notice.params.take());
        }
        task.is_some()
    }

    /// A task may ask something of the client, in a notice as well as in a result.
    async fn may_ask_in(&self, notice: &Notification) -> bool {
        let params = notice.params.as_ref();
        let judged = params.map_or(Ok(()), |params| filter::judge_each(&self.gateway, &self.caller, params));
        if let Err(stop) = &judged {
            // The refusal stands whether or not it can be written.
            let _ = self.record_question(notice.method.name, Some(stop)).await;
        }
        judged.is_ok()
    }

    /// The server takes back a question; the client knows it under our id.
    fn withdraw(&self, notice: &mut Notification) -> bool {
        let Ok(NotificationParams::Cancelled(cancelled)) = notice.view() else {
            return false;
        };
        let session = self.caller.session.as_ref();
        let Some(our_id) = session.and_then(|session| session.withdraw_question(&cancelled.request_id))
        else {
            return false;
        };
        if let Some(params) = &mut notice.params {
            params.insert("requestId", our_id.to_value());
        }
        true
    }

    /// The first word on a subscription that the server does not know: what of it we give ourselves.
    pub(super) async fn acknowledge(&self) -> Result<(), End> {
        let Purpose::Listen(call, wanted) = &self.purpose else {
            return Ok(());
        };
        let lists = [
            (wanted.tools, "toolsListChanged"),
            (wanted.resources, "resourcesListChanged"),
            (wanted.prompts, "promptsListChanged"),
        ];
        let given = lists.into_iter().filter(|(wanted, _)| *wanted);
        let given = given.fold(Object::new(), |given, (_, key)| given.with(key, true));
        let mut params = Object::new().with("notifications", given);
        meta::set(&mut params, meta::key::SUBSCRIPTION_ID, call.client_id.to_value());
        let text = own::notice_text("notifications/subscriptions/acknowledged", Some(params));
        self.send_message(text, None).await
    }

    /// A change of the policy altered what this client sees.
    pub(super) async fn tell_changed(&self, changed: Lists) -> Result<(), End> {
        let params = self.purpose.call().map(|call| {
            let mut params = Object::new();
            meta::set(&mut params, meta::key::SUBSCRIPTION_ID, call.client_id.to_value());
            params
        });
        let notices = [
            (changed.tools, "notifications/tools/list_changed"),
            (changed.resources, "notifications/resources/list_changed"),
            (changed.prompts, "notifications/prompts/list_changed"),
        ];
        for (_, method) in notices.into_iter().filter(|(changed, _)| *changed) {
            self.send_message(own::notice_text(method, params.clone()), None).await?;
        }
        Ok(())
    }
}

/// Which changed lists a subscription asks to hear of.
pub(crate) fn wanted_lists(params: Option<&Object>) -> Lists {
    let wanted = |listen: Listen<'_>| Lists {
        tools: listen.tools_list_changed,
        resources: listen.resources_list_changed,
        prompts: listen.prompts_list_changed,
    };
    Listen::read(params).map(wanted).unwrap_or_default()
}

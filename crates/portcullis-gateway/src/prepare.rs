//! What a message comes to before anybody judges it: answered here, refused by its method, or sent on under
//! the id that the server knows.

use portcullis_json::Object;
use portcullis_mcp::{Message, Notification, Request, Response, Sender, write};

use crate::authenticate::Caller;
use crate::methods::{Handling, handling};
use crate::parse::Parsed;
use crate::question;
use crate::record::Trail;
use crate::respond::Answer;
use crate::stop::{ClientFault, Stop};

/// What is left to do.
pub(crate) enum Prepared {
    Judge(Parsed),
    Answer(Answer),
}

/// What is answered here, refused, or sent on under another id.
pub(crate) fn prepare(caller: &Caller, parsed: Parsed, trail: &mut Trail) -> Result<Prepared, Stop> {
    let Parsed { era, message } = parsed;
    let message = match message {
        Message::Request(request) => match own_answer(&request, trail)? {
            Some(answer) => return Ok(Prepared::Answer(answer)),
            None => Some(Message::Request(request)),
        },
        Message::Notification(notice) => translated_notice(caller, notice, trail),
        Message::Response(response) => translated_response(caller, response, trail),
    };
    // A late or unknown id means nothing to anybody; so the protocol wants it.
    Ok(message.map_or(Prepared::Answer(Answer::Accepted), |message| Prepared::Judge(Parsed { era, message })))
}

/// The answer to what needs no server.
fn own_answer(request: &Request, trail: &mut Trail) -> Result<Option<Answer>, Stop> {
    trail.method = request.method.name;
    match handling(request.method.subject, Sender::Client) {
        Handling::Answer => {
            let text = write::result(&request.id, Object::new());
            Ok(Some(Answer::Message { text, session: None, modern_error: None, closing: None }))
        }
        Handling::Refuse(why) => Err(ClientFault::NotOffered(why).into()),
        _ => Ok(None),
    }
}

fn translated_notice(caller: &Caller, notice: Notification, trail: &mut Trail) -> Option<Message> {
    trail.method = notice.method.name;
    question::translate_notice(caller, notice).map(Message::Notification)
}

/// The client's answer to a question of the server, if one is open.
fn translated_response(caller: &Caller, mut response: Response, trail: &mut Trail) -> Option<Message> {
    let session = caller.session.as_ref()?;
    let question = session.close_question(response.id.as_ref()?)?;
    trail.method = question.method;
    response.id = Some(question.server_id);
    Some(Message::Response(response))
}

//! The headers for a server, built from the message that is sent to it.

use portcullis_json::{Object, Value};

use super::{METHOD, NAME, PROTOCOL_VERSION, ParamHeaders, encode, name_value};
use crate::{Era, Message, Method, Subject};

/// The headers that repeat this message for a modern server. Empty for responses.
///
/// `mirrored` comes from the schema of the tool that is called.
pub fn for_server(message: &Message, mirrored: &ParamHeaders) -> Vec<(String, String)> {
    match message {
        Message::Request(request) => build(request.method, request.params.as_ref(), mirrored),
        Message::Notification(notification) => {
            build(notification.method, notification.params.as_ref(), &ParamHeaders::default())
        }
        Message::Response(_) => Vec::new(),
    }
}

fn build(method: &Method, params: Option<&Object>, mirrored: &ParamHeaders) -> Vec<(String, String)> {
    let mut headers = vec![
        (PROTOCOL_VERSION.to_owned(), Era::Modern.as_str().to_owned()),
        (METHOD.to_owned(), method.name.to_owned()),
    ];
    if let Some(name) = name_value(method.subject, params) {
        headers.push((NAME.to_owned(), encode(name)));
    }
    if method.subject == Subject::ToolCall {
        let arguments = arguments(params);
        headers.extend(mirrored.iter().filter_map(|entry| {
            let text = entry.text(arguments)?;
            Some((entry.header(), encode(&text.to_string())))
        }));
    }
    headers
}

pub(super) fn arguments(params: Option<&Object>) -> Option<&Object> {
    params?.get("arguments").and_then(Value::as_object)
}

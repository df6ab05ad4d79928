//! Typed views: what is read, and the fault for what is not.

use portcullis_mcp::params::{
    CallTool, Cancelled, Complete, Elicit, ElicitMode, GetPrompt, Initialize, ListParams, Listen, LogLevel,
    NotificationParams, Progress, ReadResource, Reference, RequestParams, SetLevel, TaskId,
};
use portcullis_mcp::{Era, FieldFault, Id, METHODS, Message, MethodKind, Sender, meta};

use crate::{LEGACY, MODERN_META, object, read, request, request_in};

/// The message for parameters that must be refused.
fn fault<T>(params: &str, read: impl Fn(&portcullis_json::Object) -> Result<T, FieldFault>) -> String {
    match read(&object(params)) {
        Ok(_) => panic!("taken: {params}"),
        Err(fault) => fault.to_string(),
    }
}

#[test]
fn tool_calls_are_read() {
    let request = request("tools/call", r#"{"name":"rm","arguments":{"a":1},"task":{"ttl":5}}"#);
    let Some(RequestParams::ToolCall(call)) = request.view().unwrap() else {
        panic!("not a tool call");
    };
    assert_eq!(call.name, "rm");
    assert_eq!(call.arguments.unwrap().len(), 1);
    assert!(call.task.is_some());
    assert!(!call.retry.is_retry());

    let params = object(r#"{"name":"rm","inputResponses":{"ok":{}},"requestState":"s"}"#);
    let call = CallTool::read(Some(&params)).unwrap();
    assert!(call.arguments.is_none());
    assert!(call.retry.is_retry());
    assert_eq!(call.retry.request_state, Some("s"));
}

#[test]
fn malformed_tool_calls_name_the_field() {
    let long = format!(r#"{{"name":"{}"}}"#, "n".repeat(257));
    for (params, expected) in [
        ("{}", "`params.name` is missing"),
        (r#"{"name":7}"#, "`params.name` must be a string"),
        (r#"{"name":null}"#, "`params.name` must be a string"),
        (&long, "`params.name` is longer than 256"),
        (r#"{"name":"a","arguments":[]}"#, "`params.arguments` must be an object"),
        (r#"{"name":"a","arguments":null}"#, "`params.arguments` must be an object"),
        (r#"{"name":"a","arguments":"{}"}"#, "`params.arguments` must be an object"),
        (r#"{"name":"a","task":true}"#, "`params.task` must be an object"),
        (r#"{"name":"a","inputResponses":[]}"#, "`params.inputResponses` must be an object"),
        (r#"{"name":"a","requestState":{}}"#, "`params.requestState` must be a string"),
    ] {
        assert_eq!(fault(params, |p| CallTool::read(Some(p)).map(|_| ())), expected);
    }
    assert_eq!(CallTool::read(None).unwrap_err().to_string(), "`params.name` is missing");
}

#[test]
fn resources_prompts_and_lists_are_read() {
    let uri = object(r#"{"uri":"file:///a?b"}"#);
    assert_eq!(ReadResource::read(Some(&uri)).unwrap().uri, "file:///a?b");
    let prompt = object(r#"{"name":"p","arguments":{"x":"y"}}"#);
    assert_eq!(GetPrompt::read(Some(&prompt)).unwrap().name, "p");
    let page = object(r#"{"cursor":"c"}"#);
    assert_eq!(ListParams::read(Some(&page)).unwrap().cursor, Some("c"));
    assert_eq!(ListParams::read(None).unwrap().cursor, None);
    let list = |p: &_| ListParams::read(Some(p)).map(|_| ());
    assert_eq!(fault(r#"{"cursor":null}"#, list), "`params.cursor` must be a string");
    let resource = |p: &_| ReadResource::read(Some(p)).map(|_| ());
    assert_eq!(fault(r#"{"uri":["a"]}"#, resource), "`params.uri` must be a string");
}

#[test]
fn completions_name_their_prompt_or_resource() {
    let read_reference = |reference: &str| {
        let params = format!(r#"{{"ref":{reference},"argument":{{"name":"x","value":"v"}}}}"#);
        let params = object(&params);
        let complete = Complete::read(Some(&params));
        complete.map(|complete| match complete.reference {
            Reference::Prompt(name) => format!("prompt {name}"),
            Reference::Resource(uri) => format!("resource {uri}"),
        })
    };
    let prompt = read_reference(r#"{"type":"ref/prompt","name":"p","uri":"u"}"#);
    assert_eq!(prompt.unwrap(), "prompt p");
    let resource = read_reference(r#"{"type":"ref/resource","uri":"u"}"#);
    assert_eq!(resource.unwrap(), "resource u");
    for (reference, expected) in [
        (r#"{"type":"ref/tool","name":"x"}"#, "`params.ref.type` must be `ref/prompt` or `ref/resource`"),
        (r#"{"type":"ref/prompt","uri":"u"}"#, "`params.ref.name` is missing"),
        (r#""p""#, "`params.ref` must be an object"),
    ] {
        assert_eq!(read_reference(reference).unwrap_err().to_string(), expected);
    }
}

#[test]
fn levels_are_a_closed_list_in_order() {
    let level = |text: &str| SetLevel::read(Some(&object(&format!(r#"{{"level":{text}}}"#))));
    assert_eq!(level(r#""info""#).unwrap().level, LogLevel::Info);
    assert_eq!(level(r#""Info""#).unwrap_err().to_string(), "`params.level` must be a log level");
    assert!(LogLevel::Debug < LogLevel::Error && LogLevel::Error < LogLevel::Emergency);
}

#[test]
fn initialize_needs_all_three() {
    let full = object(
        r#"{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"a","version":"1"}}"#,
    );
    assert_eq!(Initialize::read(Some(&full)).unwrap().protocol_version, "2025-06-18");
    let read = |p: &_| Initialize::read(Some(p)).map(|_| ());
    assert_eq!(fault("{}", read), "`params.protocolVersion` is missing");
    assert_eq!(fault(r#"{"protocolVersion":"x","capabilities":{}}"#, read), "`params.clientInfo` is missing");
}

#[test]
fn listen_filters_are_read() {
    let params = object(
        r#"{"notifications":{"toolsListChanged":true,"resourceSubscriptions":["a:b"],"taskIds":["t"]}}"#,
    );
    let expected = Listen {
        tools_list_changed: true,
        resource_uris: vec!["a:b"],
        task_ids: vec!["t"],
        ..Listen::default()
    };
    assert_eq!(Listen::read(Some(&params)).unwrap(), expected);
    let read = |p: &_| Listen::read(Some(p)).map(|_| ());
    assert_eq!(fault("{}", read), "`params.notifications` is missing");
    assert_eq!(
        fault(r#"{"notifications":{"toolsListChanged":1}}"#, read),
        "`params.notifications.toolsListChanged` must be a boolean"
    );
    let many = format!(r#"{{"notifications":{{"taskIds":[{}"x"]}}}}"#, r#""x","#.repeat(1000));
    assert_eq!(fault(&many, read), "`params.notifications.taskIds` is longer than 1000");
}

#[test]
fn notices_name_their_request() {
    let params = object(r#"{"requestId":"1","reason":"late"}"#);
    let cancelled = Cancelled::read(Some(&params)).unwrap();
    assert_eq!((cancelled.request_id, cancelled.reason), (Id::from("1"), Some("late")));
    let params = object(r#"{"progressToken":7,"progress":0.5}"#);
    assert_eq!(Progress::read(Some(&params)).unwrap().token, Id::from(7));
    let cancel = |p: &_| Cancelled::read(Some(p)).map(|_| ());
    assert_eq!(fault(r#"{"requestId":null}"#, cancel), "`params.requestId` must be a string or an integer");
    assert_eq!(fault("{}", |p| TaskId::read(Some(p)).map(|_| ())), "`params.taskId` is missing");
}

#[test]
fn elicitation_has_two_modes() {
    let mode = |params: &str| {
        let params = object(params);
        Elicit::read(Some(&params)).map(|elicit| matches!(elicit.mode, ElicitMode::Url("u:")))
    };
    assert!(!mode(r#"{"message":"m"}"#).unwrap());
    assert!(mode(r#"{"message":"m","mode":"url","url":"u:"}"#).unwrap());
    assert!(mode(r#"{"message":"m","mode":"voice"}"#).is_err());
}

/// Every request of the table has a view: none falls through to "not a request".
#[test]
fn every_request_has_a_view() {
    let params = format!(
        r#"{{"_meta":{MODERN_META},"name":"n","uri":"u","taskId":"t","inputResponses":{{}},"level":"info",
        "ref":{{"type":"ref/prompt","name":"p"}},"argument":{{"name":"a","value":""}},"notifications":{{}},
        "protocolVersion":"2025-11-25","capabilities":{{}},"clientInfo":{{}},"message":"m"}}"#
    );
    let requests = METHODS.iter().filter(|row| row.kind == MethodKind::Request);
    for method in requests.filter(|row| row.sent_by(Sender::Client)) {
        let era = match method.exists(LEGACY, Sender::Client) {
            true => LEGACY,
            false => Era::Modern,
        };
        let request = request_in(era, method.name, &params);
        assert!(request.view().unwrap().is_some(), "{}", method.name);
    }
}

#[test]
fn notifications_are_viewed_by_subject() {
    let text = br#"{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"a:b"}}"#;
    let Message::Notification(notification) = read(text, Sender::Server, LEGACY).unwrap() else {
        panic!("not a notification");
    };
    let view = notification.view().unwrap();
    assert!(matches!(view, NotificationParams::ResourceUpdated("a:b")));
}

#[test]
fn meta_is_read_and_set_in_place() {
    let mut params = object(r#"{"name":"a","_meta":{"progressToken":"theirs","com.example/x":1}}"#);
    assert_eq!(meta::progress_token(Some(&params)).unwrap(), Some(Id::from("theirs")));
    meta::set(&mut params, meta::key::PROGRESS_TOKEN, Id::from(9).to_value());
    let expected = object(r#"{"name":"a","_meta":{"progressToken":9,"com.example/x":1}}"#);
    assert_eq!(params, expected);
    let mut empty = object("{}");
    meta::set(&mut empty, meta::key::SUBSCRIPTION_ID, Id::from(3).to_value());
    assert_eq!(meta::subscription_id(Some(&empty)).unwrap(), Some(Id::from(3)));
}

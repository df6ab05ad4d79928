//! Lists: pages read, elements removed, everything else kept; and other results.

use portcullis_json::{Value, compact};
use portcullis_mcp::list::{ListKind, filter, read_listed, read_tools};
use portcullis_mcp::result::{ResultKind, created_task, input_requests, make_private, tool_result};
use portcullis_mcp::{Era, Subject};

use crate::{LEGACY, object};

const TOOLS: &str = r#"{"_meta":{"a":1},"tools":[{"x":[1.0,1e2],"name":"b","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true,"destructiveHint":"no"},"execution":{"taskSupport":"optional"}},{"name":"a","title":null,"description":"d","inputSchema":{},"outputSchema":null}],"nextCursor":"n","more":[]}"#;

#[test]
fn tools_are_read() {
    let result = object(TOOLS);
    let page = read_tools(&result).unwrap();
    assert_eq!((page.unreadable, page.next_cursor), (0, Some("n")));
    let names: Vec<&str> = page.elements.iter().map(|tool| tool.name).collect();
    assert_eq!(names, ["b", "a"]);
    let tool = &page.elements[0];
    assert_eq!(tool.annotations.read_only, Some(true));
    assert_eq!(tool.annotations.destructive, None);
    assert!(tool.definition.contains_key("execution"));
    assert_eq!(page.elements[1].description, Some("d"));
    assert!(page.elements[1].output_schema.is_none());
}

#[test]
fn unreadable_tools_are_counted_and_never_kept() {
    let long = "n".repeat(257);
    for tool in [
        "1",
        "{}",
        r#"{"name":"","inputSchema":{}}"#,
        r#"{"name":7,"inputSchema":{}}"#,
        &format!(r#"{{"name":"{long}","inputSchema":{{}}}}"#),
        r#"{"name":"a","inputSchema":{},"input_schema":{}}"#,
        r#"{"name":"a","inputSchema":{},"nаme":"b"}"#,
    ] {
        let mut result = object(&format!(r#"{{"tools":[{tool}],"nextCursor":null}}"#));
        assert_eq!(read_tools(&result).unwrap().unreadable, 1, "{tool}");
        assert_eq!(filter(&mut result, ListKind::Tools, |_| true), Ok(1), "{tool}");
    }
    let schemaless = object(r#"{"tools":[{"name":"a"}]}"#);
    assert_eq!(read_tools(&schemaless).unwrap().unreadable, 1);
}

#[test]
fn filtering_keeps_order_spelling_and_the_rest() {
    let mut result = object(TOOLS);
    assert_eq!(filter(&mut result, ListKind::Tools, |_| true), Ok(0));
    assert_eq!(compact(&Value::Object(result.clone())), TOOLS);
    let removed = filter(&mut result, ListKind::Tools, |tool| tool.identity == "a");
    assert_eq!(removed, Ok(1));
    assert_eq!(
        compact(&Value::Object(result)),
        r#"{"_meta":{"a":1},"tools":[{"name":"a","title":null,"description":"d","inputSchema":{},"outputSchema":null}],"nextCursor":"n","more":[]}"#
    );
}

#[test]
fn every_list_has_its_identity() {
    let rows = [
        (Subject::ToolList, r#"{"tools":[{"name":"i"}]}"#),
        (Subject::ResourceList, r#"{"resources":[{"uri":"i","name":"other"}]}"#),
        (Subject::ResourceTemplateList, r#"{"resourceTemplates":[{"uriTemplate":"i","name":"other"}]}"#),
        (Subject::PromptList, r#"{"prompts":[{"name":"i","arguments":[]}]}"#),
        (Subject::TaskList, r#"{"tasks":[{"taskId":"i","status":"working"}]}"#),
    ];
    for (subject, text) in rows {
        let kind = ListKind::of(subject).unwrap();
        let result = object(text);
        let page = read_listed(&result, kind).unwrap();
        assert_eq!(page.elements[0].identity, "i", "{text}");
    }
    assert_eq!(ListKind::of(Subject::ToolCall), None);
}

#[test]
fn lists_that_are_none_are_faults() {
    let many = format!(r#"{{"tools":[{}0]}}"#, "0,".repeat(10_000));
    for (text, expected) in [
        ("{}", "`result.tools` is missing"),
        (r#"{"tools":{}}"#, "`result.tools` must be an array"),
        (r#"{"tools":null}"#, "`result.tools` must be an array"),
        (&many, "`result.tools` is longer than 10000"),
    ] {
        let mut result = object(text);
        assert_eq!(read_tools(&result).unwrap_err().to_string(), expected);
        let fault = filter(&mut result, ListKind::Tools, |_| true).unwrap_err();
        assert_eq!(fault.to_string(), expected);
    }
    let cursor = object(r#"{"tools":[],"nextCursor":7}"#);
    assert_eq!(read_tools(&cursor).unwrap_err().to_string(), "`result.nextCursor` must be a string");
}

#[test]
fn results_become_private_and_short_lived() {
    for (before, after) in [
        (r#"{"ttlMs":60000,"cacheScope":"public"}"#, r#"{"ttlMs":5000,"cacheScope":"private"}"#),
        (r#"{"ttlMs":7}"#, r#"{"ttlMs":7,"cacheScope":"private"}"#),
        (r#"{"ttlMs":-7}"#, r#"{"ttlMs":0,"cacheScope":"private"}"#),
        (r#"{"ttlMs":"9"}"#, r#"{"ttlMs":0,"cacheScope":"private"}"#),
        (r#"{"ttlMs":1e300}"#, r#"{"ttlMs":0,"cacheScope":"private"}"#),
        ("{}", r#"{"ttlMs":0,"cacheScope":"private"}"#),
    ] {
        let mut result = object(before);
        make_private(&mut result, 5000);
        assert_eq!(compact(&Value::Object(result)), after, "{before}");
    }
}

#[test]
fn kinds_of_results() {
    let kind = |text: &str| ResultKind::of(&object(text)).ok();
    assert_eq!(kind("{}"), Some(ResultKind::Complete));
    assert_eq!(kind(r#"{"resultType":"complete"}"#), Some(ResultKind::Complete));
    assert_eq!(kind(r#"{"resultType":"input_required"}"#), Some(ResultKind::InputRequired));
    assert_eq!(kind(r#"{"resultType":"task"}"#), Some(ResultKind::Task));
    assert_eq!(kind(r#"{"resultType":"other"}"#), None);
    assert_eq!(kind(r#"{"resultType":null}"#), None);
}

#[test]
fn announced_tasks_are_found() {
    let task = |era, text: &str| {
        let result = object(text);
        created_task(era, &result).map(|task| task.map(|task| task.0.to_owned()))
    };
    let modern = r#"{"resultType":"task","taskId":"t"}"#;
    let legacy = r#"{"task":{"taskId":"t","status":"working"}}"#;
    assert_eq!(task(Era::Modern, modern), Ok(Some("t".to_owned())));
    assert_eq!(task(LEGACY, legacy), Ok(Some("t".to_owned())));
    assert_eq!(task(Era::Modern, legacy), Ok(None));
    assert_eq!(task(LEGACY, modern), Ok(None));
    assert!(task(Era::Modern, r#"{"resultType":"task"}"#).is_err());
    assert!(task(LEGACY, r#"{"task":{"taskId":7}}"#).is_err());
}

#[test]
fn input_requests_are_read_strictly() {
    let result = object(
        r#"{"inputRequests":{"a":{"method":"elicitation/create","params":{"message":"m"}},"b":{"method":"roots/list"}}}"#,
    );
    let requests = input_requests(&result).unwrap();
    let found: Vec<(&str, Subject)> =
        requests.iter().map(|request| (request.key, request.method.subject)).collect();
    assert_eq!(found, [("a", Subject::Elicitation), ("b", Subject::RootList)]);
    assert!(input_requests(&object("{}")).unwrap().is_empty());
    for bad in [
        r#"[]"#,
        r#"{"a":{"method":"tools/call"}}"#,
        r#"{"a":{"method":"roots/list","Method":"x"}}"#,
        r#"{"a":{"method":"elicitation/create","params":{"Mode":"url"}}}"#,
        r#"{"a":{"params":{}}}"#,
        r#"{"a":{"method":"roots/list","params":[]}}"#,
    ] {
        assert!(input_requests(&object(&format!(r#"{{"inputRequests":{bad}}}"#))).is_err(), "{bad}");
    }
}

#[test]
fn tool_results_fit_their_era() {
    let meta = object(r#"{"dev.portcullis/decision":{}}"#);
    let text = |era, meta| compact(&Value::Object(tool_result(era, "no", true, meta)));
    assert_eq!(text(LEGACY, None), r#"{"content":[{"type":"text","text":"no"}],"isError":true}"#);
    assert_eq!(
        text(Era::Modern, Some(meta)),
        r#"{"resultType":"complete","content":[{"type":"text","text":"no"}],"isError":true,"_meta":{"dev.portcullis/decision":{}}}"#
    );
}

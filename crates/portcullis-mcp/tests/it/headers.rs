//! Headers against bodies, both ways.

use portcullis_mcp::headers::{
    HeaderProblem, ParamHeaders, ParamPolicy, SchemaFault, compare, decode, encode, for_server,
};
use portcullis_mcp::{Era, Message};

use crate::{MODERN_META, object, request_in};

const SCHEMA: &str = r#"{"type":"object","properties":{
    "region":{"type":"string","x-mcp-header":"Region"},
    "count":{"type":"integer","x-mcp-header":"Count"},
    "options":{"type":"object","properties":{"dry":{"type":"boolean","x-mcp-header":"Dry"}}},
    "free":{"type":"string","default":{"x-mcp-header":"data"}}}}"#;

fn mirrored() -> ParamHeaders {
    ParamHeaders::from_schema(&object(SCHEMA)).unwrap()
}

fn message(method: &str, fields: &str) -> Message {
    let params = format!(r#"{{{fields}"_meta":{MODERN_META}}}"#);
    Message::Request(request_in(Era::Modern, method, &params))
}

/// `headers`: one `name: value` per line.
fn check(headers: &str, message: &Message, expected: Result<(), (&str, HeaderProblem)>) {
    let pairs: Vec<(&str, &[u8])> = headers
        .lines()
        .map(|line| line.trim_start().split_once(": ").unwrap())
        .map(|(name, value)| (name, value.as_bytes()))
        .collect();
    let mirrored = mirrored();
    let found = compare(&pairs, message, ParamPolicy::Mirrored(&mirrored));
    let found = found.map_err(|mismatch| (mismatch.header, mismatch.problem));
    let expected = expected.map_err(|(header, problem)| (header.to_owned(), problem));
    assert_eq!(found, expected, "{headers}");
}

const CALL: &str = "mcp-protocol-version: 2026-07-28\nMCP-METHOD: tools/call\nMcp-Name: rm";

#[test]
fn equal_headers_pass() {
    check(CALL, &message("tools/call", r#""name":"rm","#), Ok(()));
    check("MCP-Protocol-Version: 2026-07-28\nMcp-Method: tools/list", &message("tools/list", ""), Ok(()));
    check(
        "MCP-Protocol-Version: 2026-07-28\nMcp-Method: resources/read\nMcp-Name: a:b,c",
        &message("resources/read", r#""uri":"a:b,c","#),
        Ok(()),
    );
    check(
        "MCP-Protocol-Version: 2026-07-28\nMcp-Method: tasks/get\nMcp-Name: t1",
        &message("tasks/get", r#""taskId":"t1","#),
        Ok(()),
    );
    check(
        "MCP-Protocol-Version: 2026-07-28\nMcp-Method: tools/call\nMcp-Name: =?base64?w7w=?=\nMcp-Param-Unknown: x",
        &message("tools/call", r#""name":"ü","#),
        Ok(()),
    );
}

#[test]
fn missing_repeated_and_unequal_headers_are_refused() {
    use HeaderProblem::*;
    let call = message("tools/call", r#""name":"rm","#);
    let version = "MCP-Protocol-Version: 2026-07-28";
    let rows: &[(&str, &str, HeaderProblem)] = &[
        ("Mcp-Method: tools/call\nMcp-Name: rm", "MCP-Protocol-Version", Missing),
        (&format!("{version}\nMcp-Name: rm"), "Mcp-Method", Missing),
        (&format!("{version}\nMcp-Method: tools/call"), "Mcp-Name", Missing),
        (&CALL.replace("2026-07-28", "2025-11-25"), "MCP-Protocol-Version", Differs),
        (&CALL.replace("tools/call", "tools/list"), "Mcp-Method", Differs),
        (&CALL.replace("tools/call", "Tools/call"), "Mcp-Method", Differs),
        (&CALL.replace("tools/call", "tools/call, tools/call"), "Mcp-Method", Differs),
        (&CALL.replace("rm", "RM"), "Mcp-Name", Differs),
        (&CALL.replace("rm", "ls, rm"), "Mcp-Name", Differs),
        (&CALL.replace("rm", "=?base64?cm0?="), "Mcp-Name", Illegal),
        (&CALL.replace("rm", "=?BASE64?cm0=?="), "Mcp-Name", Differs),
        (&CALL.replace("rm", "=?base64?/w==?="), "Mcp-Name", Illegal),
        (&CALL.replace("rm", "rm "), "Mcp-Name", Illegal),
        (&CALL.replace("rm", "r\u{1}m"), "Mcp-Name", Illegal),
        (&CALL.replace("rm", "rü"), "Mcp-Name", Illegal),
        (&format!("{CALL}\nmcp-name: rm"), "Mcp-Name", Repeated),
        (&format!("{CALL}\nMcp-Method: tools/list"), "Mcp-Method", Repeated),
        (&format!("{CALL}\nmcp-protocol-version: 2026-07-28"), "MCP-Protocol-Version", Repeated),
    ];
    for (headers, header, problem) in rows {
        check(headers, &call, Err((header, *problem)));
    }
    let list = message("tools/list", "");
    check(
        "MCP-Protocol-Version: 2026-07-28\nMcp-Method: tools/list\nMcp-Name: rm",
        &list,
        Err(("Mcp-Name", Unfounded)),
    );
}

#[test]
fn a_mismatch_has_its_code() {
    let call = message("tools/call", r#""name":"rm","#);
    let mismatch = compare(&[], &call, ParamPolicy::NotCompared).unwrap_err();
    let refusal = portcullis_mcp::Refusal::from(mismatch);
    assert_eq!(refusal.code(), -32020);
    assert_eq!(refusal.public_message(), "header `MCP-Protocol-Version` is missing");
}

#[test]
fn mirrored_arguments_are_compared() {
    use HeaderProblem::*;
    let call = |arguments: &str| message("tools/call", &format!(r#""name":"rm","arguments":{arguments},"#));
    let with = |more: &str| format!("{CALL}{more}");
    check(&with("\nMcp-Param-Region: eu"), &call(r#"{"region":"eu"}"#), Ok(()));
    check(&with("\nmcp-param-REGION: EU"), &call(r#"{"region":"eu"}"#), Err(("Mcp-Param-Region", Differs)));
    check(&with(""), &call(r#"{"region":"eu"}"#), Err(("Mcp-Param-Region", Missing)));
    check(&with("\nMcp-Param-Region: eu"), &call("{}"), Err(("Mcp-Param-Region", Unfounded)));
    check(&with("\nMcp-Param-Region: eu"), &call(r#"{"region":null}"#), Err(("Mcp-Param-Region", Unfounded)));
    check(&with(""), &call(r#"{"region":null}"#), Ok(()));
    check(&with("\nMcp-Param-Count: 7"), &call(r#"{"count":7.0}"#), Ok(()));
    check(&with("\nMcp-Param-Count: 7.0"), &call(r#"{"count":7}"#), Ok(()));
    check(&with("\nMcp-Param-Count: 8"), &call(r#"{"count":7}"#), Err(("Mcp-Param-Count", Differs)));
    check(&with("\nMcp-Param-Count: x"), &call(r#"{"count":7}"#), Err(("Mcp-Param-Count", Differs)));
    check(
        &with("\nMcp-Param-Count: 7\nMcp-Param-Count: 7"),
        &call(r#"{"count":7}"#),
        Err(("Mcp-Param-Count", Repeated)),
    );
    check(&with("\nMcp-Param-Dry: true"), &call(r#"{"options":{"dry":true}}"#), Ok(()));
    check(
        &with("\nMcp-Param-Dry: TRUE"),
        &call(r#"{"options":{"dry":true}}"#),
        Err(("Mcp-Param-Dry", Differs)),
    );
    check(&with("\nMcp-Param-Count: 7"), &call(r#"{"count":"7"}"#), Ok(()));
    check(&with("\nMcp-Param-Count: 7.0"), &call(r#"{"count":"7"}"#), Err(("Mcp-Param-Count", Differs)));
    check(&with("\nMcp-Param-Region: {}"), &call(r#"{"region":{}}"#), Err(("Mcp-Param-Region", Unfounded)));
    let unsafe_integer = call(r#"{"count":9007199254740992}"#);
    check(&with("\nMcp-Param-Count: 9007199254740993"), &unsafe_integer, Err(("Mcp-Param-Count", Unfounded)));
}

#[test]
fn marks_that_break_the_rules_are_found() {
    let fault = |schema: &str| ParamHeaders::from_schema(&object(schema)).unwrap_err();
    let property = |property: &str| fault(&format!(r#"{{"properties":{{"a":{property}}}}}"#));
    assert_eq!(property(r#"{"type":"string","x-mcp-header":""}"#), SchemaFault::BadName);
    assert_eq!(property(r#"{"type":"string","x-mcp-header":"a b"}"#), SchemaFault::BadName);
    assert_eq!(property(r#"{"type":"string","x-mcp-header":"a\r\nb"}"#), SchemaFault::BadName);
    assert_eq!(property(r#"{"type":"string","x-mcp-header":7}"#), SchemaFault::BadName);
    assert_eq!(property(r#"{"type":"number","x-mcp-header":"A"}"#), SchemaFault::BadType);
    assert_eq!(property(r#"{"type":["string"],"x-mcp-header":"A"}"#), SchemaFault::BadType);
    assert_eq!(
        property(r#"{"type":"array","items":{"type":"string","x-mcp-header":"A"}}"#),
        SchemaFault::Misplaced
    );
    assert_eq!(
        fault(r#"{"oneOf":[{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}]}"#),
        SchemaFault::Misplaced
    );
    assert_eq!(fault(r#"{"x-mcp-header":"A"}"#), SchemaFault::Misplaced);
    let named = object(r#"{"properties":{"x-mcp-header":{"type":"string"}}}"#);
    assert_eq!(ParamHeaders::from_schema(&named), Ok(ParamHeaders::default()));
    assert_eq!(
        fault(
            r#"{"properties":{"a":{"type":"string","x-mcp-header":"A"},"b":{"type":"string","x-mcp-header":"a"}}}"#
        ),
        SchemaFault::RepeatedName
    );
}

#[test]
fn values_survive_the_sentinel() {
    for value in ["", "plain", "a b", " a", "a ", "ü", "a\nb", "=?base64?YQ==?=", "\t", "a,b", "日本"] {
        let header = encode(value);
        assert!(header.bytes().all(|byte| (b' '..=b'~').contains(&byte)), "{value:?}");
        assert_eq!(decode(header.as_bytes()).as_deref(), Some(value));
    }
    assert_eq!(encode("a b"), "a b");
    assert_eq!(encode(" a"), "=?base64?IGE=?=");
    assert_eq!(decode(b"\xff"), None);
    assert_eq!(decode(b"=?base64?YQ?="), None, "the padding is missing");
    for literal in ["=?base64?YQ==", "YQ==?=", "=?base64?=", "=?BASE64?YQ==?="] {
        assert_eq!(decode(literal.as_bytes()).as_deref(), Some(literal), "one mark alone encodes nothing");
    }
}

/// What we build for a server is what we would accept from a client.
#[test]
fn built_headers_compare_equal() {
    let messages = [
        message(
            "tools/call",
            r#""name":"rm -rf ü","arguments":{"region":" eu","count":7e0,"options":{"dry":false}},"#,
        ),
        message("tools/list", ""),
        message("prompts/get", r#""name":"p","#),
        message("resources/read", r#""uri":"file:///a b","#),
        message("tasks/cancel", r#""taskId":"t","#),
    ];
    for message in messages {
        let mirrored = mirrored();
        let built = for_server(&message, &mirrored);
        let pairs: Vec<(&str, &[u8])> =
            built.iter().map(|(name, value)| (name.as_str(), value.as_bytes())).collect();
        compare(&pairs, &message, ParamPolicy::Mirrored(&mirrored)).unwrap();
    }
    let call = message("tools/call", r#""name":"x","arguments":{"count":70e-1,"region":"ü"},"#);
    let names: Vec<String> =
        for_server(&call, &mirrored()).into_iter().map(|(name, value)| format!("{name}: {value}")).collect();
    assert_eq!(
        names,
        [
            "MCP-Protocol-Version: 2026-07-28",
            "Mcp-Method: tools/call",
            "Mcp-Name: x",
            "Mcp-Param-Region: =?base64?w7w=?=",
            "Mcp-Param-Count: 7",
        ]
    );
}

//! The requests of the load, byte for byte, and the policy that judges them.

use serde_json::{Value, json};

const REVISION: &str = "2026-07-28";
/// Rules on the arguments of each tool.
const RULES: usize = 50;
/// More than any run reaches: what is measured is a limit that admits.
const LIMIT: u64 = 1_000_000_000;

/// The token of the grant for the server at this path.
pub(super) fn token(path: &str) -> String {
    let server = path.rsplit('/').next().unwrap_or_default();
    format!("a-token-for-measuring-that-is-long-enough-0123456789-{server}")
}

/// A call of a tool with arguments of about so many bytes.
pub(super) fn call(path: &str, tool: &str, bytes: usize) -> Vec<u8> {
    let text = "Some words. ".repeat(bytes.saturating_sub(60) / 12);
    let arguments = json!({"title": "welcome", "count": 3, "text": text});
    let params = json!({"name": tool, "arguments": arguments, "_meta": meta()});
    modern(path, "tools/call", Some(tool), &params)
}

/// A list of all tools.
pub(super) fn list(path: &str) -> Vec<u8> {
    modern(path, "tools/list", None, &json!({"_meta": meta()}))
}

/// The opening of a session of the older protocol.
pub(super) fn initialize(path: &str) -> Vec<u8> {
    let params = json!({
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}
    });
    post(path, "", &json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}))
}

/// The stream of such a session.
pub(super) fn stream(path: &str, session: &str) -> Vec<u8> {
    format!(
        "GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {}\r\nAccept: text/event-stream\r\n\
         Mcp-Session-Id: {session}\r\nMCP-Protocol-Version: 2025-11-25\r\n\r\n",
        token(path)
    )
    .into_bytes()
}

/// Its end.
pub(super) fn end(path: &str, session: &str) -> Vec<u8> {
    format!(
        "DELETE {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {}\r\nMcp-Session-Id: {session}\r\n\
         MCP-Protocol-Version: 2025-11-25\r\n\r\n",
        token(path)
    )
    .into_bytes()
}

fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": REVISION,
        "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {}
    })
}

fn modern(path: &str, method: &str, name: Option<&str>, params: &Value) -> Vec<u8> {
    let name = name.map(|name| format!("Mcp-Name: {name}\r\n")).unwrap_or_default();
    let headers = format!("MCP-Protocol-Version: {REVISION}\r\nMcp-Method: {method}\r\n{name}");
    post(path, &headers, &json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}))
}

fn post(path: &str, headers: &str, message: &Value) -> Vec<u8> {
    let body = message.to_string();
    format!(
        "POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {}\r\n\
         Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n{headers}\
         Content-Length: {}\r\n\r\n{body}",
        token(path),
        body.len()
    )
    .into_bytes()
}

/// Each tool with 50 rules on its arguments, all of which let the call pass, and a sliding limit.
pub(super) fn policy() -> String {
    let rules: Vec<Value> = (0..RULES / 2).map(rule).collect();
    let denials: Vec<Value> = (0..RULES - RULES / 2).map(denial).collect();
    let tool = json!({
        "require": rules, "deny_if": denials, "limits": [{"counter": "calls", "max": LIMIT, "window": "hour"}]
    });
    let tools =
        ["read_note", "read_events", "write_note", "slow"].map(|name| (name.to_owned(), tool.clone()));
    let mut tools: serde_json::Map<String, Value> = tools.into_iter().collect();
    tools.insert("read_entry_*".to_owned(), json!({}));
    json!({"version": "1", "default": "deny", "tools": tools}).to_string()
}

fn rule(number: usize) -> Value {
    let condition = match number % 5 {
        0 => json!({"path": "args.count", "op": "lte", "value": 1000 + number}),
        1 => json!({"path": "args.title", "op": "in", "value": ["welcome", format!("note {number}")]}),
        2 => json!({"path": "args.title", "op": "length_lte", "value": 100 + number}),
        3 => json!({"path": "args.title", "op": "regex", "value": format!("^[a-z]{{1,{}}}$", 20 + number)}),
        _ => json!({"path": "args.count", "op": "gte", "value": 0}),
    };
    json!({"conditions": [condition], "on_deny": "no"})
}

fn denial(number: usize) -> Value {
    let condition = match number % 3 {
        0 => json!({"path": "args.title", "op": "eq", "value": format!("secret {number}")}),
        1 => json!({"path": "args.title", "op": "contains", "value": format!("private {number}")}),
        _ => json!({"path": "args.count", "op": "gt", "value": 100_000 + number}),
    };
    json!({"conditions": [condition], "on_deny": "no"})
}

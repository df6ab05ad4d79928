//! A small MCP server on standard input and output, as fast as one can be: what `cargo xtask bench wrap`
//! measures against. It answers one request at a time and knows two tools.

use std::io::{self, BufRead as _, Write as _};

use serde_json::{Value, json};

fn main() -> io::Result<()> {
    let mut out = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        let Ok(request) = serde_json::from_str::<Value>(&line?) else {
            continue;
        };
        let Some(id) = request.get("id").filter(|id| !id.is_null()) else {
            continue;
        };
        let method = request.get("method").and_then(Value::as_str).unwrap_or_default();
        let answer = match result(method, request.get("params").unwrap_or(&Value::Null)) {
            Some(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
            None => {
                json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "unknown method"}})
            }
        };
        writeln!(out, "{answer}")?;
        out.flush()?;
    }
    Ok(())
}

fn result(method: &str, params: &Value) -> Option<Value> {
    match method {
        "initialize" => Some(json!({
            "protocolVersion": params.get("protocolVersion"),
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "stdio-server", "version": "1"}
        })),
        "ping" => Some(json!({})),
        "tools/list" => Some(json!({"tools": [tool("read_note", true), tool("add_note", false)]})),
        "tools/call" => Some(json!({"content": [{"type": "text", "text": "done"}]})),
        _ => None,
    }
}

fn tool(name: &str, read_only: bool) -> Value {
    json!({
        "name": name,
        "description": "For measuring.",
        "inputSchema": {"type": "object", "properties": {"title": {"type": "string"}}},
        "annotations": {"readOnlyHint": read_only}
    })
}

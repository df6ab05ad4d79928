//! A request that would be let through, and what a case changes in it.

use portcullis_json::Value;
use portcullis_mcp::headers::encode;

use super::case::text;
use super::placeholders::{Words, expand};
use crate::client::MODERN_META;
use crate::rig::TOKEN;

/// Which protocol the client and the server of an exchange speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Era {
    Modern,
    Legacy,
}

impl Era {
    fn meta(self) -> &'static str {
        if self == Era::Modern { MODERN_META } else { "" }
    }
}

/// In every request; in no answer.
pub(crate) const CANARY: &str = "kanarienvogel-5521";

/// What every case may say: of this era, in this session.
pub(crate) fn words(era: Era, session: &str) -> Words {
    let call = call_of(era, "echo");
    let meta = match era.meta() {
        "" => String::new(),
        meta => format!(",{meta}"),
    };
    let head: String = standard_headers(era, session, "tools/call", Some("echo"))
        .iter()
        .map(|(name, value)| format!("{name}: {value}\r\n"))
        .collect();
    [
        ("call-in-chunks", format!("1\r\n{{\r\n{:x};note=1\r\n{}\r\n0\r\n\r\n", call.len() - 1, &call[1..])),
        ("call", call.clone()),
        ("length", call.len().to_string()),
        ("write-call", call_of(era, "write")),
        (",meta", meta),
        ("head", head),
        ("token", TOKEN.to_owned()),
        ("session", session.to_owned()),
        ("canary", CANARY.to_owned()),
    ]
    .map(|(word, meaning)| (word.to_owned(), meaning.into_bytes()))
    .into()
}

fn call_of(era: Era, tool: &str) -> String {
    let arguments = format!(r#"{{"text":"{CANARY}"}}"#);
    message(era, "7", "tools/call", &call_params(tool, &arguments))
}

fn call_params(tool: &str, arguments: &str) -> String {
    format!(r#""name":{},"arguments":{arguments}"#, Value::from(tool))
}

/// An `id` of `none` leaves it out.
fn message(era: Era, id: &str, method: &str, params: &str) -> String {
    let id = if id == "none" { String::new() } else { format!(r#""id":{id},"#) };
    let members: Vec<&str> = [params, era.meta()].into_iter().filter(|part| !part.is_empty()).collect();
    let method = Value::from(method);
    format!(r#"{{"jsonrpc":"2.0",{id}"method":{method},"params":{{{}}}}}"#, members.join(","))
}

fn standard_headers(era: Era, session: &str, method: &str, name: Option<&str>) -> Vec<(String, String)> {
    let mut headers = vec![
        ("Host", "localhost".to_owned()),
        ("Authorization", format!("Bearer {TOKEN}")),
        ("Content-Type", "application/json".to_owned()),
        ("Accept", "application/json, text/event-stream".to_owned()),
        ("X-Note", CANARY.to_owned()),
    ];
    match era {
        Era::Modern => {
            headers.push(("MCP-Protocol-Version", "2026-07-28".to_owned()));
            headers.push(("Mcp-Method", encode(method)));
            headers.extend(name.map(|name| ("Mcp-Name", encode(name))));
        }
        Era::Legacy => {
            headers.push(("MCP-Protocol-Version", "2025-11-25".to_owned()));
            headers.push(("Mcp-Session-Id", session.to_owned()));
        }
    }
    headers.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// The bytes of a case: `send`, or the good request with the case's own fields in it.
pub(crate) fn bytes(case: &Value, era: Era, words: &Words) -> Vec<u8> {
    let field = |key: &str| case.get(key).map(|value| expand(text(value), words));
    if let Some(bytes) = field("send") {
        return bytes;
    }
    let string = |key: &str| field(key).map(|bytes| String::from_utf8(bytes).unwrap());
    let method = string("method");
    let tool = string("tool").unwrap_or_else(|| "echo".to_owned());
    let name = (method.is_none() || case.get("tool").is_some()).then_some(tool.as_str());
    let method = method.unwrap_or_else(|| "tools/call".to_owned());
    let body = field("body").unwrap_or_else(|| {
        let arguments = string("arguments").unwrap_or_else(|| format!(r#"{{"text":"{CANARY}"}}"#));
        let params = string("params").unwrap_or_else(|| match name {
            Some(name) => call_params(name, &arguments),
            None => String::new(),
        });
        message(era, string("id").as_deref().unwrap_or("7"), &method, &params).into_bytes()
    });
    let session = String::from_utf8(words["session"].clone()).unwrap();
    let headers = standard_headers(era, &session, &method, name);
    let headers = headers.into_iter().map(|(name, value)| (name, value.into_bytes())).collect();
    let mut bytes = string("verb").unwrap_or_else(|| "POST".to_owned()).into_bytes();
    bytes.extend(b" ");
    bytes.extend(field("path").unwrap_or_else(|| b"/mcp/fake".to_vec()));
    bytes.extend(b" HTTP/1.1\r\n");
    for (name, value) in changed(headers, case, words, body.len()) {
        bytes.extend([name.as_bytes(), b": ", &value, b"\r\n"].concat());
    }
    bytes.extend(b"\r\n");
    bytes.extend(body);
    bytes
}

/// `headers` take the place of those of the same name; `without` takes away.
fn changed(
    mut headers: Vec<(String, Vec<u8>)>,
    case: &Value,
    words: &Words,
    length: usize,
) -> Vec<(String, Vec<u8>)> {
    headers.push(("Content-Length".to_owned(), length.to_string().into_bytes()));
    let list = |key: &str| case.get(key).and_then(Value::as_array).unwrap_or_default();
    let new: Vec<(String, Vec<u8>)> = list("headers")
        .iter()
        .map(|line| {
            let line = expand(text(line), words);
            let colon = line.windows(2).position(|pair| pair == b": ");
            let colon = colon.unwrap_or_else(|| panic!("no `: ` in {}", line.escape_ascii()));
            (String::from_utf8(line[..colon].to_vec()).unwrap(), line[colon + 2..].to_vec())
        })
        .collect();
    let gone: Vec<&str> =
        list("without").iter().map(text).chain(new.iter().map(|(name, _)| &**name)).collect();
    headers.retain(|(name, _)| !gone.iter().any(|gone| gone.eq_ignore_ascii_case(name)));
    headers.into_iter().chain(new).collect()
}

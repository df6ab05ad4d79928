//! Spans over OTLP: a collector of our own receives one and reads it. Only with the feature `otlp`.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message as _;

use crate::command::Place;
use crate::running::{Running, free_port, paste};

const TOKEN: &str = "a-token-for-tests-that-is-long-enough-0123456789";
const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT: &str = "00f067aa0ba902b7";

type Received = Arc<Mutex<Vec<(String, ExportTraceServiceRequest)>>>;

fn collector() -> (u16, Received) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (port, received) = (listener.local_addr().unwrap().port(), Received::default());
    let kept = received.clone();
    std::thread::spawn(move || {
        for connection in listener.incoming().flatten() {
            let request = take(&connection).unwrap();
            kept.lock().unwrap().push(request);
        }
    });
    (port, received)
}

/// One request per connection.
fn take(mut connection: &TcpStream) -> std::io::Result<(String, ExportTraceServiceRequest)> {
    let mut reader = BufReader::new(connection.try_clone()?);
    let (mut head, mut line, mut length) = (String::new(), String::new(), 0);
    while reader.read_line(&mut line)? > 2 {
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        head.push_str(&line.to_ascii_lowercase());
        line.clear();
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    connection.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")?;
    Ok((head, ExportTraceServiceRequest::decode(body.as_slice()).unwrap()))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn field<'a>(span: &'a Span, key: &str) -> &'a str {
    let found = span.attributes.iter().find(|attribute| attribute.key == key);
    match found.and_then(|attribute| attribute.value.as_ref()?.value.as_ref()) {
        Some(Value::StringValue(text)) => text,
        _ => "-",
    }
}

/// A gateway that sends its spans there; its port.
fn traced(place: &Place, collector: u16) -> (Running, u16) {
    let port = free_port();
    place.file("p.json", r#"{"version": "1", "default": "deny", "tools": {"read_note": {}}}"#);
    place.file(
        "portcullis.toml",
        format!(
            "listen = \"127.0.0.1:{port}\"\ndata_dir = \"data\"\n\n\
             [[servers]]\nname = \"play\"\nurl = \"builtin:playground\"\n\n\
             [[policies]]\nname = \"p\"\nserver = \"play\"\nfile = \"p.json\"\n\n\
             [[grants]]\nlabel = \"alice\"\nserver = \"play\"\npolicy = \"p\"\ntoken = \"env:ALICE_TOKEN\"\n"
        ),
    );
    let otlp = format!("http://127.0.0.1:{collector}");
    let arguments = ["--otlp", &otlp];
    (Running::serve_with(&place.path(""), port, &arguments, &[("ALICE_TOKEN", TOKEN)]), port)
}

/// What a call of `tool` with the argument `title` is answered with.
fn call(place: &Place, port: u16, tool: &str, title: &str) -> String {
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{tool}","arguments":{{"title":"{title}"}},"_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{{}}}}}}}}"#
    );
    let line = format!(
        "curl -s http://127.0.0.1:{port}/mcp/play -H 'Authorization: Bearer {TOKEN}' \
         -H 'Content-Type: application/json' -H 'Accept: application/json, text/event-stream' \
         -H 'MCP-Protocol-Version: 2026-07-28' -H 'Mcp-Method: tools/call' -H 'Mcp-Name: {tool}' \
         -H 'traceparent: 00-{TRACE}-{PARENT}-01' -d '{body}'"
    );
    paste(&place.path(""), &line)
}

#[test]
fn a_collector_receives_the_span_of_a_call_in_the_clients_trace() {
    let ((collector, received), place) = (collector(), Place::new());
    let (gateway, port) = traced(&place, collector);
    assert!(call(&place, port, "read_note", "shopping").contains("result"));
    assert!(call(&place, port, &"n".repeat(200), "x").contains("error"));
    assert_eq!(gateway.stop(), Some(0), "what is left is sent at the end");
    let received = received.lock().unwrap();
    let (head, _) = &received[0];
    assert!(head.starts_with("post /v1/traces ") && head.contains("application/x-protobuf"), "{head}");
    let spans: Vec<&Span> = received
        .iter()
        .flat_map(|(_, request)| &request.resource_spans)
        .flat_map(|resource| &resource.scope_spans)
        .flat_map(|scope| &scope.spans)
        .collect();
    let span = spans.iter().find(|span| span.name == "tools/call read_note").unwrap();
    assert_eq!((hex(&span.trace_id), hex(&span.parent_span_id)), (TRACE.to_owned(), PARENT.to_owned()));
    assert_eq!((field(span, "portcullis.server"), field(span, "portcullis.outcome")), ("play", "allowed"));
    assert!(span.end_time_unix_nano >= span.start_time_unix_nano);
    let all = format!("{received:?}");
    assert!(!all.contains(TOKEN), "a token leaves");
    assert!(!all.contains("shopping"), "an argument leaves");
    assert!(all.contains(&"n".repeat(160)) && !all.contains(&"n".repeat(161)), "what agents write is cut");
}

/// Nobody at the address, and somebody who takes everything and never answers.
#[test]
fn a_collector_that_does_not_answer_stops_nothing() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    for collector in [free_port(), silent.local_addr().unwrap().port()] {
        let place = Place::new();
        let (gateway, port) = traced(&place, collector);
        for _ in 0..20 {
            assert!(call(&place, port, "read_note", "shopping").contains("result"));
        }
        assert_eq!(gateway.stop(), Some(0));
    }
}

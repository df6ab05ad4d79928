//! Who may pass to the HTTP endpoint. Requests are written by hand, as an attacker would.

use std::{
    io::{Read, Write},
    net::TcpStream,
};

use portcullis_testkit::pharo_stand_in::StandIn;
use serde_json::json;

use crate::{
    sdk::{Client, WAYS},
    server::HttpServer,
};

const TOKEN: &str = "correct-horse-battery-staple";

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;

/// The status of one request, and the head of its answer.
fn post(server: &HttpServer, path: &str, headers: &[(&str, &str)], body: &str) -> (u16, String) {
    let mut head = format!("POST {path} HTTP/1.1\r\nConnection: close\r\nContent-Length: {}\r\n", body.len());
    let has = |name: &str| headers.iter().any(|(header, _)| header.eq_ignore_ascii_case(name));
    if !has("host") {
        head.push_str(&format!("Host: {}\r\n", server.authority()));
    }
    head.push_str("Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n");
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    let mut connection = TcpStream::connect(server.authority()).unwrap();
    connection.write_all(format!("{head}\r\n").as_bytes()).unwrap();
    // The server may have refused before the whole body was sent.
    let _refused = connection.write_all(body.as_bytes());
    let mut answer = Vec::new();
    let mut buffer = [0; 4096];
    while !answer.windows(4).any(|window| window == b"\r\n\r\n") {
        let count = connection.read(&mut buffer).unwrap_or(0);
        assert!(count > 0, "no answer: {}", String::from_utf8_lossy(&answer));
        answer.extend_from_slice(&buffer[..count]);
    }
    let text = String::from_utf8_lossy(&answer).into_owned();
    (text.split(' ').nth(1).unwrap().parse().unwrap(), text)
}

fn status(server: &HttpServer, headers: &[(&str, &str)]) -> u16 {
    post(server, "/mcp", headers, INITIALIZE).0
}

#[test]
fn a_foreign_origin_or_host_is_refused() {
    let image = StandIn::start().unwrap();
    let url = image.url();
    let server = HttpServer::start(&[], &[("PHARO_SIS_URL", &url)]);
    assert_eq!(status(&server, &[]), 200);
    let own = format!("http://{}", server.authority());
    for origin in ["http://evil.example", "https://evil.example:443", "null", "http://localhost", &own] {
        assert_eq!(status(&server, &[("Origin", origin)]), 403, "{origin}");
    }
    for host in ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "localhost.evil.example"] {
        assert_eq!(status(&server, &[("Host", host)]), 403, "{host}");
    }
    for host in ["localhost", "127.0.0.1:1", "[::1]:80"] {
        assert_eq!(status(&server, &[("Host", host)]), 200, "{host}");
    }
}

#[test]
fn an_origin_and_a_host_can_be_allowed() {
    let flags = ["--allow-origin", "https://app.example:443", "--allow-host", "pharo.example"];
    let server = HttpServer::start(&flags, &[]);
    assert_eq!(status(&server, &[("Origin", "https://app.example")]), 200);
    assert_eq!(status(&server, &[("Origin", "https://app.example:8443")]), 403);
    assert_eq!(status(&server, &[("Origin", "http://app.example")]), 403);
    assert_eq!(status(&server, &[("Host", "pharo.example")]), 200);
    assert_eq!(status(&server, &[("Host", "other.example")]), 403);
}

#[test]
fn without_the_token_nothing_is_said() {
    let server = HttpServer::start(&[], &[("PHARO_MCP_TOKEN", TOKEN)]);
    let bearer = |token: &str| format!("Bearer {token}");
    let (status_code, head) = post(&server, "/mcp", &[], INITIALIZE);
    assert_eq!(status_code, 401);
    assert!(head.to_lowercase().contains("www-authenticate: bearer"), "{head}");
    for wrong in [
        "",
        "x",
        "correct-horse-battery-stapl",
        "correct-horse-battery-staple2",
        "CORRECT-HORSE-BATTERY-STAPLE",
    ] {
        assert_eq!(status(&server, &[("Authorization", &bearer(wrong))]), 401, "{wrong}");
    }
    assert_eq!(status(&server, &[("Authorization", TOKEN)]), 401);
    assert_eq!(status(&server, &[("Authorization", &format!("Basic {TOKEN}"))]), 401);
    let good = bearer(TOKEN);
    assert_eq!(status(&server, &[("Authorization", &good), ("Authorization", "Bearer x")]), 401);
    assert_eq!(status(&server, &[("Authorization", &good)]), 200);
    assert_eq!(status(&server, &[("authorization", &good.replace("Bearer", "bearer"))]), 200);
    assert_eq!(status(&server, &[("Authorization", &good), ("Origin", "http://evil.example")]), 403);
}

#[test]
fn the_sdk_client_shows_its_token() {
    let image = StandIn::start().unwrap();
    let file = image.directory().join("token");
    std::fs::write(&file, format!("{TOKEN}\nsecond line\n")).unwrap();
    let url = image.url();
    for way in &WAYS[2..] {
        let server =
            HttpServer::start(&["--token-file", &file.to_string_lossy()], &[("PHARO_SIS_URL", &url)]);
        let connection = json!({"url": server.url, "mode": way.mode, "headers": {"Authorization": format!("Bearer {TOKEN}")}});
        let mut client = Client::start(&connection, Some(server));
        assert_eq!(client.call("eval", json!({"code": "3 + 4"})).result(), &json!(7));
    }
}

#[test]
fn other_paths_and_oversized_requests_are_refused() {
    let server = HttpServer::start(&[], &[]);
    for path in ["/", "/mcp/", "/mcp2", "/mcp/../mcp", "/metrics"] {
        assert_eq!(post(&server, path, &[], INITIALIZE).0, 404, "{path}");
    }
    let oversized = format!("{}{}", " ".repeat(5 * 1024 * 1024), INITIALIZE);
    assert_eq!(post(&server, "/mcp", &[], &oversized).0, 413);
    assert_eq!(status(&server, &[]), 200, "it goes on");
}

#[test]
fn sessions_have_a_maximum() {
    let server = HttpServer::start(&[], &[]);
    for _ in 0..128 {
        assert_eq!(status(&server, &[]), 200);
    }
    assert_eq!(status(&server, &[]), 500);
    let modern = [("Mcp-Method", "server/discover"), ("MCP-Protocol-Version", "2026-07-28")];
    let discover = r#"{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;
    assert_eq!(post(&server, "/mcp", &modern, discover).0, 200, "the newer era has no sessions");
}

//! Who is let in at all: tokens, hosts, origins, media types, malformed messages, health.

use http::Method;
use portcullis_gateway::Settings;
use portcullis_state::grants::TokenHash;
use tokio::net::TcpStream;

use crate::client::{Client, MODERN_META, call_body};
use crate::rig::{OPEN, OTHER_TOKEN, Rig, plain};

#[tokio::test]
async fn without_a_valid_token_there_is_one_answer() {
    let rig = Rig::modern(OPEN).await;
    let mut texts = Vec::new();
    for header in ["", "Bearer nobodys", "Bearer ", "Basic YWxpY2U6", "alice-token", "Bearer alice-token x"] {
        let answer = rig.client.with("authorization", header).call("echo", r#"{"text":"x"}"#).await;
        assert_eq!(answer.status, 401, "{header}");
        assert!(answer.headers["www-authenticate"].to_str().unwrap().starts_with("Bearer"));
        texts.push(answer.text);
    }
    texts.dedup();
    assert_eq!(texts.len(), 1, "{texts:?}");
    let query = rig.client_at("/mcp/fake?access_token=alice-token", "x").with("authorization", "");
    assert_eq!(query.call("echo", "{}").await.status, 401);
    assert_eq!(rig.server.count(), 0);
}

#[tokio::test]
async fn a_server_that_is_not_there_and_one_that_is_not_ours_look_alike() {
    let rig = Rig::modern(OPEN).await;
    let grants = [
        crate::rig::entry("alice-token", crate::rig::grant("alice", &[])),
        crate::rig::entry(OTHER_TOKEN, crate::rig::grant("bob", &[("fake", "p")])),
    ];
    let grants = portcullis_state::grants::GrantTable::build(grants, None).unwrap();
    let servers = vec![crate::rig::spec("fake", crate::rig::url_of(&rig.server))];
    let policies = vec![crate::rig::active(OPEN, 1)];
    rig.gateway.replace(portcullis_gateway::Snapshot::compile(servers, policies, grants).unwrap());
    let not_ours = rig.client.call("echo", "{}").await;
    let not_there = rig.client_at("/mcp/none", "alice-token").call("echo", "{}").await;
    assert_eq!((not_ours.status.as_u16(), &not_ours.text), (404, &not_there.text));
}

#[tokio::test]
async fn foreign_hosts_and_origins_are_refused_whatever_the_token() {
    let rig = Rig::modern(OPEN).await;
    let cases = [
        ("host", "evil.example", 403),
        ("host", "127.0.0.1.evil.example:80", 403),
        ("host", "localhost:1", 200),
        ("origin", "http://evil.example", 403),
        ("origin", "null", 403),
        ("origin", "http://localhost.evil.example", 403),
        ("origin", "http://localhost:5173", 200),
    ];
    for (name, value, status) in cases {
        let answer = rig.client.with(name, value).call("echo", r#"{"text":"x"}"#).await;
        assert_eq!(answer.status, status, "{name}: {value}: {}", answer.text);
    }
}

#[tokio::test]
async fn what_is_not_one_clear_message_never_gets_past_the_reader() {
    let rig = Rig::modern(OPEN).await;
    rig.client.call("echo", r#"{"text":"x"}"#).await;
    let before = rig.server.count();
    let good = call_body("echo", r#"{"text":"x"}"#);
    let cases: Vec<(String, u16, &str)> = vec![
        (format!("[{good}]"), 400, "-32600"),
        (good.replace("\"name\"", "\"Name\":\"secret\",\"name\""), 400, "-32600"),
        (good.replace("\"method\"", "\"method\":\"ping\",\"method\""), 400, "-32600"),
        (good.replace("\"text\"", "\"text\":1,\"\\u0074ext\""), 400, "-32600"),
        (format!("{good} x"), 400, "-32700"),
        (r#"{"jsonrpc":"2.0","id":1,"result":{}}"#.to_owned(), 400, "-32600"),
        (good.replace("\"id\":7,", ""), 400, "-32600"),
        (good.replace("\"id\":7", "\"id\":1.5"), 400, "-32600"),
        (good.replace("tools/call", "Tools/call"), 404, "-32601"),
        (good.replace("{\"text\":\"x\"}", "[1]"), 400, "-32602"),
        (good.replace("2026-07-28", "2031-01-01"), 400, "-32020"),
        (good.replace("echo", "write"), 400, "-32020"),
        (good.replace(MODERN_META, "\"_meta\":{}"), 400, "-32602"),
    ];
    for (body, status, code) in cases {
        let answer = rig.client.modern("tools/call", "echo").post(&body).await;
        assert_eq!((answer.status.as_u16(), answer.at("error|code").as_str()), (status, code), "{body}");
    }
    assert_eq!(rig.server.count(), before, "nothing of it was forwarded");
    let malformed = |record: &portcullis_json::Value| crate::client::at(record, "outcome") == "malformed";
    assert_eq!(rig.records().iter().filter(|record| malformed(record)).count(), 13, "each is in the log");
}

/// The id comes back, and the revisions are those that this server speaks, not all that we do.
#[tokio::test]
async fn an_unknown_revision_is_answered_with_those_of_the_server() {
    let rig = Rig::modern(OPEN).await;
    rig.client.call("echo", r#"{"text":"x"}"#).await;
    let before = rig.server.count();
    let future = call_body("echo", r#"{"text":"x"}"#).replace("2026-07-28", "v999.0.0");
    let client = rig.client.modern("tools/call", "echo").with("mcp-protocol-version", "v999.0.0");
    let answer = client.post(&future).await;
    assert_eq!(
        (answer.status.as_u16(), answer.at("error|code").as_str(), answer.at("id").as_str()),
        (400, "-32022", "7")
    );
    assert_eq!(answer.at("error|data"), r#"{"supported":["2026-07-28"],"requested":"v999.0.0"}"#);
    let silent = future.replace("io.modelcontextprotocol/protocolVersion", "other");
    let answer = client.post(&silent).await;
    assert_eq!((answer.at("error|code").as_str(), answer.at("id").as_str()), ("-32022", "7"));
    let other = client.with("mcp-protocol-version", "2026-07-28").post(&future).await;
    assert_eq!(
        (other.at("error|code").as_str(), other.at("id").as_str()),
        ("-32020", "7"),
        "they disagree first"
    );
    assert_eq!(rig.server.count(), before);
}

#[tokio::test]
async fn media_types_and_sizes_are_checked() {
    let rig = Rig::modern(OPEN).await;
    let status = |client: Client| async move { client.call("echo", r#"{"text":"x"}"#).await.status.as_u16() };
    assert_eq!(status(rig.client.with("content-type", "text/plain")).await, 415);
    assert_eq!(status(rig.client.with("content-type", "")).await, 415);
    assert_eq!(status(rig.client.with("content-type", "Application/JSON; charset=utf-8")).await, 200);
    assert_eq!(status(rig.client.with("content-encoding", "gzip")).await, 415);
    assert_eq!(status(rig.client.with("accept", "text/html")).await, 406);
    assert_eq!(status(rig.client.with("accept", "*/*")).await, 200);
    let big = format!(r#"{{"text":"{}"}}"#, "x".repeat(4 << 20));
    assert_eq!(rig.client.call("echo", &big).await.status, 413);
    for verb in [Method::PUT, Method::PATCH] {
        assert_eq!(rig.client.request(verb, "").await.status, 405);
    }
    for verb in [Method::GET, Method::DELETE] {
        assert_eq!(rig.client.modern("x", "").request(verb, "").await.status, 405, "modern has neither");
    }
}

#[tokio::test]
async fn health_and_metrics_are_on_the_same_socket() {
    let rig = Rig::modern(OPEN).await;
    rig.client.call("echo", r#"{"text":"x"}"#).await;
    let page = |path: &'static str| rig.client_at(path, "none");
    assert_eq!(page("/healthz").request(Method::GET, "").await.text, "ok\n");
    assert_eq!(page("/readyz").request(Method::GET, "").await.text, "ready\n");
    let metrics = page("/metrics").request(Method::GET, "").await.text;
    let wanted = r#"portcullis_requests_total{server="fake",outcome="allowed",rule=""} 1"#;
    assert!(metrics.contains(wanted), "{metrics}");
    assert!(metrics.contains("portcullis_log_not_durable") && metrics.ends_with("# EOF\n"));
    let rebound = page("/metrics").with("host", "evil.example").request(Method::GET, "").await;
    assert_eq!(rebound.status, 403);
    assert_eq!(page("/").request(Method::GET, "").await.status, 404);
}

#[tokio::test]
async fn with_a_token_the_metrics_are_for_whoever_shows_it() {
    let token = TokenHash::of("a-scraper");
    let settings = Settings { metrics_token: Some(token), ..Settings::default() };
    let rig = Rig::start(OPEN, true, plain(), settings).await;
    let status = |token: &'static str| {
        let page = rig.client_at("/metrics", token);
        async move { page.request(Method::GET, "").await.status.as_u16() }
    };
    assert_eq!(status("a-scraper").await, 200);
    assert_eq!(status("alice-token").await, 401, "a grant is no scraper");
    let none = rig.client_at("/metrics", "x").with("authorization", "").request(Method::GET, "").await;
    assert_eq!(none.status, 401);
    let rebound = rig.client_at("/metrics", "a-scraper").with("host", "evil.example");
    assert_eq!(rebound.request(Method::GET, "").await.status, 403);
    let call = rig.client_at("/mcp/fake", "a-scraper").call("echo", r#"{"text":"x"}"#).await;
    assert_eq!(call.status, 401, "and a scraper has no grant");
}

#[tokio::test]
async fn ping_is_answered_here() {
    let legacy = Rig::legacy(OPEN).await;
    let client = legacy.client.initialize().await;
    let before = legacy.server.count();
    assert_eq!(client.post(r#"{"jsonrpc":"2.0","id":"a","method":"ping"}"#).await.at("result"), "{}");
    assert_eq!(legacy.server.count(), before);
}

const GET_METRICS: &[u8] = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n";

/// As much as the socket takes at once.
async fn send(socket: &TcpStream, bytes: &[u8]) -> std::io::Result<usize> {
    loop {
        socket.writable().await?;
        match socket.try_write(bytes) {
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            written => return written,
        }
    }
}

/// How many bytes came; 0 at the end.
async fn receive(socket: &TcpStream) -> std::io::Result<usize> {
    loop {
        socket.readable().await?;
        match socket.try_read(&mut [0; 1024]) {
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            read => return read,
        }
    }
}

fn address(rig: &Rig) -> String {
    rig.client_at("", "").url.trim_start_matches("http://").to_owned()
}

#[tokio::test]
async fn a_client_that_reads_nothing_loses_its_connection() {
    let settings = Settings { write_stall_timeout_ms: 100, ..Settings::default() };
    let rig = Rig::start(OPEN, true, plain(), settings).await;
    let socket = TcpStream::connect(address(&rig)).await.unwrap();
    let flood = async { while send(&socket, GET_METRICS).await.is_ok() {} };
    let closed = tokio::time::timeout(std::time::Duration::from_secs(60), flood).await;
    assert!(closed.is_ok(), "the connection stays although nobody reads from it");
}

#[tokio::test]
async fn one_address_cannot_take_all_connections() {
    let settings = Settings { connections_per_address_max: 2, ..Settings::default() };
    let rig = Rig::start(OPEN, true, plain(), settings).await;
    let mut open = Vec::new();
    for _ in 0..2 {
        let socket = TcpStream::connect(address(&rig)).await.unwrap();
        send(&socket, GET_METRICS).await.unwrap();
        assert_ne!(receive(&socket).await.unwrap(), 0);
        open.push(socket);
    }
    let third = TcpStream::connect(address(&rig)).await.unwrap();
    let _ = send(&third, GET_METRICS).await;
    assert_eq!(receive(&third).await.unwrap_or_default(), 0, "it is closed");
}

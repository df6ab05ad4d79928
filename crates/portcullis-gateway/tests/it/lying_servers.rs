//! The server as the attacker: what it may say, and what of it reaches the agent.
//!
//! Each row is an answer to a call, or to the gateway's own question for the tools, and what comes of it. Without
//! these a server could speak for another, be believed what it cannot say properly, or hand out its credential.

use portcullis_gateway::{ServerSpec, Settings, Snapshot};
use portcullis_state::Secret;
use portcullis_state::grants::GrantTable;

use crate::client::{Answer, at, read};
use crate::fake_server::{FakeServer, Play};
use crate::rig::{CREDENTIAL, OPEN, Rig, TOKEN, active, entry, grant, plain, script, spec, url_of};

const TEXT: &str = r#"{"text":"x"}"#;
const EVENTS: &str = "text/event-stream";
const JSON: &str = "application/json";

/// The answer to a call that the server answers with these bytes; `ID` in them is the id of the call.
async fn answered(media: &'static str, body: &[u8]) -> (Rig, Answer) {
    let body = body.to_vec();
    let play = script(move |received| {
        (received.at("method") == "tools/call").then(|| {
            let body = replaced(&body, b"ID", received.at("id").as_bytes());
            Play::Custom(200, vec![("content-type", media.to_owned())], body)
        })
    });
    let settings = Settings { upstream_answer_timeout_ms: 2_000, ..Settings::default() };
    let rig = Rig::start(OPEN, true, play, settings).await;
    let answer = rig.client.call("echo", TEXT).await;
    (rig, answer)
}

fn replaced(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let mut all = Vec::new();
    let mut rest = bytes;
    while let Some(at) = rest.windows(from.len()).position(|window| window == from) {
        all.extend_from_slice(&rest[..at]);
        all.extend_from_slice(to);
        rest = &rest[at + from.len()..];
    }
    [all, rest.to_vec()].concat()
}

/// The messages of an answer, be it one or a stream of them.
fn messages(answer: &Answer) -> Vec<portcullis_json::Value> {
    if answer.headers["content-type"] == JSON {
        return vec![answer.json()];
    }
    answer.text.lines().filter_map(|line| line.strip_prefix("data: ")).map(read).collect()
}

/// What cannot be read in one way, is for somebody else, or is no answer at all.
#[tokio::test]
async fn an_answer_that_is_none_becomes_an_error_of_ours() {
    let deep = format!(
        r#"{{"jsonrpc":"2.0","id":ID,"result":{{"x":{}1{}}}}}"#,
        "[".repeat(10_000),
        "]".repeat(10_000)
    );
    let json: &[&[u8]] = &[
        b"",
        b"null",
        b"[]",
        b"{",
        br#"[{"jsonrpc":"2.0","id":ID,"result":{}}]"#,
        br#"{"jsonrpc":"2.0","id":ID,"result":{}}{"jsonrpc":"2.0","id":ID,"result":{}}"#,
        br#"{"jsonrpc":"2.0","id":"ID","result":{}}"#,
        br#"{"jsonrpc":"2.0","id":ID.0,"result":{}}"#,
        br#"{"jsonrpc":"2.0","id":ID0,"result":{}}"#,
        br#"{"jsonrpc":"2.0","id":-ID,"result":{}}"#,
        br#"{"jsonrpc":"2.0","id":null,"result":{}}"#,
        br#"{"jsonrpc":"2.0","result":{}}"#,
        br#"{"jsonrpc":"2.0","id":[ID],"result":{}}"#,
        br#"{"jsonrpc":"1.0","id":ID,"result":{}}"#,
        br#"{"id":ID,"result":{}}"#,
        br#"{"jsonrpc":"2.0","id":ID,"result":[]}"#,
        br#"{"jsonrpc":"2.0","id":ID,"result":null}"#,
        br#"{"jsonrpc":"2.0","id":ID,"result":{},"error":{"code":1,"message":"x"}}"#,
        br#"{"jsonrpc":"2.0","id":ID,"result":{},"method":"tools/call"}"#,
        br#"{"jsonrpc":"2.0","id":ID,"Result":{}}"#,
        br#"{"jsonrpc":"2.0","id":ID,"result":{"content":[],"content":[1]}}"#,
        br#"{"jsonrpc":"2.0","id":ID,"result":{"isError":false,"iserror":true}}"#,
        br#"{"jsonrpc":"2.0","id":ID,"result":{"x":{"a":1,"\u0061":2}}}"#,
        b"{\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":{\"x\":\"\xff\"}}",
        b"\xef\xbb\xbf{\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":{}}",
        br#"{"jsonrpc":"2.0","id":ID,"result":{"x":"\ud800"}}"#,
        br#"{"jsonrpc":"2.0","id":ID,"result":{"x":1e99999}}"#,
        br#"{"jsonrpc":"2.0","id":ID,"error":{"code":"x","message":"y"}}"#,
        br#"{"jsonrpc":"2.0","id":ID,"method":"elicitation/create","params":{}}"#,
        br#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}"#,
        br#"{"jsonrpc":"2.0","id":ID,"result":{"resultType":"surprise"}}"#,
        deep.as_bytes(),
    ];
    for body in json {
        let (_, answer) = answered(JSON, body).await;
        assert_eq!(
            (answer.at("id"), answer.at("error|code")),
            ("7".into(), "41006".into()),
            "{}: {}",
            body.escape_ascii(),
            answer.text
        );
    }
    assert_eq!(json.len(), 32);
}

#[tokio::test]
async fn an_event_is_put_together_and_read_before_any_of_it_is_passed_on() {
    let whole: &[&[u8]] = &[
        b"data: {\"jsonrpc\":\"2.0\",\ndata: \"id\":ID,\ndata: \"result\":{\"resultType\":\"complete\",\"n\":1}}\n\n",
        b"data: {\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":{\"resultType\":\"complete\",\"n\":1}}\r\r",
        b"data: {\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":{\"resultType\":\"complete\",\"n\":1}}\r\n\r\n",
        b": x\n\nevent: message\nid: 5\nretry: 1\ndata:{\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":{\"resultType\":\"complete\",\"n\":1}}\n\n",
        b"data: {\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":{\"resultType\":\"complete\",\"n\":1}}\n\ndata: {\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":{\"resultType\":\"complete\",\"n\":2}}\n\n",
        b"data: {\"jsonrpc\":\"2.0\",\"id\":12345,\"result\":{\"n\":3}}\n\ndata: {\"jsonrpc\":\"2.0\",\"id\":\"ID\",\"result\":{\"n\":4}}\n\ndata: {\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":{\"resultType\":\"complete\",\"n\":1}}\n\n",
    ];
    for body in whole {
        let (_, answer) = answered(EVENTS, body).await;
        let messages = messages(&answer);
        let seen: Vec<(String, String)> =
            messages.iter().map(|message| (at(message, "id"), at(message, "result|n"))).collect();
        assert_eq!(seen, [("7".to_owned(), "1".to_owned())], "{}: {}", body.escape_ascii(), answer.text);
    }
    let broken: &[&[u8]] = &[
        b"data: {\"jsonrpc\":\"2.0\",\"id\":ID,\n\ndata: \"result\":{\"n\":\"SECRET\"}}\n\n",
        b"data: {\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":{\"n\":\"SECRET\"}}",
        b"data: {\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":{\"n\":\"SECRET\"}}\n",
        b"data: {\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":{\"n\":\"SECRET\xff\"}}\n\n",
        b"data: [{\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":{\"n\":\"SECRET\"}}]\n\n",
        b"data: {\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":{\"n\":\"SECRET\",\"n\":1}}\n\n",
        b"data: {\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":{\"n\":\"SECRET\"},\"Result\":{}}\n\n",
        b"data: {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"elicitation/create\",\"params\":{\"message\":\"SECRET\"}}\n\n",
        b"data: {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"sampling/createMessage\",\"params\":{\"x\":\"SECRET\"}}\n\n",
        b"data: {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"roots/list\"}\n\n",
        b"data: {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"SECRET\"}}\n\n",
        b"data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/unheard\",\"params\":{\"x\":\"SECRET\"}}\n\n",
        b"data: {\"jsonrpc\":\"2.0\",\"id\":12345,\"result\":{\"n\":\"SECRET\"}}\n\n",
        b": SECRET\n\n", b"event: SECRET\n\n", b"data: SECRET\n\n", b"SECRET\n\n", b"",
    ];
    for body in broken {
        let (_, answer) = answered(EVENTS, body).await;
        let messages = messages(&answer);
        assert_eq!(messages.len(), 1, "{}: {}", body.escape_ascii(), answer.text);
        let error = (at(&messages[0], "id"), at(&messages[0], "error|code"));
        assert_eq!(error, ("7".into(), "41006".into()), "{}: {}", body.escape_ascii(), answer.text);
        assert!(!answer.text.contains("SECRET"), "{}", answer.text);
    }
    assert_eq!((whole.len(), broken.len()), (6, 18));
}

/// Compressed, a small answer can be a large one; nothing compressed was asked for.
#[tokio::test]
async fn what_was_not_asked_for_is_not_unpacked() {
    for encoding in ["gzip", "deflate", "br", "zstd", "gzip, gzip", "x-unheard"] {
        let play = script(move |received| {
            let headers = vec![("content-type", JSON.to_owned()), ("content-encoding", encoding.to_owned())];
            (received.at("method") == "tools/call")
                .then(|| Play::Custom(200, headers, vec![0x1f, 0x8b, 8, 0]))
        });
        let rig = Rig::start(OPEN, true, play, Settings::default()).await;
        let answer = rig.client.call("echo", TEXT).await;
        assert!(answer.at("error|message").contains("an encoding that was not asked for"), "{}", answer.text);
        let asked = rig.server.got("tools/call");
        assert_eq!(asked[0].header("accept-encoding"), "-");
    }
}

#[tokio::test]
async fn nobody_is_sent_anywhere_else_with_the_credential() {
    for status in [301, 302, 303, 305, 307, 308] {
        for method in ["tools/call", "tools/list", "server/discover"] {
            let elsewhere = FakeServer::start(true, plain()).await;
            let location = url_of(&elsewhere);
            let play = script(move |received| {
                let headers = vec![("location", location.clone()), ("refresh", format!("0; url={location}"))];
                (received.at("method") == method).then(|| Play::Custom(status, headers, Vec::new()))
            });
            let rig = Rig::start(OPEN, true, play, Settings::default()).await;
            let answer = rig.client.call("echo", TEXT).await;
            assert_eq!(elsewhere.count(), 0, "{status} to {method}: {}", answer.text);
            assert!(!answer.text.contains(&elsewhere.address.to_string()), "{}", answer.text);
        }
    }
}

#[tokio::test]
async fn none_of_a_servers_headers_reaches_the_agent() {
    let play = script(|received| {
        let headers = [
            "set-cookie",
            "mcp-session-id",
            "www-authenticate",
            "x-note",
            "server",
            "link",
            "mcp-name",
            "access-control-allow-origin",
        ];
        let headers = headers
            .map(|name| (name, "h-4711".to_owned()))
            .into_iter()
            .chain([("content-type", JSON.to_owned())])
            .collect();
        let body =
            format!(r#"{{"jsonrpc":"2.0","id":{},"result":{{"resultType":"complete"}}}}"#, received.at("id"));
        (received.at("method") == "tools/call").then(|| Play::Custom(200, headers, body.into_bytes()))
    });
    let rig = Rig::start(OPEN, true, play, Settings::default()).await;
    let answer = rig.client.call("echo", TEXT).await;
    assert_eq!(answer.at("result|resultType"), "complete", "{}", answer.text);
    assert!(!format!("{:?}", answer.headers).contains("h-4711"), "{:?}", answer.headers);
}

/// `Basic` is a user and a password, and a server knows them decoded.
#[tokio::test]
async fn a_credential_does_not_come_back_however_the_server_writes_it() {
    let error = r#"{"code":-32603,"message":"no: gateway-user:pa55 word-9 of Z2F0ZXdheS11c2VyOnBhNTUgd29yZC05","data":{"pa55 word-9":["Basic Z2F0ZXdheS11c2VyOnBhNTUgd29yZC05"]}}"#;
    let play = script(move |received| {
        (received.at("method") == "tools/call").then(|| Play::Error(error.to_owned()))
    });
    let server = FakeServer::start(true, play).await;
    let grants = GrantTable::build([entry(TOKEN, grant("alice", &[("fake", "p")]))], None).unwrap();
    let basic = Secret::from("Basic Z2F0ZXdheS11c2VyOnBhNTUgd29yZC05");
    let spec =
        ServerSpec { headers: vec![("Authorization".to_owned(), basic)], ..spec("fake", url_of(&server)) };
    let snapshot = Snapshot::compile(vec![spec], vec![active(OPEN, 1)], grants).unwrap();
    let rig = Rig::with(server, snapshot, Settings::default()).await;
    let answer = rig.client.call("echo", TEXT).await;
    assert_eq!(answer.at("error|code"), "-32603", "{}", answer.text);
    for secret in ["pa55", "Z2F0ZXdheS11c2Vy"] {
        assert!(!answer.text.contains(secret), "{}", answer.text);
    }
}

/// On a legacy stream ids of events are the server's, and go to the client.
#[tokio::test]
async fn a_credential_in_the_id_of_an_event_does_not_come_down() {
    for event in [
        format!("id: 1-{CREDENTIAL}\ndata: {{\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":{{\"n\":1}}}}\n\n"),
        format!(
            "id: 1-{CREDENTIAL}\nretry: 10\ndata:\n\ndata: {{\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":{{\"n\":1}}}}\n\n"
        ),
        format!(
            ": {CREDENTIAL}\n\nevent: {CREDENTIAL}\ndata:\n\ndata: {{\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":{{\"n\":1}}}}\n\n"
        ),
    ] {
        let play = script(move |received| {
            let body = event.replace("ID", &received.at("id")).into_bytes();
            (received.at("method") == "tools/call")
                .then(|| Play::Custom(200, vec![("content-type", EVENTS.to_owned())], body))
        });
        let rig = Rig::start(OPEN, false, play, Settings::default()).await;
        let client = rig.client.initialize().await;
        let answer = client.post(r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo","arguments":{"text":"x"}}}"#).await;
        assert!(answer.text.contains(r#""result":{"n":1}"#), "{}", answer.text);
        assert!(!answer.text.contains("upstream-credential"), "{}", answer.text);
    }
}

/// What a call comes to at a server that lists this.
async fn with_list(policy: &str, list: impl Fn(&str) -> String + Send + Sync + 'static) -> (Rig, Answer) {
    let play = script(move |received| {
        (received.at("method") == "tools/list").then(|| Play::Result(list(&received.at("params|cursor"))))
    });
    let rig = Rig::start(policy, true, play, Settings::default()).await;
    let answer = rig.client.call("echo", TEXT).await;
    (rig, answer)
}

#[tokio::test]
async fn a_list_beyond_all_bounds_is_an_error_and_not_the_end_of_the_gateway() {
    let tool = r#"{"name":"echo","inputSchema":{"type":"object"}}"#;
    let nested = format!(
        r#"{{"tools":[{{"name":"echo","inputSchema":{}{{}}{}}}]}}"#,
        r#"{"items":"#.repeat(10_000),
        "}".repeat(10_000)
    );
    let lists: Vec<String> = vec![
        format!(r#"{{"tools":[{}{tool}]}}"#, "{},".repeat(1_000_000)),
        format!(r#"{{"tools":[{}{tool}]}}"#, r#"{"name":"x","inputSchema":{}},"#.repeat(20_000)),
        format!(
            r#"{{"tools":[{{"name":"echo","description":"{}","inputSchema":{{}}}}]}}"#,
            "x".repeat(10 << 20)
        ),
        nested,
        r#"{"tools":{}}"#.to_owned(),
        r#"{"Tools":[]}"#.to_owned(),
        format!(r#"{{"tools":[{tool}],"Tools":[]}}"#),
        format!(r#"{{"tools":[{tool}],"nextCursor":7}}"#),
        format!(r#"{{"tools":[{tool}],"nextCursor":"{}"}}"#, "x".repeat(100_000)),
    ];
    for list in lists {
        let shown: String = list.chars().take(60).collect();
        let (rig, answer) = with_list(OPEN, move |_| list.clone()).await;
        assert_eq!(answer.at("error|code"), "41006", "{shown}: {}", answer.text);
        assert!(rig.server.got("tools/call").is_empty());
    }
    // Always one more page.
    let pages = std::sync::atomic::AtomicUsize::new(0);
    let (_, answer) = with_list(OPEN, move |_| {
        let page = pages.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        format!(r#"{{"resultType":"complete","tools":[],"nextCursor":"{page}"}}"#)
    })
    .await;
    assert!(answer.at("error|message").contains("a list without end"), "{}", answer.text);
}

/// What a call comes to when its arguments must be valid under this schema; whether it left.
async fn validated(schema: &str) -> (Answer, bool) {
    let list = format!(r#"{{"resultType":"complete","tools":[{{"name":"echo","inputSchema":{schema}}}]}}"#);
    let policy = r#"{"version":"1","default":"allow","all_tools":{"validate":"schema"}}"#;
    let (rig, answer) = with_list(policy, move |_| list.clone()).await;
    assert_eq!(answer.at("id"), "7", "{schema}: {}", answer.text);
    (answer, !rig.server.got("tools/call").is_empty())
}

/// A schema that leads away, or into a pattern that costs too much, must not be more than a denial.
#[tokio::test]
async fn a_schema_that_cannot_be_used_denies_what_must_be_validated() {
    let elsewhere = FakeServer::start(true, plain()).await;
    let away = format!("http://{}/schema.json", elsewhere.address);
    for schema in [
        r##"{"$ref":"#/$defs/none"}"##.to_owned(),
        format!(r#"{{"$ref":"{away}"}}"#),
        format!(r#"{{"$schema":"{away}"}}"#),
        r#"{"$ref":"file:///etc/passwd"}"#.to_owned(),
        r#"{"properties":{"text":{"pattern":"((a{1000}){1000}){1000}"}}}"#.to_owned(),
        r#"{"properties":{"text":{"pattern":"("}}}"#.to_owned(),
        r#"{"type":"nonsense"}"#.to_owned(),
    ] {
        let (answer, left) = validated(&schema).await;
        assert!(answer.at("result|isError") == "true" && !left, "{schema}: {}", answer.text);
    }
    assert_eq!(elsewhere.count(), 0, "no schema is fetched");
}

/// One that leads back to itself says nothing, and must not lead the gateway round and round.
#[tokio::test]
async fn a_schema_that_leads_to_itself_comes_to_an_end() {
    for schema in [
        r##"{"$ref":"#"}"##,
        r##"{"allOf":[{"$ref":"#"}]}"##,
        r##"{"anyOf":[{"$ref":"#"},{"$ref":"#"}]}"##,
        r##"{"not":{"$ref":"#"}}"##,
        r##"{"properties":{"text":{"$ref":"#"}}}"##,
        r##"{"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}},"$ref":"#/$defs/a"}"##,
        r##"{"$dynamicRef":"#x","$dynamicAnchor":"x"}"##,
        r##"{"$recursiveRef":"#"}"##,
    ] {
        validated(schema).await;
    }
}

/// Two names that look the same are two names; a rule for one says nothing about the other.
#[tokio::test]
async fn a_name_that_looks_like_another_does_not_get_its_rights() {
    let twins = ["есho", "echo\\u200b", "Echo", "ｅcho", "echo ", "echo\\u0000", "\\u202eohce"];
    let tools: Vec<String> = ["echo"]
        .iter()
        .chain(&twins)
        .map(|name| format!(r#"{{"name":"{name}","inputSchema":{{"type":"object"}}}}"#))
        .collect();
    let list = format!(r#"{{"resultType":"complete","tools":[{}]}}"#, tools.join(","));
    let policy = r#"{"version":"1","default":"deny","hide_denied":true,"tools":{"echo":{}}}"#;
    let policy = if portcullis_policy::Policy::parse(policy.as_bytes()).is_ok() {
        policy
    } else {
        r#"{"version":"1","default":"deny","tools":{"echo":{}}}"#
    };
    let (rig, answer) = with_list(policy, move |_| list.clone()).await;
    assert_eq!(answer.at("result|isError"), "false", "{}", answer.text);
    for twin in twins {
        let name = read(&format!("\"{twin}\"")).as_str().unwrap().to_owned();
        let client = rig.client.modern("tools/call", &portcullis_mcp::headers::encode(&name));
        let answer = client.post(&crate::client::call_body(twin, "{}")).await;
        assert!(answer.at("result|isError") != "false", "{twin}: {}", answer.text);
    }
    assert_eq!(rig.server.got("tools/call").len(), 1);
}

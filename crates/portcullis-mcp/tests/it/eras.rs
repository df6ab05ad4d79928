//! Which era a message claims, and what each era demands.

use portcullis_json::Limits;
use portcullis_mcp::meta::ModernMeta;
use portcullis_mcp::params::LogLevel;
use portcullis_mcp::{Claim, Era, Id, Incoming, LegacyRevision, Refusal, SUPPORTED_REVISIONS, Sender};

use crate::{MODERN_META, object, refusal};

fn claim(params: &str) -> Result<Claim, Refusal> {
    claim_of("tools/list", params)
}

fn claim_of(method: &str, params: &str) -> Result<Claim, Refusal> {
    let text = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#);
    let incoming = Incoming::read(text.as_bytes(), Sender::Client, &Limits::message()).unwrap();
    incoming.claim().map_err(|refused| refused.refusal)
}

#[test]
fn dates_and_eras_are_the_same_both_ways() {
    for text in SUPPORTED_REVISIONS {
        assert_eq!(Era::parse(text).unwrap().as_str(), text);
    }
    for text in ["2024-11-05", "2025-11-25 ", "", "2026-07-29"] {
        assert_eq!(Era::parse(text), None);
    }
    assert_eq!(LegacyRevision::negotiate("2025-03-26"), LegacyRevision::March2025);
    assert_eq!(LegacyRevision::negotiate("2026-07-28"), LegacyRevision::November2025);
}

#[test]
fn a_message_claims_its_era() {
    assert_eq!(claim("{}"), Ok(Claim::Unsaid));
    assert_eq!(claim(r#"{"_meta":{"progressToken":1}}"#), Ok(Claim::Unsaid));
    assert_eq!(claim(&format!(r#"{{"_meta":{MODERN_META}}}"#)), Ok(Claim::Modern));
    assert_eq!(claim_of("initialize", "{}"), Ok(Claim::Initialize));
}

#[test]
fn an_unknown_revision_is_answered_with_ours() {
    let key = "io.modelcontextprotocol/protocolVersion";
    let refusal = |revision: &str| claim(&format!(r#"{{"_meta":{{"{key}":{revision}}}}}"#)).unwrap_err();
    let future = refusal("\"2027-01-01\"");
    assert_eq!(future.code(), -32022);
    assert_eq!(
        future.data().unwrap().to_string(),
        r#"{"supported":["2026-07-28","2025-11-25","2025-06-18","2025-03-26"],"requested":"2027-01-01"}"#
    );
    assert_eq!(refusal("\"2025-11-25\"").code(), -32022);
    assert_eq!(refusal("\"v999.0.0\""), Refusal::UnsupportedRevision(Some("v999.0.0".into())));
    let long = format!("\"{}\"", "9".repeat(33));
    for strange in
        ["\"\"", "\"v\"", "\"2026-07-28x\"", "\"2026 07 28\"", "\"<b>\"", "\"\\u001b[2J\"", long.as_str()]
    {
        assert_eq!(refusal(strange), Refusal::UnsupportedRevision(None), "not repeated: {strange}");
    }
    assert_eq!(refusal("7").code(), -32602);
}

#[test]
fn modern_requests_carry_what_they_must() {
    let check = |meta: &str, expected: Option<i64>| {
        let text = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{{"_meta":{meta}}}}}"#);
        let found = refusal(text.as_bytes(), Sender::Client, Era::Modern);
        assert_eq!(found.map(|refusal| refusal.code()), expected, "{meta}");
    };
    let version = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28""#;
    let capabilities = r#""io.modelcontextprotocol/clientCapabilities":{}"#;
    check(MODERN_META, None);
    check("{}", Some(-32602));
    check("[]", Some(-32602));
    check(&format!("{{{version}}}"), Some(-32602));
    check(&format!("{{{capabilities}}}"), Some(-32602));
    check(&format!("{{{version},{capabilities},\"progressToken\":1.5}}"), Some(-32602));
    check(
        &format!(r#"{{{version},{capabilities},"io.modelcontextprotocol/logLevel":"loud"}}"#),
        Some(-32602),
    );
    let bare = br#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    assert_eq!(refusal(bare, Sender::Client, Era::Modern).unwrap().code(), -32602);
}

#[test]
fn modern_meta_is_read() {
    let params = object(
        r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",
        "io.modelcontextprotocol/clientCapabilities":{"elicitation":{}},
        "io.modelcontextprotocol/clientInfo":{"name":"agent","version":"1"},
        "io.modelcontextprotocol/logLevel":"warning","progressToken":"p",
        "traceparent":"00-ab-cd-01","com.example/own":true}}"#,
    );
    let meta = ModernMeta::read(Some(&params)).unwrap();
    assert!(meta.client_capabilities.contains_key("elicitation"));
    assert!(meta.client_info.unwrap().contains_key("name"));
    assert_eq!(meta.log_level, Some(LogLevel::Warning));
    assert_eq!(meta.progress_token, Some(Id::from("p")));
    assert_eq!(meta.trace.traceparent, Some("00-ab-cd-01"));
    assert_eq!(meta.trace.tracestate, None);
}

//! What must go, and what only looks like it. Nothing here is written out as a scanner would find it: the
//! examples are put together when the test runs.

use portcullis_json::{Limits, Member, Object, Value, parse};
use proptest::prelude::*;

use super::{Detector, Detectors};

fn all() -> Detectors {
    Detectors::from_names(Detector::ALL.into_iter().map(Detector::name))
}

fn only(name: &str) -> Detectors {
    Detectors::from_names(std::iter::once(name))
}

/// `secret` goes and what stands around it stays, for the detector of this name alone.
#[track_caller]
fn goes(detector: &str, before: &str, secret: &str, after: &str) {
    let text = format!("{before}{secret}{after}");
    let expected = format!("{before}[REDACTED {detector}]{after}");
    let redacted = only(detector).redact_text(&text);
    assert_eq!(redacted.as_deref(), Some(expected.as_str()), "{text}");
    assert_eq!(only(detector).redact_text(&expected), None, "{expected}");
}

#[track_caller]
fn stays(detector: &str, text: &str) {
    assert_eq!(only(detector).redact_text(text), None, "{text}");
}

/// So many characters that look like nothing in particular.
fn random(count: usize) -> String {
    "a1B2c3D4e5F6g7H8".chars().cycle().take(count).collect()
}

#[test]
fn tokens_of_well_known_shapes() {
    let tokens = [
        format!("{}{}", "AKIA", "ABCDEFGH23456789"),
        format!("{}{}", "ASIA", "ABCDEFGH23456789"),
        format!("{}{}", "AIza", random(35)),
        format!("{}{}", "ghp_", random(36)),
        format!("{}{}", "gho_", random(36)),
        format!("{}{}", "ghs_", random(36)),
        format!("{}{}", "github_pat_", random(82)),
        format!("{}{}", "glpat-", random(20)),
        format!("{}{}", "npm_", random(36)),
        format!("{}{}", "pypi-", random(60)),
        format!("{}{}", "hf_", random(34)),
        format!("{}{}", "xoxb-", "123456789012-abcdefABCDEF"),
        format!("{}{}", "xoxp-", "123456789012-abcdefABCDEF"),
        format!("{}{}", "sk_live_", random(24)),
        format!("{}{}", "rk_live_", random(24)),
        format!("{}{}", "sk-", random(48)),
        format!("{}{}", "sk-proj-", random(48)),
        format!("{}{}-{}", "sk-ant-", "api03", random(60)),
        format!("{}{}.{}{}.{}", "eyJ", random(20), "eyJ", random(40), random(43)),
        format!("{}{}", "pcl_", random(32)),
    ];
    for token in tokens {
        goes("secrets", "", &token, "");
        goes("secrets", "use ", &token, " for it");
        goes("secrets", "{\"value\":\"", &token, "\"}");
        goes("secrets", "(é", &token, ")");
    }
}

#[test]
fn secrets_that_their_surroundings_tell() {
    let value = random(20);
    for before in [
        "password=",
        "PASSWORD = ",
        "\"password\": \"",
        "\\\"password\\\":\\\"",
        "api_key: ",
        "https://example.com/?api_key=",
        "X-Api-Key: ",
        "DB_PASSWORD=",
        "GITHUB_TOKEN=",
        "token=",
        "client_secret: '",
        "Authorization: Bearer ",
        "authorization: ",
        "Bearer ",
    ] {
        goes("secrets", before, &value, "");
    }
    goes("secrets", "password=", "correcthorsebattery", "&user=me");
    goes("secrets", "passphrase: \"", "correct horse battery", "\"");
    goes("secrets", "Authorization: Basic ", "dXNlcjpwYXNzd29yZDE=", "");
    goes("secrets", "postgres://me:", "hunter2", "@db.example.com/x");
    goes("secrets", "redis://:", "p@ss", "@cache.example:6379");
    let key = format!("{}/+{}", random(20), random(18));
    goes("secrets", "aws_secret_access_key = ", &key, "\n");
    goes("secrets", "AWS credentials of the build: ", &key, " (old)");
    goes("secrets", "https://hooks.slack.com/services/", "T00000000/B00000000/aaaaBBBB", "");
}

#[test]
fn what_only_looks_like_a_secret() {
    for text in [
        "550e8400-e29b-41d4-a716-446655440000",
        "commit da39a3ee5e6b4b0d3255bfef95601890afd80709",
        "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "aws-sdk at da39a3ee5e6b4b0d3255bfef95601890afd80709",
        "class=\"sk-fading-circle sk-loading-indicator-container\"",
        "task-abcdefghijklmnopqrstuvwxyz0123",
        "AKIA is how such keys begin",
        "password: required",
        "password=$PASSWORD",
        "password: \"${DB_PASSWORD}\"",
        "password = get_password_from_environment()",
        "token = parser.next_token",
        "\"nextPageToken\": \"CAoQAA123456789\"",
        "the password is short",
        "Bearer authentication is required",
        "https://example.com:8080/path@2",
        "https://example.com/a:b@c",
        "git@github.com:team/project.git",
        "eyJhbGciOi is how tokens begin",
        "version 1.2.3-beta.4 of 2026-11-15T10:00:00Z",
        "max_tokens: 4096, tokens=12345678",
    ] {
        stays("secrets", text);
    }
}

#[test]
fn addresses() {
    for address in [
        "a@example.com",
        "first.last+tag@mail.example.co.uk",
        "o'neil@example.org",
        "müller@bücher.example",
        "a@xn--bcher-kva.xn--p1ai",
        "A_B%C@EXAMPLE.COM",
    ] {
        goes("emails", "", address, "");
        goes("emails", "<", address, ">");
        goes("emails", "write to '", address, "', or call");
        goes("emails", "mailto:", address, "?subject=x");
        goes("emails", "Ask ", address, ".");
    }
    for text in [
        "@example.com",
        "a@localhost",
        "a@b",
        "left-pad@1.3.0",
        "left-pad@1.3.0-rc.one",
        "logo@2x.png",
        "git@github.com:team/project.git",
        "a @ b.com",
        "@decorator.method",
        "x@[REDACTED secrets].com",
    ] {
        stays("emails", text);
    }
}

/// Numbers that the schemes publish for testing.
#[test]
fn card_numbers() {
    for card in [
        "4111111111111111",
        "4111 1111 1111 1111",
        "4111-1111-1111-1111",
        "5555555555554444",
        "2223003122003222",
        "378282246310005",
        "3782 822463 10005",
        "30569309025904",
        "6011111111111117",
        "3530111333300000",
        "4222222222222",
        "6205500000000000004",
        "41111111 11111111",
        "4 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1",
    ] {
        goes("cards", "", card, "");
        goes("cards", "card: ", card, ", valid");
        goes("cards", "\"", card, "\"");
        goes("cards", "paid with ", card, ".");
    }
    goes("cards", "order 2026 ", "4111 1111 1111 1111", " 12/27");
    goes("cards", "card-", "4111-1111-1111-1111", "");
}

#[test]
fn what_only_looks_like_a_card() {
    for text in [
        // The check digit, one off to either side.
        "4111111111111110",
        "4111111111111112",
        // No issuer, too short, too long, part of something longer.
        "1111111111111117",
        "411111111111",
        "41111111111111111111",
        "94111111111111111",
        "a4111111111111111",
        "4111111111111111f",
        "0.4111111111111111",
        "4111111111111111.25",
        "4111  1111  1111  1111",
        // Times, identifiers, versions.
        "1763201234567",
        "1763201234567890",
        "20261115100000",
        "2026-11-15 10:00:00",
        "550e8400-e29b-41d4-a716-446655440000",
        "a29b-4111-446655440000",
        "00000000-0000-4111-1111-111111111111",
        "+41 44 668 18 00",
        "1.22.333.4444",
        "da39a3ee5e6b4b0d3255bfef95601890afd80709",
    ] {
        stays("cards", text);
    }
}

#[test]
fn private_key_blocks() {
    let dashes = "-----";
    for label in [
        "PRIVATE KEY",
        "RSA PRIVATE KEY",
        "EC PRIVATE KEY",
        "ENCRYPTED PRIVATE KEY",
        "OPENSSH PRIVATE KEY",
        "PGP PRIVATE KEY BLOCK",
    ] {
        let begin = format!("{dashes}BEGIN {label}{dashes}");
        let end = format!("{dashes}END {label}{dashes}");
        for line in ["\n", "\\n", "\r\n"] {
            let body = format!("{line}{}{line}{}{line}", random(64), random(20));
            goes("private_keys", "key:", &format!("{begin}{body}{end}"), "\nnext");
            goes("private_keys", "key:", &format!("{begin}{body}"), "");
        }
    }
    for label in ["PUBLIC KEY", "CERTIFICATE", "PGP PUBLIC KEY BLOCK"] {
        stays("private_keys", &format!("{dashes}BEGIN {label}{dashes}\nabc\n{dashes}END {label}{dashes}"));
    }
    stays("private_keys", "a PRIVATE KEY is not shown");
    let block = format!("{dashes}BEGIN PRIVATE KEY{dashes}x{dashes}END PRIVATE KEY{dashes}");
    let two = format!("{block} and {block}");
    assert_eq!(all().redact_text(&two).unwrap(), "[REDACTED private_keys] and [REDACTED private_keys]");
}

#[test]
fn only_the_named_detectors_work() {
    let text = "a@example.com 4111111111111111";
    assert_eq!(only("cards").redact_text(text).unwrap(), "a@example.com [REDACTED cards]");
    assert_eq!(all().redact_text(text).unwrap(), "[REDACTED emails] [REDACTED cards]");
    assert_eq!(Detectors::default().redact_text(text), None);
}

#[track_caller]
fn check_value(detectors: Detectors, json: &str, expected: &str, count: usize) {
    let read = |json: &str| parse(json.as_bytes(), &Limits::document()).unwrap();
    let mut value = read(json);
    assert_eq!(detectors.redact_value(&mut value), count, "{json}");
    assert_eq!(value.to_string(), read(expected).to_string());
    assert_eq!(detectors.redact_value(&mut value), 0, "{json}");
}

#[test]
fn every_string_of_a_value_keys_included() {
    check_value(
        all(),
        r#"{"a":["x a@example.com, b@example.com",1,null,{"b":"4111111111111111"}],"n":4111111111111111}"#,
        r#"{"a":["x [REDACTED emails], [REDACTED emails]",1,null,{"b":"[REDACTED cards]"}],"n":4111111111111111}"#,
        3,
    );
    check_value(
        all(),
        r#"{"[REDACTED emails] 2":0,"a@example.com":1,"b@example.com":2,"c@example.com":3}"#,
        r#"{"[REDACTED emails] 2":0,"[REDACTED emails]":1,"[REDACTED emails] 3":2,"[REDACTED emails] 4":3}"#,
        3,
    );
    check_value(
        all(),
        r#"{"db_password":"correcthorse","password":"short","nextPageToken":"correcthorse","user":"correcthorse","secret":"{{ vault }}"}"#,
        r#"{"db_password":"[REDACTED secrets]","password":"short","nextPageToken":"correcthorse","user":"correcthorse","secret":"{{ vault }}"}"#,
        1,
    );
    let password = r#"{"password":"correcthorse"}"#;
    check_value(only("emails"), password, password, 0);
    check_value(all(), "\"nothing\"", "\"nothing\"", 0);
}

#[test]
fn a_large_object_takes_no_more_than_its_share() {
    let count = 50_000;
    let members =
        (0..count).map(|index| Member { key: format!("user{index}@example.com").into(), value: Value::Null });
    let mut value = Value::from(Object::from_members(members.collect()).unwrap());
    assert_eq!(all().redact_value(&mut value), count);
    assert_eq!(value.as_object().unwrap().len(), count);
}

/// Pieces that detectors look for, in any order and run together.
fn pieces() -> impl Strategy<Value = String> {
    let pieces = [
        "password=",
        "token: ",
        "\"",
        "'",
        "\\",
        "@",
        "a@example.com",
        ".com",
        "://",
        "u:",
        "[",
        "]",
        "4111111111111111",
        "4111 1111 ",
        "1111-",
        "Bearer ",
        "Authorization: ",
        "AKIAABCDEFGH23456789",
        "eyJabcdefghij.",
        "sk-",
        "a1b2c3d4e5f6g7h8i9j0",
        "aws ",
        "secret",
        "-----BEGIN ",
        "PRIVATE KEY-----",
        "-----END ",
        "[REDACTED secrets]",
        " ",
        "\n",
        "é",
        "_",
        ".",
        "(",
        "git",
        "https",
    ];
    proptest::collection::vec(proptest::sample::select(pieces.to_vec()), 0..12)
        .prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn any_text_is_taken_without_harm(text in any::<String>()) {
        if let Some(redacted) = all().redact_text(&text) {
            prop_assert_ne!(redacted, text);
        }
    }

    #[test]
    fn twice_is_once(text in pieces()) {
        if let Some(once) = all().redact_text(&text) {
            prop_assert_eq!(all().redact_text(&once), None, "{}", once);
        }
    }
}

//! Programs as servers: in the file, on the command line, and what they leave in the log of their output.

use crate::command::Place;
use crate::running::{Running, eventually, free_port, paste};

const TOKEN: &str = "a-token-for-tests-that-is-long-enough-0123456789";

/// Answers in the modern era, and says on standard error what it was given.
const SERVER: &str = r#"
import json, os, sys
sys.stderr.write("\x1b[31mkey " + os.environ.get("API_KEY", "-") + "\n")
sys.stderr.flush()
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    results = {
        "server/discover": {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}},
        "tools/list": {"tools": [{"name": "list_notes", "inputSchema": {"type": "object"}}]},
        "tools/call": {"content": [{"type": "text", "text": " ".join(sorted(os.environ))}]},
    }
    result = {"resultType": "complete", **results.get(message["method"], {})}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"#;

fn configuration(port: u16) -> String {
    format!(
        r#"listen = "127.0.0.1:{port}"
data_dir = "data"

[[servers]]
name = "local"
command = ["python3", "server.py"]
env = {{ API_KEY = "env:SERVICE_KEY", LEVEL = "high" }}
inherit_env = true
cwd = "."

[[policies]]
name = "p"
server = "local"
file = "p.json"

[[grants]]
label = "alice"
server = "local"
policy = "p"
token = "env:ALICE_TOKEN"
"#
    )
}

fn prepared(port: u16) -> Place {
    let place = Place::new();
    place
        .file("portcullis.toml", configuration(port))
        .file("p.json", r#"{"version": "1", "default": "allow"}"#)
        .file("server.py", SERVER);
    place
}

fn call(place: &Place, port: u16) -> String {
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_notes","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;
    let line = format!(
        "curl -s http://127.0.0.1:{port}/mcp/local -H 'Authorization: Bearer {TOKEN}' \
         -H 'Content-Type: application/json' -H 'Accept: application/json, text/event-stream' \
         -H 'MCP-Protocol-Version: 2026-07-28' -H 'Mcp-Method: tools/call' -H 'Mcp-Name: list_notes' \
         -d '{body}'"
    );
    paste(&place.path(""), &line)
}

#[test]
fn a_program_in_the_file_is_served_and_its_output_is_shown() {
    let port = free_port();
    let place = prepared(port);
    let key = "key-of-the-service";
    let gateway = Running::serve(&place.path(""), port, &[("ALICE_TOKEN", TOKEN), ("SERVICE_KEY", key)]);
    let answer = call(&place, port);
    assert!(answer.contains("API_KEY") && answer.contains("LEVEL"), "{answer}");
    assert!(!answer.contains("ALICE_TOKEN"), "the gateway's own environment went along: {answer}");
    let at = ["--data-dir", "data"];
    let logs = || place.run(&[&["server", "logs", "local"][..], &at].concat()).out;
    eventually("its output is kept", || logs().contains("key "));
    assert!(logs().contains(r"\u{1b}[31mkey [REDACTED credential]"), "{}", logs());
    let shown = place.run(&[&["server", "show", "local"][..], &at].concat()).out;
    assert!(
        shown.contains("command: python3 server.py") && shown.contains("API_KEY: (in the file)"),
        "{shown}"
    );
    assert!(!shown.contains(key), "{shown}");
    let checked = place.run(&[&["server", "check", "local"][..], &at].concat());
    assert!(
        checked.out.contains("in revision 2026-07-28 and has 1 tools"),
        "{} {}",
        checked.out,
        checked.error
    );
    assert_eq!(gateway.stop(), Some(0));
    let logs = place.run(&[&["server", "logs", "local"][..], &at].concat());
    assert!(logs.code == 2 && logs.error.contains("no gateway runs here"), "{}", logs.error);
}

#[test]
fn a_program_is_added_from_the_command_line() {
    let place = Place::new();
    place.file("server.py", SERVER);
    let server = place.path("server.py").display().to_string();
    let added = place.run(&[
        "server",
        "add",
        "local",
        "--env",
        "API_KEY=sealed-value",
        "--inherit-env",
        "--",
        "python3",
        &server,
        "an argument",
    ]);
    assert_eq!(added.code, 0, "{}", added.error);
    let shown = place.run(&["server", "show", "local"]).out;
    assert!(shown.contains(&format!("command: python3 {server} \"an argument\"")), "{shown}");
    assert!(shown.contains("API_KEY: (sealed)") && !shown.contains("sealed-value"), "{shown}");
    assert!(place.run(&["server", "list"]).out.contains("python3"));
    let checked = place.run(&["server", "check", "local"]);
    assert!(checked.out.contains("list_notes"), "{} {}", checked.out, checked.error);
    let both = place.run(&["server", "add", "x", "--url", "http://h", "--", "python3"]);
    assert_eq!(both.code, 2, "{}", both.out);
}

#[test]
fn what_is_wrong_with_a_program_is_said_with_its_place() {
    let cases = [
        (
            "command = [\"python3\", \"server.py\"]",
            "command = []",
            "line 6, column 11: server `local` has an empty",
        ),
        (
            "command = [\"python3\", \"server.py\"]",
            "command = \"python3\"",
            "`command` must be a list of texts",
        ),
        ("cwd = \".\"", "url = \"http://h\"", "line 6, column 11: give `url` or `command`, not both"),
        ("cwd = \".\"", "process = \"one\"", "`process` must be one of `session`, `shared`"),
        ("cwd = \".\"", "headers = { A = \"b\" }", "runs as a command and has `headers`"),
        ("command = [\"python3\", \"server.py\"]", "url = \"http://h\"", "`env` needs `command` beside it"),
    ];
    for (good, bad, message) in cases {
        let place = prepared(1);
        let text = configuration(1).replace("env:ALICE_TOKEN", "file:token").replace("env:SERVICE_KEY", "x");
        place.file("portcullis.toml", text.replace(good, bad)).file("token", TOKEN);
        let ran = place.run(&["serve"]);
        assert!(ran.code == 2 && ran.error.contains(message), "{bad}: {}", ran.error);
    }
}

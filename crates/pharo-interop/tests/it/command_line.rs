//! The command line, as a person meets it.

use std::{
    io::Write,
    process::{Command, Output, Stdio},
};

use crate::server::{HttpServer, command};

fn run(flags: &[&str], environment: &[(&str, &str)]) -> (Output, String) {
    let output = command(flags, environment).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    (output, said)
}

fn check_refused(flags: &[&str], environment: &[(&str, &str)], part: &str) {
    let (output, said) = run(flags, environment);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains(part), "`{said}` does not contain `{part}`");
    assert!(output.stdout.is_empty(), "standard output is for MCP");
}

#[test]
fn help_names_every_flag_and_variable() {
    let (output, _) = run(&["--help"], &[]);
    let help = String::from_utf8(output.stdout).unwrap();
    for word in [
        "--image",
        "--http",
        "--token-file",
        "--allow-host",
        "--allow-origin",
        "--read-only",
        "PHARO_SIS_URL",
        "SIS_PORT",
        "PHARO_SIS_PORT",
        "PHARO_MCP_TIMEOUT",
        "PHARO_MCP_TOKEN",
    ] {
        assert!(help.contains(word), "{word} is missing:\n{help}");
    }
    assert_eq!(
        run(&["--version"], &[]).0.stdout,
        format!("pharo-interop-mcp {}\n", env!("CARGO_PKG_VERSION")).into_bytes()
    );
}

#[test]
fn what_cannot_work_is_refused_at_the_start() {
    check_refused(&["--imgae", "a=b"], &[], "--image");
    check_refused(&["--image", "dev"], &[], "NAME=URL");
    check_refused(&["--image", "dev=https://localhost:8086"], &[], "use http://");
    check_refused(&["--http", "nowhere"], &[], "--http");
    check_refused(&["--http", "0.0.0.0:0"], &[], "PHARO_MCP_TOKEN");
    check_refused(&["--token-file", "x"], &[], "--http");
    check_refused(&["--http", "127.0.0.1:0", "--token-file", "no-such-file"], &[], "no-such-file");
    check_refused(&[], &[("SIS_PORT", "http")], "SIS_PORT is `http`");
    check_refused(&[], &[("PHARO_MCP_TIMEOUT", "forever")], "PHARO_MCP_TIMEOUT is `forever`");
}

#[test]
fn a_token_is_never_printed() {
    let secret = "short-secret";
    let (_, said) = run(&["--http", "0.0.0.0:0"], &[("PHARO_MCP_TOKEN", secret)]);
    assert!(said.contains("PHARO_MCP_TOKEN") && !said.contains(secret), "{said}");
}

#[test]
fn a_port_in_use_is_told() {
    let server = HttpServer::start(&[], &[]);
    let (output, said) = run(&["--http", server.authority()], &[]);
    assert_eq!(output.status.code(), Some(1));
    assert!(said.contains(&format!("cannot listen on {}", server.authority())), "{said}");
}

#[test]
fn an_image_on_another_machine_is_warned_about() {
    let (_, said) = run(&["--image", "far=http://192.0.2.1:8086"], &[]);
    assert!(said.contains("warning: image `far` at http://192.0.2.1:8086"), "{said}");
    let (_, said) = run(&["--image", "near=http://localhost:8086"], &[]);
    assert_eq!(said, "");
}

#[test]
fn the_end_of_standard_input_is_the_end() {
    let (output, said) = run(&[], &[]);
    assert_eq!((output.status.code(), said.as_str()), (Some(0), ""));
}

#[test]
fn a_line_that_is_no_json_does_not_end_it() {
    let mut child = command(&[], &[]).stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"hello?\n[1]\n").unwrap();
    stdin
        .write_all(br#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#)
        .unwrap();
    stdin.write_all(b"\n").unwrap();
    drop(stdin);
    let said = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
    assert!(said.contains(r#""protocolVersion":"2025-11-25""#), "{said}");
}

#[test]
fn signals_end_it_with_success() {
    for signal in ["-INT", "-TERM"] {
        let server = HttpServer::start(&[], &[]);
        let killed = Command::new("kill").args([signal, &server.id().to_string()]).status().unwrap();
        assert!(killed.success());
        assert_eq!(server.wait(), (Some(0), String::new()), "{signal}");
    }
}

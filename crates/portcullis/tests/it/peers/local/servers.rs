//! The servers: how each is started, its policy, and what is tried on it.

use std::path::Path;
use std::process::Command;
use std::rc::Rc;

use portcullis_testkit::pharo_stand_in::StandIn;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::super::install;
use super::super::servers::{Journal, built};
use super::{Call, Keep, Local, path_text};

/// What a refused argument is answered with.
const REASON: &str = "Not with this.";

fn call(tool: &'static str, arguments: Value) -> Call {
    Call { tool, arguments }
}

fn twice_an_hour() -> Value {
    json!({"limits": [{"counter": "two", "window": "hour", "max": 2}]})
}

fn unless(path: &str, op: &str, value: Value) -> Value {
    json!({"require": [{"conditions": [{"path": path, "op": op, "value": value}], "on_deny": REASON}]})
}

fn not_if(path: &str, op: &str, value: Value) -> Value {
    json!({"deny_if": [{"conditions": [{"path": path, "op": op, "value": value}], "on_deny": REASON}]})
}

/// Programs that start others, or are scripts, need to find them.
fn path_variable() -> (&'static str, String) {
    ("PATH", std::env::var("PATH").unwrap())
}

fn local(
    command: Vec<String>,
    tools: Value,
    allowed: (Call, &'static str),
    refused: (Call, &'static str),
    limited: (Call, &'static str),
) -> Local {
    Local {
        command,
        env: vec![path_variable()],
        tools,
        allowed,
        is_done: Box::new(|| true),
        refused,
        is_refused_done: Box::new(|| false),
        limited,
        progress: None,
        cancel: None,
        is_cancelled: Box::new(|| true),
        sampling: None,
        _keep: Keep::default(),
    }
}

fn keep(directory: TempDir) -> Keep {
    Keep { _directory: Some(directory), _image: None }
}

fn node_command(name: &str, arguments: &[&str]) -> Vec<String> {
    let program = path_text(&install::node_program(name));
    [program].into_iter().chain(arguments.iter().map(|word| (*word).to_owned())).collect()
}

fn python_command(interpreter: &Path, program: &str, arguments: &[&str]) -> Vec<String> {
    let program = path_text(&interpreter.with_file_name(program));
    [program].into_iter().chain(arguments.iter().map(|word| (*word).to_owned())).collect()
}

pub(super) fn everything() -> Local {
    let tools = json!({
        "echo": not_if("args.message", "contains", json!("password")),
        "get-sum": twice_an_hour(),
        "trigger-long-running-operation": {},
        "trigger-sampling-request": {}
    });
    let slow = "trigger-long-running-operation";
    let mut local = local(
        node_command("mcp-server-everything", &["stdio"]),
        tools,
        (call("echo", json!({"message": "grüezi"})), "Echo: grüezi"),
        (call("echo", json!({"message": "my password"})), "/tools/echo/deny_if/0"),
        (call("get-sum", json!({"a": 2, "b": 3})), "/tools/get-sum/limits/0"),
    );
    local.progress = Some((call(slow, json!({"duration": 1.5, "steps": 3})), 1));
    local.cancel = Some(call(slow, json!({"duration": 60, "steps": 300})));
    local.sampling = Some(call("trigger-sampling-request", json!({"prompt": "a riddle"})));
    local
}

/// The server itself would write outside the permitted directory: it was given the one above.
pub(super) fn filesystem() -> Local {
    let directory = TempDir::new().unwrap();
    let root = directory.path().canonicalize().unwrap();
    let inside = root.join("inside");
    std::fs::create_dir(&inside).unwrap();
    let (good, bad) = (inside.join("good.txt"), root.join("bad.txt"));
    let sneaky = format!("{}/../bad.txt", path_text(&inside));
    let tools = json!({
        "write_file": unless("args.path", "path_within", json!([path_text(&inside)])),
        "list_directory": twice_an_hour()
    });
    let local = local(
        node_command("mcp-server-filesystem", &[&path_text(&root)]),
        tools,
        (call("write_file", json!({"path": path_text(&good), "content": "x"})), "Successfully wrote"),
        (call("write_file", json!({"path": sneaky, "content": "x"})), "/tools/write_file/require/0"),
        (call("list_directory", json!({"path": path_text(&inside)})), "/tools/list_directory/limits/0"),
    );
    Local {
        is_done: Box::new(move || good.exists()),
        is_refused_done: Box::new(move || bad.exists()),
        _keep: keep(directory),
        ..local
    }
}

pub(super) fn memory() -> Local {
    let directory = TempDir::new().unwrap();
    let file = directory.path().join("memory.jsonl");
    let entity = |name: &str| json!({"entities": [{"name": name, "entityType": "word", "observations": []}]});
    let tools = json!({
        "create_entities": not_if("args.entities[*].name", "starts_with", json!("secret")),
        "read_graph": twice_an_hour()
    });
    let mut local = local(
        node_command("mcp-server-memory", &[]),
        tools,
        (call("create_entities", entity("harmless")), "harmless"),
        (call("create_entities", entity("secret-word")), "/tools/create_entities/deny_if/0"),
        (call("read_graph", json!({})), "/tools/read_graph/limits/0"),
    );
    local.env.push(("MEMORY_FILE_PATH", path_text(&file)));
    let holds =
        move |file: &Path, word: &str| std::fs::read_to_string(file).is_ok_and(|text| text.contains(word));
    let same_file = file.clone();
    Local {
        is_done: Box::new(move || holds(&file, "harmless")),
        is_refused_done: Box::new(move || holds(&same_file, "secret-word")),
        _keep: keep(directory),
        ..local
    }
}

pub(super) fn git() -> Local {
    let directory = TempDir::new().unwrap();
    let repository = path_text(&directory.path().canonicalize().unwrap());
    run_git(&repository, &["init", "--quiet"]);
    let author = ["-c", "user.name=tester", "-c", "user.email=tester@localhost"];
    run_git(&repository, &[&author[..], &["commit", "--quiet", "--allow-empty", "-m", "first"]].concat());
    let branch = |name: &str| json!({"repo_path": repository, "branch_name": name});
    let tools = json!({
        "git_create_branch": unless("args.branch_name", "starts_with", json!("agent-")),
        "git_log": twice_an_hour()
    });
    let local = local(
        python_command(&install::python(), "mcp-server-git", &["--repository", &repository]),
        tools,
        (call("git_create_branch", branch("agent-one")), "Created branch"),
        (call("git_create_branch", branch("release")), "/tools/git_create_branch/require/0"),
        (call("git_log", json!({"repo_path": repository})), "/tools/git_log/limits/0"),
    );
    let same_repository = repository.clone();
    Local {
        is_done: Box::new(move || run_git(&repository, &["branch", "--list"]).contains("agent-one")),
        is_refused_done: Box::new(move || {
            run_git(&same_repository, &["branch", "--list"]).contains("release")
        }),
        _keep: keep(directory),
        ..local
    }
}

fn run_git(repository: &str, arguments: &[&str]) -> String {
    let ran = Command::new("git").arg("-C").arg(repository).args(arguments).output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8(ran.stdout).unwrap()
}

pub(super) fn time() -> Local {
    let noon = json!({"source_timezone": "UTC", "time": "12:00", "target_timezone": "UTC"});
    let tools = json!({
        "get_current_time": unless("args.timezone", "in", json!(["UTC", "Europe/Zurich"])),
        "convert_time": twice_an_hour()
    });
    local(
        python_command(&install::python(), "mcp-server-time", &["--local-timezone=UTC"]),
        tools,
        (call("get_current_time", json!({"timezone": "Europe/Zurich"})), "Europe/Zurich"),
        (call("get_current_time", json!({"timezone": "Asia/Tokyo"})), "/tools/get_current_time/require/0"),
        (call("convert_time", noon), "/tools/convert_time/limits/0"),
    )
}

pub(super) fn sqlite() -> Local {
    let directory = TempDir::new().unwrap();
    let file = directory.path().join("peer.db");
    let make = |table: &str| json!({"query": format!("CREATE TABLE {table} (id INTEGER)")});
    let tools = json!({
        "create_table": not_if("args.query", "regex", json!("(?i)forbidden")),
        "list_tables": twice_an_hour()
    });
    let local = local(
        python_command(&install::python_for_sqlite(), "mcp-server-sqlite", &["--db-path", &path_text(&file)]),
        tools,
        (call("create_table", make("permitted")), "created"),
        (call("create_table", make("forbidden")), "/tools/create_table/deny_if/0"),
        (call("list_tables", json!({})), "/tools/list_tables/limits/0"),
    );
    let holds = move |file: &Path, word: &[u8]| {
        let bytes = std::fs::read(file).unwrap_or_default();
        bytes.windows(word.len()).any(|part| part == word)
    };
    let same_file = file.clone();
    Local {
        is_done: Box::new(move || holds(&file, b"permitted")),
        is_refused_done: Box::new(move || holds(&same_file, b"forbidden")),
        _keep: keep(directory),
        ..local
    }
}

/// The image is the stand-in of the test kit: a test peer, not Pharo.
pub(super) fn pharo() -> Local {
    let image = Rc::new(StandIn::start().unwrap());
    let code = |code: &str| json!({"code": code});
    let tools = json!({
        "eval": not_if("args.code", "regex", json!("(?i)snapshot:\\s*true")),
        "get_class_comment": twice_an_hour()
    });
    let mut local = local(
        vec![path_text(&built("pharo-interop-mcp"))],
        tools,
        (call("eval", code("3 + 4")), "7"),
        (call("eval", code("Smalltalk snapshot: true andQuit: false")), "/tools/eval/deny_if/0"),
        (call("get_class_comment", json!({"class_name": "SisServer"})), "/tools/get_class_comment/limits/0"),
    );
    local.env.push(("PHARO_SIS_URL", image.url()));
    local.progress = Some((call("eval", code("(Delay forMilliseconds: 3000) wait")), 1));
    local.cancel = Some(call("eval", code("self halt")));
    let [first, second, third] = [image.clone(), image.clone(), image.clone()];
    Local {
        is_done: Box::new(move || first.take_recorded().iter().any(|request| request.path == "/eval")),
        is_refused_done: Box::new(move || !second.take_recorded().is_empty()),
        is_cancelled: Box::new(move || third.under_way() == 0),
        _keep: Keep { _directory: None, _image: Some(image) },
        ..local
    }
}

pub(super) fn modern() -> Local {
    let directory = TempDir::new().unwrap();
    let file = path_text(&directory.path().join("journal"));
    let journal = || Journal::at(&file);
    let tools = json!({
        "add": twice_an_hour(),
        "count": {},
        "pay": unless("args.amount", "lte", json!(100)),
        "wait": {}
    });
    let script = path_text(&install::script("modern_server.py"));
    let mut local = local(
        python_command(&install::python(), "python", &[&script, &file, "stdio"]),
        tools,
        (call("pay", json!({"amount": 100})), "paid 100"),
        (call("pay", json!({"amount": 101})), "/tools/pay/require/0"),
        (call("add", json!({"a": 1, "b": 2})), "/tools/add/limits/0"),
    );
    local.progress = Some((call("count", json!({"steps": 3})), 1));
    local.cancel = Some(call("wait", json!({})));
    let [first, second, third] = [journal(), journal(), journal()];
    Local {
        is_done: Box::new(move || first.count("pay") == 1),
        is_refused_done: Box::new(move || second.count("pay") > 1),
        is_cancelled: Box::new(move || third.count("wait cancelled") == 1),
        _keep: keep(directory),
        ..local
    }
}

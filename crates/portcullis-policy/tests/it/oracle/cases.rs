//! Puts the project's own case files to the oracle: a third reading, written by hand. Files in YAML and
//! documents that must be refused are not for it.

use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::compare::{Expected, expectations};
use super::coverage::Coverage;
use super::decide::{Decision, Effect, Verdict};
use super::document::{Class, RequestKind};
use super::reading;
use super::scenario::{CallCase, Event, Scenario, Tool, What, Who};
use super::value::{Val, read};
use super::windows::read_instant;

#[test]
fn the_oracle_agrees_with_the_case_files() {
    let mut wrong = Vec::new();
    let mut cases = 0;
    for file in files(&cases_directory()) {
        let text = std::fs::read_to_string(&file).unwrap();
        let content = match read(&text) {
            Val::Arr(objects) => objects,
            object => vec![object],
        };
        for object in content.iter().filter(|object| object.get("valid").is_none()) {
            let (found, count) = run(object, &file);
            wrong.extend(found);
            cases += count;
        }
    }
    assert!(cases > 500, "only {cases} cases were found");
    assert!(wrong.is_empty(), "{} of {cases}:\n{}", wrong.len(), wrong.join("\n"));
}

fn cases_directory() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let above = here.ancestors().map(|directory| directory.join("cases/policy"));
    above.into_iter().find(|directory| directory.is_dir()).unwrap()
}

/// All test files in JSON below the directory; documents that they name lie in directories of their own.
fn files(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.ends_with("documents") {
            found.extend(files(&path));
        } else if path.extension().is_some_and(|extension| extension == "json") {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// Runs one object of a file; gives what is wrong and the number of cases.
fn run(object: &Val, file: &Path) -> (Vec<String>, usize) {
    let nothing = Val::Obj(Vec::new());
    let defaults = object.get("defaults").unwrap_or(&nothing);
    let tools = tools(object);
    let mut events = Vec::new();
    let mut wanted = Vec::new();
    let mut at = defaults.get("at").map_or(0, instant);
    for case in list(object.get("cases")) {
        at = case.get("at").map_or(at, instant);
        let event = Event { who: who(case, defaults), at, what: what(case, &tools) };
        let times = case.get("repeat").map_or(1, |times| text(times).parse().unwrap());
        for _ in 0..times {
            events.push(event.clone());
            wanted.push(case);
        }
    }
    let scenario = Scenario {
        doc: policy(object, file).map(|policy| reading::document(&policy)),
        spelling: None,
        tools,
        events,
    };
    let answers = expectations(&scenario, &mut Coverage::off());
    let mut wrong = Vec::new();
    for (case, answer) in wanted.iter().zip(&answers) {
        if let Err(told) = check(case.get("expect").unwrap_or(&nothing), answer) {
            let name = case.get("name").map_or(String::new(), text);
            wrong.push(format!("{}: {name}: {told}", file.display()));
        }
    }
    (wrong, wanted.len())
}

fn policy(object: &Val, file: &Path) -> Option<Val> {
    match object.get("policy")? {
        Val::Null => None,
        Val::Str(name) => {
            let text = std::fs::read_to_string(file.with_file_name(name)).unwrap();
            Some(read(&text))
        }
        document => Some(document.clone()),
    }
}

fn tools(object: &Val) -> Vec<Tool> {
    let Some(Val::Obj(tools)) = object.get("tools") else {
        return Vec::new();
    };
    let tool = |(name, about): &(String, Val)| Tool {
        name: name.clone(),
        class: about.get("class").map(|class| Class::named(&text(class))),
        input_schema: about.get("input_schema").cloned().map(Rc::new),
    };
    tools.iter().map(tool).collect()
}

fn who(case: &Val, defaults: &Val) -> Who {
    let given = |name: &str| case.get(name).or(defaults.get(name));
    let words = |name: &str| match given(name) {
        None | Some(Val::Null) => None,
        Some(value) => Some(text(value)),
    };
    let grant = given("grant");
    let label = grant.and_then(|grant| grant.get("label")).map_or("test".to_owned(), text);
    Who {
        grant_id: label.clone(),
        grant_label: label,
        grant_tags: list(grant.and_then(|grant| grant.get("tags"))).iter().map(text).collect(),
        server: words("server").unwrap_or("test".to_owned()),
        session: words("session"),
        client: words("client"),
    }
}

fn what(case: &Val, tools: &[Tool]) -> What {
    if let Some(call) = case.get("call") {
        return What::Call(call_case(call, case, tools));
    }
    if let Some(uri) = case.get("read") {
        return What::Read(text(uri));
    }
    if let Some(name) = case.get("prompt") {
        return What::Prompt(text(name));
    }
    match case.get("server_request") {
        Some(kind) => What::ServerRequest(RequestKind::named(&text(kind))),
        None => What::List,
    }
}

fn call_case(call: &Val, case: &Val, tools: &[Tool]) -> CallCase {
    let name = text(call.get("tool").unwrap());
    let known = tools.iter().find(|tool| tool.name == name).cloned();
    let arguments = call.get("args").cloned();
    CallCase {
        tool: known.unwrap_or(Tool { name, class: None, input_schema: None }),
        arguments: arguments.or(call.get("args_json").map(|json| read(&text(json)))),
        arguments_text: None,
        approved: matches!(case.get("approved"), Some(Val::Bool(true))),
    }
}

fn check(expect: &Val, answer: &Expected) -> Result<(), String> {
    match answer {
        Expected::Visible(names) => {
            let mut wanted: Vec<String> = list(expect.get("visible")).iter().map(text).collect();
            let mut names = names.clone();
            wanted.sort();
            names.sort();
            equal("visible", &wanted, &names)
        }
        Expected::Other { verdict, shadow } => check_verdict(expect, verdict, *shadow),
        Expected::Call(decision) => {
            check_verdict(expect, &decision.verdict, decision.shadow)?;
            check_set(expect, decision)
        }
    }
}

fn check_set(expect: &Val, decision: &Decision) -> Result<(), String> {
    match expect.get("set") {
        None => Ok(()),
        Some(set) => {
            let wanted: Vec<String> = list(Some(set)).iter().map(text).collect();
            equal("set", &wanted, &decision.set)
        }
    }
}

fn check_verdict(expect: &Val, verdict: &Verdict, shadow: bool) -> Result<(), String> {
    let effect = if shadow { Effect::Allow } else { verdict.effect };
    let told = format!("{effect:?}").to_lowercase();
    let would = |effect| (shadow && verdict.effect == effect).to_string();
    let retry = verdict.retry_after_s.map_or("null".to_owned(), |s| s.to_string());
    let found = [
        ("decision", told),
        ("rule", verdict.rule.clone()),
        ("would_deny", would(Effect::Deny)),
        ("would_approve", would(Effect::Approve)),
        ("retryable", verdict.retryable.to_string()),
        ("retry_after_s", retry),
    ];
    for (name, found) in found {
        if let Some(wanted) = expect.get(name) {
            equal(name, &text(wanted), &found)?;
        }
    }
    Ok(())
}

fn equal<T: PartialEq + std::fmt::Debug>(what: &str, wanted: &T, found: &T) -> Result<(), String> {
    match wanted == found {
        true => Ok(()),
        false => Err(format!("{what}: the file says {wanted:?}, the oracle {found:?}")),
    }
}

fn instant(value: &Val) -> i64 {
    read_instant(&text(value))
}

fn list(value: Option<&Val>) -> &[Val] {
    match value {
        Some(Val::Arr(elements)) => elements,
        _ => &[],
    }
}

/// A string's content; a number, a truth or null as it is spelled.
fn text(value: &Val) -> String {
    match value {
        Val::Str(text) | Val::Num(text) => text.clone(),
        Val::Bool(truth) => truth.to_string(),
        Val::Null => "null".to_owned(),
        other => panic!("not a plain value: {other:?}"),
    }
}

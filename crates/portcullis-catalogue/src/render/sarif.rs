//! SARIF 2.1.0, for code-scanning pages: one result per tool that changes something and one per finding.

use portcullis_json::{Object, Value};

use crate::Level;
use crate::findings::FindingKind;
use crate::inert::{inert, inert_short};
use crate::record::{ServerRecord, ToolRecord};

const KINDS: [FindingKind; 11] = [
    FindingKind::HiddenCharacters,
    FindingKind::OddName,
    FindingKind::Instructions,
    FindingKind::OtherTools,
    FindingKind::SecretPlace,
    FindingKind::RemoteReference,
    FindingKind::RecursiveSchema,
    FindingKind::TooLarge,
    FindingKind::LoadedDefault,
    FindingKind::AnnotationMismatch,
    FindingKind::ActiveMarkup,
];

/// A log with one run. Tools have no file: the place is a logical location.
pub fn sarif(servers: &[ServerRecord], version: &str) -> Value {
    let results: Vec<Value> = servers
        .iter()
        .flat_map(|server| server.tools.iter().flat_map(move |tool| results(server, tool)))
        .collect();
    let driver = Object::new().with("name", "portcullis").with("version", version).with("rules", rules());
    let run = Object::new()
        .with("tool", Object::new().with("driver", driver))
        .with("columnKind", "unicodeCodePoints")
        .with("results", results);
    let log = Object::new()
        .with("$schema", "https://json.schemastore.org/sarif-2.1.0.json")
        .with("version", "2.1.0")
        .with("runs", vec![Value::Object(run)]);
    Value::Object(log)
}

fn rules() -> Vec<Value> {
    let mut rules: Vec<Value> = crate::Class::ALL
        .into_iter()
        .skip(1)
        .map(|class| rule(&class_rule(class), crate::record::class_meaning(class)))
        .collect();
    rules.extend(KINDS.iter().map(|kind| rule(kind.name(), kind.meaning())));
    rules
}

fn rule(id: &str, text: &str) -> Value {
    let description = Object::new().with("text", text);
    Value::Object(Object::new().with("id", id).with("shortDescription", description))
}

fn class_rule(class: crate::Class) -> String {
    format!("class-{}", class.name().to_lowercase())
}

fn results(server: &ServerRecord, tool: &ToolRecord) -> Vec<Value> {
    let mut results = Vec::new();
    if tool.class() != crate::Class::Read {
        let text = inert(&tool.computed.rationale);
        results.push(result(server, tool, &class_rule(tool.class()), tool.level(), &text, ""));
    }
    for finding in &tool.findings {
        let text = inert(&finding.says);
        let place = finding.spot.label();
        results.push(result(server, tool, finding.kind.name(), finding.level, &text, &place));
    }
    results
}

fn result(
    server: &ServerRecord,
    tool: &ToolRecord,
    rule: &str,
    level: Level,
    text: &str,
    place: &str,
) -> Value {
    let level = match level {
        Level::Critical | Level::High => "error",
        Level::Medium => "warning",
        Level::Low => "note",
    };
    let name =
        format!("{}/{}{}", inert_short(&server.facts.name, 100), inert_short(tool.name(), 200), inert(place));
    let logical = Object::new().with("fullyQualifiedName", name.as_str()).with("kind", "function");
    let location = Object::new().with("logicalLocations", vec![Value::Object(logical)]);
    let prints = Object::new().with("portcullis/v1", format!("{rule}:{name}"));
    let object = Object::new()
        .with("ruleId", rule)
        .with("level", level)
        .with("message", Object::new().with("text", text))
        .with("locations", vec![Value::Object(location)])
        .with("partialFingerprints", prints);
    Value::Object(object)
}

//! SARIF 2.1.0, for code-scanning pages: one result per tool that changes something and one per finding.

use portcullis_json::{Object, Value};

use crate::Level;
use crate::findings::FindingKind;
use crate::inert::{inert, inert_short};
use crate::record::{Risk, ServerRecord, class_meaning, class_rule};

/// A log with one run. A tool is a logical location; `file` is the file that the definitions stand in, if there
/// is one.
pub fn sarif(servers: &[ServerRecord], version: &str, file: Option<&str>) -> Value {
    let rules = rules();
    let results: Vec<Value> = servers
        .iter()
        .flat_map(|server| {
            server.risks().iter().map(|risk| result(server, risk, &rules, file)).collect::<Vec<_>>()
        })
        .collect();
    let rules: Vec<Value> = rules.iter().map(|(id, text)| rule(id, text)).collect();
    let driver = Object::new().with("name", "portcullis").with("version", version).with("rules", rules);
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

fn rules() -> Vec<(String, &'static str)> {
    let classes = crate::Class::ALL.into_iter().skip(1);
    let mut rules: Vec<_> = classes.map(|class| (class_rule(class), class_meaning(class))).collect();
    rules.extend(FindingKind::ALL.iter().map(|kind| (kind.name().to_owned(), kind.meaning())));
    rules
}

fn rule(id: &str, text: &str) -> Value {
    let description = Object::new().with("text", text);
    Value::Object(Object::new().with("id", id).with("shortDescription", description))
}

fn result(server: &ServerRecord, risk: &Risk<'_>, rules: &[(String, &str)], file: Option<&str>) -> Value {
    let level = match risk.level {
        Level::Critical | Level::High => "error",
        Level::Medium => "warning",
        Level::Low => "note",
    };
    let tool = inert_short(risk.tool_name(), 200);
    let owner = inert_short(&server.facts.name, 100);
    let name = format!("{owner}/{tool}{}", inert_short(risk.place, 200));
    let subject = if tool.is_empty() { &owner } else { &tool };
    let index = rules.iter().position(|(id, _)| *id == risk.rule).unwrap_or_default();
    let prints = Object::new().with("portcullis/v1", format!("{}:{name}", risk.rule));
    let object = Object::new()
        .with("ruleId", risk.rule.as_str())
        .with("ruleIndex", i64::try_from(index).unwrap_or_default())
        .with("level", level)
        .with("message", Object::new().with("text", format!("{subject}: {}", inert(risk.says))))
        .with("locations", vec![location(&name, file)])
        .with("partialFingerprints", prints);
    Value::Object(object)
}

fn location(name: &str, file: Option<&str>) -> Value {
    let logical = Object::new().with("fullyQualifiedName", name).with("kind", "function");
    let location = Object::new().with("logicalLocations", vec![Value::Object(logical)]);
    Value::Object(match file {
        None => location,
        Some(file) => {
            let artifact = Object::new().with("uri", uri(file));
            location.with("physicalLocation", Object::new().with("artifactLocation", artifact))
        }
    })
}

/// A path as a relative reference: everything that could mean something in a URI is escaped.
fn uri(path: &str) -> String {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._~/".contains(byte);
    path.bytes()
        .map(|byte| if plain(&byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_becomes_a_reference() {
        assert_eq!(uri("a b/tools.json"), "a%20b/tools.json");
        assert_eq!(uri("ü:#"), "%C3%BC%3A%23");
    }
}

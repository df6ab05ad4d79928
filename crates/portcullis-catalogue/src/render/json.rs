//! JSON: the whole record, for programs. Text of definitions is as published; JSON strings cannot act.

use portcullis_json::{Object, Value};

use crate::findings::Finding;
use crate::fingerprint::hex;
use crate::recommend::Profile;
use crate::record::{Provenance, ServerRecord, ToolRecord, slugs};
use crate::{Class, Evidence, tokens};

fn number(value: f64) -> Value {
    portcullis_json::Number::parse(&format!("{value:.4}")).map_or(Value::Null, Value::Number)
}

fn count(value: usize) -> Value {
    Value::from(i64::try_from(value).unwrap_or(i64::MAX))
}

/// How a server was scanned.
#[derive(Clone, Debug)]
pub struct Scan<'a> {
    /// When, as text.
    pub at: &'a str,
    /// The revision of the protocol that was spoken, if it was a live one.
    pub revision: Option<&'a str>,
    /// Where the definitions came from.
    pub provenance: Provenance,
    /// The definitions, as published, so that the scan can be imported.
    pub published: &'a [Value],
}

/// A server as it was scanned: its record, how it was seen, and the definitions themselves.
pub fn scan_json(server: &ServerRecord, scan: &Scan<'_>) -> Value {
    let how = Object::new()
        .with("at", scan.at)
        .with("revision", scan.revision.map_or(Value::Null, Value::from))
        .with("provenance", scan.provenance.name());
    match server_json(server) {
        Value::Object(record) => {
            Value::Object(record.with("scan", how).with("definitions", scan.published.to_vec()))
        }
        other => other,
    }
}

/// A server.
pub fn server_json(server: &ServerRecord) -> Value {
    let mut counts = Object::new();
    for class in Class::ALL {
        counts.insert(class.name(), count(server.count(class)));
    }
    let mut policies = Object::new();
    for profile in Profile::ALL {
        policies.insert(profile.name(), server.policy(profile).policy);
    }
    let names: Vec<&str> = server.tools.iter().map(ToolRecord::name).collect();
    let tools =
        server.tools.iter().zip(slugs(&names, true)).map(|(tool, slug)| match tool_json(server, tool) {
            Value::Object(object) => Value::Object(object.with("slug", slug)),
            other => other,
        });
    let tools: Vec<Value> = tools.collect();
    let optional = |text: &Option<String>| text.as_deref().map_or(Value::Null, Value::from);
    let object = Object::new()
        .with("server", server.facts.name.as_str())
        .with("version", optional(&server.facts.version))
        .with("repository", optional(&server.facts.repository))
        .with("counts", counts)
        .with("mutating", count(server.mutating()))
        .with("grade", grade(server))
        .with("tokens", count(server.tokens()))
        .with("tokens_note", tokens::NOTE)
        .with("findings", server.findings.iter().map(finding).collect::<Vec<_>>())
        .with("policies", policies)
        .with("tools", tools);
    Value::Object(object)
}

fn grade(server: &ServerRecord) -> Value {
    let mut terms = Object::new();
    for (name, value) in &server.grade.terms {
        terms.insert(name, number(*value));
    }
    let letter = server.grade.letter.map_or(Value::Null, |letter| Value::from(format!("{letter:?}")));
    let grade = Object::new()
        .with("letter", letter)
        .with("score", number(server.grade.score))
        .with("verdict", server.grade.verdict.name())
        .with("terms", terms);
    Value::Object(grade)
}

/// A tool.
pub fn tool_json(server: &ServerRecord, tool: &ToolRecord) -> Value {
    let attacks = tool.attacks.iter().map(|applies| {
        let attack = Object::new().with("slug", applies.attack.slug).with("why", applies.why.as_str());
        Value::Object(attack)
    });
    let questions = server.questions(tool).into_iter().map(|question| {
        Value::Object(Object::new().with("question", question.question).with("answer", question.answer))
    });
    let signals: Vec<Value> = tool.computed.signals.iter().map(|signal| Value::from(signal.name())).collect();
    let mut object = Object::new()
        .with("name", tool.name())
        .with("class", tool.class().name())
        .with("level", tool.level().name())
        .with("computed_class", tool.computed.class.name())
        .with("confidence", number(tool.computed.confidence))
        .with("needs_review", tool.computed.needs_review())
        .with("provenance", tool.provenance.name())
        .with("rationale", tool.computed.rationale.as_str())
        .with("evidence", tool.computed.evidence.iter().map(evidence).collect::<Vec<_>>())
        .with("signals", signals)
        .with("findings", tool.findings.iter().map(finding).collect::<Vec<_>>())
        .with("attacks", attacks.collect::<Vec<_>>())
        .with("policy", tool.recommendation.policy.clone())
        .with("policy_effect", format!("{} {}", tool.recommendation.effect, tool.recommendation.others))
        .with("questions", questions.collect::<Vec<_>>())
        .with("fingerprint", hex(&tool.fingerprint.whole))
        .with("tokens", count(tool.tokens));
    if let Some(set) = &tool.set_by_hand {
        let set = Object::new()
            .with("class", set.class.name())
            .with("by", set.by.as_str())
            .with("reason", set.reason.as_str());
        object = object.with("override", set);
    }
    Value::Object(object)
}

fn evidence(evidence: &Evidence) -> Value {
    let votes = evidence.votes.map_or(Value::Null, |class| Value::from(class.name()));
    let object = Object::new()
        .with("rule", evidence.rule.code())
        .with("place", evidence.place.label())
        .with("start", count(evidence.start))
        .with("end", count(evidence.end))
        .with("quote", evidence.quote.as_str())
        .with("votes", votes)
        .with("says", evidence.says.as_str());
    Value::Object(object)
}

fn finding(finding: &Finding) -> Value {
    let object = Object::new()
        .with("kind", finding.kind.name())
        .with("level", finding.level.name())
        .with("place", finding.spot.label())
        .with("start", count(finding.spot.start))
        .with("end", count(finding.spot.end))
        .with("says", finding.says.as_str());
    Value::Object(object)
}

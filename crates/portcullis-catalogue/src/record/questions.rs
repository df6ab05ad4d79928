//! The six questions about a tool and their answers, generated from the record.

use portcullis_json::{Object, Value, compact};

use super::tool::ToolRecord;
use super::{article, display_name};
use crate::Class;
use crate::inert::{inert, inert_json, inert_short};
use crate::recommend::{Profile, Treatment, treatment};

/// One question with its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// The question.
    pub question: String,
    /// The answer.
    pub answer: String,
}

/// What a class of tools does, in a sentence about the class.
pub(crate) fn class_meaning(class: Class) -> &'static str {
    match class {
        Class::Read => "Tools of this class fetch something and change nothing.",
        Class::Write => {
            "Tools of this class create or change something that can be changed back, usually as the acting step after gathering context."
        }
        Class::Execute => {
            "Tools of this class run code, a process or a workflow, or send something out; the effect depends on the arguments and may reach past the call."
        }
        Class::Destructive => "Tools of this class remove or end something for good.",
        Class::Financial => "Tools of this class move or commit money.",
    }
}

/// The advice for a whole class.
pub(crate) fn class_advice(class: Class) -> &'static str {
    match class {
        Class::Read => "Allow it; look at what can come back with it.",
        Class::Write => "Allow it with a limit, so that a loop cannot make hundreds of changes a minute.",
        Class::Execute => "Allow it with a tight limit, and ask a person where the arguments are free-form.",
        Class::Destructive => "Hide it unless somebody needs it, and then ask a person each time.",
        Class::Financial => "Ask a person each time.",
    }
}

/// All six.
pub(crate) fn questions(record: &ToolRecord, server: &str, repository: Option<&str>) -> Vec<Question> {
    let tool = inert(record.name());
    let make = |question: String, answer: String| Question { question, answer };
    vec![
        make(format!("What does `{tool}` do?"), what(record)),
        make(format!("How do I put a policy on `{tool}`?"), how(&tool)),
        make(format!("How risky is `{tool}`?"), risky(record)),
        make(format!("Can I rate-limit `{tool}`?"), rate_limit(record)),
        make(format!("How do I block `{tool}` entirely?"), block(record)),
        make(format!("Which MCP server offers `{tool}`?"), offered(server, repository)),
    ]
}

fn what(record: &ToolRecord) -> String {
    let said = match record.definition.description.as_deref() {
        Some(text) => format!("Its publisher says: “{}”", inert_short(text, 300)),
        None => "No description was published.".to_owned(),
    };
    let class = record.class();
    format!("{said} It is {} {} tool. {}", article(class.name()), class.name(), class_meaning(class))
}

fn how(tool: &str) -> String {
    format!(
        "Register the server with the gateway, add an entry for `{tool}` under `tools` (allow it, deny it, limit its rate or require approval), and point the client at the gateway's address for that server."
    )
}

fn risky(record: &ToolRecord) -> String {
    let class = record.class();
    format!("Class {}, level {}. {}", class.name(), record.level().name(), class_advice(class))
}

/// The worked example uses the same row as the recommended policy.
fn rate_limit(record: &ToolRecord) -> String {
    let max = match treatment(record.class(), Profile::Recommended) {
        Treatment::PerMinute(max) => max,
        _ => 10,
    };
    let limit = Object::new().with("max", i64::from(max)).with("window", 60);
    let policy = entry_policy(record.name(), Object::new().with("rate_limit", limit));
    format!(
        "Yes: `{}` allows {max} calls in any minute. They are counted per grant, so a new session does not start over.",
        inert_json(&compact(&policy))
    )
}

fn block(record: &ToolRecord) -> String {
    let entry = Object::new().with("action", "deny").with("reason", "Not for agents.");
    let policy = entry_policy(record.name(), entry);
    format!(
        "With `{}` the agent still sees the tool, and each call is answered with [POLICY DENIED] and the reason, which is optional. To take it off the list as well, put its name under `hide`.",
        inert_json(&compact(&policy))
    )
}

fn offered(server: &str, repository: Option<&str>) -> String {
    let name = inert(&display_name(server));
    let from = repository.map(|from| format!(" ({})", inert(from))).unwrap_or_default();
    format!(
        "{name}{from}. The gateway stands between the agent and this server and judges each call before it gets there."
    )
}

/// A policy with one entry; everything else stays allowed.
pub(crate) fn entry_policy(tool: &str, entry: Object) -> Value {
    let tools = Object::new().with(tool, entry);
    Value::Object(Object::new().with("version", "1").with("default", "allow").with("tools", tools))
}

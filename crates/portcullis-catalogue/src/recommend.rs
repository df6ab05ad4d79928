//! Recommended policies: one table, from which every page and every profile is derived.
//!
//! The sentence beside a policy is made from the same row; a test replays each sentence as calls.

use portcullis_json::{Object, Value, compact, pretty};

use crate::Class;
use crate::definition::ToolDefinition;
use crate::inert::{inert, inert_json};

/// How strict a server's policy is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Profile {
    /// A person is asked about everything that changes something.
    Strict,
    /// The table of the documentation.
    Recommended,
    /// Few limits; a person is asked about what cannot be undone.
    Permissive,
}

impl Profile {
    /// All of them, the strictest first.
    pub const ALL: [Profile; 3] = [Profile::Strict, Profile::Recommended, Profile::Permissive];

    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Profile::Strict => "strict",
            Profile::Recommended => "recommended",
            Profile::Permissive => "permissive",
        }
    }

    /// The profile with this name.
    pub fn from_name(name: &str) -> Option<Profile> {
        Profile::ALL.into_iter().find(|profile| profile.name().eq_ignore_ascii_case(name))
    }
}

/// What is done about a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Treatment {
    /// Allowed without a limit.
    Allow,
    /// Allowed so many times in any minute, per grant.
    PerMinute(u32),
    /// Each call waits for a person.
    Approve,
    /// Not listed, and every call refused.
    Hide,
}

/// The table.
pub fn treatment(class: Class, profile: Profile) -> Treatment {
    match (profile, class) {
        (Profile::Strict, Class::Read) => Treatment::PerMinute(60),
        (Profile::Strict, Class::Write | Class::Execute) => Treatment::Approve,
        (Profile::Strict, Class::Destructive | Class::Financial) => Treatment::Hide,
        (Profile::Recommended, Class::Read) => Treatment::Allow,
        (Profile::Recommended, Class::Write) => Treatment::PerMinute(30),
        (Profile::Recommended, Class::Execute) => Treatment::PerMinute(10),
        (Profile::Recommended, Class::Destructive) => Treatment::Hide,
        (Profile::Recommended, Class::Financial) => Treatment::Approve,
        (Profile::Permissive, Class::Read) => Treatment::Allow,
        (Profile::Permissive, Class::Write) => Treatment::PerMinute(120),
        (Profile::Permissive, Class::Execute) => Treatment::PerMinute(30),
        (Profile::Permissive, Class::Destructive | Class::Financial) => Treatment::Approve,
    }
}

/// A policy with what it does, in words.
#[derive(Clone, Debug, PartialEq)]
pub struct Recommendation {
    /// The document.
    pub policy: Value,
    /// What becomes of the tool, or of the server's tools.
    pub effect: String,
    /// What becomes of every tool that is not named.
    pub others: &'static str,
}

impl Recommendation {
    /// The document as people paste it.
    pub fn text(&self) -> String {
        inert_json(&pretty(&self.policy))
    }

    /// The same document with one line for each tool, for terminals.
    pub fn short_text(&self) -> String {
        let mut lines = Vec::new();
        for member in self.policy.as_object().into_iter().flatten() {
            let key = Value::from(member.key.as_str());
            match member.value.as_object() {
                Some(entries) => {
                    let entries = entries.iter().map(|entry| {
                        format!(
                            "    {}: {}",
                            compact(&Value::from(entry.key.as_str())),
                            compact(&entry.value)
                        )
                    });
                    let entries = entries.collect::<Vec<_>>().join(",\n");
                    lines.push(format!("  {}: {{\n{entries}\n  }}", compact(&key)));
                }
                None => lines.push(format!("  {}: {}", compact(&key), compact(&member.value))),
            }
        }
        inert_json(&format!("{{\n{}\n}}", lines.join(",\n")))
    }
}

/// What happens to the rest of the server under `default: deny`.
pub const OTHERS_DENIED: &str =
    "Other tools of the server are not listed and their calls are denied, because the default is deny.";
/// What happens to the rest of the server under `default: allow`.
pub const OTHERS_ALLOWED: &str = "The other tools of the server keep working, because the default is allow.";

/// The policy for one tool, as its page shows it.
pub fn tool_policy(tool: &ToolDefinition, class: Class) -> Recommendation {
    let treatment = treatment(class, Profile::Recommended);
    // Hiding or holding one tool must not close the others: only then is the sentence beside it true.
    let closes = matches!(treatment, Treatment::Allow | Treatment::PerMinute(_));
    let mut document = Document::new(if closes { "deny" } else { "allow" });
    document.add(&tool.name, treatment, validates(tool, class));
    Recommendation {
        policy: document.finish(),
        effect: effect(&tool.name, treatment),
        others: if closes { OTHERS_DENIED } else { OTHERS_ALLOWED },
    }
}

/// The policy for a whole server.
pub fn server_policy<'a>(
    tools: impl Iterator<Item = (&'a ToolDefinition, Class)>,
    profile: Profile,
) -> Recommendation {
    let mut document = Document::new("deny");
    let (mut open, mut limited, mut asked, mut hidden) = (0, 0, 0, 0);
    for (tool, class) in tools {
        let treatment = treatment(class, profile);
        match treatment {
            Treatment::Allow => open += 1,
            Treatment::PerMinute(_) => limited += 1,
            Treatment::Approve => asked += 1,
            Treatment::Hide => hidden += 1,
        }
        document.add(&tool.name, treatment, validates(tool, class));
    }
    Recommendation {
        policy: document.finish(),
        effect: format!(
            "Allowed without a limit: {open}. Limited per minute: {limited}. Held for a person: {asked}. Hidden: {hidden}."
        ),
        others: OTHERS_DENIED,
    }
}

/// What one treatment does, in a sentence.
pub fn effect(tool: &str, treatment: Treatment) -> String {
    let tool = inert(tool);
    match treatment {
        Treatment::Allow => format!("`{tool}` stays allowed, without a limit."),
        Treatment::PerMinute(max) => {
            format!(
                "`{tool}` stays usable, at most {max} times in any minute for each grant; the next call is denied."
            )
        }
        Treatment::Approve => {
            format!("`{tool}` stays listed, and each call waits until a person approves it.")
        }
        Treatment::Hide => {
            format!("`{tool}` is gone from the list, and every call of it is refused.")
        }
    }
}

/// Arguments are validated where the published schema bounds them and the tool changes something.
fn validates(tool: &ToolDefinition, class: Class) -> bool {
    let bounded = |tool: &ToolDefinition| tool.parameters().iter().any(|parameter| parameter.bounded);
    matches!(class, Class::Write | Class::Execute) && bounded(tool)
}

struct Document {
    default: &'static str,
    hide: Vec<Value>,
    tools: Object,
}

impl Document {
    fn new(default: &'static str) -> Document {
        Document { default, hide: Vec::new(), tools: Object::new() }
    }

    fn add(&mut self, name: &str, treatment: Treatment, validate: bool) {
        let mut entry = match treatment {
            Treatment::Allow => Object::new(),
            Treatment::PerMinute(max) => Object::new().with("limits", vec![limit(name, max)]),
            Treatment::Approve => Object::new()
                .with("action", "require_approval")
                .with("reason", "A person must approve each call of this tool."),
            // In `hide` a `*` would take other tools with it.
            Treatment::Hide if name.contains(['*', '?']) => {
                Object::new().with("action", "deny").with("reason", "This tool is not for agents.")
            }
            Treatment::Hide => {
                self.hide.push(Value::from(name));
                return;
            }
        };
        if validate && matches!(treatment, Treatment::PerMinute(_)) {
            entry.insert("validate", Value::from("schema"));
        }
        self.tools.insert(name, Value::Object(entry));
    }

    fn finish(self) -> Value {
        let mut document = Object::new().with("version", "1").with("default", self.default);
        if !self.hide.is_empty() {
            document = document.with("hide", self.hide);
        }
        if !self.tools.is_empty() {
            document = document.with("tools", self.tools);
        }
        Value::Object(document)
    }
}

fn limit(name: &str, max: u32) -> Value {
    let limit = Object::new()
        .with("counter", format!("{name}_rate"))
        .with("window", "minute")
        .with("max", i64::from(max))
        .with("scope", "grant");
    Value::Object(limit)
}

/// The label of the call to action for a class.
pub fn call_to_action(class: Class) -> &'static str {
    match class {
        Class::Read => "Cap this tool",
        Class::Write => "Limit this tool",
        Class::Execute => "Rate-limit this tool",
        Class::Destructive => "Restrict this tool",
        Class::Financial => "Require approval",
    }
}

//! One tool as the gateway judges it, made from its definition when a server's tools are listed.
//!
//! Everything that a call needs is looked up here and computed before: class, mirrored arguments. Called by
//! `catalogue.rs` alone; what the policy says about a tool is not in here.

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

use ahash::HashMap;
use portcullis_catalogue::fingerprint::of_definition;
use portcullis_catalogue::{self as catalogue, Siblings};
use portcullis_json::{Digest, Object, Value};
use portcullis_mcp::Era;
use portcullis_mcp::headers::ParamHeaders;
use portcullis_mcp::tool::ToolDefinition;
use portcullis_policy::{Class, Dialect, JsonSchema};

use crate::gateway::Gateway;
use crate::pins;
use crate::settings::Settings;
use crate::snapshot::ServerConfig;

/// One tool.
#[derive(Debug)]
pub(crate) struct Tool {
    pub(crate) name: String,
    /// None when the definition cannot be read as a tool's. An administrator may say otherwise: see
    /// `Server::class_of`.
    pub(crate) class_by_rules: Option<Class>,
    /// Not the definition that is pinned: not shown, and not called.
    pub(crate) withheld: bool,
    /// All of it, as the server said it.
    pub(crate) definition: Object,
    /// Of the definition.
    fingerprint: Digest,
    /// Compiled when the tool is first called: a list can be long.
    compiled: OnceLock<Option<JsonSchema>>,
    /// None when the schema's marks break the rules.
    pub(crate) headers: Option<ParamHeaders>,
    /// Only a client's list showed it, ours did not.
    pub(crate) learned: bool,
}

impl Tool {
    /// INVARIANT: list equals call. What a list of this era does not show cannot be called in it.
    pub(crate) fn is_offered(&self, era: Era) -> bool {
        is_sendable(era, self.headers.as_ref())
    }

    /// The fingerprint of a definition that a server shows under this tool's name. Most are the one that is known:
    /// comparing them costs far less than digesting.
    pub(crate) fn fingerprint_of(&self, shown: &Object) -> Digest {
        if *shown == self.definition { self.fingerprint } else { of_definition(shown) }
    }

    /// The schema of its arguments; none when it does not compile, and `validate` then denies.
    pub(crate) fn schema(&self) -> Option<&JsonSchema> {
        let compile = || JsonSchema::compile(self.definition.get("inputSchema")?, Dialect::AsDeclared).ok();
        self.compiled.get_or_init(compile).as_ref()
    }
}

/// In the modern era arguments are mirrored in headers, by marks in the schema that may break the rules.
pub(crate) fn is_sendable(era: Era, headers: Option<&ParamHeaders>) -> bool {
    !era.is_modern() || headers.is_some()
}

/// Makes tools of one server, each judged beside its siblings.
pub(crate) struct Workshop<'a> {
    gateway: &'a Gateway,
    config: &'a ServerConfig,
    siblings: Siblings,
}

impl<'a> Workshop<'a> {
    /// `names`: of all tools that the server is known to have.
    pub(crate) fn new<'n>(
        gateway: &'a Gateway,
        config: &'a ServerConfig,
        names: impl Iterator<Item = &'n str>,
    ) -> Workshop<'a> {
        Workshop { gateway, config, siblings: Siblings::of_names(&config.name, names) }
    }

    /// The tool of a definition with this fingerprint.
    pub(crate) fn tool(&self, tool: &ToolDefinition<'_>, fingerprint: Digest) -> Tool {
        Tool {
            name: tool.name.to_owned(),
            class_by_rules: self.class_by_rules(tool.definition),
            withheld: !pins::is_pinned(self.gateway, &self.config.name, tool.name, fingerprint),
            definition: tool.definition.clone(),
            fingerprint,
            compiled: OnceLock::new(),
            headers: ParamHeaders::from_schema(tool.input_schema).ok(),
            learned: false,
        }
    }

    /// A tool that only a client's list showed.
    pub(crate) fn learned_tool(&self, tool: &ToolDefinition<'_>) -> Tool {
        Tool { learned: true, ..self.tool(tool, of_definition(tool.definition)) }
    }

    /// What cannot be read has no class, and a policy with `classes` then denies it.
    fn class_by_rules(&self, definition: &Object) -> Option<Class> {
        let definition = Value::Object(definition.clone());
        let definition = catalogue::ToolDefinition::from_value(&definition).ok()?;
        Some(catalogue::classify(&definition, &self.siblings).class)
    }
}

/// Tools by name, within bounds.
#[derive(Clone, Default)]
pub(crate) struct Tools {
    by_name: HashMap<String, Arc<Tool>>,
    /// What they take in memory, about.
    bytes: usize,
}

/// One tool more than there may be, or too large a one.
pub(crate) struct TooMuch;

impl Tools {
    pub(crate) fn get(&self, name: &str) -> Option<&Arc<Tool>> {
        self.by_name.get(name)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<Tool>> {
        self.by_name.values()
    }

    /// The names of those that are not withheld.
    pub(crate) fn offered(&self) -> BTreeSet<&str> {
        self.iter().filter(|tool| !tool.withheld).map(|tool| tool.name.as_str()).collect()
    }

    pub(crate) fn len(&self) -> usize {
        self.by_name.len()
    }

    /// Takes the place of one of the same name.
    pub(crate) fn put(&mut self, tool: Arc<Tool>, settings: &Settings) -> Result<(), TooMuch> {
        let before = self.by_name.get(&tool.name).map(|tool| footprint(&tool.definition));
        let count = self.by_name.len() + usize::from(before.is_none());
        let bytes = self.bytes - before.unwrap_or_default() + footprint(&tool.definition);
        if count > settings.tools_max || bytes > settings.tools_bytes_max {
            return Err(TooMuch);
        }
        self.bytes = bytes;
        self.by_name.insert(tool.name.clone(), tool);
        Ok(())
    }
}

/// Bytes that an object takes in memory, about.
pub(crate) fn footprint(object: &Object) -> usize {
    object.iter().map(|member| size_of_val(member) + member.key.len() + footprint_of(&member.value)).sum()
}

fn footprint_of(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) => 0,
        Value::Number(number) => number.spelling().len(),
        Value::String(text) => text.len(),
        Value::Array(elements) => {
            elements.iter().map(|element| size_of_val(element) + footprint_of(element)).sum()
        }
        Value::Object(object) => footprint(object),
    }
}

//! One tool as the gateway judges it, made from its definition when a server's tools are listed.
//!
//! Everything that a call needs is looked up here and computed before: class, mirrored arguments. Called by
//! `catalogue.rs` alone; what the policy says about a tool is not in here.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use portcullis_catalogue::{self as catalogue, Siblings};
use portcullis_json::{Object, Value};
use portcullis_mcp::headers::ParamHeaders;
use portcullis_mcp::tool::ToolDefinition;
use portcullis_policy::{Class, Dialect, JsonSchema};

use crate::snapshot::ServerConfig;

/// The tools of a server, by name.
pub(crate) type Tools = HashMap<String, Arc<Tool>>;

/// One tool.
#[derive(Debug)]
pub(crate) struct Tool {
    pub(crate) name: String,
    /// None when the definition cannot be read as a tool's.
    pub(crate) class: Option<Class>,
    /// An administrator set the class; the rules were not asked.
    pub(crate) class_is_override: bool,
    input_schema: Value,
    /// Compiled when the tool is first called: a list can be long.
    compiled: OnceLock<Option<JsonSchema>>,
    /// None when the schema's marks break the rules.
    pub(crate) headers: Option<ParamHeaders>,
}

impl Tool {
    /// The schema of its arguments; none when it does not compile, and `validate` then denies.
    pub(crate) fn schema(&self) -> Option<&JsonSchema> {
        let compile = || JsonSchema::compile(&self.input_schema, Dialect::AsDeclared).ok();
        self.compiled.get_or_init(compile).as_ref()
    }
}

/// Makes tools of one server, each judged beside its siblings.
pub(crate) struct Workshop<'a> {
    config: &'a ServerConfig,
    siblings: Siblings,
}

impl<'a> Workshop<'a> {
    /// `names`: of all tools that the server is known to have.
    pub(crate) fn new<'n>(config: &'a ServerConfig, names: impl Iterator<Item = &'n str>) -> Workshop<'a> {
        Workshop { config, siblings: Siblings::of_names(&config.name, names) }
    }

    /// The tool of a definition.
    pub(crate) fn tool(&self, tool: &ToolDefinition<'_>) -> Tool {
        let by_hand = self.config.classes.get(tool.name).copied();
        Tool {
            name: tool.name.to_owned(),
            class: by_hand.or_else(|| self.class_by_rules(tool.definition)),
            class_is_override: by_hand.is_some(),
            input_schema: Value::Object(tool.input_schema.clone()),
            compiled: OnceLock::new(),
            headers: ParamHeaders::from_schema(tool.input_schema).ok(),
        }
    }

    /// What cannot be read has no class, and a policy with `classes` then denies it.
    fn class_by_rules(&self, definition: &Object) -> Option<Class> {
        let definition = Value::Object(definition.clone());
        let definition = catalogue::ToolDefinition::from_value(&definition).ok()?;
        Some(catalogue::classify(&definition, &self.siblings).class)
    }
}

/// All tools of one listing.
pub(crate) fn make_all(config: &ServerConfig, listed: &[ToolDefinition<'_>]) -> Tools {
    let workshop = Workshop::new(config, listed.iter().map(|tool| tool.name));
    listed.iter().map(|tool| (tool.name.to_owned(), Arc::new(workshop.tool(tool)))).collect()
}

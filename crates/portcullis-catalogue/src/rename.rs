//! Renames: a tool that went away while another with nearly the same definition came.
//!
//! A rule that names a tool does not reach it under a new name, so a rename must not pass as a new tool.
//! Words are compared, no meaning: a definition that is rewritten from scratch is a new tool.

use std::collections::BTreeSet;

use crate::definition::ToolDefinition;

/// Words of a description that are looked at.
const WORDS_MAX: usize = 400;
/// A shorter description has twins everywhere.
const WORDS_MIN: usize = 3;
/// Of four words, so many must be shared.
const SHARED_OF_FOUR: usize = 3;

/// What is compared: the words of the description and the parameters' names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outline {
    words: BTreeSet<String>,
    parameters: BTreeSet<String>,
}

impl Outline {
    /// The outline of a definition.
    pub fn of(tool: &ToolDefinition) -> Outline {
        let description = tool.description.as_deref().unwrap_or_default();
        // The tool's own name in its description changes with the name.
        let words = description
            .split(|character: char| !character.is_alphanumeric() && character != '_')
            .filter(|word| !word.is_empty() && *word != tool.name)
            .take(WORDS_MAX)
            .map(str::to_lowercase);
        let parameters = tool.parameters().into_iter().map(|parameter| parameter.place.to_string());
        Outline { words: words.collect(), parameters: parameters.collect() }
    }

    /// Whether two outlines are of one tool under two names.
    pub fn is_like(&self, other: &Outline) -> bool {
        let says_enough = self.words.len() >= WORDS_MIN || self.parameters.len() >= WORDS_MIN;
        says_enough && alike(&self.words, &other.words) && alike(&self.parameters, &other.parameters)
    }
}

fn alike(one: &BTreeSet<String>, other: &BTreeSet<String>) -> bool {
    let (shared, all) = (one.intersection(other).count(), one.union(other).count());
    shared * 4 >= all * SHARED_OF_FOUR
}

#[cfg(test)]
mod tests {
    use super::*;
    use portcullis_json::{Limits, parse};

    fn tool(name: &str, description: &str, schema: &str) -> Outline {
        let schema = parse(schema.as_bytes(), &Limits::document()).unwrap();
        Outline::of(&ToolDefinition::named(name).described(description).with_schema(schema))
    }

    const PATH: &str = r#"{"type":"object","properties":{"path":{"type":"string"}}}"#;

    #[test]
    fn the_same_words_and_parameters_under_another_name_are_a_rename() {
        let before = tool("delete_file", "Deletes one file from the disk, for good.", PATH);
        let after = tool("remove_file", "Deletes one file from the disk, for ever.", PATH);
        assert!(before.is_like(&after));
        let self_naming = tool("a", "Call a to delete one file.", PATH);
        assert!(self_naming.is_like(&tool("b", "Call b to delete one file.", PATH)));
    }

    #[test]
    fn another_tool_is_another_tool() {
        let before = tool("delete_file", "Deletes one file from the disk, for good.", PATH);
        assert!(!before.is_like(&tool("read_file", "Returns the text of one file.", PATH)));
        let other = r#"{"type":"object","properties":{"path":{},"mode":{},"force":{}}}"#;
        assert!(!before.is_like(&tool("remove_file", "Deletes one file from the disk, for good.", other)));
    }

    #[test]
    fn a_definition_that_says_nothing_is_like_no_other() {
        assert!(!tool("a", "", "{}").is_like(&tool("b", "", "{}")));
        assert!(!tool("a", "Sends it.", PATH).is_like(&tool("b", "Sends it.", PATH)));
    }
}

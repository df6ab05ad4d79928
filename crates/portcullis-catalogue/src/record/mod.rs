//! The full record of a tool and of a server: everything a page shows, as values.
//!
//! Pure. Renderers turn records into text; nothing here knows a format.

mod grade;
mod questions;
mod risk;
mod server;
mod tool;

pub use grade::{FORMULA, Grade, Letter, Posture, Verdict, grade_of};
pub use questions::Question;
pub(crate) use questions::{class_advice, class_meaning};
pub use risk::Risk;
pub(crate) use risk::class_rule;
pub use server::{DANGEROUS_MAX, RELATED_MAX, ServerFacts, ServerRecord};
pub(crate) use tool::definition_tokens;
pub use tool::{NOT_LIVE_CAP, Override, Provenance, ToolRecord};

/// `a` or `an` before a word.
pub fn article(word: &str) -> &'static str {
    match word.chars().next().map(|first| first.to_ascii_lowercase()) {
        Some('a' | 'e' | 'i' | 'o' | 'u') => "an",
        _ => "a",
    }
}

/// A server's name with `MCP server` behind it, once.
pub fn display_name(name: &str) -> String {
    let trimmed = name.trim();
    let lower = trimmed.to_lowercase();
    if lower.ends_with("mcp server") || lower.ends_with("mcp-server") {
        trimmed.to_owned()
    } else {
        format!("{trimmed} MCP server")
    }
}

/// The slug of a tool or server: lower case, `_` and other marks to `-`, dots kept for tools.
pub fn slug(name: &str, keep_dots: bool) -> String {
    let mark = |c: char| {
        if c.is_alphanumeric() || (keep_dots && c == '.') { c } else { '-' }
    };
    let slug: String = name.to_lowercase().chars().map(mark).collect();
    slug.trim_matches('-').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_around_names() {
        assert_eq!(article("Execute"), "an");
        assert_eq!(article("Read"), "a");
        assert_eq!(display_name("Pharo MCP Server"), "Pharo MCP Server");
        assert_eq!(display_name("pharo"), "pharo MCP server");
        assert_eq!(slug("Run_Class.Test", true), "run-class.test");
        assert_eq!(slug("io.github/a.b", false), "io-github-a-b");
    }
}

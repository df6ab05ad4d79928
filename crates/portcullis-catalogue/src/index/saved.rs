//! A saved list of one server's tools, in any of its shapes: our own scan, or an answer to `tools/list`.

use portcullis_json::Value;

use super::fault::Skipped;
use super::import::{definitions, read, tools_of};
use crate::definition::ToolDefinition;
use crate::record::Provenance;

/// What a file told.
#[derive(Clone, Debug)]
pub struct Saved {
    /// What the server is called, where the file says so.
    pub name: Option<String>,
    /// Its version, where the file says so.
    pub version: Option<String>,
    /// The tools.
    pub tools: Vec<ToolDefinition>,
    /// The definitions, as published.
    pub published: Vec<Value>,
    /// How they were seen.
    pub provenance: Provenance,
    /// What was left out.
    pub skipped: Vec<Skipped>,
}

/// Reads a saved list. Only our own scan may say that the tools were seen live.
pub fn saved(text: &str) -> Result<Saved, Skipped> {
    let value = read(text)?;
    match value.get("scan").and(value.get("definitions")).and_then(Value::as_array) {
        Some(published) => Ok(own_scan(&value, published)),
        None => {
            let (tools, skipped) = tools_of(&value)?;
            let (name, version) = (None, None);
            let published = published(&value).to_vec();
            Ok(Saved { name, version, tools, published, provenance: Provenance::Imported, skipped })
        }
    }
}

fn published(value: &Value) -> &[Value] {
    let tools = value.get("tools").or_else(|| value.get("result")?.get("tools")).unwrap_or(value);
    tools.as_array().unwrap_or_default()
}

fn own_scan(value: &Value, published: &[Value]) -> Saved {
    let text = |key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
    let provenance = value.get("scan").and_then(|scan| scan.get("provenance")).and_then(Value::as_str);
    let (tools, skipped) = definitions(published);
    Saved {
        name: text("server"),
        version: text("version"),
        tools,
        published: published.to_vec(),
        provenance: provenance.and_then(Provenance::from_name).unwrap_or(Provenance::Imported),
        skipped,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shape_gives_the_same_tools() {
        let tool = r#"{"name":"t","description":"Lists doors"}"#;
        for text in [
            format!("[{tool}]"),
            format!(r#"{{"tools":[{tool}]}}"#),
            format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"tools":[{tool}]}}}}"#),
            format!(r#"{{"server":"s","tools":[{{"name":"other"}}],"scan":{{}},"definitions":[{tool}]}}"#),
        ] {
            let saved = saved(&text).unwrap();
            assert_eq!(saved.tools, [ToolDefinition::named("t").described("Lists doors")], "{text}");
            assert_eq!(saved.published.len(), 1);
            assert_eq!(saved.provenance, Provenance::Imported);
        }
        assert!(saved("{}").is_err() && saved("7").is_err() && saved("{").is_err());
    }

    #[test]
    fn our_own_scan_says_who_and_how() {
        let text = r#"{"server":"s","version":"1.2","scan":{"provenance":"live"},"definitions":[]}"#;
        let saved = saved(text).unwrap();
        assert_eq!((saved.name.as_deref(), saved.version.as_deref()), (Some("s"), Some("1.2")));
        assert_eq!(saved.provenance, Provenance::Live);
    }
}

//! Arguments of a command, read from JSON.

use portcullis_json::{Object, Value};

/// The arguments of one command.
pub(super) struct Arguments<'a>(pub(super) &'a Object);

impl<'a> Arguments<'a> {
    pub(super) fn text(&self, key: &str) -> Result<&'a str, String> {
        self.optional_text(key).ok_or_else(|| format!("the command needs `{key}`"))
    }

    pub(super) fn optional_text(&self, key: &str) -> Option<&'a str> {
        self.0.get(key).and_then(Value::as_str)
    }

    pub(super) fn texts(&self, key: &str) -> Vec<String> {
        let list = self.0.get(key).and_then(Value::as_array).unwrap_or_default();
        list.iter().filter_map(|value| value.as_str().map(str::to_owned)).collect()
    }

    pub(super) fn number(&self, key: &str) -> Option<u64> {
        self.0.get(key).and_then(Value::as_number)?.spelling().parse().ok()
    }

    pub(super) fn is_set(&self, key: &str) -> bool {
        self.0.get(key).and_then(Value::as_bool).unwrap_or(false)
    }

    /// The pairs of an object of texts.
    pub(super) fn pairs(&self, key: &str) -> Vec<(&'a str, &'a str)> {
        let members = self.0.get(key).and_then(Value::as_object).into_iter().flatten();
        members.filter_map(|member| Some((member.key.as_str(), member.value.as_str()?))).collect()
    }
}

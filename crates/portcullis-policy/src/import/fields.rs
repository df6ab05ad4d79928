//! Fields of the source, taken as Intercept takes them.

use portcullis_json::{Object, Pointer, Value};

use super::findings::Findings;

/// The fields of one object. An empty value is an absent one, as in Intercept.
pub(super) struct Fields<'a> {
    pub(super) object: &'a Object,
    pub(super) at: &'a Pointer,
}

impl<'a> Fields<'a> {
    pub(super) fn new(object: &'a Object, at: &'a Pointer) -> Fields<'a> {
        Fields { object, at }
    }

    pub(super) fn known(&self, names: &[&str], findings: &mut Findings) {
        for member in self.object {
            if !names.contains(&member.key.as_str()) {
                let message = format!("`{}` is no field that Intercept reads", member.key);
                findings.dropped(&self.at.key(&member.key), message);
            }
        }
    }

    pub(super) fn text(&self, key: &str, findings: &mut Findings) -> Option<String> {
        let text = text(self.object.get(key)?, &self.at.key(key), findings);
        text.filter(|text| !text.is_empty())
    }

    pub(super) fn list(&self, key: &str, findings: &mut Findings) -> &'a [Value] {
        match self.object.get(key) {
            None | Some(Value::Null) => &[],
            Some(Value::Array(elements)) => elements,
            Some(_) => {
                findings.fault(&self.at.key(key), format!("`{key}` must be a list"));
                &[]
            }
        }
    }

    pub(super) fn object(&self, key: &str, findings: &mut Findings) -> Option<&'a Object> {
        match self.object.get(key)? {
            Value::Null => None,
            value => object(value, &self.at.key(key), findings),
        }
    }
}

pub(super) fn object<'v>(value: &'v Value, at: &Pointer, findings: &mut Findings) -> Option<&'v Object> {
    match value {
        Value::Object(object) => Some(object),
        Value::Null if *at != Pointer::root() => None,
        other => {
            let message = format!("this must be a mapping, not {}", other.kind().with_article());
            findings.fault(at, message);
            None
        }
    }
}

/// Intercept takes any scalar where it wants text.
pub(super) fn text(value: &Value, at: &Pointer, findings: &mut Findings) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Null => None,
        Value::Bool(truth) => Some(truth.to_string()),
        Value::Number(number) => Some(number.spelling().to_owned()),
        Value::Array(_) | Value::Object(_) => {
            findings.fault(at, "this must be text");
            None
        }
    }
}

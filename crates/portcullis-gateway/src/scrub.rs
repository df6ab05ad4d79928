//! Takes a server's own credential out of what that server sends back.
//!
//! INVARIANT: secrets do not print. A server that repeats the header it was sent, in a result or in an
//! error text, must not hand the credential to the agent.

use portcullis_json::{Member, Object, Value};
use portcullis_state::Secret;

/// Shorter texts are no credentials, and blanking them out would hit ordinary words.
const SECRET_BYTES_MIN: usize = 6;
const MARKER: &str = "[REDACTED credential]";

/// What to take out. Prints nothing.
#[derive(Default)]
pub(crate) struct Scrubber {
    needles: Vec<Secret>,
}

impl Scrubber {
    /// For these header values: each as a whole, and what follows a scheme such as `Bearer`.
    pub(crate) fn new(secrets: &[Secret]) -> Scrubber {
        let parts = secrets.iter().flat_map(|secret| {
            let whole = secret.expose();
            let token = whole.split_once(' ').map(|(_, token)| token.trim());
            [Some(whole), token]
        });
        let needles = parts.flatten().filter(|text| text.len() >= SECRET_BYTES_MIN).map(Secret::from);
        Scrubber { needles: needles.collect() }
    }

    pub(crate) fn text(&self, text: &mut String) {
        for needle in &self.needles {
            if text.contains(needle.expose()) {
                *text = text.replace(needle.expose(), MARKER);
            }
        }
    }

    pub(crate) fn value(&self, value: &mut Value) {
        if self.needles.is_empty() {
            return;
        }
        match value {
            Value::String(text) => self.text(text),
            Value::Array(elements) => elements.iter_mut().for_each(|element| self.value(element)),
            Value::Object(object) => self.object(object),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    pub(crate) fn object(&self, object: &mut Object) {
        if self.needles.is_empty() {
            return;
        }
        let mut clean = Object::new();
        for Member { mut key, mut value } in std::mem::take(object) {
            self.text(&mut key);
            self.value(&mut value);
            // Keys that became the same: the first stays, as `insert` would overwrite it.
            if !clean.contains_key(&key) {
                clean.insert(&key, value);
            }
        }
        *object = clean;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_credential_goes_wherever_it_stands() {
        let scrubber = Scrubber::new(&[Secret::from("Bearer hunter2hunter2")]);
        let mut value = Value::from(
            Object::new()
                .with("a", "you sent Bearer hunter2hunter2!")
                .with("b", vec![Value::from("hunter2hunter2")])
                .with("hunter2hunter2", 1),
        );
        scrubber.value(&mut value);
        let text = value.to_string();
        assert!(!text.contains("hunter2"), "{text}");
        assert!(text.contains("you sent [REDACTED credential]!"), "{text}");
    }

    #[test]
    fn short_values_are_left_alone() {
        let scrubber = Scrubber::new(&[Secret::from("yes")]);
        let mut text = "yes, yesterday".to_owned();
        scrubber.text(&mut text);
        assert_eq!(text, "yes, yesterday");
    }
}

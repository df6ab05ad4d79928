//! Takes a server's own credential out of what that server sends back.
//!
//! INVARIANT: secrets do not print. A server that repeats the header it was sent, in a result or in an
//! error text, must not hand the credential to the agent.

use std::collections::HashSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use portcullis_json::{Key, Member, Object, Value};
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
    /// For these header values: each as a whole, what follows a scheme such as `Bearer`, and what that of
    /// `Basic` says in plain.
    pub(crate) fn new(secrets: &[Secret]) -> Scrubber {
        let mut needles: Vec<Secret> = secrets.iter().flat_map(parts).collect();
        needles.retain(|needle| needle.expose().len() >= SECRET_BYTES_MIN);
        // The longest first: what is left of one would be no needle any more.
        needles.sort_by_key(|needle| std::cmp::Reverse(needle.expose().len()));
        Scrubber { needles }
    }

    pub(crate) fn text(&self, text: &mut String) {
        for needle in &self.needles {
            if text.contains(needle.expose()) {
                *text = text.replace(needle.expose(), MARKER);
            }
        }
    }

    pub(crate) fn value(&self, value: &mut Value) {
        if self.is_in(value) {
            self.clean(value);
        }
    }

    pub(crate) fn object(&self, object: &mut Object) {
        if object.iter().any(|member| self.is_in_member(member)) {
            self.clean_object(object);
        }
    }

    /// Looked at first: hardly any answer holds a credential, and what holds none is not touched.
    fn is_in(&self, value: &Value) -> bool {
        match value {
            Value::String(text) => self.is_in_text(text),
            Value::Array(elements) => elements.iter().any(|element| self.is_in(element)),
            Value::Object(object) => object.iter().any(|member| self.is_in_member(member)),
            Value::Null | Value::Bool(_) | Value::Number(_) => false,
        }
    }

    fn is_in_member(&self, member: &Member) -> bool {
        self.is_in_text(&member.key) || self.is_in(&member.value)
    }

    /// Whether it holds any of them.
    pub(crate) fn is_in_text(&self, text: &str) -> bool {
        self.needles.iter().any(|needle| text.contains(needle.expose()))
    }

    fn clean(&self, value: &mut Value) {
        match value {
            Value::String(text) => self.text(text),
            Value::Array(elements) => elements.iter_mut().for_each(|element| self.clean(element)),
            Value::Object(object) => self.clean_object(object),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// In time that grows with the object and not with its square: a server chooses how many keys it sends.
    fn clean_object(&self, object: &mut Object) {
        let mut keys = HashSet::new();
        let mut members = Vec::new();
        for Member { key, mut value } in std::mem::take(object) {
            let mut text = String::from(key);
            self.text(&mut text);
            let key = Key::from(text);
            self.clean(&mut value);
            // Keys that became the same: the first stays.
            if keys.insert(key.clone()) {
                members.push(Member { key, value });
            }
        }
        *object = Object::from_members(members).unwrap_or_default();
    }
}

/// Everything that gives a header's value away.
fn parts(secret: &Secret) -> Vec<Secret> {
    let whole = secret.expose();
    let (scheme, token) = whole.split_once(' ').unwrap_or_default();
    let token = token.trim();
    let mut parts = vec![Secret::from(whole), Secret::from(token)];
    if scheme.eq_ignore_ascii_case("basic")
        && let Some(plain) = BASE64.decode(token).ok().and_then(|bytes| String::from_utf8(bytes).ok())
    {
        // The name alone is no secret.
        parts.extend(plain.split_once(':').map(|(_, password)| Secret::from(password)));
        parts.push(Secret::new(plain));
    }
    parts
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

    /// `Aladdin:open sesame`, as in the standard; a server that repeats what it decoded gives it away as well.
    #[test]
    fn what_basic_credentials_say_in_plain_goes_too() {
        let scrubber = Scrubber::new(&[Secret::from("Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==")]);
        for said in ["QWxhZGRpbjpvcGVuIHNlc2FtZQ==", "Aladdin:open sesame", "open sesame"] {
            let mut text = format!("wrong password: {said}");
            scrubber.text(&mut text);
            assert_eq!(text, format!("wrong password: {MARKER}"));
        }
        let mut name = "no such user: Aladdin".to_owned();
        scrubber.text(&mut name);
        assert_eq!(name, "no such user: Aladdin", "a name is no secret");
    }

    #[test]
    fn short_values_are_left_alone() {
        let scrubber = Scrubber::new(&[Secret::from("yes")]);
        let mut text = "yes, yesterday".to_owned();
        scrubber.text(&mut text);
        assert_eq!(text, "yes, yesterday");
    }

    /// Twice the keys must not take four times as long; with a square this test would take minutes.
    #[test]
    fn very_many_keys_are_cleaned_at_once() {
        let scrubber = Scrubber::new(&[Secret::from("Bearer hunter2hunter2")]);
        let member = |n: usize| Member { key: format!("{n:x}").into(), value: Value::Null };
        let mut members: Vec<Member> = (0..100_000).map(member).collect();
        members.push(Member { key: "x".into(), value: Value::from("hunter2hunter2") });
        let mut object = Object::from_members(members).unwrap();
        scrubber.object(&mut object);
        assert_eq!(object.len(), 100_001);
        assert_eq!(object.iter().last().unwrap().value, Value::from(MARKER));
    }

    #[test]
    fn keys_that_become_the_same_keep_the_first() {
        let scrubber = Scrubber::new(&[Secret::from("secret-a"), Secret::from("secret-b")]);
        let mut object = Object::new().with("secret-a", 1).with("secret-b", 2);
        scrubber.object(&mut object);
        assert_eq!(object, Object::new().with(MARKER, 1));
    }
}

//! The value: a tree that keeps the order of keys and the spelling of numbers.
//!
//! Equality is that of JSON values: numbers by exact value, objects without regard to key order.

use crate::Number;

/// A JSON value.
#[derive(Clone, Debug)]
pub enum Value {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number, as it was spelled.
    Number(Number),
    /// A string, unescaped.
    String(String),
    /// An array.
    Array(Vec<Value>),
    /// An object; its keys are distinct.
    Object(Object),
}

/// What a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// `null`
    Null,
    /// `true` or `false`
    Boolean,
    /// Any number.
    Number,
    /// A string.
    String,
    /// An array.
    Array,
    /// An object.
    Object,
}

impl Kind {
    /// The word with its article, for messages.
    pub fn with_article(self) -> &'static str {
        match self {
            Kind::Null => "null",
            Kind::Boolean => "a boolean",
            Kind::Number => "a number",
            Kind::String => "a string",
            Kind::Array => "an array",
            Kind::Object => "an object",
        }
    }
}

impl Value {
    /// What this value is.
    pub fn kind(&self) -> Kind {
        match self {
            Value::Null => Kind::Null,
            Value::Bool(_) => Kind::Boolean,
            Value::Number(_) => Kind::Number,
            Value::String(_) => Kind::String,
            Value::Array(_) => Kind::Array,
            Value::Object(_) => Kind::Object,
        }
    }

    /// The string, if it is one.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    /// The boolean, if it is one.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Value::Bool(truth) => Some(*truth),
            _ => None,
        }
    }

    /// The number, if it is one.
    pub fn as_number(&self) -> Option<&Number> {
        match self {
            Value::Number(number) => Some(number),
            _ => None,
        }
    }

    /// The elements, if it is an array.
    pub fn as_array(&self) -> Option<&[Value]> {
        match self {
            Value::Array(elements) => Some(elements),
            _ => None,
        }
    }

    /// The object, if it is one.
    pub fn as_object(&self) -> Option<&Object> {
        match self {
            Value::Object(object) => Some(object),
            _ => None,
        }
    }

    /// The value under `key`, if this is an object that has it.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.as_object()?.get(key)
    }

    /// Whether both are the same, taking `same_number` for what makes two numbers the same.
    pub fn equals_by(&self, other: &Value, same_number: fn(&Number, &Number) -> bool) -> bool {
        match (self, other) {
            (Value::Null, Value::Null) => true,
            (Value::Bool(a), Value::Bool(b)) => a == b,
            (Value::Number(a), Value::Number(b)) => same_number(a, b),
            (Value::String(a), Value::String(b)) => a == b,
            (Value::Array(a), Value::Array(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.equals_by(b, same_number))
            }
            (Value::Object(a), Value::Object(b)) => a.equals_by(b, same_number),
            _ => false,
        }
    }
}

impl PartialEq for Value {
    fn eq(&self, other: &Value) -> bool {
        self.equals_by(other, |a, b| a == b)
    }
}

impl Eq for Value {}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::String(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Value {
        Value::String(text)
    }
}

impl From<bool> for Value {
    fn from(truth: bool) -> Value {
        Value::Bool(truth)
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Value {
        Value::Number(Number::from(number))
    }
}

impl From<Vec<Value>> for Value {
    fn from(elements: Vec<Value>) -> Value {
        Value::Array(elements)
    }
}

impl From<Object> for Value {
    fn from(object: Object) -> Value {
        Value::Object(object)
    }
}

/// A key. Those of up to 24 bytes, which is nearly all of them, take no memory of their own.
pub type Key = compact_str::CompactString;

/// One key with its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// The key, unescaped.
    pub key: Key,
    /// What stands under it.
    pub value: Value,
}

/// An object: members in the order they were written, keys distinct.
#[derive(Clone, Debug, Default)]
pub struct Object {
    members: Vec<Member>,
}

impl Object {
    /// An object without members.
    pub fn new() -> Object {
        Object::default()
    }

    /// The members must be known to be distinct: the reader has looked.
    pub(crate) fn from_distinct(members: Vec<Member>) -> Object {
        Object { members }
    }

    /// An object of these members; the error is the first whose key stood before, by index and key.
    pub fn from_members(members: Vec<Member>) -> Result<Object, (usize, String)> {
        let mut keys = std::collections::HashSet::with_capacity(members.len());
        let mut indexed = members.iter().enumerate();
        match indexed.find(|(_, member)| !keys.insert(member.key.as_str())) {
            Some((index, duplicate)) => Err((index, duplicate.key.to_string())),
            None => Ok(Object { members }),
        }
    }

    /// How many members there are.
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// The members, in order.
    pub fn iter(&self) -> std::slice::Iter<'_, Member> {
        self.members.iter()
    }

    /// The value under `key`.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.members.iter().find(|member| member.key == key).map(|member| &member.value)
    }

    /// The value under `key`, to be changed in place.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Value> {
        self.members.iter_mut().find(|member| member.key == key).map(|member| &mut member.value)
    }

    /// Whether `key` is there.
    pub fn contains_key(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// Puts `value` under `key`: in place if the key is there, else at the end. Returns where it stands.
    pub fn insert(&mut self, key: &str, value: Value) -> &mut Value {
        let index = match self.members.iter().position(|member| member.key == key) {
            Some(index) => index,
            None => {
                self.members.push(Member { key: key.into(), value: Value::Null });
                self.members.len() - 1
            }
        };
        #[expect(clippy::indexing_slicing, reason = "`index` was found or pushed just above")]
        let place = &mut self.members[index].value;
        *place = value;
        place
    }

    /// The same object with one more member; for building values in code.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Object {
        self.insert(key, value.into());
        self
    }

    /// The same object without the member `key`.
    #[must_use]
    pub fn without(&self, key: &str) -> Object {
        Object { members: self.members.iter().filter(|member| member.key != key).cloned().collect() }
    }

    /// An object with the same keys in the same order, and for each the value that `change` gives.
    pub fn map(&self, mut change: impl FnMut(&Member) -> Value) -> Object {
        let changed =
            self.members.iter().map(|member| Member { key: member.key.clone(), value: change(member) });
        Object { members: changed.collect() }
    }

    fn equals_by(&self, other: &Object, same_number: fn(&Number, &Number) -> bool) -> bool {
        let same = |a: &Value, b: &Value| a.equals_by(b, same_number);
        if self.len() != other.len() {
            return false;
        }
        if self.iter().zip(other).all(|(a, b)| a.key == b.key) {
            return self.iter().zip(other).all(|(a, b)| same(&a.value, &b.value));
        }
        // Looked up by hash: an object with very many keys must not cost their square.
        let by_key: std::collections::HashMap<&str, &Value> =
            other.iter().map(|member| (member.key.as_str(), &member.value)).collect();
        self.iter().all(|member| by_key.get(member.key.as_str()).is_some_and(|b| same(&member.value, b)))
    }
}

impl PartialEq for Object {
    fn eq(&self, other: &Object) -> bool {
        self.equals_by(other, |a, b| a == b)
    }
}

impl Eq for Object {}

impl<'a> IntoIterator for &'a Object {
    type Item = &'a Member;
    type IntoIter = std::slice::Iter<'a, Member>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl IntoIterator for Object {
    type Item = Member;
    type IntoIter = std::vec::IntoIter<Member>;

    fn into_iter(self) -> Self::IntoIter {
        self.members.into_iter()
    }
}

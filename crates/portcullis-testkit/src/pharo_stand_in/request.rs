//! One request, decoded: the parameters of the query, or of the JSON body.

use percent_encoding::percent_decode_str;
use serde_json::{Map, Value};

use super::answers::Outcome;

/// A request as it arrived, for tests to compare.
#[derive(Clone, Debug, PartialEq)]
pub struct Recorded {
    /// GET or POST.
    pub method: String,
    /// The path, without the query.
    pub path: String,
    /// The query as sent, still encoded.
    pub query: String,
    /// The decoded parameters; those of a query are all texts.
    pub parameters: Map<String, Value>,
}

impl Recorded {
    pub(super) fn new(method: &str, path: &str, query: &str, body: &[u8]) -> Self {
        let parameters = if body.is_empty() {
            decoded_query(query)
        } else {
            serde_json::from_slice(body).unwrap_or_default()
        };
        Self { method: method.to_owned(), path: path.to_owned(), query: query.to_owned(), parameters }
    }

    /// A parameter that must be there and be text.
    pub(super) fn text(&self, name: &str) -> Result<&str, Outcome> {
        match self.parameters.get(name) {
            Some(Value::String(text)) => Ok(text),
            Some(other) => Err(Outcome::error(format!("{other} doesNotUnderstand: #asSymbol"))),
            None => Err(Outcome::error(format!("KeyNotFound: key #{name} not found in Dictionary"))),
        }
    }

    pub(super) fn text_or<'a>(&'a self, name: &str, absent: &'a str) -> Result<&'a str, Outcome> {
        if self.parameters.contains_key(name) { self.text(name) } else { Ok(absent) }
    }

    /// A parameter of a JSON body that must be a JSON boolean.
    pub(super) fn flag(&self, name: &str) -> Result<bool, Outcome> {
        let value = self.parameters.get(name).and_then(Value::as_bool);
        value.ok_or_else(|| Outcome::error(format!("NonBooleanReceiver: proceed for truth: {name}")))
    }

    /// A parameter of a JSON body that must be a list of texts.
    pub(super) fn texts(&self, name: &str) -> Result<Vec<String>, Outcome> {
        let list = self.parameters.get(name).and_then(Value::as_array);
        let texts = list.and_then(|list| list.iter().map(|text| Some(text.as_str()?.to_owned())).collect());
        texts.ok_or_else(|| Outcome::error(format!("{name} is not a list of texts")))
    }

    /// Stricter than a real image: see the head of the stand-in.
    pub(super) fn expect_only(&self, known: &[&str]) -> Result<(), Outcome> {
        match self.parameters.keys().find(|name| !known.contains(&name.as_str())) {
            None => Ok(()),
            Some(name) => Err(Outcome::error(format!("stand-in: {} knows no parameter {name}", self.path))),
        }
    }
}

/// A plus sign is a blank, as for the image's web server.
fn decoded_query(query: &str) -> Map<String, Value> {
    let decode = |text: &str| percent_decode_str(&text.replace('+', " ")).decode_utf8_lossy().into_owned();
    query
        .split('&')
        .filter(|pair| !pair.is_empty())
        .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
        .map(|(name, value)| (decode(name), Value::String(decode(value))))
        .collect()
}

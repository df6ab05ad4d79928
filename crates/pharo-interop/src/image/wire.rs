//! One request as the image gets it: percent-encoded query parameters for GET, JSON for POST.

use bytes::Bytes;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Map, Value};

/// Everything but the unreserved characters: `+` would otherwise arrive as a blank.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The longest path with its query; beyond it the HTTP library, and many servers, refuse.
const TARGET_BYTES_MAX: usize = 60_000;

/// How the parameters of an endpoint travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encoding {
    /// In the query of a GET: all text.
    Query,
    /// In the JSON body of a POST: values keep their kind.
    Body,
}

/// A request, ready to be sent to any image.
#[derive(Debug)]
pub(crate) struct WireRequest {
    pub(crate) encoding: Encoding,
    pub(crate) target: String,
    pub(crate) body: Bytes,
}

/// The query is too long to be sent; the parameter that takes most of it.
#[derive(Debug)]
pub(crate) struct TooLong {
    pub(crate) parameter: &'static str,
    pub(crate) bytes_max: usize,
}

impl WireRequest {
    pub(crate) fn new(
        encoding: Encoding,
        path: &str,
        parameters: Vec<(&'static str, Value)>,
    ) -> Result<Self, TooLong> {
        match encoding {
            Encoding::Query => Self::query(path, &parameters),
            Encoding::Body => Ok(Self::body(path, parameters)),
        }
    }

    fn query(path: &str, parameters: &[(&'static str, Value)]) -> Result<Self, TooLong> {
        let mut target = path.to_owned();
        for (position, (name, value)) in parameters.iter().enumerate() {
            target.push(if position == 0 { '?' } else { '&' });
            target.push_str(name);
            target.push('=');
            target.extend(utf8_percent_encode(&as_text(value), ENCODED));
        }
        if target.len() > TARGET_BYTES_MAX {
            return Err(TooLong { parameter: longest(parameters), bytes_max: TARGET_BYTES_MAX });
        }
        Ok(Self { encoding: Encoding::Query, target, body: Bytes::new() })
    }

    fn body(path: &str, parameters: Vec<(&'static str, Value)>) -> Self {
        let object: Map<String, Value> =
            parameters.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        Self {
            encoding: Encoding::Body,
            target: path.to_owned(),
            body: Value::Object(object).to_string().into(),
        }
    }
}

/// The image reads query parameters as text: flags are `true` and `false`.
fn as_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn longest(parameters: &[(&'static str, Value)]) -> &'static str {
    parameters.iter().max_by_key(|(_, value)| as_text(value).len()).map_or("", |(name, _)| *name)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_reserved_character_is_encoded() {
        let request = WireRequest::new(
            Encoding::Query,
            "/x",
            vec![("q", json!("!#$&'()*+,/:;=?@[] %\"<>\\^`{|}é-._~")), ("flag", json!(true))],
        )
        .unwrap();
        assert_eq!(
            request.target,
            "/x?q=%21%23%24%26%27%28%29%2A%2B%2C%2F%3A%3B%3D%3F%40%5B%5D%20%25%22%3C%3E%5C%5E%60%7B%7C%7D%C3%A9-._~&flag=true"
        );
    }

    #[test]
    fn a_body_keeps_the_kind_of_its_values() {
        let request = WireRequest::new(Encoding::Body, "/x", vec![("flag", json!(true)), ("n", json!(1))]);
        assert_eq!(request.unwrap().body, r#"{"flag":true,"n":1}"#);
    }

    #[test]
    fn a_query_beyond_the_limit_names_its_longest_parameter() {
        let long = "x".repeat(TARGET_BYTES_MAX);
        let parameters = vec![("short", json!("y")), ("long", json!(long))];
        let fault = WireRequest::new(Encoding::Query, "/x", parameters).unwrap_err();
        assert_eq!(fault.parameter, "long");
    }
}

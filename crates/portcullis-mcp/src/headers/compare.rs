//! Headers against the body of one modern message.

use portcullis_json::Number;

use super::mirror::arguments;
use super::{
    HeaderMismatch, HeaderProblem, METHOD, Mirrored, NAME, PROTOCOL_VERSION, ParamHeader, ParamHeaders,
    decode, name_value,
};
use crate::{Era, Message, Request, Subject};

/// Whether arguments are mirrored: known only once the tool's schema is.
#[derive(Clone, Copy, Debug)]
pub enum ParamPolicy<'a> {
    /// Compare with what the tool's schema mirrors.
    Mirrored(&'a ParamHeaders),
    /// No tool is called, or its schema is not known: leave `Mcp-Param-*` alone.
    NotCompared,
}

/// Whether the headers repeat the message as they must. Names compare without case, values with it.
pub fn compare(
    headers: &[(&str, &[u8])],
    message: &Message,
    mirrored: ParamPolicy<'_>,
) -> Result<(), HeaderMismatch> {
    require(headers, PROTOCOL_VERSION, Era::Modern.as_str())?;
    match message {
        Message::Request(request) => compare_request(headers, request, mirrored),
        // A notification need not have the header; one that is there must be true.
        Message::Notification(notification) => {
            allow(headers, METHOD, Some(notification.method.name))?;
            allow(headers, NAME, None)
        }
        Message::Response(_) => Ok(()),
    }
}

fn compare_request(
    headers: &[(&str, &[u8])],
    request: &Request,
    mirrored: ParamPolicy<'_>,
) -> Result<(), HeaderMismatch> {
    let params = request.params.as_ref();
    require(headers, METHOD, request.method.name)?;
    match name_value(request.method.subject, params) {
        Some(name) => require(headers, NAME, name)?,
        None => allow(headers, NAME, None)?,
    }
    match mirrored {
        ParamPolicy::Mirrored(entries) if request.method.subject == Subject::ToolCall => {
            entries.iter().try_for_each(|entry| compare_param(headers, entry, entry.text(arguments(params))))
        }
        _ => Ok(()),
    }
}

fn compare_param(
    headers: &[(&str, &[u8])],
    entry: &ParamHeader,
    expected: Option<Mirrored>,
) -> Result<(), HeaderMismatch> {
    let header = entry.header();
    let problem = match (single(headers, &header)?, expected) {
        (None, None) => return Ok(()),
        (None, Some(_)) => HeaderProblem::Missing,
        (Some(_), None) => HeaderProblem::Unfounded,
        (Some(found), Some(expected)) if same(&found, &expected) => return Ok(()),
        (Some(_), Some(_)) => HeaderProblem::Differs,
    };
    Err(HeaderMismatch { header, problem })
}

/// Integers are the same by number: `7` and `7.0` are one.
fn same(found: &str, expected: &Mirrored) -> bool {
    match expected {
        Mirrored::Text(text) => found == text,
        Mirrored::Integer(integer) => {
            Number::parse(found).is_some_and(|found| found == Number::from(*integer))
        }
    }
}

/// The header must be there and say `expected`.
fn require(headers: &[(&str, &[u8])], header: &str, expected: &str) -> Result<(), HeaderMismatch> {
    match single(headers, header)? {
        None => Err(mismatch(header, HeaderProblem::Missing)),
        Some(found) if found == expected => Ok(()),
        Some(_) => Err(mismatch(header, HeaderProblem::Differs)),
    }
}

/// The header may be missing; if it is there, it must say `expected`.
fn allow(headers: &[(&str, &[u8])], header: &str, expected: Option<&str>) -> Result<(), HeaderMismatch> {
    match (single(headers, header)?, expected) {
        (None, _) => Ok(()),
        (Some(_), None) => Err(mismatch(header, HeaderProblem::Unfounded)),
        (Some(found), Some(expected)) if found == expected => Ok(()),
        (Some(_), Some(_)) => Err(mismatch(header, HeaderProblem::Differs)),
    }
}

/// The decoded value of a header that may stand once. Two that were joined by a comma differ from any body.
fn single(headers: &[(&str, &[u8])], name: &str) -> Result<Option<String>, HeaderMismatch> {
    let mut values =
        headers.iter().filter(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| *value);
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(_), Some(_)) => Err(mismatch(name, HeaderProblem::Repeated)),
        (Some(value), None) => match decode(value) {
            Some(text) => Ok(Some(text)),
            None => Err(mismatch(name, HeaderProblem::Illegal)),
        },
    }
}

fn mismatch(header: &str, problem: HeaderProblem) -> HeaderMismatch {
    HeaderMismatch { header: header.to_owned(), problem }
}

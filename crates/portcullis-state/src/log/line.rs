//! A record as one line of JSON: keys in a fixed order, absent values left out, every string bounded.
//!
//! The body (all but number, hashes and time) is written outside the log's lock; `open_line` and `seal`
//! put the rest around it inside. Called by the writer only.

use std::io::Write as _;

use jiff::Timestamp;
use jiff::fmt::temporal::DateTimePrinter;

use super::LogFault;
use super::chain::{Hash, Position, push_hex};
use super::record::{
    ARGUMENT_KEYS_MAX, Arguments, CHARGES_MAX, Charge, Decision, Entry, Event, Outcome, PolicyName, Refusals,
    Shadow,
};
use super::text::push_string;

/// Characters of a name, an id, a method or an argument's key.
const NAME_CHARACTERS_MAX: usize = 160;
/// Characters of a rule, a message, a URI or a detail.
const SENTENCE_CHARACTERS_MAX: usize = 1024;
/// Bytes of a counter's key; more is refused, since a key cut short would be another counter.
const COUNTER_BYTES_MAX: usize = 1024;
/// Bytes of a charged amount; the JSON reader takes no longer number.
const AMOUNT_BYTES_MAX: usize = 1024;

const TIME: DateTimePrinter = DateTimePrinter::new().precision(Some(6));

/// The fields of one record behind its number, previous hash and time.
pub(crate) struct Body {
    bytes: Vec<u8>,
}

impl Body {
    pub(crate) fn new(kind: &str) -> Body {
        let mut body = Body { bytes: Vec::with_capacity(768) };
        body.name("kind", Some(kind));
        body
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    fn key(&mut self, key: &str) {
        self.bytes.extend_from_slice(b",\"");
        self.bytes.extend_from_slice(key.as_bytes());
        self.bytes.extend_from_slice(b"\":");
    }

    fn text(&mut self, key: &str, text: Option<&str>, characters_max: usize) {
        if let Some(text) = text {
            self.key(key);
            push_string(&mut self.bytes, text, characters_max);
        }
    }

    pub(crate) fn name(&mut self, key: &str, name: Option<&str>) {
        self.text(key, name, NAME_CHARACTERS_MAX);
    }

    pub(crate) fn sentence(&mut self, key: &str, text: Option<&str>) {
        self.text(key, text, SENTENCE_CHARACTERS_MAX);
    }

    pub(crate) fn number(&mut self, key: &str, number: Option<u64>) {
        if let Some(number) = number {
            self.key(key);
            push_number(&mut self.bytes, number);
        }
    }

    pub(crate) fn hash(&mut self, key: &str, hash: Option<&Hash>) {
        if let Some(hash) = hash {
            self.key(key);
            self.bytes.push(b'"');
            push_hex(&mut self.bytes, hash);
            self.bytes.push(b'"');
        }
    }

    fn policy(&mut self, policy: Option<PolicyName<'_>>) {
        self.name("policy", policy.map(|policy| policy.name));
        self.number("policy_version", policy.map(|policy| u64::from(policy.version)));
        self.hash("policy_hash", policy.map(|policy| policy.hash));
    }

    fn arguments(&mut self, arguments: &Arguments<'_>) {
        if !arguments.keys.is_empty() {
            self.key("argument_keys");
            for (index, key) in arguments.keys.iter().take(ARGUMENT_KEYS_MAX).enumerate() {
                self.bytes.push(if index == 0 { b'[' } else { b',' });
                push_string(&mut self.bytes, key, NAME_CHARACTERS_MAX);
            }
            self.bytes.push(b']');
        }
        let more = arguments.keys.len().saturating_sub(ARGUMENT_KEYS_MAX) as u64;
        self.number("argument_keys_more", Some(more).filter(|more| *more > 0));
        self.hash("arguments_digest", arguments.digest);
    }

    fn charges(&mut self, key: &str, charges: &[Charge]) -> Result<(), LogFault> {
        if charges.len() > CHARGES_MAX {
            return Err(LogFault::TooLarge { what: "more counters in one call than the log takes" });
        }
        if charges.is_empty() {
            return Ok(());
        }
        self.key(key);
        for (index, charge) in charges.iter().enumerate() {
            self.bytes.push(if index == 0 { b'[' } else { b',' });
            self.charge(charge)?;
        }
        self.bytes.push(b']');
        Ok(())
    }

    fn charge(&mut self, charge: &Charge) -> Result<(), LogFault> {
        if charge.counter.len() > COUNTER_BYTES_MAX || charge.amount.len() > AMOUNT_BYTES_MAX {
            return Err(LogFault::TooLarge { what: "a counter's key or amount is too long" });
        }
        self.bytes.extend_from_slice(b"{\"counter\":");
        push_string(&mut self.bytes, &charge.counter, COUNTER_BYTES_MAX);
        self.bytes.extend_from_slice(b",\"amount\":");
        push_string(&mut self.bytes, &charge.amount, AMOUNT_BYTES_MAX);
        self.bytes.extend_from_slice(b",\"window_s\":");
        push_number(&mut self.bytes, charge.window_seconds);
        self.bytes.push(b'}');
        Ok(())
    }
}

fn push_number(out: &mut Vec<u8>, number: u64) {
    // Writing to memory cannot fail.
    let _ = write!(out, "{number}");
}

/// The fields of an entry.
pub(crate) fn body_of(entry: &Entry<'_>) -> Result<Body, LogFault> {
    match entry {
        Entry::Decision(decision) => decision_body(decision),
        Entry::Outcome(outcome) => outcome_body(outcome),
        Entry::Event(event) => Ok(event_body(event)),
        Entry::Refusals(refusals) => Ok(refusals_body(refusals)),
    }
}

fn decision_body(decision: &Decision<'_>) -> Result<Body, LogFault> {
    let mut body = Body::new("decision");
    body.name("request", Some(decision.request));
    body.name("grant", decision.grant);
    body.name("session", decision.session);
    body.name("server", decision.server);
    body.name("method", Some(decision.method));
    body.name("tool", decision.tool);
    body.sentence("resource", decision.resource.map(without_secrets).as_deref());
    body.name("class", decision.class.map(|class| class.as_str()));
    body.name("class_source", decision.class_is_override.then_some("override"));
    body.policy(decision.policy);
    body.name("outcome", Some(decision.verdict.as_str()));
    body.sentence("rule", decision.rule);
    body.sentence("message", decision.message);
    body.name("shadow", decision.shadow.map(shadow_word));
    body.arguments(&decision.arguments);
    body.charges("charges", decision.charges)?;
    body.name("approval", decision.approval);
    Ok(body)
}

fn shadow_word(shadow: Shadow) -> &'static str {
    match shadow {
        Shadow::WouldDeny => "would_deny",
        Shadow::WouldApprove => "would_approve",
    }
}

fn outcome_body(outcome: &Outcome<'_>) -> Result<Body, LogFault> {
    let mut body = Body::new("outcome");
    body.name("request", Some(outcome.request));
    body.number("decision", Some(outcome.decision));
    body.name("grant", outcome.grant);
    body.name("server", outcome.server);
    body.name("tool", outcome.tool);
    body.name("outcome", Some(outcome.ending.as_str()));
    body.number("status", outcome.status.map(u64::from));
    body.number("latency_us", Some(outcome.latency_us));
    body.sentence("message", outcome.message);
    body.charges("given_back", outcome.given_back)?;
    Ok(body)
}

fn event_body(event: &Event<'_>) -> Body {
    let mut body = Body::new("event");
    body.name("action", Some(event.action.as_str()));
    body.name("by", event.by);
    body.name("grant", event.grant);
    body.name("server", event.server);
    body.name("tool", event.tool);
    body.policy(event.policy);
    body.sentence("message", event.detail);
    body
}

fn refusals_body(refusals: &Refusals) -> Body {
    let mut body = Body::new("refusals");
    body.name("source", Some(&refusals.source));
    body.number("count", Some(refusals.count));
    body.name("outcome", Some("unauthenticated"));
    body.sentence("message", Some(refusals.reason));
    body
}

/// A URI without what may carry a secret: user and password, query, fragment.
fn without_secrets(uri: &str) -> String {
    let end = uri.find(['?', '#']).unwrap_or(uri.len());
    let (plain, _) = uri.split_at(end);
    let Some((scheme, rest)) = plain.split_once("://") else {
        return plain.to_owned();
    };
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = authority.rsplit('@').next().unwrap_or(authority);
    format!("{scheme}://{host}{path}")
}

/// Starts a line: everything in front of the hash.
pub(crate) fn open_line(line: &mut Vec<u8>, before: &Position, time: Timestamp, body: &Body) {
    line.clear();
    line.extend_from_slice(b"{\"seq\":");
    push_number(line, before.sequence + 1);
    line.extend_from_slice(b",\"prev\":\"");
    push_hex(line, &before.hash);
    line.extend_from_slice(b"\",\"time\":\"");
    // Writing to memory cannot fail.
    let _ = TIME.print_timestamp(&time, &mut *line);
    line.push(b'"');
    line.extend_from_slice(body.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_resource_keeps_neither_user_nor_query_nor_fragment() {
        for (given, stored) in [
            ("https://u:p@host:8/a/b?token=x#y", "https://host:8/a/b"),
            ("https://host/a#secret", "https://host/a"),
            ("https://a@b@host?x", "https://host"),
            ("file:///etc/passwd?x", "file:///etc/passwd"),
            ("note:groceries?x", "note:groceries"),
            ("https://host/a@b", "https://host/a@b"),
        ] {
            assert_eq!(without_secrets(given), stored);
        }
    }
}

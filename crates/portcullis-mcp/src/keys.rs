//! Keys that another reader could take for a known one.
//!
//! Readers differ: some ignore case, some normalise, some drop what cannot be seen; the Python SDK takes
//! `request_state` for `requestState`, `meta` for `_meta` and, in `_meta`,
//! `io_modelcontextprotocol_log_level` for the key with dot and slash. Every key that we know is plain
//! ASCII, so a key beside them is refused when it holds anything but visible ASCII, or equals a known key
//! once only letters and digits count and case does not. That covers each key that equals a known one
//! after case folding, NFKC or the removal of invisible characters, and letters that merely look alike.
//!
//! Tool and prompt arguments are the caller's own and are not looked at; the reader has refused
//! duplicates there.

use portcullis_json::{Object, Value};

use crate::meta::key as meta_key;

/// The keys of one place: what is known there, and which of them hold a place of their own.
struct Place {
    known: &'static [&'static str],
    inner: &'static [(&'static str, &'static Place)],
}

static ENVELOPE: Place =
    Place { known: &["jsonrpc", "id", "method", "params", "result", "error"], inner: &[] };

static PARAMS: Place = Place {
    known: &[
        "name",
        "arguments",
        "_meta",
        "uri",
        "cursor",
        "ref",
        "argument",
        "context",
        "level",
        "protocolVersion",
        "capabilities",
        "clientInfo",
        "task",
        "taskId",
        "inputResponses",
        "requestState",
        "requestId",
        "reason",
        "progressToken",
        "progress",
        "total",
        "message",
        "notifications",
        "logger",
        "data",
        "messages",
        "modelPreferences",
        "systemPrompt",
        "includeContext",
        "temperature",
        "maxTokens",
        "stopSequences",
        "metadata",
        "tools",
        "toolChoice",
        "mode",
        "requestedSchema",
        "url",
        "elicitationId",
        "status",
        "statusMessage",
        "createdAt",
        "lastUpdatedAt",
        "ttl",
        "ttlMs",
        "pollInterval",
        "pollIntervalMs",
        "result",
        "error",
        "inputRequests",
    ],
    inner: &[
        ("_meta", &META),
        ("ref", &REFERENCE),
        ("argument", &ARGUMENT),
        ("context", &CONTEXT),
        ("task", &TASK),
        ("notifications", &FILTER),
        ("capabilities", &CAPABILITIES),
        ("clientInfo", &IMPLEMENTATION),
    ],
};

static META: Place = Place {
    known: &[
        "progressToken",
        meta_key::PROTOCOL_VERSION,
        meta_key::CLIENT_CAPABILITIES,
        meta_key::CLIENT_INFO,
        meta_key::LOG_LEVEL,
        meta_key::SERVER_INFO,
        meta_key::SUBSCRIPTION_ID,
        meta_key::RELATED_TASK,
        "traceparent",
        "tracestate",
        "baggage",
    ],
    inner: &[(meta_key::CLIENT_CAPABILITIES, &CAPABILITIES), (meta_key::CLIENT_INFO, &IMPLEMENTATION)],
};

static REFERENCE: Place = leaf(&["type", "name", "uri", "title"]);
static ARGUMENT: Place = leaf(&["name", "value"]);
static CONTEXT: Place = leaf(&["arguments"]);
static TASK: Place = leaf(&["ttl"]);
static FILTER: Place = leaf(&[
    "toolsListChanged",
    "promptsListChanged",
    "resourcesListChanged",
    "resourceSubscriptions",
    "taskIds",
]);
static CAPABILITIES: Place = leaf(&[
    "elicitation",
    "sampling",
    "roots",
    "tasks",
    "extensions",
    "experimental",
    "tools",
    "prompts",
    "resources",
    "completions",
    "logging",
]);
static IMPLEMENTATION: Place = leaf(&["name", "version", "title", "description", "icons", "websiteUrl"]);

/// `_meta` is left out: nothing is judged by a result's, and servers exist that write `meta` beside it.
static RESULT: Place = leaf(&[
    "resultType",
    "content",
    "structuredContent",
    "isError",
    "tools",
    "resources",
    "resourceTemplates",
    "prompts",
    "nextCursor",
    "contents",
    "messages",
    "completion",
    "capabilities",
    "protocolVersion",
    "supportedVersions",
    "serverInfo",
    "instructions",
    "ttlMs",
    "cacheScope",
    "inputRequests",
    "requestState",
    "task",
    "tasks",
    "taskId",
    "status",
    "action",
    "roots",
    "model",
    "role",
    "stopReason",
]);

static TOOL: Place =
    leaf(&["name", "title", "description", "inputSchema", "outputSchema", "annotations", "execution"]);
static LISTED: Place =
    leaf(&["name", "title", "uri", "uriTemplate", "description", "arguments", "taskId", "status"]);

const fn leaf(known: &'static [&'static str]) -> Place {
    Place { known, inner: &[] }
}

/// What a key is to a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Key {
    Known,
    Confusable,
    Unknown,
}

/// What `key` is in a JSON-RPC envelope.
pub(crate) fn in_envelope(key: &str) -> Key {
    ENVELOPE.classify(key)
}

/// Whether `params` and what is judged inside it have no confusable key.
pub(crate) fn params_are_clear(params: &Object) -> bool {
    PARAMS.is_clear(params)
}

/// The same for the top level of a result.
pub(crate) fn result_is_clear(result: &Object) -> bool {
    RESULT.is_clear(result)
}

/// The same for the top level of a tool definition.
pub(crate) fn tool_is_clear(tool: &Object) -> bool {
    TOOL.is_clear(tool)
}

/// The same for a listed resource, template, prompt or task.
pub(crate) fn listed_is_clear(item: &Object) -> bool {
    LISTED.is_clear(item)
}

impl Place {
    fn is_clear(&self, object: &Object) -> bool {
        object.iter().all(|member| {
            self.classify(&member.key) != Key::Confusable && self.inner_is_clear(&member.key, &member.value)
        })
    }

    fn inner_is_clear(&self, key: &str, value: &Value) -> bool {
        let inner = self.inner.iter().find(|(known, _)| *known == key);
        match (inner, value) {
            (Some((_, place)), Value::Object(object)) => place.is_clear(object),
            _ => true,
        }
    }

    fn classify(&self, key: &str) -> Key {
        if self.known.contains(&key) {
            return Key::Known;
        }
        let visible_ascii = key.bytes().all(|byte| byte.is_ascii_graphic());
        if visible_ascii && !self.known.iter().any(|known| folds_to(key, known)) {
            return Key::Unknown;
        }
        Key::Confusable
    }
}

fn folds_to(key: &str, known: &str) -> bool {
    folded(key).eq(folded(known))
}

fn folded(key: &str) -> impl Iterator<Item = u8> + '_ {
    key.bytes().filter(u8::is_ascii_alphanumeric).map(|byte| byte.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two known keys of one place that fold to the same would make one of them unusable in reports.
    #[test]
    fn known_keys_are_plain_and_do_not_fold_onto_each_other() {
        let places = [
            &ENVELOPE,
            &PARAMS,
            &META,
            &REFERENCE,
            &ARGUMENT,
            &CONTEXT,
            &TASK,
            &FILTER,
            &CAPABILITIES,
            &IMPLEMENTATION,
            &RESULT,
            &TOOL,
            &LISTED,
        ];
        for place in places {
            for (at, key) in place.known.iter().enumerate() {
                assert!(key.bytes().all(|byte| byte.is_ascii_graphic()), "{key}");
                let rest = &place.known[at + 1..];
                assert!(!rest.iter().any(|other| folds_to(key, other)), "{key}");
            }
            for (key, _) in place.inner {
                assert!(place.known.contains(key), "{key}");
            }
        }
    }
}

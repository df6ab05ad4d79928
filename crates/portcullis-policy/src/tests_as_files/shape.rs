//! The shape of a test file.

use crate::class::Class;
use crate::question::ServerRequest;
use crate::shape::{Field, Form, Shape, optional};

/// One test: a policy and its cases.
pub(super) static TEST: Shape = Shape {
    name: "policy_test",
    about: "A policy and what is expected of it.",
    fields: &[
        optional(
            "policy",
            Form::Any,
            "A path relative to the test file, the document itself, or null for a grant without one.",
        ),
        optional("valid", Form::Boolean, "`false`: the policy must be refused, and there are no cases."),
        optional("error_contains", Form::Text, "With `valid: false`: what the message must contain."),
        optional("tools", Form::Map(&TOOL), "The server's tools."),
        optional(
            "defaults",
            Form::Object(&DEFAULTS),
            "What holds for every case that does not say otherwise.",
        ),
        optional(
            "cases",
            Form::Objects(&CASE),
            "Run in order against one set of counters and a virtual clock.",
        ),
    ],
};

static TOOL: Shape = Shape {
    name: "tool",
    about: "A tool of the server.",
    fields: &[
        optional("class", Form::Choice(&Class::NAMES), "Its risk class; absent: not known."),
        optional("input_schema", Form::Any, "Its input schema; absent: not known."),
    ],
};

static GRANT: Shape = Shape {
    name: "grant",
    about: "Who calls; known by its label.",
    fields: &[optional("label", Form::Text, "The label."), optional("tags", Form::Texts, "The tags.")],
};

const GRANT_FIELD: Field = optional("grant", Form::Object(&GRANT), "Who calls.");
const SERVER: Field = optional("server", Form::Text, "The server's name.");
const SESSION: Field = optional("session", Form::TextOrNull, "The session; null: none.");
const CLIENT: Field = optional("client", Form::TextOrNull, "What the client calls itself; null: nothing.");
const AT: Field = optional("at", Form::Text, "Moves the clock, and it stays there.");

static DEFAULTS: Shape = Shape {
    name: "defaults",
    about: "What holds for every case.",
    fields: &[GRANT_FIELD, SERVER, SESSION, CLIENT, AT],
};

static CASE: Shape = Shape {
    name: "case",
    about: "One call, list, read, prompt or server request.",
    fields: &[
        optional("name", Form::Text, "What would be lost."),
        optional("repeat", Form::Number, "So many times, with the same result each time."),
        GRANT_FIELD,
        SERVER,
        SESSION,
        CLIENT,
        AT,
        optional("call", Form::Object(&CALL), "A tool is called."),
        optional("list", Form::Boolean, "The tools are listed."),
        optional("read", Form::Text, "A resource is read, by its URI."),
        optional("prompt", Form::Text, "A prompt is got, by its name."),
        optional(
            "server_request",
            Form::Choice(&ServerRequest::NAMES),
            "The server asks something of the client.",
        ),
        optional("approved", Form::Boolean, "A person has said yes."),
        optional("expect", Form::Object(&EXPECT), "What must come out."),
    ],
};

static CALL: Shape = Shape {
    name: "call",
    about: "A call of a tool.",
    fields: &[
        optional("tool", Form::Text, "The tool's name."),
        optional("args", Form::Any, "The arguments."),
        optional("args_json", Form::Text, "The arguments as text, where the exact spelling matters."),
    ],
};

static EXPECT: Shape = Shape {
    name: "expect",
    about: "What must come out; only what is given is compared.",
    fields: &[
        optional("decision", Form::Choice(&["allow", "deny", "approve"]), "The effect."),
        optional("rule", Form::Text, "The rule pointer."),
        optional("message_contains", Form::Text, "A part of the message."),
        optional("retry_after_s", Form::NumberOrNull, "Seconds to wait; null: none."),
        optional("retryable", Form::Boolean, "Whether a retry can help."),
        optional("set", Form::Texts, "The paths that were forced."),
        optional("would_deny", Form::Boolean, "In shadow mode: whether it would have been denied."),
        optional("would_approve", Form::Boolean, "In shadow mode: whether a person would have been asked."),
        optional("visible", Form::Texts, "The tools that are listed, as a set."),
    ],
};

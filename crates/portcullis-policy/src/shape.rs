//! The shape of a document: every field there is, once.
//!
//! The same tables check documents, print the JSON Schema and feed the suggestions. What a value means is
//! not known here.

use portcullis_json::{Kind, Pointer, Value};

use crate::class::Class;
use crate::limits::Unit;
use crate::path::listed;
use crate::problem::{Problems, nearest};

/// An object of the language.
pub(crate) struct Shape {
    /// Its name in the schema.
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) fields: &'static [Field],
}

/// A field of an object.
pub(crate) struct Field {
    pub(crate) name: &'static str,
    pub(crate) required: bool,
    pub(crate) form: Form,
    pub(crate) about: &'static str,
}

/// What can stand in a field.
pub(crate) enum Form {
    /// A string, for people or parsed later.
    Text,
    /// One of these strings.
    Choice(&'static [&'static str]),
    /// A list of strings.
    Texts,
    /// A list of strings out of these.
    Choices(&'static [&'static str]),
    /// A list of objects.
    Objects(&'static Shape),
    /// One object.
    Object(&'static Shape),
    /// Any key to an object.
    Map(&'static Shape),
    /// A risk class to an object.
    ByClass(&'static Shape),
    /// `args` paths to values.
    Assignments,
    /// A number.
    Number,
    /// A window: a name, whole seconds, or a length.
    Window,
    /// The short form of a limit: an object or `"10/minute"`.
    RateLimit(&'static Shape),
    /// The name of an operator.
    Operator,
    /// `true` or `false`.
    Boolean,
    /// A string, or null for its absence.
    TextOrNull,
    /// A number, or null for its absence.
    NumberOrNull,
    /// Anything.
    Any,
}

const fn required(name: &'static str, form: Form, about: &'static str) -> Field {
    Field { name, required: true, form, about }
}

pub(crate) const fn optional(name: &'static str, form: Form, about: &'static str) -> Field {
    Field { name, required: false, form, about }
}

pub(crate) const ACTIONS: &[&str] = &["allow", "deny", "approve", "require_approval"];
pub(crate) const DEFAULTS: &[&str] = &["allow", "deny"];
pub(crate) const VALIDATIONS: &[&str] = &["off", "schema", "strict"];
pub(crate) const DETECTORS: &[&str] = &["secrets", "emails", "cards", "private_keys"];
pub(crate) const SCOPES: &[&str] = &["grant", "session", "server", "global"];

/// A policy.
pub(crate) static DOCUMENT: Shape = Shape {
    name: "policy",
    about: "A Portcullis policy: which tools a grant may call and see, with which arguments, how often, and when a person is asked first.",
    fields: &[
        required("version", Form::Choice(&["1"]), "The version of the language; only \"1\"."),
        optional("description", Form::Text, "For people."),
        required("default", Form::Choice(DEFAULTS), "What happens to a tool that no entry covers."),
        optional(
            "mode",
            Form::Choice(&["enforce", "shadow"]),
            "`shadow` works everything out and refuses nothing; default `enforce`.",
        ),
        optional(
            "timezone",
            Form::Text,
            "An IANA name, default `UTC`; used by calendar windows and `time.*` paths.",
        ),
        optional(
            "list",
            Form::Choice(&["permitted", "all"]),
            "`permitted` (default): listed are the tools that an entry covers or that `default: allow` lets in; `all`: only `hide` removes.",
        ),
        optional(
            "hide",
            Form::Texts,
            "Names or globs of tools that are removed from lists and denied on call.",
        ),
        optional("all_tools", Form::Object(&ALL_TOOLS), "Added to every call."),
        optional("classes", Form::ByClass(&ENTRY), "Entries by risk class."),
        optional("tools", Form::Map(&ENTRY), "Entries by tool name, or by glob."),
        optional("resources", Form::Object(&ACCESS), "Which resources may be read, by URI."),
        optional("prompts", Form::Object(&ACCESS), "Which prompts may be used, by name."),
        optional(
            "server_requests",
            Form::Object(&SERVER_REQUESTS),
            "What the server may ask of the client; what is absent is denied.",
        ),
    ],
};

const REQUIRE: Field = optional("require", Form::Objects(&RULE), "Rules; each must hold.");
const DENY_IF: Field = optional("deny_if", Form::Objects(&RULE), "Rules; any that holds denies.");
const APPROVE_IF: Field =
    optional("approve_if", Form::Objects(&APPROVE_RULE), "Rules; any that holds asks a person.");
const LIMITS: Field = optional("limits", Form::Objects(&LIMIT), "Limits on how often or how much.");
const RATE_LIMIT_FIELD: Field = optional(
    "rate_limit",
    Form::RateLimit(&RATE_LIMIT),
    "Short form of one limit: {\"max\": 10, \"window\": 60} or \"10/minute\"; its counter is named after the called tool.",
);
const VALIDATE: Field = optional(
    "validate",
    Form::Choice(VALIDATIONS),
    "`schema`: the arguments must satisfy the tool's own input schema; `strict`: and hold nothing it does not speak of.",
);
const REDACT: Field = optional(
    "redact",
    Form::Choices(DETECTORS),
    "Detectors applied to every string of the result and of errors.",
);

static ENTRY: Shape = Shape {
    name: "entry",
    about: "What applies to a tool.",
    fields: &[
        optional(
            "action",
            Form::Choice(ACTIONS),
            "`allow` (default), `deny`, or `approve` (also written `require_approval`): a person is asked.",
        ),
        optional(
            "reason",
            Form::Text,
            "The message for `action: deny`, and the question shown for `approve`.",
        ),
        REQUIRE,
        DENY_IF,
        APPROVE_IF,
        LIMITS,
        RATE_LIMIT_FIELD,
        VALIDATE,
        optional(
            "set",
            Form::Assignments,
            "`args` paths to values that are forced into the arguments before they are judged.",
        ),
        REDACT,
    ],
};

static ALL_TOOLS: Shape = Shape {
    name: "all_tools",
    about: "What is added to every call.",
    fields: &[REQUIRE, DENY_IF, APPROVE_IF, LIMITS, RATE_LIMIT_FIELD, VALIDATE, REDACT],
};

const CONDITIONS: Field = required(
    "conditions",
    Form::Objects(&CONDITION),
    "All must hold for the rule to hold; with none it always holds.",
);

static RULE: Shape = Shape {
    name: "rule",
    about: "Conditions, and what to say when they decide.",
    fields: &[CONDITIONS, optional("on_deny", Form::Text, "The message when this rule denies.")],
};

static APPROVE_RULE: Shape = Shape {
    name: "approve_rule",
    about: "Conditions under which a person is asked.",
    fields: &[
        CONDITIONS,
        optional("ask", Form::Text, "The question that is shown."),
        optional("on_deny", Form::Text, "Accepted for `ask`."),
    ],
};

static CONDITION: Shape = Shape {
    name: "condition",
    about: "A test on one value of the call.",
    fields: &[
        required(
            "path",
            Form::Text,
            "`args.amount`, `args.items[*].sku`, `args[\"odd key\"]`, `tool.name`, `tool.class`, `server.name`, `grant.label`, `grant.tags`, `client.name`, `time.hour`, `time.weekday` or `time.date`.",
        ),
        required("op", Form::Operator, "The operator."),
        required("value", Form::Any, "What the operator compares with."),
    ],
};

static LIMIT: Shape = Shape {
    name: "limit",
    about: "At most `max` in every window.",
    fields: &[
        required("counter", Form::Text, "Name. The same name in one policy is the same counter."),
        required(
            "window",
            Form::Window,
            "`second`, `minute`, `hour`, `day`, `week`, `month`; whole seconds; or a length such as \"15m\".",
        ),
        required("max", Form::Number, "What is admitted in a window, 0 or more."),
        optional("scope", Form::Choice(SCOPES), "Whose calls are counted together; default `grant`."),
        optional("increment", Form::Number, "What a call adds, more than 0; default 1."),
        optional("increment_from", Form::Text, "An `args` path; what a call adds is the number there."),
        optional(
            "align",
            Form::Choice(&["sliding", "calendar"]),
            "`sliding` (default), or `calendar` for named windows.",
        ),
        optional("on_deny", Form::Text, "The message when this limit denies."),
    ],
};

static RATE_LIMIT: Shape = Shape {
    name: "rate_limit",
    about: "The short form of one limit.",
    fields: &[
        required("max", Form::Number, "Calls that are admitted in a window."),
        required("window", Form::Window, "As in a limit."),
        optional("scope", Form::Choice(SCOPES), "Whose calls are counted together; default `grant`."),
        optional("on_deny", Form::Text, "The message when this limit denies."),
    ],
};

static ACCESS: Shape = Shape {
    name: "access",
    about: "A `deny` glob that matches denies; else an `allow` glob allows; else the default.",
    fields: &[
        optional(
            "default",
            Form::Choice(DEFAULTS),
            "What happens to what no glob matches; absent: the policy's `default`.",
        ),
        optional("allow", Form::Texts, "Globs."),
        optional("deny", Form::Texts, "Globs."),
    ],
};

const REQUEST_ANSWERS: Form = Form::Choice(&["allow", "deny", "approve"]);

static SERVER_REQUESTS: Shape = Shape {
    name: "server_requests",
    about: "What the server may ask of the client.",
    fields: &[
        optional("sampling", REQUEST_ANSWERS, "Use the client's model."),
        optional("elicitation", REQUEST_ANSWERS, "Ask the user something."),
        optional("roots", REQUEST_ANSWERS, "See the client's directories."),
    ],
};

impl Shape {
    fn names(&self) -> Vec<&'static str> {
        self.fields.iter().map(|field| field.name).collect()
    }

    /// Reports every field that is unknown, missing or of the wrong form, here and below.
    pub(crate) fn check(&self, value: &Value, at: &Pointer, problems: &mut Problems) {
        let Value::Object(object) = value else {
            return wrong_kind(value, "an object", at, problems);
        };
        for member in object {
            let here = at.key(&member.key);
            match self.fields.iter().find(|field| field.name == member.key) {
                Some(field) => field.form.check(&member.value, &here, problems),
                None => self.unknown(&member.key, &here, problems),
            }
        }
        for field in self.fields.iter().filter(|field| field.required && !object.contains_key(field.name)) {
            problems.error(at, format!("required field `{}` is missing", field.name));
        }
    }

    fn unknown(&self, key: &str, at: &Pointer, problems: &mut Problems) {
        if problems.is_full() {
            return problems.error_at_key(at, "", None);
        }
        let names = self.names();
        let help = match nearest(key, &names) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("known here are {}", listed(&names)),
        };
        problems.error_at_key(at, format!("unknown field `{key}`"), Some(help));
    }
}

fn wrong_kind(value: &Value, wanted: &str, at: &Pointer, problems: &mut Problems) {
    let shown = shortened(value);
    problems.error(at, format!("this must be {wanted}, not {} (`{shown}`)", value.kind().with_article()));
}

/// The value as a message can show it.
pub(crate) fn shortened(value: &Value) -> String {
    const CHARACTERS_MAX: usize = 60;
    let text = value.to_string();
    if text.chars().count() <= CHARACTERS_MAX {
        return text;
    }
    text.chars().take(CHARACTERS_MAX).chain(['…']).collect()
}

impl Form {
    fn check(&self, value: &Value, at: &Pointer, problems: &mut Problems) {
        match self {
            Form::Any => {}
            Form::Boolean => expect_kind(value, Kind::Boolean, at, problems),
            Form::TextOrNull => {
                check_kinds(value, &[Kind::String, Kind::Null], "a string or null", at, problems)
            }
            Form::NumberOrNull => {
                check_kinds(value, &[Kind::Number, Kind::Null], "a number or null", at, problems)
            }
            Form::Text => expect_kind(value, Kind::String, at, problems),
            Form::Number => expect_kind(value, Kind::Number, at, problems),
            Form::Choice(choices) => check_choice(value, choices, at, problems),
            Form::Texts => each(value, at, problems, |value, at, problems| {
                expect_kind(value, Kind::String, at, problems);
            }),
            Form::Choices(choices) => {
                each(value, at, problems, |value, at, problems| check_choice(value, choices, at, problems));
            }
            Form::Objects(shape) => {
                each(value, at, problems, |value, at, problems| shape.check(value, at, problems));
            }
            Form::Object(shape) => shape.check(value, at, problems),
            Form::Map(shape) => each_member(value, at, problems, |member, at, problems| {
                shape.check(&member.value, at, problems);
            }),
            Form::ByClass(shape) => each_member(value, at, problems, |member, at, problems| {
                check_class(&member.key, at, problems);
                shape.check(&member.value, at, problems);
            }),
            Form::Assignments => expect_kind(value, Kind::Object, at, problems),
            Form::Window => check_kinds(value, &[Kind::String, Kind::Number], "a window", at, problems),
            Form::RateLimit(shape) if value.kind() == Kind::Object => shape.check(value, at, problems),
            Form::RateLimit(_) => {
                check_kinds(
                    value,
                    &[Kind::String],
                    "an object with `max` and `window`, or a string like `10/minute`",
                    at,
                    problems,
                );
            }
            Form::Operator => check_operator(value, at, problems),
        }
    }
}

fn expect_kind(value: &Value, kind: Kind, at: &Pointer, problems: &mut Problems) {
    check_kinds(value, &[kind], kind.with_article(), at, problems);
}

fn check_kinds(value: &Value, kinds: &[Kind], wanted: &str, at: &Pointer, problems: &mut Problems) {
    if !kinds.contains(&value.kind()) {
        wrong_kind(value, wanted, at, problems);
    }
}

fn each(
    value: &Value,
    at: &Pointer,
    problems: &mut Problems,
    mut check: impl FnMut(&Value, &Pointer, &mut Problems),
) {
    let Value::Array(elements) = value else {
        return wrong_kind(value, "a list", at, problems);
    };
    for (index, element) in elements.iter().enumerate() {
        check(element, &at.index(index), problems);
    }
}

fn each_member(
    value: &Value,
    at: &Pointer,
    problems: &mut Problems,
    mut check: impl FnMut(&portcullis_json::Member, &Pointer, &mut Problems),
) {
    let Value::Object(object) = value else {
        return wrong_kind(value, "an object", at, problems);
    };
    for member in object {
        check(member, &at.key(&member.key), problems);
    }
}

fn check_choice(value: &Value, choices: &[&str], at: &Pointer, problems: &mut Problems) {
    if value.as_str().is_some_and(|text| choices.contains(&text)) {
        return;
    }
    let message = format!("`{}` is not one of {}", shortened(value).trim_matches('"'), listed(choices));
    match value.as_str().and_then(|text| nearest(text, choices)) {
        _ if choices == ["1"] => {
            let help = "this portcullis reads policies of version \"1\" only, written with the quotes";
            problems.error_with_help(at, message, help);
        }
        Some(near) => problems.error_with_help(at, message, format!("did you mean `{near}`?")),
        None => problems.error(at, message),
    }
}

fn check_class(name: &str, at: &Pointer, problems: &mut Problems) {
    if Class::from_name(name).is_none() {
        let help = nearest(name, &Class::NAMES).map(|near| format!("did you mean `{near}`?"));
        problems.error_at_key(
            at,
            format!("unknown class `{name}`; known are {}", listed(&Class::NAMES)),
            help,
        );
    }
}

fn check_operator(value: &Value, at: &Pointer, problems: &mut Problems) {
    let Some(name) = value.as_str() else {
        return wrong_kind(value, "the name of an operator", at, problems);
    };
    if crate::operator::find(name).is_some() {
        return;
    }
    let known: Vec<&str> = crate::operator::OPERATORS.iter().map(|info| info.name).collect();
    let message = format!("unknown operator `{name}`; known are {}", listed(&known));
    match nearest(name, &known) {
        Some(near) => problems.error_with_help(at, message, format!("did you mean `{near}`?")),
        None => problems.error(at, message),
    }
}

/// The names of the windows, for the schema.
pub(crate) fn window_names() -> &'static [&'static str] {
    &Unit::NAMES
}

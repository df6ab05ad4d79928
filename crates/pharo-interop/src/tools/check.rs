//! Arguments are checked here, before the image is asked: unknown, missing and wrong ones are
//! refused by name.

use std::fmt;

use serde_json::{Map, Number, Value};

use super::{Absent, Argument, Kind, Paging, Tool};
use crate::{bounded_text::beginning, image::Image, time_limits::TIME_LIMIT_SECONDS_MAX};

/// How much of a name that the caller made up is said back.
const NAME_CHARS_MAX: usize = 100;

/// The arguments of a call, checked and with defaults filled in.
#[derive(Debug)]
pub(crate) struct Checked {
    /// What is sent, under the names on the wire.
    pub(crate) parameters: Vec<(&'static str, Value)>,
    pub(crate) timeout_seconds: Option<u64>,
    /// Position among the configured images.
    pub(crate) image: usize,
    pub(crate) page: Option<Page>,
}

/// The part of a long result that is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Page {
    pub(crate) offset: u64,
    pub(crate) limit: u64,
    pub(crate) unit: &'static str,
}

/// An argument that cannot be used.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ArgumentFault {
    pub(crate) argument: String,
    pub(crate) problem: String,
}

impl ArgumentFault {
    pub(crate) fn new(argument: &str, problem: impl Into<String>) -> Self {
        Self { argument: beginning(argument, NAME_CHARS_MAX), problem: problem.into() }
    }
}

impl fmt::Display for ArgumentFault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "argument `{}` {}", self.argument, self.problem)
    }
}

/// Checks all arguments of one call.
pub(crate) fn check(
    tool: &Tool,
    mut given: Map<String, Value>,
    images: &[Image],
) -> Result<Checked, ArgumentFault> {
    if let Some(name) = given.keys().find(|name| !is_known(tool, name, images)) {
        return Err(ArgumentFault::new(name, unknown_problem(tool)));
    }
    let mut parameters = Vec::with_capacity(tool.arguments.len());
    for argument in tool.arguments {
        let value = checked_value(argument, given.remove(argument.name))?;
        parameters.extend(value.map(|value| (argument.wire_name, value)));
    }
    Ok(Checked {
        parameters,
        timeout_seconds: whole_number(
            "timeout_seconds",
            given.remove("timeout_seconds"),
            1..=TIME_LIMIT_SECONDS_MAX,
        )?,
        image: image(given.remove("image"), images)?,
        page: tool.result.paging().map(|paging| page(paging, &mut given)).transpose()?,
    })
}

/// First of all, because a misspelt argument is also a missing one.
fn is_known(tool: &Tool, name: &str, images: &[Image]) -> bool {
    match name {
        "timeout_seconds" => true,
        "image" => images.len() > 1,
        "offset" | "limit" => tool.result.paging().is_some(),
        _ => tool.arguments.iter().any(|argument| argument.name == name),
    }
}

fn unknown_problem(tool: &Tool) -> String {
    let known: Vec<_> = tool.arguments.iter().map(|argument| format!("`{}`", argument.name)).collect();
    match known.as_slice() {
        [] => format!("is unknown: `{}` takes no arguments of its own", tool.name),
        known => format!("is unknown: `{}` takes {}", tool.name, known.join(", ")),
    }
}

/// The value to send, or nothing where nothing is to be sent.
fn checked_value(argument: &Argument, given: Option<Value>) -> Result<Option<Value>, ArgumentFault> {
    let Some(given) = given else {
        return absent_value(argument);
    };
    if !argument.kind.accepts(&given) {
        let problem = format!("must be {}, not {}", argument.kind.words(), kind_of(&given));
        return Err(ArgumentFault::new(argument.name, problem));
    }
    match (given, argument.absent) {
        (Value::Null, _) => absent_value(argument),
        (Value::Bool(false), Absent::LeftOutUnlessTrue) => Ok(None),
        (given, _) => Ok(Some(given)),
    }
}

fn absent_value(argument: &Argument) -> Result<Option<Value>, ArgumentFault> {
    match argument.absent {
        Absent::Refused => {
            let problem = format!("is missing: {}", argument.description);
            Err(ArgumentFault::new(argument.name, problem))
        }
        Absent::Text(text) => Ok(Some(text.into())),
        Absent::Flag(flag) => Ok(Some(flag.into())),
        Absent::Count(count) => Ok(Some(count.into())),
        Absent::EmptyList => Ok(Some(Value::Array(Vec::new()))),
        Absent::LeftOut | Absent::LeftOutUnlessTrue => Ok(None),
    }
}

impl Kind {
    fn accepts(self, value: &Value) -> bool {
        match self {
            Self::Text => value.is_string(),
            Self::TextOrNull => value.is_string() || value.is_null(),
            Self::Flag => value.is_boolean(),
            Self::Count => value.as_u64().is_some(),
            Self::TextsOrNull => {
                value.is_null() || value.as_array().is_some_and(|texts| texts.iter().all(Value::is_string))
            }
            Self::Object => value.is_object(),
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::Text => "a string",
            Self::TextOrNull => "a string or null",
            Self::Flag => "true or false",
            Self::Count => "a whole number, zero or more",
            Self::TextsOrNull => "a list of strings or null",
            Self::Object => "an object",
        }
    }
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "this number",
        Value::String(_) => "a string",
        Value::Array(_) => "this list",
        Value::Object(_) => "an object",
    }
}

fn whole_number(
    name: &str,
    given: Option<Value>,
    allowed: std::ops::RangeInclusive<u64>,
) -> Result<Option<u64>, ArgumentFault> {
    let Some(given) = given else {
        return Ok(None);
    };
    let number = given.as_number().and_then(Number::as_u64);
    match number.filter(|number| allowed.contains(number)) {
        Some(number) => Ok(Some(number)),
        None => {
            let (least, most) = (allowed.start(), allowed.end());
            let problem = format!("must be a whole number from {least} to {most}");
            Err(ArgumentFault::new(name, problem))
        }
    }
}

fn image(given: Option<Value>, images: &[Image]) -> Result<usize, ArgumentFault> {
    let position = match given {
        None => Some(0),
        Some(Value::String(name)) => images.iter().position(|image| image.name == name),
        Some(_) => None,
    };
    position.ok_or_else(|| {
        let names: Vec<_> = images.iter().map(|image| format!("`{}`", image.name)).collect();
        ArgumentFault::new("image", format!("must be one of {}", names.join(", ")))
    })
}

fn page(paging: Paging, given: &mut Map<String, Value>) -> Result<Page, ArgumentFault> {
    let offset = whole_number("offset", given.remove("offset"), 0..=u64::MAX)?;
    let limit = whole_number("limit", given.remove("limit"), 1..=paging.max)?;
    Ok(Page { offset: offset.unwrap_or(0), limit: limit.unwrap_or(paging.default), unit: paging.unit })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{
        image::{ImageUrl, NamedImage},
        tools::named,
    };

    fn images(names: &[&str]) -> Vec<Image> {
        let url = ImageUrl::parse("http://localhost").unwrap();
        names
            .iter()
            .map(|name| Image::new(NamedImage { name: (*name).to_owned(), url: url.clone() }))
            .collect()
    }

    fn checked(tool: &str, given: Value) -> Result<Checked, ArgumentFault> {
        let Value::Object(given) = given else { panic!("arguments are an object") };
        check(named(tool).unwrap(), given, &images(&["a"]))
    }

    fn sent(tool: &str, given: Value) -> Value {
        let parameters = checked(tool, given).unwrap().parameters;
        parameters.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }

    fn check_refused(tool: &str, given: Value, expected: &str) {
        assert_eq!(checked(tool, given).unwrap_err().to_string(), expected);
    }

    #[test]
    fn defaults_are_sent_and_left_out_as_the_image_wants_it() {
        let method = json!({"class_name": "Object", "method_name": "foo"});
        assert_eq!(sent("get_method_source", method)["is_class_method"], json!(false));
        assert_eq!(sent("export_package", json!({"package_name": "P"}))["path"], json!(concat!("/", "tmp")));
        let project = json!({"project_name": "P", "repository_url": "u"});
        assert_eq!(sent("install_project", project.clone()), project);
        let null = json!({"project_name": "P", "repository_url": "u", "load_groups": null, "force": false});
        assert_eq!(sent("install_project", null), project);
        let all = json!({"project_name": "P", "repository_url": "u", "load_groups": "A,B", "force": true});
        assert_eq!(sent("install_project", all.clone()), all);
        assert_eq!(
            sent("compile_class", json!({"class_name": "C", "package": "P", "inst_vars": null})),
            json!({"class_name": "C", "package": "P", "superclass": "Object", "inst_vars": [], "class_vars": [], "class_inst_vars": []})
        );
        assert_eq!(sent("poll_transcript", json!({})), json!({"since": 0}));
    }

    #[test]
    fn the_renamed_parameter_is_sent_under_its_name_on_the_wire() {
        let given = json!({"method_name_or_symbol": "foo"});
        assert_eq!(sent("search_references", given), json!({"program_symbol": "foo"}));
    }

    #[test]
    fn wrong_arguments_are_refused_by_name() {
        check_refused("eval", json!({}), "argument `code` is missing: Smalltalk expression or statements");
        check_refused("eval", json!({"code": 3}), "argument `code` must be a string, not this number");
        check_refused(
            "eval",
            json!({"code": "3", "cod": 1}),
            "argument `cod` is unknown: `eval` takes `code`",
        );
        check_refused("eval", json!({"cod": "3"}), "argument `cod` is unknown: `eval` takes `code`");
        check_refused(
            "list_packages",
            json!({"x": 1}),
            "argument `x` is unknown: `list_packages` takes no arguments of its own",
        );
        check_refused(
            "inspect_ref",
            json!({"ref": -1}),
            "argument `ref` must be a whole number, zero or more, not this number",
        );
        check_refused(
            "eval",
            json!({"code": "3", "timeout_seconds": 0}),
            "argument `timeout_seconds` must be a whole number from 1 to 7200",
        );
        check_refused(
            "list_packages",
            json!({"limit": 5_001}),
            "argument `limit` must be a whole number from 1 to 5000",
        );
        check_refused(
            "eval",
            json!({"code": "3", "image": "a"}),
            "argument `image` is unknown: `eval` takes `code`",
        );
    }

    #[test]
    fn an_image_can_be_chosen_when_there_are_several() {
        let two = images(&["a", "b"]);
        let choose =
            |given: Value| check(named("list_packages").unwrap(), given.as_object().unwrap().clone(), &two);
        assert_eq!(choose(json!({})).unwrap().image, 0);
        assert_eq!(choose(json!({"image": "b"})).unwrap().image, 1);
        assert_eq!(
            choose(json!({"image": "c"})).unwrap_err().to_string(),
            "argument `image` must be one of `a`, `b`"
        );
    }
}

//! The tools that need an image side with the newer endpoints. They are always listed; where the
//! image lacks the endpoint, the call says so.

use super::{Absent, Argument, Endpoint, Hints, ResultKind, Tool};
use crate::{
    image::Encoding::{self, Body, Query},
    time_limits::Pace,
};

const CLASS_NAME: Argument = Argument::text("class_name", "Name of the class");
const IS_CLASS_METHOD: Argument =
    Argument::flag("is_class_method", false, "Whether the method is on the class side");

const fn extra(
    name: &'static str,
    title: &'static str,
    description: &'static str,
    hints: Hints,
    arguments: &'static [Argument],
    (encoding, path): (Encoding, &'static str),
    members: &'static [(&'static str, Option<&'static str>)],
) -> Tool {
    Tool {
        name,
        title,
        description,
        hints,
        arguments,
        endpoint: Endpoint::Extra(encoding, path),
        result: ResultKind::Object(members),
        pace: Pace::LookUp,
    }
}

pub(super) const TOOLS: &[Tool] = &[
    extra(
        "poll_transcript",
        "Poll the transcript",
        "What was written to the Transcript since a position; `seq` is the next position. Needs \
         an image side with transcript endpoints.",
        Hints::READS,
        &[Argument::count("since", "Position to read from, the `seq` of the poll before")
            .absent(Absent::Count(0))],
        (Query, "/transcript/poll"),
        &[("seq", Some("integer")), ("text", Some("string")), ("entries", Some("array")), ("dropped", None)],
    ),
    extra(
        "clear_transcript",
        "Clear the transcript",
        "Forgets what was written to the Transcript. Needs an image side with transcript endpoints.",
        Hints::REPLACES,
        &[],
        (Body, "/transcript/clear"),
        &[("seq", Some("integer"))],
    ),
    Tool {
        pace: Pace::Code,
        ..extra(
            "inspect_expression",
            "Inspect an expression",
            "Evaluates a Smalltalk expression and answers its value as a tree of variables; each \
             row has a `ref` to look further with `inspect_ref`. Runs code. Needs an image side \
             with inspect endpoints.",
            Hints::RUNS_CODE,
            &[Argument::text("expression", "Smalltalk expression")],
            (Body, "/inspect/expression"),
            &[("ref", Some("integer")), ("inst_vars", None), ("indexable", None)],
        )
    },
    extra(
        "inspect_ref",
        "Inspect a reference",
        "Looks into an object that an earlier inspection named. The image forgets the oldest \
         references. Needs an image side with inspect endpoints.",
        Hints::READS,
        &[Argument::count("ref", "A `ref` of an earlier inspection")],
        (Query, "/inspect/ref"),
        &[("ref", Some("integer")), ("inst_vars", None), ("indexable", None)],
    ),
    extra(
        "compile_method",
        "Compile a method",
        "Compiles a method into a class, over one that is there; the source before comes back. \
         Needs an image side with compile endpoints.",
        Hints::REPLACES,
        &[
            CLASS_NAME,
            Argument::text("method_source", "Whole source, the selector first"),
            Argument::optional_text("category", "Protocol of the method"),
            IS_CLASS_METHOD,
        ],
        (Body, "/compile-method"),
        &[
            ("selector", Some("string")),
            ("class_name", Some("string")),
            ("is_class_method", Some("boolean")),
            ("category", None),
            ("overwritten", Some("boolean")),
            ("previous_source", None),
        ],
    ),
    extra(
        "compile_class",
        "Compile a class",
        "Creates a class, or changes the definition of one that is there. Needs an image side \
         with compile endpoints.",
        Hints::REPLACES,
        &[
            CLASS_NAME,
            Argument::text("package", "Name of the package"),
            Argument::text("superclass", "Name of the superclass").absent(Absent::Text("Object")),
            Argument::optional_text("tag", "Tag within the package"),
            Argument::texts("inst_vars", "Names of the instance variables"),
            Argument::texts("class_vars", "Names of the class variables"),
            Argument::texts("class_inst_vars", "Names of the class-side instance variables"),
        ],
        (Body, "/compile-class"),
        &[("class_name", Some("string")), ("created", Some("boolean"))],
    ),
    extra(
        "remove_method",
        "Remove a method",
        "Removes a method from a class; one that is not there is no error. Needs an image side \
         with remove endpoints.",
        Hints::REPLACES,
        &[CLASS_NAME, Argument::text("selector", "Selector of the method"), IS_CLASS_METHOD],
        (Body, "/remove-method"),
        &[
            ("class_name", Some("string")),
            ("selector", Some("string")),
            ("is_class_method", Some("boolean")),
            ("existed", Some("boolean")),
            ("removed", Some("boolean")),
        ],
    ),
    extra(
        "remove_class",
        "Remove a class",
        "Removes a class from the image; one that is not there is no error. Needs an image side \
         with remove endpoints.",
        Hints::REPLACES,
        &[CLASS_NAME],
        (Body, "/remove-class"),
        &[("class_name", Some("string")), ("existed", Some("boolean")), ("removed", Some("boolean"))],
    ),
];

//! The tools that only look.

use super::{Absent, Argument, Endpoint, Hints, ResultKind, Tool};
use crate::{image::Encoding::Query, time_limits::Pace};

const CLASS_NAME: Argument = Argument::text("class_name", "Name of the class");
const PACKAGE_NAME: Argument = Argument::text("package_name", "Name of the package");

/// What `ping_image` reports.
const PING_REPORT: &[(&str, Option<&str>)] = &[
    ("url", Some("string")),
    ("round_trip_ms", Some("integer")),
    ("version", None),
    ("errors", Some("string")),
    ("settings", Some("object")),
    ("offers", Some("object")),
    ("given_up_calls", Some("array")),
];

/// Most tools here differ only in these.
const fn look_up(
    name: &'static str,
    title: &'static str,
    description: &'static str,
    arguments: &'static [Argument],
    path: &'static str,
    result: ResultKind,
) -> Tool {
    Tool {
        name,
        title,
        description,
        hints: Hints::READS,
        arguments,
        endpoint: Endpoint::Core(Query, path),
        result,
        pace: Pace::LookUp,
    }
}

pub(super) const TOOLS: &[Tool] = &[
    look_up(
        "get_class_source",
        "Get class source",
        "The whole source of a class, in Tonel format.",
        &[CLASS_NAME],
        "/get-class-source",
        ResultKind::Source,
    ),
    look_up(
        "get_method_source",
        "Get method source",
        "The source of one method.",
        &[
            Argument::text("class_name", "Name of the class; `Foo class` also means the class side"),
            Argument::text("method_name", "Selector, such as `at:put:`"),
            Argument::flag("is_class_method", false, "Whether the method is on the class side"),
        ],
        "/get-method-source",
        ResultKind::Source,
    ),
    look_up(
        "get_class_comment",
        "Get class comment",
        "The comment of a class.",
        &[CLASS_NAME],
        "/get-class-comment",
        ResultKind::Source,
    ),
    look_up(
        "search_classes_like",
        "Search classes",
        "Names of the classes that begin with the query; case does not matter.",
        &[Argument::text("class_name_query", "Beginning of the class name")],
        "/search-classes-like",
        ResultKind::Names,
    ),
    look_up(
        "search_methods_like",
        "Search methods",
        "Selectors that begin with the query.",
        &[Argument::text("method_name_query", "Beginning of the selector")],
        "/search-methods-like",
        ResultKind::Names,
    ),
    look_up(
        "search_traits_like",
        "Search traits",
        "Names of the traits that begin with the query; case does not matter.",
        &[Argument::text("trait_name_query", "Beginning of the trait name")],
        "/search-traits-like",
        ResultKind::Names,
    ),
    look_up(
        "search_implementors",
        "Search implementors",
        "The methods that implement a selector, with class and package.",
        &[Argument::text("method_name", "Selector, such as `printOn:`")],
        "/search-implementors",
        ResultKind::Methods,
    ),
    look_up(
        "search_references",
        "Search references",
        "The methods that send a selector or mention a symbol, with class and package.",
        &[Argument::text("method_name_or_symbol", "Selector or symbol, without `#`")
            .sent_as("program_symbol")],
        "/search-references",
        ResultKind::Methods,
    ),
    look_up(
        "search_references_to_class",
        "Search references to a class",
        "The methods that mention a class, with class and package.",
        &[CLASS_NAME],
        "/search-references-to-class",
        ResultKind::Methods,
    ),
    look_up(
        "list_packages",
        "List packages",
        "Names of all packages, sorted.",
        &[],
        "/list-packages",
        ResultKind::Names,
    ),
    look_up(
        "list_classes",
        "List classes",
        "Names of the classes of a package, sorted.",
        &[PACKAGE_NAME],
        "/list-classes",
        ResultKind::Names,
    ),
    look_up(
        "list_extended_classes",
        "List extended classes",
        "Names of the classes of other packages that a package adds methods to, sorted.",
        &[PACKAGE_NAME],
        "/list-extended-classes",
        ResultKind::Names,
    ),
    look_up(
        "list_methods",
        "List methods",
        "The methods of a package, as `Class>>#selector`, sorted.",
        &[PACKAGE_NAME],
        "/list-methods",
        ResultKind::Names,
    ),
    Tool {
        hints: Hints { idempotent: false, ..Hints::READS },
        pace: Pace::Screen,
        ..look_up(
            "read_screen",
            "Read the screen",
            "What the image shows, as a structure and, if asked for, as a picture. A screenshot is \
             written as a PNG file on the image's machine; it comes back as a picture when this \
             server can read it, and as a path otherwise.",
            &[
                Argument::text(
                    "target_type",
                    "`world` for morphs, `spec` for Spec windows, `roassal` for Roassal canvases",
                )
                .absent(Absent::Text("world")),
                Argument::flag("capture_screenshot", true, "Whether to take a screenshot"),
            ],
            "/read-screen",
            ResultKind::Screen,
        )
    },
    look_up(
        "get_settings",
        "Get settings",
        "The settings of the interop server inside the image.",
        &[],
        "/get-settings",
        ResultKind::Object(&[("stackSize", None), ("screenshotDir", None)]),
    ),
    Tool {
        endpoint: Endpoint::Ping,
        ..look_up(
            "ping_image",
            "Ping the image",
            "Whether the image answers, which version it is, which of the newer tools it offers, \
             and which earlier calls it may still be working on. Start here when something fails.",
            &[],
            "",
            ResultKind::Object(PING_REPORT),
        )
    },
];

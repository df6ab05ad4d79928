//! The tools of every image side that change something or run code.

use super::{Absent, Argument, Endpoint, Hints, ResultKind, Tool};
use crate::{
    image::Encoding::{Body, Query},
    time_limits::Pace,
};

/// The directory that packages go to and come from. The image has no default of its own, so it is
/// always sent; it is the one that clients of the earlier server rely on.
const PACKAGE_DIRECTORY: &str = concat!("/", "tmp");

const PACKAGE_NAME: Argument = Argument::text("package_name", "Name of the package");
const PATH: Argument =
    Argument::text("path", "Directory on the image's machine").absent(Absent::Text(PACKAGE_DIRECTORY));

const EVAL: Tool = Tool {
    name: "eval",
    title: "Evaluate",
    description: "Evaluates a Smalltalk expression in the image and answers its value as JSON. \
                  The code can do anything that the image can. Strings take single quotes; double \
                  quotes make a comment. An object that has no JSON form is an error: ask for its \
                  `printString` instead.",
    hints: Hints::RUNS_CODE,
    arguments: &[Argument::text("code", "Smalltalk expression or statements")],
    endpoint: Endpoint::Core(Body, "/eval"),
    result: ResultKind::Anything,
    pace: Pace::Code,
};

pub(super) const TOOLS: &[Tool] = &[
    EVAL,
    Tool {
        name: "eval_code",
        title: "Evaluate (other name)",
        description: "The same as `eval`, under its other public name.",
        ..EVAL
    },
    Tool {
        name: "export_package",
        title: "Export package",
        description: "Writes a package as Tonel files into a directory on the image's machine, \
                      over files that are already there.",
        hints: Hints::REPLACES,
        arguments: &[PACKAGE_NAME, PATH],
        endpoint: Endpoint::Core(Query, "/export-package"),
        result: ResultKind::Message,
        pace: Pace::Files,
    },
    Tool {
        name: "import_package",
        title: "Import package",
        description: "Loads a package from Tonel files in a directory on the image's machine, \
                      over the classes and methods that are in the image.",
        hints: Hints { idempotent: false, ..Hints::REPLACES },
        arguments: &[PACKAGE_NAME, PATH],
        endpoint: Endpoint::Core(Query, "/import-package"),
        result: ResultKind::Message,
        pace: Pace::Files,
    },
    Tool {
        name: "run_package_test",
        title: "Run package tests",
        description: "Runs all tests of a package: counts, failing tests and the image's text. \
                      Tests run code.",
        hints: Hints::RUNS_CODE,
        arguments: &[PACKAGE_NAME],
        endpoint: Endpoint::Core(Query, "/run-package-test"),
        result: ResultKind::TestReport,
        pace: Pace::Tests,
    },
    Tool {
        name: "run_class_test",
        title: "Run class tests",
        description: "Runs all tests of a test class: counts, failing tests and the image's text. \
                      Tests run code.",
        hints: Hints::RUNS_CODE,
        arguments: &[Argument::text("class_name", "Name of the test class")],
        endpoint: Endpoint::Core(Query, "/run-class-test"),
        result: ResultKind::TestReport,
        pace: Pace::Tests,
    },
    Tool {
        name: "install_project",
        title: "Install project",
        description: "Fetches a project with Metacello and loads its code into the image.",
        hints: Hints::RUNS_CODE,
        arguments: &[
            Argument::text("project_name", "Name of the baseline, without `BaselineOf`"),
            Argument::text("repository_url", "Metacello URL, such as `github://owner/name:main/src`"),
            Argument::optional_text("load_groups", "Groups to load, separated by commas"),
            Argument::flag("force", false, "Load even over conflicts and what is already there")
                .absent(Absent::LeftOutUnlessTrue),
        ],
        endpoint: Endpoint::Core(Query, "/install-project"),
        result: ResultKind::Message,
        pace: Pace::Install,
    },
    Tool {
        name: "apply_settings",
        title: "Apply settings",
        description: "Changes settings of the interop server inside the image, such as \
                      `stack_size`. Names in `snake_case` arrive in `camelCase`.",
        hints: Hints::ADJUSTS,
        arguments: &[Argument::object("settings", "Settings by name")],
        endpoint: Endpoint::Core(Body, "/apply-settings"),
        result: ResultKind::Message,
        pace: Pace::LookUp,
    },
];

//! One good call of every tool, with what the image must be sent and what must come back. Written
//! from the description of the protocol, not from the server's own table.

use portcullis_testkit::pharo_stand_in::StandIn;
use serde_json::{Value, json};

pub(crate) struct Case {
    pub(crate) tool: &'static str,
    pub(crate) arguments: Value,
    pub(crate) method: &'static str,
    pub(crate) path: &'static str,
    /// The parameters on the wire; those of a GET are texts.
    pub(crate) sent: Value,
    pub(crate) result: Expected,
}

pub(crate) enum Expected {
    Is(Value),
    Contains(&'static str),
}
use Expected::{Contains, Is};

fn get(tool: &'static str, path: &'static str, arguments: Value, sent: Value, result: Expected) -> Case {
    Case { tool, arguments, method: "GET", path, sent, result }
}

fn post(tool: &'static str, path: &'static str, arguments: Value, sent: Value, result: Expected) -> Case {
    Case { tool, arguments, method: "POST", path, sent, result }
}

/// Every tool but `ping_image`, which asks more than once. The order matters to the last ones.
pub(crate) fn all(image: &StandIn) -> Vec<Case> {
    let mut cases = looking();
    cases.extend(searching());
    cases.extend(changing(image));
    cases.extend(extra());
    cases
}

fn looking() -> Vec<Case> {
    let class = json!({"class_name": "SisFixtureClassForTest"});
    let package = json!({"package_name": "Sis-Tests"});
    vec![
        get(
            "get_class_source",
            "/get-class-source",
            class.clone(),
            class.clone(),
            Contains("#name : 'SisFixtureClassForTest'"),
        ),
        get(
            "get_method_source",
            "/get-method-source",
            json!({"class_name": "SisServer", "method_name": "current", "is_class_method": true}),
            json!({"class_name": "SisServer", "method_name": "current", "is_class_method": "true"}),
            Contains("current := self new"),
        ),
        get(
            "get_class_comment",
            "/get-class-comment",
            class.clone(),
            class,
            Is(json!("A class to look at; grüße, 世界.")),
        ),
        get("list_packages", "/list-packages", json!({}), json!({}), Contains("System-Object Events")),
        get(
            "list_classes",
            "/list-classes",
            package.clone(),
            package.clone(),
            Is(json!(["SisFixtureClassForTest", "SisFixtureTraitForTest", "SisTest"])),
        ),
        get(
            "list_extended_classes",
            "/list-extended-classes",
            json!({"package_name": "Collections-Support"}),
            json!({"package_name": "Collections-Support"}),
            Is(json!(["Object"])),
        ),
        get("list_methods", "/list-methods", package.clone(), package, Contains("SisTest>>#testEval")),
        get(
            "read_screen",
            "/read-screen",
            json!({"target_type": "spec"}),
            json!({"target_type": "spec", "capture_screenshot": "true"}),
            Contains("1 Spec presenter(s)"),
        ),
        get("get_settings", "/get-settings", json!({}), json!({}), Contains("stackSize")),
    ]
}

fn searching() -> Vec<Case> {
    let found = |class: &str, method: &str, package: &str| {
        Is(json!([{"class": class, "method": method, "package": package}]))
    };
    vec![
        get(
            "search_classes_like",
            "/search-classes-like",
            json!({"class_name_query": "sisdummy"}),
            json!({"class_name_query": "sisdummy"}),
            Is(json!(["SisDummyTest", "SisDummyTest2"])),
        ),
        get(
            "search_methods_like",
            "/search-methods-like",
            json!({"method_name_query": "testMethodAa"}),
            json!({"method_name_query": "testMethodAa"}),
            Is(json!(["testMethodAaa", "testMethodAab"])),
        ),
        get(
            "search_traits_like",
            "/search-traits-like",
            json!({"trait_name_query": "sisf"}),
            json!({"trait_name_query": "sisf"}),
            Is(json!(["SisFixtureTraitForTest"])),
        ),
        get(
            "search_implementors",
            "/search-implementors",
            json!({"method_name": "->"}),
            json!({"method_name": "->"}),
            found("Object", "->", "Collections-Support"),
        ),
        get(
            "search_references",
            "/search-references",
            json!({"method_name_or_symbol": "TestSymbolBBB"}),
            json!({"program_symbol": "TestSymbolBBB"}),
            found("SisFixtureClassForTest", "testMethodBbb", "Sis-Tests"),
        ),
        get(
            "search_references_to_class",
            "/search-references-to-class",
            json!({"class_name": "SisSettings"}),
            json!({"class_name": "SisSettings"}),
            found("SisServer", "settings", "Sis-Core"),
        ),
    ]
}

fn changing(image: &StandIn) -> Vec<Case> {
    let directory = image.directory().to_string_lossy().into_owned();
    let package = json!({"package_name": "Sis-Core", "path": directory});
    let code = json!({"code": "5 rem: 3"});
    let settings = json!({"settings": {"stack_size": 150}});
    vec![
        post("eval", "/eval", code.clone(), code.clone(), Is(json!(2))),
        post("eval_code", "/eval", code.clone(), code, Is(json!(2))),
        get(
            "export_package",
            "/export-package",
            package.clone(),
            package.clone(),
            Is(json!(format!("Sis-Core exported to: {directory}"))),
        ),
        get(
            "import_package",
            "/import-package",
            package.clone(),
            package,
            Is(json!(format!("Sis-Core imported from: {directory}"))),
        ),
        get(
            "run_package_test",
            "/run-package-test",
            json!({"package_name": "Sis-Tests-Dummy"}),
            json!({"package_name": "Sis-Tests-Dummy"}),
            Contains("3 ran, 3 passed, "),
        ),
        get(
            "run_class_test",
            "/run-class-test",
            json!({"class_name": "SisDummyTest"}),
            json!({"class_name": "SisDummyTest"}),
            Contains("2 ran, 2 passed, "),
        ),
        get(
            "install_project",
            "/install-project",
            json!({"project_name": "Foo", "repository_url": "github://a/b:main/src", "load_groups": "Core,Tests", "force": true}),
            json!({"project_name": "Foo", "repository_url": "github://a/b:main/src", "load_groups": "Core,Tests", "force": "true"}),
            Contains("Installed: BaselineOfFoo [Core,Tests]"),
        ),
        post(
            "apply_settings",
            "/apply-settings",
            settings.clone(),
            settings,
            Is(json!("Settings applied successfully")),
        ),
    ]
}

fn extra() -> Vec<Case> {
    vec![
        get(
            "poll_transcript",
            "/transcript/poll",
            json!({"since": 0}),
            json!({"since": "0"}),
            Contains("dropped"),
        ),
        post("clear_transcript", "/transcript/clear", json!({}), json!({}), Is(json!({"seq": 0}))),
        post(
            "inspect_expression",
            "/inspect/expression",
            json!({"expression": "3 + 4"}),
            json!({"expression": "3 + 4"}),
            Contains("\"ref\":0"),
        ),
        get(
            "inspect_ref",
            "/inspect/ref",
            json!({"ref": 0}),
            json!({"ref": "0"}),
            Contains("\"print_string\":\"7\""),
        ),
        post(
            "compile_method",
            "/compile-method",
            json!({"class_name": "SisServer", "method_source": "answer\n\t^ 42", "category": "x", "is_class_method": true}),
            json!({"class_name": "SisServer", "method_source": "answer\n\t^ 42", "category": "x", "is_class_method": true}),
            Contains("\"overwritten\":false"),
        ),
        post(
            "compile_class",
            "/compile-class",
            json!({"class_name": "Foo", "package": "Bar", "inst_vars": ["a", "b"]}),
            json!({"class_name": "Foo", "package": "Bar", "superclass": "Object", "inst_vars": ["a", "b"], "class_vars": [], "class_inst_vars": []}),
            Is(json!({"class_name": "Foo", "created": true})),
        ),
        post(
            "remove_method",
            "/remove-method",
            json!({"class_name": "SisServer", "selector": "answer", "is_class_method": true}),
            json!({"class_name": "SisServer", "selector": "answer", "is_class_method": true}),
            Contains("\"removed\":true"),
        ),
        post(
            "remove_class",
            "/remove-class",
            json!({"class_name": "Foo"}),
            json!({"class_name": "Foo"}),
            Is(json!({"class_name": "Foo", "existed": true, "removed": true})),
        ),
    ]
}

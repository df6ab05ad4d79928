//! The Pharo server: every name, with and without descriptions.

use portcullis_catalogue::recommend::tool_policy;
use portcullis_catalogue::{Class, Siblings, Signal, ToolDefinition, classify};
use portcullis_json::compact;

use crate::given::tool;

/// Name, what it does in our words, parameters, class.
const TOOLS: &[(&str, &str, &[&str], Class)] = &[
    ("get_class_source", "Returns the source of a class", &["class_name"], Class::Read),
    ("get_method_source", "Returns the source of a method", &["class_name", "method_name"], Class::Read),
    ("get_class_comment", "Returns the comment of a class", &["class_name"], Class::Read),
    ("search_classes_like", "Finds classes by the start of their name", &["class_name_query"], Class::Read),
    ("search_methods_like", "Finds methods by the start of their name", &["method_name_query"], Class::Read),
    ("search_traits_like", "Finds traits by the start of their name", &["trait_name_query"], Class::Read),
    ("search_implementors", "Finds who implements a selector", &["method_name"], Class::Read),
    ("search_references", "Finds who refers to a symbol", &["method_name_or_symbol"], Class::Read),
    ("search_references_to_class", "Finds who refers to a class", &["class_name"], Class::Read),
    ("list_packages", "Lists the packages", &[], Class::Read),
    ("list_classes", "Lists the classes of a package", &["package_name"], Class::Read),
    ("list_extended_classes", "Lists the classes a package extends", &["package_name"], Class::Read),
    ("list_methods", "Lists the methods of a package", &["package_name"], Class::Read),
    (
        "read_screen",
        "Describes the screen and takes a picture of it",
        &["target_type", "capture_screenshot"],
        Class::Read,
    ),
    ("get_settings", "Returns the settings", &[], Class::Read),
    ("apply_settings", "Changes the settings", &["settings"], Class::Write),
    ("export_package", "Writes a package to files", &["package_name", "path"], Class::Write),
    ("import_package", "Loads a package from files", &["package_name", "path"], Class::Write),
    ("eval", "Evaluates an expression in the image", &["code"], Class::Execute),
    ("eval_code", "The same as eval", &["code"], Class::Execute),
    ("run_package_test", "Runs the tests of a package", &["package_name"], Class::Execute),
    ("run_class_test", "Runs the tests of a class", &["class_name"], Class::Execute),
    (
        "install_project",
        "Loads a project from a repository",
        &["project_name", "repository_url"],
        Class::Execute,
    ),
    ("ping_image", "Asks whether the image answers", &[], Class::Read),
    ("poll_transcript", "Returns new lines of the transcript", &["since"], Class::Read),
    ("clear_transcript", "Empties the transcript", &[], Class::Destructive),
    (
        "inspect_expression",
        "Evaluates an expression and shows the result as a tree",
        &["expression"],
        Class::Execute,
    ),
    ("inspect_ref", "Shows an object that was inspected before", &["ref"], Class::Read),
    ("compile_method", "Compiles a method into a class", &["class_name", "method_source"], Class::Write),
    ("compile_class", "Defines a class", &["class_name", "package"], Class::Write),
    ("remove_method", "Removes a method", &["class_name", "selector"], Class::Destructive),
    ("remove_class", "Removes a class", &["class_name"], Class::Destructive),
];

fn siblings() -> Siblings {
    Siblings::of_names("pharo-smalltalk-interop", TOOLS.iter().map(|row| row.0))
}

fn with_all(name: &str, description: &str, parameters: &[&str]) -> ToolDefinition {
    let properties: Vec<String> =
        parameters.iter().map(|name| format!(r#""{name}":{{"type":"string"}}"#)).collect();
    tool(&format!(
        r#"{{"name":"{name}","description":"{description}","inputSchema":{{"type":"object","properties":{{{}}}}}}}"#,
        properties.join(",")
    ))
}

#[test]
fn all_come_out_right_with_descriptions_and_schemas() {
    for (name, description, parameters, class) in TOOLS {
        let found = classify(&with_all(name, description, parameters), &siblings());
        assert_eq!(found.class, *class, "{name}\n{:#?}", found.evidence);
    }
}

#[test]
fn all_come_out_right_by_names_and_siblings_alone() {
    for (name, _, _, class) in TOOLS {
        let found = classify(&ToolDefinition::named(name), &siblings());
        assert_eq!(found.class, *class, "{name}\n{:#?}", found.evidence);
    }
}

#[test]
fn the_published_23_are_15_read_3_write_5_execute() {
    let count = |class| {
        TOOLS
            .iter()
            .take(23)
            .filter(|row| classify(&ToolDefinition::named(row.0), &siblings()).class == class)
            .count()
    };
    assert_eq!([count(Class::Read), count(Class::Write), count(Class::Execute)], [15, 3, 5]);
}

#[test]
fn confidence_is_lower_without_a_description() {
    let bare = classify(&ToolDefinition::named("export_package"), &siblings());
    assert_eq!(bare.confidence, 0.75);
    assert!(bare.rationale.contains("no description was available"));
    let full = classify(&with_all("export_package", "Exports a package", &["path"]), &siblings());
    assert!(full.confidence > bare.confidence);
}

#[test]
fn limits_are_10_and_30_a_minute() {
    let eval = tool_policy(&ToolDefinition::named("eval"), Class::Execute);
    assert_eq!(
        compact(&eval.policy),
        r#"{"version":"1","default":"deny","tools":{"eval":{"limits":[{"counter":"eval_rate","window":"minute","max":10,"scope":"grant"}]}}}"#
    );
    let import = tool_policy(&ToolDefinition::named("import_package"), Class::Write);
    assert!(compact(&import.policy).contains(r#""max":30"#));
}

#[test]
fn the_hints_of_a_later_version_do_not_mislead() {
    let test = tool(r#"{"name":"run_class_test","annotations":{"readOnlyHint":true}}"#);
    let found = classify(&test, &siblings());
    assert_eq!(found.class, Class::Execute);
    assert!(found.hint_contradicts);
    let import = tool(r#"{"name":"import_package","annotations":{"destructiveHint":true}}"#);
    let found = classify(&import, &siblings());
    assert_eq!(found.class, Class::Write);
    assert!(found.has(Signal::Overwrites));
    assert!(classify(&ToolDefinition::named("read_screen"), &siblings()).has(Signal::SideFile));
}

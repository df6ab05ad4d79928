//! Every tool, in every way of talking: the call succeeds, and the image got exactly what it wants.

use portcullis_testkit::pharo_stand_in::{Age, StandIn};
use serde_json::{Value, json};

use crate::{
    cases::{self, Case, Expected},
    sdk::{Client, WAYS, Way},
};

/// Every tool once, `ping_image` included.
const SCENARIOS: usize = 32;

fn check_every_tool(way: Way) {
    let image = StandIn::start().unwrap();
    let mut client = Client::connect(way, &image);
    assert_eq!(client.hello["protocol_version"], json!(way.version));
    let names: Vec<_> = client.tools().iter().map(|tool| tool["name"].clone()).collect();
    let mut called = Vec::new();
    for case in cases::all(&image) {
        check(&case, &mut client, &image);
        called.push(json!(case.tool));
    }
    check_ping(&mut client, &image);
    called.push(json!("ping_image"));
    assert_eq!(called.len(), SCENARIOS);
    assert!(names.iter().all(|name| called.contains(name)), "listed but not called");
}

fn check(case: &Case, client: &mut Client, image: &StandIn) {
    let outcome = client.call(case.tool, case.arguments.clone());
    match &case.result {
        Expected::Is(value) => assert_eq!(outcome.result(), value, "{}", case.tool),
        Expected::Contains(text) => {
            let result = outcome.result();
            let whole = result.as_str().map_or_else(|| result.to_string(), str::to_owned);
            assert!(whole.contains(text), "{}: {whole}", case.tool);
        }
    }
    let recorded = image.take_recorded();
    let [request] = recorded.as_slice() else { panic!("{}: {recorded:?}", case.tool) };
    assert_eq!(
        (request.method.as_str(), request.path.as_str(), &Value::from(request.parameters.clone())),
        (case.method, case.path, &case.sent),
        "{}",
        case.tool
    );
}

fn check_ping(client: &mut Client, image: &StandIn) {
    let outcome = client.call("ping_image", json!({}));
    let report = outcome.result();
    assert_eq!(report["url"], json!(image.url()));
    assert_eq!(report["version"], json!("stand-in of the test kit, not Pharo"));
    assert_eq!(report["settings"]["stackSize"], json!(150), "as applied before");
    assert_eq!(
        report["offers"],
        json!({"core": true, "transcript": true, "inspect": true, "compile_and_remove": "likely"})
    );
    assert_eq!(report["given_up_calls"], json!([]));
    image.take_recorded();
}

#[test]
fn over_stdio_in_the_older_era() {
    check_every_tool(WAYS[0]);
}

#[test]
fn over_stdio_in_the_newer_era() {
    check_every_tool(WAYS[1]);
}

#[test]
fn over_http_in_the_older_era() {
    check_every_tool(WAYS[2]);
}

#[test]
fn over_http_in_the_newer_era() {
    check_every_tool(WAYS[3]);
}

#[test]
fn ping_tells_image_sides_of_different_age_apart() {
    let image = StandIn::start().unwrap();
    let mut client = Client::connect(WAYS[1], &image);
    let mut report = |age| {
        image.set_age(age);
        client.call("ping_image", json!({})).result().clone()
    };
    let old = report(Age::PlainTextErrors);
    assert!(old["errors"].as_str().unwrap().contains("version 1"), "{old}");
    let core = report(Age::Core);
    assert!(core["errors"].as_str().unwrap().contains("version 2 or later"), "{core}");
    assert_eq!(
        core["offers"],
        json!({"core": true, "transcript": false, "inspect": false, "compile_and_remove": "unlikely"})
    );
    assert_eq!(report(Age::WithExtras)["offers"]["inspect"], json!(true));
}

#[test]
fn ping_changes_nothing() {
    let image = StandIn::start().unwrap();
    let mut client = Client::connect(WAYS[1], &image);
    client.call("ping_image", json!({})).success();
    let paths: Vec<_> =
        image.take_recorded().iter().map(|request| format!("{} {}", request.method, request.path)).collect();
    assert_eq!(
        paths,
        [
            "GET /get-settings",
            "POST /eval",
            "GET /get-class-comment",
            "GET /transcript/poll",
            "GET /inspect/ref"
        ]
    );
}

#[test]
fn defaults_reach_the_image() {
    let image = StandIn::start().unwrap();
    let mut client = Client::connect(WAYS[1], &image);
    let mut sent = |tool: &str, arguments: Value| {
        client.call(tool, arguments);
        Value::from(image.take_recorded()[0].parameters.clone())
    };
    let directory = concat!("/", "tmp");
    assert_eq!(
        sent("export_package", json!({"package_name": "None"})),
        json!({"package_name": "None", "path": directory})
    );
    assert_eq!(
        sent("import_package", json!({"package_name": "None"})),
        json!({"package_name": "None", "path": directory})
    );
    assert_eq!(sent("read_screen", json!({})), json!({"target_type": "world", "capture_screenshot": "true"}));
    assert_eq!(
        sent("get_method_source", json!({"class_name": "A", "method_name": "b"})),
        json!({"class_name": "A", "method_name": "b", "is_class_method": "false"})
    );
    assert_eq!(
        sent(
            "install_project",
            json!({"project_name": "A", "repository_url": "b", "load_groups": null, "force": false})
        ),
        json!({"project_name": "A", "repository_url": "b"})
    );
    assert_eq!(
        sent("compile_method", json!({"class_name": "A", "method_source": "b"})),
        json!({"class_name": "A", "method_source": "b", "is_class_method": false})
    );
    assert_eq!(sent("poll_transcript", json!({})), json!({"since": "0"}));
}

#[test]
fn a_package_that_was_exported_can_be_imported() {
    let image = StandIn::start().unwrap();
    let mut client = Client::connect(WAYS[1], &image);
    let package = json!({"package_name": "Sis-Core", "path": image.directory()});
    client.call("export_package", package.clone()).success();
    client.call("remove_class", json!({"class_name": "SisServer"})).success();
    client.call("get_class_source", json!({"class_name": "SisServer"})).failure("image_error");
    client.call("import_package", package).success();
    let source = client.call("get_class_source", json!({"class_name": "SisServer"}));
    assert!(source.result().as_str().unwrap().contains("SisServer class >> current ["));
}

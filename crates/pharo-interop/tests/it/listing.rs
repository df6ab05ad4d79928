//! What `tools/list` says: the public names, arguments and defaults, the hints, the schemas.

use portcullis_testkit::pharo_stand_in::StandIn;
use serde_json::{Value, json};

use crate::sdk::{Client, WAYS};

/// Tool, hints (Read-only, Destructive, Idempotent, Open-world) and arguments: `!` is required,
/// `=` a default. Every tool also takes `timeout_seconds`; those marked `+` take `offset`, `limit`.
const CONTRACT: &str = "
get_class_source           R-I- + class_name:string!
get_method_source          R-I- + class_name:string! method_name:string! is_class_method:boolean=false
get_class_comment          R-I- + class_name:string!
search_classes_like        R-I- + class_name_query:string!
search_methods_like        R-I- + method_name_query:string!
search_traits_like         R-I- + trait_name_query:string!
search_implementors        R-I- + method_name:string!
search_references          R-I- + method_name_or_symbol:string!
search_references_to_class R-I- + class_name:string!
list_packages              R-I- +
list_classes               R-I- + package_name:string!
list_extended_classes      R-I- + package_name:string!
list_methods               R-I- + package_name:string!
read_screen                R---   target_type:string=\"world\" capture_screenshot:boolean=true
get_settings               R-I-
ping_image                 R-I-
eval                       -D-O   code:string!
eval_code                  -D-O   code:string!
export_package             -DI-   package_name:string! path:string=\"TEMPORARY\"
import_package             -D--   package_name:string! path:string=\"TEMPORARY\"
run_package_test           -D-O   package_name:string!
run_class_test             -D-O   class_name:string!
install_project            -D-O   project_name:string! repository_url:string! load_groups:string|null=null force:boolean=false
apply_settings             --I-   settings:object!
poll_transcript            R-I-   since:integer=0
clear_transcript           -DI-
inspect_expression         -D-O   expression:string!
inspect_ref                R-I-   ref:integer!
compile_method             -DI-   class_name:string! method_source:string! category:string|null=null is_class_method:boolean=false
compile_class              -DI-   class_name:string! package:string! superclass:string=\"Object\" tag:string|null=null inst_vars:array|null=null class_vars:array|null=null class_inst_vars:array|null=null
remove_method              -DI-   class_name:string! selector:string! is_class_method:boolean=false
remove_class               -DI-   class_name:string!
";

/// A listed tool in the words of the contract.
fn words(tool: &Value) -> String {
    let hint = |name: &str, letter: &'static str| {
        let hint = tool["annotations"][name].as_bool();
        if hint.unwrap_or_else(|| panic!("{name} is not set: {tool}")) { letter } else { "-" }
    };
    let hints = [
        hint("readOnlyHint", "R"),
        hint("destructiveHint", "D"),
        hint("idempotentHint", "I"),
        hint("openWorldHint", "O"),
    ]
    .concat();
    let schema = &tool["inputSchema"];
    let properties = schema["properties"].as_object().unwrap();
    assert_eq!(properties["timeout_seconds"]["type"], json!("integer"));
    let paged = properties.contains_key("offset") && properties.contains_key("limit");
    let own = properties
        .iter()
        .filter(|(name, _)| !["timeout_seconds", "offset", "limit"].contains(&name.as_str()))
        .map(|(name, property)| argument_words(name, property, &schema["required"]));
    let mut words = vec![tool["name"].as_str().unwrap().to_owned(), hints];
    words.extend(paged.then(|| "+".to_owned()));
    let mut own: Vec<_> = own.collect();
    own.sort();
    words.extend(own);
    words.join(" ")
}

fn argument_words(name: &str, property: &Value, required: &Value) -> String {
    let kind = match &property["type"] {
        Value::Array(kinds) => kinds.iter().map(|kind| kind.as_str().unwrap()).collect::<Vec<_>>().join("|"),
        kind => kind.as_str().unwrap().to_owned(),
    };
    assert!(!property["description"].as_str().unwrap().is_empty());
    let rest = if required.as_array().unwrap().contains(&json!(name)) {
        "!".to_owned()
    } else {
        format!("={}", property["default"])
    };
    format!("{name}:{kind}{rest}")
}

/// The contract with its arguments in the order of the alphabet.
fn contract() -> Vec<String> {
    let lines = CONTRACT.trim().lines().map(|line| line.replace("TEMPORARY", concat!("/", "tmp")));
    lines
        .map(|line| {
            let words: Vec<_> = line.split_whitespace().collect();
            let (head, arguments) = words.split_at(if words.get(2) == Some(&"+") { 3 } else { 2 });
            let mut arguments = arguments.to_vec();
            arguments.sort_unstable();
            [head, &arguments].concat().join(" ")
        })
        .collect()
}

#[test]
fn the_list_is_the_contract_in_every_way_of_talking() {
    let image = StandIn::start().unwrap();
    for way in WAYS {
        let mut client = Client::connect(way, &image);
        assert_eq!(client.hello["name"], json!("pharo-interop-mcp"));
        assert_eq!(client.hello["version"], json!(env!("CARGO_PKG_VERSION")));
        assert!(client.hello["instructions"].as_str().unwrap().contains("Pharo"));
        let tools = client.tools();
        assert_eq!(tools.iter().map(words).collect::<Vec<_>>(), contract(), "{way:?}");
        for tool in &tools {
            assert_eq!(tool["inputSchema"]["additionalProperties"], json!(false));
            assert_eq!(tool["outputSchema"]["type"], json!("object"));
            assert!(tool["outputSchema"]["properties"]["result"].is_object());
            assert!(!tool["description"].as_str().unwrap().is_empty());
        }
    }
}

#[test]
fn read_only_offers_what_reads_and_nothing_else() {
    let image = StandIn::start().unwrap();
    let reading: Vec<_> = contract()
        .iter()
        .filter(|line| line.split(' ').nth(1).unwrap().starts_with('R'))
        .map(|line| line.split(' ').next().unwrap().to_owned())
        .collect();
    assert_eq!(reading.len(), 18);
    let url = image.url();
    for way in WAYS {
        let mut client = Client::connect_with(way, &["--read-only"], &[("PHARO_SIS_URL", &url)]);
        let listed: Vec<_> =
            client.tools().iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect();
        assert_eq!(listed, reading);
        let outcome = client.call("eval", json!({"code": "3 + 4"}));
        assert_eq!(outcome.0["message"], json!("Unknown tool: eval"));
        let report = client.call("ping_image", json!({}));
        assert_eq!(report.result()["version"], json!(null), "nothing is evaluated");
        assert!(image.take_recorded().iter().all(|request| request.method == "GET"));
    }
}

//! Arguments: wrong ones are refused by name before the image is asked; good ones arrive as they
//! were given, whatever is in them.

use portcullis_testkit::pharo_stand_in::StandIn;
use serde_json::{Value, json};

use crate::sdk::{Client, Outcome, WAYS, Way};

/// Every reserved and unsafe character, blanks, line ends, a zero and text beyond ASCII.
const NASTY: &str = "!*'();:@&=+$,/?#[]%20%\"<>\\^`{|}~ -._\r\n\t\u{0}äöü 世界 🗝 e\u{301}";

/// One value of each JSON kind.
fn samples() -> Vec<Value> {
    vec![json!(null), json!(true), json!(-1), json!(1.5), json!("text"), json!([1]), json!({"a": 1})]
}

fn fits(schema: &Value, sample: &Value) -> bool {
    let types = &schema["type"];
    let kinds = types.as_array().cloned().unwrap_or_else(|| vec![types.clone()]);
    kinds.iter().any(|kind| match kind.as_str().unwrap() {
        "null" => sample.is_null(),
        "boolean" => sample.is_boolean(),
        "string" => sample.is_string(),
        "object" => sample.is_object(),
        "integer" | "array" => false,
        other => panic!("unknown type {other}"),
    })
}

/// A call that only lacks what the check is about.
fn good_arguments(tool: &Value) -> Value {
    let properties = &tool["inputSchema"]["properties"];
    let required = tool["inputSchema"]["required"].as_array().unwrap();
    required
        .iter()
        .map(|name| {
            let name = name.as_str().unwrap();
            let value = match properties[name]["type"].as_str().unwrap() {
                "string" => json!("x"),
                "integer" => json!(0),
                "object" => json!({}),
                other => panic!("unknown type {other}"),
            };
            (name.to_owned(), value)
        })
        .collect()
}

fn check_refused(outcome: &Outcome, argument: &str) {
    let structured = outcome.failure("invalid_argument");
    let what = structured["failure"]["what"].as_str().unwrap();
    assert!(what.starts_with(&format!("argument `{argument}` ")), "{what}");
}

/// Missing, of every wrong kind, and unknown.
fn check_wrong_arguments(way: Way) -> usize {
    let image = StandIn::start().unwrap();
    let mut client = Client::connect(way, &image);
    let mut scenarios = 0;
    for tool in client.tools() {
        let name = tool["name"].as_str().unwrap();
        let good = good_arguments(&tool);
        for argument in good.as_object().unwrap().keys() {
            let mut arguments = good.clone();
            arguments.as_object_mut().unwrap().remove(argument);
            check_refused(&client.call(name, arguments), argument);
            scenarios += 1;
        }
        for (argument, schema) in tool["inputSchema"]["properties"].as_object().unwrap() {
            for sample in samples().iter().filter(|sample| !fits(schema, sample)) {
                let mut arguments = good.clone();
                arguments[argument] = sample.clone();
                check_refused(&client.call(name, arguments), argument);
                scenarios += 1;
            }
        }
        let mut arguments = good;
        arguments["no_such_argument"] = json!(1);
        check_refused(&client.call(name, arguments), "no_such_argument");
        scenarios += 1;
    }
    assert_eq!(image.take_recorded(), [], "the image was asked");
    scenarios
}

/// Those that are missing, of the wrong kind, and unknown.
const WRONG: usize = 31 + 687 + 32;

#[test]
fn wrong_arguments_never_reach_the_image() {
    for way in WAYS {
        assert_eq!(check_wrong_arguments(way), WRONG, "{way:?}");
    }
}

/// The same text for every text argument of a tool, as the image received it.
fn check_texts(client: &mut Client, image: &StandIn, text: &str) -> usize {
    let mut scenarios = 0;
    for tool in client.tools() {
        let name = tool["name"].as_str().unwrap();
        let mut arguments = good_arguments(&tool);
        let mut texts = 0;
        for (argument, schema) in tool["inputSchema"]["properties"].as_object().unwrap() {
            if fits(schema, &json!("text")) {
                arguments[argument] = json!(text);
                texts += 1;
            }
        }
        if texts == 0 {
            continue;
        }
        client.call(name, arguments);
        let recorded = image.take_recorded();
        let [request] = recorded.as_slice() else { panic!("{name}: {recorded:?}") };
        let same = request.parameters.values().filter(|value| *value == text).count();
        assert_eq!(same, texts, "{name}: {request:?}");
        scenarios += 1;
    }
    scenarios
}

#[test]
fn texts_arrive_as_they_were_given() {
    let image = StandIn::start().unwrap();
    for way in WAYS {
        let mut client = Client::connect(way, &image);
        assert_eq!(check_texts(&mut client, &image, NASTY), 25);
        assert_eq!(check_texts(&mut client, &image, &"lang ü ".repeat(1_000)), 25);
        assert_eq!(check_texts(&mut client, &image, ""), 25);
    }
}

#[test]
fn every_reserved_character_is_percent_encoded_on_the_wire() {
    let image = StandIn::start().unwrap();
    let mut client = Client::connect(WAYS[0], &image);
    client.call("search_methods_like", json!({"method_name_query": NASTY}));
    let query = image.take_recorded()[0].query.clone();
    let (_, value) = query.split_once('=').unwrap();
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~%".contains(&byte);
    assert!(value.bytes().all(plain), "{value}");
    assert!(value.contains("%2B") && value.contains("%20") && value.contains("%00"), "{value}");
}

/// Far beyond what a query can carry: refused by name; in a body it passes.
#[test]
fn very_long_texts_are_sent_or_refused_by_name() {
    let image = StandIn::start().unwrap();
    let long = "x".repeat(500_000);
    for way in WAYS {
        let mut client = Client::connect(way, &image);
        let code = format!("'{long}' printString");
        let outcome = client.call("eval", json!({"code": code}));
        assert_eq!(outcome.0["isError"], json!(false), "{}", outcome.0);
        assert!(outcome.text(0).ends_with("bytes of JSON, only in the structured content"));
        assert_eq!(image.take_recorded()[0].parameters["code"], json!(code));
        let outcome = client.call("search_references", json!({"method_name_or_symbol": long}));
        check_refused(&outcome, "method_name_or_symbol");
        assert_eq!(image.take_recorded(), []);
    }
}

#[test]
fn an_unknown_tool_is_an_error_of_the_protocol() {
    let image = StandIn::start().unwrap();
    for way in WAYS {
        let mut client = Client::connect(way, &image);
        let outcome = client.call("no_such_tool", json!({}));
        assert_eq!(
            (&outcome.0["code"], &outcome.0["message"]),
            (&json!(-32602), &json!("Unknown tool: no_such_tool"))
        );
    }
}

//! Values: numbers of any size, pages, screenshots and test reports, as the client gets them.

use portcullis_testkit::pharo_stand_in::{Fault, StandIn};
use serde_json::{Value, json};

use crate::sdk::{Client, WAYS};

#[test]
fn a_hundred_digits_arrive_digit_for_digit_and_leave_so() {
    let image = StandIn::start().unwrap();
    let digits = "1234567890".repeat(10);
    let number: Value = serde_json::from_str(&digits).unwrap();
    for way in WAYS {
        let mut client = Client::connect(way, &image);
        for code in [digits.clone(), format!("-{digits}")] {
            let outcome = client.call("eval", json!({"code": code}));
            assert_eq!(outcome.result().to_string(), code, "{way:?}");
            assert!(outcome.text(0).contains(&code), "{way:?}");
        }
        let outcome = client.call("eval", json!({"code": "100 factorial"}));
        assert_eq!(outcome.result().to_string().len(), 158);
        client.call("apply_settings", json!({"settings": {"big": number}})).success();
        let settings = client.call("get_settings", json!({}));
        assert_eq!(settings.result()["big"].to_string(), digits, "{way:?}");
    }
}

#[test]
fn values_keep_their_kind() {
    let image = StandIn::start().unwrap();
    for way in WAYS {
        let mut client = Client::connect(way, &image);
        let mut check = |code: &str, expected: Value| {
            assert_eq!(client.call("eval", json!({"code": code})).result(), &expected);
        };
        check("nil", json!(null));
        check("true", json!(true));
        check("Float pi", serde_json::from_str("3.141592653589793").unwrap());
        check("'Grüße, 世界 🗝'", json!("Grüße, 世界 🗝"));
        check("#(1 $a 'two' #three nil)", json!([1, "a", "two", "three", null]));
    }
}

#[test]
fn lists_come_in_pages_that_follow_each_other() {
    let image = StandIn::start().unwrap();
    for way in WAYS {
        let mut client = Client::connect(way, &image);
        let whole = client.call("list_packages", json!({}));
        assert_eq!(whole.success().get("page"), None, "the image's own answer");
        let mut together = Vec::new();
        let mut offset = json!(0);
        while !offset.is_null() {
            let part = client.call("list_packages", json!({"offset": offset, "limit": 3}));
            together.extend(part.result().as_array().unwrap().clone());
            offset = part.success()["page"]["next_offset"].clone();
            assert_eq!(part.text(1).contains("call again with `offset`"), !offset.is_null());
        }
        assert_eq!(&Value::Array(together), whole.result());
    }
}

#[test]
fn sources_come_in_pages_of_characters() {
    let image = StandIn::start().unwrap();
    let mut client = Client::connect(WAYS[1], &image);
    let mut part = |offset: u64| {
        let class = json!({"class_name": "SisFixtureClassForTest", "offset": offset, "limit": 4});
        client.call("get_class_comment", class)
    };
    assert_eq!(part(0).result(), &json!("A cl"));
    assert_eq!(part(27).result(), &json!("世界."));
    assert_eq!(
        part(24).success()["page"],
        json!({"offset": 24, "count": 4, "total": 30, "unit": "characters", "next_offset": 28})
    );
    assert_eq!(part(1_000).result(), &json!(""));
}

#[test]
fn a_screenshot_comes_as_a_picture() {
    let image = StandIn::start().unwrap();
    for way in WAYS {
        let mut client = Client::connect(way, &image);
        let outcome = client.call("read_screen", json!({}));
        let path = outcome.result()["screenshot"].as_str().unwrap();
        assert!(path.ends_with(".png"));
        let picture = &outcome.0["content"][1];
        assert_eq!((&picture["type"], &picture["mimeType"]), (&json!("image"), &json!("image/png")));
        assert!(picture["data"].as_str().unwrap().starts_with("iVBORw0KGgo"), "PNG in base64");
        let without = client.call("read_screen", json!({"capture_screenshot": false}));
        assert_eq!(without.result().get("screenshot"), None);
        assert_eq!(without.0["content"].as_array().unwrap().len(), 1);
    }
}

#[test]
fn a_file_that_is_not_there_or_no_picture_stays_a_path() {
    let image = StandIn::start().unwrap();
    let mut client = Client::connect(WAYS[1], &image);
    for (fault, reason) in
        [(Fault::MissingScreenshot, "cannot be read"), (Fault::TextAsScreenshot, "not a PNG")]
    {
        image.misbehave("/read-screen", fault);
        let outcome = client.call("read_screen", json!({}));
        let path = outcome.result()["screenshot"].as_str().unwrap();
        assert!(outcome.text(1).contains(path) && outcome.text(1).contains(reason), "{}", outcome.0);
        assert_eq!(outcome.0["content"].as_array().unwrap().len(), 2);
    }
}

#[test]
fn test_reports_have_counts_and_failing_names_beside_the_text() {
    let image = StandIn::start().unwrap();
    for way in WAYS {
        let mut client = Client::connect(way, &image);
        let outcome = client.call("run_package_test", json!({"package_name": "StandIn-Tests"}));
        assert!(outcome.result().as_str().unwrap().starts_with("3 ran, 1 passed, 1 skipped, "));
        assert_eq!(
            outcome.success()["tests"],
            json!({"ran": 3, "passed": 1, "skipped": 1, "expected_failures": 0, "failures": 1,
                   "errors": 1, "unexpected_passes": 0, "all_passed": false,
                   "failing": ["StandInMixedTest>>#testFails"], "erring": ["StandInMixedTest>>#testErrs"]})
        );
        let good = client.call("run_class_test", json!({"class_name": "SisDummyTest"}));
        assert_eq!(good.success()["tests"]["all_passed"], json!(true));
    }
}

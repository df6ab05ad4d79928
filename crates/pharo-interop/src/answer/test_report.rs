//! Counts and failing tests out of the text of a test run.
//!
//! The text begins with counts (`3 ran, 2 passed, 0 skipped, 0 expected failures, 1 failure, …`);
//! then come headings such as `Failures:` with one test below another. It is made for people and
//! has changed between versions, so what is not understood is left out and the text stays beside.

use serde_json::{Map, Value, json};

const NAMES_MAX: usize = 1_000;

/// The report, or nothing when the text has no counts.
pub(crate) fn test_report(text: &str) -> Option<Value> {
    let counts = counts(text);
    counts.get("ran")?;
    let failing = names_below(text, "failures:");
    let erring = names_below(text, "errors:");
    let all_passed = all_passed(&counts);
    let mut report = counts;
    report.insert("all_passed".into(), all_passed.into());
    report.insert("failing".into(), failing.into());
    report.insert("erring".into(), erring.into());
    Some(report.into())
}

fn counts(text: &str) -> Map<String, Value> {
    if text.trim_start().to_ascii_lowercase().starts_with("no tests ran") {
        return Map::from_iter([("ran".to_owned(), json!(0)), ("passed".to_owned(), json!(0))]);
    }
    text.split([',', '\r', '\n']).map_while(count).collect()
}

/// `2 failures` is the count `failures` of 2. Anything else ends the counts.
fn count(part: &str) -> Option<(String, Value)> {
    let (number, words) = part.trim().split_once(' ')?;
    let number: u64 = number.parse().ok()?;
    let words = words.trim();
    let only_words = words.chars().all(|character| character.is_ascii_alphabetic() || character == ' ');
    (only_words && !words.is_empty()).then(|| (count_name(words), number.into()))
}

/// One name per count, whatever the version and whether singular or plural.
fn count_name(words: &str) -> String {
    match words {
        "run" | "ran" => "ran",
        "pass" | "passes" | "passed" => "passed",
        "skip" | "skips" | "skipped" => "skipped",
        "failure" | "failures" | "failed" => "failures",
        "error" | "errors" => "errors",
        "expected failure" | "expected failures" => "expected_failures",
        "passed unexpected" | "unexpected pass" | "unexpected passes" => "unexpected_passes",
        other => return other.to_ascii_lowercase().replace(' ', "_"),
    }
    .to_owned()
}

/// A short text that stops after `2 ran, 2 passed` says enough; one without `passed` does not.
fn all_passed(counts: &Map<String, Value>) -> Option<bool> {
    let count = |name: &str| counts.get(name).and_then(Value::as_u64);
    let bad = ["failures", "errors", "unexpected_passes"];
    if bad.into_iter().any(|name| count(name).is_some_and(|number| number > 0)) {
        return Some(false);
    }
    let fine = count("passed")? + count("expected_failures").unwrap_or(0);
    Some(fine + count("skipped").unwrap_or(0) >= count("ran")?)
}

fn names_below(text: &str, heading: &str) -> Vec<String> {
    text.split(['\r', '\n'])
        .map(str::trim)
        .skip_while(|line| !line.eq_ignore_ascii_case(heading))
        .skip(1)
        .take_while(|line| !line.ends_with(':') || line.contains(">>"))
        .filter(|line| !line.is_empty())
        .take(NAMES_MAX)
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_report_is_read() {
        let text = "5 ran, 2 passed, 0 skipped, 0 expected failures, 2 failures, 1 error, 0 passed unexpected\r\
                    Failures:\rFooTest>>#testA\rFooTest>>#testB\r\rErrors:\rFooTest>>#at:put:\r";
        let expected = json!({
            "ran": 5, "passed": 2, "skipped": 0, "expected_failures": 0, "failures": 2, "errors": 1,
            "unexpected_passes": 0, "all_passed": false,
            "failing": ["FooTest>>#testA", "FooTest>>#testB"], "erring": ["FooTest>>#at:put:"],
        });
        assert_eq!(test_report(text), Some(expected));
    }

    #[test]
    fn shorter_and_other_texts_give_what_they_have() {
        let all_passed = |text| test_report(text).map(|report| report["all_passed"].clone());
        assert_eq!(all_passed("2 ran, 2 passed, "), Some(json!(true)));
        assert_eq!(all_passed("3 run, 2 passes, 1 failures, 0 errors"), Some(json!(false)));
        assert_eq!(
            all_passed("3 ran, 2 passed, 0 skipped, 1 expected failure, 0 failures"),
            Some(json!(true))
        );
        assert_eq!(all_passed("3 ran"), Some(Value::Null));
        assert_eq!(all_passed("No tests ran\rFailures:\r\rErrors:\r"), Some(json!(true)));
        assert_eq!(all_passed("all is well"), None);
        assert_eq!(all_passed(""), None);
    }
}

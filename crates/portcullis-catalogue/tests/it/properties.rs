//! What holds for every definition, however odd.

use portcullis_catalogue::record::{Provenance, ServerFacts, ServerRecord};
use portcullis_catalogue::render::{View, html_report, server_markdown, server_terminal};
use portcullis_catalogue::{
    Class, Level, Place, Siblings, ToolDefinition, classify, inert, is_hidden, severity,
};
use portcullis_json::{Object, Value};
use proptest::prelude::*;

fn hints(read_only: bool) -> Value {
    Value::Object(Object::new().with("readOnlyHint", read_only))
}

/// Words that rules know, glued together with noise.
fn sentence() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        Just("delete".to_owned()),
        Just("get".to_owned()),
        Just("or".to_owned()),
        Just("payment".to_owned()),
        Just("run".to_owned()),
        Just("permanently".to_owned()),
        Just("删除".to_owned()),
        "\\PC{0,6}",
    ];
    prop::collection::vec(word, 0..12).prop_map(|words| words.join(" "))
}

proptest! {
    #[test]
    fn evidence_points_into_its_text_and_the_level_follows_the_class(name in "\\PC{1,30}", text in sentence()) {
        let tool = ToolDefinition::named(&name).described(&text);
        let found = classify(&tool, &Siblings::none());
        prop_assert_eq!(found.level(), Level::of(found.class));
        prop_assert!((0.5..=0.98).contains(&found.confidence));
        for evidence in &found.evidence {
            let whole = match evidence.place {
                Place::Name => &name,
                Place::Description => &text,
                _ => continue,
            };
            prop_assert!(whole.get(evidence.start..evidence.end).is_some_and(|part| part.starts_with(&evidence.quote)));
        }
    }

    #[test]
    fn a_hint_never_lowers_a_class(name in sentence(), text in sentence(), read_only: bool) {
        let plain = ToolDefinition::named(&name.replace(' ', "_")).described(&text);
        let without = classify(&plain, &Siblings::none()).class;
        let with = classify(&plain.annotated(hints(read_only)), &Siblings::none()).class;
        prop_assert!(severity(with) >= severity(without));
        prop_assert!(read_only || with != Class::Read);
    }

    #[test]
    fn nothing_hidden_is_ever_shown(name in "\\PC{0,10}[\u{0}-\u{20}\u{200b}\u{202e}\u{e0041}]{1,3}\\PC{0,5}", text in any::<String>()) {
        let tool = ToolDefinition::named(&name).described(&text);
        let facts = ServerFacts { name: text.clone(), ..ServerFacts::default() };
        let server = ServerRecord::of(facts, vec![tool], Provenance::Live);
        let shown = [
            server_terminal(&server, View::PLAIN),
            server_markdown(&server),
            html_report(std::slice::from_ref(&server), &text),
            inert(&text),
        ];
        for text in shown {
            prop_assert_eq!(text.find(is_hidden), None);
        }
    }
}

//! Every policy that is shown loads in the engine and does what the sentence beside it says.

use portcullis_catalogue::attacks::ATTACKS;
use portcullis_catalogue::recommend::{
    OTHERS_ALLOWED, Profile, Recommendation, Treatment, tool_policy, treatment,
};
use portcullis_catalogue::record::{Provenance, ServerFacts, ServerRecord};
use portcullis_catalogue::{Class, ToolDefinition};
use portcullis_json::Value;
use portcullis_policy::{
    Call, Caller, Counters, Dialect, Effect, JsonSchema, Policy, Question, Subject, Time, decide,
};

use crate::given::{json, tool};

/// Plays calls against one policy with one set of counters.
struct Player {
    policy: Policy,
    counters: Counters,
    now: Time,
}

impl Player {
    fn new(policy: &Value) -> Player {
        let policy = Policy::from_value(policy).unwrap_or_else(|problems| panic!("{problems:?}"));
        Player { policy, counters: Counters::new(), now: Time::from_microseconds(1_800_000_000_000_000) }
    }

    fn ask(&self, subject: Subject<'_>) -> portcullis_policy::Verdict {
        let caller = Caller {
            policy: "shown",
            grant_id: "g",
            grant_label: "g",
            grant_tags: &[],
            server: "s",
            session: None,
            client: None,
            now: self.now,
        };
        decide(Some(&self.policy), &Question { caller, subject }, &self.counters)
    }

    fn call(
        &mut self,
        tool: &ToolDefinition,
        class: Class,
        arguments: &Value,
        approved: bool,
    ) -> (Effect, String) {
        let schema = tool
            .input_schema
            .as_ref()
            .map(|schema| JsonSchema::compile(schema, Dialect::AsDeclared).unwrap());
        let call =
            Call { tool: &tool.name, class: Some(class), schema: schema.as_ref(), arguments, approved };
        let verdict = self.ask(Subject::Call(call));
        if verdict.effect == Effect::Allow {
            let _spent = self.counters.reserve(&verdict.obligations.charges, self.now).unwrap();
        }
        (verdict.effect, verdict.rule.to_string())
    }

    fn lists(&self, tool: &str, class: Class) -> bool {
        self.ask(Subject::List { tool, class: Some(class) }).effect == Effect::Allow
    }
}

/// Replays the sentence of one treatment.
fn replay(player: &mut Player, tool: &ToolDefinition, class: Class, treatment: Treatment) {
    let arguments = json("{}");
    let name = &tool.name;
    match treatment {
        Treatment::Allow => {
            for _ in 0..300 {
                assert_eq!(player.call(tool, class, &arguments, false).0, Effect::Allow, "{name}");
            }
        }
        Treatment::PerMinute(max) => {
            for _ in 0..max {
                assert_eq!(player.call(tool, class, &arguments, false).0, Effect::Allow, "{name}");
            }
            let (effect, rule) = player.call(tool, class, &arguments, false);
            assert_eq!(effect, Effect::Deny, "{name}");
            assert!(rule.contains("/limits/0"), "{rule}");
        }
        Treatment::Approve => {
            assert_eq!(player.call(tool, class, &arguments, false).0, Effect::Approve, "{name}");
            assert_eq!(player.call(tool, class, &arguments, true).0, Effect::Allow, "{name}");
        }
        Treatment::Hide => {
            assert_eq!(player.call(tool, class, &arguments, true).0, Effect::Deny, "{name}");
        }
    }
    assert_eq!(player.lists(name, class), treatment != Treatment::Hide, "{name}");
}

fn names() -> [&'static str; 4] {
    ["door", "door/open", "dör~1", "a b\"c"]
}

#[test]
fn tool_policies_do_what_their_sentences_say() {
    for class in Class::ALL {
        for name in names() {
            let definition = ToolDefinition::named(name);
            let shown: Recommendation = tool_policy(&definition, class);
            let mut player = Player::new(&shown.policy);
            replay(&mut player, &definition, class, treatment(class, Profile::Recommended));
            let other = ToolDefinition::named("another");
            let others = player.call(&other, Class::Read, &json("{}"), false).0;
            let expected = if shown.others == OTHERS_ALLOWED { Effect::Allow } else { Effect::Deny };
            assert_eq!(others, expected, "{class} {name}");
        }
    }
}

#[test]
fn server_policies_do_what_the_table_says() {
    let tools = ["get_door", "create_door", "run_door", "delete_door", "pay_door"];
    let tools: Vec<ToolDefinition> = tools.iter().map(|name| ToolDefinition::named(name)).collect();
    let facts = ServerFacts { name: "doors".into(), ..ServerFacts::default() };
    let server = ServerRecord::of(facts, tools, Provenance::Live);
    for profile in Profile::ALL {
        let shown = server.policy(profile);
        for record in &server.tools {
            let mut player = Player::new(&shown.policy);
            replay(&mut player, &record.definition, record.class(), treatment(record.class(), profile));
            let other = ToolDefinition::named("another");
            assert_eq!(player.call(&other, Class::Read, &json("{}"), false).0, Effect::Deny);
        }
    }
    assert_eq!(server.tools.iter().map(|tool| tool.class()).collect::<Vec<_>>(), Class::ALL);
}

#[test]
fn a_star_in_a_name_takes_no_other_tool_with_it() {
    let star = ToolDefinition::named("*");
    let shown = tool_policy(&star, Class::Destructive);
    let mut player = Player::new(&shown.policy);
    assert_eq!(player.call(&star, Class::Destructive, &json("{}"), false).0, Effect::Deny);
}

#[test]
fn bounded_arguments_are_validated() {
    let definition = tool(
        r#"{"name":"set_door","inputSchema":{"type":"object","properties":{"state":{"enum":["open","shut"]}}}}"#,
    );
    let shown = tool_policy(&definition, Class::Write);
    let mut player = Player::new(&shown.policy);
    assert_eq!(player.call(&definition, Class::Write, &json(r#"{"state":"open"}"#), false).0, Effect::Allow);
    assert_eq!(player.call(&definition, Class::Write, &json(r#"{"state":"ajar"}"#), false).0, Effect::Deny);
}

#[test]
fn the_policies_of_questions_load_and_act() {
    let tools = ["get_door", "create_door", "run_door", "delete_door", "pay_door"];
    let tools: Vec<ToolDefinition> = tools.iter().map(|name| ToolDefinition::named(name)).collect();
    let facts = ServerFacts { name: "doors".into(), ..ServerFacts::default() };
    let server = ServerRecord::of(facts, tools, Provenance::Live);
    for record in &server.tools {
        let questions = server.questions(record);
        assert_eq!(questions.len(), 6);
        let shown: Vec<Value> = questions
            .iter()
            .flat_map(|question| question.answer.split('`').filter(|part| part.starts_with("{\"version\"")))
            .map(json)
            .collect();
        assert_eq!(shown.len(), 2, "{}", record.name());
        let mut limited = Player::new(&shown[0]);
        let max = match treatment(record.class(), Profile::Recommended) {
            Treatment::PerMinute(max) => max,
            _ => 10,
        };
        for _ in 0..max {
            assert_eq!(limited.call(&record.definition, record.class(), &json("{}"), false).0, Effect::Allow);
        }
        let (effect, rule) = limited.call(&record.definition, record.class(), &json("{}"), false);
        assert_eq!((effect, rule.ends_with("/rate_limit")), (Effect::Deny, true));
        let mut blocked = Player::new(&shown[1]);
        assert_eq!(blocked.call(&record.definition, record.class(), &json("{}"), false).0, Effect::Deny);
        assert!(blocked.lists(record.name(), record.class()));
    }
}

#[test]
fn the_policies_of_attack_patterns_load() {
    for attack in ATTACKS {
        let policy = Policy::parse(attack.policy.as_bytes());
        assert!(policy.is_ok(), "{}: {:?}", attack.slug, policy.err());
    }
}

//! Every policy that is shown loads in the engine and does what the sentence beside it says.

use portcullis_catalogue::attacks::ATTACKS;
use portcullis_catalogue::recommend::{
    OTHERS_ALLOWED, Profile, Recommendation, Treatment, tool_policy, treatment,
};
use portcullis_catalogue::record::{Provenance, ServerFacts, ServerRecord};
use portcullis_catalogue::render::{
    Paint, View, html_report, server_markdown, server_terminal, tool_markdown, tool_terminal,
};
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

/// Calls that show what the sentence beside an attack's policy says: slug, tool, arguments, what becomes of it.
const LIMITED: &[(&str, &str, &str, Effect)] = &[
    ("tool-poisoning", "lookup", "{}", Effect::Allow),
    ("tool-poisoning", "other", "{}", Effect::Deny),
    ("mcp-rug-pull", "lookup", r#"{"word":"a"}"#, Effect::Allow),
    ("mcp-rug-pull", "lookup", r#"{"word":"a","more":1}"#, Effect::Deny),
    (
        "prompt-injection-via-tool-results",
        "fetch_page",
        r#"{"url":"https://docs.example.com/a"}"#,
        Effect::Allow,
    ),
    ("prompt-injection-via-tool-results", "fetch_page", r#"{"url":"https://example.org/a"}"#, Effect::Deny),
    ("indirect-prompt-injection", "list_issues", "{}", Effect::Allow),
    ("indirect-prompt-injection", "create_issue", "{}", Effect::Approve),
    ("data-exfiltration-via-tool-chaining", "send_email", r#"{"to":"ada@example.com"}"#, Effect::Allow),
    ("data-exfiltration-via-tool-chaining", "send_email", r#"{"to":"eve@example.org"}"#, Effect::Deny),
    ("confused-deputy", "update_record", r#"{"project":"mine"}"#, Effect::Allow),
    ("confused-deputy", "update_record", r#"{"project":"theirs"}"#, Effect::Deny),
    ("token-mis-redemption", "lookup", "{}", Effect::Allow),
    ("credential-leak-via-errors", "lookup", "{}", Effect::Allow),
    ("mcp-typosquatting", "lookup", "{}", Effect::Deny),
    ("compromised-mcp-package", "send_email", "{}", Effect::Approve),
    ("runaway-tool-loops", "lookup", "{}", Effect::Allow),
    ("destructive-action-autonomy", "delete_door", "{}", Effect::Deny),
    ("destructive-action-autonomy", "drop_door", "{}", Effect::Deny),
    ("destructive-action-autonomy", "get_door", "{}", Effect::Allow),
];

#[test]
fn the_policies_of_attack_patterns_limit_what_they_say() {
    for attack in ATTACKS {
        let policy = json(attack.policy);
        let plays: Vec<_> = LIMITED.iter().filter(|play| play.0 == attack.slug).collect();
        assert!(!plays.is_empty(), "{} is not replayed", attack.slug);
        for (slug, name, arguments, expected) in plays {
            let text = format!(
                r#"{{"name":"{name}","inputSchema":{{"type":"object","properties":{{"word":{{"type":"string"}},"url":{{}},"to":{{}},"project":{{}}}}}}}}"#
            );
            let found = Player::new(&policy).call(&tool(&text), Class::Read, &json(arguments), false);
            assert_eq!(found.0, *expected, "{slug}: {name} {arguments} ({})", found.1);
        }
    }
}

#[test]
fn the_limits_and_the_hiding_of_attack_patterns_hold() {
    let of = |slug: &str| json(ATTACKS.iter().find(|attack| attack.slug == slug).unwrap().policy);
    let mut looping = Player::new(&of("runaway-tool-loops"));
    let door = ToolDefinition::named("get_door");
    for _ in 0..30 {
        assert_eq!(looping.call(&door, Class::Read, &json("{}"), false).0, Effect::Allow);
    }
    assert_eq!(looping.call(&door, Class::Read, &json("{}"), false).0, Effect::Deny);
    let hiding = Player::new(&of("destructive-action-autonomy"));
    assert!(!hiding.lists("delete_door", Class::Destructive) && hiding.lists("get_door", Class::Read));
    let redacting = Player::new(&of("credential-leak-via-errors"));
    let call = Call { tool: "a", class: None, schema: None, arguments: &json("{}"), approved: false };
    let obligations = redacting.ask(Subject::Call(call)).obligations;
    assert!(!obligations.redact.is_empty(), "results and errors are filtered");
}

/// Whatever stands in a code block or in backticks of a page and looks like a policy.
fn policies_of_page(page: &str) -> Vec<Value> {
    let looks_like_one = |text: &&str| text.trim_start().starts_with('{') && text.contains("\"version\"");
    page.split('`').filter(looks_like_one).map(|text| json(text.trim_start_matches("json"))).collect()
}

#[test]
fn every_policy_on_a_page_is_one_that_was_replayed() {
    let names = ["get_door", "create_door", "run_door", "delete_door", "pay_door", "set_\u{202e}<b>&\"door"];
    let tools: Vec<ToolDefinition> = names.iter().map(|name| ToolDefinition::named(name)).collect();
    let facts = ServerFacts { name: "doors".into(), ..ServerFacts::default() };
    let server = ServerRecord::of(facts, tools, Provenance::Live);
    let mut known: Vec<Value> = Profile::ALL.iter().map(|profile| server.policy(*profile).policy).collect();
    known.extend(server.tools.iter().map(|tool| tool.recommendation.policy.clone()));
    let questions = server.tools.iter().flat_map(|tool| server.questions(tool));
    known.extend(questions.flat_map(|question| policies_of_page(&question.answer)));
    let html = html_report(std::slice::from_ref(&server), "now");
    let mut pages = vec![server_markdown(&server), server_terminal(&server, View::PLAIN)];
    pages.extend(server.tools.iter().map(|tool| tool_markdown(&server, tool)));
    pages.extend(server.tools.iter().map(|tool| tool_terminal(&server, tool, Paint::Plain)));
    let mut shown: Vec<Value> = pages.iter().flat_map(|page| policies_of_page(page)).collect();
    let plain = |text: &str| {
        text.replace("&lt;", "<")
            .replace("&gt;", ">")
            .replace("&quot;", "\"")
            .replace("&#39;", "'")
            .replace("&amp;", "&")
    };
    let blocks = html.split("<pre>").skip(1).filter_map(|rest| rest.split_once("</pre>"));
    shown.extend(blocks.map(|(text, _)| json(&plain(text))));
    assert!(shown.len() >= 3 + 2 * names.len(), "{}", shown.len());
    for policy in &shown {
        assert!(known.contains(policy), "{policy}");
        Player::new(policy);
    }
}

#[test]
fn every_policy_in_the_documents_loads() {
    let root = std::path::PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let docs = std::fs::read_dir(root.join("docs")).unwrap().map(|entry| entry.unwrap().path());
    let pages =
        docs.filter(|path| path.extension().is_some_and(|end| end == "md")).chain([root.join("README.md")]);
    let mut count = 0;
    for page in pages {
        let text = std::fs::read_to_string(&page).unwrap();
        for block in text.split("```json\n").skip(1).filter_map(|rest| rest.split_once("\n```")) {
            let is_policy = block.0.contains("\"version\"") && block.0.contains("\"default\"");
            if is_policy && !block.0.contains('…') {
                let policy = Policy::parse(block.0.as_bytes());
                assert!(policy.is_ok(), "{}: {}\n{:?}", page.display(), block.0, policy.err());
                count += 1;
            }
        }
    }
    assert!(count > ATTACKS.len(), "{count}");
}

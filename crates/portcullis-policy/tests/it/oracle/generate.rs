//! Random policies, always valid: counters of one name agree on scope, alignment and window, also with
//! the names that `rate_limit` derives.

use std::rc::Rc;

use super::document::{
    Action, Align, Answer, Class, Default, Detector, Doc, Entry, Limit, Listing, Mode, Period, RateLimit,
    RequestKind, Scope, Section, Validate, Window,
};
use super::generate_conditions::{input_schema, rules};
use super::generate_events::events;
use super::operators::Kind;
use super::paths::Path;
use super::pools::{self, Numbers};
use super::random::Random;
use super::scenario::{Scenario, Tool};

/// What all limits on one counter share.
#[derive(Clone, Debug)]
struct Counter {
    name: &'static str,
    scope: Scope,
    align: Align,
    window: Window,
}

/// What holds throughout one document.
struct Plan {
    numbers: Numbers,
    counters: Vec<Counter>,
    /// Given when derived counters are named by hand too: all short forms then look like this.
    rates: Option<(Scope, Window)>,
}

pub(crate) fn scenario(seed: u64) -> Scenario {
    let random = &mut Random::new(seed);
    let plan = plan(random);
    let tools = tools(random, &plan);
    let doc = random.percent(98).then(|| document(random, &plan, &tools));
    let events = events(random, doc.as_ref(), &tools, plan.numbers);
    Scenario { doc, spelling: random.percent(70).then(|| random.next()), tools, events }
}

fn plan(random: &mut Random) -> Plan {
    let numbers = if random.percent(45) { Numbers::Tame } else { Numbers::Wild };
    let mut counters: Vec<Counter> =
        ["calls", "spend", "shared", "other", "more"].map(|name| counter(random, name)).to_vec();
    let rates = random.percent(30).then(|| (random.pick(Scope::ALL), sliding_window(random)));
    if let Some((scope, window)) = &rates {
        for name in ["eval_rate", "all_tools_rate", "x_rate"] {
            counters.push(Counter { name, scope: *scope, align: Align::Sliding, window: window.clone() });
        }
    }
    Plan { numbers, counters, rates }
}

fn counter(random: &mut Random, name: &'static str) -> Counter {
    let align = random.pick(Align::ALL);
    Counter {
        name,
        scope: random.pick(&[Scope::Grant, Scope::Grant, Scope::Session, Scope::Server, Scope::Global]),
        align,
        window: match align {
            Align::Calendar => Window::Named(random.pick(Period::ALL)),
            Align::Sliding => sliding_window(random),
        },
    }
}

fn sliding_window(random: &mut Random) -> Window {
    match random.below(4) {
        0 => Window::Seconds(random.pick(&[1, 5, 60, 90, 3_600, 86_400])),
        1 => {
            let (count, unit) = random.pick(&[(15, 'm'), (36, 'h'), (2, 'd'), (1, 'w'), (30, 's')]);
            Window::Counted(count, unit)
        }
        _ => Window::Named(random.pick(Period::ALL)),
    }
}

/// The same length in another spelling.
fn respelled(random: &mut Random, window: &Window) -> Window {
    let seconds = window.seconds();
    let fits = |unit: char| seconds.is_multiple_of(super::document::unit_seconds(unit));
    match random.below(3) {
        0 => window.clone(),
        1 => Window::Seconds(seconds),
        _ => {
            let units: Vec<char> = ['s', 'm', 'h', 'd', 'w'].into_iter().filter(|u| fits(*u)).collect();
            let unit = random.pick(&units);
            Window::Counted(seconds / super::document::unit_seconds(unit), unit)
        }
    }
}

fn tools(random: &mut Random, plan: &Plan) -> Vec<Tool> {
    let mut names = pools::TOOLS.to_vec();
    if plan.rates.is_some() {
        names.push("all_tools");
    }
    random.shuffle(&mut names);
    names.truncate(2 + random.below(4));
    // Only tame arguments are ever held against a schema.
    let schemas = if plan.numbers == Numbers::Tame { 80 } else { 10 };
    let tool = |name: &str| Tool {
        name: name.to_owned(),
        class: random.percent(65).then(|| random.pick(Class::ALL)),
        input_schema: random.percent(schemas).then(|| Rc::new(input_schema(random))),
    };
    names.into_iter().map(tool).collect()
}

fn document(random: &mut Random, plan: &Plan, tools: &[Tool]) -> Doc {
    let default = random.pick(&[Default::Allow, Default::Allow, Default::Deny]);
    Doc {
        description: random.percent(20).then(|| "for \"people\"".to_owned()),
        mode: drawn(random, 40, &[Mode::Enforce, Mode::Shadow]),
        timezone: drawn(random, 70, &pools::ZONES).map(str::to_owned),
        list: drawn(random, 40, Listing::ALL),
        hide: random.percent(20).then(|| {
            let globs = strings(random, &["e*l", "x", "ev*", "?val", "*/*"], 2);
            if random.percent(5) { vec!["*".to_owned()] } else { globs }
        }),
        all_tools: random.percent(45).then(|| Entry {
            action: None,
            reason: None,
            set: None,
            ..entry(random, plan)
        }),
        classes: random.percent(45).then(|| {
            let mut classes = Class::ALL.to_vec();
            random.shuffle(&mut classes);
            classes.truncate(random.below(5));
            classes.into_iter().map(|class| (class, entry(random, plan))).collect()
        }),
        tools: random.percent(92).then(|| tool_entries(random, plan, tools)),
        resources: random.percent(50).then(|| section(random, &pools::URI_GLOBS)),
        prompts: random.percent(40).then(|| section(random, &pools::PROMPT_GLOBS)),
        server_requests: random.percent(50).then(|| {
            let mut kinds = RequestKind::ALL.to_vec();
            kinds.truncate(random.below(4));
            kinds.into_iter().map(|kind| (kind, random.pick(Answer::ALL))).collect()
        }),
        ..Doc::empty(default)
    }
}

fn drawn<T: Copy>(random: &mut Random, percent: usize, pool: &[T]) -> Option<T> {
    random.percent(percent).then(|| random.pick(pool))
}

fn strings(random: &mut Random, pool: &[&str], most: usize) -> Vec<String> {
    let count = random.below(most + 1);
    (0..count).map(|_| random.pick(pool).to_owned()).collect()
}

fn section(random: &mut Random, globs: &[&str]) -> Section {
    Section {
        default: drawn(random, 50, Default::ALL),
        allow: random.percent(70).then(|| strings(random, globs, 2)),
        deny: random.percent(50).then(|| strings(random, globs, 2)),
    }
}

/// Keys are names of tools, mostly of those that there are, and globs.
fn tool_entries(random: &mut Random, plan: &Plan, tools: &[Tool]) -> Vec<(String, Entry)> {
    let mut keys: Vec<String> = Vec::new();
    for _ in 0..1 + random.below(6) {
        let key = match random.below(5) {
            0 | 1 => random.pick(tools).name,
            2 => random.pick(&pools::TOOLS).to_owned(),
            _ => random.pick(&pools::TOOL_GLOBS).to_owned(),
        };
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    keys.into_iter().map(|key| (key, entry(random, plan))).collect()
}

/// An entry with a few of the fields; one in twenty has them all.
fn entry(random: &mut Random, plan: &Plan) -> Entry {
    let chance = if random.percent(5) { 100 } else { 22 };
    let numbers = plan.numbers;
    let schemas = numbers == Numbers::Tame;
    Entry {
        action: action(random),
        reason: random.percent(40).then(|| "People do this.".to_owned()),
        require: random.percent(chance).then(|| rules(random, Kind::Require, numbers)),
        deny_if: random.percent(chance).then(|| rules(random, Kind::DenyIf, numbers)),
        approve_if: random.percent(chance + 20).then(|| rules(random, Kind::ApproveIf, numbers)),
        limits: random.percent(chance + 15).then(|| limits(random, plan)),
        rate_limit: random.percent(chance).then(|| rate_limit(random, plan)),
        validate: (schemas && random.percent(chance)).then(|| random.pick(Validate::ALL)),
        set: random.percent(chance).then(|| set(random, numbers)),
        redact: random.percent(chance).then(|| {
            let mut detectors = Detector::ALL.to_vec();
            random.shuffle(&mut detectors);
            detectors.truncate(random.below(5));
            detectors
        }),
    }
}

fn action(random: &mut Random) -> Option<Action> {
    match random.below(100) {
        0..=5 => Some(Action::Deny),
        6..=13 => Some(Action::Approve),
        14..=17 => Some(Action::RequireApproval),
        18..=30 => Some(Action::Allow),
        _ => None,
    }
}

fn limits(random: &mut Random, plan: &Plan) -> Vec<Limit> {
    let count = random.pick(&[0, 1, 1, 1, 2, 2, 3]);
    (0..count).map(|_| limit(random, plan)).collect()
}

fn limit(random: &mut Random, plan: &Plan) -> Limit {
    let counter = random.pick(&plan.counters);
    let from = ["args.amount", "args.n", "args.items[*].qty", "args.opts.depth", "args.list[0]"];
    let increment_from = drawn(random, 10, &from).map(Path::read);
    let fixed = increment_from.is_none() && random.percent(25);
    Limit {
        counter: counter.name.to_owned(),
        window: match counter.align {
            Align::Calendar => counter.window.clone(),
            Align::Sliding => respelled(random, &counter.window),
        },
        max: max(random),
        scope: (counter.scope != Scope::Grant || random.percent(50)).then_some(counter.scope),
        increment: fixed.then(|| random.pick(&["1", "2", "0.5", "1e0", "3.0", "0.1"]).to_owned()),
        increment_from,
        align: (counter.align != Align::Sliding || random.percent(30)).then_some(counter.align),
        on_deny: random.percent(40).then(|| "Enough for now.".to_owned()),
    }
}

fn max(random: &mut Random) -> String {
    let tight = ["0", "0.3", "1", "1.3"];
    let roomy = ["2", "2.0", "3", "2.5", "4", "5e0", "3.0", "10", "1e19", "20", "7"];
    let pool = if random.percent(15) { &tight[..] } else { &roomy[..] };
    random.pick(pool).to_owned()
}

fn rate_limit(random: &mut Random, plan: &Plan) -> RateLimit {
    let (scope, window) = match &plan.rates {
        Some((scope, window)) => (*scope, respelled(random, window)),
        None => (random.pick(Scope::ALL), sliding_window(random)),
    };
    let text_would_do = plan.rates.is_none() || scope == Scope::Grant;
    if text_would_do && random.percent(50) {
        return RateLimit::Text { max: max(random), window };
    }
    RateLimit::Object {
        max: max(random),
        window,
        scope: (scope != Scope::Grant || random.percent(40)).then_some(scope),
        on_deny: random.percent(40).then(|| "Not so fast.".to_owned()),
    }
}

fn set(random: &mut Random, numbers: Numbers) -> Vec<(Path, super::value::Val)> {
    let mut paths = vec![
        "args.amount",
        "args[\"odd key\"]",
        "args.opts.depth",
        "args.opts.deep.er",
        "args.items[0].qty",
        "args.list[0]",
        "args.new.thing",
        "args.n",
        "args[\"n\"]",
        "args.code",
    ];
    random.shuffle(&mut paths);
    paths.truncate(random.below(4));
    let forced = |path: &str| {
        let flavour = random.pick(&pools::FLAVOURS);
        (Path::read(path), pools::value(random, flavour, numbers))
    };
    paths.into_iter().map(forced).collect()
}

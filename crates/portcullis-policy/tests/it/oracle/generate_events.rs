//! Random events against a policy: mostly calls, often the same again, with a clock that mostly goes
//! forward and likes the edges of windows.

use super::document::{Doc, Entry, RateLimit, RequestKind};
use super::pools::{self, Numbers};
use super::print::varied;
use super::random::Random;
use super::scenario::{CallCase, Event, Tool, What, Who};
use super::value::Val;
use super::windows::{Zone, read_instant};

const SECOND_US: i64 = 1_000_000;

pub(crate) fn events(random: &mut Random, doc: Option<&Doc>, tools: &[Tool], numbers: Numbers) -> Vec<Event> {
    let mut at = first_instant(random, doc);
    let windows = window_lengths(doc);
    let mut who = somebody(random);
    let mut last_call = call(random, tools, numbers);
    let count = 1 + random.below(12);
    let mut events = Vec::new();
    for _ in 0..count {
        if random.percent(15) {
            who = somebody(random);
        }
        if random.percent(35) {
            last_call = call(random, tools, numbers);
        }
        last_call.approved = random.percent(25);
        events.push(Event { who: who.clone(), at, what: what(random, &last_call) });
        at += step(random, &windows);
    }
    events
}

fn what(random: &mut Random, call: &CallCase) -> What {
    match random.below(100) {
        0..=5 => What::List,
        6..=11 => What::Read(random.pick(&pools::URIS).to_owned()),
        12..=15 => What::Prompt(random.pick(&pools::PROMPTS).to_owned()),
        16..=20 => What::ServerRequest(random.pick(RequestKind::ALL)),
        _ => What::Call(call.clone()),
    }
}

fn call(random: &mut Random, tools: &[Tool], numbers: Numbers) -> CallCase {
    let arguments = match random.below(20) {
        0 => None,
        1 => Some(Val::Obj(Vec::new())),
        _ => Some(pools::arguments(random, numbers)),
    };
    CallCase {
        tool: random.pick(tools).clone(),
        arguments_text: arguments.as_ref().map(|value| varied(value, random.next())),
        arguments,
        approved: false,
    }
}

fn somebody(random: &mut Random) -> Who {
    let label = random.pick(&pools::LABELS);
    let tags: &[&str] = if label == "ci" { &pools::TAGS } else { &[] };
    Who {
        grant_id: label.to_owned(),
        grant_label: label.to_owned(),
        grant_tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
        server: random.pick(&["pharo", "pharo", "pharo", "files"]).to_owned(),
        session: random.pick(&[None, Some("s1"), Some("s1"), Some("s2")]).map(str::to_owned),
        client: random.pick(&[None, Some("test"), Some("Abc")]).map(str::to_owned),
    }
}

/// Near a change of the offset, or near the edge of a day, a week, a month, a year.
fn first_instant(random: &mut Random, doc: Option<&Doc>) -> i64 {
    let edges = [
        "2026-11-15T10:00:00Z",
        "2026-11-16T00:00:00Z",
        "2026-02-28T23:59:59.999999Z",
        "2026-12-31T22:59:59Z",
        "2026-07-01T00:00:00Z",
    ];
    let mut instant = read_instant(random.pick(&edges));
    if random.percent(50)
        && let Some(change) = doc.and_then(|doc| Zone::named(doc.zone()).change_after(instant))
    {
        instant = change;
    }
    let shifts = [
        0,
        -1,
        1,
        -SECOND_US,
        SECOND_US / 2,
        -30 * SECOND_US,
        -1_800 * SECOND_US,
        -3_600 * SECOND_US,
        3_599 * SECOND_US,
        -86_400 * SECOND_US,
        -7_200 * SECOND_US - 1,
    ];
    instant + random.pick(&shifts)
}

fn step(random: &mut Random, windows: &[i64]) -> i64 {
    if !windows.is_empty() && random.percent(30) {
        let length = random.pick(windows) * SECOND_US;
        return random.pick(&[length, length - 1, length + 1, length / 2, length / 3]);
    }
    if random.percent(35) {
        return 0;
    }
    let steps = [
        1,
        SECOND_US / 2,
        SECOND_US - 1,
        SECOND_US,
        20 * SECOND_US,
        60 * SECOND_US,
        900 * SECOND_US,
        1_800 * SECOND_US,
        3_600 * SECOND_US,
        6 * 3_600 * SECOND_US,
        86_400 * SECOND_US,
        -1,
        -SECOND_US,
        -40 * SECOND_US,
        -3_600 * SECOND_US,
    ];
    random.pick(&steps)
}

/// The lengths of all windows that the document speaks of, in seconds.
fn window_lengths(doc: Option<&Doc>) -> Vec<i64> {
    let Some(doc) = doc else {
        return Vec::new();
    };
    let of_tools = doc.tools.iter().flatten().map(|(_, entry)| entry);
    let of_classes = doc.classes.iter().flatten().map(|(_, entry)| entry);
    let entries = of_tools.chain(of_classes).chain(&doc.all_tools);
    entries.flat_map(lengths_in).collect()
}

fn lengths_in(entry: &Entry) -> Vec<i64> {
    let limits = entry.limits.iter().flatten().map(|limit| &limit.window);
    let rate = entry.rate_limit.iter().map(|rate| match rate {
        RateLimit::Object { window, .. } | RateLimit::Text { window, .. } => window,
    });
    limits.chain(rate).map(|window| window.seconds() as i64).collect()
}

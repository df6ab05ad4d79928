//! How a call is decided: the steps of the page's fifth section, one after the other, nothing
//! skipped and nothing clever. State is the ledger alone.

use super::conditions::{Cause, Given, Judged, judge_rule};
use super::counters::{CounterKey, Demand, Ledger, Owner, charges};
use super::coverage::Coverage;
use super::document::Default as PolicyDefault;
use super::document::{Action, Align, Detector, Doc, Entry, Limit, RateLimit, Rule, Scope, Validate};
use super::forcing::forced;
use super::glob::{is_glob, literal_characters, matches};
use super::number::{Decimal, is_refused};
use super::operators::Kind;
use super::paths::{Path, Reached};
use super::scenario::{CallCase, Tool, Who};
use super::schemas;
use super::value::Val;
use super::windows::Zone;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    Allow,
    Deny,
    Approve,
}

/// What the rules say, before shadow mode makes an allow of it.
#[derive(Clone, Debug)]
pub(crate) struct Verdict {
    pub(crate) effect: Effect,
    pub(crate) rule: String,
    /// What the policy's author wrote for this: `on_deny`, `ask` or `reason`.
    pub(crate) words: Option<String>,
    /// What may be named as wrong with the value; the first is the strict reading.
    pub(crate) causes: Vec<Cause>,
    pub(crate) retryable: bool,
    pub(crate) retry_after_s: Option<u64>,
}

impl Verdict {
    pub(crate) fn plain(effect: Effect, rule: &str) -> Self {
        Self {
            effect,
            rule: rule.to_owned(),
            words: None,
            causes: vec![Cause::Nothing],
            retryable: false,
            retry_after_s: None,
        }
    }

    fn with_words(self, words: Option<&String>) -> Self {
        Self { words: words.cloned(), ..self }
    }
}

/// The decision about a call, with all that follows from it.
#[derive(Clone, Debug)]
pub(crate) struct Decision {
    pub(crate) verdict: Verdict,
    pub(crate) shadow: bool,
    pub(crate) set: Vec<String>,
    pub(crate) arguments: Val,
    pub(crate) redact: Vec<Detector>,
    pub(crate) charges: Vec<(CounterKey, Decimal)>,
}

/// An entry and where in the document it stands.
#[derive(Clone, Debug)]
pub(crate) struct Chosen<'a> {
    pub(crate) pointer: String,
    pub(crate) entry: &'a Entry,
}

/// A denial that no policy had a say in.
fn without_policy(rule: &str, arguments: Val) -> Decision {
    Decision {
        verdict: Verdict::plain(Effect::Deny, rule),
        shadow: false,
        set: Vec::new(),
        arguments,
        redact: Vec::new(),
        charges: Vec::new(),
    }
}

fn holds_refused_number(value: &Val) -> bool {
    match value {
        Val::Num(spelling) => is_refused(spelling),
        Val::Arr(elements) => elements.iter().any(holds_refused_number),
        Val::Obj(members) => members.iter().any(|(_, v)| holds_refused_number(v)),
        Val::Null | Val::Bool(_) | Val::Str(_) => false,
    }
}

/// Decides the call and charges the ledger for it.
pub(crate) fn decide(
    doc: Option<&Doc>,
    ledger: &mut Ledger,
    call: &CallCase,
    who: &Who,
    now: i64,
    coverage: &mut Coverage,
) -> Decision {
    let came = call.arguments.clone().unwrap_or(Val::Obj(Vec::new()));
    if !matches!(came, Val::Obj(_)) || holds_refused_number(&came) {
        return without_policy("(malformed)", came);
    }
    let Some(doc) = doc else {
        return without_policy("(no policy)", came);
    };
    let zone = Zone::named(doc.zone());
    let chosen = entry_for(doc, &call.tool);
    let nothing = Entry::default();
    let own = chosen.as_ref().map_or(&nothing, |chosen| chosen.entry);
    let all = doc.all_tools.as_ref().unwrap_or(&nothing);
    let set = own.set.clone().unwrap_or_default();
    let arguments = forced(&came, &set);
    let set_holds = arguments.is_some();
    let arguments = arguments.unwrap_or(came);
    let given = Given { tool: &call.tool, who, now, zone: &zone, arguments: &arguments };
    let demands = demands(chosen.as_ref(), all, &given);
    let verdict = verdict(doc, chosen.as_ref(), set_holds, call, &given, ledger, &demands, coverage);
    let forwarded = doc.is_shadow() || verdict.effect == Effect::Allow;
    let charges = if forwarded { charges(&demands) } else { Vec::new() };
    ledger.record(&charges, now);
    let detectors = own.redact.iter().chain(&all.redact).flatten();
    let mut redact: Vec<Detector> = detectors.copied().collect();
    redact.sort_unstable();
    redact.dedup();
    Decision {
        verdict,
        shadow: doc.is_shadow(),
        set: if set_holds { set.iter().map(|(path, _)| path.write()).collect() } else { Vec::new() },
        arguments,
        redact,
        charges,
    }
}

#[expect(clippy::too_many_arguments, reason = "the page's fifth section, read from top to bottom")]
fn verdict(
    doc: &Doc,
    chosen: Option<&Chosen<'_>>,
    set_holds: bool,
    call: &CallCase,
    given: &Given<'_>,
    ledger: &Ledger,
    demands: &[Demand],
    coverage: &mut Coverage,
) -> Verdict {
    // 2. The name matches `hide`.
    if is_hidden(doc, &call.tool.name) {
        return Verdict::plain(Effect::Deny, "(hidden)");
    }
    // 3. and 4. The entry, or none.
    if chosen.is_none() {
        if doc.classes.is_some() && call.tool.class.is_none() {
            return Verdict::plain(Effect::Deny, "(class unknown)");
        }
        if doc.default == PolicyDefault::Deny {
            return Verdict::plain(Effect::Deny, "(default deny)");
        }
    }
    let nothing = Entry::default();
    let own = Chosen {
        pointer: chosen.map_or(String::new(), |c| c.pointer.clone()),
        entry: chosen.map_or(&nothing, |c| c.entry),
    };
    let all = Chosen { pointer: "/all_tools".to_owned(), entry: doc.all_tools.as_ref().unwrap_or(&nothing) };
    // 5. `action: deny`.
    if own.entry.action == Some(Action::Deny) {
        let verdict = Verdict::plain(Effect::Deny, &format!("{}/action", own.pointer));
        return verdict.with_words(own.entry.reason.as_ref());
    }
    // 6. `set`.
    if !set_holds {
        return Verdict::plain(Effect::Deny, &format!("{}/set", own.pointer));
    }
    // 7. `validate`.
    if let Some(pointer) = failing_validation(&own, &all, given) {
        return Verdict::plain(Effect::Deny, &pointer);
    }
    // 8. `require`, the entry's, then those of `all_tools`.
    for place in [&own, &all] {
        for (index, rule) in place.entry.require.iter().flatten().enumerate() {
            let judged = judge_rule(rule, Kind::Require, given, coverage);
            if !judged.holds {
                return denied_by_rule(rule, judged, &format!("{}/require/{index}", place.pointer));
            }
        }
    }
    // 9. `deny_if`, the same way.
    for place in [&own, &all] {
        for (index, rule) in place.entry.deny_if.iter().flatten().enumerate() {
            let judged = judge_rule(rule, Kind::DenyIf, given, coverage);
            if judged.holds {
                return denied_by_rule(rule, judged, &format!("{}/deny_if/{index}", place.pointer));
            }
        }
    }
    // 10. Limits are looked at.
    if let Some(failing) = ledger.first_failing(demands, given.now, given.zone) {
        let retry_after_s = ledger.retry_after_s(demands, given.now, given.zone);
        return Verdict {
            words: failing.on_deny.clone(),
            retryable: retry_after_s.is_some(),
            retry_after_s,
            ..Verdict::plain(Effect::Deny, &failing.pointer)
        };
    }
    // 11. A person is asked, unless one has said yes.
    if !call.approved {
        if matches!(own.entry.action, Some(Action::Approve | Action::RequireApproval)) {
            let verdict = Verdict::plain(Effect::Approve, &format!("{}/action", own.pointer));
            return verdict.with_words(own.entry.reason.as_ref());
        }
        for place in [&own, &all] {
            for (index, rule) in place.entry.approve_if.iter().flatten().enumerate() {
                let judged = judge_rule(rule, Kind::ApproveIf, given, coverage);
                if judged.holds {
                    let words = rule.words.as_ref().map(|(_, words)| words);
                    return Verdict {
                        causes: judged.causes,
                        words: words.or(own.entry.reason.as_ref()).cloned(),
                        ..Verdict::plain(Effect::Approve, &format!("{}/approve_if/{index}", place.pointer))
                    };
                }
            }
        }
    }
    // 12. Nobody else is calling, so the limits still fit. 13. Allow.
    Verdict::plain(Effect::Allow, "")
}

fn denied_by_rule(rule: &Rule, judged: Judged, pointer: &str) -> Verdict {
    Verdict {
        words: rule.words.as_ref().map(|(_, words)| words.clone()),
        causes: judged.causes,
        retryable: rule.conditions.iter().any(|condition| condition.path.is_about_time()),
        ..Verdict::plain(Effect::Deny, pointer)
    }
}

pub(crate) fn is_hidden(doc: &Doc, name: &str) -> bool {
    doc.hide.iter().flatten().any(|pattern| matches(pattern, name))
}

/// The one entry that covers the tool.
pub(crate) fn entry_for<'a>(doc: &'a Doc, tool: &Tool) -> Option<Chosen<'a>> {
    let tools = doc.tools.as_deref().unwrap_or_default();
    let exact = tools.iter().find(|(key, _)| *key == tool.name);
    let found = exact.or_else(|| {
        let mut globs: Vec<&(String, Entry)> =
            tools.iter().filter(|(key, _)| is_glob(key) && matches(key, &tool.name)).collect();
        globs.sort_by(|(a, _), (b, _)| {
            literal_characters(b).cmp(&literal_characters(a)).then(a.as_bytes().cmp(b.as_bytes()))
        });
        globs.first().copied()
    });
    if let Some((key, entry)) = found {
        return Some(Chosen {
            pointer: format!("/tools/{}", key.replace('~', "~0").replace('/', "~1")),
            entry,
        });
    }
    let class = tool.class?;
    let classes = doc.classes.as_deref().unwrap_or_default();
    let (_, entry) = classes.iter().find(|(known, _)| *known == class)?;
    Some(Chosen { pointer: format!("/classes/{}", class.name()), entry })
}

/// The pointer of the `validate` that denies, if one does.
fn failing_validation(own: &Chosen<'_>, all: &Chosen<'_>, given: &Given<'_>) -> Option<String> {
    let of_own = own.entry.validate.unwrap_or(Validate::Off);
    let of_all = all.entry.validate.unwrap_or(Validate::Off);
    let (stricter, place) = if of_own >= of_all { (of_own, own) } else { (of_all, all) };
    if stricter == Validate::Off {
        return None;
    }
    let fits = match &given.tool.input_schema {
        None => false,
        Some(schema) => {
            schemas::satisfies(given.arguments, schema)
                && (stricter == Validate::Schema || schemas::is_spoken_of(given.arguments, schema))
        }
    };
    if fits { None } else { Some(format!("{}/validate", place.pointer)) }
}

/// What the call's limits ask for: the entry's, its `rate_limit`, then the same of `all_tools`.
fn demands(own: Option<&Chosen<'_>>, all: &Entry, given: &Given<'_>) -> Vec<Demand> {
    let mut demands = Vec::new();
    if let Some(own) = own {
        demands.extend(limits(own.entry, &own.pointer, given));
        demands.extend(rate_limit(own.entry, &own.pointer, &given.tool.name, given));
    }
    demands.extend(limits(all, "/all_tools", given));
    demands.extend(rate_limit(all, "/all_tools", "all_tools", given));
    demands
}

fn limits(entry: &Entry, pointer: &str, given: &Given<'_>) -> Vec<Demand> {
    let limits = entry.limits.as_deref().unwrap_or_default();
    let demand = |(index, limit): (usize, &Limit)| Demand {
        pointer: format!("{pointer}/limits/{index}"),
        key: CounterKey { counter: limit.counter.clone(), owner: owner(limit.scope, given.who) },
        window: limit.window.clone(),
        align: limit.align.unwrap_or(Align::Sliding),
        max: Decimal::read(&limit.max),
        amount: match (&limit.increment_from, &limit.increment) {
            (Some(path), _) => amount_at(path, given.arguments),
            (None, Some(amount)) => Some(Decimal::read(amount)),
            (None, None) => Some(Decimal::read("1")),
        },
        on_deny: limit.on_deny.clone(),
    };
    limits.iter().enumerate().map(demand).collect()
}

fn rate_limit(entry: &Entry, pointer: &str, name: &str, given: &Given<'_>) -> Option<Demand> {
    let (max, window, scope, on_deny) = match entry.rate_limit.clone()? {
        RateLimit::Text { max, window } => (max, window, None, None),
        RateLimit::Object { max, window, scope, on_deny } => (max, window, scope, on_deny),
    };
    Some(Demand {
        pointer: format!("{pointer}/rate_limit"),
        key: CounterKey { counter: format!("{name}_rate"), owner: owner(scope, given.who) },
        window,
        align: Align::Sliding,
        max: Decimal::read(&max),
        amount: Some(Decimal::read("1")),
        on_deny,
    })
}

fn owner(scope: Option<Scope>, who: &Who) -> Owner {
    let grant = who.grant_id.clone();
    match scope.unwrap_or(Scope::Grant) {
        Scope::Grant => Owner::Grant(grant),
        Scope::Session => match &who.session {
            Some(session) => Owner::Session(grant, session.clone()),
            None => Owner::Grant(grant),
        },
        Scope::Server => Owner::Server(who.server.clone()),
        Scope::Global => Owner::Everybody,
    }
}

/// The number at the path, or the sum of those it ranges over; none unless all are numbers ≥ 0.
fn amount_at(path: &Path, arguments: &Val) -> Option<Decimal> {
    let mut sum = Decimal::zero();
    for place in path.walk(Reached::Found(arguments.clone())) {
        let Reached::Found(Val::Num(spelling)) = place else {
            return None;
        };
        let amount = Decimal::read(&spelling);
        if amount.is_negative() {
            return None;
        }
        sum = sum.plus(&amount);
    }
    Some(sum)
}

//! Conditions and rules: where a path leads, what the operator says there, and which way missing and
//! inapplicable values fall.

use super::coverage::Coverage;
use super::document::{Condition, Op, Rule};
use super::operators::{self, Kind};
use super::paths::Reached;
use super::scenario::{Tool, Who};
use super::value::Val;
use super::windows::Zone;

/// All that a condition may look at.
pub(crate) struct Given<'a> {
    pub(crate) tool: &'a Tool,
    pub(crate) who: &'a Who,
    pub(crate) now: i64,
    pub(crate) zone: &'a Zone,
    pub(crate) arguments: &'a Val,
}

/// What was wrong with a value, with the place of the condition in its rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    Nothing,
    PathMissing(usize),
    PathInapplicable(usize),
    OperatorInapplicable(usize),
}

pub(crate) struct Judged {
    pub(crate) holds: bool,
    pub(crate) causes: Vec<Cause>,
}

/// How one place that a path led to came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Holds,
    Fails,
    Missing,
    PathInapplicable,
    OperatorInapplicable,
}

impl Place {
    fn cause(self, condition: usize) -> Cause {
        match self {
            Self::Holds | Self::Fails => Cause::Nothing,
            Self::Missing => Cause::PathMissing(condition),
            Self::PathInapplicable => Cause::PathInapplicable(condition),
            Self::OperatorInapplicable => Cause::OperatorInapplicable(condition),
        }
    }

    fn is_inapplicable(self) -> bool {
        matches!(self, Self::PathInapplicable | Self::OperatorInapplicable)
    }

    fn satisfies(self, kind: Kind) -> bool {
        match kind {
            Kind::Require => self == Self::Holds,
            Kind::DenyIf | Kind::ApproveIf => self == Self::Holds || self.is_inapplicable(),
        }
    }
}

/// Every condition is judged at every place, also where the outcome is known before.
pub(crate) fn judge_rule(rule: &Rule, kind: Kind, given: &Given<'_>, coverage: &mut Coverage) -> Judged {
    let mut judged: Vec<Vec<Place>> = Vec::new();
    for condition in &rule.conditions {
        judged.push(judge_condition(condition, kind, given, coverage));
    }
    match kind {
        Kind::Require => required(&judged),
        Kind::DenyIf | Kind::ApproveIf => forbidden(&judged, kind),
    }
}

/// Every place of every condition must hold; the first condition that does not gives the cause.
fn required(judged: &[Vec<Place>]) -> Judged {
    for (index, places) in judged.iter().enumerate() {
        let wrong = places.iter().filter(|place| !place.satisfies(Kind::Require));
        let causes: Vec<Cause> = wrong.map(|place| place.cause(index)).collect();
        if !causes.is_empty() {
            return Judged { holds: false, causes };
        }
    }
    Judged { holds: true, causes: vec![Cause::Nothing] }
}

/// One place of every condition is enough. Where a condition has a place that plainly holds, that is
/// why it holds; else the first inapplicable one is, though any of them may be named.
fn forbidden(judged: &[Vec<Place>], kind: Kind) -> Judged {
    let holds = judged.iter().all(|places| places.iter().any(|p| p.satisfies(kind)));
    let plainly = judged.iter().all(|places| places.contains(&Place::Holds));
    let mut causes = Vec::new();
    if plainly {
        causes.push(Cause::Nothing);
    }
    let numbered = || judged.iter().enumerate();
    let with_reason = numbered().filter(|(_, places)| !places.contains(&Place::Holds));
    let mixed = numbered().filter(|(_, places)| places.contains(&Place::Holds));
    for (index, places) in with_reason.chain(mixed) {
        let wrong = places.iter().filter(|place| place.is_inapplicable());
        causes.extend(wrong.map(|place| place.cause(index)));
    }
    Judged { holds, causes }
}

fn judge_condition(
    condition: &Condition,
    kind: Kind,
    given: &Given<'_>,
    coverage: &mut Coverage,
) -> Vec<Place> {
    let root = root_of(&condition.path.root, given);
    let mut judged = Vec::new();
    for reached in condition.path.walk(root) {
        let place = judge_place(condition, kind, &reached);
        coverage.note(|| format!("{} {} {place:?}", kind.name(), condition.op.name()));
        if condition.op == Op::Exists && !matches!(reached, Reached::Found(_)) {
            coverage.note(|| format!("{} exists {reached:?}", kind.name()));
        }
        judged.push(place);
    }
    judged
}

fn judge_place(condition: &Condition, kind: Kind, place: &Reached) -> Place {
    if condition.op == Op::Exists {
        let found = matches!(place, Reached::Found(_));
        let wanted = matches!(condition.value, Val::Bool(true));
        return if found == wanted { Place::Holds } else { Place::Fails };
    }
    match place {
        Reached::Missing => Place::Missing,
        Reached::Inapplicable => Place::PathInapplicable,
        Reached::Found(value) => match operators::holds(condition.op, value, &condition.value, kind) {
            Some(true) => Place::Holds,
            Some(false) => Place::Fails,
            None => Place::OperatorInapplicable,
        },
    }
}

fn root_of(root: &str, given: &Given<'_>) -> Reached {
    let text = |text: &str| Reached::Found(Val::str(text));
    match root {
        "args" => Reached::Found(given.arguments.clone()),
        "tool.name" => text(&given.tool.name),
        "tool.class" => match given.tool.class {
            Some(class) => text(class.name()),
            None => Reached::Inapplicable,
        },
        "server.name" => text(&given.who.server),
        "grant.label" => text(&given.who.grant_label),
        "grant.tags" => {
            let tags = given.who.grant_tags.iter().map(|tag| Val::str(tag));
            Reached::Found(Val::Arr(tags.collect()))
        }
        "client.name" => match &given.who.client {
            Some(client) => text(client),
            None => Reached::Missing,
        },
        "time.hour" => Reached::Found(Val::Num(given.zone.hour(given.now).to_string())),
        "time.weekday" => text(given.zone.weekday(given.now)),
        "time.date" => text(&given.zone.date(given.now)),
        other => panic!("no root is called {other}"),
    }
}

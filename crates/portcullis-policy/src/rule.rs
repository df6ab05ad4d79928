//! Rules and conditions, compiled, and how they come out for one call.

use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;

use jiff::tz::TimeZone;
use portcullis_json::{Kind, Value};

use crate::class::Class;
use crate::operator::{OperatorInfo, Stance, Test, Tested};
use crate::path::{Misstep, Path, Root, Walked};
use crate::question::Caller;

/// What a rule can look at.
pub(crate) struct Facts<'a> {
    pub(crate) tool: &'a str,
    pub(crate) class: Option<Class>,
    pub(crate) arguments: &'a Value,
    pub(crate) caller: &'a Caller<'a>,
    pub(crate) zone: &'a TimeZone,
}

/// A rule: it holds when all of its conditions do.
#[derive(Debug)]
pub(crate) struct Rule {
    pub(crate) pointer: Arc<str>,
    pub(crate) conditions: Vec<Condition>,
    /// `on_deny` or `ask`.
    pub(crate) message: Option<String>,
}

/// One test on one value.
#[derive(Debug)]
pub(crate) struct Condition {
    pub(crate) path: Path,
    pub(crate) operator: &'static OperatorInfo,
    pub(crate) test: Test,
    /// As it was written; for warnings.
    pub(crate) value: Value,
}

impl fmt::Debug for OperatorInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// How a condition came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Outcome {
    pub(crate) holds: bool,
    /// Set when it was not the comparison that decided.
    pub(crate) cause: Option<CauseKind>,
}

/// How a rule came out.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct RuleOutcome {
    pub(crate) holds: bool,
    pub(crate) cause: Option<Cause>,
}

/// What was wrong with a value when that, and not a comparison, decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// Which condition of the rule, from 0.
    pub condition: usize,
    /// Its path.
    pub path: String,
    /// The operator's name.
    pub operator: &'static str,
    /// What the operator needs, in words.
    pub needs: &'static str,
    /// What it was.
    pub kind: CauseKind,
}

/// The ways in which a value can be wrong for a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CauseKind {
    /// The path leads to nothing.
    Missing,
    /// The path steps by key into something that is no object.
    NoObject(Kind),
    /// The path steps by index into something that is no array.
    NoArray(Kind),
    /// The class of the tool is not known.
    ClassUnknown,
    /// The operator does not speak of such values.
    Inapplicable(Kind),
}

/// Never shows a value of the call: messages go to logs.
impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Cause { path, operator, needs, .. } = self;
        match self.kind {
            CauseKind::Missing => write!(f, "`{path}` is missing"),
            CauseKind::NoObject(kind) => {
                write!(f, "`{path}` does not exist: it leads into {}, not an object", kind.with_article())
            }
            CauseKind::NoArray(kind) => {
                write!(f, "`{path}` does not exist: it leads into {}, not an array", kind.with_article())
            }
            CauseKind::ClassUnknown => f.write_str("the class of the tool is not known"),
            CauseKind::Inapplicable(Kind::String) => {
                write!(f, "`{path}` is a string that `{operator}` cannot judge: it needs {needs}")
            }
            CauseKind::Inapplicable(kind) => {
                write!(f, "`{path}` is {}, and `{operator}` needs {needs}", kind.with_article())
            }
        }
    }
}

impl Rule {
    /// Whether the rule holds; `note` is told of every condition that was looked at.
    pub(crate) fn evaluate(
        &self,
        facts: &Facts<'_>,
        stance: Stance,
        mut note: impl FnMut(&Condition, Outcome),
    ) -> RuleOutcome {
        let mut cause = None;
        for (index, condition) in self.conditions.iter().enumerate() {
            let outcome = condition.evaluate(facts, stance);
            note(condition, outcome);
            // In a rule that stops, the first condition that held for want of a judgeable value is the
            // cause; in one that admits, the one that failed.
            if let Some(kind) = outcome.cause
                && (outcome.holds || stance == Stance::Admits)
                && cause.is_none()
            {
                cause = Some(condition.cause(index, kind));
            }
            if !outcome.holds {
                return RuleOutcome { holds: false, cause };
            }
        }
        RuleOutcome { holds: true, cause }
    }

    /// Whether the same call may come out differently later.
    pub(crate) fn depends_on_time(&self) -> bool {
        self.conditions.iter().any(|condition| condition.path.is_time())
    }
}

impl Condition {
    fn cause(&self, condition: usize, kind: CauseKind) -> Cause {
        let OperatorInfo { name, speaks_of, .. } = self.operator;
        Cause { condition, path: self.path.to_string(), operator: name, needs: speaks_of, kind }
    }

    fn evaluate(&self, facts: &Facts<'_>, stance: Stance) -> Outcome {
        match root_value(self.path.root, facts) {
            RootValue::Arguments => self.over(facts.arguments, stance),
            RootValue::Context(value) => self.over(&value, stance),
            RootValue::Missing => self.judge(Walked::Missing, stance),
            RootValue::ClassUnknown => self.judge(Walked::Inapplicable(Misstep::ClassUnknown), stance),
        }
    }

    /// Over all ends of the path: in `require` every one must satisfy, elsewhere one is enough.
    fn over(&self, root: &Value, stance: Stance) -> Outcome {
        let decisive = stance == Stance::Stops;
        let mut result = Outcome { holds: !decisive, cause: None };
        let _ = self.path.walk(root, &mut |end| {
            let outcome = self.judge(end, stance);
            if outcome.holds == decisive {
                result = outcome;
                return ControlFlow::Break(());
            }
            // Kept for explaining; the result stays what it is unless a decisive end comes.
            result.cause = if result.holds { None } else { result.cause.or(outcome.cause) };
            ControlFlow::Continue(())
        });
        result
    }

    /// INVARIANT: deny by default. Missing and inapplicable always fall towards safety.
    fn judge(&self, end: Walked<'_>, stance: Stance) -> Outcome {
        let operator = match &self.test {
            Test::Exists(wanted) => {
                let found = matches!(end, Walked::Found(_));
                return Outcome { holds: found == *wanted, cause: None };
            }
            Test::Value(operator) => operator,
        };
        let stops = stance == Stance::Stops;
        match end {
            Walked::Missing => Outcome { holds: false, cause: Some(CauseKind::Missing) },
            Walked::Inapplicable(misstep) => Outcome { holds: stops, cause: Some(misstep.into()) },
            Walked::Found(value) => match operator.test(value, stance) {
                Tested::Holds => Outcome { holds: true, cause: None },
                Tested::Fails => Outcome { holds: false, cause: None },
                Tested::Inapplicable => {
                    Outcome { holds: stops, cause: Some(CauseKind::Inapplicable(value.kind())) }
                }
            },
        }
    }
}

impl From<Misstep> for CauseKind {
    fn from(misstep: Misstep) -> CauseKind {
        match misstep {
            Misstep::NoObject(kind) => CauseKind::NoObject(kind),
            Misstep::NoArray(kind) => CauseKind::NoArray(kind),
            Misstep::ClassUnknown => CauseKind::ClassUnknown,
        }
    }
}

enum RootValue {
    Arguments,
    Context(Value),
    Missing,
    ClassUnknown,
}

fn root_value(root: Root, facts: &Facts<'_>) -> RootValue {
    let caller = facts.caller;
    let local = || caller.now.timestamp().to_zoned(facts.zone.clone());
    RootValue::Context(match root {
        Root::Args => return RootValue::Arguments,
        Root::ToolName => facts.tool.into(),
        Root::ToolClass => match facts.class {
            Some(class) => class.name().into(),
            None => return RootValue::ClassUnknown,
        },
        Root::ServerName => caller.server.into(),
        Root::GrantLabel => caller.grant_label.into(),
        Root::GrantTags => Value::Array(caller.grant_tags.iter().map(|tag| tag.as_str().into()).collect()),
        Root::ClientName => match caller.client {
            Some(client) => client.into(),
            None => return RootValue::Missing,
        },
        Root::TimeHour => i64::from(local().hour()).into(),
        Root::TimeWeekday => weekday(local().weekday()).into(),
        Root::TimeDate => local().date().to_string().into(),
    })
}

fn weekday(day: jiff::civil::Weekday) -> &'static str {
    use jiff::civil::Weekday::*;
    match day {
        Monday => "mon",
        Tuesday => "tue",
        Wednesday => "wed",
        Thursday => "thu",
        Friday => "fri",
        Saturday => "sat",
        Sunday => "sun",
    }
}

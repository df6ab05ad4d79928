//! The sentences: why this class, why not its neighbours, and why not surer.
//!
//! Built from the votes; text of the definition appears only as quotes in backticks, made inert.

use super::confidence::Grounds;
use super::evidence::{Evidence, Place, Signal};
use super::reading::Reading;
use crate::Class;
use crate::definition::ToolDefinition;
use crate::inert::inert;

/// What the sentences are made of.
pub(crate) struct Facts<'a> {
    pub(crate) tool: &'a ToolDefinition,
    pub(crate) class: Class,
    pub(crate) confidence: f64,
    pub(crate) evidence: &'a [Evidence],
    pub(crate) signals: &'a [Signal],
    pub(crate) grounds: Grounds,
}

/// What one reading says, in a few words.
pub(crate) fn reading(reading: &Reading) -> String {
    if let Some(turned) = reading.turned {
        return turned.to_owned();
    }
    match (reading.verb, reading.alternatives) {
        (Some(verb), true) => format!("`{}` is the gravest of several verbs", verb.base),
        (Some(verb), false) => format!("the verb `{}` {}", verb.base, verb_effect(reading.class)),
        (None, _) if reading.class == Class::Read => "announces a report".to_owned(),
        (None, _) => format!("the verb {}", verb_effect(reading.class)),
    }
}

fn verb_effect(class: Class) -> &'static str {
    match class {
        Class::Read => "only looks",
        Class::Write => "changes something",
        Class::Execute => "runs or sends something",
        Class::Destructive => "removes or ends something",
        Class::Financial => "moves money",
    }
}

/// All sentences.
pub(crate) fn rationale(facts: &Facts<'_>) -> String {
    let mut sentences = vec![effect(facts), reach(facts), contrast(facts)];
    sentences.push(sureness(facts));
    sentences.retain(|sentence| !sentence.is_empty());
    sentences.join(" ")
}

fn effect(facts: &Facts<'_>) -> String {
    let name = inert(&facts.tool.name);
    let Some(first) = facts.evidence.first() else {
        return String::new();
    };
    let place = match &first.place {
        Place::Name => "in its name".to_owned(),
        Place::Description => "in its description".to_owned(),
        Place::Schema(_) => "in its input schema".to_owned(),
        Place::Annotation(hint) => format!("by its vendor in `{hint}`"),
        Place::Siblings => "beside it on the server".to_owned(),
        Place::Absent => {
            return format!("Nothing in the definition of `{name}` says what it does.");
        }
    };
    if first.quote.is_empty() {
        return format!("`{name}` is judged by what is said {place}: {}.", first.says);
    }
    format!("`{name}` is judged by `{}` {place}: {}.", inert(&first.quote), first.says)
}

/// How far a call can reach.
fn reach(facts: &Facts<'_>) -> String {
    let has = |signal| facts.signals.contains(&signal);
    let text = match facts.class {
        Class::Execute if has(Signal::FreeFormCode) => {
            "It takes free-form code, so its reach is everything that the server's process may do."
        }
        Class::Execute if has(Signal::Recipient) => {
            "What it sends leaves the system and cannot be called back."
        }
        Class::Execute => "Its effect depends on the arguments and may reach past the call.",
        Class::Destructive if has(Signal::Force) => "A force or recursive flag widens what one call removes.",
        Class::Destructive => "What one call removes stays removed.",
        Class::Financial => "One call can cost money that nobody gives back.",
        Class::Write if has(Signal::Overwrites) => "The vendor says that it may overwrite what is there.",
        Class::Write if has(Signal::Path) => "It reaches as far as the paths that it may write to.",
        Class::Write => "A loop can make many changes before anybody looks.",
        Class::Read if has(Signal::Secret) => "Nothing changes, but secrets may come back.",
        Class::Read if has(Signal::UntrustedText) => {
            "Nothing changes, but text written by strangers may come back."
        }
        Class::Read if has(Signal::SideFile) => {
            "Nothing that anybody works with changes; a picture file may be written."
        }
        Class::Read => "",
    };
    text.to_owned()
}

/// Why this class and not its neighbours.
fn contrast(facts: &Facts<'_>) -> String {
    let money = facts.signals.contains(&Signal::Money);
    let runs_tests = facts.evidence.iter().any(|evidence| evidence.rule == super::RuleId::B1);
    let text = match facts.class {
        Class::Read if money => {
            "Read, not Financial: money is its topic, but nothing says that any is moved. Not Write: nothing is created or changed."
        }
        Class::Read => {
            "Read, not Write: nothing in the definition says that anything is created, changed, run or sent."
        }
        Class::Write if facts.grounds.nothing => {
            "Write, not Read, because a tool that cannot be read is not taken for harmless; not Execute, because nothing says that it runs or sends anything."
        }
        Class::Write => {
            "Write, not Read, because something is different after the call; not Execute, because nothing is run or sent out by the call itself; not Destructive, because what is made or changed can be changed back."
        }
        Class::Execute if runs_tests => {
            "Execute, not Read, because code runs during the call, and what it does depends on that code; not Destructive, because the call itself removes nothing."
        }
        Class::Execute => {
            "Execute, not Write, because it sets something going or sends something out and the effect is not bounded by one record; not Destructive, because removing is not what it is for."
        }
        Class::Destructive => {
            "Destructive, not Write, because there is no ordinary way to bring back what is gone; not Financial, because no money moves."
        }
        Class::Financial => {
            "Financial, not Write or Execute, because money is committed and not merely recorded; not Read, because the verb acts on it."
        }
    };
    text.to_owned()
}

fn sureness(facts: &Facts<'_>) -> String {
    let grounds = facts.grounds;
    let reasons = [
        (grounds.nothing, "no rule matched"),
        (grounds.siblings_only, "only the other tools of the server speak for it"),
        (!grounds.described, "no description was available"),
        (grounds.disagree, "name and description, or a hint, point to different classes"),
        (grounds.described && !grounds.named, "the name has no verb"),
        (grounds.hint_contradicts, "the vendor's hint contradicts"),
    ];
    let reasons: Vec<&str> = reasons.iter().filter(|reason| reason.0).map(|reason| reason.1).collect();
    let confidence = facts.confidence;
    if reasons.is_empty() {
        return format!("Confidence {confidence:.2}.");
    }
    format!("Confidence {confidence:.2}: {}.", reasons.join("; "))
}

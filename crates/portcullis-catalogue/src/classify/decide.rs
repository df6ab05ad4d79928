//! Putting the readings together: which class wins, and what speaks for it.

mod raise;

use super::confidence::{Grounds, confidence};
use super::description::{Description, bullets, gravest, read_description, statements};
use super::evidence::{Evidence, Place, Signal, quote};
use super::name::read_name;
use super::parameters::{Said, look};
use super::precedence::{is_weak_verb, lead_wins};
use super::reading::Reading;
use super::rules::RuleId;
use super::siblings::Siblings;
use super::{Classification, rationale};
use crate::Class;
use crate::definition::ToolDefinition;
use crate::level::{graver, severity};
use crate::words::{Nouns, Token, split_name};

/// Classifies one tool beside its siblings.
pub fn classify(tool: &ToolDefinition, siblings: &Siblings) -> Classification {
    let mut draft = draft(tool, siblings);
    let class = draft.note_signals();
    let rationale = draft.rationale(class);
    Classification { rationale, ..draft.finish(class) }
}

/// The same without the sentences that say why: for whoever keeps the facts alone.
pub(crate) fn classify_briefly(tool: &ToolDefinition, siblings: &Siblings) -> Classification {
    let mut draft = draft(tool, siblings);
    let class = draft.note_signals();
    draft.finish(class)
}

fn draft<'a>(tool: &'a ToolDefinition, siblings: &'a Siblings) -> Draft<'a> {
    let mut draft = Draft::new(tool, siblings);
    draft.read_texts();
    draft.raise_by_choices();
    draft.raise_by_code();
    draft.raise_by_output();
    draft.raise_by_siblings();
    draft.raise_by_money();
    draft.raise_by_finality();
    draft.fall_back();
    draft.hear_hints();
    draft
}

/// A classification while it is made.
struct Draft<'a> {
    tool: &'a ToolDefinition,
    siblings: &'a Siblings,
    tokens: Vec<Token>,
    name: Option<Reading>,
    description: Description,
    said: Said,
    class: Option<Class>,
    /// The verb that the class rests on.
    verb: &'static str,
    evidence: Vec<Evidence>,
    signals: Vec<Signal>,
    grounds: Grounds,
    hint_contradicts: bool,
}

impl<'a> Draft<'a> {
    fn new(tool: &'a ToolDefinition, siblings: &'a Siblings) -> Draft<'a> {
        let tokens = split_name(&tool.name);
        let text = tool.description.as_deref().unwrap_or_default();
        let mut said = look(&tool.parameters());
        Draft {
            name: read_name(&tokens, siblings.skip(&tokens)),
            description: read_description(text),
            class: None,
            verb: "",
            evidence: Vec::new(),
            signals: std::mem::take(&mut said.signals),
            grounds: Grounds { described: tool.description.is_some(), ..Grounds::default() },
            hint_contradicts: false,
            tool,
            siblings,
            tokens,
            said,
        }
    }

    fn text(&self) -> &'a str {
        self.tool.description.as_deref().unwrap_or_default()
    }

    /// Rules N1 to N3, D1 and D2.
    fn read_texts(&mut self) {
        let (name, lead) = (self.name.clone(), self.description.lead.clone());
        self.grounds.named = name.as_ref().is_some_and(|name| name.verb.is_some());
        self.grounds.firm_name = name.as_ref().is_some_and(Reading::is_firm) && !is_weak_verb(name.as_ref());
        if let (Some(name), Some(lead)) = (&name, &lead) {
            self.grounds.agree = name.class == lead.class;
            self.grounds.disagree = (name.class == Class::Read) != (lead.class == Class::Read);
        }
        let by_name = match (&name, &lead) {
            (Some(name), Some(lead)) => !lead_wins(name, lead, &self.tokens),
            (Some(_), None) => true,
            _ => false,
        };
        let (first, second) = if by_name { (name, lead) } else { (lead, name) };
        let Some(first) = first else { return };
        self.class = Some(first.class);
        self.verb = first.base();
        self.cite_reading(&first);
        if let Some(second) = second {
            self.cite_reading(&second);
        }
        self.hear_operations(&first);
    }

    /// A name that says nothing of its effect, with operations in the description.
    fn hear_operations(&mut self, first: &Reading) {
        let vague = first.is_vague() || self.name.as_ref().is_some_and(Reading::is_vague);
        if !vague && first.base() != "write" {
            return;
        }
        let stated = statements(self.text()).filter(|_| vague);
        let found = gravest(bullets(self.text()).into_iter().chain(stated));
        let Some(found) = found.filter(|found| severity(found.class) > severity(first.class)) else {
            return;
        };
        self.class = Some(found.class);
        self.verb = found.base();
        self.cite_reading(&Reading { rule: RuleId::D2, ..found });
        self.evidence.rotate_right(1);
    }

    fn cite_reading(&mut self, reading: &Reading) {
        let of_name = matches!(reading.rule, RuleId::N1 | RuleId::N2);
        let (place, text) =
            if of_name { (Place::Name, self.tool.name.as_str()) } else { (Place::Description, self.text()) };
        let says = rationale::reading(reading);
        self.evidence.push(Evidence {
            rule: if reading.turned.is_some() { RuleId::N3 } else { reading.rule },
            place,
            start: reading.start,
            end: reading.end,
            quote: quote(text, reading.start, reading.end),
            votes: Some(reading.class),
            says,
        });
    }

    fn raise(&mut self, class: Class) {
        self.class = Some(self.class.map_or(class, |before| graver(before, class)));
    }

    fn is_mutating(&self) -> bool {
        self.class.is_some_and(|class| class != Class::Read)
    }

    /// Puts evidence where it is read first.
    fn decided_by(&mut self, evidence: Evidence) {
        self.evidence.insert(0, evidence);
    }

    /// Rules B2 and Z0.
    fn fall_back(&mut self) {
        if self.class.is_some() {
            return;
        }
        let (rule, class, says, place) = if self.siblings.all_read() {
            self.grounds.siblings_only = true;
            let says = "no verb was found, and every other tool only reads";
            (RuleId::B2, Class::Read, says, Place::Siblings)
        } else {
            self.grounds.nothing = true;
            (RuleId::Z0, Class::Write, "no rule matched, so it is not taken for harmless", Place::Absent)
        };
        self.class = Some(class);
        self.decided_by(Evidence {
            rule,
            place,
            start: 0,
            end: 0,
            quote: String::new(),
            votes: Some(class),
            says: says.to_owned(),
        });
    }

    /// Rules A1 to A3: hints raise or contradict, they never lower.
    fn hear_hints(&mut self) {
        let hints = self.tool.hints;
        match (hints.read_only, self.is_mutating()) {
            (Some(false), false) => {
                self.raise(Class::Write);
                self.cite_hint(RuleId::A1, "readOnlyHint", "the vendor says that it changes something");
                self.evidence.rotate_right(1);
                self.grounds.disagree = true;
            }
            (Some(true), true) => {
                self.hint_contradicts = true;
                self.grounds.hint_contradicts = true;
                self.cite_hint(
                    RuleId::A3,
                    "readOnlyHint",
                    "the vendor says read-only, the definition says otherwise",
                );
            }
            (Some(_), _) => {
                self.grounds.hint_agrees = true;
                self.cite_hint(RuleId::A2, "readOnlyHint", "the vendor's hint agrees");
            }
            (None, _) => {}
        }
        if hints.destructive == Some(true) && self.class == Some(Class::Write) {
            self.signals.push(Signal::Overwrites);
            self.cite_hint(RuleId::A1, "destructiveHint", "the vendor says that it may overwrite");
        }
    }

    fn cite_hint(&mut self, rule: RuleId, hint: &'static str, says: &str) {
        self.evidence.push(Evidence {
            rule,
            place: Place::Annotation(hint),
            start: 0,
            end: 0,
            quote: String::new(),
            votes: None,
            says: says.to_owned(),
        });
    }

    /// Signals that follow from the class and the words; the class.
    fn note_signals(&mut self) -> Class {
        let class = self.class.unwrap_or(Class::Write);
        let has = |set: &Nouns, tokens: &[Token]| tokens.iter().any(|word| set.has(&word.text));
        let open = self.tool.hints.open_world == Some(true);
        let fetches = has(Nouns::untrusted(), &self.tokens) || self.signals.contains(&Signal::Url) || open;
        if class == Class::Read && fetches {
            self.signals.push(Signal::UntrustedText);
        }
        if has(Nouns::secret(), &self.tokens) {
            self.signals.push(Signal::Secret);
        }
        let pictures = |word: &Token| matches!(word.text.as_str(), "screenshot" | "screen" | "capture");
        if class == Class::Read && self.tokens.iter().any(pictures) {
            self.signals.push(Signal::SideFile);
        }
        if self.description.claims_read_only.is_some() {
            self.signals.push(Signal::ClaimsReadOnly);
        }
        if class == Class::Destructive {
            self.signals.push(Signal::Removal);
        }
        self.signals.sort_unstable();
        self.signals.dedup();
        self.grounds.forced_removal = class == Class::Destructive && self.signals.contains(&Signal::Force);
        class
    }

    fn rationale(&self, class: Class) -> String {
        rationale::rationale(&rationale::Facts {
            tool: self.tool,
            class,
            confidence: confidence(self.grounds),
            evidence: &self.evidence,
            signals: &self.signals,
            grounds: self.grounds,
        })
    }

    fn finish(self, class: Class) -> Classification {
        Classification {
            class,
            confidence: confidence(self.grounds),
            evidence: self.evidence,
            signals: self.signals,
            rationale: String::new(),
            hint_contradicts: self.hint_contradicts,
        }
    }
}

//! Putting the readings together: which class wins, and what speaks for it.

use super::confidence::{Grounds, confidence};
use super::description::{Description, front, read_description};
use super::evidence::{Evidence, Place, Signal, quote};
use super::money::{Surroundings, lead_moves_money, money_word};
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
use crate::words::{Nouns, Token, listed, split_name, split_text};

/// Verbs that run what they are given (S1).
const RUNNING: &str = "\
    run execute exec eval evaluate invoke test call shell bash command script terminal ssh debug \
    query do perform process send batch start spawn trigger";
/// Languages in which a query can change something.
const QUERY_LANGUAGES: &str = "\
    sql cypher gremlin mysql postgresql postgres sqlite";
/// Verbs that make something out of something else and become Write when a file comes out (S3).
const CONVERTING: &str = "\
    convert render translate extract encode format transcribe plot";
/// Verbs that, beside tools that run code, run code too (B1).
const BESIDE_CODE: &str = "\
    run test install load evaluate debug";
/// Verbs that run code when code is what they look at, beside tools that run code (B1).
const LOOKING_AT_CODE: &str = "\
    inspect profile trace print benchmark measure explore";

/// Classifies one tool beside its siblings.
pub fn classify(tool: &ToolDefinition, siblings: &Siblings) -> Classification {
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
    draft.finish()
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
            grounds: Grounds {
                described: tool.description.is_some(),
                ..Grounds::default()
            },
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
        self.grounds.firm_name =
            name.as_ref().is_some_and(Reading::is_firm) && !is_weak_verb(name.as_ref());
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

    /// A vague name with a list of operations in the description.
    fn hear_operations(&mut self, first: &Reading) {
        let Some(listed) = self.description.operations.clone() else {
            return;
        };
        if (first.is_vague() || first.base() == "write")
            && severity(listed.class) > severity(first.class)
        {
            self.class = Some(listed.class);
            self.cite_reading(&Reading {
                rule: RuleId::D2,
                ..listed
            });
        }
    }

    fn cite_reading(&mut self, reading: &Reading) {
        let of_name = matches!(reading.rule, RuleId::N1 | RuleId::N2);
        let (place, text) = if of_name {
            (Place::Name, self.tool.name.as_str())
        } else {
            (Place::Description, self.text())
        };
        let says = rationale::reading(reading);
        self.evidence.push(Evidence {
            rule: if reading.turned.is_some() {
                RuleId::N3
            } else {
                reading.rule
            },
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

    /// Rule S2.
    fn raise_by_choices(&mut self) {
        let said = std::mem::take(&mut self.said.evidence);
        self.evidence.extend(said);
        let Some(choice) = self.said.choice else {
            return;
        };
        let raises = self
            .class
            .is_none_or(|class| severity(choice) > severity(class));
        if raises {
            self.raise(choice);
            self.bring_forward(RuleId::S2);
            self.grounds.raised_by_schema = !self.grounds.named;
        }
    }

    fn bring_forward(&mut self, rule: RuleId) {
        if let Some(at) = self
            .evidence
            .iter()
            .position(|evidence| evidence.rule == rule)
        {
            let mut evidence = self.evidence.remove(at);
            evidence.votes = evidence.votes.or(self.class);
            self.evidence.insert(0, evidence);
        }
    }

    /// Rule S1.
    fn raise_by_code(&mut self) {
        self.raise_by_run_code();
        let runs = self.verb.is_empty() || listed(RUNNING, self.verb);
        let looks = self.class == Some(Class::Read) && !runs;
        let takes_code = self.said.code.as_ref().is_some_and(|code| {
            code.says_run || (runs && (code.unmistakable || self.verb != "query"))
        });
        if takes_code && (!looks || self.says_run()) {
            self.class = Some(
                self.class
                    .map_or(Class::Execute, |class| graver(class, Class::Execute)),
            );
            self.bring_forward(RuleId::S1);
            return;
        }
        self.raise_by_query_language();
    }

    /// The description opens with running code, whatever the name says.
    fn raise_by_run_code(&mut self) {
        let lead = self.description.lead.clone().filter(|lead| {
            let runs = matches!(lead.base(), "execute" | "run" | "evaluate" | "eval");
            runs && lead.class == Class::Execute
                && lead.object.iter().any(|word| Nouns::code().has(word))
        });
        let Some(lead) = lead.filter(|_| self.class == Some(Class::Read)) else {
            return;
        };
        self.raise(Class::Execute);
        self.signals.push(Signal::FreeFormCode);
        self.decided_by(Evidence {
            rule: RuleId::S1,
            place: Place::Description,
            start: lead.start,
            end: lead.end,
            quote: quote(self.text(), lead.start, lead.end),
            votes: Some(Class::Execute),
            says: "runs code that the caller gives".to_owned(),
        });
    }

    fn says_run(&self) -> bool {
        self.said.code.as_ref().is_some_and(|code| code.says_run)
    }

    /// A query whose language, named in the name or in the first lines, can change something.
    fn raise_by_query_language(&mut self) {
        if !matches!(self.verb, "query" | "execute" | "run" | "exec") {
            return;
        }
        let named = self
            .tokens
            .iter()
            .any(|word| listed(QUERY_LANGUAGES, word.text.as_str()))
            || self.siblings.server_speaks(QUERY_LANGUAGES);
        let lead = front(self.text(), 160);
        let words = split_text(lead, 40);
        let described = words
            .iter()
            .find(|word| listed(QUERY_LANGUAGES, word.text.as_str()));
        let (place, start, end) = match described {
            Some(word) => (Place::Description, word.start, word.end),
            None if named => (Place::Name, 0, self.tool.name.len()),
            None => return,
        };
        let text = if place == Place::Name {
            &self.tool.name
        } else {
            lead
        };
        self.raise(Class::Execute);
        self.signals.push(Signal::FreeFormCode);
        self.decided_by(Evidence {
            rule: RuleId::S1,
            quote: quote(text, start, end),
            place,
            start,
            end,
            votes: Some(Class::Execute),
            says: "a query in this language can change data".to_owned(),
        });
    }

    /// Rule S3: a converter that writes where the caller says.
    fn raise_by_output(&mut self) {
        if self.said.writes_to && self.class == Some(Class::Read) && listed(CONVERTING, self.verb) {
            self.raise(Class::Write);
            self.bring_forward(RuleId::S3);
        }
    }

    /// Rule B1.
    fn raise_by_siblings(&mut self) {
        let Some(runner) = self.siblings.code_runner(&self.tool.name) else {
            return;
        };
        let code = self.tokens.iter().any(|word| Nouns::code().has(&word.text));
        let beside = listed(BESIDE_CODE, self.verb)
            || (listed(LOOKING_AT_CODE, self.verb) && (code || self.said.code.is_some()));
        if !beside
            || self
                .class
                .is_some_and(|class| severity(class) > severity(Class::Execute))
        {
            return;
        }
        let raised = self.class != Some(Class::Execute);
        let runner = runner.to_owned();
        let evidence = Evidence {
            rule: RuleId::B1,
            place: Place::Siblings,
            start: 0,
            end: runner.len(),
            says: "another tool of this server runs code, so this one does too".to_owned(),
            quote: runner,
            votes: Some(Class::Execute),
        };
        self.raise(Class::Execute);
        if raised {
            self.decided_by(evidence);
        } else {
            self.evidence.push(evidence);
        }
    }

    /// Rule M1.
    fn raise_by_money(&mut self) {
        let about = self
            .tokens
            .iter()
            .any(|word| Nouns::money().has(&word.text));
        if about {
            self.signals.push(Signal::Money);
        }
        if !matches!(self.class, Some(Class::Write | Class::Execute)) {
            return;
        }
        let around = Surroundings {
            name: &self.tokens,
            description: self.text(),
            server: self.siblings.money,
            amount: self.signals.contains(&Signal::Amount),
        };
        let word = money_word(&around, self.verb).map(|word| (word.start, word.end));
        if let Some((start, end)) = word {
            self.money_evidence(Place::Name, start, end);
        } else if let Some(lead) = self.description.lead.clone().filter(lead_moves_money) {
            self.money_evidence(Place::Description, lead.start, lead.end);
        }
    }

    fn money_evidence(&mut self, place: Place, start: usize, end: usize) {
        let text = if place == Place::Name {
            self.tool.name.as_str()
        } else {
            self.text()
        };
        self.decided_by(Evidence {
            rule: RuleId::M1,
            quote: quote(text, start, end),
            place,
            start,
            end,
            votes: Some(Class::Financial),
            says: "money is moved or committed".to_owned(),
        });
        self.class = Some(Class::Financial);
        self.signals.push(Signal::Money);
    }

    /// Rule X1.
    fn raise_by_finality(&mut self) {
        let Some((start, end)) = self.description.no_way_back else {
            return;
        };
        self.signals.push(Signal::Removal);
        let changes = matches!(self.class, Some(Class::Write | Class::Destructive));
        if !changes || start > 400 {
            return;
        }
        self.raise(Class::Destructive);
        self.evidence.push(Evidence {
            rule: RuleId::X1,
            place: Place::Description,
            quote: quote(self.text(), start, end),
            start,
            end,
            votes: Some(Class::Destructive),
            says: "the description says that there is no way back".to_owned(),
        });
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
            (
                RuleId::Z0,
                Class::Write,
                "no rule matched, so it is not taken for harmless",
                Place::Absent,
            )
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
                self.cite_hint(
                    RuleId::A1,
                    "readOnlyHint",
                    "the vendor says that it changes something",
                );
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
            self.cite_hint(
                RuleId::A1,
                "destructiveHint",
                "the vendor says that it may overwrite",
            );
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

    /// Signals that follow from the class and the words.
    fn note_signals(&mut self, class: Class) {
        let has = |set: &Nouns, tokens: &[Token]| tokens.iter().any(|word| set.has(&word.text));
        let open = self.tool.hints.open_world == Some(true);
        let fetches =
            has(Nouns::untrusted(), &self.tokens) || self.signals.contains(&Signal::Url) || open;
        if class == Class::Read && fetches {
            self.signals.push(Signal::UntrustedText);
        }
        if has(Nouns::secret(), &self.tokens) {
            self.signals.push(Signal::Secret);
        }
        let pictures =
            |word: &Token| matches!(word.text.as_str(), "screenshot" | "screen" | "capture");
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
    }

    fn finish(mut self) -> Classification {
        let class = self.class.unwrap_or(Class::Write);
        self.note_signals(class);
        self.grounds.forced_removal =
            class == Class::Destructive && self.signals.contains(&Signal::Force);
        let confidence = confidence(self.grounds);
        let rationale = rationale::rationale(&rationale::Facts {
            tool: self.tool,
            class,
            confidence,
            evidence: &self.evidence,
            signals: &self.signals,
            grounds: self.grounds,
        });
        Classification {
            class,
            confidence,
            evidence: self.evidence,
            signals: self.signals,
            rationale,
            hint_contradicts: self.hint_contradicts,
        }
    }
}

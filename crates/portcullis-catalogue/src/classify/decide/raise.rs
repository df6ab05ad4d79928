//! What raises a class after the texts were read: choices, code, output files, siblings, money, finality.

use super::Draft;
use crate::Class;
use crate::classify::description::front;
use crate::classify::evidence::{Evidence, Place, Signal, quote};
use crate::classify::money::{Surroundings, lead_moves_money, money_word};
use crate::classify::parameters::{GRAPH_LANGUAGE, QUERY_LANGUAGES};
use crate::classify::rules::RuleId;
use crate::level::{graver, severity};
use crate::words::{Nouns, Token, WordList, split_text, words};

/// Verbs that run what they are given (S1).
static RUNNING: WordList = words!(
    "\
    run execute exec eval evaluate invoke test call shell bash command script terminal ssh debug \
    query do perform process send batch start spawn trigger"
);
/// Verbs that look at the code they are given and do not run it (S1).
static LOOKING_AT_TEXT: WordList = words!(
    "\
    explain validate verify analyze lint format parse translate convert review check beautify prettify minify \
    classify detect describe summarize estimate diff compare inspect tokenize highlight decode encode normalize \
    transpile audit critique explore interpret learn understand render preview visualize plot draw"
);
/// Verbs that, beside tools that run code, run code too (B1).
static BESIDE_CODE: WordList = words!(
    "\
    run test install load evaluate debug"
);
/// Verbs that run code when code is what they look at, beside tools that run code (B1).
static LOOKING_AT_CODE: WordList = words!(
    "\
    inspect profile trace print benchmark measure explore"
);

/// Bytes and words of a description that are searched for the name of a language.
const LEAD_BYTES: usize = 160;
const LEAD_WORDS: usize = 40;

impl Draft<'_> {
    /// Rule S2.
    pub(super) fn raise_by_choices(&mut self) {
        let said = std::mem::take(&mut self.said.evidence);
        self.evidence.extend(said);
        let Some(choice) = self.said.choice else {
            return;
        };
        let raises = self.class.is_none_or(|class| severity(choice) > severity(class));
        if raises {
            self.raise(choice);
            self.bring_forward(RuleId::S2);
            self.grounds.raised_by_schema = !self.grounds.named;
        }
    }

    fn bring_forward(&mut self, rule: RuleId) {
        if let Some(at) = self.evidence.iter().position(|evidence| evidence.rule == rule) {
            let mut evidence = self.evidence.remove(at);
            evidence.votes = evidence.votes.or(self.class);
            self.evidence.insert(0, evidence);
        }
    }

    /// Rule S1.
    pub(super) fn raise_by_code(&mut self) {
        self.raise_by_run_code();
        let runs = self.verb.is_empty() || RUNNING.has(self.verb);
        let looks = self.class == Some(Class::Read) && !runs;
        let takes_code = self
            .said
            .code
            .as_ref()
            .is_some_and(|code| code.says_run || (runs && (code.unmistakable || self.verb != "query")));
        let given = looks && !LOOKING_AT_TEXT.has(self.verb);
        let asks = given && self.said.code.as_ref().is_some_and(|code| code.language);
        if takes_code && (!looks || self.says_run()) || asks {
            self.class = Some(self.class.map_or(Class::Execute, |class| graver(class, Class::Execute)));
            self.bring_forward(RuleId::S1);
            return;
        }
        self.raise_by_query_language();
    }

    /// The description opens with running code, or a query in a language that can change something, whatever
    /// the name says.
    fn raise_by_run_code(&mut self) {
        let lead = self.description.lead.clone().filter(|lead| {
            let runs = matches!(lead.base(), "execute" | "run" | "evaluate" | "eval");
            let has = |wanted: &dyn Fn(&str) -> bool| lead.object.iter().any(|word| wanted(word));
            let code = lead.class == Class::Execute && has(&|word| Nouns::code().has(word));
            let query = has(&|word| matches!(word, "query" | "queries")) && self.speaks_query_language();
            runs && (code || query)
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

    /// The name or the server's name says the language.
    fn names_query_language(&self) -> bool {
        let says = |word: &Token| word.text == GRAPH_LANGUAGE || QUERY_LANGUAGES.has(&word.text);
        self.tokens.iter().any(says) || self.siblings.server_speaks(&QUERY_LANGUAGES)
    }

    fn speaks_query_language(&self) -> bool {
        let words = split_text(front(self.text(), LEAD_BYTES), LEAD_WORDS);
        let says = |word: &Token| word.text == "select" || QUERY_LANGUAGES.has(&word.text);
        self.names_query_language() || words.iter().any(says)
    }

    /// A query whose language, named in the name or in the first lines, can change something.
    fn raise_by_query_language(&mut self) {
        let lead = front(self.text(), LEAD_BYTES);
        let words = split_text(lead, LEAD_WORDS);
        // `MySQL query tool`: no verb, and yet a query.
        let is_query = |word: &Token| matches!(word.text.as_str(), "query" | "queries");
        let spoken =
            [&self.name, &self.description.lead].into_iter().flatten().any(|reading| reading.verb.is_some());
        let told = !spoken && self.class == Some(Class::Read) && words.iter().any(is_query);
        if !told && !matches!(self.verb, "query" | "execute" | "run" | "exec") {
            return;
        }
        let named = self.names_query_language();
        let described = words.iter().find(|word| QUERY_LANGUAGES.has(&word.text));
        let (place, start, end) = match described {
            Some(word) => (Place::Description, word.start, word.end),
            None if named => (Place::Name, 0, self.tool.name.len()),
            None => return,
        };
        let text = if place == Place::Name { &self.tool.name } else { lead };
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

    /// Rule S3: a look whose result is written where the caller says.
    pub(super) fn raise_by_output(&mut self) {
        if self.said.writes_to && self.class == Some(Class::Read) {
            self.raise(Class::Write);
            self.bring_forward(RuleId::S3);
        }
    }

    /// Rule B1.
    pub(super) fn raise_by_siblings(&mut self) {
        let Some(runner) = self.siblings.code_runner(&self.tool.name) else {
            return;
        };
        let code = self.tokens.iter().any(|word| Nouns::code().has(&word.text));
        let beside = BESIDE_CODE.has(self.verb)
            || (LOOKING_AT_CODE.has(self.verb) && (code || self.said.code.is_some()));
        if !beside || self.class.is_some_and(|class| severity(class) > severity(Class::Execute)) {
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
    pub(super) fn raise_by_money(&mut self) {
        let about = self.tokens.iter().any(|word| Nouns::money().has(&word.text));
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
        let text = if place == Place::Name { self.tool.name.as_str() } else { self.text() };
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
    pub(super) fn raise_by_finality(&mut self) {
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
}

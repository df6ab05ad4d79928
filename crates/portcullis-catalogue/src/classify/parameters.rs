//! Rules S1 to S10: what the parameters say.

use portcullis_json::Pointer;

use super::evidence::{Evidence, Place, Signal, quote};
use super::rules::RuleId;
use crate::Class;
use crate::definition::Parameter;
use crate::level::{graver, severity};
use crate::words::{Nouns, Token, WordList, split_name, split_text, verb, words};

/// From this many parameters on a tool has many (S6).
const MANY: usize = 12;
/// Words of a parameter's description that are read.
const WORDS_MAX: usize = 60;
/// Parameters whose choices name operations (S2).
static OPERATIONS: WordList = words!(
    "\
    method action operation mode command op verb subcommand"
);
/// Languages in which a query can change something.
pub(super) static QUERY_LANGUAGES: WordList = words!(
    "\
    sql tsql plsql partiql surrealql surql cypher gremlin mysql postgresql postgres sqlite mariadb mssql oracle \
    duckdb redshift snowflake bigquery clickhouse"
);
/// One in which a name or a parameter says it; in prose it is mostly the way to a service.
pub(super) const GRAPH_LANGUAGE: &str = "graphql";
/// Names of parameters that hold nothing but code of a language.
static LANGUAGE_NAMES: WordList = words!(
    "\
    sql cypher gremlin graphql shell bash powershell javascript js python lua groovy applescript osascript cmd"
);
/// What a language is named in front of: `SQL query`, `Cypher statement to run`.
static QUERY_NOUNS: WordList = words!(
    "\
    query queries statement statements command commands expression string text code to"
);
/// Languages in which a text can change something.
static LANGUAGES: WordList = words!(
    "\
    sql cypher gremlin shell bash powershell python javascript smalltalk lua ruby tsql plsql \
    mysql postgresql groovy applescript jql-script mutation"
);

/// Words beside which `code` and `expression` are peaceful.
static PEACEFUL: WordList = words!(
    "\
    country currency language zip postal iso error status cron regular math \
    mathematical arithmetic filter airport iata ticker locale verification authorization"
);
/// Words that say that something is put where a path leads.
static WRITTEN: WordList = words!("save saved saves saving write written writes");
/// Words that say that a text is run.
static RUN_WORDS: WordList = words!("execute executed run evaluate evaluated executing eval running");

/// What the parameters of one tool say.
#[derive(Default)]
pub(crate) struct Said {
    pub(crate) evidence: Vec<Evidence>,
    pub(crate) signals: Vec<Signal>,
    /// A parameter that takes code, and whether its own words say that it is run.
    pub(crate) code: Option<Code>,
    /// The gravest choice of an operation parameter.
    pub(crate) choice: Option<Class>,
    /// Whether a result is written to a path the caller names.
    pub(crate) writes_to: bool,
}

/// A free-form code parameter.
pub(crate) struct Code {
    pub(crate) says_run: bool,
    /// Called `sql`, `shell`, `script`: no other meaning is likely.
    pub(crate) unmistakable: bool,
    /// Only code fits in it: called by a language, or a query that is said to be in one that can change data.
    pub(crate) language: bool,
}

/// Looks at every parameter.
pub(crate) fn look(parameters: &[Parameter<'_>]) -> Said {
    let mut said = Said::default();
    for parameter in parameters {
        let words = split_name(parameter.name);
        free_form_code(parameter, &words, &mut said);
        choices(parameter, &words, &mut said);
        plain_signals(parameter, &words, &mut said);
    }
    if parameters.len() >= MANY {
        let says = format!("{} parameters", parameters.len());
        let place = Pointer::root().key("inputSchema").key("properties");
        said.signal(Signal::ManyParameters, RuleId::S6, place, "", says);
    }
    said
}

impl Said {
    fn signal(&mut self, signal: Signal, rule: RuleId, place: Pointer, name: &str, says: String) {
        if self.signals.contains(&signal) {
            return;
        }
        self.signals.push(signal);
        self.evidence.push(Evidence {
            rule,
            place: Place::Schema(place),
            start: 0,
            end: name.len(),
            quote: quote(name, 0, name.len()),
            votes: None,
            says,
        });
    }
}

fn free_form_code(parameter: &Parameter<'_>, words: &[Token], said: &mut Said) {
    let head = words.last().map(|word| word.text.as_str()).unwrap_or_default();
    let several = matches!(head, "commands" | "statements" | "queries" | "scripts");
    let holds_text = |kind: &str| kind == "string" || kind == "array" && several;
    if parameter.bounded && !parameter.choices.is_empty() || !parameter.kind.is_none_or(holds_text) {
        return;
    }
    let text = parameter.description.map(|text| split_text(text, WORDS_MAX)).unwrap_or_default();
    let mentions = |wanted: &WordList| text.iter().any(|word| wanted.has(&word.text));
    let is_query = matches!(head, "query" | "queries" | "statement" | "text");
    let named = is_query && words.iter().any(is_query_language);
    let queried = is_query && is_in_query_language(&text);
    let by_language = named || queried || is_query && mentions(&LANGUAGES);
    // `code` and `expression` have many peaceful meanings; a qualifier in front of them is one.
    let qualified = words.len() > 1 && matches!(head, "code" | "expression" | "command" | "statement");
    let peaceful = mentions(&PEACEFUL);
    let own = words.first().is_some_and(|word| Nouns::code().has(&word.text) || LANGUAGES.has(&word.text));
    let by_name = Nouns::code().has(head) && (LANGUAGE_NAMES.has(head) || (!qualified || own) && !peaceful);
    if !(by_name || by_language) {
        return;
    }
    let says_run = mentions(&RUN_WORDS);
    let unmistakable =
        by_language || !matches!(head, "code" | "expression" | "statement" | "command" | "program");
    let language = named || queried || LANGUAGE_NAMES.has(head);
    let known = said.code.take();
    said.code = Some(Code {
        says_run: says_run || known.as_ref().is_some_and(|code| code.says_run),
        unmistakable: unmistakable || known.as_ref().is_some_and(|code| code.unmistakable),
        language: language || known.is_some_and(|code| code.language),
    });
    let says = format!("takes free-form {}", if by_language { "code in a named language" } else { "code" });
    said.signal(Signal::FreeFormCode, RuleId::S1, parameter.place.clone(), parameter.name, says);
}

/// `SQL query to run`, `a Cypher statement`: not `text to find in SQL functions`.
fn is_in_query_language(text: &[Token]) -> bool {
    let next = |at: usize| text.get(at + 1).is_none_or(|word| QUERY_NOUNS.has(&word.text));
    text.iter().enumerate().any(|(at, word)| is_query_language(word) && next(at))
}

fn is_query_language(word: &Token) -> bool {
    word.text == GRAPH_LANGUAGE || QUERY_LANGUAGES.has(&word.text)
}

/// Rule S2.
fn choices(parameter: &Parameter<'_>, words: &[Token], said: &mut Said) {
    let head = words.last().map(|word| word.text.as_str()).unwrap_or_default();
    if !OPERATIONS.has(head) || parameter.choices.is_empty() {
        return;
    }
    let http = ["GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS"];
    let is_http = parameter.choices.iter().filter(|choice| http.contains(choice)).count() >= 2;
    let worst = if is_http {
        Some((Class::Execute, "the HTTP method is the caller's choice".to_owned()))
    } else {
        worst_choice(&parameter.choices)
    };
    let Some((class, says)) = worst else { return };
    said.choice = Some(said.choice.map_or(class, |before| graver(before, class)));
    said.evidence.push(Evidence {
        rule: RuleId::S2,
        place: Place::Schema(parameter.place.key("enum")),
        start: 0,
        end: parameter.name.len(),
        quote: quote(parameter.name, 0, parameter.name.len()),
        votes: Some(class),
        says,
    });
}

fn worst_choice(choices: &[&str]) -> Option<(Class, String)> {
    choices
        .iter()
        .filter_map(|choice| {
            let reading = super::name::read_name(&split_name(choice), 0)?;
            Some((reading.class, format!("one choice is `{}`", quote(choice, 0, choice.len()))))
        })
        .max_by_key(|(class, _)| severity(*class))
}

/// Whether a result goes to the path that the parameter takes: its name says so, or its description.
fn writes_there(parameter: &Parameter<'_>, words: &[Token]) -> bool {
    let has = |wanted: &[&str]| words.iter().any(|word| wanted.contains(&word.text.as_str()));
    let place = has(&["path", "filepath", "dir", "directory", "folder"]);
    let output = has(&["output", "save", "destination", "dest", "out"]);
    if output && (place || has(&["file", "filename"])) {
        return true;
    }
    let text = parameter.description.map(|text| split_text(text, WORDS_MAX)).unwrap_or_default();
    place && text.iter().any(|word| WRITTEN.has(&word.text))
}

fn plain_signals(parameter: &Parameter<'_>, words: &[Token], said: &mut Said) {
    let has = |wanted: &[&str]| words.iter().any(|word| wanted.contains(&word.text.as_str()));
    let head = words.last().map(|word| word.text.as_str()).unwrap_or_default();
    let mut add = |signal, rule, says: &str| {
        said.signal(signal, rule, parameter.place.clone(), parameter.name, says.to_owned());
    };
    if has(&["path", "paths", "file", "filename", "filepath", "directory", "dir", "folder"]) {
        add(Signal::Path, RuleId::S3, "takes a file path");
    }
    let by_format = parameter.format.is_some_and(|format| matches!(format, "uri" | "url" | "hostname"));
    if by_format || has(&["url", "urls", "uri", "host", "hostname", "endpoint", "webhook", "domain"]) {
        add(Signal::Url, RuleId::S4, "takes a URL or host");
    }
    if has(&["html", "template", "css"]) {
        add(Signal::HtmlTemplate, RuleId::S5, "takes HTML or a template");
    }
    let recipient =
        matches!(head, "to" | "recipient" | "recipients" | "cc" | "bcc" | "email" | "emails" | "phone");
    if recipient || has(&["recipient", "recipients"]) {
        add(Signal::Recipient, RuleId::S7, "takes a recipient");
    }
    if has(&["amount", "currency", "price", "lamports", "wei", "sats"]) {
        add(Signal::Amount, RuleId::S8, "takes an amount or a currency");
    }
    if has(&["force", "recursive", "recursively", "cascade", "hard"]) {
        add(Signal::Force, RuleId::S9, "has a force or recursive flag");
    }
    let secret = Nouns::secret().has(head)
        || has(&["password", "secret", "apikey"])
        || has(&["private"]) && has(&["key"]);
    if secret && verb(head).is_none() {
        add(Signal::Secret, RuleId::S10, "takes a secret");
    }
    if writes_there(parameter, words) {
        said.writes_to = true;
        let (rule, says) = (RuleId::S3, "writes to a path that the caller names");
        said.evidence.retain(|evidence| evidence.rule != rule);
        said.signals.retain(|signal| *signal != Signal::Path);
        said.signal(Signal::Path, rule, parameter.place.clone(), parameter.name, says.to_owned());
    }
}

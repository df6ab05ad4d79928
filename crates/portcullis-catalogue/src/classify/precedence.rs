//! Name or description: which of two readings decides.

use super::reading::Reading;
use super::rules::RuleId;
use crate::Class;
use crate::level::severity;
use crate::words::{Form, Kind, Token, WordList, fold, words};

/// Whether the description decides and not the name.
pub(crate) fn lead_wins(name: &Reading, lead: &Reading, tokens: &[Token]) -> bool {
    let worse = severity(lead.class) > severity(name.class);
    let open_to_more = name.class == Class::Read || name.is_vague() || name.base() == "write";
    if lead.alternatives && lead.sure && worse && open_to_more {
        return true;
    }
    if name.is_vague() || name.verb.is_none() && (!name.sure || lead.is_vague()) {
        return lead.verb.is_some() || worse;
    }
    if name.base() == lead.base() {
        return lead.turned.is_some() && (!name.is_firm() || name.class == Class::Read && worse);
    }
    if names_what_is_looked_at(name, lead) {
        return true;
    }
    // `press_key`, `Simulates pressing a key`: the description says the verb of the name again.
    let again =
        |word: &String| fold(word).is_some_and(|(verb, form)| form == Form::Ing && verb.base == name.base());
    if lead.class == Class::Read && lead.object.iter().any(again) {
        return false;
    }
    // `drop_doors`, `Lists the doors`: no description talks away what the name opens with, unless it uses the
    // word for something that is looked at (`Lists open orders`).
    if name.opens && name.class != Class::Read && lead.class == Class::Read {
        return lead.object.iter().any(|word| is_form_of(word, name.base()));
    }
    // The description opens with another verb of the same name: that one is the verb.
    let named = lead.is_firm() && tokens.iter().any(|word| word.text == lead.base());
    let closes = tokens.last().is_some_and(|word| word.text == lead.base());
    let plain = name.verb.is_some_and(|verb| verb.kind == Kind::Strict) && CORE.has(name.base());
    if named && !plain && (closes || !CORE.has(name.base())) {
        return true;
    }
    if name.is_firm() {
        let looks = name.class == Class::Read && worse;
        let soft = !CORE.has(name.base());
        let changes = name.rule == RuleId::N2 || lead.class != Class::Execute;
        let placed = name.turned.is_some() && lead.sure;
        return looks && (lead.states_an_act() || soft && (changes && lead.is_firm() || placed));
    }
    lead.is_firm() || worse && lead.verb.is_some()
}

/// Verbs that are as good a noun, where the name does not open with them.
static ALSO_NOUNS: WordList = words!(
    "\
    run upload download export import transition update change install launch start restore copy move \
    replay transfer deployment"
);

/// `recent_run`, `Get the latest run of a door`: the word of the name is what is looked at.
fn names_what_is_looked_at(name: &Reading, lead: &Reading) -> bool {
    let opens = name.rule == RuleId::N1 && !name.object.is_empty();
    let looks = lead.class == Class::Read && lead.is_firm() && CORE.has(lead.base());
    let is_object = |object: &String| is_form_of(object, name.base());
    !opens && looks && ALSO_NOUNS.has(name.base()) && lead.object.iter().any(is_object)
}

/// The word itself, or its plural.
fn is_form_of(word: &str, base: &str) -> bool {
    word == base || word.strip_suffix('s').is_some_and(|one| one == base)
}

/// Verbs of looking that are nothing else.
static CORE: WordList = words!(
    "\
    get list fetch read search find retrieve describe show view"
);

/// Verbs that stay doubtful without a description, however plain they stand in the name.
pub(crate) fn is_weak_verb(name: Option<&Reading>) -> bool {
    name.is_some_and(|name| {
        matches!(name.base(), "export" | "import" | "apply" | "download" | "sync" | "save")
    })
}

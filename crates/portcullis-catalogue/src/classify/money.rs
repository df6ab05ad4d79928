//! Rule M1: a mutating verb together with money.

use super::description::front;
use super::reading::Reading;
use crate::Class;
use crate::words::{Nouns, Token, WordList, split_text, words};

/// Verbs that keep books about money without moving it.
static BOOKKEEPING: WordList = words!(
    "\
    export import download upload save configure tag label mark annotate archive log note track \
    index sync enable disable connect login link attach share rename write store ingest \
    subscribe unsubscribe generate assign categorize load record"
);
/// Last words of names whose money noun only says what something is about.
static ABOUT: WordList = words!(
    "\
    setting settings template webhook report config configuration note tag comment label \
    category notification alert rule export test customer contact address profile attachment \
    file document"
);
/// Verbs that commit, with a noun that is ambiguous.
static COMMITS: WordList = words!(
    "\
    create place submit cancel execute make confirm send sign broadcast approve open close \
    update complete finalize start book modify add process authorize settle order post amend \
    pause resume upgrade deactivate expire claim new accept"
);
/// Verbs that move value from one place to another.
static MOVES: WordList = words!(
    "\
    swap trade transfer stake unstake bridge mint borrow lend deposit send supply convert \
    exchange"
);
/// What is moved.
static VALUE: WordList = words!(
    "\
    token tokens coin coins eth sol btc usdc usdt nft nfts erc20 crypto sats bitcoin native \
    asset assets credit credits stx ada apt sui matic bnb xrp"
);
/// Ambiguous nouns that need a committing verb.
static COMMITTED: WordList = words!(
    "\
    order orders subscription subscriptions booking bookings reservation trade swap transaction \
    tx bet loan transfer position bill bills ticket_order stake"
);
/// Verbs and nouns of version control and databases, where `checkout` and `transaction` are no money.
static NOT_MONEY: WordList = words!(
    "\
    git branch sql database commit rollback repository"
);
/// Bytes of the description that count as surroundings.
const AROUND_BYTES: usize = 400;

/// What is looked at.
pub(crate) struct Surroundings<'a> {
    pub(crate) name: &'a [Token],
    pub(crate) description: &'a str,
    /// The server is about money.
    pub(crate) server: bool,
    /// A parameter takes an amount or a currency.
    pub(crate) amount: bool,
}

/// The word of the name that makes a mutating tool Financial.
pub(crate) fn money_word<'a>(around: &Surroundings<'a>, verb: &str) -> Option<&'a Token> {
    let head = around.name.last().map(|word| word.text.as_str()).unwrap_or_default();
    if ABOUT.has(head) || BOOKKEEPING.has(verb) {
        return None;
    }
    let certain = around.name.iter().find(|word| Nouns::money().has(&word.text));
    certain.or_else(|| moved_value(around, verb)).or_else(|| committed(around, verb))
}

fn moved_value<'a>(around: &Surroundings<'a>, verb: &str) -> Option<&'a Token> {
    let moves = MOVES.has(verb);
    let value = around.name.iter().find(|word| VALUE.has(&word.text));
    match value {
        Some(word) if moves => Some(word),
        None if moves && verb != "send" && verb != "convert" && around.speak_of_money("") => {
            around.name.iter().find(|word| word.text == verb)
        }
        _ => None,
    }
}

fn committed<'a>(around: &Surroundings<'a>, verb: &str) -> Option<&'a Token> {
    if !COMMITS.has(verb) && !MOVES.has(verb) {
        return None;
    }
    let noun = around.name.iter().find(|word| COMMITTED.has(&word.text))?;
    around.speak_of_money(&noun.text).then_some(noun)
}

impl Surroundings<'_> {
    /// Whether anything but `noun` itself speaks of money.
    fn speak_of_money(&self, noun: &str) -> bool {
        if self.name.iter().any(|word| NOT_MONEY.has(&word.text)) {
            return false;
        }
        let speaks = |word: &Token| word.text != noun && Nouns::money_context().has(&word.text);
        self.server
            || self.amount
            || self.name.iter().any(speaks)
            || split_text(front(self.description, AROUND_BYTES), 80).iter().any(speaks)
    }
}

/// Whether the leading clause of the description moves money by itself.
pub(crate) fn lead_moves_money(lead: &Reading) -> bool {
    let firm = lead.is_firm() && lead.class == Class::Financial;
    let head = lead.object.last().map(String::as_str).unwrap_or_default();
    let pays = matches!(lead.class, Class::Write | Class::Execute)
        && Nouns::money().has(head)
        && !BOOKKEEPING.has(lead.base());
    firm || pays
}

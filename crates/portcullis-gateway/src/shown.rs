//! A list of tools that a server gives again, word for word, is shown again without being read anew.
//!
//! INVARIANT: list equals call. What was shown is good for as long as everything that it was cut by is the
//! same: the server's words, the policy, the classes, the tools that are known, the pins. Nothing of the caller
//! or the moment changes a list: neither arguments nor limits nor time.

use std::sync::{Arc, Weak};

use arc_swap::ArcSwap;
use bytes::Bytes;
use portcullis_json::compact;
use portcullis_mcp::{Era, Id};
use portcullis_state::pins::Fingerprints;

use crate::authenticate::Caller;
use crate::budget::Spent;
use crate::catalogue::Known;
use crate::gateway::Gateway;
use crate::server::Server;
use crate::snapshot::{ActivePolicy, Tuning};

/// Lists of one server that are kept: its pages, for a few policies.
const LISTS_MAX: usize = 8;
/// Bytes of them, as they came and as they were shown.
const BYTES_MAX: usize = 16 << 20;

/// The usual beginning of an answer.
const BEFORE_ID: &str = r#"{"jsonrpc":"2.0","id":"#;

/// An answer as it came, and which of its bytes are the id that it answers.
pub(crate) struct Verbatim {
    pub(crate) text: Bytes,
    pub(crate) era: Era,
    pub(crate) id: Id,
    id_at: usize,
    id_bytes: usize,
    /// What the text takes of the room for bodies.
    _spent: Spent,
}

impl Verbatim {
    /// An answer to this id, if it is plain where it says so: at the very beginning, or at the very end.
    ///
    /// Elsewhere the same bytes could stand in a text. At the end they cannot: a quotation mark behind a comma
    /// opens a key, or else the whole is no JSON; and only what was read as a response under this id is kept.
    pub(crate) fn of(text: &Bytes, era: Era, id: &Id) -> Option<Verbatim> {
        let spelling = compact(&id.to_value());
        let id_at = if text.starts_with(format!("{BEFORE_ID}{spelling},").as_bytes()) {
            BEFORE_ID.len()
        } else if text.ends_with(format!(",\"id\":{spelling}}}").as_bytes()) {
            text.len() - 1 - spelling.len()
        } else {
            return None;
        };
        let (id, id_bytes, _spent) = (id.clone(), spelling.len(), Spent::default());
        Some(Verbatim { text: text.clone(), era, id, id_at, id_bytes, _spent })
    }

    /// The same, with the room that its text takes.
    pub(crate) fn holding(self, spent: Spent) -> Verbatim {
        Verbatim { _spent: spent, ..self }
    }

    /// In memory of its own, no larger than it is: what came may be a part of something larger.
    fn copied(self) -> Verbatim {
        Verbatim { text: Bytes::copy_from_slice(&self.text), _spent: Spent::default(), ..self }
    }

    /// Whether both say the same, each under its own id.
    fn says(&self, other: &Verbatim) -> bool {
        self.era == other.era && self.words().is_some_and(|words| Some(words) == other.words())
    }

    /// What stands before the id and behind it.
    fn words(&self) -> Option<(&[u8], &[u8])> {
        Some((self.text.get(..self.id_at)?, self.text.get(self.id_at + self.id_bytes..)?))
    }
}

/// What a list was cut by. It keeps nothing alive; but as long as there is one, nothing else can be taken for the same.
pub(crate) struct Cut {
    policy: Weak<ActivePolicy>,
    known: Weak<Known>,
    pins: Weak<Fingerprints>,
    tuning: Weak<Tuning>,
}

impl Cut {
    /// What a list for this caller is cut by at this moment.
    pub(crate) fn now(gateway: &Gateway, caller: &Caller) -> Cut {
        let server: &Server = &caller.server;
        let pins = gateway.state.pins.of_server(server.name());
        Cut {
            policy: caller.policy.as_ref().map(Arc::downgrade).unwrap_or_default(),
            known: server.catalogue.known().as_ref().map(Arc::downgrade).unwrap_or_default(),
            pins: pins.as_ref().map(Arc::downgrade).unwrap_or_default(),
            tuning: Arc::downgrade(&server.tuning()),
        }
    }

    fn is(&self, other: &Cut) -> bool {
        self.is_of_the_same_tools(other) && self.policy.ptr_eq(&other.policy)
    }

    fn is_of_the_same_tools(&self, other: &Cut) -> bool {
        self.tuning.ptr_eq(&other.tuning) && self.known.ptr_eq(&other.known) && self.pins.ptr_eq(&other.pins)
    }
}

/// A list that was shown.
struct Shown {
    said: Verbatim,
    cut: Cut,
    result: Arc<str>,
}

impl Shown {
    fn bytes(&self) -> usize {
        self.said.text.len() + self.result.len()
    }

    fn is_of_use_beside(&self, new: &Shown) -> bool {
        let is_replaced = self.cut.is(&new.cut) && self.said.says(&new.said);
        self.cut.is_of_the_same_tools(&new.cut) && !is_replaced
    }
}

/// The lists that a server gave last.
#[derive(Default)]
pub(crate) struct ShownLists {
    lists: ArcSwap<Vec<Arc<Shown>>>,
}

impl ShownLists {
    /// Whether these very words were read before.
    pub(crate) fn has_read(&self, said: &Verbatim) -> bool {
        self.lists.load().iter().any(|shown| shown.said.says(said))
    }

    /// The result that was shown for these words, cut by the same.
    pub(crate) fn find(&self, said: &Verbatim, cut: &Cut) -> Option<Arc<str>> {
        let lists = self.lists.load();
        let shown = lists.iter().find(|shown| shown.cut.is(cut) && shown.said.says(said))?;
        Some(shown.result.clone())
    }

    /// Keeps what is shown for these words; what was cut by other tools or pins is of no use any more.
    pub(crate) fn keep(&self, said: Verbatim, cut: Cut, result: Arc<str>) {
        let new = Arc::new(Shown { said: said.copied(), cut, result });
        if new.bytes() > BYTES_MAX {
            return;
        }
        self.lists.rcu(|before| {
            let mut bytes = new.bytes();
            let fits = |shown: &&Arc<Shown>| {
                bytes += shown.bytes();
                bytes <= BYTES_MAX
            };
            let others = before.iter().filter(|shown| shown.is_of_use_beside(&new)).take(LISTS_MAX - 1);
            std::iter::once(&new).chain(others.take_while(fits)).cloned().collect::<Vec<_>>()
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use portcullis_policy::Policy;

    fn said(text: &str, id: i64) -> Option<Verbatim> {
        Verbatim::of(&Bytes::from(text.to_owned()), Era::Modern, &Id::from(id))
    }

    #[test]
    fn the_id_is_found_at_either_end_and_nowhere_else() {
        let first = |id| format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"tools":[7]}}}}"#);
        let last = |id| format!(r#"{{"result":{{"tools":[7]}},"jsonrpc":"2.0","id":{id}}}"#);
        for text in [first, last] {
            let (seven, eight) = (said(&text(7), 7).unwrap(), said(&text(81), 81).unwrap());
            assert!(seven.says(&eight));
        }
        assert!(said(&first(7), 8).is_none());
        assert!(said(&last(77), 7).is_none());
        assert!(said(r#"{"id":7,"jsonrpc":"2.0","result":{}}"#, 7).is_none());
        assert!(!said(&first(7), 7).unwrap().says(&said(&last(7), 7).unwrap()));
    }

    #[test]
    fn other_words_or_another_era_are_not_the_same() {
        let text = |tool| format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"tools":["{tool}"]}}}}"#);
        let one = said(&text("a"), 1).unwrap();
        assert!(!one.says(&said(&text("b"), 1).unwrap()));
        assert!(!one.says(&said(&text("aa"), 1).unwrap()));
        let mut older = said(&text("a"), 1).unwrap();
        older.era = Era::Legacy(portcullis_mcp::LegacyRevision::NEWEST);
        assert!(!one.says(&older));
    }

    fn policy() -> Arc<ActivePolicy> {
        let policy = Policy::parse(br#"{"version":"1","default":"allow"}"#).unwrap();
        Arc::new(ActivePolicy { name: "p".into(), version: 1, hash: [0; 32], policy })
    }

    fn cut(policy: &Arc<ActivePolicy>, pins: &Arc<Fingerprints>, tuning: &Arc<Tuning>) -> Cut {
        let (policy, pins, tuning) = (Arc::downgrade(policy), Arc::downgrade(pins), Arc::downgrade(tuning));
        Cut { policy, known: Weak::new(), pins, tuning }
    }

    #[test]
    fn what_was_shown_is_good_only_for_what_it_was_cut_by() {
        let lists = ShownLists::default();
        let words = |id| said(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#), id).unwrap();
        let (one, other, pins, tuning) = (policy(), policy(), Arc::default(), Arc::default());
        lists.keep(words(1), cut(&one, &pins, &tuning), "first".into());
        assert!(lists.has_read(&words(2)));
        assert_eq!(lists.find(&words(2), &cut(&one, &pins, &tuning)).as_deref(), Some("first"));
        assert_eq!(lists.find(&words(2), &cut(&other, &pins, &tuning)), None);
        lists.keep(words(3), cut(&other, &pins, &tuning), "second".into());
        assert_eq!(lists.find(&words(4), &cut(&one, &pins, &tuning)).as_deref(), Some("first"));
        assert_eq!(lists.find(&words(4), &cut(&other, &pins, &tuning)).as_deref(), Some("second"));
        let accepted = Arc::default();
        assert_eq!(lists.find(&words(4), &cut(&one, &accepted, &tuning)), None);
        let retuned = Arc::default();
        assert_eq!(lists.find(&words(4), &cut(&one, &pins, &retuned)), None);
        lists.keep(words(5), cut(&one, &accepted, &tuning), "third".into());
        assert_eq!(lists.lists.load().len(), 1, "what was cut by other pins is gone");
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let lists = ShownLists::default();
        let (policy, pins, tuning) = (policy(), Arc::default(), Arc::default());
        for page in 0..20 {
            let text = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{page}}}"#);
            lists.keep(said(&text, 1).unwrap(), cut(&policy, &pins, &tuning), "x".into());
        }
        assert_eq!(lists.lists.load().len(), LISTS_MAX);
        for page in [1, 2] {
            let text =
                format!(r#"{{"jsonrpc":"2.0","id":1,"result":[{page},"{}"]}}"#, "x".repeat(BYTES_MAX / 2));
            lists.keep(said(&text, 1).unwrap(), cut(&policy, &pins, &tuning), "x".into());
        }
        assert_eq!(lists.lists.load().len(), 1, "both together are too large");
        let large: Arc<str> = "x".repeat(BYTES_MAX).into();
        lists.keep(
            said(r#"{"jsonrpc":"2.0","id":1,"result":0}"#, 1).unwrap(),
            cut(&policy, &pins, &tuning),
            large,
        );
        assert_eq!(lists.lists.load().len(), 1, "what is too large is not kept");
    }
}

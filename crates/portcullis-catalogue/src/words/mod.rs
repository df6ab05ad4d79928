//! Words: how names and sentences are cut up, folded to base forms and looked up.
//!
//! Knows nothing of risk beyond what the lexicon says of one word. The classifier and the combinations call it.

mod fold;
mod foreign;
mod lexicon;
mod list;
mod nouns;
mod split;

pub(crate) use fold::{Form, fold};
pub(crate) use foreign::{foreign_verbs, says_manage};
pub(crate) use lexicon::{Kind, Verb, phrasal, verb};
pub(crate) use list::{WordList, words};
pub(crate) use nouns::Nouns;
pub(crate) use split::{Token, split_name, split_text};

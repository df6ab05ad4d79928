//! Things keyed by a name or a glob, found without looking at all of them.
//!
//! A name is found in one look-up. Globs are found by their literal prefix, so the cost is that of the
//! globs that could match, not of all that are written.

use std::collections::BTreeSet;

use ahash::HashMap;

use crate::glob::Glob;

#[derive(Debug)]
pub(crate) struct Names<T> {
    items: Vec<T>,
    exact: HashMap<String, usize>,
    globs: Vec<GlobKey>,
    /// Literal prefix to the globs that have it.
    by_prefix: HashMap<String, Vec<usize>>,
    prefix_bytes: BTreeSet<usize>,
}

#[derive(Debug)]
struct GlobKey {
    glob: Glob,
    /// Smaller is more specific: fewest literals last, ties by byte order of the key.
    rank: usize,
    item: usize,
}

impl<T> Names<T> {
    /// Keys that hold `*` or `?` are globs, and names as well.
    pub(crate) fn new(entries: Vec<(String, Glob, T)>) -> Names<T> {
        let mut order: Vec<usize> = (0..entries.len()).collect();
        let specificity = |index: &usize| {
            entries
                .get(*index)
                .map(|(key, glob, _)| (std::cmp::Reverse(glob.literal_characters()), key.clone()))
        };
        order.sort_by_cached_key(specificity);
        let mut rank_of = vec![0; entries.len()];
        for (rank, index) in order.into_iter().enumerate() {
            if let Some(slot) = rank_of.get_mut(index) {
                *slot = rank;
            }
        }
        let mut names = Names {
            items: Vec::new(),
            exact: HashMap::default(),
            globs: Vec::new(),
            by_prefix: HashMap::default(),
            prefix_bytes: BTreeSet::new(),
        };
        for ((key, glob, item), rank) in entries.into_iter().zip(rank_of) {
            names.add(key, glob, item, rank);
        }
        names
    }

    fn add(&mut self, key: String, glob: Glob, item: T, rank: usize) {
        let index = self.items.len();
        self.items.push(item);
        if Glob::is_glob(&key) {
            let prefix = glob.literal_prefix();
            self.prefix_bytes.insert(prefix.len());
            self.by_prefix.entry(prefix).or_default().push(self.globs.len());
            self.globs.push(GlobKey { glob, rank, item: index });
        }
        self.exact.insert(key, index);
    }

    /// The item under the exact name; else under the most specific glob that matches.
    pub(crate) fn find(&self, name: &str) -> Option<&T> {
        if let Some(index) = self.exact.get(name) {
            return self.items.get(*index);
        }
        let candidates = self.prefix_bytes.iter().filter_map(|bytes| name.get(..*bytes));
        candidates
            .filter_map(|prefix| self.by_prefix.get(prefix))
            .flatten()
            .filter_map(|index| self.globs.get(*index))
            .filter(|key| key.glob.matches(name))
            .min_by_key(|key| key.rank)
            .and_then(|key| self.items.get(key.item))
    }

    /// Everything, in the order it was written.
    pub(crate) fn items(&self) -> impl Iterator<Item = &T> {
        self.items.iter()
    }

    /// The item that was written under exactly this key.
    pub(crate) fn find_key(&self, key: &str) -> Option<&T> {
        self.exact.get(key).and_then(|index| self.items.get(*index))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(keys: &[&str]) -> Names<String> {
        Names::new(
            keys.iter().map(|key| ((*key).to_owned(), Glob::new(key).unwrap(), (*key).to_owned())).collect(),
        )
    }

    #[test]
    fn exact_beats_glob_and_literals_beat_stars() {
        let names = names(&["*", "get_*", "*_user", "get_user", "a*b", "odd?"]);
        for (name, expected) in [
            ("get_user", "get_user"),
            ("get_thing", "get_*"),
            ("new_user", "*_user"),
            // `*_user` has five literal characters, `get_*` four.
            ("get_a_user", "*_user"),
            ("zzz", "*"),
            // Tried as an exact name before it is tried as a glob.
            ("odd?", "odd?"),
            ("oddx", "odd?"),
        ] {
            assert_eq!(names.find(name).unwrap(), expected, "{name}");
        }
    }

    #[test]
    fn a_tie_goes_to_the_first_by_byte_order() {
        assert_eq!(names(&["b*", "*b"]).find("bb").unwrap(), "*b");
    }

    #[test]
    fn nothing_matches_nothing() {
        assert!(names(&["a", "b*"]).find("c").is_none());
        assert!(names(&["é*"]).find("e").is_none());
    }
}

//! Two globs that match the same name and are equally specific: byte order decides between them.

use std::collections::HashMap;

use super::{Effort, EntryPlace, tools};
use crate::glob::Glob;
use crate::policy::Policy;
use crate::problem::Problems;

pub(super) fn warn(policy: &Policy, effort: &mut Effort, problems: &mut Problems) {
    let mut by_literals: HashMap<usize, Vec<(Vec<char>, &str)>> = HashMap::new();
    for (key, place) in tools(policy).filter(|(key, _)| Glob::is_glob(key)) {
        let pattern: Vec<char> = key.chars().collect();
        let literals = pattern.iter().filter(|one| !matches!(one, '*' | '?'));
        let rivals = by_literals.entry(literals.count()).or_default();
        for (rival, rival_key) in &*rivals {
            if !effort.allows(1 + steps(&pattern, rival)) {
                return;
            }
            if let Some(name) = common_name(&pattern, rival) {
                report(key, rival_key, &name, &place, problems);
                break;
            }
        }
        rivals.push((pattern, key));
    }
}

fn report(key: &str, rival: &str, name: &str, place: &EntryPlace<'_>, problems: &mut Problems) {
    let example = if name.is_empty() { String::new() } else { format!(", such as `{name}`,") };
    let winner = key.min(rival);
    problems.warn_at_key(
        &place.at,
        format!("`{key}` and `{rival}` are equally specific: for a name that both match{example} `{winner}` is chosen by byte order"),
        "make one of them longer, or name the tool that both match",
    );
}

/// What comparing costs; nothing where the first or last characters already differ.
fn steps(a: &[char], b: &[char]) -> usize {
    if can_start_alike(a.iter(), b.iter()) && can_start_alike(a.iter().rev(), b.iter().rev()) {
        (a.len() + 1) * (b.len() + 1)
    } else {
        0
    }
}

fn can_start_alike<'c>(a: impl Iterator<Item = &'c char>, b: impl Iterator<Item = &'c char>) -> bool {
    a.zip(b).take_while(|(a, b)| **a != '*' && **b != '*').all(|(a, b)| one_fits_both(*a, *b).is_some())
}

/// A character that both single places match.
fn one_fits_both(a: char, b: char) -> Option<char> {
    match (a, b) {
        ('?', '?') => Some('a'),
        ('?', other) | (other, '?') => Some(other),
        (a, b) => (a == b).then_some(a),
    }
}

/// A name that both patterns match, if there is one.
fn common_name(a: &[char], b: &[char]) -> Option<String> {
    if steps(a, b) == 0 {
        return None;
    }
    let meets = Meeting::of(a, b);
    let (mut i, mut j, mut name) = (0, 0, String::new());
    while (i, j) != (a.len(), b.len()) {
        let step = moves(a, b, i, j).into_iter().flatten().find(|step| meets.at(step.i, step.j))?;
        name.extend(step.character);
        (i, j) = (step.i, step.j);
    }
    Some(name)
}

/// One way on through both patterns.
struct Move {
    i: usize,
    j: usize,
    character: Option<char>,
}

/// The ways on from before `a[i]` and `b[j]`: leave a star behind, or match one character in both.
fn moves(a: &[char], b: &[char], i: usize, j: usize) -> [Option<Move>; 3] {
    let go = |i, j, character| Some(Move { i, j, character });
    match (a.get(i).copied(), b.get(j).copied()) {
        (Some('*'), Some('*')) => [go(i + 1, j, None), go(i, j + 1, None), None],
        (Some('*'), Some(other)) => [go(i + 1, j, None), go(i, j + 1, Some(shown(other))), None],
        (Some(other), Some('*')) => [go(i, j + 1, None), go(i + 1, j, Some(shown(other))), None],
        (Some('*'), None) => [go(i + 1, j, None), None, None],
        (None, Some('*')) => [go(i, j + 1, None), None, None],
        (Some(one), Some(other)) => {
            let both = one_fits_both(one, other);
            [both.and_then(|both| go(i + 1, j + 1, Some(both))), None, None]
        }
        _ => [None, None, None],
    }
}

fn shown(place: char) -> char {
    if place == '?' { 'a' } else { place }
}

/// For each pair of places in two patterns, whether what follows them can match the same text.
struct Meeting {
    columns: usize,
    cells: Vec<bool>,
}

impl Meeting {
    fn of(a: &[char], b: &[char]) -> Meeting {
        let columns = b.len() + 1;
        let mut meeting = Meeting { columns, cells: vec![false; (a.len() + 1) * columns] };
        for i in (0..=a.len()).rev() {
            for j in (0..=b.len()).rev() {
                let meets = (i, j) == (a.len(), b.len())
                    || moves(a, b, i, j).into_iter().flatten().any(|step| meeting.at(step.i, step.j));
                if let Some(cell) = meeting.cells.get_mut(i * columns + j) {
                    *cell = meets;
                }
            }
        }
        meeting
    }

    fn at(&self, i: usize, j: usize) -> bool {
        self.cells.get(i * self.columns + j).copied().unwrap_or(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn common(a: &str, b: &str) -> Option<String> {
        common_name(&a.chars().collect::<Vec<_>>(), &b.chars().collect::<Vec<_>>())
    }

    /// Every text of up to six characters out of the letters that the patterns below use.
    fn short_texts() -> Vec<String> {
        let mut texts = vec![String::new()];
        let mut from = 0;
        for _ in 0..6 {
            let until = texts.len();
            for at in from..until {
                texts.push(format!("{}a", texts[at]));
                texts.push(format!("{}b", texts[at]));
            }
            from = until;
        }
        texts
    }

    proptest! {
        #[test]
        fn it_finds_a_name_exactly_when_there_is_one(a in "[ab*?]{0,4}", b in "[ab*?]{0,4}") {
            let (glob_a, glob_b) = (Glob::new(&a).unwrap(), Glob::new(&b).unwrap());
            let both = |text: &str| glob_a.matches(text) && glob_b.matches(text);
            match common(&a, &b) {
                Some(name) => prop_assert!(both(&name), "{a} {b} {name}"),
                // Six characters are enough: each of a shortest common name stands for a place in a pattern
                // that is no star, and two patterns without a star cannot differ in length.
                None => prop_assert!(!short_texts().iter().any(|text| both(text)), "{a} {b}"),
            }
        }
    }
}

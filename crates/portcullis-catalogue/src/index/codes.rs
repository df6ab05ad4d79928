//! How classes, provenances, signals and hints are written in the store, and how they are read back.
//!
//! Numbers, because there are many rows. What is not known reads as the graver meaning.

use crate::record::Provenance;
use crate::{Class, Hints, Signal, severity};

/// A class as the store writes it.
pub(super) fn class_code(class: Class) -> i64 {
    i64::from(severity(class))
}

/// The class of a stored code.
pub(super) fn class_of(code: i64) -> Class {
    Class::ALL.into_iter().find(|class| class_code(*class) == code).unwrap_or(Class::Write)
}

/// A provenance as the store writes it: the better known, the smaller.
pub(super) fn provenance_code(provenance: Provenance) -> i64 {
    Provenance::ALL.iter().position(|other| *other == provenance).map_or(3, |at| at as i64)
}

/// The provenance of a stored code.
pub(super) fn provenance_of(code: i64) -> Provenance {
    let at = usize::try_from(code).unwrap_or(usize::MAX);
    Provenance::ALL.get(at).copied().unwrap_or(Provenance::Imported)
}

/// One bit for each signal.
pub(super) fn signals_code(signals: &[Signal]) -> i64 {
    let bits = Signal::ALL.iter().enumerate().filter(|(_, signal)| signals.contains(signal));
    bits.fold(0, |code, (bit, _)| code | 1 << bit)
}

/// The signals of a stored code.
pub(super) fn signals_of(code: i64) -> Vec<Signal> {
    let bits = Signal::ALL.iter().enumerate().filter(|(bit, _)| code >> bit & 1 == 1);
    bits.map(|(_, signal)| *signal).collect()
}

/// Two bits for each hint: whether it is stated, and what it says.
pub(super) fn hints_code(hints: Hints) -> i64 {
    let all = [hints.read_only, hints.destructive, hints.idempotent, hints.open_world];
    all.into_iter().enumerate().fold(0, |code, (at, hint)| code | hint_code(hint) << (2 * at))
}

fn hint_code(hint: Option<bool>) -> i64 {
    hint.map_or(0, |says| 2 + i64::from(says))
}

/// The hints of a stored code.
pub(super) fn hints_of(code: i64) -> Hints {
    let hint = |at: i64| match code >> (2 * at) & 3 {
        2 => Some(false),
        3 => Some(true),
        _ => None,
    };
    Hints { read_only: hint(0), destructive: hint(1), idempotent: hint(2), open_world: hint(3) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        for class in Class::ALL {
            assert_eq!(class_of(class_code(class)), class);
        }
        for provenance in Provenance::ALL {
            assert_eq!(provenance_of(provenance_code(provenance)), provenance);
        }
        let signals = [Signal::FreeFormCode, Signal::Secret, Signal::Removal];
        assert_eq!(signals_of(signals_code(&signals)), signals);
        let hints = Hints { read_only: Some(false), open_world: Some(true), ..Hints::default() };
        assert_eq!(hints_of(hints_code(hints)), hints);
        assert_eq!(hints_of(hints_code(Hints::default())), Hints::default());
    }
}

//! The four levels: how hard it is to undo what a class of tools does.
//!
//! The level is a function of the class and of nothing else, so every page can be checked.

use crate::Class;

/// How much harm a careless call can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Level {
    /// Nothing changes.
    Low,
    /// Something changes and can be changed back.
    Medium,
    /// The effect depends on the arguments and may leave the system.
    High,
    /// What is done stays done.
    Critical,
}

impl Level {
    /// All of them, the least first.
    pub const ALL: [Level; 4] = [Level::Low, Level::Medium, Level::High, Level::Critical];

    /// The level of a class.
    pub fn of(class: Class) -> Level {
        match class {
            Class::Read => Level::Low,
            Class::Write => Level::Medium,
            Class::Execute => Level::High,
            Class::Destructive | Class::Financial => Level::Critical,
        }
    }

    /// As pages write it.
    pub fn name(self) -> &'static str {
        match self {
            Level::Low => "Low",
            Level::Medium => "Medium",
            Level::High => "High",
            Level::Critical => "Critical",
        }
    }

    /// The level with this name in any case: `high` and `High` are one.
    pub fn from_name(name: &str) -> Option<Level> {
        Level::ALL.into_iter().find(|level| level.name().eq_ignore_ascii_case(name.trim()))
    }
}

/// Where a class stands when the maximum of several is taken. Both Critical classes stand equal;
/// Financial is shown when money moves, so it wins the tie.
pub fn severity(class: Class) -> u8 {
    match class {
        Class::Read => 0,
        Class::Write => 1,
        Class::Execute => 2,
        Class::Destructive => 3,
        Class::Financial => 4,
    }
}

/// The graver of two classes.
pub fn graver(a: Class, b: Class) -> Class {
    if severity(b) > severity(a) { b } else { a }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_is_found_in_any_case_and_an_unknown_one_is_not() {
        assert_eq!(Level::from_name("high"), Some(Level::High));
        assert_eq!(Level::from_name(" CRITICAL"), Some(Level::Critical));
        assert_eq!(Level::from_name("severe"), None);
    }

    #[test]
    fn a_graver_class_never_has_a_lower_level() {
        for a in Class::ALL {
            for b in Class::ALL {
                assert!(Level::of(graver(a, b)) >= Level::of(a).max(Level::of(b)));
            }
        }
    }
}

//! The five risk classes and the four levels.
//!
//! The level is a function of the class and of nothing else.

/// What a tool does to the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Class {
    /// Fetches, changes nothing.
    Read,
    /// Creates or changes, can be undone.
    Write,
    /// Runs code or a process, or sends something out.
    Execute,
    /// Removes or ends something for good.
    Destructive,
    /// Moves or commits money.
    Financial,
}

impl Class {
    /// All of them, in the order of the documentation.
    pub const ALL: [Class; 5] = [
        Class::Read,
        Class::Write,
        Class::Execute,
        Class::Destructive,
        Class::Financial,
    ];

    /// The name, as policies write it.
    pub fn name(self) -> &'static str {
        match self {
            Class::Read => "Read",
            Class::Write => "Write",
            Class::Execute => "Execute",
            Class::Destructive => "Destructive",
            Class::Financial => "Financial",
        }
    }

    /// The class with this name, exactly as policies write it.
    pub fn from_name(name: &str) -> Option<Class> {
        Class::ALL.into_iter().find(|class| class.name() == name)
    }
}

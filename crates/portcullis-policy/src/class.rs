//! The five risk classes. Which class a tool has is decided elsewhere; policies only name them.

/// What kind of harm a tool can do, from harmless to irreversible.
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
    pub const ALL: [Class; 5] =
        [Class::Read, Class::Write, Class::Execute, Class::Destructive, Class::Financial];

    /// The names, in the same order; what a policy writes.
    pub const NAMES: [&'static str; 5] = ["Read", "Write", "Execute", "Destructive", "Financial"];

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

    /// The class with this name; case matters.
    pub fn from_name(name: &str) -> Option<Class> {
        Class::ALL.into_iter().find(|class| class.name() == name)
    }
}

impl std::fmt::Display for Class {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

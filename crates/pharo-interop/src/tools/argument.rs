//! One argument of a tool: its name here and on the wire, its kind, and what happens without it.

/// An argument that is sent to the image.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Argument {
    pub(crate) name: &'static str,
    pub(crate) wire_name: &'static str,
    pub(crate) kind: Kind,
    pub(crate) absent: Absent,
    pub(crate) description: &'static str,
}

/// What an argument may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Text,
    TextOrNull,
    Flag,
    /// A whole number, zero or more.
    Count,
    /// A list of texts, or null for the empty one.
    TextsOrNull,
    Object,
}

/// What an argument that is not given means.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Absent {
    /// The call is refused.
    Refused,
    /// This text is sent.
    Text(&'static str),
    /// This flag is sent.
    Flag(bool),
    /// This number is sent.
    Count(u64),
    /// An empty list is sent, also for null.
    EmptyList,
    /// Nothing is sent, also for null.
    LeftOut,
    /// Nothing is sent, also for false.
    LeftOutUnlessTrue,
}

impl Argument {
    pub(super) const fn text(name: &'static str, description: &'static str) -> Self {
        Self { name, wire_name: name, kind: Kind::Text, absent: Absent::Refused, description }
    }

    pub(super) const fn optional_text(name: &'static str, description: &'static str) -> Self {
        Self { kind: Kind::TextOrNull, absent: Absent::LeftOut, ..Self::text(name, description) }
    }

    pub(super) const fn flag(name: &'static str, default: bool, description: &'static str) -> Self {
        Self { kind: Kind::Flag, absent: Absent::Flag(default), ..Self::text(name, description) }
    }

    pub(super) const fn count(name: &'static str, description: &'static str) -> Self {
        Self { kind: Kind::Count, ..Self::text(name, description) }
    }

    pub(super) const fn texts(name: &'static str, description: &'static str) -> Self {
        Self { kind: Kind::TextsOrNull, absent: Absent::EmptyList, ..Self::text(name, description) }
    }

    pub(super) const fn object(name: &'static str, description: &'static str) -> Self {
        Self { kind: Kind::Object, ..Self::text(name, description) }
    }

    pub(super) const fn sent_as(self, wire_name: &'static str) -> Self {
        Self { wire_name, ..self }
    }

    pub(super) const fn absent(self, absent: Absent) -> Self {
        Self { absent, ..self }
    }
}

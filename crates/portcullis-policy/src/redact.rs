//! Detectors that blank out parts of results.

/// Which detectors apply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Detectors {
    bits: u8,
}

/// One detector.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Detector {
    /// Keys, tokens and passwords of well-known shapes.
    Secrets,
    /// E-mail addresses.
    Emails,
    /// Payment card numbers.
    Cards,
    /// PEM private keys.
    PrivateKeys,
}

impl Detector {
    /// All of them.
    pub const ALL: [Detector; 4] = [
        Detector::Secrets,
        Detector::Emails,
        Detector::Cards,
        Detector::PrivateKeys,
    ];

    /// The name, as policies write it.
    pub fn name(self) -> &'static str {
        match self {
            Detector::Secrets => "secrets",
            Detector::Emails => "emails",
            Detector::Cards => "cards",
            Detector::PrivateKeys => "private_keys",
        }
    }

    fn bit(self) -> u8 {
        match self {
            Detector::Secrets => 1,
            Detector::Emails => 2,
            Detector::Cards => 4,
            Detector::PrivateKeys => 8,
        }
    }
}

impl Detectors {
    /// Those with these names; unknown names are left out.
    pub fn from_names<'a>(names: impl Iterator<Item = &'a str>) -> Detectors {
        let bits = names
            .filter_map(|name| {
                Detector::ALL
                    .into_iter()
                    .find(|detector| detector.name() == name)
            })
            .fold(0, |bits, detector| bits | detector.bit());
        Detectors { bits }
    }

    /// Those of either.
    #[must_use]
    pub fn union(self, other: Detectors) -> Detectors {
        Detectors {
            bits: self.bits | other.bits,
        }
    }

    /// Whether there are none.
    pub fn is_empty(self) -> bool {
        self.bits == 0
    }

    /// Each of them.
    pub fn iter(self) -> impl Iterator<Item = Detector> {
        Detector::ALL
            .into_iter()
            .filter(move |detector| self.bits & detector.bit() != 0)
    }
}

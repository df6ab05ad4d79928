//! The era of a message: which revision of the protocol it is written in.
//!
//! Legacy revisions are negotiated once per session; the modern one is named by every request.

use std::fmt;

/// A revision of the era with sessions. In order of age.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LegacyRevision {
    /// 2025-03-26
    March2025,
    /// 2025-06-18
    June2025,
    /// 2025-11-25
    November2025,
}

impl LegacyRevision {
    /// What a client speaks that sends no `MCP-Protocol-Version` header.
    pub const WITHOUT_HEADER: LegacyRevision = LegacyRevision::March2025;
    /// What we answer to an `initialize` that asks for something unknown.
    pub const NEWEST: LegacyRevision = LegacyRevision::November2025;

    /// The revision with this date.
    pub fn parse(text: &str) -> Option<LegacyRevision> {
        match text {
            "2025-03-26" => Some(LegacyRevision::March2025),
            "2025-06-18" => Some(LegacyRevision::June2025),
            "2025-11-25" => Some(LegacyRevision::November2025),
            _ => None,
        }
    }

    /// The answer to an `initialize` that asks for `requested`.
    pub fn negotiate(requested: &str) -> LegacyRevision {
        LegacyRevision::parse(requested).unwrap_or(LegacyRevision::NEWEST)
    }

    /// The date, as it stands on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            LegacyRevision::March2025 => "2025-03-26",
            LegacyRevision::June2025 => "2025-06-18",
            LegacyRevision::November2025 => "2025-11-25",
        }
    }
}

/// The era of an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Era {
    /// Sessions, `initialize`, requests in both directions.
    Legacy(LegacyRevision),
    /// 2026-07-28: no sessions, every request carries its own `_meta`.
    Modern,
}

/// The modern revision.
const MODERN: &str = "2026-07-28";

/// Every revision we read, newest first.
pub const SUPPORTED_REVISIONS: [&str; 4] = [MODERN, "2025-11-25", "2025-06-18", "2025-03-26"];

impl Era {
    /// The era of the revision with this date.
    pub fn parse(text: &str) -> Option<Era> {
        match text {
            MODERN => Some(Era::Modern),
            _ => LegacyRevision::parse(text).map(Era::Legacy),
        }
    }

    /// The revision's date, as it stands on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Era::Legacy(revision) => revision.as_str(),
            Era::Modern => MODERN,
        }
    }

    /// Whether this is the modern era.
    pub fn is_modern(self) -> bool {
        self == Era::Modern
    }

    /// Whether a client may send responses: only where servers may send requests.
    pub fn client_may_respond(self) -> bool {
        !self.is_modern()
    }

    /// Whether closing the HTTP connection cancels the request.
    pub fn disconnect_cancels(self) -> bool {
        self.is_modern()
    }

    /// Whether there are sessions, GET streams and event ids.
    pub fn has_sessions(self) -> bool {
        !self.is_modern()
    }

    /// Whether `MCP-Protocol-Version` must stand on every request after the first.
    pub fn requires_version_header(self) -> bool {
        self != Era::Legacy(LegacyRevision::March2025)
    }
}

impl fmt::Display for Era {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What a message says of its own era.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claim {
    /// Its `_meta` names the modern revision.
    Modern,
    /// It is an `initialize` request: legacy, revision to be negotiated.
    Initialize,
    /// It says nothing: the session or the process decides.
    Unsaid,
}

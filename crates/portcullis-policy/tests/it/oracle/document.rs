//! The policy document exactly as its author wrote it: every field, every short form, nothing resolved.
//! `reading` makes it from JSON, `print` makes JSON from it, `generate` makes it from a seed.

use super::paths::Path;
use super::value::Val;

/// Declares an enum whose members have a spelling in the language.
macro_rules! spelled {
    ($name:ident { $($member:ident = $spelling:literal),* $(,)? }) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub(crate) enum $name { $($member),* }

        impl $name {
            pub(crate) const ALL: &'static [Self] = &[$(Self::$member),*];

            pub(crate) fn name(self) -> &'static str {
                match self { $(Self::$member => $spelling),* }
            }

            pub(crate) fn named(spelling: &str) -> Self {
                let found = Self::ALL.iter().find(|member| member.name() == spelling);
                *found.unwrap_or_else(|| panic!("no {} is called {spelling}", stringify!($name)))
            }
        }
    };
}

spelled!(Default { Allow = "allow", Deny = "deny" });
spelled!(Mode { Enforce = "enforce", Shadow = "shadow" });
spelled!(Listing { Permitted = "permitted", All = "all" });
spelled!(Class {
    Read = "Read",
    Write = "Write",
    Execute = "Execute",
    Destructive = "Destructive",
    Financial = "Financial",
});
spelled!(Action {
    Allow = "allow",
    Deny = "deny",
    Approve = "approve",
    RequireApproval = "require_approval",
});
spelled!(Validate { Off = "off", Schema = "schema", Strict = "strict" });
spelled!(Detector {
    Secrets = "secrets",
    Emails = "emails",
    Cards = "cards",
    PrivateKeys = "private_keys",
});
spelled!(Scope { Grant = "grant", Session = "session", Server = "server", Global = "global" });
spelled!(Align { Sliding = "sliding", Calendar = "calendar" });
spelled!(Period {
    Second = "second",
    Minute = "minute",
    Hour = "hour",
    Day = "day",
    Week = "week",
    Month = "month",
});
spelled!(RequestKind { Sampling = "sampling", Elicitation = "elicitation", Roots = "roots" });
spelled!(Answer { Allow = "allow", Deny = "deny", Approve = "approve" });
spelled!(Op {
    Eq = "eq",
    Neq = "neq",
    In = "in",
    NotIn = "not_in",
    Lt = "lt",
    Lte = "lte",
    Gt = "gt",
    Gte = "gte",
    Regex = "regex",
    NotRegex = "not_regex",
    Contains = "contains",
    NotContains = "not_contains",
    StartsWith = "starts_with",
    EndsWith = "ends_with",
    Glob = "glob",
    Exists = "exists",
    Type = "type",
    LengthLte = "length_lte",
    LengthGte = "length_gte",
    HostIn = "host_in",
    HostNotIn = "host_not_in",
    PathWithin = "path_within",
    Schema = "schema",
});

#[derive(Clone, Debug)]
pub(crate) struct Doc {
    pub(crate) default: Default,
    pub(crate) description: Option<String>,
    pub(crate) mode: Option<Mode>,
    pub(crate) timezone: Option<String>,
    pub(crate) list: Option<Listing>,
    pub(crate) hide: Option<Vec<String>>,
    pub(crate) all_tools: Option<Entry>,
    pub(crate) classes: Option<Vec<(Class, Entry)>>,
    pub(crate) tools: Option<Vec<(String, Entry)>>,
    pub(crate) resources: Option<Section>,
    pub(crate) prompts: Option<Section>,
    pub(crate) server_requests: Option<Vec<(RequestKind, Answer)>>,
}

impl Doc {
    pub(crate) fn empty(default: Default) -> Self {
        Self {
            default,
            description: None,
            mode: None,
            timezone: None,
            list: None,
            hide: None,
            all_tools: None,
            classes: None,
            tools: None,
            resources: None,
            prompts: None,
            server_requests: None,
        }
    }

    pub(crate) fn is_shadow(&self) -> bool {
        self.mode == Some(Mode::Shadow)
    }

    pub(crate) fn zone(&self) -> &str {
        self.timezone.as_deref().unwrap_or("UTC")
    }
}

/// A value under `tools` or `classes`, or the one of `all_tools`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Entry {
    pub(crate) action: Option<Action>,
    pub(crate) reason: Option<String>,
    pub(crate) require: Option<Vec<Rule>>,
    pub(crate) deny_if: Option<Vec<Rule>>,
    pub(crate) approve_if: Option<Vec<Rule>>,
    pub(crate) limits: Option<Vec<Limit>>,
    pub(crate) rate_limit: Option<RateLimit>,
    pub(crate) validate: Option<Validate>,
    pub(crate) set: Option<Vec<(Path, Val)>>,
    pub(crate) redact: Option<Vec<Detector>>,
}

#[derive(Clone, Debug)]
pub(crate) struct Rule {
    pub(crate) conditions: Vec<Condition>,
    /// The field's name (`on_deny`, or `ask` in `approve_if`) and the author's words.
    pub(crate) words: Option<(String, String)>,
}

#[derive(Clone, Debug)]
pub(crate) struct Condition {
    pub(crate) path: Path,
    pub(crate) op: Op,
    pub(crate) value: Val,
}

#[derive(Clone, Debug)]
pub(crate) struct Limit {
    pub(crate) counter: String,
    pub(crate) window: Window,
    pub(crate) max: String,
    pub(crate) scope: Option<Scope>,
    pub(crate) increment: Option<String>,
    pub(crate) increment_from: Option<Path>,
    pub(crate) align: Option<Align>,
    pub(crate) on_deny: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Window {
    Named(Period),
    Seconds(u64),
    /// `"15m"`: a count and a unit of `s`, `m`, `h`, `d`, `w`.
    Counted(u64, char),
}

impl Window {
    /// The length of the sliding window.
    pub(crate) fn seconds(&self) -> u64 {
        match self {
            Self::Named(Period::Second) => 1,
            Self::Named(Period::Minute) => 60,
            Self::Named(Period::Hour) => 3_600,
            Self::Named(Period::Day) => 86_400,
            Self::Named(Period::Week) => 7 * 86_400,
            Self::Named(Period::Month) => 31 * 86_400,
            Self::Seconds(seconds) => *seconds,
            Self::Counted(count, unit) => count * unit_seconds(*unit),
        }
    }
}

pub(crate) fn unit_seconds(unit: char) -> u64 {
    match unit {
        's' => 1,
        'm' => 60,
        'h' => 3_600,
        'd' => 86_400,
        'w' => 7 * 86_400,
        other => panic!("no unit is called {other}"),
    }
}

#[derive(Clone, Debug)]
pub(crate) enum RateLimit {
    /// `{"max": 10, "window": 60}`
    Object { max: String, window: Window, scope: Option<Scope>, on_deny: Option<String> },
    /// `"10/minute"`
    Text { max: String, window: Window },
}

/// `resources` or `prompts`.
#[derive(Clone, Debug)]
pub(crate) struct Section {
    pub(crate) default: Option<Default>,
    pub(crate) allow: Option<Vec<String>>,
    pub(crate) deny: Option<Vec<String>>,
}

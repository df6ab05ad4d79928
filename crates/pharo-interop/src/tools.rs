//! The tools, as data: names, arguments, endpoints, hints. Everything else reads this table; no
//! tool has code of its own except `ping_image`.

mod argument;
mod changing;
mod check;
mod extra;
mod reading;
mod schema;

pub(crate) use argument::{Absent, Argument, Kind};
pub(crate) use check::{ArgumentFault, Checked, Page, check};
pub(crate) use schema::{input_schema, output_schema};

use crate::{image::Encoding, time_limits::Pace};

/// One tool.
#[derive(Debug)]
pub(crate) struct Tool {
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    pub(crate) description: &'static str,
    pub(crate) hints: Hints,
    pub(crate) arguments: &'static [Argument],
    pub(crate) endpoint: Endpoint,
    pub(crate) result: ResultKind,
    pub(crate) pace: Pace,
}

/// What a client is told about a tool before it is called. All four are always sent, because a
/// missing one counts as destructive and open.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hints {
    pub(crate) read_only: bool,
    pub(crate) destructive: bool,
    pub(crate) idempotent: bool,
    pub(crate) open_world: bool,
}

impl Hints {
    const READS: Self = Self { read_only: true, destructive: false, idempotent: true, open_world: false };
    /// Runs code that the caller, or the image, brings: anything may happen.
    const RUNS_CODE: Self = Self { read_only: false, destructive: true, idempotent: false, open_world: true };
    /// Replaces what was there; doing it twice is doing it once.
    const REPLACES: Self = Self { read_only: false, destructive: true, idempotent: true, open_world: false };
    /// Changes what can be changed back.
    const ADJUSTS: Self = Self { read_only: false, destructive: false, idempotent: true, open_world: false };
}

/// Where a call goes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Endpoint {
    /// Every image side has it.
    Core(Encoding, &'static str),
    /// Only newer image sides have it.
    Extra(Encoding, &'static str),
    /// Answered by several requests of our own.
    Ping,
}

impl Endpoint {
    /// How and where the image is asked; nothing where it takes more than one request.
    pub(crate) fn address(self) -> Option<(Encoding, &'static str)> {
        match self {
            Self::Core(encoding, path) | Self::Extra(encoding, path) => Some((encoding, path)),
            Self::Ping => None,
        }
    }
}

/// What the image's `result` is when the call succeeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ResultKind {
    Anything,
    /// A text that may be long, such as source code: paged by characters.
    Source,
    /// A short sentence.
    Message,
    /// A list of names, paged by entries.
    Names,
    /// A list of methods with class and package, paged by entries.
    Methods,
    TestReport,
    Screen,
    /// An object with these members, each with its JSON type, or none where images may differ.
    Object(&'static [(&'static str, Option<&'static str>)]),
}

impl ResultKind {
    /// Whether `offset` and `limit` apply.
    pub(crate) fn paging(self) -> Option<Paging> {
        match self {
            Self::Source => Some(Paging { unit: "characters", default: 50_000, max: 200_000 }),
            Self::Names | Self::Methods => Some(Paging { unit: "entries", default: 1_000, max: 5_000 }),
            _ => None,
        }
    }
}

/// The limits of a page.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Paging {
    pub(crate) unit: &'static str,
    pub(crate) default: u64,
    pub(crate) max: u64,
}

/// All tools, in the order in which they are listed.
pub(crate) fn all() -> impl Iterator<Item = &'static Tool> {
    [reading::TOOLS, changing::TOOLS, extra::TOOLS].into_iter().flatten()
}

#[cfg(test)]
pub(crate) fn named(name: &str) -> Option<&'static Tool> {
    all().find(|tool| tool.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_public_names_the_extra_ones_and_ping_are_all_there() {
        let names: Vec<_> = all().map(|tool| tool.name).collect();
        let expected = "get_class_source get_method_source get_class_comment search_classes_like \
             search_methods_like search_traits_like search_implementors search_references \
             search_references_to_class list_packages list_classes list_extended_classes \
             list_methods read_screen get_settings ping_image eval eval_code export_package \
             import_package run_package_test run_class_test install_project apply_settings \
             poll_transcript clear_transcript inspect_expression inspect_ref compile_method \
             compile_class remove_method remove_class";
        assert_eq!(names, expected.split_whitespace().collect::<Vec<_>>());
    }

    #[test]
    fn a_tool_that_reads_is_never_called_destructive_or_open() {
        for tool in all().filter(|tool| tool.hints.read_only) {
            assert!(!tool.hints.destructive && !tool.hints.open_world, "{}", tool.name);
        }
    }

    #[test]
    fn an_alias_differs_from_its_tool_in_words_only() {
        let (tool, alias) = (named("eval").unwrap(), named("eval_code").unwrap());
        assert_eq!(format!("{:?}", tool.endpoint), format!("{:?}", alias.endpoint));
        assert_eq!(format!("{:?}", tool.arguments), format!("{:?}", alias.arguments));
        assert_eq!(format!("{:?}", tool.hints), format!("{:?}", alias.hints));
    }
}

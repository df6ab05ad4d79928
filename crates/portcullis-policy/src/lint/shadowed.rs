//! A rule that never decides, because something before it always does.

use super::{Effort, EntryPlace, RuleList, RulePlace, same_condition};
use crate::policy::{Action, LimitEntry, Mode, Validate};
use crate::problem::Problems;
use crate::rule::Rule;

pub(super) fn warn(
    mode: Mode,
    place: &EntryPlace<'_>,
    rules: &[RulePlace<'_>],
    shared: &[RulePlace<'_>],
    effort: &mut Effort,
    problems: &mut Problems,
) {
    match place.entry.action {
        // Every field is reported as such.
        Action::Deny => return warn_of_unreachable_fields(mode, place, problems),
        Action::Approve => warn_of_needless_questions(place, problems),
        Action::Allow => {}
    }
    let asks_anyway = place.entry.action == Action::Approve;
    for (index, rule) in rules.iter().enumerate() {
        if asks_anyway && rule.list == RuleList::ApproveIf {
            continue;
        }
        let own = rules.iter().take(index);
        // `deny_if` of all tools comes before any question.
        let denied_for_all =
            |other: &&RulePlace<'_>| rule.list == RuleList::ApproveIf && other.list == RuleList::DenyIf;
        for earlier in own.chain(shared.iter().filter(denied_for_all)) {
            let pairs = rule.rule.conditions.len() * earlier.rule.conditions.len();
            if !effort.allows(1 + pairs) {
                return;
            }
            if shadows(earlier, rule) {
                report(rule, earlier, problems);
                break;
            }
        }
    }
}

fn warn_of_unreachable_fields(mode: Mode, place: &EntryPlace<'_>, problems: &mut Problems) {
    let entry = place.entry;
    let rate_limit = place.at.key("rate_limit");
    let is_short = |limit: &LimitEntry| *limit.limit.pointer == *rate_limit.as_str();
    // In shadow mode the call goes out all the same: with what is set, and counted.
    let enforced = mode == Mode::Enforce;
    let fields = [
        ("require", !entry.require.is_empty()),
        ("deny_if", !entry.deny_if.is_empty()),
        ("approve_if", !entry.approve_if.is_empty()),
        ("limits", enforced && entry.limits.iter().any(|limit| !is_short(limit))),
        ("rate_limit", enforced && entry.limits.iter().any(is_short)),
        ("validate", entry.validate != Validate::Off),
        ("set", enforced && !entry.set.is_empty()),
    ];
    for (field, _) in fields.iter().filter(|(_, is_there)| *is_there) {
        problems.warn_at_key(
            &place.at.key(field),
            format!("`{field}` is never reached: `action` is `deny`"),
            format!("remove `{field}`, or remove `action` if some calls may pass"),
        );
    }
}

fn warn_of_needless_questions(place: &EntryPlace<'_>, problems: &mut Problems) {
    if !place.entry.approve_if.is_empty() {
        problems.warn_at_key(
            &place.at.key("approve_if"),
            "`approve_if` is never reached: `action` is `approve`, so a person is asked about every call",
            "remove one of them",
        );
    }
}

/// Whether whatever `later` could decide is decided by `earlier`.
fn shadows(earlier: &RulePlace<'_>, later: &RulePlace<'_>) -> bool {
    match (earlier.list, later.list) {
        // Who satisfies the longer of two requirements satisfies the shorter.
        (RuleList::Require, RuleList::Require) => {
            !later.rule.conditions.is_empty() && says_no_more(later.rule, earlier.rule)
        }
        (RuleList::DenyIf, RuleList::DenyIf | RuleList::ApproveIf)
        | (RuleList::ApproveIf, RuleList::ApproveIf) => says_no_more(earlier.rule, later.rule),
        _ => false,
    }
}

/// Whether every condition of `a` is one of `b`.
fn says_no_more(a: &Rule, b: &Rule) -> bool {
    a.conditions.iter().all(|one| b.conditions.iter().any(|other| same_condition(one, other)))
}

fn report(rule: &RulePlace<'_>, earlier: &RulePlace<'_>, problems: &mut Problems) {
    let first = &earlier.at;
    let message = match rule.list {
        RuleList::Require => {
            format!("this rule never decides: `{first}` already requires the same")
        }
        RuleList::DenyIf | RuleList::ApproveIf => {
            format!("this rule never decides: whenever it holds, `{first}` holds before it")
        }
    };
    let help = match (rule.list, earlier.list) {
        (RuleList::ApproveIf, RuleList::DenyIf) => {
            "a call that is denied is not asked about; remove one of the rules"
        }
        (RuleList::Require, _) => "remove it",
        _ => "remove it, or put it before the more general rule",
    };
    problems.warn(&rule.at, message, help);
}

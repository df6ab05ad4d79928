//! Clients say themselves what they are called: nothing can be made to depend on it.

use super::{RuleList, RulePlace};
use crate::path::Root;
use crate::problem::Problems;

pub(super) fn warn(rules: &[RulePlace<'_>], problems: &mut Problems) {
    let admits = |rule: &&RulePlace<'_>| rule.list == RuleList::Require;
    for rule in rules.iter().filter(admits) {
        for (at, condition) in rule.conditions() {
            if condition.path.root == Root::ClientName {
                problems.warn(
                    &at.key("path"),
                    "`client.name` is what the client says of itself: any client can say what is required",
                    "use `grant.label` or `grant.tags`, which an administrator sets",
                );
            }
        }
    }
}

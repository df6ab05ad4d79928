//! E-mail addresses.

use std::sync::LazyLock;

use regex::Regex;

use super::matches::{Candidate, Replaced, compiled};

static ADDRESS: LazyLock<Regex> = LazyLock::new(|| {
    compiled(
        r"(?:[\p{L}\p{N}_%+](?:[\p{L}\p{N}._%+'-]*[\p{L}\p{N}_%+-])?)@(?:(?:[\p{L}\p{N}](?:[\p{L}\p{N}-]*[\p{L}\p{N}])?\.)+(?:xn--[A-Za-z0-9-]+|\p{L}{2,}))",
    )
});

pub(super) fn replace(replaced: &mut Replaced, marker: &str) {
    replaced.replace(&ADDRESS, marker, is_address);
}

/// Not an address: a version behind a package's name (`left-pad@1.3.0-rc.one`), the size in the name of a
/// picture (`logo@2x.png`), and the login of a repository (`git@host.example:team/project`).
fn is_address(candidate: &Candidate<'_>) -> bool {
    let Some((local, domain)) = candidate.text.split_once('@') else {
        return false;
    };
    let mut labels = domain.split('.');
    let first = labels.next().unwrap_or_default();
    let second = labels.next().unwrap_or_default();
    let is_number = |label: &str| label.bytes().all(|byte| byte.is_ascii_digit());
    let is_version = is_number(first) && second.starts_with(|one: char| one.is_ascii_digit());
    let is_size = first.strip_suffix('x').is_some_and(is_number);
    let is_login = local == "git" && candidate.after.starts_with([':', '/']);
    !is_version && !is_size && !is_login
}

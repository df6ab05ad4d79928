//! Slugs: names as they stand in addresses. Two names that slug alike get a suffix that does not depend on the
//! other tools' order.

use std::collections::BTreeMap;

use portcullis_json::{Value, digest};

use crate::fingerprint::hex;

/// Hexadecimal digits of a suffix.
const SUFFIX_DIGITS: usize = 8;

/// The slug of a tool or server: lower case, `_` and other marks to `-`, dots kept for tools.
pub fn slug(name: &str, keep_dots: bool) -> String {
    let mark = |c: char| {
        if c.is_alphanumeric() || (keep_dots && c == '.') { c } else { '-' }
    };
    let slug: String = name.to_lowercase().chars().map(mark).collect();
    slug.trim_matches('-').to_owned()
}

/// The slugs of several names, in their order, each its own. Of names that slug alike, only one that is spelled
/// as its slug keeps it; the others carry a digest of their name.
pub fn slugs(names: &[&str], keep_dots: bool) -> Vec<String> {
    let plain: Vec<String> = names.iter().map(|name| slug(name, keep_dots)).collect();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for slug in &plain {
        *counts.entry(slug).or_default() += 1;
    }
    let own = |(name, slug): (&&str, &String)| {
        let is_alone = counts.get(slug.as_str()) == Some(&1) && !slug.is_empty();
        if is_alone || **name == *slug { slug.clone() } else { with_suffix(name, slug) }
    };
    names.iter().zip(&plain).map(own).collect()
}

fn with_suffix(name: &str, slug: &str) -> String {
    let suffix: String = hex(&digest(&Value::from(name))).chars().take(SUFFIX_DIGITS).collect();
    if slug.is_empty() { suffix } else { format!("{slug}-{suffix}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slugs_are_plain() {
        assert_eq!(slug("Run_Class.Test", true), "run-class.test");
        assert_eq!(slug("io.github/a.b", false), "io-github-a-b");
    }

    #[test]
    fn names_that_slug_alike_get_a_stable_suffix() {
        let one = slugs(&["a_b", "a-b", "c"], true);
        assert_eq!((one[1].as_str(), one[2].as_str()), ("a-b", "c"));
        assert!(one[0].starts_with("a-b-") && one[0].len() == "a-b-".len() + SUFFIX_DIGITS, "{one:?}");
        let other = slugs(&["c", "a-b", "a_b"], true);
        assert_eq!(other, ["c", "a-b", one[0].as_str()]);
        let nobody = slugs(&["A_b", "a_B"], true);
        assert!(nobody[0] != nobody[1] && nobody.iter().all(|slug| slug.len() > 4), "{nobody:?}");
        assert_eq!(slugs(&["__"], true)[0].len(), SUFFIX_DIGITS);
    }
}

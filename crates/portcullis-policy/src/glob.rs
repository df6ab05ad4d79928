//! Globs: `*` is any run of characters, `?` exactly one; nothing else is special, there is no escape.

/// A longer pattern is refused when the policy loads: matching costs pattern times text at worst.
pub(crate) const GLOB_CHARACTERS_MAX: usize = 1024;

/// A pattern.
#[derive(Clone, Debug)]
pub(crate) struct Glob {
    pattern: Vec<char>,
}

impl Glob {
    pub(crate) fn new(pattern: &str) -> Result<Glob, String> {
        let pattern: Vec<char> = pattern.chars().collect();
        if pattern.len() > GLOB_CHARACTERS_MAX {
            return Err(format!("a glob may have at most {GLOB_CHARACTERS_MAX} characters"));
        }
        Ok(Glob { pattern })
    }

    /// Whether the text holds anything that makes it more than a plain name.
    pub(crate) fn is_glob(text: &str) -> bool {
        text.contains(['*', '?'])
    }

    /// How many characters it fixes: the more, the more specific.
    pub(crate) fn literal_characters(&self) -> usize {
        self.pattern.iter().filter(|character| !matches!(character, '*' | '?')).count()
    }

    /// The characters before the first special one: every match starts with them.
    pub(crate) fn literal_prefix(&self) -> String {
        self.pattern.iter().take_while(|character| !matches!(character, '*' | '?')).collect()
    }

    /// Whether the whole text matches.
    pub(crate) fn matches(&self, text: &str) -> bool {
        let mut at = 0;
        let mut rest = text.chars();
        // The last `*`, and what was left of the text when it was met: where to go on when stuck.
        let mut star: Option<(usize, std::str::Chars<'_>)> = None;
        loop {
            let mut ahead = rest.clone();
            match (self.pattern.get(at), ahead.next()) {
                (Some('*'), _) => {
                    star = Some((at, rest.clone()));
                    at += 1;
                    continue;
                }
                (Some('?'), Some(_)) => (at, rest) = (at + 1, ahead),
                (Some(wanted), Some(found)) if *wanted == found => (at, rest) = (at + 1, ahead),
                (None, None) => return true,
                _ => {
                    let Some((star_at, mut from)) = star.take() else {
                        return false;
                    };
                    if from.next().is_none() {
                        return false;
                    }
                    (at, rest) = (star_at + 1, from.clone());
                    star = Some((star_at, from));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_star_and_question_mark_are_special() {
        for (pattern, text, expected) in [
            ("", "", true),
            ("", "a", false),
            ("*", "", true),
            ("*", "a/b", true),
            ("a*", "a", true),
            ("a*", "b", false),
            ("*a", "ba", true),
            ("*a", "ab", false),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "a-b-b-d", false),
            ("*ab*ab", "abab", true),
            ("*ab*ab", "ab", false),
            ("a**b", "ab", true),
            ("?", "é", true),
            ("?", "", false),
            ("?", "ab", false),
            ("a?c", "abc", true),
            ("[ab]", "a", false),
            ("[ab]", "[ab]", true),
            ("a\\*", "a\\b", true),
            ("{a,b}", "a", false),
            ("get_*", "Get_x", false),
        ] {
            assert_eq!(Glob::new(pattern).unwrap().matches(text), expected, "{pattern} {text}");
        }
    }

    #[test]
    fn many_stars_stay_quick() {
        let glob = Glob::new(&"a*".repeat(400)).unwrap();
        assert!(!glob.matches(&format!("{}b", "a".repeat(300))));
    }

    #[test]
    fn a_pattern_without_end_is_refused() {
        assert!(Glob::new(&"a".repeat(GLOB_CHARACTERS_MAX + 1)).is_err());
    }
}

//! Globs: `*` any run, `?` exactly one, nothing else is special. By trying everything.

pub(crate) fn matches(pattern: &str, text: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let text: Vec<char> = text.chars().collect();
    fits(&pattern, &text)
}

fn fits(pattern: &[char], text: &[char]) -> bool {
    match pattern {
        [] => text.is_empty(),
        ['*', rest @ ..] => (0..=text.len()).any(|run| fits(rest, &text[run..])),
        ['?', rest @ ..] => !text.is_empty() && fits(rest, &text[1..]),
        [literal, rest @ ..] => text.first() == Some(literal) && fits(rest, &text[1..]),
    }
}

pub(crate) fn is_glob(key: &str) -> bool {
    key.contains(['*', '?'])
}

pub(crate) fn literal_characters(pattern: &str) -> usize {
    pattern.chars().filter(|c| *c != '*' && *c != '?').count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn star_question_mark_and_nothing_else() {
        for (pattern, text, expected) in [
            ("*", "", true),
            ("a*c", "a/b/c", true),
            ("a?c", "a\u{1f600}c", true),
            ("a?c", "ac", false),
            ("[a]*", "[a]b", true),
            ("[a]*", "ab", false),
            ("a\\*", "a\\x", true),
            ("", "", true),
            ("", "a", false),
            ("A*", "a", false),
        ] {
            assert_eq!(matches(pattern, text), expected, "{pattern} {text}");
        }
        assert_eq!(literal_characters("h\u{e9}*?x"), 3);
    }
}

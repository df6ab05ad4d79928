//! Text in columns: how wide it is on a terminal, and where its lines break.

use unicode_width::UnicodeWidthStr as _;

/// Columns that a text takes. What is not made inert first has no width that holds.
pub(super) fn width(text: &str) -> usize {
    text.width()
}

/// The text and blanks behind it, so many columns wide.
pub(super) fn padded(text: &str, columns: usize) -> String {
    format!("{text}{}", " ".repeat(columns.saturating_sub(width(text))))
}

/// The text in lines of at most so many columns. A word that is longer stands alone and unbroken, so that it can
/// be copied.
pub(super) fn lines(text: &str, columns: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut used = 0;
    for word in text.split_whitespace() {
        let wide = width(word);
        match lines.last_mut() {
            Some(line) if used + 1 + wide <= columns => {
                line.push(' ');
                line.push_str(word);
                used += 1 + wide;
            }
            _ => {
                lines.push(word.to_owned());
                used = wide;
            }
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_between_words() {
        assert_eq!(lines("one two three", 7), ["one two", "three"]);
        assert_eq!(lines("a-very-long-word x", 4), ["a-very-long-word", "x"]);
        assert_eq!(lines("", 4), Vec::<String>::new());
        assert_eq!(lines("one two", usize::MAX), ["one two"]);
    }

    #[test]
    fn wide_characters_take_two_columns() {
        assert_eq!(padded("文件", 6), "文件  ");
        assert_eq!(lines("文件 文件", 5), ["文件", "文件"]);
    }
}

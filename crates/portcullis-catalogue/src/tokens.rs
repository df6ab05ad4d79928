//! What a definition costs in a model's context, estimated.
//!
//! An estimate for the `o200k_base` vocabulary: every page that shows the number says so.

/// Beside every shown number.
pub const NOTE: &str = "estimated; a tokenizer may count up to a fifth more or less";

/// Letters that one token of a plain word covers on average.
const LETTERS_PER_TOKEN: usize = 6;

/// About how many tokens a text takes.
pub fn estimate(text: &str) -> usize {
    let mut tokens = 0;
    let mut letters = 0_usize;
    let mut previous_mark = false;
    for character in text.chars() {
        if character.is_ascii_alphabetic() {
            letters += 1;
            previous_mark = false;
            continue;
        }
        tokens += letters.div_ceil(LETTERS_PER_TOKEN);
        letters = 0;
        // Runs of marks such as `":{"` are mostly one token; a blank belongs to the word after it.
        let mark = character.is_ascii_punctuation();
        tokens += usize::from(!(character == ' ' || mark && previous_mark));
        previous_mark = mark;
    }
    tokens + letters.div_ceil(LETTERS_PER_TOKEN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn estimates_are_of_the_right_size() {
        assert_eq!(estimate(""), 0);
        let sentence = "Returns the source code of a class in the image.";
        assert!((9..=14).contains(&estimate(sentence)), "{}", estimate(sentence));
        assert!((4..=10).contains(&estimate(r#"{"type":"object"}"#)));
    }
}

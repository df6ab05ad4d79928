//! `<…>` in the text of a case: bytes that cannot be seen, repetitions, and words that the runner or the case defines.

use std::collections::BTreeMap;

/// What words stand for.
pub(crate) type Words = BTreeMap<String, Vec<u8>>;

/// The bytes that `text` stands for. A line break in the file means nothing; `<LF>` is one.
pub(crate) fn expand(text: &str, words: &Words) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('<') {
        push_plain(before, &mut bytes);
        let (word, after) = after.split_once('>').unwrap_or_else(|| panic!("`<` without `>` in {text}"));
        bytes.extend(meaning(word, words));
        rest = after;
    }
    push_plain(rest, &mut bytes);
    bytes
}

fn push_plain(text: &str, bytes: &mut Vec<u8>) {
    bytes.extend(text.bytes().filter(|byte| *byte != b'\n'));
}

fn meaning(word: &str, words: &Words) -> Vec<u8> {
    if let Some(meaning) = words.get(word) {
        return meaning.clone();
    }
    if let Some((times, what)) = word.split_once('*')
        && let Ok(times) = times.parse::<usize>()
    {
        return what.replace('¶', "\r\n").repeat(times).into_bytes();
    }
    match word {
        "CRLF" => b"\r\n".to_vec(),
        "CR" => b"\r".to_vec(),
        "LF" => b"\n".to_vec(),
        "NUL" => b"\0".to_vec(),
        "TAB" => b"\t".to_vec(),
        "SP" => b" ".to_vec(),
        _ => hexadecimal(word).unwrap_or_else(|| panic!("`<{word}>` stands for nothing")),
    }
}

fn hexadecimal(word: &str) -> Option<Vec<u8>> {
    word.split(' ').map(|pair| (pair.len() == 2).then(|| u8::from_str_radix(pair, 16).ok())?).collect()
}

#[test]
fn words_bytes_and_repetitions() {
    let words = Words::from([("x".to_owned(), b"yes".to_vec())]);
    assert_eq!(expand("a<CRLF>\n<x><FF 00><3*ab><2*¶><3C>", &words), b"a\r\nyes\xff\0ababab\r\n\r\n<");
}

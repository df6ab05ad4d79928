//! Cutting names and sentences into words, with the byte place of each.

/// One word: lower case, and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) text: String,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// A name has at most this many words that count.
const NAME_TOKENS_MAX: usize = 24;
/// Letters after a verb that are its ending and not a word of their own.
const ENDINGS: &[&str] = &[
    "s", "d", "r", "er", "or", "ed", "es", "en", "ers", "ing", "ings", "ion", "ions", "ener", "eners",
    "able", "ed_at", "box", "ner", "ners", "der", "ders", "ment",
];
/// Verbs that names glue to what follows (`createorupdate`, `getguidance`). Short verbs that start many
/// other words (`set`, `add`) are left out.
const GLUED: &[&str] = &["create", "update", "delete", "remove", "fetch", "search", "list", "get", "send"];

/// The words of a tool's name: cut at separators and at camelCase borders, glued verbs taken apart.
pub(crate) fn split_name(name: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut start = None;
    let mut previous = ' ';
    let mut characters = name.char_indices().peekable();
    while let Some((at, character)) = characters.next() {
        let next = characters.peek().map(|(_, next)| *next);
        if !character.is_alphanumeric() {
            close(name, &mut start, at, &mut tokens);
        } else if start.is_some() && is_camel_border(previous, character, next) {
            close(name, &mut start, at, &mut tokens);
            start = Some(at);
        } else if start.is_none() {
            start = Some(at);
        }
        previous = character;
        if tokens.len() >= NAME_TOKENS_MAX {
            return tokens;
        }
    }
    close(name, &mut start, name.len(), &mut tokens);
    tokens
}

fn is_camel_border(previous: char, character: char, next: Option<char>) -> bool {
    let opens = character.is_uppercase();
    let after_small = previous.is_lowercase() || previous.is_numeric();
    let ends_capitals = previous.is_uppercase() && next.is_some_and(char::is_lowercase);
    opens && (after_small || ends_capitals)
}

fn close(name: &str, start: &mut Option<usize>, end: usize, tokens: &mut Vec<Token>) {
    let Some(from) = start.take() else { return };
    let text = name.get(from..end).unwrap_or_default().to_lowercase();
    push_unglued(Token { text, start: from, end }, tokens);
}

fn push_unglued(token: Token, tokens: &mut Vec<Token>) {
    let glued = GLUED.iter().find_map(|verb| {
        let rest = token.text.strip_prefix(verb)?;
        let stands_alone = rest.len() >= 4 && !ENDINGS.contains(&rest);
        stands_alone.then(|| (verb.len(), rest.to_owned()))
    });
    let Some((at, rest)) = glued.filter(|_| token.text.is_ascii()) else {
        tokens.push(token);
        return;
    };
    let head = token.text.get(..at).unwrap_or_default().to_owned();
    let border = token.start + at;
    tokens.push(Token { text: head, start: token.start, end: border });
    push_rest(&rest, border, token.end, tokens);
}

fn push_rest(rest: &str, start: usize, end: usize, tokens: &mut Vec<Token>) {
    for joiner in ["or", "and"] {
        let after = rest.strip_prefix(joiner);
        if let Some(after) = after.filter(|after| GLUED.iter().any(|verb| after.starts_with(verb))) {
            let border = start + joiner.len();
            tokens.push(Token { text: joiner.to_owned(), start, end: border });
            tokens.push(Token { text: after.to_owned(), start: border, end });
            return;
        }
    }
    tokens.push(Token { text: rest.to_owned(), start, end });
}

/// The words of a sentence. An apostrophe or a hyphen inside a word stays in it (`don't`, `read-only`).
pub(crate) fn split_text(text: &str, tokens_max: usize) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut start = None;
    for (at, character) in text.char_indices() {
        let inside =
            character.is_alphanumeric() || (start.is_some() && matches!(character, '\'' | '’' | '-'));
        match (inside, start) {
            (true, None) => start = Some(at),
            (false, Some(from)) => {
                push_word(text, from, at, &mut tokens);
                start = None;
                if tokens.len() >= tokens_max {
                    return tokens;
                }
            }
            _ => {}
        }
    }
    if let Some(from) = start {
        push_word(text, from, text.len(), &mut tokens);
    }
    tokens
}

fn push_word(text: &str, start: usize, end: usize, tokens: &mut Vec<Token>) {
    let word = text.get(start..end).unwrap_or_default();
    let word = word.trim_end_matches(['\'', '’', '-']);
    let end = start + word.len();
    let text = word.to_lowercase().replace('’', "'");
    tokens.push(Token { text, start, end });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(name: &str) -> Vec<String> {
        split_name(name).into_iter().map(|token| token.text).collect()
    }

    #[test]
    fn names_are_cut_at_separators_and_camel_case() {
        assert_eq!(words("get_class_source"), ["get", "class", "source"]);
        assert_eq!(words("runSEOAudit"), ["run", "seo", "audit"]);
        assert_eq!(words("sql.db-Get/all"), ["sql", "db", "get", "all"]);
        assert_eq!(words("n8n_list2"), ["n8n", "list2"]);
    }

    #[test]
    fn glued_verbs_come_apart_and_other_words_stay_whole() {
        assert_eq!(words("testrun_createorupdate"), ["testrun", "create", "or", "update"]);
        assert_eq!(words("getguidance"), ["get", "guidance"]);
        assert_eq!(words("listener_settings"), ["listener", "settings"]);
        assert_eq!(words("creates_sender"), ["creates", "sender"]);
    }

    #[test]
    fn places_are_bytes_of_the_name() {
        let tokens = split_name("löscheDatei");
        let places: Vec<_> = tokens.iter().map(|token| (token.start, token.end)).collect();
        assert_eq!(places, [(0, 7), (7, 12)]);
    }

    #[test]
    fn a_sentence_keeps_its_inner_hyphens() {
        let tokens = split_text("It doesn’t write: read-only, yes", 99);
        let texts: Vec<_> = tokens.iter().map(|token| token.text.as_str()).collect();
        assert_eq!(texts, ["it", "doesn't", "write", "read-only", "yes"]);
    }
}

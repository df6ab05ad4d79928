//! Rule N3: what a verb is done to changes its class.
//!
//! One table of turns, used for names and for descriptions alike.

use std::collections::HashMap;
use std::sync::LazyLock;

use foldhash::fast::FixedState;

use crate::Class;
use crate::words::Nouns;

/// Where the noun must stand.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reach {
    /// Any word of the object.
    Any,
    /// The head: the last word of the object.
    Head,
}

/// One turn: these verbs, done to these nouns, are of this class.
struct Turn {
    verbs: &'static str,
    nouns: fn(&str) -> bool,
    reach: Reach,
    class: Class,
    says: &'static str,
}

const TURNS: &[Turn] = &[
    Turn {
        verbs: "write",
        nouns: |word| matches!(word, "query" | "queries" | "sql" | "cypher" | "statement"),
        reach: Reach::Head,
        class: Class::Execute,
        says: "runs a query that changes data",
    },
    Turn {
        verbs: "build make",
        nouns: |word| Nouns::textual().has(word),
        reach: Reach::Head,
        class: Class::Read,
        says: "only returns text",
    },
    Turn {
        verbs: "show display",
        nouns: |word| matches!(word, "notification" | "toast" | "popup" | "dialog" | "alert"),
        reach: Reach::Head,
        class: Class::Write,
        says: "puts something before people's eyes",
    },
    Turn {
        verbs: "generate draft compose produce design write prepare regenerate",
        nouns: |word| Nouns::textual().has(word),
        reach: Reach::Any,
        class: Class::Read,
        says: "only returns text",
    },
    Turn {
        verbs: "create complete request",
        nouns: |word| matches!(word, "completion" | "completions" | "embedding" | "embeddings" | "inference"),
        reach: Reach::Head,
        class: Class::Read,
        says: "asks a model and returns its answer",
    },
    Turn {
        verbs: "answer",
        nouns: |word| matches!(word, "call" | "calls" | "phone"),
        reach: Reach::Head,
        class: Class::Execute,
        says: "talks to somebody",
    },
    Turn {
        verbs: "send submit",
        nouns: |word| matches!(word, "prompt" | "prompts" | "question" | "questions"),
        reach: Reach::Head,
        class: Class::Read,
        says: "asks and returns the answer",
    },
    Turn {
        verbs: "request",
        nouns: |word| matches!(word, "quote" | "quotes"),
        reach: Reach::Head,
        class: Class::Read,
        says: "asks for a price, which changes nothing",
    },
    Turn {
        verbs: "evaluate compute calculate interpret load",
        nouns: |word| {
            matches!(word, "script" | "code" | "javascript" | "js" | "smalltalk" | "python" | "lua")
        },
        reach: Reach::Any,
        class: Class::Execute,
        says: "runs code that the caller gives",
    },
    Turn {
        verbs: "reply respond",
        nouns: |word| {
            matches!(
                word,
                "comment" | "comments" | "review" | "reviews" | "issue" | "discussion" | "note" | "pull"
            )
        },
        reach: Reach::Any,
        class: Class::Write,
        says: "adds to a discussion, which can be edited",
    },
    Turn {
        verbs: "post",
        nouns: |word| matches!(word, "search" | "query"),
        reach: Reach::Head,
        class: Class::Read,
        says: "posts a question, which changes nothing",
    },
    Turn {
        verbs: "post share forward create submit reply add write",
        nouns: |word| Nouns::message().has(word),
        reach: Reach::Head,
        class: Class::Execute,
        says: "sends words to people, which cannot be called back",
    },
    Turn {
        verbs: "post share reply",
        nouns: |word| Nouns::audience().has(word),
        reach: Reach::Any,
        class: Class::Execute,
        says: "publishes to an audience",
    },
    Turn {
        verbs: "remove discard drop",
        nouns: |word| Nouns::association().has(word),
        reach: Reach::Head,
        class: Class::Write,
        says: "unties what can be tied again",
    },
    Turn {
        verbs: "flush empty prune drop clear reset clean",
        nouns: |word| matches!(word, "cache" | "dns" | "cart" | "buffer" | "selection" | "cached"),
        reach: Reach::Any,
        class: Class::Write,
        says: "empties what fills again by itself",
    },
    Turn {
        verbs: "clear reset empty flush wipe clean cleanup",
        nouns: |word| Nouns::data().has(word),
        reach: Reach::Any,
        class: Class::Destructive,
        says: "empties what cannot be brought back",
    },
    Turn {
        verbs: "perform do conduct",
        nouns: |word| Nouns::question().has(word),
        reach: Reach::Any,
        class: Class::Read,
        says: "asks a question",
    },
    Turn {
        verbs: "convert",
        nouns: |word| Nouns::entity().has(word),
        reach: Reach::Any,
        class: Class::Write,
        says: "turns a record into another",
    },
    Turn {
        verbs: "format",
        nouns: |word| matches!(word, "disk" | "drive" | "volume" | "partition"),
        reach: Reach::Any,
        class: Class::Destructive,
        says: "empties what cannot be brought back",
    },
    Turn {
        verbs: "test",
        nouns: |word| Nouns::connection().has(word),
        reach: Reach::Head,
        class: Class::Read,
        says: "only looks whether something answers",
    },
    Turn {
        verbs: "select track watch follow",
        nouns: |word| Nouns::rows().has(word),
        reach: Reach::Any,
        class: Class::Read,
        says: "looks something up",
    },
    Turn {
        verbs: "track capture",
        nouns: |word| matches!(word, "event" | "events" | "conversion" | "action" | "payment" | "order_id"),
        reach: Reach::Head,
        class: Class::Write,
        says: "records something",
    },
    Turn {
        verbs: "resolve",
        nouns: |word| {
            matches!(
                word,
                "library"
                    | "id"
                    | "ids"
                    | "url"
                    | "dns"
                    | "domain"
                    | "hostname"
                    | "address"
                    | "name"
                    | "names"
                    | "path"
                    | "type"
                    | "ref"
                    | "symbol"
                    | "reference"
                    | "ens"
                    | "package"
                    | "handle"
                    | "entity"
                    | "location"
                    | "ip"
                    | "username"
                    | "did"
                    | "redirect"
                    | "version"
                    | "identity"
            )
        },
        reach: Reach::Any,
        class: Class::Read,
        says: "finds out what a name stands for",
    },
    Turn {
        verbs: "request make",
        nouns: |word| matches!(word, "request" | "requests" | "call"),
        reach: Reach::Head,
        class: Class::Execute,
        says: "calls whatever the caller names",
    },
    Turn {
        verbs: "create start add initiate make",
        nouns: |word| Nouns::running().has(word),
        reach: Reach::Head,
        class: Class::Execute,
        says: "sets something running",
    },
    Turn {
        verbs: "load open use access",
        nouns: |word| {
            matches!(
                word,
                "doc"
                    | "docs"
                    | "documentation"
                    | "guide"
                    | "instructions"
                    | "skill"
                    | "skills"
                    | "context"
                    | "help"
                    | "schema"
                    | "reference"
            )
        },
        reach: Reach::Head,
        class: Class::Read,
        says: "only reads what is there",
    },
];

/// What a turn makes of a verb.
pub(crate) struct Turned {
    pub(crate) class: Class,
    pub(crate) says: &'static str,
}

/// The turn for `verb` done to `object`, if there is one.
pub(crate) fn turn(verb: &str, object: &[&str]) -> Option<Turned> {
    let turns = BY_VERB.get(verb)?;
    let found = turns.iter().find(|turn| turn.has(object))?;
    Some(Turned { class: found.class, says: found.says })
}

/// The turns of each verb, in the order of the table.
static BY_VERB: LazyLock<HashMap<&'static str, Vec<&'static Turn>, FixedState>> = LazyLock::new(|| {
    let mut turns: HashMap<_, Vec<_>, FixedState> = HashMap::default();
    for turn in TURNS {
        for verb in turn.verbs.split_whitespace() {
            turns.entry(verb).or_default().push(turn);
        }
    }
    turns
});

impl Turn {
    fn has(&self, object: &[&str]) -> bool {
        match self.reach {
            Reach::Any => object.iter().any(|word| (self.nouns)(word)),
            Reach::Head => object.last().is_some_and(|word| (self.nouns)(word)),
        }
    }
}

/// Words after which a name or clause speaks of circumstances, no longer of the object.
pub(crate) fn is_preposition(word: &str) -> bool {
    matches!(
        word,
        "from"
            | "by"
            | "for"
            | "with"
            | "to"
            | "in"
            | "of"
            | "on"
            | "as"
            | "per"
            | "using"
            | "via"
            | "into"
            | "at"
            | "against"
            | "within"
            | "across"
            | "without"
            | "based"
            | "through"
            | "between"
            | "that"
            | "which"
            | "when"
            | "if"
            | "where"
            | "after"
            | "before"
            | "inside"
            | "under"
            | "over"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_object_turns_the_verb() {
        let class = |verb, object: &[&str]| turn(verb, object).map(|turned| turned.class);
        assert_eq!(class("generate", &["sql", "query"]), Some(Class::Read));
        assert_eq!(class("generate", &["image"]), None);
        assert_eq!(class("post", &["message"]), Some(Class::Execute));
        assert_eq!(class("post", &["message", "template"]), None);
        assert_eq!(class("remove", &["issue", "labels"]), Some(Class::Write));
        assert_eq!(class("remove", &["file"]), None);
        assert_eq!(class("write", &["query"]), Some(Class::Execute));
        assert_eq!(class("write", &["poem"]), Some(Class::Read));
        assert_eq!(class("create", &["quote"]), None);
        assert_eq!(class("clear", &["all", "logs"]), Some(Class::Destructive));
        assert_eq!(class("test", &["connection"]), Some(Class::Read));
    }
}

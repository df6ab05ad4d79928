//! The small world: packages with classes, traits and methods, and the questions it answers.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

/// A class or trait.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Class {
    pub(super) name: String,
    pub(super) superclass: String,
    pub(super) package: String,
    pub(super) comment: String,
    pub(super) is_trait: bool,
    pub(super) inst_vars: Vec<String>,
    pub(super) methods: Vec<Method>,
}

/// A method. One whose package is not that of its class extends the class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Method {
    pub(super) selector: String,
    /// The whole source; its first line is the header.
    pub(super) source: String,
    pub(super) package: String,
    pub(super) category: String,
    pub(super) class_side: bool,
}

#[derive(Debug)]
pub(super) struct World {
    pub(super) packages: BTreeSet<String>,
    pub(super) classes: BTreeMap<String, Class>,
    pub(super) settings: Map<String, Value>,
    /// Everything written to the Transcript since it was cleared.
    pub(super) transcript: Vec<String>,
    /// What was inspected; the position is the `ref`.
    pub(super) inspected: Vec<String>,
}

impl World {
    pub(super) fn methods(&self) -> impl Iterator<Item = (&Class, &Method)> {
        self.classes.values().flat_map(|class| class.methods.iter().map(move |method| (class, method)))
    }

    pub(super) fn names_beginning_with(&self, query: &str, traits: bool) -> Vec<&str> {
        let query = query.to_lowercase();
        self.classes
            .values()
            .filter(|class| class.is_trait == traits)
            .map(|class| class.name.as_str())
            .filter(|name| name.to_lowercase().starts_with(&query))
            .collect()
    }

    pub(super) fn selectors_beginning_with(&self, query: &str) -> BTreeSet<&str> {
        self.methods()
            .map(|(_, method)| method.selector.as_str())
            .filter(|selector| selector.starts_with(query))
            .collect()
    }

    /// The methods that satisfy a condition, as the searches answer them.
    pub(super) fn found(&self, wanted: impl Fn(&Method) -> bool) -> Value {
        self.methods()
            .filter(|(_, method)| wanted(method))
            .map(|(class, method)| {
                json!({"class": method.class_name(class), "method": method.selector,
                       "package": method.package})
            })
            .collect()
    }

    pub(super) fn method_names(&self, package: &str) -> BTreeSet<String> {
        self.methods()
            .filter(|(_, method)| method.package == package)
            .map(|(class, method)| format!("{}>>#{}", method.class_name(class), method.selector))
            .collect()
    }

    pub(super) fn extended_classes(&self, package: &str) -> BTreeSet<&str> {
        self.methods()
            .filter(|(class, method)| method.package == package && class.package != package)
            .map(|(class, _)| class.name.as_str())
            .collect()
    }

    /// Adds a method, or replaces the one of that selector; answers the source before.
    pub(super) fn add_method(&mut self, class: &str, method: Method) -> Option<String> {
        let class = self.classes.get_mut(class)?;
        let before = class.remove(&method.selector, method.class_side);
        class.methods.push(method);
        before.map(|method| method.source)
    }
}

impl Class {
    pub(super) fn method(&self, selector: &str, class_side: bool) -> Option<&Method> {
        self.methods.iter().find(|method| method.selector == selector && method.class_side == class_side)
    }

    pub(super) fn remove(&mut self, selector: &str, class_side: bool) -> Option<Method> {
        let position = self
            .methods
            .iter()
            .position(|method| method.selector == selector && method.class_side == class_side)?;
        Some(self.methods.remove(position))
    }
}

impl Method {
    pub(super) fn class_name(&self, class: &Class) -> String {
        let side = if self.class_side { " class" } else { "" };
        format!("{}{side}", class.name)
    }

    /// Whether the body sends the selector or mentions the symbol.
    pub(super) fn refers_to(&self, symbol: &str) -> bool {
        let words = self.body_words();
        if symbol.contains(':') {
            let has = |part: &str| words.contains(&format!("{part}:").as_str());
            return symbol.split_terminator(':').all(has) || words.contains(&format!("#{symbol}").as_str());
        }
        words.iter().any(|word| *word == symbol || word.strip_prefix('#') == Some(symbol))
    }

    fn body_words(&self) -> Vec<&str> {
        let body = self.source.split_once('\n').map_or("", |(_, body)| body);
        body.split(|character: char| character.is_whitespace() || "()[].;^".contains(character))
            .filter(|word| !word.is_empty())
            .collect()
    }
}

/// The selector of a header line such as `at: key put: value`.
pub(super) fn selector_of(header: &str) -> String {
    let words: Vec<_> = header.split_whitespace().collect();
    match words.as_slice() {
        [first, ..] if first.ends_with(':') => {
            words.iter().filter(|word| word.ends_with(':')).copied().collect()
        }
        [first, ..] => (*first).to_owned(),
        [] => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selectors_come_from_headers() {
        assert_eq!(selector_of("size"), "size");
        assert_eq!(selector_of("-> other"), "->");
        assert_eq!(selector_of("at: key put: value"), "at:put:");
        assert_eq!(selector_of(""), "");
    }

    #[test]
    fn references_are_whole_words_of_the_body() {
        let method = |source: &str| Method {
            selector: selector_of(source),
            source: source.to_owned(),
            package: String::new(),
            category: String::new(),
            class_side: false,
        };
        assert!(method("foo\n\t^ self bar").refers_to("bar"));
        assert!(method("foo\n\t^ #bar").refers_to("bar"));
        assert!(method("foo\n\td at: 1 put: 2").refers_to("at:put:"));
        assert!(!method("foo\n\td at: 1").refers_to("at:put:"));
        assert!(!method("bar\n\t^ self barren").refers_to("bar"));
    }
}

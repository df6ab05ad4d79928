//! JSON Pointer (RFC 6901), for naming a place in a document.

use std::fmt;

/// A place in a document: `/tools/eval/require/0`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Pointer {
    text: String,
}

impl Pointer {
    /// The whole document.
    pub fn root() -> Pointer {
        Pointer::default()
    }

    /// The member `key` of the object at this place.
    #[must_use]
    pub fn key(&self, key: &str) -> Pointer {
        let mut text = self.text.clone();
        text.push('/');
        for character in key.chars() {
            match character {
                '~' => text.push_str("~0"),
                '/' => text.push_str("~1"),
                other => text.push(other),
            }
        }
        Pointer { text }
    }

    /// The element `index` of the array at this place.
    #[must_use]
    pub fn index(&self, index: usize) -> Pointer {
        Pointer { text: format!("{}/{index}", self.text) }
    }

    /// As text.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The steps, unescaped.
    pub fn steps(&self) -> impl Iterator<Item = String> + '_ {
        self.text.split('/').skip(1).map(|step| step.replace("~1", "/").replace("~0", "~"))
    }
}

impl fmt::Display for Pointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_keys_come_back_from_their_escapes() {
        let pointer = Pointer::root().key("tools").key("a/b~1").index(0);
        assert_eq!(pointer.as_str(), "/tools/a~1b~01/0");
        assert_eq!(pointer.steps().collect::<Vec<_>>(), ["tools", "a/b~1", "0"]);
        assert_eq!(Pointer::root().steps().count(), 0);
    }
}

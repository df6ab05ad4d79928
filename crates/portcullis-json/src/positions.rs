//! Where in the source each value of a document stands.
//!
//! Made only when a problem is to be shown, by walking a text that the reader has taken already; values
//! themselves carry no positions, so that messages on the wire do not pay for them.

use std::ops::Range;

use crate::{Pointer, Value};

/// Where one value stands, and its key if it has one, as byte ranges of the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Position {
    /// The key with its quotes.
    pub key: Option<Range<usize>>,
    /// The value.
    pub value: Range<usize>,
}

/// The positions of all values of one document.
#[derive(Debug)]
pub struct Positions {
    root: Node,
}

#[derive(Debug)]
struct Node {
    position: Position,
    children: Vec<Node>,
}

impl Positions {
    /// Positions in `source`, which must be text that [`crate::parse`] has taken.
    pub fn of(source: &str) -> Positions {
        let mut scan = Scan { bytes: source.as_bytes(), at: 0 };
        Positions { root: scan.node(None) }
    }

    /// Where `pointer` leads in `document`, which was read from the same source. A pointer that leads
    /// nowhere gives the deepest place on its way, so that there is always something to show.
    pub fn find(&self, document: &Value, pointer: &Pointer) -> Position {
        let (mut node, mut value) = (&self.root, document);
        for step in pointer.steps() {
            let Some((index, next)) = child(value, &step) else {
                break;
            };
            let Some(deeper) = node.children.get(index) else {
                break;
            };
            (node, value) = (deeper, next);
        }
        node.position.clone()
    }
}

fn child<'a>(value: &'a Value, step: &str) -> Option<(usize, &'a Value)> {
    match value {
        Value::Object(object) => {
            let index = object.iter().position(|member| member.key == step)?;
            object.iter().nth(index).map(|member| (index, &member.value))
        }
        Value::Array(elements) => {
            let index: usize = step.parse().ok()?;
            elements.get(index).map(|element| (index, element))
        }
        _ => None,
    }
}

struct Scan<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Scan<'_> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    /// White space, commas and colons: between values they carry no news.
    fn skip_gap(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r' | b',' | b':') = self.peek() {
            self.at += 1;
        }
    }

    fn node(&mut self, key: Option<Range<usize>>) -> Node {
        self.skip_gap();
        let start = self.at;
        let children = match self.peek() {
            Some(b'{') => self.members(),
            Some(b'[') => self.elements(),
            Some(b'"') => self.leaf(Self::skip_string),
            _ => self.leaf(Self::skip_word),
        };
        Node { position: Position { key, value: start..self.at }, children }
    }

    fn leaf(&mut self, skip: fn(&mut Self)) -> Vec<Node> {
        skip(self);
        Vec::new()
    }

    fn members(&mut self) -> Vec<Node> {
        self.children(b'}', |scan| {
            let start = scan.at;
            scan.skip_string();
            scan.node(Some(start..scan.at))
        })
    }

    fn elements(&mut self) -> Vec<Node> {
        self.children(b']', |scan| scan.node(None))
    }

    fn children(&mut self, bracket: u8, each: fn(&mut Self) -> Node) -> Vec<Node> {
        let mut children = Vec::new();
        self.at += 1;
        loop {
            self.skip_gap();
            match self.peek() {
                None => return children,
                Some(byte) if byte == bracket => {
                    self.at += 1;
                    return children;
                }
                Some(_) => children.push(each(self)),
            }
        }
    }

    fn skip_string(&mut self) {
        self.at += 1;
        while let Some(byte) = self.peek() {
            self.at += if byte == b'\\' { 2 } else { 1 };
            if byte == b'"' {
                return;
            }
        }
    }

    fn skip_word(&mut self) {
        let start = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte)) {
            self.at += 1;
        }
        // A byte that starts no value cannot stand here; stepping over it keeps the walk finite.
        self.at += usize::from(self.at == start);
    }
}

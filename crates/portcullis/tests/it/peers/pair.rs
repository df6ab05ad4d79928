//! A client at the bare server and one at the gateway in front of it: what they see must be the same.

use std::fmt::Debug;

use serde_json::Value;

use super::client::Client;

/// Two clients of one server.
pub(crate) struct Pair {
    pub(crate) bare: Client,
    pub(crate) through: Client,
}

impl Pair {
    /// The same of both, and both must answer the same.
    #[track_caller]
    pub(crate) fn both<T: PartialEq + Debug>(&mut self, wanted: impl Fn(&mut Client) -> T) -> T {
        let bare = wanted(&mut self.bare);
        let through = wanted(&mut self.through);
        assert_eq!(bare, through, "left is the bare server, right the way through the gateway");
        through
    }
}

/// This field of everything in a list.
pub(crate) fn names(list: &[Value], key: &str) -> Vec<String> {
    list.iter().map(|item| item[key].as_str().unwrap().to_owned()).collect()
}

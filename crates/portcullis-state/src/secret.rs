//! A text that does not print: no `Debug`, no `Display`, no `Serialize`; wiped when dropped.
//!
//! INVARIANT (secrets do not print): only `expose` gives it out, so every use can be found by its name.

use zeroize::Zeroizing;

/// A secret text.
pub struct Secret(Zeroizing<String>);

impl Secret {
    /// Takes a text as secret.
    pub fn new(text: String) -> Secret {
        Secret(Zeroizing::new(text))
    }

    /// The text itself. For sending it, or for showing it once to who asked for it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl From<&str> for Secret {
    fn from(text: &str) -> Secret {
        Secret::new(text.to_owned())
    }
}

//! What the wrapped server finds in its environment: what `wrap` was started with, and what `--env` says.
//!
//! A client's configuration puts the server's variables into our environment, since it starts us in the
//! server's place. Our own variables are not passed on.

use portcullis_gateway::EnvSpec;
use portcullis_state::Secret;

/// Variables whose names start like this are ours.
const OURS: &str = "PORTCULLIS_";
/// A variable with one of these in its name holds a credential.
const CREDENTIALS: [&str; 8] = ["KEY", "TOKEN", "SECRET", "PASS", "CREDENTIAL", "COOKIE", "DSN", "WEBHOOK"];
/// A shorter value is none.
const CREDENTIAL_BYTES_MIN: usize = 8;

/// The environment of the server; what `set` names comes last.
pub(super) fn of_server(
    inherited: impl Iterator<Item = (std::ffi::OsString, std::ffi::OsString)>,
    set: Vec<(String, Secret)>,
) -> Vec<EnvSpec> {
    let mut variables: Vec<EnvSpec> = inherited
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .filter(|(name, _)| !name.starts_with(OURS) && !set.iter().any(|(other, _)| other == name))
        .map(|(name, value)| EnvSpec {
            is_secret: is_credential(&name, &value),
            name,
            value: Secret::new(value),
        })
        .collect();
    variables.extend(set.into_iter().map(|(name, value)| EnvSpec { name, value, is_secret: true }));
    variables
}

/// Whether the server's answers must not repeat the value: by its name, or an address with somebody's password in it.
/// A path is where something is.
fn is_credential(name: &str, value: &str) -> bool {
    let name = name.to_ascii_uppercase();
    let is_named = CREDENTIALS.iter().any(|word| name.contains(word)) || name.ends_with("_PAT");
    let has_user = value.split_once("://").is_some_and(|(_, rest)| rest.contains('@'));
    value.len() >= CREDENTIAL_BYTES_MIN && !value.starts_with('/') && (is_named || has_user)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_passed_on_but_what_is_ours() {
        let inherited = [
            ("PATH", "/bin"),
            ("PORTCULLIS_X", "1"),
            ("API_KEY", "long-enough"),
            ("SSH_ASKPASS", "/usr/bin/ask"),
            ("DATABASE_URL", "postgres://u:pw@h/db"),
            ("A", "old"),
        ];
        let inherited = inherited.map(|(name, value)| (name.into(), value.into()));
        let set = vec![("A".to_owned(), Secret::from("new"))];
        let found: Vec<(String, String, bool)> = of_server(inherited.into_iter(), set)
            .iter()
            .map(|env| (env.name.clone(), env.value.expose().to_owned(), env.is_secret))
            .collect();
        let expected = [
            ("PATH", "/bin", false),
            ("API_KEY", "long-enough", true),
            ("SSH_ASKPASS", "/usr/bin/ask", false),
            ("DATABASE_URL", "postgres://u:pw@h/db", true),
            ("A", "new", true),
        ];
        assert_eq!(found, expected.map(|(name, value, secret)| (name.to_owned(), value.to_owned(), secret)));
    }
}

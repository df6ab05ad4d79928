//! Command lines and addresses as they may be shown: without what looks like a secret.

/// In place of what is not shown.
const MASK: &str = "•••";

/// Words in the name of an option, a variable or a header whose value is a secret.
const SECRET_WORDS: [&str; 11] =
    ["token", "key", "secret", "pass", "auth", "credential", "bearer", "header", "cookie", "dsn", "webhook"];

/// Beginnings of well-known secrets.
const SECRET_BEGINNINGS: [&str; 12] = [
    "sk-",
    "ghp_",
    "gho_",
    "github_pat_",
    "xoxb-",
    "xoxp-",
    "glpat-",
    "AKIA",
    "eyJ",
    "pcl_",
    "npm_",
    "Bearer ",
];

/// A longer word that is no path, address or name is taken for a secret.
const PLAIN_WORD_CHARACTERS_MAX: usize = 40;

/// Arguments with the values of options that hold secrets left out.
pub fn masked_arguments(arguments: &[String]) -> Vec<String> {
    let mut masked = Vec::with_capacity(arguments.len());
    let mut value_is_secret = false;
    for argument in arguments {
        let shown = match argument.split_once('=') {
            _ if value_is_secret => MASK.to_owned(),
            Some((name, value)) if is_secret_name(name) || is_secret(value) => format!("{name}={MASK}"),
            _ if is_secret(argument) => MASK.to_owned(),
            _ if argument.contains("://") => masked_url(argument),
            _ => argument.clone(),
        };
        value_is_secret = argument.starts_with('-') && !argument.contains('=') && is_secret_name(argument);
        masked.push(shown);
    }
    masked
}

/// An address without user, password and query.
pub fn masked_url(url: &str) -> String {
    let (address, has_query) = match url.split_once(['?', '#']) {
        Some((address, _)) => (address, true),
        None => (url, false),
    };
    let address = match address.split_once("://") {
        Some((scheme, rest)) => match rest.split_once('/') {
            Some((host, path)) => format!("{scheme}://{}/{path}", without_user(host)),
            None => format!("{scheme}://{}", without_user(rest)),
        },
        None => address.to_owned(),
    };
    if has_query { format!("{address}?{MASK}") } else { address }
}

fn without_user(host: &str) -> String {
    host.rsplit_once('@').map_or_else(|| host.to_owned(), |(_, host)| format!("{MASK}@{host}"))
}

/// Whether what an option, a variable or a header of this name holds is not to be shown.
pub fn is_secret_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    SECRET_WORDS.iter().any(|word| name.contains(word))
}

/// Whether a variable may be kept where it can be read, and stand in answers: a directory or a file, and only under a
/// name that promises no secret. Whatever else it is, it could be one.
pub fn may_stay_readable(name: &str, value: &str) -> bool {
    let is_path = value.starts_with('/') && !value.contains("://") && !value.contains('@');
    is_path && !is_secret_name(name) && !value.split('/').any(is_secret)
}

fn is_secret(text: &str) -> bool {
    let is_word = text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '+' | '='));
    let is_long = text.chars().count() > PLAIN_WORD_CHARACTERS_MAX;
    SECRET_BEGINNINGS.iter().any(|beginning| text.starts_with(beginning)) || (is_word && is_long)
}

#[cfg(test)]
mod tests {
    use super::{masked_arguments, masked_url, may_stay_readable};

    #[test]
    fn only_what_is_plainly_a_place_stays_readable() {
        for (name, value) in [
            ("DATABASE_URL", "postgres://u:pw@h/db"),
            ("MONGODB_URI", "mongodb://h"),
            ("SENTRY_DSN", "https://abc@h/1"),
            ("DB_PASS", "hunter2"),
            ("DB_PASS", "/hunter2"),
            ("GITHUB_PAT", "ghp_abc"),
            ("GITHUB_PAT", "short"),
            ("X", "/hooks/ghp_abcdef"),
            ("X", "//u:pw@h"),
        ] {
            assert!(!may_stay_readable(name, value), "{name}={value}");
        }
        assert!(may_stay_readable("WORKSPACE", "/srv/me"));
        assert!(may_stay_readable("CONFIG_FILE", "/etc/server.toml"));
    }

    #[test]
    fn secrets_in_command_lines_are_left_out() {
        let given =
            ["-y", "some-server", "--api-key", "hunter2", "--token=abc", "--root", "/srv/me", "ghp_abcdef"];
        let given: Vec<String> = given.iter().map(|text| (*text).to_owned()).collect();
        let shown = masked_arguments(&given).join(" ");
        assert_eq!(shown, "-y some-server --api-key ••• --token=••• --root /srv/me •••");
    }

    #[test]
    fn addresses_lose_user_and_query() {
        assert_eq!(masked_url("https://me:pw@host/mcp?key=1"), "https://•••@host/mcp?•••");
        assert_eq!(masked_url("https://host:8443/mcp"), "https://host:8443/mcp");
        assert_eq!(masked_url("http://host"), "http://host");
    }
}

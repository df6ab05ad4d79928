//! Every key of the configuration file: the reader refuses others, and the reference is made from this.

use portcullis_policy::Class;

use super::settings;

/// One key.
pub(crate) struct Key {
    pub(crate) name: &'static str,
    /// What is written there.
    pub(crate) kind: &'static str,
    /// What it is for, and what holds without it.
    pub(crate) text: &'static str,
}

const fn key(name: &'static str, kind: &'static str, text: &'static str) -> Key {
    Key { name, kind, text }
}

/// At the top of the file.
pub(crate) const TOP: &[Key] = &[
    key("listen", "address", "Where the gateway listens. Default: `\"127.0.0.1:8700\"`."),
    key("data_dir", "path", "Where state is kept. Default: `\"portcullis-data\"`."),
    key("tls_cert", "path", "The certificate chain (PEM). Needed, with `tls_key`, away from loopback."),
    key("tls_key", "path", "The key of the certificate (PEM)."),
    key(
        "tls_ends_in_front",
        "boolean",
        "Something in front of the gateway ends TLS: lets it listen in clear text away from loopback.",
    ),
    key(
        "log_sync",
        "`\"group\"` or `\"all\"`",
        "Which calls wait until their record is on disk. Default: `\"group\"`, those of class Write and up.",
    ),
    key("log_days_max", "number", "Days that closed log segments are kept. Default: for ever."),
    key(
        "metrics_token",
        "`env:NAME` or `file:PATH`",
        "Where the token is that `/metrics` wants from whoever reads it. Default: none, and only this machine is \
         answered.",
    ),
    key("settings", "table", "Bounds of the gateway, see below."),
    key("servers", "tables", "The servers, each as `[[servers]]`."),
    key("policies", "tables", "The policies, each as `[[policies]]`."),
    key("grants", "tables", "The grants, each as `[[grants]]`."),
];

/// Under `[[servers]]`.
pub(crate) const SERVER: &[Key] = &[
    key("name", "text", "Its name; the gateway answers for it at `/mcp/NAME`."),
    key("url", "text", "Where it is (`http` or `https`), or `\"builtin:playground\"`."),
    key(
        "transport",
        "`\"http\"` or `\"sse\"`",
        "How a `url` is spoken to: streamable HTTP, or HTTP with SSE as in revision 2024-11-05. Default: \
         `\"http\"`.",
    ),
    key(
        "command",
        "list of texts",
        "Instead of `url`: a program on this machine and its arguments. No shell reads it. See \
         `docs/local-servers.md`.",
    ),
    key(
        "env",
        "table",
        "The environment of the program, and nothing else; values may be `env:NAME` or `file:PATH`, which are \
         then kept out of what the server sends back.",
    ),
    key(
        "inherit_env",
        "boolean",
        "Also give the program `PATH`, `HOME`, `USER`, `LOGNAME`, `LANG`, `LC_ALL`, `TZ` and `TMPDIR` as the \
         gateway has them. Default: `false`.",
    ),
    key("cwd", "path", "Where the program runs. Default: where the gateway does."),
    key(
        "process",
        "`\"session\"` or `\"shared\"`",
        "Whether each session (without sessions: each grant) has a process of its own. Default: `\"session\"`.",
    ),
    key("memory_max_mb", "number", "Private memory of a process, in MiB (Linux)."),
    key("open_files_max", "number", "Files that a process may have open (Linux)."),
    key(
        "idle_timeout_s",
        "number",
        "An unused process is ended after so many seconds; 0: never. Default: as in `settings`.",
    ),
    key(
        "headers",
        "table",
        "What is sent along with every request; values may be `env:NAME` or `file:PATH`.",
    ),
    key(
        "classes",
        "table",
        "Classes of tools that override what the catalogue's rules say: `{ delete_note = \"Destructive\" }`.",
    ),
    key("era", "`\"auto\"`, `\"legacy\"` or `\"modern\"`", "How to talk to it. Default: `\"auto\"`, ask it."),
    key(
        "answer_timeout_ms",
        "number",
        "How long it may stay silent during a call. Default: as in `settings`.",
    ),
    key(
        "allow_private",
        "boolean",
        "The name in `url` may lead to a private or loopback address. An address written out always may.",
    ),
];

/// Under `[[policies]]`.
pub(crate) const POLICY: &[Key] = &[
    key("name", "text", "Its name."),
    key("server", "text", "The server that it is for."),
    key("file", "path", "The policy document (JSON)."),
];

/// Under `[[grants]]`.
pub(crate) const GRANT: &[Key] = &[
    key("label", "text", "What people call it."),
    key("server", "text", "The server it may use."),
    key("policy", "text", "The policy that judges its calls."),
    key("token", "`env:NAME` or `file:PATH`", "Where its token is. Never the token itself."),
    key("token_sha256", "text", "Instead of `token`: the SHA-256 of the token, in hexadecimal."),
    key("tags", "list of texts", "Words for policies to look at."),
    key("expires", "time", "When it ends by itself, as in `\"2027-01-31T00:00:00Z\"`."),
];

/// The message for a key that is not known.
pub(crate) fn unknown(name: &str, known: &[Key]) -> String {
    let names: Vec<&str> = known.iter().map(|key| key.name).collect();
    match nearest(name, &names) {
        Some(near) => format!("unknown key `{name}`; did you mean `{near}`?"),
        None => format!("unknown key `{name}`; known here are `{}`", names.join("`, `")),
    }
}

/// The name that is nearly the same, if there is one.
pub(crate) fn nearest<'a>(name: &str, names: &[&'a str]) -> Option<&'a str> {
    let near = names.iter().map(|known| (strsim::jaro_winkler(name, known), *known));
    near.filter(|(likeness, _)| *likeness > 0.8)
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, known)| known)
}

/// The message for a class that is not known.
pub(crate) fn unknown_class(name: &str) -> String {
    format!("`{name}` is no class; use one of `{}`", Class::NAMES.join("`, `"))
}

/// The reference page of the configuration file.
pub(crate) fn reference() -> String {
    let mut page = String::from(HEAD);
    let settings = settings::keys();
    for (title, keys) in [
        ("Top of the file", TOP),
        ("`[[servers]]`", SERVER),
        ("`[[policies]]`", POLICY),
        ("`[[grants]]`", GRANT),
    ] {
        table(&mut page, title, keys.iter().map(|key| (key.name, key.kind.to_owned(), key.text)));
    }
    table(&mut page, "`[settings]`", settings.into_iter());
    page
}

const HEAD: &str = "<!-- Made by `portcullis config reference`; do not edit. -->\n\n\
# The configuration file\n\n\
`portcullis serve --config FILE` reads this file (TOML) at start, on `SIGHUP`, and when it or a policy that\n\
it names changes. A file with a fault is refused whole. Paths are relative to the file. A key that is not\n\
listed here is refused.\n";

fn table<'a>(page: &mut String, title: &str, rows: impl Iterator<Item = (&'a str, String, &'a str)>) {
    page.push_str(&format!("\n## {title}\n\n| key | value | meaning |\n|---|---|---|\n"));
    for (name, kind, text) in rows {
        page.push_str(&format!("| `{name}` | {kind} | {text} |\n"));
    }
}

//! Keys, tokens and passwords of well-known shapes.

use std::ops::Range;
use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::matches::{Candidate, Replaced, compiled};

/// A shorter value behind a name is no secret worth the name.
const VALUE_CHARACTERS_MIN: usize = 8;

/// Tokens that can be told by their own beginning.
const TOKENS: &[&str] = &[
    // Amazon Web Services, Google, DigitalOcean, Vault.
    r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?-u:\b)",
    r"AIza[A-Za-z0-9_-]{35,}",
    r"ya29\.[A-Za-z0-9_-]{20,}",
    r"GOCSPX-[A-Za-z0-9_-]{20,}",
    r"do[opr]_v1_[a-f0-9]{64}",
    r"hv[sb]\.[A-Za-z0-9_-]{24,}",
    // GitHub, GitLab, npm, PyPI, crates.io, Hugging Face.
    r"gh[pousr]_[A-Za-z0-9_]{30,}",
    r"github_pat_[A-Za-z0-9_]{22,}",
    r"gl(?:pat|ptt|dt|rt|cbt|ft|soat|imt|agent|oas)-[A-Za-z0-9_-]{20,}(?:\.[A-Za-z0-9_-]+)*",
    r"npm_[A-Za-z0-9]{36,}",
    r"pypi-[A-Za-z0-9_-]{40,}",
    r"cio[A-Za-z0-9]{32}(?-u:\b)",
    r"hf_[A-Za-z0-9]{30,}",
    // Slack, Stripe, SendGrid, and the keys of model providers.
    r"xox[abcdeoprs]-[A-Za-z0-9-]{10,}",
    r"xapp-[A-Za-z0-9-]{20,}",
    r"[sr]k_(?:live|test)_[A-Za-z0-9]{16,}",
    r"whsec_[A-Za-z0-9+/]{24,}",
    r"SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}",
    r"sk-(?:ant|proj|svcacct|admin|or)-[A-Za-z0-9_-]{20,}",
    r"sk-[A-Za-z0-9]{20,}",
    // JSON Web Tokens, age, and our own.
    r"eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]+){0,2}",
    r"AGE-SECRET-KEY-1[A-Z0-9]{40,}",
    r"pcl_[A-Za-z0-9_-]{16,}",
];

static TOKEN: LazyLock<Regex> = LazyLock::new(|| compiled(&format!(r"(?-u:\b)(?:{})", TOKENS.join("|"))));

/// Names of secrets; one may be the end of a longer name.
const NAMES: &str = "pass(?:word|wd|phrase|code)|pwd|secret|(?:api|access|secret|private|signing|encryption|account)[_-]?key|(?:auth|access|refresh|api|bearer|session|id)[_-]?token";

/// `password = "…"`, `"api_key": "…"`, `token=…`. A value never begins like one that was replaced. `token`
/// at the end of another name is often that of a page.
static ASSIGNMENT: LazyLock<Regex> = LazyLock::new(|| {
    let name = format!(r"(?P<name>{NAMES}|(?-u:\b)token|(?-i:_TOKEN))");
    let sign = r"(?P<sign>\s{0,8}(?:=>|:=|[:=])\s{0,8})";
    let quoted = r#"\\?["'](?P<quoted>[^"'\\\[\r\n][^"'\\\r\n]*)"#;
    let plain = r#"(?P<plain>[^\s"'\\\[\]<>(){},;&$][^\s"'\\\[\]<>(){},;&]*)"#;
    compiled(&format!(r#"(?i){name}(?:\\?["'])?{sign}(?:{quoted}|{plain})"#))
});

static NAME_AT_END: LazyLock<Regex> = LazyLock::new(|| compiled(&format!("(?i)(?:{NAMES})$")));

/// `Authorization: Basic …`, `Bearer …`.
static AUTHORIZATION: LazyLock<Regex> = LazyLock::new(|| {
    compiled(
        r#"(?i)(?-u:\b)(?:authorization(?:\\?["'])?\s{0,8}[:=]\s{0,8}(?:\\?["'])?(?:[a-z]{3,16}\s{1,8})?|bearer\s{1,8}|basic\s{1,8})(?P<secret>[a-z0-9._~+/-]{12,}=*)"#,
    )
});

/// `scheme://user:password@host`.
static LOGIN_IN_URL: LazyLock<Regex> = LazyLock::new(|| {
    compiled(
        r#"(?i)(?-u:\b)[a-z][a-z0-9+.-]{1,30}://[^\s:/?#@\[\]"'<>]*:(?P<secret>[^\s/"'<>@\[{$][^\s/"'<>]*)@"#,
    )
});

/// A secret key of Amazon Web Services has no shape of its own; what stands shortly before it tells.
static NEAR_KEYWORD: LazyLock<Regex> =
    LazyLock::new(|| compiled(r"(?i)(?:aws|secret)[^\r\n]{0,40}?[^a-z0-9/+](?P<secret>[a-z0-9/+]{40})"));

static WEBHOOK: LazyLock<Regex> =
    LazyLock::new(|| compiled(r"hooks\.slack\.com/(?:services|workflows)/(?P<secret>[A-Za-z0-9/+]{20,})"));

pub(super) fn replace(replaced: &mut Replaced, marker: &str) {
    replaced.replace(&LOGIN_IN_URL, marker, |_| true);
    replaced.replace(&WEBHOOK, marker, |_| true);
    replaced.replace(&AUTHORIZATION, marker, is_no_word);
    replaced.replace_found(&ASSIGNMENT, marker, assigned);
    replaced.replace(&NEAR_KEYWORD, marker, is_secret_key);
    replaced.replace(&TOKEN, marker, |_| true);
}

/// Whether a string under this key is a secret whatever it looks like.
pub(super) fn is_named_secret(key: &str, text: &str) -> bool {
    is_long(text) && !is_placeholder(text) && NAME_AT_END.is_match(key)
}

/// The value of an assignment, if it is a secret and not a piece of code or prose.
fn assigned(text: &str, captures: &Captures<'_>) -> Option<Range<usize>> {
    if let Some(quoted) = captures.name("quoted") {
        let value = quoted.as_str();
        return (is_long(value) && !is_placeholder(value)).then(|| quoted.range());
    }
    let plain = captures.name("plain")?;
    let value = plain.as_str();
    let is_call = text.get(plain.end()..)?.starts_with('(');
    let name = captures.name("name")?.as_str().to_ascii_lowercase();
    let is_password = (name.starts_with("pass") || name == "pwd") && captures.name("sign")?.as_str() == "=";
    (is_long(value) && !is_call && (is_password || has_letters_and_digits(value))).then(|| plain.range())
}

fn is_long(value: &str) -> bool {
    value.chars().count() >= VALUE_CHARACTERS_MIN
}

/// Where a template will put the secret.
fn is_placeholder(value: &str) -> bool {
    ["${", "{{", "<", "%(", "$("].iter().any(|start| value.starts_with(start))
}

fn has_letters_and_digits(value: &str) -> bool {
    let has = |is: fn(&u8) -> bool| value.as_bytes().iter().any(is);
    has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic)
}

/// A word has no digits, and no capital after a small letter.
fn is_no_word(candidate: &Candidate<'_>) -> bool {
    let bytes = candidate.text.as_bytes();
    let is_camel = |pair: &[u8]| matches!(pair, [a, b] if a.is_ascii_lowercase() && b.is_ascii_uppercase());
    bytes.iter().any(u8::is_ascii_digit) || bytes.windows(2).any(is_camel)
}

/// Exactly as long as such a key, and neither a hash nor a path.
fn is_secret_key(candidate: &Candidate<'_>) -> bool {
    let has = |is: fn(&u8) -> bool| candidate.text.as_bytes().iter().any(is);
    let goes_on = |one: char| one.is_ascii_alphanumeric() || matches!(one, '/' | '+' | '=');
    !candidate.after.starts_with(goes_on)
        && has(u8::is_ascii_digit)
        && has(u8::is_ascii_uppercase)
        && has(u8::is_ascii_lowercase)
}

//! Who may pass to the HTTP endpoint: the path, then the token. `Host` and `Origin` are checked
//! behind it, by the SDK, with the lists given in `http`.

use http::{HeaderMap, StatusCode, header};

use crate::settings::Token;

/// The one path that is served.
pub(super) const PATH: &str = "/mcp";

/// A status and a sentence.
pub(super) type Refusal = (StatusCode, &'static str);

/// The refusal, if there is one.
pub(super) fn refusal(path: &str, headers: &HeaderMap, token: Option<&Token>) -> Option<Refusal> {
    if path != PATH {
        return Some((StatusCode::NOT_FOUND, "nothing here; the MCP endpoint is /mcp"));
    }
    match token {
        Some(token) if !shown(headers).is_some_and(|shown| token.matches(shown)) => {
            Some((StatusCode::UNAUTHORIZED, "show the bearer token of this server"))
        }
        _ => None,
    }
}

/// The token of `Authorization: Bearer …`; a second such header makes both worthless.
fn shown(headers: &HeaderMap) -> Option<&[u8]> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let value = values.next()?.as_bytes();
    if values.next().is_some() {
        return None;
    }
    let (scheme, token) = value.split_at_checked("Bearer ".len())?;
    scheme.eq_ignore_ascii_case(b"Bearer ").then_some(token)
}

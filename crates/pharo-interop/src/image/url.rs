//! The base URL of an image: plain HTTP, a host, perhaps a port and a path; nothing else.

use std::{fmt, net::IpAddr};

use http::Uri;

/// A checked base URL, without a slash at its end.
#[derive(Clone, Debug)]
pub(crate) struct ImageUrl {
    text: String,
    loopback: bool,
}

impl ImageUrl {
    /// The problem comes back as the end of a sentence that begins with the URL.
    pub(crate) fn parse(text: &str) -> Result<Self, &'static str> {
        let uri: Uri = text.parse().map_err(|_| "is not a URL; give one like http://localhost:8086")?;
        match uri.scheme_str() {
            Some("http") => {}
            Some("https") => {
                return Err(
                    "asks for TLS, which images do not speak; use http://, and a tunnel where the way must be protected",
                );
            }
            _ => return Err("must begin with http://"),
        }
        let authority = uri.authority().ok_or("names no host")?;
        if authority.as_str().contains('@') {
            return Err("contains a user name; images know no authentication");
        }
        let after_host = authority.as_str().strip_prefix(authority.host()).unwrap_or_default();
        if !after_host.is_empty() && authority.port_u16().is_none_or(|port| port == 0) {
            return Err("has a port that is no number from 1 to 65535");
        }
        if uri.query().is_some() || text.contains('#') {
            return Err("must end after the path; leave out `?` and `#`");
        }
        let path = uri.path().trim_end_matches('/');
        Ok(Self { text: format!("http://{authority}{path}"), loopback: is_loopback(authority.host()) })
    }

    /// Whether the image runs on this machine, so that its paths are ours too.
    pub(crate) fn is_loopback(&self) -> bool {
        self.loopback
    }
}

impl fmt::Display for ImageUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

fn is_loopback(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    bare.eq_ignore_ascii_case("localhost")
        || bare.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, kept: &str, loopback: bool) {
        let url = ImageUrl::parse(text).unwrap();
        assert_eq!((url.to_string().as_str(), url.is_loopback()), (kept, loopback));
    }

    fn check_refused(text: &str, part: &str) {
        let problem = ImageUrl::parse(text).unwrap_err();
        assert!(problem.contains(part), "`{problem}` does not contain `{part}`");
    }

    #[test]
    fn plain_http_urls_are_kept_without_the_last_slash() {
        check("http://localhost:8086", "http://localhost:8086", true);
        check("http://localhost:8086/", "http://localhost:8086", true);
        check("http://127.0.0.9/sis/", "http://127.0.0.9/sis", true);
        check("http://[::1]:80", "http://[::1]:80", true);
        check("http://images.example:8086", "http://images.example:8086", false);
        check("http://localhost.example", "http://localhost.example", false);
    }

    #[test]
    fn other_urls_are_refused_with_the_reason() {
        check_refused("https://localhost:8086", "TLS");
        check_refused("ftp://localhost", "http://");
        check_refused("localhost:8086", "http://");
        check_refused("", "not a URL");
        check_refused("http://me:secret@localhost", "user name");
        check_refused("http://localhost?x=1", "leave out");
        check_refused("http://localhost:99999", "port");
        check_refused("http://localhost:", "port");
        check_refused("http://localhost:0", "port");
    }
}

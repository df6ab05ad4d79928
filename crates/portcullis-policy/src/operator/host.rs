//! `host_in`, `host_not_in`: the host of an absolute `http` or `https` URL, as browsers parse it.
//!
//! A text that other programs could read as another host is no URL here: a backslash, white space or
//! control characters anywhere, user info, or slashes that only browsers forgive.

use core::net::{IpAddr, Ipv6Addr};

use portcullis_json::Value;
use url::{Host, Url};

use super::{Compile, Operand, Operator, OperatorInfo, Stance, Tested};

pub(super) const HOST_IN: OperatorInfo = OperatorInfo {
    name: "host_in",
    operand: Operand::TextList,
    speaks_of: "an absolute http or https URL without user info",
    meaning: "the host of the URL is in the list; `*.example.com` is any depth below, not the name itself",
    negative: false,
    compile: Compile::Test(|value| Ok(Box::new(HostIn { hosts: compile(value)? }))),
};

pub(super) const HOST_NOT_IN: OperatorInfo = OperatorInfo {
    name: "host_not_in",
    operand: Operand::TextList,
    speaks_of: "an absolute http or https URL without user info",
    meaning: "the host of the URL is not in the list",
    negative: true,
    compile: Compile::Test(|value| Ok(Box::new(HostNotIn(HostIn { hosts: compile(value)? })))),
};

#[derive(Debug)]
struct HostIn {
    hosts: Vec<HostPattern>,
}

#[derive(Debug)]
struct HostNotIn(HostIn);

#[derive(Debug)]
enum HostPattern {
    Exactly(PlainHost),
    /// Everything below this name, which is kept with its leading dot.
    Below(String),
}

#[derive(Debug, PartialEq, Eq)]
enum PlainHost {
    Name(String),
    Address(IpAddr),
}

fn compile(value: &Value) -> Result<Vec<HostPattern>, String> {
    let hosts = value.as_array().unwrap_or_default().iter().filter_map(Value::as_str);
    hosts.map(pattern).collect()
}

fn pattern(text: &str) -> Result<HostPattern, String> {
    let wrong = || {
        format!(
            "`{text}` is not a host; write `example.com`, `*.example.com` or an address, without scheme, port and path"
        )
    };
    if let Some(suffix) = text.strip_prefix("*.") {
        return match parse_host(suffix).ok_or_else(wrong)? {
            PlainHost::Name(name) => Ok(HostPattern::Below(format!(".{name}"))),
            PlainHost::Address(_) => Err(wrong()),
        };
    }
    parse_host(text).map(HostPattern::Exactly).ok_or_else(wrong)
}

fn parse_host(text: &str) -> Option<PlainHost> {
    // An IPv6 address may be written with or without its brackets.
    if let Ok(address) = text.parse::<Ipv6Addr>() {
        return Some(PlainHost::Address(unmapped(IpAddr::V6(address))));
    }
    let bracketed = text.starts_with('[') && text.ends_with(']');
    let odd = |character: char| {
        matches!(character, '/' | '\\' | '?' | '#' | '@' | '*')
            || character.is_whitespace()
            || character.is_control()
    };
    if text.contains(odd) || (text.contains(':') && !bracketed) {
        return None;
    }
    host_of(&format!("http://{text}/"))
}

/// The host of a URL, or nothing where the operators do not apply.
fn host_of(text: &str) -> Option<PlainHost> {
    if text
        .contains(|character: char| character == '\\' || character.is_whitespace() || character.is_control())
    {
        return None;
    }
    let (scheme, rest) = text.split_once("://")?;
    if !scheme.eq_ignore_ascii_case("http") && !scheme.eq_ignore_ascii_case("https") || rest.starts_with('/')
    {
        return None;
    }
    let authority = rest.split(['/', '?', '#']).next().unwrap_or(rest);
    if authority.contains('@') {
        return None;
    }
    let url = Url::parse(text).ok()?;
    match url.host()? {
        Host::Domain(name) => {
            let name = name.strip_suffix('.').unwrap_or(name);
            // An empty label is nothing that resolves everywhere alike.
            name.split('.').all(|label| !label.is_empty()).then(|| PlainHost::Name(name.to_ascii_lowercase()))
        }
        Host::Ipv4(address) => Some(PlainHost::Address(IpAddr::V4(address))),
        Host::Ipv6(address) => Some(PlainHost::Address(unmapped(IpAddr::V6(address)))),
    }
}

/// `::ffff:127.0.0.1` is one more spelling of `127.0.0.1`.
fn unmapped(address: IpAddr) -> IpAddr {
    address.to_canonical()
}

impl HostPattern {
    fn matches(&self, host: &PlainHost) -> bool {
        match (self, host) {
            (HostPattern::Exactly(wanted), found) => wanted == found,
            (HostPattern::Below(suffix), PlainHost::Name(name)) => {
                name.len() > suffix.len() && name.ends_with(suffix.as_str())
            }
            (HostPattern::Below(_), PlainHost::Address(_)) => false,
        }
    }
}

impl Operator for HostIn {
    fn test(&self, value: &Value, _: Stance) -> Tested {
        match value.as_str().and_then(host_of) {
            Some(host) => Tested::from_truth(self.hosts.iter().any(|pattern| pattern.matches(&host))),
            None => Tested::Inapplicable,
        }
    }
}

impl Operator for HostNotIn {
    fn test(&self, value: &Value, stance: Stance) -> Tested {
        self.0.test(value, stance).negated()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Tested::*, check, find};

    #[test]
    fn hosts_are_compared_as_browsers_parse_them() {
        check(
            "host_in",
            r#"["Example.com","*.example.org","127.0.0.1","bücher.example","[2001:db8::1]","::2"]"#,
            &[
                (r#""https://example.com/x""#, Holds),
                (r#""HTTPS://EXAMPLE.COM:8443""#, Holds),
                (r#""http://example.com./""#, Holds),
                (r#""http://example.com.evil.net/""#, Fails),
                (r#""http://sub.example.com/""#, Fails),
                (r#""http://a.example.org""#, Holds),
                (r#""http://a.b.example.org""#, Holds),
                (r#""http://example.org""#, Fails),
                (r#""http://notexample.org""#, Fails),
                (r#""http://2130706433/""#, Holds),
                (r#""http://0x7f.1/""#, Holds),
                (r#""http://0177.0.0.01/""#, Holds),
                (r#""http://[::ffff:127.0.0.1]/""#, Holds),
                (r#""http://xn--bcher-kva.example/""#, Holds),
                (r#""http://B%C3%BCcher.example/""#, Holds),
                (r#""http://[2001:DB8:0:0::1]:80/""#, Holds),
                (r#""http://[::2]/""#, Holds),
                (r#""http://ｅｘａｍｐｌｅ.com/""#, Holds),
            ],
        );
    }

    #[test]
    fn what_others_could_read_differently_is_no_url() {
        let odd = [
            "\"ftp://example.com/\"",
            "\"//example.com/\"",
            "\"example.com\"",
            "\"http:example.com\"",
            "\"http:///example.com\"",
            "\"http://example.com../\"",
            "\"http://.example.com/\"",
            "\"http://user@example.com/\"",
            "\"http://@example.com/\"",
            "\"http://a:b@example.com\"",
            "\"http://example.com\\\\@evil.net\"",
            "\" http://example.com\"",
            "\"http://exa\\tmple.com\"",
            "\"http://\"",
            "\"javascript:alert(1)\"",
            "5",
            "null",
            "\"\"",
        ];
        let cases: Vec<_> = odd.into_iter().map(|url| (url, Inapplicable)).collect();
        check("host_in", r#"["example.com"]"#, &cases);
        check("host_not_in", r#"["example.com"]"#, &cases);
        check(
            "host_not_in",
            r#"["example.com"]"#,
            &[("\"http://example.com\"", Fails), ("\"http://other.com\"", Holds)],
        );
    }

    #[test]
    fn a_list_entry_that_is_no_host_does_not_load() {
        for entry in [
            "http://example.com",
            "example.com:80",
            "example.com/x",
            "",
            "*",
            "a*.example.com",
            "*.127.0.0.1",
            "a b",
        ] {
            let operand = portcullis_json::Value::from(vec![portcullis_json::Value::from(entry)]);
            assert!(find("host_in").unwrap().compile(&operand).is_err(), "{entry}");
        }
    }
}

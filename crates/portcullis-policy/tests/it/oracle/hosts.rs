//! The host of a URL as browsers parse it, for the host operators. International names are looked up
//! in a short table: the generator keeps to the names in it, and anything else panics.

use std::net::{Ipv4Addr, Ipv6Addr};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Host {
    Name(String),
    V4(Ipv4Addr),
    V6(Ipv6Addr),
}

/// Labels after mapping, and how they are written in ASCII.
const INTERNATIONAL: [(&str, &str); 4] = [
    ("b\u{fc}cher", "xn--bcher-kva"),
    ("m\u{fc}nchen", "xn--mnchen-3ya"),
    ("fa\u{df}", "xn--fa-hia"),
    ("\u{2603}", "xn--n3h"),
];

/// The host of an absolute `http` or `https` URL; none where the host operators do not apply.
pub(crate) fn of_url(url: &str) -> Option<Host> {
    if url.contains(|c: char| c == '\\' || c.is_whitespace() || c.is_control()) {
        return None;
    }
    let (scheme, rest) = url.split_once("://")?;
    if !scheme.eq_ignore_ascii_case("http") && !scheme.eq_ignore_ascii_case("https") {
        return None;
    }
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, _) = rest.split_at(end);
    if authority.contains('@') {
        return None;
    }
    let (host, port) = split_port(authority)?;
    if !port_is_valid(port) {
        return None;
    }
    parse(host)
}

fn split_port(authority: &str) -> Option<(&str, &str)> {
    let start = match authority.starts_with('[') {
        true => authority.find(']')? + 1,
        false => authority.find(':').unwrap_or(authority.len()),
    };
    let (host, rest) = authority.split_at(start);
    match rest.strip_prefix(':') {
        Some(port) => Some((host, port)),
        None if rest.is_empty() => Some((host, "")),
        None => None,
    }
}

fn port_is_valid(port: &str) -> bool {
    let digits = port.bytes().all(|b| b.is_ascii_digit());
    digits && (port.is_empty() || port.parse::<u16>().is_ok())
}

fn parse(host: &str) -> Option<Host> {
    if let Some(inner) = host.strip_prefix('[') {
        return parse_v6(inner.strip_suffix(']')?);
    }
    let name = to_ascii(&percent_decoded(host)?);
    if name.is_empty() || name.contains(is_forbidden) {
        return None;
    }
    if ends_in_a_number(&name) {
        return parse_v4(&name).map(Host::V4);
    }
    Some(Host::Name(name.strip_suffix('.').unwrap_or(&name).to_owned()))
}

/// Addresses of the fourth version in the dress of the sixth are what they are.
fn parse_v6(text: &str) -> Option<Host> {
    let address: Ipv6Addr = text.parse().ok()?;
    Some(address.to_ipv4_mapped().map_or(Host::V6(address), Host::V4))
}

fn is_forbidden(c: char) -> bool {
    c.is_ascii_control() || " #/:<>?@[\\]^|%".contains(c)
}

fn percent_decoded(host: &str) -> Option<String> {
    let bytes = host.as_bytes();
    let mut decoded = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let pair = host.get(at + 1..at + 3);
        let byte = pair.and_then(|pair| u8::from_str_radix(pair, 16).ok());
        match byte {
            Some(byte) if bytes[at] == b'%' => {
                decoded.push(byte);
                at += 3;
            }
            _ => {
                decoded.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8(decoded).ok()
}

fn to_ascii(host: &str) -> String {
    let mapped: String = host.chars().filter_map(mapped).collect();
    let labels: Vec<&str> = mapped.split('.').map(label_to_ascii).collect();
    labels.join(".")
}

/// Lower case, full-width letters made narrow, the other full stops made plain, soft hyphens gone.
fn mapped(c: char) -> Option<char> {
    match c {
        '\u{ad}' => None,
        '\u{3002}' | '\u{ff0e}' | '\u{ff61}' => Some('.'),
        '\u{ff01}'..='\u{ff5e}' => {
            let narrow = char::from_u32(c as u32 - 0xfee0).unwrap();
            Some(narrow.to_ascii_lowercase())
        }
        other => other.to_lowercase().next(),
    }
}

fn label_to_ascii(label: &str) -> &str {
    if label.is_ascii() {
        let known = INTERNATIONAL.iter().any(|(_, ascii)| *ascii == label);
        assert!(known || !label.starts_with("xn--"), "not in the table: {label}");
        return label;
    }
    let found = INTERNATIONAL.iter().find(|(unicode, _)| *unicode == label);
    found.unwrap_or_else(|| panic!("not in the table: {label}")).1
}

fn ends_in_a_number(name: &str) -> bool {
    let without_dot = name.strip_suffix('.').unwrap_or(name);
    let last = without_dot.rsplit('.').next().unwrap();
    let digits = !last.is_empty() && last.bytes().all(|b| b.is_ascii_digit());
    digits || (!last.is_empty() && part_of_v4(last).is_some())
}

fn parse_v4(name: &str) -> Option<Ipv4Addr> {
    let parts: Vec<&str> = name.strip_suffix('.').unwrap_or(name).split('.').collect();
    if parts.len() > 4 {
        return None;
    }
    let numbers: Vec<u64> = parts.iter().map(|p| part_of_v4(p)).collect::<Option<_>>()?;
    let (last, leading) = numbers.split_last()?;
    if leading.iter().any(|n| *n > 255) || *last >= 256u64.pow(4 - leading.len() as u32) {
        return None;
    }
    let mut address = *last;
    for (place, number) in leading.iter().enumerate() {
        address += number << (8 * (3 - place));
    }
    Some(Ipv4Addr::from(address as u32))
}

/// Decimal, octal after a leading zero, hexadecimal after `0x`; a bare `0x` is zero.
fn part_of_v4(part: &str) -> Option<u64> {
    let (digits, radix) = match part {
        "" => return None,
        "0" => ("0", 10),
        _ => match part.strip_prefix("0x").or(part.strip_prefix("0X")) {
            Some("") => ("0", 16),
            Some(digits) => (digits, 16),
            None => match part.strip_prefix('0') {
                Some(digits) => (digits, 8),
                None => (part, 10),
            },
        },
    };
    let all = digits.chars().all(|c| c.is_digit(radix));
    if all { Some(u64::from_str_radix(digits, radix).unwrap_or(u64::MAX)) } else { None }
}

/// Whether one entry of a `host_in` list speaks of this host.
pub(crate) fn is_listed(host: &Host, entry: &str) -> bool {
    if let Some(suffix) = entry.strip_prefix("*.") {
        let Some(Host::Name(suffix)) = parse(suffix) else {
            return false;
        };
        return matches!(host, Host::Name(name) if name.ends_with(&format!(".{suffix}")));
    }
    let entry = match parse_v6(entry) {
        Some(address) => Some(address),
        None => parse(entry),
    };
    entry.as_ref() == Some(host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_what_browsers_make_of_them() {
        let name = |text: &str| Some(Host::Name(text.to_owned()));
        let v4 = |text: &str| Some(Host::V4(text.parse().unwrap()));
        for (url, expected) in [
            ("http://Example.COM./x", name("example.com")),
            ("HTTPS://example.com:8443", name("example.com")),
            ("http://ex%61mple.com/", name("example.com")),
            ("http://B\u{dc}CHER.example/", name("xn--bcher-kva.example")),
            ("http://\u{ff45}xample\u{3002}com/", name("example.com")),
            ("http://2130706433/", v4("127.0.0.1")),
            ("http://0x7f.1/", v4("127.0.0.1")),
            ("http://0177.0.0.01/", v4("127.0.0.1")),
            ("http://[::ffff:127.0.0.1]/", v4("127.0.0.1")),
            ("http://256.1.1.1/", None),
            ("http://1.2.3.08/", None),
            ("http://example.com:99999/", None),
            ("http://user@example.com/", None),
            ("http://@example.com/", None),
            ("http://example.com/@x", name("example.com")),
            ("http://a b.com/", None),
            ("http:\\\\example.com", None),
            ("http:/example.com", None),
            ("http:///example.com", None),
            ("ftp://example.com/", None),
            ("//example.com/", None),
            ("http://[::1/", None),
            ("http://?x", None),
        ] {
            assert_eq!(of_url(url), expected, "{url}");
        }
    }

    #[test]
    fn a_star_stands_for_names_below() {
        let listed = |url: &str, entry: &str| is_listed(&of_url(url).unwrap(), entry);
        assert!(listed("http://a.b.example.com/", "*.example.com"));
        assert!(!listed("http://example.com/", "*.example.com"));
        assert!(!listed("http://evilexample.com/", "*.example.com"));
        assert!(listed("http://[0:0::1]/", "::1"));
        assert!(listed("http://[0:0::1]/", "[::1]"));
        assert!(listed("http://127.0.0.1/", "0x7f.1"));
        assert!(listed("http://a.b\u{fc}cher.example", "*.B\u{dc}cher.example"));
    }
}

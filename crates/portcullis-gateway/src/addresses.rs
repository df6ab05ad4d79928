//! Where a server's name may lead: a name that resolves into a private network is refused.
//!
//! Whoever can change a name's records could otherwise point the gateway, with the server's credential, at
//! machines that only the gateway reaches. A name is resolved once per connection, every address is checked,
//! and the connection goes to a checked address. An address written out in the URL, `localhost`, and a server
//! with `allow_private` are the administrator's own word and pass.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs as _};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::vec;

use http::Uri;
use hyper_util::client::legacy::connect::dns::Name;
use tower_service::Service;

/// Which names a connector follows where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Names lead to public addresses only.
    Public,
    /// Names lead anywhere.
    Anywhere,
}

impl Reach {
    /// For a server that says `allow_private`, or does not.
    pub fn allowing_private(allowed: bool) -> Reach {
        if allowed { Reach::Anywhere } else { Reach::Public }
    }
}

/// Resolves names for the connector. Addresses in URLs do not come here.
#[derive(Clone, Copy, Debug)]
pub struct Resolver(pub Reach);

impl Service<Name> for Resolver {
    type Response = vec::IntoIter<SocketAddr>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Self::Response>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let reach = self.0;
        Box::pin(async move {
            let work = tokio::task::spawn_blocking(move || resolve(name.as_str(), reach));
            let found = work.await.map_err(io::Error::other)?;
            found.map(Vec::into_iter).inspect_err(|error| tracing::warn!(%error, "a server was not connected to"))
        })
    }
}

/// Refuses an address whose name leads into a private network. Waits for the resolver: not for async code.
///
/// A name that does not resolve is no reason to refuse: it is looked at again at each connection.
pub fn check_url(url: &str, reach: Reach) -> Result<(), String> {
    let Some(host) = url.parse::<Uri>().ok().and_then(|uri| uri.host().map(str::to_owned)) else {
        return Ok(());
    };
    let is_literal = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>().is_ok();
    match resolve(&host, reach) {
        Err(error) if !is_literal && error.kind() == io::ErrorKind::PermissionDenied => Err(error.to_string()),
        _ => Ok(()),
    }
}

/// Every address of the name, or none: one that is private spoils all.
fn resolve(name: &str, reach: Reach) -> io::Result<Vec<SocketAddr>> {
    let found: Vec<SocketAddr> = (name, 0).to_socket_addrs()?.collect();
    let is_localhost = name.eq_ignore_ascii_case("localhost") || name.eq_ignore_ascii_case("localhost.");
    let may = |address: IpAddr| match reach {
        Reach::Anywhere => true,
        Reach::Public if is_localhost => address.is_loopback(),
        Reach::Public => is_public(address),
    };
    match found.iter().find(|address| !may(address.ip())) {
        None => Ok(found),
        Some(address) => Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            format!(
                "`{name}` leads to `{}`, which is not a public address; write the address into the URL, or \
                 say `allow_private` for this server, if that is meant",
                address.ip()
            ),
        )),
    }
}

/// Whether anybody on the internet could reach it: what is reserved for anything else is not public.
fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let reserved = match address.octets() {
        [0, ..] | [240..=255, ..] => true,
        // Shared by a provider's customers.
        [100, 64..=127, ..] => true,
        [192, 0, 0, _] | [192, 88, 99, _] => true,
        // For measuring.
        [198, 18..=19, ..] => true,
        _ => false,
    };
    let special = address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_documentation()
        || address.is_multicast();
    !reserved && !special
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let embedded = |high: u16, low: u16| {
        let [[a, b], [c, d]] = [high.to_be_bytes(), low.to_be_bytes()];
        is_public_v4(Ipv4Addr::new(a, b, c, d))
    };
    match address.segments() {
        // Translated by a network (NAT64): what counts is where it comes out.
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => embedded(high, low),
        // 6to4: the same.
        [0x2002, high, low, ..] => embedded(high, low),
        // Teredo, benchmarks, identifiers, documentation.
        [0x2001, 0..=0x1ff, ..] | [0x2001, 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => false,
        // What is given out to the public. Loopback, mapped, local, multicast lie outside.
        [0x2000..=0x3fff, ..] => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn public_addresses_are_told_from_all_others() {
        for public in [
            "8.8.8.8", "1.1.1.1", "100.63.0.1", "100.128.0.1", "172.15.0.1", "172.32.0.1", "192.0.1.1",
            "198.17.0.1", "2606:4700::1111", "2a00::1", "64:ff9b::808:808", "2002:808:808::1",
        ] {
            assert!(is_public(public.parse().unwrap()), "{public}");
        }
        for private in [
            "0.0.0.0", "0.1.2.3", "10.0.0.1", "100.64.0.1", "127.0.0.1", "127.8.8.8", "169.254.169.254",
            "172.16.0.1", "172.31.255.255", "192.0.0.8", "192.0.2.1", "192.168.1.1", "198.18.0.1",
            "198.51.100.1", "203.0.113.1", "224.0.0.1", "240.0.0.1", "255.255.255.255", "::", "::1",
            "::127.0.0.1", "::ffff:127.0.0.1", "::ffff:8.8.8.8", "::ffff:10.0.0.1", "64:ff9b::7f00:1",
            "64:ff9b::a9fe:a9fe", "64:ff9b::a00:1", "64:ff9b:1::808:808", "100::1", "2001::1", "2001:db8::1",
            "2002:7f00:1::1", "2002:a00:1::1", "fc00::1", "fd12:3456::1", "fe80::1", "fec0::1", "ff02::1",
            "3fff::1",
        ] {
            assert!(!is_public(private.parse().unwrap()), "{private}");
        }
    }

    #[test]
    fn a_number_that_only_the_resolver_reads_as_an_address_is_a_name() {
        for odd in ["2130706433", "0x7f000001", "0x7f.1", "127.1", "0177.0.0.1"] {
            let url = format!("http://{odd}/mcp");
            let refused = check_url(&url, Reach::Public).unwrap_err();
            assert!(refused.contains("`127.0.0.1`, which is not a public address"), "{refused}");
            assert_eq!(check_url(&url, Reach::Anywhere), Ok(()));
        }
    }

    #[test]
    fn what_was_written_out_passes() {
        for url in ["http://127.0.0.1:1/mcp", "http://[::1]:1/mcp", "http://10.0.0.1/", "http://localhost/mcp"] {
            assert_eq!(check_url(url, Reach::Public), Ok(()), "{url}");
        }
        assert_eq!(check_url("http://no-such-name.invalid/mcp", Reach::Public), Ok(()));
    }
}

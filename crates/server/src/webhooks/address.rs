//! The addresses that may be called.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A parsed web address. The rules have validated it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Address<'a> {
    /// Whether it uses TLS.
    pub(crate) is_secure: bool,
    /// Name or address of the host, without brackets.
    pub(crate) host: &'a str,
    /// The port.
    pub(crate) port: u16,
    /// Host and port as written.
    pub(crate) authority: &'a str,
    /// The path and query.
    pub(crate) path: String,
}

impl<'a> Address<'a> {
    pub(crate) fn parse(url: &'a str) -> Option<Self> {
        let (is_secure, rest) = match url.strip_prefix("https://") {
            Some(rest) => (true, rest),
            None => (false, url.strip_prefix("http://")?),
        };
        let rest = rest.split('#').next()?;
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(end);
        let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) if !port.contains(']') => (host, port.parse().ok()?),
            Some(_) | None => (authority, if is_secure { 443 } else { 80 }),
        };
        let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        (!host.is_empty()).then_some(Self { is_secure, host, port, authority, path })
    }
}

/// Whether an address is public, so that the author of a webhook cannot reach anything through
/// Baton that is not reachable without it.
pub(super) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_4(address),
        IpAddr::V6(address) => is_public_6(address),
    }
}

fn is_public_4(address: Ipv4Addr) -> bool {
    let [first, second, third, _] = address.octets();
    let is_special = address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_broadcast()
        || address.is_documentation()
        || address.is_multicast()
        || first == 0
        || (first == 100 && (64..128).contains(&second))
        || (first, second, third) == (192, 0, 0)
        || (first == 198 && (18..20).contains(&second))
        || first >= 240;
    !is_special
}

fn is_public_6(address: Ipv6Addr) -> bool {
    let segments = address.segments();
    let embedded = |high: u16, low: u16| {
        let ([first, second], [third, fourth]) = (high.to_be_bytes(), low.to_be_bytes());
        is_public_4(Ipv4Addr::new(first, second, third, fourth))
    };
    if let Some(mapped) = address.to_ipv4_mapped() {
        return is_public_4(mapped);
    }
    match segments {
        // Forms that embed an IPv4 address, which is what counts.
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] | [0x2002, high, low, ..] => embedded(high, low),
        // Documentation, Teredo, and translation within a network.
        [0x2001, 0xdb8 | 0, ..]
        | [0x64, 0xff9b, 1, ..]
        | [0, 0, 0, 0, 0 | 0xffff, 0 | 0xffff, _, _] => false,
        [first, ..] => {
            let is_special = address.is_multicast()
                || (first & 0xfe00) == 0xfc00
                || (first & 0xffc0) == 0xfe80
                || (first & 0xffc0) == 0xfec0;
            !is_special
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_globally_routable_addresses_are_public() {
        for public in ["1.1.1.1", "93.184.216.34", "2606:4700::1111", "64:ff9b::101:101"] {
            assert!(is_public(public.parse().unwrap()), "{public}");
        }
        for private in [
            "127.0.0.1",
            "10.1.2.3",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "0.0.0.0",
            "0.1.2.3",
            "192.0.0.8",
            "198.18.0.1",
            "224.0.0.1",
            "255.255.255.255",
            "240.0.0.1",
            "203.0.113.7",
            "::",
            "::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::7f00:1",
            "64:ff9b::7f00:1",
            "2002:7f00:1::",
            "fe80::1",
            "fec0::1",
            "fc00::1",
            "fd12::1",
            "ff02::1",
            "2001:db8::1",
            "2001::1",
            "64:ff9b:1::101:101",
            "::ffff:0:1.1.1.1",
        ] {
            assert!(!is_public(private.parse().unwrap()), "{private}");
        }
    }

    #[test]
    fn addresses_are_taken_apart() {
        for (url, is_secure, host, port, path) in [
            ("http://a", false, "a", 80, "/"),
            ("https://a", true, "a", 443, "/"),
            ("https://a:80", true, "a", 80, "/"),
            ("http://a:81/x?y=1#z", false, "a", 81, "/x?y=1"),
            ("http://a?y=1", false, "a", 80, "/?y=1"),
            ("http://[::1]:81/x", false, "::1", 81, "/x"),
            ("https://[::1]", true, "::1", 443, "/"),
        ] {
            let address = Address::parse(url).unwrap();
            assert_eq!((address.is_secure, address.host), (is_secure, host), "{url}");
            assert_eq!((address.port, &*address.path), (port, path), "{url}");
        }
        for bad in ["ftp://a", "https://", "a", "http://", "http://:80/", "http://a:x/"] {
            assert_eq!(Address::parse(bad), None, "{bad}");
        }
    }
}

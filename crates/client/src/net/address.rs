//! The address of a server.

use crate::Error;

/// The default port of a server.
const PORT_DEFAULT: u16 = 4747;

/// The schemes of an address.
const SCHEMES: &str = "it must begin with `http://`, `https://`, `ws://` or `wss://`";

/// The address of a server: `http://host:port` or `ws://host:port`, with an `s` for TLS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Address {
    /// Host and port, as in a `Host` header.
    authority: String,
    is_secure: bool,
}

impl Address {
    /// Parses a URL.
    pub(crate) fn parse(url: &str) -> Result<Self, Error> {
        let refuse = |reason: &str| {
            let url: String = url.chars().take(200).flat_map(char::escape_default).collect();
            Error::BadUrl { url, reason: reason.to_owned() }
        };
        let (scheme, rest) = url.split_once("://").ok_or_else(|| refuse(SCHEMES))?;
        let is_secure = match scheme {
            "http" | "ws" => false,
            "https" | "wss" => true,
            _ => return Err(refuse(SCHEMES)),
        };
        let authority = rest.strip_suffix('/').unwrap_or(rest);
        let plain = |sign: char| sign.is_ascii_alphanumeric() || "-._:[]%".contains(sign);
        if let Some(sign) = authority.chars().find(|sign| !plain(*sign)) {
            let sign = sign.escape_default();
            return Err(refuse(&format!("`{sign}` is not allowed in a host and port")));
        }
        // The colons of an IPv6 address are between brackets.
        let after_host = authority.rfind(']').map_or(0, |bracket| bracket + 1);
        let (host, port) = match authority[after_host..].rfind(':') {
            Some(colon) => authority.split_at(after_host + colon),
            None => (authority, ""),
        };
        if host.is_empty() || (host.contains(':') && !host.starts_with('[')) {
            return Err(refuse("it must name one host, an IPv6 address in brackets"));
        }
        let port = match port.strip_prefix(':') {
            None => PORT_DEFAULT,
            Some(port) => port.parse().map_err(|_| refuse("the port must be from 0 to 65535"))?,
        };
        Ok(Self { authority: format!("{host}:{port}"), is_secure })
    }

    /// Host and port.
    pub(crate) fn authority(&self) -> &str {
        &self.authority
    }

    /// The host alone, an IPv6 address in its brackets.
    pub(crate) fn host(&self) -> &str {
        self.authority.rsplit_once(':').map_or(&*self.authority, |(host, _)| host)
    }

    /// Whether the server uses TLS.
    pub(crate) fn is_secure(&self) -> bool {
        self.is_secure
    }
}

impl std::fmt::Display for Address {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let scheme = if self.is_secure { "https" } else { "http" };
        write!(formatter, "{scheme}://{}", self.authority)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_and_ports_are_understood() {
        for (url, authority) in [
            ("http://127.0.0.1:4747", "127.0.0.1:4747"),
            ("ws://localhost:80/", "localhost:80"),
            ("http://baton", "baton:4747"),
            ("http://[::1]", "[::1]:4747"),
            ("ws://[fe80::1]:9", "[fe80::1]:9"),
        ] {
            let address = Address::parse(url).unwrap();
            assert_eq!((address.authority(), address.is_secure()), (authority, false));
        }
        for (url, host, shown) in [
            ("https://baton.example", "baton.example", "https://baton.example:4747"),
            ("wss://[::1]:9/", "[::1]", "https://[::1]:9"),
        ] {
            let address = Address::parse(url).unwrap();
            assert!(address.is_secure());
            assert_eq!((address.host(), address.to_string().as_str()), (host, shown));
        }
    }

    #[test]
    fn everything_else_is_refused() {
        for url in [
            "",
            "localhost:4747",
            "https://",
            "ftp://host",
            "http://",
            "http://:80",
            "http://host:",
            "http://host:port",
            "http://host:65536",
            "http://host/v1",
            "http://user@host",
            "http://host?x",
            "http://a b",
            "http://::1",
            "http://host\r\nX: y",
        ] {
            assert_eq!(Address::parse(url).unwrap_err().code(), "client.bad_url", "{url:?}");
        }
    }
}

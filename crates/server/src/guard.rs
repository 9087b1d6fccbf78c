//! Checks of Host and Origin: without them, every page in the user's browser could reach a server
//! on loopback.
//!
//! 1. `Host` must name the server: a page that made its own name resolve to loopback sends its own
//!    name. If tokens are required, such a page has none: then any name is accepted, unless names
//!    were given. A request that names a server in its first line as well names the same one. The
//!    port is not compared with that of the server: it may be forwarded from another one.
//! 2. `Origin`, which only browsers send, must be the `Host` with its port, or a name that was
//!    given for the server: another program on the same machine serves pages of its own.

use crate::refusal::Refusal;
use crate::settings::Settings;
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderValue, Uri, header};

/// The names of the server.
pub(crate) struct Hosts {
    names: Vec<String>,
    /// The names among them that were given, perhaps because a proxy is in front of the server.
    given: Vec<String>,
    /// Whether any other name is accepted as well.
    takes_any: bool,
}

impl Hosts {
    pub(crate) fn new(settings: &Settings) -> Self {
        let loopback = ["localhost", "127.0.0.1", "[::1]"].map(str::to_owned);
        let address = match settings.listen.ip() {
            std::net::IpAddr::V4(address) => address.to_string(),
            std::net::IpAddr::V6(address) => format!("[{address}]"),
        };
        let given: Vec<String> =
            settings.hosts.iter().map(|host| host.to_ascii_lowercase()).collect();
        let takes_any = settings.demands_tokens() && settings.hosts.is_empty();
        let names = loopback.into_iter().chain([address]).chain(given.iter().cloned()).collect();
        Self { names, given, takes_any }
    }

    fn knows(&self, host: &str) -> bool {
        is_among(&self.names, host)
    }

    /// Whether a request that names the server like this is accepted.
    pub(crate) fn accepts(&self, host: &str) -> bool {
        self.knows(host) || (self.takes_any && !host.is_empty())
    }

    /// Whether a request with this target and these headers is accepted.
    pub(crate) fn check_request(&self, target: &Uri, headers: &HeaderMap) -> Result<(), Refusal> {
        self.check(headers)?;
        let host = headers.get(header::HOST).map_or(&b""[..], HeaderValue::as_bytes);
        match target.authority().map(Authority::as_str) {
            Some(named) if !named.as_bytes().eq_ignore_ascii_case(host) => {
                Err(Refusal::DeniedHost { host: shown(named) })
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Whether a request with these headers is accepted.
    pub(crate) fn check(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        let text = |value| HeaderValue::to_str(value).unwrap_or_default();
        let mut hosts = headers.get_all(header::HOST).iter();
        let host = hosts.next().map(text).unwrap_or_default();
        if hosts.next().is_some() || !self.accepts(host) {
            return Err(Refusal::DeniedHost { host: shown(host) });
        }
        let mut origins = headers.get_all(header::ORIGIN).iter().map(text);
        // `null` is sent by a page in a sandbox or a local file: it could be any page.
        let is_same = |origin: &str| {
            let name = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
            name.is_some_and(|name| is_among(&self.given, name) || name.eq_ignore_ascii_case(host))
        };
        if !origins.all(is_same) {
            return Err(Refusal::DeniedOrigin {});
        }
        Ok(())
    }
}

/// Whether a host, without its port, is one of these names.
fn is_among(names: &[String], host: &str) -> bool {
    let name = without_port(host);
    names.iter().any(|known| known.eq_ignore_ascii_case(name))
}

fn shown(host: &str) -> String {
    host.chars().take(80).flat_map(char::escape_default).collect()
}

fn without_port(host: &str) -> &str {
    let is_port = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit());
    match host.rsplit_once(':') {
        Some((name, port)) if is_port(port) && (!name.contains(':') || name.ends_with(']')) => name,
        Some(_) | None => host,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pairs: &[(&str, &str)]) -> Result<(), String> {
        let hosts = vec!["Baton.Example".to_owned()];
        check_with(&Settings { hosts, ..Settings::default() }, pairs)
    }

    fn check_with(settings: &Settings, pairs: &[(&str, &str)]) -> Result<(), String> {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            let name: header::HeaderName = name.parse().unwrap();
            headers.append(name, value.parse().unwrap());
        }
        Hosts::new(settings).check(&headers).map_err(|refusal| refusal.code().to_owned())
    }

    #[test]
    fn the_server_is_called_by_its_own_names_only() {
        for host in
            ["localhost", "localhost:4747", "127.0.0.1:1", "[::1]:4747", "[::1]", "baton.example"]
        {
            assert_eq!(check(&[("host", host)]), Ok(()), "{host}");
        }
        for host in ["", "evil.example", "localhost.evil.example:4747", "::1", "127.0.0.1.nip.io"] {
            let refused = Err("request.denied_host".to_owned());
            assert_eq!(check(&[("host", host)]), refused, "{host}");
        }
        assert!(check(&[]).is_err());
        assert!(check(&[("host", "localhost"), ("host", "localhost")]).is_err());
    }

    #[test]
    fn a_server_with_tokens_accepts_any_host_unless_names_are_given() {
        let open = Settings { tokens: true, ..Settings::default() };
        let named = Settings { hosts: vec!["baton.example".to_owned()], ..open.clone() };
        let address = [("host", "192.0.2.2:4747")];
        assert_eq!(check_with(&open, &address), Ok(()));
        assert_eq!(check_with(&named, &address), Err("request.denied_host".to_owned()));
        assert!(check_with(&open, &[("host", "")]).is_err());
        let page = |origin| [address[0], ("origin", origin)];
        assert_eq!(check_with(&open, &page("http://192.0.2.2:4747")), Ok(()));
        let denied = Err("request.denied_origin".to_owned());
        assert_eq!(check_with(&open, &page("http://192.0.2.3:4747")), denied);
    }

    #[test]
    fn a_page_from_another_origin_is_refused() {
        let from = |origin: &str| check(&[("host", "localhost:4747"), ("origin", origin)]);
        assert_eq!(from("http://localhost:4747"), Ok(()));
        assert_eq!(from("https://baton.example"), Ok(()));
        let others = ["http://localhost:3000", "http://127.0.0.1:4747", "http://localhost"];
        let strange = ["null", "http://evil.example", "localhost", "file://", "http://[::1", ""];
        for origin in others.into_iter().chain(strange) {
            assert_eq!(from(origin), Err("request.denied_origin".to_owned()), "{origin}");
        }
    }
}

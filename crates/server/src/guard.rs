//! Checks of Host and Origin: without them, every page in the user's browser could reach a server
//! on loopback.
//!
//! 1. `Host` must name the server: a page that made its own name resolve to loopback sends its own
//!    name.
//! 2. `Origin`, which only browsers send, must name the server too.

use crate::refusal::Refusal;
use crate::settings::Settings;
use axum::http::{HeaderMap, HeaderValue, header};

/// The names of the server.
pub(crate) struct Hosts(Vec<String>);

impl Hosts {
    pub(crate) fn new(settings: &Settings) -> Self {
        let loopback = ["localhost", "127.0.0.1", "[::1]"].map(str::to_owned);
        let address = match settings.listen.ip() {
            std::net::IpAddr::V4(address) => address.to_string(),
            std::net::IpAddr::V6(address) => format!("[{address}]"),
        };
        let given = settings.hosts.iter().map(|host| host.to_ascii_lowercase());
        Self(loopback.into_iter().chain([address]).chain(given).collect())
    }

    fn knows(&self, host: &str) -> bool {
        let name = without_port(host);
        self.0.iter().any(|known| known.eq_ignore_ascii_case(name))
    }

    /// Whether a request with these headers is accepted.
    pub(crate) fn check(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        let text = |value| HeaderValue::to_str(value).unwrap_or_default();
        let mut hosts = headers.get_all(header::HOST).iter();
        let host = hosts.next().map(text).unwrap_or_default();
        if hosts.next().is_some() || !self.knows(host) {
            return Err(Refusal::DeniedHost { host: shown(host) });
        }
        let mut origins = headers.get_all(header::ORIGIN).iter().map(text);
        // `null` is sent by a sandboxed page or a local file: it could be any page.
        let is_ours = |origin: &str| {
            let host = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
            host.is_some_and(|host| self.knows(host))
        };
        if !origins.all(is_ours) {
            return Err(Refusal::DeniedOrigin {});
        }
        Ok(())
    }
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
        let settings = Settings { hosts: vec!["Baton.Example".to_owned()], ..Settings::default() };
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            let name: header::HeaderName = name.parse().unwrap();
            headers.append(name, value.parse().unwrap());
        }
        Hosts::new(&settings).check(&headers).map_err(|refusal| refusal.code().to_owned())
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
    fn a_page_from_elsewhere_is_refused() {
        let from = |origin: &str| check(&[("host", "localhost"), ("origin", origin)]);
        assert_eq!(from("http://localhost:4747"), Ok(()));
        assert_eq!(from("https://baton.example"), Ok(()));
        for origin in ["null", "http://evil.example", "localhost", "file://", "http://[::1", ""] {
            assert_eq!(from(origin), Err("request.denied_origin".to_owned()), "{origin}");
        }
    }
}

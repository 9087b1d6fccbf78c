//! The endpoint of a model.

use std::fmt;
use std::path::Path;
use std::time::Duration;

use baton_tls::{TlsError, Trust};

use super::ModelError;

/// The default time limit for a completion.
const TIMEOUT: Duration = Duration::from_mins(10);

/// An endpoint with the protocol of `OpenAI` chat completions.
#[derive(Clone)]
pub struct Endpoint {
    /// The trusted certificates; none without TLS. An error is reported when they are used, because
    /// `ca_file` may replace them before.
    pub(super) trust: Option<Result<Trust, TlsError>>,
    pub(super) host: String,
    pub(super) port: u16,
    /// The prefix of every path, such as `/v1`.
    pub(super) base: String,
    pub(super) key: Option<String>,
    pub(super) model: String,
    pub(super) timeout: Duration,
}

impl fmt::Debug for Endpoint {
    /// Without the key.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, port, base, model, .. } = self;
        let scheme = if self.trust.is_some() { "https" } else { "http" };
        write!(formatter, "{scheme}://{host}:{port}{base} {model}")
    }
}

impl Endpoint {
    /// An endpoint at an address such as `http://127.0.0.1:11434/v1`, with a model. For `https://`
    /// the certificate is verified with the authorities of the system.
    pub fn new(base_url: &str, model: &str) -> Result<Self, ModelError> {
        let unusable = |reason: &str| ModelError::Endpoint {
            url: base_url.to_owned(),
            reason: reason.to_owned(),
        };
        let (is_secure, rest) = match base_url.strip_prefix("https://") {
            Some(rest) => (true, Some(rest)),
            None => (false, base_url.strip_prefix("http://")),
        };
        let rest = rest.ok_or_else(|| unusable("it must begin with `http://` or `https://`"))?;
        if !rest.bytes().all(|byte| byte.is_ascii_graphic()) || rest.contains(['?', '#', '@']) {
            return Err(unusable("only a host, a port and a path are allowed"));
        }
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) if !port.contains(']') => {
                let port = port.parse().map_err(|_| unusable("the port is not a number"))?;
                (host, port)
            }
            Some(_) | None => (authority, if is_secure { 443 } else { 80 }),
        };
        if host.is_empty() {
            return Err(unusable("it names no host"));
        }
        let path = path.trim_end_matches('/');
        let base = if path.is_empty() { String::new() } else { format!("/{path}") };
        let (host, model) = (host.to_owned(), model.to_owned());
        let trust = is_secure.then(|| Trust::of(None));
        Ok(Self { trust, host, port, base, key: None, model, timeout: TIMEOUT })
    }

    /// The endpoint that `OPENAI_BASE_URL` names, with the key of `OPENAI_API_KEY` if there is one.
    pub fn from_environment(model: &str) -> Result<Self, ModelError> {
        let url = std::env::var("OPENAI_BASE_URL").unwrap_or_default();
        let endpoint = Self::new(&url, model)?;
        match std::env::var("OPENAI_API_KEY") {
            Ok(key) if !key.is_empty() => Ok(endpoint.key(&key)),
            Ok(_) | Err(_) => Ok(endpoint),
        }
    }

    /// The `Host` header: without the port if it is the default one.
    pub(super) fn authority(&self) -> String {
        let Self { host, port, .. } = self;
        let usual = if self.trust.is_some() { 443 } else { 80 };
        if *port == usual { host.clone() } else { format!("{host}:{port}") }
    }

    /// Trusts the certificate authorities of a PEM file instead of those of the system, for
    /// `https://`.
    pub fn ca_file(mut self, file: &Path) -> Result<Self, ModelError> {
        let trust = Trust::of(Some(file))?;
        self.trust = self.trust.map(|_| Ok(trust));
        Ok(self)
    }

    /// Sets the API key.
    #[must_use]
    pub fn key(mut self, key: &str) -> Self {
        self.key = Some(key.to_owned());
        self
    }

    /// Sets the time limit for a completion.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_and_bad_ones_refused() {
        let read = |url: &str| {
            let endpoint = Endpoint::new(url, "m").unwrap();
            (endpoint.host, endpoint.port, endpoint.base)
        };
        assert_eq!(read("http://a:81/v1/"), ("a".into(), 81, "/v1".into()));
        assert_eq!(read("http://a"), ("a".into(), 80, String::new()));
        assert_eq!(read("https://a/v1"), ("a".into(), 443, "/v1".into()));
        assert_eq!(read("https://[::1]:81"), ("[::1]".into(), 81, String::new()));
        for bad in
            ["", "a", "ftp://a", "http://", "https://", "http://:1", "http://a:x", "http://u@a"]
        {
            assert!(Endpoint::new(bad, "m").is_err(), "{bad}");
        }
        let called = |url: &str| Endpoint::new(url, "m").unwrap().authority();
        assert_eq!(["https://a", "https://a:80", "http://a:80/v1"].map(called), ["a", "a:80", "a"]);
        let endpoint = Endpoint::new("http://a/v1", "m").unwrap().key("sk-hush");
        assert!(!format!("{endpoint:?}").contains("hush"));
    }
}

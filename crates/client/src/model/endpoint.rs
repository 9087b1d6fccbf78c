//! Where a model is asked.

use std::fmt;
use std::time::Duration;

use super::ModelError;

/// How long a model may think unless the caller says otherwise.
const TIMEOUT: Duration = Duration::from_mins(10);

/// An endpoint that speaks the protocol of `OpenAI` chat completions.
#[derive(Clone)]
pub struct Endpoint {
    pub(super) host: String,
    pub(super) port: u16,
    /// What every path there begins with, such as `/v1`.
    pub(super) base: String,
    pub(super) key: Option<String>,
    pub(super) model: String,
    pub(super) timeout: Duration,
}

impl fmt::Debug for Endpoint {
    /// Without the key.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, port, base, model, .. } = self;
        write!(formatter, "http://{host}:{port}{base} {model}")
    }
}

impl Endpoint {
    /// An endpoint at an address such as `http://127.0.0.1:11434/v1`, and the model to ask there.
    pub fn new(base_url: &str, model: &str) -> Result<Self, ModelError> {
        let unusable = |reason: &str| ModelError::Endpoint {
            url: base_url.to_owned(),
            reason: reason.to_owned(),
        };
        if base_url.starts_with("https://") {
            return Err(unusable("only plain HTTP is spoken: put a proxy in between"));
        }
        let rest = base_url.strip_prefix("http://");
        let rest = rest.ok_or_else(|| unusable("it must begin with `http://`"))?;
        if !rest.bytes().all(|byte| byte.is_ascii_graphic()) || rest.contains(['?', '#', '@']) {
            return Err(unusable("only a host, a port and a path are allowed"));
        }
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) if !port.contains(']') => {
                let port = port.parse().map_err(|_| unusable("the port is no number"))?;
                (host, port)
            }
            Some(_) | None => (authority, 80),
        };
        if host.is_empty() {
            return Err(unusable("it names no host"));
        }
        let path = path.trim_end_matches('/');
        let base = if path.is_empty() { String::new() } else { format!("/{path}") };
        let (host, model) = (host.to_owned(), model.to_owned());
        Ok(Self { host, port, base, key: None, model, timeout: TIMEOUT })
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

    /// With this key.
    #[must_use]
    pub fn key(mut self, key: &str) -> Self {
        self.key = Some(key.to_owned());
        self
    }

    /// With so much time for an answer.
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
        for bad in
            ["", "a", "https://api.example/v1", "http://", "http://:1", "http://a:x", "http://u@a"]
        {
            assert!(Endpoint::new(bad, "m").is_err(), "{bad}");
        }
        let endpoint = Endpoint::new("http://a/v1", "m").unwrap().key("sk-hush");
        assert!(!format!("{endpoint:?}").contains("hush"));
    }
}

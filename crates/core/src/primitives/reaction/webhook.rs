//! Webhooks: the endpoint, and the secret that is never shown.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::limits;
use crate::refusal::{OutOfRange, within};

/// A webhook.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "WantedWebhook"))]
#[serde(deny_unknown_fields)]
pub struct WebhookSpec {
    /// The URL to post to; `http://` or `https://`.
    pub url: String,
    /// The secret that signs the calls. It is never returned. If omitted, calls are not signed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<Secret>,
    /// The timeout of one attempt in milliseconds.
    #[cfg_attr(feature = "schema", schemars(
        extend("default" = limits::WEBHOOK_TIMEOUT_MS_DEFAULT),
        range(min = limits::WEBHOOK_TIMEOUT_MS_MIN, max = limits::WEBHOOK_TIMEOUT_MS_MAX),
    ))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// How often a failed call is retried.
    #[cfg_attr(feature = "schema", schemars(
        extend("default" = limits::WEBHOOK_RETRIES_DEFAULT),
        range(min = 0, max = limits::WEBHOOK_RETRIES_MAX),
    ))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retries: Option<u64>,
}

/// A webhook as it is stored and shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Webhook {
    /// The URL to post to.
    pub url: String,
    /// The timeout of one attempt in milliseconds.
    pub timeout_ms: u64,
    /// How often a failed call is retried.
    pub retries: u64,
    /// Whether calls are signed. Absent if `false`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub signed: bool,
}

/// Why a webhook is invalid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unusable {
    /// The URL is invalid or not allowed.
    Url(&'static str),
    /// The secret is empty or too long.
    Secret,
    /// A number is out of range.
    Range(OutOfRange),
}

impl WebhookSpec {
    /// Validates it, and separates the secret from what is shown.
    pub fn checked(self) -> Result<(Webhook, Option<Secret>), Unusable> {
        let Self { url, secret, timeout_ms, retries } = self;
        check_url(&url).map_err(Unusable::Url)?;
        let is_usable =
            |secret: &Secret| (1..=limits::WEBHOOK_SECRET_BYTES_MAX).contains(&secret.0.len());
        if !secret.as_ref().is_none_or(is_usable) {
            return Err(Unusable::Secret);
        }
        let range = (limits::WEBHOOK_TIMEOUT_MS_MIN, limits::WEBHOOK_TIMEOUT_MS_MAX);
        let usual = limits::WEBHOOK_TIMEOUT_MS_DEFAULT;
        let timeout_ms = within("timeout_ms", timeout_ms, usual, range).map_err(Unusable::Range)?;
        let (usual, range) = (limits::WEBHOOK_RETRIES_DEFAULT, (0, limits::WEBHOOK_RETRIES_MAX));
        let retries = within("retries", retries, usual, range).map_err(Unusable::Range)?;
        Ok((Webhook { url, timeout_ms, retries, signed: secret.is_some() }, secret))
    }
}

fn check_url(url: &str) -> Result<(), &'static str> {
    if url.len() > limits::WEBHOOK_URL_BYTES_MAX {
        return Err("it is too long");
    }
    let rest = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://"));
    let rest = rest.ok_or("it must begin with `http://` or `https://`")?;
    if !url.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err("only printable ASCII is allowed");
    }
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if host.contains('@') {
        return Err("a name and a password do not belong there");
    }
    let name = match host.rsplit_once(':') {
        Some((name, port)) if !port.contains(']') => {
            port.parse::<u16>().map_err(|_| "the port is not a number from 0 to 65535")?;
            name
        }
        Some(_) | None => host,
    };
    if name.is_empty() { Err("it names no host") } else { Ok(()) }
}

/// A text that is never shown.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    /// Wraps the text.
    pub fn new(text: String) -> Self {
        Self(text)
    }

    /// The text itself, for signing.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Secret(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_that_can_be_called_are_taken() {
        for good in
            ["http://a", "https://a", "http://a:80/x?y=1", "http://[::1]:80/", "https://[::1]"]
        {
            assert_eq!(check_url(good), Ok(()), "{good}");
        }
        let long = format!("http://a/{}", "x".repeat(limits::WEBHOOK_URL_BYTES_MAX));
        for bad in [
            "",
            "a",
            "ftp://a",
            "http://",
            "https://",
            "https://:443/",
            "http:///x",
            "http://:80",
            "http://a:b",
            "http://u:p@a/",
            "http://a b",
            "http://ä",
            "http://a\r\nX: y",
            &long,
        ] {
            assert!(check_url(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_secret_is_not_shown() {
        let wanted: WebhookSpec =
            serde_json::from_str(r#"{"url":"http://a","secret":"hush"}"#).unwrap();
        assert!(!format!("{wanted:?}").contains("hush"));
        let (webhook, secret) = wanted.checked().unwrap();
        assert!(webhook.signed && !serde_json::to_string(&webhook).unwrap().contains("hush"));
        assert_eq!(secret.unwrap().reveal(), "hush");
    }
}

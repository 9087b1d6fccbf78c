//! One request to a collector: its target, and its outcome.

use std::time::Duration;

use axum::http::{HeaderMap, HeaderName, HeaderValue, Request, StatusCode, Uri, header};
use baton_tls::{Stream, TlsError, Trust};
use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use percent_encoding::percent_decode_str;
use serde_json::Value as Tree;
use tokio::net::TcpStream;

use super::OtelError;

/// How much of a response is read: it contains at most how many spans were rejected, and why.
const ANSWER_BYTES_MAX: usize = 64 << 10;
/// The maximum wait that a collector may request.
const RETRY_AFTER_MAX: Duration = Duration::from_mins(1);

/// The address of a collector.
#[derive(Debug)]
pub(crate) struct Endpoint {
    host: String,
    port: u16,
    authority: String,
    path: String,
    headers: HeaderMap,
    /// None without encryption.
    trust: Option<Trust>,
}

/// The outcome of a request.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Sent {
    /// It was accepted, except for this many spans.
    Taken { rejected: u64 },
    /// It was not accepted, and a retry may help.
    Again { why: String, after: Option<Duration> },
    /// It was rejected finally.
    Refused { why: String },
}

fn again(why: impl Into<String>) -> Sent {
    Sent::Again { why: why.into(), after: None }
}

impl Endpoint {
    pub(super) fn parse(
        given: &str,
        headers: Option<&str>,
        trust: impl FnOnce() -> Result<Trust, TlsError>,
    ) -> Result<Self, OtelError> {
        let bad = |reason: &str| OtelError::BadEndpoint {
            // It may contain a password.
            given: given.rsplit('@').next().unwrap_or_default().chars().take(80).collect(),
            reason: reason.to_owned(),
        };
        let uri: Uri = given.parse().map_err(|_| bad("it is not a URL"))?;
        let (trust, usual) = match uri.scheme_str() {
            Some("http") => (None, 80),
            Some("https") => (Some(trust()?), 443),
            Some(_) | None => return Err(bad("it must begin with http:// or https://")),
        };
        let authority = uri.authority().ok_or_else(|| bad("it names no host"))?;
        if authority.as_str().contains('@') {
            return Err(bad("say who you are in the headers"));
        }
        if uri.query().is_some() {
            return Err(bad("it must have no query"));
        }
        let host = authority.host();
        let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        if host.is_empty() {
            return Err(bad("it names no host"));
        }
        Ok(Self {
            host: host.to_owned(),
            port: authority.port_u16().unwrap_or(usual),
            authority: authority.as_str().to_owned(),
            path: format!("{}/v1/traces", uri.path().trim_end_matches('/')),
            headers: read_headers(headers.unwrap_or_default())?,
            trust,
        })
    }

    /// Sends a body, within the time limit.
    pub(super) async fn send(&self, body: Bytes, deadline: Duration) -> Sent {
        match tokio::time::timeout(deadline, self.try_to_send(body)).await {
            Ok(Ok(sent) | Err(sent)) => sent,
            Err(_) => again(format!("no response within {} ms", deadline.as_millis())),
        }
    }

    async fn connect(&self) -> Result<Stream, Sent> {
        let connected = TcpStream::connect((self.host.as_str(), self.port)).await;
        let socket = connected.map_err(|error| again(format!("cannot connect: {error}")))?;
        let Some(trust) = &self.trust else { return Ok(Stream::from(socket)) };
        trust.connect(&self.host, socket).await.map_err(|error| again(error.to_string()))
    }

    async fn try_to_send(&self, body: Bytes) -> Result<Sent, Sent> {
        let broken = |error: hyper::Error| again(format!("the connection broke: {error}"));
        let stream = TokioIo::new(self.connect().await?);
        let (mut sender, connection) = http1::handshake(stream).await.map_err(broken)?;
        let mut request = Request::post(&self.path)
            .header(header::HOST, &self.authority)
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::USER_AGENT, concat!("baton/", env!("CARGO_PKG_VERSION")))
            .header(header::CONNECTION, "close")
            .body(Full::new(body))
            .map_err(|error| Sent::Refused { why: error.to_string() })?;
        request.headers_mut().extend(self.headers.clone());
        let asked = async {
            let answer = sender.send_request(request).await.map_err(broken)?;
            let (head, body) = answer.into_parts();
            let after = head.headers.get(header::RETRY_AFTER);
            let after = after.and_then(|text| text.to_str().ok()?.parse().ok());
            let body = Limited::new(body, ANSWER_BYTES_MAX).collect().await;
            let body = body.map(http_body_util::Collected::to_bytes).unwrap_or_default();
            Ok(judged(head.status, after.map(Duration::from_secs), &body))
        };
        // The connection is polled together with the request, and dropped with it.
        let driven = async {
            // However it ends, the request is notified.
            let _ = connection.await;
            std::future::pending().await
        };
        tokio::select! {
            biased;
            answered = asked => answered,
            answered = driven => answered,
        }
    }
}

fn judged(status: StatusCode, after: Option<Duration>, body: &[u8]) -> Sent {
    let why = format!("status {status}");
    let is_passing = status.is_server_error()
        || matches!(status, StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS);
    if status.is_success() {
        Sent::Taken { rejected: rejected(body) }
    } else if is_passing {
        Sent::Again { why, after: after.map(|after| after.min(RETRY_AFTER_MAX)) }
    } else {
        Sent::Refused { why }
    }
}

/// How many spans a collector rejected although it accepted the others: a number, or a text.
fn rejected(body: &[u8]) -> u64 {
    let tree: Tree = serde_json::from_slice(body).unwrap_or_default();
    let count = &tree["partialSuccess"]["rejectedSpans"];
    count.as_u64().or_else(|| count.as_str()?.parse().ok()).unwrap_or(0)
}

/// Parses `name=value,name=value`, with values as in a URL.
fn read_headers(text: &str) -> Result<HeaderMap, OtelError> {
    let bad = |reason| OtelError::BadHeaders { reason };
    let mut headers = HeaderMap::new();
    for pair in text.split(',').map(str::trim).filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').ok_or_else(|| bad("a name without a value"))?;
        let name: HeaderName = name.trim().parse().map_err(|_| bad("a name that is none"))?;
        let value = percent_decode_str(value.trim()).decode_utf8();
        let value = value.map_err(|_| bad("a value that is not UTF-8"))?;
        let mut value: HeaderValue =
            value.parse().map_err(|_| bad("a value that no header can have"))?;
        value.set_sensitive(true);
        headers.append(name, value);
    }
    Ok(headers)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(given: &str, headers: Option<&str>) -> Result<Endpoint, OtelError> {
        Endpoint::parse(given, headers, || panic!("nothing is encrypted here"))
    }

    #[test]
    fn an_endpoint_is_parsed() {
        for (given, host, port, path) in [
            ("http://collector:4318", "collector", 4318, "/v1/traces"),
            ("http://collector/", "collector", 80, "/v1/traces"),
            ("http://[::1]:4318/otlp/", "::1", 4318, "/otlp/v1/traces"),
        ] {
            let endpoint = parse(given, None).unwrap();
            let parsed = (&*endpoint.host, endpoint.port, &*endpoint.path);
            assert_eq!(parsed, (host, port, path), "{given}");
        }
        for bad in ["", "collector:4318", "ftp://a", "http://", "http://a?b", "http://u:pw@a"] {
            let error = parse(bad, None).unwrap_err().to_string();
            assert!(!error.contains("pw"), "{error}");
        }
    }

    #[test]
    fn headers_are_read_and_never_logged() {
        let endpoint = parse("http://a", Some("api-key=s%20ecret, x=1")).unwrap();
        assert_eq!(endpoint.headers["api-key"], "s ecret");
        assert_eq!(endpoint.headers["x"], "1");
        assert!(!format!("{endpoint:?}").contains("ecret"));
        for bad in ["a", "a b=1", "a=\u{7}", "a=%ff"] {
            assert!(parse("http://a", Some(bad)).is_err(), "{bad}");
        }
    }

    #[test]
    fn temporary_failures_are_retried() {
        let judge = |status: u16, body: &[u8]| {
            judged(StatusCode::from_u16(status).unwrap(), Some(Duration::from_secs(500)), body)
        };
        for (status, body, rejected) in [
            (200, &b"{}"[..], 0),
            (200, b"", 0),
            (200, br#"{"partialSuccess":{"rejectedSpans":"3"}}"#, 3),
            (202, br#"{"partialSuccess":{"rejectedSpans":2}}"#, 2),
        ] {
            assert_eq!(judge(status, body), Sent::Taken { rejected });
        }
        for status in [408, 429, 500, 502, 503, 504] {
            let after = Some(RETRY_AFTER_MAX);
            assert!(matches!(judge(status, b""), Sent::Again { after: it, .. } if it == after));
        }
        for status in [302, 400, 401, 404, 413] {
            assert!(matches!(judge(status, b""), Sent::Refused { .. }), "{status}");
        }
    }
}

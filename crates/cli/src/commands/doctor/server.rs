//! Checks of the server: address, health, version, access.

use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::time::Duration;

use baton_client::Options;
use baton_tls::{Stream, Trust};
use serde::Deserialize;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::Finding;
use crate::context::Context;
use crate::settings::{Settings, keys};

/// How long to wait for a response.
const PATIENCE: Duration = Duration::from_secs(3);
/// Maximum size of a response; health responses are short.
const ANSWER_BYTES_MAX: u64 = 64 << 10;
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// A health response.
#[derive(Debug, Default, Deserialize)]
struct Health {
    /// A status word, or the HTTP status of an error.
    #[serde(default)]
    status: Value,
    #[serde(default)]
    version: Option<String>,
    /// The code of an error.
    #[serde(default)]
    code: Option<String>,
    /// The reason, if the server is not ready.
    #[serde(default)]
    detail: Option<String>,
}

/// Sends a health request over a plain socket: without a token, and with as little as possible that
/// can fail.
async fn health(url: &str, ca_file: Option<&Path>, path: &str) -> io::Result<Health> {
    let late = |_| io::Error::from(ErrorKind::TimedOut);
    let text = timeout(PATIENCE, ask(url, ca_file, path)).await.map_err(late)??;
    let body = text.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    let odd = |_| io::Error::new(ErrorKind::InvalidData, "the response is not from a Baton server");
    serde_json::from_str(body).map_err(odd)
}

async fn ask(url: &str, ca_file: Option<&Path>, path: &str) -> io::Result<String> {
    let authority = authority(url);
    let stream = TcpStream::connect(authority).await?;
    let mut stream = if url.starts_with("https://") || url.starts_with("wss://") {
        let host = authority.rsplit_once(':').map_or(authority, |(host, _)| host);
        let trust = Trust::of(ca_file).map_err(io::Error::other)?;
        trust.connect(host, stream).await.map_err(io::Error::other)?
    } else {
        Stream::from(stream)
    };
    let close = "connection: close";
    let request = format!("GET /{path} HTTP/1.1\r\nhost: {authority}\r\n{close}\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    stream.flush().await?;
    let mut text = String::new();
    stream.take(ANSWER_BYTES_MAX).read_to_string(&mut text).await?;
    Ok(text)
}

/// Whether the server can listen on its address.
pub(super) async fn address(listen: SocketAddr, is_running: bool) -> Finding {
    let bad = |found: String| {
        Finding::bad(
            "address",
            found,
            "stop the other program, or choose another address with --listen",
        )
    };
    match TcpListener::bind(listen) {
        Ok(_) => Finding::good("address", format!("{listen} is available")),
        Err(error) if error.kind() != ErrorKind::AddrInUse => {
            bad(format!("cannot listen on {listen}: {error}"))
        }
        Err(_) if is_running => {
            Finding::good("address", format!("the server is listening on {listen}"))
        }
        Err(_) => match health(&listen.to_string(), None, "healthz").await {
            Ok(_) => {
                let found = format!("a server with another data folder is listening on {listen}");
                Finding::fair("address", found, "nothing to do if that is the server you want")
            }
            Err(_) => bad(format!("another program is listening on {listen}")),
        },
    }
}

/// Checks only that the configured server responds.
pub(super) async fn alive(context: &Context) -> Finding {
    let Settings { url, ca_file, .. } = context.settings();
    match health(url, ca_file.as_deref(), "healthz").await {
        Ok(alive) if alive.status == "ok" => Finding::good("server", format!("{url} responds")),
        Ok(alive) => Finding::bad(
            "server",
            format!("{url}: {}", alive.status),
            "check the log of the server",
        ),
        Err(error) => Finding::bad(
            "server",
            format!("{url}: {error}"),
            "start the server, or correct the URL",
        ),
    }
}

/// Checks the configured server.
pub(super) async fn check(context: &Context, findings: &mut Vec<Finding>) {
    let settings = context.settings();
    let mut is_any_alive = false;
    for url in settings.urls() {
        is_any_alive |= check_health(url, settings, findings).await;
    }
    if !is_any_alive {
        return;
    }
    let patient =
        Options { connect_timeout: PATIENCE, request_timeout: PATIENCE, ..Options::default() };
    findings.push(match context.connect(patient).await {
        Ok(_) => Finding::good("access", "the server accepts commands"),
        Err(failure) => Finding::bad(
            "access",
            failure.detail(),
            "set BATON_TOKEN to a valid access token; an admin can create one",
        ),
    });
}

/// Checks one of the servers; false if it does not answer.
async fn check_health(url: &str, settings: &Settings, findings: &mut Vec<Finding>) -> bool {
    let ca_file = settings.ca_file.as_deref();
    let responses = async {
        let alive = health(url, ca_file, "healthz").await?;
        Ok::<_, io::Error>((alive, health(url, ca_file, "readyz").await?))
    };
    match responses.await {
        Ok((alive, ready)) => {
            findings.push(judge(url, &ready));
            findings.push(version(alive.version.as_deref()));
            true
        }
        Err(error) => {
            let found = format!("{url}: {error}");
            let is_expected = settings.sources.is_explicit(&keys::URL);
            findings.push(if is_expected {
                Finding::bad("server", found, "start the server, or correct the URL")
            } else {
                Finding::fair("server", found, "start the server with `baton serve`")
            });
            false
        }
    }
}

fn authority(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.split('/').next().unwrap_or(rest)
}

fn judge(url: &str, ready: &Health) -> Finding {
    match (&ready.status, &ready.detail) {
        (status, _) if status == "ready" => Finding::good("server", format!("{url} is ready")),
        (status, why) => {
            let found = format!(
                "{url} is not ready: {}",
                why.clone().unwrap_or_else(|| status.to_string())
            );
            Finding::bad("server", found, remedy(ready.code.as_deref()))
        }
    }
}

/// The remedy for a server that is not ready. Space on its disk matters only to one that has its
/// data there.
fn remedy(code: Option<&str>) -> &'static str {
    match code {
        Some("log.away") => {
            "check that PostgreSQL or NATS runs, and that the server reaches it; its log says why \
             it does not"
        }
        Some("cluster.cannot_open") => {
            "see `shard.failed` in the log of the server, remove the reason, and restart it"
        }
        Some("cluster.no_owner") => {
            "wait a few seconds; if it lasts, check the log of the server and its database"
        }
        Some("server.closing") => "use another server, or wait until this one has restarted",
        _ => "check the log of the server and the free disk space",
    }
}

fn version(server: Option<&str>) -> Finding {
    match server {
        Some(VERSION) => Finding::good("version", format!("client and server are {VERSION}")),
        other => {
            let other = other.unwrap_or("unknown");
            let found = format!("client is {VERSION}, server is {other}");
            Finding::fair("version", found, "use the same version of both")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::State;
    use super::*;

    #[test]
    fn another_version_and_a_server_that_is_not_ready_are_seen() {
        assert_eq!(version(Some(VERSION)).state, State::Good);
        assert_eq!(version(Some("0.0.1")).state, State::Fair);
        assert_eq!(version(None).state, State::Fair);
        let health = |status: &str| Health { status: status.into(), ..Health::default() };
        assert_eq!(judge("u", &health("ready")).state, State::Good);
        assert_eq!(judge("u", &health("read_only")).state, State::Bad);
        assert!(remedy(None).contains("disk"));
        for code in ["log.away", "cluster.cannot_open", "cluster.no_owner", "server.closing"] {
            assert!(!remedy(Some(code)).contains("disk"), "{code}");
        }
    }

    #[test]
    fn the_authority_of_an_address_is_found() {
        for url in ["http://a:1", "http://a:1/", "ws://a:1/v1", "a:1"] {
            assert_eq!(authority(url), "a:1");
        }
    }
}

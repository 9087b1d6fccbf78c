//! Checks of the server: its address, whether it answers, which version it is, whom it lets in.

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

/// How long a server may take to answer before it counts as away.
const PATIENCE: Duration = Duration::from_secs(3);
/// Longest answer that is read; what a server says of its health is short.
const ANSWER_BYTES_MAX: u64 = 64 << 10;
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// What a server says of itself.
#[derive(Debug, Default, Deserialize)]
struct Told {
    /// A word; the number of the refusal where there is one.
    #[serde(default)]
    status: Value,
    #[serde(default)]
    version: Option<String>,
    /// Why not, if not.
    #[serde(default)]
    detail: Option<String>,
}

/// Asks how a server is, in the plainest way: no token is needed, and nothing else may fail.
async fn look_at(url: &str, ca_file: Option<&Path>, path: &str) -> io::Result<Told> {
    let late = |_| io::Error::from(ErrorKind::TimedOut);
    let text = timeout(PATIENCE, ask(url, ca_file, path)).await.map_err(late)??;
    let body = text.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    let odd = |_| io::Error::new(ErrorKind::InvalidData, "it does not answer as a server of Baton");
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

/// Whether a server can listen where it shall.
pub(super) async fn address(listen: SocketAddr, is_running: bool) -> Finding {
    let bad = |found: String| {
        Finding::bad("address", found, "stop what listens there, or name another with --listen")
    };
    match TcpListener::bind(listen) {
        Ok(_) => Finding::good("address", format!("{listen} is free")),
        Err(error) if error.kind() != ErrorKind::AddrInUse => {
            bad(format!("{listen} cannot be listened at: {error}"))
        }
        Err(_) if is_running => Finding::good("address", format!("the server has {listen}")),
        Err(_) => match look_at(&listen.to_string(), None, "healthz").await {
            Ok(_) => {
                let found = format!("a server with other data has {listen}");
                Finding::fair("address", found, "that is fine if it is the one you want")
            }
            Err(_) => bad(format!("another program has {listen}")),
        },
    }
}

/// Whether the server that commands would ask is alive: nothing else.
pub(super) async fn alive(context: &Context) -> Finding {
    let Settings { url, ca_file, .. } = context.settings();
    match look_at(url, ca_file.as_deref(), "healthz").await {
        Ok(told) if told.status == "ok" => Finding::good("server", format!("{url} is alive")),
        Ok(told) => Finding::bad("server", format!("{url}: {}", told.status), "look at its log"),
        Err(error) => Finding::bad("server", format!("{url}: {error}"), "start it"),
    }
}

/// Asks the server that commands would ask.
pub(super) async fn look(context: &Context, findings: &mut Vec<Finding>) {
    let settings = context.settings();
    let (url, ca_file) = (&settings.url, settings.ca_file.as_deref());
    let told = async {
        let health = look_at(url, ca_file, "healthz").await?;
        Ok::<_, io::Error>((health, look_at(url, ca_file, "readyz").await?))
    };
    let (health, ready) = match told.await {
        Ok(told) => told,
        Err(error) => {
            let found = format!("{url}: {error}");
            let is_expected = settings.sources.is_said(&keys::URL);
            findings.push(if is_expected {
                Finding::bad("server", found, "start it, or correct the address")
            } else {
                Finding::fair("server", found, "start one with `baton serve`")
            });
            return;
        }
    };
    findings.push(judge(url, &ready));
    findings.push(version(health.version.as_deref()));
    let patient =
        Options { connect_timeout: PATIENCE, request_timeout: PATIENCE, ..Options::default() };
    findings.push(match context.connect(patient).await {
        Ok(_) => Finding::good("access", "commands are let in"),
        Err(failure) => {
            Finding::bad("access", failure.detail(), "ask an admin for a token: BATON_TOKEN")
        }
    });
}

fn authority(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.split('/').next().unwrap_or(rest)
}

fn judge(url: &str, ready: &Told) -> Finding {
    match (&ready.status, &ready.detail) {
        (status, _) if status == "ready" => {
            Finding::good("server", format!("{url} answers, and is ready"))
        }
        (status, why) => {
            let found =
                format!("{url} answers: {}", why.clone().unwrap_or_else(|| status.to_string()));
            Finding::bad("server", found, "look at its log, its disk, and how much is free there")
        }
    }
}

fn version(server: Option<&str>) -> Finding {
    match server {
        Some(VERSION) => Finding::good("version", format!("{VERSION}, as the server")),
        other => {
            let other = other.unwrap_or("unknown");
            let found = format!("this is {VERSION}, the server is {other}");
            Finding::fair("version", found, "use the same version for both")
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
        let told = |status: &str| Told { status: status.into(), ..Told::default() };
        assert_eq!(judge("u", &told("ready")).state, State::Good);
        assert_eq!(judge("u", &told("read_only")).state, State::Bad);
    }

    #[test]
    fn the_authority_of_an_address_is_found() {
        for url in ["http://a:1", "http://a:1/", "ws://a:1/v1", "a:1"] {
            assert_eq!(authority(url), "a:1");
        }
    }
}

//! Draining: servers that an operator empties without stopping them. Finds the server that is
//! meant, and checks whether it can be drained. The code that handles the requests of this module
//! records them in the log.

use std::time::Duration;

use axum::body::Body;
use axum::http::{Method, Request, Response};
use baton_core::access::Permission;
use baton_core::wire::Fields;
use hyper::body::Incoming;
use serde::Deserialize;
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use super::front::Front;
use super::{Routes, ServerStatus};
use crate::http::json;
use crate::listener::ConnectionSlot;
use crate::problem::Refused;
use crate::refusal::Refusal;

/// The paths of the two operations.
pub(crate) const DRAIN: &str = "/v1/access/cluster/drain";
pub(crate) const UNDRAIN: &str = "/v1/access/cluster/undrain";
/// Requests that wait until the log has recorded them.
pub(super) const REQUESTS_MAX: usize = 16;
/// How long that is awaited. The log is retried for ten seconds; the operator gets an answer
/// earlier.
const RECORDED_MAX: Duration = Duration::from_secs(5);
/// The name of a server is short.
const BODY_BYTES_MAX: usize = 4 << 10;

/// A request, to be recorded in the log, that a server gives all its shards away, or may have some
/// again.
#[derive(Debug)]
pub struct DrainRequest {
    /// The id of the server.
    pub server: String,
    /// Whether it is to have none.
    pub is_drained: bool,
    answer: oneshot::Sender<Recorded>,
}

/// The result of a [`DrainRequest`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recorded {
    /// All servers see it when they look next.
    Done,
    /// There is no such server any more.
    Unknown,
    /// The server stops, or cannot open its shards, and takes none in any case.
    Leaving,
    /// The log does not answer. It may be recorded all the same.
    Away,
}

impl DrainRequest {
    /// Whether the operator still waits. A request without a waiting operator is not executed.
    pub fn is_awaited(&self) -> bool {
        !self.answer.is_closed()
    }

    /// Answers it. If the operator no longer waits, nothing happens.
    pub fn answer(self, recorded: Recorded) {
        let _ = self.answer.send(recorded);
    }
}

/// The body of both operations.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    server: Option<String>,
}

/// Whether a request drains a server, or undoes that; none if it is about something else.
pub(super) fn wish_of<B>(request: &Request<B>) -> Option<bool> {
    match (request.method(), request.uri().path()) {
        (&Method::POST, DRAIN) => Some(true),
        (&Method::POST, UNDRAIN) => Some(false),
        _ => None,
    }
}

/// The server that is meant: by its id, its address, or the beginning of its id. If two have one
/// address, the one that sends heartbeats is the one that was killed and started again.
fn named<'a>(routes: &'a Routes, given: &str) -> Result<&'a ServerStatus, Refusal> {
    let servers = &routes.servers;
    let is_named = |server: &&ServerStatus| server.id == given || server.address == given;
    let named = servers.iter().filter(is_named).min_by_key(|server| server.heartbeat_age_ms);
    if let Some(server) = named {
        return Ok(server);
    }
    let begins = |server: &&ServerStatus| !given.is_empty() && server.id.starts_with(given);
    let found: Vec<&ServerStatus> = servers.iter().filter(begins).collect();
    match found[..] {
        [server] => Ok(server),
        [] => Err(Refusal::UnknownServer { server: given.to_owned() }),
        _ => {
            let servers = found.iter().map(|server| server.id.clone()).collect();
            Err(Refusal::AmbiguousServer { server: given.to_owned(), servers })
        }
    }
}

/// Refuses to drain the last server that would have shards.
fn check_others(routes: &Routes, server: &ServerStatus) -> Result<(), Refusal> {
    let is_other = |other: &ServerStatus| other.id != server.id && !other.draining;
    if routes.servers.iter().any(is_other) {
        return Ok(());
    }
    Err(Refusal::LastServer { server: server.id.clone() })
}

impl Front {
    /// Records that a server is to have no shards, or some again. The answer is the server; its
    /// shards move after that.
    pub(super) async fn drain(
        &self,
        slot: &ConnectionSlot,
        request: Request<Incoming>,
        is_drained: bool,
    ) -> Result<Response<Body>, Refused> {
        let operation = if is_drained { "cluster.drain" } else { "cluster.undrain" };
        self.admitted(slot, &request, Permission::Administer, operation).await?;
        if self.routes().is_fixed {
            return Err(Refusal::Alone {}.into());
        }
        let body = self.receive(request.into_body(), BODY_BYTES_MAX).await?;
        let wanted = wanted(&body)?;
        self.shards().await?;
        if let Some(silent) = self.silent() {
            return Err(Refusal::LogAway { seconds: silent.as_secs() }.into());
        }
        let routes = self.routes();
        let server = named(&routes, wanted.server.as_ref().unwrap_or(&routes.me))?;
        if is_drained {
            check_others(&routes, server)?;
        }
        match self.record(&server.id, is_drained).await {
            Recorded::Done => {
                let server = ServerStatus { draining: is_drained, ..server.clone() };
                Ok(json(serde_json::to_vec(&server).expect("it can be encoded")))
            }
            Recorded::Unknown => Err(Refusal::UnknownServer { server: server.id.clone() }.into()),
            Recorded::Leaving => Err(Refusal::LeavingServer { server: server.id.clone() }.into()),
            Recorded::Away => Err(Refusal::LogAway { seconds: self.age().as_secs() }.into()),
        }
    }

    async fn record(&self, server: &str, is_drained: bool) -> Recorded {
        let (answer, answered) = oneshot::channel();
        let request = DrainRequest { server: server.to_owned(), is_drained, answer };
        if self.drains.try_send(request).is_err() {
            return Recorded::Away;
        }
        match timeout(RECORDED_MAX, answered).await {
            Ok(Ok(recorded)) => recorded,
            Ok(Err(_)) | Err(_) => Recorded::Away,
        }
    }
}

/// The body of a request; without one, the server that receives the request is meant.
fn wanted(body: &[u8]) -> Result<Wanted, Refused> {
    let text = str::from_utf8(body).map_err(|_| {
        let reason = "the body is not UTF-8".to_owned();
        baton_core::wire::Fault::Malformed { reason }
    })?;
    if text.trim().is_empty() {
        return Ok(Wanted::default());
    }
    Ok(Fields::parse(text)?.to()?)
}

/// Where requests go, and where they are served.
pub(super) fn requests() -> (mpsc::Sender<DrainRequest>, mpsc::Receiver<DrainRequest>) {
    mpsc::channel(REQUESTS_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn routes(ids: &[(&str, bool)]) -> Routes {
        let server = |(id, draining): &(&str, bool)| ServerStatus {
            id: (*id).to_owned(),
            address: format!("http://{id}:4747"),
            draining: *draining,
            ..ServerStatus::default()
        };
        Routes { servers: ids.iter().map(server).collect(), ..Routes::default() }
    }

    #[test]
    fn a_server_is_named_by_its_id_its_address_or_the_beginning_of_its_id() {
        let routes = routes(&[("ab12", false), ("ab34", false), ("ab", false), ("cd", false)]);
        for (given, expected) in [
            ("ab12", Ok("ab12")),
            ("ab1", Ok("ab12")),
            ("http://ab34:4747", Ok("ab34")),
            ("ab", Ok("ab")),
            ("c", Ok("cd")),
            ("a", Err("cluster.ambiguous_server")),
            ("b12", Err("cluster.unknown_server")),
            ("http://ab34", Err("cluster.unknown_server")),
            ("", Err("cluster.unknown_server")),
        ] {
            let found = named(&routes, given);
            let found = found.as_ref().map(|server| &server.id[..]).map_err(Refusal::code);
            assert_eq!(found, expected, "{given}");
        }
    }

    #[test]
    fn of_two_servers_with_one_address_the_living_one_is_used() {
        let mut routes = routes(&[("old", false), ("new", false)]);
        for (server, age_ms) in routes.servers.iter_mut().zip([1_900, 100]) {
            server.address = "http://a:4747".to_owned();
            server.heartbeat_age_ms = age_ms;
        }
        let found = named(&routes, "http://a:4747").map(|server| &server.id[..]);
        assert_eq!(found.map_err(|it| it.code()), Ok("new"));
    }

    #[test]
    fn the_last_server_that_would_have_shards_is_not_drained() {
        let routes = routes(&[("a", false), ("b", true), ("c", false)]);
        let refused = |routes: &Routes, index: usize| {
            check_others(routes, &routes.servers[index]).err().map(|it| it.code().to_owned())
        };
        assert_eq!(refused(&routes, 0), None);
        assert_eq!(refused(&routes, 1), None, "it is drained already");
        let mut last = routes;
        last.servers[2].draining = true;
        assert_eq!(refused(&last, 0), Some("cluster.last_server".to_owned()));
    }
}

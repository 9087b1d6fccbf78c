//! Connections to other servers: opened, verified, and kept for the next request.

use std::collections::{BTreeSet, HashMap};
use std::io::{Error, ErrorKind};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::body::Body;
use axum::http::{Request, Response, StatusCode, Uri, Version, header};
use baton_tls::{Stream, Trust};
use bytes::Bytes;
use http_body_util::{BodyExt, Collected, Limited};
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use hyper::client::conn::{TrySendError, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::ServerStatus;
use super::front::Front;
use super::proof::{self, NONCE, Nonce, PROOF};
use crate::refusal::Refusal;
use crate::server_log::{FieldValue, Level};

/// How long a connection to another server may take.
const CONNECT_MAX: Duration = Duration::from_secs(1);
/// How long its proof may take: a server that is busy still answers within this.
const PROOF_MAX: Duration = Duration::from_secs(3);
/// More than a proof has.
const PROOF_BYTES_MAX: usize = 1 << 10;
/// Idle connections to one server that are kept.
const IDLE_MAX: usize = 64;

/// Connections to other servers.
pub(super) struct Upstreams {
    /// By the id of the server, which has proven it.
    idle: Arc<Mutex<HashMap<String, Vec<SendRequest<Body>>>>>,
    /// The ids of servers that could not be reached the last time.
    unreachable: Mutex<BTreeSet<String>>,
    trust: Option<Trust>,
}

impl Upstreams {
    pub(super) fn new(trust: Option<Trust>) -> Self {
        Self { idle: Arc::default(), unreachable: Mutex::default(), trust }
    }

    /// Forgets servers other than these.
    pub(super) fn keep(&self, servers: &[ServerStatus]) {
        let is_present = |id: &String| servers.iter().any(|server| server.id == *id);
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).retain(|id, _| is_present(id));
        self.unreachable.lock().unwrap_or_else(PoisonError::into_inner).retain(is_present);
    }

    /// Connects to an address.
    pub(super) async fn connect(&self, address: &str) -> Result<Stream, Error> {
        let bad = |reason: &str| Error::new(ErrorKind::InvalidInput, reason.to_owned());
        let uri: Uri = address.parse().map_err(|_| bad("the address is not a URL"))?;
        let host = uri.host().ok_or_else(|| bad("the address has no host"))?;
        let is_secure = uri.scheme_str() == Some("https");
        let port = uri.port_u16().unwrap_or(if is_secure { 443 } else { 80 });
        let plain = host.trim_start_matches('[').trim_end_matches(']');
        let connecting = async {
            let socket = TcpStream::connect((plain, port)).await?;
            socket.set_nodelay(true)?;
            if !is_secure {
                return Ok(Stream::from(socket));
            }
            let trust = self.trust.as_ref().ok_or_else(|| bad("no authority is trusted"))?;
            trust.connect(host, socket).await.map_err(Error::other)
        };
        let late = |_| Error::new(ErrorKind::TimedOut, "it did not accept a connection in time");
        timeout(CONNECT_MAX, connecting).await.map_err(late)?
    }

    fn take(&self, server: &str) -> Option<SendRequest<Body>> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let senders = idle.get_mut(server)?;
        while let Some(sender) = senders.pop() {
            if sender.is_ready() {
                return Some(sender);
            }
        }
        None
    }

    /// Keeps a connection for the next request, when the response has been read.
    pub(super) fn give(&self, server: &ServerStatus, mut sender: SendRequest<Body>) {
        let (idle, id) = (Arc::clone(&self.idle), server.id.clone());
        tokio::spawn(async move {
            if sender.ready().await.is_ok() {
                let mut idle = idle.lock().unwrap_or_else(PoisonError::into_inner);
                let senders = idle.entry(id).or_default();
                if senders.len() < IDLE_MAX {
                    senders.push(sender);
                }
            }
        });
    }
}

/// A connection for one request.
pub(super) enum Sender {
    /// It is kept for further requests.
    Http1(SendRequest<Body>),
    /// A call of gRPC. Each has its own connection: streams that last would use up those of one.
    Http2(http2::SendRequest<Body>),
}

impl Sender {
    pub(super) async fn open(stream: Stream, is_call: bool) -> Result<Self, Error> {
        let stream = TokioIo::new(stream);
        if is_call {
            let shaken = http2::handshake(TokioExecutor::new(), stream).await;
            let (sender, connection) = shaken.map_err(Error::other)?;
            // However it ends, the request on it is notified.
            tokio::spawn(async move { drop(connection.await) });
            return Ok(Self::Http2(sender));
        }
        let (sender, connection) = http1::handshake(stream).await.map_err(Error::other)?;
        // However it ends, requests on it are notified.
        tokio::spawn(async move { drop(connection.with_upgrades().await) });
        Ok(Self::Http1(sender))
    }

    pub(super) async fn send(
        &mut self,
        request: Request<Body>,
    ) -> Result<Response<Incoming>, TrySendError<Request<Body>>> {
        match self {
            Self::Http1(sender) => sender.try_send_request(request).await,
            Self::Http2(sender) => sender.try_send_request(request).await,
        }
    }

    async fn ready(&mut self) -> Result<(), Error> {
        let ready = match self {
            Self::Http1(sender) => sender.ready().await,
            Self::Http2(sender) => sender.ready().await,
        };
        ready.map_err(Error::other)
    }

    /// Asks for the proof that a server of the log is there, the one with this id.
    async fn verify(&mut self, secret: &str, server: &ServerStatus) -> Result<(), Error> {
        let nonce =
            Nonce::random().ok_or_else(|| Error::other("no random numbers are available"))?;
        let uri: Uri = server.address.parse().map_err(Error::other)?;
        let host = uri.authority().map_or("", |authority| authority.as_str());
        let asking = match self {
            Self::Http1(_) => Request::get(PROOF).header(header::HOST, host),
            Self::Http2(_) => {
                Request::get(format!("http://{host}{PROOF}")).version(Version::HTTP_2)
            }
        };
        let asking = asking.header(NONCE, nonce.header()).body(Body::empty());
        let answered = self.send(asking.map_err(Error::other)?).await;
        let response = answered.map_err(|error| Error::other(error.into_error()))?;
        let status = response.status();
        let whole = Limited::new(response.into_body(), PROOF_BYTES_MAX).collect().await;
        let bytes = whole.map(Collected::to_bytes).unwrap_or_default();
        let bytes = if status == StatusCode::OK { bytes } else { Bytes::new() };
        proof::check(secret, &server.id, &nonce, &bytes).map_err(Error::other)?;
        self.ready().await
    }
}

impl Front {
    /// A connection for one request to another server, which has proven that it is the one.
    pub(super) async fn reach(
        &self,
        server: &ServerStatus,
        is_call: bool,
    ) -> Result<Sender, Refusal> {
        if !is_call && let Some(sender) = self.upstreams.take(&server.id) {
            return Ok(Sender::Http1(sender));
        }
        self.reach_anew(server, is_call).await
    }

    /// A new connection to another server, which has proven that it is the one.
    pub(super) async fn reach_anew(
        &self,
        server: &ServerStatus,
        is_call: bool,
    ) -> Result<Sender, Refusal> {
        let secret = self.routes().secret.clone();
        let reaching = async {
            let stream = self.upstreams.connect(&server.address).await?;
            let late = |_| Error::new(ErrorKind::TimedOut, "it does not answer");
            let verifying = async {
                let mut sender = Sender::open(stream, is_call).await?;
                sender.verify(&secret, server).await?;
                Ok::<_, Error>(sender)
            };
            timeout(PROOF_MAX, verifying).await.map_err(late)?
        };
        let reached: Result<Sender, Error> = reaching.await;
        self.note_reached(server, reached.as_ref().err());
        reached.map_err(|error| Refusal::OwnerUnreachable {
            address: server.address.clone(),
            reason: error.to_string(),
        })
    }

    /// Logs that a server cannot be reached, once until it can be again.
    fn note_reached(&self, server: &ServerStatus, error: Option<&Error>) {
        let mut unreachable =
            self.upstreams.unreachable.lock().unwrap_or_else(PoisonError::into_inner);
        let is_new = match error {
            Some(_) => unreachable.insert(server.id.clone()),
            None => unreachable.remove(&server.id),
        };
        drop(unreachable);
        if !is_new {
            return;
        }
        let mut fields = vec![
            ("server", FieldValue::Text(&server.id)),
            ("address", FieldValue::Text(&server.address)),
        ];
        let why = error.map(ToString::to_string);
        let (level, what) = match &why {
            Some(why) => {
                fields.push(("why", FieldValue::Text(why)));
                (Level::Warn, "peer.unreachable")
            }
            None => (Level::Info, "peer.well"),
        };
        self.doors.settings.server_log.write(level, what, &fields);
    }
}

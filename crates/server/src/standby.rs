//! A server that waits for its log: it answers every request by naming the leader.
//!
//! Deliberately absent: tokens, which are in the log. What is answered here is no secret: whether
//! the process is alive, its version, and the address of the leader.

use std::convert::Infallible;
use std::future::Future;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderValue, Request, header};
use axum::response::{IntoResponse, Response};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use crate::deadline_stream::DeadlineStream;
use crate::http::{STANDBY_HEALTH, json};
use crate::listener::{BREATH, ListenError, greeted, listen};
use crate::metrics;
use crate::problem::Refused;
use crate::refusal::Refusal;
use crate::settings::Settings;

/// How much of the body of a refused request is read, and for how long: a peer that is still
/// sending may miss the answer otherwise.
const UNREAD_BYTES_MAX: usize = 1 << 20;
const UNREAD_DEADLINE: Duration = Duration::from_secs(1);

/// The address of the leader, as a standby names it. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Leader(Arc<Mutex<Option<String>>>);

impl Leader {
    /// Sets the address; none while it is unknown. Returns whether it has changed.
    pub fn set(&self, address: Option<&str>) -> bool {
        let mut leader = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let has_changed = leader.as_deref() != address;
        *leader = address.map(str::to_owned);
        has_changed
    }

    fn refusal(&self) -> Refusal {
        let leader = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Refusal::Standby { leader }
    }
}

/// A listening server without a log.
pub struct Standby {
    settings: Arc<Settings>,
    listener: TcpListener,
    address: SocketAddr,
    leader: Leader,
}

impl Standby {
    /// Listens; connections are served by [`Standby::run`].
    pub async fn bind(settings: Settings, leader: Leader) -> Result<Self, ListenError> {
        let (listener, address) = listen(&settings).await?;
        Ok(Self { settings: Arc::new(settings), listener, address, leader })
    }

    /// The address that it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers requests until the work is done; then closes all connections.
    pub async fn run<T>(self, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        let mut connections = JoinSet::new();
        loop {
            tokio::select! {
                biased;
                done = &mut work => return done,
                Some(_) = connections.join_next() => {}
                accepted = self.listener.accept() => match accepted {
                    Ok((stream, _)) if connections.len() < self.settings.connections_max => {
                        let (settings, leader) = (Arc::clone(&self.settings), self.leader.clone());
                        connections.spawn(serve(settings, leader, stream));
                    }
                    Ok(_) => {}
                    Err(_) => tokio::time::sleep(BREATH).await,
                }
            }
        }
    }
}

async fn serve(settings: Arc<Settings>, leader: Leader, stream: TcpStream) {
    let Some(stream) = greeted(&settings, stream).await else { return };
    let leader = &leader;
    let service = service_fn(move |request: Request<Incoming>| async move {
        Ok::<_, Infallible>(answer(leader, request).await)
    });
    let mut builder = hyper::server::conn::http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(settings.head_deadline);
    builder.max_buf_size(settings.head_bytes_max).max_headers(64).keep_alive(false);
    let stream = TokioIo::new(DeadlineStream::new(stream, settings.write_deadline));
    // Errors on the connection concern only the peer.
    let _ = builder.serve_connection(stream, service).await;
}

async fn answer(leader: &Leader, request: Request<Incoming>) -> Response {
    let path = request.uri().path().to_owned();
    let body = axum::body::to_bytes(Body::new(request.into_body()), UNREAD_BYTES_MAX);
    let _ = tokio::time::timeout(UNREAD_DEADLINE, body).await;
    match path.as_str() {
        "/healthz" => json(STANDBY_HEALTH),
        "/metrics" => {
            let mut response = metrics::standby_text().into_response();
            let kind = HeaderValue::from_static(metrics::CONTENT_TYPE);
            response.headers_mut().insert(header::CONTENT_TYPE, kind);
            response
        }
        _ => Refused::from(leader.refusal()).into_response(),
    }
}

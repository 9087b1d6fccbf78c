//! Accepts connections, and sees to it that none of them takes more time or room than its share.

use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::pin::{Pin, pin};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::http::Request;
use axum::response::IntoResponse;
use baton::Baton;
use baton_core::Kind;
use baton_tls::{Accepted, Stream};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use thiserror::Error;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinHandle;

use crate::access::{TokenError, Tokens};
use crate::deadline_stream::DeadlineStream;
use crate::http;
#[cfg(feature = "otel")]
use crate::otel::Exporter;
use crate::problem::Refused;
use crate::quota::QuotaGuard;
use crate::refusal::Refusal;
use crate::server_log::{FieldValue, Level};
use crate::settings::Settings;
use crate::shared::Shared;
use crate::webhooks;
use crate::writers::Writers;

/// How long to wait when no file descriptor was left for a connection.
const BREATH: Duration = Duration::from_millis(50);
/// How often it is looked whether the engine and its disk are well.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// How long a connection too many may take to learn that it is one.
const TURN_AWAY: Duration = Duration::from_secs(1);
/// How many of them are told so at a time; more are closed without a word.
const TURNED_AWAY_MAX: usize = 64;

/// Why a server could not begin.
#[derive(Debug, Error)]
pub enum ListenError {
    /// Whoever can reach the address could do everything.
    #[error("refused to listen on {address}: it is not loopback, and tokens are not required")]
    NotLoopback {
        /// Where it should have listened.
        address: SocketAddr,
    },
    /// The address cannot be had.
    #[error("cannot listen on {address}: {reason}")]
    Taken {
        /// Where it should have listened.
        address: SocketAddr,
        /// What the system said.
        reason: std::io::Error,
    },
    /// Nobody can say who may come in.
    #[error("the tokens cannot be read: {reason}")]
    Tokens {
        /// What is wrong.
        reason: String,
    },
}

impl ListenError {
    /// Stable across releases; documented in `docs/errors.md`.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NotLoopback { .. } => "server.not_loopback",
            Self::Taken { .. } => "server.address_taken",
            Self::Tokens { .. } => "access.unusable",
        }
    }

    /// What the caller should do about it.
    pub fn kind(&self) -> Kind {
        match self {
            Self::NotLoopback { .. } => Kind::Denied,
            Self::Taken { .. } | Self::Tokens { .. } => Kind::Unavailable,
        }
    }

    /// What to do next, as a sentence.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::NotLoopback { .. } => "require tokens with --tokens, or listen on 127.0.0.1",
            Self::Tokens { .. } => "restore the data from a backup",
            Self::Taken { .. } => "stop the other program, or choose another port with --listen",
        }
    }
}

/// A server that listens.
pub struct Server {
    shared: Arc<Shared>,
    listener: TcpListener,
    address: SocketAddr,
}

impl Server {
    /// Listens; nobody is served before [`Server::run`].
    pub async fn bind(baton: Baton, settings: Settings) -> Result<Self, ListenError> {
        let address = settings.listen;
        if !address.ip().is_loopback() && !settings.demands_tokens() {
            return Err(ListenError::NotLoopback { address });
        }
        let taken = |reason| ListenError::Taken { address, reason };
        let listener = TcpListener::bind(address).await.map_err(taken)?;
        let address = listener.local_addr().map_err(taken)?;
        let shared = Shared::new(baton, settings);
        let unreadable = |error: TokenError| ListenError::Tokens { reason: error.to_string() };
        let tokens = Tokens::of(&shared.baton).map_err(unreadable)?;
        for record in tokens.all().await.map_err(unreadable)? {
            shared.access.load_token(&record);
        }
        Ok(Self { shared, listener, address })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until told to end; then finishes what is durable, tells watchers where to resume, and
    /// closes the engine.
    pub async fn run(self, until: impl Future<Output = ()>) {
        let Self { shared, listener, .. } = self;
        let router = http::router(Arc::clone(&shared));
        // Every connection has a place; who waits for all places waits for all to end.
        let slots_max = u32::try_from(shared.settings.connections_max).unwrap_or(u32::MAX);
        let slots = Arc::new(Semaphore::new(slots_max as usize));
        let rejections = Arc::new(Semaphore::new(TURNED_AWAY_MAX));
        let accepting = async {
            loop {
                match listener.accept().await {
                    Ok((stream, from)) => {
                        admit(&shared, &router, (&slots, &rejections), stream, from.ip());
                    }
                    // Out of descriptors, or the peer left already: others may be luckier.
                    Err(_) => tokio::time::sleep(BREATH).await,
                }
            }
        };
        #[cfg(feature = "otel")]
        let exporter = Exporter::begin(&shared);
        let webhooks = shared.settings.webhooks.clone();
        let calling = async {
            match webhooks {
                Some(webhooks) => webhooks::run(shared.baton.clone(), webhooks).await,
                None => std::future::pending().await,
            }
        };
        let _pool = shared.writers.spawn(Writers::default_count());
        let spawn_writers = spawn_writers(&shared);
        let mut scheduling = pin!(shared.fairness.run(&shared.baton));
        tokio::select! {
            () = &mut scheduling => {}
            () = shared.access.revoke_expired() => {}
            () = health(&shared) => {}
            () = accepting => {}
            () = calling => {}
            () = until => {}
        }
        drop(listener);
        let ending = async {
            #[cfg(feature = "otel")]
            exporter.end().await;
            shared.closing.raise();
            shared.baton.clone().close().await;
            let all_ended = slots.acquire_many(slots_max);
            if tokio::time::timeout(shared.settings.farewell, all_ended).await.is_err() {
                shared.leaving.raise();
                // Nobody is waited for any more, only for the engine to be let go of by everyone.
                let _ = slots.acquire_many(slots_max).await;
            }
        };
        // Whoever stands in line when it ends shall have its turn still.
        tokio::select! {
            () = scheduling => {}
            () = ending => {}
        }
        for task in spawn_writers {
            task.abort();
            let _ = task.await;
        }
    }
}

/// Answers what connections hand in, in tasks of their own: see [`Writers`].
fn spawn_writers(shared: &Arc<Shared>) -> [JoinHandle<()>; 2] {
    let (durability, draining) = (Arc::clone(shared), Arc::clone(shared));
    [
        tokio::spawn(async move { durability.writers.watch_durability(&durability).await }),
        tokio::spawn(async move { draining.writers.run().await }),
    ]
}

/// Writes down when the engine stops, and when the disk is nearly full and when it is well again.
async fn health(shared: &Shared) {
    let server_log = &shared.settings.server_log;
    let (mut has_stopped, mut had_room) = (false, true);
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        if let Some(stopped) = shared.baton.stopped().filter(|_| !has_stopped) {
            has_stopped = true;
            let why = stopped.to_string();
            let fields =
                [("code", FieldValue::Text(stopped.code())), ("why", FieldValue::Text(&why))];
            server_log.write(Level::Error, "engine.stopped", &fields);
        }
        let room = shared.baton.check_disk_space();
        let has_room = room.is_ok();
        match room {
            Ok(()) if !had_room => server_log.write(Level::Info, "disk.well", &[]),
            Err(low) if had_room => {
                let why = low.to_string();
                server_log.write(Level::Warn, "disk.low", &[("why", FieldValue::Text(&why))]);
            }
            Ok(()) | Err(_) => {}
        }
        had_room = has_room;
    }
}

fn admit(
    shared: &Arc<Shared>,
    router: &axum::Router,
    (slots, rejections): (&Arc<Semaphore>, &Arc<Semaphore>),
    stream: TcpStream,
    from: IpAddr,
) {
    // Answers are written whole; waiting to fill a packet would only delay them.
    let _ = stream.set_nodelay(true);
    let Ok(permit) = Arc::clone(slots).try_acquire_owned() else {
        shared.metrics.refused.add(1);
        let max = [("max", FieldValue::Number(shared.settings.connections_max as u64))];
        shared.settings.server_log.write_throttled(Level::Warn, "connection.turned_away", &max);
        if let Ok(permit) = Arc::clone(rejections).try_acquire_owned() {
            let shared = Arc::clone(shared);
            tokio::spawn(async move {
                let max = shared.settings.connections_max;
                let greeting = tokio::time::timeout(TURN_AWAY, greeted(&shared, stream)).await;
                if let Ok(Some(stream)) = greeting {
                    turn_away(Refusal::TooManyConnections { max }, stream).await;
                }
                drop(permit);
            });
        }
        return;
    };
    let _ = shared.metrics.connections.enter(usize::MAX);
    let number = 1 + shared.begun.fetch_add(1, Ordering::Relaxed);
    let (quota_guard, shared_too) = (Mutex::default(), Arc::clone(shared));
    let slot = ConnectionSlot { number, shared: shared_too, from, quota_guard, _permit: permit };
    shared.settings.server_log.write(Level::Debug, "connection.opened", &slot.log_fields());
    let slot = Arc::new(slot);
    let work = Box::pin(serve(Arc::clone(shared), router.clone(), stream, Arc::clone(&slot)));
    tokio::spawn(slot.run(work));
}

/// The connection as it is spoken over, once hands were shaken if that is demanded. It is for the
/// connection to wait for that, not for those who come after it.
async fn greeted(shared: &Shared, stream: TcpStream) -> Option<Stream> {
    let Some(identity) = &shared.settings.tls else { return Some(Stream::from(stream)) };
    // In a box, since it would make every connection larger for as long as it lasts.
    let shaking = Box::pin(identity.accept(stream));
    match tokio::time::timeout(shared.settings.head_deadline, shaking).await {
        Ok(Ok(Accepted::Secure(stream))) => return Some(stream),
        Ok(Ok(Accepted::Plain(stream))) => {
            Box::pin(turn_away(Refusal::PlainText {}, Stream::from(stream))).await;
        }
        // Whoever cannot be agreed with has been told so by TLS itself.
        Ok(Err(_)) | Err(_) => {}
    }
    None
}

/// A place among the connections, kept by whoever the connection is handed on to. It is the last
/// thing that a connection lets go of, so that who has all places back has the engine for itself.
pub(crate) struct ConnectionSlot {
    /// Which connection it is.
    pub(crate) number: u64,
    shared: Arc<Shared>,
    /// Where the connection comes from.
    pub(crate) from: IpAddr,
    /// Its place among the connections of whoever spoke last, if those are limited.
    pub(crate) quota_guard: Mutex<Option<QuotaGuard>>,
    _permit: OwnedSemaphorePermit,
}

impl ConnectionSlot {
    fn log_fields(&self) -> [(&'static str, FieldValue<'static>); 1] {
        [("connection", FieldValue::Number(self.number))]
    }

    /// Does the work of a connection, until it is done or nobody waits for it any more.
    ///
    /// The work comes in a box because it would lie in this future twice otherwise.
    pub(crate) async fn run(self: Arc<Self>, work: Pin<Box<impl Future<Output = ()>>>) {
        tokio::select! {
            biased;
            () = self.shared.leaving.raised() => {}
            () = work => {}
        }
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        self.shared.metrics.connections.leave();
        self.shared.settings.server_log.write(
            Level::Debug,
            "connection.closed",
            &self.log_fields(),
        );
    }
}

async fn serve(
    shared: Arc<Shared>,
    router: axum::Router,
    stream: TcpStream,
    slot: Arc<ConnectionSlot>,
) {
    let Some(stream) = greeted(&shared, stream).await else { return };
    let guarded = Arc::clone(&shared);
    let (router, slot) = (&router, &slot);
    let service = service_fn(move |request: Request<Incoming>| {
        let shared = Arc::clone(&guarded);
        async move { Ok::<_, Infallible>(http::answer(&shared, router, slot, request).await) }
    });
    let settings = &shared.settings;
    let mut builder = hyper::server::conn::http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(settings.head_deadline);
    builder.max_buf_size(settings.head_bytes_max).max_headers(64).half_close(false);
    let stream =
        DeadlineStream::new(stream, settings.write_deadline).with_writers(&shared, slot.number);
    let stream = TokioIo::new(stream);
    let connection = builder.serve_connection(stream, service).with_upgrades();
    let mut connection = std::pin::pin!(connection);
    // What goes wrong on the way is the peer's affair: there is nobody else to tell.
    tokio::select! {
        biased;
        _ = connection.as_mut() => return,
        () = shared.closing.raised() => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}

/// Tells somebody why they cannot come in, without reading what they want.
async fn turn_away(refusal: Refusal, stream: Stream) {
    let refused = Refused::from(refusal).into_response();
    let status = refused.status();
    let Ok(body) = axum::body::to_bytes(refused.into_body(), usize::MAX).await else { return };
    let mut response = format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/problem+json\r\ncontent-length: {}\r\n\
         retry-after: 1\r\nconnection: close\r\n\r\n",
        body.len()
    )
    .into_bytes();
    // Not in pieces: there are clients that take what comes with the head for the whole.
    response.extend_from_slice(&body);
    let mut stream = DeadlineStream::new(stream, TURN_AWAY);
    let answer = async {
        stream.write_all(&response).await?;
        stream.flush().await?;
        stream.shutdown().await
    };
    let _ = tokio::time::timeout(TURN_AWAY, answer).await;
}

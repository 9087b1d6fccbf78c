//! Accepts connections, and bounds the time and memory of each.

pub(crate) mod http2;

use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::http::Request;
use axum::response::IntoResponse;
use baton::Baton;
use baton_tls::{Accepted, Stream, probe_quiet_peer};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use thiserror::Error;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::access::{TokenError, Tokens};
use crate::deadline_stream::DeadlineStream;
use crate::http::{self, PlainConnection};
#[cfg(feature = "otel")]
use crate::otel::Exporter;
use crate::problem::Refused;
use crate::quota::QuotaGuard;
use crate::refusal::Refusal;
use crate::server_log::{FieldValue, Level};
use crate::settings::Settings;
use crate::shared::{Doors, Shared};
use crate::webhooks;
use crate::writers::Writers;

/// How long to wait when no file descriptor is left for a connection.
pub(crate) const BREATH: Duration = Duration::from_millis(50);
/// How often the engine and its disk are checked.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// How long a refused connection may take to receive the reason.
const TURN_AWAY: Duration = Duration::from_secs(1);
/// How many of them get a reason at a time; further ones are closed without one.
const TURNED_AWAY_MAX: usize = 64;

baton_core::refusals! {
    /// Why a server could not start.
    #[derive(Debug, Error)]
    pub enum ListenError {
        /// The server refused to listen on an address that other machines can reach.
        #[error("refused to listen on {address}: it is not loopback, and tokens are not required")]
        NotLoopback {
            /// The address.
            address: SocketAddr,
        } => {
            code: "server.not_loopback",
            kind: Denied,
            hint: "require tokens with --tokens, or listen on 127.0.0.1",
            cause: "Without tokens, anyone who reaches the address could do anything.",
            remedy: "Require tokens with `--tokens`, or listen on `127.0.0.1`.",
        }
        /// The server cannot listen on the address.
        #[error("cannot listen on {address}: {reason}")]
        Taken {
            /// The address.
            address: SocketAddr,
            /// The system's error.
            reason: std::io::Error,
        } => {
            code: "server.address_taken",
            kind: Unavailable,
            hint: "stop the other program, or choose another port with --listen",
            cause: "Another program, perhaps another server, listens there, or the port needs \
                privileges.",
            remedy: "Stop the other program, or choose another port with `--listen`.",
        }
        /// The threads of the engines cannot be started.
        #[error("the serving threads cannot be started: {reason}")]
        Threads {
            /// The system's error.
            reason: std::io::Error,
        } => {
            code: "server.threads",
            kind: Unavailable,
            hint: "raise the limits on threads and open files",
            cause: "The system allows no more threads or open files. Each shard of a folder has a \
                thread.",
            remedy: "Raise the limits of the process or its service, for example `TasksMax`.",
        }
        /// The tokens cannot be read.
        #[error("the tokens cannot be read: {reason}")]
        Tokens {
            /// The reason.
            reason: String,
        } => {
            code: "access.unusable",
            kind: Unavailable,
            hint: "restore the data from a backup",
        }
    }
}

/// A listening server.
pub struct Server {
    shared: Arc<Shared>,
    listener: TcpListener,
    address: SocketAddr,
}

impl Server {
    /// Listens; connections are served by [`Server::run`].
    pub async fn bind(baton: Baton, settings: Settings) -> Result<Self, ListenError> {
        let (listener, address) = listen(&settings).await?;
        let shared = Shared::new(baton, settings);
        let unreadable = |error: TokenError| ListenError::Tokens { reason: error.to_string() };
        let tokens = Tokens::of(&shared.baton).map_err(unreadable)?;
        for record in tokens.all().await.map_err(unreadable)? {
            shared.access.load_token(&record);
        }
        shared.access.clock.follow(tokens.clock());
        Ok(Self { shared, listener, address })
    }

    /// The address that it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until shutdown; then answers what is durable, sends watchers the revision to resume
    /// from, and closes the engine.
    pub async fn run(self, until: impl Future<Output = ()>) {
        let Self { shared, listener, .. } = self;
        let router = http::router(Arc::clone(&shared));
        let slots = Slots::new(&shared.settings);
        let serving = async {
            let serve = |stream, slot| serve(Arc::clone(&shared), router.clone(), stream, slot);
            tokio::select! {
                () = slots.accept(listener, shared.doors(), serve) => {}
                () = shared.access.revoke_expired() => {}
                () = idle(&shared, &slots) => {}
                () = until => {}
            }
        };
        run_engine(&shared, serving, slots.ended(&shared)).await;
    }
}

/// Runs what an engine needs besides its callers, until this future is done; then closes the
/// engine, and waits for the end of its connections.
pub(crate) async fn run_engine(
    shared: &Arc<Shared>,
    until: impl Future<Output = ()>,
    ended: impl Future<Output = ()>,
) {
    #[cfg(feature = "otel")]
    let exporter = Exporter::begin(shared);
    let webhooks = shared.settings.webhooks.clone();
    let calling = async {
        match webhooks {
            Some(webhooks) => webhooks::run(shared.baton.clone(), webhooks).await,
            None => std::future::pending().await,
        }
    };
    #[cfg(feature = "a2a")]
    let peers = crate::peers::run(Arc::clone(shared));
    #[cfg(not(feature = "a2a"))]
    let peers = std::future::pending::<()>();
    let _pool = shared.writers.spawn(Writers::default_count(shared.engines));
    let spawn_writers = spawn_writers(shared);
    let mut scheduling = pin!(shared.fairness.run(&shared.baton));
    tokio::select! {
        () = &mut scheduling => {}
        () = health(shared) => {}
        () = calling => {}
        () = peers => {}
        () = until => {}
    }
    let ending = async {
        #[cfg(feature = "otel")]
        exporter.end().await;
        shared.closing.raise();
        shared.baton.clone().close().await;
        ended.await;
    };
    // Queued calls are still served during shutdown.
    tokio::select! {
        () = scheduling => {}
        () = ending => {}
    }
    for task in spawn_writers {
        task.abort();
        let _ = task.await;
    }
}

/// Slots for connections. Every connection has one; waiting for all slots is waiting for all
/// connections to end.
pub(crate) struct Slots {
    free: Arc<Semaphore>,
    max: u32,
    rejections: Arc<Semaphore>,
}

impl Slots {
    pub(crate) fn new(settings: &Settings) -> Self {
        let max = u32::try_from(settings.connections_max).unwrap_or(u32::MAX);
        let rejections = Arc::new(Semaphore::new(TURNED_AWAY_MAX));
        Self { free: Arc::new(Semaphore::new(max as usize)), max, rejections }
    }

    /// Accepts connections, each served by its own task. It does not end.
    pub(crate) async fn accept<S: Future<Output = ()> + Send + 'static>(
        &self,
        listener: TcpListener,
        doors: &Arc<Doors>,
        serve: impl Fn(TcpStream, Arc<ConnectionSlot>) -> S,
    ) {
        loop {
            match listener.accept().await {
                Ok((stream, from)) => self.admit(doors, stream, from.ip(), &serve),
                // Out of descriptors, or the peer has left already: the next one may succeed.
                Err(_) => tokio::time::sleep(BREATH).await,
            }
        }
    }

    /// Waits until all connections have ended; after a while they are dropped.
    pub(crate) async fn ended(&self, doors: &Doors) {
        let all_ended = self.free.acquire_many(self.max);
        if tokio::time::timeout(doors.settings.farewell, all_ended).await.is_err() {
            doors.leaving.raise();
            // Connections are no longer awaited, only the release of the engine by all tasks.
            let _ = self.free.acquire_many(self.max).await;
        }
    }

    fn admit<S: Future<Output = ()> + Send + 'static>(
        &self,
        doors: &Arc<Doors>,
        stream: TcpStream,
        from: IpAddr,
        serve: impl Fn(TcpStream, Arc<ConnectionSlot>) -> S,
    ) {
        // Answers are written completely; waiting to fill a packet would only delay them.
        let _ = stream.set_nodelay(true);
        // The calls of a peer that vanished must not wait, and keep its sessions, for an hour.
        let _ = probe_quiet_peer(&stream);
        let Ok(permit) = Arc::clone(&self.free).try_acquire_owned() else {
            return self.reject(doors, stream);
        };
        let _ = doors.metrics.connections.enter(usize::MAX);
        let number = 1 + doors.begun.fetch_add(1, Ordering::Relaxed);
        let (quota_guard, doors_too) = (Mutex::default(), Arc::clone(doors));
        let slot = ConnectionSlot { number, doors: doors_too, from, quota_guard, _permit: permit };
        doors.settings.server_log.write(Level::Debug, "connection.opened", &slot.log_fields());
        let slot = Arc::new(slot);
        let work = Box::pin(serve(stream, Arc::clone(&slot)));
        tokio::spawn(slot.run(work));
    }

    fn reject(&self, doors: &Arc<Doors>, stream: TcpStream) {
        doors.metrics.refused.add(1);
        let max = [("max", FieldValue::Number(doors.settings.connections_max as u64))];
        doors.settings.server_log.write_throttled(Level::Warn, "connection.turned_away", &max);
        let Ok(permit) = Arc::clone(&self.rejections).try_acquire_owned() else { return };
        let doors = Arc::clone(doors);
        tokio::spawn(async move {
            let max = doors.settings.connections_max;
            let greeting = tokio::time::timeout(TURN_AWAY, greeted(&doors.settings, stream)).await;
            if let Ok(Some(stream)) = greeting {
                turn_away(Refusal::TooManyConnections { max }, stream).await;
            }
            drop(permit);
        });
    }
}

/// Fails if a server must not listen on this address: only loopback, unless tokens are required.
pub fn check_listen(address: SocketAddr, demands_tokens: bool) -> Result<(), ListenError> {
    let may_listen = address.ip().is_loopback() || demands_tokens;
    if may_listen { Ok(()) } else { Err(ListenError::NotLoopback { address }) }
}

/// Listens on the address of the settings, and returns the actual one.
pub(crate) async fn listen(settings: &Settings) -> Result<(TcpListener, SocketAddr), ListenError> {
    let address = settings.listen;
    check_listen(address, settings.demands_tokens())?;
    let taken = |reason| ListenError::Taken { address, reason };
    let listener = TcpListener::bind(address).await.map_err(taken)?;
    let address = listener.local_addr().map_err(taken)?;
    Ok((listener, address))
}

/// Returns when no connection has been open for as long as the settings allow.
pub(crate) async fn idle(doors: &Doors, slots: &Slots) {
    let Some(idle_max) = doors.settings.idle_max else { return std::future::pending().await };
    let mut since = Instant::now();
    let mut begun_before = 0;
    loop {
        tokio::time::sleep((idle_max / 4).min(LOOK_EVERY)).await;
        // The total number of connections reveals those that came and went between two checks.
        let begun = doors.begun.load(Ordering::Relaxed);
        let has_some = slots.free.available_permits() < slots.max as usize;
        if has_some || begun != begun_before {
            (since, begun_before) = (Instant::now(), begun);
        } else if since.elapsed() >= idle_max {
            return;
        }
    }
}

/// Starts the tasks that send the output of connections: see [`Writers`].
fn spawn_writers(shared: &Arc<Shared>) -> [JoinHandle<()>; 2] {
    let (durability, draining) = (Arc::clone(shared), Arc::clone(shared));
    [
        tokio::spawn(async move {
            let watching = durability.writers.watch_durability(&durability);
            durability.metrics.held.measured(watching).await;
        }),
        tokio::spawn(async move {
            draining.metrics.held.measured(draining.writers.run()).await;
        }),
    ]
}

/// Logs when the engine stops, when the disk is nearly full, and when it has space again.
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

/// The connection after the TLS handshake, if TLS is required. The connection's task waits for it,
/// not the listener.
pub(crate) async fn greeted(settings: &Settings, stream: TcpStream) -> Option<Stream> {
    let Some(identity) = &settings.tls else { return Some(Stream::from(stream)) };
    // Boxed, since it would make every connection larger for its whole lifetime.
    let shaking = Box::pin(identity.accept(stream));
    match tokio::time::timeout(settings.head_deadline, shaking).await {
        Ok(Ok(Accepted::Secure(stream))) => return Some(stream),
        Ok(Ok(Accepted::Plain(stream))) => {
            Box::pin(turn_away(Refusal::PlainText {}, Stream::from(stream))).await;
        }
        // TLS has sent the reason to the peer.
        Ok(Err(_)) | Err(_) => {}
    }
    None
}

/// A slot among the connections, kept by every owner of the connection. It is the last thing that a
/// connection releases, so that with all slots free the engine has no other user.
pub(crate) struct ConnectionSlot {
    /// The number of the connection.
    pub(crate) number: u64,
    doors: Arc<Doors>,
    /// The address of the peer.
    pub(crate) from: IpAddr,
    /// Its slot among the connections of the last caller, if those are limited.
    pub(crate) quota_guard: Mutex<Option<QuotaGuard>>,
    _permit: OwnedSemaphorePermit,
}

impl ConnectionSlot {
    fn log_fields(&self) -> [(&'static str, FieldValue<'static>); 1] {
        [("connection", FieldValue::Number(self.number))]
    }

    /// Runs a connection until it ends or the server stops waiting for it.
    ///
    /// The work is boxed because it would be in this future twice otherwise.
    pub(crate) async fn run(self: Arc<Self>, work: Pin<Box<impl Future<Output = ()>>>) {
        tokio::select! {
            biased;
            () = self.doors.leaving.raised() => {}
            () = self.doors.metrics.held.measured(work) => {}
        }
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        self.doors.metrics.connections.leave();
        let server_log = &self.doors.settings.server_log;
        server_log.write(Level::Debug, "connection.closed", &self.log_fields());
    }
}

async fn serve(
    shared: Arc<Shared>,
    router: axum::Router,
    stream: TcpStream,
    slot: Arc<ConnectionSlot>,
) {
    let greeted = tokio::select! {
        biased;
        greeted = greeted(&shared.settings, stream) => greeted,
        () = shared.closing.raised() => return,
    };
    let Some(mut stream) = greeted else { return };
    let opening = http2::opening(&shared.settings, &shared.closing, &mut stream);
    let Some(first) = opening.await else { return };
    if first == http2::PREFACE {
        let stream = DeadlineStream::new(stream, shared.settings.write_deadline);
        let stream = stream.with_turns(&shared.send_turns).with_first(first);
        let served = Arc::clone(&shared);
        let answer = move |request| {
            let (shared, router, slot) = (Arc::clone(&served), router.clone(), Arc::clone(&slot));
            async move { http::answer(&shared, &router, &slot, request).await }
        };
        // Boxed, since it would make every connection larger.
        return Box::pin(http2::serve(&shared.settings, &shared.closing, stream, answer)).await;
    }
    let stream = DeadlineStream::new(stream, shared.settings.write_deadline)
        .with_writers(&shared, slot.number);
    let mut stream = stream.with_turns(&shared.send_turns);
    let (router, slot) = (&router, &slot);
    let plain = PlainConnection::new(&shared, router, slot);
    // Boxed, so that it takes no room after it has ended.
    let Some(first) = Box::pin(plain.serve(&mut stream, first)).await else { return };
    let guarded = Arc::clone(&shared);
    let has_asked = &AtomicBool::new(false);
    let service = service_fn(move |request: Request<Incoming>| {
        has_asked.store(true, Ordering::Relaxed);
        let shared = Arc::clone(&guarded);
        async move { Ok::<_, Infallible>(http::answer(&shared, router, slot, request).await) }
    });
    let settings = &shared.settings;
    let mut builder = hyper::server::conn::http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(settings.head_deadline);
    builder.max_buf_size(settings.head_bytes_max).max_headers(64).half_close(false);
    let stream = TokioIo::new(stream.with_first(first));
    let connection = builder.serve_connection(stream, service).with_upgrades();
    let mut connection = std::pin::pin!(connection);
    // Errors on the connection concern only the peer.
    tokio::select! {
        biased;
        _ = connection.as_mut() => return,
        () = shared.closing.raised() => connection.as_mut().graceful_shutdown(),
    }
    // Part of a first request has no answer to wait for, but the protocol would wait for the rest.
    if has_asked.load(Ordering::Relaxed) {
        let _ = connection.await;
    }
}

/// Sends a peer the reason for its refusal, without reading its request.
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
    // In one write: some clients treat what arrives with the head as the whole response.
    response.extend_from_slice(&body);
    let mut stream = DeadlineStream::new(stream, TURN_AWAY);
    let answer = async {
        stream.write_all(&response).await?;
        stream.flush().await?;
        stream.shutdown().await
    };
    let _ = tokio::time::timeout(TURN_AWAY, answer).await;
}

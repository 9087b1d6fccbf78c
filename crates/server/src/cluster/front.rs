//! The engine or server of a request, and the wait for an owner.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, Method, Request, Response};
use axum::response::IntoResponse;
use baton::Baton;
use baton_tls::Trust;
use bytes::Bytes;
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use tokio::net::TcpStream;
use tokio::runtime::Handle;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::forward::Forwarded;
use super::paths::workspace_of;
use super::peer::KnownTokens;
use super::relay::WORKSPACE;
use super::threads::{ServingThreads, first_shard};
use super::upstreams::Upstreams;
use super::{DrainRequest, HOME, Routes, ServerStatus, ShardSlot, drain, fork, shard_of};
use crate::access::Tokens;
use crate::http;
use crate::listener::{ConnectionSlot, run_engine};
use crate::problem::Refused;
use crate::refusal::Refusal;
use crate::settings::Settings;
use crate::shared::{Doors, Shared, Signal};

/// A request with this header was forwarded already.
pub(super) const FORWARDED: HeaderName = HeaderName::from_static("baton-forwarded");
/// The shard that a server has forwarded to.
pub(super) const SHARD: HeaderName = HeaderName::from_static("baton-shard");
/// On an answer: the server does not own the shard, and has done nothing.
pub(super) const ELSEWHERE: HeaderName = HeaderName::from_static("baton-elsewhere");
/// How long a request waits for an owner.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);
/// How often an owner that does not answer is tried again.
const AGAIN: Duration = Duration::from_millis(100);
/// How long requests may take that are being answered when their shard is given away.
const LAST_ANSWERS: Duration = Duration::from_millis(300);
/// Routes that are older are not known to be true.
const FRESH: Duration = Duration::from_secs(3);

/// The engine of a shard.
pub(super) struct Engine {
    pub(super) shared: Arc<Shared>,
    router: Router,
    /// Requests that are being answered.
    active: AtomicUsize,
    stop: Arc<Signal>,
    running: Mutex<Option<JoinHandle<()>>>,
}

/// Counts a request for as long as it is being answered.
pub(super) struct Active<'a>(&'a Engine);

impl<'a> Active<'a> {
    pub(super) fn new(engine: &'a Engine) -> Self {
        engine.active.fetch_add(1, Ordering::SeqCst);
        Self(engine)
    }
}

impl Drop for Active<'_> {
    fn drop(&mut self) {
        self.0.active.fetch_sub(1, Ordering::SeqCst);
    }
}

/// The body of a request: as it arrives, or received already, so that it can be sent again.
pub(super) enum Payload {
    Arriving(Incoming),
    Received(Bytes),
}

/// The server as its clients see it.
pub(crate) struct Front {
    pub(crate) doors: Arc<Doors>,
    routes: watch::Sender<(Arc<Routes>, Instant)>,
    engines: RwLock<BTreeMap<u32, Arc<Engine>>>,
    pub(super) upstreams: Upstreams,
    /// The address at which this server reaches itself.
    pub(super) inner: SocketAddr,
    pub(super) closing: Signal,
    /// The threads of the engines, if each has one.
    threads: Mutex<ServingThreads>,
    /// Held while tokens are queried.
    pub(super) tokens: tokio::sync::Mutex<KnownTokens>,
    /// Where operators' requests about servers are recorded.
    pub(super) drains: mpsc::Sender<DrainRequest>,
}

impl Front {
    pub(super) fn new(
        settings: Settings,
        trust: Option<Trust>,
        inner: SocketAddr,
        drains: mpsc::Sender<DrainRequest>,
    ) -> Arc<Self> {
        let doors = Doors::new(settings);
        let (routes, _) = watch::channel((Arc::default(), Instant::now()));
        let front = Arc::new(Self {
            doors: Arc::clone(&doors),
            routes,
            engines: RwLock::default(),
            upstreams: Upstreams::new(trust),
            inner,
            closing: Signal::default(),
            threads: Mutex::default(),
            tokens: tokio::sync::Mutex::default(),
            drains,
        });
        // It is set once, here.
        let _ = doors.cluster.set(Arc::downgrade(&front));
        front
    }

    pub(super) fn set_routes(&self, mut routes: Routes) {
        // A server that was declared gone sees nothing until it has joined again. A log never
        // changes its number of shards, and without it no workspace would have its shard.
        if routes.owners.is_empty() {
            routes.owners = vec![None; self.routes().owners.len()];
        }
        self.upstreams.keep(&routes.servers);
        self.routes.send_replace((Arc::new(routes), Instant::now()));
    }

    pub(super) fn routes(&self) -> Arc<Routes> {
        Arc::clone(&self.routes.borrow().0)
    }

    /// The age of the last look at the servers.
    pub(super) fn age(&self) -> Duration {
        let (routes, looked_at) = &*self.routes.borrow();
        if routes.is_fixed { Duration::ZERO } else { looked_at.elapsed() }
    }

    /// How long the log has not answered, if that is longer than usual.
    pub(super) fn silent(&self) -> Option<Duration> {
        Some(self.age()).filter(|age| *age > FRESH)
    }

    pub(super) fn engine(&self, shard: u32) -> Option<Arc<Engine>> {
        let engines = self.engines.read().unwrap_or_else(PoisonError::into_inner);
        engines.get(&shard).cloned()
    }

    /// The shards that this server serves.
    pub(super) fn held(&self) -> Vec<u32> {
        let engines = self.engines.read().unwrap_or_else(PoisonError::into_inner);
        engines.keys().copied().collect()
    }

    pub(super) fn home(&self) -> u32 {
        shard_of(HOME, self.routes().shards())
    }

    pub(super) async fn adopt(&self, place: ShardSlot, baton: Baton) {
        let engines = self.threads().count().unwrap_or(0);
        let shared = Shared::of(baton, &self.doors, Some(place), engines);
        if place.shard == shard_of(HOME, place.shards)
            && let Ok(tokens) = Tokens::of(&shared.baton)
        {
            for record in tokens.all().await.unwrap_or_default() {
                self.doors.access.load_token(&record);
            }
            self.doors.access.clock.follow(tokens.clock());
        }
        let router = http::router(Arc::clone(&shared));
        let stop = Arc::new(Signal::default());
        let (served, stopped) = (Arc::clone(&shared), Arc::clone(&stop));
        let running = async move {
            run_engine(&served, stopped.raised(), std::future::ready(())).await;
        };
        let running = match self.threads().of(place.shard) {
            Some(thread) => thread.spawn(running),
            None => tokio::spawn(running),
        };
        let (active, running) = (AtomicUsize::new(0), Mutex::new(Some(running)));
        let engine = Arc::new(Engine { shared, router, active, stop, running });
        let mut engines = self.engines.write().unwrap_or_else(PoisonError::into_inner);
        engines.insert(place.shard, engine);
        drop(engines);
        self.wake();
    }

    /// Lets every engine have a thread of its own.
    pub(super) fn start_threads(&self, count: u32) -> std::io::Result<()> {
        *self.threads() = ServingThreads::start(count)?;
        Ok(())
    }

    /// Ends the threads of the engines, which must have ended.
    pub(super) fn end_threads(&self) {
        let threads = std::mem::take(&mut *self.threads());
        threads.end();
    }

    fn threads(&self) -> MutexGuard<'_, ServingThreads> {
        self.threads.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The shard whose thread should serve a connection, and that thread. None if one thread serves
    /// everything.
    pub(super) async fn thread_for(
        &self,
        stream: &TcpStream,
        number: u64,
    ) -> Option<(u32, Handle)> {
        let count = self.threads().count()?;
        let settings = &self.doors.settings;
        // The content of an encrypted connection is not known before the thread has been chosen.
        let named = if settings.tls.is_some() {
            None
        } else {
            tokio::select! {
                named = first_shard(stream, count) => named,
                () = self.closing.raised() => None,
                () = tokio::time::sleep(settings.head_deadline) => None,
            }
        };
        let any = u32::try_from(number % u64::from(count)).unwrap_or_default();
        let shard = named.unwrap_or(any);
        let thread = self.threads().of(shard).cloned()?;
        Some((shard, thread))
    }

    /// New requests wait for the next owner from now on; those that are being answered have a
    /// moment, then the engine is closed.
    pub(super) async fn release(&self, shard: u32) {
        let removed = {
            let mut engines = self.engines.write().unwrap_or_else(PoisonError::into_inner);
            engines.remove(&shard)
        };
        let Some(engine) = removed else { return };
        let until = Instant::now() + LAST_ANSWERS;
        while engine.active.load(Ordering::SeqCst) > 0 && Instant::now() < until {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        engine.stop.raise();
        let running = engine.running.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(running) = running {
            // A panic in it was reported; the engine is closed with its last user.
            let _ = running.await;
        }
    }

    /// Wakes the requests that wait for an owner, so that they look again.
    fn wake(&self) {
        self.routes.send_modify(|_| {});
    }

    /// Answers a request.
    pub(super) async fn answer(
        self: &Arc<Self>,
        slot: &Arc<ConnectionSlot>,
        request: Request<Incoming>,
    ) -> Response<Body> {
        let accepted = self.check_host(&request).and_then(|()| http::body_is_plain(&request));
        if let Err(refusal) = accepted {
            return http::refuse(&self.doors, slot, request, refusal);
        }
        #[cfg(feature = "a2a")]
        if crate::a2a::is_call(&request) && !is_forwarded(&request) {
            return crate::a2a::refused_before(self.answer_accepted(slot, request).await);
        }
        self.answer_accepted(slot, request).await
    }

    /// Whether a request names this server, which an owner that it is forwarded to cannot see.
    /// Health checks call the server by any name, and other servers by the advertised one: they
    /// prove themselves by the secret.
    fn check_host<B>(&self, request: &Request<B>) -> Result<(), Refusal> {
        let path = request.uri().path();
        if matches!(path, "/healthz" | "/readyz") || path.starts_with("/cluster/") {
            return Ok(());
        }
        self.doors.hosts.check_request(request.uri(), request.headers())
    }

    async fn answer_accepted(
        self: &Arc<Self>,
        slot: &Arc<ConnectionSlot>,
        request: Request<Incoming>,
    ) -> Response<Body> {
        if let Some(response) = self.answer_own(slot, &request).await {
            return response;
        }
        if let Some(is_drained) = drain::wish_of(&request) {
            let answered = self.drain(slot, request, is_drained).await;
            return answered.unwrap_or_else(IntoResponse::into_response);
        }
        if fork::is_sent(&request) {
            let received = self.receive_fork(request).await;
            return received.unwrap_or_else(IntoResponse::into_response);
        }
        let is_forwarded = request.headers().contains_key(FORWARDED);
        if request.uri().path() == "/v1/ws" && !is_forwarded && !self.is_whole() {
            if let Some(engine) = self.engine_named(&request) {
                return self.answer_here(&engine, slot, request.map(Payload::Arriving)).await;
            }
            let opened = self.open_relay(slot, request).await;
            return opened.unwrap_or_else(IntoResponse::into_response);
        }
        let (shard, request) = match self.shard_of(request).await {
            Ok(found) => found,
            Err(refused) => return refused.into_response(),
        };
        self.route(shard, slot, request).await
    }

    /// Whether one engine has everything, and this server has it.
    fn is_whole(&self) -> bool {
        self.routes().shards() == 1 && self.engine(0).is_some()
    }

    /// The engine of the workspace that a client names for its WebSocket, if it is here.
    fn engine_named(&self, request: &Request<Incoming>) -> Option<Arc<Engine>> {
        self.engine(self.shard_named(request)?)
    }

    /// The shard of the workspace that a client names.
    pub(super) fn shard_named(&self, request: &Request<Incoming>) -> Option<u32> {
        let workspace = request.headers().get(WORKSPACE)?.to_str().ok()?;
        match self.routes().shards() {
            0 => None,
            shards => Some(shard_of(workspace, shards)),
        }
    }

    /// The shard of a request.
    async fn shard_of(
        &self,
        request: Request<Incoming>,
    ) -> Result<(u32, Request<Payload>), Refused> {
        let shards = self.shards().await?;
        let named = request.headers().get(SHARD).filter(|_| is_forwarded(&request));
        let named = named.and_then(|shard| shard.to_str().ok()).and_then(|text| text.parse().ok());
        if let Some(shard) = named.filter(|shard| *shard < shards) {
            return Ok((shard, request.map(Payload::Arriving)));
        }
        let path = request.uri().path();
        #[cfg(feature = "a2a")]
        if crate::a2a::is_call(&request) {
            let (parts, body) = request.into_parts();
            let body = self.receive(body, self.doors.settings.body_bytes_max).await?;
            let workspace = crate::a2a::workspace_of_call(parts.uri.path(), &body);
            let request = Request::from_parts(parts, Payload::Received(body));
            return Ok((shard_of(&workspace, shards), request));
        }
        let is_of_a2a = path.starts_with("/a2a/");
        if is_of_a2a && request.method() == Method::POST {
            return self.shard_of_tenant(request, shards).await;
        }
        let workspace = workspace_of(path);
        Ok((shard_of(&workspace, shards), request.map(Payload::Arriving)))
    }

    /// A2A names the workspace in the path or in the body.
    async fn shard_of_tenant(
        &self,
        request: Request<Incoming>,
        shards: u32,
    ) -> Result<(u32, Request<Payload>), Refused> {
        let (parts, body) = request.into_parts();
        let body = self.receive(body, self.doors.settings.body_bytes_max).await?;
        let document: serde_json::Value = serde_json::from_slice(&body).unwrap_or_default();
        let named = [document.pointer("/params/tenant"), document.pointer("/tenant")];
        let named = named.into_iter().flatten().find_map(|tenant| tenant.as_str());
        let named = named.filter(|tenant| !tenant.is_empty()).map(str::to_owned);
        let workspace = named.unwrap_or_else(|| workspace_of(parts.uri.path()));
        let request = Request::from_parts(parts, Payload::Received(body));
        Ok((shard_of(&workspace, shards), request))
    }

    /// Receives a body, within its limits of size and time.
    pub(super) async fn receive(&self, body: Incoming, max: usize) -> Result<Bytes, Refused> {
        let deadline = self.doors.settings.body_deadline;
        let whole = tokio::time::timeout(deadline, Limited::new(body, max).collect()).await;
        let late = |_| Refusal::Timeout { deadline_ms: deadline.as_millis() };
        let cut = |_| baton_core::wire::Fault::Malformed {
            reason: format!("the body was cut off, or has more than {max} bytes"),
        };
        Ok(whole.map_err(late)?.map_err(cut)?.to_bytes())
    }

    /// How many shards there are; known after the server has joined.
    pub(super) async fn shards(&self) -> Result<u32, Refused> {
        let mut wait = OwnerWait::new(self);
        loop {
            let shards = self.routes().shards();
            if shards > 0 {
                return Ok(shards);
            }
            if !wait.changed().await {
                return Err(Refusal::NoOwner {}.into());
            }
        }
    }

    /// Serves a request here, or sends it to the owner of the shard, as soon as there is one.
    pub(super) async fn route(
        self: &Arc<Self>,
        shard: u32,
        slot: &Arc<ConnectionSlot>,
        mut request: Request<Payload>,
    ) -> Response<Body> {
        let is_forwarded = is_forwarded(&request);
        let mut wait = OwnerWait::new(self);
        loop {
            if let Some(engine) = self.engine(shard) {
                return self.answer_here(&engine, slot, request).await;
            }
            let refusal = match (self.elsewhere(shard), is_forwarded) {
                (Some(_), true) => return elsewhere(),
                (Some(owner), false) => match self.forward(shard, &owner, request).await {
                    Forwarded::Answered(response) => return response,
                    Forwarded::Unsent(unsent, why) => {
                        request = *unsent;
                        why.unwrap_or(Refusal::NoOwner {})
                    }
                },
                (None, _) => Refusal::NoOwner {},
            };
            if !wait.changed().await {
                if is_forwarded {
                    return elsewhere();
                }
                return Refused::from(refusal).into_response();
            }
        }
    }

    /// The server that owns a shard, if that is another one.
    pub(super) fn elsewhere(&self, shard: u32) -> Option<ServerStatus> {
        let routes = self.routes();
        routes.owner(shard).filter(|owner| owner.id != routes.me).cloned()
    }

    /// Waits until another server than this one owns the shard, or none does.
    pub(super) async fn lost(&self, shard: u32, owner: &str) {
        let mut routes = self.routes.subscribe();
        let is_lost = |(routes, _): &(Arc<Routes>, Instant)| {
            routes.owner(shard).is_none_or(|present| present.id != owner)
        };
        if routes.wait_for(is_lost).await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// Waits until a shard has another owner than a client knows, so that the client can connect to
    /// it: the owner may not be known yet, or may be gone, when the client connects.
    pub(super) async fn moved(&self, known: Option<(u32, Option<String>)>) {
        let Some((shard, known)) = known else { return std::future::pending().await };
        let mut routes = self.routes.subscribe();
        let has_moved = |(routes, _): &(Arc<Routes>, Instant)| {
            routes.owner(shard).is_some_and(|owner| {
                let can_serve = owner.id != routes.me || self.engine(shard).is_some();
                can_serve && known.as_ref() != Some(&owner.id)
            })
        };
        if routes.wait_for(has_moved).await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// Waits until a server is none of the servers any more.
    pub(super) async fn left(&self, server: &str) {
        let mut routes = self.routes.subscribe();
        let has_left = |(routes, _): &(Arc<Routes>, Instant)| {
            routes.servers.iter().all(|present| present.id != server)
        };
        if routes.wait_for(has_left).await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    async fn answer_here(
        self: &Arc<Self>,
        engine: &Arc<Engine>,
        slot: &Arc<ConnectionSlot>,
        request: Request<Payload>,
    ) -> Response<Body> {
        let _active = Active::new(engine);
        if self.doors.access.is_token_unknown(request.headers()) {
            self.learn_tokens().await;
        }
        let (parts, payload) = request.into_parts();
        let (shared, router) = (&engine.shared, &engine.router);
        match payload {
            Payload::Arriving(body) => {
                http::answer(shared, router, slot, Request::from_parts(parts, body)).await
            }
            Payload::Received(body) => {
                let request = Request::from_parts(parts, Body::from(body));
                http::answer_received(shared, router, slot, request).await
            }
        }
    }
}

/// A request that may have to wait for an owner. How long it did is recorded when it is dropped.
pub(super) struct OwnerWait<'a> {
    front: &'a Front,
    deadline: Instant,
    waited: Option<Duration>,
}

impl<'a> OwnerWait<'a> {
    pub(super) fn new(front: &'a Front) -> Self {
        Self { front, deadline: Instant::now() + PATIENCE, waited: None }
    }

    /// Waits until the shards may be elsewhere, or for a moment; false after the deadline, and when
    /// this server ends: it would wait for the requests that wait here.
    pub(super) async fn changed(&mut self) -> bool {
        let begun = Instant::now();
        if self.waited.is_none() {
            self.waited = Some(Duration::ZERO);
            self.front.doors.metrics.cluster.owner_waiting.enter(usize::MAX);
        }
        let mut routes = self.front.routes.subscribe();
        let changed = tokio::time::timeout(AGAIN, routes.changed());
        let may_continue = tokio::select! {
            () = self.front.closing.raised() => false,
            _ = changed => Instant::now() < self.deadline,
        };
        *self.waited.get_or_insert_default() += begun.elapsed();
        may_continue
    }
}

impl Drop for OwnerWait<'_> {
    fn drop(&mut self) {
        if let Some(waited) = self.waited {
            let metrics = &self.front.doors.metrics.cluster;
            metrics.owner_waiting.leave();
            metrics.owner_waits.record(waited);
        }
    }
}

pub(super) fn is_forwarded<B>(request: &Request<B>) -> bool {
    request.headers().contains_key(FORWARDED)
}

/// The answer of a server that does not own a shard to another one that thinks so.
pub(super) fn elsewhere() -> Response<Body> {
    let mut response = Refused::from(Refusal::Elsewhere {}).into_response();
    response.headers_mut().insert(ELSEWHERE, HeaderValue::from_static("1"));
    response
}

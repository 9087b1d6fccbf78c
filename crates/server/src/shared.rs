//! State shared by all connections of a server, and by those of one engine.

use std::future::Future;
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::task::Poll;
use std::time::Duration;

use baton::Baton;
use baton_core::WorkspaceName;
use tokio::sync::{Notify, Semaphore};

use crate::access::{Access, Authority};
use crate::cluster::{Front, ShardSlot};
use crate::fairness::Fairness;
use crate::guard::Hosts;
use crate::metrics::Metrics;
use crate::quota::QuotaGuard;
use crate::refusal::Refusal;
use crate::send_turns::SendTurns;
use crate::server_log::{FieldValue, Level};
use crate::settings::Settings;
use crate::shares::{Share, Sharer, Shares};
use crate::writers::Writers;

/// The parts that all engines of a server share: settings, tokens, metrics and limits.
pub(crate) struct Doors {
    pub(crate) settings: Settings,
    pub(crate) metrics: Metrics,
    pub(crate) hosts: Hosts,
    pub(crate) access: Access,
    /// Slots for queries about the past, each of which takes a thread for a while.
    pub(crate) past: Semaphore,
    /// Slots for large answers to encode, each of which takes a thread.
    pub(crate) encoders: Semaphore,
    /// Places for uploads, each of which takes a thread for as long as it lasts.
    pub(crate) uploads: Arc<Shares>,
    /// Raised when connections had their time to end, and remaining ones are dropped.
    pub(crate) leaving: Signal,
    receiving_bytes: Arc<Shares>,
    /// Connections with large output send it by turns.
    pub(crate) send_turns: SendTurns,
    /// How many connections there have been.
    pub(crate) begun: AtomicU64,
    /// The servers that share the data, if several do.
    pub(crate) cluster: OnceLock<Weak<Front>>,
}

/// One engine and what serves it. Everything else is shared with the other engines of the server,
/// of which there are several only in a cluster.
pub(crate) struct Shared {
    pub(crate) baton: Baton,
    doors: Arc<Doors>,
    /// The part of the workspaces that the engine has; none if it has all.
    pub(crate) place: Option<ShardSlot>,
    /// The engines that divide the processors among themselves, each with the connections that use
    /// it. None if connections are not bound to an engine, as in a cluster: they send for
    /// themselves.
    pub(crate) engines: u32,
    /// Divides the serving thread among workspaces.
    pub(crate) fairness: Fairness,
    /// Threads that write to sockets.
    pub(crate) writers: Arc<Writers>,
    /// Raised when every connection should end after its current work.
    pub(crate) closing: Signal,
}

impl Deref for Shared {
    type Target = Doors;

    fn deref(&self) -> &Doors {
        &self.doors
    }
}

impl Doors {
    pub(crate) fn new(settings: Settings) -> Arc<Self> {
        let hosts = Hosts::new(&settings);
        let past = Semaphore::new(settings.past_threads_max);
        let encoders = Semaphore::new(settings.encoders_max);
        let uploads = Shares::new(settings.uploads_max);
        let receiving_bytes = Shares::new(settings.receiving_bytes_max);
        let access = Access::new(&settings);
        Arc::new(Self {
            settings,
            metrics: Metrics::default(),
            hosts,
            access,
            past,
            encoders,
            uploads,
            leaving: Signal::default(),
            receiving_bytes,
            send_turns: SendTurns::default(),
            begun: AtomicU64::new(0),
            cluster: OnceLock::new(),
        })
    }
}

/// How long a request that is still arriving is received after the server has begun to end.
const LAST_BYTES: Duration = Duration::from_secs(1);

impl Shared {
    /// Returns when the server ends and what has not arrived by then is not waited for.
    pub(crate) async fn last_bytes(&self) {
        self.closing.raised().await;
        tokio::time::sleep(LAST_BYTES).await;
    }

    pub(crate) fn new(baton: Baton, settings: Settings) -> Arc<Self> {
        Self::of(baton, &Doors::new(settings), None, 1)
    }

    /// One of several engines.
    pub(crate) fn of(
        baton: Baton,
        doors: &Arc<Doors>,
        place: Option<ShardSlot>,
        engines: u32,
    ) -> Arc<Self> {
        Arc::new(Self {
            baton,
            doors: Arc::clone(doors),
            place,
            engines,
            fairness: Fairness::default(),
            writers: Arc::default(),
            closing: Signal::default(),
        })
    }

    pub(crate) fn doors(&self) -> &Arc<Doors> {
        &self.doors
    }

    /// Whether the engine has this workspace.
    pub(crate) fn owns(&self, workspace: &WorkspaceName) -> bool {
        self.place.is_none_or(|place| place.owns(workspace))
    }
}

impl Doors {
    /// A place for an upload, shared with others of the same token and workspace.
    pub(crate) fn upload_slot(&self, sharers: Vec<Sharer>) -> Result<Share, Refusal> {
        let mut share = Share::new(&self.uploads, sharers);
        let max = self.settings.uploads_max;
        if share.set(1) { Ok(share) } else { Err(Refusal::TooManyUploads { max }) }
    }

    /// A request was refused: it is counted and logged.
    pub(crate) fn refused(&self, connection: u64, code: &str) {
        self.metrics.refused_with(code);
        let server_log = &self.settings.server_log;
        let fields =
            [("connection", FieldValue::Number(connection)), ("code", FieldValue::Text(code))];
        match code.split_once('.').map_or(code, |(family, _)| family) {
            "quota" => server_log.write_throttled(Level::Info, "quota.reached", &fields),
            "access" => server_log.write_throttled(Level::Info, "access.refused", &fields),
            _ => server_log.write(Level::Debug, "operation.refused", &fields),
        }
    }
}

/// An event that happens once, for all tasks that wait for it.
#[derive(Default)]
pub(crate) struct Signal {
    is_raised: AtomicBool,
    waiting: Notify,
}

impl Signal {
    pub(crate) fn raise(&self) {
        self.is_raised.store(true, Ordering::SeqCst);
        self.waiting.notify_waiters();
    }

    pub(crate) fn is_raised(&self) -> bool {
        self.is_raised.load(Ordering::SeqCst)
    }

    /// Waits until it is raised. It must be polled by the task that started to wait.
    pub(crate) async fn raised(&self) {
        let notified = self.waiting.notified();
        tokio::pin!(notified);
        // Registered before the check, so that no signal is missed.
        notified.as_mut().enable();
        let mut is_listening = false;
        std::future::poll_fn(|context| {
            if self.is_raised() {
                return Poll::Ready(());
            }
            // A registered task will be woken. Every connection passes here whenever it wakes, so
            // that reading the flag must be enough.
            if std::mem::replace(&mut is_listening, true) {
                return Poll::Pending;
            }
            notified.as_mut().poll(context)
        })
        .await;
    }
}

/// A slot among the watches, released when it is dropped.
pub(crate) struct WatchSlot {
    shared: Arc<Shared>,
    pub(crate) workspace: WorkspaceName,
    // Empty, and so without an allocation, if nothing is limited.
    _quota_guards: Vec<QuotaGuard>,
}

impl WatchSlot {
    pub(crate) fn enter(
        shared: &Arc<Shared>,
        authority: &Authority,
        workspace: &WorkspaceName,
    ) -> Result<Self, Refusal> {
        let quota_guards = authority.watch_guards(workspace)?;
        let max = shared.settings.watches_max;
        if shared.metrics.watches.enter(max) {
            let (shared, workspace) = (Arc::clone(shared), workspace.clone());
            return Ok(Self { shared, workspace, _quota_guards: quota_guards });
        }
        Err(Refusal::TooManyWatches { whose: "on this server", max })
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }
}

impl Drop for WatchSlot {
    fn drop(&mut self) {
        self.shared.metrics.watches.leave();
    }
}

/// Requests below this size are not counted while they are received: every connection may have one.
const UNCOUNTED_BYTES: usize = 16 << 10;

/// The bytes of one request that is being received, counted against what may be received in all.
pub(crate) struct InboundBytes(Share);

impl InboundBytes {
    pub(crate) fn new(doors: &Doors, sharers: Vec<Sharer>) -> Self {
        Self(Share::new(&doors.receiving_bytes, sharers))
    }

    /// Sets the current size; false if that exceeds the limit.
    pub(crate) fn hold(&mut self, bytes: usize) -> bool {
        self.0.set(if bytes < UNCOUNTED_BYTES { 0 } else { bytes })
    }
}

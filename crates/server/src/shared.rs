//! State shared by all connections of a server.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::task::Poll;

use baton::Baton;
use baton_core::WorkspaceName;
use tokio::sync::{Notify, Semaphore};

use crate::access::{Access, Authority};
use crate::fairness::Fairness;
use crate::guard::Hosts;
use crate::metrics::Metrics;
use crate::quota::QuotaGuard;
use crate::refusal::Refusal;
use crate::server_log::{FieldValue, Level};
use crate::settings::Settings;
use crate::writers::Writers;

/// The engine, the settings, and the shutdown signals.
pub(crate) struct Shared {
    pub(crate) baton: Baton,
    pub(crate) settings: Settings,
    pub(crate) metrics: Metrics,
    pub(crate) hosts: Hosts,
    pub(crate) access: Access,
    /// Divides the serving thread among workspaces.
    pub(crate) fairness: Fairness,
    /// Threads that write to sockets.
    pub(crate) writers: Arc<Writers>,
    /// Slots for queries about the past, each of which takes a thread for a while.
    pub(crate) past: Semaphore,
    /// Slots for uploads, each of which takes a thread until it ends.
    pub(crate) uploads: Semaphore,
    /// Raised when every connection should end after its current work.
    pub(crate) closing: Signal,
    /// Raised when the time for that is over, and remaining connections are dropped.
    pub(crate) leaving: Signal,
    receiving_bytes: AtomicUsize,
    /// The total number of connections so far.
    pub(crate) begun: AtomicU64,
}

impl Shared {
    pub(crate) fn new(baton: Baton, settings: Settings) -> Arc<Self> {
        let hosts = Hosts::new(&settings);
        let past = Semaphore::new(settings.past_threads_max);
        let uploads = Semaphore::new(settings.uploads_max);
        let access = Access::new(&settings);
        Arc::new(Self {
            baton,
            settings,
            metrics: Metrics::default(),
            hosts,
            access,
            fairness: Fairness::default(),
            writers: Arc::default(),
            past,
            uploads,
            closing: Signal::default(),
            leaving: Signal::default(),
            receiving_bytes: AtomicUsize::new(0),
            begun: AtomicU64::new(0),
        })
    }
}

impl Shared {
    /// Counts and logs a refused request.
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

/// The bytes of one request that is being received, counted against the total limit.
pub(crate) struct InboundBytes {
    shared: Arc<Shared>,
    bytes: usize,
}

impl InboundBytes {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self { shared, bytes: 0 }
    }

    /// Sets the current size; false if that exceeds the limit.
    pub(crate) fn hold(&mut self, bytes: usize) -> bool {
        let bytes = if bytes < UNCOUNTED_BYTES { 0 } else { bytes };
        if bytes == self.bytes {
            return true;
        }
        let (before, max) = (self.bytes, self.shared.settings.receiving_bytes_max);
        let room = |all: usize| {
            let all = all - before + bytes;
            (bytes < before || all <= max).then_some(all)
        };
        let counter = &self.shared.receiving_bytes;
        let fits = counter.fetch_update(Ordering::Relaxed, Ordering::Relaxed, room).is_ok();
        if fits {
            self.bytes = bytes;
        }
        fits
    }
}

impl Drop for InboundBytes {
    fn drop(&mut self) {
        self.hold(0);
    }
}

//! What every connection of a server has in common.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use baton::Baton;
use tokio::sync::Notify;

use crate::guard::Hosts;
use crate::metrics::Metrics;
use crate::settings::Settings;

/// The engine, the numbers, and whether it is time to go.
pub(crate) struct Shared {
    pub(crate) baton: Baton,
    pub(crate) settings: Settings,
    pub(crate) metrics: Metrics,
    pub(crate) hosts: Hosts,
    receiving_bytes: AtomicUsize,
    closing: AtomicBool,
    farewell: Notify,
}

impl Shared {
    pub(crate) fn new(baton: Baton, settings: Settings) -> Arc<Self> {
        let hosts = Hosts::new(&settings);
        Arc::new(Self {
            baton,
            settings,
            metrics: Metrics::default(),
            hosts,
            receiving_bytes: AtomicUsize::new(0),
            closing: AtomicBool::new(false),
            farewell: Notify::new(),
        })
    }

    /// Tells every connection to end.
    pub(crate) fn close(&self) {
        self.closing.store(true, Ordering::SeqCst);
        self.farewell.notify_waiters();
    }

    pub(crate) fn is_closing(&self) -> bool {
        self.closing.load(Ordering::SeqCst)
    }

    /// Waits until the server ends.
    pub(crate) async fn closed(&self) {
        let farewell = self.farewell.notified();
        tokio::pin!(farewell);
        // Listening before looking, so that nothing falls between.
        farewell.as_mut().enable();
        if !self.is_closing() {
            farewell.await;
        }
    }
}

/// Bytes below which a request that is being received is not counted: every connection may have
/// these.
const UNCOUNTED_BYTES: usize = 16 << 10;

/// The bytes of one request that is being received, counted against what may be received in all.
pub(crate) struct Receiving {
    shared: Arc<Shared>,
    bytes: usize,
}

impl Receiving {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self { shared, bytes: 0 }
    }

    /// It has so many bytes now; false if that is more than there is room for.
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

impl Drop for Receiving {
    fn drop(&mut self) {
        self.hold(0);
    }
}

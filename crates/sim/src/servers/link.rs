//! The way from a server to the database, and the clock of its machine.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use baton_log::shared::{Delivery, Link, Purpose, Work};

use super::job::{Fault, park, take_fault};

/// What all servers share.
#[derive(Default)]
pub(super) struct Network {
    /// Milliseconds since the beginning, by no server's clock.
    pub(super) now_ms: AtomicU64,
    /// The number of restarts of the database, each of which breaks all connections.
    pub(super) restarts: AtomicU64,
    /// Requests that arrive late.
    late: Mutex<Vec<Work>>,
}

impl Network {
    pub(super) fn late(&self) -> MutexGuard<'_, Vec<Work>> {
        self.late.lock().expect("nothing panics with the lock")
    }
}

/// The link of one server.
pub(super) struct SimLink {
    network: Arc<Network>,
    /// Where its clock began, and its speed: 1,000 is that of the world.
    offset_ms: u64,
    speed: u64,
    pub(super) is_cut: AtomicBool,
    /// The number of restarts that each connection has seen.
    seen: Mutex<BTreeMap<Purpose, u64>>,
}

impl SimLink {
    pub(super) fn new(network: &Arc<Network>, offset_ms: u64, speed: u64) -> Self {
        let (network, is_cut) = (Arc::clone(network), AtomicBool::new(false));
        Self { network, offset_ms, speed, is_cut, seen: Mutex::default() }
    }

    /// Whether no statement can fail, unless a fault is planned.
    pub(super) fn is_fine(&self) -> bool {
        !self.is_cut()
    }

    fn is_cut(&self) -> bool {
        self.is_cut.load(Ordering::SeqCst)
    }

    fn restarts(&self) -> u64 {
        self.network.restarts.load(Ordering::SeqCst)
    }

    fn seen(&self) -> MutexGuard<'_, BTreeMap<Purpose, u64>> {
        self.seen.lock().expect("nothing panics with the lock")
    }

    /// Whether the connection broke since it was last used. Connections that come from a pool are
    /// checked before they are used.
    fn is_broken(&self, purpose: Purpose) -> bool {
        let restarts = self.restarts();
        if let Purpose::Take | Purpose::Change | Purpose::Read = purpose {
            return false;
        }
        self.seen().insert(purpose, restarts).is_some_and(|seen| seen != restarts)
    }
}

impl Link for SimLink {
    fn now_ms(&self) -> u64 {
        self.offset_ms + self.network.now_ms.load(Ordering::SeqCst) * self.speed / 1_000
    }

    fn sleep(&self, ms: u64) {
        park(self.now_ms() + ms);
    }

    fn send(&self, purpose: Purpose) -> Delivery {
        let before = self.restarts();
        let is_broken = self.is_broken(purpose);
        match take_fault() {
            Some(Fault::LoseRequest) => return Delivery::Lost,
            Some(Fault::Late) => return Delivery::Late,
            Some(Fault::DelayRequest(ms)) => park(self.now_ms() + ms),
            Some(Fault::LoseAnswer) => return self.unanswered(Fault::LoseAnswer),
            Some(fault @ Fault::DelayAnswer(_)) => return self.unanswered(fault),
            None => {}
        }
        let is_lost = is_broken || self.is_cut() || self.restarts() != before;
        if is_lost { Delivery::Lost } else { Delivery::Arrives }
    }

    fn receive(&self, _purpose: Purpose) -> bool {
        let before = self.restarts();
        match ANSWER.take() {
            Some(Fault::LoseAnswer) => return false,
            Some(Fault::DelayAnswer(ms)) => park(self.now_ms() + ms),
            Some(_) | None => {}
        }
        !self.is_cut() && self.restarts() == before
    }

    fn postpone(&self, work: Work) {
        self.network.late().push(work);
    }
}

thread_local! {
    /// The fault of the answer to the present statement.
    static ANSWER: std::cell::Cell<Option<Fault>> = const { std::cell::Cell::new(None) };
}

impl SimLink {
    fn unanswered(&self, fault: Fault) -> Delivery {
        if self.is_cut() {
            return Delivery::Lost;
        }
        ANSWER.set(Some(fault));
        Delivery::Arrives
    }
}

//! The connection from a server to the database, and the clock of its machine.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use super::rows::Rows;

/// The purpose of a statement. Each purpose has its own connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Purpose {
    /// A standby looks who owns the log, and declares it gone.
    Look,
    /// A heartbeat of the owner.
    Beat,
    /// Taking the log, also from oneself, and giving it back.
    Take,
    /// An append.
    Append,
    /// Truncating, committing and deleting.
    Change,
    /// Reading.
    Read,
}

/// The result of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// It arrives.
    Arrives,
    /// It is lost, and so is the connection.
    Lost,
    /// The caller gives up waiting, and it may arrive after that.
    Late,
}

/// A statement that may be executed later.
pub type Work = Box<dyn FnOnce(&mut Rows) + Send>;

/// The way to the database. Each method may block for as long as it takes.
pub trait Link: Send + Sync {
    /// Milliseconds of the machine's own clock.
    fn now_ms(&self) -> u64;

    /// Waits.
    fn sleep(&self, ms: u64);

    /// A request is sent.
    fn send(&self, purpose: Purpose) -> Delivery;

    /// The statement was executed. Whether its answer arrives.
    fn receive(&self, purpose: Purpose) -> bool;

    /// A request that arrives late, if ever.
    fn postpone(&self, work: Work);
}

/// The point at which a statement is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// Before the database receives it.
    Before,
    /// After the database has executed it; the answer is lost.
    After,
}

/// A link that fails only where a test requires it. Its clock advances only while its server
/// sleeps.
#[derive(Debug, Default)]
pub struct DirectLink {
    now_ms: AtomicU64,
    cut: Mutex<Option<(Purpose, Cut)>>,
}

impl DirectLink {
    /// Cuts the next statement of this purpose.
    pub fn cut(&self, purpose: Purpose, cut: Cut) {
        *self.cut.lock().expect("nothing panics with the lock") = Some((purpose, cut));
    }

    /// Whether no cut is pending.
    pub fn has_cut(&self) -> bool {
        self.cut.lock().expect("nothing panics with the lock").is_none()
    }

    fn take(&self, purpose: Purpose, cut: Cut) -> bool {
        let mut pending = self.cut.lock().expect("nothing panics with the lock");
        pending.take_if(|it| *it == (purpose, cut)).is_some()
    }
}

impl Link for DirectLink {
    fn now_ms(&self) -> u64 {
        self.now_ms.load(Ordering::SeqCst)
    }

    fn sleep(&self, ms: u64) {
        self.now_ms.fetch_add(ms, Ordering::SeqCst);
        std::thread::yield_now();
    }

    fn send(&self, purpose: Purpose) -> Delivery {
        if self.take(purpose, Cut::Before) { Delivery::Lost } else { Delivery::Arrives }
    }

    fn receive(&self, purpose: Purpose) -> bool {
        !self.take(purpose, Cut::After)
    }

    fn postpone(&self, _work: Work) {}
}

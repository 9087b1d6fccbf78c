//! Fairness: while several workspaces are active, none of them monopolises the thread. Deficit
//! round robin over workspaces.
//!
//! ```text
//!   noisy  ▶▶▶▶ ▶▶▶▶ ▶▶▶▶ …      a quantum of each workspace; the rest waits in its queue
//!   quiet  ▶                     round 1 ──▶ poll all sockets ──▶ round 2 ──▶ …
//! ```
//!
//! It counts requests when they are submitted, events when they are pushed to watchers, and the
//! actual cost of a request: a commit with many events, such as those of reactions, is charged
//! afterwards.
//!
//! A round lasts until everything that was ready has been served and, if part of it came from a
//! workspace without a queue, until that is durable. Requests that arrive in the meantime are
//! served in the next round, before the queues: a quiet workspace waits for one or two quanta of a
//! noisy one, however many connections the noisy one has and however much they send.
//!
//! Invariants:
//!
//! 1. A workspace that is alone has no limit: nothing is charged to it, and nothing is queued.
//! 2. Spending beyond a quantum is a debt, which is paid in the following rounds.
//! 3. Within a workspace, requests are served in order of arrival. A dropped ticket passes its turn
//!    to the next.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use baton::Baton;
use baton_core::WorkspaceName;
use tokio::sync::Notify;
use tokio::task::yield_now;
use tokio::time::{Instant, timeout};

#[cfg(test)]
mod tests;

/// Requests that a workspace may submit in a round while others wait. Each of them delays the
/// others: deciding eight takes about as long as making them durable.
const QUANTUM: usize = 8;
/// Bytes of a request that count as another one: receiving them costs about as much.
const BYTES_PER_UNIT: usize = 4 << 10;
/// How long a round may last on a slow disk, where many quanta must fit into one group.
const ROUND_MAX: Duration = Duration::from_millis(1);
/// How long a workspace counts as served after its last request.
const ACTIVE_FOR: Duration = Duration::from_secs(1);

/// Deficit round robin over the active workspaces.
pub(crate) struct Fairness {
    schedule: Mutex<Schedule>,
    /// Several workspaces are active.
    is_contended: AtomicBool,
    /// A request was queued.
    arrived: Notify,
}

struct Schedule {
    round: u64,
    workspaces: HashMap<WorkspaceName, Account>,
    /// Workspaces whose queues may not be empty.
    queued: Vec<WorkspaceName>,
    looked_at: Instant,
    /// A workspace without a queue has spent something in this round.
    has_quiet: bool,
}

#[derive(Default)]
struct Account {
    /// The round up to which it has paid.
    round: u64,
    taken: usize,
    waiting: usize,
    queue: Arc<Notify>,
    /// Whether it is in the list of queues.
    is_queued: bool,
    /// Whether it was active since the last check.
    is_used: bool,
}

impl Account {
    fn left(&mut self, round: u64) -> usize {
        let paid = usize::try_from(round - self.round).unwrap_or(usize::MAX);
        self.taken = self.taken.saturating_sub(paid.saturating_mul(QUANTUM));
        self.round = round;
        QUANTUM.saturating_sub(self.taken)
    }
}

impl Schedule {
    /// Marks workspaces without a request since the last call as inactive.
    fn forget(&mut self) {
        self.looked_at = Instant::now();
        self.workspaces
            .retain(|_, account| std::mem::take(&mut account.is_used) || account.is_queued);
    }

    fn budget(&mut self, workspace: &WorkspaceName, has_waited: bool) -> Budget {
        if self.workspaces.len() <= 1 {
            return Budget::ALL;
        }
        let Some(account) = self.workspaces.get_mut(workspace) else { return Budget::ALL };
        // Queued requests are not overtaken.
        let left = if account.waiting > 0 && !has_waited { 0 } else { account.left(self.round) };
        Budget { left, taken: 0 }
    }
}

/// The amount that a task may spend for a workspace before it yields.
#[derive(Clone, Copy)]
pub(crate) struct Budget {
    left: usize,
    taken: usize,
}

impl Budget {
    /// An unlimited budget.
    pub(crate) const ALL: Self = Self { left: usize::MAX, taken: 0 };

    pub(crate) fn is_spent(&self) -> bool {
        self.taken >= self.left
    }

    /// Whether it has a limit: a workspace that is alone has none.
    pub(crate) fn is_limited(&self) -> bool {
        self.left != usize::MAX
    }

    /// Charges a request of this many bytes.
    pub(crate) fn spend(&mut self, bytes: usize) {
        self.taken += weight(bytes);
    }
}

fn weight(bytes: usize) -> usize {
    1 + bytes / BYTES_PER_UNIT
}

impl Default for Fairness {
    fn default() -> Self {
        let workspaces = HashMap::new();
        let looked_at = Instant::now();
        let schedule =
            Schedule { round: 0, workspaces, queued: Vec::new(), looked_at, has_quiet: false };
        let (is_contended, arrived) = (AtomicBool::new(false), Notify::new());
        Self { schedule: Mutex::new(schedule), is_contended, arrived }
    }
}

impl Fairness {
    fn schedule(&self) -> MutexGuard<'_, Schedule> {
        self.schedule.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The remaining quantum, for a caller that may have waited for it in the queue.
    pub(crate) fn budget(&self, workspace: &WorkspaceName, has_waited: bool) -> Budget {
        let mut schedule = self.schedule();
        if let Some(account) = schedule.workspaces.get_mut(workspace) {
            account.is_used = true;
        } else {
            let account = Account { round: schedule.round, is_used: true, ..Account::default() };
            schedule.workspaces.insert(workspace.clone(), account);
            self.is_contended.store(schedule.workspaces.len() > 1, Ordering::Relaxed);
        }
        schedule.budget(workspace, has_waited)
    }

    /// The same for a watch, which does not make a workspace active.
    pub(crate) fn budget_to_watch(&self, workspace: &WorkspaceName, has_waited: bool) -> Budget {
        self.schedule().budget(workspace, has_waited)
    }

    /// Charges what was spent; if something is left, it is for the next in the queue.
    pub(crate) fn charge(&self, workspace: &WorkspaceName, budget: Budget) {
        if budget.left == usize::MAX {
            return;
        }
        let mut schedule = self.schedule();
        let round = schedule.round;
        let Some(account) = schedule.workspaces.get_mut(workspace) else { return };
        let left = account.left(round);
        account.taken += budget.taken;
        // A budget that was empty from the start has nothing to pass on.
        if account.waiting > 0 && budget.left > 0 && left > budget.taken {
            account.queue.notify_one();
        }
        schedule.has_quiet |= account.waiting == 0 && budget.taken > 0;
    }

    /// Charges work that was not known before it was done.
    fn owe(&self, workspace: &WorkspaceName, units: usize) {
        let mut schedule = self.schedule();
        let round = schedule.round;
        if let Some(account) = schedule.workspaces.get_mut(workspace) {
            account.left(round);
            account.taken += units;
        }
    }

    /// Waits until the budget allows one request of this many bytes, and charges it.
    pub(crate) async fn enter(&self, workspace: &WorkspaceName, bytes: usize) {
        let mut budget = self.budget(workspace, false);
        if budget.is_spent() {
            self.wait_turn(workspace).await;
            budget = self.budget(workspace, true);
        }
        budget.spend(bytes);
        self.charge(workspace, budget);
    }

    /// Whether several workspaces are active.
    pub(crate) fn is_contended(&self) -> bool {
        self.is_contended.load(Ordering::Relaxed)
    }

    /// Waits in the queue. The caller must charge what it spends before it waits for anything else.
    pub(crate) async fn wait_turn(&self, workspace: &WorkspaceName) {
        let ticket = {
            let mut schedule = self.schedule();
            let round = schedule.round;
            let new = || Account { round, ..Account::default() };
            let account = schedule.workspaces.entry(workspace.clone()).or_insert_with(new);
            account.waiting += 1;
            let queue = Arc::clone(&account.queue);
            if !std::mem::replace(&mut account.is_queued, true) {
                schedule.queued.push(workspace.clone());
            }
            QueueTicket { fairness: self, workspace, queue }
        };
        self.arrived.notify_one();
        ticket.queue.notified().await;
    }

    /// Starts one round after the other, as long as requests are queued. It never returns.
    pub(crate) async fn run(&self, baton: &Baton) {
        loop {
            // Also without any queue: inactive workspaces are removed.
            let _ = timeout(ACTIVE_FOR, self.arrived.notified()).await;
            loop {
                // All tasks that are ready run before a task that yields, and all sockets are
                // polled.
                yield_now().await;
                if std::mem::take(&mut self.schedule().has_quiet) {
                    // They would wait for everything that is submitted until then.
                    let _ = timeout(ROUND_MAX, baton.wait_all_durable()).await;
                }
                for (workspace, events) in baton.take_heavy_commits() {
                    self.owe(&workspace, events);
                }
                if !self.begin_round() {
                    break;
                }
            }
        }
    }

    /// Wakes the first of each queue; false if there is no queue.
    fn begin_round(&self) -> bool {
        let mut schedule = self.schedule();
        if schedule.looked_at.elapsed() >= ACTIVE_FOR {
            schedule.forget();
        }
        let Schedule { round, workspaces, queued, .. } = &mut *schedule;
        *round += 1;
        let is_alone = workspaces.len() <= 1;
        self.is_contended.store(!is_alone, Ordering::Relaxed);
        queued.retain(|workspace| {
            let account =
                workspaces.get_mut(workspace).expect("a workspace in line is not forgotten");
            account.is_queued = account.waiting > 0;
            if is_alone {
                account.queue.notify_waiters();
            } else if account.left(*round) > 0 {
                account.queue.notify_one();
            }
            account.is_queued
        });
        !queued.is_empty()
    }
}

/// A ticket in the queue of a workspace.
struct QueueTicket<'a> {
    fairness: &'a Fairness,
    workspace: &'a WorkspaceName,
    queue: Arc<Notify>,
}

impl Drop for QueueTicket<'_> {
    fn drop(&mut self) {
        if let Some(account) = self.fairness.schedule().workspaces.get_mut(self.workspace) {
            account.waiting -= 1;
        }
    }
}

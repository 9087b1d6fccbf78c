//! Shares: while several workspaces are served, none of them has the thread for itself.
//!
//! ```text
//!   noisy  ▶▶▶▶ ▶▶▶▶ ▶▶▶▶ …      a share of each workspace, and what is beyond waits in its line
//!   quiet  ▶                     round 1 ──▶ look at all sockets ──▶ round 2 ──▶ …
//! ```
//!
//! Counted are requests as they are handed in, and events as they are pushed to those who watch.
//!
//! A round lasts until everybody who was ready has been served and, if somebody among them stood in
//! no line, until what they wrote is durable. Whoever comes meanwhile is served in the next one,
//! before the lines go on: a quiet workspace waits for a share of a noisy one or two, however many
//! connections that has and however much they send.
//!
//! Invariants:
//!
//! 1. A workspace that is alone has all there is: nothing is counted for it, nobody stands in line.
//! 2. What was taken beyond a share is owed, and paid in the rounds that follow.
//! 3. Within a workspace it is first come, first served. Who leaves the line passes its turn on.

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

/// Requests that a workspace may hand in while others wait. Those who wait feel every one of them:
/// deciding eight takes about as long as making them durable.
const SHARE: usize = 8;
/// Bytes of a request that count as another one: taking them in costs about as much.
const BYTES: usize = 4 << 10;
/// How long a round may last on a slow disk, where many shares must go into one group.
const ROUND_MAX: Duration = Duration::from_millis(1);
/// How long a workspace counts as served after its last request.
const SERVED_FOR: Duration = Duration::from_secs(1);

/// Who is served, and who waits.
pub(crate) struct Shares {
    served: Mutex<Served>,
    /// Several workspaces are served.
    is_crowded: AtomicBool,
    /// Somebody stands in a line.
    lined_up: Notify,
}

struct Served {
    round: u64,
    workspaces: HashMap<WorkspaceName, Workspace>,
    /// Those in whose lines somebody may stand.
    lines: Vec<WorkspaceName>,
    looked_at: Instant,
    /// Somebody without a line has taken something in this round.
    has_quiet: bool,
}

#[derive(Default)]
struct Workspace {
    /// The round up to which it has paid.
    round: u64,
    taken: usize,
    waiting: usize,
    line: Arc<Notify>,
    /// Whether it is among those with a line.
    is_lined: bool,
    /// Whether something was asked of it since it was last looked at.
    is_used: bool,
}

impl Workspace {
    fn left(&mut self, round: u64) -> usize {
        let paid = usize::try_from(round - self.round).unwrap_or(usize::MAX);
        self.taken = self.taken.saturating_sub(paid.saturating_mul(SHARE));
        self.round = round;
        SHARE.saturating_sub(self.taken)
    }
}

impl Served {
    /// Those of whom nothing was asked since this was done last are not served any more.
    fn forget(&mut self) {
        self.looked_at = Instant::now();
        self.workspaces.retain(|_, known| std::mem::take(&mut known.is_used) || known.is_lined);
    }

    fn portion(&mut self, workspace: &WorkspaceName, has_waited: bool) -> Portion {
        if self.workspaces.len() <= 1 {
            return Portion::ALL;
        }
        let Some(known) = self.workspaces.get_mut(workspace) else { return Portion::ALL };
        // Nobody goes past those who wait.
        let left = if known.waiting > 0 && !has_waited { 0 } else { known.left(self.round) };
        Portion { left, taken: 0 }
    }
}

/// What somebody takes of the share of a workspace while it has the thread.
#[derive(Clone, Copy)]
pub(crate) struct Portion {
    left: usize,
    taken: usize,
}

impl Portion {
    /// As much as one likes.
    pub(crate) const ALL: Self = Self { left: usize::MAX, taken: 0 };

    pub(crate) fn is_spent(&self) -> bool {
        self.taken >= self.left
    }

    /// A request of so many bytes.
    pub(crate) fn take(&mut self, bytes: usize) {
        self.taken += weight(bytes);
    }
}

fn weight(bytes: usize) -> usize {
    1 + bytes / BYTES
}

impl Default for Shares {
    fn default() -> Self {
        let workspaces = HashMap::new();
        let looked_at = Instant::now();
        let served =
            Served { round: 0, workspaces, lines: Vec::new(), looked_at, has_quiet: false };
        let (is_crowded, lined_up) = (AtomicBool::new(false), Notify::new());
        Self { served: Mutex::new(served), is_crowded, lined_up }
    }
}

impl Shares {
    fn served(&self) -> MutexGuard<'_, Served> {
        self.served.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is left for somebody, who may have waited for it in line.
    pub(crate) fn portion(&self, workspace: &WorkspaceName, has_waited: bool) -> Portion {
        let mut served = self.served();
        if let Some(known) = served.workspaces.get_mut(workspace) {
            known.is_used = true;
        } else {
            let known = Workspace { round: served.round, is_used: true, ..Workspace::default() };
            served.workspaces.insert(workspace.clone(), known);
            self.is_crowded.store(served.workspaces.len() > 1, Ordering::Relaxed);
        }
        served.portion(workspace, has_waited)
    }

    /// The same for whoever watches. It asks for nothing: a workspace is not served by that.
    pub(crate) fn portion_to_watch(&self, workspace: &WorkspaceName, has_waited: bool) -> Portion {
        self.served().portion(workspace, has_waited)
    }

    /// What was taken is taken; if something is left, it is for the next in line.
    pub(crate) fn took(&self, workspace: &WorkspaceName, portion: Portion) {
        if portion.left == usize::MAX {
            return;
        }
        let mut served = self.served();
        let round = served.round;
        let Some(known) = served.workspaces.get_mut(workspace) else { return };
        let left = known.left(round);
        known.taken += portion.taken;
        // Whoever came to a line and found nothing left has nothing to pass on.
        if known.waiting > 0 && portion.left > 0 && left > portion.taken {
            known.line.notify_one();
        }
        served.has_quiet |= known.waiting == 0 && portion.taken > 0;
    }

    /// Waits until there is something left for one request of so many bytes, and takes it.
    pub(crate) async fn enter(&self, workspace: &WorkspaceName, bytes: usize) {
        let mut portion = self.portion(workspace, false);
        if portion.is_spent() {
            self.turn(workspace).await;
            portion = self.portion(workspace, true);
        }
        portion.take(bytes);
        self.took(workspace, portion);
    }

    /// Whether several workspaces are served.
    pub(crate) fn is_crowded(&self) -> bool {
        self.is_crowded.load(Ordering::Relaxed)
    }

    /// Waits in line. Whoever comes back from it has its turn, and must say what it took of it
    /// before it waits for anything else.
    pub(crate) async fn turn(&self, workspace: &WorkspaceName) {
        let place = {
            let mut served = self.served();
            let round = served.round;
            let new = || Workspace { round, ..Workspace::default() };
            let known = served.workspaces.entry(workspace.clone()).or_insert_with(new);
            known.waiting += 1;
            let line = Arc::clone(&known.line);
            if !std::mem::replace(&mut known.is_lined, true) {
                served.lines.push(workspace.clone());
            }
            Place { shares: self, workspace, line }
        };
        self.lined_up.notify_one();
        place.line.notified().await;
    }

    /// Begins one round after the other, for as long as somebody waits. It never ends.
    pub(crate) async fn conduct(&self, baton: &Baton) {
        loop {
            // Also where nobody ever stands in line: who is not served any more is forgotten.
            let _ = timeout(SERVED_FOR, self.lined_up.notified()).await;
            loop {
                // All who are ready come before whoever yields, and all sockets are looked at.
                yield_now().await;
                if std::mem::take(&mut self.served().has_quiet) {
                    // They would wait for all that is handed in until then.
                    let _ = timeout(ROUND_MAX, baton.wait_all_durable()).await;
                }
                if !self.begin_round() {
                    break;
                }
            }
        }
    }

    /// The next in each line have their turn; false if there is no line.
    fn begin_round(&self) -> bool {
        let mut served = self.served();
        if served.looked_at.elapsed() >= SERVED_FOR {
            served.forget();
        }
        let Served { round, workspaces, lines, .. } = &mut *served;
        *round += 1;
        let is_alone = workspaces.len() <= 1;
        self.is_crowded.store(!is_alone, Ordering::Relaxed);
        lines.retain(|workspace| {
            let known = workspaces.get_mut(workspace).expect("whoever has a line is not forgotten");
            known.is_lined = known.waiting > 0;
            if is_alone {
                known.line.notify_waiters();
            } else if known.left(*round) > 0 {
                known.line.notify_one();
            }
            known.is_lined
        });
        !lines.is_empty()
    }
}

/// A place in the line of a workspace.
struct Place<'a> {
    shares: &'a Shares,
    workspace: &'a WorkspaceName,
    line: Arc<Notify>,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        if let Some(known) = self.shares.served().workspaces.get_mut(self.workspace) {
            known.waiting -= 1;
        }
    }
}

//! The workers: they finish commits that take long, so that callers of other workspaces do not
//! wait for them.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use baton_core::WorkspaceName;

use super::Driver;
use crate::error::Error;
use crate::machine::{Finished, Job};

/// Threads that finish commits. Two, so that the long commits of one workspace do not delay those
/// of another.
pub(super) const WORKERS: usize = 2;
/// The work of a commit that a caller does itself: handing it to a worker takes about as long as a
/// tenth of this.
pub(super) const SLICE_WORK_MAX: usize = 64;

/// Commits to finish, at most one of each workspace.
#[derive(Default)]
pub(super) struct WorkQueue {
    state: Mutex<WorkState>,
    changed: Condvar,
}

#[derive(Default)]
struct WorkState {
    jobs: VecDeque<Job>,
    stop: bool,
}

impl WorkQueue {
    fn lock(&self) -> MutexGuard<'_, WorkState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, jobs: Vec<Job>) {
        self.lock().jobs.extend(jobs);
        self.changed.notify_all();
    }

    /// The next job; none when the worker must stop.
    fn next(&self) -> Option<Job> {
        let mut state = self.lock();
        loop {
            if let Some(job) = state.jobs.pop_front() {
                return Some(job);
            }
            if state.stop {
                return None;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Ends the workers when nothing is left.
    fn stop(&self) {
        self.lock().stop = true;
        self.changed.notify_all();
    }
}

impl Driver {
    /// Gives jobs to the workers.
    pub(super) fn offload(&self, jobs: Vec<Job>) {
        if !jobs.is_empty() {
            self.work.push(jobs);
        }
    }

    /// Ends the workers. What is submitted from now on is finished by its callers.
    pub(super) fn stop_workers(&self) {
        let mut machine = self.shard.machine();
        machine.limit_slices(usize::MAX);
        let jobs = machine.take_jobs();
        drop(machine);
        self.offload(jobs);
        self.work.stop();
    }

    pub(super) fn work_loop(&self) {
        while let Some(job) = self.work.next() {
            let workspace = job.workspace().clone();
            match catch_unwind(AssertUnwindSafe(|| job.run())) {
                Ok(finished) => self.take_back(finished),
                Err(_) => {
                    self.shard.watermark().stop("an assertion failed; the log is intact");
                    let what = "an assertion failed on it".to_owned();
                    self.shard.machine().lose(&workspace, &Error::Corrupt { what });
                    self.shard.returned.notify_all();
                }
            }
        }
    }

    /// Commits what a worker has finished, once the open group has room for it.
    fn take_back(&self, finished: Finished) {
        let mut machine = self.shard.machine();
        while machine.open_group_size().1 >= self.shard.options.group_bytes_max {
            let group = machine.open_group();
            drop(machine);
            self.shard.block_until_durable(group);
            machine = self.shard.machine();
        }
        machine.take_back(finished, self.shard.clock.now());
        let (jobs, live_wakers) = (machine.take_jobs(), machine.take_live_wakers());
        drop(machine);
        self.shard.returned.notify_all();
        live_wakers.wake();
        self.offload(jobs);
        // No caller leads the commit: the group has to be written, and what was due in the
        // workspace meanwhile has to be done.
        self.sync.notify();
    }

    /// A reader has returned the tables of a workspace: what had to wait for them is done.
    pub(crate) fn notify_sync(&self) {
        self.sync.notify();
    }

    /// Waits until a workspace whose tables are away can be asked again.
    pub(crate) async fn wait_settled(&self, workspace: &WorkspaceName) {
        loop {
            let settling = self.shard.machine().settling(workspace);
            match settling {
                Some(oneshot) => drop(oneshot.answer().await),
                None => return,
            }
        }
    }
}

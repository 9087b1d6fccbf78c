//! Workers finish long commits and decide long requests, and readers answer long queries, so that
//! callers of other workspaces do not wait for them.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use baton_core::{Answer, Query, WorkspaceName};

use super::Driver;
use crate::admission::HeldAnswer;
use crate::error::Error;
use crate::give_way::lower_priority;
use crate::machine::{Finished, Job, Lent};
use crate::oneshot::Oneshot;

/// Threads that finish commits. Two, so that the long commits of one workspace do not delay those
/// of another.
pub(super) const WORKERS: usize = 2;
/// Threads that answer queries. More, since one may read half a gigabyte.
pub(super) const READERS: usize = 4;
/// The work of a commit that a caller does itself: handing it to a worker takes about as long as a
/// tenth of this.
pub(super) const SLICE_WORK_MAX: usize = 64;

/// A query to answer.
pub(super) struct Read {
    lent: Lent,
    query: Query,
    answer: Arc<Oneshot<Answered>>,
}

/// The answer to a query; none if it must be repeated.
type Answered = Result<Option<HeldAnswer>, Error>;

/// Work for several threads, at most one of each workspace.
pub(super) struct WorkQueue<T> {
    state: Mutex<WorkState<T>>,
    changed: Condvar,
}

struct WorkState<T> {
    jobs: VecDeque<T>,
    stop: bool,
}

impl<T> Default for WorkQueue<T> {
    fn default() -> Self {
        let state = WorkState { jobs: VecDeque::new(), stop: false };
        Self { state: Mutex::new(state), changed: Condvar::new() }
    }
}

impl<T> WorkQueue<T> {
    fn lock(&self) -> MutexGuard<'_, WorkState<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, job: T) {
        self.lock().jobs.push_back(job);
        self.changed.notify_one();
    }

    /// The same, unless the threads have been ended: then the job is returned.
    fn offer(&self, job: T) -> Option<T> {
        let mut state = self.lock();
        if state.stop {
            return Some(job);
        }
        state.jobs.push_back(job);
        drop(state);
        self.changed.notify_one();
        None
    }

    /// The next job; none when the thread must stop.
    fn next(&self) -> Option<T> {
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
        for job in jobs {
            self.work.push(job);
        }
    }

    /// Answers a query that takes long, by a reader. None if the tables are not there, or the query
    /// is about the past by now: it must be repeated.
    pub(crate) async fn ask_reader(
        &self,
        workspace: &WorkspaceName,
        query: &Query,
    ) -> Result<Option<HeldAnswer>, Error> {
        let lent = self.shard.machine().lend(workspace);
        let Some(lent) = lent else { return Ok(None) };
        let answer = Oneshot::new();
        let read = Read { lent, query: query.clone(), answer: Arc::clone(&answer) };
        if let Some(read) = self.reads.offer(read) {
            self.read(read);
        }
        answer.answer().await
    }

    /// Ends the workers. Work that is submitted from now on is finished by its callers.
    pub(super) fn stop_workers(&self) {
        let mut machine = self.shard.machine();
        machine.limit_slices(usize::MAX);
        let jobs = machine.take_jobs();
        drop(machine);
        self.offload(jobs);
        self.work.stop();
        self.reads.stop();
    }

    pub(super) fn read_loop(&self) {
        lower_priority();
        while let Some(read) = self.reads.next() {
            self.read(read);
        }
    }

    fn read(&self, Read { lent, query, answer }: Read) {
        let read = self.shard.read_lent(lent, |space| space.query(&query));
        // The jobs that waited for the tables are done now.
        self.sync.notify();
        answer.complete(match read {
            Ok(Some(held)) if held.judge(|(reply, _)| reply.is_some()) => {
                Ok(Some(held.map(|(reply, revision)| {
                    let reply = reply.expect("it was just there");
                    reply.map(|reply| Answer { revision, reply })
                })))
            }
            Ok(_) => Ok(None),
            Err(_) => Err(Error::Corrupt { what: "an assertion failed on it".to_owned() }),
        });
    }

    pub(super) fn work_loop(&self) {
        lower_priority();
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

    /// Waits until the tables of a workspace are back, so that it can serve requests again.
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

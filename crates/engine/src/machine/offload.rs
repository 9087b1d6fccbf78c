//! Commits that take long are finished by a worker, requests that take long to decide are decided
//! by one, and queries that take long are answered by a reader. Each has the workspace for itself
//! meanwhile.
//!
//! ```text
//!   submit ──▶ more work than a slice ──▶ job: the space and its commit ──▶ run, without the lock
//!          └─▶ large values to check ───▶ job: the space and the request ──┘    │
//!                                                                               │
//!   other requests of the workspace wait ◀── take_back: open group, answer ◀────┘
//! ```
//!
//! Other workspaces are served without interruption. Duties of a driver that limits slices: run
//! every job of [`Machine::take_jobs`], and return it by [`Machine::take_back`] or
//! [`Machine::lose`].
//!
//! Invariants:
//!
//! 1. While a space is away nothing in it is read or changed, and the workspace stays in memory.
//! 2. A workspace has at most one job, so workers serve workspaces in turn.
//! 3. A job whose workspace was abandoned meanwhile has no effect, like any other lost write.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use baton_core::{
    AgentId, Answer, Batch, CallOutcome, Committed, Ended, Mutation, Query, Rejection, Reply,
    Request, Revision, Space, Suspended, Timestamp, WaitId, WorkspaceName,
};

use super::deadlines::move_deadline;
use super::group::Encoded;
use super::{Held, Machine, Queued, Resident};
use crate::error::Error;
use crate::give_way;
use crate::oneshot::Oneshot;
use crate::waiter::{NO_WAIT, Waiter};

/// A commit with more events and other work than this is reported as heavy.
const HEAVY_WORK_MIN: usize = 16;
/// Units of [`Space::long_work`] that take about as long as one of a commit.
const UNITS_PER_WORK: usize = 4;
/// The records that a query examines in about the same time.
pub(super) const RECORDS_PER_WORK: usize = 16;
/// The maximum number of heavy commits that are remembered, if no caller asks for them.
const HEAVY_COMMITS_MAX: usize = 1_024;

/// The tables of a workspace. Asking for them while they are away is a bug.
pub struct Tables(Option<Space>);

impl Tables {
    pub(super) fn new(space: Space) -> Self {
        Self(Some(space))
    }

    pub(super) fn into_space(self) -> Space {
        self.0.expect(AWAY)
    }
}

const AWAY: &str = "the tables of a workspace are asked when they are there";

impl Deref for Tables {
    type Target = Space;

    #[inline]
    fn deref(&self) -> &Space {
        self.0.as_ref().expect(AWAY)
    }
}

impl DerefMut for Tables {
    #[inline]
    fn deref_mut(&mut self) -> &mut Space {
        self.0.as_mut().expect(AWAY)
    }
}

/// The changes to a workspace that arrived while its tables were away.
#[derive(Default)]
pub(super) struct Away {
    /// The call that is answered when they are back, unless it waits for something else then.
    pub(super) caller: Option<Arc<Waiter>>,
    /// Waiting calls whose callers have gone.
    pub(super) given_up: Vec<WaitId>,
    /// No agent could be heard until then, by the time of the workspace.
    pub(super) woken_at: Option<Timestamp>,
}

/// The callers that wait until a workspace can serve requests again. They are woken when this is
/// dropped.
#[derive(Default)]
pub(super) struct Settling(Vec<Arc<Oneshot<Result<(), Error>>>>);

impl Drop for Settling {
    fn drop(&mut self) {
        for caller in self.0.drain(..) {
            caller.complete(Ok(()));
        }
    }
}

/// A request that takes long to decide.
pub(super) struct Undecided {
    pub(super) request: Request,
    pub(super) agent: AgentId,
    /// By the time of the workspace.
    pub(super) at: Timestamp,
    pub(super) work: usize,
}

/// A job of a worker.
enum Work {
    /// A commit to finish.
    Finish(Box<Suspended<Option<CallOutcome>>>),
    /// A request to decide.
    Decide(Box<Undecided>),
}

/// A commit to finish, or a request to decide.
pub struct Job {
    workspace: WorkspaceName,
    stay: u64,
    space: Space,
    work: Work,
    caller: Option<Arc<Waiter>>,
    /// Keeps the workspace in memory.
    reading: Arc<()>,
}

/// The tables of a workspace, lent to a reader. They are to be returned by
/// [`Machine::take_back_lent`], whatever happens.
pub struct Lent {
    workspace: WorkspaceName,
    stay: u64,
    pub(crate) space: Space,
    _reading: Arc<()>,
}

impl Lent {
    /// The revision that it shows.
    pub fn revision(&self) -> Revision {
        self.space.revision()
    }

    /// Answers a query about the present; none if it is about the past by now.
    pub fn query(&self, query: &Query) -> Option<Result<Reply, Rejection>> {
        self.space.query(query)
    }
}

/// The result of a worker's job.
pub struct Finished {
    workspace: WorkspaceName,
    stay: u64,
    space: Space,
    /// The commit, and its batch as it is written; or why the request was refused.
    decided: Result<(Committed<Option<CallOutcome>>, Option<Encoded>), Rejection>,
    /// The agent of a request that was decided.
    agent: Option<AgentId>,
    work: usize,
    caller: Option<Arc<Waiter>>,
    _reading: Arc<()>,
}

impl Job {
    /// Its workspace.
    pub fn workspace(&self) -> &WorkspaceName {
        &self.workspace
    }

    /// Does the work. Other workspaces are served meanwhile, so the machine must not be locked.
    pub fn run(self) -> Finished {
        let Self { workspace, stay, mut space, work, caller, reading } = self;
        let (decided, agent, work) = match work {
            Work::Finish(mut suspended) => {
                while !space.continue_commit(&mut suspended, give_way::UNITS) {
                    std::thread::yield_now();
                }
                (Ok(space.finish_commit(*suspended)), None, 0)
            }
            Work::Decide(undecided) => {
                let Undecided { request, agent, at, work } = *undecided;
                let decided = space.commit(request, &agent, at);
                (decided.map(|committed| committed.map(Some)), Some(agent), work)
            }
        };
        let decided = decided.map(|committed| {
            let batch = committed.batch.as_ref();
            let encoded = batch.map(|batch| Encoded::of(&workspace, batch, space.next_deadline()));
            (committed, encoded)
        });
        Finished { workspace, stay, space, decided, agent, work, caller, _reading: reading }
    }
}

impl Resident {
    /// Whether its tables are with a worker.
    pub(crate) fn is_away(&self) -> bool {
        self.away.is_some()
    }

    /// The work of a request that takes more than a slice to decide; none if it does not.
    pub(super) fn long_work(&self, mutation: &Mutation, slice_max: usize) -> Option<usize> {
        let units = self.space.long_work(mutation, slice_max.saturating_mul(UNITS_PER_WORK))?;
        Some(units / UNITS_PER_WORK)
    }

    /// Whether requests have to wait: its tables are away, or the next one that gets them is not a
    /// request.
    pub(super) fn is_blocked(&self) -> bool {
        self.away.is_some() || self.is_reserved
    }
}

impl Machine {
    /// A commit whose reactions take more work than this is finished by a job. Without a limit, the
    /// driver need not run any.
    pub fn limit_slices(&mut self, work_max: usize) {
        self.slice_max = work_max;
    }

    /// Jobs since the last call.
    pub fn take_jobs(&mut self) -> Vec<Job> {
        std::mem::take(&mut self.jobs)
    }

    /// Whether the tables of a workspace are away.
    pub fn is_away(&self, workspace: &WorkspaceName) -> bool {
        self.residents.get(workspace).is_some_and(|resident| resident.is_away())
    }

    /// Whether requests to a workspace have to wait.
    pub(super) fn is_blocked(&self, workspace: &WorkspaceName) -> bool {
        self.residents.get(workspace).is_some_and(|resident| resident.is_blocked())
    }

    /// The next one that gets the tables of a workspace is the caller, however many requests wait:
    /// maintenance must not wait for a workspace that is never idle.
    pub(crate) fn reserve(&mut self, workspace: &WorkspaceName) {
        if let Some(resident) = self.residents.get_mut(workspace) {
            resident.is_reserved = true;
        }
    }

    /// It has got them.
    pub(crate) fn release(&mut self, workspace: &WorkspaceName) {
        if let Some(resident) = self.residents.get_mut(workspace) {
            resident.is_reserved = false;
            drop(std::mem::take(&mut resident.settling));
        }
    }

    /// Completed when a workspace can serve requests again; none if it can now.
    pub(crate) fn settling(
        &mut self,
        workspace: &WorkspaceName,
    ) -> Option<Arc<Oneshot<Result<(), Error>>>> {
        let resident = self.residents.get_mut(workspace).filter(|there| there.is_blocked())?;
        let oneshot = Oneshot::new();
        resident.settling.0.push(Arc::clone(&oneshot));
        Some(oneshot)
    }

    /// Makes a job of a commit that takes long. Returns the wait of its caller, if it has one.
    pub(super) fn offload(
        &mut self,
        workspace: &WorkspaceName,
        suspended: Box<Suspended<Option<CallOutcome>>>,
    ) -> Option<Queued> {
        let resident = self.residents.get_mut(workspace).expect("it has just decided");
        let (caller, kept) = match suspended.outcome() {
            Some(CallOutcome::Answered(_)) => {
                let caller = Waiter::new(workspace.clone(), NO_WAIT);
                (Some(Arc::clone(&caller)), Some(caller))
            }
            // It is registered at once: a reaction may end the wait.
            Some(CallOutcome::Waits(wait)) => (Some(resident.register(workspace, *wait)), None),
            None => (None, None),
        };
        self.send_away(workspace, Work::Finish(suspended), caller.clone(), kept);
        caller.map(|waiter| Queued { waiter, group: 0, is_urgent: true })
    }

    /// Makes a job of a request that takes long to decide. Returns the wait of its caller.
    pub(super) fn offload_request(
        &mut self,
        workspace: &WorkspaceName,
        undecided: Box<Undecided>,
    ) -> Queued {
        let waiter = Waiter::new(workspace.clone(), NO_WAIT);
        let (caller, kept) = (Some(Arc::clone(&waiter)), Some(Arc::clone(&waiter)));
        self.send_away(workspace, Work::Decide(undecided), caller, kept);
        Queued { waiter, group: 0, is_urgent: true }
    }

    fn send_away(
        &mut self,
        workspace: &WorkspaceName,
        work: Work,
        caller: Option<Arc<Waiter>>,
        kept: Option<Arc<Waiter>>,
    ) {
        let resident = self.residents.get_mut(workspace).expect("it was asked");
        resident.away = Some(Away { caller: kept, given_up: Vec::new(), woken_at: None });
        self.jobs.push(Job {
            workspace: workspace.clone(),
            stay: resident.stay,
            space: resident.space.0.take().expect(AWAY),
            work,
            caller,
            reading: Arc::clone(&resident.reading),
        });
    }

    /// The worker returns the tables of a workspace: what it did is committed like anything else.
    pub fn take_back(&mut self, finished: Finished, now: Timestamp) {
        let Finished { workspace, stay, space, decided, agent, work, caller, _reading } = finished;
        let Some(away) = self.reseat((&workspace, stay), space) else { return };
        let resident = self.residents.get_mut(&workspace).expect("it was there");
        resident.used_at = now;
        let present = resident.space.revision();
        match decided {
            Ok((Committed { outcome, batch: Some(batch), ended, live, work: done }, encoded)) => {
                let before = Revision(batch.revision.0 - 1);
                self.note_heavy(&workspace, batch.events.len() + done + work);
                self.add_batch(&workspace, before, (batch, live), encoded);
                self.end_waits(&workspace, ended);
                if let (Some(CallOutcome::Answered(answer)), Some(caller)) = (outcome, caller) {
                    self.open.ended.push((caller, Ok(Ok(answer))));
                }
            }
            Ok((Committed { outcome, live, .. }, _)) => {
                self.note_heavy(&workspace, work);
                self.deliver_unwritten(&workspace, (live, agent.as_ref()), now);
                if let (Some(CallOutcome::Answered(answer)), Some(caller)) = (outcome, caller) {
                    self.answer_when_durable(&workspace, present, caller, Ok(answer));
                }
            }
            Err(rejection) => {
                self.note_heavy(&workspace, work);
                let caller = caller.expect("a request has a caller");
                self.answer_when_durable(&workspace, present, caller, Err(rejection));
            }
        }
        self.settle(&workspace, away, now);
    }

    /// A commit that changed nothing: the sign of life of its agent is recorded, and its live
    /// events are delivered.
    fn deliver_unwritten(
        &mut self,
        workspace: &WorkspaceName,
        (live, agent): (Vec<Batch>, Option<&AgentId>),
        now: Timestamp,
    ) {
        let Some(resident) = self.residents.get_mut(workspace) else { return };
        if let Some(agent) = agent {
            resident.hear(&mut self.deadlines, workspace, agent, now);
        }
        let is_watched = !resident.watchers.is_empty();
        let live = live.into_iter().filter(|_| is_watched).map(Arc::new);
        let group = resident.undurable(resident.space.revision(), self.durable);
        let groups = [Some(&mut self.open), self.in_flight.as_mut()];
        resident.deliver_live(live, workspace, groups, group, &mut self.live_wakers);
    }

    /// Answers a call when the revision that it was decided against is durable.
    fn answer_when_durable(
        &mut self,
        workspace: &WorkspaceName,
        revision: Revision,
        caller: Arc<Waiter>,
        answer: Result<Answer, Rejection>,
    ) {
        let Some(resident) = self.residents.get(workspace) else { return };
        let group = resident.undurable(revision, self.durable);
        let groups = [Some(&mut self.open), self.in_flight.as_mut()];
        let ended = match groups.into_iter().flatten().find(|there| there.number == group) {
            Some(group) => &mut group.ended,
            None => &mut self.live_wakers.waiters,
        };
        ended.push((caller, Ok(answer)));
    }

    /// Lends the tables of a workspace to a reader that takes long; none if they are not there.
    pub fn lend(&mut self, workspace: &WorkspaceName) -> Option<Lent> {
        if self.is_blocked(workspace) { None } else { self.lend_settled(workspace) }
    }

    /// Lends the tables of a workspace to a thread that has waited until they were there, also if
    /// another thread has reserved them meanwhile.
    pub(crate) fn lend_settled(&mut self, workspace: &WorkspaceName) -> Option<Lent> {
        let resident = self.residents.get_mut(workspace).filter(|there| !there.is_away())?;
        resident.away = Some(Away::default());
        Some(Lent {
            workspace: workspace.clone(),
            stay: resident.stay,
            space: resident.space.0.take().expect(AWAY),
            _reading: Arc::clone(&resident.reading),
        })
    }

    /// The reader returns them, with an answer that depends on all of them; none if the workspace
    /// was abandoned meanwhile.
    pub fn take_back_lent<T>(
        &mut self,
        lent: Lent,
        answer: T,
        now: Timestamp,
    ) -> Option<Held<(T, Revision)>> {
        let Lent { workspace, stay, space, .. } = lent;
        let revision = space.revision();
        let away = self.reseat((&workspace, stay), space)?;
        let resident = self.residents.get(&workspace)?;
        let group = resident.undurable(revision, self.durable);
        #[cfg(feature = "planted")]
        let group = if baton_core::planted::is("machine.lent_dirty_read") { 0 } else { group };
        self.settle(&workspace, away, now);
        Some(Held::new((answer, revision), group))
    }

    /// The tables of a workspace are there again; none if it was abandoned meanwhile, and then its
    /// callers have learnt that.
    fn reseat(&mut self, (workspace, stay): (&WorkspaceName, u64), space: Space) -> Option<Away> {
        let resident = self.residents.get_mut(workspace).filter(|there| there.stay == stay)?;
        let away = resident.away.take().expect("its tables were away");
        resident.space = Tables::new(space);
        if let Some(moment) = away.woken_at {
            resident.space.wake(moment);
        }
        let (deadline, ahead_ms) = (resident.space.next_deadline(), resident.ahead_ms);
        move_deadline(&mut self.deadlines, workspace, &mut resident.deadline, deadline, ahead_ms);
        Some(away)
    }

    /// Does what had to wait for the tables of a workspace.
    fn settle(&mut self, workspace: &WorkspaceName, away: Away, now: Timestamp) {
        for wait in away.given_up {
            self.give_up_wait(workspace, wait, now);
        }
        if let Some(resident) = self.residents.get_mut(workspace).filter(|it| !it.is_away()) {
            resident.look_for_live_receivers();
            self.serve_live(workspace, now);
        }
        if !self.is_blocked(workspace) {
            self.release(workspace);
        }
    }

    /// A worker has failed: what it had is gone, and so is the workspace until it is loaded again.
    pub fn lose(&mut self, workspace: &WorkspaceName, error: &Error) {
        let Some(mut resident) = self.residents.remove(workspace) else { return };
        self.forget_live(workspace, &mut resident);
        let resident = *resident;
        self.asleep.extend(resident.alarm().map(|moment| (workspace.clone(), moment)));
        let away = resident.away.into_iter().filter_map(|away| away.caller);
        let waiters = resident.waiters.into_values().chain(away);
        for waiter in waiters {
            waiter.complete(Err(error.clone()));
        }
        self.tails.insert(workspace.clone(), resident.history.tail);
    }

    /// Ends waiting calls whose answers are in the open group.
    pub(super) fn end_waits(&mut self, workspace: &WorkspaceName, ended: Vec<Ended>) {
        let Some(resident) = self.residents.get_mut(workspace) else { return };
        let revision = resident.space.revision();
        for Ended { wait, reply, .. } in ended {
            // A caller that is not registered has gone.
            if let Some(waiter) = resident.waiters.remove(&wait) {
                let answer = reply.map(|reply| Answer { revision, reply });
                self.open.ended.push((waiter, Ok(answer)));
            }
        }
    }

    /// Adds a batch to the open group, with the live events that follow it.
    pub(super) fn add_batch(
        &mut self,
        workspace: &WorkspaceName,
        before: Revision,
        (batch, live): (Batch, Vec<Batch>),
        encoded: Option<Encoded>,
    ) {
        self.follow_with_live(workspace, &batch);
        let resident = self.residents.get_mut(workspace).expect("it has just decided");
        resident.enter(&mut self.open, workspace, before);
        let bytes = match encoded {
            Some(encoded) => self.open.add_encoded(resident.group_slot, encoded),
            None => self.open.add(resident.group_slot, &batch, resident.deadline),
        };
        resident.bytes_since_snapshot += u64::from(bytes);
        if !resident.watchers.is_empty() {
            let live = live.into_iter().map(Arc::new);
            let watched = std::iter::once(Arc::new(batch)).chain(live);
            self.open.watched.extend(watched.map(|batch| (workspace.clone(), batch)));
        }
    }

    /// Notes a commit that took much work.
    pub(super) fn note_heavy(&mut self, workspace: &WorkspaceName, work: usize) {
        if work > HEAVY_WORK_MIN && self.heavy.len() < HEAVY_COMMITS_MAX {
            self.heavy.push((workspace.clone(), work));
        }
    }

    /// Commits since the last call that took much work, for example because of reactions, and how
    /// much: the scheduler charges them to their workspaces.
    pub fn take_heavy(&mut self) -> Vec<(WorkspaceName, usize)> {
        std::mem::take(&mut self.heavy)
    }

    /// Cancels a wait whose caller has gone.
    pub(super) fn give_up_wait(&mut self, workspace: &WorkspaceName, wait: WaitId, now: Timestamp) {
        if wait.live_number().is_some() {
            self.give_up_live(workspace, wait, now);
            return;
        }
        let Some(resident) = self.residents.get_mut(workspace) else { return };
        if let Some(away) = &mut resident.away {
            away.given_up.push(wait);
            return;
        }
        if let Some(signal) = resident.space.give_up(wait) {
            self.signal(workspace, vec![signal], now);
        }
    }
}

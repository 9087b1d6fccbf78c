//! The engine without I/O: it decides and evolves immediately, and holds every answer until
//! everything that the answer depends on is durable.
//!
//! ```text
//!   submit ──▶ Space::commit ──▶ open group ──take_group──▶ in flight ──confirm──▶ durable
//!      │                                                        │
//!      └── Held answer: opens when its group is durable         └──abandon──▶ spaces dropped
//! ```
//!
//! The driver is outside: the callers and threads of the embedded engine, or the simulator. Duties
//! of a driver:
//!
//! 1. [`Machine::take_group`] gives the bytes to append; only one group is in flight.
//! 2. When they are durable, call [`Machine::confirm`] with the record's position; when they
//!    certainly are not, or it is unknown, call [`Machine::abandon`].
//! 3. Open a [`Held`] only when [`Machine::durable`] has reached the group it depends on.
//! 4. A workspace that is not resident must be loaded and installed before it can be queried.
//!
//! Invariants:
//!
//! 1. A batch is durable only if all batches of its workspace before it are.
//! 2. A tail holds durable batches only, so no reader of the log sees data that could still be
//!    lost.
//! 3. A live event, which is not written, is delivered after everything before it is durable: it
//!    waits for a group, and never causes one. So does an answer about a live request, for what it
//!    depends on.

mod absent;
mod deadlines;
mod fast_path;
mod group;
mod live;
mod local_time;
mod offload;
mod progress;
mod removal;
mod resident;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use baton_core::access::Viewer;
use baton_core::{
    AgentId, CallOutcome, CommitProgress, Committed, FastSet, Query, Rejection, Reply, Request,
    Revision, Signal, Space, Timestamp, WaitId, WorkspaceName, limits, state,
};
use baton_log::Position;

use crate::admission::{Admission, Deferred, RetryAfter};
use crate::error::Error;
use crate::history::{History, LogLocation, Tail};
use crate::waiter::Waiter;
use crate::watch::{Notices, Wakers, Watchers};
pub use offload::{Finished, Job, Lent, Tables};
pub use removal::{Removed, Stays};

use absent::Absent;
use deadlines::move_deadline;
use group::Group;
use live::Live;
use offload::{Away, RECORDS_PER_WORK, Settling, Undecided};

/// Something that may be seen only when a group is durable.
#[derive(Debug)]
#[must_use]
pub struct Held<T> {
    value: T,
    group: u64,
}

impl<T> Held<T> {
    /// The group that must be durable first; 0 if nothing is awaited.
    pub fn group(&self) -> u64 {
        self.group
    }

    /// Opens it. The caller must have made sure that the group is durable.
    pub fn open(self, durable: u64) -> T {
        assert!(self.group <= durable, "an answer was opened before it was durable");
        self.value
    }

    /// Judges it, for example by its size. The value must not be shown to any caller yet.
    pub fn judge<U>(&self, judge: impl FnOnce(&T) -> U) -> U {
        judge(&self.value)
    }

    pub(crate) fn map<U>(self, map: impl FnOnce(T) -> U) -> Held<U> {
        Held { value: map(self.value), group: self.group }
    }

    pub(crate) fn new(value: T, group: u64) -> Self {
        Self { value, group }
    }
}

/// A waiting request.
pub struct Queued {
    /// Its caller.
    pub waiter: Arc<Waiter>,
    /// The group that makes the wait durable.
    pub group: u64,
    /// Whether that group also answers or notifies another caller. If not, it may be written
    /// together with the next one: see [`Machine::defer_write`].
    pub is_urgent: bool,
}

/// A workspace in memory.
pub struct Resident {
    /// Its tables.
    pub space: Tables,
    /// Its tables are with a worker.
    away: Option<Away>,
    /// Something other than a request waits for its tables.
    is_reserved: bool,
    /// Requests that wait for its tables.
    settling: Settling,
    /// Its history.
    pub history: History,
    /// Its watchers.
    pub watchers: Watchers,
    /// Its waiting calls.
    waiters: BTreeMap<WaitId, Arc<Waiter>>,
    /// Its live requests, whose callers are among the waiting calls.
    live: Live,
    /// When it was last used.
    pub used_at: Timestamp,
    /// It was read since the last check: reading the clock costs as much as the read itself.
    pub is_read: bool,
    /// The revision of its newest snapshot on disk.
    pub snapshot: Revision,
    /// Log bytes since then.
    pub bytes_since_snapshot: u64,
    /// How many contents had been removed at the last sweep of its blobs.
    pub swept: Option<u64>,
    /// The revision of its tail at the last check.
    pub looked_at: Revision,
    /// Whether it had grown much by then, since the check before.
    pub is_busy: bool,
    /// Distinguishes this residence in memory from earlier ones of the same workspace.
    pub stay: u64,
    /// A clone of this keeps the workspace in memory.
    pub reading: Arc<()>,
    /// How far its time is ahead of the clock.
    ahead_ms: u64,
    /// When time next causes something, by its own time.
    deadline: Option<Timestamp>,
    // The last two groups that changed it, each with the revision before. Two suffice: one group
    // is open and at most one is in flight.
    newest: Mark,
    earlier: Mark,
    /// Its index among the workspaces of the newest of these groups.
    group_slot: u32,
}

#[derive(Clone, Copy, Default)]
struct Mark {
    group: u64,
    before: Revision,
}

/// Many workspaces, and the open group.
pub struct Machine {
    residents: hashbrown::HashMap<WorkspaceName, Box<Resident>>,
    /// Tails of workspaces that are not in memory.
    tails: HashMap<WorkspaceName, Tail>,
    deadlines: BTreeSet<(Timestamp, WorkspaceName)>,
    /// Deadlines of live requests, which no log contains.
    live_deadlines: BTreeSet<(Timestamp, WorkspaceName)>,
    /// Deadlines of workspaces that are not in memory.
    asleep: HashMap<WorkspaceName, Timestamp>,
    /// How far the times of workspaces are ahead of the clock, for those that are.
    ahead: HashMap<WorkspaceName, u64>,
    /// The last signs of life of agents in workspaces that have left memory, as far as they are in
    /// no log.
    signs_of_life: HashMap<WorkspaceName, Vec<(AgentId, Timestamp)>>,
    /// Workspaces that were looked for and are not there.
    absent: Absent,
    open: Group,
    in_flight: Option<Group>,
    spare: Group,
    durable: u64,
    tail: Position,
    stays: u64,
    /// Since when heartbeats can be received.
    served_since: Timestamp,
    /// Watchers that received a live event and must be woken.
    live_wakers: Wakers,
    /// When the driver will wake up; none if it will not.
    alarm: Option<Timestamp>,
    /// When deferred writes must be written, even if nothing follows them.
    deferred_until: Option<Timestamp>,
    /// Commits that took much more work than their requests suggest.
    heavy: Vec<(WorkspaceName, usize)>,
    /// The work that a commit may take here.
    slice_max: usize,
    /// The rest of commits that take more.
    jobs: Vec<Job>,
    /// Tables of workspaces that were evicted.
    evicted: Vec<Space>,
}

impl Machine {
    /// A machine whose log continues at this position, and that serves from this time on.
    pub fn new(tail: Position, tails: HashMap<WorkspaceName, Tail>, now: Timestamp) -> Self {
        #[cfg(feature = "planted")]
        let now =
            if baton_core::planted::is("shared.keeps_served_since") { Timestamp(0) } else { now };
        Self {
            residents: hashbrown::HashMap::new(),
            tails,
            deadlines: BTreeSet::new(),
            live_deadlines: BTreeSet::new(),
            asleep: HashMap::new(),
            ahead: HashMap::new(),
            signs_of_life: HashMap::new(),
            absent: Absent::default(),
            open: Group { number: 1, ..Group::default() },
            in_flight: None,
            spare: Group::default(),
            durable: 0,
            tail,
            stays: 0,
            served_since: now,
            live_wakers: Wakers::default(),
            alarm: None,
            deferred_until: None,
            heavy: Vec::new(),
            slice_max: usize::MAX,
            jobs: Vec::new(),
            evicted: Vec::new(),
        }
    }

    /// Decides a request of an agent.
    pub fn submit(
        &mut self,
        workspace: &WorkspaceName,
        mut request: Request,
        agent: &AgentId,
        now: Timestamp,
    ) -> Admission<Queued, Request> {
        if let Some(set) = FastSet::of(&request)
            && let Some(held) = self.fast_set(workspace, &set, agent, now)
        {
            return Admission::Answer(held);
        }
        let Some(resident) = self.residents.get_mut(workspace) else {
            return Admission::Retry(request, RetryAfter::Load);
        };
        if resident.is_blocked() {
            return Admission::Retry(request, RetryAfter::Settled);
        }
        let resident = if resident.may_be_live(&request) {
            match self.submit_live(workspace, request, agent, now) {
                Ok(admission) => return admission,
                Err(back) => request = back,
            }
            self.residents.get_mut(workspace).expect("it was just there")
        } else {
            resident
        };
        resident.used_at = now;
        let before = resident.space.revision();
        let local = resident.local(now);
        if self.slice_max < usize::MAX
            && let Some(work) = resident.long_work(&request.mutation, self.slice_max)
        {
            let undecided = Undecided { request, agent: agent.clone(), at: local, work };
            return Admission::Wait(self.offload_request(workspace, Box::new(undecided)));
        }
        match resident.space.begin_commit(request, agent, local, self.slice_max) {
            Ok(progress) => {
                let admission = self.progress(workspace, before, progress.map(Some), agent, now);
                admission.expect("a request has an outcome")
            }
            // It was decided against state that could still be lost, so it is held like any other
            // answer.
            Err(rejection) => {
                let group = resident.undurable(before, self.durable);
                Admission::Answer(Held::new(Err(rejection), group))
            }
        }
    }

    /// Handles signals in a workspace that is in memory. They have no caller: their effect is
    /// visible in the events.
    fn signal(&mut self, workspace: &WorkspaceName, signals: Vec<Signal>, now: Timestamp) {
        let resident = self.residents.get_mut(workspace).expect("the workspace is in memory");
        resident.used_at = now;
        let before = resident.space.revision();
        let local = resident.local(now);
        // A refused signal has no effect, and is tried again when it is due again.
        if let Ok(progress) = resident.space.begin_signal(signals, local, self.slice_max) {
            let progress = progress.map(|()| None);
            self.progress(workspace, before, progress, &AgentId::engine(), now);
        }
    }

    /// Applies a commit, or offloads the rest of it. Returns the admission of its caller, if it has
    /// one.
    fn progress(
        &mut self,
        workspace: &WorkspaceName,
        before: Revision,
        progress: CommitProgress<Option<CallOutcome>>,
        agent: &AgentId,
        now: Timestamp,
    ) -> Option<Admission<Queued, Request>> {
        match progress {
            CommitProgress::Done(committed) => self.apply(workspace, before, committed, agent, now),
            CommitProgress::Suspended(suspended) => {
                self.offload(workspace, suspended).map(Admission::Wait)
            }
        }
    }

    /// Adds the effects of a commit to the open group. Returns the admission of its caller, if it
    /// has one.
    fn apply(
        &mut self,
        workspace: &WorkspaceName,
        before: Revision,
        committed: Committed<Option<CallOutcome>>,
        agent: &AgentId,
        now: Timestamp,
    ) -> Option<Admission<Queued, Request>> {
        let resident = self.residents.get_mut(workspace).expect("the workspace is in memory");
        let Committed { outcome, batch, ended, live, work } = committed;
        let is_watched = !resident.watchers.is_empty();
        let Some(batch) = batch else {
            let live = live.into_iter().filter(|_| is_watched).map(Arc::new);
            resident.hear(&mut self.deadlines, workspace, agent, now);
            let group = resident.undurable(before, self.durable);
            let groups = [Some(&mut self.open), self.in_flight.as_mut()];
            resident.deliver_live(live, workspace, groups, group, &mut self.live_wakers);
            return outcome.map(|outcome| resident.admission(workspace, outcome, group, false));
        };
        let deadline = resident.space.next_deadline();
        if deadline != resident.deadline {
            let (before, ahead_ms) = (&mut resident.deadline, resident.ahead_ms);
            move_deadline(&mut self.deadlines, workspace, before, deadline, ahead_ms);
        }
        let group = self.open.number;
        #[cfg(feature = "planted")]
        let group =
            if baton_core::planted::is("machine.answer_before_durable") { 0 } else { group };
        // The waiter is registered first: a reaction may have ended the wait already.
        let is_urgent = is_watched || !ended.is_empty();
        let admission =
            outcome.map(|outcome| resident.admission(workspace, outcome, group, is_urgent));
        self.note_heavy(workspace, batch.events.len() + work);
        self.add_batch(workspace, before, (batch, live), None);
        if !ended.is_empty() {
            self.end_waits(workspace, ended);
        }
        self.serve_live(workspace, now);
        admission
    }

    /// Watchers of live events, to be woken once no lock is held.
    pub fn take_live_wakers(&mut self) -> Wakers {
        std::mem::take(&mut self.live_wakers)
    }

    /// The caller of a waiting call is gone.
    pub fn give_up(&mut self, waiter: &Arc<Waiter>, now: Timestamp) {
        let Some(resident) = self.residents.get_mut(&waiter.workspace) else { return };
        let is_registered = |there: &Arc<Waiter>| Arc::ptr_eq(there, waiter);
        // Another caller may have replaced it, or the answer is in flight.
        if !resident.waiters.get(&waiter.wait).is_some_and(is_registered) {
            return;
        }
        resident.waiters.remove(&waiter.wait);
        #[cfg(feature = "planted")]
        if baton_core::planted::is("machine.gone_still_wait") {
            return;
        }
        self.give_up_wait(&waiter.workspace, waiter.wait, now);
    }

    /// A workspace that was just loaded has no waiters: callers do not survive the process.
    fn cancel_orphaned_waits(&mut self, workspace: &WorkspaceName, now: Timestamp) {
        let Some(resident) = self.residents.get(workspace) else { return };
        #[cfg(feature = "planted")]
        if baton_core::planted::is("machine.forsakes_nobody") {
            return;
        }
        let space = &resident.space;
        let signals: Vec<_> = space.waits().filter_map(|wait| space.give_up(wait)).collect();
        // All of it, before the workspace gets a request.
        let slice_max = std::mem::replace(&mut self.slice_max, usize::MAX);
        for signals in signals.chunks(limits::TRANSACTION_COMMANDS_MAX) {
            self.signal(workspace, signals.to_vec(), now);
        }
        self.slice_max = slice_max;
    }

    /// Removes all waiters; the driver answers them.
    pub fn take_waiters(&mut self) -> Vec<Arc<Waiter>> {
        let residents = self.residents.values_mut();
        let waiting = residents.flat_map(|there| {
            let offloaded = there.away.as_mut().and_then(|away| away.caller.take());
            std::mem::take(&mut there.waiters).into_values().chain(offloaded)
        });
        waiting.collect()
    }

    /// Answers a query, unless it is about the past or takes long. Without a viewer no agent asks,
    /// and nothing is left out.
    pub fn ask(
        &mut self,
        workspace: &WorkspaceName,
        query: &Query,
        viewer: Option<Viewer<'_>>,
        now: Timestamp,
    ) -> Admission<Deferred, ()> {
        let durable = self.durable;
        let Some(resident) = self.residents.get_mut(workspace) else {
            return self.absent.ask(workspace, query);
        };
        if resident.is_blocked() {
            return Admission::Retry((), RetryAfter::Settled);
        }
        resident.used_at = now;
        // Asking about an agent, even in its name, does not keep it alive.
        if let Some(viewer) = viewer
            && query.about_agent() != Some(viewer.agent)
        {
            resident.hear(&mut self.deadlines, workspace, viewer.agent, now);
        }
        let revision = resident.space.revision();
        if self.slice_max < usize::MAX
            && resident.space.is_long_query(query, self.slice_max.saturating_mul(RECORDS_PER_WORK))
        {
            return Admission::Wait(Deferred::Long);
        }
        let reply = match viewer {
            Some(viewer) => resident.space.ask(query, viewer),
            None => resident.space.query(query),
        };
        let Some(reply) = reply else {
            let present = Held::new(revision, resident.undurable(revision, durable));
            return Admission::Wait(Deferred::Past(present));
        };
        let touched = match (query, &reply) {
            (_, Ok(Reply::State(state::Reply::Entry(entry)))) => entry.revision(),
            // The absence of a key depends on the last removal, the existence of its namespace on
            // the revision that last changed the namespace.
            (
                Query::State(state::Query::Get(get)),
                Err(Rejection::State(state::Rejection::NotFound { .. })),
            ) => {
                let namespace = resident.space.namespace.get(&get.namespace);
                let namespace = namespace.map_or(revision, |namespace| namespace.revision);
                resident.space.state.last_removal().max(namespace)
            }
            (_, Ok(_) | Err(_)) => revision,
        };
        Admission::Answer(resident.seen(reply, touched, durable))
    }

    /// The number of batches in the open group, and their size.
    pub fn open_group_size(&self) -> (usize, usize) {
        (self.open.batches.len(), self.open.bytes.len())
    }

    /// The number of the open group.
    pub fn open_group(&self) -> u64 {
        self.open.number
    }

    /// Whether a group is being written to the log.
    pub fn has_group_in_flight(&self) -> bool {
        self.in_flight.is_some()
    }

    /// The bytes to append and their position, if there are any and no group is in flight.
    pub fn take_group(&mut self) -> Option<(Position, Vec<u8>)> {
        if self.in_flight.is_some() || self.open.batches.is_empty() {
            return None;
        }
        let fresh = Group { number: self.open.number + 1, ..std::mem::take(&mut self.spare) };
        let mut group = std::mem::replace(&mut self.open, fresh);
        let bytes = std::mem::take(&mut group.bytes);
        self.in_flight = Some(group);
        Some((self.tail, bytes))
    }

    /// The group in flight is durable: its record is at the position that was given, and the log
    /// continues at `tail`. Takes back the buffer, and returns the callers to wake.
    pub fn confirm(&mut self, tail: Position, buffer: Vec<u8>) -> Wakers {
        let mut group = self.in_flight.take().expect("a group was in flight");
        let record = std::mem::replace(&mut self.tail, tail);
        self.durable = group.number;
        let mut hashes = group.hashes.iter().copied();
        for batches in group.batches.chunk_by(|one, next| one.workspace == next.workspace) {
            let workspace = &group.workspaces[batches[0].workspace as usize];
            let tail = match self.residents.get_mut(workspace) {
                Some(resident) => &mut resident.history.tail,
                None => self.tails.get_mut(workspace).expect("a tail is never dropped"),
            };
            for batch in batches {
                let touched = hashes.by_ref().take(batch.hashes as usize);
                let location = LogLocation { record, offset: batch.offset };
                tail.push(location, u64::from(batch.bytes), touched);
            }
        }
        let mut wakers = Wakers::default();
        for (workspace, batch) in group.watched.drain(..) {
            if let Some(resident) = self.residents.get_mut(&workspace) {
                resident.watchers.deliver(&Notices::of(&batch), &mut wakers);
            }
        }
        wakers.waiters.append(&mut group.ended);
        group.bytes = buffer;
        group.clear();
        self.spare = group;
        wakers
    }

    /// Discards everything that is not durable, because it is lost or its outcome is unknown, so
    /// that it is loaded again from the log. Returns the groups that are lost.
    pub fn abandon(
        &mut self,
        now: Timestamp,
        error: &Error,
    ) -> (std::ops::RangeInclusive<u64>, Wakers) {
        // Heartbeats may be among the lost writes.
        self.served_since = now;
        let lost = self.durable + 1..=self.open.number;
        let mut wakers = Wakers::default();
        let in_flight = self.in_flight.as_mut().map(|group| std::mem::take(&mut group.ended));
        let ended = in_flight.into_iter().flatten().chain(self.open.ended.drain(..));
        let mut waiters: Vec<Arc<Waiter>> = ended.map(|(waiter, _)| waiter).collect();
        waiters.extend(self.take_waiters());
        wakers.waiters.extend(waiters.into_iter().map(|waiter| (waiter, Err(error.clone()))));
        for (workspace, mut resident) in self.residents.drain() {
            resident.watchers.close(resident.history.tail.next(), &mut wakers);
            // It is loaded again at once if anything there has a deadline.
            self.asleep.extend(resident.alarm().map(|moment| (workspace.clone(), moment)));
            self.tails.insert(workspace, resident.history.tail);
        }
        self.in_flight = None;
        self.open.clear();
        self.live_deadlines.clear();
        self.durable = self.open.number;
        self.open.number += 1;
        (lost, wakers)
    }

    /// The newest group that is durable, or was abandoned.
    pub fn durable(&self) -> u64 {
        self.durable
    }

    /// The end of the log.
    pub fn tail(&self) -> Position {
        self.tail
    }

    /// A workspace in memory.
    pub fn resident(&mut self, workspace: &WorkspaceName) -> Option<&mut Resident> {
        self.residents.get_mut(workspace).map(Box::as_mut)
    }

    /// Workspaces in memory, in no order.
    pub fn residents(&self) -> Vec<WorkspaceName> {
        self.residents.keys().cloned().collect()
    }

    /// Takes the tail of a workspace that is about to be loaded.
    pub fn tail_of(&mut self, workspace: &WorkspaceName) -> Option<&mut Tail> {
        self.tails.get_mut(workspace)
    }

    /// Puts a loaded workspace into memory.
    pub fn install(&mut self, workspace: &WorkspaceName, loaded: Loaded, now: Timestamp) {
        let Loaded { mut space, mut history, snapshot, bytes_since_snapshot } = loaded;
        if let Some(tail) = self.tails.remove(workspace) {
            assert_eq!(tail.next(), space.revision().next(), "a loaded space is up to date");
            history.tail = tail;
        }
        history.check();
        let ahead_ms = self.begin_time(workspace, &mut space, now);
        self.absent.forget(workspace);
        self.stays += 1;
        let mut resident = Resident {
            stay: self.stays,
            reading: Arc::new(()),
            ahead_ms,
            deadline: None,
            space: Tables::new(space),
            away: None,
            is_reserved: false,
            settling: Settling::default(),
            history,
            watchers: Watchers::default(),
            waiters: BTreeMap::new(),
            live: Live::default(),
            used_at: now,
            is_read: false,
            snapshot,
            bytes_since_snapshot,
            swept: None,
            looked_at: Revision(0),
            is_busy: false,
            newest: Mark::default(),
            earlier: Mark::default(),
            group_slot: 0,
        };
        let deadline = resident.space.next_deadline();
        self.forget_sleeper(workspace);
        let before = &mut resident.deadline;
        move_deadline(&mut self.deadlines, workspace, before, deadline, ahead_ms);
        let before = self.residents.insert(workspace.clone(), Box::new(resident));
        assert!(before.is_none(), "a workspace is loaded once");
        self.cancel_orphaned_waits(workspace, now);
    }

    /// Workspaces in memory or in the log, in no order, and how far each is durable.
    pub fn known(&self) -> Vec<(WorkspaceName, Revision)> {
        let residents = self.residents.iter().map(|(name, there)| (name, &there.history.tail));
        let tails = residents.chain(&self.tails);
        tails.map(|(name, tail)| (name.clone(), Revision(tail.next().0 - 1))).collect()
    }

    /// Workspaces in memory with pending webhook calls.
    pub fn calling(&self) -> Vec<WorkspaceName> {
        let is_calling = |there: &Resident| !there.is_away() && there.space.reaction.is_calling();
        let calling = self.residents.iter().filter(|(_, there)| is_calling(there));
        calling.map(|(workspace, _)| workspace.clone()).collect()
    }

    /// The oldest record that is still needed, and the workspace that needs it.
    pub fn oldest_need(&self) -> Option<(Position, WorkspaceName)> {
        let residents = self.residents.iter().map(|(name, there)| (&there.history.tail, name));
        let sleeping = self.tails.iter().map(|(name, tail)| (tail, name));
        let needs = residents.chain(sleeping);
        let needs = needs.filter_map(|(tail, name)| Some((tail.needs()?, name)));
        needs.min().map(|(position, name)| (position, name.clone()))
    }
}

/// The result of loading a workspace.
pub struct Loaded {
    /// Its tables.
    pub space: Space,
    /// Its history, without the tail if the machine keeps that.
    pub history: History,
    /// The revision of the snapshot it was loaded from.
    pub snapshot: Revision,
    /// Log bytes since then.
    pub bytes_since_snapshot: u64,
}

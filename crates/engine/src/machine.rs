//! The engine without its I/O: decides and evolves at once, and lets nobody see an answer before
//! what it depends on is durable.
//!
//! ```text
//!   submit ──▶ Space::commit ──▶ open group ──take_group──▶ in flight ──confirm──▶ durable
//!      │                                                        │
//!      └── Held answer: opens when its group is durable         └──abandon──▶ spaces dropped
//! ```
//!
//! The driver is outside: the embedded engine's callers and its threads, the
//! simulator by hand. Duties of a driver:
//!
//! 1. [`Machine::take_group`] gives the bytes to append; only one group is in flight.
//! 2. When they are durable, call [`Machine::confirm`] with the record's position; when they
//!    surely are not, or it is unknown, call [`Machine::abandon`].
//! 3. Open a [`Held`] only when [`Machine::durable`] has reached what it depends on.
//! 4. A workspace that is not resident must be loaded and installed before it can be asked.
//!
//! Invariants:
//!
//! 1. A batch is durable only if all batches of its workspace before it are.
//! 2. A tail holds durable batches only, so nobody reads from the log what may yet be lost.
//! 3. What is told without being written down is told after all that happened before it, once that
//!    is durable: it waits for a group, and never makes one.

mod deadlines;
mod fast_path;
mod group;
mod progress;
mod resident;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use baton_core::{
    AgentId, Answer, Ended, FastSet, Mutation, Query, Rejection, Reply, Request, Revision, Space,
    Timestamp, WaitId, WorkspaceName, limits, state,
};
use baton_log::Position;

use crate::error::Error;
use crate::history::{History, LogLocation, Tail};
use crate::waiter::Waiter;
use crate::watch::{Notices, Wakers, Watchers};
use deadlines::move_deadline;
use group::Group;

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

    /// Opens it. The caller has made sure that the group is durable.
    pub fn open(self, durable: u64) -> T {
        assert!(self.group <= durable, "an answer was opened before it was durable");
        self.value
    }

    pub(crate) fn new(value: T, group: u64) -> Self {
        Self { value, group }
    }
}

/// What became of a request.
#[must_use]
pub enum Taken {
    /// It was decided.
    Decided(Held<Result<Answer, Rejection>>),
    /// It waits.
    Waits {
        /// Whoever asked.
        waiter: Arc<Waiter>,
        /// Others may see that it waits once this group is durable.
        group: u64,
        /// Whether somebody else is told something by that group. If not, it may be written with
        /// whatever comes next: see [`Machine::defer_write`].
        is_urgent: bool,
    },
}

impl Taken {
    /// What was decided, for those who did not ask to wait.
    pub fn decided(self) -> Held<Result<Answer, Rejection>> {
        match self {
            Self::Decided(held) => held,
            Self::Waits { .. } => panic!("nobody asked to wait"),
        }
    }
}

/// What became of a question.
pub enum Asked {
    /// The answer, once it is durable.
    Present(Held<Result<Answer, Rejection>>),
    /// It is about the past; as of this revision, once it is durable.
    Past(Held<Revision>),
}

/// The workspace is not in memory; load it and ask again.
#[derive(Debug)]
pub struct Absent<T>(pub T);

/// A workspace in memory.
pub struct Resident {
    /// Its tables.
    pub space: Space,
    /// Its past.
    pub history: History,
    /// Who watches it.
    pub watchers: Watchers,
    /// Who waits in it.
    waiters: BTreeMap<WaitId, Arc<Waiter>>,
    /// When it was last used.
    pub used_at: Timestamp,
    /// It was read since it was last looked at: to look at the clock costs as much as to read.
    pub is_read: bool,
    /// The revision of its newest snapshot on disk.
    pub snapshot: Revision,
    /// Log bytes since then.
    pub bytes_since_snapshot: u64,
    /// How many contents had gone when its blobs were last looked through.
    pub swept: Option<u64>,
    /// The revision that its tail had come to when it was last looked at.
    pub looked_at: Revision,
    /// Whether it had grown much by then, since the look before.
    pub is_busy: bool,
    /// Tells this stay in memory from an earlier one of the same workspace.
    pub stay: u64,
    /// Whoever holds a copy keeps the workspace in memory.
    pub reading: Arc<()>,
    deadline: Option<Timestamp>,
    // The last two groups that changed it, each with the revision before. Two suffice: one group
    // is open and at most one is in flight.
    newest: Mark,
    earlier: Mark,
    /// Its number among the workspaces of the newest of these groups.
    group_slot: u32,
}

#[derive(Clone, Copy, Default)]
struct Mark {
    group: u64,
    before: Revision,
}

/// Many workspaces, and the group that is being gathered.
pub struct Machine {
    residents: hashbrown::HashMap<WorkspaceName, Box<Resident>>,
    /// Tails of workspaces that are not in memory.
    tails: HashMap<WorkspaceName, Tail>,
    deadlines: BTreeSet<(Timestamp, WorkspaceName)>,
    /// Deadlines of workspaces that are not in memory.
    asleep: HashMap<WorkspaceName, Timestamp>,
    open: Group,
    in_flight: Option<Group>,
    spare: Group,
    durable: u64,
    tail: Position,
    stays: u64,
    /// Since when there has been somebody to hear a heartbeat.
    served_since: Timestamp,
    /// Who has been told something that is not written down, and must be woken.
    live_wakers: Wakers,
    /// When the driver will look again by itself; none if it will not.
    alarm: Option<Timestamp>,
    /// By when what was left is to be written, even if nothing comes after it.
    deferred_until: Option<Timestamp>,
}

impl Machine {
    /// A machine whose log goes on at this position, and that serves from this moment on.
    pub fn new(tail: Position, tails: HashMap<WorkspaceName, Tail>, now: Timestamp) -> Self {
        Self {
            residents: hashbrown::HashMap::new(),
            tails,
            deadlines: BTreeSet::new(),
            asleep: HashMap::new(),
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
        }
    }

    /// Decides a request of an agent.
    pub fn submit(
        &mut self,
        workspace: &WorkspaceName,
        request: Request,
        agent: &AgentId,
        now: Timestamp,
    ) -> Result<Taken, Absent<Request>> {
        if let Some(set) = FastSet::of(&request)
            && let Some(held) = self.fast_set(workspace, &set, agent, now)
        {
            return Ok(Taken::Decided(held));
        }
        let Some(resident) = self.residents.get_mut(workspace) else {
            return Err(Absent(request));
        };
        resident.used_at = now;
        let before = resident.space.revision();
        let committed = match resident.space.commit(request, agent, now) {
            Ok(committed) => committed,
            // It was decided against what may yet be lost, so it waits like any other answer.
            Err(rejection) => {
                let group = resident.undurable(before, self.durable);
                return Ok(Taken::Decided(Held::new(Err(rejection), group)));
            }
        };
        let is_watched = !resident.watchers.is_empty();
        let live = committed.live.into_iter().filter(|_| is_watched).map(Arc::new);
        let Some(batch) = committed.batch else {
            let group = resident.undurable(before, self.durable);
            for live in live {
                let (watchers, live_wakers) = (&mut resident.watchers, &mut self.live_wakers);
                let groups = [Some(&mut self.open), self.in_flight.as_mut()];
                #[cfg(feature = "planted")]
                let groups = groups
                    .map(|it| it.filter(|_| !baton_core::planted::is("machine.live_overtakes")));
                match groups.into_iter().flatten().find(|it| it.number == group) {
                    Some(group) => group.watched.push((workspace.clone(), live)),
                    None => watchers.deliver(&Notices::of(&live), live_wakers),
                }
            }
            return Ok(resident.taken(workspace, committed.outcome, group, false));
        };
        resident.enter(&mut self.open, workspace, before);
        let deadline = resident.space.next_deadline();
        let bytes = self.open.add(resident.group_slot, &batch, deadline);
        resident.bytes_since_snapshot += u64::from(bytes);
        if is_watched {
            self.open.watched.push((workspace.clone(), Arc::new(batch)));
            self.open.watched.extend(live.map(|live| (workspace.clone(), live)));
        }
        if deadline != resident.deadline {
            move_deadline(&mut self.deadlines, workspace, &mut resident.deadline, deadline);
        }
        let revision = resident.space.revision();
        let group = self.open.number;
        #[cfg(feature = "planted")]
        let group =
            if baton_core::planted::is("machine.answer_before_durable") { 0 } else { group };
        // Whoever waits is registered first: a reaction may have ended the wait already.
        let is_urgent = is_watched || !committed.ended.is_empty();
        let taken = resident.taken(workspace, committed.outcome, group, is_urgent);
        for Ended { wait, reply, .. } in committed.ended {
            // Whoever is not on the list is gone.
            if let Some(waiter) = resident.waiters.remove(&wait) {
                let answer = reply.map(|reply| Answer { revision, reply });
                self.open.ended.push((waiter, Ok(answer)));
            }
        }
        Ok(taken)
    }

    /// Who must be woken, once no lock is held, because of what was told and not written down.
    pub fn take_live_wakers(&mut self) -> Wakers {
        std::mem::take(&mut self.live_wakers)
    }

    /// The caller of a waiting call is gone.
    pub fn give_up(&mut self, waiter: &Arc<Waiter>, now: Timestamp) {
        let Some(resident) = self.residents.get_mut(&waiter.workspace) else { return };
        let is_registered = |there: &Arc<Waiter>| Arc::ptr_eq(there, waiter);
        // Another caller may have taken its place, or the answer is on its way.
        if !resident.waiters.get(&waiter.wait).is_some_and(is_registered) {
            return;
        }
        resident.waiters.remove(&waiter.wait);
        #[cfg(feature = "planted")]
        if baton_core::planted::is("machine.gone_still_wait") {
            return;
        }
        if let Some(command) = resident.space.give_up(waiter.wait) {
            let taken = self.submit(&waiter.workspace, command.into(), &AgentId::engine(), now);
            assert!(taken.is_ok(), "the workspace is in memory");
        }
    }

    /// Nobody waits in a workspace that was just loaded: callers do not survive the process.
    fn cancel_orphaned_waits(&mut self, workspace: &WorkspaceName, now: Timestamp) {
        let Some(resident) = self.residents.get(workspace) else { return };
        #[cfg(feature = "planted")]
        if baton_core::planted::is("machine.forsakes_nobody") {
            return;
        }
        let space = &resident.space;
        let commands: Vec<_> = space.waits().filter_map(|wait| space.give_up(wait)).collect();
        for commands in commands.chunks(limits::TRANSACTION_COMMANDS_MAX) {
            let mutation =
                Mutation::Transaction { require: Vec::new(), commands: commands.to_vec() };
            let request = Request { mutation, idempotency_key: None };
            let taken = self.submit(workspace, request, &AgentId::engine(), now);
            assert!(taken.is_ok(), "the workspace is in memory");
        }
    }

    /// Lets go of everyone who waits; the driver tells them why.
    pub fn take_waiters(&mut self) -> Vec<Arc<Waiter>> {
        let residents = self.residents.values_mut();
        let waiting = residents.flat_map(|there| std::mem::take(&mut there.waiters).into_values());
        waiting.collect()
    }

    /// Answers a question, or says that it is about the past.
    pub fn ask(
        &mut self,
        workspace: &WorkspaceName,
        query: &Query,
        now: Timestamp,
    ) -> Result<Asked, Absent<()>> {
        let durable = self.durable;
        let resident = self.residents.get_mut(workspace).ok_or(Absent(()))?;
        resident.used_at = now;
        let revision = resident.space.revision();
        let Some(reply) = resident.space.query(query) else {
            return Ok(Asked::Past(Held::new(revision, resident.undurable(revision, durable))));
        };
        let touched = match (query, &reply) {
            (_, Ok(Reply::State(state::Reply::Entry(entry)))) => entry.revision(),
            // That a key is absent rests on the last removal; that its namespace is there, on the
            // revision that made that one what it is.
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
        Ok(Asked::Present(resident.seen(reply, touched, durable)))
    }

    /// Whether the group that is being gathered has anything in it, and how much.
    pub fn open_group_size(&self) -> (usize, usize) {
        (self.open.batches.len(), self.open.bytes.len())
    }

    /// The number of the group that is being gathered.
    pub fn open_group(&self) -> u64 {
        self.open.number
    }

    /// Whether a group is on its way to the log.
    pub fn has_group_in_flight(&self) -> bool {
        self.in_flight.is_some()
    }

    /// The bytes to append and where, if there are any and none are on their way.
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

    /// The group in flight is durable: its record began at the position it was given, and the log
    /// goes on at `tail`. Takes back the buffer, and answers with who must be woken.
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

    /// What is not durable is lost, or its fate is unknown: forgets everything in memory, so that
    /// it is loaded again from the log. Answers with the groups that are lost.
    pub fn abandon(
        &mut self,
        now: Timestamp,
        error: &Error,
    ) -> (std::ops::RangeInclusive<u64>, Wakers) {
        // Heartbeats may be among what was lost.
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
            self.asleep.extend(resident.deadline.map(|moment| (workspace.clone(), moment)));
            self.tails.insert(workspace, resident.history.tail);
        }
        self.in_flight = None;
        self.open.clear();
        self.durable = self.open.number;
        self.open.number += 1;
        (lost, wakers)
    }

    /// The newest group that is durable, or was abandoned.
    pub fn durable(&self) -> u64 {
        self.durable
    }

    /// Where the log goes on.
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
        if now < space.time() {
            // The clock was set back; the space counts from its own time.
            space.wake(now);
        } else {
            // That it was not in memory is no excuse: whoever had spoken would have woken it.
            space.served_since(self.served_since);
        }
        self.stays += 1;
        let mut resident = Resident {
            stay: self.stays,
            reading: Arc::new(()),
            deadline: None,
            space,
            history,
            watchers: Watchers::default(),
            waiters: BTreeMap::new(),
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
        move_deadline(&mut self.deadlines, workspace, &mut resident.deadline, deadline);
        let before = self.residents.insert(workspace.clone(), Box::new(resident));
        assert!(before.is_none(), "a workspace is loaded once");
        self.cancel_orphaned_waits(workspace, now);
    }

    /// Drops a workspace from memory if all of it is durable and nobody watches or reads its past.
    /// Its deadline is remembered.
    pub fn evict(&mut self, workspace: &WorkspaceName) -> bool {
        let durable = self.durable;
        let Some(resident) = self.residents.get(workspace) else { return false };
        let is_read = Arc::strong_count(&resident.reading) > 1;
        if resident.newest.group > durable || resident.is_awaited() || is_read {
            return false;
        }
        let resident = self.residents.remove(workspace).expect("it was just there");
        self.asleep.extend(resident.deadline.map(|moment| (workspace.clone(), moment)));
        if !resident.history.tail.is_empty() {
            self.tails.insert(workspace.clone(), resident.history.tail);
        }
        true
    }

    /// Takes a workspace out of memory in which nothing has ever happened, with those who watch for
    /// the first thing that does; none if something has.
    pub fn take_if_empty(&mut self, workspace: &WorkspaceName) -> Option<Watchers> {
        if self.tails.get(workspace).is_some_and(|tail| !tail.is_empty()) {
            return None;
        }
        match self.residents.get(workspace) {
            Some(resident) if resident.space.revision() > Revision(0) => None,
            Some(_) => self.residents.remove(workspace).map(|resident| resident.watchers),
            None => Some(Watchers::default()),
        }
    }

    /// Workspaces in memory or in the log, in no order, and how far each is durable.
    pub fn known(&self) -> Vec<(WorkspaceName, Revision)> {
        let residents = self.residents.iter().map(|(name, there)| (name, &there.history.tail));
        let tails = residents.chain(&self.tails);
        tails.map(|(name, tail)| (name.clone(), Revision(tail.next().0 - 1))).collect()
    }

    /// Workspaces in memory that have calls of webhooks to make.
    pub fn calling(&self) -> Vec<WorkspaceName> {
        let calling = self.residents.iter().filter(|(_, there)| there.space.reaction.is_calling());
        calling.map(|(workspace, _)| workspace.clone()).collect()
    }

    /// The oldest record that somebody still needs, and who.
    pub fn oldest_need(&self) -> Option<(Position, WorkspaceName)> {
        let residents = self.residents.iter().map(|(name, there)| (&there.history.tail, name));
        let sleeping = self.tails.iter().map(|(name, tail)| (tail, name));
        let needs = residents.chain(sleeping);
        let needs = needs.filter_map(|(tail, name)| Some((tail.needs()?, name)));
        needs.min().map(|(position, name)| (position, name.clone()))
    }
}

/// What loading a workspace gives.
pub struct Loaded {
    /// Its tables.
    pub space: Space,
    /// Its past, without the tail if the machine keeps that.
    pub history: History,
    /// The revision of the snapshot it was loaded from.
    pub snapshot: Revision,
    /// Log bytes since then.
    pub bytes_since_snapshot: u64,
}

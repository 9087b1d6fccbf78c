//! One server: its role, the shards that it serves or believes to serve, and its work in progress.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use baton::Options;
use baton::clock::{Clock, ManualClock};
use baton::error::Error;
use baton::shard::{Flushed, Shard};
use baton_cluster::View;
use baton_core::{Timestamp, WorkspaceName};
use baton_log::ownership::BEAT_MS;
use baton_log::shared::{Broken, Candidate, Link, Looked, SharedLog, SharedMemory};

use super::job::{Fault, Job, Progress, plan_fault};
use super::link::SimLink;
use super::member::{Heart, Membership};
use super::tap::TappedShared;

/// An engine on the log of a shard.
#[derive(Clone)]
pub(super) struct Open {
    pub(super) shard: Arc<Shard<TappedShared>>,
    pub(super) log: TappedShared,
    /// When it began to serve, by its clock.
    pub(super) since: Timestamp,
}

/// The result of work that was done.
pub(super) enum Done {
    /// A standby waits.
    Waits(Box<Candidate>),
    /// A member has looked at the servers and shards.
    Looked(Box<Heart>, Result<View, Broken>),
    /// A shard was taken, and is served.
    Opened(u32, Open),
    /// It was not taken, or there was no answer.
    NotTaken(u32),
    /// It was taken, and could not be opened.
    NotOpened(u32, Arc<SharedLog>, Error),
    /// A heartbeat was sent.
    Beaten,
    /// Something was recorded in the roster, or not.
    Announced,
    /// A group was written.
    Flushed(Flushed),
    /// A maintenance task ran.
    Kept(u32, Result<bool, Error>),
    /// A workspace was loaded.
    Loaded(WorkspaceName, Result<(), Error>),
    /// A shard was given back.
    Given(u32),
}

/// What a server does at the same time. The first two exist once, the others for each shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Slot {
    Beat,
    Look,
    Flush,
    Keep,
    Take,
}

pub(super) const SLOTS: [Slot; 5] = [Slot::Beat, Slot::Look, Slot::Flush, Slot::Keep, Slot::Take];

/// A server.
pub(super) struct Server {
    pub(super) link: Arc<SimLink>,
    pub(super) clock: ManualClock,
    /// None while it has ended.
    pub(super) life: Option<Life>,
    pub(super) is_paused: bool,
    pub(super) jobs: BTreeMap<(Slot, u32), Job<Done>>,
    /// It is stopped when work of this slot next waits.
    pub(super) stops_in: Option<Slot>,
    /// Whether it is cut off once the next heartbeat was answered.
    pub(super) is_cut_after_beat: bool,
    /// The fault that the next job of a slot meets.
    pub(super) armed: [Option<(u64, Fault)>; SLOTS.len()],
    /// The fault that it meets when it has taken the only shard and opens it.
    pub(super) armed_opening: Option<(u64, Fault)>,
    next_beat_ms: u64,
    next_look_ms: u64,
}

/// What a server that runs is doing.
pub(super) struct Life {
    pub(super) role: Role,
    /// The engines with which it serves, or believes that it does, by shard.
    pub(super) held: BTreeMap<u32, Serving>,
}

/// An engine of a server.
pub(super) struct Serving {
    pub(super) open: Open,
    /// Distinguishes it from earlier engines.
    pub(super) number: u64,
    /// Steps since it noticed that it may no longer serve.
    pub(super) lost_for: u64,
}

/// How a server comes to its shards.
pub(super) enum Role {
    /// It waits for the only shard. While it looks, the candidate is with the job.
    Candidate { candidate: Option<Box<Candidate>>, taken: Arc<Mutex<Option<Arc<SharedLog>>>> },
    /// It is one of the servers that place several shards among themselves.
    Member(Box<Membership>),
}

impl Server {
    pub(super) fn new(link: SimLink, clock: ManualClock) -> Self {
        Self {
            link: Arc::new(link),
            clock,
            life: None,
            is_paused: false,
            jobs: BTreeMap::new(),
            stops_in: None,
            is_cut_after_beat: false,
            armed: [None; SLOTS.len()],
            armed_opening: None,
            next_beat_ms: 0,
            next_look_ms: 0,
        }
    }

    /// It waits for shards from now on, under a new id.
    pub(super) fn join(&mut self, database: &SharedMemory, name: usize) {
        let (link, address) = (Arc::clone(&self.link) as Arc<dyn Link>, format!("server-{name}"));
        let role = if database.shards().len() == 1 {
            let candidate = Box::new(Candidate::new(database, link, &address));
            Role::Candidate { candidate: Some(candidate), taken: Arc::default() }
        } else {
            Role::Member(Box::new(Membership::new(Heart::new(database, link, &address))))
        };
        self.life = Some(Life { role, held: BTreeMap::new() });
        self.armed_opening = None;
    }

    /// The engine of a shard, and its number.
    pub(super) fn serving(&self, shard: u32) -> Option<&Serving> {
        self.life.as_ref()?.held.get(&shard)
    }

    pub(super) fn open(&self, shard: u32) -> Option<&Open> {
        self.serving(shard).map(|serving| &serving.open)
    }

    /// The shards that it serves, or believes to serve.
    pub(super) fn held(&self) -> Vec<u32> {
        self.life.as_ref().map_or(Vec::new(), |life| life.held.keys().copied().collect())
    }

    pub(super) fn membership(&self) -> Option<&Membership> {
        match &self.life.as_ref()?.role {
            Role::Member(membership) => Some(membership),
            Role::Candidate { .. } => None,
        }
    }

    pub(super) fn membership_mut(&mut self) -> Option<&mut Membership> {
        match &mut self.life.as_mut()?.role {
            Role::Member(membership) => Some(membership),
            Role::Candidate { .. } => None,
        }
    }

    /// The log of a shard that it has taken; the only one also while it opens it.
    pub(super) fn taken(&self, shard: u32) -> Option<Arc<SharedLog>> {
        if let Some(open) = self.open(shard) {
            return Some(Arc::clone(&open.log.log));
        }
        match &self.life.as_ref()?.role {
            Role::Candidate { taken, .. } => {
                taken.lock().expect("nothing panics with the lock").clone()
            }
            Role::Member(_) => None,
        }
    }

    pub(super) fn is_busy(&self, slot: Slot, shard: u32) -> bool {
        self.jobs.contains_key(&(slot, shard))
    }

    /// Whether it does anything with a shard that takes time.
    pub(super) fn is_busy_with(&self, shard: u32) -> bool {
        [Slot::Flush, Slot::Keep, Slot::Take].iter().any(|slot| self.is_busy(*slot, shard))
    }

    /// Runs work at once if nothing can fail, else as a job.
    pub(super) fn run(
        &mut self,
        slot: Slot,
        shard: u32,
        work: impl FnOnce() -> Done + Send + 'static,
    ) -> Option<Done> {
        let fault = self.armed[slot as usize].take();
        let is_armed = fault.is_some() || (slot == Slot::Look && self.armed_opening.is_some());
        if !is_armed && self.link.is_fine() && self.jobs.is_empty() {
            return Some(work());
        }
        let progress = Job::start(fault, work);
        self.keep((slot, shard), progress)
    }

    /// Resumes a job if it is due.
    pub(super) fn resume(&mut self, slot: Slot, shard: u32) -> Option<Done> {
        let now_ms = self.link.now_ms();
        if self.jobs.get(&(slot, shard))?.until_ms > now_ms {
            return None;
        }
        let job = self.jobs.remove(&(slot, shard))?;
        self.keep((slot, shard), job.resume())
    }

    fn keep(&mut self, (slot, shard): (Slot, u32), progress: Progress<Done>) -> Option<Done> {
        match progress {
            Progress::Done(done) => Some(done),
            Progress::Waits(job) => {
                self.is_paused |= self.stops_in.take_if(|stops_in| *stops_in == slot).is_some();
                self.jobs.insert((slot, shard), job);
                None
            }
        }
    }

    /// Sends a heartbeat if one is due. Members do so when they look.
    pub(super) fn beat(&mut self) -> Option<Done> {
        let now_ms = self.link.now_ms();
        if now_ms < self.next_beat_ms || self.is_busy(Slot::Beat, 0) || self.membership().is_some()
        {
            return None;
        }
        let log = self.taken(0).filter(|log| !log.is_lost())?;
        self.next_beat_ms = now_ms + BEAT_MS;
        self.run(Slot::Beat, 0, move || {
            log.beat();
            Done::Beaten
        })
    }

    /// Looks for shards if it is time.
    pub(super) fn look(&mut self, options: &Options) -> Option<Done> {
        let now_ms = self.link.now_ms();
        if now_ms < self.next_look_ms {
            return None;
        }
        match &mut self.life.as_mut()?.role {
            Role::Member(membership) => {
                let mut heart = membership.heart.take()?;
                self.next_look_ms = now_ms + BEAT_MS;
                self.run(Slot::Look, 0, move || {
                    let seen = heart.look();
                    Done::Looked(heart, seen)
                })
            }
            Role::Candidate { candidate, taken } => {
                let (candidate, taken) = (candidate.take()?, Arc::clone(taken));
                self.next_look_ms = now_ms + BEAT_MS;
                let (clock, options) = (self.clock.clone(), options.clone());
                let fault = self.armed_opening;
                let look = move || look_for_only(candidate, &taken, fault, &clock, options);
                self.run(Slot::Look, 0, look)
            }
        }
    }

    /// Takes a shard as a member.
    pub(super) fn take(&mut self, shard: u32, epoch: i64, options: &Options) -> Option<Done> {
        let member = self.membership()?.member.clone()?;
        let (clock, options) = (self.clock.clone(), options.clone());
        self.run(Slot::Take, shard, move || match member.take(shard, epoch) {
            Ok(Some(log)) => open_taken(shard, &Arc::new(log), None, &clock, options),
            Ok(None) | Err(Broken) => Done::NotTaken(shard),
        })
    }

    /// A heartbeat was sent. Those that meet no fault are sent between those that do.
    pub(super) fn end_beat(&mut self, slot: Slot) {
        if self.armed[slot as usize].is_none() && std::mem::take(&mut self.is_cut_after_beat) {
            self.set_cut(true);
        }
    }

    /// Whether nothing waits and nothing can fail.
    pub(super) fn is_calm(&self) -> bool {
        !self.is_paused && self.link.is_fine() && self.jobs.is_empty()
    }

    pub(super) fn set_cut(&self, is_cut: bool) {
        self.link.is_cut.store(is_cut, Ordering::SeqCst);
    }
}

impl Serving {
    /// Whether it has noticed that it may no longer serve.
    pub(super) fn is_lost(&self) -> bool {
        self.open.log.log.is_lost() || self.open.shard.watermark().stopped().is_some()
    }
}

fn look_for_only(
    mut candidate: Box<Candidate>,
    taken: &Mutex<Option<Arc<SharedLog>>>,
    fault: Option<(u64, Fault)>,
    clock: &ManualClock,
    options: Options,
) -> Done {
    match candidate.look() {
        Ok(Looked::Taken(log)) => {
            if let Some(fault) = fault {
                plan_fault(fault);
            }
            let log = Arc::<SharedLog>::from(log);
            *taken.lock().expect("nothing panics with the lock") = Some(Arc::clone(&log));
            open_taken(0, &log, Some(&mut candidate), clock, options)
        }
        Ok(Looked::Waits) | Err(_) => Done::Waits(candidate),
    }
}

fn open_taken(
    shard: u32,
    log: &Arc<SharedLog>,
    candidate: Option<&mut Candidate>,
    clock: &ManualClock,
    options: Options,
) -> Done {
    match open(log, candidate, clock, options) {
        Ok(open) => Done::Opened(shard, open),
        Err(error) => {
            log.close();
            Done::NotOpened(shard, Arc::clone(log), error)
        }
    }
}

fn open(
    log: &Arc<SharedLog>,
    candidate: Option<&mut Candidate>,
    clock: &ManualClock,
    options: Options,
) -> Result<Open, Error> {
    log.load(candidate.and_then(Candidate::stale_records))?;
    let since = clock.now();
    let log = TappedShared::new(Arc::clone(log));
    let shard = Shard::open(log.clone(), Arc::new(clock.clone()), options)?;
    Ok(Open { shard: Arc::new(shard), log, since })
}

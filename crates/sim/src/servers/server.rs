//! One server: waiting for the log, serving, or ended; and its work in progress.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use baton::Options;
use baton::clock::{Clock, ManualClock};
use baton::error::Error;
use baton::shard::{Flushed, Shard};
use baton_core::{Timestamp, WorkspaceName};
use baton_log::ownership::BEAT_MS;
use baton_log::shared::{Candidate, Link, Looked, SharedLog, SharedMemory};

use super::job::{Fault, Job, Progress};
use super::link::SimLink;
use super::tap::TappedShared;

/// An engine on the log.
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
    /// A standby has taken the log and serves.
    Opened(Open),
    /// It has taken the log, and could not open it.
    NotOpened(Error),
    /// A heartbeat was sent.
    Beaten,
    /// A group was written.
    Flushed(Flushed),
    /// A maintenance task ran.
    Kept(Result<bool, Error>),
    /// A workspace was loaded.
    Loaded(WorkspaceName, Result<(), Error>),
    /// The log was given back.
    Given,
}

/// What a server does at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Slot {
    Beat,
    Look,
    Flush,
    Keep,
}

pub(super) const SLOTS: [Slot; 4] = [Slot::Beat, Slot::Look, Slot::Flush, Slot::Keep];

/// A server.
pub(super) struct Server {
    pub(super) link: Arc<SimLink>,
    pub(super) clock: ManualClock,
    /// None while it has ended.
    pub(super) life: Option<Life>,
    pub(super) is_paused: bool,
    pub(super) jobs: [Option<Job<Done>>; 4],
    /// Whether it is stopped when maintenance next waits.
    pub(super) stops_in_maintenance: bool,
    /// Whether it is cut off once the next heartbeat was answered.
    pub(super) is_cut_after_beat: bool,
    /// The fault that the next job of a slot meets.
    pub(super) armed: [Option<(u64, Fault)>; 4],
    next_beat_ms: u64,
    next_look_ms: u64,
}

/// What a server that runs is doing.
pub(super) enum Life {
    /// It waits for the log. While it looks, the candidate is with the job.
    Standby { candidate: Option<Box<Candidate>>, taken: Arc<Mutex<Option<Arc<SharedLog>>>> },
    /// It serves, or believes that it does.
    Serves {
        open: Open,
        /// Distinguishes it from earlier engines.
        number: u64,
        /// Steps since it noticed that it may no longer serve.
        lost_for: u64,
    },
}

impl Server {
    pub(super) fn new(link: SimLink, clock: ManualClock) -> Self {
        Self {
            link: Arc::new(link),
            clock,
            life: None,
            is_paused: false,
            jobs: [const { None }; 4],
            stops_in_maintenance: false,
            is_cut_after_beat: false,
            armed: [None; 4],
            next_beat_ms: 0,
            next_look_ms: 0,
        }
    }

    /// It waits for the log from now on, under a new id.
    pub(super) fn join(&mut self, database: &SharedMemory, name: usize) {
        let link = Arc::clone(&self.link) as Arc<dyn Link>;
        let candidate = Box::new(Candidate::new(database, link, &format!("server-{name}")));
        self.life = Some(Life::Standby { candidate: Some(candidate), taken: Arc::default() });
    }

    pub(super) fn open(&self) -> Option<&Open> {
        match &self.life {
            Some(Life::Serves { open, .. }) => Some(open),
            Some(Life::Standby { .. }) | None => None,
        }
    }

    /// The log that it has taken, also while it opens it.
    pub(super) fn taken(&self) -> Option<Arc<SharedLog>> {
        match &self.life {
            Some(Life::Serves { open, .. }) => Some(Arc::clone(&open.log.log)),
            Some(Life::Standby { taken, .. }) => {
                taken.lock().expect("nothing panics with the lock").clone()
            }
            None => None,
        }
    }

    pub(super) fn is_busy(&self, slot: Slot) -> bool {
        self.jobs[slot as usize].is_some()
    }

    /// Runs work at once if nothing can fail, else as a job.
    pub(super) fn run(
        &mut self,
        slot: Slot,
        work: impl FnOnce() -> Done + Send + 'static,
    ) -> Option<Done> {
        let fault = self.armed[slot as usize].take();
        if fault.is_none() && self.link.is_fine() && self.jobs.iter().all(Option::is_none) {
            return Some(work());
        }
        let progress = Job::start(fault, work);
        self.keep(slot, progress)
    }

    /// Resumes the job of a slot if it is due.
    pub(super) fn resume(&mut self, slot: Slot) -> Option<Done> {
        let now_ms = self.link.now_ms();
        let job = self.jobs[slot as usize].take_if(|job| job.until_ms <= now_ms)?;
        self.keep(slot, job.resume())
    }

    fn keep(&mut self, slot: Slot, progress: Progress<Done>) -> Option<Done> {
        match progress {
            Progress::Done(done) => Some(done),
            Progress::Waits(job) => {
                if slot == Slot::Keep && std::mem::take(&mut self.stops_in_maintenance) {
                    self.is_paused = true;
                }
                self.jobs[slot as usize] = Some(job);
                None
            }
        }
    }

    /// Sends a heartbeat if one is due.
    pub(super) fn beat(&mut self) -> Option<Done> {
        let now_ms = self.link.now_ms();
        if now_ms < self.next_beat_ms || self.is_busy(Slot::Beat) {
            return None;
        }
        let log = self.taken().filter(|log| !log.is_lost())?;
        self.next_beat_ms = now_ms + BEAT_MS;
        self.run(Slot::Beat, move || {
            log.beat();
            Done::Beaten
        })
    }

    /// Looks for the log if it is time.
    pub(super) fn look(&mut self, options: &Options) -> Option<Done> {
        let now_ms = self.link.now_ms();
        let Some(Life::Standby { candidate, taken }) = &mut self.life else { return None };
        if now_ms < self.next_look_ms {
            return None;
        }
        let (mut candidate, taken) = (candidate.take()?, Arc::clone(taken));
        self.next_look_ms = now_ms + BEAT_MS;
        let (clock, options) = (self.clock.clone(), options.clone());
        self.run(Slot::Look, move || match candidate.look() {
            Ok(Looked::Taken(log)) => {
                let log = Arc::<SharedLog>::from(log);
                *taken.lock().expect("nothing panics with the lock") = Some(Arc::clone(&log));
                match open(&log, &mut candidate, &clock, options) {
                    Ok(open) => Done::Opened(open),
                    Err(error) => {
                        log.close();
                        Done::NotOpened(error)
                    }
                }
            }
            Ok(Looked::Waits) | Err(_) => Done::Waits(candidate),
        })
    }

    /// Whether nothing waits and nothing can fail.
    pub(super) fn is_calm(&self) -> bool {
        !self.is_paused && self.link.is_fine() && self.jobs.iter().all(Option::is_none)
    }

    pub(super) fn set_cut(&self, is_cut: bool) {
        self.link.is_cut.store(is_cut, Ordering::SeqCst);
    }
}

fn open(
    log: &Arc<SharedLog>,
    candidate: &mut Candidate,
    clock: &ManualClock,
    options: Options,
) -> Result<Open, Error> {
    log.load(candidate.stale_records())?;
    let since = clock.now();
    let log = TappedShared::new(Arc::clone(log));
    let shard = Shard::open(log.clone(), Arc::new(clock.clone()), options)?;
    Ok(Open { shard: Arc::new(shard), log, since })
}

//! One world: a server, its disk and its clients, and one step after another.

use std::collections::BTreeMap;
use std::sync::Arc;

use baton::clock::{Clock, ManualClock};
use baton::compaction::Capture;
use baton::error::Error;
use baton::machine::{Job, Lent};
use baton::shard::{Flushed, Shard};
use baton_core::{AgentId, Timestamp, WorkspaceName};
use baton_log::faulty::FaultyDisk;
use baton_log::{FileLog, Options as LogOptions, Prepare};

use crate::actors::agent::Agent;
use crate::actors::secret::SecretValues;
use crate::actors::watch::Watcher;
use crate::auditor::{Audit, Auditor, Breach, demand};
use crate::coverage::Coverage;
use crate::models::live::check_unwritten;
use crate::models::secret::check_no_secret;
use crate::plan::{Plan, Step};
use crate::requests::PendingRequest;
use crate::rng::Rng;
use crate::tap::TappedLog;
use crate::trace::{Listener, Trace};

/// The start time of every world.
const BEGINNING: Timestamp = Timestamp(1_700_000_000_000);

/// A running server.
pub(crate) struct Server {
    pub(crate) shard: Shard<TappedLog>,
    pub(crate) log: TappedLog,
    pub(crate) capture: Option<Running>,
    /// Commits that take long, and are not finished.
    pub(crate) jobs: Vec<Job>,
    /// Tables that a reader has.
    pub(crate) lent: Vec<(WorkspaceName, Lent)>,
}

/// A snapshot that is being taken in slices.
pub(crate) struct Running {
    pub(crate) workspace: WorkspaceName,
    pub(crate) capture: Capture,
    pub(crate) revision: u64,
    /// Whether the workspace has changed since it began.
    pub(crate) changed: bool,
    pub(crate) lost_namespace: bool,
}

/// A world.
pub(crate) struct World {
    pub(crate) plan: Plan,
    pub(crate) rng: Rng,
    pub(crate) clock: ManualClock,
    pub(crate) disk: FaultyDisk,
    pub(crate) server: Option<Server>,
    pub(crate) agents: Vec<Agent>,
    pub(crate) watchers: Vec<Watcher>,
    pub(crate) pending: Vec<PendingRequest>,
    /// The workspaces in memory at the last check.
    pub(crate) stays: BTreeMap<WorkspaceName, u64>,
    pub(crate) auditor: Auditor,
    pub(crate) hidden: SecretValues,
    pub(crate) coverage: Coverage,
    pub(crate) trace: Trace,
    pub(crate) steps: u64,
    pub(crate) faults: u64,
    /// Whether the disk was set to be full.
    pub(crate) full: bool,
    /// Steps that the server has been left stopped after a failed write.
    pub(crate) stopped_for: u64,
}

impl World {
    pub(crate) fn new(seed: u64, steps: Option<u64>, listener: Option<Listener>) -> Self {
        let mut rng = Rng::new(seed);
        let plan = Plan::draw(&mut rng, steps);
        let disk = FaultyDisk::new(rng.next());
        disk.refuse_direct(!plan.direct);
        disk.keep_cache_on_failed_sync(plan.cache_lies);
        let agents = plan.agents.iter().enumerate();
        let agents =
            agents.map(|(number, kind)| Agent::new(number, *kind, plan.home_of(*kind, &mut rng)));
        let agents = agents.collect();
        let watchers = (0..plan.watchers).map(|_| Watcher::new(&mut rng, &plan)).collect();
        Self {
            plan,
            rng,
            clock: ManualClock::at(BEGINNING),
            disk,
            server: None,
            agents,
            watchers,
            pending: Vec::new(),
            stays: BTreeMap::new(),
            auditor: Auditor::default(),
            hidden: SecretValues::default(),
            coverage: Coverage::default(),
            trace: Trace::new(listener),
            steps: 0,
            faults: 0,
            full: false,
            stopped_for: 0,
        }
    }

    /// Runs all steps, then waits until nothing is pending.
    pub(crate) fn run(&mut self) -> Audit {
        for workspace in &self.plan.workspaces {
            self.auditor.ledger(workspace);
        }
        let line = format!(
            "{} workspaces, agents {:?}, {} watchers, segments of {} bytes, direct {}, cache lies \
             {}, {:?}",
            self.plan.workspaces.len(),
            self.plan.agents,
            self.plan.watchers,
            self.plan.segment_bytes,
            self.plan.direct,
            self.plan.cache_lies,
            self.plan.options
        );
        self.trace.tell(|| line);
        self.start(None)?;
        while self.steps < self.plan.steps {
            self.steps += 1;
            self.trace.begin_step(self.steps);
            let step = self.rng.weighted(&self.plan.weights);
            self.trace.sum_numbers(&[step as u64]);
            self.take(step)?;
            self.after_step()?;
        }
        self.converge()
    }

    fn take(&mut self, step: Step) -> Audit {
        if !step.is_possible_meanwhile() {
            self.settle_all()?;
        }
        match step {
            Step::Act => self.act(),
            Step::Watch => self.watch_some(),
            Step::Flush => self.flush().map(drop),
            Step::Expire => self.expire(),
            Step::Keep => self.do_chore(),
            Step::Capture => self.capture(),
            Step::Tick => {
                let passed = *self.rng.pick(&[1, 20, 300, 4_000]);
                self.pass_time(passed);
                Ok(())
            }
            Step::Leap => {
                let passed = self.rng.between(1, 30 * 3_600_000);
                self.pass_time(passed);
                self.expire()
            }
            Step::Idle => self.idle(),
            Step::Kill => self.kill(),
            Step::Close => self.close(),
            Step::PowerCut => self.power_cut(),
            Step::PowerCutSoon => {
                self.power_cut_soon();
                Ok(())
            }
            Step::FailSoon => {
                self.fail_soon();
                Ok(())
            }
            Step::Fill => {
                self.fill();
                Ok(())
            }
            Step::FlipBit => self.flip_bit(),
            Step::Compare => self.compare(),
            Step::Inherit => self.act_in_fork(),
            Step::Hide => self.act_on_secrets(),
            Step::Call => self.call(),
            Step::Work => self.work(),
        }
    }

    /// The commits of a server on its own between two steps, and the checks of the auditor.
    fn after_step(&mut self) -> Audit {
        self.notice_loss()?;
        self.absorb()?;
        if self.disk.is_stopped() {
            self.coverage.met("fault: power cut within a step");
            self.trace.tell(|| "that was cut short".to_owned());
            // Only a power cut determines the outcome of the interrupted operation: a disk that
            // continued would later show what it had not shown when it was read.
            return self.restart_after_power_cut();
        }
        if self.server().shard.watermark().stopped().is_some() {
            self.stopped_for += 1;
            self.coverage.met("fault: failed sync or write");
            if self.stopped_for > 4 {
                return if self.rng.once_in(2) { self.kill() } else { self.power_cut() };
            }
        }
        let now = self.clock.now();
        self.auditor.ledgers().for_each(|(_, ledger)| ledger.age(now));
        Ok(())
    }

    /// The auditor receives what has become durable, and then checks the answers.
    pub(crate) fn absorb(&mut self) -> Audit {
        let mut fresh = Vec::new();
        for body in self.server().log.take_acknowledged() {
            self.trace.sum(&body);
            check_no_secret("a record", &body)?;
            check_unwritten("a record", &body)?;
            for (workspace, batch) in self.auditor.record(&body, &mut self.coverage)? {
                let server = self.server.as_mut().expect("there is one");
                if let Some(running) = &mut server.capture
                    && running.workspace == workspace
                    && running.revision < batch.revision.0
                {
                    running.notice(&batch);
                }
                fresh.push((workspace, batch));
            }
        }
        let claimed = self.resolve()?;
        for (workspace, batch) in fresh {
            let place = (workspace, batch.revision.0);
            demand!(
                batch.agent == AgentId::engine() || claimed.contains(&place),
                "{place:?} by `{}` is durable, but no request explains it: {:?}",
                batch.agent,
                batch.events
            );
        }
        Ok(())
    }

    /// A server that could not write discards its memory, and its waiting callers are gone.
    /// Maintenance writes too, so this is detected by what has left memory. A server that has
    /// stopped is handled elsewhere.
    pub(crate) fn notice_loss(&mut self) -> Audit {
        let stays = self.stays();
        let is_there = |(workspace, stay): (&WorkspaceName, &u64)| {
            stays.get(workspace).is_some_and(|there| there == stay)
        };
        let is_lost = !self.stays.iter().all(is_there);
        self.stays = stays;
        if is_lost && self.server().shard.watermark().stopped().is_none() {
            self.absorb()?;
            self.auditor.forgotten(self.clock.now());
        }
        Ok(())
    }

    /// The workspaces in memory, with the number of their last load.
    pub(crate) fn stays(&self) -> BTreeMap<WorkspaceName, u64> {
        let mut machine = self.server().shard.machine();
        let stay = |workspace: &WorkspaceName| {
            let stay = machine.resident(workspace)?.stay;
            Some((workspace.clone(), stay))
        };
        self.plan.workspaces.iter().filter_map(stay).collect()
    }

    pub(crate) fn server(&self) -> &Server {
        self.server.as_ref().expect("a server runs between steps")
    }

    pub(crate) fn pass_time(&mut self, milliseconds: u64) {
        self.clock.advance(milliseconds);
        let now = self.clock.now();
        self.auditor.tick(now);
        self.trace.tell(|| format!("{milliseconds} ms pass, it is {now}"));
    }

    /// Writes the open group; false if it was lost.
    pub(crate) fn flush(&mut self) -> Audit<bool> {
        let flushed = self.server().shard.flush();
        self.notice_loss()?;
        match flushed {
            Flushed::Nothing => return Ok(true),
            Flushed::Durable { .. } => self.trace.tell(|| "flushed".to_owned()),
            Flushed::Lost => {
                self.trace.tell(|| "flush: nothing was written, or it is unknown".to_owned());
            }
        }
        self.absorb()?;
        Ok(flushed != Flushed::Lost)
    }

    pub(crate) fn expire(&mut self) -> Audit {
        for workspace in self.sliced(|server| server.shard.expire()) {
            self.trace.tell(|| format!("expiry needs `{workspace}` in memory"));
            if self.load(&workspace)? {
                self.sliced(|server| server.shard.expire());
            }
        }
        Ok(())
    }

    /// Loads a workspace; false if the disk failed.
    pub(crate) fn load(&mut self, workspace: &WorkspaceName) -> Audit<bool> {
        match self.server().shard.load(workspace) {
            Ok(()) => {
                self.notice_loss()?;
                Ok(true)
            }
            Err(error) => {
                self.excuse(&format!("loading `{workspace}`"), &error)?;
                Ok(false)
            }
        }
    }

    /// Errors are allowed if the disk was made to fail; anything else is a breach.
    pub(crate) fn excuse(&mut self, what: &str, error: &Error) -> Audit {
        demand!(is_excused(error), "{what} failed although the disk is well: {error}");
        self.trace.tell(|| format!("{what} failed: {error}"));
        Ok(())
    }

    /// Opens a server on a disk.
    pub(crate) fn open_on(&self, disk: &FaultyDisk) -> Result<Server, Error> {
        let options = LogOptions {
            folder: "/data".into(),
            segment_bytes: self.plan.segment_bytes,
            prepare: Prepare::Inline,
            direct: true,
        };
        let log = FileLog::open_on(disk.clone(), options)?;
        let log = TappedLog::new(log);
        let clock: Arc<dyn Clock> = Arc::new(self.clock.clone());
        let shard = Shard::open(log.clone(), clock, self.plan.options.clone())?;
        Ok(Server { shard, log, capture: None, jobs: Vec::new(), lent: Vec::new() })
    }
}

/// Whether an error was caused by the faulty disk.
pub(crate) fn is_excused(error: &Error) -> bool {
    let made = [
        "input/output error at operation",
        "the power is off",
        "no space is left",
        "when the power was cut",
    ];
    let kind = matches!(
        error,
        Error::Storage { .. }
            | Error::Unknown { .. }
            | Error::Stopped { .. }
            | Error::Full
            | Error::Open(_)
    );
    let text = error.to_string();
    kind && made.iter().any(|made| text.contains(made))
}

/// A breach in words.
pub(crate) fn broken(words: impl Into<String>) -> Breach {
    Breach(words.into())
}

//! Several servers that share one log: one serves, the others wait, and any of them may be stopped,
//! cut off, killed or slow at any statement.
//!
//! ```text
//!   agents ──▶ server 0 ─┐
//!         ──▶ server 1 ─┼─ links that fail ──▶ database in memory ──▶ records ──▶ auditor
//!         ──▶ server 2 ─┘                                                            ▲
//!                └──────────────── answers ──────────────────────────────────────────┘
//! ```
//!
//! The engines are real, and so are the rules by which a server takes over, answers reads and
//! resolves unknown outcomes ([`baton_log::ownership`]). The auditor is the one of a single server:
//! whatever the servers do to each other, callers must not be able to tell.
//!
//! Demanded in addition: epochs never fall; what a server reports as written is in the log, and
//! what it reports as not written never is; a read shows everything that any caller knew when it
//! was sent; no lease ends early because of a takeover; the files that the owner refers to are
//! there; at the end one server owns the log, and everything is there.

mod convergence;
mod faults;
mod inspection;
mod job;
mod link;
mod plan;
mod requests;
mod server;
mod tap;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use baton::clock::{Clock, ManualClock};
use baton::error::Error;
use baton_core::{Timestamp, WorkspaceName};
use baton_log::shared::{SharedMemory, Work};
use baton_log::{AppendError, Position};

use crate::actors::agent::Agent;
use crate::auditor::{Audit, Auditor, demand, frames};
use crate::coverage::Coverage;
use crate::plan::Plan;
use crate::rng::Rng;
use crate::trace::{Listener, Trace};
use link::{Network, SimLink};
use plan::{Step, weights};
use requests::Pending;
use server::{Done, Life, SLOTS, Server, Slot};

/// The start time of every world.
const BEGINNING: u64 = 1_700_000_000_000;
/// How far the clocks of two servers differ at most.
const SKEW_MS: u64 = 4_000;
/// Time passes in pieces of this length, so that heartbeats are sent in between.
const PIECE_MS: u64 = 20;

/// Several servers, and their clients.
pub(crate) struct Fleet {
    plan: Plan,
    weights: Vec<(Step, u64)>,
    rng: Rng,
    network: Arc<Network>,
    database: SharedMemory,
    servers: Vec<Server>,
    /// The server whose answers are compared with each other, and the number of its engine.
    serving: Option<(usize, u64)>,
    engines: u64,
    agents: Vec<Agent>,
    pending: Vec<Pending>,
    auditor: Auditor,
    /// What some caller or server knows to be durable.
    known: BTreeMap<WorkspaceName, u64>,
    /// Every record that was ever inserted, with the epoch of its writer.
    history: BTreeMap<Position, (i64, Arc<[u8]>)>,
    /// Records that a server has reported as not written.
    refused: Vec<(Position, Vec<i64>, Vec<u8>)>,
    epoch: i64,
    /// Requests that arrive late, and the restarts of the database when they were sent.
    late: Vec<(u64, Work)>,
    pub(crate) coverage: Coverage,
    pub(crate) trace: Trace,
    pub(crate) steps: u64,
    pub(crate) faults: u64,
}

impl Fleet {
    pub(crate) fn new(
        seed: u64,
        servers: usize,
        steps: Option<u64>,
        listener: Option<Listener>,
    ) -> Self {
        let mut rng = Rng::new(seed);
        let steps = steps.unwrap_or_else(|| rng.between(300, 1_200));
        let mut plan = Plan::draw(&mut rng, Some(steps));
        // Half of all worlds archive often, so that servers are stopped while they do.
        if rng.once_in(2) {
            plan.workspaces.truncate(2);
            plan.options.tail_batches_max = 8;
            plan.options.run_bytes_max = *rng.pick(&[2_000, 4_000, 20_000]);
        }
        let weights = weights(&mut rng);
        let agents = plan.agents.iter().enumerate();
        let agents =
            agents.map(|(number, kind)| Agent::new(number, *kind, plan.home_of(*kind, &mut rng)));
        let agents = agents.collect();
        let network = Arc::new(Network::default());
        let server = |_| {
            // Two machines differ in speed by up to 22 %, which is within what is promised.
            let link = SimLink::new(&network, rng.below(1_000_000), rng.between(900, 1_100));
            let clock = ManualClock::at(Timestamp(BEGINNING + rng.below(SKEW_MS)));
            Server::new(link, clock)
        };
        let servers = (0..servers).map(server).collect();
        Self {
            plan,
            weights,
            rng,
            network,
            database: SharedMemory::default(),
            servers,
            serving: None,
            engines: 0,
            agents,
            pending: Vec::new(),
            auditor: Auditor::default(),
            known: BTreeMap::new(),
            history: BTreeMap::new(),
            refused: Vec::new(),
            epoch: 0,
            late: Vec::new(),
            coverage: Coverage::default(),
            trace: Trace::new(listener),
            steps: 0,
            faults: 0,
        }
    }

    /// Runs all steps, then waits until nothing is pending.
    pub(crate) fn run(&mut self) -> Audit {
        for workspace in &self.plan.workspaces {
            self.auditor.ledger(workspace);
        }
        let line = format!("{} servers, {:?}", self.servers.len(), self.plan.options);
        self.trace.tell(|| line);
        for (name, server) in self.servers.iter_mut().enumerate() {
            server.join(&self.database, name);
        }
        self.pass_time(PIECE_MS)?;
        while self.steps < self.plan.steps {
            self.steps += 1;
            self.trace.begin_step(self.steps);
            let step = self.rng.weighted(&self.weights);
            self.trace.sum_numbers(&[step as u64]);
            self.take(step)?;
            self.absorb()?;
            self.retire_lost();
        }
        self.converge()
    }

    fn take(&mut self, step: Step) -> Audit {
        match step {
            Step::Act => self.act(),
            Step::Flush => self.some_serving(Self::flush),
            Step::Expire => self.some_serving(Self::expire),
            Step::Keep => self.some_serving(Self::do_chore),
            Step::Tick => {
                let passed = *self.rng.pick(&[20, 100, 300, 700]);
                self.pass_time(passed)
            }
            Step::Leap => {
                let passed = self.rng.between(1, 300_000);
                self.leap(passed);
                self.some_serving(Self::expire)
            }
            Step::Inspect => self.inspect(),
            fault => self.fail(fault),
        }
    }

    /// Does something at one of the servers that serve, or believe that they do.
    fn some_serving(&mut self, act: fn(&mut Self, usize) -> Audit) -> Audit {
        let serves = |name: &usize| {
            let server = &self.servers[*name];
            server.open().is_some() && !server.is_paused
        };
        let serving: Vec<usize> = (0..self.servers.len()).filter(serves).collect();
        if serving.is_empty() {
            return self.pass_time(100);
        }
        let name = *self.rng.pick(&serving);
        act(self, name)
    }

    /// Time passes for all servers.
    fn pass_time(&mut self, milliseconds: u64) -> Audit {
        self.trace.tell(|| format!("{milliseconds} ms pass"));
        for _ in 0..milliseconds.div_ceil(PIECE_MS) {
            self.network.now_ms.fetch_add(PIECE_MS, Ordering::SeqCst);
            self.servers.iter().for_each(|server| server.clock.advance(PIECE_MS));
            self.tick();
            self.run_due()?;
        }
        Ok(())
    }

    /// The auditor's clock is that of the server that serves.
    fn tick(&mut self) {
        if let Some((name, _)) = self.serving {
            self.auditor.tick(self.servers[name].clock.now());
        }
    }

    /// Every server does what it does on its own.
    fn run_due(&mut self) -> Audit {
        self.deliver_late();
        for name in 0..self.servers.len() {
            if self.servers[name].is_paused || self.servers[name].life.is_none() {
                continue;
            }
            for slot in SLOTS {
                if let Some(done) = self.servers[name].resume(slot) {
                    self.finish(name, done)?;
                }
            }
            if let Some(done) = self.servers[name].beat() {
                self.finish(name, done)?;
            }
            if let Some(done) = self.servers[name].look(&self.plan.options) {
                self.finish(name, done)?;
            }
        }
        Ok(())
    }

    fn deliver_late(&mut self) {
        let restarts = self.network.restarts.load(Ordering::SeqCst);
        let sent = std::mem::take(&mut *self.network.late());
        self.late.extend(sent.into_iter().map(|work| (restarts, work)));
        if !self.late.is_empty() && self.rng.once_in(40) {
            let (sent, work) = self.late.remove(0);
            // A restart has broken its connection.
            if sent == restarts {
                self.trace.tell(|| "a late request arrives".to_owned());
                self.coverage.met("servers: late request");
                self.database.execute(work);
            }
        }
    }

    /// Work of a server is done.
    fn finish(&mut self, name: usize, done: Done) -> Audit {
        match done {
            Done::Waits(returned) => {
                if let Some(Life::Standby { candidate, .. }) = &mut self.servers[name].life {
                    *candidate = Some(returned);
                }
            }
            Done::Opened(open) => self.opened(name, open)?,
            Done::NotOpened(error) => {
                self.excuse(name, "opening", &error)?;
                self.servers[name].join(&self.database, name);
            }
            Done::Beaten => {
                let server = &mut self.servers[name];
                // Heartbeats that meet no fault are sent between those that do.
                if server.armed[Slot::Beat as usize].is_none()
                    && std::mem::take(&mut server.is_cut_after_beat)
                {
                    server.set_cut(true);
                }
            }
            Done::Given => {}
            Done::Flushed(flushed) => self.trace.tell(|| format!("server {name}: {flushed:?}")),
            Done::Kept(Ok(_)) | Done::Loaded(_, Ok(())) => self.check_files()?,
            Done::Kept(Err(error)) => self.excuse(name, "maintenance", &error)?,
            Done::Loaded(workspace, Err(error)) => {
                self.excuse(name, &format!("loading `{workspace}`"), &error)?;
            }
        }
        self.absorb()
    }

    /// A server has taken the log and serves.
    fn opened(&mut self, name: usize, open: server::Open) -> Audit {
        self.absorb()?;
        self.engines += 1;
        let number = self.engines;
        self.trace.tell(|| format!("server {name} serves, engine {number}"));
        let is_owner = open.log.log.epochs().last() == Some(&self.database.epoch());
        if is_owner {
            if self.serving.is_some_and(|(before, _)| before != name) {
                self.coverage.met("servers: taken over by another");
            }
            self.serving = Some((name, number));
            self.auditor.server_up(open.since);
            self.tick();
            for (workspace, ledger) in self.auditor.ledgers() {
                self.known.insert(workspace.clone(), ledger.head());
            }
        } else {
            self.coverage.met("servers: fenced before it served");
        }
        self.servers[name].life = Some(Life::Serves { open, number, lost_for: 0 });
        Ok(())
    }

    /// A server that has noticed that it may no longer serve waits for the log again after a while.
    fn retire_lost(&mut self) {
        for name in 0..self.servers.len() {
            let server = &mut self.servers[name];
            let is_calm = server.jobs.iter().all(Option::is_none) && !server.is_paused;
            let Some(Life::Serves { open, lost_for, .. }) = &mut server.life else { continue };
            if !open.log.log.is_lost() && open.shard.watermark().stopped().is_none() {
                continue;
            }
            *lost_for += 1;
            if *lost_for < 12 || !is_calm {
                continue;
            }
            let open = open.clone();
            self.trace.tell(|| format!("server {name} waits for the log again"));
            if server.link.is_fine() {
                open.log.log.close();
            }
            server.join(&self.database, name);
        }
    }

    /// The auditor receives what has become durable, and what servers have heard of their appends,
    /// and then checks the answers.
    fn absorb(&mut self) -> Audit {
        let epoch = self.database.epoch();
        demand!(epoch >= self.epoch, "the epoch fell from {} to {epoch}", self.epoch);
        self.epoch = epoch;
        for appended in self.database.take_appended() {
            self.trace.sum(&appended.body);
            let is_refused = |(position, epochs, body): &(Position, Vec<i64>, Vec<u8>)| {
                let is_same = *position == appended.position && epochs.contains(&appended.epoch);
                is_same && body[..] == appended.body[..]
            };
            demand!(
                !self.refused.iter().any(is_refused),
                "a record was written after it was reported as not written"
            );
            self.auditor.record(&appended.body, &mut self.coverage)?;
            self.history.insert(appended.position, (appended.epoch, appended.body));
        }
        for name in 0..self.servers.len() {
            self.hear(name)?;
        }
        self.resolve()?;
        let Some((name, _)) = self.serving else { return Ok(()) };
        let now = self.servers[name].clock.now();
        self.auditor.ledgers().for_each(|(_, ledger)| ledger.age(now));
        Ok(())
    }

    /// What a server hears of its appends is true.
    fn hear(&mut self, name: usize) -> Audit {
        let Some(open) = self.servers[name].open() else { return Ok(()) };
        let epochs = open.log.log.epochs();
        for heard in open.log.take_heard() {
            let found = self.history.get(&heard.expected);
            let is_there = found
                .is_some_and(|(epoch, body)| epochs.contains(epoch) && body[..] == heard.body[..]);
            match heard.outcome {
                Ok(_) => {
                    demand!(is_there, "server {name}: an acknowledged record is not in the log");
                    if epochs.len() > 1 {
                        self.coverage.met("servers: resolved append");
                    }
                    for (workspace, batch) in frames(&heard.body)? {
                        let known = self.known.entry(workspace).or_default();
                        *known = batch.revision.0.max(*known);
                    }
                }
                Err(error @ AppendError::WentBack { .. }) => {
                    demand!(false, "server {name}: nothing is lost, but {error}");
                }
                Err(AppendError::Failed(_)) => self.coverage.met("servers: unknown outcome"),
                Err(error) => {
                    demand!(
                        !is_there,
                        "server {name}: a record is in the log and was reported as not written: \
                         {error}"
                    );
                    self.coverage.met("servers: fenced append");
                    self.refused.push((heard.expected, epochs.clone(), heard.body));
                }
            }
        }
        Ok(())
    }

    /// Whether a server owns the log, by the database.
    fn is_owner(&self, name: usize) -> bool {
        let epoch = self.database.epoch();
        let log = self.servers[name].taken();
        log.is_some_and(|log| log.epochs().last() == Some(&epoch))
    }

    /// Errors are allowed if a connection broke, or another server has taken over.
    fn excuse(&mut self, name: usize, what: &str, error: &Error) -> Audit {
        let text = error.to_string();
        let is_made = ["the connection to the database broke", "belongs to another server"]
            .iter()
            .any(|made| text.contains(made));
        let is_fenced = matches!(error, Error::Fenced | Error::Away);
        let is_excused = is_made || is_fenced || !self.is_owner(name);
        demand!(is_excused, "server {name}: {what} failed although nothing is broken: {error}");
        self.trace.tell(|| format!("server {name}: {what} failed: {error}"));
        Ok(())
    }
}

//! Several servers that share one database, and any of them may be stopped, cut off, killed or slow
//! at any statement. With one shard, one of them serves and the others wait. Several shards are
//! placed among them, and move when servers come, go, are drained, or die.
//!
//! ```text
//!   agents ──▶ server 0 ─┐
//!         ──▶ server 1 ─┼─ links that fail ──▶ database in memory ──▶ records ──▶ auditor
//!         ──▶ server 2 ─┘                                                            ▲
//!                └──────────────── answers ──────────────────────────────────────────┘
//! ```
//!
//! The engines are real, and so are the rules by which a server takes over, answers reads and
//! resolves unknown outcomes ([`baton_log::ownership`]), and those by which shards are placed
//! ([`baton_cluster::placement`]). The auditor is the one of a single server: whatever the servers
//! do to each other, callers must not be able to tell.
//!
//! Demanded in addition: epochs never fall; what a server reports as written is in the log, and
//! what it reports as not written never is; a read shows everything that any caller knew when it
//! was sent; no lease ends early because of a takeover; the files that the owner refers to are
//! there; a shard contains its own workspaces only; no shard remains without a server that serves
//! it while one could; at the end one server owns each shard, no server has more than its share,
//! and everything is there.
//!
//! | module | part |
//! |---|---|
//! | `server` | one server, and its work in progress |
//! | `member` | a server as one of those that place several shards among themselves |
//! | `shards` | shards are taken, given, and must be served |
//! | `job`, `link` | work that waits for the database, and the way there |
//! | `plan` | the decisions before the first step |
//! | `requests` | requests and queries, from the call to the answer |
//! | `records` | what became durable, and what servers have heard of that |
//! | `tap` | an append and its outcome |
//! | `faults` | what happens to servers, connections and the database |
//! | `inspection` | a fresh server on a copy of the database |
//! | `convergence` | the end: faults stop |

mod convergence;
mod faults;
mod inspection;
mod job;
mod link;
mod member;
mod plan;
mod records;
mod requests;
mod server;
mod shards;
mod tap;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use baton::clock::ManualClock;
use baton_core::{Timestamp, WorkspaceName};
use baton_log::shared::{SharedMemory, Work};

use crate::FleetSize;
use crate::actors::agent::Agent;
use crate::auditor::{Audit, Auditor};
use crate::coverage::Coverage;
use crate::plan::Plan;
use crate::rng::Rng;
use crate::trace::{Listener, Trace};
use link::{Network, SimLink};
use plan::{Step, shard_weights, weights};
use records::ShardRecords;
use requests::Pending;
use server::{Done, Role, SLOTS, Server, Serving, Slot};

/// The start time of every world.
const BEGINNING: u64 = 1_700_000_000_000;
/// How far the clocks of two servers differ at most.
const SKEW_MS: u64 = 4_000;
/// How far they differ at most where they are wrong.
const WRONG_MS: u64 = 7_200_000;
/// Time passes in pieces of this length, so that heartbeats are sent in between.
const PIECE_MS: u64 = 20;
/// Steps for which a server that may no longer serve still believes that it does.
const LOST_FOR_MIN: u64 = 12;
/// Shards that are used in every world, if there are so many.
const USED_MAX: usize = 3;

/// Several servers, and their clients.
pub(crate) struct Fleet {
    plan: Plan,
    weights: Vec<(Step, u64)>,
    rng: Rng,
    network: Arc<Network>,
    database: SharedMemory,
    servers: Vec<Server>,
    shards: Vec<ShardRecords>,
    /// The shard of every workspace.
    homes: BTreeMap<WorkspaceName, u32>,
    engines: u64,
    agents: Vec<Agent>,
    pending: Vec<Pending>,
    auditor: Auditor,
    /// What some caller or server knows to be durable.
    known: BTreeMap<WorkspaceName, u64>,
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
        size: FleetSize,
        steps: Option<u64>,
        listener: Option<Listener>,
    ) -> Self {
        let mut rng = Rng::new(seed);
        let steps = steps.unwrap_or_else(|| rng.between(300, 1_200));
        let mut plan = Plan::draw(&mut rng, Some(steps));
        // The auditors of several servers learn only from the log.
        plan.has_live_requests = false;
        // Half of all worlds archive often, so that servers are stopped while they do.
        if rng.once_in(2) {
            plan.workspaces.truncate(2);
            plan.options.tail_batches_max = 8;
            plan.options.run_bytes_max = *rng.pick(&[2_000, 4_000, 20_000]);
        }
        let homes = homes(&mut plan, size.shards);
        let mut weights = weights(&mut rng);
        if size.shards > 1 {
            weights.extend(shard_weights(&mut rng));
        }
        let agents = plan.agents.iter().enumerate();
        let agents =
            agents.map(|(number, kind)| Agent::new(number, *kind, plan.home_of(*kind, &mut rng)));
        let agents = agents.collect();
        let network = Arc::new(Network::default());
        // In some worlds with several shards, machines have clocks that are hours wrong.
        let is_wrong = size.shards > 1 && rng.once_in(3);
        let skew_ms = if is_wrong { WRONG_MS } else { SKEW_MS };
        let server = |_| {
            // Two machines differ in speed by up to 22 %, which is within what is promised.
            let link = SimLink::new(&network, rng.below(1_000_000), rng.between(900, 1_100));
            let clock = ManualClock::at(Timestamp(BEGINNING + rng.below(skew_ms)));
            Server::new(link, clock)
        };
        let servers = (0..size.servers).map(server).collect();
        Self {
            plan,
            weights,
            rng,
            network,
            database: SharedMemory::with_shards(size.shards),
            servers,
            shards: (0..size.shards).map(|_| ShardRecords::default()).collect(),
            homes,
            engines: 0,
            agents,
            pending: Vec::new(),
            auditor: Auditor::default(),
            known: BTreeMap::new(),
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

    /// The servers that serve a shard, or believe that they do.
    fn servers_of(&self, shard: u32) -> Vec<usize> {
        let serves = |name: &usize| {
            let server = &self.servers[*name];
            server.open(shard).is_some() && !server.is_paused
        };
        (0..self.servers.len()).filter(serves).collect()
    }

    /// Does something with one of the engines.
    fn some_serving(&mut self, act: fn(&mut Self, usize, u32) -> Audit) -> Audit {
        let engines = |shard| self.servers_of(shard).into_iter().map(move |name| (name, shard));
        let engines: Vec<(usize, u32)> = self.numbers().flat_map(engines).collect();
        if engines.is_empty() {
            return self.pass_time(100);
        }
        let (name, shard) = *self.rng.pick(&engines);
        act(self, name, shard)
    }

    /// The numbers of all shards.
    fn numbers(&self) -> impl Iterator<Item = u32> + use<> {
        0..u32::try_from(self.shards.len()).expect("there are few")
    }

    /// Time passes for all servers.
    fn pass_time(&mut self, milliseconds: u64) -> Audit {
        self.trace.tell(|| format!("{milliseconds} ms pass"));
        for _ in 0..milliseconds.div_ceil(PIECE_MS) {
            self.network.now_ms.fetch_add(PIECE_MS, Ordering::SeqCst);
            self.servers.iter().for_each(|server| server.clock.advance(PIECE_MS));
            self.tick();
            self.run_due()?;
            self.check_served()?;
        }
        Ok(())
    }

    /// The auditor's clock is, for each shard, that of the server that serves it.
    fn tick(&mut self) {
        for shard in self.numbers() {
            if let Some(now) = self.now_of(shard) {
                self.ledgers_of(shard).for_each(|ledger| ledger.tick(now));
            }
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
                for shard in self.numbers() {
                    if let Some(done) = self.servers[name].resume(slot, shard) {
                        self.finish(name, done)?;
                    }
                }
            }
            if let Some(done) = self.servers[name].beat() {
                self.finish(name, done)?;
            }
            if let Some(done) = self.servers[name].look(&self.plan.options) {
                self.finish(name, done)?;
            }
            self.place(name)?;
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
                let life = self.servers[name].life.as_mut();
                if let Some(Role::Candidate { candidate, .. }) = life.map(|life| &mut life.role) {
                    *candidate = Some(returned);
                }
            }
            Done::Looked(heart, seen) => {
                if let Some(membership) = self.servers[name].membership_mut() {
                    membership.looked(heart, seen);
                }
                self.servers[name].end_beat(Slot::Look);
            }
            Done::Opened(shard, open) => self.opened(name, shard, open)?,
            Done::NotTaken(shard) => self.ended(name, shard, false),
            Done::NotOpened(shard, log, error) => {
                let is_owner = log.epochs().last() == Some(&self.database.epoch(shard));
                self.excuse(name, is_owner, "opening", &error)?;
                if self.servers[name].membership().is_some() {
                    self.ended(name, shard, true);
                } else {
                    self.servers[name].join(&self.database, name);
                }
            }
            Done::Beaten => self.servers[name].end_beat(Slot::Beat),
            Done::Announced => {}
            Done::Given(shard) => self.given(name, shard),
            Done::Flushed(flushed) => self.trace.tell(|| format!("server {name}: {flushed:?}")),
            Done::Kept(_, Ok(_)) | Done::Loaded(_, Ok(())) => self.check_files()?,
            Done::Kept(shard, Err(error)) => {
                let is_owner = self.is_owner(name, shard);
                self.excuse(name, is_owner, "maintenance", &error)?;
            }
            Done::Loaded(workspace, Err(error)) => {
                let is_owner = self.is_owner(name, self.home(&workspace));
                self.excuse(name, is_owner, &format!("loading `{workspace}`"), &error)?;
            }
        }
        self.absorb()
    }

    /// A server has taken a shard and serves it.
    fn opened(&mut self, name: usize, shard: u32, open: server::Open) -> Audit {
        self.absorb()?;
        self.engines += 1;
        let number = self.engines;
        self.trace.tell(|| format!("server {name} serves, engine {number}"));
        let is_owner = open.log.log.epochs().last() == Some(&self.database.epoch(shard));
        let records = &mut self.shards[shard as usize];
        if is_owner {
            if records.serving.is_some_and(|(before, _)| before != name) {
                self.coverage.met("servers: taken over by another");
            }
            records.serving = Some((name, number));
            self.ledgers_of(shard).for_each(|ledger| ledger.server_up(open.since));
            self.tick();
            for (workspace, ledger) in self.auditor.ledgers() {
                if self.homes.get(workspace) == Some(&shard) {
                    self.known.insert(workspace.clone(), ledger.head());
                }
            }
        } else {
            self.coverage.met("servers: fenced before it served");
        }
        if let Some(life) = &mut self.servers[name].life {
            life.held.insert(shard, Serving { open, number, lost_for: 0 });
        }
        self.ended(name, shard, false);
        Ok(())
    }

    /// A server that has noticed that it may no longer serve waits for the log again after a while.
    fn retire_lost(&mut self) {
        for name in 0..self.servers.len() {
            for shard in self.servers[name].held() {
                self.retire(name, shard);
            }
            self.join_again(name);
        }
    }

    fn retire(&mut self, name: usize, shard: u32) {
        let server = &mut self.servers[name];
        let is_member = server.membership().is_some();
        let is_idle = if is_member { !server.is_busy_with(shard) } else { server.jobs.is_empty() };
        let is_calm = is_idle && !server.is_paused;
        let serving = server.life.as_mut().and_then(|life| life.held.get_mut(&shard));
        let Some(serving) = serving.filter(|serving| serving.is_lost()) else { return };
        serving.lost_for += 1;
        if serving.lost_for < LOST_FOR_MIN || !is_calm {
            return;
        }
        let open = serving.open.clone();
        self.trace.tell(|| format!("server {name} waits for the log again"));
        if server.link.is_fine() {
            open.log.log.close();
        }
        if is_member {
            self.given(name, shard);
        } else {
            self.servers[name].join(&self.database, name);
        }
    }
}

/// Divides the workspaces of a plan among the shards, so that several of them are used.
fn homes(plan: &mut Plan, shards: u32) -> BTreeMap<WorkspaceName, u32> {
    let mut more = (1..).map(|number| format!("shard-{number}"));
    while plan.workspaces.len() < USED_MAX.min(shards as usize) {
        let name = more.next().expect("there is always a next number");
        plan.workspaces.push(WorkspaceName::parse(&name).expect("a good name"));
    }
    plan.workspaces.iter().cloned().zip((0..shards).cycle()).collect()
}

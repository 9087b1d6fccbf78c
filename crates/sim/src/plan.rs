//! The decisions of a seed before the first step: the agents, the sizes and the possible faults.
//!
//! Swarm testing: each seed omits some kinds of agents and some faults and favours others, so that
//! all seeds together cover more than one fair mixture would.

use std::time::Duration;

use baton::Options;
use baton_core::WorkspaceName;

use crate::rng::Rng;

/// The behaviour of an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Reads, then writes what it read if no other agent was faster.
    Diligent,
    /// Writes based on what it read long ago.
    Slow,
    /// Has sessions and ephemeral entries, and stops between any two steps.
    Crashing,
    /// Repeats its requests with the same key, sometimes with another body.
    Duplicating,
    /// Continues with the token of a session that has been replaced.
    Zombie,
    /// Creates, configures and deletes namespaces, and moves entries between them.
    Mover,
    /// Sends transactions, some of which cannot succeed.
    Transactor,
    /// Reads the present and the past.
    Reader,
    /// Changes how much history is kept.
    Historian,
    /// Acquires contended locks, waits for them, and writes with their tokens.
    Locker,
    /// The same with semaphores.
    Sharer,
    /// Creates tasks, and works on those of others.
    Worker,
    /// Meets others at barriers.
    Meeter,
    /// Hands over its work, and accepts the work of others.
    Giver,
    /// Sends mail and requests, answers those of others, posts, and reads streams.
    Talker,
}

const KINDS: [Kind; 15] = [
    Kind::Diligent,
    Kind::Slow,
    Kind::Crashing,
    Kind::Duplicating,
    Kind::Zombie,
    Kind::Mover,
    Kind::Transactor,
    Kind::Reader,
    Kind::Historian,
    Kind::Locker,
    Kind::Sharer,
    Kind::Worker,
    Kind::Meeter,
    Kind::Giver,
    Kind::Talker,
];

/// The kinds that need others of their kind.
const HOLDING: [Kind; 10] = [
    Kind::Locker,
    Kind::Sharer,
    Kind::Meeter,
    Kind::Worker,
    Kind::Worker,
    Kind::Giver,
    Kind::Giver,
    Kind::Giver,
    Kind::Talker,
    Kind::Talker,
];

/// A step of the simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// An agent acts.
    Act,
    /// A watcher starts, or polls its queue.
    Watch,
    /// The open group is written.
    Flush,
    /// Due deadlines take effect.
    Expire,
    /// The most urgent maintenance task runs.
    Keep,
    /// A snapshot starts, or continues by one chunk.
    Capture,
    /// A little time passes.
    Tick,
    /// Hours pass.
    Leap,
    /// No agent acts until workspaces count as idle.
    Idle,
    /// The process ends at once; the disk and its cache stay.
    Kill,
    /// The process shuts down cleanly.
    Close,
    /// The power is cut now.
    PowerCut,
    /// The power will be cut during one of the next disk operations.
    PowerCutSoon,
    /// One of the next disk operations fails.
    FailSoon,
    /// The disk becomes full, or is freed.
    Fill,
    /// A bit is flipped on a copy of the disk.
    FlipBit,
    /// A fresh server on a copy of the disk must show the same.
    Compare,
    /// An agent writes to a fork.
    Inherit,
    /// An agent stores or uses a secret.
    Hide,
    /// Webhook calls are made and their outcomes reported.
    Call,
    /// A commit or a read that takes long is finished.
    Work,
}

impl Step {
    /// Whether it may be taken while the tables of a workspace are with a worker or a reader. The
    /// others wait for them, which one thread cannot.
    pub fn is_possible_meanwhile(self) -> bool {
        match self {
            Self::Act
            | Self::Flush
            | Self::Expire
            | Self::Tick
            | Self::Leap
            | Self::Kill
            | Self::PowerCut
            | Self::PowerCutSoon
            | Self::FailSoon
            | Self::Fill
            | Self::Work => true,
            Self::Watch
            | Self::Keep
            | Self::Capture
            | Self::Idle
            | Self::Close
            | Self::FlipBit
            | Self::Compare
            | Self::Inherit
            | Self::Hide
            | Self::Call => false,
        }
    }
}

/// The decisions of a seed.
pub struct Plan {
    /// The number of steps before faults stop.
    pub steps: u64,
    /// The workspaces.
    pub workspaces: Vec<WorkspaceName>,
    /// The agents.
    pub agents: Vec<Kind>,
    /// The number of watchers.
    pub watchers: usize,
    /// The number of contended keys.
    pub keys: u64,
    /// The maximum size of a value in bytes.
    pub value_bytes_max: u64,
    /// The options of the engine.
    pub options: Options,
    /// The size of a segment of the log.
    pub segment_bytes: u64,
    /// Whether the log bypasses the page cache.
    pub direct: bool,
    /// Whether a failed sync leaves lost bytes in the cache.
    pub cache_lies: bool,
    /// The work that a request may take before it is left to a worker; none if it may take any.
    pub slice_max: Option<usize>,
    /// Whether requests may be in memory only. The log says nothing about those.
    pub has_live_requests: bool,
    /// The possible steps, by weight.
    pub weights: Vec<(Step, u64)>,
}

impl Plan {
    /// The decisions of this seed.
    pub fn draw(rng: &mut Rng, steps: Option<u64>) -> Self {
        let names = ["w1", "Team-B", "w3", "w.4", "W5", "w6"];
        let count = 1 + rng.index(names.len());
        let workspaces = names[..count].iter();
        let workspaces = workspaces.map(|name| WorkspaceName::parse(name).expect("a good name"));
        let favoured: Vec<Kind> = KINDS.into_iter().filter(|_| !rng.once_in(4)).collect();
        let favoured = if favoured.is_empty() { KINDS.to_vec() } else { favoured };
        // Half of all worlds are about locks and tasks, which need several agents in one workspace.
        let held = *rng.pick(&HOLDING);
        let enough = if held == Kind::Giver { (4, 9) } else { (2, 5) };
        let crowd = if rng.once_in(2) { rng.between(enough.0, enough.1) } else { 0 };
        let agents = (0..rng.between(3, 9)).map(|_| *rng.pick(&favoured));
        let mut agents: Vec<Kind> = agents.collect();
        agents.extend((0..crowd).map(|_| held));
        // A batch must fit into a record, and a record into a segment: one batch may move every
        // entry of a namespace.
        let (value_bytes_max, segment_bytes) = *rng.pick(&[
            (20, 16_384),
            (60, 32_768),
            (200, 32_768),
            (200, 65_536),
            (1_500, 131_072),
        ]);
        Self {
            steps: steps.unwrap_or_else(|| rng.between(200, 2_400)),
            workspaces: workspaces.collect(),
            agents,
            watchers: rng.index(5),
            keys: rng.between(2, 30),
            value_bytes_max,
            options: options(rng, segment_bytes),
            segment_bytes,
            direct: rng.once_in(2),
            cache_lies: rng.once_in(2),
            slice_max: *rng.pick(&[None, Some(0), Some(1), Some(4)]),
            has_live_requests: true,
            weights: weights(rng),
        }
    }
}

impl Plan {
    /// The workspace of an agent of a kind. Agents that hand over work or send messages share one.
    pub fn home_of(&self, kind: Kind, rng: &mut Rng) -> WorkspaceName {
        match kind {
            Kind::Giver | Kind::Talker => self.workspaces[0].clone(),
            _ => self.somewhere(rng),
        }
    }

    /// One of the workspaces. The first are busier than the last, so that there is contention in
    /// some and little activity in others.
    pub fn somewhere(&self, rng: &mut Rng) -> WorkspaceName {
        let length = self.workspaces.len();
        let index = rng.index(length).min(rng.index(length));
        self.workspaces[index].clone()
    }
}

fn options(rng: &mut Rng, segment_bytes: u64) -> Options {
    Options {
        watch_queue_max: *rng.pick(&[2, 8, 64]),
        group_bytes_max: 4_000,
        tail_batches_max: *rng.pick(&[8, 20, 60, 200]),
        log_bytes_max: segment_bytes * rng.between(1, 4),
        run_bytes_max: *rng.pick(&[4_000, 20_000, 200_000]),
        snapshot_bytes_min: *rng.pick(&[500, 4_000, 30_000]),
        snapshot_chunk: *rng.pick(&[1, 3, 16]),
        idle: Duration::from_secs(*rng.pick(&[5, 60, 1_000_000])),
        ..Options::default()
    }
}

fn weights(rng: &mut Rng) -> Vec<(Step, u64)> {
    let mut weights = vec![
        (Step::Act, 1_000),
        (Step::Watch, 60),
        (Step::Flush, *rng.pick(&[100, 300, 600])),
        (Step::Expire, 40),
        (Step::Tick, 100),
        (Step::Compare, 4),
        (Step::Work, 150),
    ];
    let sometimes = [
        (Step::Keep, 80, 250),
        (Step::Capture, 60, 250),
        (Step::Leap, 4, 15),
        (Step::Idle, 5, 15),
        (Step::Kill, 3, 15),
        (Step::Close, 2, 8),
        (Step::PowerCut, 3, 15),
        (Step::PowerCutSoon, 3, 20),
        (Step::FailSoon, 3, 20),
        (Step::Fill, 3, 20),
        (Step::FlipBit, 4, 8),
        (Step::Inherit, 15, 60),
        (Step::Hide, 10, 40),
        (Step::Call, 20, 80),
    ];
    for (step, few, many) in sometimes {
        match rng.below(4) {
            0 => {}
            1 | 2 => weights.push((step, few)),
            _ => weights.push((step, many)),
        }
    }
    weights
}

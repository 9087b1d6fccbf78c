//! The rate of request cycles with sixteen workers or clients.

use std::time::Duration;

use super::bullmq::{self, BullMq};
use super::{BULLMQ, baton, etcd, handoffs, postgres, redis};
use crate::Outcome;
use crate::peers::driver::TurnResult;
use crate::peers::processes::Server;
use crate::peers::{Bench, Kind, throughput};
use crate::report::{Report, Target};

/// The steps of a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cycle {
    /// Creates a task, claims it and completes it.
    Task,
    /// Acquires a lock and releases it.
    Lock,
    /// Hands a task and its keys to another agent.
    Handoff,
}

/// The peers of a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Peer {
    Server(Kind),
    /// A library, on its own Redis.
    BullMq,
}

/// A peer of a load.
pub(crate) struct PeerLoad {
    peer: Peer,
    /// Its name for people, with the feature that is used.
    name: &'static str,
    /// The minimum ratio.
    least: f64,
}

/// A load of cycles.
pub(crate) struct Load {
    pub(crate) name: &'static str,
    cycle: Cycle,
    against: &'static [PeerLoad],
}

pub(crate) const LOADS: [Load; 3] = [
    Load {
        name: "task create + claim + complete, 16 workers",
        cycle: Cycle::Task,
        against: &[
            PeerLoad { peer: Peer::Server(Kind::Redis), name: "Redis Streams", least: 2.0 },
            PeerLoad {
                peer: Peer::Server(Kind::Postgres),
                name: "PostgreSQL SKIP LOCKED",
                least: 8.0,
            },
            PeerLoad { peer: Peer::BullMq, name: "BullMQ", least: 20.0 },
        ],
    },
    Load {
        name: "lock acquire + release, 16 clients",
        cycle: Cycle::Lock,
        against: &[
            PeerLoad { peer: Peer::Server(Kind::Redis), name: "Redis SET NX + Lua", least: 1.5 },
            PeerLoad { peer: Peer::Server(Kind::Etcd), name: "etcd", least: 10.0 },
        ],
    },
    Load {
        name: "hand-off of a task and 20 keys, 16 clients",
        cycle: Cycle::Handoff,
        against: &[PeerLoad {
            peer: Peer::Server(Kind::Postgres),
            name: "PostgreSQL, one statement",
            least: 5.0,
        }],
    },
];

impl Load {
    /// Servers that it needs. Redis may have to take the place of Baton.
    pub(crate) fn kinds(&self) -> Vec<Kind> {
        let peers = self.against.iter().filter_map(|rival| match rival.peer {
            Peer::Server(kind) => Some(kind),
            Peer::BullMq => None,
        });
        [Kind::Baton, Kind::Redis].into_iter().chain(peers).collect()
    }
}

/// Runs a load, and reports a line for each peer.
pub(crate) fn run(bench: &Bench<'_>, load: &Load, report: &mut Report) -> Outcome<()> {
    let mut sides = Vec::new();
    let mut rivals = Vec::new();
    for rival in load.against {
        if let Some(side) = start(bench, rival, report)? {
            sides.push(side);
            rivals.push(rival);
        }
    }
    if rivals.is_empty() {
        return Ok(());
    }
    sides.insert(0, Contestant::Server(bench.start_ours()?));
    for side in &sides {
        side.prepare(load.cycle)?;
    }
    let (name, turns) = (load.name, bench.options.turns);
    let turns = throughput::alternate(name, sides.len(), turns, |which, number| {
        sides[which].turn(load.cycle, bench.options.turn, number)
    })?;
    let (ours, theirs) = turns.split_first().ok_or("we take part")?;
    for (rival, theirs) in rivals.into_iter().zip(theirs) {
        let line = throughput::line(load.name, rival.name, ours, theirs);
        let target = Target::AtLeast(rival.least);
        report.add(if bench.is_control() { line } else { line.target(target) });
    }
    Ok(())
}

/// A fresh peer; none if it is left out.
fn start(bench: &Bench<'_>, rival: &PeerLoad, report: &mut Report) -> Outcome<Option<Contestant>> {
    match rival.peer {
        Peer::Server(kind) => Ok(bench.start(kind)?.map(Contestant::Server)),
        Peer::BullMq if !bench.options.includes(BULLMQ) => Ok(None),
        Peer::BullMq => {
            let Some(redis) = bench.start(Kind::Redis)? else { return Ok(None) };
            match bullmq::install(&bench.options.folder) {
                Ok(installed) => Ok(Some(Contestant::BullMq(BullMq::start(installed, redis)?))),
                Err(error) => {
                    let name = rival.name;
                    report.leave_out(format!("without {name}, its lines are left out: {error}"));
                    Ok(None)
                }
            }
        }
    }
}

/// The sides that are measured.
enum Contestant {
    Server(Server),
    BullMq(BullMq),
}

impl Contestant {
    /// Prepares a server once, before its first round.
    fn prepare(&self, cycle: Cycle) -> Outcome<()> {
        match self {
            Self::Server(server) if (server.kind(), cycle) == (Kind::Postgres, Cycle::Task) => {
                server.blame(postgres::prepare_tasks(server))
            }
            Self::Server(server) if (server.kind(), cycle) == (Kind::Postgres, Cycle::Handoff) => {
                server.blame(handoffs::prepare(server))
            }
            Self::Server(_) | Self::BullMq(_) => Ok(()),
        }
    }

    fn turn(&mut self, cycle: Cycle, turn: Duration, number: usize) -> Outcome<TurnResult> {
        let server = match self {
            Self::Server(server) => server,
            Self::BullMq(bullmq) => return bullmq.turn(turn),
        };
        let served = match (server.kind(), cycle) {
            (Kind::Baton, Cycle::Task) => baton::tasks(server, turn),
            (Kind::Baton, Cycle::Lock) => baton::locks(server, turn),
            (Kind::Baton, Cycle::Handoff) => handoffs::ours(server, turn, number),
            (Kind::Postgres, Cycle::Handoff) => handoffs::theirs(server, turn),
            (Kind::Redis, Cycle::Task) => redis::tasks(server, turn, number),
            (Kind::Redis, Cycle::Lock) => redis::locks(server, turn),
            (Kind::Postgres, Cycle::Task) => postgres::tasks(server, turn),
            (Kind::Etcd, Cycle::Lock) => etcd::locks(server, turn, number),
            (
                kind @ (Kind::Redis | Kind::Postgres | Kind::Etcd | Kind::Nats | Kind::Floor),
                cycle,
            ) => Err(format!("no load asks {} for a {cycle:?}", kind.name()).into()),
        };
        server.blame(served)
    }
}

//! The decisions of a seed before the first step, where several servers share a database.

use crate::rng::Rng;

/// A step of the simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Step {
    /// An agent acts, at any server that serves or believes that it does.
    Act,
    /// The open group of a server is written.
    Flush,
    /// Due deadlines of a server take effect.
    Expire,
    /// The most urgent maintenance task of a server runs.
    Keep,
    /// A little time passes.
    Tick,
    /// Minutes pass by the clocks that leases are measured on.
    Leap,
    /// A fresh server on a copy of the database must show everything.
    Inspect,
    /// A server is stopped, sometimes within an append or a maintenance task.
    Pause,
    /// It continues.
    Wake,
    /// A server cannot reach the database.
    Cut,
    /// It can again.
    Heal,
    /// The next append of a server takes long.
    DelayAppend,
    /// The next append of a server has no answer, or its request is lost or late.
    DropAnswer,
    /// The next maintenance task of a server takes long at some statement.
    DelayKeep,
    /// The next heartbeat of a server takes long, or its next attempt to take the log.
    DelayBeat,
    /// A server ends at once.
    Kill,
    /// A server gives the log back. One that has some of several shards is drained, or leaves.
    Drain,
    /// A server that has ended starts again.
    Join,
    /// The database crashes, and is started again.
    DatabaseRestart,
    /// The next attempt of a server to take one of several shards takes long, has no answer, or
    /// its request is lost or late.
    DelayTake,
}

/// The possible steps, by weight. Each seed omits some faults and favours others.
pub(super) fn weights(rng: &mut Rng) -> Vec<(Step, u64)> {
    let mut weights = vec![
        (Step::Act, 1_000),
        (Step::Flush, *rng.pick(&[200, 400])),
        (Step::Expire, 40),
        (Step::Keep, *rng.pick(&[60, 200])),
        (Step::Tick, *rng.pick(&[150, 300])),
        (Step::Leap, 3),
        (Step::Inspect, 3),
        (Step::Wake, 15),
        (Step::Heal, 15),
        (Step::Join, 20),
    ];
    let sometimes = [
        (Step::Pause, 6, 20),
        (Step::Cut, 6, 20),
        (Step::DelayAppend, 8, 30),
        (Step::DropAnswer, 8, 30),
        (Step::DelayKeep, 10, 40),
        (Step::DelayBeat, 10, 40),
        (Step::Kill, 2, 8),
        (Step::Drain, 2, 8),
        (Step::DatabaseRestart, 3, 15),
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

/// Further steps where there are several shards, which move more often.
pub(super) fn shard_weights(rng: &mut Rng) -> [(Step, u64); 2] {
    [(Step::DelayTake, *rng.pick(&[0, 10, 40])), (Step::Drain, *rng.pick(&[0, 4, 10]))]
}

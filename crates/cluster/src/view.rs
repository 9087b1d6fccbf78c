//! The servers and shards of a log, as one of the servers has seen them.

use std::collections::HashMap;
use std::time::Duration;

use baton_log::ownership::Observation;
use baton_log::planted;
use rustix::time::{ClockId, clock_gettime};

/// Shards of a log: more than servers will ever share it, and few enough for one of them.
pub const SHARDS_MAX: u32 = 256;
const SHARDS_USUAL: u32 = 16;

/// Milliseconds that also count while the machine is suspended.
#[must_use]
pub fn now_ms() -> u64 {
    let now = clock_gettime(ClockId::Boottime);
    let part = |number: i64| u64::try_from(number).unwrap_or_default();
    part(now.tv_sec) * 1_000 + part(now.tv_nsec) / 1_000_000
}

/// How many shards a log has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shards {
    /// One if it is created now; otherwise what it has.
    One,
    /// Several if it is created now; otherwise what it has.
    Several,
    /// This many. A log that has another number is refused.
    Exactly(u32),
}

impl Shards {
    /// How many it gets if it is created now.
    #[must_use]
    pub fn created(self) -> u32 {
        match self {
            Self::One => 1,
            Self::Several => SHARDS_USUAL,
            Self::Exactly(shards) => shards,
        }
    }
}

/// A server that was not declared gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerRow {
    /// Its id, new at every start.
    pub id: String,
    /// How others reach it.
    pub address: String,
    /// The version of its program.
    pub version: String,
    /// The number of its last heartbeat.
    pub beat: i64,
    /// Whether it gives its shards back: an operator drains it, or it leaves.
    pub is_draining: bool,
    /// Whether it does so because it stops, or cannot open shards.
    pub is_leaving: bool,
    /// How long ago its last heartbeat was, by the clock of the log.
    pub age_ms: u64,
}

/// A shard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShardRow {
    /// How often it was taken.
    pub epoch: i64,
    /// The id of its owner; none if it has none that is alive.
    pub owner: Option<String>,
}

impl ShardRow {
    /// A shard as it is stored, where these servers are alive.
    #[must_use]
    pub fn seen(epoch: i64, owner: Option<String>, servers: &[ServerRow]) -> Self {
        let is_alive = |owner: &String| {
            let is_there = servers.iter().any(|server| server.id == *owner);
            is_there || planted::is("placement.owner_gone_keeps_shards")
        };
        Self { epoch, owner: owner.filter(is_alive) }
    }
}

/// The servers and shards, as one of the servers has seen them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct View {
    /// The id of the server that looked.
    pub me: String,
    /// When it began to look, by [`now_ms`].
    pub looked_at_ms: u64,
    /// How long its heartbeat took.
    pub heartbeat: Duration,
    /// The clock of the log, in milliseconds since 1970, and when it was read, by [`now_ms`].
    pub log_clock_ms: (u64, u64),
    /// Whether it was declared gone. Then only `trouble` is valid.
    pub is_gone: bool,
    /// Why the log has not been reached since the look, or why this server had to leave.
    pub trouble: Option<String>,
    /// The servers, by id.
    pub servers: Vec<ServerRow>,
    /// The shards, by number.
    pub shards: Vec<ShardRow>,
}

impl View {
    /// What the clock of the log shows now, and never more.
    #[must_use]
    pub fn log_time_ms(&self) -> u64 {
        let (time_ms, read_at_ms) = self.log_clock_ms;
        time_ms + now_ms().saturating_sub(read_at_ms)
    }

    /// The same view, after the log could not be reached.
    #[must_use]
    pub fn troubled(&self, why: &str) -> Self {
        Self { trouble: Some(why.to_owned()), ..self.clone() }
    }

    /// The server that owns a shard, if one that is alive does.
    #[must_use]
    pub fn owner(&self, shard: u32) -> Option<&ServerRow> {
        let owner = self.shards.get(shard as usize)?.owner.as_deref()?;
        self.servers.iter().find(|server| server.id == owner)
    }
}

/// What was seen of the other servers, by the clock of the machine that looks.
#[derive(Debug, Default)]
pub struct Observations(HashMap<String, Observation<()>>);

impl Observations {
    /// The connection is another one, so that all observations begin again.
    pub fn reconnect(&mut self) {
        self.0.clear();
    }

    /// Observes a server at this time. Whether it was silent for so long that it may be declared
    /// gone.
    pub fn is_silent(&mut self, server: &ServerRow, now_ms: u64) -> bool {
        let observation = self.0.entry(server.id.clone()).or_default();
        observation.see((), server.beat, now_ms);
        observation.is_silent(now_ms)
    }

    /// Forgets servers other than these.
    pub fn keep(&mut self, servers: &[ServerRow]) {
        self.0.retain(|id, _| servers.iter().any(|server| server.id == *id));
    }
}

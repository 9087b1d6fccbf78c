//! Several servers that place several shards among themselves, each at its own pace and on what it
//! saw last: they look, act, stop for a while, lose answers, are declared gone, join, drain, and
//! leave, in any order. The store decides, as it does in `PostgreSQL` and NATS.
//!
//! 1. What a server holds by the store, no other one holds.
//! 2. A server that was declared gone changes nothing.
//! 3. Once nothing fails any more, every shard has one owner, no server has more than its share,
//!    and those that are drained or leave have none while another can have them.

use std::collections::{BTreeMap, BTreeSet};

use baton_cluster::placement::{Act, next};
use baton_cluster::{ServerRow, ShardRow, View};
use proptest::collection::vec;
use proptest::prelude::*;

/// More heartbeats than a server needs to be given shards.
const BEATS: i64 = 100;
/// How often all look and act, at most, until nobody has anything to do.
const ROUNDS_MAX: usize = 1_000;

/// What is stored about a server.
#[derive(Clone, Debug, Default)]
struct Fact {
    is_gone: bool,
    is_drained: bool,
    is_leaving: bool,
    beat: i64,
}

/// The store: every change is a comparison and a replacement.
#[derive(Clone, Debug)]
struct Store {
    servers: BTreeMap<String, Fact>,
    shards: Vec<ShardRow>,
}

impl Store {
    fn is_alive(&self, id: &str) -> bool {
        self.servers.get(id).is_some_and(|fact| !fact.is_gone)
    }

    fn look(&self, me: &str) -> View {
        let me = me.to_owned();
        if !self.is_alive(&me) {
            return View { me, is_gone: true, ..View::default() };
        }
        let alive = self.servers.iter().filter(|(_, fact)| !fact.is_gone);
        let servers = alive.map(|(id, fact)| ServerRow {
            id: id.clone(),
            address: String::new(),
            version: String::new(),
            beat: fact.beat,
            is_draining: fact.is_drained || fact.is_leaving,
            is_leaving: fact.is_leaving,
            age_ms: 0,
        });
        let servers = servers.collect();
        let shards = self.shards.iter().map(|shard| {
            let owner = shard.owner.clone().filter(|owner| self.is_alive(owner));
            ShardRow { epoch: shard.epoch, owner }
        });
        View { me, servers, shards: shards.collect(), ..View::default() }
    }

    fn take(&mut self, id: &str, shard: u32, epoch: i64) -> bool {
        let owner = self.shards[shard as usize].owner.as_deref();
        let is_free = owner.is_none_or(|owner| owner == id || !self.is_alive(owner));
        let may = is_free && self.is_alive(id) && self.shards[shard as usize].epoch == epoch;
        if may {
            self.shards[shard as usize] = ShardRow { epoch: epoch + 1, owner: Some(id.to_owned()) };
        }
        may
    }

    fn give(&mut self, id: &str, shard: u32, epoch: i64) {
        let row = &mut self.shards[shard as usize];
        if row.owner.as_deref() == Some(id) && row.epoch == epoch {
            row.owner = None;
        }
    }
}

/// A process: its present id, and the shards that it serves, with their epochs.
#[derive(Clone, Debug, Default)]
struct Process {
    id: Option<String>,
    held: BTreeMap<u32, i64>,
    view: Option<View>,
}

#[derive(Clone, Debug)]
struct Fleet {
    store: Store,
    processes: Vec<Process>,
    joined: usize,
}

impl Fleet {
    fn new(shards: usize, processes: usize) -> Self {
        let shards = vec![ShardRow { epoch: 0, owner: None }; shards];
        let store = Store { servers: BTreeMap::new(), shards };
        Self { store, processes: vec![Process::default(); processes], joined: 0 }
    }

    fn join(&mut self, number: usize) {
        self.joined += 1;
        let id = format!("server-{}", self.joined);
        self.store.servers.insert(id.clone(), Fact::default());
        self.processes[number] = Process { id: Some(id), ..Process::default() };
    }

    /// A heartbeat and a look. A process that was declared gone drops everything.
    fn look(&mut self, number: usize) {
        let Some(id) = self.processes[number].id.clone() else { return };
        if let Some(fact) = self.store.servers.get_mut(&id).filter(|fact| !fact.is_gone) {
            fact.beat += 1;
        }
        let view = self.store.look(&id);
        let process = &mut self.processes[number];
        if view.is_gone {
            *process = Process::default();
        } else {
            process.view = Some(view);
        }
    }

    /// Does what the last view says, however old it is. Whether there was something. The answers
    /// of takes may be lost.
    fn act(&mut self, number: usize, loses_answers: bool) -> bool {
        let process = &mut self.processes[number];
        let (Some(id), Some(view)) = (&process.id, &process.view) else { return false };
        let held: BTreeSet<u32> = process.held.keys().copied().collect();
        let acts = next(view, &held);
        for act in &acts {
            match *act {
                Act::Take { shard, epoch } => {
                    if self.store.take(id, shard, epoch) && !loses_answers {
                        process.held.insert(shard, epoch + 1);
                    }
                }
                Act::Give { shard } => {
                    let epoch = process.held.remove(&shard).expect("only what it holds is given");
                    self.store.give(id, shard, epoch);
                }
            }
        }
        !acts.is_empty()
    }

    fn fact(&mut self, number: usize) -> Option<&mut Fact> {
        self.store.servers.get_mut(self.processes[number].id.as_ref()?)
    }

    fn change(&mut self, number: usize, change: impl FnOnce(&mut Fact)) {
        if let Some(fact) = self.fact(number).filter(|fact| !fact.is_gone) {
            change(fact);
        }
    }

    /// Those that hold a shard by the store, by shard.
    fn check_owners(&self) {
        for (number, row) in (0..).zip(&self.store.shards) {
            let holds = |process: &&Process| process.held.get(&number) == Some(&row.epoch);
            let holders: Vec<_> = self.processes.iter().filter(holds).collect();
            assert!(holders.len() <= 1, "shard {number} is held twice: {self:?}");
        }
    }

    /// Nothing fails any more: all look and act until nobody has anything to do.
    fn settle(&mut self) {
        for number in 0..self.processes.len() {
            self.change(number, |fact| fact.beat += BEATS);
        }
        for _ in 0..ROUNDS_MAX {
            let mut is_done = true;
            for number in 0..self.processes.len() {
                self.look(number);
                is_done &= !self.act(number, false);
                self.check_owners();
            }
            if is_done {
                return;
            }
        }
        panic!("it does not settle: {self:?}");
    }

    fn check_placement(&self) {
        let alive: Vec<_> = self.store.servers.iter().filter(|(_, fact)| !fact.is_gone).collect();
        let undrained: Vec<_> =
            alive.iter().filter(|(_, fact)| !fact.is_drained && !fact.is_leaving).collect();
        let staying: Vec<_> = alive.iter().filter(|(_, fact)| !fact.is_leaving).collect();
        let able = if undrained.is_empty() { staying } else { undrained };
        if able.is_empty() {
            return;
        }
        let able: BTreeSet<&String> = able.into_iter().map(|(id, _)| *id).collect();
        let share = self.store.shards.len().div_ceil(able.len());
        let mut counts: BTreeMap<&String, usize> = BTreeMap::new();
        for row in &self.store.shards {
            let owner = row.owner.as_ref().unwrap_or_else(|| panic!("no owner: {self:?}"));
            assert!(able.contains(owner), "{owner} should have none: {self:?}");
            *counts.entry(owner).or_default() += 1;
        }
        assert!(counts.values().all(|count| *count <= share), "{counts:?} of {share}");
        for process in &self.processes {
            let owned = process.id.as_ref().and_then(|id| counts.get(id)).copied();
            assert_eq!(process.held.len(), owned.unwrap_or_default(), "{self:?}");
        }
    }
}

proptest! {
    #[test]
    fn servers_on_old_views_never_share_a_shard_and_settle(
        shards in 1_usize..24,
        events in vec((0_usize..4, 0_u8..16), 1..150),
    ) {
        let mut fleet = Fleet::new(shards, 4);
        for (number, what) in events {
            match what {
                0 => fleet.join(number),
                // It stops, or is cut off, for so long that another one declares it gone.
                1 => fleet.change(number, |fact| fact.is_gone = true),
                2 => fleet.change(number, |fact| fact.is_drained = true),
                3 => fleet.change(number, |fact| fact.is_drained = false),
                4 => fleet.change(number, |fact| fact.is_leaving = true),
                5 => drop(fleet.act(number, true)),
                6..=10 => fleet.look(number),
                _ => drop(fleet.act(number, false)),
            }
            fleet.check_owners();
        }
        // The process of a server that nobody runs any more is declared gone.
        let running: BTreeSet<String> =
            fleet.processes.iter().filter_map(|process| process.id.clone()).collect();
        for (id, fact) in &mut fleet.store.servers {
            fact.is_gone |= !running.contains(id);
        }
        fleet.settle();
        fleet.check_placement();
    }
}

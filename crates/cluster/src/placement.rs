//! Which server should own which shard: a pure function of what was seen, without clock or I/O.
//!
//! 1. No server has more than its share: the number of shards divided by the number of servers,
//!    rounded up.
//! 2. A shard stays with its owner unless that has more than its share: a server that comes or goes
//!    moves only the shards that it must.
//! 3. What is to be placed goes to the server with the highest score for it (rendezvous hashing)
//!    among those with less than their share.
//! 4. A server that is drained has no shard, unless all others are drained, too, or leave: then
//!    those that do not leave have them all. A drain never makes data unavailable.
//!
//! Servers that have seen different states may want the same shard for a moment. The store gives
//! it to one of them.

use std::collections::BTreeSet;

use baton_log::planted;

use crate::view::{ServerRow, View};

/// How often another server must have beaten before shards are given to it: a server that fails at
/// every start would interrupt its shards each time.
const BEATS_MIN: i64 = 4;
/// Shards that are given away at a time. Each is unavailable for a moment.
const GIVEN_MAX: usize = 2;

/// What a server should do next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    /// Take a shard that has this epoch.
    Take {
        /// The shard.
        shard: u32,
        /// Its epoch.
        epoch: i64,
    },
    /// Give a shard back, so that another server takes it.
    Give {
        /// The shard.
        shard: u32,
    },
}

/// What the server that looked should do, if it holds these shards.
#[must_use]
pub fn next(view: &View, held: &BTreeSet<u32>) -> Vec<Act> {
    if view.is_gone {
        return Vec::new();
    }
    let servers = able(view);
    let owners: Vec<Option<&str>> =
        view.shards.iter().map(|shard| shard.owner.as_deref()).collect();
    let targets = targets(&servers, &owners);
    let mut acts = Vec::new();
    let mut given = 0;
    for (number, row) in (0..).zip(&view.shards) {
        let target = targets[number as usize];
        let is_mine = row.owner.as_deref() == Some(view.me.as_str());
        let is_wanted = target == Some(view.me.as_str());
        if held.contains(&number) {
            if target.is_some() && !is_wanted && given < GIVEN_MAX {
                given += 1;
                acts.push(Act::Give { shard: number });
            }
        } else if (is_mine && !planted::is("placement.unanswered_take_forgotten"))
            || (row.owner.is_none() && is_wanted)
        {
            // What the store says to be mine and is not held was taken without an answer.
            acts.push(Act::Take { shard: number, epoch: row.epoch });
        }
    }
    acts
}

/// The ids of the servers that should have shards.
fn able(view: &View) -> Vec<&str> {
    let is_proven = |server: &&ServerRow| server.id == view.me || server.beat >= BEATS_MIN;
    let ids = |is_able: fn(&&ServerRow) -> bool| -> Vec<&str> {
        let servers = view.servers.iter().filter(is_proven).filter(is_able);
        servers.map(|server| server.id.as_str()).collect()
    };
    let undrained = ids(|server| !server.is_draining);
    if undrained.is_empty() { ids(|server| !server.is_leaving) } else { undrained }
}

/// The server of every shard; none if there is no server.
fn targets<'a>(servers: &[&'a str], owners: &[Option<&str>]) -> Vec<Option<&'a str>> {
    let mut targets = vec![None; owners.len()];
    if servers.is_empty() {
        return targets;
    }
    let share = owners.len().div_ceil(servers.len());
    let mut counts = vec![0; servers.len()];
    for (index, server) in servers.iter().enumerate() {
        let mut own: Vec<usize> =
            (0..owners.len()).filter(|shard| owners[*shard] == Some(*server)).collect();
        own.sort_by_key(|shard| std::cmp::Reverse(score(server, *shard)));
        for shard in own.into_iter().take(share) {
            targets[shard] = Some(*server);
            counts[index] += 1;
        }
    }
    for (shard, target) in targets.iter_mut().enumerate().filter(|(_, target)| target.is_none()) {
        let open = (0..servers.len()).filter(|index| counts[*index] < share);
        let chosen = open.max_by_key(|index| (score(servers[*index], shard), servers[*index]));
        if let Some(index) = chosen {
            counts[index] += 1;
            *target = Some(servers[index]);
        }
    }
    targets
}

/// The score of a server for a shard: FNV-1a of both, then mixed. Every server must compute the
/// same, so that it is not left to a library.
fn score(server: &str, shard: usize) -> u64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    let hash = server.bytes().fold(0xcbf2_9ce4_8422_2325, step);
    let mut hash = (shard as u64).to_le_bytes().into_iter().fold(hash, step);
    for multiplier in [0xbf58_476d_1ce4_e5b9, 0x94d0_49bb_1331_11eb] {
        hash = (hash ^ (hash >> 30)).wrapping_mul(multiplier);
    }
    hash ^ (hash >> 31)
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;
    use crate::ShardRow;

    /// A store: servers with the shards that they hold, and the shards with their owners.
    #[derive(Clone, Debug)]
    struct World {
        servers: BTreeMap<String, BTreeSet<u32>>,
        /// By an operator.
        drained: BTreeSet<String>,
        leaving: BTreeSet<String>,
        shards: Vec<ShardRow>,
    }

    impl World {
        fn new(shards: usize) -> Self {
            let row = ShardRow { epoch: 0, owner: None };
            let (servers, drained, leaving) = Default::default();
            Self { servers, drained, leaving, shards: vec![row; shards] }
        }

        fn view(&self, me: &str) -> View {
            let servers = self.servers.keys().map(|id| ServerRow {
                id: id.clone(),
                address: String::new(),
                version: String::new(),
                beat: BEATS_MIN,
                is_draining: self.drained.contains(id) || self.leaving.contains(id),
                is_leaving: self.leaving.contains(id),
                age_ms: 0,
            });
            let (me, servers) = (me.to_owned(), servers.collect());
            View { me, servers, shards: self.shards.clone(), ..View::default() }
        }

        /// The server is gone, and so is its ownership.
        fn end(&mut self, id: &str) {
            self.servers.remove(id);
            self.drained.remove(id);
            self.leaving.remove(id);
            for shard in self.shards.iter_mut().filter(|it| it.owner.as_deref() == Some(id)) {
                shard.owner = None;
            }
        }

        /// Each server acts on what it sees, until none has anything to do. How often shards moved.
        fn settle(&mut self) -> usize {
            let mut moved = 0;
            for _ in 0..1_000 {
                let mut is_done = true;
                for id in self.servers.keys().cloned().collect::<Vec<_>>() {
                    let held = self.servers[&id].clone();
                    for act in next(&self.view(&id), &held) {
                        is_done = false;
                        moved += usize::from(self.act(&id, &act));
                    }
                }
                if is_done {
                    return moved;
                }
            }
            panic!("it does not settle: {self:?}");
        }

        fn act(&mut self, id: &str, act: &Act) -> bool {
            let held = self.servers.get_mut(id).expect("it is there");
            match *act {
                Act::Take { shard, epoch } => {
                    let row = &mut self.shards[shard as usize];
                    let is_free = row.owner.as_deref().is_none_or(|owner| owner == id);
                    if !is_free || row.epoch != epoch {
                        return false;
                    }
                    *row = ShardRow { epoch: epoch + 1, owner: Some(id.to_owned()) };
                    held.insert(shard)
                }
                Act::Give { shard } => {
                    assert!(held.remove(&shard), "only the owner gives");
                    self.shards[shard as usize].owner = None;
                    false
                }
            }
        }

        fn check(&self) {
            let is_drained = |id: &String| self.drained.contains(id) || self.leaving.contains(id);
            let are_all_drained = self.servers.keys().all(is_drained);
            let is_able = |id: &&String| {
                if are_all_drained { !self.leaving.contains(*id) } else { !is_drained(id) }
            };
            let able: BTreeSet<&String> = self.servers.keys().filter(is_able).collect();
            if able.is_empty() {
                return;
            }
            let share = self.shards.len().div_ceil(able.len());
            for (id, held) in &self.servers {
                let most = if able.contains(id) { share } else { 0 };
                assert!(held.len() <= most, "{id} has {held:?} of {share}");
            }
            assert!(self.shards.iter().all(|shard| shard.owner.is_some()), "{self:?}");
        }
    }

    proptest! {
        #[test]
        fn every_shard_finds_one_owner_and_only_what_must_move_does(
            shards in 1_usize..40,
            steps in vec((0_usize..6, 0_u8..5), 1..20),
        ) {
            let mut world = World::new(shards);
            for (number, what) in steps {
                let id = format!("server-{number}");
                let before = world.servers.get(&id).map_or(0, BTreeSet::len);
                let others = world.servers.len();
                match what {
                    0 => world.end(&id),
                    1 => {
                        world.servers.entry(id.clone()).or_default();
                    }
                    _ if !world.servers.contains_key(&id) => {}
                    2 => {
                        world.drained.insert(id.clone());
                    }
                    3 => {
                        world.drained.remove(&id);
                    }
                    _ => {
                        world.leaving.insert(id.clone());
                    }
                }
                let moved = world.settle();
                world.check();
                let is_plain = world.drained.is_empty() && world.leaving.is_empty();
                if what == 0 && is_plain {
                    prop_assert!(moved <= before, "{moved} moved for {before} of {id}");
                }
                if what == 1 && others > 0 && is_plain {
                    let share = shards.div_ceil(world.servers.len());
                    prop_assert!(moved <= share + others, "{moved} moved, a share is {share}");
                }
            }
        }
    }

    #[test]
    fn a_server_that_was_declared_gone_does_nothing() {
        let view = View { is_gone: true, ..World::new(3).view("a") };
        assert_eq!(next(&view, &BTreeSet::new()), []);
    }

    /// How many shards each of these servers has.
    fn counts(world: &World, ids: [&str; 3]) -> [usize; 3] {
        ids.map(|id| world.servers.get(id).map_or(0, BTreeSet::len))
    }

    #[test]
    fn a_drained_server_is_emptied_and_filled_again() {
        let ids = ["a", "b", "c"];
        let mut world = World::new(12);
        for id in ids {
            world.servers.insert(id.to_owned(), BTreeSet::new());
        }
        world.settle();
        assert_eq!(counts(&world, ids), [4, 4, 4]);
        world.drained.insert("b".to_owned());
        assert_eq!(world.settle(), 4, "only its own shards move");
        assert_eq!(counts(&world, ids), [6, 0, 6]);
        world.drained.clear();
        assert_eq!(world.settle(), 4);
        assert_eq!(counts(&world, ids), [4, 4, 4]);
    }

    #[test]
    fn drained_servers_have_the_shards_if_no_other_can() {
        let ids = ["a", "b", "c"];
        let mut world = World::new(12);
        for id in ids {
            world.servers.insert(id.to_owned(), BTreeSet::new());
        }
        world.drained.extend(["a".to_owned(), "b".to_owned()]);
        world.settle();
        assert_eq!(counts(&world, ids), [0, 0, 12]);
        world.leaving.insert("c".to_owned());
        world.settle();
        assert_eq!(counts(&world, ids), [6, 6, 0], "it leaves, and they do not");
        world.end("c");
        world.end("b");
        world.settle();
        assert_eq!(counts(&world, ids), [12, 0, 0]);
        world.servers.insert("d".to_owned(), BTreeSet::new());
        world.settle();
        assert_eq!(counts(&world, ["a", "d", ""]), [0, 12, 0], "another server is there");
    }

    #[test]
    fn what_was_taken_without_an_answer_is_taken_again() {
        let mut world = World::new(1);
        world.servers.insert("a".to_owned(), BTreeSet::new());
        world.servers.insert("b".to_owned(), BTreeSet::new());
        world.shards[0] = ShardRow { epoch: 7, owner: Some("a".to_owned()) };
        let takes = |me: &str| next(&world.view(me), &BTreeSet::new());
        assert_eq!(takes("a"), [Act::Take { shard: 0, epoch: 7 }]);
        assert_eq!(takes("b"), []);
    }
}

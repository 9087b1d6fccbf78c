//! The end of a seed: faults stop, one server serves each shard, and everything that is due must
//! happen.

use baton::clock::Clock;

use super::Fleet;
use super::requests::Pending;
use super::server::SLOTS;
use crate::auditor::{Audit, demand};
use crate::world::broken;

/// How long it takes at most until one server serves each shard and nothing waits.
const SETTLED_MS: u64 = 60_000;
/// How often in a row all servers must be content: one that has just joined is given no shards yet.
const PLACED_FOR_MIN: usize = 30;
/// Requests that agents still make before they stop.
const LAST_ACTS: u64 = 30;
/// Rounds until everything is due, and the time that passes in each.
const ROUNDS: u64 = 18;
const ROUND_MS: u64 = 100_000;
/// The maximum number of maintenance tasks in one round, and of consequences of time.
const CHORES_MAX: usize = 300;
const CAUSES_MAX: usize = 100;

impl Fleet {
    /// Runs until nothing is pending.
    pub(super) fn converge(&mut self) -> Audit {
        self.trace.begin_step(self.steps + 1);
        self.trace.tell(|| "from here on nothing fails".to_owned());
        for name in 0..self.servers.len() {
            let server = &mut self.servers[name];
            server.is_paused = false;
            server.armed = [None; SLOTS.len()];
            server.armed_opening = None;
            (server.stops_in, server.is_cut_after_beat) = (None, false);
            server.set_cut(false);
        }
        self.join_all();
        let owners = self.settle()?;
        self.catch_up_with_time();
        for _ in 0..LAST_ACTS {
            self.act()?;
            self.absorb()?;
        }
        for _ in 0..ROUNDS {
            self.leap(ROUND_MS);
            self.pass_time(400)?;
            for (shard, name) in (0..).zip(owners.iter().copied()) {
                self.expire_all(name, shard)?;
                self.chores(name, shard)?;
                let now = self.servers[name].clock.now();
                for ledger in self.ledgers_of(shard) {
                    ledger.age(now);
                    ledger.check_overdue(now)?;
                }
            }
        }
        demand!(self.owners() == owners, "an owner changed in peace");
        let left = self.pending.first().map(Pending::words);
        demand!(left.is_none(), "a request is still not answered: {left:?}");
        for (_, ledger) in self.auditor.ledgers() {
            ledger.check_nothing_held()?;
        }
        self.inspect()
    }

    fn join_all(&mut self) {
        for name in 0..self.servers.len() {
            if self.servers[name].life.is_none() {
                self.servers[name].join(&self.database, name);
            }
        }
    }

    /// Waits until one server serves each shard, and nothing waits anywhere.
    fn settle(&mut self) -> Audit<Vec<usize>> {
        let (mut left, mut placed_for) = (SETTLED_MS, 0);
        while left > 0 {
            self.pass_time(100)?;
            self.retire_lost();
            left -= 100;
            if self.shards.len() == 1 {
                if let Some(name) = self.settled() {
                    return Ok(vec![name]);
                }
                continue;
            }
            // Those that were leaving have ended.
            self.join_all();
            placed_for = if self.is_placed() { placed_for + 1 } else { 0 };
            if placed_for == PLACED_FOR_MIN {
                self.check_shares()?;
                return Ok(self.owners());
            }
        }
        Err(broken("after a minute without faults not every shard is served by its server"))
    }

    /// The server that serves the only shard, if it is settled that it does.
    fn settled(&self) -> Option<usize> {
        let is_calm = self.servers.iter().all(super::Server::is_calm);
        let serving = self.shards[0].serving.map(|(name, _)| name);
        let name = serving.filter(|name| self.is_owner(*name, 0))?;
        let is_owned = self.database.owner(0).is_some();
        let others = self.servers.iter().filter(|server| server.open(0).is_some()).count();
        let open = self.servers[name].open(0)?;
        let is_settled = is_calm && is_owned && others == 1 && open.shard.check_serving().is_ok();
        is_settled.then_some(name)
    }

    /// The server that served each shard last.
    fn owners(&self) -> Vec<usize> {
        self.shards.iter().filter_map(|shard| shard.serving.map(|(name, _)| name)).collect()
    }

    /// Time passes by the clocks that leases are measured on, and by no other.
    pub(super) fn leap(&mut self, milliseconds: u64) {
        self.servers.iter().for_each(|server| server.clock.advance(milliseconds));
        self.tick();
        self.trace.tell(|| format!("{milliseconds} ms pass by the clocks of leases"));
    }

    fn catch_up_with_time(&mut self) {
        let mut behind = 0;
        for shard in self.numbers() {
            let now = self.now_of(shard);
            let newest = self.ledgers_of(shard).map(|ledger| ledger.time()).max();
            behind = behind.max(newest.zip(now).map_or(0, |(newest, now)| newest.since(now)));
        }
        self.leap(behind);
    }

    /// Expiry may have consequences that expire as well.
    fn expire_all(&mut self, name: usize, shard: u32) -> Audit {
        for _ in 0..CAUSES_MAX {
            self.expire(name, shard)?;
            let open =
                self.servers[name].open(shard).ok_or_else(|| broken("it serves no longer"))?;
            let is_done = open.shard.machine().open_group_size().0 == 0;
            self.flush(name, shard)?;
            if is_done {
                return Ok(());
            }
        }
        Err(broken(format!("after {CAUSES_MAX} rounds time still causes something")))
    }

    fn chores(&mut self, name: usize, shard: u32) -> Audit {
        for _ in 0..CHORES_MAX {
            let open =
                self.servers[name].open(shard).ok_or_else(|| broken("it serves no longer"))?;
            if open.shard.next_compaction_job().is_none() {
                return Ok(());
            }
            self.do_chore(name, shard)?;
        }
        Err(broken(format!("{CHORES_MAX} chores were done and there is more to do")))
    }
}

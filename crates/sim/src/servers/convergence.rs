//! The end of a seed: faults stop, one server serves, and everything that is due must happen.

use baton::clock::Clock;

use super::Fleet;
use super::requests::Pending;
use crate::auditor::{Audit, demand};
use crate::world::broken;

/// How long it takes at most until one server serves and nothing waits.
const SETTLED_MS: u64 = 60_000;
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
            server.armed = [None; 4];
            (server.stops_in_maintenance, server.is_cut_after_beat) = (false, false);
            server.set_cut(false);
            if server.life.is_none() {
                server.join(&self.database, name);
            }
        }
        let name = self.settle()?;
        self.catch_up_with_time();
        for _ in 0..LAST_ACTS {
            self.act()?;
            self.absorb()?;
        }
        for _ in 0..ROUNDS {
            self.leap(ROUND_MS);
            self.pass_time(400)?;
            self.expire_all(name)?;
            self.chores(name)?;
            let now = self.servers[name].clock.now();
            for (_, ledger) in self.auditor.ledgers() {
                ledger.age(now);
                ledger.check_overdue(now)?;
            }
        }
        demand!(self.serving.is_some_and(|(last, _)| last == name), "the owner changed in peace");
        let left = self.pending.first().map(Pending::words);
        demand!(left.is_none(), "a request is still not answered: {left:?}");
        for (_, ledger) in self.auditor.ledgers() {
            ledger.check_nothing_held()?;
        }
        self.inspect()
    }

    /// Waits until one server serves, and nothing waits anywhere.
    fn settle(&mut self) -> Audit<usize> {
        let mut left = SETTLED_MS;
        while left > 0 {
            self.pass_time(100)?;
            self.retire_lost();
            left -= 100;
            let is_calm = self.servers.iter().all(super::Server::is_calm);
            let serving = self.serving.map(|(name, _)| name).filter(|name| self.is_owner(*name));
            let Some(name) = serving.filter(|_| is_calm && self.database.has_owner()) else {
                continue;
            };
            let open = self.servers[name].open();
            let others = self.servers.iter().filter(|server| server.open().is_some()).count();
            if others == 1 && open.is_some_and(|open| open.shard.check_serving().is_ok()) {
                return Ok(name);
            }
        }
        Err(broken("after a minute without faults no server serves"))
    }

    /// Time passes by the clocks that leases are measured on, and by no other.
    pub(super) fn leap(&mut self, milliseconds: u64) {
        self.servers.iter().for_each(|server| server.clock.advance(milliseconds));
        self.tick();
        self.trace.tell(|| format!("{milliseconds} ms pass by the clocks of leases"));
    }

    fn catch_up_with_time(&mut self) {
        let newest = self.auditor.ledgers().map(|(_, ledger)| ledger.time()).max();
        let now = self.serving.map(|(name, _)| self.servers[name].clock.now());
        let behind = newest.zip(now).map_or(0, |(newest, now)| newest.since(now));
        self.leap(behind);
    }

    /// Expiry may have consequences that expire as well.
    fn expire_all(&mut self, name: usize) -> Audit {
        for _ in 0..CAUSES_MAX {
            self.expire(name)?;
            let open = self.servers[name].open().ok_or_else(|| broken("it serves no longer"))?;
            let is_done = open.shard.machine().open_group_size().0 == 0;
            self.flush(name)?;
            if is_done {
                return Ok(());
            }
        }
        Err(broken(format!("after {CAUSES_MAX} rounds time still causes something")))
    }

    fn chores(&mut self, name: usize) -> Audit {
        for _ in 0..CHORES_MAX {
            let open = self.servers[name].open().ok_or_else(|| broken("it serves no longer"))?;
            if open.shard.next_compaction_job().is_none() {
                return Ok(());
            }
            self.do_chore(name)?;
        }
        Err(broken(format!("{CHORES_MAX} chores were done and there is more to do")))
    }
}

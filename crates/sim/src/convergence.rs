//! The end of a seed: faults stop, and everything that is due must happen.
//!
//! 1. Every request is answered or its outcome known.
//! 2. Every expired entry is deleted, and every silent agent is lost, although only time passes.
//! 3. Every hold ends in time, and every waiting call is answered.
//! 4. Every watcher has received everything.
//! 5. The log is as short as its settings require, and no maintenance is pending.

use baton::clock::Clock;
use baton_log::Log;

use crate::auditor::{Audit, demand};
use crate::world::{World, broken};

/// Rounds until everything is due: twice the longest time to live, and some more.
const ROUNDS: u64 = 18;
/// Requests that agents still make before they stop.
const LAST_ACTS: u64 = 30;
/// The maximum length of a chain of causes.
const CAUSES_MAX: usize = 100;
/// Time that passes in each.
const ROUND_MS: u64 = 100_000;
/// The maximum number of maintenance tasks in one round.
const CHORES_MAX: usize = 300;

impl World {
    /// Runs until nothing is pending.
    pub(crate) fn converge(&mut self) -> Audit {
        self.trace.begin_step(self.steps + 1);
        self.trace.tell(|| "from here on nothing fails".to_owned());
        self.free();
        // A fork of the disk drops planned failures that did not happen.
        let survivor = self.disk.fork();
        self.restart_calmly(survivor)?;
        self.catch_up_with_time();
        // Some start to wait, and must be answered although no other agent acts any more.
        for _ in 0..LAST_ACTS {
            self.act()?;
            self.absorb()?;
        }
        self.settle_all()?;
        for _ in 0..ROUNDS {
            self.pass_time(ROUND_MS);
            self.expire_all()?;
            demand!(self.flush()?, "a flush failed although faults have stopped");
            self.chores()?;
            let now = self.clock.now();
            for (_, ledger) in self.auditor.ledgers() {
                ledger.age(now);
                ledger.check_overdue(now)?;
            }
        }
        demand!(self.pending.is_empty(), "a request is still not answered");
        self.nothing_is_overdue()?;
        self.drain_watchers()?;
        self.chores()?;
        self.disk_is_bounded()?;
        self.compare()?;
        self.check_no_secret_stored()?;
        for (path, _) in self.disk.files() {
            let bytes = self.disk.contents(&path).unwrap_or_default();
            self.trace.sum(path.to_string_lossy().as_bytes());
            self.trace.sum(&bytes);
        }
        Ok(())
    }

    /// Expiry may have consequences that expire as well: an expired lease makes a task ready, and a
    /// failed task cancels its dependents.
    fn expire_all(&mut self) -> Audit {
        for _ in 0..CAUSES_MAX {
            self.expire()?;
            self.settle_all()?;
            let is_done = self.server().shard.machine().open_group_size().0 == 0;
            demand!(self.flush()?, "a flush failed although faults have stopped");
            if is_done {
                return Ok(());
            }
        }
        Err(broken(format!("after {CAUSES_MAX} rounds time still causes something")))
    }

    /// A clock that was set back is behind the log; until it has caught up, time does not advance
    /// there and nothing becomes due.
    fn catch_up_with_time(&mut self) {
        let newest = self.auditor.ledgers().map(|(_, ledger)| ledger.time()).max();
        let behind = newest.map_or(0, |newest| newest.since(self.clock.now()));
        self.pass_time(behind);
    }

    fn chores(&mut self) -> Audit {
        for _ in 0..CHORES_MAX {
            if self.server().capture.is_none()
                && self.server().shard.next_compaction_job().is_none()
            {
                return Ok(());
            }
            self.do_chore()?;
            self.absorb()?;
        }
        let chore = self.server().shard.next_compaction_job();
        Err(broken(format!("{CHORES_MAX} chores were done and {chore:?} is still to do")))
    }

    fn nothing_is_overdue(&mut self) -> Audit {
        let now = self.clock.now();
        for (workspace, ledger) in self.auditor.ledgers() {
            let head = ledger.head();
            for ((namespace, key), fact) in ledger.facts(head) {
                let end = fact.expires_at;
                demand!(
                    end.is_none_or(|moment| moment > now),
                    "`{workspace}`: `{namespace}/{key}` should have expired at {end:?}, it is {now}"
                );
                demand!(
                    fact.bound_to.is_none(),
                    "`{workspace}`: `{namespace}/{key}` is bound to no session"
                );
            }
            ledger.check_nothing_held()?;
            let active = ledger.active_agents();
            demand!(
                active.is_empty(),
                "`{workspace}`: {active:?} are silent but not lost at {now}"
            );
        }
        Ok(())
    }

    fn disk_is_bounded(&mut self) -> Audit {
        let log = &self.server().log;
        let bytes = log.tail().0 - log.start().0;
        let max = self.plan.options.log_bytes_max + 2 * self.plan.segment_bytes;
        demand!(bytes <= max, "the log has {bytes} bytes after all chores, at most {max} are due");
        Ok(())
    }
}

//! Faults: what happens to the process, the power, the disk and the clock.
//!
//! | fault | what is lost |
//! |---|---|
//! | kill | memory; no destructor runs, the disk's cache stays |
//! | close | nothing; the process shuts down cleanly |
//! | power cut | memory, and a random part of what was not synced |
//! | power cut soon | the same, in the middle of some disk operation |
//! | fail soon | one disk operation fails; the server must stop, or continue unharmed |
//! | fill | writes that need space fail until the disk is freed |
//! | flipped bit | one bit of a stored file, on a copy; it must be refused, or be irrelevant |

use baton::clock::Clock;
use baton::error::Error;
use baton_core::Timestamp;
use baton_log::faulty::{FaultyDisk, Operation};

use crate::auditor::{Audit, demand};
use crate::recovery::{archived, lost_by_corruption, read_all};
use crate::world::{World, broken, is_excused};

/// Attempts to open a server while single operations fail.
const ATTEMPTS_MAX: usize = 12;

impl World {
    /// The process ends at once.
    pub(crate) fn kill(&mut self) -> Audit {
        self.faults += 1;
        self.coverage.met("fault: process killed");
        self.trace.tell(|| "the process is killed".to_owned());
        // The copy is the disk at this time: destructors that run now do not reach it.
        let survivor = self.disk.fork();
        self.restart(survivor)
    }

    /// The process shuts down cleanly.
    pub(crate) fn close(&mut self) -> Audit {
        self.trace.tell(|| "the server is closed".to_owned());
        self.flush()?;
        self.server().shard.close_waiters();
        self.absorb()?;
        let unknown = self.end_server();
        let survivor = self.disk.fork();
        self.disk = survivor;
        self.start(unknown)
    }

    /// The power is cut between two operations.
    pub(crate) fn power_cut(&mut self) -> Audit {
        self.coverage.met("fault: power cut between steps");
        self.restart_after_power_cut()
    }

    /// Power is cut and restored.
    pub(crate) fn restart_after_power_cut(&mut self) -> Audit {
        self.faults += 1;
        self.trace.tell(|| "the power is cut".to_owned());
        let survivor = self.disk.fork();
        let before = sizes_and_sums(&survivor);
        survivor.crash(self.rng.next());
        if before != sizes_and_sums(&survivor) {
            self.coverage.met("open: torn tail or lost cache");
        }
        self.restart(survivor)
    }

    /// The power will be cut during one of the next disk operations.
    pub(crate) fn power_cut_soon(&mut self) {
        let total = self.disk.counts().total;
        let index = total + self.rng.below(60);
        self.trace.tell(|| format!("the power will go at operation {index}, {total} so far"));
        self.disk.stop_at(index);
    }

    /// One of the next disk operations fails.
    pub(crate) fn fail_soon(&mut self) {
        self.faults += 1;
        let counts = self.disk.counts();
        if self.rng.once_in(3) {
            let index = counts.total + self.rng.below(40);
            self.trace.tell(|| format!("operation {index} will fail"));
            self.disk.fail_at(index);
            return;
        }
        let operation = *self.rng.pick(&[
            Operation::Write,
            Operation::Sync,
            Operation::Name,
            Operation::Read,
            Operation::Open,
        ]);
        let nth = counts.of(operation) + self.rng.below(8);
        self.trace.tell(|| format!("{operation:?} number {nth} will fail"));
        self.disk.fail_nth(operation, nth);
    }

    /// The disk becomes full, or is freed.
    pub(crate) fn fill(&mut self) {
        if self.full {
            self.free();
            return;
        }
        self.faults += 1;
        self.full = true;
        self.coverage.met("fault: disk full");
        let room = self.rng.below(6_000);
        self.trace.tell(|| format!("the disk has {room} bytes left"));
        self.disk.set_capacity(Some(self.disk.bytes_used() + room));
    }

    pub(crate) fn free(&mut self) {
        self.full = false;
        self.trace.tell(|| "the disk is freed".to_owned());
        self.disk.set_capacity(None);
    }

    /// Restarts on what is left of the disk.
    fn restart(&mut self, survivor: FaultyDisk) -> Audit {
        let unknown = self.end_server();
        self.disk = survivor;
        if self.rng.once_in(6) {
            let back = self.rng.between(1, 5 * 3_600_000);
            let now = self.clock.now();
            self.clock.set(Timestamp(now.0 - back));
            self.coverage.met("fault: clock set back");
            self.trace.tell(|| format!("the clock is set back by {back} ms"));
        }
        if self.rng.once_in(4) {
            let index = self.disk.counts().total + self.rng.below(25);
            self.disk.fail_at(index);
        }
        self.start(unknown)
    }

    /// Restarts without further faults.
    pub(crate) fn restart_calmly(&mut self, survivor: FaultyDisk) -> Audit {
        let unknown = self.end_server();
        self.disk = survivor;
        self.start(unknown)
    }

    /// Everything in memory is lost. Returns the bytes whose outcome is unknown.
    fn end_server(&mut self) -> Option<Vec<u8>> {
        let server = self.server.take().expect("a server runs between steps");
        self.pending.clear();
        self.stays.clear();
        self.agents.iter_mut().for_each(|agent| agent.waiting = 0);
        self.watchers.iter_mut().for_each(crate::actors::watch::Watcher::cut_off);
        self.stopped_for = 0;
        server.log.unknown()
    }

    /// Opens a server, with as many attempts as necessary, and checks that everything exists.
    pub(crate) fn start(&mut self, unknown: Option<Vec<u8>>) -> Audit {
        for _ in 0..ATTEMPTS_MAX {
            match self.open_on(&self.disk) {
                Ok(server) => {
                    self.server = Some(server);
                    let now = self.clock.now();
                    self.trace.tell(|| format!("the server is up, it is {now}"));
                    return self.recover(unknown);
                }
                Err(error) => {
                    demand!(
                        is_excused(&error),
                        "the server does not start although the disk is well: {error}"
                    );
                    self.coverage.met("fault: error while opening");
                    self.trace.tell(|| format!("the server does not start: {error}"));
                    if self.full {
                        self.free();
                    }
                }
            }
        }
        Err(broken("the server does not start"))
    }

    /// A bit is flipped on a copy of the disk.
    pub(crate) fn flip_bit(&mut self) -> Audit {
        if self.server().shard.watermark().stopped().is_some() || !self.flush()? {
            return Ok(());
        }
        let disk = self.disk.fork();
        disk.set_capacity(None);
        let files = disk.files();
        let (path, bytes) = self.rng.pick(&files).clone();
        if bytes == 0 {
            return Ok(());
        }
        let bit = self.rng.below(bytes * 8);
        disk.flip_bit(&path, bit);
        self.faults += 1;
        self.trace.tell(|| format!("bit {bit} of `{}` rots", path.display()));
        let verdict = self.check_corrupted(&disk)?;
        if let Some(error) = verdict {
            self.coverage.met("fault: flipped bit refused");
            self.trace.tell(|| format!("   it is refused: {error}"));
        }
        Ok(())
    }

    /// A server on a corrupted disk returns correct data or an error.
    fn check_corrupted(&mut self, disk: &FaultyDisk) -> Audit<Option<Error>> {
        let fresh = match self.open_on(disk) {
            Ok(fresh) => fresh,
            Err(error) => return Ok(Some(error)),
        };
        let Ok(ours) = read_all(self.server()) else { return Ok(None) };
        let lost = match lost_by_corruption(&ours, &fresh)? {
            Ok(lost) => lost,
            Err(error) => return Ok(Some(error)),
        };
        for workspace in self.plan.workspaces.clone() {
            let head = self.auditor.ledger(&workspace).head();
            let in_log = head - lost.get(&workspace).copied().unwrap_or(0);
            let head = match archived(&fresh, &workspace) {
                Ok(archived) => in_log.max(archived),
                Err(error) => return Ok(Some(error)),
            };
            let shown = self.show(&fresh, &workspace, head);
            if let Err(error) = shown? {
                return Ok(Some(error));
            }
        }
        Ok(None)
    }
}

/// Enough to detect whether a power cut has removed something.
fn sizes_and_sums(disk: &FaultyDisk) -> Vec<(u64, u64)> {
    let files = disk.files();
    let sum = |bytes: &[u8]| {
        bytes.iter().fold(7_u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(u64::from(*byte)))
    };
    let summed = files
        .iter()
        .map(|(path, length)| (*length, disk.contents(path).map_or(0, |bytes| sum(&bytes))));
    summed.collect()
}

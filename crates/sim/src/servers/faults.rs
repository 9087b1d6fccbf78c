//! Faults: what happens to servers, to their connections and to the database.
//!
//! | fault | what happens |
//! |---|---|
//! | pause | a server does nothing, and does not know; its clocks go on |
//! | cut | its statements are lost |
//! | delay | one statement is executed late, or answered late |
//! | drop | one request or answer is lost, or a request arrives after it was given up |
//! | kill | a server ends at once; the log is not given back |
//! | drain | a server gives the log back; of several shards, an operator drains it, or it leaves |
//! | take | the next request for a shard, or its answer, is lost or late |
//! | restart of the database | all connections break, heartbeats that were not synced are lost |

use std::sync::atomic::Ordering;

use baton_log::ownership::BEAT_MS;
use baton_log::shared::Link;

use super::job::Fault;
use super::plan::Step;
use super::server::{Done, SLOTS, Slot};
use super::{Fleet, PIECE_MS};
use crate::auditor::Audit;

/// What agents do before the licence of an owner ends that was wrongly declared gone.
const ACTIONS_AFTER_BLINDNESS: usize = 16;

impl Fleet {
    pub(super) fn fail(&mut self, step: Step) -> Audit {
        let name = self.victim();
        self.trace.tell(|| format!("{step:?} of server {name}"));
        match step {
            Step::Pause => return self.pause(name),
            Step::Wake => self.servers[name].is_paused = false,
            Step::Cut => {
                self.coverage.met("servers: cut off");
                self.servers[name].set_cut(true);
            }
            Step::Heal => self.servers[name].set_cut(false),
            Step::DelayAppend => {
                self.coverage.met("servers: delayed append");
                let fault = self.delay(&[300, 1_500, 4_000]);
                self.servers[name].armed[Slot::Flush as usize] = Some((0, fault));
            }
            Step::DropAnswer => {
                let faults =
                    [Fault::LoseAnswer, Fault::LoseAnswer, Fault::LoseRequest, Fault::Late];
                let fault = *self.rng.pick(&faults);
                self.servers[name].armed[Slot::Flush as usize] = Some((0, fault));
            }
            Step::DelayKeep => {
                let (before, fault) = (self.rng.below(5), self.delay(&[300, 3_000, 6_000]));
                let stops = self.rng.once_in(2);
                let server = &mut self.servers[name];
                server.armed[Slot::Keep as usize] = Some((before, fault));
                server.stops_in = stops.then_some(Slot::Keep);
            }
            Step::DelayTake => {
                let faults = [Fault::LoseAnswer, Fault::LoseRequest, Fault::Late];
                let delays = [self.delay(&[300, 1_500, 4_000]), *self.rng.pick(&faults)];
                let before = self.rng.below(3);
                let fault = (before, *self.rng.pick(&delays));
                self.servers[name].armed[Slot::Take as usize] = Some(fault);
            }
            Step::DelayBeat if self.servers[name].held().is_empty() => self.delay_look(name),
            Step::DelayBeat => {
                let fault = self.delay(&[200, 1_000, 1_400]);
                let is_cut = self.rng.once_in(2);
                let server = &mut self.servers[name];
                let is_member = server.membership().is_some();
                let slot = if is_member { Slot::Look } else { Slot::Beat };
                server.armed[slot as usize] = Some((0, fault));
                server.is_cut_after_beat = is_cut;
            }
            Step::Kill => self.kill(name),
            Step::Drain if self.servers[name].membership().is_some() => self.drain_member(name),
            Step::Drain => return self.drain(name),
            Step::Join => {
                if self.servers[name].life.is_none() {
                    self.servers[name].join(&self.database, name);
                }
                return Ok(());
            }
            Step::DatabaseRestart if self.rng.once_in(2) => return self.restart_while_blind(name),
            Step::DatabaseRestart => self.restart_database(),
            other => unreachable!("{other:?} is no fault"),
        }
        self.faults += 1;
        Ok(())
    }

    /// A server without shards meets a fault when it looks for some, or opens the only one.
    fn delay_look(&mut self, name: usize) {
        let (before, fault) = (self.rng.below(8), self.delay(&[300, 1_500, 5_000]));
        let (is_opening, stops) = (self.rng.once_in(4), self.rng.once_in(2));
        let server = &mut self.servers[name];
        if is_opening && server.membership().is_none() {
            server.armed_opening = Some((before, fault));
            server.stops_in = stops.then_some(Slot::Look);
        } else {
            server.armed[Slot::Look as usize] = Some((before, fault));
        }
    }

    /// Half of all faults happen to the server that serves, or serves one of several shards.
    fn victim(&mut self) -> usize {
        let shard = if self.shards.len() > 1 { self.rng.index(self.shards.len()) } else { 0 };
        match self.shards[shard].serving {
            Some((name, _)) if self.rng.once_in(2) => name,
            Some(_) | None => self.rng.index(self.servers.len()),
        }
    }

    fn delay(&mut self, choices: &[u64]) -> Fault {
        let ms = *self.rng.pick(choices);
        if self.rng.once_in(2) { Fault::DelayRequest(ms) } else { Fault::DelayAnswer(ms) }
    }

    /// A server is stopped, sometimes within something.
    fn pause(&mut self, name: usize) -> Audit {
        self.faults += 1;
        self.coverage.met("servers: paused");
        let held = self.servers[name].held();
        if !held.is_empty() && !self.servers[name].is_paused {
            let shard = if held.len() > 1 { *self.rng.pick(&held) } else { held[0] };
            let fault = self.delay(&[PIECE_MS]);
            match self.rng.below(3) {
                0 => {}
                1 => {
                    self.servers[name].armed[Slot::Flush as usize] = Some((0, fault));
                    self.flush(name, shard)?;
                }
                _ => {
                    let before = self.rng.below(14);
                    self.servers[name].armed[Slot::Keep as usize] = Some((before, fault));
                    self.do_chore(name, shard)?;
                }
            }
        }
        self.servers[name].is_paused = true;
        Ok(())
    }

    /// A server ends at once.
    fn kill(&mut self, name: usize) {
        self.coverage.met("servers: killed");
        let server = &mut self.servers[name];
        server.jobs.clear();
        server.armed = [None; SLOTS.len()];
        (server.stops_in, server.is_cut_after_beat) = (None, false);
        server.life = None;
        server.is_paused = false;
    }

    /// A server writes what it has, gives the log back, and waits for it again.
    fn drain(&mut self, name: usize) -> Audit {
        let server = &self.servers[name];
        if server.open(0).is_none() || !server.is_calm() {
            return Ok(());
        }
        self.coverage.met("servers: drained");
        self.flush(name, 0)?;
        let Some(open) = self.servers[name].open(0).cloned() else { return Ok(()) };
        open.shard.close_waiters();
        self.absorb()?;
        let given = self.servers[name].run(Slot::Keep, 0, move || {
            open.log.log.close();
            Done::Given(0)
        });
        if given.is_some() && self.servers[name].open(0).is_some() {
            self.servers[name].join(&self.database, name);
        }
        Ok(())
    }

    /// A server leaves, or an operator drains it, or undoes that.
    fn drain_member(&mut self, name: usize) {
        let leaves = self.rng.once_in(2);
        let server = &mut self.servers[name];
        let member = server.membership().and_then(|it| it.member.clone());
        let Some(member) = member.filter(|_| !server.is_busy(Slot::Beat, 0)) else { return };
        if leaves {
            let now_ms = server.link.now_ms();
            if let Some(membership) = server.membership_mut() {
                membership.begin_to_leave(now_ms);
            }
        } else {
            self.coverage.met("servers: drained");
        }
        let servers = self.database.servers();
        let is_drained = servers.iter().any(|it| it.id == member.id() && it.is_drained);
        self.servers[name].run(Slot::Beat, 0, move || {
            // Without an answer it may be recorded all the same.
            let _ = if leaves {
                member.announce_leaving()
            } else {
                member.set_drained(member.id(), !is_drained)
            };
            Done::Announced
        });
    }

    /// A standby cannot see the heartbeats of the owner; then the database loses them, and the
    /// owner is cut off.
    fn restart_while_blind(&mut self, name: usize) -> Audit {
        self.faults += 1;
        let mut serving = self.shards.iter().filter_map(|shard| shard.serving);
        let Some((owner, _)) = serving.find(|(owner, _)| *owner != name) else {
            self.restart_database();
            return Ok(());
        };
        // An append has just been written: the heartbeats before it are on disk.
        self.database.sync();
        self.servers[name].set_cut(true);
        self.pass_time(1_900)?;
        self.database.restart();
        self.network.restarts.fetch_add(1, Ordering::SeqCst);
        self.servers[name].set_cut(false);
        self.servers[owner].set_cut(true);
        // Three heartbeats: to find the connection broken, to look again, and to take the log. The
        // owner, which sent its last one before the restart, still has its licence then.
        self.pass_time(3 * BEAT_MS)?;
        for _ in 0..ACTIONS_AFTER_BLINDNESS {
            self.act()?;
            self.some_serving(Self::flush)?;
            self.absorb()?;
        }
        Ok(())
    }

    /// The database crashes, and is started again.
    fn restart_database(&mut self) {
        self.coverage.met("servers: database restarted");
        // What is older than a moment is on disk.
        if self.rng.once_in(3) {
            self.database.sync();
        }
        self.database.restart();
        self.network.restarts.fetch_add(1, Ordering::SeqCst);
    }
}

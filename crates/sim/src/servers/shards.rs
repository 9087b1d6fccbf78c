//! Several shards: servers take and give them as placement says, and no shard may remain without a
//! server while one could serve it.

use std::collections::{BTreeMap, BTreeSet};

use baton_cluster::placement::Act;
use baton_log::shared::{Link, SeenServer};

use super::server::{Done, Server, Slot};
use super::{Fleet, PIECE_MS};
use crate::auditor::{Audit, demand};

/// How long a shard may be without a server that serves it while every server that is not gone
/// works: a shard that could not be opened is tried again after five seconds, and a server has to
/// beat a few times before others give it shards.
const UNSERVED_MS_MAX: u64 = 8_000;

impl Fleet {
    /// A server acts on what it has seen.
    pub(super) fn place(&mut self, name: usize) -> Audit {
        let server = &mut self.servers[name];
        let (now_ms, held) = (server.link.now_ms(), server.held_set());
        let Some(membership) = server.membership_mut() else { return Ok(()) };
        for act in membership.acts(&held, now_ms) {
            let (Act::Take { shard, .. } | Act::Give { shard }) = act;
            if self.servers[name].is_busy_with(shard) {
                continue;
            }
            match act {
                Act::Take { shard, epoch } => self.take_shard(name, shard, epoch)?,
                Act::Give { shard } => self.give_shard(name, shard)?,
            }
        }
        self.end_if_left(name)
    }

    fn take_shard(&mut self, name: usize, shard: u32, epoch: i64) -> Audit {
        let server = &mut self.servers[name];
        let owner = self.database.owner(shard);
        if owner.is_some() && owner == server.member_id() {
            self.coverage.met("shards: taken again");
        }
        let done = server.take(shard, epoch, &self.plan.options);
        done.map_or(Ok(()), |done| self.finish(name, done))
    }

    /// A server writes what it has, and gives a shard back.
    fn give_shard(&mut self, name: usize, shard: u32) -> Audit {
        self.flush(name, shard)?;
        let Some(open) = self.servers[name].open(shard).cloned() else { return Ok(()) };
        let is_written = open.shard.machine().open_group_size().0 == 0;
        if self.servers[name].is_busy_with(shard) || !is_written {
            return Ok(());
        }
        self.trace.tell(|| format!("server {name} gives shard {shard} back"));
        self.coverage.met("shards: given");
        open.shard.close_waiters();
        self.absorb()?;
        let given = self.servers[name].run(Slot::Keep, shard, move || {
            open.log.log.close();
            Done::Given(shard)
        });
        given.map_or(Ok(()), |done| self.finish(name, done))
    }

    /// A server has given a shard back, or lost it.
    pub(super) fn given(&mut self, name: usize, shard: u32) {
        // The only shard is left to its engine until that has noticed.
        if self.servers[name].membership().is_none() {
            return;
        }
        if let Some(life) = &mut self.servers[name].life {
            life.held.remove(&shard);
        }
        self.ended(name, shard, false);
    }

    /// What a server did with a shard has ended.
    pub(super) fn ended(&mut self, name: usize, shard: u32, has_failed: bool) {
        let server = &mut self.servers[name];
        let now_ms = server.link.now_ms();
        if let Some(membership) = server.membership_mut() {
            membership.ended(shard, now_ms, has_failed);
        }
    }

    /// A server that was declared gone, and has noticed, joins again.
    pub(super) fn join_again(&mut self, name: usize) {
        let server = &mut self.servers[name];
        let is_gone = server.membership().is_some_and(super::member::Membership::is_gone);
        let is_calm = server.jobs.is_empty() && !server.is_paused;
        if is_gone && is_calm && server.held().is_empty() {
            self.trace.tell(|| format!("server {name} joins again"));
            self.coverage.met("shards: joined again");
            server.join(&self.database, name);
        }
    }

    /// A server that leaves ends when others have its shards, or nobody else can.
    fn end_if_left(&mut self, name: usize) -> Audit {
        let server = &self.servers[name];
        let (is_empty, now_ms) = (server.held().is_empty(), server.link.now_ms());
        let may_end = server.membership().is_some_and(|it| it.may_end(is_empty, now_ms));
        if !may_end || !server.is_calm() {
            return Ok(());
        }
        for shard in server.held() {
            self.flush(name, shard)?;
            if let Some(open) = self.servers[name].open(shard) {
                open.shard.close_waiters();
            }
        }
        self.absorb()?;
        if !self.servers[name].is_calm() {
            return Ok(());
        }
        let member = self.servers[name].membership().and_then(|it| it.member.clone());
        self.trace.tell(|| format!("server {name} leaves"));
        self.coverage.met("shards: left");
        if let Some(member) = member {
            member.leave();
        }
        self.servers[name].life = None;
        Ok(())
    }

    /// No shard remains without a server that serves it while one could.
    pub(super) fn check_served(&mut self) -> Audit {
        if self.shards.len() == 1 {
            return Ok(());
        }
        let servers = self.database.servers();
        let can_one = servers.iter().any(|server| !server.is_leaving);
        let do_all_work = can_one && servers.iter().all(|server| self.works(server));
        for shard in self.numbers() {
            let is_served = !do_all_work || self.is_served(shard);
            let unserved_ms = &mut self.shards[shard as usize].unserved_ms;
            *unserved_ms = if is_served { 0 } else { *unserved_ms + PIECE_MS };
            demand!(
                *unserved_ms <= UNSERVED_MS_MAX,
                "for {UNSERVED_MS_MAX} ms no server serves shard {shard}, and every server works"
            );
        }
        Ok(())
    }

    /// Whether nothing is wrong with a server of the roster.
    fn works(&self, seen: &SeenServer) -> bool {
        let server = self.servers.iter().find(|server| server.member_id() == Some(seen.id));
        server.is_some_and(|server| server.is_calm() && server.has_lost_none())
    }

    /// Whether the server that owns a shard serves it.
    pub(super) fn is_served(&self, shard: u32) -> bool {
        let Some(owner) = self.database.owner(shard) else { return false };
        let server = self.servers.iter().find(|server| server.member_id() == Some(owner));
        let open = server.and_then(|server| server.open(shard));
        open.is_some_and(|open| open.shard.check_serving().is_ok())
    }

    /// Whether all servers agree, and want nothing more.
    pub(super) fn is_placed(&self) -> bool {
        let servers = self.database.servers();
        let is_content = |server: &Server| {
            let seen = server.member_id().is_some_and(|id| servers.iter().any(|it| it.id == id));
            let membership = server.membership().filter(|it| seen && !it.is_leaving());
            membership.is_some_and(|it| it.is_content(&server.held_set()))
        };
        let engines: usize = self.servers.iter().map(|server| server.held().len()).sum();
        servers.len() == self.servers.len()
            && engines == self.shards.len()
            && self.servers.iter().all(|server| server.is_calm() && is_content(server))
            && self.numbers().all(|shard| self.is_served(shard))
    }

    /// Nobody has more than its share, and those that are drained have nothing while others can.
    pub(super) fn check_shares(&self) -> Audit {
        let servers = self.database.servers();
        let undrained = servers.iter().filter(|server| !server.is_drained).count();
        let able = if undrained == 0 { servers.len() } else { undrained };
        let share = self.shards.len().div_ceil(able);
        let mut counts = BTreeMap::new();
        for owner in self.numbers().filter_map(|shard| self.database.owner(shard)) {
            *counts.entry(owner).or_insert(0) += 1;
        }
        for server in &servers {
            let most = if server.is_drained && undrained > 0 { 0 } else { share };
            let count = counts.get(&server.id).copied().unwrap_or(0);
            demand!(count <= most, "server {} has {count} shards of {most}", server.id);
        }
        Ok(())
    }
}

impl Server {
    /// Its number in the roster.
    pub(super) fn member_id(&self) -> Option<u64> {
        Some(self.membership()?.member.as_ref()?.id())
    }

    fn held_set(&self) -> BTreeSet<u32> {
        self.held().into_iter().collect()
    }

    fn has_lost_none(&self) -> bool {
        let Some(life) = &self.life else { return false };
        life.held.values().all(|serving| !serving.is_lost())
    }
}

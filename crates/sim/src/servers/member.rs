//! A server as one of those that place several shards among themselves: its heartbeats, what it has
//! seen, and what it does about that.
//!
//! It follows the same rules as `baton serve` on a database: servers are judged by
//! [`Observations`], and shards are taken and given as [`placement`] says.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use baton_cluster::placement::{self, Act};
use baton_cluster::{Observations, ServerRow, ShardRow, View};
use baton_log::planted;
use baton_log::shared::{Broken, Link, Member, SeenServer, SharedMemory};

/// How often a server looks whether it has the shards that it should have.
const ACT_EVERY_MS: u64 = 100;
/// How long to wait before a shard that cannot be opened is tried again.
const RETRY_MS: u64 = 5_000;
/// How long a server may take to give its shards to others before it ends.
const LEAVING_MS_MAX: u64 = 20_000;

/// What sends heartbeats and looks. All statements are on one connection.
pub(super) struct Heart {
    database: SharedMemory,
    link: Arc<dyn Link>,
    address: String,
    pub(super) member: Option<Member>,
    observed: Observations,
}

impl Heart {
    pub(super) fn new(database: &SharedMemory, link: Arc<dyn Link>, address: &str) -> Self {
        let (database, address) = (database.clone(), address.to_owned());
        Self { database, link, address, member: None, observed: Observations::default() }
    }

    /// Sends a heartbeat, declares servers gone that were silent for too long, and looks.
    pub(super) fn look(&mut self) -> Result<View, Broken> {
        let seen = self.look_once();
        if seen.is_err() && !planted::is("shared.judges_while_blind") {
            // The connection is another one from now on.
            self.observed.reconnect();
        }
        seen
    }

    fn look_once(&mut self) -> Result<View, Broken> {
        let member = match &self.member {
            Some(member) => member.clone(),
            None => {
                let joined = Member::join(&self.database, Arc::clone(&self.link), &self.address)?;
                self.member.insert(joined).clone()
            }
        };
        let (looked_at_ms, me) = (self.link.now_ms(), member.id().to_string());
        if !member.beat()? {
            return Ok(View { me, is_gone: true, ..View::default() });
        }
        let mut servers = Vec::new();
        for seen in member.servers()? {
            let server = row(&seen, &self.address);
            if !self.is_declared_gone(&member, &seen, &server)? {
                servers.push(server);
            }
        }
        self.observed.keep(&servers);
        let shards = member.shards()?.into_iter().map(|shard| {
            ShardRow::seen(shard.epoch, shard.owner.map(|owner| owner.to_string()), &servers)
        });
        let shards = shards.collect();
        Ok(View { me, looked_at_ms, servers, shards, ..View::default() })
    }

    fn is_declared_gone(
        &mut self,
        member: &Member,
        seen: &SeenServer,
        server: &ServerRow,
    ) -> Result<bool, Broken> {
        if seen.id == member.id() || !self.observed.is_silent(server, self.link.now_ms()) {
            return Ok(false);
        }
        member.declare_gone(seen.id, seen.beat)
    }
}

fn row(seen: &SeenServer, address: &str) -> ServerRow {
    ServerRow {
        id: seen.id.to_string(),
        address: address.to_owned(),
        version: String::new(),
        beat: seen.beat,
        is_draining: seen.is_drained || seen.is_leaving,
        is_leaving: seen.is_leaving,
        age_ms: 0,
    }
}

/// What a member knows between two looks.
pub(super) struct Membership {
    /// None while it looks.
    pub(super) heart: Option<Box<Heart>>,
    pub(super) member: Option<Member>,
    pub(super) view: Option<View>,
    /// What was seen until then says nothing about the shard any more.
    not_before_ms: BTreeMap<u32, u64>,
    next_act_ms: u64,
    /// When it ends, at the latest, if it leaves.
    left_by_ms: Option<u64>,
}

impl Membership {
    pub(super) fn new(heart: Heart) -> Self {
        Self {
            heart: Some(Box::new(heart)),
            member: None,
            view: None,
            not_before_ms: BTreeMap::new(),
            next_act_ms: 0,
            left_by_ms: None,
        }
    }

    /// It has looked. Without an answer, what it saw before remains.
    pub(super) fn looked(&mut self, heart: Box<Heart>, seen: Result<View, Broken>) {
        self.member.clone_from(&heart.member);
        self.heart = Some(heart);
        if let Ok(view) = seen {
            self.view = Some(view);
        }
    }

    pub(super) fn is_gone(&self) -> bool {
        self.view.as_ref().is_some_and(|view| view.is_gone)
    }

    pub(super) fn is_leaving(&self) -> bool {
        self.left_by_ms.is_some()
    }

    pub(super) fn begin_to_leave(&mut self, now_ms: u64) {
        self.left_by_ms = Some(now_ms + LEAVING_MS_MAX);
    }

    /// What placement says, if it is time to act on it.
    pub(super) fn acts(&mut self, held: &BTreeSet<u32>, now_ms: u64) -> Vec<Act> {
        let Some(view) = self.view.as_ref().filter(|_| now_ms >= self.next_act_ms) else {
            return Vec::new();
        };
        self.next_act_ms = now_ms + ACT_EVERY_MS;
        let is_due = |act: &Act| {
            let (Act::Take { shard, .. } | Act::Give { shard }) = act;
            // A look of the same millisecond may have been earlier.
            let ended_ms = self.not_before_ms.get(shard);
            ended_ms.is_none_or(|ended_ms| view.looked_at_ms > *ended_ms)
        };
        placement::next(view, held).into_iter().filter(is_due).collect()
    }

    /// Whether placement wants nothing more of it.
    pub(super) fn is_content(&self, held: &BTreeSet<u32>) -> bool {
        self.view.as_ref().is_some_and(|view| placement::next(view, held).is_empty())
    }

    /// Something was done with a shard at this time.
    pub(super) fn ended(&mut self, shard: u32, now_ms: u64, has_failed: bool) {
        let pause_ms = if has_failed { RETRY_MS } else { 0 };
        self.not_before_ms.insert(shard, now_ms + pause_ms);
    }

    /// Whether it leaves, and nobody needs it any more.
    pub(super) fn may_end(&self, is_empty: bool, now_ms: u64) -> bool {
        let Some((view, deadline_ms)) = self.view.as_ref().zip(self.left_by_ms) else {
            return false;
        };
        let is_taken = |shard: &ShardRow| shard.owner.as_ref().is_some_and(|it| *it != view.me);
        let has_others = view.servers.iter().any(|it| it.id != view.me && !it.is_leaving);
        let is_handed_over = is_empty && view.shards.iter().all(is_taken);
        is_handed_over || !has_others || now_ms > deadline_ms
    }
}

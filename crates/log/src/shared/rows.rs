//! The tables of the database, and its statements.
//!
//! A statement is a method of [`Rows`], executed under one lock. Statements that change a log name
//! the epoch of their sender, and change nothing if it is not that of the owner. There is one log
//! for each shard, and one roster for all.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use crate::contract::{Position, Record};
use crate::ownership::{Look, Stored};
use crate::planted;

/// A database in memory. Clones share it.
#[derive(Clone, Debug)]
pub struct SharedMemory {
    rows: Arc<Mutex<Rows>>,
}

impl Default for SharedMemory {
    fn default() -> Self {
        Self::with_shards(1)
    }
}

/// A record that was inserted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Appended {
    /// Its position.
    pub position: Position,
    /// The epoch of its writer.
    pub epoch: i64,
    /// Its bytes.
    pub body: Arc<[u8]>,
}

/// The content of the tables.
#[derive(Clone, Debug)]
pub struct Rows {
    servers: BTreeMap<u64, Server>,
    next_server: u64,
    shards: Vec<Shard>,
}

/// The log of a shard.
#[derive(Clone, Debug, Default)]
struct Shard {
    epoch: i64,
    owner: Option<u64>,
    start: Position,
    records: BTreeMap<Position, (Stored, Arc<[u8]>)>,
    blobs: BTreeMap<String, (u64, Arc<[u8]>)>,
    next_blob: u64,
    /// Everything that was inserted since it was last asked for.
    appended: Vec<Appended>,
}

/// A server that has joined.
#[derive(Clone, Debug, Default)]
struct Server {
    address: String,
    beat: i64,
    /// Heartbeats wait for no disk: a crash may go back to this one.
    synced_beat: i64,
    is_gone: bool,
    is_drained: bool,
    is_leaving: bool,
}

/// A server that was not declared gone, as others see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeenServer {
    /// Its number, which is never used again.
    pub id: u64,
    /// The number of its last heartbeat.
    pub beat: i64,
    /// Whether an operator drains it.
    pub is_drained: bool,
    /// Whether it gives its shards back because it stops.
    pub is_leaving: bool,
}

/// A shard, as servers see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeenShard {
    /// How often it was taken.
    pub epoch: i64,
    /// Its owner, who may be gone.
    pub owner: Option<u64>,
}

/// The owner of a log.
#[derive(Clone, Debug)]
pub(super) struct Owner {
    pub(super) epoch: i64,
    pub(super) is_free: bool,
    pub(super) server: Option<u64>,
    pub(super) beat: i64,
    pub(super) address: String,
}

impl SharedMemory {
    /// A database with this many logs.
    #[must_use]
    pub fn with_shards(shards: u32) -> Self {
        let shards = (0..shards).map(|_| Shard::default()).collect();
        let rows = Rows { servers: BTreeMap::new(), next_server: 0, shards };
        Self { rows: Arc::new(Mutex::new(rows)) }
    }

    pub(super) fn rows(&self) -> MutexGuard<'_, Rows> {
        self.rows.lock().expect("no statement panics")
    }

    /// Executes a request that was late.
    pub fn execute(&self, work: super::Work) {
        work(&mut self.rows());
    }

    /// The database crashes and is started again: some heartbeats are lost, and all connections.
    /// The caller breaks those.
    pub fn restart(&self) {
        for server in self.rows().servers.values_mut() {
            server.beat = server.synced_beat;
        }
    }

    /// The last record of the first shard is lost, though it was acknowledged.
    pub fn lose_last(&self) {
        self.rows().shard_mut(0).records.pop_last();
    }

    /// The heartbeats so far are on disk.
    pub fn sync(&self) {
        self.rows().sync();
    }

    /// An operator declares every server gone.
    pub fn declare_all_gone(&self) {
        self.rows().servers.values_mut().for_each(|server| server.is_gone = true);
    }

    /// A copy that shares nothing.
    #[must_use]
    pub fn fork(&self) -> Self {
        let mut rows = self.rows().clone();
        rows.shards.iter_mut().for_each(|shard| shard.appended.clear());
        Self { rows: Arc::new(Mutex::new(rows)) }
    }

    /// The records of a shard that were inserted since the last time, in order.
    #[must_use]
    pub fn take_appended(&self, shard: u32) -> Vec<Appended> {
        std::mem::take(&mut self.rows().shard_mut(shard).appended)
    }

    /// Whether a shard has a blob of this name.
    #[must_use]
    pub fn has_blob(&self, shard: u32, name: &str) -> bool {
        self.rows().shard(shard).blobs.contains_key(name)
    }

    /// The present epoch of a shard.
    #[must_use]
    pub fn epoch(&self, shard: u32) -> i64 {
        self.rows().shard(shard).epoch
    }

    /// The server that owns a shard, if that is not gone.
    #[must_use]
    pub fn owner(&self, shard: u32) -> Option<u64> {
        let rows = self.rows();
        rows.shard(shard).owner.filter(|owner| rows.is_alive(*owner))
    }

    /// The shards, by number.
    #[must_use]
    pub fn shards(&self) -> Vec<SeenShard> {
        self.rows().seen_shards()
    }

    /// The servers that are not gone.
    #[must_use]
    pub fn servers(&self) -> Vec<SeenServer> {
        self.rows().seen_servers()
    }
}

impl Rows {
    fn shard(&self, shard: u32) -> &Shard {
        &self.shards[shard as usize]
    }

    fn shard_mut(&mut self, shard: u32) -> &mut Shard {
        &mut self.shards[shard as usize]
    }

    fn sync(&mut self) {
        self.servers.values_mut().for_each(|server| server.synced_beat = server.beat);
    }

    pub(super) fn join(&mut self, address: &str) -> u64 {
        self.next_server += 1;
        let server = Server { address: address.to_owned(), ..Server::default() };
        self.servers.insert(self.next_server, server);
        self.next_server
    }

    /// Whether the server is not gone.
    pub(super) fn beat(&mut self, server: u64) -> bool {
        let Some(server) = self.servers.get_mut(&server) else { return false };
        if server.is_gone && !planted::is("shared.revives_after_gone") {
            return false;
        }
        server.beat += 1;
        true
    }

    pub(super) fn seen_servers(&self) -> Vec<SeenServer> {
        let alive = self.servers.iter().filter(|(_, server)| !server.is_gone);
        let seen = |(id, server): (&u64, &Server)| SeenServer {
            id: *id,
            beat: server.beat,
            is_drained: server.is_drained,
            is_leaving: server.is_leaving,
        };
        alive.map(seen).collect()
    }

    pub(super) fn seen_shards(&self) -> Vec<SeenShard> {
        let seen = |shard: &Shard| SeenShard { epoch: shard.epoch, owner: shard.owner };
        self.shards.iter().map(seen).collect()
    }

    pub(super) fn owner(&self, shard: u32) -> Owner {
        let Shard { epoch, owner, .. } = *self.shard(shard);
        let server = owner.and_then(|owner| self.servers.get(&owner));
        Owner {
            epoch,
            is_free: server.is_none_or(|server| server.is_gone),
            server: owner,
            beat: server.map_or(0, |server| server.beat),
            address: server.map_or(String::new(), |server| server.address.clone()),
        }
    }

    /// Whether the server is gone, by this or before.
    pub(super) fn declare_gone(&mut self, server: u64, beat: i64) -> bool {
        self.sync();
        if let Some(server) = self.servers.get_mut(&server).filter(|server| server.beat == beat) {
            server.is_gone = true;
        }
        !self.is_alive(server)
    }

    /// An operator wishes that a server has no shards, or some again.
    pub(super) fn set_drained(&mut self, server: u64, is_drained: bool) {
        self.sync();
        if let Some(server) = self.servers.get_mut(&server) {
            server.is_drained = is_drained;
        }
    }

    pub(super) fn announce_leaving(&mut self, server: u64) {
        self.sync();
        if let Some(server) = self.servers.get_mut(&server) {
            server.is_leaving = true;
        }
    }

    /// The server ends, and gives everything back.
    pub(super) fn leave(&mut self, server: u64) {
        self.sync();
        for shard in self.shards.iter_mut().filter(|shard| shard.owner == Some(server)) {
            shard.owner = None;
        }
        if let Some(server) = self.servers.get_mut(&server) {
            server.is_gone = true;
        }
    }

    fn is_alive(&self, server: u64) -> bool {
        self.servers.get(&server).is_some_and(|server| !server.is_gone)
    }

    /// Takes a shard if it is free, the server's own, or of one that is gone.
    pub(super) fn take(&mut self, shard: u32, epoch: i64, server: u64) -> Option<i64> {
        let Shard { epoch: present, owner, .. } = *self.shard(shard);
        let is_free = owner.is_none_or(|owner| owner == server || !self.is_alive(owner));
        if present != epoch || !self.is_alive(server) || !is_free {
            return None;
        }
        self.sync();
        let taken = self.shard_mut(shard);
        (taken.epoch, taken.owner) = (epoch + 1, Some(server));
        Some(taken.epoch)
    }

    /// Takes a shard over from oneself. A server that is gone frees it instead.
    pub(super) fn take_again(&mut self, shard: u32, server: u64) -> Option<i64> {
        if self.shard(shard).owner != Some(server) {
            return None;
        }
        self.sync();
        let is_alive = self.is_alive(server);
        let taken = self.shard_mut(shard);
        taken.epoch += 1;
        taken.owner = taken.owner.filter(|_| is_alive);
        taken.owner.map(|_| taken.epoch)
    }

    pub(super) fn give(&mut self, shard: u32, server: u64, epoch: i64) {
        self.sync();
        let given = self.shard_mut(shard);
        if given.epoch == epoch && given.owner == Some(server) {
            given.owner = None;
        }
    }

    /// Gives the only shard back that a server has, and ends it.
    pub(super) fn give_and_end(&mut self, shard: u32, server: u64, epoch: i64) {
        self.give(shard, server, epoch);
        if let Some(server) = self.servers.get_mut(&server) {
            server.is_gone = true;
        }
    }

    fn is_held(&self, shard: u32, epoch: i64) -> bool {
        self.shard(shard).epoch == epoch
    }

    pub(super) fn ends(&self, shard: u32) -> (Position, Position) {
        self.shard(shard).ends()
    }

    /// Whether the record was inserted.
    pub(super) fn append(
        &mut self,
        shard: u32,
        position: Position,
        stored: Stored,
        body: &Arc<[u8]>,
    ) -> bool {
        let is_held = self.is_held(shard, stored.epoch) || planted::is("shared.append_unfenced");
        if !is_held || self.ends(shard).1 != position {
            return false;
        }
        self.sync();
        let log = self.shard_mut(shard);
        log.records.insert(position, (stored, Arc::clone(body)));
        let (epoch, body) = (stored.epoch, Arc::clone(body));
        log.appended.push(Appended { position, epoch, body });
        true
    }

    pub(super) fn look(&self, shard: u32, position: Position) -> Look {
        let (start, tail) = self.ends(shard);
        let found = self.shard(shard).records.get(&position);
        found.map_or(Look::Nothing { start, tail }, |(stored, _)| Look::Record(*stored))
    }

    /// All records from the start on.
    pub(super) fn records(&self, shard: u32) -> Vec<Record> {
        let record = |(position, (stored, body)): (&Position, &(Stored, Arc<[u8]>))| Record {
            position: *position,
            next: stored.next,
            body: body.to_vec(),
        };
        let log = self.shard(shard);
        log.records.range(log.start..).map(record).collect()
    }

    /// Whether the log is the sender's.
    pub(super) fn truncate(&mut self, shard: u32, epoch: i64, before: Position) -> bool {
        if !self.is_held(shard, epoch) {
            return false;
        }
        self.sync();
        let log = self.shard_mut(shard);
        log.start = log.start.max(before);
        // Without a record, the position is kept by the start.
        log.records = log.records.split_off(&log.start);
        true
    }

    /// A number for the bytes of a blob; none if its name is taken.
    pub(super) fn begin_blob(&mut self, shard: u32, name: &str) -> Option<u64> {
        let log = self.shard_mut(shard);
        log.next_blob += 1;
        Some(log.next_blob).filter(|_| !log.clashes(name))
    }

    /// Whether the log is the sender's, and whether the blob is there under this number.
    pub(super) fn commit_blob(
        &mut self,
        shard: u32,
        epoch: i64,
        (name, id): (&str, u64),
        bytes: &Arc<[u8]>,
    ) -> (bool, bool) {
        let is_held = self.is_held(shard, epoch) || planted::is("shared.blobs_unfenced");
        if is_held && !self.shard(shard).clashes(name) {
            self.sync();
            let bytes = Arc::clone(bytes);
            self.shard_mut(shard).blobs.insert(name.to_owned(), (id, bytes));
        }
        let there = self.shard(shard).blobs.get(name);
        (is_held, there.is_some_and(|(there, _)| *there == id))
    }

    /// Whether the log is the sender's.
    pub(super) fn delete_blob(&mut self, shard: u32, epoch: i64, name: &str) -> (bool, bool) {
        let is_held = self.is_held(shard, epoch) || planted::is("shared.blobs_unfenced");
        if is_held {
            self.sync();
            self.shard_mut(shard).blobs.remove(name);
        }
        (is_held, false)
    }

    pub(super) fn find_blob(&self, shard: u32, name: &str) -> Option<Arc<[u8]>> {
        self.shard(shard).blobs.get(name).map(|(_, bytes)| Arc::clone(bytes))
    }

    pub(super) fn list_blobs(&self, shard: u32, prefix: &str) -> Vec<String> {
        let names = self.shard(shard).blobs.keys();
        names.filter(|name| name.starts_with(prefix)).cloned().collect()
    }
}

impl Shard {
    fn ends(&self) -> (Position, Position) {
        let tail = self.records.values().next_back().map(|(stored, _)| stored.next);
        (self.start, tail.unwrap_or(self.start).max(self.start))
    }

    /// Whether a blob has this name, or one of the two names is the folder of the other.
    fn clashes(&self, name: &str) -> bool {
        let is_folder_of = |folder: &str, name: &str| {
            name.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
        };
        self.blobs
            .keys()
            .any(|other| other == name || is_folder_of(other, name) || is_folder_of(name, other))
    }
}

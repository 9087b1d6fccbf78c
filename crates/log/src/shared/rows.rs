//! The tables of the database, and its statements.
//!
//! A statement is a method of [`Rows`], executed under one lock. Statements that change the log
//! name the epoch of their sender, and change nothing if it is not that of the owner.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use crate::contract::{Position, Record};
use crate::ownership::{Look, Stored};
use crate::planted;

/// A database in memory. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct SharedMemory {
    rows: Arc<Mutex<Rows>>,
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
#[derive(Clone, Debug, Default)]
pub struct Rows {
    servers: BTreeMap<u64, Server>,
    next_server: u64,
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
}

/// The owner of the log.
#[derive(Clone, Debug)]
pub(super) struct Owner {
    pub(super) epoch: i64,
    pub(super) is_free: bool,
    pub(super) server: Option<u64>,
    pub(super) beat: i64,
    pub(super) address: String,
}

impl SharedMemory {
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

    /// The last record is lost, though it was acknowledged.
    pub fn lose_last(&self) {
        self.rows().records.pop_last();
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
        rows.appended.clear();
        Self { rows: Arc::new(Mutex::new(rows)) }
    }

    /// The records that were inserted since the last time, in order.
    #[must_use]
    pub fn take_appended(&self) -> Vec<Appended> {
        std::mem::take(&mut self.rows().appended)
    }

    /// Whether there is a blob of this name.
    #[must_use]
    pub fn has_blob(&self, name: &str) -> bool {
        self.rows().blobs.contains_key(name)
    }

    /// The present epoch.
    #[must_use]
    pub fn epoch(&self) -> i64 {
        self.rows().epoch
    }

    /// Whether a server that is not gone owns the log.
    #[must_use]
    pub fn has_owner(&self) -> bool {
        let rows = self.rows();
        rows.owner.and_then(|owner| rows.servers.get(&owner)).is_some_and(|it| !it.is_gone)
    }
}

impl Rows {
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

    pub(super) fn owner(&self) -> Owner {
        let server = self.owner.and_then(|owner| self.servers.get(&owner));
        Owner {
            epoch: self.epoch,
            is_free: server.is_none_or(|server| server.is_gone),
            server: self.owner,
            beat: server.map_or(0, |server| server.beat),
            address: server.map_or(String::new(), |server| server.address.clone()),
        }
    }

    pub(super) fn declare_gone(&mut self, server: u64, beat: i64) {
        self.sync();
        if let Some(server) = self.servers.get_mut(&server).filter(|server| server.beat == beat) {
            server.is_gone = true;
        }
    }

    fn is_alive(&self, server: u64) -> bool {
        self.servers.get(&server).is_some_and(|server| !server.is_gone)
    }

    /// Takes the log if it is free, the server's own, or of one that is gone.
    pub(super) fn take(&mut self, epoch: i64, server: u64) -> Option<i64> {
        let is_free = self.owner.is_none_or(|owner| owner == server || !self.is_alive(owner));
        if self.epoch != epoch || !self.is_alive(server) || !is_free {
            return None;
        }
        self.sync();
        (self.epoch, self.owner) = (epoch + 1, Some(server));
        Some(self.epoch)
    }

    /// Takes the log over from oneself. A server that is gone frees it instead.
    pub(super) fn take_again(&mut self, server: u64) -> Option<i64> {
        if self.owner != Some(server) {
            return None;
        }
        self.sync();
        self.epoch += 1;
        self.owner = self.owner.filter(|_| self.is_alive(server));
        self.owner.map(|_| self.epoch)
    }

    pub(super) fn give(&mut self, server: u64, epoch: i64) {
        self.sync();
        if self.epoch == epoch && self.owner == Some(server) {
            self.owner = None;
        }
        if let Some(server) = self.servers.get_mut(&server) {
            server.is_gone = true;
        }
    }

    fn is_held(&self, epoch: i64) -> bool {
        self.epoch == epoch
    }

    pub(super) fn ends(&self) -> (Position, Position) {
        let tail = self.records.values().next_back().map(|(stored, _)| stored.next);
        (self.start, tail.unwrap_or(self.start).max(self.start))
    }

    /// Whether the record was inserted.
    pub(super) fn append(&mut self, position: Position, stored: Stored, body: &Arc<[u8]>) -> bool {
        let is_held = self.is_held(stored.epoch) || planted::is("shared.append_unfenced");
        if !is_held || self.ends().1 != position {
            return false;
        }
        self.sync();
        self.records.insert(position, (stored, Arc::clone(body)));
        let (epoch, body) = (stored.epoch, Arc::clone(body));
        self.appended.push(Appended { position, epoch, body });
        true
    }

    pub(super) fn look(&self, position: Position) -> Look {
        let (start, tail) = self.ends();
        let found = self.records.get(&position).map(|(stored, _)| Look::Record(*stored));
        found.unwrap_or(Look::Nothing { start, tail })
    }

    /// All records from the start on.
    pub(super) fn records(&self) -> Vec<Record> {
        let record = |(position, (stored, body)): (&Position, &(Stored, Arc<[u8]>))| Record {
            position: *position,
            next: stored.next,
            body: body.to_vec(),
        };
        self.records.range(self.start..).map(record).collect()
    }

    /// Whether the log is the sender's.
    pub(super) fn truncate(&mut self, epoch: i64, before: Position) -> bool {
        if !self.is_held(epoch) {
            return false;
        }
        self.sync();
        self.start = self.start.max(before);
        // Without a record, the position is kept by the start.
        self.records = self.records.split_off(&self.start);
        true
    }

    /// A number for the bytes of a blob; none if its name is taken.
    pub(super) fn begin_blob(&mut self, name: &str) -> Option<u64> {
        self.next_blob += 1;
        Some(self.next_blob).filter(|_| !self.clashes(name))
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

    /// Whether the log is the sender's, and whether the blob is there under this number.
    pub(super) fn commit_blob(
        &mut self,
        epoch: i64,
        name: &str,
        id: u64,
        bytes: &Arc<[u8]>,
    ) -> (bool, bool) {
        let is_held = self.is_held(epoch) || planted::is("shared.blobs_unfenced");
        if is_held && !self.clashes(name) {
            self.sync();
            self.blobs.insert(name.to_owned(), (id, Arc::clone(bytes)));
        }
        (is_held, self.blobs.get(name).is_some_and(|(there, _)| *there == id))
    }

    /// Whether the log is the sender's.
    pub(super) fn delete_blob(&mut self, epoch: i64, name: &str) -> (bool, bool) {
        let is_held = self.is_held(epoch) || planted::is("shared.blobs_unfenced");
        if is_held {
            self.sync();
            self.blobs.remove(name);
        }
        (is_held, false)
    }

    pub(super) fn find_blob(&self, name: &str) -> Option<Arc<[u8]>> {
        self.blobs.get(name).map(|(_, bytes)| Arc::clone(bytes))
    }

    pub(super) fn list_blobs(&self, prefix: &str) -> Vec<String> {
        self.blobs.keys().filter(|name| name.starts_with(prefix)).cloned().collect()
    }
}

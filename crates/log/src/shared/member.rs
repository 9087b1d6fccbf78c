//! One of the servers that share all shards, as the rosters of databases have it.
//!
//! Each method is one statement. What to do with the answers, and when, is decided by the caller.

use std::sync::Arc;

use super::link::{Link, Purpose};
use super::opening::SharedLog;
use super::rows::{SeenServer, SeenShard, SharedMemory};
use super::{Broken, Connection};
use crate::ownership::Licence;

/// A server that has joined. Clones are the same server.
#[derive(Clone)]
pub struct Member {
    connection: Connection,
    id: u64,
    licence: Arc<Licence>,
}

impl Member {
    /// Joins under a new number.
    pub fn join(
        database: &SharedMemory,
        link: Arc<dyn Link>,
        address: &str,
    ) -> Result<Self, Broken> {
        let connection = Connection { database: database.clone(), link };
        let (sent_ms, address) = (connection.link.now_ms(), address.to_owned());
        let id = connection.call(Purpose::Beat, move |rows| rows.join(&address))?;
        let licence = Arc::new(Licence::default());
        licence.renew(sent_ms);
        Ok(Self { connection, id, licence })
    }

    /// Its number.
    #[must_use]
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Sends a heartbeat. False if this server was declared gone: then it has to join again.
    pub fn beat(&self) -> Result<bool, Broken> {
        self.connection.beat(self.id, &self.licence)
    }

    /// The servers that are not gone.
    pub fn servers(&self) -> Result<Vec<SeenServer>, Broken> {
        self.connection.call(Purpose::Beat, |rows| rows.seen_servers())
    }

    /// The shards, by number.
    pub fn shards(&self) -> Result<Vec<SeenShard>, Broken> {
        self.connection.call(Purpose::Beat, |rows| rows.seen_shards())
    }

    /// Declares a server gone if this is still its last heartbeat. Whether it is gone.
    pub fn declare_gone(&self, server: u64, beat: i64) -> Result<bool, Broken> {
        self.connection.call(Purpose::Beat, move |rows| rows.declare_gone(server, beat))
    }

    /// Takes a shard whose epoch was read, without reading its records. None if it has another
    /// owner, or another epoch. Not repeated: a first execution without an answer has changed the
    /// epoch.
    pub fn take(&self, shard: u32, epoch: i64) -> Result<Option<SharedLog>, Broken> {
        let id = self.id;
        let take = move |rows: &mut super::Rows| rows.take(shard, epoch, id);
        let taken = self.connection.call(Purpose::Take, take)?;
        let server = (id, &self.licence);
        Ok(taken.map(|epoch| SharedLog::taken(&self.connection, server, (shard, epoch), false)))
    }

    /// An operator wishes that a server has no shards, or some again.
    pub fn set_drained(&self, server: u64, is_drained: bool) -> Result<(), Broken> {
        self.connection.call(Purpose::Take, move |rows| rows.set_drained(server, is_drained))
    }

    /// Announces that this server gives its shards back, and takes none.
    pub fn announce_leaving(&self) -> Result<(), Broken> {
        let id = self.id;
        self.connection.call(Purpose::Take, move |rows| rows.announce_leaving(id))
    }

    /// Gives everything back, and ends. A server that cannot say so is declared gone by the others.
    pub fn leave(&self) {
        self.licence.lose();
        let id = self.id;
        let _ = self.connection.call(Purpose::Take, move |rows| rows.leave(id));
    }
}

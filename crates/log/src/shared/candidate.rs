//! A server that waits for one shard, and takes it.

use std::sync::Arc;

use super::link::{Link, Purpose};
use super::opening::SharedLog;
use super::rows::SharedMemory;
use super::{Broken, Connection};
use crate::contract::Record;
use crate::error::OpenError;
use crate::ownership::{BEAT_MS, Licence, Observation};
use crate::planted;

/// A server that waits for one shard, and has no other.
pub struct Candidate {
    connection: Connection,
    shard: u32,
    address: String,
    server: Option<u64>,
    observation: Observation<Option<u64>>,
    /// The records at the first look. Only a planted bug uses them.
    stale: Option<Vec<Record>>,
}

/// The result of one look.
pub enum Looked {
    /// Another server owns the log, or may.
    Waits,
    /// The log was taken. Its records are not read yet.
    Taken(Box<SharedLog>),
}

impl Candidate {
    /// A server that has not joined yet, and waits for the first shard.
    #[must_use]
    pub fn new(database: &SharedMemory, link: Arc<dyn Link>, address: &str) -> Self {
        Self::for_shard(database, link, address, 0)
    }

    /// The same for another shard.
    #[must_use]
    pub fn for_shard(
        database: &SharedMemory,
        link: Arc<dyn Link>,
        address: &str,
        shard: u32,
    ) -> Self {
        let connection = Connection { database: database.clone(), link };
        let (address, observation) = (address.to_owned(), Observation::default());
        Self { connection, shard, address, server: None, observation, stale: None }
    }

    /// Looks once: sends a heartbeat, observes the owner, and takes the log if it can.
    pub fn look(&mut self) -> Result<Looked, Broken> {
        let looked = self.look_once();
        if looked.is_err() {
            // A new connection is another server: that of the old one may be executed late.
            self.server = None;
        }
        looked
    }

    fn look_once(&mut self) -> Result<Looked, Broken> {
        let sent_ms = self.connection.link.now_ms();
        let server = match self.server {
            Some(server) => server,
            None => self.join()?,
        };
        if !self.connection.call(Purpose::Look, move |rows| rows.beat(server))? {
            // It was declared gone, and has to join again.
            return Err(Broken);
        }
        let shard = self.shard;
        let owner = self.connection.call(Purpose::Look, move |rows| rows.owner(shard))?;
        self.observation.see(owner.server, owner.beat, self.connection.link.now_ms());
        if owner.is_free || owner.server == Some(server) {
            let epoch = owner.epoch;
            let take = move |rows: &mut super::Rows| rows.take(shard, epoch, server);
            let taken = self.connection.repeat(Purpose::Take, take)?;
            let Some(epoch) = taken else { return Ok(Looked::Waits) };
            let licence = Arc::new(Licence::default());
            licence.renew(sent_ms);
            let (server, shard) = ((server, &licence), (shard, epoch));
            let log = SharedLog::taken(&self.connection, server, shard, true);
            return Ok(Looked::Taken(Box::new(log)));
        }
        if let Some(judged) = owner.server
            && self.observation.is_silent(self.connection.link.now_ms())
        {
            let beat = owner.beat;
            self.connection.call(Purpose::Look, move |rows| rows.declare_gone(judged, beat))?;
        }
        Ok(Looked::Waits)
    }

    fn join(&mut self) -> Result<u64, Broken> {
        if !planted::is("shared.judges_while_blind") {
            self.observation.reconnect();
        }
        let address = self.address.clone();
        let server = self.connection.call(Purpose::Look, move |rows| rows.join(&address))?;
        self.server = Some(server);
        if planted::is("shared.tail_not_read_again") && self.stale.is_none() {
            let shard = self.shard;
            self.stale =
                Some(self.connection.call(Purpose::Look, move |rows| rows.records(shard))?);
        }
        Ok(server)
    }

    /// Records that were read before the log was taken, if a bug is planted that uses them.
    #[must_use]
    pub fn stale_records(&mut self) -> Option<Vec<Record>> {
        self.stale.take()
    }

    /// Looks until the log was taken, and reads it. Refused while another server owns it and sends
    /// heartbeats.
    pub fn open(mut self) -> Result<SharedLog, OpenError> {
        loop {
            if let Ok(Looked::Taken(log)) = self.look() {
                log.load(None)?;
                return Ok(*log);
            }
            if self.observation.is_alive() {
                let holder = self.connection.database.rows().owner(self.shard).address;
                return Err(OpenError::InUse { folder: "shared memory".into(), holder });
            }
            self.connection.link.sleep(BEAT_MS);
        }
    }
}

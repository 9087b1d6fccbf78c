//! The contract of a log, in a database.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use baton_log::{
    AppendError, Blob, BlobError, BlobWriter, Log, OpenError, Position, ReadError, Record,
    TruncateError,
};

use crate::blobs::{Blobs, Cache};
use crate::database::Database;
use crate::location::PostgresLocation;
use crate::membership::Member;
use crate::ownership::Ownership;
use crate::records::Records;
use crate::schema::{self, Shards};

/// One shard in `PostgreSQL`, as its owner has it. One server at a time does.
pub struct PostgresLog {
    ownership: Arc<Ownership>,
    records: Records,
    blobs: Blobs,
    is_closed: AtomicBool,
    /// Dropped last: giving the shard back needs its network.
    member: Arc<Member>,
}

/// A shard that was taken and read.
pub(crate) struct Loaded {
    ownership: Arc<Ownership>,
    records: Records,
    blobs: Blobs,
}

impl PostgresLog {
    /// Opens the only log of a schema, which is created if it does not exist. Refused while another
    /// process owns it, and if the schema has several shards: servers share those.
    ///
    /// `address` is how others name this process.
    pub fn open(location: PostgresLocation, address: &str) -> Result<Self, OpenError> {
        let member = Member::join(location, address, Shards::One)?;
        let location = member.database().location().description().to_owned();
        if member.shards() > 1 {
            let reason = format!(
                "it has {} shards, which only servers can share: use `baton serve`, and connect",
                member.shards()
            );
            return Err(OpenError::Unfit { location, reason });
        }
        let mut views = member.view();
        let first = Arc::clone(&views.borrow());
        loop {
            let view = Arc::clone(&views.borrow_and_update());
            if view.is_gone {
                let reason = "this process was declared gone".to_owned();
                return Err(OpenError::Away { location, reason });
            }
            let epoch = view.shards.first().map_or(0, |shard| shard.epoch);
            match view.owner(0) {
                None => {
                    if let Some(log) = member.take(0, epoch)? {
                        return Ok(log);
                    }
                }
                Some(owner) => {
                    let before = first.servers.iter().find(|server| server.id == owner.id);
                    if before.is_none_or(|before| before.beat != owner.beat) {
                        let holder = owner.address.clone();
                        return Err(OpenError::InUse { folder: location.into(), holder });
                    }
                }
            }
            let mut next = views.clone();
            let _ = member.database().wait(async move { next.changed().await.is_ok() });
        }
    }

    /// Reads a shard that was taken; it is given back if it cannot be read.
    pub(crate) async fn load(
        database: &Database,
        ownership: Ownership,
        cache: &Arc<Mutex<Cache>>,
    ) -> Result<Loaded, OpenError> {
        let ownership = Arc::new(ownership);
        let records = match Records::load(database, &ownership).await {
            Ok(records) => records,
            Err(error) => {
                ownership.give().await;
                return Err(error);
            }
        };
        let blobs = Blobs::new(database, &ownership, cache);
        Ok(Loaded { ownership, records, blobs })
    }

    pub(crate) fn of(member: &Arc<Member>, loaded: Loaded) -> Self {
        let Loaded { ownership, records, blobs } = loaded;
        let (is_closed, member) = (AtomicBool::new(false), Arc::clone(member));
        Self { ownership, records, blobs, is_closed, member }
    }

    /// Whether another server has taken the shard over. Nothing can be written or read any more.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        self.ownership.is_lost()
    }
}

impl PostgresLog {
    /// Gives the shard back, so that the next owner need not wait. Everything is refused from now
    /// on.
    pub fn close(&self) {
        if self.is_closed.swap(true, Ordering::SeqCst) {
            return;
        }
        self.ownership.lose();
        let ownership = Arc::clone(&self.ownership);
        let _ = self.member.database().wait(async move { ownership.give().await });
    }

    /// Marks an empty log as one that is being restored: it cannot be opened until
    /// [`finish_restore`](Self::finish_restore). False if it is not empty.
    pub fn begin_restore(&self) -> Result<bool, OpenError> {
        self.set_format(schema::BEGIN_RESTORE)
    }

    /// The log is complete.
    pub fn finish_restore(&self) -> Result<(), OpenError> {
        self.set_format(schema::FINISH_RESTORE).map(drop)
    }

    fn set_format(&self, sql: &'static str) -> Result<bool, OpenError> {
        let database = self.member.database();
        let rows = database.ask(sql, vec![]);
        let location = database.location().description();
        rows.map(|rows| !rows.is_empty()).map_err(|failure| failure.at_opening(location))
    }
}

impl Drop for PostgresLog {
    fn drop(&mut self) {
        self.close();
    }
}

impl Log for PostgresLog {
    fn start(&self) -> Position {
        self.records.start()
    }

    fn tail(&self) -> Position {
        self.records.tail()
    }

    fn append(&self, expected: Position, body: &[u8]) -> Result<Position, AppendError> {
        self.records.append(expected, body)
    }

    fn read(&self, from: Position, bytes_max: usize) -> Result<Vec<Record>, ReadError> {
        self.records.read(from, bytes_max)
    }

    fn read_part(&self, record: Position, offset: u32, buffer: &mut [u8]) -> Result<(), ReadError> {
        self.records.read_part(record, offset, buffer)
    }

    fn truncate(&self, before: Position) -> Result<(), TruncateError> {
        self.records.truncate(before)
    }

    fn create_blob(&self, name: &str) -> Result<Box<dyn BlobWriter>, BlobError> {
        self.blobs.create(name)
    }

    fn open_blob(&self, name: &str) -> Result<Option<Arc<dyn Blob>>, BlobError> {
        self.blobs.open(name)
    }

    fn list_blobs(&self, prefix: &str) -> Result<Vec<String>, BlobError> {
        self.blobs.list(prefix)
    }

    fn delete_blob(&self, name: &str) -> Result<(), BlobError> {
        self.blobs.delete(name)
    }

    fn description(&self) -> String {
        self.member.description().to_owned()
    }

    fn is_current(&self) -> bool {
        self.ownership.is_current()
    }
}

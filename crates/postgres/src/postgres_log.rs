//! The contract of a log, in a database.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use baton_cluster::chunks::ChunkCache;
use baton_cluster::{OwnedLog, open_alone};
use baton_log::OpenError;

use crate::blobs::Blobs;
use crate::database::Database;
use crate::location::PostgresLocation;
use crate::membership::Member;
use crate::ownership::Ownership;
use crate::records::Records;
use crate::schema;

/// Opens the only log of a schema, which is created if it does not exist. Refused while another
/// process owns it, and if the schema has several shards: servers share those.
///
/// `address` is how others name this process.
pub fn open(location: &PostgresLocation, address: &str) -> Result<Arc<dyn OwnedLog>, OpenError> {
    open_alone(location, address)
}

/// One shard in `PostgreSQL`, as its owner has it. One server at a time does.
pub(crate) struct PostgresLog {
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
    /// Reads a shard that was taken; if it cannot be read, the shard is returned.
    pub(crate) async fn load(
        database: &Database,
        ownership: Ownership,
        cache: &Arc<Mutex<ChunkCache<i64>>>,
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

    fn set_format(&self, sql: &'static str) -> Result<bool, OpenError> {
        let database = self.member.database();
        let rows = database.ask(sql, vec![]);
        let location = database.location().description();
        rows.map(|rows| !rows.is_empty()).map_err(|failure| failure.at_opening(location))
    }
}

impl OwnedLog for PostgresLog {
    fn is_lost(&self) -> bool {
        self.ownership.is_lost()
    }

    fn close(&self) {
        if self.is_closed.swap(true, Ordering::SeqCst) {
            return;
        }
        self.ownership.lose();
        let ownership = Arc::clone(&self.ownership);
        let _ = self.member.database().wait(async move { ownership.give().await });
    }

    fn begin_restore(&self) -> Result<bool, OpenError> {
        self.set_format(schema::BEGIN_RESTORE)
    }

    fn finish_restore(&self) -> Result<(), OpenError> {
        self.set_format(schema::FINISH_RESTORE).map(drop)
    }
}

impl Drop for PostgresLog {
    fn drop(&mut self) {
        self.close();
    }
}

baton_cluster::log_of_parts!(PostgresLog);

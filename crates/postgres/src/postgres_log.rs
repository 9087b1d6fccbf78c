//! The contract of a log, in a database.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use baton_log::{
    AppendError, Blob, BlobError, BlobWriter, Log, OpenError, Position, ReadError, Record,
    TruncateError,
};
use tokio::task::JoinHandle;

use crate::blobs::Blobs;
use crate::database::{Database, Network};
use crate::location::PostgresLocation;
use crate::ownership::{Ownership, Standby};
use crate::records::Records;
use crate::schema;

/// A log in `PostgreSQL`. One server at a time owns it.
pub struct PostgresLog {
    database: Database,
    ownership: Arc<Ownership>,
    records: Records,
    blobs: Blobs,
    description: String,
    tasks: [JoinHandle<()>; 2],
    is_closed: AtomicBool,
    /// Dropped last: giving the log back needs it.
    _network: Network,
}

impl PostgresLog {
    /// Opens the log, and creates its tables if they are missing.
    ///
    /// `address` is how other servers name this one. While another server owns the log, opening is
    /// refused, or waits; `waits` is then called a few times a second with the address of the
    /// owner, or none while the database does not answer, and ends the wait with a break.
    pub fn open(
        location: PostgresLocation,
        address: &str,
        standby: Standby,
        waits: impl Fn(Option<&str>) -> ControlFlow<()> + Send + Sync + 'static,
    ) -> Result<Self, OpenError> {
        let name = location.description().to_owned();
        let away = |reason: String| OpenError::Away { location: name.clone(), reason };
        let (database, network) = Database::new(location).map_err(|it| away(it.to_string()))?;
        let (asked, address) = (database.clone(), address.to_owned());
        let opened = database.wait(async move {
            let durable = schema::prepare(&asked).await?;
            let ownership = Ownership::acquire(&asked, &address, standby, &waits).await?;
            // From now on: reading a long log takes time, and the licence must not lapse.
            let ownership = Arc::new(ownership);
            let beats = ownership.beat();
            let records = match Records::load(&asked, &ownership).await {
                Ok(records) => records,
                Err(error) => {
                    beats.abort();
                    return Err(error);
                }
            };
            Ok((durable, ownership, beats, records))
        });
        let closing = || away("the program is ending".to_owned());
        let (durable, ownership, beats, records) = opened.ok_or_else(closing)??;
        let blobs = Blobs::new(&database, &ownership);
        let sweeps = blobs.sweep();
        let description = format!("{name}; {durable}");
        Ok(Self {
            database,
            ownership,
            records,
            blobs,
            description,
            tasks: [beats, sweeps],
            is_closed: AtomicBool::new(false),
            _network: network,
        })
    }

    /// Whether another server has taken the log over. Nothing can be written or read any more.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        self.ownership.is_lost()
    }
}

impl PostgresLog {
    /// Gives the log back, so that the next opening need not wait. Everything is refused from now
    /// on.
    pub fn close(&self) {
        if self.is_closed.swap(true, Ordering::SeqCst) {
            return;
        }
        for task in &self.tasks {
            task.abort();
        }
        self.ownership.lose();
        self.ownership.give();
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
        let rows = self.database.ask(sql, vec![]);
        let location = self.database.location().description();
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
        self.description.clone()
    }

    fn is_current(&self) -> bool {
        self.ownership.is_current()
    }
}

//! Blobs in chunks, and a cache of them.
//!
//! The bytes of a blob are written under a number that is never used again, and become visible by
//! one statement. A deleted blob stays readable for those who have it open: its chunks are removed
//! an hour later.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use baton_cluster::chunks::{CHUNK_BYTES, ChunkCache, folders, read_chunks};
use baton_log::{Blob, BlobError, BlobWriter, check_blob_name, check_blob_prefix};

use crate::database::{Database, Failure, Value};
use crate::ownership::Ownership;

/// How often the bytes of deleted blobs are removed.
const SWEEP_EVERY: Duration = Duration::from_mins(10);

const BEGIN: &str = "insert into upload (shard) values ($1) returning id";
const WRITE: &str = "insert into chunk (id, part, body) values ($1, $2, $3) on conflict do nothing";
/// Whether the log is still this server's, and whether the blob is there under this number. The row
/// of the upload is locked: once it is gone, the bytes are removed.
const COMMIT: &str = "with held as (select s.shard from shard s
        where s.shard = $3 and s.epoch = $1 and s.holder = $2::text::uuid for share of s),
    mine as (select u.id from upload u where u.id = $5 for update of u),
    made as (insert into blob (shard, name, id, bytes)
        select $3, $4, mine.id, $6 from held cross join mine
        where not exists (select 1 from blob b where b.shard = $3 and (b.name = any($7)
            or (b.name > $4 || '/' and b.name < $4 || '0')))
        on conflict do nothing returning id),
    done as (delete from upload where id in (select id from made))
    select exists (select 1 from held), exists (select 1 from made)
        or exists (select 1 from blob b where b.shard = $3 and b.name = $4 and b.id = $5)";
/// A name between `name/` and `name0` is inside the folder of that name: `0` follows `/`.
const IS_TAKEN: &str = "select exists (select 1 from blob b where b.shard = $3 and (b.name = $1
    or b.name = any($2) or (b.name > $1 || '/' and b.name < $1 || '0')))";
const FIND: &str = "select id, bytes from blob where shard = $2 and name = $1";
/// No name has a sign after `~`.
const LIST: &str = "select name from blob where shard = $2 and name >= $1 and name < $1 || '~'
    order by name";
const DELETE: &str = "with held as (select s.shard from shard s
        where s.shard = $3 and s.epoch = $1 and s.holder = $2::text::uuid for share of s),
    dead as (delete from blob b using held where b.shard = $3 and b.name = $4 returning b.id),
    gone as (insert into gone (id) select id from dead on conflict do nothing)
    select exists (select 1 from held), exists (select 1 from dead)";
const READ: &str = "select body from chunk where id = $1 and part = $2";
const ABANDON: &str = "with dead as (delete from upload where id = $1 returning id)
    delete from chunk where id in (select id from dead)";
/// Bytes of some blobs that were deleted an hour ago, and of uploads that were never committed.
const SWEEP: &str = "with dead as (delete from gone where id in (select id from gone
        where gone_at < now() - interval '1 hour' limit 100) returning id),
    left_over as (delete from upload where begun_at < now() - interval '7 days' returning id),
    chunks as (delete from chunk where id in
        (select id from dead union select id from left_over))
    select 1 from dead limit 1";

/// The blobs of the log.
#[derive(Clone)]
pub(crate) struct Blobs {
    database: Database,
    ownership: Arc<Ownership>,
    /// Names that are being written by this server.
    being_written: Arc<Mutex<BTreeSet<String>>>,
    cache: Arc<Mutex<ChunkCache<i64>>>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The error of a blob after a failed statement. Every statement here may be repeated.
fn failed(failure: Failure) -> BlobError {
    match failure {
        Failure::Full => BlobError::Full,
        other => BlobError::Failed(other.reason()),
    }
}

/// Removes bytes that no blob has any more, now and then.
pub(crate) async fn sweep(database: Database) {
    loop {
        // Rows that are left after an error are removed the next time.
        while database.query(SWEEP, vec![]).await.is_ok_and(|rows| !rows.is_empty()) {}
        tokio::time::sleep(SWEEP_EVERY).await;
    }
}

impl Blobs {
    pub(crate) fn new(
        database: &Database,
        ownership: &Arc<Ownership>,
        cache: &Arc<Mutex<ChunkCache<i64>>>,
    ) -> Self {
        Self {
            database: database.clone(),
            ownership: Arc::clone(ownership),
            being_written: Arc::default(),
            cache: Arc::clone(cache),
        }
    }

    pub(crate) fn create(&self, name: &str) -> Result<Box<dyn BlobWriter>, BlobError> {
        check_blob_name(name)?;
        let exists = || BlobError::Exists { name: name.to_owned() };
        if !locked(&self.being_written).insert(name.to_owned()) {
            return Err(exists());
        }
        let writer = Writer {
            blobs: self.clone(),
            name: name.to_owned(),
            id: None,
            pending: Vec::new(),
            parts: 0,
            bytes: 0,
            is_sent: false,
        };
        let shard = self.ownership.shard();
        let named = vec![Value::Text(name.to_owned()), Value::Texts(folders(name)), shard];
        let rows = self.database.ask(IS_TAKEN, named).map_err(failed)?;
        let is_taken = rows.first().is_some_and(|row| row.get(0));
        if is_taken { Err(exists()) } else { Ok(Box::new(writer)) }
    }

    pub(crate) fn open(&self, name: &str) -> Result<Option<Arc<dyn Blob>>, BlobError> {
        check_blob_name(name)?;
        let named = vec![Value::Text(name.to_owned()), self.ownership.shard()];
        let rows = self.database.ask(FIND, named).map_err(failed)?;
        let reader = rows.first().map(|row| {
            let bytes: i64 = row.get(1);
            let bytes = u64::try_from(bytes).unwrap_or_default();
            Arc::new(Reader { blobs: self.clone(), id: row.get(0), bytes }) as Arc<dyn Blob>
        });
        Ok(reader)
    }

    pub(crate) fn list(&self, prefix: &str) -> Result<Vec<String>, BlobError> {
        check_blob_prefix(prefix)?;
        let named = vec![Value::Text(prefix.to_owned()), self.ownership.shard()];
        let rows = self.database.ask(LIST, named).map_err(failed)?;
        Ok(rows.iter().map(|row| row.get(0)).collect())
    }

    pub(crate) fn delete(&self, name: &str) -> Result<(), BlobError> {
        check_blob_name(name)?;
        let named = [Value::Text(name.to_owned())];
        self.execute_fenced(DELETE, &named).map(drop)
    }

    /// Executes a statement that has an effect only while the log is this server's. Its row
    /// contains whether it is, and whether there was an effect, which is returned.
    fn execute_fenced(&self, sql: &'static str, values: &[Value]) -> Result<bool, BlobError> {
        loop {
            let claim = self.ownership.claim();
            let held = claim.values().into_iter().chain([self.ownership.shard()]);
            let values = held.chain(values.iter().cloned()).collect();
            let rows = self.database.ask(sql, values).map_err(failed)?;
            let (is_held, has_effect) =
                rows.first().map_or((false, false), |row| (row.get(0), row.get(1)));
            if is_held || has_effect {
                return Ok(has_effect);
            }
            if !self.ownership.was_renewed(&claim) {
                return Err(BlobError::Fenced);
            }
        }
    }

    fn chunk(&self, id: i64, part: u32) -> Result<Arc<[u8]>, BlobError> {
        if let Some(bytes) = locked(&self.cache).get(id, part) {
            return Ok(bytes);
        }
        let odd = |_| BlobError::Failed("the blob has too many parts".to_owned());
        let number = i32::try_from(part).map_err(odd)?;
        let asked = vec![Value::Long(id), Value::Int(number)];
        let rows = self.database.ask(READ, asked).map_err(failed)?;
        let missing = || BlobError::Failed(format!("part {part} of blob {id} is missing"));
        let bytes: Vec<u8> = rows.first().ok_or_else(missing)?.get(0);
        let bytes: Arc<[u8]> = bytes.into();
        locked(&self.cache).put(id, part, &bytes);
        Ok(bytes)
    }
}

struct Writer {
    blobs: Blobs,
    name: String,
    id: Option<i64>,
    pending: Vec<u8>,
    parts: i32,
    bytes: u64,
    /// Whether the commit was sent.
    is_sent: bool,
}

impl Writer {
    /// The number under which the bytes are written.
    fn id(&mut self) -> Result<i64, BlobError> {
        if let Some(id) = self.id {
            return Ok(id);
        }
        let rows =
            self.blobs.database.ask(BEGIN, vec![self.blobs.ownership.shard()]).map_err(failed)?;
        let none = || BlobError::Failed("the database gave no number".to_owned());
        let id = rows.first().ok_or_else(none)?.get(0);
        self.id = Some(id);
        Ok(id)
    }

    fn send(&mut self, chunk: &[u8]) -> Result<(), BlobError> {
        let (id, part) = (self.id()?, self.parts);
        let values = vec![Value::Long(id), Value::Int(part), Value::Bytes(chunk.into())];
        self.blobs.database.ask(WRITE, values).map_err(failed)?;
        self.parts += 1;
        Ok(())
    }
}

impl BlobWriter for Writer {
    fn write(&mut self, bytes: &[u8]) -> Result<(), BlobError> {
        self.bytes += bytes.len() as u64;
        self.pending.extend_from_slice(bytes);
        while self.pending.len() >= CHUNK_BYTES {
            let rest = self.pending.split_off(CHUNK_BYTES);
            let chunk = std::mem::replace(&mut self.pending, rest);
            self.send(&chunk)?;
        }
        Ok(())
    }

    fn commit(mut self: Box<Self>) -> Result<(), BlobError> {
        let last = std::mem::take(&mut self.pending);
        if !last.is_empty() {
            self.send(&last)?;
        }
        let bytes = i64::try_from(self.bytes).unwrap_or(i64::MAX);
        let (name, id) = (self.name.clone(), self.id()?);
        let folders = Value::Texts(folders(&name));
        let values = [Value::Text(name), Value::Long(id), Value::Long(bytes), folders];
        self.is_sent = true;
        if self.blobs.execute_fenced(COMMIT, &values)? {
            return Ok(());
        }
        Err(BlobError::Exists { name: self.name.clone() })
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        locked(&self.blobs.being_written).remove(&self.name);
        // A commit without an answer may still be executed.
        if let (Some(id), false) = (self.id, self.is_sent) {
            let database = self.blobs.database.clone();
            drop(self.blobs.database.spawn(async move {
                let _ = database.query(ABANDON, vec![Value::Long(id)]).await;
            }));
        }
    }
}

struct Reader {
    blobs: Blobs,
    id: i64,
    bytes: u64,
}

impl Blob for Reader {
    fn len(&self) -> u64 {
        self.bytes
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), BlobError> {
        let read = |part: u32| self.blobs.chunk(self.id, part);
        read_chunks((self.bytes, CHUNK_BYTES), offset, buffer, read)
    }
}

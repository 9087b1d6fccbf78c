//! The log as its owner sees it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use super::blobs::Writer;
use super::link::Purpose;
use super::{Broken, Connection};
use crate::blob_name;
use crate::contract::{Blob, BlobWriter, Log, Position, RECORD_BYTES_MAX, Record};
use crate::error::{AppendError, BlobError, OpenError, ReadError, TruncateError};
use crate::memory::MemoryBlob;
use crate::ownership::{
    AppendAttempt, AppendStep, Licence, PAUSE_MS, Resolved, Sent, Stored, resolve,
};
use crate::planted;

/// One opening of a shared log. A later one fences it.
pub struct SharedLog {
    pub(super) owned: Arc<Owned>,
    known: Mutex<Known>,
    /// Held during an append and a truncation. Not a mutex: the simulator must be able to run other
    /// servers while this one waits.
    is_appending: AtomicBool,
    failed: Mutex<Option<AppendError>>,
    being_written: Arc<Mutex<BTreeSet<String>>>,
}

/// The claim of an opening, and its licence.
pub(super) struct Owned {
    pub(super) connection: Connection,
    server: u64,
    pub(super) shard: u32,
    epoch: AtomicI64,
    is_renewing: AtomicBool,
    /// That of the server: others judge servers, not shards.
    licence: Arc<Licence>,
    /// Whether another server has taken this shard, or may do so.
    is_lost: AtomicBool,
    /// Whether the server ends when it gives this shard back, since it has no other.
    is_only: bool,
    /// Every epoch that this opening has had.
    epochs: Mutex<Vec<i64>>,
}

/// The records, as they were read and written.
#[derive(Default)]
struct Known {
    start: Position,
    tail: Position,
    records: BTreeMap<Position, Record>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("nothing panics with the lock")
}

impl Owned {
    /// Takes the log over from oneself. Whether it is still this server's.
    fn take_again(&self) -> Result<bool, Broken> {
        self.is_renewing.store(true, Ordering::SeqCst);
        let (shard, server) = (self.shard, self.server);
        let take = move |rows: &mut super::Rows| rows.take_again(shard, server);
        let taken = self.connection.repeat(Purpose::Take, take);
        if let Ok(Some(epoch)) = taken {
            self.epoch.store(epoch, Ordering::SeqCst);
            locked(&self.epochs).push(epoch);
        }
        self.is_renewing.store(false, Ordering::SeqCst);
        let is_mine = taken?.is_some();
        if !is_mine {
            self.lose();
        }
        Ok(is_mine)
    }

    /// Another server has taken over, or may do so.
    fn lose(&self) {
        self.is_lost.store(true, Ordering::SeqCst);
    }

    fn is_lost(&self) -> bool {
        self.is_lost.load(Ordering::SeqCst) || self.licence.is_lost()
    }

    /// Whether a claim that the database has refused was renewed in the meantime. If not, another
    /// server has taken over.
    fn was_renewed(&self, refused: i64) -> bool {
        while self.is_renewing.load(Ordering::SeqCst) {
            self.connection.link.sleep(PAUSE_MS);
        }
        let was_renewed = self.epoch.load(Ordering::SeqCst) != refused;
        if !was_renewed {
            self.lose();
        }
        was_renewed
    }

    /// Executes a statement that has an effect only while the log is this server's. It returns
    /// whether it is, and whether there was an effect.
    pub(super) fn execute_fenced(
        &self,
        work: impl Fn(&mut super::Rows, i64) -> (bool, bool) + Clone + Send + 'static,
    ) -> Result<bool, BlobError> {
        loop {
            let epoch = self.epoch.load(Ordering::SeqCst);
            let work = work.clone();
            let answer = self.connection.repeat(Purpose::Change, move |rows| work(rows, epoch));
            let (is_held, has_effect) =
                answer.map_err(|Broken| BlobError::Failed(Broken::reason()))?;
            if is_held || has_effect {
                return Ok(has_effect);
            }
            if !self.was_renewed(epoch) {
                return Err(BlobError::Fenced);
            }
        }
    }
}

/// Until it is dropped, nothing else appends or truncates.
struct Appending<'a>(&'a AtomicBool);

impl Drop for Appending<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::SeqCst);
    }
}

impl SharedLog {
    /// A shard that was taken under this epoch. The server ends with it if it `is_only`.
    pub(super) fn taken(
        connection: &Connection,
        (server, licence): (u64, &Arc<Licence>),
        (shard, epoch): (u32, i64),
        is_only: bool,
    ) -> Self {
        let owned = Owned {
            connection: connection.clone(),
            server,
            shard,
            epoch: AtomicI64::new(epoch),
            is_renewing: AtomicBool::new(false),
            licence: Arc::clone(licence),
            is_lost: AtomicBool::new(false),
            is_only,
            epochs: Mutex::new(vec![epoch]),
        };
        Self {
            owned: Arc::new(owned),
            known: Mutex::default(),
            is_appending: AtomicBool::new(false),
            failed: Mutex::default(),
            being_written: Arc::default(),
        }
    }

    /// Reads what the log has, after it was taken. A planted bug brings records that were read
    /// before.
    pub fn load(&self, stale: Option<Vec<Record>>) -> Result<(), OpenError> {
        let shard = self.owned.shard;
        let read = move |rows: &mut super::Rows| (rows.ends(shard), rows.records(shard));
        let loaded = self.owned.connection.repeat(Purpose::Read, read);
        let ((start, tail), records) = loaded.map_err(|Broken| OpenError::Away {
            location: "shared memory".to_owned(),
            reason: Broken::reason(),
        })?;
        let records = stale.unwrap_or(records);
        let mut known = locked(&self.known);
        let ends = records.first().zip(records.last());
        let (start, tail) = ends.map_or((start, tail), |(first, last)| (first.position, last.next));
        let records = records.into_iter().map(|record| (record.position, record)).collect();
        *known = Known { start, tail, records };
        Ok(())
    }

    /// Sends one heartbeat of the server. False if it was declared gone.
    pub fn beat(&self) -> bool {
        let Owned { connection, server, licence, .. } = &*self.owned;
        // Without an answer the licence is not renewed.
        let _ = connection.beat(*server, licence);
        !self.is_lost()
    }

    /// Gives the log back. Everything is refused from now on.
    pub fn close(&self) {
        let Owned { connection, server, shard, is_only, .. } = &*self.owned;
        if !planted::is("shared.given_shard_still_answers") {
            self.owned.lose();
        }
        let (server, shard, is_only) = (*server, *shard, *is_only);
        let epoch = self.owned.epoch.load(Ordering::SeqCst);
        // A server that cannot record this is declared gone after two seconds, or takes the shard
        // again.
        let _ = connection.call(Purpose::Take, move |rows| {
            if is_only {
                rows.give_and_end(shard, server, epoch);
            } else {
                rows.give(shard, server, epoch);
            }
        });
    }

    /// Whether another server has taken the log over.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        self.owned.is_lost()
    }

    /// Every epoch that this opening has had.
    #[must_use]
    pub fn epochs(&self) -> Vec<i64> {
        locked(&self.owned.epochs).clone()
    }

    fn lock_appends(&self) -> Appending<'_> {
        while self.is_appending.swap(true, Ordering::SeqCst) {
            self.owned.connection.link.sleep(1);
        }
        Appending(&self.is_appending)
    }

    /// Sends an append until it has an outcome.
    fn insert(&self, position: Position, next: Position, body: &[u8]) -> Result<(), AppendError> {
        let Owned { connection, shard, epoch, .. } = &*self.owned;
        let shard = *shard;
        let (crc, body) = (i64::from(crc32fast::hash(body)), Arc::<[u8]>::from(body));
        let mut attempt = AppendAttempt::new(position, connection.link.now_ms());
        let mut stored = Stored { next, epoch: 0, crc };
        let mut step = AppendStep::Send;
        loop {
            if let AppendStep::PauseThenSend | AppendStep::PauseThenLook = step {
                connection.link.sleep(PAUSE_MS);
            }
            step = match step {
                AppendStep::Send | AppendStep::PauseThenSend => {
                    stored.epoch = epoch.load(Ordering::SeqCst);
                    let body = Arc::clone(&body);
                    let work =
                        move |rows: &mut super::Rows| rows.append(shard, position, stored, &body);
                    let sent = match connection.call(Purpose::Append, work) {
                        Ok(true) => Sent::Inserted,
                        Ok(false) => Sent::NotInserted,
                        Err(Broken) => Sent::Unknown(Broken::reason()),
                    };
                    attempt.sent(sent, connection.link.now_ms())
                }
                AppendStep::Look | AppendStep::PauseThenLook => {
                    let looked = self.look(position, &stored).map_err(|Broken| Broken::reason());
                    attempt.looked(looked, connection.link.now_ms())
                }
                AppendStep::Done(outcome) => return outcome,
            };
        }
    }

    fn look(&self, position: Position, sent: &Stored) -> Result<Resolved, Broken> {
        let is_mine = self.owned.take_again()?;
        let shard = self.owned.shard;
        let look = move |rows: &mut super::Rows| rows.look(shard, position);
        let look = self.owned.connection.repeat(Purpose::Read, look)?;
        Ok(resolve(position, sent, is_mine, &look))
    }
}

impl Known {
    fn check(&self, position: Position) -> Result<(), ReadError> {
        let (start, tail) = (self.start, self.tail);
        if position < start {
            return Err(ReadError::Truncated { position, start });
        }
        if position > tail {
            return Err(ReadError::BeyondTail { position, tail });
        }
        if position < tail && !self.records.contains_key(&position) {
            let reason = "no record begins here".to_owned();
            return Err(ReadError::Corrupt { position, reason });
        }
        Ok(())
    }
}

impl Log for SharedLog {
    fn start(&self) -> Position {
        locked(&self.known).start
    }

    fn tail(&self) -> Position {
        locked(&self.known).tail
    }

    fn append(&self, expected: Position, body: &[u8]) -> Result<Position, AppendError> {
        let _appending = self.lock_appends();
        if let Some(failed) = locked(&self.failed).clone() {
            return Err(failed);
        }
        let tail = self.tail();
        if expected != tail {
            return Err(AppendError::Fenced { expected, tail });
        }
        if body.len() > RECORD_BYTES_MAX {
            return Err(AppendError::TooLarge { bytes: body.len(), bytes_max: RECORD_BYTES_MAX });
        }
        let next = Position(tail.0 + body.len() as u64 + 1);
        if let Err(failed) = self.insert(tail, next, body) {
            if let AppendError::WentBack { .. } = failed {
                // The records in memory differ from those of the log.
                self.owned.lose();
            }
            *locked(&self.failed) = Some(failed.clone());
            return Err(failed);
        }
        let mut known = locked(&self.known);
        let record = Record { position: tail, next, body: body.to_vec() };
        known.records.insert(tail, record);
        known.tail = next;
        Ok(next)
    }

    fn read(&self, from: Position, bytes_max: usize) -> Result<Vec<Record>, ReadError> {
        let known = locked(&self.known);
        known.check(from)?;
        let (mut bytes, mut records) = (0, Vec::new());
        for record in known.records.range(from..).map(|(_, record)| record) {
            bytes += record.body.len();
            if bytes > bytes_max && !records.is_empty() {
                break;
            }
            records.push(record.clone());
        }
        Ok(records)
    }

    fn read_part(&self, record: Position, offset: u32, buffer: &mut [u8]) -> Result<(), ReadError> {
        let known = locked(&self.known);
        known.check(record)?;
        let part = known.records.get(&record).and_then(|record| {
            let from = offset as usize;
            record.body.get(from..from.checked_add(buffer.len())?)
        });
        let beyond = ReadError::BeyondTail { position: record, tail: known.tail };
        buffer.copy_from_slice(part.ok_or(beyond)?);
        Ok(())
    }

    fn truncate(&self, before: Position) -> Result<(), TruncateError> {
        // Appends wait: the claim must not change between here and the statement.
        let _appending = self.lock_appends();
        let start = {
            let known = locked(&self.known);
            let tail = known.tail;
            if before > tail {
                return Err(TruncateError::BeyondTail { before, tail });
            }
            // A position inside a record still needs that record.
            let needed = known.records.values().find(|record| record.next > before);
            needed.map_or(tail, |record| record.position)
        };
        let (shard, epoch) = (self.owned.shard, self.owned.epoch.load(Ordering::SeqCst));
        let truncate = move |rows: &mut super::Rows| rows.truncate(shard, epoch, start);
        let is_held = self.owned.connection.repeat(Purpose::Change, truncate);
        if !is_held.map_err(|Broken| TruncateError::Failed(Broken::reason()))? {
            self.owned.lose();
            return Err(TruncateError::Fenced);
        }
        let mut known = locked(&self.known);
        known.start = known.start.max(start);
        known.records = known.records.split_off(&start);
        Ok(())
    }

    fn create_blob(&self, name: &str) -> Result<Box<dyn BlobWriter>, BlobError> {
        blob_name::check(name)?;
        let exists = || BlobError::Exists { name: name.to_owned() };
        if !locked(&self.being_written).insert(name.to_owned()) {
            return Err(exists());
        }
        let mut writer = Writer::new(&self.owned, &self.being_written, name);
        let (shard, taken) = (self.owned.shard, name.to_owned());
        let begin = move |rows: &mut super::Rows| rows.begin_blob(shard, &taken);
        let begun = self.owned.connection.repeat(Purpose::Read, begin);
        let begun = begun.map_err(|Broken| BlobError::Failed(Broken::reason()))?;
        writer.id = begun.ok_or_else(exists)?;
        Ok(Box::new(writer))
    }

    fn open_blob(&self, name: &str) -> Result<Option<Arc<dyn Blob>>, BlobError> {
        blob_name::check(name)?;
        let (shard, name) = (self.owned.shard, name.to_owned());
        let find = move |rows: &mut super::Rows| rows.find_blob(shard, &name);
        let found = self.owned.connection.repeat(Purpose::Read, find);
        let found = found.map_err(|Broken| BlobError::Failed(Broken::reason()))?;
        Ok(found.map(|bytes| Arc::new(MemoryBlob(bytes)) as Arc<dyn Blob>))
    }

    fn list_blobs(&self, prefix: &str) -> Result<Vec<String>, BlobError> {
        blob_name::check_prefix(prefix)?;
        let (shard, prefix) = (self.owned.shard, prefix.to_owned());
        let list = move |rows: &mut super::Rows| rows.list_blobs(shard, &prefix);
        let listed = self.owned.connection.repeat(Purpose::Read, list);
        listed.map_err(|Broken| BlobError::Failed(Broken::reason()))
    }

    fn delete_blob(&self, name: &str) -> Result<(), BlobError> {
        blob_name::check(name)?;
        let (shard, name) = (self.owned.shard, name.to_owned());
        let delete = move |rows: &mut super::Rows, epoch| rows.delete_blob(shard, epoch, &name);
        self.owned.execute_fenced(delete).map(drop)
    }

    fn description(&self) -> String {
        "memory that several servers share, lost with the process".to_owned()
    }

    fn is_current(&self) -> bool {
        let Owned { connection, licence, .. } = &*self.owned;
        licence.is_valid(connection.link.now_ms()) && !self.is_lost()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Candidate, DirectLink, SharedMemory};
    use super::*;
    use crate::shared_conformance::{MemoryStore, Shared};

    crate::conformance!(laws, {
        let mut memory = MemoryStore::default();
        move || memory.open()
    });

    crate::shared_conformance!(shared_laws, MemoryStore::default());

    #[test]
    fn a_standby_takes_over_two_seconds_after_the_last_heartbeat() {
        let database = SharedMemory::default();
        let link = Arc::new(DirectLink::default());
        let owner = Candidate::new(&database, link, "owner").open().expect("it is free");
        let standby_link = Arc::new(DirectLink::default());
        let mut standby = Candidate::new(&database, standby_link.clone(), "standby");
        let mut waited = 0;
        let next = loop {
            if let Ok(super::super::Looked::Taken(log)) = standby.look() {
                break log;
            }
            // The owner is alive for three seconds.
            if waited < 3_000 {
                assert!(owner.beat());
            }
            super::super::Link::sleep(&*standby_link, 100);
            waited += 100;
        };
        assert!((5_000..=5_200).contains(&waited), "{waited}");
        next.load(None).expect("it is readable");
        assert!(!owner.beat() && !owner.is_current() && next.is_current());
        assert!(next.epochs() > owner.epochs());
    }
}

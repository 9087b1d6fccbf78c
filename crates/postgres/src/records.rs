//! Appends and their unknown outcomes, the records in memory, truncation.
//!
//! ```text
//!   append ──▶ inserted ─────────────────────────────▶ durable
//!     │   └──▶ no row: another server owns the log ──▶ fenced
//!     └──────▶ no answer ──▶ take over from oneself ──▶ my record is there ──▶ durable
//!                                     │                 the tail is before it ──▶ send it again
//!                                     └──▶ not mine any more: look all the same
//! ```

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use baton_cluster::now_ms;
use baton_cluster::spool::{Found, Spool, copy_part, no_record, within};
use baton_log::ownership::{
    AppendAttempt, AppendStep, Look, PAUSE_MS, Resolved, Sent, Stored, resolve,
};
use baton_log::{
    AppendError, OpenError, Position, RECORD_BYTES_MAX, ReadError, Record, TruncateError,
};
use tokio_postgres::Row;

use crate::database::{Database, Failure, Purpose, Session, Value};
use crate::ownership::{Claim, Ownership};

/// How long the answer to an append is awaited before its outcome is resolved.
const APPEND_MAX: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(PAUSE_MS);
/// Records that one statement reads.
const PAGE: i64 = 64;

/// One row if the record was inserted. The tail is that of the database: a log that went back with
/// its database, or on with another owner, accepts nothing.
const APPEND: &str = "with held as (select s.shard from shard s
        where s.shard = $7 and s.epoch = $1 and s.holder = $2::text::uuid
        and coalesce((select r.next from record r where r.shard = $7
            order by r.position desc limit 1), s.start) = $3
        for share of s)
    insert into record (shard, position, next, epoch, crc, body)
    select $7, $3, $4, $1, $5, $6 from held on conflict do nothing returning next";
const TAIL: &str = "select s.start, coalesce((select r.next from record r where r.shard = $1
    order by r.position desc limit 1), s.start) from shard s where s.shard = $1";
const READ: &str = "select position, next, crc, body from record
    where shard = $3 and position >= $1 order by position limit $2";
const LOOK: &str = "select next, epoch, crc from record where shard = $2 and position = $1";
const TRUNCATE: &str = "update shard set start = greatest(start, $3)
    where shard = $4 and epoch = $1 and holder = $2::text::uuid returning start";
/// In batches: a long delete would hold back the vacuum of everything else. It needs no claim,
/// since the start is durable and only grows.
const DELETE: &str =
    "delete from record where shard = $1 and position in (select position from record
    where shard = $1 and position < (select start from shard where shard = $1)
    order by position limit 1000) returning 1";

/// The records of the log.
pub(crate) struct Records {
    database: Database,
    ownership: Arc<Ownership>,
    kept: RwLock<Spool>,
    /// Held during an append. The session is that of appends.
    appender: Mutex<Appender>,
}

#[derive(Default)]
struct Appender {
    session: Arc<tokio::sync::Mutex<Option<Session>>>,
    failed: Option<AppendError>,
}

/// Positions count bytes, and are below the largest number of the database.
fn long(position: Position) -> i64 {
    i64::try_from(position.0).unwrap_or(i64::MAX)
}

fn position(number: i64) -> Position {
    Position(u64::try_from(number).unwrap_or_default())
}

/// The record of a row, with its checksum verified.
fn record_of(row: &Row) -> Result<Record, ReadError> {
    let (crc, body): (i64, Vec<u8>) = (row.get(2), row.get(3));
    let record = Record { position: position(row.get(0)), next: position(row.get(1)), body };
    if i64::from(crc32fast::hash(&record.body)) == crc {
        return Ok(record);
    }
    let reason = "its checksum does not match".to_owned();
    Err(ReadError::Corrupt { position: record.position, reason })
}

impl Records {
    /// Reads what the log has.
    pub(crate) async fn load(
        database: &Database,
        ownership: &Arc<Ownership>,
    ) -> Result<Self, OpenError> {
        let location = database.location().description().to_owned();
        let away = |failure: Failure| failure.at_opening(&location);
        let damaged = |error: ReadError| OpenError::Unfit {
            location: location.clone(),
            reason: error.to_string(),
        };
        let row = database.query_one(TAIL, vec![ownership.shard()]).await.map_err(away)?;
        let (start, tail) = (position(row.get(0)), position(row.get(1)));
        let mut kept = Spool::starting_at(start);
        while kept.tail() < tail {
            let at = Value::Long(long(kept.tail()));
            let from = vec![at, Value::Long(PAGE), ownership.shard()];
            let rows = database.query(READ, from).await.map_err(away)?;
            let expected = kept.tail();
            for row in &rows {
                let record = record_of(row).map_err(damaged)?;
                if record.position != kept.tail() {
                    return Err(damaged(no_record(kept.tail())));
                }
                kept.push(record);
            }
            if kept.tail() == expected {
                return Err(damaged(no_record(expected)));
            }
        }
        Ok(Self {
            database: database.clone(),
            ownership: Arc::clone(ownership),
            kept: RwLock::new(kept),
            appender: Mutex::default(),
        })
    }

    fn kept(&self) -> std::sync::RwLockReadGuard<'_, Spool> {
        self.kept.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn kept_mut(&self) -> std::sync::RwLockWriteGuard<'_, Spool> {
        self.kept.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn appender(&self) -> MutexGuard<'_, Appender> {
        self.appender.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn start(&self) -> Position {
        self.kept().start()
    }

    pub(crate) fn tail(&self) -> Position {
        self.kept().tail()
    }

    pub(crate) fn append(&self, expected: Position, body: &[u8]) -> Result<Position, AppendError> {
        let mut appender = self.appender();
        if let Some(failed) = &appender.failed {
            return Err(failed.clone());
        }
        let tail = self.tail();
        if expected != tail {
            return Err(AppendError::Fenced { expected, tail });
        }
        if body.len() > RECORD_BYTES_MAX {
            return Err(AppendError::TooLarge { bytes: body.len(), bytes_max: RECORD_BYTES_MAX });
        }
        let next = Position(tail.0 + body.len() as u64 + 1);
        let insert = Insert {
            database: self.database.clone(),
            ownership: Arc::clone(&self.ownership),
            session: Arc::clone(&appender.session),
            position: expected,
            next,
            crc: i64::from(crc32fast::hash(body)),
            body: body.into(),
        };
        let closing = || AppendError::Failed("the log is being closed".to_owned());
        let outcome = self.database.wait(insert.run()).ok_or_else(closing).and_then(|it| it);
        match outcome {
            Ok(()) => {
                let body = body.to_vec();
                self.kept_mut().push(Record { position: expected, next, body });
                Ok(next)
            }
            // Nothing was written, and the log is still this server's.
            Err(AppendError::Full) => Err(AppendError::Full),
            Err(failed) => {
                if let AppendError::WentBack { .. } = failed {
                    self.ownership.mark_stale();
                }
                appender.failed = Some(failed.clone());
                Err(failed)
            }
        }
    }

    pub(crate) fn read(&self, from: Position, bytes_max: usize) -> Result<Vec<Record>, ReadError> {
        let found = self.kept().read(from, bytes_max)?;
        match found {
            Found::Here(records) => Ok(records),
            Found::Stored => self.read_stored(from, bytes_max),
        }
    }

    /// Records that are no longer in memory.
    fn read_stored(&self, from: Position, bytes_max: usize) -> Result<Vec<Record>, ReadError> {
        let failed = |failure: Failure| ReadError::Failed(failure.reason());
        let asked = vec![Value::Long(long(from)), Value::Long(PAGE), self.ownership.shard()];
        let rows = self.database.ask(READ, asked).map_err(failed)?;
        let records: Vec<Record> = rows.iter().map(record_of).collect::<Result<_, _>>()?;
        match records.first() {
            Some(first) if first.position == from => Ok(within(records.into_iter(), bytes_max)),
            Some(_) | None => Err(no_record(from)),
        }
    }

    pub(crate) fn read_part(
        &self,
        record: Position,
        offset: u32,
        buffer: &mut [u8],
    ) -> Result<(), ReadError> {
        let found = self.kept().read_part(record, offset, buffer)?;
        if let Found::Here(()) = found {
            return Ok(());
        }
        let stored = self.read_stored(record, 0)?;
        let stored = stored.first().ok_or_else(|| no_record(record))?;
        copy_part(stored, offset, buffer)
    }

    pub(crate) fn truncate(&self, before: Position) -> Result<(), TruncateError> {
        // Appends wait: the claim must not change between here and the statement.
        let appender = self.appender();
        let Some(start) = self.kept().start_after(before)? else { return Ok(()) };
        let [epoch, holder] = self.ownership.claim().values();
        let asked = vec![epoch, holder, Value::Long(long(start)), self.ownership.shard()];
        let failed = |failure: Failure| TruncateError::Failed(failure.reason());
        if self.database.ask(TRUNCATE, asked).map_err(failed)?.is_empty() {
            self.ownership.lose();
            return Err(TruncateError::Fenced);
        }
        drop(appender);
        self.kept_mut().truncate(start);
        self.delete_truncated();
        Ok(())
    }

    /// Deletes the rows before the start in the background; what is left is deleted next time.
    fn delete_truncated(&self) {
        let (database, shard) = (self.database.clone(), vec![self.ownership.shard()]);
        drop(self.database.spawn(async move {
            while database.query(DELETE, shard.clone()).await.is_ok_and(|rows| !rows.is_empty()) {}
        }));
    }
}

/// One append, until its outcome is known.
struct Insert {
    database: Database,
    ownership: Arc<Ownership>,
    session: Arc<tokio::sync::Mutex<Option<Session>>>,
    position: Position,
    next: Position,
    crc: i64,
    body: Arc<[u8]>,
}

impl Insert {
    async fn run(self) -> Result<(), AppendError> {
        let mut attempt = AppendAttempt::new(self.position, now_ms());
        let mut claim = self.ownership.claim();
        let mut step = AppendStep::Send;
        loop {
            if let AppendStep::PauseThenSend | AppendStep::PauseThenLook = step {
                tokio::time::sleep(PAUSE).await;
            }
            step = match step {
                AppendStep::Send | AppendStep::PauseThenSend => {
                    claim = self.ownership.claim();
                    let sent = match self.send(&claim).await {
                        Ok(true) => Sent::Inserted,
                        Ok(false) => Sent::NotInserted,
                        Err(Failure::Full) => Sent::Full,
                        Err(Failure::Again(reason)) => Sent::Again(reason),
                        Err(failure) => Sent::Unknown(failure.reason()),
                    };
                    attempt.sent(sent, now_ms())
                }
                AppendStep::Look | AppendStep::PauseThenLook => {
                    let looked = self.look(&claim).await.map_err(|failure| failure.reason());
                    attempt.looked(looked, now_ms())
                }
                AppendStep::Done(outcome) => return outcome,
            };
        }
    }

    /// Sends the statement. Whether it inserted the record.
    async fn send(&self, claim: &Claim) -> Result<bool, Failure> {
        let mut slot = self.session.lock().await;
        let session = match slot.take() {
            Some(session) => session,
            None => self.database.connect(Purpose::Append).await?,
        };
        let [epoch, holder] = claim.values();
        let values = [
            epoch,
            holder,
            Value::Long(long(self.position)),
            Value::Long(long(self.next)),
            Value::Long(self.crc),
            Value::Bytes(Arc::clone(&self.body)),
            self.ownership.shard(),
        ];
        let answer = tokio::time::timeout(APPEND_MAX, session.query(APPEND, &values)).await;
        let silent = || Failure::Broken("the database does not answer".to_owned());
        let rows = answer.unwrap_or_else(|_| Err(silent()))?;
        *slot = Some(session);
        Ok(!rows.is_empty())
    }

    /// Determines the outcome of a statement that had no answer.
    async fn look(&self, sent: &Claim) -> Result<Resolved, Failure> {
        // It waits for the statement, which holds the row until it has ended.
        let is_mine = self.ownership.take_again().await?.is_some();
        let asked = vec![Value::Long(long(self.position)), self.ownership.shard()];
        let rows = self.database.query(LOOK, asked).await?;
        let look = if let Some(row) = rows.first() {
            Look::Record(Stored { next: position(row.get(0)), epoch: row.get(1), crc: row.get(2) })
        } else {
            let row = self.database.query_one(TAIL, vec![self.ownership.shard()]).await?;
            Look::Nothing { start: position(row.get(0)), tail: position(row.get(1)) }
        };
        let sent = Stored { next: self.next, epoch: sent.epoch, crc: self.crc };
        Ok(resolve(self.position, &sent, is_mine, &look))
    }
}

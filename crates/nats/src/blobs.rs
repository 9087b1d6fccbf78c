//! Blobs: their names in the stream of the shard, their bytes in chunks in another one.
//!
//! The bytes of a blob are written under an id that is never used again, and become visible by one
//! message in the stream of the shard. A deleted blob stays readable for those who have it open:
//! its chunks are removed an hour later.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_nats::HeaderMap;
use baton_cluster::chunks::{CHUNK_BYTES, ChunkCache, folders, read_chunks};
use baton_cluster::now_ms;
use baton_log::ownership::REPEAT_MS;
use baton_log::{
    AppendError, Blob, BlobError, BlobWriter, Position, check_blob_name, check_blob_prefix,
};
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::connection::{Failure, Outgoing, Stored, random};
use crate::setup;
use crate::shard_stream::ShardStream;

/// How often the bytes of deleted blobs are removed.
const SWEEP_EVERY: Duration = Duration::from_mins(10);
/// How long they stay.
const KEPT_MS: u64 = 3_600_000;
/// How long bytes stay that no blob has.
const UPLOAD_MS_MAX: u64 = 7 * 24 * 3_600_000;
/// How long to wait for a replica that lags behind.
const LAG: Duration = Duration::from_millis(20);
/// The prefix of the subjects of names.
pub(crate) const NAMES: &str = "blob.";

/// The stored facts about a blob.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct BlobFact {
    id: String,
    bytes: u64,
    chunk_bytes: usize,
    deleted: bool,
}

/// A deleted blob whose bytes are there still.
#[derive(Clone)]
struct Deleted {
    id: String,
    subject: String,
    /// The sequence of the message that deleted it.
    sequence: u64,
    time_ms: u64,
}

/// The blobs that a shard has.
#[derive(Default)]
pub(crate) struct Catalogue {
    blobs: BTreeMap<String, BlobFact>,
    deleted: Vec<Deleted>,
    /// Names that are being written by this server, and their ids once they have one.
    being_written: BTreeSet<String>,
}

/// No name has `~`, and no token of a subject a dot.
fn encoded(name: &str) -> String {
    name.replace('.', "~")
}

fn decoded(token: &str) -> String {
    token.replace('~', ".")
}

impl Catalogue {
    /// A message about a blob, read in order.
    pub(crate) fn see(&mut self, token: &str, message: &Stored) -> Result<(), Failure> {
        let fact: BlobFact = message.fact()?;
        let name = decoded(token);
        if fact.deleted {
            self.blobs.remove(&name);
            self.deleted.push(Deleted {
                id: fact.id,
                subject: message.subject.clone(),
                sequence: message.sequence,
                time_ms: message.time_ms,
            });
        } else {
            self.blobs.insert(name, fact);
        }
        Ok(())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.blobs.is_empty()
    }

    /// Whether a name is that of a blob, inside of one, or a folder of one.
    fn is_taken(&self, name: &str) -> bool {
        let folder = format!("{name}/");
        let inside = self.blobs.range(folder.clone()..).next();
        self.blobs.contains_key(name)
            || folders(name).iter().any(|folder| self.blobs.contains_key(folder))
            || inside.is_some_and(|(other, _)| other.starts_with(&folder))
    }
}

/// The blobs of a shard.
#[derive(Clone)]
pub(crate) struct Blobs {
    stream: Arc<ShardStream>,
    catalogue: Arc<Mutex<Catalogue>>,
    cache: Arc<Mutex<ChunkCache<String>>>,
    /// Held while a name is committed or deleted.
    changing: Arc<Mutex<()>>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn failed(failure: Failure) -> BlobError {
    match failure {
        Failure::Full => BlobError::Full,
        other => BlobError::Failed(other.reason()),
    }
}

fn closing() -> BlobError {
    BlobError::Failed("the log is being closed".to_owned())
}

impl Blobs {
    pub(crate) fn new(
        stream: &Arc<ShardStream>,
        catalogue: Catalogue,
        cache: &Arc<Mutex<ChunkCache<String>>>,
    ) -> Self {
        let (stream, cache) = (Arc::clone(stream), Arc::clone(cache));
        let catalogue = Arc::new(Mutex::new(catalogue));
        Self { stream, catalogue, cache, changing: Arc::default() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        locked(&self.catalogue).is_empty()
    }

    fn bytes_stream(&self) -> String {
        setup::blobs(&self.stream.nats().location().prefix)
    }

    /// The subject of a part of a blob, or of all of them.
    fn chunk_subject(&self, id: &str, part: impl std::fmt::Display) -> String {
        let prefix = &self.stream.nats().location().prefix;
        format!("{prefix}.blobs.{}.{id}.{part}", self.stream.ownership.shard)
    }

    pub(crate) fn create(&self, name: &str) -> Result<Box<dyn BlobWriter>, BlobError> {
        check_blob_name(name)?;
        let mut catalogue = locked(&self.catalogue);
        if catalogue.is_taken(name) || !catalogue.being_written.insert(name.to_owned()) {
            return Err(BlobError::Exists { name: name.to_owned() });
        }
        Ok(Box::new(Writer {
            blobs: self.clone(),
            name: name.to_owned(),
            id: None,
            pending: Vec::new(),
            parts: 0,
            bytes: 0,
            is_sent: false,
        }))
    }

    pub(crate) fn open(&self, name: &str) -> Result<Option<Arc<dyn Blob>>, BlobError> {
        check_blob_name(name)?;
        let fact = locked(&self.catalogue).blobs.get(name).cloned();
        Ok(fact.map(|fact| Arc::new(Reader { blobs: self.clone(), fact }) as Arc<dyn Blob>))
    }

    pub(crate) fn list(&self, prefix: &str) -> Result<Vec<String>, BlobError> {
        check_blob_prefix(prefix)?;
        let catalogue = locked(&self.catalogue);
        let names = catalogue.blobs.range(prefix.to_owned()..).map(|(name, _)| name);
        Ok(names.take_while(|name| name.starts_with(prefix)).cloned().collect())
    }

    pub(crate) fn delete(&self, name: &str) -> Result<(), BlobError> {
        check_blob_name(name)?;
        let _changing = locked(&self.changing);
        let Some(fact) = locked(&self.catalogue).blobs.get(name).cloned() else { return Ok(()) };
        let fact = BlobFact { deleted: true, ..fact };
        let (subject, sequence) = self.write(name, &fact)?;
        let time_ms = self.stream.nats().clock_ms();
        let mut catalogue = locked(&self.catalogue);
        catalogue.blobs.remove(name);
        catalogue.deleted.push(Deleted { id: fact.id, subject, sequence, time_ms });
        Ok(())
    }

    fn commit(&self, name: &str, fact: BlobFact) -> Result<(), BlobError> {
        let _changing = locked(&self.changing);
        if locked(&self.catalogue).is_taken(name) {
            return Err(BlobError::Exists { name: name.to_owned() });
        }
        self.write(name, &fact)?;
        locked(&self.catalogue).blobs.insert(name.to_owned(), fact);
        Ok(())
    }

    /// Writes a fact about a name. Its subject and sequence.
    fn write(&self, name: &str, fact: &BlobFact) -> Result<(String, u64), BlobError> {
        let subject = self.stream.subject(&format!("{NAMES}{}", encoded(name)));
        let (stream, messages) =
            (Arc::clone(&self.stream), [Outgoing::fact(subject.clone(), fact)]);
        let network = self.stream.nats().network();
        let written =
            network.wait(async move { stream.write(&messages, Position(u64::MAX)).await });
        let sequence = written.ok_or_else(closing)?.map_err(|error| match error {
            AppendError::Fenced { .. } => BlobError::Fenced,
            AppendError::Full => BlobError::Full,
            other => BlobError::Failed(other.to_string()),
        })?;
        Ok((subject, sequence))
    }

    fn chunk(&self, id: &str, part: u32) -> Result<Arc<[u8]>, BlobError> {
        if let Some(bytes) = locked(&self.cache).get(id.to_owned(), part) {
            return Ok(bytes);
        }
        let (nats, stream) = (self.stream.nats().clone(), self.bytes_stream());
        let subject = self.chunk_subject(id, part);
        let read = async move {
            let begun = now_ms();
            loop {
                match nats.body_on(&stream, &subject).await {
                    Ok(Some(bytes)) => return Ok(bytes),
                    Ok(None) | Err(Failure::Broken(_) | Failure::Again(_))
                        if now_ms() < begun + REPEAT_MS =>
                    {
                        tokio::time::sleep(LAG).await;
                    }
                    Ok(None) => return Err(Failure::Missing),
                    Err(failure) => return Err(failure),
                }
            }
        };
        let bytes = self.stream.nats().network().wait(read).ok_or_else(closing)?.map_err(failed)?;
        let bytes: Arc<[u8]> = bytes.as_ref().into();
        locked(&self.cache).put(id.to_owned(), part, &bytes);
        Ok(bytes)
    }

    /// Removes bytes that no blob has any more, now and then.
    pub(crate) async fn sweep(self) {
        loop {
            // Messages that are left after an error are removed the next time.
            let _ = self.sweep_deleted().await;
            let _ = self.sweep_uploads().await;
            tokio::time::sleep(SWEEP_EVERY).await;
        }
    }

    async fn sweep_deleted(&self) -> Result<(), Failure> {
        let nats = self.stream.nats();
        let before_ms = nats.clock_ms().saturating_sub(KEPT_MS);
        let due: Vec<Deleted> = {
            let catalogue = locked(&self.catalogue);
            catalogue.deleted.iter().filter(|it| it.time_ms < before_ms).cloned().collect()
        };
        for dead in due {
            self.remove_bytes(&dead.id).await?;
            let asked = json!({"filter": dead.subject, "seq": dead.sequence + 1});
            nats.purge(self.stream.name(), &asked).await?;
            locked(&self.catalogue).deleted.retain(|other| other.sequence != dead.sequence);
        }
        Ok(())
    }

    async fn remove_bytes(&self, id: &str) -> Result<(), Failure> {
        let asked = json!({"filter": self.chunk_subject(id, "*")});
        self.stream.nats().purge(&self.bytes_stream(), &asked).await
    }

    /// Bytes that were written a week ago and that no blob has: an id begins with its time.
    async fn sweep_uploads(&self) -> Result<(), Failure> {
        let nats = self.stream.nats();
        let before_ms = nats.clock_ms().saturating_sub(UPLOAD_MS_MAX);
        let asked = json!({"subjects_filter": self.chunk_subject("*", 0)});
        let what = format!("STREAM.INFO.{}", self.bytes_stream());
        let info: Value = nats.api(&what, &asked).await?;
        let subjects = info["state"]["subjects"].as_object();
        let ids = subjects.into_iter().flatten().filter_map(|(subject, _)| {
            let id = subject.rsplit('.').nth(1)?;
            let time_ms = u64::from_str_radix(id.get(..12)?, 16).ok()?;
            (time_ms < before_ms).then(|| id.to_owned())
        });
        for id in ids.collect::<Vec<String>>() {
            let is_used = {
                let catalogue = locked(&self.catalogue);
                catalogue.blobs.values().any(|fact| fact.id == id)
                    || catalogue.deleted.iter().any(|dead| dead.id == id)
            };
            if !is_used {
                self.remove_bytes(&id).await?;
            }
        }
        Ok(())
    }
}

struct Writer {
    blobs: Blobs,
    name: String,
    id: Option<String>,
    pending: Vec<u8>,
    parts: u32,
    bytes: u64,
    /// Whether the commit was sent.
    is_sent: bool,
}

impl Writer {
    /// The id under which the bytes are written: the time, and what no other has.
    fn id(&mut self) -> Result<String, BlobError> {
        if self.id.is_none() {
            let time_ms = self.blobs.stream.nats().clock_ms();
            self.id = Some(format!("{time_ms:012x}{}", random(12).map_err(failed)?));
        }
        Ok(self.id.clone().unwrap_or_default())
    }

    fn send(&mut self, chunk: Vec<u8>) -> Result<(), BlobError> {
        let id = self.id()?;
        let subject = self.blobs.chunk_subject(&id, self.parts);
        let out = Outgoing { subject, headers: HeaderMap::new(), body: Bytes::from(chunk) };
        let nats = self.blobs.stream.nats().clone();
        let stored = self.blobs.stream.nats().network().wait(async move {
            // The same bytes under the same subject: the last ones count.
            nats.publish_repeated(out).await
        });
        stored.ok_or_else(closing)?.map_err(failed)?;
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
            self.send(chunk)?;
        }
        Ok(())
    }

    fn commit(mut self: Box<Self>) -> Result<(), BlobError> {
        let last = std::mem::take(&mut self.pending);
        if !last.is_empty() {
            self.send(last)?;
        }
        let id = self.id()?;
        let fact = BlobFact { id, bytes: self.bytes, chunk_bytes: CHUNK_BYTES, deleted: false };
        self.is_sent = true;
        self.blobs.commit(&self.name, fact)
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        locked(&self.blobs.catalogue).being_written.remove(&self.name);
        // A commit without an answer may still be there.
        if let (Some(id), false) = (self.id.take(), self.is_sent) {
            let blobs = self.blobs.clone();
            drop(self.blobs.stream.nats().network().spawn(async move {
                let _ = blobs.remove_bytes(&id).await;
            }));
        }
    }
}

struct Reader {
    blobs: Blobs,
    fact: BlobFact,
}

impl Blob for Reader {
    fn len(&self) -> u64 {
        self.fact.bytes
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), BlobError> {
        let read = |part: u32| self.blobs.chunk(&self.fact.id, part);
        read_chunks((self.fact.bytes, self.fact.chunk_bytes.max(1)), offset, buffer, read)
    }
}

//! Snapshots: a workspace at one revision, as an immutable blob.
//!
//! A snapshot is a [sorted table](crate::sorted_table): one entry for the head, which contains
//! everything that is not numerous, one for every entry of shared state under its namespace and
//! key, one for every task and every hand-off, and one for every part of checkpoints: a chunk that
//! many of them share is stored once. So it can be loaded completely, by two threads at once, and
//! one entry can be read without loading it.
//!
//! | key | value |
//! |---|---|
//! | `00` | codec, schema (two bytes), MessagePack of the head |
//! | `01` namespace `00` key | the entry as the table packs it |
//! | `02` task | MessagePack of the task's record |
//! | `03` number, four bytes, the highest first | MessagePack of a part of checkpoints |
//! | `04` hand-off | MessagePack of the hand-off |

use std::ops::Bound;
use std::sync::Arc;

use baton_core::checkpoint;
use baton_core::handoff::Handoff;
use baton_core::messagepack;
use baton_core::space::Head;
use baton_core::storage::{Entries, Entry as Packed};
use baton_core::task::Record;
use baton_core::{Entry, Key, NamespaceName, Revision, Space};
use baton_log::{Blob, BlobWriter};
use serde::Serialize;
use serde::de::DeserializeOwned;
use thiserror::Error;

use crate::codec::{CodecError, SCHEMA};
use crate::give_way::GiveWay;
use crate::sorted_table::{SortedTable, SortedTableError, SortedTableWriter};

/// The kind of sorted table that is a snapshot.
const KIND: u8 = 1;
const HEAD_KEY: &[u8] = &[0];
const ENTRY_MARK: u8 = 1;
const TASK_MARK: u8 = 2;
const CHECKPOINT_MARK: u8 = 3;
const HANDOFF_MARK: u8 = 4;
/// MessagePack with named fields.
const CODEC: u8 = 1;
/// Below this many frames a second thread costs more than it saves.
const PAGES_WORTH_A_THREAD: usize = 64;
/// A record is encoded here; an entry is packed already.
const UNITS_OF_A_RECORD: usize = 16;

/// Why a snapshot could not be written or read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SnapshotError {
    /// The frames are damaged, too new or unreadable.
    #[error(transparent)]
    SortedTable(#[from] SortedTableError),
    /// The head is damaged or too new.
    #[error(transparent)]
    Codec(#[from] CodecError),
}

fn corrupt(what: impl Into<String>) -> SnapshotError {
    CodecError::Corrupt { what: what.into() }.into()
}

/// Writes a snapshot: the head first, then entries in order of namespace and key, then tasks,
/// checkpoints and hand-offs.
pub struct SnapshotWriter {
    table: SortedTableWriter,
    key: Vec<u8>,
    tasks: Vec<Arc<Record>>,
    checkpoints: Vec<checkpoint::Part>,
    handoffs: Vec<Arc<Handoff>>,
}

impl SnapshotWriter {
    /// Begins with everything but the shared state.
    pub fn begin(output: Box<dyn BlobWriter>, mut head: Head) -> Result<Self, SnapshotError> {
        let tasks = std::mem::take(&mut head.tasks.records);
        let checkpoints = std::mem::take(&mut head.checkpoints.parts);
        let handoffs = std::mem::take(&mut head.handoffs.records);
        let mut table = SortedTableWriter::new(output, KIND);
        let mut value = vec![CODEC];
        value.extend_from_slice(&SCHEMA.to_le_bytes());
        rmp_serde::encode::write_named(&mut value, &head).expect("heads can be encoded");
        table.push(HEAD_KEY, &value)?;
        Ok(Self { table, key: Vec::new(), tasks, checkpoints, handoffs })
    }

    /// The next entry.
    pub fn entry(
        &mut self,
        namespace: &NamespaceName,
        entry: &Packed,
    ) -> Result<(), SnapshotError> {
        write_key(&mut self.key, namespace, entry.key());
        Ok(self.table.push(&self.key, entry.as_bytes())?)
    }

    /// Completes the snapshot.
    pub fn finish(mut self) -> Result<(), SnapshotError> {
        let mut give_way = GiveWay::default();
        for task in &std::mem::take(&mut self.tasks) {
            self.record(TASK_MARK, task.id.as_str().as_bytes(), &**task)?;
            give_way.after(UNITS_OF_A_RECORD);
        }
        for (number, part) in (0_u32..).zip(&std::mem::take(&mut self.checkpoints)) {
            self.record(CHECKPOINT_MARK, &number.to_be_bytes(), part)?;
            give_way.after(UNITS_OF_A_RECORD);
        }
        for handoff in &std::mem::take(&mut self.handoffs) {
            self.record(HANDOFF_MARK, handoff.id.as_str().as_bytes(), &**handoff)?;
            give_way.after(UNITS_OF_A_RECORD);
        }
        self.table.finish()?;
        Ok(())
    }

    fn record(
        &mut self,
        mark: u8,
        id: &[u8],
        record: &impl Serialize,
    ) -> Result<(), SnapshotError> {
        self.key.clear();
        self.key.push(mark);
        self.key.extend_from_slice(id);
        let value = rmp_serde::to_vec_named(record).expect("records can be encoded");
        Ok(self.table.push(&self.key, &value)?)
    }
}

fn write_key(buffer: &mut Vec<u8>, namespace: &NamespaceName, key: &str) {
    buffer.clear();
    buffer.push(ENTRY_MARK);
    buffer.extend_from_slice(namespace.as_str().as_bytes());
    buffer.push(0);
    buffer.extend_from_slice(key.as_bytes());
}

fn read_key(key: &[u8]) -> Option<(&str, &str)> {
    let (mark, rest) = key.split_first()?;
    let end = rest.iter().position(|byte| *byte == 0).filter(|_| *mark == ENTRY_MARK)?;
    Some((std::str::from_utf8(&rest[..end]).ok()?, std::str::from_utf8(&rest[end + 1..]).ok()?))
}

/// Reads one record; returns whether it is one.
fn read_record<R: DeserializeOwned, T>(
    value: &[u8],
    kept: impl FnOnce(R) -> T,
    records: &mut Vec<T>,
) -> bool {
    messagepack::from_slice(value).map(|record| records.push(kept(record))).is_ok()
}

/// The contents of some frames of a snapshot.
#[derive(Default)]
struct Part {
    namespaces: Vec<(NamespaceName, Vec<Packed>)>,
    tasks: Vec<Arc<Record>>,
    checkpoints: Vec<checkpoint::Part>,
    handoffs: Vec<Arc<Handoff>>,
}

/// An open snapshot.
pub struct Snapshot {
    table: SortedTable,
    head: Head,
}

impl Snapshot {
    /// Opens a snapshot; reads the head and the directory only.
    pub fn open(blob: Arc<dyn Blob>) -> Result<Self, SnapshotError> {
        let table = SortedTable::open(blob)?;
        if table.kind() != KIND {
            return Err(corrupt("these frames are not a snapshot"));
        }
        let value = table.get(HEAD_KEY)?.ok_or_else(|| corrupt("a snapshot has no head"))?;
        let [codec, low, high, body @ ..] = value.as_slice() else {
            return Err(corrupt("the head of a snapshot is cut off"));
        };
        let (codec, schema) = (*codec, u16::from_le_bytes([*low, *high]));
        if codec != CODEC || schema > SCHEMA {
            return Err(CodecError::Newer { codec, schema }.into());
        }
        let head: Head =
            messagepack::from_slice(body).map_err(|error| corrupt(error.to_string()))?;
        Ok(Self { table, head })
    }

    /// Its revision.
    pub fn revision(&self) -> Revision {
        self.head.revision
    }

    /// Everything but the shared state.
    pub fn head(&self) -> &Head {
        &self.head
    }

    /// One entry of the snapshot.
    pub fn entry(
        &self,
        namespace: &NamespaceName,
        key: &Key,
    ) -> Result<Option<Entry>, SnapshotError> {
        let mut name = Vec::new();
        write_key(&mut name, namespace, key.as_str());
        let Some(value) = self.table.get(&name)? else { return Ok(None) };
        self.restore(namespace, &value).map(Some)
    }

    /// The entry that these bytes of the table describe.
    fn restore(&self, namespace: &NamespaceName, value: &[u8]) -> Result<Entry, SnapshotError> {
        let packed =
            Packed::from_bytes(value).ok_or_else(|| corrupt("an entry of a snapshot is odd"))?;
        let author = self.head.authors.get(packed.author() as usize);
        let author = author.ok_or_else(|| corrupt("an entry of a snapshot has no author"))?;
        let entry = Entry::new(packed, namespace.clone(), author.clone());
        let endings = &self.head.endings;
        let found = endings.binary_search_by(|(there, name, _)| {
            (there.as_str(), name.as_str()).cmp(&(namespace.as_str(), entry.key()))
        });
        Ok(match found {
            Ok(index) => {
                let ending = &endings[index].2;
                entry.ending(ending.expires_at, ending.bound_to.is_some())
            }
            Err(_) => entry,
        })
    }

    /// The entries of a namespace from this key on, in order.
    pub fn entries(
        &self,
        namespace: NamespaceName,
        from: &str,
    ) -> impl Iterator<Item = Result<Entry, SnapshotError>> + use<'_> {
        let mut first = Vec::new();
        write_key(&mut first, &namespace, from);
        let range = self.table.range(Bound::Included(&first));
        range.map_while(move |item| match item {
            Err(error) => Some(Err(error.into())),
            Ok((name, _)) if name.first() != Some(&ENTRY_MARK) => None,
            Ok((name, value)) => match read_key(&name) {
                Some((there, _)) if there == namespace.as_str() => {
                    Some(self.restore(&namespace, &value))
                }
                Some(_) => None,
                None => Some(Err(corrupt("a key of a snapshot is odd"))),
            },
        })
    }

    /// The whole space.
    pub fn load(&self) -> Result<Space, SnapshotError> {
        let pages = self.table.page_count();
        let halves = if pages < PAGES_WORTH_A_THREAD {
            vec![self.load_pages(0..pages)?]
        } else {
            std::thread::scope(|scope| {
                let second = scope.spawn(|| self.load_pages(pages / 2..pages));
                let first = self.load_pages(0..pages / 2)?;
                let second = second.join().expect("loading does not panic")?;
                Ok::<_, SnapshotError>(vec![first, second])
            })?
        };
        let mut namespaces: Vec<(NamespaceName, Vec<Packed>)> = Vec::new();
        let mut head = self.head.clone();
        for half in halves {
            head.tasks.records.extend(half.tasks);
            head.checkpoints.parts.extend(half.checkpoints);
            head.handoffs.records.extend(half.handoffs);
            for (namespace, mut entries) in half.namespaces {
                match namespaces.last_mut().filter(|(last, _)| *last == namespace) {
                    Some((_, there)) => there.append(&mut entries),
                    None => namespaces.push((namespace, entries)),
                }
            }
        }
        let table = |(namespace, entries)| (namespace, Entries::from_sorted(entries));
        Ok(Space::restore(head, namespaces.into_iter().map(table).collect()))
    }

    fn load_pages(&self, pages: std::ops::Range<usize>) -> Result<Part, SnapshotError> {
        let Part { mut namespaces, mut tasks, mut checkpoints, mut handoffs } = Part::default();
        let mut odd = false;
        self.table.decode_pages(pages, |key, value| {
            if key == HEAD_KEY {
                return;
            }
            match key.first() {
                Some(&TASK_MARK) => return odd |= !read_record(value, Arc::new, &mut tasks),
                Some(&CHECKPOINT_MARK) => {
                    return odd |= !read_record(value, |part| part, &mut checkpoints);
                }
                Some(&HANDOFF_MARK) => return odd |= !read_record(value, Arc::new, &mut handoffs),
                Some(_) | None => {}
            }
            let Some(packed) = Packed::from_bytes(value) else {
                odd = true;
                return;
            };
            let mark = packed.key_bytes().len() + 1;
            let name = key.get(1..key.len().saturating_sub(mark)).unwrap_or_default();
            if let Some((last, entries)) = namespaces.last_mut()
                && last.as_str().as_bytes() == name
            {
                entries.push(packed);
                return;
            }
            let name = std::str::from_utf8(name).ok().and_then(|n| NamespaceName::parse(n).ok());
            match name {
                Some(name) => namespaces.push((name, vec![packed])),
                None => odd = true,
            }
        })?;
        if odd {
            return Err(corrupt("an entry of a snapshot is odd"));
        }
        Ok(Part { namespaces, tasks, checkpoints, handoffs })
    }
}

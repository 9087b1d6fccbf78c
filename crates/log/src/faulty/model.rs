//! The contents of a disk and its cache, and the effect of a power cut.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use super::split_mix::SplitMix64;
use super::{Counts, Operation};
use crate::disk::{Entry, Write};
use crate::file::BLOCK_BYTES;

/// The unit that a disk writes entirely or not at all.
const SECTOR_BYTES: usize = 512;

pub(crate) type FileId = u64;

#[derive(Clone, Debug, Default)]
struct File {
    /// The content that a reader sees.
    cached: Vec<u8>,
    /// The content that survives a power cut for certain, before random choices are applied.
    durable: Vec<u8>,
    /// The writes since the last sync, in order.
    unsynced: Vec<(usize, Vec<u8>)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Node {
    File(FileId),
    Folder,
}

/// One atomic change of names: each gets a node or none.
type Change = Vec<(PathBuf, Option<Node>)>;

#[derive(Clone, Debug)]
pub(crate) struct Model {
    files: BTreeMap<FileId, File>,
    names: BTreeMap<PathBuf, Node>,
    durable_names: BTreeMap<PathBuf, Node>,
    unsynced_names: Vec<Change>,
    next_id: FileId,
    /// Grows with every power cut, so that handles know whether they are invalid.
    pub(crate) epoch: u64,
    pub(crate) locks: BTreeSet<PathBuf>,
    pub(crate) random: SplitMix64,
    pub(crate) counts: Counts,
    pub(crate) stop_at: Option<u64>,
    pub(crate) fail_nth: BTreeSet<(Operation, u64)>,
    pub(crate) fail_at: BTreeSet<u64>,
    pub(crate) capacity: Option<u64>,
    pub(crate) copy_on_write: bool,
    pub(crate) refuse_direct: bool,
    pub(crate) keep_cache_on_failed_sync: bool,
}

impl Model {
    pub(crate) fn new(seed: u64) -> Self {
        let root = BTreeMap::from([(PathBuf::from("/"), Node::Folder)]);
        Self {
            files: BTreeMap::new(),
            names: root.clone(),
            durable_names: root,
            unsynced_names: Vec::new(),
            next_id: 0,
            epoch: 0,
            locks: BTreeSet::new(),
            random: SplitMix64::new(seed),
            counts: Counts::default(),
            stop_at: None,
            fail_nth: BTreeSet::new(),
            fail_at: BTreeSet::new(),
            capacity: None,
            copy_on_write: false,
            refuse_direct: false,
            keep_cache_on_failed_sync: false,
        }
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stop_at.is_some_and(|index| self.counts.total > index)
    }

    /// Counts an operation, and fails it if that is planned.
    pub(crate) fn begin(&mut self, operation: Operation) -> io::Result<()> {
        let (index, nth) = (self.counts.total, self.counts.of(operation));
        self.counts.add(operation);
        if self.is_stopped() {
            return Err(io::Error::other("the power is off"));
        }
        if self.fail_nth.remove(&(operation, nth)) | self.fail_at.remove(&index) {
            return Err(io::Error::other(format!("input/output error at operation {index}")));
        }
        Ok(())
    }

    fn file(&mut self, id: FileId) -> &mut File {
        self.files.get_mut(&id).expect("a file lives as long as its handles")
    }

    pub(crate) fn read(&mut self, id: FileId, offset: u64, buffer: &mut [u8]) -> usize {
        let cached = &self.file(id).cached;
        let from = usize::try_from(offset).map_or(cached.len(), |from| from.min(cached.len()));
        let bytes = buffer.len().min(cached.len() - from);
        buffer[..bytes].copy_from_slice(&cached[from..from + bytes]);
        bytes
    }

    pub(crate) fn length(&mut self, id: FileId) -> u64 {
        self.file(id).cached.len() as u64
    }

    pub(crate) fn write(
        &mut self,
        id: FileId,
        offset: u64,
        bytes: &[u8],
        write: Write,
    ) -> io::Result<()> {
        let at = usize::try_from(offset).expect("files lie in memory");
        let stopped_before = self.is_stopped();
        if let Err(error) = self.begin(Operation::Write) {
            if !self.is_stopped() {
                self.write_in_part(id, at, bytes);
            } else if !stopped_before {
                // The power failed during this write: the power cut determines how far it got.
                self.file(id).unsynced.push((at, bytes.to_vec()));
            }
            return Err(error);
        }
        if let Err(error) = self.check_capacity(id, at, bytes.len()) {
            let whole = bytes.len().saturating_sub(1) / BLOCK_BYTES * BLOCK_BYTES;
            self.file(id).write_cached(at, &bytes[..whole]);
            return Err(error);
        }
        match write {
            Write::Buffered => self.file(id).write_cached(at, bytes),
            Write::Direct => {
                let address = bytes.as_ptr().align_offset(BLOCK_BYTES);
                let aligned = |number: usize| number.is_multiple_of(BLOCK_BYTES);
                if address != 0 || !aligned(at) || !aligned(bytes.len()) {
                    return Err(io::Error::new(io::ErrorKind::InvalidInput, "not aligned"));
                }
                let file = self.file(id);
                // Cached bytes of this range can no longer reach the disk after it.
                file.supersede(at, at + bytes.len());
                overwrite(&mut file.cached, at, bytes);
                overwrite(&mut file.durable, at, bytes);
            }
        }
        Ok(())
    }

    /// The effect of a failed write: some of its sectors, and none of them for certain.
    fn write_in_part(&mut self, id: FileId, at: usize, bytes: &[u8]) {
        let mut random = self.random.clone();
        let file = self.file(id);
        for (sector, part) in sectors(at, bytes) {
            // A write that would extend the file fails before it does. Otherwise a full disk could
            // be overfilled by failing often enough.
            if random.coin() && sector + part.len() <= file.cached.len() {
                file.write_cached(sector, part);
            }
        }
        self.random = random;
    }

    fn check_capacity(&mut self, id: FileId, at: usize, bytes: usize) -> io::Result<()> {
        let end = at + bytes;
        let grown = end.saturating_sub(self.file(id).cached.len());
        let more = if self.copy_on_write { bytes } else { grown } as u64;
        match self.capacity {
            Some(capacity) if more > 0 && self.bytes_used() + more > capacity => {
                Err(io::Error::new(io::ErrorKind::StorageFull, "no space is left"))
            }
            _ => Ok(()),
        }
    }

    pub(crate) fn sync(&mut self, id: FileId) -> io::Result<()> {
        let begun = self.begin(Operation::Sync);
        let stopped = self.is_stopped();
        let keep_cache = self.keep_cache_on_failed_sync;
        let file = self.file(id);
        match begun {
            Ok(()) => {
                for (at, bytes) in std::mem::take(&mut file.unsynced) {
                    overwrite(&mut file.durable, at, &bytes);
                }
                Ok(())
            }
            // The power cut determines the fate of the bytes.
            Err(error) if stopped => Err(error),
            Err(error) => {
                file.unsynced.clear();
                if !keep_cache {
                    file.cached = file.durable.clone();
                }
                Err(error)
            }
        }
    }

    pub(crate) fn bytes_used(&self) -> u64 {
        self.files().iter().map(|(_, bytes)| bytes).sum()
    }

    pub(crate) fn files(&self) -> Vec<(PathBuf, u64)> {
        let files = self.names.iter().filter_map(|(path, node)| match node {
            Node::File(id) => Some((path.clone(), self.files[id].cached.len() as u64)),
            Node::Folder => None,
        });
        files.collect()
    }

    pub(crate) fn contents(&self, path: &Path) -> Option<Vec<u8>> {
        match self.names.get(path)? {
            Node::File(id) => Some(self.files[id].cached.clone()),
            Node::Folder => None,
        }
    }

    pub(crate) fn put(&mut self, path: &Path, bytes: &[u8]) {
        let file = File { cached: bytes.into(), durable: bytes.into(), unsynced: Vec::new() };
        let id = self.new_file(file);
        for names in [&mut self.names, &mut self.durable_names] {
            names.insert(path.to_owned(), Node::File(id));
        }
    }

    pub(crate) fn delete(&mut self, path: &Path) {
        self.names.remove(path);
        self.durable_names.remove(path);
    }

    fn new_file(&mut self, file: File) -> FileId {
        self.next_id += 1;
        self.files.insert(self.next_id, file);
        self.next_id
    }

    pub(crate) fn flip_bit(&mut self, path: &Path, bit: u64) -> bool {
        let Some(Node::File(id)) = self.names.get(path).copied() else {
            return false;
        };
        let at = usize::try_from(bit / 8).expect("files lie in memory");
        let file = self.file(id);
        for bytes in [&mut file.cached, &mut file.durable] {
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= 1 << (bit % 8);
            }
        }
        at < file.cached.len()
    }

    pub(crate) fn find(&self, path: &Path) -> io::Result<FileId> {
        match self.names.get(path) {
            Some(Node::File(id)) => Ok(*id),
            Some(Node::Folder) => Err(io::Error::new(io::ErrorKind::IsADirectory, "a folder")),
            None => Err(io::Error::new(io::ErrorKind::NotFound, "no such file")),
        }
    }

    pub(crate) fn create(&mut self, path: &Path) -> io::Result<FileId> {
        self.require_folder(path.parent())?;
        if let Some(Node::Folder) = self.names.get(path) {
            return Err(io::Error::new(io::ErrorKind::IsADirectory, "a folder"));
        }
        // A new file replaces the emptied one, which is harsher on code that relies on the old
        // bytes.
        let id = self.new_file(File::default());
        self.change(vec![(path.to_owned(), Some(Node::File(id)))]);
        Ok(id)
    }

    pub(crate) fn rename(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        assert_eq!(from.parent(), to.parent(), "a file keeps its folder");
        let id = self.find(from)?;
        self.change(vec![(from.to_owned(), None), (to.to_owned(), Some(Node::File(id)))]);
        Ok(())
    }

    pub(crate) fn remove(&mut self, path: &Path) {
        if let Some(Node::File(_)) = self.names.get(path) {
            self.change(vec![(path.to_owned(), None)]);
        }
    }

    pub(crate) fn create_folder(&mut self, folder: &Path) -> io::Result<bool> {
        self.require_folder(folder.parent())?;
        match self.names.get(folder) {
            Some(Node::Folder) => Ok(false),
            Some(Node::File(_)) => {
                Err(io::Error::new(io::ErrorKind::AlreadyExists, "a file has that name"))
            }
            None => {
                self.change(vec![(folder.to_owned(), Some(Node::Folder))]);
                Ok(true)
            }
        }
    }

    fn require_folder(&self, folder: Option<&Path>) -> io::Result<()> {
        match folder.and_then(|folder| self.names.get(folder)) {
            Some(Node::Folder) => Ok(()),
            Some(Node::File(_)) => Err(io::Error::new(io::ErrorKind::NotADirectory, "a file")),
            None => Err(io::Error::new(io::ErrorKind::NotFound, "no such folder")),
        }
    }

    pub(crate) fn list(&self, folder: &Path) -> io::Result<Vec<Entry>> {
        self.require_folder(Some(folder))?;
        let within = self.names.iter().filter(|(path, _)| path.parent() == Some(folder));
        let mut entries: Vec<_> = within
            .filter_map(|(path, node)| {
                let name = path.file_name()?.to_str()?.to_owned();
                Some(Entry { name, is_folder: *node == Node::Folder })
            })
            .collect();
        entries.sort();
        Ok(entries)
    }

    fn change(&mut self, change: Change) {
        apply(&mut self.names, &change);
        self.unsynced_names.push(change);
    }

    pub(crate) fn sync_folder(&mut self, folder: &Path) -> io::Result<()> {
        self.require_folder(Some(folder))?;
        let mut later = Vec::new();
        for change in std::mem::take(&mut self.unsynced_names) {
            if change[0].0.parent() == Some(folder) {
                apply(&mut self.durable_names, &change);
            } else {
                later.push(change);
            }
        }
        self.unsynced_names = later;
        Ok(())
    }

    pub(crate) fn crash(&mut self, seed: u64) {
        let mut random = SplitMix64::new(seed);
        for file in self.files.values_mut() {
            file.crash(&mut random);
        }
        for change in std::mem::take(&mut self.unsynced_names) {
            if random.coin() {
                apply(&mut self.durable_names, &change);
            }
        }
        self.names = self.durable_names.clone();
        self.drop_orphans();
        self.close_all();
    }

    /// The content of a folder that did not survive is lost with it.
    fn drop_orphans(&mut self) {
        let folders: BTreeSet<_> = self.names.keys().cloned().collect();
        self.names
            .retain(|path, _| path.ancestors().skip(1).all(|ancestor| folders.contains(ancestor)));
        self.durable_names = self.names.clone();
        let named: BTreeSet<_> = self
            .names
            .values()
            .filter_map(|node| match node {
                Node::File(id) => Some(*id),
                Node::Folder => None,
            })
            .collect();
        self.files.retain(|id, _| named.contains(id));
    }

    /// Invalidates all handles and locks, and removes planned failures.
    pub(crate) fn close_all(&mut self) {
        self.epoch += 1;
        self.locks.clear();
        self.stop_at = None;
        self.fail_nth.clear();
        self.fail_at.clear();
    }
}

impl File {
    fn write_cached(&mut self, at: usize, bytes: &[u8]) {
        overwrite(&mut self.cached, at, bytes);
        self.unsynced.push((at, bytes.to_vec()));
    }

    /// Drops the unsynced bytes of a range.
    fn supersede(&mut self, from: usize, to: usize) {
        for (at, bytes) in std::mem::take(&mut self.unsynced) {
            let end = at + bytes.len();
            if at < from {
                self.unsynced.push((at, bytes[..end.min(from) - at].to_vec()));
            }
            if end > to {
                let kept = at.max(to);
                self.unsynced.push((kept, bytes[kept - at..].to_vec()));
            }
        }
    }

    /// Keeps, drops or tears every write since the last sync.
    fn crash(&mut self, random: &mut SplitMix64) {
        for (at, bytes) in std::mem::take(&mut self.unsynced) {
            match random.below(3) {
                0 => {}
                1 => overwrite(&mut self.durable, at, &bytes),
                _ => {
                    for (sector, part) in sectors(at, &bytes) {
                        if random.coin() {
                            overwrite(&mut self.durable, sector, part);
                        }
                    }
                }
            }
        }
        self.cached.clone_from(&self.durable);
    }
}

/// The parts of a write that lie in one sector each.
fn sectors(at: usize, bytes: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let first = (SECTOR_BYTES - at % SECTOR_BYTES).min(bytes.len());
    let (head, rest) = bytes.split_at(first);
    let tail = rest.chunks(SECTOR_BYTES).enumerate();
    let tail = tail.map(move |(index, part)| (at + first + index * SECTOR_BYTES, part));
    std::iter::once((at, head)).chain(tail)
}

fn overwrite(into: &mut Vec<u8>, at: usize, bytes: &[u8]) {
    let end = at + bytes.len();
    if into.len() < end {
        into.resize(end, 0);
    }
    into[at..end].copy_from_slice(bytes);
}

fn apply(names: &mut BTreeMap<PathBuf, Node>, change: &Change) {
    for (path, node) in change {
        match node {
            Some(node) => names.insert(path.clone(), *node),
            None => names.remove(path),
        };
    }
}

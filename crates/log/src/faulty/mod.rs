//! A disk in memory that fails on purpose, the same way for the same seed.
//!
//! ```text
//!   write ──▶ cache ──sync──▶ disk          a power cut keeps the disk, and of the cache what
//!   names ──▶ cache ──sync──▶ disk          chance keeps: all, nothing, or some sectors
//! ```
//!
//! It models the guarantees that the file log relies on (see [`Disk`]) and nothing else. Between
//! two syncs every write and every change of a name is kept, dropped or, if it is a write, torn at
//! sectors of 512 bytes, each independently of the others. Real disks and file systems are more
//! benign.
//!
//! | fault | how |
//! |---|---|
//! | power cut | [`crash`](FaultyDisk::crash), after [`stop_at`](FaultyDisk::stop_at) or not |
//! | failed operation | [`fail_nth`](FaultyDisk::fail_nth), [`fail_at`](FaultyDisk::fail_at) |
//! | full disk | [`set_capacity`](FaultyDisk::set_capacity) |
//! | flipped bit | [`flip_bit`](FaultyDisk::flip_bit) |
//! | no direct writes | [`refuse_direct`](FaultyDisk::refuse_direct) |
//!
//! A failed sync drops the unsynced bytes of the file, as Linux does. Whether they also vanish from
//! the cache depends on the file system, so it can be
//! [chosen](FaultyDisk::keep_cache_on_failed_sync).
//!
//! Clones are handles of one disk. No operation takes time, and nothing depends on a clock.

mod model;
mod split_mix;
#[cfg(test)]
mod tests;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use model::{FileId, Model};

use crate::disk::{Disk, DiskFile, Entry, Locked, Write};

/// The kinds of disk operations, for counting and for failing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    /// Opening or creating a file, or reading its length.
    Open,
    /// Reading bytes.
    Read,
    /// Writing bytes, direct or not.
    Write,
    /// Syncing a file or a folder.
    Sync,
    /// Creating, renaming or removing a name, or creating a folder.
    Name,
    /// Listing a folder.
    List,
    /// Taking a lock.
    Lock,
}

/// How often each operation was called, including failed calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// The total.
    pub total: u64,
    /// See [`Operation::Open`].
    pub open: u64,
    /// See [`Operation::Read`].
    pub read: u64,
    /// See [`Operation::Write`].
    pub write: u64,
    /// See [`Operation::Sync`].
    pub sync: u64,
    /// See [`Operation::Name`].
    pub name: u64,
    /// See [`Operation::List`].
    pub list: u64,
    /// See [`Operation::Lock`].
    pub lock: u64,
}

impl Counts {
    /// How often this operation was called.
    pub fn of(&self, operation: Operation) -> u64 {
        match operation {
            Operation::Open => self.open,
            Operation::Read => self.read,
            Operation::Write => self.write,
            Operation::Sync => self.sync,
            Operation::Name => self.name,
            Operation::List => self.list,
            Operation::Lock => self.lock,
        }
    }

    fn add(&mut self, operation: Operation) {
        self.total += 1;
        let count = match operation {
            Operation::Open => &mut self.open,
            Operation::Read => &mut self.read,
            Operation::Write => &mut self.write,
            Operation::Sync => &mut self.sync,
            Operation::Name => &mut self.name,
            Operation::List => &mut self.list,
            Operation::Lock => &mut self.lock,
        };
        *count += 1;
    }
}

/// A handle of a disk in memory.
#[derive(Clone, Debug)]
pub struct FaultyDisk {
    model: Arc<Mutex<Model>>,
}

impl FaultyDisk {
    /// An empty disk with the folder `/`. The seed determines what failed writes leave behind.
    pub fn new(seed: u64) -> Self {
        Self { model: Arc::new(Mutex::new(Model::new(seed))) }
    }

    fn model(&self) -> MutexGuard<'_, Model> {
        self.model.lock().expect("no method panics while it holds the lock")
    }

    /// Cuts the power and restores it. Synced data survives; the seed determines everything else.
    /// Open files and locks are invalid, and planned failures are removed.
    pub fn crash(&self, seed: u64) {
        self.model().crash(seed);
    }

    /// Stops the disk at the operation with this index, counted from the first operation ever: it
    /// and all later ones fail, with an undetermined effect. [`crash`](Self::crash) then determines
    /// it.
    pub fn stop_at(&self, index: u64) {
        self.model().stop_at = Some(index);
    }

    /// Whether the disk has stopped.
    pub fn is_stopped(&self) -> bool {
        self.model().is_stopped()
    }

    /// Lets the `nth` operation of this kind fail, once, counted from the first one ever. The first
    /// is number 0.
    pub fn fail_nth(&self, operation: Operation, nth: u64) {
        self.model().fail_nth.insert((operation, nth));
    }

    /// Lets the operation with this index fail, once, whatever its kind, counted from the first
    /// operation ever.
    pub fn fail_at(&self, index: u64) {
        self.model().fail_at.insert(index);
    }

    /// Limits the total size of all files. `None` is unlimited.
    pub fn set_capacity(&self, bytes_max: Option<u64>) {
        self.model().capacity = bytes_max;
    }

    /// Overwriting needs as much space as appending does. A write that does not fit leaves all its
    /// blocks but the last.
    pub fn copy_on_write(&self, copy: bool) {
        self.model().copy_on_write = copy;
    }

    /// The total size of all files in bytes.
    pub fn bytes_used(&self) -> u64 {
        self.model().bytes_used()
    }

    /// Refuses to open files for direct writing, as some file systems do.
    pub fn refuse_direct(&self, refuse: bool) {
        self.model().refuse_direct = refuse;
    }

    /// After a failed sync, keeps showing the bytes that will never reach the disk.
    pub fn keep_cache_on_failed_sync(&self, keep: bool) {
        self.model().keep_cache_on_failed_sync = keep;
    }

    /// Inverts one bit of a file, in the cache and on disk. Returns whether the file has that bit.
    pub fn flip_bit(&self, path: impl AsRef<Path>, bit: u64) -> bool {
        self.model().flip_bit(path.as_ref(), bit)
    }

    /// All files with their lengths, sorted by path.
    pub fn files(&self) -> Vec<(PathBuf, u64)> {
        self.model().files()
    }

    /// The bytes of a file as a reader sees them.
    pub fn contents(&self, path: impl AsRef<Path>) -> Option<Vec<u8>> {
        self.model().contents(path.as_ref())
    }

    /// Puts a file in place, durably, replacing any other. Its folder must exist.
    pub fn put(&self, path: impl AsRef<Path>, bytes: &[u8]) {
        self.model().put(path.as_ref(), bytes);
    }

    /// Removes a file, durably.
    pub fn delete(&self, path: impl AsRef<Path>) {
        self.model().delete(path.as_ref());
    }

    /// An independent disk in the same state, without open files and locks.
    pub fn fork(&self) -> Self {
        let mut model = self.model().clone();
        model.close_all();
        Self { model: Arc::new(Mutex::new(model)) }
    }

    /// How often each operation was called.
    pub fn counts(&self) -> Counts {
        self.model().counts
    }

    fn file(&self, id: FileId, epoch: u64, write: Option<Write>) -> FaultyFile {
        FaultyFile { model: Arc::clone(&self.model), id, epoch, write }
    }
}

impl Disk for FaultyDisk {
    type File = FaultyFile;
    type Lock = FaultyLock;

    fn free_bytes(&self, _folder: &Path) -> io::Result<u64> {
        let model = self.model();
        let used = model.bytes_used();
        Ok(model.capacity.map_or(u64::MAX, |capacity| capacity.saturating_sub(used)))
    }

    fn create(&self, path: &Path) -> io::Result<FaultyFile> {
        let mut model = self.model();
        model.begin(Operation::Name)?;
        let id = model.create(path)?;
        Ok(self.file(id, model.epoch, Some(Write::Buffered)))
    }

    fn open(&self, path: &Path) -> io::Result<FaultyFile> {
        let mut model = self.model();
        model.begin(Operation::Open)?;
        let id = model.find(path)?;
        Ok(self.file(id, model.epoch, None))
    }

    fn open_for_write(&self, path: &Path, write: Write) -> io::Result<FaultyFile> {
        let mut model = self.model();
        model.begin(Operation::Open)?;
        if write == Write::Direct && model.refuse_direct {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "direct writes are refused"));
        }
        let id = model.find(path)?;
        Ok(self.file(id, model.epoch, Some(write)))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut model = self.model();
        model.begin(Operation::Name)?;
        model.rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut model = self.model();
        model.begin(Operation::Name)?;
        model.remove(path);
        Ok(())
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<Entry>> {
        let mut model = self.model();
        model.begin(Operation::List)?;
        model.list(folder)
    }

    fn create_folder(&self, folder: &Path) -> io::Result<bool> {
        let mut model = self.model();
        model.begin(Operation::Name)?;
        model.create_folder(folder)
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        let mut model = self.model();
        model.begin(Operation::Sync)?;
        model.sync_folder(folder)
    }

    fn lock(&self, path: &Path) -> io::Result<Locked<FaultyLock>> {
        let mut model = self.model();
        model.begin(Operation::Lock)?;
        if !model.locks.insert(path.to_owned()) {
            return Ok(Locked::InUse { holder: "another part of the test".to_owned() });
        }
        let (path, epoch) = (path.to_owned(), model.epoch);
        Ok(Locked::Held(FaultyLock { model: Arc::clone(&self.model), path, epoch }))
    }

    fn salt(&self) -> u64 {
        self.model().random.next()
    }
}

/// An open file of a [`FaultyDisk`].
#[derive(Debug)]
pub struct FaultyFile {
    model: Arc<Mutex<Model>>,
    id: FileId,
    epoch: u64,
    write: Option<Write>,
}

impl FaultyFile {
    fn model(&self) -> io::Result<MutexGuard<'_, Model>> {
        let model = self.model.lock().expect("no method panics while it holds the lock");
        if model.epoch == self.epoch {
            Ok(model)
        } else {
            Err(io::Error::other("the file was open when the power was cut"))
        }
    }
}

impl DiskFile for FaultyFile {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let mut model = self.model()?;
        model.begin(Operation::Read)?;
        Ok(model.read(self.id, offset, buffer))
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let mut model = self.model()?;
        let Some(write) = self.write else {
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, "open for reading only"));
        };
        model.write(self.id, offset, bytes, write)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.model()?.sync(self.id)
    }

    fn length(&self) -> io::Result<u64> {
        let mut model = self.model()?;
        model.begin(Operation::Open)?;
        Ok(model.length(self.id))
    }
}

/// A lock of a [`FaultyDisk`], until it is dropped or the power is cut.
#[derive(Debug)]
pub struct FaultyLock {
    model: Arc<Mutex<Model>>,
    path: PathBuf,
    epoch: u64,
}

impl Drop for FaultyLock {
    fn drop(&mut self) {
        let mut model = self.model.lock().expect("no method panics while it holds the lock");
        if model.epoch == self.epoch {
            model.locks.remove(&self.path);
        }
    }
}

//! Blobs as files: written under another name, synced, and renamed when complete.
//!
//! ```text
//!   name.partial               bytes, then synced
//!   name.committing.partial    empty, marks that the next name may not be durable yet
//!   name                       renamed from name.partial, then the folder is synced
//! ```
//!
//! Invariants:
//!
//! 1. A name without `.partial` has all its bytes.
//! 2. A blob that can be opened or listed is durable. A process that ends between the rename and
//!    the sync leaves its mark, and the next start syncs the folder before it removes the mark.
//!    Otherwise the log could be truncated because of a snapshot that a power cut then removes.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use super::{Shared, sync_folder};
use crate::blob_name::{self, PARTIAL_SUFFIX};
use crate::contract::{Blob, BlobWriter};
use crate::disk::{Disk, DiskFile, is_full, read_exact_at};
use crate::error::BlobError;

/// Small writes are buffered into writes of this size.
const BUFFER_BYTES: usize = 256 * 1024;
/// A large blob is synced in steps of this size: an append waits for what the disk is given at
/// once.
const SYNC_BYTES: u64 = 1024 * 1024;

/// Blobs that are being written.
#[derive(Default)]
pub(crate) struct Blobs {
    being_written: Mutex<BTreeSet<String>>,
    /// The folders whose own names this process has made durable. The existence of a folder proves
    /// nothing: the process that created it may have ended, or failed, before the name was synced.
    durable_folders: Mutex<BTreeSet<PathBuf>>,
}

impl Blobs {
    /// Removes what was being written when the log was last open.
    pub(crate) fn open<D: Disk>(disk: &D, folder: &Path) -> io::Result<Self> {
        let mut folders = vec![folder.to_owned()];
        while let Some(folder) = folders.pop() {
            let mut leftovers = Vec::new();
            for entry in disk.list(&folder)? {
                let path = folder.join(&entry.name);
                if entry.is_folder {
                    folders.push(path);
                } else if entry.name.ends_with(PARTIAL_SUFFIX) {
                    leftovers.push(path);
                }
            }
            if !leftovers.is_empty() {
                sync_folder(disk, &folder)?;
            }
            for path in leftovers {
                disk.remove(&path)?;
            }
        }
        Ok(Self::default())
    }

    /// Whether a blob of this name is being written, so that it does not exist whatever is on disk.
    fn is_being_written(&self, name: &str) -> bool {
        self.being_written.lock().expect("nothing panics with the lock").contains(name)
    }
}

pub(crate) fn create<D: Disk>(
    shared: &Arc<Shared<D>>,
    name: &str,
) -> Result<Box<dyn BlobWriter>, BlobError> {
    blob_name::check(name)?;
    let claim = Claim::new(shared, name)?;
    let exists = || BlobError::Exists { name: name.to_owned() };
    let paths = BlobPaths::new(&shared.layout.blobs, name);
    match shared.disk.open(&paths.path) {
        Ok(_) => return Err(exists()),
        Err(error) if error.kind() == io::ErrorKind::IsADirectory => return Err(exists()),
        Err(error) if is_absent(&error) => {}
        Err(error) => return Err(error.into()),
    }
    create_folders(shared, &paths.folder).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists | io::ErrorKind::NotADirectory => exists(),
        _ => error.into(),
    })?;
    let file = shared.disk.create(&paths.partial)?;
    let pending = Vec::with_capacity(BUFFER_BYTES);
    Ok(Box::new(Writer { claim, paths, file, pending, offset: 0, synced: 0, failed: None }))
}

pub(crate) fn open<D: Disk>(
    shared: &Shared<D>,
    name: &str,
) -> Result<Option<Arc<dyn Blob>>, BlobError> {
    blob_name::check(name)?;
    if shared.blobs.is_being_written(name) {
        return Ok(None);
    }
    match shared.disk.open(&shared.layout.blobs.join(name)) {
        Ok(file) => {
            let length = file.length()?;
            Ok(Some(Arc::new(FileBlob { file, length })))
        }
        Err(error) if is_absent(&error) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Whether there is no file of this name: because nothing exists, or because it or its supposed
/// folder is of the other kind.
fn is_absent(error: &io::Error) -> bool {
    use io::ErrorKind::{IsADirectory, NotADirectory, NotFound};
    matches!(error.kind(), NotFound | NotADirectory | IsADirectory)
}

pub(crate) fn list<D: Disk>(shared: &Shared<D>, prefix: &str) -> Result<Vec<String>, BlobError> {
    blob_name::check_prefix(prefix)?;
    let mut names = Vec::new();
    // Only the folder in the prefix can contain matching names.
    let mut folders = vec![prefix.rsplit_once('/').map_or("", |(folder, _)| folder).to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = match shared.disk.list(&shared.layout.blobs.join(&folder)) {
            Ok(entries) => entries,
            Err(error) if is_absent(&error) => continue,
            Err(error) => return Err(error.into()),
        };
        for entry in entries {
            let slash = if folder.is_empty() { "" } else { "/" };
            let name = format!("{folder}{slash}{}", entry.name);
            if entry.is_folder {
                if name.starts_with(prefix) || prefix.starts_with(&name) {
                    folders.push(name);
                }
            } else if name.starts_with(prefix) && !name.ends_with(PARTIAL_SUFFIX) {
                names.push(name);
            }
        }
    }
    names.retain(|name| !shared.blobs.is_being_written(name));
    names.sort();
    Ok(names)
}

pub(crate) fn delete<D: Disk>(shared: &Shared<D>, name: &str) -> Result<(), BlobError> {
    blob_name::check(name)?;
    let path = shared.layout.blobs.join(name);
    let folder = path.parent().expect("a blob lies in a folder");
    let deleted = shared.disk.remove(&path).and_then(|()| sync_folder(&shared.disk, folder));
    match deleted {
        Err(error) if is_absent(&error) => Ok(()),
        other => Ok(other?),
    }
}

/// Creates a folder with its parents, each one durable before anything is put into it.
fn create_folders<D: Disk>(shared: &Shared<D>, folder: &Path) -> io::Result<()> {
    let within = folder.strip_prefix(&shared.layout.blobs).expect("blobs lie in their folder");
    let mut parent = shared.layout.blobs.clone();
    let durable = &shared.blobs.durable_folders;
    for segment in within {
        let child = parent.join(segment);
        if !durable.lock().expect("nothing panics with the lock").contains(&child) {
            shared.disk.create_folder(&child)?;
            sync_folder(&shared.disk, &parent)?;
            durable.lock().expect("nothing panics with the lock").insert(child.clone());
        }
        parent = child;
    }
    Ok(())
}

impl From<io::Error> for BlobError {
    fn from(error: io::Error) -> Self {
        if is_full(&error) { Self::Full } else { Self::Failed(error.to_string()) }
    }
}

/// Exclusive permission to write the blob of a name.
struct Claim<D: Disk> {
    shared: Arc<Shared<D>>,
    name: String,
}

impl<D: Disk> Claim<D> {
    fn new(shared: &Arc<Shared<D>>, name: &str) -> Result<Self, BlobError> {
        let mut names = shared.blobs.being_written.lock().expect("nothing panics with the lock");
        if !names.insert(name.to_owned()) {
            return Err(BlobError::Exists { name: name.to_owned() });
        }
        Ok(Self { shared: Arc::clone(shared), name: name.to_owned() })
    }
}

impl<D: Disk> Drop for Claim<D> {
    fn drop(&mut self) {
        let mut names =
            self.shared.blobs.being_written.lock().expect("nothing panics with the lock");
        names.remove(&self.name);
    }
}

struct BlobPaths {
    folder: PathBuf,
    partial: PathBuf,
    committing: PathBuf,
    path: PathBuf,
}

impl BlobPaths {
    fn new(blobs: &Path, name: &str) -> Self {
        let path = blobs.join(name);
        Self {
            folder: path.parent().expect("a blob lies in a folder").to_owned(),
            partial: blobs.join(format!("{name}{PARTIAL_SUFFIX}")),
            committing: blobs.join(format!("{name}.committing{PARTIAL_SUFFIX}")),
            path,
        }
    }
}

struct Writer<D: Disk> {
    claim: Claim<D>,
    paths: BlobPaths,
    file: D::File,
    pending: Vec<u8>,
    offset: u64,
    /// Everything before it is synced.
    synced: u64,
    failed: Option<BlobError>,
}

impl<D: Disk> Writer<D> {
    fn write_out(&mut self, bytes: &[u8]) -> Result<(), BlobError> {
        let written = self.write_step(bytes).map_err(BlobError::from);
        if let Err(error) = &written {
            self.failed = Some(error.clone());
        }
        written
    }

    fn write_step(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_at(self.offset, bytes)?;
        self.offset += bytes.len() as u64;
        if self.offset - self.synced >= SYNC_BYTES {
            self.file.sync_data()?;
            self.synced = self.offset;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), BlobError> {
        let mut pending = std::mem::take(&mut self.pending);
        let written = if pending.is_empty() { Ok(()) } else { self.write_out(&pending) };
        pending.clear();
        self.pending = pending;
        written
    }
}

impl<D: Disk> BlobWriter for Writer<D> {
    fn write(&mut self, bytes: &[u8]) -> Result<(), BlobError> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        if self.pending.len() + bytes.len() > BUFFER_BYTES {
            self.flush()?;
        }
        if bytes.len() > BUFFER_BYTES {
            return self.write_out(bytes);
        }
        self.pending.extend_from_slice(bytes);
        Ok(())
    }

    fn free_bytes(&self) -> Option<u64> {
        let shared = &self.claim.shared;
        shared.disk.free_bytes(&shared.layout.folder).ok()
    }

    fn commit(mut self: Box<Self>) -> Result<(), BlobError> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        self.flush()?;
        self.file.sync_data()?;
        let disk = &self.claim.shared.disk;
        disk.create(&self.paths.committing)?;
        disk.rename(&self.paths.partial, &self.paths.path)?;
        if let Err(error) = sync_folder(disk, &self.paths.folder) {
            // It is not guaranteed from here on. It may or may not exist after a restart.
            disk.remove(&self.paths.path).unwrap_or_default();
            return Err(error.into());
        }
        // If this fails, the next start removes it.
        disk.remove(&self.paths.committing).unwrap_or_default();
        Ok(())
    }
}

impl<D: Disk> Drop for Writer<D> {
    fn drop(&mut self) {
        // After a commit there is nothing to remove. If it fails, the next start removes it.
        self.claim.shared.disk.remove(&self.paths.partial).unwrap_or_default();
    }
}

struct FileBlob<F> {
    file: F,
    length: u64,
}

impl<F: DiskFile> Blob for FileBlob<F> {
    fn len(&self) -> u64 {
        self.length
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), BlobError> {
        let end = offset.saturating_add(buffer.len() as u64);
        if end > self.length {
            return Err(BlobError::OutOfRange { offset, end, length: self.length });
        }
        Ok(read_exact_at(&self.file, offset, buffer)?)
    }
}

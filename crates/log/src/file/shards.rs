//! A folder whose data are divided among several logs, one for each shard.
//!
//! ```text
//! <folder>/LOCK          held while the shards are open
//!         /shards        how many there are: `4`, or `4 creating`
//!         /shard-0/…     the folder of a log, as in `segment.rs`
//!         /shard-1/…
//! ```
//!
//! 1. The number is durable before the first log is created, and the file contains `creating` until
//!    the last one is. After a crash in between, the creation is completed: nothing was
//!    acknowledged before.
//! 2. After that, a log that is missing is an error. It is never created again, since its data
//!    would be lost silently.
//! 3. A folder has one log or shards, from its creation on: which shard a workspace is in depends
//!    on their number.
//!
//! Deliberately absent: the assignment of workspaces to shards. The log does not know workspaces.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use super::open::{create_folder, lock};
use super::segment::{FolderLayout, failed};
use super::{FileLog, Options, sync_folder};
use crate::disk::{Disk, DiskFile, SystemDisk};
use crate::error::OpenError;

/// Shards of a folder: more than a machine has processors to serve them.
const SHARDS_MAX: u32 = 256;
/// No number of shards is longer, with what follows it.
const NUMBER_BYTES_MAX: usize = 32;
const CREATING: &str = "creating";

/// Keeps a folder with shards locked until it is dropped.
pub struct ShardsLock<D: Disk = SystemDisk> {
    _lock: D::Lock,
}

/// The number of shards that a folder records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Division {
    shards: u32,
    is_complete: bool,
}

/// The folders of the logs in a folder of this machine, one for each shard; none if it is not
/// divided.
pub fn shard_folders(folder: impl AsRef<Path>) -> Result<Option<Vec<PathBuf>>, OpenError> {
    let folder = folder.as_ref();
    let division = division(&SystemDisk, folder)?;
    Ok(division.map(|it| (0..it.shards).map(|shard| shard_folder(folder, shard)).collect()))
}

/// Opens the logs of all shards in a folder of this machine. If there is nothing in it yet, it is
/// divided into this many.
pub fn open_shards(
    options: &Options,
    shards: Option<u32>,
) -> Result<(Vec<FileLog>, ShardsLock), OpenError> {
    open_shards_on(&SystemDisk, options, shards)
}

/// Opens the logs of all shards in a folder of this disk. If there is nothing in it yet, it is
/// divided into this many.
pub fn open_shards_on<D: Disk + Clone>(
    disk: &D,
    options: &Options,
    shards: Option<u32>,
) -> Result<(Vec<FileLog<D>>, ShardsLock<D>), OpenError> {
    if shards.is_some_and(|shards| !(1..=SHARDS_MAX).contains(&shards)) {
        let reason = format!("a folder has between 1 and {SHARDS_MAX} shards");
        return Err(OpenError::Options { reason });
    }
    let layout = FolderLayout::new(options.folder.clone());
    create_folder(disk, &layout, &layout.folder)?;
    let lock = ShardsLock { _lock: lock(disk, &layout)? };
    let folder = &layout.folder;
    let division = match division(disk, folder)? {
        Some(division) => division,
        None => divide(disk, &layout, shards)?,
    };
    if let Some(wanted) = shards.filter(|wanted| *wanted != division.shards) {
        let (folder, has) = (folder.clone(), division.shards);
        return Err(OpenError::ShardCount { folder, has, wanted });
    }
    let open = |shard| {
        let folder = shard_folder(folder, shard);
        if division.is_complete {
            require_log(disk, &folder)?;
        }
        FileLog::open_on(disk.clone(), Options { folder, ..options.clone() })
    };
    let logs = (0..division.shards).map(open).collect::<Result<Vec<_>, _>>()?;
    if !division.is_complete {
        write(disk, folder, &division.shards.to_string()).map_err(failed(folder))?;
    }
    Ok((logs, lock))
}

/// Begins the division of a folder, which must have no log yet.
fn divide<D: Disk>(
    disk: &D,
    layout: &FolderLayout,
    shards: Option<u32>,
) -> Result<Division, OpenError> {
    let FolderLayout { folder, log, .. } = layout;
    let names = disk.list(folder).map_err(failed(folder))?;
    let Some(shards) = shards.filter(|_| names.iter().all(|name| !log.ends_with(&name.name)))
    else {
        let (folder, wanted) = (folder.clone(), shards.unwrap_or(1));
        return Err(OpenError::ShardCount { folder, has: 1, wanted });
    };
    write(disk, folder, &format!("{shards} {CREATING}")).map_err(failed(folder))?;
    Ok(Division { shards, is_complete: false })
}

/// Refuses a folder with shards where one log is to be opened.
pub(super) fn refuse_shards<D: Disk>(disk: &D, layout: &FolderLayout) -> Result<(), OpenError> {
    match division(disk, &layout.folder)? {
        Some(Division { shards, .. }) => {
            Err(OpenError::Divided { folder: layout.folder.clone(), shards })
        }
        None => Ok(()),
    }
}

fn shard_folder(folder: &Path, shard: u32) -> PathBuf {
    folder.join(format!("shard-{shard}"))
}

fn number_path(folder: &Path) -> PathBuf {
    folder.join("shards")
}

fn require_log<D: Disk>(disk: &D, folder: &Path) -> Result<(), OpenError> {
    let segments = FolderLayout::new(folder.to_owned()).segments(disk);
    if segments.is_ok_and(|segments| !segments.is_empty()) {
        return Ok(());
    }
    let reason = "the log of this shard is missing; put the folder back, or restore a backup";
    Err(failed(folder)(io::Error::new(ErrorKind::NotFound, reason)))
}

/// The number of shards that a folder records; none if it has none.
fn division<D: Disk>(disk: &D, folder: &Path) -> Result<Option<Division>, OpenError> {
    let path = number_path(folder);
    let file = match disk.open(&path) {
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        opened => opened.map_err(failed(&path))?,
    };
    let mut bytes = [0; NUMBER_BYTES_MAX];
    let count = file.read_at(0, &mut bytes).map_err(failed(&path))?;
    let text = str::from_utf8(&bytes[..count]).unwrap_or_default().trim();
    let (number, state) = text.split_once(' ').unwrap_or((text, ""));
    let known = ["", CREATING].contains(&state);
    let number = number.parse().ok().filter(|number| known && (1..=SHARDS_MAX).contains(number));
    let unknown = || io::Error::new(ErrorKind::InvalidData, "it is not a number of shards");
    let shards = number.ok_or_else(unknown).map_err(failed(&path))?;
    Ok(Some(Division { shards, is_complete: state.is_empty() }))
}

/// Replaces the number atomically and durably.
fn write<D: Disk>(disk: &D, folder: &Path, text: &str) -> io::Result<()> {
    let partial = folder.join("shards.partial");
    let file = disk.create(&partial)?;
    file.write_at(0, text.as_bytes())?;
    file.sync_data()?;
    disk.rename(&partial, &number_path(folder))?;
    sync_folder(disk, folder)
}

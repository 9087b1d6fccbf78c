//! Opens a log: lock, clean up, survey, choose the sync method, secure the tail.

use std::collections::VecDeque;
use std::io;
use std::path::Path;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, OnceLock, RwLock};
use std::thread::{self, JoinHandle};

use super::append::{Appender, create_segment};
use super::blobs::Blobs;
use super::block_buffer::BlockBuffer;
use super::format::{BLOCK_BYTES, RECORD_HEADER_BYTES, SEGMENT_HEADER_BYTES, SegmentHeader};
use super::segment::{FolderLayout, failed};
use super::shards::refuse_shards;
use super::spare::Spares;
use super::survey::survey;
use super::watermark::Watermark;
use super::{FileLog, Options, Prepare, Shared, SyncMethod, sync_folder};
use crate::contract::{Position, RECORD_BYTES_MAX};
use crate::disk::{Disk, DiskFile, Locked, Write, is_full};
use crate::error::OpenError;

/// A segment has a header and at least one block of records.
const SEGMENT_BYTES_MIN: u64 = 2 * BLOCK_BYTES as u64;

pub(crate) fn open<D: Disk>(disk: D, options: Options) -> Result<FileLog<D>, OpenError> {
    let record_bytes_max = check(&options)?;
    let Options { folder, segment_bytes, prepare, direct } = options;
    let layout = FolderLayout::new(folder);
    refuse_shards(&disk, &layout)?;
    create_folders(&disk, &layout)?;
    let lock = lock(&disk, &layout)?;

    let survey = survey(&disk, &layout)?;
    survey.require_sound(&layout)?;
    let spares =
        Spares::open(&disk, &layout, segment_bytes, prepare).map_err(failed(&layout.log))?;
    let blobs = Blobs::open(&disk, &layout.blobs).map_err(failed(&layout.blobs))?;
    let method = choose_method(&disk, &layout, direct)?;
    // The survey may have read names that are only in the cache after a crash of the process.
    sync_folder(&disk, &layout.log).map_err(failed(&layout.log))?;

    let (last, tail) = (survey.last.unwrap_or(survey.tail), survey.tail);
    let mut segments: VecDeque<_> = survey.segments.into_iter().map(Arc::new).collect();
    let mut shared = Shared {
        disk,
        layout,
        record_bytes_max,
        segments: RwLock::default(),
        start: AtomicU64::new(segments.front().map_or(0, |segment| segment.base.0)),
        tail: AtomicU64::new(tail.0),
        spares,
        blobs,
        truncation: Mutex::new(()),
        failure: OnceLock::new(),
        _lock: lock,
    };
    if segments.is_empty() {
        let (base, salt) = (Position(0), shared.disk.salt());
        let header = SegmentHeader { base, salt, made_bytes: segment_bytes };
        let created = create_segment(&shared, header, method);
        segments.push_back(Arc::new(created.map_err(cannot_create(&shared.layout))?));
    }
    let newest = Arc::clone(segments.back().expect("one was created if there was none"));
    let path = newest.path.clone();
    let watermark = Watermark::open(&shared.disk, &shared.layout, tail)
        .map_err(cannot_create(&shared.layout))?;
    let (disk, torn_until) = (&shared.disk, survey.torn_until);
    let appender = Appender::resume(disk, newest, method, last, tail, torn_until, watermark)
        .map_err(failed(&path))?;
    shared.segments = RwLock::new(segments);

    let shared = Arc::new(shared);
    let preparer = match prepare {
        Prepare::Inline => None,
        Prepare::Background => Some(start_preparer(&shared)?),
    };
    Ok(FileLog { shared, appender: Mutex::new(appender), method, preparer })
}

/// Rejects impossible options; otherwise returns the maximum size of a record.
fn check(options: &Options) -> Result<usize, OpenError> {
    let bytes = options.segment_bytes;
    if bytes < SEGMENT_BYTES_MIN || !bytes.is_multiple_of(BLOCK_BYTES as u64) {
        let reason = format!(
            "segments of {bytes} bytes are not a multiple of {BLOCK_BYTES} and at least \
             {SEGMENT_BYTES_MIN}"
        );
        return Err(OpenError::Options { reason });
    }
    let room = bytes - SEGMENT_HEADER_BYTES - RECORD_HEADER_BYTES as u64;
    Ok(usize::try_from(room).map_or(RECORD_BYTES_MAX, |room| room.min(RECORD_BYTES_MAX)))
}

pub(crate) fn create_folders<D: Disk>(disk: &D, layout: &FolderLayout) -> Result<(), OpenError> {
    for folder in [&layout.folder, &layout.log, &layout.blobs] {
        create_folder(disk, layout, folder)?;
    }
    Ok(())
}

/// Creates a folder of the log durably, if it does not exist.
pub(super) fn create_folder<D: Disk>(
    disk: &D,
    layout: &FolderLayout,
    folder: &Path,
) -> Result<(), OpenError> {
    let is_new = disk.create_folder(folder).map_err(cannot_create(layout))?;
    // The parent of a relative folder with one segment is the current folder.
    let parent = folder.parent().filter(|parent| !parent.as_os_str().is_empty());
    let parent = parent.unwrap_or(Path::new("."));
    // The sync happens even if the folder existed: the process that created it may have ended
    // before. Only a parent that is not accessible cannot be where we created it.
    match sync_folder(disk, parent) {
        Err(error) if !is_new && error.kind() == io::ErrorKind::PermissionDenied => Ok(()),
        synced => synced.map_err(failed(parent)),
    }
}

pub(crate) fn lock<D: Disk>(disk: &D, layout: &FolderLayout) -> Result<D::Lock, OpenError> {
    let path = layout.lock();
    match disk.lock(&path).map_err(failed(&path))? {
        Locked::Held(lock) => Ok(lock),
        Locked::InUse { holder } => Err(OpenError::InUse { folder: layout.folder.clone(), holder }),
    }
}

/// Tries a direct write, because support by the file system cannot be queried. If the disk is full,
/// it cannot be tried: then the method that works everywhere is used, so that a log on a full disk
/// can still be read and truncated.
fn choose_method<D: Disk>(
    disk: &D,
    layout: &FolderLayout,
    direct: bool,
) -> Result<SyncMethod, OpenError> {
    let probe = layout.probe();
    if !direct {
        disk.remove(&probe).map_err(failed(&probe))?;
        return Ok(SyncMethod::DataSync);
    }
    match disk.create(&probe) {
        Err(error) if !is_full(&error) => return Err(failed(&layout.folder)(error)),
        Ok(_) | Err(_) => {}
    }
    let written = disk
        .open_for_write(&probe, Write::Direct)
        .and_then(|file| file.write_at(0, BlockBuffer::new(BLOCK_BYTES).slice()));
    disk.remove(&probe).map_err(failed(&probe))?;
    Ok(if written.is_ok() { SyncMethod::Direct } else { SyncMethod::DataSync })
}

fn start_preparer<D: Disk>(shared: &Arc<Shared<D>>) -> Result<JoinHandle<()>, OpenError> {
    shared.spares.want_one();
    let preparing = Arc::clone(shared);
    thread::Builder::new()
        .name("baton-log-prepare".to_owned())
        .spawn(move || preparing.spares.run(&preparing.disk))
        .map_err(failed(&shared.layout.log))
}

fn cannot_create(layout: &FolderLayout) -> impl Fn(io::Error) -> OpenError + '_ {
    |error| {
        if is_full(&error) {
            OpenError::Full { folder: layout.folder.clone() }
        } else {
            failed(&layout.folder)(error)
        }
    }
}

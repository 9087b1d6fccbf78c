//! The watermark: how far the log was acknowledged, in a file beside the log. Without it, a lost
//! end looks like a torn one.
//!
//! | bytes | field | |
//! |---|---|---|
//! | 0..8 | position | where the log went on when the last record was acknowledged |
//! | 8..12 | checksum | crc32 of bytes 0..8 |
//!
//! It is written after the record is durable, through the page cache and without a sync, so it
//! costs an append next to nothing and is never ahead of the log. It survives the end of the
//! process; a power cut may leave an older one, which then proves less. It is synced when a segment
//! begins and when the log is closed.
//!
//! A file that is absent or unreadable proves nothing: logs from before it have none.

use std::io;

use super::segment::FolderLayout;
use super::sync_folder;
use crate::contract::Position;
use crate::disk::{Disk, DiskFile, Write};

const WATERMARK_BYTES: usize = 12;

/// The mark of an open log.
pub(crate) struct Watermark<F: DiskFile> {
    file: F,
}

impl<F: DiskFile> Watermark<F> {
    /// Sets the mark durably, and keeps it open.
    pub(crate) fn open<D: Disk<File = F>>(
        disk: &D,
        layout: &FolderLayout,
        tail: Position,
    ) -> io::Result<Self> {
        let path = layout.watermark();
        let file = match disk.open_for_write(&path, Write::Buffered) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => disk.create(&path)?,
            opened => opened?,
        };
        file.write_at(0, &encode(tail))?;
        file.sync_data()?;
        sync_folder(disk, &layout.log)?;
        Ok(Self { file })
    }

    /// A record before this position was acknowledged. A failure leaves an older mark, which is
    /// true as well: no reason to refuse what is durable.
    pub(crate) fn advance(&self, tail: Position) {
        self.file.write_at(0, &encode(tail)).unwrap_or_default();
    }

    /// Makes the mark survive a power cut.
    pub(crate) fn sync(&self) {
        self.file.sync_data().unwrap_or_default();
    }
}

/// How far the log in a folder was acknowledged; none if that is not known.
pub(crate) fn read<D: Disk>(disk: &D, layout: &FolderLayout) -> io::Result<Option<Position>> {
    let file = match disk.open(&layout.watermark()) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened?,
    };
    let mut bytes = [0; WATERMARK_BYTES];
    let filled = file.read_at(0, &mut bytes)?;
    let (position, checksum) = bytes.split_at(8);
    let is_whole =
        filled == WATERMARK_BYTES && crc32fast::hash(position).to_le_bytes().as_slice() == checksum;
    let position = u64::from_le_bytes(position.try_into().expect("eight bytes"));
    Ok(is_whole.then_some(Position(position)))
}

fn encode(tail: Position) -> [u8; WATERMARK_BYTES] {
    let mut bytes = [0; WATERMARK_BYTES];
    bytes[..8].copy_from_slice(&tail.0.to_le_bytes());
    let checksum = crc32fast::hash(&bytes[..8]);
    bytes[8..].copy_from_slice(&checksum.to_le_bytes());
    bytes
}

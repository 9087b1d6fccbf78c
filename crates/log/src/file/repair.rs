//! Inspects a log without opening it, and truncates it where it is damaged.
//!
//! A repair loses acknowledged records: all from the first damaged one on. It is therefore never
//! done by opening a log, it reports the lost records, and it saves the bytes in files that end in
//! `.damaged`. A crash in the middle leaves a log that is still damaged and can be repaired again.

use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use super::format::{BLOCK_BYTES, SEGMENT_HEADER_BYTES, SegmentHeader};
use super::open::{create_folders, lock};
use super::read::read_segment;
use super::scan::{Window, follow, search};
use super::segment::{FolderLayout, Segment, failed};
use super::shards::refuse_shards;
use super::survey::{Survey, survey};
use super::watermark::Watermark;
use crate::contract::{Position, Record};
use crate::disk::{Disk, DiskFile, SystemDisk, Write};
use crate::error::{OpenError, ReadError};

/// Bytes are copied and wiped in pieces of this size.
const PIECE_BYTES: usize = 1024 * 1024;

/// The content of a log, and its damage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The number of segments.
    pub segments: usize,
    /// The number of valid records before any damage.
    pub records: u64,
    /// The position of the first record.
    pub start: Position,
    /// The end of the valid records.
    pub tail: Position,
    /// How many bytes of a record that was never acknowledged follow the tail. Opening the log
    /// truncates them.
    pub torn_bytes: u64,
    /// The first damage, if there is any.
    pub damage: Option<Damage>,
    /// The files that a repair has saved.
    pub kept: Vec<PathBuf>,
}

/// A damaged place in a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// The damaged file.
    pub file: PathBuf,
    /// The byte in it where the damage begins.
    pub offset: u64,
    /// The mismatch.
    pub reason: String,
    /// How many valid records follow it. A repair removes them.
    pub records_after: u64,
    /// The size of these records in bytes, including headers.
    pub bytes_after: u64,
}

/// Reads and verifies the log in a folder of this machine. Changes nothing.
pub fn verify(folder: impl AsRef<Path>) -> Result<Report, OpenError> {
    verify_on(&SystemDisk, folder.as_ref())
}

/// Truncates the log in a folder of this machine at its first damage. Does nothing if there is
/// none.
pub fn repair(folder: impl AsRef<Path>) -> Result<Report, OpenError> {
    repair_on(&SystemDisk, folder.as_ref())
}

/// Reads and verifies the log in a folder of this disk. Changes nothing.
pub fn verify_on<D: Disk>(disk: &D, folder: &Path) -> Result<Report, OpenError> {
    let layout = FolderLayout::new(folder.to_owned());
    refuse_shards(disk, &layout)?;
    let _lock = lock(disk, &layout)?;
    report(disk, &layout, &survey(disk, &layout)?)
}

/// Shows every intact record of the log in a folder of this machine, oldest first, until the
/// visitor stops. Changes nothing.
pub fn visit(
    folder: impl AsRef<Path>,
    each: impl FnMut(&Record) -> ControlFlow<()>,
) -> Result<Report, OpenError> {
    visit_on(&SystemDisk, folder.as_ref(), each)
}

/// Shows every intact record of the log in a folder of this disk, oldest first, until the visitor
/// stops. Changes nothing.
pub fn visit_on<D: Disk>(
    disk: &D,
    folder: &Path,
    mut each: impl FnMut(&Record) -> ControlFlow<()>,
) -> Result<Report, OpenError> {
    let layout = FolderLayout::new(folder.to_owned());
    refuse_shards(disk, &layout)?;
    let _lock = lock(disk, &layout)?;
    let survey = survey(disk, &layout)?;
    let report = report(disk, &layout, &survey)?;
    for (index, segment) in survey.segments.iter().enumerate() {
        let end = survey.segments.get(index + 1).map_or(survey.tail, |next| next.base);
        let mut from = segment.base;
        while from < end {
            let changed = |error: ReadError| failed(&segment.path)(io::Error::other(error));
            for record in read_segment(segment, from, end).map_err(changed)? {
                if each(&record).is_break() {
                    return Ok(report);
                }
                from = record.next;
            }
        }
    }
    Ok(report)
}

/// Truncates the log in a folder of this disk at its first damage. Does nothing if there is none.
pub fn repair_on<D: Disk>(disk: &D, folder: &Path) -> Result<Report, OpenError> {
    let layout = FolderLayout::new(folder.to_owned());
    refuse_shards(disk, &layout)?;
    create_folders(disk, &layout)?;
    let _lock = lock(disk, &layout)?;
    let survey = survey(disk, &layout)?;
    let mut report = report(disk, &layout, &survey)?;
    if survey.damage.is_some() {
        report.kept = cut(disk, &layout, &survey).map_err(failed(&layout.log))?;
        // Last, so that a crash before this leaves a log that is still damaged.
        Watermark::open(disk, &layout, report.tail).map_err(failed(&layout.log))?;
    }
    Ok(report)
}

fn report<D: Disk>(
    disk: &D,
    layout: &FolderLayout,
    survey: &Survey<D::File>,
) -> Result<Report, OpenError> {
    let mut report = Report {
        segments: survey.paths.len(),
        records: survey.records,
        start: survey.paths.first().map_or(Position(0), |(base, _)| *base),
        tail: survey.tail,
        torn_bytes: 0,
        damage: None,
        kept: Vec::new(),
    };
    let Some(damage) = &survey.damage else {
        if let Some(last) = survey.segments.last() {
            report.torn_bytes = survey.torn_until.saturating_sub(last.offset_of(survey.tail));
        }
        return Ok(report);
    };
    if damage.offset == 0 {
        report.tail = base_of(survey, damage.index);
    }
    let file = survey.damaged_file(damage, layout);
    let (records_after, bytes_after) = count_after(disk, survey).map_err(failed(&file))?;
    report.damage = Some(Damage {
        file,
        offset: damage.offset,
        reason: damage.reason.clone(),
        records_after,
        bytes_after,
    });
    Ok(report)
}

/// Counts the valid records after the first damage, and their bytes.
fn count_after<D: Disk>(disk: &D, survey: &Survey<D::File>) -> io::Result<(u64, u64)> {
    let damage = survey.damage.as_ref().expect("called for a damaged log");
    let mut window = Window::new();
    let (mut records, mut bytes) = (0, 0);
    for (index, (base, path)) in survey.paths.iter().enumerate().skip(damage.index) {
        let file = disk.open(path)?;
        let length = file.length()?;
        let mut block = [0; BLOCK_BYTES];
        let filled = file.read_at(0, &mut block)?;
        let salt = match SegmentHeader::decode(&block[..filled]) {
            Ok(header) if header.base == *base => header.salt,
            // All segments of a log have the same salt, so that of a neighbour is used.
            _ => match survey.segments.last() {
                Some(segment) => segment.salt,
                None => continue,
            },
        };
        let (base, path) = (*base, path.clone());
        let segment = Segment { base, salt, path, bytes: length, made_bytes: 0, file };
        let from = if index == damage.index { damage.offset + 1 } else { 0 };
        let mut offset = from.max(SEGMENT_HEADER_BYTES);
        while let Some(found) = search(&mut window, &segment, offset)? {
            let begin = segment.position_at(found);
            let chain = follow(&mut window, &segment, begin, None)?;
            records += chain.records;
            bytes += chain.end.0 - begin.0;
            offset = segment.offset_of(chain.end);
        }
    }
    Ok((records, bytes))
}

/// The start of a segment. Without any, the log continues where it was acknowledged to end, so that
/// no position is used twice.
fn base_of<F>(survey: &Survey<F>, index: usize) -> Position {
    let there = survey.paths.get(index).map(|(base, _)| *base);
    there.or(survey.acknowledged).unwrap_or_default()
}

/// Puts aside everything from the first damage on.
fn cut<D: Disk>(
    disk: &D,
    layout: &FolderLayout,
    survey: &Survey<D::File>,
) -> io::Result<Vec<PathBuf>> {
    let damage = survey.damage.as_ref().expect("called for a damaged log");
    let base = base_of(survey, damage.index);
    let Some((_, path)) = survey.paths.get(damage.index) else {
        replace_by_empty(disk, layout, base)?;
        return Ok(Vec::new());
    };
    let mut kept = Vec::new();
    let is_header = damage.offset < SEGMENT_HEADER_BYTES;
    // A log without any segment would restart at position 0, so the first one is kept.
    let stays = !is_header || damage.index == 0;
    if stays {
        // Copied first, because the original is about to be wiped.
        let copy = unused_name(disk, path)?;
        copy_from(&disk.open(path)?, damage.offset, &disk.create(&copy)?)?;
        disk.sync_folder(&layout.log)?;
        kept.push(copy);
    }
    // The last ones first, so that a crash in between leaves the damage where it was.
    let first_aside = damage.index + usize::from(stays);
    for (_, path) in survey.paths[first_aside..].iter().rev() {
        let aside = unused_name(disk, path)?;
        disk.rename(path, &aside)?;
        disk.sync_folder(&layout.log)?;
        kept.push(aside);
    }
    if !is_header {
        // The survey ends with the damaged segment.
        let made_bytes = survey.segments.last().map_or(0, |segment| segment.made_bytes);
        wipe_from(&disk.open_for_write(path, Write::Buffered)?, damage.offset, made_bytes)?;
    } else if stays {
        replace_by_empty(disk, layout, base)?;
    }
    kept.sort();
    Ok(kept)
}

/// A name for a saved file that does not replace one of an earlier repair.
fn unused_name<D: Disk>(disk: &D, path: &Path) -> io::Result<PathBuf> {
    let mut number = 0;
    loop {
        let suffix = if number == 0 { String::new() } else { format!("-{number}") };
        let mut name = path.to_owned().into_os_string();
        name.push(format!("{suffix}.damaged"));
        let name = PathBuf::from(name);
        match disk.open(&name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(name),
            Err(error) => return Err(error),
            Ok(_) => number += 1,
        }
    }
}

fn copy_from<F: DiskFile>(from: &F, offset: u64, to: &F) -> io::Result<()> {
    let mut piece = vec![0; PIECE_BYTES];
    let mut copied = 0;
    loop {
        let bytes = from.read_at(offset + copied, &mut piece)?;
        if bytes == 0 {
            return to.sync_data();
        }
        to.write_at(copied, &piece[..bytes])?;
        copied += bytes as u64;
    }
}

/// Fills a file with zeros from here on, up to the length that it was made with.
fn wipe_from<F: DiskFile>(file: &F, offset: u64, made_bytes: u64) -> io::Result<()> {
    let zeros = vec![0; PIECE_BYTES];
    let length = file.length()?.max(made_bytes);
    let mut offset = offset;
    while offset < length {
        let bytes = (length - offset).min(PIECE_BYTES as u64);
        let bytes = usize::try_from(bytes).expect("a piece fits into memory");
        file.write_at(offset, &zeros[..bytes])?;
        offset += bytes as u64;
    }
    file.sync_data()
}

/// Makes a segment without free space, which the first append replaces.
fn replace_by_empty<D: Disk>(disk: &D, layout: &FolderLayout, base: Position) -> io::Result<()> {
    let preparing = layout.preparing();
    let file = disk.create(&preparing)?;
    let mut block = [0; BLOCK_BYTES];
    SegmentHeader { base, salt: disk.salt(), made_bytes: 0 }.encode(&mut block);
    file.write_at(0, &block)?;
    file.sync_data()?;
    disk.rename(&preparing, &layout.segment(base))?;
    disk.sync_folder(&layout.log)
}

//! Reads a whole log to distinguish a torn tail from damage. Opening, verifying and repairing all
//! use this, so that they cannot disagree.
//!
//! Appends are serial: one starts after the previous one is durable, and a segment starts after the
//! previous one is complete. A power cut can therefore leave one bad record, and only at the very
//! end of the last segment. Hence these rules:
//!
//! | found | meaning |
//! |---|---|
//! | a bad record in the last segment, and no intact one after it | torn tail, never acknowledged |
//! | a bad record in the last segment, and an intact one after it | damage |
//! | a bad record in an older segment | damage |
//! | a segment that begins where the one before it does not end | damage, a segment is missing |
//! | a segment whose header is bad or does not fit its name | damage |
//! | a last segment that is shorter than it was made | damage, its end is missing |
//! | a log that ends before its watermark | damage, acknowledged records are missing |
//!
//! A log without a watermark, from before there was one, is judged by the other rules: damage to
//! its very last record looks like a torn tail, and is truncated like one.

use std::io;
use std::path::{Path, PathBuf};

use super::format::{
    BLOCK_BYTES, FORMAT_VERSION, RECORD_HEADER_BYTES, RECORD_MAGIC, SEGMENT_HEADER_BYTES,
    SegmentFlaw, SegmentHeader,
};
use super::scan::{Chain, Window, follow, search};
use super::segment::{FolderLayout, Segment, failed};
use super::watermark;
use crate::contract::{Position, RECORD_BYTES_MAX};
use crate::disk::{Disk, DiskFile};
use crate::error::OpenError;
use crate::planted;

/// The content of the disk, up to the first damage.
pub(crate) struct Survey<F> {
    /// All segments by name, whatever their content.
    pub(crate) paths: Vec<(Position, PathBuf)>,
    /// The segments with a valid header. With damage, the last one is the damaged one or the one
    /// before it.
    pub(crate) segments: Vec<Segment<F>>,
    pub(crate) records: u64,
    /// The position of the last valid record of the last segment, if it has one.
    pub(crate) last: Option<Position>,
    pub(crate) tail: Position,
    /// The end of a torn record in the file of the last segment.
    pub(crate) torn_until: u64,
    pub(crate) damage: Option<FirstDamage>,
    /// How far the log was acknowledged, if that is known.
    pub(crate) acknowledged: Option<Position>,
}

/// The first damaged place of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FirstDamage {
    /// The index of its path; the log without any segment has one for its damage as well.
    pub(crate) index: usize,
    pub(crate) offset: u64,
    pub(crate) reason: String,
}

impl<F> Survey<F> {
    /// Refuses a damaged log.
    pub(crate) fn require_sound(&self, layout: &FolderLayout) -> Result<(), OpenError> {
        let Some(damage) = &self.damage else {
            return Ok(());
        };
        Err(OpenError::Corrupt {
            file: self.damaged_file(damage, layout),
            offset: damage.offset,
            reason: damage.reason.clone(),
        })
    }

    /// The file to name for a damage. If every segment is gone, all that is left is the watermark.
    pub(crate) fn damaged_file(&self, damage: &FirstDamage, layout: &FolderLayout) -> PathBuf {
        self.paths.get(damage.index).map_or_else(|| layout.watermark(), |(_, path)| path.clone())
    }

    /// The damage if the log ends before what was acknowledged.
    fn lost_end(&self) -> Option<FirstDamage> {
        let acknowledged = self.acknowledged.filter(|position| *position > self.tail)?;
        let (tail, index) = (self.tail, self.paths.len().saturating_sub(1));
        let offset = self.segments.last().map_or(0, |segment| segment.offset_of(tail));
        let reason = format!(
            "the log was acknowledged up to position {acknowledged} but ends at {tail}: its end \
             is missing"
        );
        Some(FirstDamage { index, offset, reason })
    }
}

/// Reads and verifies everything.
pub(crate) fn survey<D: Disk>(
    disk: &D,
    layout: &FolderLayout,
) -> Result<Survey<D::File>, OpenError> {
    let mut survey = Survey {
        paths: layout.segments(disk)?,
        segments: Vec::new(),
        records: 0,
        last: None,
        tail: Position(0),
        torn_until: 0,
        damage: None,
        acknowledged: watermark::read(disk, layout).map_err(failed(&layout.watermark()))?,
    };
    let mut window = Window::new();
    for index in 0..survey.paths.len() {
        let (base, path) = &survey.paths[index];
        let segment = match open_segment(disk, *base, path)? {
            Ok(segment) => segment,
            Err(reason) => {
                survey.damage = Some(FirstDamage { index, offset: 0, reason });
                break;
            }
        };
        let next = survey.paths.get(index + 1).map(|(base, _)| *base);
        let chain = follow(&mut window, &segment, *base, next).map_err(failed(path))?;
        survey.damage = judge(&mut window, &segment, &chain, next)
            .map_err(failed(path))?
            .map(|(offset, reason)| FirstDamage { index, offset, reason });
        survey.records += chain.records;
        survey.last = chain.last;
        survey.tail = chain.end;
        if next.is_none() {
            survey.torn_until = torn_until(&segment, chain.end).map_err(failed(path))?;
        }
        survey.segments.push(segment);
        if survey.damage.is_some() {
            if planted::is("log.ignore_bad_record") {
                survey.damage = None;
            }
            break;
        }
    }
    if survey.damage.is_none() && !planted::is("log.ignore_bad_record") {
        survey.damage = survey.lost_end();
    }
    Ok(survey)
}

/// Opens a segment and reads its header, or returns the error in the header.
fn open_segment<D: Disk>(
    disk: &D,
    base: Position,
    path: &Path,
) -> Result<Result<Segment<D::File>, String>, OpenError> {
    let file = disk.open(path).map_err(failed(path))?;
    let bytes = file.length().map_err(failed(path))?;
    let mut block = [0; BLOCK_BYTES];
    let filled = file.read_at(0, &mut block).map_err(failed(path))?;
    let header = match SegmentHeader::decode(&block[..filled]) {
        Ok(header) => header,
        Err(SegmentFlaw::Newer { version }) => {
            return Err(OpenError::Newer { found: version, supported: FORMAT_VERSION });
        }
        Err(SegmentFlaw::Damaged) => return Ok(Err("its header is damaged".to_owned())),
    };
    if header.base != base {
        return Ok(Err(format!("its header says that it begins at position {}", header.base)));
    }
    let bytes = bytes.max(SEGMENT_HEADER_BYTES).next_multiple_of(BLOCK_BYTES as u64);
    let SegmentHeader { salt, made_bytes, .. } = header;
    Ok(Ok(Segment { base, salt, path: path.to_owned(), bytes, made_bytes, file }))
}

/// Decides whether the end of a chain is the end of the log, or else where and what the damage is.
fn judge<F: DiskFile>(
    window: &mut Window,
    segment: &Segment<F>,
    chain: &Chain,
    next: Option<Position>,
) -> io::Result<Option<(u64, String)>> {
    let Some(flaw) = &chain.flaw else {
        return Ok(None);
    };
    let length = segment.file.length()?;
    let offset = segment.offset_of(chain.end);
    if let Some(next) = next {
        let reason = format!("the log should go on to position {next}, but {flaw}");
        return Ok(Some((offset, reason)));
    }
    if length < segment.made_bytes {
        let reason = format!("the file has {length} of {} bytes", segment.made_bytes);
        return Ok(Some((offset.min(length), reason)));
    }
    let sound = search(window, segment, offset + 1)?;
    Ok(sound.map(|sound| (offset, format!("{flaw}, yet a sound record follows at byte {sound}"))))
}

/// The end of the record that a power cut tore at `tail`, as far as its header survived.
fn torn_until<F: DiskFile>(segment: &Segment<F>, tail: Position) -> io::Result<u64> {
    let offset = segment.offset_of(tail);
    let mut header = [0; RECORD_HEADER_BYTES];
    let filled = segment.file.read_at(offset, &mut header)?;
    let length = u32::from_le_bytes(header[4..8].try_into().expect("four bytes"));
    if filled < RECORD_HEADER_BYTES
        || header[0..4] != RECORD_MAGIC
        || header[8..16] != tail.0.to_le_bytes()
        || length as usize > RECORD_BYTES_MAX
    {
        return Ok(offset);
    }
    let until = offset + RECORD_HEADER_BYTES as u64 + u64::from(length);
    Ok(until.min(segment.bytes))
}

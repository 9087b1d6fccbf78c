//! One backup of the backups of several shards.

use std::collections::BTreeSet;
use std::io::{Read, Write};

use baton_core::access::CLOSED;

use super::{
    BATCHES, BLOB, BYTES, BackupChunk, BackupHeader, BackupReader, END, FORMAT, HEADER, MAGIC,
    Summary, WORKSPACE, damaged,
};
use crate::error::Error;
use crate::export::chunks::ChunkWriter;

/// Joins the backups of all shards, which are read one after the other. The time is that of the
/// first. Nothing is complete before the last of them was read to its end. `shards` is how many
/// there are: fewer parts are refused, since a backup without some workspaces looks complete.
/// `home` is the shard of the access tokens. The workspace of that name in another shard is left
/// out: its server stores only there which spans it has exported, and they can be exported again.
pub fn merge<R: Read>(
    shards: u32,
    home: u32,
    parts: impl IntoIterator<Item = Result<R, Error>>,
    output: Box<dyn Write + Send>,
) -> Result<Summary, Error> {
    let mut parts = parts.into_iter();
    let first = parts.next().ok_or_else(|| damaged("there is nothing to join"))??;
    let mut reader = BackupReader::begin(first)?;
    let Summary { time, program, .. } = reader.summary.clone();
    let mut chunks = ChunkWriter::begin(output, MAGIC, FORMAT)?;
    chunks.json(HEADER, &BackupHeader { time, program: program.clone() })?;
    let (mut seen, mut workspaces) = (BTreeSet::new(), Vec::new());
    let mut joined: u32 = 0;
    loop {
        let mut is_left_out = false;
        while let Some(chunk) = reader.next()? {
            if let BackupChunk::Workspace(entry) = &chunk {
                is_left_out = entry.workspace.as_str() == CLOSED && joined != home;
            }
            match chunk {
                _ if is_left_out => {}
                BackupChunk::Workspace(entry) => {
                    // Which of the two is right cannot be known here.
                    if !seen.insert(entry.workspace.clone()) {
                        return Err(damaged("two shards have the same workspace"));
                    }
                    chunks.json(WORKSPACE, &entry)?;
                    workspaces.push(entry);
                }
                BackupChunk::Blob(header) => chunks.json(BLOB, &header)?,
                BackupChunk::Batches(header) => chunks.json(BATCHES, &header)?,
                BackupChunk::Bytes(bytes) => chunks.chunk(BYTES, &bytes)?,
            }
        }
        joined += 1;
        match parts.next() {
            Some(next) => reader = BackupReader::begin(next?)?,
            None => break,
        }
    }
    if joined != shards {
        return Err(damaged(format!("it has {joined} of {shards} shards")));
    }
    chunks.finish(END)?;
    workspaces.sort_by(|one, two| one.workspace.cmp(&two.workspace));
    Ok(Summary { time, program, workspaces })
}

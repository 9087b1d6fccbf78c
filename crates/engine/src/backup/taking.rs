//! Taking a backup.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use baton_core::{Revision, WorkspaceName};
use baton_log::file::{FileLog, Options as FileOptions};
use baton_log::{Blob, Log, OpenError};

use super::{
    ABOUT, About, BATCHES, BLOB, BYTES, BatchesAbout, BlobAbout, END, FORMAT, Kept, LETTERS,
    Summary, WORKSPACE,
};
use crate::clock::SystemClock;
use crate::codec;
use crate::contents::Shelf;
use crate::error::Error;
use crate::files;
use crate::history::Place;
use crate::options::Options;
use crate::parcel::chunks::ChunkWriter;
use crate::parcel::{CHUNK_BYTES_MAX, write_blob};
use crate::shard::Shard;

/// A workspace whose revision is settled, and what there is of it.
struct Picture {
    kept: Kept,
    /// Open already, so that it does not matter when they are replaced.
    files: Vec<(String, Arc<dyn Blob>)>,
    /// The revision of the first of the batches that only the log has.
    first: Revision,
    places: Vec<Place>,
}

/// Backs up a folder that no engine has open. Nothing in it changes but what a crash has torn.
pub fn of_folder(folder: &Path, output: Box<dyn Write + Send>) -> Result<Summary, Error> {
    if !folder.is_dir() {
        let (path, reason) = (folder.to_owned(), "there is no such folder".to_owned());
        return Err(OpenError::Failed { path, reason }.into());
    }
    let log = FileLog::open(FileOptions::new(folder))?;
    let clock = Arc::new(SystemClock::default());
    Shard::open(log, clock, Options::default())?.backup(output)
}

impl<L: Log> Shard<L> {
    /// Writes all workspaces, each as it is when its turn comes.
    pub fn backup(&self, output: Box<dyn Write + Send>) -> Result<Summary, Error> {
        let _holding = self.backups.begin();
        let (time, program) = (self.clock.now(), env!("CARGO_PKG_VERSION").to_owned());
        let mut chunks = ChunkWriter::begin(output, LETTERS, FORMAT)?;
        let about = About { time, program };
        chunks.json(ABOUT, &about)?;
        let mut workspaces = Vec::new();
        for (workspace, newest) in self.newest_revisions()? {
            let picture = self.alone(&workspace, || self.picture(&workspace))?;
            if picture.kept.revision < newest {
                let (found, workspace) = (picture.kept.revision, &workspace);
                let what = format!("workspace `{workspace}` is at {newest}, found is {found}");
                return Err(Error::Corrupt { what });
            }
            self.write_picture(&mut chunks, &picture)?;
            workspaces.push(picture.kept);
        }
        chunks.finish(END)?;
        let About { time, program } = about;
        Ok(Summary { time, program, workspaces })
    }

    fn picture(&self, workspace: &WorkspaceName) -> Result<Picture, Error> {
        let files = self.files_of(workspace)?;
        let chain = files::chain(&files).ok_or_else(|| Error::Corrupt {
            what: format!("the runs of workspace `{workspace}` do not follow each other"),
        })?;
        let archived = Revision(chain.archived());
        // All of them, in one look: what is appended afterwards is not in the backup.
        let places = self.places(workspace, archived.next(), u64::MAX);
        let revision = Revision(archived.0 + places.len() as u64);
        let open = |file: &files::File| {
            let name = file.name(workspace);
            self.blob(workspace, *file).map(|blob| (name, blob))
        };
        let kept = Kept { workspace: workspace.clone(), revision };
        let files = files.iter().map(open).collect::<Result<_, _>>()?;
        Ok(Picture { kept, files, first: archived.next(), places })
    }

    fn write_picture(&self, chunks: &mut ChunkWriter, picture: &Picture) -> Result<(), Error> {
        let Picture { kept, files, first, places } = picture;
        chunks.json(WORKSPACE, kept)?;
        for (name, blob) in files {
            put_blob(chunks, name, &**blob)?;
        }
        for shelf in [Shelf::Artifacts, Shelf::Secrets] {
            for name in self.log.list_blobs(&shelf.folder(&kept.workspace))? {
                // Only what no record has goes away meanwhile.
                if let Some(blob) = self.log.open_blob(&name)? {
                    put_blob(chunks, &name, &*blob)?;
                }
            }
        }
        if places.is_empty() {
            return Ok(());
        }
        chunks.json(BATCHES, &BatchesAbout { first: *first, last: kept.revision })?;
        let mut waiting = Vec::new();
        let mut written = Ok(());
        self.visit(places, &mut |frame| {
            written = codec::outline(frame).map_err(Error::from).and_then(|outline| {
                waiting.extend_from_slice(&frame[..outline.bytes]);
                put_full(chunks, &mut waiting)
            });
            written.is_ok()
        })?;
        written?;
        chunks.chunk(BYTES, &waiting)
    }
}

/// Writes as many whole chunks as have gathered.
fn put_full(chunks: &mut ChunkWriter, waiting: &mut Vec<u8>) -> Result<(), Error> {
    while waiting.len() > CHUNK_BYTES_MAX {
        chunks.chunk(BYTES, &waiting[..CHUNK_BYTES_MAX])?;
        waiting.drain(..CHUNK_BYTES_MAX);
    }
    Ok(())
}

fn put_blob(chunks: &mut ChunkWriter, name: &str, blob: &dyn Blob) -> Result<(), Error> {
    chunks.json(BLOB, &BlobAbout { name: name.to_owned(), bytes: blob.len() })?;
    write_blob(chunks, BYTES, blob)
}

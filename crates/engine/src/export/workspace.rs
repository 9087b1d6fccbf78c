//! Exports a workspace to a file, and imports one; sends a fork to another shard, and receives it.
//!
//! ```text
//!   space at R, blobs ──pack──▶ export ──unpack, verify──▶ space, blobs ──found──▶ base
//! ```
//!
//! An import is a fork whose origin is a file: leases, offers, waits and sessions end, and
//! revisions continue from there. The history is not included, nor are values of secrets: a
//! reference to one is answered with not found, and a webhook that was signed is disabled. A fork
//! that was sent has all of these, and equals a fork within the shard.
//!
//! 1. Nothing appears before the export was read to its end and verified: then the base is written,
//!    which exists completely or not at all, and with it the workspace.
//! 2. An existing workspace of that name is not changed.
//! 3. A process that is killed in the middle leaves no workspace behind. Blobs of artifacts may be
//!    left: the next import to that name, or the first load of it, reuses or removes them.
//! 4. One chunk of a content is in memory at a time, whatever its size. The snapshot is in memory
//!    like the resulting space.

use std::io::{Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};

use baton_core::history::{At, Manner, Origin};
use baton_core::reaction::Trouble;
use baton_core::space::Head;
use baton_core::workspace::{Rejection, Reply};
use baton_core::{AgentId, ArtifactId, Revision, Space, WorkspaceName};
use baton_log::{BlobError, BlobWriter, Log, MemoryBlob};
use sha2::{Digest, Sha256};

use crate::blobs::{BlobKind, blob_references, check_secrets};
use crate::compaction::write_space_to;
use crate::error::Error;
use crate::export::{
    ContentHeader, ExportChunk, ExportHeader, ExportReader, ExportWriter, SnapshotSink,
};
use crate::files;
use crate::fork::Contents;
use crate::history::past::{Past, copy_id};
use crate::shard::Shard;
use crate::snapshot::{Snapshot, SnapshotWriter};

/// The maximum size of a snapshot in an export in bytes: the result must fit into memory.
const SNAPSHOT_BYTES_MAX: usize = 4 << 30;

impl<L: Log> Past<'_, L> {
    /// Writes the workspace at a point in history, or its current state.
    pub fn export(
        &self,
        at: Option<At>,
        output: Box<dyn Write + Send>,
    ) -> Result<ExportHeader, Error> {
        let at = at.map_or(Ok(self.present()), |at| self.revision_of(at))?;
        if self.present() == Revision(0) {
            // More likely a mistyped name than an empty workspace worth exporting.
            let subject = self.workspace().to_string();
            return Err(Error::Rejected(Rejection::UnknownSubject { subject }.into()));
        }
        let space = self.space(at)?;
        let workspace = self.workspace().clone();
        let header = ExportHeader { workspace, revision: space.revision(), time: space.time() };
        let writer = ExportWriter::begin(output, &header)?;
        let head = without_secrets(space.head());
        self.pack(writer, &space, head, |kind| kind == BlobKind::Artifacts)?;
        Ok(header)
    }

    /// `workspace.fork` to another shard: writes what [`Shard::receive_fork`] reads there.
    pub fn send_fork(
        &self,
        at: Option<At>,
        by: &AgentId,
        output: Box<dyn Write + Send>,
    ) -> Result<(), Error> {
        let (space, origin) = self.forked(at, by)?;
        if blob_references(&space).any(|(kind, _)| kind == BlobKind::Secrets) {
            // Before anything is sent.
            check_secrets(&self.shard().log)?;
        }
        let writer = ExportWriter::begin_fork(output, &origin)?;
        let head = space.head();
        self.pack(writer, &space, head, |_| true)
    }

    /// Writes a space, and its contents of some kinds.
    fn pack(
        &self,
        writer: ExportWriter,
        space: &Space,
        head: Head,
        is_packed: impl Fn(BlobKind) -> bool,
    ) -> Result<(), Error> {
        let writer = Arc::new(Mutex::new(writer));
        let sink = Box::new(SnapshotSink::new(&writer));
        write_space_to(SnapshotWriter::begin(sink, head)?, space)?;
        let writer = Arc::into_inner(writer).expect("the snapshot has been written");
        let mut writer = writer.into_inner().unwrap_or_else(PoisonError::into_inner);
        for (kind, place) in blob_references(space).filter(|(kind, _)| is_packed(*kind)) {
            let name = kind.name(self.workspace(), &place);
            // A content that is gone, since the space is an older one, stays missing.
            let Some(blob) = self.shard().log.open_blob(&name)? else { continue };
            let (bytes, is_secret) = (blob.len(), kind == BlobKind::Secrets);
            writer.content(&ContentHeader { place, bytes, is_secret }, &*blob)?;
        }
        writer.finish()
    }
}

/// The head without the signing secrets of webhooks. A webhook that was signed must not be called
/// without a signature, so its reaction is disabled until it is added again.
fn without_secrets(mut head: Head) -> Head {
    for record in &mut head.reactions.records {
        if record.secret.take().is_some() {
            record.enabled = false;
            record.webhook.iter_mut().for_each(|webhook| webhook.signed = false);
            record.trouble = Some(Trouble {
                code: "reaction.secret_not_exported".to_owned(),
                detail: "an export has no signing secret; add the reaction again with one"
                    .to_owned(),
                at: head.time,
                revision: head.revision,
            });
        }
    }
    head
}

/// Blobs that were written for a workspace that is not there yet. Dropped before it is, they go.
struct PendingImport<'a, L: Log> {
    shard: &'a Shard<L>,
    to: &'a WorkspaceName,
    manner: Manner,
    written: Vec<String>,
    noted: Vec<String>,
    is_created: bool,
}

impl<L: Log> Drop for PendingImport<'_, L> {
    fn drop(&mut self) {
        if !self.is_created {
            for name in &self.written {
                // A blob that stays is reused or removed by the next import, or by the first load.
                drop(self.shard.log.delete_blob(name));
            }
        }
        for name in &self.noted {
            self.shard.pending.end(name);
        }
    }
}

impl<'a, L: Log> PendingImport<'a, L> {
    fn new(shard: &'a Shard<L>, to: &'a WorkspaceName, manner: Manner) -> Self {
        let (written, noted) = (Vec::new(), Vec::new());
        Self { shard, to, manner, written, noted, is_created: false }
    }

    /// Starts the blob of a content; none if an interrupted import has left it.
    fn begin(&mut self, content: &ContentHeader) -> Result<Option<Box<dyn BlobWriter>>, Error> {
        match (self.manner, content.kind()) {
            (_, BlobKind::Artifacts) => {}
            (Manner::Fork, BlobKind::Secrets) => check_secrets(&self.shard.log)?,
            (Manner::Import, BlobKind::Secrets) => {
                return Err(damaged("it has the value of a secret"));
            }
        }
        let name = content.kind().name(self.to, &content.place);
        // Registered before it exists, so that no sweep sees it unregistered.
        self.shard.pending.begin(name.clone());
        self.noted.push(name.clone());
        match self.shard.log.create_blob(&name) {
            Ok(writer) => {
                self.written.push(name);
                Ok(Some(writer))
            }
            Err(BlobError::Exists { .. }) => Ok(None),
            Err(BlobError::Full) => Err(Error::Full),
            Err(error) => Err(error.into()),
        }
    }

    /// Writes the contents of an export and collects its snapshot.
    fn unpack(&mut self, reader: &mut ExportReader<impl Read>) -> Result<Vec<u8>, Error> {
        let mut snapshot = Vec::new();
        let mut writer: Option<Box<dyn BlobWriter>> = None;
        let full = |error| match error {
            BlobError::Full => Error::Full,
            error => error.into(),
        };
        while let Some(piece) = reader.next()? {
            match piece {
                ExportChunk::Snapshot(bytes) => {
                    if snapshot.len() + bytes.len() > SNAPSHOT_BYTES_MAX {
                        return Err(damaged("its snapshot is larger than any that is read"));
                    }
                    snapshot.extend_from_slice(&bytes);
                }
                ExportChunk::Content(content) => {
                    writer.take().map_or(Ok(()), BlobWriter::commit).map_err(full)?;
                    writer = self.begin(&content)?;
                }
                ExportChunk::Bytes(bytes) => {
                    let written = writer.as_mut().map_or(Ok(()), |writer| writer.write(&bytes));
                    written.map_err(full)?;
                }
            }
        }
        writer.map_or(Ok(()), BlobWriter::commit).map_err(full)?;
        Ok(snapshot)
    }

    /// Compares every imported artifact with the digest in its name.
    fn verify(&self, space: &Space) -> Result<(), Error> {
        let secrets = blob_references(space).filter(|(kind, _)| *kind == BlobKind::Secrets);
        let mut expected: Vec<String> =
            secrets.map(|(kind, place)| kind.name(self.to, &place)).collect();
        for record in space.artifact.after(None) {
            let name = BlobKind::Artifacts.name(self.to, &record.place);
            if self.shard.log.open_blob(&name)?.is_none() {
                continue;
            }
            let content = self.shard.content(self.to, BlobKind::Artifacts, &record.place);
            let content = content.map_err(|error| damaged(&error.to_string()))?;
            let mut digest = Sha256::new();
            let mut offset = 0;
            while offset < content.len() {
                let block = content.block(offset).map_err(|error| damaged(&error.to_string()))?;
                digest.update(&block);
                offset += block.len() as u64;
            }
            let digest: [u8; 32] = digest.finalize().into();
            if ArtifactId::of_digest(&digest) != record.artifact {
                return Err(damaged(&format!("the bytes of `{}` are others", record.artifact)));
            }
            expected.push(name);
        }
        match self.noted.iter().find(|name| !expected.contains(name)) {
            None => Ok(()),
            Some(name) => Err(damaged(&format!("`{name}` belongs to nothing"))),
        }
    }
}

impl<L: Log> Shard<L> {
    /// Creates a workspace from an export, under an unused name.
    pub fn import(
        &self,
        to: &WorkspaceName,
        by: &AgentId,
        input: impl Read,
    ) -> Result<Reply, Error> {
        let (mut reader, header) = ExportReader::begin(input)?;
        // Before a large file is read for nothing.
        if self.is_taken(to)? {
            let (id, origin) = (to.clone(), None);
            return Err(Error::Rejected(Rejection::Exists { id, origin }.into()));
        }
        self.check_disk_space()?;
        let mut import = PendingImport::new(self, to, Manner::Import);
        let snapshot = import.unpack(&mut reader)?;
        let mut space = load(snapshot)?;
        if (space.revision(), space.time()) != (header.revision, header.time) {
            return Err(damaged("its snapshot is of another revision than it says"));
        }
        import.verify(&space)?;
        let now = self.clock.now();
        space.forget_secrets(now).map_err(Error::Rejected)?;
        let ExportHeader { workspace, revision, time } = header;
        let (manner, by) = (Manner::Import, by.clone());
        let copy = copy_id(&workspace, &space.workspace);
        let origin = Origin { manner, workspace, revision, time, by, copy };
        let created = self.create_from(to, &mut space, &origin, Contents::Present)?;
        import.is_created = true;
        Ok(created)
    }

    /// Creates a workspace from a fork that another shard has sent ([`Past::send_fork`]). A
    /// repeated one gets the same answer, as long as the new workspace is unused.
    pub fn receive_fork(&self, to: &WorkspaceName, input: impl Read) -> Result<Reply, Error> {
        let (mut reader, origin) = ExportReader::begin_fork(input)?;
        if self.is_taken(to)? {
            return self.answer_taken(to, &origin);
        }
        self.check_disk_space()?;
        let mut import = PendingImport::new(self, to, Manner::Fork);
        let snapshot = import.unpack(&mut reader)?;
        let mut space = load(snapshot)?;
        let is_told = (origin.manner, origin.revision, origin.time);
        if is_told != (Manner::Fork, space.revision(), space.time()) {
            return Err(damaged("its snapshot is of another revision than it says"));
        }
        import.verify(&space)?;
        let created = self.create_from(to, &mut space, &origin, Contents::Present)?;
        import.is_created = true;
        Ok(created)
    }

    /// Whether a workspace of this name has commits, and is not deleted.
    fn is_taken(&self, to: &WorkspaceName) -> Result<bool, Error> {
        let files = self.files_of(to)?;
        let deleted = files::deleted(&files);
        let known = self.machine().known();
        let in_memory = known.into_iter().filter(|(name, _)| name == to).map(|(_, it)| it.0);
        let newest = files.iter().map(|file| file.newest()).chain(in_memory).max();
        Ok(newest.is_some_and(|newest| newest > deleted))
    }
}

/// The space of an imported snapshot. Data that was not written by these rules may violate an
/// assertion, and is then rejected.
fn load(snapshot: Vec<u8>) -> Result<Space, Error> {
    let loaded = catch_unwind(AssertUnwindSafe(|| {
        let space = Snapshot::open(Arc::new(MemoryBlob(snapshot)))?.load()?;
        space.check();
        Ok(space)
    }));
    match loaded {
        Ok(Err(Error::Newer { what })) => Err(Error::Newer { what }),
        Ok(loaded) => loaded.map_err(|error: Error| damaged(&error.to_string())),
        Err(_) => Err(damaged("its snapshot breaks a rule")),
    }
}

fn damaged(what: &str) -> Error {
    Error::ImportDamaged { what: what.to_owned() }
}

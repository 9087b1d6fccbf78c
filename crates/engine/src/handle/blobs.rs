//! Uploads and downloads of the engine, off the callers' threads.

use std::io::{ErrorKind, Read, Write};
use std::sync::Arc;

use baton_client::{Caller, Content, Pending, PutOptions, SecretOptions, StoredArtifact};
use baton_core::artifact::{self, Artifact};
use baton_core::history::At;
use baton_core::secret::{self, Secret};
use baton_core::workspace::{self, Forked};
use baton_core::{
    ArtifactId, BlobPlace, Command, Mutation, Query, Rejection, Reply, Revision, SecretId, Token,
    WorkspaceName,
};

use super::Baton;
use super::carrier::boxed;
use crate::blobs::{
    BLOCK_BYTES, BlobKind, BlobReader, StoredBlob, Upload, check_secrets, random_place,
};
use crate::error::Error;
use crate::oneshot::run_blocking;

/// An artifact that is being read, and the position.
struct ArtifactReader {
    content: BlobReader,
    offset: u64,
}

impl Content for ArtifactReader {
    fn next(&mut self) -> Pending<'_, Option<Vec<u8>>> {
        boxed(async move {
            let (content, offset) = (self.content.clone(), self.offset);
            let piece = run_blocking(move || content.block(offset)).await??;
            self.offset += piece.len() as u64;
            Ok((!piece.is_empty()).then_some(piece))
        })
    }
}

impl Baton {
    /// Starts an upload, to be written piece by piece. It does blocking I/O, and so does the
    /// result: call both where blocking is allowed.
    pub fn upload(&self, caller: &Caller) -> Result<Upload, Error> {
        self.driver.shard.check_serving()?;
        self.check_disk_space()?;
        self.driver.shard.upload(&caller.workspace, BlobKind::Artifacts, random_place())
    }

    /// Records an upload as an artifact, if the token that fences it is live. A rejected or
    /// duplicate upload is removed.
    ///
    /// Await it to its end: if it is dropped before, the bytes stay until the data is opened again.
    pub async fn record(
        &self,
        caller: &Caller,
        stored: StoredBlob,
        options: PutOptions,
        fence: Option<Token>,
    ) -> Result<StoredArtifact, Error> {
        let PutOptions { name, media_type, keep_ms, expected } = options;
        let put = artifact::Put { name, media_type, keep_ms, expected, ..stored.put() };
        let command = Command::from(artifact::Command::Put(Box::new(put)));
        let reply = self.record_upload(caller, stored, command, fence).await?;
        match reply {
            Reply::Artifact(artifact::Reply::Put { artifact, known }) => {
                Ok(StoredArtifact { artifact: *artifact, known })
            }
            reply => unreachable!("the rules answered with {reply:?}"),
        }
    }

    /// Executes the command that records an upload, and keeps or removes the blob accordingly.
    async fn record_upload(
        &self,
        caller: &Caller,
        stored: StoredBlob,
        command: Command,
        fence: Option<Token>,
    ) -> Result<Reply, Error> {
        let mutation = match fence {
            Some(token) => Mutation::Fenced { token, command: Box::new(command) },
            None => Mutation::Command(command),
        };
        let reply = self.mutate(caller, mutation).await.map(|answer| answer.reply);
        let is_needed = match &reply {
            // The same request again is answered as before, but its bytes are somewhere else.
            Ok(Reply::Artifact(artifact::Reply::Put { known, artifact })) => {
                !known
                    && self.place_of(caller, &artifact.artifact).await.as_ref()
                        == Some(&stored.place)
            }
            Ok(Reply::Secret(secret::Reply::Secret(secret))) => secret.secret == stored.secret(),
            Ok(_) => true,
            Err(Error::Rejected(_) | Error::Full | Error::DiskLow { .. }) => false,
            // Whether it was recorded is unknown: the next start finds out.
            Err(_) => return reply,
        };
        if is_needed {
            self.driver.shard.recorded(&stored);
            return reply;
        }
        let driver = Arc::clone(&self.driver);
        // A failure to remove it is not an error: the next start removes it.
        let removed = run_blocking(move || driver.shard.unrecorded(&stored)).await;
        drop(removed);
        reply
    }

    /// The record of an artifact, and its bytes.
    pub async fn open_artifact(
        &self,
        caller: &Caller,
        artifact: &ArtifactId,
    ) -> Result<(Artifact, BlobReader), Error> {
        let query = Query::from(artifact::Query::Get { artifact: artifact.clone() });
        let shown = match self.ask(caller, query).await?.reply {
            Reply::Artifact(artifact::Reply::Artifact(shown)) => *shown,
            reply => unreachable!("the rules answered with {reply:?}"),
        };
        let place = self.place_of(caller, artifact).await;
        let gone = || {
            let artifact = artifact.clone();
            Rejection::from(artifact::Rejection::NotFound { artifact })
        };
        let (place, driver) = (place.ok_or_else(gone)?, Arc::clone(&self.driver));
        let workspace = caller.workspace.clone();
        let content =
            run_blocking(move || driver.shard.content(&workspace, BlobKind::Artifacts, &place))
                .await??;
        Ok((shown, content))
    }
}

impl Baton {
    /// The blob with the bytes of an artifact.
    async fn place_of(&self, caller: &Caller, artifact: &ArtifactId) -> Option<BlobPlace> {
        loop {
            self.driver.wait_settled(&caller.workspace).await;
            let mut machine = self.driver.shard.machine();
            let resident = machine.resident(&caller.workspace)?;
            if !resident.is_away() {
                return resident.space.artifact.get(artifact).map(|record| record.place.clone());
            }
        }
    }

    /// Whether values of secrets can be written and read.
    fn check_secrets(&self) -> Result<(), Error> {
        check_secrets(&self.driver.shard.log)
    }

    /// The value of a secret.
    async fn value_of(&self, caller: &Caller, secret: &SecretId) -> Result<Vec<u8>, Error> {
        let (driver, workspace) = (Arc::clone(&self.driver), caller.workspace.clone());
        let place = secret.place();
        run_blocking(move || driver.shard.content(&workspace, BlobKind::Secrets, &place)?.whole())
            .await?
    }
}

/// Reads all that a reader gives into an upload.
fn fill(upload: &mut Upload, mut bytes: Box<dyn Read + Send>) -> Result<(), Error> {
    let mut piece = vec![0; BLOCK_BYTES];
    loop {
        match bytes.read(&mut piece) {
            Ok(0) => return Ok(()),
            Ok(count) => upload.write(&piece[..count])?,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => {
                let what = format!("the bytes to put could not be read: {error}");
                return Err(Error::Storage { what });
            }
        }
    }
}

impl Baton {
    /// Stores everything that a reader returns as an artifact.
    pub async fn put(
        &self,
        caller: &Caller,
        options: PutOptions,
        bytes: Box<dyn Read + Send>,
    ) -> Result<StoredArtifact, Error> {
        let (baton, uploader) = (self.clone(), caller.clone());
        let stored = run_blocking(move || {
            let mut upload = baton.upload(&uploader)?;
            fill(&mut upload, bytes)?;
            upload.commit()
        });
        let stored = stored.await??;
        self.record(caller, stored, options, None).await
    }

    /// Starts to read an artifact at an offset.
    pub async fn read(
        &self,
        caller: &Caller,
        artifact: &ArtifactId,
        from: u64,
    ) -> Result<Box<dyn Content>, Error> {
        let (_, content) = self.open_artifact(caller, artifact).await?;
        Ok(Box::new(ArtifactReader { content, offset: from }))
    }

    /// Stores a secret, if the token that fences it is live.
    pub async fn put_secret(
        &self,
        caller: &Caller,
        options: SecretOptions,
        value: Vec<u8>,
        fence: Option<Token>,
    ) -> Result<Secret, Error> {
        self.check_secrets()?;
        self.check_disk_space()?;
        let (driver, workspace) = (Arc::clone(&self.driver), caller.workspace.clone());
        let written = value.clone();
        let stored = run_blocking(move || {
            let mut upload = driver.shard.upload(&workspace, BlobKind::Secrets, random_place())?;
            upload.write(&written)?;
            upload.commit()
        });
        let stored = stored.await??;
        let SecretOptions { name, ttl_ms } = options;
        let (id, bytes) = (stored.secret(), stored.bytes);
        let put = secret::Command::Put(secret::Put { secret: id.clone(), bytes, name, ttl_ms });
        let secret = secret_of(self.record_upload(caller, stored, put.into(), fence).await?);
        // The log knows nothing of the value, so whether a repeated request has the same one is
        // seen here.
        if let Some(key) = caller.idempotency_key.clone().filter(|_| secret.secret != id)
            && self.value_of(caller, &secret.secret).await.is_ok_and(|before| before != value)
        {
            return Err(Error::Rejected(Rejection::KeyReused { key }));
        }
        Ok(secret)
    }

    /// Writes the workspace as one file, in its current state or at a point in history.
    pub async fn export(
        &self,
        caller: &Caller,
        at: Option<At>,
        to: Box<dyn Write + Send>,
    ) -> Result<(), Error> {
        self.driver.ensure_loaded(&caller.workspace).await?;
        // The query returns its durable revision.
        let query = Query::from(workspace::Query::Get);
        let present = self.ask(caller, query).await?.revision;
        let (driver, workspace) = (Arc::clone(&self.driver), caller.workspace.clone());
        let written = run_blocking(move || driver.shard.past(&workspace, present)?.export(at, to));
        written.await?.map(drop)
    }

    /// Writes a fork of the caller's workspace for an engine that has other workspaces: what
    /// [`receive_fork`](Self::receive_fork) reads there. It contains the values of secrets. The
    /// answer is the revision of the workspace.
    pub async fn send_fork(
        &self,
        caller: &Caller,
        at: Option<At>,
        to: Box<dyn Write + Send>,
    ) -> Result<Revision, Error> {
        self.driver.ensure_loaded(&caller.workspace).await?;
        let query = Query::from(workspace::Query::Get);
        let present = self.ask(caller, query).await?.revision;
        let (driver, caller) = (Arc::clone(&self.driver), caller.clone());
        let sent = run_blocking(move || {
            driver.shard.past(&caller.workspace, present)?.send_fork(at, &caller.agent, to)
        });
        sent.await??;
        Ok(present)
    }

    /// Creates a workspace, which must not exist, from a fork that another engine has sent. A
    /// repeated one has the same answer, as long as the workspace is unused.
    pub async fn receive_fork(
        &self,
        to: WorkspaceName,
        from: Box<dyn Read + Send>,
    ) -> Result<Forked, Error> {
        self.driver.shard.check_serving()?;
        let driver = Arc::clone(&self.driver);
        match run_blocking(move || driver.shard.receive_fork(&to, from)).await?? {
            workspace::Reply::Forked(forked) => Ok(forked),
            reply => unreachable!("the rules answered with {reply:?}"),
        }
    }

    /// Creates the caller's workspace, which must not exist, from such a file.
    pub async fn import(
        &self,
        caller: &Caller,
        from: Box<dyn Read + Send>,
    ) -> Result<Forked, Error> {
        self.driver.shard.check_serving()?;
        let (driver, caller) = (Arc::clone(&self.driver), caller.clone());
        let read =
            run_blocking(move || driver.shard.import(&caller.workspace, &caller.agent, from));
        match read.await?? {
            workspace::Reply::Forked(forked) => Ok(forked),
            reply => unreachable!("the rules answered with {reply:?}"),
        }
    }

    /// Returns the value of a secret, after the access was recorded.
    pub async fn reveal(&self, caller: &Caller, secret: &SecretId) -> Result<Vec<u8>, Error> {
        self.check_secrets()?;
        let command = Command::from(secret::Command::Reveal { secret: secret.clone() });
        secret_of(self.mutate(&unnamed(caller), Mutation::Command(command)).await?.reply);
        self.value_of(caller, secret).await
    }
}

/// The caller without its idempotency key: an answer that is kept does not contain the value.
fn unnamed(caller: &Caller) -> Caller {
    Caller { idempotency_key: None, ..caller.clone() }
}

fn secret_of(reply: Reply) -> Secret {
    match reply {
        Reply::Secret(secret::Reply::Secret(secret)) => *secret,
        reply => unreachable!("the rules answered with {reply:?}"),
    }
}

//! The artifacts of a workspace.

use std::io::Read;

use baton_core::artifact::{Artifact, Command, List, Query};
use baton_core::{ArtifactId, ContentName, MediaType};

use crate::carrier::{Content, PutOptions, StoredArtifact};
use crate::request::request;
use crate::{Artifacts, Error};

impl Artifacts {
    /// Returns the metadata of an artifact and the references to it.
    pub async fn get(&self, artifact: &str) -> Result<Artifact, Error> {
        self.workspace.query(Query::Get { artifact: ArtifactId::parse(artifact)? }).await
    }

    /// Lists all artifacts, by id.
    pub async fn list(&self) -> Result<Vec<Artifact>, Error> {
        self.listed(false).await
    }

    /// Lists the artifacts that nothing refers to, by id. They are removed after
    /// their retention time.
    pub async fn free(&self) -> Result<Vec<Artifact>, Error> {
        self.listed(true).await
    }

    async fn listed(&self, free: bool) -> Result<Vec<Artifact>, Error> {
        let list = |cursor| Query::List(List { free, cursor, ..List::default() });
        self.workspace.pages(None, list).await
    }

    /// Deletes an artifact that nothing refers to.
    pub async fn delete(&self, artifact: &str) -> Result<Artifact, Error> {
        self.workspace.run(Command::Delete { artifact: ArtifactId::parse(artifact)? }).await
    }

    /// Stores everything that a reader returns.
    pub fn put(&self, bytes: impl Read + Send + 'static) -> Putting {
        let upload = Upload { options: PutOptions::default(), bytes: Box::new(bytes) };
        Putting::new(&self.workspace, Ok(upload))
    }

    /// Starts to read the bytes of an artifact.
    pub async fn read(&self, artifact: &str) -> Result<Reading, Error> {
        self.read_from(artifact, 0).await
    }

    /// Starts to read the bytes of an artifact at an offset.
    pub async fn read_from(&self, artifact: &str, from: u64) -> Result<Reading, Error> {
        let artifact = ArtifactId::parse(artifact)?;
        let (carrier, caller) = (&self.workspace.carrier, &self.workspace.caller);
        carrier.read(caller, &artifact, from).await.map(Reading)
    }
}

/// An artifact that is being read.
pub struct Reading(Box<dyn Content>);

impl Reading {
    /// The next piece; none at the end.
    pub async fn next(&mut self) -> Result<Option<Vec<u8>>, Error> {
        self.0.next().await
    }

    /// Everything that is left, for artifacts that are known to be small.
    pub async fn rest(mut self) -> Result<Vec<u8>, Error> {
        let mut rest = Vec::new();
        while let Some(piece) = self.next().await? {
            rest.extend_from_slice(&piece);
        }
        Ok(rest)
    }
}

/// What [`Putting`] collects.
pub(crate) struct Upload {
    options: PutOptions,
    bytes: Box<dyn Read + Send>,
}

request! {
    /// Stores an artifact when it is awaited.
    Putting(Upload) -> StoredArtifact: |workspace, upload|
        workspace.carrier.put(&workspace.caller, upload.options, upload.bytes);
    /// Sets a name for people.
    name(name: &str) |upload| upload.options.name = Some(ContentName::parse(name)?);
    /// Sets the media type, as in HTTP.
    media_type(media_type: &str) |upload|
        upload.options.media_type = Some(MediaType::parse(media_type)?);
    /// Sets how long the artifact is kept while nothing refers to it.
    keep_ms(milliseconds: u64) |upload| upload.options.keep_ms = Some(milliseconds);
    /// Requires that the artifact has this id; otherwise nothing is stored.
    expected(artifact: &str) |upload|
        upload.options.expected = Some(ArtifactId::parse(artifact)?);
}

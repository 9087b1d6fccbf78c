//! Artifacts of a workspace.

use std::future::IntoFuture;
use std::io::Read;

use baton_core::artifact::{Artifact, Command, List, Query, Reply as ArtifactReply};
use baton_core::{ArtifactId, ContentName, MediaType, Reply};

use crate::carrier::{Carrier, Failure};
use crate::contents::{ContentCarrier, PutOptions, StoredArtifact};
use crate::{Prepared, Sent, Workspace};

/// Artifacts of a workspace, as one agent sees them.
#[derive(Clone, Debug)]
pub struct Artifacts<C> {
    workspace: Workspace<C>,
}

impl<C: Carrier> Artifacts<C> {
    pub(crate) fn new(workspace: Workspace<C>) -> Self {
        Self { workspace }
    }

    /// What is known of one, and who names it.
    pub async fn get(&self, artifact: &str) -> Result<Artifact, C::Error> {
        let query = Query::Get { artifact: ArtifactId::parse(artifact)? };
        one(self.workspace.ask(baton_core::Query::from(query)).await?.reply)
    }

    /// All of them, by id.
    pub async fn list(&self) -> Result<Vec<Artifact>, C::Error> {
        self.pages(List::default()).await
    }

    /// All that nobody names, by id: they go when their time is over.
    pub async fn free(&self) -> Result<Vec<Artifact>, C::Error> {
        self.pages(List { free: true, ..List::default() }).await
    }

    async fn pages(&self, mut list: List) -> Result<Vec<Artifact>, C::Error> {
        let mut all = Vec::new();
        loop {
            let query = baton_core::Query::from(Query::List(list.clone()));
            match self.workspace.ask(query).await?.reply {
                Reply::Artifact(ArtifactReply::Artifacts { artifacts, cursor, .. }) => {
                    all.extend(artifacts);
                    match cursor {
                        Some(next) => list.cursor = Some(next),
                        None => return Ok(all),
                    }
                }
                reply => return Err(C::Error::odd(&reply)),
            }
        }
    }

    /// Removes one that nobody names, before its time.
    pub async fn delete(&self, artifact: &str) -> Result<Artifact, C::Error> {
        let command = Command::Delete { artifact: ArtifactId::parse(artifact)? };
        one(self.workspace.execute(command).await?.reply)
    }
}

impl<C: ContentCarrier> Artifacts<C> {
    /// Puts all that a reader gives. What it is called, and how long it is kept while nobody names
    /// it, may follow before this is awaited.
    pub fn put(&self, bytes: impl Read + Send + 'static) -> Putting<C> {
        let options = Ok(PutOptions::default());
        Putting { workspace: self.workspace.clone(), options, bytes: Box::new(bytes) }
    }

    /// Begins to read one.
    pub async fn read(&self, artifact: &str) -> Result<Reading<C>, C::Error> {
        self.read_from(artifact, 0).await
    }

    /// Begins to read one from this byte on.
    pub async fn read_from(&self, artifact: &str, from: u64) -> Result<Reading<C>, C::Error> {
        let artifact = ArtifactId::parse(artifact)?;
        let Workspace { carrier, caller, .. } = &self.workspace;
        carrier.read(caller, &artifact, from).await.map(Reading)
    }
}

fn one<F: Failure>(reply: Reply) -> Result<Artifact, F> {
    match reply {
        Reply::Artifact(ArtifactReply::Artifact(artifact)) => Ok(*artifact),
        reply => Err(F::odd(&reply)),
    }
}

/// An artifact that is being read.
pub struct Reading<C: ContentCarrier>(C::Content);

impl<C: ContentCarrier> Reading<C> {
    /// The next piece; none at the end.
    pub async fn next(&mut self) -> Result<Option<Vec<u8>>, C::Error> {
        C::next(&mut self.0).await
    }

    /// All the rest, for what is known to be small.
    pub async fn rest(mut self) -> Result<Vec<u8>, C::Error> {
        let mut rest = Vec::new();
        while let Some(piece) = self.next().await? {
            rest.extend_from_slice(&piece);
        }
        Ok(rest)
    }
}

/// Bytes that are put when this is awaited.
#[must_use = "nothing is put before this is awaited"]
pub struct Putting<C> {
    workspace: Workspace<C>,
    options: Prepared<PutOptions>,
    bytes: Box<dyn Read + Send>,
}

impl<C: ContentCarrier> Putting<C> {
    fn with(mut self, change: impl FnOnce(&mut PutOptions) -> Prepared<()>) -> Self {
        self.options = self.options.and_then(|mut options| change(&mut options).map(|()| options));
        self
    }

    /// What people call it.
    pub fn name(self, name: &str) -> Self {
        self.with(|options| {
            options.name = Some(ContentName::parse(name)?);
            Ok(())
        })
    }

    /// What kind of content it is, as HTTP says it.
    pub fn media_type(self, media_type: &str) -> Self {
        self.with(|options| {
            options.media_type = Some(MediaType::parse(media_type)?);
            Ok(())
        })
    }

    /// How long it is kept while nobody names it.
    pub fn keep_ms(self, milliseconds: u64) -> Self {
        self.with(|options| {
            options.keep_ms = Some(milliseconds);
            Ok(())
        })
    }

    /// What it must turn out to be: otherwise nothing is put.
    pub fn expected(self, artifact: &str) -> Self {
        self.with(|options| {
            options.expected = Some(ArtifactId::parse(artifact)?);
            Ok(())
        })
    }
}

impl<C: ContentCarrier> IntoFuture for Putting<C> {
    type Output = Result<StoredArtifact, C::Error>;
    type IntoFuture = Sent<StoredArtifact, C>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let Workspace { carrier, caller, .. } = &self.workspace;
            carrier.put(caller, self.options?, self.bytes).await
        })
    }
}

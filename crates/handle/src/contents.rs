//! What carries bytes besides commands.

use std::future::Future;
use std::io::{Read, Write};

use baton_core::artifact::Artifact;
use baton_core::history::At;
use baton_core::secret::Secret;
use baton_core::workspace::Forked;
use baton_core::{ArtifactId, ContentName, MediaType, SecretId};

use crate::carrier::{Caller, Carrier};

/// What is said of bytes that are put.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PutOptions {
    /// What people call it.
    pub name: Option<ContentName>,
    /// What kind of content it is.
    pub media_type: Option<MediaType>,
    /// How long it is kept while nobody names it.
    pub keep_ms: Option<u64>,
    /// What it must turn out to be.
    pub expected: Option<ArtifactId>,
}

/// What is said of a secret that is handed in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SecretOptions {
    /// What people call it.
    pub name: Option<ContentName>,
    /// How long it is kept.
    pub ttl_ms: Option<u64>,
}

/// An artifact that was put.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredArtifact {
    /// What is known of it.
    pub artifact: Artifact,
    /// Whether it was there before.
    pub known: bool,
}

/// A carrier that also carries bytes: into artifacts and out of them, a piece at a time.
///
/// 1. What was put is durable, and recorded, when the answer is given.
/// 2. If it is not given, nothing is recorded, unless the error says that this is unknown.
/// 3. Neither side holds more than a piece in memory, however much is carried.
pub trait ContentCarrier: Carrier {
    /// A content that is being read.
    type Content: Send + 'static;

    /// Puts all that a reader gives.
    fn put(
        &self,
        caller: &Caller,
        options: PutOptions,
        bytes: Box<dyn Read + Send>,
    ) -> impl Future<Output = Result<StoredArtifact, Self::Error>> + Send;

    /// Begins to read an artifact, from this byte on.
    fn read(
        &self,
        caller: &Caller,
        artifact: &ArtifactId,
        from: u64,
    ) -> impl Future<Output = Result<Self::Content, Self::Error>> + Send;

    /// The next piece; none at the end.
    fn next(
        content: &mut Self::Content,
    ) -> impl Future<Output = Result<Option<Vec<u8>>, Self::Error>> + Send;

    /// Hands in a secret.
    fn put_secret(
        &self,
        caller: &Caller,
        options: SecretOptions,
        value: Vec<u8>,
    ) -> impl Future<Output = Result<Secret, Self::Error>> + Send;

    /// Writes the whole workspace, as it was at a moment or as it is, as one file.
    fn export(
        &self,
        caller: &Caller,
        at: Option<At>,
        to: Box<dyn Write + Send>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send;

    /// Makes the caller's workspace, which must not be there yet, of such a file.
    fn import(
        &self,
        caller: &Caller,
        from: Box<dyn Read + Send>,
    ) -> impl Future<Output = Result<Forked, Self::Error>> + Send;

    /// The value of a secret; that it was handed out is written down first.
    fn reveal(
        &self,
        caller: &Caller,
        secret: &SecretId,
    ) -> impl Future<Output = Result<Vec<u8>, Self::Error>> + Send;
}

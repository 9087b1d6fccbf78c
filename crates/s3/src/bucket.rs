//! The bucket, and the thread that waits for the network.
//!
//! The caller may be a thread of an executor, which must not block inside another one, so nothing
//! here enters an executor: work is sent to a separate runtime, and its result is returned through
//! a channel.

use std::future::Future;
use std::sync::Arc;
use std::sync::mpsc;

use baton_log::{Blob, BlobError, BlobWriter};
use futures_util::TryStreamExt;
use object_store::aws::AmazonS3;
use object_store::path::Path;
use object_store::{Error as StoreError, ObjectStore, ObjectStoreExt};
use tokio::runtime::{Builder, Handle, Runtime};

use crate::location::{LocationError, S3Location};
use crate::object_reader::ObjectReader;
use crate::object_writer::ObjectWriter;

/// A bucket with the bytes of artifacts.
pub struct Bucket {
    client: StoreClient,
    prefix: String,
    description: String,
    runtime: Option<Runtime>,
}

/// The connection to the network thread. Cheap to clone.
#[derive(Clone)]
pub(crate) struct StoreClient {
    pub(crate) store: Arc<AmazonS3>,
    handle: Handle,
}

impl StoreClient {
    /// Runs work on the network thread, and waits for it.
    pub(crate) fn wait<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Result<T, BlobError> {
        let (sender, receiver) = mpsc::sync_channel(1);
        self.handle.spawn(async move {
            // The caller waits below; if it has gone, the result is dropped.
            drop(sender.send(work.await));
        });
        receiver.recv().map_err(|_| BlobError::Unreachable("the server is ending".to_owned()))
    }

    /// Starts work whose result is not awaited.
    pub(crate) fn later(&self, work: impl Future<Output = ()> + Send + 'static) {
        drop(self.handle.spawn(work));
    }
}

impl Bucket {
    /// Opens the bucket at an address. Nothing is sent yet: [`check_access`](Self::check_access)
    /// does.
    pub fn open(location: &S3Location) -> Result<Self, LocationError> {
        // Another part of the program may have installed one; then that one is used.
        drop(rustls::crypto::ring::default_provider().install_default());
        let store = Arc::new(location.client()?);
        let failed = |error: std::io::Error| LocationError::Settings { reason: error.to_string() };
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("baton-s3")
            .enable_all()
            .build()
            .map_err(failed)?;
        let client = StoreClient { store, handle: runtime.handle().clone() };
        let description = format!("s3://{}/{}", location.bucket, location.prefix);
        Ok(Self { client, prefix: location.prefix.clone(), description, runtime: Some(runtime) })
    }

    /// Checks that the bucket exists and can be used, by listing it.
    pub fn check_access(&self) -> Result<(), BlobError> {
        let (store, prefix) = (Arc::clone(&self.client.store), self.path("")?);
        let looked =
            self.client.wait(async move { store.list_with_delimiter(Some(&prefix)).await })?;
        looked.map(drop).map_err(|error| unreachable_error(&error))
    }

    fn path(&self, name: &str) -> Result<Path, BlobError> {
        let whole = [self.prefix.as_str(), name.trim_end_matches('/')];
        let parts: Vec<&str> = whole.into_iter().filter(|part| !part.is_empty()).collect();
        let bad = |_| BlobError::Name { name: name.to_owned(), reason: "it is not a valid path" };
        Path::parse(parts.join("/")).map_err(bad)
    }

    pub(crate) fn create(&self, name: &str) -> Result<Box<dyn BlobWriter>, BlobError> {
        Ok(Box::new(ObjectWriter::new(self.client.clone(), self.path(name)?)))
    }

    pub(crate) fn find(&self, name: &str) -> Result<Option<Arc<dyn Blob>>, BlobError> {
        let (store, path) = (Arc::clone(&self.client.store), self.path(name)?);
        let asked = path.clone();
        match self.client.wait(async move { store.head(&asked).await })? {
            Ok(found) => {
                Ok(Some(Arc::new(ObjectReader::new(self.client.clone(), path, found.size))))
            }
            Err(StoreError::NotFound { .. }) => Ok(None),
            Err(error) => Err(unreachable_error(&error)),
        }
    }

    pub(crate) fn list(&self, folder: &str) -> Result<Vec<String>, BlobError> {
        let (store, path) = (Arc::clone(&self.client.store), self.path(folder)?);
        let found = self.client.wait(async move {
            let objects = store.list(Some(&path));
            objects.map_ok(|object| object.location.to_string()).try_collect::<Vec<_>>().await
        })?;
        let skipped = if self.prefix.is_empty() { 0 } else { self.prefix.len() + 1 };
        let names = found.map_err(|error| unreachable_error(&error))?.into_iter();
        let mut names: Vec<String> =
            names.filter_map(|name| name.get(skipped..).map(str::to_owned)).collect();
        names.sort();
        Ok(names)
    }

    pub(crate) fn delete(&self, name: &str) -> Result<(), BlobError> {
        let (store, path) = (Arc::clone(&self.client.store), self.path(name)?);
        match self.client.wait(async move { store.delete(&path).await })? {
            Ok(()) | Err(StoreError::NotFound { .. }) => Ok(()),
            Err(error) => Err(unreachable_error(&error)),
        }
    }

    /// Its location.
    pub(crate) fn description(&self) -> &str {
        &self.description
    }
}

impl Drop for Bucket {
    fn drop(&mut self) {
        // It may be dropped on a thread of an executor, which must not wait for another one.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// An error of the network, in terms of the log.
pub(crate) fn unreachable_error(error: &StoreError) -> BlobError {
    // The sources contain the cause, the outermost only the object.
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        source = cause.source();
    }
    BlobError::Unreachable(text)
}

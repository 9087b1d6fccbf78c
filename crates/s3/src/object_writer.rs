//! An object that is being uploaded.

use std::sync::Arc;

use baton_log::{BlobError, BlobWriter};
use object_store::path::Path;
use object_store::{Error, MultipartUpload, ObjectStoreExt, PutPayload};

use crate::bucket::{StoreClient, unreachable_error};

/// How much is sent at a time: S3 requires parts of at least 5 MiB and at most 10,000 of them.
pub(crate) const PART_BYTES: usize = 8 << 20;

type Upload = Box<dyn MultipartUpload>;

/// Bytes that are buffered until they fill a part. Content that fits into one part is sent as a
/// whole.
pub(crate) struct ObjectWriter {
    client: StoreClient,
    path: Path,
    part: Vec<u8>,
    upload: Option<Upload>,
    is_broken: bool,
}

impl ObjectWriter {
    pub(crate) fn new(client: StoreClient, path: Path) -> Self {
        Self { client, path, part: Vec::new(), upload: None, is_broken: false }
    }

    fn send_part(&mut self) -> Result<(), BlobError> {
        let part = PutPayload::from(std::mem::take(&mut self.part));
        let (store, path) = (Arc::clone(&self.client.store), self.path.clone());
        let upload = self.upload.take();
        let sent = self.client.wait(async move {
            let mut upload = match upload {
                Some(upload) => upload,
                None => store.put_multipart(&path).await.map_err(|error| (None, error))?,
            };
            match upload.put_part(part).await {
                Ok(()) => Ok(upload),
                Err(error) => Err((Some(upload), error)),
            }
        });
        self.took(sent?)
    }

    /// Keeps an upload, whatever the outcome of the request, so that it is completed or aborted.
    fn took(&mut self, sent: Result<Upload, (Option<Upload>, Error)>) -> Result<(), BlobError> {
        match sent {
            Ok(upload) => {
                self.upload = Some(upload);
                Ok(())
            }
            Err((upload, error)) => {
                (self.upload, self.is_broken) = (upload, true);
                Err(unreachable_error(&error))
            }
        }
    }

    fn check(&self) -> Result<(), BlobError> {
        if self.is_broken {
            return Err(BlobError::Failed("an earlier part of it could not be sent".to_owned()));
        }
        Ok(())
    }
}

impl BlobWriter for ObjectWriter {
    fn write(&mut self, bytes: &[u8]) -> Result<(), BlobError> {
        self.check()?;
        let mut rest = bytes;
        while !rest.is_empty() {
            let (now, later) = rest.split_at(rest.len().min(PART_BYTES - self.part.len()));
            self.part.extend_from_slice(now);
            rest = later;
            if self.part.len() == PART_BYTES {
                self.send_part()?;
            }
        }
        Ok(())
    }

    fn commit(mut self: Box<Self>) -> Result<(), BlobError> {
        self.check()?;
        if self.upload.is_none() {
            let whole = PutPayload::from(std::mem::take(&mut self.part));
            let (store, path) = (Arc::clone(&self.client.store), self.path.clone());
            let put = self.client.wait(async move { store.put(&path, whole).await })?;
            return put.map(drop).map_err(|error| unreachable_error(&error));
        }
        if !self.part.is_empty() {
            self.send_part()?;
        }
        let Some(mut upload) = self.upload.take() else { return self.check() };
        let completed = self.client.wait(async move {
            match upload.complete().await {
                Ok(_) => Ok(()),
                Err(error) => Err((upload, error)),
            }
        })?;
        completed.map_err(|(upload, error)| {
            self.upload = Some(upload);
            unreachable_error(&error)
        })
    }
}

impl Drop for ObjectWriter {
    fn drop(&mut self) {
        if let Some(mut upload) = self.upload.take() {
            // Uploads that cannot be aborted now are removed by the lifecycle rule of the bucket.
            self.client.later(async move { drop(upload.abort().await) });
        }
    }
}

//! Artifacts in an S3 bucket, for teams whose files outgrow one disk.
//!
//! ```text
//!   Upload ──write──▶ one part of 8 MiB ──▶ multipart upload ──complete──▶ object
//!   Content ◀──one window of 4 MiB ◀── ranged reads ◀───────────────────── object
//! ```
//!
//! Contents are blobs of the log. [`SplitLog`] is a log whose blobs are in two places: those of
//! artifacts in a bucket, all others beside the log. The engine does not know this, and reads blobs
//! only where blocking is allowed; this crate has the one thread that waits for the network.
//!
//! | where | what |
//! |---|---|
//! | `location` | `s3://bucket/prefix?endpoint=…&region=…`, parsed and checked |
//! | `split_log` | where each blob is |
//! | `bucket` | the four functions about blobs, over the network |
//! | `object_writer`, `object_reader` | one object being uploaded, and downloaded |
//!
//! 1. An object exists completely or not at all: it is one request, or a multipart upload that is
//!    completed or aborted.
//! 2. However large an artifact is, one part of it is in memory during an upload, and one window
//!    during a download.
//! 3. Every network error becomes [`BlobError::Unreachable`](baton_log::BlobError::Unreachable),
//!    which means that a retry may help; nothing waits for longer than the limits in `location`.
//! 4. Credentials come from the environment and appear in no message.
//!
//! One law of blobs does not hold: deleting an object while it is read may end the read with an
//! error. The engine deletes only what no record refers to, so its readers expect that.
//!
//! Deliberately absent: secrets, which stay beside the log; the log itself; and credentials in the
//! address, which process lists and shell histories would show.

mod bucket;
mod location;
mod object_reader;
mod object_writer;
mod split_log;

pub use bucket::Bucket;
pub use location::{LocationError, S3Location};
pub use split_log::SplitLog;

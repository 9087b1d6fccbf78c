//! Artifacts in a bucket that speaks S3, for teams whose files outgrow one disk.
//!
//! ```text
//!   Upload ──write──▶ one part of 8 MiB ──▶ multipart upload ──complete──▶ object
//!   Content ◀──one window of 4 MiB ◀── ranged reads ◀───────────────────── object
//! ```
//!
//! Contents are blobs of the log. [`SplitLog`] is a log whose blobs stand in two places: those of
//! artifacts in a bucket, all others where they were. The engine knows nothing of it, and asks for
//! blobs where that holds nobody up; this crate has the one thread that waits for the network.
//!
//! | where | what |
//! |---|---|
//! | `location` | `s3://bucket/prefix?endpoint=…&region=…`, taken apart and checked |
//! | `split_log` | which blob stands where |
//! | `bucket` | the four functions about blobs, over the network |
//! | `object_writer`, `object_reader` | one object on its way there, and back |
//!
//! 1. An object is there wholly or not at all: it is one request, or a multipart upload that is
//!    completed or aborted.
//! 2. However large an artifact is, one part of it is in memory on its way there, and one window
//!    on its way back.
//! 3. Whatever the network does becomes
//!    [`BlobError::Unreachable`](baton_log::BlobError::Unreachable), which says
//!    that trying again may help; nothing waits for longer than the limits in `location`.
//! 4. Keys to the bucket come from the environment and are in no message.
//!
//! One law of blobs does not hold there: what is deleted while somebody reads it may end the read
//! with an error. The engine deletes what no record has, so that is what its readers expect.
//!
//! Deliberately absent: secrets, which stay beside the log; the log itself; and credentials in the
//! address, which would stand in process lists and shell histories.

mod bucket;
mod location;
mod object_reader;
mod object_writer;
mod split_log;

pub use bucket::Bucket;
pub use location::{LocationError, S3Location};
pub use split_log::SplitLog;

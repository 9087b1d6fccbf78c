//! Artifacts in a bucket that speaks S3, for teams whose files outgrow one disk.
//!
//! ```text
//!   Upload ──write──▶ one part of 8 MiB ──▶ multipart upload ──complete──▶ object
//!   Content ◀──one window of 4 MiB ◀── ranged reads ◀───────────────────── object
//! ```
//!
//! Contents are blobs of the log. [`Divided`] is a log whose blobs stand in two places: those of
//! artifacts in a bucket, all others where they were. The engine knows nothing of it, and asks for
//! blobs where that holds nobody up; this crate has the one thread that waits for the network.
//!
//! | where | what |
//! |---|---|
//! | `place` | `s3://bucket/prefix?endpoint=…&region=…`, taken apart and checked |
//! | `divided` | which blob stands where |
//! | `bucket` | the four functions about blobs, over the network |
//! | `writing`, `reading` | one object on its way there, and back |
//!
//! 1. An object is there wholly or not at all: it is one request, or a multipart upload that is
//!    completed or aborted.
//! 2. However large an artifact is, one part of it is in memory on its way there, and one window
//!    on its way back.
//! 3. Whatever the network does becomes [`BlobError::Away`](baton_log::BlobError::Away), which says
//!    that trying again may help; nothing waits for longer than the limits in `place`.
//! 4. Keys to the bucket come from the environment and are in no message.
//!
//! One law of blobs does not hold there: what is deleted while somebody reads it may end the read
//! with an error. The engine deletes what no record has, so that is what its readers expect.
//!
//! Deliberately absent: secrets, which stay beside the log; the log itself; and credentials in the
//! address, which would stand in process lists and shell histories.

mod bucket;
mod divided;
mod place;
mod reading;
mod writing;

pub use bucket::Bucket;
pub use divided::Divided;
pub use place::{BadPlace, Place};

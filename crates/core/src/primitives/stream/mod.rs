//! Streams: ordered frames for any number of readers.
//!
//! ```text
//!   create ──▶ open ──send──▶ 0 1 2 3 …       each reader has its own offset
//!               │                ▲
//!             close              └ the oldest are dropped beyond the limit
//!               ▼
//!            closed: readers get the remaining frames, then the end
//! ```
//!
//! A frame has an offset, counted from 0, which never changes. Readers give the offset to read
//! from, and wait at the end for more; the commit that appends more answers them. Reading changes
//! nothing, so readers are independent. Many small frames in one send are one event.
//!
//! A stream that does not keep frames only delivers them to current watches of `streams/NAME`, in
//! order with all other events, and does not record them.
//!
//! Invariants, checked by `Table::check`:
//!
//! 1. The kept frames are those before the next offset, without gaps.
//! 2. No call waits for a frame that exists, or at the end of a closed stream.
//! 3. Offsets only grow.
//!
//! Deliberately absent: groups of readers that share the work, for which there are tasks.

mod decide;
pub(crate) mod operations;
mod refusals;
mod table;
#[cfg(test)]
mod tests;
mod vocabulary;

pub use decide::{ending, query};
pub use refusals::Rejection;
pub use table::{Facts, Record, Table, Undo, Waiter, Want};
pub use vocabulary::{
    Command, Create, Event, Frame, Frames, Query, Receive, Reply, Send, Sent, Signal, Status,
    Stream,
};

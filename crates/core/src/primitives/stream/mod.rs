//! Streams: frames in order, for any number of readers.
//!
//! ```text
//!   create ──▶ open ──send──▶ 0 1 2 3 …       each reader goes on from its own offset
//!               │                ▲
//!             close              └ the oldest are dropped beyond the bound
//!               ▼
//!            closed: readers get what is left, then its end
//! ```
//!
//! A frame has an offset, counted from 0, and never another. Readers name the offset they go on
//! from, and wait at the end for more; the commit that brings more answers them. Nobody reads for
//! others: reading changes nothing. Many small frames in one send are one event.
//!
//! A stream that is not kept holds no frames: what is sent goes to whoever watches
//! `streams/NAME` now, in order with everything else, and is not written down.
//!
//! Invariants, checked by [`Table::check`]:
//!
//! 1. The frames that are held are those before the next offset, without gap.
//! 2. Nobody waits for a frame that is there, or at the end of a closed stream.
//! 3. Offsets only grow.
//!
//! Deliberately absent: groups of readers that share the work. Those are tasks.

mod decide;
pub(crate) mod operations;
mod refusals;
mod table;
#[cfg(test)]
mod tests;
mod vocabulary;

pub use decide::{Decided, ReplyPlan, decide, ending, query};
pub use refusals::Rejection;
pub use table::{Facts, Record, Table, Undo, Waiter, Want};
pub use vocabulary::{
    Command, Create, Event, Frame, Frames, Query, Receive, Reply, Send, Sent, Status, Stream,
};

//! What the table of hand-offs is made of.
//!
//! | part | is |
//! |---|---|
//! | [`Handoff`] | a hand-off, as the table keeps it and callers see it |
//! | [`Offer`] | what a giver says; also what is checked without being written |
//! | [`Receiver`], [`Selected`] | to whom, and which keys go along |
//! | [`Approval`] | who may let it pass, and who has |
//! | [`Receipt`] | what the receiver got, and what was left out |
//! | [`brakes`] | whether a task is being handed round in circles |
//! | [`Tally`] | how many there were, how they ended, how long they took |
//! | [`TransferContext`] | the same for the world outside |

pub mod brakes;
mod context;
mod digest;
mod facts;
pub mod moving;
mod offer;
pub mod offering;
mod receiver;
mod record;
mod selected;
mod statistics;
mod tally;

pub use context::TransferContext;
pub use digest::{content, fingerprint};
pub use facts::Facts;
pub use offer::{Accept, Complete, List, Offer, OnLoop};
pub use receiver::Receiver;
pub use record::{
    Approval, ApprovalWanted, Delivery, Handoff, LeftOut, Receipt, Status, Step, StepStatus, Taken,
};
pub use selected::Selected;
pub use statistics::{Pair, Statistics};
pub use tally::{Added, Tally};

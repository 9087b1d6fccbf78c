//! Travelling in time: the words for moments of the past, for workspaces that came from others, for
//! what differs between two moments, and for why something is as it is.
//!
//! ```text
//!   revision   0 ──────────── 17 ──────────────── 42 ─────────▶ present
//!                             │ at: 17            │
//!                             │ at: a time        │
//!                             └──── diff ─────────┘
//!                             └─ fork ─▶ another workspace, with an origin
//! ```
//!
//! | file | part |
//! |---|---|
//! | `at` | a moment: a revision, or a time that stands for the last revision up to then |
//! | `origin` | where a workspace came from, if it was not empty when it began |
//! | `difference` | what happened to one subject between two moments |
//! | `cause` | one link in the chain of what led to something |
//!
//! 1. A moment is always turned into a revision before anything is read, and the answer tells it.
//! 2. A difference tells the truth about events; about entries also the values before and after.
//! 3. A chain of causes ends with a request of somebody, or says where it was cut off.
//!
//! Deliberately absent: reading. The core has no past; whoever has one reads it and uses these
//! words for the answer.

mod at;
mod cause;
mod difference;
mod origin;
mod sentence;

pub use at::At;
pub use cause::{Cause, Explanation};
pub use difference::{Change, Difference, Happened, deciding};
pub use origin::{Manner, Origin};

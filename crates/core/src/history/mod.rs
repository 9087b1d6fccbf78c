//! Time travel: types for points in history, origins of workspaces, differences between two points,
//! and causes.
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
//! | `at` | a point: a revision, or a time, which selects the last revision up to then |
//! | `origin` | the origin of a workspace, if it was forked or imported |
//! | `difference` | changes of one subject between two points |
//! | `cause` | one link in a chain of causes |
//!
//! 1. A point is always resolved to a revision before anything is read, and the reply contains it.
//! 2. A difference lists events; for entries also the values before and after.
//! 3. A chain of causes ends with a request, or states where it was cut off.
//!
//! Deliberately absent: reading. The core has only the current state; the engine reads history and
//! replies with these types.

mod at;
mod cause;
mod difference;
mod origin;
mod sentence;

pub use at::At;
pub use cause::{Cause, Explanation};
pub use difference::{Difference, Happened, SubjectChange, Turn, deciding};
pub use origin::{Manner, Origin};

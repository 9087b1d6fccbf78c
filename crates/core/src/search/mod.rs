//! Search: tasks, messages, keys and events by text and fields, answered from an index.
//!
//! ```text
//!   status:failed type:review created>-1h "out of memory" -agent:bob key:plan/**
//!   │             │           │           │               │          └ a pattern of keys
//!   │             │           │           │               └ not this
//!   │             │           │           └ these words in this order
//!   │             │           └ a moment, here one hour ago
//!   └─────────────┴ fields
//! ```
//!
//! | file | part |
//! |---|---|
//! | `language`, `wanted` | the filter language, from text to what is wanted |
//! | `words` | texts and values as words |
//! | `draft`, `amended` | what is worth finding about a thing, and what an event changes about it |
//! | `terms`, `index` | which documents have which words and fields |
//! | `finding` | those that fit, the newest first |
//!
//! Everything that can be found is a document with a number. Numbers grow with revisions: whatever
//! changes gets a new one, and the old one is dead. So the list of documents under a word is sorted
//! by age without sorting, what is newest is found first, and a search ends when the page is full.
//! When more numbers are dead than alive, the living are numbered anew.
//!
//! An index is derived: it is made from a space, goes on with batches, and can be dropped at any
//! time. Whoever keeps one does so beside the space, and never on the way of a commit.
//!
//! Invariants, checked by [`Index::check`]:
//!
//! 1. A thing has at most one living document; an event is a document of its own.
//! 2. Numbers grow with revision, ordinal and subject, and times with them.
//! 3. An index that went along with the batches has the documents of one that is made from the
//!    space, but for what the space has forgotten by itself, which whoever searches can tell.
//! 4. Its documents take at most [`SEARCH_BYTES_MAX`](crate::limits::SEARCH_BYTES_MAX): keys and
//!    events that are oldest leave, and every answer tells how far back it reaches. If tasks and
//!    messages alone are more, a search is refused.
//!
//! Deliberately absent: either-or, parts of words, spelling, and ranking by anything but age. A
//! fleet looks for what it knows the name of, lately.

mod amendment;
mod document;
mod draft;
mod filter;
mod index;
mod kind;
mod language;
mod lookup;
mod terms;
#[cfg(test)]
mod tests;
mod words;

pub use filter::Filter;
pub use index::{Index, Window};
pub use kind::Kind;
pub use language::BadFilter;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::numbers::Revision;
use crate::refusal::{BadField, TooLarge};
use crate::time::Timestamp;

/// What is looked for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Search {
    /// Words, phrases in quotation marks, and fields such as `status:failed`; all must fit.
    pub query: String,
    /// How many at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// Where the page before ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

/// Something that was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Found {
    /// What kind of thing it is.
    pub kind: Kind,
    /// Which, as watchers know it: `tasks/t-7`, `inbox/bob/m-7`, `state/shared/plan`.
    pub subject: String,
    /// The revision that made it what it is, or at which it happened.
    pub revision: Revision,
    /// When that was.
    pub updated_at: Timestamp,
    /// When it began; not known of keys.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<Timestamp>,
    /// What it can be found by, besides its words.
    pub fields: BTreeMap<String, String>,
}

/// A page of what was found, the newest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Results {
    /// What was found.
    pub found: Vec<Found>,
    /// Keys that were last written up to this revision are not looked at; 0 if all are.
    pub keys_since: Revision,
    /// Events up to this revision are not looked at; 0 if all are. They are in the history.
    pub events_since: Revision,
    /// Where to go on, if there may be more. A page may be short, or empty, and not the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

/// Why a search was refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Refused {
    /// The filter is not understood.
    #[error(transparent)]
    Filter(#[from] BadFilter),
    /// The cursor is none.
    #[error(transparent)]
    Field(#[from] BadField),
    /// There is more than an index holds.
    #[error(transparent)]
    TooLarge(#[from] TooLarge),
}

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

#[cfg(feature = "schema")]
use crate::limits;
use crate::numbers::Revision;
use crate::refusal::{BadField, TooLarge};
use crate::time::Timestamp;

/// A search.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Search {
    /// Words, phrases in quotation marks, and fields such as `status:failed`; all must match.
    pub query: String,
    /// The maximum number of results.
    #[cfg_attr(feature = "schema", schemars(
        extend("default" = limits::PAGE_DEFAULT),
        range(min = 1, max = limits::PAGE_MAX),
    ))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// The `cursor` of the previous page. If omitted, the first page is returned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

/// A search result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Found {
    /// The kind.
    pub kind: Kind,
    /// The subject: `tasks/t-7`, `inbox/bob/m-7` or `state/shared/plan`.
    pub subject: String,
    /// The revision of the last change, or of the event.
    pub revision: Revision,
    /// When that was.
    pub updated_at: Timestamp,
    /// When it was created. Absent for keys.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<Timestamp>,
    /// The fields that it can be found by.
    pub fields: BTreeMap<String, String>,
}

/// A page of search results, newest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Results {
    /// The results on this page.
    pub found: Vec<Found>,
    /// Keys that were last written up to this revision are not searched; 0 if all are.
    pub keys_since: Revision,
    /// Events up to this revision are not searched; 0 if all are. They are in the history.
    pub events_since: Revision,
    /// The cursor of the next page. Absent on the last page. A page may be short or empty and not
    /// be the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

/// Why a search was refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Refused {
    /// The filter is invalid.
    #[error(transparent)]
    Filter(#[from] BadFilter),
    /// The cursor is invalid.
    #[error(transparent)]
    Field(#[from] BadField),
    /// There is more data than an index holds.
    #[error(transparent)]
    TooLarge(#[from] TooLarge),
}

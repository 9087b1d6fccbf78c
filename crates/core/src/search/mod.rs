//! Search: tasks, messages, keys and events by text and fields, answered from an index.
//!
//! ```text
//!   status:failed type:review created>-1h "out of memory" -agent:bob key:plan/**
//!   │             │           │           │               │          └ a pattern of keys
//!   │             │           │           │               └ excluded
//!   │             │           │           └ these words in this order
//!   │             │           └ a time, here one hour ago
//!   └─────────────┴ fields
//! ```
//!
//! | file | part |
//! |---|---|
//! | `language`, `filter`, `kind` | the filter language, from text to conditions |
//! | `words` | words of texts and values |
//! | `document`, `draft`, `amendment` | what is indexed of a record, and how events change it |
//! | `terms`, `index` | the inverted index |
//! | `lookup` | executes queries, newest results first |
//!
//! Every searchable record is a document with a number. Numbers grow with revisions: a record that
//! changes gets a new number, and the old document is dead. So the list of documents of a word is
//! sorted by age without sorting, the newest are found first, and a search ends when the page is
//! full. When there are more dead documents than live ones, the live ones are renumbered.
//!
//! An index is derived data: it is built from a space, updated with batches, and can be dropped at
//! any time. It is kept outside the space, and no commit waits for it.
//!
//! Invariants, checked by [`SearchIndex::check`]:
//!
//! 1. A record has at most one live document; every event is a separate document.
//! 2. Numbers grow with revision, ordinal and subject, and times with them.
//! 3. An updated index has the same documents as one that is built from the space, except for
//!    records that the space has forgotten without an event, which a search excludes.
//! 4. Its documents take at most [`SEARCH_BYTES_MAX`](crate::limits::SEARCH_BYTES_MAX): the oldest
//!    keys and events are dropped, and every reply states how far back it reaches. If tasks and
//!    messages alone take more, a search is refused.
//!
//! Deliberately absent: alternatives, parts of words, spelling correction, and ranking by anything
//! but age. Fleets search for recent things whose names they know.

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
pub use index::{SearchIndex, Window};
pub use kind::SearchKind;
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
    pub kind: SearchKind,
    /// The subject: `tasks/t-7`, `inbox/bob/m-7` or `state/shared/plan`.
    pub subject: String,
    /// The revision of the last change, or of the event.
    pub revision: Revision,
    /// The time of that revision.
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

//! What may be asked about everything that happened.

use serde::{Deserialize, Serialize};

use super::refusals::Rejection;
use crate::event::Event;
use crate::json::Json;
use crate::limits;
use crate::names::AgentId;
use crate::numbers::Revision;
use crate::pattern::Pattern;
use crate::point::Point;
use crate::refusal::{bad, within};
use crate::space::batch::Batch;

/// Which events, in which order.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "EventHistory"))]
#[serde(deny_unknown_fields, default)]
pub struct History {
    /// Only of types that match, such as `task.*`.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<Pattern>,
    /// Only what this agent did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<AgentId>,
    /// Only about subjects that match, such as `tasks/**`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject: Option<Pattern>,
    /// From this revision or moment on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<Point>,
    /// Up to this revision or moment, which is still meant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<Point>,
    /// Which come first.
    #[serde(skip_serializing_if = "Order::is_newest")]
    pub order: Order,
    /// How many at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// Where the page before ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

/// Which events come first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "EventOrder"))]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// The newest.
    #[default]
    Newest,
    /// The oldest.
    Oldest,
}

impl Order {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
    fn is_newest(&self) -> bool {
        *self == Self::Newest
    }
}

/// A page of what happened. It may have fewer events than were asked for, or none, and still not
/// be the last: that is the one without a cursor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "EventPage"))]
pub struct Page {
    /// Each as watchers were told of it.
    pub events: Vec<Json>,
    /// What happened up to this revision is no longer kept.
    pub oldest: Revision,
    /// Where to go on, if there is more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

/// Where a page begins: at a revision, after so many of its events that are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageStart {
    /// The revision to go on with.
    pub revision: Revision,
    /// How many of its events were told.
    pub delivered: usize,
}

impl History {
    /// How many events a page may have.
    pub fn limit(&self) -> Result<usize, Rejection> {
        let range = (1, limits::PAGE_MAX as u64);
        let limit = within("limit", self.limit, limits::PAGE_DEFAULT as u64, range)?;
        Ok(usize::try_from(limit).expect("pages are small"))
    }

    /// Where the page before ended, if there was one.
    pub fn page_start(&self) -> Result<Option<PageStart>, Rejection> {
        let Some(cursor) = &self.cursor else { return Ok(None) };
        let (revision, delivered) = cursor.split_once('.').unwrap_or((cursor, "0"));
        match (revision.parse(), delivered.parse()) {
            (Ok(revision), Ok(delivered)) => {
                Ok(Some(PageStart { revision: Revision(revision), delivered }))
            }
            _ => Err(bad("cursor", "it is not where a page of events ended").into()),
        }
    }

    /// Whether an event of a batch is wanted.
    pub fn wants(&self, batch: &Batch, index: usize) -> bool {
        let event: &Event = &batch.events[index];
        event.is_public()
            && self.kind.as_ref().is_none_or(|kind| kind.matches(event.kind()))
            && self.subject.as_ref().is_none_or(|subject| subject.matches(&event.subject()))
            && self.source.as_ref().is_none_or(|source| source == batch.author(index))
    }
}

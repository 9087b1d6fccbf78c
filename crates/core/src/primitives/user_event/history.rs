//! Queries about all events.

use serde::{Deserialize, Serialize};

use super::refusals::Rejection;
use crate::event::Event;
use crate::history::At;
use crate::json::Json;
#[cfg(feature = "schema")]
use crate::limits;
use crate::names::AgentId;
use crate::numbers::Revision;
use crate::page;
use crate::pattern::Pattern;
use crate::refusal::bad;
use crate::space::batch::Batch;

/// Which events to return, and in which order.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "EventHistory"))]
#[serde(deny_unknown_fields, default)]
pub struct History {
    /// Only types that match, such as `task.*`. If omitted, any type.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<Pattern>,
    /// Only events caused by this agent. If omitted, any agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<AgentId>,
    /// Only subjects that match, such as `tasks/**`. If omitted, any subject.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject: Option<Pattern>,
    /// The first revision or time to include. If omitted, the oldest that is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<At>,
    /// The last revision or time to include. If omitted, the present.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<At>,
    /// The order of the results.
    #[cfg_attr(feature = "schema", schemars(extend("default" = "newest")))]
    #[serde(skip_serializing_if = "Order::is_newest")]
    pub order: Order,
    /// The maximum number of results.
    #[cfg_attr(feature = "schema", schemars(
        extend("default" = limits::PAGE_DEFAULT),
        range(min = 1, max = limits::PAGE_MAX),
    ))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// The `cursor` of the previous page. If omitted, the first page is returned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

/// The order of events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "EventOrder"))]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// Newest first.
    #[default]
    Newest,
    /// Oldest first.
    Oldest,
}

impl Order {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
    fn is_newest(&self) -> bool {
        *self == Self::Newest
    }
}

/// A page of events. It may have fewer results than requested, or none, and not be the last: only
/// the last page has no cursor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "EventPage"))]
pub struct Page {
    /// The events, as watches deliver them.
    pub events: Vec<Json>,
    /// Events up to this revision are no longer kept.
    pub oldest: Revision,
    /// The cursor of the next page. Absent on the last page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

/// The start of a page: a revision, and how many of its events to skip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageStart {
    /// The revision to continue with.
    pub revision: Revision,
    /// How many of its events were returned already.
    pub delivered: usize,
}

impl History {
    /// The maximum number of events on a page.
    pub fn limit(&self) -> Result<usize, Rejection> {
        Ok(page::limit(self.limit)?)
    }

    /// The end of the previous page, if there was one.
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

    /// Whether an event of a batch is selected.
    pub fn wants(&self, batch: &Batch, index: usize) -> bool {
        let event: &Event = &batch.events[index];
        event.is_public()
            && self.kind.as_ref().is_none_or(|kind| kind.matches(event.kind()))
            && self.subject.as_ref().is_none_or(|subject| subject.matches(&event.subject()))
            && self.source.as_ref().is_none_or(|source| source == batch.author(index))
    }
}

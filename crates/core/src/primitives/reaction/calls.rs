//! Calls of webhooks that are still to be made.
//!
//! ```text
//!            Take                     Settle: done
//!   waiting ─────▶ in flight ───────────────────────▶ gone
//!      ▲              │ Settle: failed, or no word in time
//!      └──────────────┴───────────────────────────────▶ gone, dead: no try is left
//! ```

use serde::{Deserialize, Serialize};

use super::webhook::{Secret, Webhook};
use crate::json::Json;
use crate::limits;
use crate::names::ReactionName;
use crate::time::Timestamp;

/// A call that is still to be made, or is being made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PendingCall {
    /// Its number: larger than that of any call before.
    pub number: u64,
    /// The reaction that it belongs to.
    pub reaction: ReactionName,
    /// What to post.
    pub body: Json,
    /// How often it was tried, the try at hand included.
    pub attempts: u64,
    /// Not before this moment.
    pub not_before: Timestamp,
    /// Whoever makes it is heard of by then, if it is being made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
    /// After this it is no use any more.
    pub give_up_at: Timestamp,
}

impl PendingCall {
    /// When time causes something about it.
    pub fn deadline(&self) -> Timestamp {
        self.until.unwrap_or(self.give_up_at)
    }

    /// How long to wait after a try that failed: twice as long each time.
    pub fn pause_ms(&self) -> u64 {
        let doublings = u32::try_from(self.attempts.saturating_sub(1)).unwrap_or(u32::MAX).min(16);
        (limits::WEBHOOK_PAUSE_MS << doublings).min(limits::WEBHOOK_PAUSE_MS_MAX)
    }
}

/// A call as whoever makes it needs it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WebhookCall {
    /// Its number.
    pub number: u64,
    /// The reaction that it belongs to.
    pub reaction: ReactionName,
    /// The first try, the second, and so on.
    pub attempt: u64,
    /// When it was begun.
    pub at: Timestamp,
    /// Where to.
    pub webhook: Webhook,
    /// What to sign with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<Secret>,
    /// What to post.
    pub body: Json,
}

/// What came of a try.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It was taken.
    Done {
        /// The status of the answer.
        status: u16,
    },
    /// It was not.
    Failed {
        /// What went wrong.
        detail: String,
        /// Whether trying again can help.
        again: bool,
    },
}

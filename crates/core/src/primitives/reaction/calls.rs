//! Pending webhook calls.
//!
//! ```text
//!            Take                     Settle: done
//!   waiting ─────▶ in flight ───────────────────────▶ gone
//!      ▲              │ Settle: failed, or not reported
//!      └──────────────┴───────────────────────────────▶ gone, dead: no attempt left
//! ```

use serde::{Deserialize, Serialize};

use super::webhook::{Secret, Webhook};
use crate::json::Json;
use crate::limits;
use crate::names::ReactionName;
use crate::time::Timestamp;

/// A webhook call that is pending or in flight.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PendingCall {
    /// Its number. Numbers only grow.
    pub number: u64,
    /// The reaction that it belongs to.
    pub reaction: ReactionName,
    /// The body.
    pub body: Json,
    /// The number of attempts, including the current one.
    pub attempts: u64,
    /// It is not made before this time.
    pub not_before: Timestamp,
    /// When the current attempt counts as failed without a report, if it is in flight.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
    /// When it is given up.
    pub give_up_at: Timestamp,
}

impl PendingCall {
    /// The next timed transition.
    pub fn deadline(&self) -> Timestamp {
        self.until.unwrap_or(self.give_up_at)
    }

    /// The delay after a failed attempt. It doubles each time.
    pub fn pause_ms(&self) -> u64 {
        let doublings = u32::try_from(self.attempts.saturating_sub(1)).unwrap_or(u32::MAX).min(16);
        (limits::WEBHOOK_PAUSE_MS << doublings).min(limits::WEBHOOK_PAUSE_MS_MAX)
    }
}

/// A webhook call with everything that is needed to make it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WebhookCall {
    /// Its number.
    pub number: u64,
    /// The reaction that it belongs to.
    pub reaction: ReactionName,
    /// The attempt, counted from 1.
    pub attempt: u64,
    /// When the attempt started.
    pub at: Timestamp,
    /// The webhook.
    pub webhook: Webhook,
    /// The signing secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<Secret>,
    /// The body.
    pub body: Json,
}

/// The outcome of an attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The endpoint accepted it.
    Done {
        /// The status of the answer.
        status: u16,
    },
    /// It failed.
    Failed {
        /// The error, in words.
        detail: String,
        /// Whether a retry may help.
        again: bool,
    },
}

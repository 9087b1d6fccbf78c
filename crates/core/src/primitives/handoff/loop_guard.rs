//! Detects tasks that are handed around in a loop.
//!
//! | brake | applies when |
//! |---|---|
//! | `hops` | the task was handed over too often |
//! | `repeated_edge` | the same giver has handed it to the same receiver several times recently |
//! | `no_progress` | it returns to an agent, and nothing has changed since it left that agent |

use serde::{Deserialize, Serialize};

use super::{Handoff, Receiver};
use crate::limits;
use crate::names::HandoffId;
use crate::time::Timestamp;

/// The brake.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Brake {
    /// The task was handed over too often.
    Hops,
    /// The same giver has handed it to the same receiver several times recently.
    RepeatedEdge,
    /// Nothing has changed since the receiver gave it away.
    NoProgress,
}

/// Why a hand-off of a task is refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Loop {
    /// The brake.
    pub brake: Brake,
    /// A description in words.
    pub detail: String,
    /// The hand-offs that led here, the latest last.
    pub trail: Vec<HandoffId>,
}

/// Examines the hand-offs by which a task has moved, latest first.
pub fn look(proposed: &Handoff, moved: &[&Handoff], now: Timestamp) -> Option<Loop> {
    let braked = |brake, detail: String| {
        let trail = moved.iter().rev().map(|handoff| handoff.id.clone()).collect();
        Some(Loop { brake, detail, trail })
    };
    if proposed.hops >= limits::HOPS_MAX {
        let detail = format!("it has changed hands {} times already", proposed.hops);
        return braked(Brake::Hops, detail);
    }
    let goes_to = |handoff: &&&Handoff| match &proposed.to {
        Receiver::Agent(agent) => handoff.receiver.as_ref() == Some(agent),
        Receiver::Capability(_) => handoff.to == proposed.to,
    };
    let lately = |handoff: &&&Handoff| now.since(handoff.updated_at) < limits::REPEATED_EDGE_MS;
    let same = moved.iter().filter(|handoff| handoff.from == proposed.from);
    let same = same.filter(goes_to).filter(lately).count();
    if same >= limits::REPEATED_EDGE_MAX {
        let (from, to) = (&proposed.from, &proposed.to);
        let minutes = limits::REPEATED_EDGE_MS / 60_000;
        let detail = format!("`{from}` handed it to {to} {same} times within {minutes} minutes");
        return braked(Brake::RepeatedEdge, detail);
    }
    let to = proposed.to.agent()?;
    let last = moved.iter().find(|handoff| handoff.from == *to)?;
    if last.content == proposed.content {
        let detail = format!("nothing has changed since `{to}` gave it away by `{}`", last.id);
        return braked(Brake::NoProgress, detail);
    }
    None
}

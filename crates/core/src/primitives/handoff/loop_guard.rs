//! Whether a task is being handed round in circles.
//!
//! | brake | is put on when |
//! |---|---|
//! | `hops` | the task has changed hands too often |
//! | `repeated_edge` | the same agent has handed it to the same agent several times of late |
//! | `no_progress` | it comes back to an agent, and nothing has changed since it left there |

use serde::{Deserialize, Serialize};

use super::{Handoff, Receiver};
use crate::limits;
use crate::names::HandoffId;
use crate::time::Timestamp;

/// Which brake.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Brake {
    /// The task has changed hands too often.
    Hops,
    /// The same agent has handed it to the same agent several times of late.
    RepeatedEdge,
    /// Nothing has changed since the receiver gave it away.
    NoProgress,
}

/// Why a task is not handed on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Loop {
    /// Which brake.
    pub brake: Brake,
    /// In words.
    pub detail: String,
    /// The hand-offs that led here, the latest last.
    pub trail: Vec<HandoffId>,
}

/// Looks at the hand-offs by which a task has moved, the latest first.
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

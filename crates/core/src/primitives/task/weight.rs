//! The size of events about tasks.

use std::collections::BTreeSet;

use super::Outcome;
use crate::json::Json;
use crate::task::Event;

/// The size of what is neither bounded by the frame of an event nor part of the subject, in bytes.
pub fn load(event: &Event) -> usize {
    let json = |json: &Option<Json>| json.as_ref().map_or(0, |json| json.as_bytes().len() + 24);
    let text = |text: &Option<String>| text.as_ref().map_or(0, |text| text.len() + 24);
    let names = |names: &BTreeSet<String>| names.iter().map(|name| name.len() + 5).sum::<usize>();
    match event {
        Event::Created(created) => created.load(),
        Event::Claimed { holder, .. } => holder.as_str().len(),
        Event::HandedOver { holder, handoff, .. } => holder.as_str().len() + handoff.as_str().len(),
        Event::HandedOff { handoff, to, returns, .. } => {
            let back = returns.to.as_ref().map_or(0, |agent| agent.as_str().len());
            64 + handoff.as_str().len() + to.as_str().len() + back
        }
        Event::Offered { handoff, .. }
        | Event::Abandoned { handoff, .. }
        | Event::TakenBack { handoff, .. } => handoff.as_str().len(),
        Event::Queued { types, capabilities, task, .. } => {
            let types = types.iter().flatten().map(|name| name.as_str().len() + 5);
            let task = task.as_ref().map_or(0, |task| task.as_str().len());
            64 + types.sum::<usize>() + names(capabilities) + task
        }
        Event::Progressed { note, .. } => text(note),
        Event::Updated { description, definition, metadata, result, .. } => {
            text(description) + json(definition) + json(metadata) + json(result)
        }
        Event::Released { reason, .. } => text(reason),
        Event::Cancelled { reason, because, .. } | Event::Retried { reason, because, .. } => {
            text(reason) + because.as_ref().map_or(0, |task| task.as_str().len() + 32)
        }
        Event::Completed { result, artifacts, .. } | Event::Submitted { result, artifacts, .. } => {
            json(result) + json(artifacts)
        }
        Event::Failed { error, outcome, .. } => {
            let to = if let Outcome::Reassigned { to } = outcome { to.as_str().len() } else { 0 };
            error.as_bytes().len() + to
        }
        Event::Reviewed { note, result, .. } => text(note) + json(result),
        Event::GaveUp { .. } | Event::Renewed { .. } | Event::Ready { .. } => 0,
    }
}

//! Coordinated hand-offs: moving state and task in one commit.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::json;

use super::decide::{decided, decided_with};
use super::offer_checks::{self, Opposed, Passed};
use super::{Chosen, Handoff, LeftOut, Offer, Receipt, Receiver, Status, Taken};
use crate::handoff::{Decided, Event, Moved, Rejection, Table, View};
use crate::json::{Json, Shape};
use crate::limits;
use crate::names::{AgentId, Key, NamespaceName};
use crate::refusal::bad;
use crate::space::stamp::Stamp;
use crate::state;
use crate::state::Entry;

/// A proposal that fails a check is recorded as a failed hand-off; an invalid request, or one that
/// the caller may not make, is refused.
pub(super) fn execute(
    table: &Table,
    view: &impl View,
    offer: Offer,
    stamp: &Stamp,
) -> Result<Decided, Rejection> {
    let refuse = |field: &'static str, reason: &str| Err(bad(field, reason).into());
    if offer.task.is_none() {
        return refuse("task", "there is nothing to hand over without one");
    }
    let Receiver::Agent(to) = offer.to.clone() else {
        return refuse("to", "it must be an agent, because nothing waits for acceptance");
    };
    if offer.approval.is_some() {
        return refuse("approval", "there is nothing to approve: make an offer instead");
    }
    let prepared = offer_checks::prepare(table, view, offer, stamp)?;
    let refused = |mut handoff: Handoff, step: &str, rejection: &Rejection| {
        handoff.fail(step, stamp.now, facts(rejection), rejection.to_string());
        Ok(decided(handoff.id.clone(), Event::Refused(Arc::new(handoff))))
    };
    let Passed { mut handoff, chosen } = match prepared.passed() {
        Ok(passed) => passed,
        Err(opposed) => {
            let Opposed { handoff, rejection } = *opposed;
            return refused(handoff, "validate", &rejection);
        }
    };
    if handoff.status == Status::Failed {
        return Ok(decided(handoff.id.clone(), Event::Refused(Arc::new(handoff))));
    }
    let there = offer_checks::check_versions(&chosen);
    if let Err(rejection) = there.and_then(|()| all_there(&chosen)) {
        return refused(handoff, "transfer_state", &rejection);
    }
    let moved = match transfer(view, &handoff, &chosen, &to, false, stamp) {
        Ok(moved) => moved,
        Err(rejection) => return refused(handoff, "transfer_state", &rejection),
    };
    executed(&mut handoff, &chosen, to, stamp);
    let id = handoff.id.clone();
    Ok(decided_with(id, Event::Executed(Arc::new(handoff)), moved))
}

/// The record of a hand-off that has moved its state and its task to an agent.
pub fn executed(handoff: &mut Handoff, chosen: &[Chosen], to: AgentId, stamp: &Stamp) {
    handoff.receipt = Some(receipt(handoff, chosen));
    handoff.step("transfer_state", stamp.now, None, None);
    if handoff.task.is_some() {
        handoff.step("transfer_task", stamp.now, None, None);
    }
    handoff.receiver = Some(to);
    handoff.end(Status::Completed, stamp.now);
}

/// The recorded reason of a failed step.
fn facts(rejection: &Rejection) -> Json {
    let mut facts = serde_json::to_value(rejection).unwrap_or_default();
    if let Some(facts) = facts.as_object_mut() {
        facts.insert("code".to_owned(), json!(rejection.code()));
        facts.insert("detail".to_owned(), json!(rejection.to_string()));
    }
    Json::of(&facts).expect("facts are JSON")
}

fn all_there(chosen: &[Chosen]) -> Result<(), Rejection> {
    let missing = chosen.iter().find(|chosen| chosen.entry.is_none());
    missing.map_or(Ok(()), |Chosen { selected, .. }| {
        let (key, reason) = (selected.name.to_string(), "there is no such key".to_owned());
        Err(Rejection::StateConflict { key, reason, entry: None })
    })
}

/// Moves or copies the giver's own keys among the selected ones to the receiver.
pub fn transfer(
    view: &impl View,
    handoff: &Handoff,
    chosen: &[Chosen],
    to: &AgentId,
    overwrite: bool,
    stamp: &Stamp,
) -> Result<Moved, Rejection> {
    let own = NamespaceName::of_agent(&handoff.from);
    let there = chosen.iter().filter_map(|chosen| chosen.entry.as_ref());
    let there = there.filter(|entry| *entry.namespace() == own);
    let key = |entry: &Entry| Key::parse(entry.key()).expect("keys are checked before");
    let keys: Vec<Key> = there.map(key).collect();
    if keys.is_empty() || handoff.from == *to {
        return Ok(Moved::new());
    }
    #[cfg(feature = "planted")]
    let keys = if crate::planted::is("handoff.last_key_forgotten") && keys.len() > 1 {
        keys[..keys.len() - 1].to_vec()
    } else {
        keys
    };
    let transfer = state::Transfer {
        from_namespace: own.clone(),
        to_namespace: NamespaceName::of_agent(to),
        keys: Some(keys),
        pattern: None,
        overwrite,
        copy: handoff.copy,
    };
    view.transfer(transfer, stamp).map_err(|rejection| {
        let reason = rejection.to_string();
        match rejection {
            state::Rejection::Exists { entry, .. } => Rejection::StateConflict {
                key: format!("{}/{}", entry.namespace(), entry.key()),
                reason,
                entry: Some(entry),
            },
            other => {
                let key = format!("{own}/ ({})", other.code());
                Rejection::StateConflict { key, reason, entry: None }
            }
        }
    })
}

/// The entries that the receiver gets of the selected keys.
pub fn receipt(handoff: &Handoff, chosen: &[Chosen]) -> Receipt {
    let state_bytes: usize =
        handoff.state.iter().map(|(name, value)| name.len() + value.as_bytes().len()).sum();
    let mut receipt = Receipt {
        keys: Vec::with_capacity(chosen.len()),
        state_bytes: state_bytes as u64,
        left_out: Vec::new(),
    };
    let own = NamespaceName::of_agent(&handoff.from);
    for (Chosen { selected, entry }, fits) in as_far_as_it_fits(chosen) {
        let mut leave_out = |reason: &str| {
            let (key, reason) = (selected.name.clone(), reason.to_owned());
            receipt.left_out.push(LeftOut { key, reason });
        };
        let Some(entry) = entry else {
            leave_out("missing");
            continue;
        };
        if !fits {
            leave_out("too_large");
        }
        receipt.keys.push(Taken {
            key: selected.name.clone(),
            version: entry.version(),
            bytes: entry.value().len() as u64,
            kind: Shape::of(entry.value()),
            moved: *entry.namespace() == own && !handoff.copy,
            copied: *entry.namespace() == own && handoff.copy,
        });
    }
    receipt
}

/// The values of the selected keys, as far as they fit into a reply.
pub fn values(chosen: &[Chosen]) -> BTreeMap<String, Json> {
    let included = as_far_as_it_fits(chosen).filter(|(_, fits)| *fits);
    included
        .filter_map(|(Chosen { selected, entry }, _)| {
            Some((selected.name.to_string(), entry.as_ref()?.json()))
        })
        .collect()
}

/// The selected keys, and whether each still fits into the reply.
fn as_far_as_it_fits(chosen: &[Chosen]) -> impl Iterator<Item = (&Chosen, bool)> {
    let mut room = limits::HANDOFF_VALUES_BYTES_MAX;
    chosen.iter().map(move |chosen| {
        let left = room.checked_sub(chosen.entry.as_ref().map_or(0, |entry| entry.value().len()));
        room = left.unwrap_or(room);
        (chosen, left.is_some())
    })
}

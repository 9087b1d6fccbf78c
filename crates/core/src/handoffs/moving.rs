//! How state and task move together.

use std::collections::BTreeMap;

use serde_json::json;

use super::offering::{self, Passed};
use super::{Handoff, LeftOut, Offer, Receipt, Receiver, Status, Taken};
use crate::entry::Entry;
use crate::handoff::{Decided, Event, Moved, Rejection, Surroundings, Table, about};
use crate::json::Json;
use crate::limits;
use crate::names::{AgentId, Key, NamespaceName};
use crate::refusal::bad;
use crate::stamp::Stamp;
use crate::state;

/// All that can be wrong with what is proposed is written down; what is wrong with the request, or
/// with who makes it, is refused.
pub fn execute(
    table: &Table,
    around: &impl Surroundings,
    offer: Offer,
    stamp: &Stamp,
) -> Result<Decided, Rejection> {
    let refuse = |field: &'static str, reason: &str| Err(bad(field, reason).into());
    if offer.task.is_none() {
        return refuse("task", "there is nothing to hand over without one");
    }
    let Receiver::Agent(to) = offer.to.clone() else {
        return refuse("to", "it must be an agent: nobody is asked whether they want it");
    };
    if offer.approval.is_some() {
        return refuse("approval", "nobody is asked: make an offer instead");
    }
    let prepared = offering::prepare(table, around, offer, stamp)?;
    let refused = |mut handoff: Handoff, step: &str, rejection: &Rejection| {
        handoff.fail(step, stamp.now, facts(rejection), rejection.to_string());
        Ok(about(handoff.id.clone(), Event::Refused(Box::new(handoff))))
    };
    let proposed = prepared.handoff.clone();
    let Passed { mut handoff, entries } = match prepared.passed() {
        Ok(passed) => passed,
        Err(rejection) => return refused(proposed, "validate", &rejection),
    };
    if handoff.status == Status::Failed {
        return Ok(about(handoff.id.clone(), Event::Refused(Box::new(handoff))));
    }
    let there = offering::check_versions(&handoff, &entries);
    if let Err(rejection) = there.and_then(|()| all_there(&handoff, &entries)) {
        return refused(handoff, "transfer_state", &rejection);
    }
    let (receipt, _) = receipt(&handoff, &entries);
    let moved = match transfer(around, &handoff, &to, false, stamp) {
        Ok(moved) => moved,
        Err(rejection) => return refused(handoff, "transfer_state", &rejection),
    };
    handoff.receipt = Some(receipt);
    handoff.step("transfer_state", stamp.now, None, None);
    handoff.step("transfer_task", stamp.now, None, None);
    handoff.receiver = Some(to);
    handoff.end(Status::Completed, stamp.now);
    let id = handoff.id.clone();
    Ok(Decided { moved, ..about(id, Event::Executed(Box::new(handoff))) })
}

/// Why a step failed, as it is written down.
fn facts(rejection: &Rejection) -> Json {
    let mut facts = serde_json::to_value(rejection).unwrap_or_default();
    if let Some(facts) = facts.as_object_mut() {
        facts.insert("code".to_owned(), json!(rejection.code()));
        facts.insert("detail".to_owned(), json!(rejection.to_string()));
    }
    Json::of(&facts).expect("facts are JSON")
}

fn all_there(handoff: &Handoff, entries: &[Option<Entry>]) -> Result<(), Rejection> {
    let missing = handoff.keys.iter().zip(entries).find(|(_, entry)| entry.is_none());
    missing.map_or(Ok(()), |(selected, _)| {
        let (key, reason) = (selected.name(), "there is no such key".to_owned());
        Err(Rejection::StateConflict { key, reason, entry: None })
    })
}

/// Moves the giver's own keys among the selected ones to the receiver.
pub fn transfer(
    around: &impl Surroundings,
    handoff: &Handoff,
    to: &AgentId,
    overwrite: bool,
    stamp: &Stamp,
) -> Result<Moved, Rejection> {
    let own = NamespaceName::of_agent(&handoff.from);
    let moving = handoff.keys.iter().filter(|selected| selected.namespace == own);
    let there = moving.filter(|selected| around.entry(&own, &selected.key).is_some());
    let keys: Vec<Key> = there.map(|selected| selected.key.clone()).collect();
    if keys.is_empty() || handoff.from == *to {
        return Ok(Moved::default());
    }
    around.transfer(&handoff.from, to, keys, overwrite, stamp).map_err(|rejection| {
        let reason = rejection.to_string();
        match rejection {
            state::Rejection::Exists { entry } => Rejection::StateConflict {
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

/// What the receiver gets of the selected keys, and their values as far as they fit into an answer.
pub fn receipt(handoff: &Handoff, entries: &[Option<Entry>]) -> (Receipt, BTreeMap<String, Json>) {
    let state_bytes: usize =
        handoff.state.iter().map(|(name, value)| name.len() + value.as_bytes().len()).sum();
    let mut receipt = Receipt { state_bytes: state_bytes as u64, ..Receipt::default() };
    let mut values = BTreeMap::new();
    let mut room = limits::HANDOFF_VALUES_BYTES_MAX;
    let own = NamespaceName::of_agent(&handoff.from);
    for (selected, entry) in handoff.keys.iter().zip(entries) {
        let key = selected.name();
        let Some(entry) = entry else {
            receipt.left_out.push(LeftOut { key, reason: "missing".to_owned() });
            continue;
        };
        let bytes = entry.value().len();
        if bytes > room {
            receipt.left_out.push(LeftOut { key: key.clone(), reason: "too_large".to_owned() });
        } else {
            room -= bytes;
            values.insert(key.clone(), entry.json());
        }
        let (version, kind) = (entry.version(), kind_of(entry.value()).to_owned());
        let moved = selected.namespace == own;
        receipt.keys.push(Taken { key, version, bytes: bytes as u64, kind, moved });
    }
    (receipt, values)
}

/// What kind of value this is, as JSON names it.
pub fn kind_of(value: &[u8]) -> &'static str {
    match value.first() {
        Some(b'{') => "object",
        Some(b'[') => "array",
        Some(b'"') => "string",
        Some(b't' | b'f') => "boolean",
        Some(b'n') | None => "null",
        Some(_) => "number",
    }
}

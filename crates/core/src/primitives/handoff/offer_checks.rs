//! The checks before anything is handed over.

use std::collections::BTreeMap;

use serde_json::json;

use super::{Chosen, Handoff, Offer, OnLoop, Receiver, Selected, Status};
use super::{content, fingerprint, loop_guard};
use crate::handoff::{Rejection, Table, View};
use crate::json::Json;
use crate::limits;
use crate::names::RuleName;
use crate::numbers::Version;
use crate::quoted::quoted;
use crate::refusal::{TooMany, bad, fits, has_room, is_list, within};
use crate::rule::{Finding, Judgement, Proposal};
use crate::space::stamp::Stamp;
use crate::state::Entry;
use crate::task::Record;

/// An offer with the results of its checks.
pub struct Prepared {
    /// The resulting hand-off.
    pub handoff: Handoff,
    /// The selected keys.
    pub chosen: Vec<Chosen>,
    /// The result of the rules.
    pub judgement: Judgement,
    /// The loop that was detected, if any.
    pub braked: Option<loop_guard::Loop>,
}

/// Checks an offer: its validity, the permission of the giver, the rules, and the detection of
/// loops.
pub fn prepare(
    table: &Table,
    view: &impl View,
    offer: Offer,
    stamp: &Stamp,
) -> Result<Prepared, Rejection> {
    check(&offer)?;
    if offer.to.agent() == Some(&stamp.agent) {
        return Err(bad("to", "it is the giver").into());
    }
    let record = held(view, &offer, stamp)?;
    let deadline = (limits::HANDOFF_DEADLINE_MS_MIN, limits::HANDOFF_DEADLINE_MS_MAX);
    let usual = limits::HANDOFF_DEADLINE_MS_DEFAULT;
    let deadline_ms = within("deadline_ms", offer.deadline_ms, usual, deadline)?;
    let redeliver = (limits::REDELIVER_MS_MIN, limits::HANDOFF_DEADLINE_MS_MAX);
    let usual = limits::REDELIVER_MS_DEFAULT;
    let redeliver_ms = within("redeliver_ms", offer.redeliver_ms, usual, redeliver)?;
    let id = table.fresh_id(stamp.revision);
    let mut handoff = Handoff::new(id, stamp.agent.clone(), offer, stamp.now);
    (handoff.deadline, handoff.redeliver_ms) = (stamp.now.after(deadline_ms), redeliver_ms);
    let task = handoff.task.clone();
    let moved = task.iter().flat_map(|task| table.moved(task));
    let moved: Vec<&Handoff> = moved.take(limits::HOPS_EXAMINED_MAX).collect();
    handoff.hops = moved.first().map_or(0, |latest| latest.hops + 1);
    let chosen = view.chosen(&handoff.keys)?;
    handoff.content = content_of(&handoff, &chosen, record);
    handoff.digest = fingerprint(&handoff);
    let braked = loop_guard::look(&handoff, &moved, stamp.now);
    let judgement = judge(view, &handoff, &chosen, record)?;
    Ok(Prepared { handoff, chosen, judgement, braked })
}

impl Prepared {
    /// All errors and warnings, as findings.
    pub fn judgement(mut self) -> Judgement {
        if let Some(found) = self.braked {
            let rule = RuleName::parse("loop").expect("a plain word is a name");
            self.judgement.errors.push(Finding { rule, detail: found.detail, broken: false });
        }
        self.judgement
    }

    /// The hand-off, if no check failed. It may be a failed one, to be recorded. Otherwise the
    /// reason.
    pub fn passed(self) -> Result<Passed, Box<Opposed>> {
        let Self { mut handoff, chosen, judgement, braked } = self;
        let at = handoff.created_at;
        if let Some(found) = braked {
            if handoff.on_loop != Some(OnLoop::Review) {
                return Err(Box::new(Opposed { handoff, rejection: Rejection::Loop { found } }));
            }
            let error =
                json!({ "reason": "handoff_loop", "brake": found.brake, "detail": found.detail });
            handoff.fail("brakes", at, Json::of(&error).expect("texts are JSON"), found.detail);
            return Ok(Passed { handoff, chosen });
        }
        if !judgement.errors.is_empty() {
            let Judgement { errors, warnings } = judgement;
            let rejection = Rejection::Invalid { errors, warnings };
            return Err(Box::new(Opposed { handoff, rejection }));
        }
        handoff.warnings = judgement.warnings;
        handoff.step("validate", at, None, None);
        Ok(Passed { handoff, chosen })
    }
}

/// A hand-off that passed all checks, or that failed in a way that is recorded.
pub struct Passed {
    /// The hand-off.
    pub handoff: Handoff,
    /// The selected keys.
    pub chosen: Vec<Chosen>,
}

/// A hand-off that failed a check.
pub struct Opposed {
    /// The hand-off as it was proposed.
    pub handoff: Handoff,
    /// The failed check.
    pub rejection: Rejection,
}

fn check(offer: &Offer) -> Result<(), Rejection> {
    let json = |json: &Option<Json>| json.as_ref().map_or(0, |json| json.as_bytes().len());
    let context = [&offer.work_completed, &offer.remaining_work, &offer.notes, &offer.output_keys];
    let context: usize = context.into_iter().map(json).sum();
    let state: usize =
        offer.state.iter().map(|(name, value)| name.len() + value.as_bytes().len()).sum();
    let text = |text: &Option<String>| text.as_ref().map_or(0, String::len);
    let sizes = [
        ("context", context + state, limits::HANDOFF_CONTEXT_BYTES_MAX),
        ("reason", text(&offer.reason), limits::NOTE_BYTES_MAX),
        ("artifacts", json(&offer.artifacts), limits::ERROR_BYTES_MAX),
    ];
    for (field, bytes, bytes_max) in sizes {
        fits(field, bytes, bytes_max)?;
    }
    is_list("artifacts", offer.artifacts.as_ref())?;
    check_keys(&offer.keys)?;
    let odd = |name: &&String| {
        !(1..=limits::KEY_BYTES_MAX).contains(&name.len()) || name.bytes().any(|byte| byte < 0x20)
    };
    if let Some(name) = offer.state.keys().find(odd) {
        let shown = quoted(name, 40);
        return Err(bad("state", format!("`{shown}` is not a valid name of a value")).into());
    }
    if let Some(approval) = &offer.approval {
        let (count, max) = (approval.by.len(), limits::APPROVERS_MAX);
        if count > max {
            let reason = format!("there are {count} who may approve, at most {max}");
            return Err(bad("approval", reason).into());
        }
        let span = (1, limits::HANDOFF_DEADLINE_MS_MAX);
        within("approval.expires_ms", approval.expires_ms, span.1, span)?;
    }
    Ok(())
}

/// Whether the keys are few and distinct, and their patterns valid.
fn check_keys(keys: &[Selected]) -> Result<(), Rejection> {
    let (count, max) = (keys.len(), limits::HANDOFF_KEYS_MAX);
    if count > max {
        return Err(bad("keys", format!("there are {count}, at most {max}")).into());
    }
    let mut names: Vec<&str> = keys.iter().map(|key| key.name.as_str()).collect();
    names.sort_unstable();
    if let Some([name, _]) = names.array_windows().find(|[name, next]| name == next) {
        return Err(bad("keys", format!("`{name}` is listed twice")).into());
    }
    if let Some(error) = keys.iter().find_map(|selected| selected.pattern().err()) {
        return Err(bad("keys", error.to_string()).into());
    }
    Ok(())
}

/// The task, if the giver holds its lease and has not offered it already.
fn held<'a>(
    view: &'a impl View,
    offer: &Offer,
    stamp: &Stamp,
) -> Result<Option<&'a Record>, Rejection> {
    let Some(task) = &offer.task else {
        if offer.token.is_some() {
            return Err(bad("token", "it is that of a task, and no task is given").into());
        }
        return Ok(None);
    };
    let unknown = || Rejection::UnknownTask { task: task.clone() };
    let record = view.task(task).ok_or_else(unknown)?;
    let Some(given) = offer.token else {
        let reason = "an agent that hands over a task must give the token of its lease";
        return Err(bad("token", reason).into());
    };
    let lease = record.lease.as_deref();
    let (task, giver) = (task.clone(), stamp.agent.clone());
    match lease {
        Some(lease) if lease.permits(given) && lease.holder != giver => {
            Err(Rejection::NotHolder { task, giver, lease: Some(lease.without_token()) })
        }
        #[cfg(feature = "planted")]
        Some(_) if crate::planted::is("handoff.any_token_will_do") => Ok(Some(record)),
        Some(lease) if lease.permits(given) => match &lease.handoff {
            Some(open) => Err(Rejection::AlreadyOffered { task, open: open.clone() }),
            None => Ok(Some(record)),
        },
        Some(lease) => {
            let lease = Some(lease.without_token());
            Err(Rejection::StaleToken { task, given, lease })
        }
        None => Err(Rejection::NotHolder { task, giver, lease: None }),
    }
}

/// Refuses keys that do not have the required version.
pub fn check_versions(chosen: &[Chosen]) -> Result<(), Rejection> {
    for Chosen { selected, entry } in chosen {
        let version = entry.as_ref().map_or(Version(0), Entry::version);
        if let Some(wanted) = selected.version.filter(|wanted| *wanted != version) {
            let reason = format!("its version is {version}, not {wanted}");
            let (key, entry) = (selected.name.to_string(), entry.clone().map(Box::new));
            return Err(Rejection::StateConflict { key, reason, entry });
        }
    }
    Ok(())
}

/// The digest of what the receiver would get now.
pub fn content_of(handoff: &Handoff, chosen: &[Chosen], record: Option<&Record>) -> String {
    let execution = record.and_then(|record| record.execution.as_ref());
    let result = execution.and_then(|execution| execution.result.as_ref());
    let definition = record.and_then(|record| record.definition.as_ref());
    content(handoff, chosen, &[result, definition])
}

fn judge(
    view: &impl View,
    handoff: &Handoff,
    chosen: &[Chosen],
    record: Option<&Record>,
) -> Result<Judgement, Rejection> {
    let mut judgement = Judgement::default();
    if view.has_rules() {
        let record_read = record.filter(|_| view.has_expressions());
        let bytes = |(name, value): (&String, &Json)| name.len() + value.as_bytes().len();
        let state: usize = handoff.state.iter().map(bytes).sum();
        let entries = chosen.iter().filter_map(|chosen| chosen.entry.as_ref());
        let values: usize = entries.map(|entry| entry.value().len()).sum();
        view.reads_for_rules(state + values + record_read.map_or(0, Record::bytes))?;
        let task = record_read.and_then(|record| view.shown(&record.id));
        let task = task.map(|task| Json::of(&task).expect("a task is JSON"));
        let mut state: BTreeMap<String, Json> = handoff.state.clone();
        for Chosen { selected, entry } in chosen {
            state.extend(entry.as_ref().map(|entry| (selected.name.to_string(), entry.json())));
        }
        judgement = view.judge(&Proposal {
            from: &handoff.from,
            to: handoff.to.agent(),
            capability: handoff.to.capability(),
            task: task.as_ref(),
            task_type: record.map(|record| &record.task_type),
            state: &state,
            receiver: handoff.to.agent().and_then(|agent| view.agent(agent)),
            hops: handoff.hops + 1,
            reason: handoff.reason.as_deref(),
        })?;
    }
    judgement.warnings.extend(unlikely(view, &handoff.to));
    Ok(judgement)
}

/// A warning if no agent can accept it now. That may change.
fn unlikely(view: &impl View, to: &Receiver) -> Option<Finding> {
    let detail = match to {
        Receiver::Agent(agent) => match view.agent(agent) {
            Some(there) if there.is_active => return None,
            Some(_) => format!("`{agent}` has no active session"),
            None => format!("no agent has ever registered as `{agent}`"),
        },
        Receiver::Capability(name) if view.has_capable(name) => return None,
        Receiver::Capability(name) => format!("no active agent has the capability `{name}`"),
    };
    let rule = RuleName::parse("receiver").expect("a plain word is a name");
    Some(Finding { rule, detail, broken: false })
}

/// Refuses more open hand-offs than a workspace may have.
pub fn check_room(table: &Table, handoff: &Handoff) -> Result<(), Rejection> {
    let (count, bytes) = table.unfinished();
    has_room([("hand-offs that have not ended", count, limits::HANDOFFS_MAX)])?;
    if bytes + handoff.bytes() > limits::HANDOFFS_BYTES_MAX {
        let (what, max) = ("bytes of hand-offs that have not ended", limits::HANDOFFS_BYTES_MAX);
        return Err(TooMany { what, max }.into());
    }
    assert_eq!(handoff.status, Status::Offered, "only what is offered takes room");
    Ok(())
}

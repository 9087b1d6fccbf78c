//! Explains why a task is not running. Computed on request.

use std::collections::BTreeSet;

use super::{Fact, Record, Reviewers, Status, Why, reassignment};
use crate::task::{Table, View, budgets};

/// The maximum number of tasks and agents that are named.
const NAMED_MAX: usize = 5;
/// The maximum to which earlier tasks are counted.
const BEFORE_MAX: usize = 1_000;

fn fact(code: &str, detail: impl Into<String>) -> Fact {
    Fact { code: code.to_owned(), detail: detail.into(), task: None, agent: None, at: None }
}

/// Facts as one part of a sentence.
pub fn sentence(facts: &[Fact]) -> String {
    let details: Vec<&str> = facts.iter().map(|fact| fact.detail.as_str()).collect();
    details.join("; ")
}

/// Explains the status of a task, with all known facts.
pub fn why(table: &Table, view: &impl View, record: &Record) -> Why {
    let mut facts = circumstances(table, record);
    if record.status == Status::Pending {
        facts.extend(who_could(view, record));
        if let Some(used_up) = budgets::held_back(table, view, &record.id) {
            facts.push(fact("budget_exhausted", used_up.to_string()));
        } else if record.ready {
            let word = format!("no eligible agent is waiting to claim type `{}`", record.task_type);
            facts.push(fact("nobody_waits", word));
        }
    }
    let (id, status) = (&record.id, record.status);
    let sentence = format!("`{id}` {}: {}", status.clause(), sentence(&facts));
    Why { task: id.clone(), status, sentence, facts }
}

/// The facts that follow from the table of tasks.
pub fn circumstances(table: &Table, record: &Record) -> Vec<Fact> {
    let execution = record.execution.as_deref();
    let reason = execution.and_then(|execution| execution.reason.as_ref());
    let at = record.finished_at();
    match record.status {
        Status::Pending => pending(table, record),
        Status::InProgress => held(record).into_iter().collect(),
        Status::HandedOff => handed(record).into_iter().collect(),
        Status::WaitingReview => {
            if let Some(agent) = record.submitted_by() {
                let who = record.reviewers().map_or("another agent".to_owned(), Reviewers::phrase);
                let word = format!("`{agent}` submitted a result, which {who} must accept");
                return vec![fact("waiting_review", word)];
            }
            let error = execution.and_then(|execution| execution.error.as_ref());
            let mut word = "a reviewer must decide".to_owned();
            if error.is_some_and(reassignment::is_not_taken_up) {
                word = format!("it was handed over and not claimed in time; {word}");
            }
            if record.retries > 0 {
                word = format!("{} failed; {word}", attempts(record.retries));
            }
            vec![fact("waiting_review", word)]
        }
        Status::Completed => vec![Fact { at, ..fact("completed", "it is done") }],
        Status::Failed => {
            let error = execution.and_then(|execution| execution.error.as_ref());
            let error = error.map_or_else(|| "unknown".to_owned(), super::counters::reason_of);
            let word = match record.retries {
                0 => format!("error: `{error}`"),
                count => format!("{} failed; last error: `{error}`", attempts(count)),
            };
            vec![Fact { at, ..fact("failed", word) }]
        }
        Status::Cancelled => {
            let word = reason.map_or("no reason was given", String::as_str);
            vec![Fact { at, ..fact("cancelled", word) }]
        }
    }
}

fn attempts(count: u64) -> String {
    if count == 1 { "1 attempt".to_owned() } else { format!("{count} attempts") }
}

fn handed(record: &Record) -> Option<Fact> {
    let (agent, returns) = (record.assigned_agent()?.clone(), record.returns()?);
    let then = match &returns.to {
        Some(giver) => format!("it returns to `{giver}`"),
        None => "it waits for review".to_owned(),
    };
    let word = format!("`{agent}` must claim it by {}, or {then}", returns.at);
    Some(Fact { agent: Some(agent), at: Some(returns.at), ..fact("handed_off", word) })
}

fn held(record: &Record) -> Option<Fact> {
    let lease = record.lease.as_ref()?;
    if let Some(handoff) = &lease.handoff {
        let word = format!("`{}` holds it and offers it with hand-off `{handoff}`", lease.holder);
        return Some(Fact { agent: Some(lease.holder.clone()), ..fact("offered", word) });
    }
    let (holder, until) = (lease.holder.clone(), lease.expires_at);
    let word = format!("`{holder}` holds it until {until}");
    Some(Fact { agent: Some(holder), at: Some(until), ..fact("held", word) })
}

fn pending(table: &Table, record: &Record) -> Vec<Fact> {
    let mut facts = Vec::new();
    let open: Vec<_> = table.waiting_for(record).filter_map(|task| table.get(task)).collect();
    for other in open.iter().take(NAMED_MAX) {
        let state = match &other.lease {
            Some(lease) => format!("`{}` holds until {}", lease.holder, lease.expires_at),
            None => other.status.clause().to_owned(),
        };
        let word = format!("it waits for `{}`, which {state}", other.id);
        let agent = other.lease.as_ref().map(|lease| lease.holder.clone());
        facts.push(Fact { task: Some(other.id.clone()), agent, ..fact("waits_for", word) });
    }
    if open.len() > NAMED_MAX {
        facts.push(fact("waits_for_more", format!("and for {} more", open.len() - NAMED_MAX)));
    }
    match record.not_before() {
        Some(moment) if !record.ready => {
            let word = match record.retries {
                0 => format!("it has not started, and cannot start before {moment}"),
                count => format!("{} failed; it will be retried at {moment}", attempts(count)),
            };
            facts.push(Fact { at: Some(moment), ..fact("delayed", word) });
        }
        Some(_) | None => {}
    }
    if record.ready {
        facts.push(fact("ready", "it is ready"));
        let before = match table.before(record, BEFORE_MAX) {
            0 => "it is first in the queue".to_owned(),
            1 => "1 task is ahead of it in the queue".to_owned(),
            BEFORE_MAX => format!("at least {BEFORE_MAX} tasks are ahead of it in the queue"),
            more => format!("{more} tasks are ahead of it in the queue"),
        };
        facts.push(fact("in_line", before));
    }
    facts
}

/// The capabilities that a task needs, as part of a sentence.
pub fn capabilities(needs: &BTreeSet<String>) -> String {
    let names: Vec<String> = needs.iter().map(|need| format!("`{need}`")).collect();
    let noun = if names.len() == 1 { "capability" } else { "capabilities" };
    format!("the {noun} {}", names.join(" and "))
}

/// Whether an agent exists that can do it.
fn who_could(view: &impl View, record: &Record) -> Option<Fact> {
    let none = BTreeSet::new();
    let needs = record.needs();
    let needs = needs.as_deref().unwrap_or(&none);
    if let Some(assigned) = record.assigned_agent() {
        let lack = match view.capabilities_of(assigned) {
            None => ", which has no session".to_owned(),
            Some(able) => match needs.iter().find(|need| !able.contains(*need)) {
                Some(need) => format!(", which lacks the capability `{need}`"),
                None => String::new(),
            },
        };
        let code = if lack.is_empty() { "assigned" } else { "assigned_in_vain" };
        let word = format!("it is assigned to `{assigned}`{lack}");
        return Some(Fact { agent: Some(assigned.clone()), ..fact(code, word) });
    }
    if view.has_capable(needs) {
        return None;
    }
    if needs.is_empty() {
        return Some(fact("no_live_agent", "no agent has an active session"));
    }
    let mut word = format!("no active agent has {}", capabilities(needs));
    let gone = view.were_capable(needs);
    let gone: Vec<String> = gone.iter().take(NAMED_MAX).map(|agent| format!("`{agent}`")).collect();
    if !gone.is_empty() {
        word = format!("{word} (without a session: {})", gone.join(", "));
    }
    Some(fact("no_capable_agent", word))
}

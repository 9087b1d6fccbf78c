//! Results as text: one line for every event, entry and page.

mod checkpoints;
mod joins;
mod messaging;
mod reactions;
mod spending;
mod waits;

use std::fmt::Write;

use super::contents;
use super::handoffs::{rendered_handoff, shown_handoff};
use super::pipelines::{rendered_pipeline, shown_pipeline};
use crate::event::Event;
use crate::json::Json;
use crate::primitive::Event as _;
use crate::reply::{Answer, Reply};
use crate::state::Entry;
use crate::task::{self, Outcome};
use crate::{
    agent, barrier, contract, lock, namespace, reaction, rule, semaphore, state, workspace,
};

/// The reply to a request that changed nothing, perhaps because it was repeated.
pub(super) fn rendered_again(answer: &Answer) -> String {
    match &answer.reply {
        Reply::Reaction(reaction::Reply::Done) => "nothing".into(),
        reply => format!("r{}: {}", answer.revision, shown(reply)),
    }
}

/// An event in one line.
pub(super) fn rendered(event: &Event) -> String {
    let kind = event.kind();
    match event {
        Event::State(state::Event::Set {
            namespace,
            key,
            value,
            version,
            operation: _,
            expires_at,
            bound_to,
            source,
        }) => {
            let mut line = format!("{kind} {namespace}/{key} v{version} = {}", brief(value));
            if let Some(moment) = expires_at {
                write!(line, " until {}", moment.0).unwrap();
            }
            if let Some(agent) = bound_to {
                write!(line, " with {agent}").unwrap();
            }
            if let Some(state::Source { namespace, version, revision, agent }) = source {
                write!(line, " from {namespace} v{version} r{revision} by {agent}").unwrap();
            }
            line
        }
        Event::State(state::Event::Deleted { namespace, key, version, removal: _ }) => {
            format!("{kind} {namespace}/{key} v{version}")
        }
        Event::Namespace(event) => format!("{kind} {}", event.name()),
        Event::Agent(agent::Event::Joined { agent, ttl_ms, token, .. }) => {
            format!("{kind} {agent} token={token} ttl={ttl_ms}")
        }
        Event::Agent(agent::Event::Lost { agent, because: Some(above) }) => {
            format!("{kind} {agent} below {above}")
        }
        Event::Agent(event) => format!("{kind} {}", event.agent()),
        Event::Message(event) => messaging::rendered_message(event),
        Event::Topic(event) => messaging::rendered_topic(event),
        Event::Stream(event) => messaging::rendered_stream(event),
        Event::Rule(rule::Event::Added { name, check, severity, replaced, .. }) => {
            let replaced = if *replaced { " replaced" } else { "" };
            format!("{kind} {name} {} {}{replaced}", severity.word(), serde_json::json!(check))
        }
        Event::Rule(event) => format!("{kind} {}", event.name()),
        Event::Contract(event) => rendered_contract(event),
        Event::UserEvent(event) => reactions::rendered_user_event(event),
        Event::Reaction(event) => reactions::rendered(event),
        Event::Workspace(event) => rendered_workspace(kind, event),
        Event::Lock(event) => rendered_lock(event),
        Event::Semaphore(event) => rendered_semaphore(event),
        Event::Barrier(event) => rendered_barrier(event),
        Event::Task(event) => rendered_task(event),
        Event::Spend(event) => spending::rendered(event),
        Event::Join(event) => joins::rendered(event),
        Event::Wait(event) => waits::rendered(event),
        Event::Pipeline(event) => rendered_pipeline(event),
        Event::Checkpoint(event) => checkpoints::rendered(event),
        Event::Artifact(event) => contents::rendered_artifact(event),
        Event::Secret(event) => contents::rendered_secret(event),
        Event::Handoff(event) => rendered_handoff(event),
        Event::Receipt(receipt) => format!("{kind} {}", receipt.key),
        Event::Awaited(keyed) => format!("{kind} {}", keyed.key),
    }
}

fn rendered_contract(event: &contract::Event) -> String {
    let kind = event.kind();
    match event {
        contract::Event::Broken { name, owner, breach, .. } => {
            format!("{kind} {name} of {owner}: {} {:?}", breach.key, breach.field)
        }
        contract::Event::Declared { .. } | contract::Event::Deleted { .. } => {
            format!("{kind} {}", event.name())
        }
    }
}

fn rendered_lock(event: &lock::Event) -> String {
    let line = format!("{} {}", event.kind(), event.name());
    match event {
        lock::Event::Acquired { holder, token, wait, .. } => {
            let call = wait.map_or(String::new(), |wait| format!(" call={wait}"));
            format!("{line} by {holder} token={token}{call}")
        }
        lock::Event::Queued { waiter, wait, until, .. } => {
            format!("{line} by {waiter} call={wait} until {}", until.0)
        }
        lock::Event::GaveUp { waiter, wait, left, .. } => {
            format!("{line} by {waiter} call={wait} {left:?}")
        }
        lock::Event::Renewed { ttl_ms, .. } => format!("{line} ttl={ttl_ms}"),
        lock::Event::Released { token, .. }
        | lock::Event::Expired { token, .. }
        | lock::Event::Dropped { token, .. } => format!("{line} token={token}"),
    }
}

fn rendered_task(event: &task::Event) -> String {
    let [_, name, ..] = event.subject_parts();
    let line = format!("{} {name}", event.kind());
    let said = |text: &Option<String>| text.as_ref().map_or(String::new(), |it| format!(" ({it})"));
    match event {
        task::Event::Created(created) => {
            let rest = if created.ready { " ready" } else { "" };
            format!("{line} {}{rest}", created.task_type)
        }
        task::Event::Claimed { holder, token, wait, .. } => {
            let call = wait.map_or(String::new(), |wait| format!(" call={wait}"));
            format!("{line} by {holder} token={token}{call}")
        }
        task::Event::Queued { wait, until, .. } => format!("{line} call={wait} until {}", until.0),
        task::Event::GaveUp { wait, left, .. } => format!("{line} call={wait} {left:?}"),
        task::Event::Offered { handoff, .. }
        | task::Event::Abandoned { handoff, .. }
        | task::Event::TakenBack { handoff, .. } => {
            format!("{line} by {handoff}")
        }
        task::Event::HandedOver { handoff, holder, token, .. } => {
            format!("{line} to {holder} by {handoff} token={token}")
        }
        task::Event::HandedOff { handoff, to, returns, .. } => {
            let back = returns.to.as_ref().map_or("a person", |agent| agent.as_str());
            format!("{line} to {to} by {handoff}, at {} back to {back}", returns.at.0)
        }
        task::Event::Renewed { lease_ms, .. } => format!("{line} lease={lease_ms}"),
        task::Event::Progressed { fraction, note, .. } => {
            format!("{line} {fraction}{}", said(note))
        }
        task::Event::Released { reason, .. }
        | task::Event::Cancelled { reason, .. }
        | task::Event::Retried { reason, .. } => {
            format!("{line}{}", said(reason))
        }
        task::Event::Failed { error, outcome, .. } => {
            let outcome = match outcome {
                Outcome::Retry { not_before: None } => "again".to_owned(),
                Outcome::Retry { not_before: Some(moment) } => format!("again at {}", moment.0),
                Outcome::Failed => "for good".to_owned(),
                Outcome::Review => "for review".to_owned(),
                Outcome::Reassigned { to } => format!("to {to}"),
            };
            format!("{line} {} {outcome}", brief(error))
        }
        task::Event::Reviewed { verdict, note, .. } => format!("{line} {verdict:?}{}", said(note)),
        task::Event::Updated { .. }
        | task::Event::Ready { .. }
        | task::Event::Submitted { .. }
        | task::Event::Completed { .. } => line,
    }
}

fn shown_task(reply: &task::Reply) -> String {
    match reply {
        task::Reply::Task(task) => shown_one_task(task),
        task::Reply::Claimed(task) => task.as_deref().map_or("null".into(), shown_one_task),
        task::Reply::ClaimedTasks { tasks } => {
            let tasks: Vec<String> = tasks.iter().map(shown_one_task).collect();
            format!("[{}]", tasks.join(", "))
        }
        task::Reply::Completed { task, next } => {
            let next = next.as_deref().map_or("nothing".into(), shown_one_task);
            format!("{}, then {next}", shown_one_task(task))
        }
        task::Reply::Tasks { tasks, cursor } => {
            let names: Vec<&str> = tasks.iter().map(|task| task.id.as_str()).collect();
            let next = cursor.as_ref().map_or(String::new(), |cursor| format!(" next={cursor}"));
            format!("[{}]{next}", names.join(", "))
        }
        task::Reply::Stats(found) => {
            let task::Counts { pending, ready, delayed, blocked, .. } = found.tasks;
            let task::Counts { in_progress, waiting_review, completed, failed, cancelled, .. } =
                found.tasks;
            format!(
                "pending={pending} ready={ready} delayed={delayed} blocked={blocked} \
                 working={in_progress} review={waiting_review} done={completed} \
                 failed={failed} cancelled={cancelled} claims={}",
                found.claims_waiting
            )
        }
        task::Reply::Why(why) => why.sentence.clone(),
        task::Reply::History { .. } => format!("{reply:?}"),
    }
}

fn shown_one_task(task: &task::Task) -> String {
    let mut line = format!("{} {}", task.id, task.status.word());
    if let Some(lease) = &task.lease {
        write!(line, " by {} token={} until {}", lease.holder, lease.token, lease.expires_at.0)
            .unwrap();
    }
    if let Some(agent) = &task.assigned_agent {
        write!(line, " for {agent}").unwrap();
    }
    if !task.waiting_for.is_empty() {
        write!(line, " after {:?}", task.waiting_for).unwrap();
    }
    if task.attempts > 0 {
        write!(line, " attempts={} retries={}", task.attempts, task.retries).unwrap();
    }
    for (name, value) in [("result", &task.result), ("error", &task.error)] {
        if let Some(value) = value {
            write!(line, " {name}={}", brief(value)).unwrap();
        }
    }
    line
}

fn shown_lock(reply: &lock::Reply) -> String {
    let held = |hold: &lock::Hold| {
        format!("{} by {} token={} until {}", hold.name, hold.holder, hold.token, hold.expires_at.0)
    };
    let whole = |lock: &lock::Lock| {
        let held = lock.hold.as_ref().map_or(format!("{} free", lock.name), held);
        let waiters: Vec<_> = lock.waiters.iter().map(|wait| wait.agent.as_str()).collect();
        format!("{held} line=[{}]", waiters.join(", "))
    };
    match reply {
        lock::Reply::Hold(hold) => hold.as_ref().map_or("null".into(), held),
        lock::Reply::Lock(lock) => whole(lock),
        lock::Reply::Locks { locks, deadlocks, cursor } => {
            let locks: Vec<_> = locks.iter().map(whole).collect();
            let cycle = |links: &Vec<lock::Link>| {
                let links = links.iter().map(|link| format!("{}>{}", link.agent, link.waits_for));
                links.collect::<Vec<_>>().join(" ")
            };
            let cycles: Vec<_> = deadlocks.iter().map(cycle).collect();
            let next = cursor.as_ref().map_or(String::new(), |cursor| format!(" next={cursor}"));
            format!("[{}] circles=[{}]{next}", locks.join("; "), cycles.join("; "))
        }
    }
}

fn rendered_semaphore(event: &semaphore::Event) -> String {
    let line = format!("{} {}", event.kind(), event.name());
    match event {
        semaphore::Event::Created { permits, .. } | semaphore::Event::Resized { permits, .. } => {
            format!("{line} permits={permits}")
        }
        semaphore::Event::Acquired { holder, token, wait, weight, .. } => {
            let call = wait.map_or(String::new(), |wait| format!(" call={wait}"));
            format!("{line} by {holder} token={token}{call}{}", weighing(*weight))
        }
        semaphore::Event::Queued { waiter, wait, until, weight, .. } => {
            format!("{line} by {waiter} call={wait} until {}{}", until.0, weighing(*weight))
        }
        semaphore::Event::GaveUp { waiter, wait, left, .. } => {
            format!("{line} by {waiter} call={wait} {left:?}")
        }
        semaphore::Event::Renewed { token, ttl_ms, .. } => {
            format!("{line} token={token} ttl={ttl_ms}")
        }
        semaphore::Event::Released { token, .. }
        | semaphore::Event::Expired { token, .. }
        | semaphore::Event::Dropped { token, .. } => format!("{line} token={token}"),
        semaphore::Event::Forgotten { .. } => line,
    }
}

/// A weight, if it is not the usual one.
fn weighing(weight: u64) -> String {
    if weight == 1 { String::new() } else { format!(" weight={weight}") }
}

fn shown_semaphore(reply: &semaphore::Reply) -> String {
    let held = |permit: &semaphore::Permit| {
        let semaphore::Permit { name, holder, token, expires_at, weight, .. } = permit;
        let weight = weighing(*weight);
        format!("{name} by {holder} token={token} until {}{weight}", expires_at.0)
    };
    let whole = |semaphore: &semaphore::Semaphore| {
        let semaphore::Semaphore { name, permits, free, holders, waiters } = semaphore;
        let holder = |permit: &semaphore::Permit| {
            format!("{}={}{}", permit.holder, permit.token, weighing(permit.weight))
        };
        let waiter =
            |wait: &semaphore::PermitWait| format!("{}{}", wait.agent, weighing(wait.weight));
        let holders: Vec<_> = holders.iter().map(holder).collect();
        let waiters: Vec<_> = waiters.iter().map(waiter).collect();
        let (holders, waiters) = (holders.join(", "), waiters.join(", "));
        format!("{name} {free}/{permits} held=[{holders}] line=[{waiters}]")
    };
    match reply {
        semaphore::Reply::Permit(permit) => permit.as_ref().map_or("null".into(), held),
        semaphore::Reply::Semaphore(semaphore) => whole(semaphore),
        semaphore::Reply::Semaphores { semaphores, cursor } => {
            let semaphores: Vec<_> = semaphores.iter().map(whole).collect();
            let next = cursor.as_ref().map_or(String::new(), |cursor| format!(" next={cursor}"));
            format!("[{}]{next}", semaphores.join("; "))
        }
    }
}

fn rendered_barrier(event: &barrier::Event) -> String {
    let line = format!("{} {}", event.kind(), event.name());
    match event {
        barrier::Event::Arrived { party, generation, count, wait, until, .. } => {
            let call = wait.zip(*until);
            let call = call
                .map_or(String::new(), |(wait, until)| format!(" call={wait} until {}", until.0));
            format!("{line} g{generation} by {party} count={count}{call}")
        }
        barrier::Event::Passed { party, generation, wait, .. } => {
            format!("{line} g{generation} by {party} call={wait}")
        }
        barrier::Event::Withdrawn { party, generation, wait, left, .. } => {
            let call = wait.map_or(String::new(), |wait| format!(" call={wait}"));
            let left = left.map_or(String::new(), |left| format!(" {left:?}"));
            format!("{line} g{generation} by {party}{call}{left}")
        }
        barrier::Event::Opened { generation, .. }
        | barrier::Event::Reset { generation, .. }
        | barrier::Event::Forgotten { generation, .. } => format!("{line} g{generation}"),
    }
}

fn shown_barrier(reply: &barrier::Reply) -> String {
    match reply {
        barrier::Reply::Arrival(arrival) => {
            let barrier::Arrival { name, generation, opened, arrived, count } = arrival;
            let opened = if *opened { "open" } else { "closed" };
            format!("{name} g{generation} {opened} {arrived}/{count}")
        }
        barrier::Reply::Barrier(barrier) => {
            let barrier::Barrier { name, generation, count, arrived, waiting } = barrier;
            let arrived: Vec<_> = arrived.iter().map(ToString::to_string).collect();
            let count = count.map_or("?".into(), |count| count.to_string());
            format!("{name} g{generation} of {count} [{}] waiting={waiting}", arrived.join(", "))
        }
    }
}

pub(super) fn brief(value: &Json) -> String {
    let text = contents::shortened(value.as_str());
    if text.len() > 80 { format!("{} bytes", text.len()) } else { text }
}

/// A reply in one line.
pub(super) fn shown(reply: &Reply) -> String {
    let page = |names: Vec<String>, cursor: Option<String>| {
        let next = cursor.map_or(String::new(), |cursor| format!(" next={cursor}"));
        format!("[{}]{next}", names.join(", "))
    };
    match reply {
        Reply::State(state::Reply::Entry(entry)) => shown_entry(entry),
        Reply::State(state::Reply::Entries(found)) => {
            let name = |entry: &Entry| format!("{}/{}", entry.namespace(), entry.key());
            page(found.entries.iter().map(name).collect(), found.cursor.clone())
        }
        Reply::State(state::Reply::Moved { keys }) => format!("moved {keys:?}"),
        Reply::State(reply) => format!("{reply:?}"),
        Reply::Namespace(namespace::Reply::Namespace(found)) => {
            format!("namespace {} by {} r{}", found.name, found.created_by, found.revision)
        }
        Reply::Namespace(namespace::Reply::Namespaces { namespaces, cursor }) => {
            let names = namespaces.iter().map(|found| found.name.to_string());
            page(names.collect(), cursor.as_ref().map(ToString::to_string))
        }
        Reply::Agent(agent::Reply::Agent(found)) => {
            let agent::Agent { id, status, token, last_seen_at, .. } = found;
            format!("{id} {} token={token} seen={}", status.word(), last_seen_at.0)
        }
        Reply::Agent(agent::Reply::Agents { agents, cursor }) => {
            let names = agents.iter().map(|found| found.id.to_string());
            page(names.collect(), cursor.as_ref().map(ToString::to_string))
        }
        Reply::Message(reply) => messaging::shown_message(reply),
        Reply::Topic(reply) => messaging::shown_topic(reply),
        Reply::Stream(reply) => messaging::shown_stream(reply),
        Reply::Contract(reply) => serde_json::to_string(reply).unwrap(),
        Reply::Context(reply) => serde_json::to_string(reply).unwrap(),
        Reply::Rule(rule::Reply::Rule(found)) => {
            format!("rule {} by {} r{}", found.name, found.added_by, found.revision)
        }
        Reply::Rule(rule::Reply::Rules { rules, cursor }) => {
            let names = rules.iter().map(|found| found.name.to_string());
            page(names.collect(), cursor.as_ref().map(ToString::to_string))
        }
        Reply::UserEvent(reply) => serde_json::to_string(reply).unwrap(),
        Reply::Reaction(reply) => reactions::shown(reply),
        Reply::Lock(reply) => shown_lock(reply),
        Reply::Semaphore(reply) => shown_semaphore(reply),
        Reply::Barrier(reply) => shown_barrier(reply),
        Reply::Spend(reply) => spending::shown(reply),
        Reply::Join(reply) => joins::shown(reply),
        Reply::Wait(reply) => waits::shown(reply),
        Reply::Checkpoint(reply) => checkpoints::shown(reply),
        Reply::Artifact(reply) => contents::shown_artifact(reply),
        Reply::Secret(reply) => contents::shown_secret(reply),
        Reply::Handoff(reply) => shown_handoff(reply),
        Reply::Task(reply) => shown_task(reply),
        Reply::Pipeline(reply) => shown_pipeline(reply),
        Reply::Workspace(reply) => shown_workspace(reply),
        Reply::Minimal(reply) => serde_json::to_string(reply).unwrap(),
        Reply::Transaction(replies) => replies.iter().map(shown).collect::<Vec<_>>().join("; "),
    }
}

fn rendered_workspace(kind: &str, event: &workspace::Event) -> String {
    match event {
        workspace::Event::Configured { retention } => {
            let workspace::Retention { history_count, history_age_ms } = retention;
            format!("{kind} count={history_count} age={history_age_ms}")
        }
        workspace::Event::Founded { origin } => {
            format!("{kind} {}@{} by {}", origin.workspace, origin.revision, origin.by)
        }
        workspace::Event::Synced(synced) => format!("{kind} {}", synced.copy),
    }
}

fn shown_workspace(reply: &workspace::Reply) -> String {
    let workspace::Reply::Workspace { retention, entries, namespaces, agents, origin } = reply
    else {
        unreachable!("the rules do not answer with {reply:?}")
    };
    let workspace::Retention { history_count, history_age_ms } = retention;
    let origin = origin.as_ref().map(|it| format!(" from {}@{}", it.workspace, it.revision));
    format!(
        "count={history_count} age={history_age_ms} entries={entries} namespaces={namespaces} \
         agents={agents}{}",
        origin.unwrap_or_default()
    )
}

fn shown_entry(entry: &Entry) -> String {
    let mut line = format!(
        "{}/{} v{} = {} r{} at {} by {}",
        entry.namespace(),
        entry.key(),
        entry.version(),
        brief(&entry.json()),
        entry.revision(),
        entry.updated_at().0,
        entry.updated_by()
    );
    if let Some(moment) = entry.expires_at() {
        write!(line, " until {}", moment.0).unwrap();
    }
    if entry.is_ephemeral() {
        line.push_str(" ephemeral");
    }
    for warning in entry.warnings() {
        write!(line, " warning {}", warning.code).unwrap();
    }
    line
}

//! Gauges of a workspace, for monitoring.
//!
//! | counted | by |
//! |---|---|
//! | tasks, messages, hand-offs, agents | status |
//! | locks, semaphores, barriers, joins, streams | what is held, and what waits |
//! | reactions | runs, failures, and how many are disabled |
//! | the rest | number |
//!
//! 1. A sample has a name and at most one label, and the labels are those below: no id, name or
//!    text of a caller ever becomes one, so that their number is bounded.
//! 2. Every workspace has the same samples in the same order, so that they can be added up.
//!
//! Deliberately absent: numbers by workspace. Those are queried from the workspace.

use crate::agent;
use crate::handoff::{self, List};
use crate::message;
use crate::primitive::Table;
use crate::space::Space;
use crate::spending::{Payer, Unit};

/// A metric family.
#[derive(Debug, PartialEq, Eq)]
pub struct Family {
    /// Its name.
    pub name: &'static str,
    /// The name of its label; none if it has none.
    pub label: Option<&'static str>,
    /// Its help text.
    pub help: &'static str,
}

/// A sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// The family.
    pub family: &'static Family,
    /// The value of its label; empty if it has none.
    pub label: &'static str,
    /// The value.
    pub value: u64,
}

const fn family(name: &'static str, label: Option<&'static str>, help: &'static str) -> Family {
    Family { name, label, help }
}

static ENTRIES: Family = family("baton_state_entries", None, "Entries of shared state.");
static STATE_BYTES: Family = family("baton_state_bytes", None, "Bytes of shared state in memory.");
static NAMESPACES: Family = family("baton_namespaces", None, "Namespaces.");
static AGENTS: Family =
    family("baton_agents", Some("status"), "Agents by status of their session.");
static TASKS: Family = family("baton_tasks", Some("status"), "Tasks by status.");
static CLAIMS: Family = family("baton_task_claims_waiting", None, "Waiting claims.");
static HANDOFFS: Family = family("baton_handoffs", Some("status"), "Hand-offs by status.");
static MESSAGES: Family = family("baton_messages", Some("status"), "Messages by status.");
static HELD: Family = family("baton_held", Some("kind"), "Locks and permits that are held.");
static WAITING: Family = family("baton_waiting", Some("kind"), "Waiting calls by primitive.");
static THINGS: Family = family("baton_objects", Some("kind"), "Other objects by kind.");
static ARTIFACT_BYTES: Family = family("baton_artifact_bytes", None, "Bytes of artifacts.");
static REACTIONS: Family =
    family("baton_reactions", Some("state"), "Reactions, enabled or disabled by an agent.");
static REACTION_RUNS: Family =
    family("baton_reaction_runs", Some("outcome"), "Runs of the existing reactions by outcome.");
static SPENT: Family =
    family("baton_spend_total", Some("unit"), "Tokens, money in millionths, and calls spent.");
static SPEND_EXHAUSTED: Family =
    family("baton_spend_budgets_exhausted", None, "Budgets that are used up.");
static CALLS: Family =
    family("baton_webhook_calls_waiting", None, "Webhook calls that are not answered yet.");

impl Space {
    /// All gauges.
    pub fn gauges(&self) -> Vec<Sample> {
        let mut samples = Vec::with_capacity(64);
        let mut record = |family: &'static Family, label: &'static str, value: u64| {
            samples.push(Sample { family, label, value });
        };
        let entries: usize = self.state.namespaces().map(|(_, entries)| entries.len()).sum();
        record(&ENTRIES, "", entries as u64);
        record(&STATE_BYTES, "", self.state.bytes() as u64);
        record(&NAMESPACES, "", self.namespace.len() as u64);
        self.count_work(&mut record);
        self.count_talk(&mut record);
        self.count_waits(&mut record);
        self.count_reactions(&mut record);
        for (kind, count) in [
            ("streams", self.stream.len()),
            ("semaphores", self.semaphore.len()),
            ("barriers", self.barrier.len()),
            ("checkpoints", self.checkpoint.len()),
            ("artifacts", self.artifact.len()),
            ("secrets", self.secret.len()),
            ("rules", self.rule.len()),
            ("contracts", self.contract.len()),
        ] {
            record(&THINGS, kind, count as u64);
        }
        record(&ARTIFACT_BYTES, "", self.artifact.bytes());
        let spent = self.spend.account(Payer::Workspace).spent;
        for unit in Unit::ALL {
            record(&SPENT, unit.word(), spent.in_unit(unit));
        }
        record(&SPEND_EXHAUSTED, "", self.spend.used_up_now() as u64);
        samples
    }

    fn count_work(&self, record: &mut impl FnMut(&'static Family, &'static str, u64)) {
        let statistics = self.task.statistics(None);
        let counts = &statistics.tasks;
        for (status, count) in [
            ("ready", counts.ready),
            ("delayed", counts.delayed),
            ("blocked", counts.blocked),
            ("in_progress", counts.in_progress),
            ("handed_off", counts.handed_off),
            ("waiting_review", counts.waiting_review),
            ("completed", counts.completed),
            ("failed", counts.failed),
            ("cancelled", counts.cancelled),
        ] {
            record(&TASKS, status, count);
        }
        record(&CLAIMS, "", statistics.claims_waiting);
        let mut by_status = [0; HANDOFF_STATUSES.len()];
        for handoff in self.handoff.after(&List::default()) {
            by_status[handoff_index(handoff.status)] += 1;
        }
        for (status, count) in HANDOFF_STATUSES.into_iter().zip(by_status) {
            record(&HANDOFFS, status, count);
        }
    }

    fn count_talk(&self, record: &mut impl FnMut(&'static Family, &'static str, u64)) {
        let [mut active, mut left, mut lost] = [0; 3];
        for agent in self.agent.after(None) {
            match agent.status {
                agent::Status::Active => active += 1,
                agent::Status::Left => left += 1,
                agent::Status::Lost => lost += 1,
            }
        }
        for (status, count) in [("active", active), ("left", left), ("lost", lost)] {
            record(&AGENTS, status, count);
        }
        let [mut waiting, mut delivered, mut dead, mut ended] = [0; 4];
        for message in self.message.store().all() {
            match message.status {
                message::Status::Waiting => waiting += 1,
                message::Status::Delivered => delivered += 1,
                message::Status::Dead => dead += 1,
                message::Status::Acked
                | message::Status::Replied
                | message::Status::Expired
                | message::Status::TimedOut
                | message::Status::Lost => ended += 1,
            }
        }
        let counts =
            [("waiting", waiting), ("delivered", delivered), ("dead", dead), ("ended", ended)];
        for (status, count) in counts {
            record(&MESSAGES, status, count);
        }
    }

    fn count_waits(&self, record: &mut impl FnMut(&'static Family, &'static str, u64)) {
        record(&HELD, "locks", self.lock.holds().len() as u64);
        record(&HELD, "permits", self.semaphore.holds().len() as u64);
        for (kind, count) in [
            ("lock", self.lock.holds().waits().all().len()),
            ("semaphore", self.semaphore.holds().waits().all().len()),
            ("barrier", self.barrier.waits().len()),
            ("join", self.join.waits().len()),
            ("handoff", self.handoff.waits().len()),
            ("message", self.message.wait_ids().count()),
            ("status", self.wait.waits().len()),
        ] {
            record(&WAITING, kind, count as u64);
        }
    }

    fn count_reactions(&self, record: &mut impl FnMut(&'static Family, &'static str, u64)) {
        let [mut enabled, mut disabled, mut runs, mut failures] = [0; 4];
        for record in self.reaction.after(None) {
            // Every workspace has the built-in ones, which are disabled until they are wanted.
            if record.enabled {
                enabled += 1;
            } else if !record.built_in {
                disabled += 1;
            }
            runs += record.runs;
            failures += record.failures;
        }
        record(&REACTIONS, "enabled", enabled);
        record(&REACTIONS, "disabled", disabled);
        record(&REACTION_RUNS, "run", runs);
        record(&REACTION_RUNS, "failed", failures);
        record(&CALLS, "", self.reaction.waiting().0 as u64);
    }
}

const HANDOFF_STATUSES: [&str; 9] = [
    "offered",
    "approved",
    "delivered",
    "accepted",
    "rejected",
    "expired",
    "cancelled",
    "completed",
    "failed",
];

fn handoff_index(status: handoff::Status) -> usize {
    match status {
        handoff::Status::Offered => 0,
        handoff::Status::Approved => 1,
        handoff::Status::Delivered => 2,
        handoff::Status::Accepted => 3,
        handoff::Status::Rejected => 4,
        handoff::Status::Expired => 5,
        handoff::Status::Cancelled => 6,
        handoff::Status::Completed => 7,
        handoff::Status::Failed => 8,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_has_one_result() {
        let samples = Space::default().gauges();
        let mut names: Vec<_> =
            samples.iter().map(|sample| (sample.family.name, sample.label)).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
        for sample in samples {
            assert_eq!(sample.label.is_empty(), sample.family.label.is_none(), "{sample:?}");
            assert!(sample.family.help.ends_with('.'), "{sample:?}");
        }
    }
}

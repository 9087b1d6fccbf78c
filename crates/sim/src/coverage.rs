//! Coverage: rare events that a good run has reached, counted by name.
//!
//! A simulator that reaches nothing rare finds nothing. So every rare event that the scripts aim at
//! is on one list, and a long run that never reached one of them fails like any other.

use std::collections::BTreeMap;

use baton_core::waiting::wait::Left;

/// Everything that a long run must have met.
pub const SOMETIMES: [&str; 210] = [
    "answer: version conflict",
    "answer: idempotent replay",
    "answer: idempotent replay of what was loaded",
    "answer: idempotency key reused",
    "answer: stale token refused",
    "answer: precondition failed",
    "answer: transaction undone",
    "answer: minimal",
    "answer: several tasks claimed",
    "answer: received with a reply",
    "answer: history removed",
    "answer: past of what is not state",
    "answer: granted after a wait",
    "answer: wait timed out",
    "answer: session ended while it waited",
    "answer: reset while it waited",
    "answer: stale hold refused",
    "answer: stale lease refused",
    "answer: stale permit refused",
    "answer: weight refused",
    "batch: heavy waiter was not overtaken",
    "batch: semaphore made larger",
    "batch: larger semaphore granted",
    "batch: departure from a queue granted",
    "batch: semaphore made smaller than its holders",
    "answer: stale save refused",
    "answer: stale fence refused",
    "answer: another agent's token refused",
    "answer: written under a live token",
    "artifact: again",
    "artifact: deleted",
    "artifact: expired",
    "artifact: released",
    "artifact: referenced by a message",
    "artifact: put",
    "barrier: arrival withdrawn",
    "barrier: opened",
    "barrier: reset",
    "batch: agent lost with ephemeral entries",
    "batch: agent lost with its supervisor",
    "batch: entry expired",
    "batch: handed over to the first in line",
    "batch: hold dropped with its session",
    "batch: hold expired",
    "batch: namespace deleted with entries",
    "batch: transfer",
    "capture: finished",
    "capture: interleaved with writes",
    "capture: namespace deleted meanwhile",
    "capture: given up",
    "checkpoint: branched",
    "checkpoint: copied",
    "checkpoint: forked",
    "checkpoint: pruned",
    "checkpoint: pruned by age",
    "checkpoint: pruned by count",
    "checkpoint: replaced",
    "checkpoint: restored",
    "checkpoint: saved",
    "checkpoint: write replaced",
    "checkpoint: written",
    "contract: broken",
    "contract: deleted",
    "contract: not the owner",
    "contract: refused",
    "fault: disk full",
    "fault: failed sync or write",
    "fault: power cut between steps",
    "fault: power cut within a step",
    "fault: process killed",
    "fault: error while opening",
    "fault: flipped bit refused",
    "fault: clock set back",
    "fork: continued",
    "fork: deleted",
    "fork: deleted before",
    "fork: made",
    "fork: name taken",
    "fork: replaces a deleted one",
    "handoff: accepted by capability",
    "handoff: accepted too late",
    "handoff: accepted with a task",
    "handoff: accepted with an approval",
    "handoff: accepted without a task",
    "handoff: approved",
    "handoff: approved again",
    "handoff: cancelled with its task",
    "handoff: delivered again",
    "handoff: delivered to a waiting call",
    "handoff: executed",
    "handoff: expired",
    "handoff: forbidden by a rule",
    "handoff: loop detected",
    "handoff: its receiver was lost",
    "handoff: not answered",
    "handoff: not what was approved",
    "handoff: offered",
    "handoff: offered twice",
    "handoff: offered with a stale token",
    "handoff: refused to the wrong agent",
    "handoff: refused without an approval",
    "handoff: rejected",
    "handoff: state conflict",
    "handoff: between stages",
    "handoff: imported",
    "handoff: state moved",
    "handoff: state copied",
    "handoff: state selected by a pattern",
    "handoff: everything handed over",
    "handoff: two approvals",
    "handoff: cancelled",
    "handoff: recorded as refused",
    "join: expired",
    "join: failed",
    "join: opened",
    "wait: status reached",
    "next: a hand-off came first",
    "next: a message came first",
    "next: a task came first",
    "keep: archived",
    "keep: evicted",
    "keep: folded",
    "keep: swept",
    "long: a reader had what was lost",
    "long: a request waited for it",
    "long: finished by a worker",
    "long: lost with a write",
    "long: read by a reader",
    "message: acknowledged",
    "message: answered",
    "message: answered too late",
    "message: answered twice",
    "message: a requester came back",
    "message: redelivered",
    "message: died",
    "message: expired",
    "message: handlers ended with a session",
    "message: its handler was lost",
    "message: no handler",
    "message: polled",
    "message: received by a waiting call",
    "message: requested",
    "message: timed out",
    "message: rerouted to another handler",
    "open: torn tail or lost cache",
    "open: unknown outcome was durable",
    "open: unknown outcome was lost",
    "pipeline: a task for each",
    "pipeline: abandoned",
    "pipeline: aborted",
    "pipeline: completed",
    "pipeline: completed by its tasks",
    "pipeline: failed",
    "pipeline: retried",
    "pipeline: reviewed",
    "pipeline: skipped",
    "reaction: call started",
    "reaction: call dead",
    "reaction: call done",
    "reaction: failed alone",
    "reaction: ran",
    "reaction: stopped",
    "rule: removed",
    "rule: replaced",
    "search: nothing",
    "search: something",
    "secret: expired",
    "secret: put",
    "secret: revealed",
    "spend: budget raised",
    "spend: recorded",
    "spend: start refused",
    "spend: strict record refused",
    "spend: used up",
    "stream: closed",
    "stream: oldest dropped",
    "stream: waiting call answered",
    "task: released with a lost one above it",
    "task: accepted",
    "task: abandoned while it was offered",
    "task: agent lost",
    "task: cancelled with another",
    "task: completed",
    "task: deadline passed",
    "task: failed for good",
    "task: given back to its giver",
    "task: hand-off loop",
    "task: lease expired",
    "task: not a reviewer",
    "task: own work refused",
    "task: reassigned",
    "task: reviewed",
    "task: not claimed after a hand-off",
    "task: restored",
    "task: retried",
    "task: retried by request",
    "task: submitted",
    "topic: posted",
    "wait: caller gone",
    "wait: longer than a session without heartbeats",
    "wait: caller disconnected",
    "wait: repeated under its key",
    "wait: session ended",
    "wait: answered by another queue",
    "wait: timed out",
    "wait: too heavy for a smaller semaphore",
    "wait: given up by a fresh server",
    "watch: lagged",
    "watch: resumed from a run",
    "watch: live message received",
];

/// The same where several servers share a log.
pub const SOMETIMES_SHARED: [&str; 14] = [
    "servers: answered after a takeover",
    "servers: cut off",
    "servers: database restarted",
    "servers: delayed append",
    "servers: drained",
    "servers: fenced append",
    "servers: fenced before it served",
    "servers: killed",
    "servers: late request",
    "servers: paused",
    "servers: taken over by another",
    "servers: turned away",
    "servers: unknown outcome",
    "servers: resolved append",
];

/// The same where several shards are placed among them, in addition.
pub const SOMETIMES_SHARDS: [&str; 4] =
    ["shards: given", "shards: joined again", "shards: left", "shards: taken again"];

/// The number of occurrences of each rare event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage(BTreeMap<&'static str, u64>);

impl Coverage {
    /// Counts an event.
    pub fn met(&mut self, event: &'static str) {
        let lists = [&SOMETIMES[..], &SOMETIMES_SHARED, &SOMETIMES_SHARDS];
        let is_listed = lists.iter().any(|list| list.contains(&event));
        assert!(is_listed, "`{event}` is not on the list");
        *self.0.entry(event).or_default() += 1;
    }

    /// Counts a call that stopped waiting, by its reason.
    pub fn left(&mut self, left: Left) {
        self.met(match left {
            Left::Timeout => "wait: timed out",
            Left::Gone => "wait: caller gone",
            Left::SessionEnded => "wait: session ended",
            Left::Elsewhere => "wait: answered by another queue",
            Left::TooHeavy => "wait: too heavy for a smaller semaphore",
        });
    }

    /// Adds the coverage of another seed.
    pub fn add(&mut self, other: &Self) {
        for (event, count) in &other.0 {
            *self.0.entry(event).or_default() += count;
        }
    }

    /// The number of occurrences of an event.
    pub fn count(&self, event: &str) -> u64 {
        self.0.get(event).copied().unwrap_or_default()
    }

    /// The events of a list that never occurred.
    pub fn missing(&self, events: &[&'static str]) -> Vec<&'static str> {
        events.iter().copied().filter(|event| self.count(event) == 0).collect()
    }
}

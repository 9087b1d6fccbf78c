//! Calls that wait for a status, according to the log.
//!
//! Laws:
//!
//! 1. No call waits for a status that the task or hand-off has, or after it has ended.
//! 2. A call is answered in the batch that reaches its status, with that status.

use std::collections::{BTreeMap, BTreeSet};

use baton_core::wait::{Command as WaitCommand, Event, Goal, Rejection, Reply as WaitReply};
use baton_core::waiting::wait::Left;
use baton_core::{
    AgentId, Answer, Batch, Event as AnyEvent, Rejection as AnyRejection, Reply, Timestamp,
    handoff, task,
};

use crate::auditor::answers::DecidedRequest;
use crate::auditor::explain::BatchReader;
use crate::auditor::ledger::Ledger;
use crate::auditor::{Audit, Breach, demand};
use crate::coverage::Coverage;
use crate::models::task::is_over;
use crate::models::wait::WaitEnd;

/// The status of a task or a hand-off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Status {
    Task(Option<task::Status>),
    Handoff(Option<handoff::Status>),
}

/// The calls that wait for a status.
#[derive(Default)]
pub struct StatusWaits {
    open: BTreeMap<u64, (AgentId, Goal)>,
    /// The status with which each call was answered.
    answered: BTreeMap<u64, Status>,
}

/// Whether a call returns at this status. A wait for an object that does not exist returns.
fn returns(goal: &Goal, status: Status) -> bool {
    match (goal, status) {
        (Goal::Task { statuses, .. }, Status::Task(Some(now))) => {
            is_over(now) || statuses.contains(&now)
        }
        (Goal::Handoff { statuses, .. }, Status::Handoff(Some(now))) => {
            now.is_finished() || statuses.contains(&now)
        }
        _ => false,
    }
}

/// The status that a command waits for, and until when.
fn wanted(command: &WaitCommand, now: Timestamp) -> Option<(Goal, Option<Timestamp>)> {
    let until = |wait_ms: &Option<u64>| wait_ms.map(|wait_ms| now.after(wait_ms));
    match command {
        WaitCommand::Task { task, statuses, wait_ms } => {
            let statuses = statuses.clone().unwrap_or_default();
            Some((Goal::Task { id: task.clone(), statuses }, until(wait_ms)))
        }
        WaitCommand::Handoff { handoff, statuses, wait_ms } => {
            let statuses = statuses.clone().unwrap_or_default();
            Some((Goal::Handoff { id: handoff.clone(), statuses }, until(wait_ms)))
        }
        WaitCommand::Next(_) => None,
    }
}

impl Ledger {
    fn status_of(&self, goal: &Goal, at: u64) -> Status {
        match goal {
            Goal::Task { id, .. } => Status::Task(self.tasks.at(id, at).map(|work| work.status)),
            Goal::Handoff { id, .. } => {
                Status::Handoff(self.handoffs.at(id, at).map(|deal| deal.handoff.status))
            }
        }
    }

    pub(crate) fn add_wait(
        &mut self,
        batch: &Batch,
        event: &Event,
        ended: &BTreeSet<AgentId>,
        coverage: &mut Coverage,
    ) -> Audit {
        match event {
            Event::Queued { wait, waiter, until, goal } => {
                let status = self.status_of(goal, u64::MAX);
                demand!(!returns(goal, status), "`{waiter}` waits for {goal:?}, it is {status:?}");
                self.waits.begin(batch, waiter, *wait, *until)?;
                self.waits.statuses.open.insert(wait.0, (waiter.clone(), goal.clone()));
            }
            Event::Answered { wait, waiter, goal } => {
                let status = self.status_of(goal, u64::MAX);
                demand!(returns(goal, status), "`{waiter}` wants {goal:?}, it is {status:?}");
                self.waits.notified(batch, *wait, waiter)?;
                self.waits.statuses.open.remove(&wait.0);
                self.waits.statuses.answered.insert(wait.0, status);
                coverage.met("wait: status reached");
            }
            Event::GaveUp { wait, waiter, left, .. } => {
                self.waits.left(batch, *wait, waiter, *left, ended)?;
                self.waits.statuses.open.remove(&wait.0);
                coverage.left(*left);
            }
        }
        Ok(())
    }

    /// A batch is complete: no call waits for a status that is reached, nor for an ended session.
    pub(crate) fn check_status_waits(&self, revision: u64, ended: &BTreeSet<AgentId>) -> Audit {
        for (wait, (agent, goal)) in &self.waits.statuses.open {
            let status = self.status_of(goal, u64::MAX);
            demand!(!returns(goal, status), "call {wait} waits for {goal:?}, it is {status:?}");
            demand!(
                *wait >= revision || !ended.contains(agent),
                "a session of `{agent}` ended, and call {wait} still waits"
            );
        }
        Ok(())
    }

    /// Checks an accepted wait without effect.
    pub(crate) fn wait_no_effect(
        &self,
        asked: &DecidedRequest<'_>,
        command: &WaitCommand,
        reply: &Reply,
    ) -> Audit {
        if let (WaitCommand::Next(next), Reply::Wait(WaitReply::Next(None))) = (command, reply) {
            return self.next_no_effect(asked, next);
        }
        let at = asked.decided_at;
        let Some((goal, until)) = wanted(command, Timestamp(0)) else {
            return Err(Breach("a client cannot request this".to_owned()));
        };
        let Reply::Wait(reply) = reply else {
            return Err(Breach(format!("{command:?} was answered with {reply:?}")));
        };
        let status = self.status_of(&goal, at);
        match shown(&goal, reply)? {
            Some(now) => demand!(now == status && returns(&goal, now), "it was {status:?}"),
            None => {
                let waits = until.is_some_and(|until| until > Timestamp(0));
                demand!(!waits && !returns(&goal, status), "it was {status:?}");
            }
        }
        Ok(())
    }

    /// Checks the answer to a call that waited for a status.
    pub(crate) fn status_wait_ended(
        &self,
        asked: &DecidedRequest<'_>,
        (wait, command): (u64, &WaitCommand),
        how: WaitEnd,
        outcome: &Result<Answer, AnyRejection>,
    ) -> Audit {
        let Some((goal, _)) = wanted(command, Timestamp(0)) else {
            return Err(Breach("a client cannot request this".to_owned()));
        };
        match (how, outcome.as_ref().map(|answer| &answer.reply)) {
            (WaitEnd::Granted, Ok(Reply::Wait(reply))) => {
                let (now, due) = (shown(&goal, reply)?, self.waits.statuses.answered.get(&wait));
                demand!(now.as_ref() == due, "{now:?} is shown, it was {due:?}");
            }
            (WaitEnd::Left(Left::Timeout), Ok(Reply::Wait(reply))) => {
                let now = shown(&goal, reply)?;
                demand!(now.is_none(), "the wait timed out, and {now:?} is shown");
            }
            (
                WaitEnd::Left(Left::SessionEnded),
                Err(AnyRejection::Wait(Rejection::SessionEnded { agent })),
            ) => demand!(agent == asked.agent, "the answer names the session of another agent"),
            (_, outcome) => return Err(Breach(format!("the answer is {outcome:?}"))),
        }
        Ok(())
    }
}

/// Checks a refused wait. An unknown task or hand-off is refused as by other commands.
pub(crate) fn refused_status_wait(rejection: &Rejection) -> Audit {
    match rejection {
        Rejection::OutOfRange(_) => Ok(()),
        Rejection::TooMany(_) | Rejection::SessionEnded { .. } => {
            let code = rejection.code();
            Err(Breach(format!("no request can cause `{code}`")))
        }
    }
}

/// The status in a reply; none if it was not reached.
fn shown(goal: &Goal, reply: &WaitReply) -> Audit<Option<Status>> {
    match (goal, reply) {
        (Goal::Task { .. }, WaitReply::Task(None))
        | (Goal::Handoff { .. }, WaitReply::Handoff(None)) => Ok(None),
        (Goal::Task { id, .. }, WaitReply::Task(Some(task))) if task.id == *id => {
            Ok(Some(Status::Task(Some(task.status))))
        }
        (Goal::Handoff { id, .. }, WaitReply::Handoff(Some(handoff))) if handoff.id == *id => {
            Ok(Some(Status::Handoff(Some(handoff.status))))
        }
        (goal, reply) => Err(Breach(format!("{goal:?} was answered with {reply:?}"))),
    }
}

impl BatchReader<'_> {
    /// The effect of a wait: it is queued.
    pub(crate) fn status_wait(&mut self, command: &WaitCommand) -> Audit {
        if let WaitCommand::Next(next) = command {
            return self.next_work(next);
        }
        let Some(expected) = wanted(command, self.batch.time) else {
            return Err(Breach("a client cannot request this".to_owned()));
        };
        if let Some(AnyEvent::Wait(Event::Queued { until, goal, .. })) = self.peek() {
            let queued = (goal.clone(), Some(*until));
            demand!(queued == expected, "{queued:?} is queued, not {expected:?}");
            self.skip();
        }
        Ok(())
    }
}

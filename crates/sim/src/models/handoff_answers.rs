//! Checks answers about hand-offs.

use std::collections::BTreeMap;

use baton_core::handoff::{self, Command as HandoffCommand, Rejection, Reply as HandoffReply};
use baton_core::handoff::{Handoff, List, Status};
use baton_core::refusal::BadField;
use baton_core::waiting::wait::Left;
use baton_core::{
    AgentId, Answer, Command, HandoffId, Json, NamespaceName, Rejection as AnyRejection, Reply,
    TaskId, Timestamp,
};

use crate::auditor::answers::DecidedRequest;
use crate::auditor::ledger::Ledger;
use crate::auditor::{Audit, Breach, demand};
use crate::coverage::Coverage;
use crate::models::handoff::{is_approved, is_open, may_approve};
use crate::models::lock::commands;
use crate::models::task_answers::same_lease;
use crate::models::wait::WaitEnd;

/// The default page size.
const PAGE_DEFAULT: u64 = 100;

impl Ledger {
    /// Checks that a hand-off is returned as it was.
    fn handoff_shown(&self, shown: &Handoff, at: u64) -> Audit {
        let there = self.handoffs.at(&shown.id, at).map(|deal| &deal.handoff);
        let plain = Handoff { steps: Vec::new(), ..shown.clone() };
        demand!(there == Some(&plain), "{shown:?} is shown, but it is {there:?}");
        demand!(!shown.steps.is_empty(), "`{}` has come to pass without a step", shown.id);
        Ok(())
    }

    /// The first hand-off that can be delivered to an agent at this time.
    pub(crate) fn first_for(&self, agent: &AgentId, now: Timestamp, at: u64) -> Option<&Handoff> {
        self.handoffs.all_at(at).find(|handoff| {
            is_open(handoff.status)
                && handoff.delivery.is_none()
                && is_approved(handoff, now)
                && self.is_for(handoff, agent, at)
        })
    }

    /// When a request was decided.
    fn decided_when(&self, asked: &DecidedRequest<'_>) -> Timestamp {
        let known = self.batch(asked.decided_at).map_or(Timestamp(0), |batch| batch.time);
        asked.asked_at.max(known)
    }

    /// Checks an accepted command without effect.
    pub(crate) fn handoff_no_effect(
        &self,
        asked: &DecidedRequest<'_>,
        command: &HandoffCommand,
        reply: &Reply,
    ) -> Audit {
        match (command, reply) {
            (HandoffCommand::Receive { wait_ms }, Reply::Handoff(HandoffReply::Received(None))) => {
                demand!(wait_ms.unwrap_or(0) == 0, "the request was to wait");
                let now = self.decided_when(asked);
                let first = self.first_for(asked.agent, now, asked.decided_at);
                demand!(first.is_none(), "there was {first:?} to receive");
                Ok(())
            }
            (
                HandoffCommand::Validate(_),
                Reply::Handoff(HandoffReply::Verdict { valid, errors, .. }),
            ) => {
                demand!(*valid == errors.is_empty(), "valid: {valid}, errors: {errors:?}");
                Ok(())
            }
            (
                HandoffCommand::ExecuteAll(_),
                Reply::Handoff(HandoffReply::Handoffs { handoffs, cursor: None }),
            ) => {
                let at = asked.decided_at;
                let held = self.tasks.held_by(asked.agent, at);
                let keys = self.keys_at(NamespaceName::of_agent(asked.agent).as_str(), at);
                let nothing = handoffs.is_empty() && held.is_empty() && keys.is_empty();
                demand!(nothing, "{handoffs:?} of {held:?} and {keys:?}");
                Ok(())
            }
            (command, reply) => Err(Breach(format!("{command:?} was answered with {reply:?}"))),
        }
    }

    /// Checks the answer to a command with an effect.
    pub(crate) fn handoff_reply(
        &self,
        command: &HandoffCommand,
        reply: &HandoffReply,
        at: u64,
    ) -> Audit {
        match (command, reply) {
            (HandoffCommand::Receive { .. }, HandoffReply::Received(Some(shown))) => {
                self.handoff_shown(shown, at)
            }
            (HandoffCommand::Accept(accept), HandoffReply::Accepted { handoff, task, values }) => {
                demand!(handoff.id == accept.handoff, "another hand-off is shown");
                self.handoff_shown(handoff, at)?;
                let shown = task.as_ref().map(|task| &task.id);
                demand!(shown == handoff.task.as_ref(), "another task is shown: {shown:?}");
                task.as_ref().map_or(Ok(()), |task| self.task_shown(task, at))?;
                self.values_shown(handoff, values, at - 1)
            }
            (
                HandoffCommand::Offer(_)
                | HandoffCommand::ImportContext(_)
                | HandoffCommand::Execute(_)
                | HandoffCommand::Reject { .. }
                | HandoffCommand::Complete(_)
                | HandoffCommand::Cancel { .. }
                | HandoffCommand::Approve { .. },
                HandoffReply::Handoff(shown),
            ) => self.handoff_shown(shown, at),
            (HandoffCommand::ExecuteAll(_), HandoffReply::Handoffs { handoffs, .. }) => {
                let made = self.handoffs.made_at(at);
                let same = handoffs.len() == made.len()
                    && handoffs.iter().all(|handoff| made.contains(&&handoff.id));
                demand!(same, "{made:?} were made, {handoffs:?} are shown");
                handoffs.iter().try_for_each(|handoff| self.handoff_shown(handoff, at))
            }
            (command, reply) => Err(Breach(format!("{command:?} was answered with {reply:?}"))),
        }
    }

    /// The receiver gets the values as they were right before.
    fn values_shown(&self, handoff: &Handoff, values: &BTreeMap<String, Json>, at: u64) -> Audit {
        let chosen = self.chosen(handoff, at);
        let there = chosen.iter().filter_map(|selected| {
            let entry = self.named(selected.name.as_str(), at)?;
            Some((selected.name.to_string(), entry.value.clone()))
        });
        let there: BTreeMap<String, Json> = there.collect();
        demand!(*values == there, "{values:?} went along, it was {there:?}");
        Ok(())
    }

    /// Checks the answer to a query about hand-offs.
    pub(crate) fn handoffs_shown(
        &self,
        query: &handoff::Query,
        reply: &HandoffReply,
        at: u64,
    ) -> Audit {
        match (query, reply) {
            (handoff::Query::Get { handoff }, HandoffReply::Handoff(shown)) => {
                demand!(shown.id == *handoff, "another hand-off is shown");
                self.handoff_shown(shown, at)
            }
            (handoff::Query::List(list), HandoffReply::Handoffs { handoffs, cursor }) => {
                self.handoffs_listed(list, handoffs, cursor.as_ref(), at)
            }
            (handoff::Query::History { task }, HandoffReply::Handoffs { handoffs, .. }) => {
                let list = List { task: Some(task.clone()), ..List::default() };
                self.handoffs_listed(&list, handoffs, None, at)
            }
            (handoff::Query::Export { handoff }, HandoffReply::Context(context)) => {
                let there = self.handoffs.at(handoff, at).map(|deal| &deal.handoff);
                let same = there.is_some_and(|there| there.state == context.state);
                demand!(same && context.handoff_id.as_ref() == Some(handoff), "{context:?}");
                Ok(())
            }
            (handoff::Query::Stats {}, HandoffReply::Stats(shown)) => {
                let count = |wanted: &dyn Fn(Status) -> bool| {
                    self.handoffs.all_at(at).filter(|handoff| wanted(handoff.status)).count() as u64
                };
                for (what, shown, there) in [
                    ("all", shown.count, count(&|_| true)),
                    ("open", shown.open, count(&is_open)),
                    ("accepted", shown.accepted, count(&|it| it == Status::Accepted)),
                    ("completed", shown.completed, count(&|it| it == Status::Completed)),
                    ("failed", shown.failed, count(&|it| it == Status::Failed)),
                    ("rejected", shown.rejected, count(&|it| it == Status::Rejected)),
                    ("expired", shown.expired, count(&|it| it == Status::Expired)),
                    ("cancelled", shown.cancelled, count(&|it| it == Status::Cancelled)),
                ] {
                    demand!(shown == there, "{shown} of {there} hand-offs are counted: {what}");
                }
                Ok(())
            }
            (query, reply) => Err(Breach(format!("{query:?} was answered with {reply:?}"))),
        }
    }

    fn handoffs_listed(
        &self,
        list: &List,
        shown: &[Handoff],
        cursor: Option<&HandoffId>,
        at: u64,
    ) -> Audit {
        let is_to = |handoff: &Handoff, agent: &AgentId| match &handoff.receiver {
            Some(receiver) => receiver == agent,
            None => self.is_for(handoff, agent, at),
        };
        let wanted = self.handoffs.all_at(at).filter(|handoff| {
            list.to.as_ref().is_none_or(|agent| is_to(handoff, agent))
                && list.from.as_ref().is_none_or(|agent| handoff.from == *agent)
                && list.task.as_ref().is_none_or(|task| handoff.task.as_ref() == Some(task))
                && list.status.is_none_or(|status| handoff.status == status)
                && list.cursor.as_ref().is_none_or(|cursor| handoff.id > *cursor)
        });
        let wanted: Vec<&HandoffId> = wanted.map(|handoff| &handoff.id).collect();
        let limit = usize::try_from(list.limit.unwrap_or(PAGE_DEFAULT)).unwrap_or(usize::MAX);
        let due = &wanted[..wanted.len().min(limit)];
        let same = shown.iter().map(|handoff| &handoff.id).eq(due.iter().copied());
        demand!(same, "{due:?} are due, {shown:?} are listed");
        let more = due.last().copied().filter(|_| due.len() < wanted.len());
        demand!(cursor == more, "the cursor of the list is {cursor:?}, not {more:?}");
        shown.iter().try_for_each(|handoff| self.handoff_shown(handoff, at))
    }

    /// Checks the answer to a call that waited for a hand-off.
    pub(crate) fn receive_ended(
        &self,
        asked: &DecidedRequest<'_>,
        (revision, how): (u64, WaitEnd),
        outcome: &Result<Answer, AnyRejection>,
    ) -> Audit {
        let reply = outcome.as_ref().map(|answer| &answer.reply);
        match (how, reply) {
            (WaitEnd::Granted, Ok(Reply::Handoff(HandoffReply::Received(Some(shown))))) => {
                let looks = shown.delivery.as_ref().map(|delivery| &delivery.receiver);
                demand!(looks == Some(asked.agent), "the answer says that {looks:?} has it");
                self.handoff_shown(shown, revision)
            }
            (WaitEnd::Left(Left::Timeout), Ok(Reply::Handoff(HandoffReply::Received(None)))) => {
                Ok(())
            }
            (
                WaitEnd::Left(Left::SessionEnded),
                Err(AnyRejection::Handoff(Rejection::SessionEnded { agent })),
            ) => {
                demand!(agent == asked.agent, "the answer names the session of another agent");
                Ok(())
            }
            (_, outcome) => Err(Breach(format!("the answer is {outcome:?}"))),
        }
    }
}

impl Ledger {
    /// Checks a refused command.
    pub(crate) fn refused_handoff(
        &self,
        asked: &DecidedRequest<'_>,
        rejection: &Rejection,
        coverage: &mut Coverage,
    ) -> Audit {
        let at = asked.decided_at;
        let known = |id: &HandoffId| self.known_handoff(id, at);
        match rejection {
            Rejection::NotFound { handoff } => {
                demand!(self.handoffs.at(handoff, at).is_none(), "`{handoff}` was there");
            }
            Rejection::UnknownTask { .. }
            | Rejection::NotHolder { .. }
            | Rejection::StaleToken { .. }
            | Rejection::AlreadyOffered { .. } => self.refused_offer(rejection, at, coverage)?,
            Rejection::Invalid { errors, .. } => {
                coverage.met("handoff: forbidden by a rule");
                let unknown = errors.iter().find(|found| !self.has_rule(&found.rule, at));
                demand!(!errors.is_empty() && unknown.is_none(), "{unknown:?} is no rule");
            }
            Rejection::Loop { found } => {
                coverage.met("handoff: loop detected");
                demand!(!found.trail.is_empty(), "{found:?} is no circle");
            }
            Rejection::NotReceiver { handoff, caller, .. } => {
                coverage.met("handoff: refused to the wrong agent");
                let there = known(handoff)?;
                let may = match commands(&asked.request.mutation).first() {
                    Some(Command::Handoff(HandoffCommand::Complete(_))) => {
                        there.receiver.as_ref() == Some(caller)
                    }
                    Some(Command::Handoff(HandoffCommand::Reject { .. })) => {
                        self.is_for(there, caller, at) || may_approve(there, caller)
                    }
                    _ => self.is_for(there, caller, at),
                };
                demand!(!may, "`{handoff}` is for `{caller}`");
            }
            Rejection::NotAllowed { handoff, caller, what } => {
                let there = known(handoff)?;
                let may = match *what {
                    "withdraw" => there.from == *caller,
                    _ => may_approve(there, caller),
                };
                demand!(!may, "`{caller}` may {what} `{handoff}`");
            }
            Rejection::WrongStatus { .. }
            | Rejection::NotApproved { .. }
            | Rejection::AlreadyApproved { .. }
            | Rejection::DigestMismatch { .. } => self.refused_now(asked, rejection, coverage)?,
            Rejection::StateConflict { entry, .. } => {
                coverage.met("handoff: state conflict");
                entry.as_ref().map_or(Ok(()), |entry| self.same_as_at(entry, at))?;
            }
            Rejection::BadField(BadField { field, .. }) => {
                let known = ["to", "token", "task", "approval", "keys"].contains(&field.as_ref());
                demand!(known, "no request had an invalid `{field}`");
            }
            Rejection::TooManyKeys { .. }
            | Rejection::OutOfRange(_)
            | Rejection::TooLarge(_)
            | Rejection::TooMany(_)
            | Rejection::RulesTooCostly(_)
            | Rejection::SessionEnded { .. } => {
                return Err(Breach(format!("no request can cause `{}`", rejection.code())));
            }
        }
        Ok(())
    }

    /// Checks an offer that was refused because its giver does not hold the task.
    fn refused_offer(&self, rejection: &Rejection, at: u64, coverage: &mut Coverage) -> Audit {
        let lease_of = |task: &TaskId| {
            let work = self.tasks.at(task, at);
            work.map(|work| work.lease.clone()).ok_or_else(|| Breach(format!("no task `{task}`")))
        };
        match rejection {
            Rejection::UnknownTask { task } => {
                demand!(self.tasks.at(task, at).is_none(), "`{task}` was there");
            }
            Rejection::NotHolder { task, giver, lease } => {
                let there = lease_of(task)?;
                let holds =
                    there.as_ref().is_some_and(|there| there.holder == *giver && !there.abandoned);
                let same = same_lease(there.as_ref(), lease.as_ref());
                demand!(!holds && same, "the lease of `{task}` is {there:?}");
            }
            Rejection::StaleToken { task, given, lease } => {
                coverage.met("handoff: offered with a stale token");
                let there = lease_of(task)?;
                let live = there.as_ref().is_some_and(|there| there.permits(*given));
                let same = same_lease(there.as_ref(), lease.as_ref());
                demand!(!live && same, "the lease of `{task}` is {there:?}");
            }
            Rejection::AlreadyOffered { task, open } => {
                coverage.met("handoff: offered twice");
                let there = lease_of(task)?.and_then(|there| there.handoff);
                demand!(there.as_ref() == Some(open), "`{task}` is offered by {there:?}");
            }
            _ => {}
        }
        Ok(())
    }

    fn known_handoff(&self, id: &HandoffId, at: u64) -> Audit<&Handoff> {
        let deal = self.handoffs.at(id, at).map(|deal| &deal.handoff);
        deal.ok_or_else(|| Breach(format!("there is no hand-off `{id}`")))
    }

    /// Checks a refusal of an action that was possible before, or may become possible.
    fn refused_now(
        &self,
        asked: &DecidedRequest<'_>,
        rejection: &Rejection,
        coverage: &mut Coverage,
    ) -> Audit {
        let (at, now) = (asked.decided_at, self.decided_when(asked));
        let known = |id: &HandoffId| self.known_handoff(id, at);
        match rejection {
            Rejection::WrongStatus { handoff, status, what, receiver } => {
                let there = known(handoff)?;
                let same = there.status == *status && there.receiver == *receiver;
                demand!(same, "the answer says that `{handoff}` is {status:?}, it is {there:?}");
                let may = match *what {
                    "accepted" => is_open(*status) && now < there.deadline,
                    "completed" => *status == Status::Accepted,
                    "approved" => is_open(*status) && there.approval.is_some(),
                    _ => is_open(*status),
                };
                demand!(!may, "`{handoff}` could be {what} at {now}: {there:?}");
                if *what == "accepted" {
                    coverage.met("handoff: accepted too late");
                }
            }
            Rejection::NotApproved { handoff, .. } => {
                coverage.met("handoff: refused without an approval");
                demand!(!is_approved(known(handoff)?, now), "`{handoff}` was approved");
            }
            Rejection::AlreadyApproved { handoff, by } => {
                coverage.met("handoff: two approvals");
                let there = known(handoff)?;
                let first = there.approval.as_ref().and_then(|it| it.approved_by.as_ref());
                demand!(first == Some(by) && is_approved(there, now), "it was by {first:?}");
            }
            Rejection::DigestMismatch { handoff, digest, given } => {
                coverage.met("handoff: not what was approved");
                let there = known(handoff)?;
                demand!(digest != given, "{digest} is not {given}");
                let deal = self.handoffs.at(handoff, at).map(|deal| &deal.seen);
                let changed = deal != Some(&self.seen(there, at));
                demand!(changed || *digest == there.digest, "nothing has changed");
            }
            _ => {}
        }
        Ok(())
    }
}

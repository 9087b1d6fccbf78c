//! Checks that batches about hand-offs are what was requested: all of it, with the keys and the
//! task, and nothing else.

use baton_core::handoff::{
    Accept, Complete, ExecuteAll, Handoff, Import, Offer, OnLoop, Receiver, Selected,
};
use baton_core::handoff::{Command as HandoffCommand, Event as HandoffEvent};
use baton_core::namespace::Event as NamespaceEvent;
use baton_core::primitive::Event as _;
use baton_core::state::Transfer;
use baton_core::task::{Cause, Event as TaskEvent};
use baton_core::{AgentId, Event, Key, NamespaceName, TaskId, Token};

use crate::auditor::answers::same_entry;
use crate::auditor::explain::BatchReader;
use crate::auditor::{Audit, Breach, demand};

/// The default deadline.
const DEADLINE_MS: u64 = 3_600_000;
/// The default time until redelivery.
const REDELIVER_MS: u64 = 60_000;

impl BatchReader<'_> {
    fn take_handoff(&mut self) -> Audit<&HandoffEvent> {
        match self.take()? {
            Event::Handoff(event) => Ok(event),
            other => Err(Breach(format!("a hand-off was due, not {}", other.kind()))),
        }
    }

    /// The next event must be this one of the hand-off's task.
    fn take_passed(&mut self, kind: &str, task: &TaskId) -> Audit<&TaskEvent> {
        match self.take()? {
            Event::Task(event) if event.kind() == kind && event.task() == Some(task) => Ok(event),
            other => Err(Breach(format!("{kind} of `{task}` was due, not {}", other.kind()))),
        }
    }

    /// The effects of a hand-off command.
    pub(crate) fn handoff(&mut self, command: &HandoffCommand) -> Audit {
        let before = self.batch.revision.0 - 1;
        match command {
            HandoffCommand::Offer(offer) => self.offer(offer)?,
            HandoffCommand::ImportContext(import) => {
                self.imported(import)?;
                self.offer(&import.as_ref().clone().offer())?;
            }
            HandoffCommand::Execute(offer) => self.execute(offer)?,
            HandoffCommand::ExecuteAll(all) => self.execute_all(all)?,
            HandoffCommand::Validate(_) => {}
            HandoffCommand::Receive { wait_ms } => self.receive(*wait_ms)?,
            HandoffCommand::Accept(accept) => self.accept(accept)?,
            HandoffCommand::Complete(complete) => self.complete_handoff(complete)?,
            HandoffCommand::Approve { handoff, digest, .. } => {
                let event = self.take_handoff()?;
                let HandoffEvent::Approved { handoff: named, digest: seen, .. } = event else {
                    return Err(Breach(format!("an approval was due, not {}", event.kind())));
                };
                let same = digest.as_ref().is_none_or(|digest| digest == seen);
                demand!(named == handoff && same, "something else was approved");
            }
            HandoffCommand::Reject { handoff, .. } | HandoffCommand::Cancel { handoff, .. } => {
                let rejects = matches!(command, HandoffCommand::Reject { .. });
                let kind = if rejects { "handoff.rejected" } else { "handoff.cancelled" };
                let event = self.take_handoff()?;
                let fits = event.kind() == kind && event.handoff() == Some(handoff);
                demand!(fits, "{kind} of `{handoff}` was due, not {event:?}");
                let deal = self.ledger.handoffs.at(handoff, before);
                let task = deal.and_then(|deal| deal.handoff.task.clone());
                if let Some(task) = task {
                    let work = self.ledger.tasks.at(&task, before);
                    let lease = work.and_then(|work| work.lease.as_ref());
                    let is_abandoned = lease.is_some_and(|lease| lease.abandoned);
                    let kind = if is_abandoned { "task.released" } else { "task.taken_back" };
                    self.take_passed(kind, &task)?;
                }
            }
        }
        self.follow_stages()
    }

    /// Checks that a hand-off is what its giver offered, and that the giver could offer it.
    fn check_offer(&self, offer: &Offer, handoff: &Handoff) -> Audit {
        let time = self.batch.time;
        let approval = handoff.approval.as_ref();
        let wanted = offer.approval.as_ref();
        let same = offer.task == handoff.task
            && offer.to == handoff.to
            && offer.notes == handoff.notes
            && offer.reason == handoff.reason
            && offer.state == handoff.state
            && offer.keys == handoff.keys
            && offer.copy == handoff.copy
            && offer.on_loop == handoff.on_loop
            && time.after(offer.deadline_ms.unwrap_or(DEADLINE_MS)) == handoff.deadline
            && offer.redeliver_ms.unwrap_or(REDELIVER_MS) == handoff.redeliver_ms
            && wanted.map(|it| (&it.by, it.expires_ms))
                == approval.map(|it| (&it.by, it.expires_ms));
        demand!(same, "{handoff:?} was proposed");
        let Some(task) = &handoff.task else { return Ok(()) };
        let work = self.ledger.tasks.at(task, self.batch.revision.0 - 1);
        let token: Option<Token> = work.and_then(|work| Some(work.lease.as_ref()?.token));
        demand!(offer.token == token, "token {:?} was shown, it is {token:?}", offer.token);
        Ok(())
    }

    fn offer(&mut self, offer: &Offer) -> Audit {
        match self.take_handoff()?.clone() {
            HandoffEvent::Offered(handoff) => {
                self.check_offer(offer, &handoff)?;
                let task = handoff.task.as_ref();
                task.map_or(Ok(()), |task| self.take_passed("task.offered", task).map(drop))
            }
            HandoffEvent::Refused(handoff) => {
                self.check_offer(offer, &handoff)?;
                let review = handoff.on_loop == Some(OnLoop::Review);
                demand!(review, "it must not be recorded");
                self.escalated(&handoff)
            }
            other => Err(Breach(format!("an offer was due, not {}", other.kind()))),
        }
    }

    /// A hand-off from another system is offered with its origin.
    fn imported(&self, import: &Import) -> Audit {
        let Some(Event::Handoff(HandoffEvent::Offered(handoff))) = self.peek() else {
            return Err(Breach("an offer was due".to_owned()));
        };
        let context = &import.context;
        let notes = handoff.notes.as_ref().map_or("", |notes| notes.as_str());
        let is_named = |name: &Option<String>| {
            name.as_ref().is_none_or(|name| notes.contains(&format!("\"{name}\"")))
        };
        let same = handoff.state == context.state
            && handoff.output_keys == context.output_keys
            && handoff.task.is_none()
            && is_named(&context.originating_agent)
            && is_named(&context.originating_task_id);
        demand!(same, "{handoff:?} was made of {context:?}");
        Ok(())
    }

    fn execute(&mut self, offer: &Offer) -> Audit {
        match self.take_handoff()?.clone() {
            HandoffEvent::Executed(handoff) => {
                self.check_offer(offer, &handoff)?;
                self.moved(&handoff, handoff.receiver.as_ref(), false)?;
                let task = handoff.task.as_ref();
                task.map_or(Ok(()), |task| self.take_passed("task.handed_off", task).map(drop))
            }
            HandoffEvent::Refused(handoff) => {
                self.check_offer(offer, &handoff)?;
                let last = handoff.steps.last().map(|step| step.step.as_str());
                if last == Some("brakes") { self.escalated(&handoff) } else { Ok(()) }
            }
            other => Err(Breach(format!("a hand-off was due, not {}", other.kind()))),
        }
    }

    /// Everything that the caller held has moved: its keys, and every task.
    fn execute_all(&mut self, all: &ExecuteAll) -> Audit {
        let (agent, before) = (self.batch.agent.clone(), self.batch.revision.0 - 1);
        let own = NamespaceName::of_agent(&agent);
        let has_keys = !self.ledger.keys_at(own.as_str(), before).is_empty();
        let held = self.ledger.tasks.held_by(&agent, before);
        let mut tasks: Vec<Option<(TaskId, Token)>> = Vec::new();
        tasks.extend(has_keys.then_some(None));
        tasks.extend(held.into_iter().map(Some));
        let mut first = None;
        for held in &tasks {
            let HandoffEvent::Executed(handoff) = self.take_handoff()?.clone() else {
                return Err(Breach("a hand-off was due".to_owned()));
            };
            let ExecuteAll { to, reason, notes, deadline_ms, copy, .. } = all.clone();
            let mut offer = Offer::to(Receiver::Agent(to));
            (offer.reason, offer.notes, offer.deadline_ms) = (reason, notes, deadline_ms);
            offer.copy = copy;
            match held.clone() {
                None => offer.keys = vec![Selected::all_of(&own)],
                Some((task, token)) => (offer.task, offer.token) = (Some(task), Some(token)),
            }
            self.check_offer(&offer, &handoff)?;
            first = first.or(Some(handoff));
        }
        if let Some(handoff) = first.filter(|_| has_keys) {
            self.moved(&handoff, Some(&all.to), all.overwrite)?;
        }
        for (task, _) in tasks.iter().flatten() {
            self.take_passed("task.handed_off", task)?;
        }
        Ok(())
    }

    /// A task that is handed around in a loop waits for review.
    fn escalated(&mut self, handoff: &Handoff) -> Audit {
        let Some(task) = &handoff.task else { return Ok(()) };
        let event = self.take_passed("task.failed", task)?;
        let by_loop = matches!(event, TaskEvent::Failed { cause: Cause::HandoffLoop, .. });
        demand!(by_loop, "{event:?} is not because of circles");
        Ok(())
    }

    fn receive(&mut self, wait_ms: Option<u64>) -> Audit {
        let (before, time) = (self.batch.revision.0 - 1, self.batch.time);
        let agent = self.batch.agent.clone();
        let first = self.ledger.first_for(&agent, time, before).map(|first| first.id.clone());
        match self.peek() {
            Some(Event::Handoff(HandoffEvent::Delivered { handoff, wait: None, .. })) => {
                demand!(Some(handoff) == first.as_ref(), "`{handoff}` came, due was {first:?}");
                self.skip();
            }
            Some(Event::Handoff(HandoffEvent::Queued { until, .. })) => {
                let longest = wait_ms.map(|wait| time.after(wait));
                demand!(longest == Some(*until), "it waits until {until}, not {longest:?}");
                demand!(first.is_none(), "it waits although there is {first:?}");
                self.skip();
            }
            _ => demand!(wait_ms.unwrap_or(0) == 0, "it did not even wait"),
        }
        Ok(())
    }

    fn accept(&mut self, accept: &Accept) -> Audit {
        let before = self.batch.revision.0 - 1;
        let event = self.take_handoff()?.clone();
        let HandoffEvent::Accepted { handoff: id, receiver, lease_ms, .. } = event else {
            return Err(Breach(format!("it was to be accepted, not {}", event.kind())));
        };
        demand!(id == accept.handoff && lease_ms == accept.lease_ms, "another was accepted");
        let deal = self.ledger.handoffs.at(&id, before).map(|deal| deal.handoff.clone());
        let Some(handoff) = deal else { return Err(Breach("it was not there".to_owned())) };
        self.moved(&handoff, Some(&receiver), accept.overwrite)?;
        let Some(task) = &handoff.task else { return Ok(()) };
        let work = self.ledger.tasks.at(task, before);
        let given = work.and_then(|work| work.lease.as_ref()).map(|lease| lease.lease_ms);
        let event = self.take_passed("task.handed_over", task)?;
        let TaskEvent::HandedOver { lease_ms: lasts, .. } = event else { return Ok(()) };
        let due = lease_ms.or(given);
        demand!(due == Some(*lasts), "its lease lasts for {lasts} ms, not {due:?}");
        Ok(())
    }

    /// The giver's own keys move to the receiver, which gets a namespace for them.
    fn moved(&mut self, handoff: &Handoff, to: Option<&AgentId>, overwrite: bool) -> Audit {
        let before = self.batch.revision.0 - 1;
        let Some(to) = to else { return Err(Breach("it has no holder".to_owned())) };
        let (own, theirs) = (NamespaceName::of_agent(&handoff.from), NamespaceName::of_agent(to));
        let chosen = self.ledger.chosen(handoff, before);
        let keys = chosen.iter().filter(|selected| {
            let there = self.ledger.named(selected.name.as_str(), before);
            selected.name.namespace() == own.as_str() && there.is_some()
        });
        let keys = keys.filter_map(|selected| Key::parse(selected.name.key()).ok());
        let keys: Vec<Key> = keys.collect();
        if keys.is_empty() {
            return Ok(());
        }
        if let Some(Event::Namespace(NamespaceEvent::Created { name, .. })) = self.peek()
            && *name == theirs
        {
            self.skip();
        }
        for key in keys.iter().filter(|_| !overwrite) {
            let there = self.ledger.entry(&theirs, key, before);
            same_entry(there.map(AsRef::as_ref), None)?;
        }
        let (from_namespace, to_namespace) = (own, theirs);
        self.transfer(&Transfer {
            from_namespace,
            to_namespace,
            keys: Some(keys),
            pattern: None,
            overwrite,
            copy: handoff.copy,
        })
    }

    fn complete_handoff(&mut self, complete: &Complete) -> Audit {
        let before = self.batch.revision.0 - 1;
        let event = self.take_handoff()?;
        let HandoffEvent::Completed { handoff, result, changes } = event else {
            return Err(Breach(format!("it was to be completed, not {}", event.kind())));
        };
        let same = *handoff == complete.handoff
            && *result == complete.result
            && *changes == complete.changes;
        demand!(same, "another was completed");
        let deal = self.ledger.handoffs.at(&complete.handoff, before);
        if let Some(task) = deal.and_then(|deal| deal.handoff.task.clone()) {
            let work = self.ledger.tasks.at(&task, before);
            let is_reviewed = work.is_some_and(|work| work.review.is_needed());
            let kind = if is_reviewed { "task.submitted" } else { "task.completed" };
            self.take_passed(kind, &task)?;
            self.follow_tasks()?;
        }
        Ok(())
    }
}

//! Causes: from a written value back to the task and the agent behind it.
//!
//! ```text
//!   entry ──its author held the lease──▶ task ──taken over by──▶ hand-off ──offered by──▶ …
//!     │                                   └──created by, while holding──▶ task ──▶ …
//!     └──moved from──▶ entry ──▶ …
//! ```
//!
//! Events do not record for which task a value was written. But an agent that writes for a task
//! holds its lease, so the leases of the author at that revision show it; if it held several, all
//! of them are named and the chain follows the first. Events about a task in the same commit take
//! precedence.

use std::collections::BTreeSet;

use baton_core::history::{At, Cause, Explanation};
use baton_core::refusal::bad;
use baton_core::state::{self, Source};
use baton_core::{
    AgentId, Batch, Event, HandoffId, Key, NamespaceName, Revision, TaskId, handoff, task,
    workspace,
};
use baton_log::Log;

use super::differences::place_of;
use super::{Past, steps};
use crate::error::Error;

/// The maximum length of a chain.
const CAUSES_MAX: usize = 64;
/// The maximum number of tasks that are named as held by an agent.
const IN_HAND_MAX: usize = 4;

/// Something to be explained.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Subject {
    Entry(NamespaceName, Key),
    Task(TaskId),
    Handoff(HandoffId),
}

impl Subject {
    fn parse(text: &str) -> Result<Self, workspace::Rejection> {
        let id = |prefix: &str| text.strip_prefix(prefix);
        let found = match (id("tasks/"), id("handoffs/"), place_of(text)) {
            (Some(id), _, _) => TaskId::parse(id).map(Self::Task).map_err(|it| it.to_string()),
            (_, Some(id), _) => {
                HandoffId::parse(id).map(Self::Handoff).map_err(|it| it.to_string())
            }
            (_, _, Some((namespace, key))) => Ok(Self::Entry(namespace, key)),
            (None, None, None) => Err("it is neither an entry, a task nor a hand-off".to_owned()),
        };
        found.map_err(|reason| bad("subject", reason).into())
    }
}

/// The next link of the chain.
enum Next {
    /// This object, at a revision.
    Then(Subject, Revision),
    /// Nowhere: this is the origin.
    Began,
    /// Earlier history is no longer kept.
    Cut,
}

impl<L: Log> Past<'_, L> {
    /// `workspace.why`: the causes of an object's state.
    pub fn why(&self, text: &str, at: Option<At>) -> Result<Explanation, Error> {
        let refused = |rejection: workspace::Rejection| Error::Rejected(rejection.into());
        let mut subject = Subject::parse(text).map_err(refused)?;
        let revision = at.map_or(Ok(self.present), |at| self.revision_of(at))?;
        let (mut at, mut causes) = (revision, Vec::new());
        let mut visited = BTreeSet::new();
        let complete = loop {
            let next = match &subject {
                Subject::Entry(namespace, key) => self.of_entry(namespace, key, at, &mut causes)?,
                Subject::Task(task) => self.of_task(task, at, &mut causes)?,
                Subject::Handoff(handoff) => self.of_handoff(handoff, at, &mut causes)?,
            };
            visited.insert(subject);
            match next {
                Next::Began => break true,
                Next::Cut => break false,
                Next::Then(..) if causes.len() >= CAUSES_MAX => break false,
                // A task may be its own cause through what it wrote.
                Next::Then(next, _) if visited.contains(&next) => break true,
                Next::Then(next, before) => (subject, at) = (next, before),
            }
        };
        if causes.is_empty() && complete {
            let subject = text.to_owned();
            return Err(refused(workspace::Rejection::UnknownSubject { subject }));
        }
        let subject = text.to_owned();
        Ok(Explanation { subject, revision, causes, complete })
    }

    fn of_entry(
        &self,
        namespace: &NamespaceName,
        key: &Key,
        at: Revision,
        causes: &mut Vec<Cause>,
    ) -> Result<Next, Error> {
        let touched = self.last_effect(namespace, key, at)?.filter(|it| *it > self.floor);
        let Some(revision) = touched else {
            let is_known = self.floor > Revision(0) && self.entry(namespace, key, at)?.is_some();
            return Ok(if is_known { Next::Cut } else { Next::Began });
        };
        let batch = self.batch(revision)?;
        let (event, _) = steps(&batch, namespace, key).last().expect("the batch touched it");
        let mut cause = Cause::of(&batch, event);
        if let Some((handoff, receiver)) = moved_by(&batch) {
            cause.handoff = Some(handoff.clone());
            let words = [", by the hand-off `", handoff.as_str(), "` to `", receiver.as_str(), "`"];
            cause.sentence.extend(words);
            causes.push(cause);
            return Ok(Next::Then(Subject::Handoff(handoff), revision));
        }
        if let Event::State(state::Event::Set { source: Some(source), .. }) = event {
            let Source { namespace, revision, .. } = source;
            causes.push(cause);
            return Ok(Next::Then(Subject::Entry(namespace.clone(), key.clone()), *revision));
        }
        self.under(&batch, cause, causes)
    }

    /// Records a task under which something was done, and continues with it.
    fn under(&self, batch: &Batch, cause: Cause, causes: &mut Vec<Cause>) -> Result<Next, Error> {
        let tasks = self.in_hand(batch)?;
        causes.push(cause.under(&tasks));
        let first = tasks.into_iter().next();
        Ok(first.map_or(Next::Began, |task| Next::Then(Subject::Task(task), batch.revision)))
    }

    /// The tasks that the author of a batch held at that revision.
    fn in_hand(&self, batch: &Batch) -> Result<Vec<TaskId>, Error> {
        let (mut touched, mut fresh) = (BTreeSet::new(), BTreeSet::new());
        for event in &batch.events {
            match event {
                Event::Task(task::Event::Created(created)) => fresh.extend([&created.task]),
                Event::Task(event) => touched.extend(event.task()),
                _ => {}
            }
        }
        // A task created in this commit is not the one that it was created for.
        touched.retain(|task| !fresh.contains(task));
        if let [task] = touched.into_iter().collect::<Vec<_>>()[..] {
            return Ok(vec![task.clone()]);
        }
        if batch.agent == AgentId::engine() {
            return Ok(Vec::new());
        }
        self.ask(batch.revision, |space| {
            let held = space.task.held_by(&batch.agent);
            let held = held.filter(|record| !fresh.contains(&record.id)).take(IN_HAND_MAX);
            held.map(|record| record.id.clone()).collect()
        })
    }

    fn of_task(&self, task: &TaskId, at: Revision, causes: &mut Vec<Cause>) -> Result<Next, Error> {
        let subject = format!("tasks/{task}");
        let mut below = at;
        let is_first = causes.is_empty();
        let mut latest = is_first;
        let mut holder_told = false;
        while let Some(revision) = self.last_change(&subject, below)?.filter(|it| *it > self.floor)
        {
            let batch = self.batch(revision)?;
            for event in batch.events.iter().rev().filter(|event| event.subject() == subject) {
                let Event::Task(about) = event else { continue };
                let cause = Cause::of(&batch, event);
                match about {
                    task::Event::Created(created) => {
                        if let Some(parent) = &created.parent {
                            causes.push(cause);
                            return Ok(Next::Then(Subject::Task(parent.clone()), revision));
                        }
                        // An agent that held another task created this one for it.
                        return self.under(&batch, cause, causes);
                    }
                    task::Event::HandedOver { handoff, .. }
                    | task::Event::HandedOff { handoff, .. } => {
                        causes.push(cause);
                        self.offer(handoff, revision, causes)?;
                        holder_told = true;
                    }
                    task::Event::Claimed { .. } if !holder_told => {
                        causes.push(cause);
                        holder_told = true;
                    }
                    _ if latest => causes.push(cause),
                    _ => {}
                }
                latest = false;
                if causes.len() >= CAUSES_MAX {
                    return Ok(Next::Cut);
                }
            }
            below = Revision(revision.0 - 1);
        }
        let is_known =
            self.floor > Revision(0) && self.ask(at, |space| space.task.get(task).is_some())?;
        Ok(if is_known || !is_first { Next::Cut } else { Next::Began })
    }

    /// Adds the offer of a hand-off; returns its task, if it has one.
    fn offer(
        &self,
        handoff: &HandoffId,
        at: Revision,
        causes: &mut Vec<Cause>,
    ) -> Result<Option<(TaskId, Revision)>, Error> {
        let subject = format!("handoffs/{handoff}");
        let mut below = at;
        while let Some(revision) = self.last_change(&subject, below)?.filter(|it| *it > self.floor)
        {
            let batch = self.batch(revision)?;
            for event in batch.events.iter().filter(|event| event.subject() == subject) {
                if let Event::Handoff(
                    handoff::Event::Offered(offer)
                    | handoff::Event::Executed(offer)
                    | handoff::Event::Passed(offer),
                ) = event
                {
                    causes.push(Cause::of(&batch, event));
                    return Ok(offer.task.clone().map(|task| (task, revision)));
                }
            }
            below = Revision(revision.0 - 1);
        }
        Ok(None)
    }

    fn of_handoff(
        &self,
        handoff: &HandoffId,
        at: Revision,
        causes: &mut Vec<Cause>,
    ) -> Result<Next, Error> {
        let subject = format!("handoffs/{handoff}");
        let Some(latest) = self.last_change(&subject, at)?.filter(|it| *it > self.floor) else {
            return Ok(if self.floor > Revision(0) { Next::Cut } else { Next::Began });
        };
        let batch = self.batch(latest)?;
        let last_event = batch.events.iter().rev().find(|event| event.subject() == subject);
        let is_offer = |event: &&Event| {
            matches!(event.kind(), "handoff.offered" | "handoff.executed" | "handoff.passed")
        };
        let last_event = last_event.filter(|event| !is_offer(event));
        causes.extend(last_event.map(|event| Cause::of(&batch, event)));
        let before = causes.len();
        match self.offer(handoff, latest, causes)? {
            Some((task, revision)) => Ok(Next::Then(Subject::Task(task), revision)),
            None if causes.len() > before => Ok(Next::Began),
            None => Ok(Next::Cut),
        }
    }
}

/// The hand-off that moved something in this batch, and its receiver.
fn moved_by(batch: &Batch) -> Option<(HandoffId, AgentId)> {
    batch.events.iter().find_map(|event| match event {
        Event::Handoff(handoff::Event::Accepted { handoff, receiver, .. }) => {
            Some((handoff.clone(), receiver.clone()))
        }
        Event::Handoff(handoff::Event::Executed(offer)) => {
            Some((offer.id.clone(), offer.receiver.clone()?))
        }
        _ => None,
    })
}

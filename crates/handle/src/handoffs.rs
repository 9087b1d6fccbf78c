//! Hand-offs of a workspace.

use std::collections::BTreeMap;
use std::future::IntoFuture;
use std::sync::Arc;

use baton_core::handoff::{
    Accept, ApprovalWanted, Complete, Handoff, List, Offer, OnLoop, Receiver, Selected, Statistics,
    TransferContext,
};
use baton_core::handoff::{Command, Query, Rejection, Reply as HandoffReply};
use baton_core::rule::Judgement;
use baton_core::task::Task;
use baton_core::{AgentId, HandoffId, Json, Reply, TaskId, Token, Traceparent, refusal};

use serde::Serialize;

use crate::carrier::{Carrier, Failure};
use crate::{Prepared, Sent, Workspace};

/// Hand-offs of a workspace, as one agent sees them.
#[derive(Clone, Debug)]
pub struct Handoffs<C> {
    workspace: Workspace<C>,
}

/// What came with a hand-off that was accepted.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Accepted {
    /// Which, with the receipt of what came along.
    pub handoff: Handoff,
    /// The task, with the lease under which to go on.
    pub task: Option<Task>,
    /// The values of the keys that came along, by `namespace/key` as the giver selected them.
    pub values: BTreeMap<String, Json>,
}

impl<C: Carrier> Handoffs<C> {
    pub(crate) fn new(workspace: Workspace<C>) -> Self {
        Self { workspace }
    }

    /// Offers something to an agent. What it is follows before this is awaited.
    pub fn offer(&self, to: &str) -> Offering<C> {
        let receiver = AgentId::parse(to).map(Receiver::Agent).map_err(Into::into);
        self.offering(receiver.map(Offer::to))
    }

    /// Offers something to whoever can do this and accepts first.
    pub fn offer_to_capability(&self, capability: &str) -> Offering<C> {
        self.offering(Ok(Offer::to(Receiver::Capability(capability.to_owned()))))
    }

    /// Offers here what came from elsewhere.
    pub fn import(&self, context: TransferContext, to: &str) -> Offering<C> {
        let receiver = AgentId::parse(to).map(Receiver::Agent).map_err(Into::into);
        self.offering(receiver.map(|receiver| context.offer(receiver)))
    }

    fn offering(&self, offer: Prepared<Offer>) -> Offering<C> {
        Offering { workspace: self.workspace.clone(), offer, checks: Vec::new() }
    }

    /// The next hand-off for this agent, waiting for so long at most; nothing if there was none in
    /// time. It is delivered again unless it is answered.
    pub async fn receive(&self, wait_ms: u64) -> Result<Option<Handoff>, C::Error> {
        let command = Command::Receive { wait_ms: Some(wait_ms) };
        match self.workspace.execute(command).await?.reply {
            Reply::Handoff(HandoffReply::Received(found)) => Ok(found.map(Arc::unwrap_or_clone)),
            reply => Err(C::Error::odd(&reply)),
        }
    }

    /// Takes what is offered: from now on this agent has it.
    pub async fn accept(&self, handoff: &str) -> Result<Accepted, C::Error> {
        let handoff = HandoffId::parse(handoff)?;
        self.accept_as(Accept { handoff, lease_ms: None, overwrite: false }).await
    }

    /// Takes what is offered, with a lease of another length or over keys that are there.
    pub async fn accept_as(&self, accept: Accept) -> Result<Accepted, C::Error> {
        match self.workspace.execute(Command::Accept(accept)).await?.reply {
            Reply::Handoff(HandoffReply::Accepted { handoff, task, values }) => {
                let handoff = Arc::unwrap_or_clone(handoff);
                Ok(Accepted { handoff, task: task.map(|task| *task), values })
            }
            reply => Err(C::Error::odd(&reply)),
        }
    }

    /// Says that this agent does not want it, or does not approve it.
    pub async fn reject(&self, handoff: &str, reason: Option<&str>) -> Result<Handoff, C::Error> {
        let (handoff, reason) = (HandoffId::parse(handoff)?, reason.map(str::to_owned));
        self.changed(Command::Reject { handoff, reason }).await
    }

    /// Says that what was handed over is done, and its task with it.
    pub async fn complete(&self, handoff: &str, result: Option<Json>) -> Result<Handoff, C::Error> {
        let (handoff, changes) = (HandoffId::parse(handoff)?, BTreeMap::new());
        self.complete_as(Complete { handoff, result, changes }).await
    }

    /// Says that it is done, and what changed in the map that was handed over.
    pub async fn complete_as(&self, complete: Complete) -> Result<Handoff, C::Error> {
        self.changed(Command::Complete(Box::new(complete))).await
    }

    /// Withdraws an offer.
    pub async fn cancel(&self, handoff: &str, reason: Option<&str>) -> Result<Handoff, C::Error> {
        let (handoff, reason) = (HandoffId::parse(handoff)?, reason.map(str::to_owned));
        self.changed(Command::Cancel { handoff, reason }).await
    }

    /// Lets a hand-off pass. With its digest, only if that is what was looked at.
    pub async fn approve(&self, handoff: &str, digest: Option<&str>) -> Result<Handoff, C::Error> {
        let (handoff, digest) = (HandoffId::parse(handoff)?, digest.map(str::to_owned));
        self.changed(Command::Approve { handoff, digest, reason: None }).await
    }

    /// One of them.
    pub async fn get(&self, handoff: &str) -> Result<Handoff, C::Error> {
        let query = Query::Get { handoff: HandoffId::parse(handoff)? };
        record(self.workspace.ask(query).await?.reply)
    }

    /// One page of those that are asked for, and where to go on.
    pub async fn page(&self, list: List) -> Result<(Vec<Handoff>, Option<HandoffId>), C::Error> {
        match self.workspace.ask(Query::List(list)).await?.reply {
            Reply::Handoff(HandoffReply::Handoffs { handoffs, cursor }) => Ok((handoffs, cursor)),
            reply => Err(C::Error::odd(&reply)),
        }
    }

    /// Those that are asked for, as many as the list says or all.
    pub async fn list(&self, list: List) -> Result<Vec<Handoff>, C::Error> {
        let wanted = list.limit.and_then(|limit| usize::try_from(limit).ok());
        let mut found: Vec<Handoff> = Vec::new();
        let mut cursor = list.cursor.clone();
        loop {
            let (page, next) = self.page(List { cursor, ..list.clone() }).await?;
            found.extend(page);
            if next.is_none() || wanted.is_some_and(|wanted| found.len() >= wanted) {
                found.truncate(wanted.unwrap_or(usize::MAX));
                return Ok(found);
            }
            cursor = next;
        }
    }

    /// Every known hand-off of a task, the first first.
    pub async fn history(&self, task: &str) -> Result<Vec<Handoff>, C::Error> {
        let query = Query::History { task: TaskId::parse(task)? };
        match self.workspace.ask(query).await?.reply {
            Reply::Handoff(HandoffReply::Handoffs { handoffs, .. }) => Ok(handoffs),
            reply => Err(C::Error::odd(&reply)),
        }
    }

    /// A hand-off as other systems write it.
    pub async fn export(&self, handoff: &str) -> Result<TransferContext, C::Error> {
        let query = Query::Export { handoff: HandoffId::parse(handoff)? };
        match self.workspace.ask(query).await?.reply {
            Reply::Handoff(HandoffReply::Context(context)) => Ok(*context),
            reply => Err(C::Error::odd(&reply)),
        }
    }

    /// How many there were, how they ended, how long they took.
    pub async fn stats(&self) -> Result<Statistics, C::Error> {
        match self.workspace.ask(Query::Stats {}).await?.reply {
            Reply::Handoff(HandoffReply::Stats(statistics)) => Ok(*statistics),
            reply => Err(C::Error::odd(&reply)),
        }
    }

    async fn changed(&self, command: Command) -> Result<Handoff, C::Error> {
        record(self.workspace.execute(command).await?.reply)
    }
}

fn record<F: Failure>(reply: Reply) -> Result<Handoff, F> {
    match reply {
        Reply::Handoff(HandoffReply::Handoff(handoff)) => Ok(Arc::unwrap_or_clone(handoff)),
        reply => Err(F::odd(&reply)),
    }
}

/// Looks at an offer before it is made, where it is made.
pub type Check = Box<dyn Fn(&Offer) -> Judgement + Send + Sync>;

/// A hand-off that is offered when this is awaited, or by one of its last methods.
#[must_use = "nothing is handed over before this is awaited"]
pub struct Offering<C> {
    workspace: Workspace<C>,
    offer: Prepared<Offer>,
    checks: Vec<Check>,
}

impl<C: Carrier> Offering<C> {
    fn with(mut self, change: impl FnOnce(&mut Offer) -> Prepared<()>) -> Self {
        self.offer = self.offer.and_then(|mut offer| {
            change(&mut offer)?;
            Ok(offer)
        });
        self
    }

    fn set(self, change: impl FnOnce(&mut Offer)) -> Self {
        self.with(|offer| {
            change(offer);
            Ok(())
        })
    }

    /// The task that changes hands, and the token of this agent's lease of it.
    pub fn task(self, task: &str, token: Token) -> Self {
        self.with(|offer| {
            (offer.task, offer.token) = (Some(TaskId::parse(task)?), Some(token));
            Ok(())
        })
    }

    /// What has been done.
    pub fn work_completed(self, work: Json) -> Self {
        self.set(|offer| offer.work_completed = Some(work))
    }

    /// What is left to do.
    pub fn remaining_work(self, work: Json) -> Self {
        self.set(|offer| offer.remaining_work = Some(work))
    }

    /// Whatever else the receiver should know.
    pub fn notes(self, notes: Json) -> Self {
        self.set(|offer| offer.notes = Some(notes))
    }

    /// The trace that it is a part of, as W3C Trace Context writes it.
    pub fn traceparent(self, traceparent: &str) -> Self {
        self.with(|offer| {
            offer.traceparent = Some(Traceparent::parse(traceparent)?);
            Ok(())
        })
    }

    /// Why it is handed over.
    pub fn reason(self, reason: &str) -> Self {
        self.set(|offer| offer.reason = Some(reason.to_owned()))
    }

    /// A value that the receiver needs to know, under its name.
    pub fn state(self, name: &str, value: Json) -> Self {
        self.set(|offer| drop(offer.state.insert(name.to_owned(), value)))
    }

    /// Values that the receiver needs to know, under their names: those of a
    /// [`Session`](crate::Session), for one.
    pub fn variables(self, variables: BTreeMap<String, Json>) -> Self {
        self.set(|offer| offer.state.extend(variables))
    }

    /// A key that goes along, as `namespace/key`. One of this agent's own namespace moves.
    pub fn key(self, key: &str) -> Self {
        self.with(|offer| {
            let bad = |reason: String| Rejection::from(refusal::bad("keys", reason));
            offer.keys.push(Selected::parse(key).map_err(bad)?);
            Ok(())
        })
    }

    /// How long the receiver has to accept it.
    pub fn deadline_ms(self, milliseconds: u64) -> Self {
        self.set(|offer| offer.deadline_ms = Some(milliseconds))
    }

    /// How long after it was delivered it is delivered again.
    pub fn redeliver_ms(self, milliseconds: u64) -> Self {
        self.set(|offer| offer.redeliver_ms = Some(milliseconds))
    }

    /// One of these must approve it first; anyone but giver and receiver if nobody is named.
    pub fn approved_by(self, agents: &[&str]) -> Self {
        self.with(|offer| {
            let by = agents.iter().map(|agent| AgentId::parse(agent)).collect::<Result<_, _>>()?;
            offer.approval = Some(ApprovalWanted { by, expires_ms: None });
            Ok(())
        })
    }

    /// A task that is handed round in circles waits for a person.
    pub fn review_loops(self) -> Self {
        self.set(|offer| offer.on_loop = Some(OnLoop::Review))
    }

    /// Anything else about it.
    pub fn also(self, change: impl FnOnce(&mut Offer)) -> Self {
        self.set(change)
    }

    /// Looks at the offer before it is made: an error stops it, as an error of a rule does.
    pub fn check(mut self, check: impl Fn(&Offer) -> Judgement + Send + Sync + 'static) -> Self {
        self.checks.push(Box::new(check));
        self
    }

    /// What would become of it: what the checks say, and the rules.
    pub async fn validate(self) -> Result<Judgement, C::Error> {
        let (offer, mut judgement) = self.checked()?;
        let command = Command::Validate(Box::new(offer));
        match self.workspace.execute(command).await?.reply {
            Reply::Handoff(HandoffReply::Verdict { errors, warnings, .. }) => {
                judgement.errors.extend(errors);
                judgement.warnings.extend(warnings);
                Ok(judgement)
            }
            reply => Err(C::Error::odd(&reply)),
        }
    }

    /// Hands it over without asking, keys and task in one commit.
    pub async fn execute(self) -> Result<Handoff, C::Error> {
        let offer = self.passed()?;
        record(self.workspace.execute(Command::Execute(Box::new(offer))).await?.reply)
    }

    fn checked(&self) -> Prepared<(Offer, Judgement)> {
        let offer = self.offer.clone()?;
        let mut judgement = Judgement::default();
        for check in &self.checks {
            let Judgement { errors, warnings } = check(&offer);
            judgement.errors.extend(errors);
            judgement.warnings.extend(warnings);
        }
        Ok((offer, judgement))
    }

    fn passed(&self) -> Prepared<Offer> {
        let (offer, Judgement { errors, warnings }) = self.checked()?;
        if errors.is_empty() {
            return Ok(offer);
        }
        Err(Rejection::Invalid { errors, warnings }.into())
    }
}

impl<C: Carrier> IntoFuture for Offering<C> {
    type Output = Result<Handoff, C::Error>;
    type IntoFuture = Sent<Handoff, C>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let offer = self.passed()?;
            record(self.workspace.execute(Command::Offer(Box::new(offer))).await?.reply)
        })
    }
}

//! The hand-offs of a workspace.

use std::collections::BTreeMap;

use baton_core::handoff::{
    Accept, ApprovalWanted, Command, Complete, ExecuteAll, Handoff, List, Offer, OnLoop, Query,
    Receiver, Rejection, Selected, Statistics, Status, TransferContext,
};
use baton_core::rule::Judgement;
use baton_core::task::Task;
use baton_core::{AgentId, HandoffId, Json, TaskId, Token, Traceparent, refusal, wait};
use serde::Serialize;

use crate::request::{Prepared, request};
use crate::{Error, Handoffs};

/// The result of accepting a hand-off.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Accepted {
    /// The hand-off with its receipt.
    pub handoff: Handoff,
    /// The task with the receiver's lease.
    pub task: Option<Task>,
    /// The values of the keys that were handed over, by `namespace/key` as the giver selected them.
    pub values: BTreeMap<String, Json>,
}

impl Handoffs {
    /// Offers a hand-off to an agent.
    pub fn offer(&self, to: &str) -> Offering {
        let receiver = AgentId::parse(to).map(Receiver::Agent).map_err(Into::into);
        self.offering(receiver.map(Offer::to))
    }

    /// Offers a hand-off to the first agent with a capability that accepts it.
    pub fn offer_to_capability(&self, capability: &str) -> Offering {
        self.offering(Ok(Offer::to(Receiver::Capability(capability.to_owned()))))
    }

    /// Offers a hand-off that was exported elsewhere.
    pub fn import(&self, context: TransferContext, to: &str) -> Offering {
        let receiver = AgentId::parse(to).map(Receiver::Agent).map_err(Into::into);
        self.offering(receiver.map(|receiver| context.offer(receiver)))
    }

    fn offering(&self, offer: Prepared<Offer>) -> Offering {
        Offering::new(&self.workspace, offer.map(|offer| Draft { offer, checks: Vec::new() }))
    }

    /// Receives the next hand-off for this agent; none if there was none in time. It is delivered
    /// again unless it is accepted or rejected.
    pub async fn receive(&self, wait_ms: u64) -> Result<Option<Handoff>, Error> {
        self.workspace.run(Command::Receive { wait_ms: Some(wait_ms) }).await
    }

    /// Accepts a hand-off.
    pub async fn accept(&self, handoff: &str) -> Result<Accepted, Error> {
        let handoff = HandoffId::parse(handoff)?;
        self.accept_as(Accept { handoff, lease_ms: None, overwrite: false }).await
    }

    /// Accepts a hand-off, with a lease of another length or over existing keys.
    pub async fn accept_as(&self, accept: Accept) -> Result<Accepted, Error> {
        self.workspace.run(Command::Accept(accept)).await
    }

    /// Rejects a hand-off, as its receiver or as its approver.
    pub async fn reject(&self, handoff: &str, reason: Option<&str>) -> Result<Handoff, Error> {
        let (handoff, reason) = (HandoffId::parse(handoff)?, reason.map(str::to_owned));
        self.workspace.run(Command::Reject { handoff, reason }).await
    }

    /// Completes a hand-off and its task.
    pub async fn complete(&self, handoff: &str, result: Option<Json>) -> Result<Handoff, Error> {
        let (handoff, changes) = (HandoffId::parse(handoff)?, BTreeMap::new());
        self.complete_as(Complete { handoff, result, changes }).await
    }

    /// Completes a hand-off and reports changes of the state that was handed over.
    pub async fn complete_as(&self, complete: Complete) -> Result<Handoff, Error> {
        self.workspace.run(Command::Complete(Box::new(complete))).await
    }

    /// Withdraws an offer.
    pub async fn cancel(&self, handoff: &str, reason: Option<&str>) -> Result<Handoff, Error> {
        let (handoff, reason) = (HandoffId::parse(handoff)?, reason.map(str::to_owned));
        self.workspace.run(Command::Cancel { handoff, reason }).await
    }

    /// Approves a hand-off; with a digest, only if the hand-off still has it.
    pub async fn approve(&self, handoff: &str, digest: Option<&str>) -> Result<Handoff, Error> {
        let (handoff, digest) = (HandoffId::parse(handoff)?, digest.map(str::to_owned));
        self.workspace.run(Command::Approve { handoff, digest, reason: None }).await
    }

    /// Hands over everything that this agent holds to another, without acceptance: its tasks and
    /// the keys in its own namespace, in one commit. Returns one hand-off for the keys, if there
    /// are any, and one for each task.
    pub async fn execute_all(&self, to: &str, reason: Option<&str>) -> Result<Vec<Handoff>, Error> {
        self.execute_all_as(ExecuteAll {
            to: AgentId::parse(to)?,
            reason: reason.map(str::to_owned),
            notes: None,
            deadline_ms: None,
            copy: false,
            overwrite: false,
        })
        .await
    }

    /// Hands over everything that this agent holds, with copies of its keys or over existing ones.
    pub async fn execute_all_as(&self, all: ExecuteAll) -> Result<Vec<Handoff>, Error> {
        let command = Command::ExecuteAll(Box::new(all));
        let (handoffs, _): (_, Option<HandoffId>) = self.workspace.run(command).await?;
        Ok(handoffs)
    }

    /// Waits until a hand-off has ended or has one of these statuses; `None` if the wait
    /// times out.
    pub async fn wait(
        &self,
        handoff: &str,
        statuses: &[Status],
        wait_ms: u64,
    ) -> Result<Option<Handoff>, Error> {
        let handoff = HandoffId::parse(handoff)?;
        let (statuses, wait_ms) = (Some(statuses.iter().copied().collect()), Some(wait_ms));
        self.workspace.run(wait::Command::Handoff { handoff, statuses, wait_ms }).await
    }

    /// Reads a hand-off.
    pub async fn get(&self, handoff: &str) -> Result<Handoff, Error> {
        self.workspace.query(Query::Get { handoff: HandoffId::parse(handoff)? }).await
    }

    /// Lists one page of hand-offs, with the cursor of the next.
    pub async fn page(&self, list: List) -> Result<(Vec<Handoff>, Option<HandoffId>), Error> {
        self.workspace.query(Query::List(list)).await
    }

    /// Lists all hand-offs that match; at most as many as the limit, if there is one.
    pub async fn list(&self, list: List) -> Result<Vec<Handoff>, Error> {
        let page = |cursor: Option<_>| {
            let cursor = cursor.or_else(|| list.cursor.clone());
            Query::List(List { cursor, ..list.clone() })
        };
        self.workspace.pages(list.limit, page).await
    }

    /// Lists the hand-offs of a task, oldest first.
    pub async fn history(&self, task: &str) -> Result<Vec<Handoff>, Error> {
        let query = Query::History { task: TaskId::parse(task)? };
        let (handoffs, _): (_, Option<HandoffId>) = self.workspace.query(query).await?;
        Ok(handoffs)
    }

    /// Exports a hand-off for another system.
    pub async fn export(&self, handoff: &str) -> Result<TransferContext, Error> {
        self.workspace.query(Query::Export { handoff: HandoffId::parse(handoff)? }).await
    }

    /// Reads statistics: counts, outcomes and durations.
    pub async fn stats(&self) -> Result<Statistics, Error> {
        self.workspace.query(Query::Stats {}).await
    }
}

/// A check of an offer that runs in this process, before the offer is sent.
pub type Check = Box<dyn Fn(&Offer) -> Judgement + Send + Sync>;

/// What [`Offering`] collects.
pub(crate) struct Draft {
    offer: Offer,
    checks: Vec<Check>,
}

impl Draft {
    fn judge(&self) -> Judgement {
        let mut judgement = Judgement::default();
        for check in &self.checks {
            let Judgement { errors, warnings } = check(&self.offer);
            judgement.errors.extend(errors);
            judgement.warnings.extend(warnings);
        }
        judgement
    }

    /// The offer, unless a check found an error.
    fn passed(self) -> Prepared<Box<Offer>> {
        let Judgement { errors, warnings } = self.judge();
        if errors.is_empty() {
            return Ok(Box::new(self.offer));
        }
        Err(Rejection::Invalid { errors, warnings }.into())
    }
}

request! {
    /// Offers a hand-off when it is awaited, or checks or executes it by one of its last methods.
    Offering(Draft) -> Handoff: |workspace, draft| workspace.run(Command::Offer(draft.passed()?));
    /// Hands over a task, with the token of this agent's lease.
    task(task: &str, token: Token) |draft|
        (draft.offer.task, draft.offer.token) = (Some(TaskId::parse(task)?), Some(token));
    /// Describes the work that is done.
    work_completed(work: Json) |draft| draft.offer.work_completed = Some(work);
    /// Describes the work that remains.
    remaining_work(work: Json) |draft| draft.offer.remaining_work = Some(work);
    /// Adds notes for the receiver.
    notes(notes: Json) |draft| draft.offer.notes = Some(notes);
    /// Sets the trace that it belongs to, as W3C Trace Context.
    traceparent(traceparent: &str) |draft|
        draft.offer.traceparent = Some(Traceparent::parse(traceparent)?);
    /// Sets the reason for the hand-off.
    reason(reason: &str) |draft| draft.offer.reason = Some(reason.to_owned());
    /// Adds a named value for the receiver.
    state(name: &str, value: Json) |draft| draft.offer.state.insert(name.to_owned(), value);
    /// Adds named values for the receiver, such as those of a [`Session`](crate::Session).
    variables(variables: BTreeMap<String, Json>) |draft| draft.offer.state.extend(variables);
    /// Adds a key, as `namespace/key`. Keys in this agent's own namespace move to the receiver. A
    /// key with `*` is a pattern, such as `agent:ada/**`.
    key(key: &str) |draft| draft.offer.keys.push(
        Selected::parse(key).map_err(|reason| Rejection::from(refusal::bad("keys", reason)))?
    );
    /// Copies the keys in this agent's own namespace: the agent keeps them.
    copy() |draft| draft.offer.copy = true;
    /// Sets how long the receiver has to accept.
    deadline_ms(milliseconds: u64) |draft| draft.offer.deadline_ms = Some(milliseconds);
    /// Sets how long after a delivery it is delivered again.
    redeliver_ms(milliseconds: u64) |draft| draft.offer.redeliver_ms = Some(milliseconds);
    /// Requires the approval of one of these agents; of any agent except giver and receiver if the
    /// list is empty.
    approved_by(agents: &[&str]) |draft| {
        let by = agents.iter().map(|agent| AgentId::parse(agent)).collect::<Result<_, _>>()?;
        draft.offer.approval = Some(ApprovalWanted { by, expires_ms: None });
    };
    /// Sends a task that is handed round in a loop to review.
    review_loops() |draft| draft.offer.on_loop = Some(OnLoop::Review);
    /// Changes any other field of the offer.
    also(change: impl FnOnce(&mut Offer)) |draft| change(&mut draft.offer);
    /// Adds a check that runs in this process. An error prevents the offer, as that of a rule does.
    check(check: impl Fn(&Offer) -> Judgement + Send + Sync + 'static) |draft|
        draft.checks.push(Box::new(check));
}

impl Offering {
    /// Checks the offer without making it: returns the findings of the checks and of the rules.
    pub async fn validate(self) -> Result<Judgement, Error> {
        let draft = self.request?;
        let mut judgement = draft.judge();
        let command = Command::Validate(Box::new(draft.offer));
        let Judgement { errors, warnings } = self.workspace.run(command).await?;
        judgement.errors.extend(errors);
        judgement.warnings.extend(warnings);
        Ok(judgement)
    }

    /// Hands over at once, without acceptance: keys and task move in one commit.
    pub async fn execute(self) -> Result<Handoff, Error> {
        self.workspace.run(Command::Execute(self.request?.passed()?)).await
    }
}

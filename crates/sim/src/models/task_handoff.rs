//! How hand-offs move tasks according to the log.

use baton_core::handoff::Status as DealStatus;
use baton_core::task::Returns;
use baton_core::task::{Event, Lease, Status};
use baton_core::{AgentId, Batch, HandoffId, TaskId, Token};

use crate::auditor::ledger::Ledger;
use crate::auditor::{Audit, Breach, demand};
use crate::coverage::Coverage;
use crate::models::handoff::HandoffModel;
use crate::models::task::TaskModel;

impl TaskModel {
    /// A lease starts.
    pub(crate) fn begin_lease(
        &mut self,
        batch: &Batch,
        holder: &AgentId,
        token: Token,
        lease_ms: u64,
    ) {
        self.leased_at = batch.revision.0;
        self.lease = Some(Lease {
            holder: holder.clone(),
            token,
            claimed_at: batch.time,
            expires_at: batch.time.after(lease_ms),
            lease_ms,
            handoff: None,
            abandoned: false,
        });
    }
}

impl Ledger {
    /// The hand-off that has moved a task in this batch.
    fn mover(&self, batch: &Batch, task: &TaskId, id: &HandoffId) -> Audit<HandoffModel> {
        let deal = self.handoffs.at(id, u64::MAX).cloned();
        let fits = deal.filter(|deal| {
            deal.changed_at == batch.revision.0 && deal.handoff.task.as_ref() == Some(task)
        });
        fits.ok_or_else(|| Breach(format!("`{id}` has nothing to do with it")))
    }

    /// A task is offered to another agent, or no longer is.
    pub(crate) fn offered(
        &self,
        batch: &Batch,
        task: &TaskId,
        work: &mut TaskModel,
        id: &HandoffId,
        event: &Event,
    ) -> Audit {
        let HandoffModel { handoff, .. } = self.mover(batch, task, id)?;
        let Some(lease) = &mut work.lease else {
            return Err(Breach("it has no holder".to_owned()));
        };
        if let Event::Offered { .. } = event {
            let begins = handoff.created_at == batch.time && handoff.from == lease.holder;
            demand!(begins && lease.handoff.is_none(), "it was {lease:?}");
            lease.handoff = Some(id.clone());
            return Ok(());
        }
        let declined = [DealStatus::Rejected, DealStatus::Expired, DealStatus::Cancelled];
        demand!(declined.contains(&handoff.status), "`{id}` is {:?}", handoff.status);
        demand!(lease.handoff.as_ref() == Some(id), "it was {lease:?}");
        demand!(!lease.abandoned, "it returned to an agent that is gone");
        (lease.handoff, lease.expires_at) = (None, batch.time.after(lease.lease_ms));
        Ok(())
    }

    /// The session of the holder ended while the task was offered.
    pub(crate) fn giver_gone(
        &mut self,
        batch: &Batch,
        work: &mut TaskModel,
        event: &Event,
        coverage: &mut Coverage,
    ) -> Audit {
        let Event::Abandoned { handoff: id, .. } = event else { return Ok(()) };
        let Some(lease) = &mut work.lease else {
            return Err(Breach("it has no holder".to_owned()));
        };
        demand!(lease.handoff.as_ref() == Some(id) && !lease.abandoned, "it was {lease:?}");
        lease.abandoned = true;
        let token = lease.token.0;
        self.tokens.end(batch, token);
        coverage.met("task: abandoned while it was offered");
        Ok(())
    }

    /// Another agent continues the work, under another token.
    pub(crate) fn handed_over(
        &mut self,
        batch: &Batch,
        task: &TaskId,
        work: &mut TaskModel,
        event: &Event,
    ) -> Audit {
        let Event::HandedOver { handoff: id, holder, token, lease_ms, .. } = event else {
            return Ok(());
        };
        let HandoffModel { handoff, .. } = self.mover(batch, task, id)?;
        let taken = handoff.status == DealStatus::Accepted;
        let receiver = handoff.receiver.as_ref();
        demand!(taken && receiver == Some(holder), "{receiver:?} has accepted it");
        let lease = self.end_lease(batch, work)?;
        demand!(lease.handoff.as_ref() == Some(id), "it was {lease:?}");
        self.tokens.give(batch, *token, holder)?;
        if work.assigned.is_some() {
            work.assigned = Some(holder.clone());
        }
        work.begin_lease(batch, holder, *token, *lease_ms);
        Ok(())
    }

    /// The holder has handed it over, or the receiver has not claimed it.
    pub(crate) fn handed_off(
        &mut self,
        batch: &Batch,
        task: &TaskId,
        work: &mut TaskModel,
        event: &Event,
        coverage: &mut Coverage,
    ) -> Audit {
        let Event::HandedOff { handoff: id, to, returns, .. } = event else { return Ok(()) };
        let due = if batch.agent == AgentId::engine() {
            let handed = work.returns.clone().filter(|_| work.status == Status::HandedOff);
            let Some(Returns { to: Some(giver), at, within_ms }) = handed else {
                return Err(Breach(format!("it was {:?}: {handed:?}", work.status)));
            };
            self.check_expired(batch, at, within_ms)?;
            let by = work.handed_by.as_ref();
            demand!(giver == *to && by == Some(id), "it returns to `{giver}` by {by:?}");
            coverage.met("task: given back to its giver");
            Returns { to: None, at: batch.time.after(within_ms), within_ms }
        } else {
            let HandoffModel { handoff, .. } = self.mover(batch, task, id)?;
            let lease = self.end_lease(batch, work)?;
            let executed = handoff.status == DealStatus::Completed
                && handoff.receiver.as_ref() == Some(to)
                && handoff.from == lease.holder;
            demand!(executed && lease.handoff.is_none(), "it was {lease:?}");
            let within_ms = handoff.deadline.since(handoff.created_at);
            Returns { to: Some(handoff.from), at: handoff.deadline, within_ms }
        };
        demand!(*returns == due, "it returns as {returns:?}, not as {due:?}");
        if work.status != Status::HandedOff {
            work.assigned_before = work.assigned.clone();
        }
        (work.status, work.ready) = (Status::HandedOff, true);
        (work.assigned, work.handed_by) = (Some(to.clone()), Some(id.clone()));
        work.returns = Some(due);
        Ok(())
    }
}

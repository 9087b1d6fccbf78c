//! Requests and questions, from asking to the answer.
//!
//! The driver does what the engine's own callers do: it loads a workspace on first use, waits for a
//! group that is full, and opens an answer only when its group is settled. It also asks for the
//! workspace's revision before each request, so that the auditor knows what it was decided against.

use std::collections::BTreeSet;

use baton::clock::Clock;
use baton::error::Error;
use baton::machine::{Absent, Asked, Held};
use baton_core::{
    Answer, Query, Rejection, Request, Revision, Timestamp, WorkspaceName, workspace,
};

use crate::agents::Action;
use crate::auditor::answers::Answered;
use crate::auditor::{Audit, demand};
use crate::story::{told, wanted};
use crate::world::{World, broken};

type HeldAnswer = Held<Result<Answer, Rejection>>;

/// Something that somebody waits for.
pub(crate) struct Pending {
    agent: usize,
    pub(crate) workspace: WorkspaceName,
    pub(crate) action: Action,
    asked_at: Timestamp,
    /// What was durable when it was asked.
    asked_head: u64,
    waiting: Waiting,
}

enum Waiting {
    Request { probe: HeldAnswer, answer: HeldAnswer },
    Present(HeldAnswer),
    Past(Held<Revision>),
}

impl Waiting {
    fn group(&self) -> u64 {
        match self {
            Self::Request { answer, .. } | Self::Present(answer) => answer.group(),
            Self::Past(revision) => revision.group(),
        }
    }
}

impl World {
    /// An agent does what it does next.
    pub(crate) fn act(&mut self) -> Audit {
        let number = self.chance.index(self.agents.len());
        let agent = &mut self.agents[number];
        let Some(action) = agent.act(&mut self.chance, &self.plan) else { return Ok(()) };
        let (id, workspace) = (agent.id.clone(), agent.home.clone());
        if let Some(stopped) = self.server().shard.settled().stopped() {
            self.trace.tell(|| format!("{id} is turned away: {stopped}"));
            return Ok(());
        }
        let gathered = self.server().shard.machine().gathered().1;
        if gathered >= self.plan.options.group_bytes_max && !self.flush()? {
            return Ok(());
        }
        self.trace.tell(|| format!("{id} in {workspace} {}", wanted(&action)));
        if !self.load(&workspace)? {
            return Ok(());
        }
        let shard = &self.server().shard;
        let waiting = match &action {
            Action::Submit(request) => {
                let probe = match shard.ask(&workspace, &workspace::Query::Get.into()) {
                    Ok(Asked::Present(held)) => held,
                    Ok(Asked::Past(_)) | Err(Absent(())) => {
                        return Err(broken("a loaded workspace does not know its revision"));
                    }
                };
                let Ok(taken) = shard.submit(&workspace, request.clone(), &id) else {
                    return Err(broken("a loaded workspace is not in memory"));
                };
                Waiting::Request { probe, answer: taken.decided() }
            }
            Action::Ask(query) => match shard.ask(&workspace, query) {
                Ok(Asked::Present(held)) => Waiting::Present(held),
                Ok(Asked::Past(held)) => Waiting::Past(held),
                Err(Absent(())) => return Err(broken("a loaded workspace is not in memory")),
            },
        };
        let (asked_at, asked_head) = (self.clock.now(), self.auditor.ledger(&workspace).head());
        self.agents[number].waiting += 1;
        let agent = number;
        self.pending.push(Pending { agent, workspace, action, asked_at, asked_head, waiting });
        Ok(())
    }

    /// Opens every answer whose fate is known. Answers with the revisions that were claimed.
    pub(crate) fn resolve(&mut self) -> Audit<BTreeSet<(WorkspaceName, u64)>> {
        let mut claimed = BTreeSet::new();
        let mut index = 0;
        while index < self.pending.len() {
            let group = self.pending[index].waiting.group();
            match self.server().shard.settled().fate(group) {
                None => index += 1,
                Some(fate) => {
                    let pending = self.pending.remove(index);
                    self.agents[pending.agent].waiting -= 1;
                    claimed.extend(self.open(pending, fate)?);
                }
            }
        }
        Ok(claimed)
    }

    fn open(
        &mut self,
        pending: Pending,
        fate: Result<u64, Error>,
    ) -> Audit<Option<(WorkspaceName, u64)>> {
        let id = self.agents[pending.agent].id.clone();
        let durable = match fate {
            Ok(durable) => durable,
            Err(error) => {
                demand!(
                    matches!(error, Error::Full | Error::Unknown { .. }),
                    "a group was lost for a reason that there is not: {error}"
                );
                self.trace.tell(|| format!("   {id} hears: {error}"));
                return Ok(None);
            }
        };
        let Pending { agent, workspace, action, asked_at, asked_head, waiting } = pending;
        match waiting {
            Waiting::Request { probe, answer } => {
                let Action::Submit(request) = &action else {
                    return Err(broken("only requests are submitted"));
                };
                let fate = self.server().shard.settled().fate(probe.group());
                demand!(
                    matches!(fate, Some(Ok(_))),
                    "`{id}` was answered before what the answer rests on was durable"
                );
                let probe = probe.open(durable).map_err(|_| broken("a revision was refused"))?;
                let answer = answer.open(durable);
                let asked =
                    Answered { agent: &id, request, asked_at, decided_at: probe.revision.0 };
                let effect = self.answered(&workspace, &asked, &answer)?;
                self.agents[agent].learn(&action, &answer);
                Ok(effect.map(|revision| (workspace, revision)))
            }
            Waiting::Present(held) => {
                let Action::Ask(query) = &action else {
                    return Err(broken("only questions are asked"));
                };
                let answer = held.open(durable);
                self.trace.tell(|| format!("   {id} reads: {}", told(&answer)));
                self.sum_answer(&answer);
                self.auditor.ledger(&workspace).present(query, &answer, asked_head)?;
                self.agents[agent].learn(&action, &answer);
                Ok(None)
            }
            Waiting::Past(held) => {
                let Action::Ask(Query::State(query)) = &action else {
                    return Err(broken("only state has a past"));
                };
                let present = held.open(durable);
                self.read_past(&workspace, query, present)?;
                let agent = &mut self.agents[agent];
                agent.revision = agent.revision.max(present.0);
                Ok(None)
            }
        }
    }

    fn answered(
        &mut self,
        workspace: &WorkspaceName,
        asked: &Answered<'_>,
        answer: &Result<Answer, Rejection>,
    ) -> Audit<Option<u64>> {
        let id = asked.agent;
        self.trace.tell(|| format!("   {id} is answered: {}", told(answer)));
        self.sum_answer(answer);
        let ledger = self.auditor.ledger(workspace);
        let effect = ledger.answer(asked, answer, &mut self.coverage)?;
        Ok(effect.then_some(asked.decided_at + 1))
    }

    fn sum_answer(&mut self, answer: &Result<Answer, Rejection>) {
        match answer {
            Ok(answer) => self.trace.sum_numbers(&[1, answer.revision.0]),
            Err(rejection) => self.trace.sum(rejection.code().as_bytes()),
        }
    }

    /// How many revisions of a workspace may be decided but not durable; none if retention itself
    /// is on its way.
    pub(crate) fn slack(&self, workspace: &WorkspaceName) -> Option<u64> {
        const EXPIRIES: u64 = 16;
        let mut slack = EXPIRIES;
        for pending in self.pending.iter().filter(|pending| pending.workspace == *workspace) {
            if let Action::Submit(Request { wish, .. }) = &pending.action {
                if format!("{wish:?}").contains("history_count") {
                    return None;
                }
                slack += 1;
            }
        }
        Some(slack)
    }
}

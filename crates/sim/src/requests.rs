//! Requests and queries, from the call to the answer.
//!
//! The driver does what the engine's own callers do: it loads a workspace on first use, waits for a
//! group that is full, and opens an answer only when its group is durable. It also reads the
//! revision of the workspace before each request, so that the auditor knows what it was decided
//! against.
//!
//! A waiting call has two phases: first it is queued, like any request; then it is polled until a
//! later batch has ended it. Its caller may disconnect at any time in between.

use std::collections::BTreeSet;
use std::sync::Arc;

use baton::clock::Clock;
use baton::error::Error;
use baton::machine::{Held, Queued};
use baton::waiter::{WaitResult, Waiter};
use baton::{Admission, Deferred, HeldAnswer};
use baton_core::access::Viewer;
use baton_core::{
    AgentId, Answer, Rejection, Request, Revision, Timestamp, WorkspaceName, workspace,
};

use crate::actors::agent::Action;
use crate::auditor::answers::DecidedRequest;
use crate::auditor::tokens::{check_tokens, viewer};
use crate::auditor::{Audit, demand};
use crate::models::live::{live_reply, live_request, received};
use crate::models::secret::check_no_secret;
use crate::story::{render_action, render_answer};
use crate::world::{Server, World, broken, is_excused};

/// A revision that was the effect of a request.
pub(crate) type ClaimedRevision = (WorkspaceName, u64);

/// A request without an answer yet.
pub(crate) struct PendingRequest {
    pub(crate) agent: usize,
    pub(crate) workspace: WorkspaceName,
    pub(crate) action: Action,
    pub(crate) asked_at: Timestamp,
    /// The durable revision when it was sent.
    asked_head: u64,
    pub(crate) waiting: RequestState,
}

pub(crate) enum RequestState {
    Request {
        probe: HeldAnswer,
        answer: HeldAnswer,
    },
    /// It waits, but that is not durable yet.
    Queued {
        probe: HeldAnswer,
        call: Arc<Waiter>,
        group: u64,
        is_gone: bool,
    },
    /// It waits.
    Call {
        call: Arc<Waiter>,
        decided_at: u64,
    },
    /// A live request, which waits for its reply.
    Live {
        call: Arc<Waiter>,
        group: u64,
    },
    /// A live request was received, or answered, without a commit.
    LiveAnswer(HeldAnswer),
    /// Its commit takes long, and is not finished.
    Offloaded {
        probe: HeldAnswer,
        call: Arc<Waiter>,
    },
    Present(HeldAnswer),
    Past(Held<Revision>),
    /// A reader has the tables, and has not answered.
    Reading,
    /// A reader has answered.
    Read(Held<LongAnswer>),
}

/// The answer of a reader, and the revision that it depends on.
type LongAnswer = (Result<Answer, Rejection>, Revision);

impl RequestState {
    fn group(&self) -> u64 {
        match self {
            Self::Request { answer, .. } | Self::Present(answer) | Self::LiveAnswer(answer) => {
                answer.group()
            }
            Self::Past(revision) => revision.group(),
            Self::Read(answer) => answer.group(),
            Self::Queued { group, .. } => *group,
            // A query is answered when what it read is durable.
            Self::Call { .. } | Self::Live { .. } | Self::Offloaded { .. } | Self::Reading => 0,
        }
    }

    /// The waiting call, if its caller is connected.
    fn call(&self) -> Option<&Arc<Waiter>> {
        match self {
            Self::Queued { call, is_gone: false, .. }
            | Self::Call { call, .. }
            | Self::Live { call, .. } => Some(call),
            Self::Queued { .. }
            | Self::Request { .. }
            | Self::LiveAnswer(_)
            | Self::Offloaded { .. }
            | Self::Present(_)
            | Self::Past(_)
            | Self::Reading
            | Self::Read(_) => None,
        }
    }
}

impl World {
    /// An agent performs its next action.
    pub(crate) fn act(&mut self) -> Audit {
        let number = self.rng.index(self.agents.len());
        if self.agents[number].waiting > 0 && self.rng.once_in(12) {
            self.disconnect(number);
        }
        let agent = &mut self.agents[number];
        match agent.act(&mut self.rng, &self.plan) {
            Some(action) => self.perform(number, action),
            None => Ok(()),
        }
    }

    /// An agent makes webhook calls.
    pub(crate) fn call(&mut self) -> Audit {
        let number = self.rng.index(self.agents.len());
        let action = self.agents[number].call(&mut self.rng);
        self.perform(number, action)
    }

    /// An agent performs this action.
    pub(crate) fn perform(&mut self, number: usize, action: Action) -> Audit {
        let agent = &self.agents[number];
        let (id, workspace) = (agent.id.clone(), agent.home.clone());
        if let Some(stopped) = self.server().shard.watermark().stopped() {
            self.trace.tell(|| format!("{id} is turned away: {stopped}"));
            return Ok(());
        }
        let gathered = self.server().shard.machine().open_group_size().1;
        if gathered >= self.plan.options.group_bytes_max && !self.flush()? {
            return Ok(());
        }
        self.trace.tell(|| format!("{id} in {workspace} {}", render_action(&action)));
        self.wait_settled(&workspace)?;
        if !self.load(&workspace)? {
            return Ok(());
        }
        // A workspace whose log is ahead of the clock has its own time.
        let asked_at = self.server().shard.machine().local_time(&workspace, self.clock.now());
        let waiting =
            self.sliced(|server| begin(server, &workspace, &action, viewer(number, &id)))?;
        let action = self.note_live(&workspace, &id, action, (&waiting, asked_at))?;
        let asked_head = self.auditor.ledger(&workspace).head();
        self.agents[number].waiting += 1;
        let agent = number;
        self.pending.push(PendingRequest {
            agent,
            workspace,
            action,
            asked_at,
            asked_head,
            waiting,
        });
        Ok(())
    }

    /// The caller of one of an agent's waiting calls disconnects.
    fn disconnect(&mut self, number: usize) {
        let of_agent = |pending: &PendingRequest| pending.agent == number;
        let call = self
            .pending
            .iter()
            .position(|pending| of_agent(pending) && pending.waiting.call().is_some());
        let Some(index) = call else { return };
        let workspace = self.pending[index].workspace.clone();
        if self.server().shard.machine().is_away(&workspace) {
            // Its revision is not known now; that such a wait ends is tested elsewhere.
            return;
        }
        let call = Arc::clone(self.pending[index].waiting.call().expect("it was just there"));
        let (id, wait) = (self.agents[number].id.clone(), call.wait);
        let server = self.server.as_ref().expect("a server runs between steps");
        let mut machine = server.shard.machine();
        let resident = machine.resident(&workspace);
        // A server that has lost its memory reports that to its callers, which count as gone.
        let Some(revision) = resident.map(|there| there.space.revision()) else { return };
        // A repeated call with the same key takes its place.
        let is_replaced = self.pending[index + 1..].iter().any(|pending| {
            let later = pending.waiting.call();
            pending.workspace == workspace && later.is_some_and(|later| later.wait == wait)
        });
        if let (Some(_), Action::Submit(request)) =
            (wait.live_number(), &self.pending[index].action)
            && let Some(live) = live_request(request)
        {
            let now = machine.local_time(&workspace, self.clock.now());
            self.auditor.ledger(&workspace).live_gone(live, now);
        } else if !is_replaced {
            self.auditor.ledger(&workspace).abandoned(wait.0, revision.0);
        }
        machine.give_up(&call, self.clock.now());
        drop(machine);
        self.trace.tell(|| format!("{id} waits no longer for call {wait}"));
        self.coverage.met("wait: caller disconnected");
        match &mut self.pending[index].waiting {
            // The event that queued it must still be explained once it is durable.
            RequestState::Queued { is_gone, .. } => *is_gone = true,
            _ => {
                self.pending.remove(index);
                self.agents[number].waiting -= 1;
            }
        }
    }

    /// Opens every answer whose outcome is known. Returns the revisions that were claimed.
    pub(crate) fn resolve(&mut self) -> Audit<BTreeSet<(WorkspaceName, u64)>> {
        let mut claimed = BTreeSet::new();
        let mut index = 0;
        while index < self.pending.len() {
            if let RequestState::Call { call, .. } | RequestState::Live { call, .. } =
                &self.pending[index].waiting
            {
                match call.result() {
                    None => index += 1,
                    Some(wait_result) => {
                        let pending = self.pending.remove(index);
                        self.agents[pending.agent].waiting -= 1;
                        self.end_call(&pending, wait_result)?;
                    }
                }
                continue;
            }
            if let RequestState::Offloaded { call, .. } = &self.pending[index].waiting {
                match call.result() {
                    None => index += 1,
                    Some(wait_result) => {
                        let pending = self.pending.remove(index);
                        self.agents[pending.agent].waiting -= 1;
                        claimed.extend(self.end_offloaded(pending, wait_result)?);
                    }
                }
                continue;
            }
            if self.is_to_wait(index) {
                index += 1;
                continue;
            }
            let group = self.pending[index].waiting.group();
            match self.server().shard.watermark().group_status(group) {
                None => index += 1,
                Some(fate) => {
                    let pending = self.pending.remove(index);
                    self.agents[pending.agent].waiting -= 1;
                    if matches!(pending.waiting, RequestState::LiveAnswer(_)) {
                        if let Ok(durable) = fate {
                            self.open_live(pending, durable)?;
                        }
                        continue;
                    }
                    let (claims, waiting) = self.open(pending, fate)?;
                    claimed.extend(claims);
                    if let Some(pending) = waiting {
                        self.agents[pending.agent].waiting += 1;
                        self.pending.insert(index, pending);
                    }
                }
            }
        }
        self.auditor.ledgers().try_for_each(|(_, ledger)| ledger.waits.live.check_explained())?;
        Ok(claimed)
    }

    /// Whether a request cannot be answered before long work in its workspace is finished.
    fn is_to_wait(&self, index: usize) -> bool {
        match &self.pending[index] {
            PendingRequest { waiting: RequestState::Reading, .. } => true,
            PendingRequest { waiting: RequestState::Past(_), workspace, .. } => {
                self.server().shard.machine().is_away(workspace)
            }
            _ => false,
        }
    }

    fn open(
        &mut self,
        pending: PendingRequest,
        fate: Result<u64, Error>,
    ) -> Audit<(Option<ClaimedRevision>, Option<PendingRequest>)> {
        let id = self.agents[pending.agent].id.clone();
        let durable = match fate {
            Ok(durable) => durable,
            Err(error) => {
                demand!(
                    matches!(error, Error::Full | Error::Unknown { .. }),
                    "a group was lost for a reason that there is not: {error}"
                );
                self.trace.tell(|| format!("   {id} hears: {error}"));
                return Ok((None, None));
            }
        };
        let PendingRequest { agent, workspace, action, asked_at, asked_head, waiting } = pending;
        match waiting {
            RequestState::Queued { probe, call, is_gone, .. } => {
                let Action::Submit(request) = &action else {
                    return Err(broken("only requests are submitted"));
                };
                let decided_at = self.probed(&id, probe, durable)?;
                let asked = DecidedRequest { agent: &id, request, asked_at, decided_at };
                let wait = call.wait;
                self.trace.tell(|| format!("   {id} waits as call {wait}"));
                let ledger = self.auditor.ledger(&workspace);
                let effect = ledger.queued(&asked, wait.0, &mut self.coverage)?;
                let claimed = effect.then(|| (workspace.clone(), decided_at + 1));
                let waiting = RequestState::Call { call, decided_at };
                let pending =
                    PendingRequest { agent, workspace, action, asked_at, asked_head, waiting };
                Ok((claimed, Some(pending).filter(|_| !is_gone)))
            }
            RequestState::Request { probe, answer } => {
                let Action::Submit(request) = &action else {
                    return Err(broken("only requests are submitted"));
                };
                let decided_at = self.probed(&id, probe, durable)?;
                let answer = answer.open(durable);
                let asked = DecidedRequest { agent: &id, request, asked_at, decided_at };
                let effect = self.answered(&workspace, &asked, &answer)?;
                self.agents[agent].learn(&action, &answer);
                Ok((effect.map(|revision| (workspace, revision)), None))
            }
            RequestState::Present(held) => {
                let answer = held.open(durable);
                self.read(agent, &workspace, &action, (&answer, asked_head))
            }
            RequestState::Read(held) => {
                let (answer, _) = held.open(durable);
                self.coverage.met("long: read by a reader");
                self.read(agent, &workspace, &action, (&answer, asked_head))
            }
            RequestState::Past(held) => {
                let Action::Ask(query) = &action else {
                    return Err(broken("only questions have a past"));
                };
                let present = held.open(durable);
                self.query_past(&workspace, &id, query, present)?;
                let agent = &mut self.agents[agent];
                agent.revision = agent.revision.max(present.0);
                Ok((None, None))
            }
            _ => Err(broken("who waits is looked at elsewhere")),
        }
    }

    /// A query about the present is answered.
    fn read(
        &mut self,
        agent: usize,
        workspace: &WorkspaceName,
        action: &Action,
        (answer, asked_head): (&Result<Answer, Rejection>, u64),
    ) -> Audit<(Option<ClaimedRevision>, Option<PendingRequest>)> {
        check_tokens(viewer(agent, &self.agents[agent].id), answer)?;
        let Action::Ask(query) = action else {
            return Err(broken("only queries are sent"));
        };
        let id = &self.agents[agent].id;
        self.trace.tell(|| format!("   {id} reads: {}", render_answer(answer)));
        self.sum_answer(answer)?;
        self.auditor.ledger(workspace).present(query, answer, asked_head)?;
        self.agents[agent].learn(action, answer);
        Ok((None, None))
    }

    /// The revision against which a request was decided.
    pub(crate) fn probed(&mut self, id: &AgentId, probe: HeldAnswer, durable: u64) -> Audit<u64> {
        let fate = self.server().shard.watermark().group_status(probe.group());
        demand!(
            matches!(fate, Some(Ok(_))),
            "`{id}` was answered before what the answer rests on was durable"
        );
        let probe = probe.open(durable).map_err(|_| broken("a revision was refused"))?;
        Ok(probe.revision.0)
    }

    /// A waiting call is answered.
    fn end_call(&mut self, pending: &PendingRequest, wait_result: WaitResult) -> Audit {
        let id = self.agents[pending.agent].id.clone();
        let answer = match wait_result {
            Ok(answer) => answer,
            Err(error) => {
                let excused = match &error {
                    Error::Unknown { reason } => {
                        reason.contains("came again") || is_excused(&error)
                    }
                    Error::Full | Error::Closed => true,
                    _ => false,
                };
                demand!(excused, "`{id}` waited and got: {error}");
                self.trace.tell(|| format!("   {id} waited and hears: {error}"));
                return Ok(());
            }
        };
        self.trace.tell(|| format!("   {id} waited and hears: {}", render_answer(&answer)));
        self.sum_answer(&answer)?;
        if self.end_live(pending, &answer)? {
            self.agents[pending.agent].learn(&pending.action, &answer);
            return Ok(());
        }
        let (RequestState::Call { call, decided_at }, Action::Submit(request)) =
            (&pending.waiting, &pending.action)
        else {
            return Err(broken("only requests wait"));
        };
        let (asked_at, decided_at) = (pending.asked_at, *decided_at);
        let asked = DecidedRequest { agent: &id, request, asked_at, decided_at };
        let ledger = self.auditor.ledger(&pending.workspace);
        ledger.ended(&asked, call.wait.0, &answer, &mut self.coverage)?;
        self.agents[pending.agent].learn(&pending.action, &answer);
        Ok(())
    }

    pub(crate) fn answered(
        &mut self,
        workspace: &WorkspaceName,
        asked: &DecidedRequest<'_>,
        answer: &Result<Answer, Rejection>,
    ) -> Audit<Option<u64>> {
        let id = asked.agent;
        self.trace.tell(|| format!("   {id} is answered: {}", render_answer(answer)));
        self.sum_answer(answer)?;
        let ledger = self.auditor.ledger(workspace);
        let effect = ledger.answer(asked, answer, &mut self.coverage)?;
        if answer.is_ok() {
            self.keep_secret(asked.request)?;
        }
        Ok(effect.then_some(asked.decided_at + 1))
    }

    /// Every answer is part of the digest, and none contains a secret value.
    pub(crate) fn sum_answer(&mut self, answer: &Result<Answer, Rejection>) -> Audit {
        if !self.hidden.is_empty() {
            check_no_secret("an answer", format!("{answer:?}").as_bytes())?;
        }
        match answer {
            Ok(answer) => self.trace.sum_numbers(&[1, answer.revision.0]),
            Err(rejection) => self.trace.sum(rejection.code().as_bytes()),
        }
        Ok(())
    }

    /// How many revisions of a workspace may be decided but not durable; none if retention itself
    /// is in flight.
    pub(crate) fn slack(&self, workspace: &WorkspaceName) -> Option<u64> {
        const EXPIRIES: u64 = 40;
        let mut slack = EXPIRIES;
        for pending in self.pending.iter().filter(|pending| pending.workspace == *workspace) {
            if let Action::Submit(Request { mutation, .. }) = &pending.action {
                if format!("{mutation:?}").contains("history_count") {
                    return None;
                }
                slack += 1;
            }
        }
        Some(slack)
    }
}

/// Submits a request, or asks a query.
fn begin(
    server: &mut Server,
    workspace: &WorkspaceName,
    action: &Action,
    viewer: Viewer<'_>,
) -> Audit<RequestState> {
    let shard = &server.shard;
    match action {
        Action::Submit(request) => {
            let query = workspace::Query::Get.into();
            let Some(probe) = shard.ask(workspace, &query, None).answer() else {
                return Err(broken("a loaded workspace does not know its revision"));
            };
            match shard.submit(workspace, request.clone(), viewer.agent) {
                Admission::Answer(answer) => {
                    let is_reply = live_reply(request).is_some_and(|it| it.wait_ms.is_none());
                    let is_live =
                        answer.judge(|it| received(it).is_some() || is_reply && it.is_ok());
                    if is_live {
                        return Ok(RequestState::LiveAnswer(answer));
                    }
                    Ok(RequestState::Request { probe, answer })
                }
                Admission::Wait(Queued { waiter: call, group, .. })
                    if call.wait.live_number().is_some() =>
                {
                    Ok(RequestState::Live { call, group })
                }
                Admission::Wait(Queued { waiter: call, .. })
                    if shard.machine().is_away(workspace) =>
                {
                    Ok(RequestState::Offloaded { probe, call })
                }
                Admission::Wait(Queued { waiter: call, group, .. }) => {
                    Ok(RequestState::Queued { probe, call, group, is_gone: false })
                }
                Admission::Retry(..) => Err(broken("a loaded workspace is not in memory")),
            }
        }
        Action::Ask(query) => match shard.ask(workspace, query, Some(viewer)) {
            Admission::Answer(held) => Ok(RequestState::Present(held)),
            Admission::Wait(Deferred::Past(held)) => Ok(RequestState::Past(held)),
            Admission::Wait(Deferred::Long) => {
                let lent = shard.machine().lend(workspace);
                let lent = lent.ok_or_else(|| broken("the tables are not there"))?;
                server.lent.push((workspace.clone(), lent));
                Ok(RequestState::Reading)
            }
            Admission::Retry(..) => Err(broken("a loaded workspace is not in memory")),
        },
    }
}

//! Work that takes long: begun by a request, a query or a deadline, and finished at a later step.
//!
//! ```text
//!   act, expire ──▶ a worker or a reader has the tables ──▶ other workspaces act, groups are
//!                                │                           written or lost, time passes …
//!                                └── work, or anyone who needs the tables ──▶ it is finished
//! ```
//!
//! A server that is killed meanwhile has not begun it; one that loses a write has forgotten it.

use baton::clock::Clock;
use baton::error::Error;
use baton::machine::{Job, Lent};
use baton::waiter::WaitResult;
use baton::{Admission, RetryAfter};
use baton_core::{Answer, WorkspaceName, workspace};

use crate::actors::agent::Action;
use crate::auditor::answers::DecidedRequest;
use crate::auditor::tokens::viewer;
use crate::auditor::{Audit, demand};
use crate::requests::{ClaimedRevision, PendingRequest, RequestState};
use crate::world::{Server, World, broken, is_excused};

impl World {
    /// Lets a server do something of which long work is left to workers and readers.
    pub(crate) fn sliced<T>(&mut self, act: impl FnOnce(&mut Server) -> T) -> T {
        let slice_max = self.plan.slice_max.unwrap_or(usize::MAX);
        let server = self.server.as_mut().expect("a server runs between steps");
        server.shard.machine().limit_slices(slice_max);
        let done = act(server);
        let mut machine = server.shard.machine();
        machine.limit_slices(usize::MAX);
        let jobs = machine.take_jobs();
        drop(machine);
        server.jobs.extend(jobs);
        done
    }

    /// Something that takes long is finished.
    pub(crate) fn work(&mut self) -> Audit {
        let server = self.server();
        let jobs = server.jobs.iter().map(|job| job.workspace().clone());
        let away: Vec<_> = jobs.chain(server.lent.iter().map(|(name, _)| name.clone())).collect();
        if away.is_empty() {
            return Ok(());
        }
        let workspace = self.rng.pick(&away).clone();
        self.settle(&workspace)
    }

    /// A request to a workspace whose tables are away has to wait until they are back.
    pub(crate) fn wait_settled(&mut self, workspace: &WorkspaceName) -> Audit {
        if !self.server().shard.machine().is_away(workspace) {
            return Ok(());
        }
        let query = workspace::Query::Get.into();
        let asked = self.server().shard.ask(workspace, &query, None);
        demand!(
            matches!(asked, Admission::Retry((), RetryAfter::Settled)),
            "`{workspace}` is seen between two revisions"
        );
        self.coverage.met("long: a request waited for it");
        // Work that was lost with a write may be finished before it.
        while self.server().shard.machine().is_away(workspace) {
            self.settle(workspace)?;
        }
        Ok(())
    }

    /// Everything that takes long is finished.
    pub(crate) fn settle_all(&mut self) -> Audit {
        loop {
            let server = self.server();
            let job = server.jobs.first().map(|job| job.workspace().clone());
            let lent = || server.lent.first().map(|(name, _)| name.clone());
            let Some(workspace) = job.or_else(lent) else { return Ok(()) };
            self.settle(&workspace)?;
        }
    }

    /// Finishes long work in a workspace.
    pub(crate) fn settle(&mut self, workspace: &WorkspaceName) -> Audit {
        let server = self.server.as_mut().expect("a server runs between steps");
        let lent = server.lent.iter().position(|(name, _)| name == workspace);
        if let Some(index) = lent {
            let (_, lent) = server.lent.remove(index);
            return self.end_read(workspace, lent);
        }
        let job = server.jobs.iter().position(|job| job.workspace() == workspace);
        if let Some(index) = job {
            let job = server.jobs.remove(index);
            self.finish(job)?;
        }
        Ok(())
    }

    fn finish(&mut self, job: Job) -> Audit {
        // As the driver does: a full group is written before anything is added to it.
        let gathered = self.server().shard.machine().open_group_size().1;
        if gathered >= self.plan.options.group_bytes_max {
            self.flush()?;
        }
        let workspace = job.workspace().clone();
        self.trace.tell(|| format!("long work in {workspace} is finished"));
        let (finished, now) = (job.run(), self.clock.now());
        let server = self.server.as_mut().expect("a server runs between steps");
        let mut machine = server.shard.machine();
        let open = machine.open_group();
        machine.take_back(finished, now);
        let (jobs, live_wakers) = (machine.take_jobs(), machine.take_live_wakers());
        let is_away = machine.is_away(&workspace);
        drop(machine);
        live_wakers.wake();
        server.jobs.extend(jobs);
        self.coverage.met("long: finished by a worker");
        if is_away {
            return Ok(());
        }
        // A call that waits for something else now waits like any other.
        for pending in self.pending.iter_mut().filter(|pending| pending.workspace == workspace) {
            pending.waits_from(open);
        }
        Ok(())
    }

    fn end_read(&mut self, workspace: &WorkspaceName, lent: Lent) -> Audit {
        let is_it = |pending: &PendingRequest| {
            pending.workspace == *workspace && matches!(pending.waiting, RequestState::Reading)
        };
        let index = self.pending.iter().position(is_it);
        let index = index.ok_or_else(|| broken("no caller waits for a reader"))?;
        let Action::Ask(query) = &self.pending[index].action else {
            return Err(broken("only queries are read"));
        };
        let reply = lent.query(query).ok_or_else(|| broken("a reader is asked about the past"))?;
        let (revision, agent) = (lent.revision(), self.pending[index].agent);
        let answer = reply.map(|mut reply| {
            reply.hide_tokens(viewer(agent, &self.agents[agent].id));
            Answer { revision, reply }
        });
        self.trace.tell(|| format!("a reader of {workspace} returns the tables"));
        let held = self.server().shard.machine().take_back_lent(lent, answer, self.clock.now());
        match held {
            Some(held) => self.pending[index].waiting = RequestState::Read(held),
            None => {
                // Its tables were lost with a write; its caller asks again.
                self.coverage.met("long: a reader had what was lost");
                let pending = self.pending.remove(index);
                self.agents[pending.agent].waiting -= 1;
            }
        }
        Ok(())
    }

    /// A request that took long is answered. Returns the revision that it claims.
    pub(crate) fn end_offloaded(
        &mut self,
        pending: PendingRequest,
        told: WaitResult,
    ) -> Audit<Option<ClaimedRevision>> {
        let PendingRequest { agent, workspace, action, asked_at, waiting, .. } = pending;
        let id = self.agents[agent].id.clone();
        let (RequestState::Offloaded { probe, .. }, Action::Submit(request)) = (waiting, &action)
        else {
            return Err(broken("only requests take long"));
        };
        let answer = match told {
            Ok(answer) => answer,
            Err(error) => {
                let is_lost = matches!(error, Error::Full | Error::Closed) || is_excused(&error);
                demand!(is_lost, "`{id}` was to be answered and got: {error}");
                self.coverage.met("long: lost with a write");
                self.trace.tell(|| format!("   {id} hears: {error}"));
                return Ok(None);
            }
        };
        let durable = self.server().shard.machine().durable();
        let decided_at = self.probed(&id, probe, durable)?;
        let asked = DecidedRequest { agent: &id, request, asked_at, decided_at };
        let effect = self.answered(&workspace, &asked, &answer)?;
        self.agents[agent].learn(&action, &answer);
        Ok(effect.map(|revision| (workspace, revision)))
    }
}

impl PendingRequest {
    /// Its commit is finished, and in this group: if it waits, it does so like any other.
    fn waits_from(&mut self, group: u64) {
        let RequestState::Offloaded { call, .. } = &self.waiting else { return };
        // A call that waits for nothing is answered with its group.
        if call.wait.0 == 0 {
            return;
        }
        let reading = std::mem::replace(&mut self.waiting, RequestState::Reading);
        if let RequestState::Offloaded { probe, call } = reading {
            self.waiting = RequestState::Queued { probe, call, group, is_gone: false };
        }
    }
}

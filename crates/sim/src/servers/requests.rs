//! Requests and queries at a server that serves, or believes that it does.
//!
//! The driver does what the engine's own callers do: it asks whether the server may answer, loads a
//! workspace on first use, and opens an answer only when its group is durable.

use std::sync::Arc;

use baton::clock::Clock;
use baton::error::Error;
use baton::machine::Queued;
use baton::waiter::{WaitResult, Waiter};
use baton::{Admission, HeldAnswer};
use baton_core::{Timestamp, WorkspaceName, workspace};

use super::Fleet;
use super::server::{Done, Open, Serving, Slot};
use crate::actors::agent::Action;
use crate::auditor::answers::DecidedRequest;
use crate::auditor::tokens::{check_tokens, viewer};
use crate::auditor::{Audit, demand};
use crate::story::{render_action, render_answer};
use crate::world::broken;

/// A request without an answer yet.
pub(super) struct Pending {
    agent: usize,
    server: usize,
    /// The engine that has it.
    engine: u64,
    workspace: WorkspaceName,
    action: Action,
    asked_at: Timestamp,
    /// The revision that someone knew when it was sent.
    asked_head: u64,
    state: State,
}

enum State {
    Request { probe: HeldAnswer, answer: HeldAnswer },
    Queued { probe: HeldAnswer, call: Arc<Waiter>, group: u64 },
    Call { call: Arc<Waiter>, decided_at: u64 },
    Present(HeldAnswer),
}

impl Pending {
    pub(super) fn words(&self) -> String {
        format!("in {} {}", self.workspace, render_action(&self.action))
    }
}

impl Fleet {
    /// An agent performs its next action.
    pub(super) fn act(&mut self) -> Audit {
        let number = self.rng.index(self.agents.len());
        let Some(action) = self.agents[number].act(&mut self.rng, &self.plan) else {
            return Ok(());
        };
        let serving = self.servers_of(self.home(&self.agents[number].home));
        if serving.is_empty() {
            return self.pass_time(100);
        }
        let name = *self.rng.pick(&serving);
        self.perform(number, name, action)
    }

    fn perform(&mut self, number: usize, name: usize, action: Action) -> Audit {
        let agent = &self.agents[number];
        let (id, workspace) = (agent.id.clone(), agent.home.clone());
        let shard_number = self.home(&workspace);
        let Some(Serving { open, number: engine, .. }) = self.servers[name].serving(shard_number)
        else {
            return Ok(());
        };
        let (open, engine) = (open.clone(), *engine);
        if let Err(error) = open.shard.check_serving() {
            self.trace.tell(|| format!("{id} is turned away by server {name}: {error}"));
            self.coverage.met("servers: turned away");
            return Ok(());
        }
        if open.shard.machine().open_group_size().1 >= self.plan.options.group_bytes_max {
            return self.flush(name, shard_number);
        }
        if !open.shard.is_resident(&workspace) && !self.load(name, &workspace)? {
            return Ok(());
        }
        self.trace
            .tell(|| format!("{id} at server {name} in {workspace} {}", render_action(&action)));
        let shard = &open.shard;
        let state = match &action {
            Action::Submit(request) => {
                let query = workspace::Query::Get.into();
                let Some(probe) = shard.ask(&workspace, &query, None).answer() else {
                    return Err(broken("a loaded workspace does not know its revision"));
                };
                match shard.submit(&workspace, request.clone(), &id) {
                    Admission::Answer(answer) => State::Request { probe, answer },
                    Admission::Wait(Queued { waiter: call, group, .. }) => {
                        State::Queued { probe, call, group }
                    }
                    Admission::Retry(..) => {
                        return Err(broken("a loaded workspace is not in memory"));
                    }
                }
            }
            Action::Ask(query) => match shard.ask(&workspace, query, Some(viewer(number, &id))) {
                Admission::Answer(held) => State::Present(held),
                // The past is the subject of the simulation of one server.
                Admission::Wait(_) => return Ok(()),
                Admission::Retry(..) => return Err(broken("a loaded workspace is not in memory")),
            },
        };
        let asked_at = shard.machine().local_time(&workspace, self.servers[name].clock.now());
        let asked_head = self.known.get(&workspace).copied().unwrap_or_default();
        self.agents[number].waiting += 1;
        let (agent, server) = (number, name);
        self.pending.push(Pending {
            agent,
            server,
            engine,
            workspace,
            action,
            asked_at,
            asked_head,
            state,
        });
        Ok(())
    }

    /// Writes the open group of a shard.
    pub(super) fn flush(&mut self, name: usize, shard: u32) -> Audit {
        let server = &mut self.servers[name];
        let Some(open) = server.open(shard).cloned() else { return Ok(()) };
        // Maintenance may hold what an append waits for, and the other way round.
        if server.is_busy(Slot::Keep, shard) || server.is_busy(Slot::Flush, shard) {
            return Ok(());
        }
        let done = server.run(Slot::Flush, shard, move || Done::Flushed(open.shard.flush()));
        done.map_or(Ok(()), |done| self.finish(name, done))
    }

    /// Runs the most urgent maintenance task of a shard.
    pub(super) fn do_chore(&mut self, name: usize, shard: u32) -> Audit {
        let server = &mut self.servers[name];
        let Some(open) = server.open(shard).cloned() else { return Ok(()) };
        if server.is_busy(Slot::Keep, shard) || server.is_busy(Slot::Flush, shard) {
            return Ok(());
        }
        let Some(job) = open.shard.next_compaction_job() else { return Ok(()) };
        self.trace.tell(|| format!("server {name}: {job:?}"));
        let keep = move || Done::Kept(shard, open.shard.compact_next());
        let done = server.run(Slot::Keep, shard, keep);
        done.map_or(Ok(()), |done| self.finish(name, done))
    }

    /// Loads a workspace; false if that takes longer or failed.
    fn load(&mut self, name: usize, workspace: &WorkspaceName) -> Audit<bool> {
        let home = self.home(workspace);
        let server = &mut self.servers[name];
        let Some(open) = server.open(home).cloned() else { return Ok(false) };
        if server.is_busy(Slot::Keep, home) || server.is_busy(Slot::Flush, home) {
            return Ok(false);
        }
        let (shard, wanted) = (Arc::clone(&open.shard), workspace.clone());
        // What is planned for maintenance is not for this.
        let armed = server.armed[Slot::Keep as usize].take();
        let done = server.run(Slot::Keep, home, move || {
            let loaded = shard.load(&wanted);
            Done::Loaded(wanted, loaded)
        });
        server.armed[Slot::Keep as usize] = armed;
        if let Some(done) = done {
            self.finish(name, done)?;
        }
        Ok(open.shard.is_resident(workspace))
    }

    pub(super) fn expire(&mut self, name: usize, shard: u32) -> Audit {
        let open = self.servers[name].open(shard).cloned();
        let Some(Open { shard, .. }) = open else { return Ok(()) };
        // The real driver executes what is due only while it serves.
        if shard.watermark().stopped().is_some() {
            return Ok(());
        }
        for workspace in shard.expire() {
            if self.load(name, &workspace)? {
                shard.expire();
            }
        }
        Ok(())
    }

    /// Opens every answer whose outcome is known.
    pub(super) fn resolve(&mut self) -> Audit {
        let mut index = 0;
        while index < self.pending.len() {
            let Pending { server, engine, workspace, state, .. } = &self.pending[index];
            let server = &self.servers[*server];
            let serving = server.serving(self.home(workspace));
            let Some(Serving { open, .. }) = serving.filter(|it| it.number == *engine) else {
                self.forget(index);
                continue;
            };
            // A process that is stopped receives nothing.
            if server.is_paused {
                index += 1;
                continue;
            }
            let group = match state {
                State::Request { answer, .. } | State::Present(answer) => answer.group(),
                State::Queued { group, .. } => *group,
                State::Call { .. } => 0,
            };
            let fate = open.shard.watermark().group_status(group);
            let told = match state {
                State::Call { call, .. } => call.result(),
                State::Request { .. } | State::Queued { .. } | State::Present(_) => None,
            };
            let is_call = matches!(state, State::Call { .. });
            if fate.is_none() || (is_call && told.is_none()) {
                index += 1;
                continue;
            }
            let pending = self.forget(index);
            match (told, fate) {
                (Some(told), _) => self.end_call(&pending, told)?,
                (None, Some(fate)) => self.answer(index, pending, fate)?,
                (None, None) => {}
            }
        }
        Ok(())
    }

    fn forget(&mut self, index: usize) -> Pending {
        let pending = self.pending.remove(index);
        self.agents[pending.agent].waiting -= 1;
        pending
    }

    /// Whether another server serves since, so that times and orders cannot be compared.
    fn is_late(&self, pending: &Pending) -> bool {
        let shard = self.home(&pending.workspace);
        self.shards[shard as usize].serving != Some((pending.server, pending.engine))
    }

    fn answer(&mut self, index: usize, pending: Pending, fate: Result<u64, Error>) -> Audit {
        let id = self.agents[pending.agent].id.clone();
        let durable = match fate {
            Ok(durable) => durable,
            Err(error) => {
                let is_known = matches!(error, Error::Fenced | Error::Unknown { .. });
                demand!(is_known, "a group was lost for a reason that there is not: {error}");
                self.trace.tell(|| format!("   {id} hears: {error}"));
                return Ok(());
            }
        };
        let is_late = self.is_late(&pending);
        let Pending { agent, server, engine, workspace, action, asked_at, asked_head, state } =
            pending;
        let ledger = self.auditor.ledger(&workspace);
        let probed = |probe: HeldAnswer| {
            let probe = probe.open(durable).map_err(|_| broken("a revision was refused"))?;
            Ok(probe.revision.0)
        };
        match (state, &action) {
            (State::Request { probe, answer }, Action::Submit(request)) => {
                let decided_at = probed(probe)?;
                let answer = answer.open(durable);
                self.trace.tell(|| format!("   {id} is answered: {}", render_answer(&answer)));
                let asked = DecidedRequest { agent: &id, request, asked_at, decided_at };
                if is_late {
                    self.coverage.met("servers: answered after a takeover");
                    ledger.answer_late(&asked, &answer, &mut self.coverage)?;
                } else {
                    ledger.answer(&asked, &answer, &mut self.coverage)?;
                }
                self.agents[agent].learn(&action, &answer);
            }
            (State::Queued { probe, call, .. }, Action::Submit(request)) if !is_late => {
                let decided_at = probed(probe)?;
                let asked = DecidedRequest { agent: &id, request, asked_at, decided_at };
                ledger.queued(&asked, call.wait.0, &mut self.coverage)?;
                let state = State::Call { call, decided_at };
                self.agents[agent].waiting += 1;
                self.pending.insert(
                    index,
                    Pending {
                        agent,
                        server,
                        engine,
                        workspace,
                        action,
                        asked_at,
                        asked_head,
                        state,
                    },
                );
            }
            (State::Present(held), Action::Ask(query)) => {
                let answer = held.open(durable);
                self.trace.tell(|| format!("   {id} reads: {}", render_answer(&answer)));
                check_tokens(viewer(agent, &id), &answer)?;
                ledger.present(query, &answer, asked_head)?;
                if let Ok(answer) = &answer {
                    self.trace.sum_numbers(&[1, answer.revision.0]);
                    let known = self.known.entry(workspace).or_default();
                    *known = answer.revision.0.max(*known);
                }
                self.agents[agent].learn(&action, &answer);
            }
            (_, Action::Submit(_) | Action::Ask(_)) => {}
        }
        Ok(())
    }

    /// A waiting call is answered.
    fn end_call(&mut self, pending: &Pending, told: WaitResult) -> Audit {
        let (State::Call { call, decided_at }, Action::Submit(request)) =
            (&pending.state, &pending.action)
        else {
            return Err(broken("only requests wait"));
        };
        let id = self.agents[pending.agent].id.clone();
        let Ok(answer) = told else { return Ok(()) };
        self.trace.tell(|| format!("   {id} waited and hears: {}", render_answer(&answer)));
        if self.is_late(pending) {
            return Ok(());
        }
        let (asked_at, decided_at) = (pending.asked_at, *decided_at);
        let asked = DecidedRequest { agent: &id, request, asked_at, decided_at };
        let ledger = self.auditor.ledger(&pending.workspace);
        ledger.ended(&asked, call.wait.0, &answer, &mut self.coverage)?;
        self.agents[pending.agent].learn(&pending.action, &answer);
        Ok(())
    }
}

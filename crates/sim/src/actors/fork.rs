//! Forks that agents create, and an agent that continues in them and deletes them at times.
//!
//! A fork is requested like any query about the past. From then on it is another workspace: an
//! agent writes to it, the origin continues with all others, and after every write and restart it
//! must match its own model, whatever happens to the origin.

use baton::Admission;
use baton::clock::Clock;
use baton::error::Error;
use baton_core::history::{At, Manner, Origin};
use baton_core::primitive::Table as _;
use baton_core::state::{self, Delete, Query as StateQuery, Snapshot};
use baton_core::workspace::{self, Forked, Rejection as WorkspaceRejection};
use baton_core::{
    AgentId, Answer, Command, Json, Key, NamespaceName, Query, Rejection, Reply, Revision, Space,
    WorkspaceName,
};

use crate::actors::agent::write;
use crate::actors::inputs::Inputs;
use crate::auditor::{Audit, demand};
use crate::models::fork::Fork;
use crate::world::{Server, World, broken, is_excused};

/// The names that forks get. Few, so that some are taken already.
const NAMES: [&str; 3] = ["fork-1", "fork-2", "fork-3"];

/// Requests a fork, of the present or of a revision that the agent knows.
pub fn fork(inputs: &mut Inputs<'_>, heard_of: u64) -> Query {
    let name = *inputs.rng.pick(&NAMES);
    let to = WorkspaceName::parse(name).expect("a good name");
    let revision = Revision(inputs.rng.below(heard_of + 3));
    let at = (!inputs.rng.once_in(3)).then_some(At::Revision(revision));
    workspace::Query::Fork { to, at }.into()
}

impl World {
    /// An agent requests a fork, as of a revision that is durable.
    pub(crate) fn fork(
        &mut self,
        workspace: &WorkspaceName,
        by: &AgentId,
        query: &Query,
        present: Revision,
    ) -> Audit {
        let Query::Workspace(workspace::Query::Fork { to, at }) = query else {
            return Err(broken(format!("{query:?} is no fork")));
        };
        if !self.load(workspace)? {
            return Ok(());
        }
        let slack = self.slack(workspace);
        let answer = self.server().shard.query_past(workspace, by, query, present);
        self.trace.tell(|| format!("   a fork of {workspace} to {to}: {answer:?}"));
        let due = match at {
            Some(At::Revision(revision)) => *revision,
            Some(At::Time(_)) | None => present,
        };
        match answer {
            Ok(Answer { reply: Reply::Workspace(workspace::Reply::Forked(forked)), .. }) => {
                self.forked(workspace, &forked, by, due)
            }
            Err(Error::Rejected(Rejection::Workspace(WorkspaceRejection::Exists {
                id, ..
            }))) => {
                self.coverage.met("fork: name taken");
                let is_there = match self.auditor.fork(&id) {
                    Some(fork) => !fork.is_deleted(),
                    None => self.auditor.is_fork(&id),
                };
                demand!(is_there, "`{id}` is reported as existing, but does not exist");
                Ok(())
            }
            Err(error) => {
                if is_excused(&error) {
                    // It may exist anyway, with unknown content.
                    self.auditor.maybe_forked(to);
                }
                self.past_unavailable(workspace, error, present, slack)
            }
            other => Err(broken(format!("a fork was answered with {other:?}"))),
        }
    }

    fn forked(
        &mut self,
        workspace: &WorkspaceName,
        forked: &Forked,
        by: &AgentId,
        due: Revision,
    ) -> Audit {
        let Forked { id, revision, origin } = forked;
        let deleted = self.auditor.fork(id).filter(|fork| fork.is_deleted());
        let began = deleted.map(Fork::head);
        if let Some(fork) = self.auditor.fork(id).filter(|fork| !fork.is_deleted()) {
            let same = (&fork.origin, fork.at) == (workspace, due.0);
            let untouched = fork.head() == revision.0 && fork.began == revision.0;
            demand!(same && untouched, "`{id}` is another fork, at revision {}", fork.head());
            return Ok(());
        }
        if began.is_none() && self.auditor.is_fork(id) {
            // An attempt whose outcome was unknown has succeeded after all.
            return Ok(());
        }
        let mut fork = Fork::new(workspace, self.auditor.ledger(workspace), due.0, revision.0);
        if let Some(deleted) = self.auditor.fork(id) {
            fork.replace(deleted)?;
            self.coverage.met("fork: replaces a deleted one");
        }
        self.auditor.add_fork(id.clone(), fork);
        self.coverage.met("fork: made");
        if !self.load(id)? {
            return Ok(());
        }
        self.nothing_is_held(id)?;
        let time = self.auditor.ledger(workspace).batch(due.0).map(|batch| batch.time);
        let same = (origin.manner, &origin.workspace) == (Manner::Fork, workspace)
            && (origin.revision, &origin.by) == (due, by)
            && time.is_none_or(|time| time == origin.time);
        demand!(same, "the origin of `{id}` is {origin:?}, not {workspace} at {due}");
        self.is_a_replay(workspace, id, origin, (due, began.map(Revision)))?;
        self.fork_is_as_it_was(id)
    }

    /// Holds stay in the origin: the fork has none.
    fn nothing_is_held(&self, id: &WorkspaceName) -> Audit {
        let mut machine = self.server().shard.machine();
        let Some(resident) = machine.resident(id) else { return Ok(()) };
        let space = &resident.space;
        let mut agents = space.agent.after(None);
        let active = agents.find(|agent| space.agent.is_active(&agent.id));
        demand!(active.is_none(), "`{id}` began with the session of {active:?}");
        let (locks, _) = space.lock.facts();
        demand!(locks.is_empty(), "`{id}` began with {locks:?}");
        let (_, permits, _) = space.semaphore.facts();
        demand!(permits.is_empty(), "`{id}` began with {permits:?}");
        let every = baton_core::task::List::default();
        let leased = space.task.after(&every).find(|task| task.lease.is_some());
        demand!(leased.is_none(), "`{id}` began with the lease of {leased:?}");
        let waits = space.waits().count();
        demand!(waits == 0, "`{id}` began with {waits} calls that wait");
        Ok(())
    }

    /// The rest of its initial state is the replay of the origin's batches.
    fn is_a_replay(
        &mut self,
        workspace: &WorkspaceName,
        id: &WorkspaceName,
        origin: &Origin,
        (due, began): (Revision, Option<Revision>),
    ) -> Audit {
        let ledger = self.auditor.ledger(workspace);
        let mut replayed = Space::default();
        for revision in 1..=due.0 {
            let batch = ledger.batch(revision).ok_or_else(|| broken("a fork of the future"))?;
            replayed.replay(batch);
        }
        let founded = replayed.seed_fork(origin.clone(), self.clock.now());
        founded.map_err(|error| broken(format!("a replay cannot be a fork: {error}")))?;
        if let Some(began) = began {
            replayed.continue_after(began);
        }
        let mut machine = self.server().shard.machine();
        let Some(resident) = machine.resident(id) else { return Ok(()) };
        let (theirs, ours) = (resident.space.head(), replayed.head());
        demand!(ours == theirs, "`{id}` began as {theirs:?}, replayed it is {ours:?}");
        Ok(())
    }

    /// An agent continues in one of the forks.
    pub(crate) fn act_in_fork(&mut self) -> Audit {
        let names = self.auditor.forks();
        if names.is_empty() || self.server().shard.watermark().stopped().is_some() {
            return Ok(());
        }
        let id = self.rng.pick(&names).clone();
        if !self.load(&id)? {
            return Ok(());
        }
        if self.rng.once_in(8) {
            return self.delete_fork(&id);
        }
        let (namespace, key) = (NamespaceName::shared(), self.key());
        let command: Command = if self.rng.once_in(4) {
            let (namespace, key) = (namespace.clone(), key.clone());
            state::Command::Delete(Delete {
                namespace,
                key,
                expected_version: None,
                expected_revision: None,
            })
            .into()
        } else {
            let value = Json::of(&("heir", self.steps)).expect("it is JSON");
            state::Command::Set(write(namespace.clone(), key.clone(), value)).into()
        };
        let heir = AgentId::parse("heir").expect("a good name");
        self.trace.tell(|| format!("heir in {id}: {command:?}"));
        let held = match self.server().shard.submit(&id, command.clone().into(), &heir) {
            Admission::Answer(held) => held,
            Admission::Wait(_) => return Err(broken("a write to a fork waits")),
            Admission::Retry(..) => return Err(broken("a loaded workspace is not in memory")),
        };
        let (fork, now) = (self.auditor.fork(&id), self.clock.now());
        let before = fork.and_then(|fork| fork.version(&namespace, &key, now));
        if !self.flush()? || !self.is_in_memory(&id) {
            return Ok(());
        }
        let Some(Ok(durable)) = self.server().shard.watermark().group_status(held.group()) else {
            return Ok(());
        };
        match held.open(durable) {
            Ok(answer) => {
                let fork = self.auditor.fork(&id).ok_or_else(|| broken("a fork is lost"))?;
                let (stated, there) = (answer.revision.0, fork.head());
                demand!(stated <= there, "`{id}` acknowledged revision {stated}, it is at {there}");
                self.coverage.met("fork: continued");
            }
            Err(Rejection::State(state::Rejection::NotFound { .. })) => {
                demand!(before.is_none(), "`{id}` has lost {key}, version {before:?}");
            }
            // Rules and contracts of the origin apply here too.
            Err(rejection) => {
                let code = rejection.code();
                let may = code.starts_with("state.") || code == "contract.broken";
                demand!(may, "the heir is refused: {rejection}");
            }
        }
        self.fork_is_as_it_was(&id)
    }

    /// An agent deletes a fork, or a deleted one again, perhaps with a revision of the deleted one.
    fn delete_fork(&mut self, id: &WorkspaceName) -> Audit {
        if !self.flush()? || !self.load(id)? {
            return Ok(());
        }
        let Some(fork) = self.auditor.fork(id) else { return Ok(()) };
        let (head, deleted) = (fork.head(), fork.deleted.unwrap_or(0));
        let asked = self.rng.below(head) + 1;
        self.trace.tell(|| format!("heir deletes {id}, which has had revision {asked}"));
        let heir = AgentId::parse("heir").expect("a good name");
        let query = workspace::Query::Delete { revision: Revision(asked) }.into();
        let answer = self.server().shard.query_past(id, &heir, &query, Revision(head));
        self.absorb()?;
        match answer {
            Ok(Answer { reply: Reply::Workspace(workspace::Reply::Deleted(gone)), .. }) => {
                demand!(asked > deleted, "`{id}` is deleted by revision {asked} before {deleted}");
                let fork = self.auditor.fork_mut(id).ok_or_else(|| broken("a fork is lost"))?;
                let (last, head) = (gone.revision.0, fork.head());
                demand!(last == head, "`{id}` is deleted at revision {last}, it is at {head}");
                fork.delete();
                self.coverage.met("fork: deleted");
                if !self.load(id)? {
                    return Ok(());
                }
                self.fork_is_as_it_was(id)
            }
            Err(Error::Rejected(Rejection::Workspace(WorkspaceRejection::NotFound { .. }))) => {
                demand!(asked <= deleted, "`{id}` with revision {asked} is not found");
                self.coverage.met("fork: deleted before");
                Ok(())
            }
            Err(error) if is_excused(&error) => {
                // It may be deleted anyway.
                self.auditor.unknown_fork(id);
                Ok(())
            }
            other => Err(broken(format!("the deletion of `{id}` was answered with {other:?}"))),
        }
    }

    fn key(&mut self) -> Key {
        let number = self.rng.below(self.plan.keys);
        Key::parse(&format!("k{number}")).expect("a good key")
    }

    fn is_in_memory(&self, id: &WorkspaceName) -> bool {
        self.server().shard.is_resident(id)
    }

    /// Checks that a fork in memory matches its model.
    fn fork_is_as_it_was(&mut self, id: &WorkspaceName) -> Audit {
        let server = self.server.take().expect("a server runs between steps");
        let shown = self.show_fork(&server, id);
        self.server = Some(server);
        shown?.or_else(|error| self.excuse(&format!("reading `{id}`"), &error))
    }

    /// Checks that a server shows a fork as its model has it. The inner error is the server's.
    pub(crate) fn show_fork(
        &self,
        server: &Server,
        id: &WorkspaceName,
    ) -> Audit<Result<(), Error>> {
        if let Err(error) = server.shard.load(id) {
            return Ok(Err(error));
        }
        let Some(fork) = self.auditor.fork(id) else { return Ok(Ok(())) };
        let everything = Snapshot { limit: Some(10_000), ..Snapshot::default() };
        let query = StateQuery::Snapshot(everything).into();
        let Some(held) = server.shard.ask(id, &query, None).answer() else {
            return Err(broken("a loaded workspace is not in memory"));
        };
        // Batches that may still be lost are not in the model.
        let settled = server.shard.watermark().group_status(held.group());
        let Some(Ok(durable)) = settled else { return Ok(Ok(())) };
        match held.open(durable).map(|answer| answer.reply) {
            Ok(Reply::State(state::Reply::Entries(page))) => {
                let named = |breach: crate::auditor::Breach| {
                    broken(format!("`{id}`, a fork of `{}`: {}", fork.origin, breach.0))
                };
                fork.pictured(&page).map_err(named).map(Ok)
            }
            other => Err(broken(format!("all entries were requested, the answer is {other:?}"))),
        }
    }

    /// Checks that a server, which has just started, has every fork.
    pub(crate) fn recover_forks(&mut self) -> Audit {
        for id in self.auditor.forks() {
            if self.load(&id)? {
                self.fork_is_as_it_was(&id)?;
            }
        }
        Ok(())
    }
}

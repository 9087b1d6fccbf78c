//! What a program holds in its hands: the engine, and a workspace as one agent sees it.

mod agents;
mod namespaces;
mod state;
mod transaction;
mod watch;

use std::path::Path;
use std::sync::Arc;

use baton_core::state::Query as StateQuery;
use baton_core::{
    AgentId, Answer, Command, IdempotencyKey, Query, Rejection, Reply, Request, Revision, Wish,
    WorkspaceName, state as rules,
};
use baton_log::Log;
use baton_log::file::{FileLog, Options as FileOptions};

pub use agents::{Agents, Registration};
pub use namespaces::{CreateNamespace, Namespaces};
pub use state::{Patching, Setting, State};
pub use transaction::Transaction;
pub use watch::{Item, Watch, Watching};

use crate::clock::{Clock, SystemClock};
use crate::crank::{Crank, Submitted, Threads};
use crate::error::Error;
use crate::machine::{Absent, Asked};
use crate::options::Options;
use crate::ticket::aside;

/// The engine. Cheap to clone; it stops when the last clone, and everything made from it, is gone.
#[derive(Clone)]
pub struct Baton {
    crank: Arc<Crank>,
    threads: Arc<Threads>,
}

impl std::fmt::Debug for Baton {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Baton({})", self.description())
    }
}

/// Opens the data in a folder, which is created if it is not there.
///
/// Only one process, and only one engine in it, can have a folder open at a time.
pub async fn open(folder: impl AsRef<Path>) -> Result<Baton, Error> {
    open_with(folder, Options::default()).await
}

/// As [`open`], with settings.
pub async fn open_with(folder: impl AsRef<Path>, options: Options) -> Result<Baton, Error> {
    let folder = folder.as_ref().to_owned();
    aside(move || {
        let log = FileLog::open(FileOptions::new(&folder))?;
        Baton::on(log, SystemClock::default(), options)
    })
    .await?
}

impl Baton {
    /// An engine on any log and clock.
    pub fn on(log: impl Log, clock: impl Clock, options: Options) -> Result<Self, Error> {
        let (crank, threads) = Crank::start(Arc::new(log), Arc::new(clock), options)?;
        Ok(Self { crank, threads: Arc::new(threads) })
    }

    /// Where the data is and how it is made durable.
    pub fn description(&self) -> String {
        self.crank.shard.log.description()
    }

    /// A workspace. It comes into being with its first change.
    pub fn workspace(&self, name: &str) -> Result<Workspace, Error> {
        let name = WorkspaceName::parse(name)?;
        let agent = AgentId::parse("anonymous")?;
        Ok(Workspace { baton: self.clone(), name, agent, idempotency_key: None })
    }

    /// Finishes what was begun, closes the data, and refuses everything from now on. The folder is
    /// free when the last clone of the engine is dropped.
    pub async fn close(self) {
        // Without a thread for it the work is done here; closing must not fail.
        let threads = Arc::clone(&self.threads);
        if aside(move || threads.stop()).await.is_err() {
            self.threads.stop();
        }
    }

    /// Writes a snapshot of a workspace now, and archives its past. Nobody needs to: the engine
    /// does it by itself when it is worth while.
    pub async fn compact(&self, workspace: &Workspace) -> Result<(), Error> {
        self.crank.loaded(&workspace.name).await?;
        let (crank, name) = (Arc::clone(&self.crank), workspace.name.clone());
        aside(move || {
            crank.shard.archive(&name)?;
            crank.shard.snapshot(&name)
        })
        .await?
    }

    /// How many workspaces are in memory.
    pub fn resident_workspaces(&self) -> usize {
        self.crank.shard.machine().residents().len()
    }
}

/// A workspace as one agent sees it. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Workspace {
    baton: Baton,
    name: WorkspaceName,
    agent: AgentId,
    idempotency_key: Option<IdempotencyKey>,
}

impl Workspace {
    /// The same workspace, with another agent acting.
    pub fn as_agent(&self, agent: &str) -> Result<Self, Error> {
        Ok(Self { agent: AgentId::parse(agent)?, ..self.clone() })
    }

    /// The same workspace, for one request that may be repeated: under the same key it has no
    /// second effect and gets the first answer.
    pub fn once(&self, idempotency_key: &str) -> Result<Self, Error> {
        let key = IdempotencyKey::parse(idempotency_key)?;
        Ok(Self { idempotency_key: Some(key), ..self.clone() })
    }

    /// Its name.
    pub fn name(&self) -> &WorkspaceName {
        &self.name
    }

    /// Who acts.
    pub fn agent(&self) -> &AgentId {
        &self.agent
    }

    /// Shared state in one namespace.
    pub fn state(&self, namespace: &str) -> State {
        State::new(self.clone(), namespace)
    }

    /// The namespaces.
    pub fn namespaces(&self) -> Namespaces {
        Namespaces::new(self.clone())
    }

    /// The agents.
    pub fn agents(&self) -> Agents {
        Agents::new(self.clone())
    }

    /// Several commands, all or nothing.
    pub fn transaction(&self) -> Transaction {
        Transaction::new(self.clone())
    }

    /// Every event whose subject matches a pattern such as `state/shared/**`, from now on.
    pub fn watch(&self, pattern: &str) -> Watching {
        Watching::new(self.clone(), pattern)
    }

    /// Carries out one command.
    ///
    /// The answer comes when it is durable. If the future is dropped before, the command may or may
    /// not have been carried out; [`once`](Self::once) makes repeating it safe.
    pub async fn execute(&self, command: impl Into<Command>) -> Result<Answer, Error> {
        self.fulfil(Wish::Command(command.into())).await
    }

    pub(crate) async fn fulfil(&self, wish: Wish) -> Result<Answer, Error> {
        let mut request = Request { wish, idempotency_key: self.idempotency_key.clone() };
        let crank = &*self.baton.crank;
        loop {
            match crank.submit(&self.name, request, &self.agent)? {
                Submitted::Held(held) => {
                    let durable = crank.durable(held.group()).await?;
                    return Ok(held.open(durable)?);
                }
                Submitted::Absent(back) => {
                    request = back;
                    crank.loaded(&self.name).await?;
                }
                Submitted::Crowded(back, group) => {
                    request = back;
                    crank.durable(group).await?;
                }
            }
        }
    }

    /// Answers one question.
    pub async fn ask(&self, query: impl Into<Query>) -> Result<Answer, Error> {
        let query = query.into();
        let crank = &*self.baton.crank;
        loop {
            if let Some(stopped) = crank.shard.settled().stopped() {
                return Err(stopped);
            }
            match crank.shard.ask(&self.name, &query) {
                Ok(Asked::Present(held)) => {
                    let durable = crank.durable(held.group()).await?;
                    return Ok(held.open(durable)?);
                }
                Ok(Asked::Past(held)) => {
                    let durable = crank.durable(held.group()).await?;
                    let present = held.open(durable);
                    crank.archived(&self.name).await?;
                    let answer = self.ask_past(&query, present);
                    // A failed write elsewhere may empty the memory while the past is read.
                    if answer.is_ok() || crank.shard.is_resident(&self.name) {
                        return answer;
                    }
                }
                Err(Absent(())) => crank.loaded(&self.name).await?,
            }
        }
    }

    fn ask_past(&self, query: &Query, present: Revision) -> Result<Answer, Error> {
        let past = self.baton.crank.shard.past(&self.name, present)?;
        let Query::State(query) = query else {
            unreachable!("only shared state answers questions about the past");
        };
        let (revision, reply) = match query {
            StateQuery::Get(get) => {
                let at = get.at.unwrap_or(present);
                (at, rules::Reply::Entry(past.get(get, at)?))
            }
            StateQuery::List(list) => {
                let at = list.at.unwrap_or(present);
                (at, rules::Reply::Entries(past.list(list, at)?))
            }
            StateQuery::Snapshot(snapshot) => {
                let at = snapshot.at.unwrap_or(present);
                (at, rules::Reply::Entries(past.snapshot(snapshot, at)?))
            }
            StateQuery::History(history) => {
                let (changes, cursor) = past.history(history)?;
                (present, rules::Reply::Changes { changes, oldest: past.floor(), cursor })
            }
            StateQuery::Diff(diff) => {
                let changes = past.diff(diff)?;
                let oldest = past.floor();
                (present, rules::Reply::Changes { changes, oldest, cursor: None })
            }
        };
        Ok(Answer { revision, reply: Reply::State(reply) })
    }

    /// The revision of the last change.
    pub async fn revision(&self) -> Result<Revision, Error> {
        let query = Query::Workspace(baton_core::workspace::Query::Get);
        Ok(self.ask(query).await?.revision)
    }
}

/// What the rules could not have answered. The reply to a command is of its own kind.
fn odd(reply: &Reply) -> ! {
    unreachable!("the rules answered with {reply:?}")
}

/// A name or value that was not valid, found before anything was sent.
type Prepared<T> = Result<T, Rejection>;

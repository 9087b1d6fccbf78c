//! The work of one peer: found, claimed, and handled by a separate task.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use baton_client::{Error, Item, Watch, Workspace};
use baton_core::agent::Status as Session;
use baton_core::handoff::Handoff;
use baton_core::task::{List, Status, Task};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::remote::Remote;

/// How long the session and the leases last without this server.
pub(super) const LEASE_MS: u64 = 60_000;
/// How often the session is looked after.
const SESSION_EVERY: Duration = Duration::from_secs(15);
/// How many tasks of one peer are under way at a time.
const AT_A_TIME: usize = 32;

/// Events after which a task may be there to claim.
const TASK_EVENTS: [&str; 8] = [
    "task.created",
    "task.ready",
    "task.released",
    "task.retried",
    "task.reviewed",
    "task.handed_off",
    "task.taken_back",
    "task.failed",
];
/// Events after which a hand-off may be there to receive.
const HANDOFF_EVENTS: [&str; 3] = ["handoff.offered", "handoff.approved", "handoff.undelivered"];

/// Does the tasks of one peer here.
#[derive(Clone)]
pub(super) struct PeerWorker {
    /// The workspace, with the peer as the agent.
    pub(super) there: Workspace,
    pub(super) remote: Remote,
    pub(super) patience: Duration,
    pub(super) pause: Duration,
    /// Whether the session is not that of this server, which then only renews it.
    pub(super) is_registered: bool,
}

/// The pending work.
#[derive(Default)]
struct Backlog {
    tasks: BTreeSet<String>,
    has_handoffs: bool,
    /// Tasks and hand-offs under way.
    busy: BTreeSet<String>,
    working: JoinSet<()>,
    /// Which of them each is.
    names: BTreeMap<tokio::task::Id, String>,
}

impl PeerWorker {
    /// Serves the peer until it is dropped.
    pub(super) async fn serve(self) {
        let mut backlog = Backlog::default();
        loop {
            // An interruption, such as a full disk, ends; work continues meanwhile.
            let _ = self.served(&mut backlog).await;
            tokio::time::sleep(self.pause).await;
        }
    }

    async fn served(&self, backlog: &mut Backlog) -> Result<(), Error> {
        self.open_session().await?;
        let mut watch = self.there.watch("**");
        for kind in TASK_EVENTS.iter().chain(&HANDOFF_EVENTS) {
            watch = watch.kind(kind);
        }
        let mut watch: Watch = watch.await?;
        // The watch has begun, so that nothing is missed after the list.
        let list = List { agent: Some(self.there.agent().clone()), ..List::default() };
        let known = self.there.tasks().list(list).await?;
        let open = known.iter().filter(|task| !task.status.is_finished());
        backlog.tasks.extend(open.map(|task| task.id.as_str().to_owned()));
        backlog.has_handoffs = true;
        let mut session = tokio::time::interval(SESSION_EVERY);
        loop {
            self.work(backlog).await?;
            tokio::select! {
                item = watch.next() => match item {
                    Some(Ok(Item::Event(notice))) => {
                        let event = serde_json::from_slice(&notice.json()).unwrap_or_default();
                        backlog.note(&event, self.there.agent().as_str());
                    }
                    Some(Ok(Item::Snapshot { .. })) => {}
                    Some(Err(error)) => return Err(error),
                    None => return Ok(()),
                },
                Some(done) = backlog.working.join_next_with_id() => backlog.ended(&done),
                _ = session.tick() => self.open_session().await?,
            }
        }
    }

    /// A session, with which others see that the agent is there. A new one would release everything
    /// that the last one holds.
    async fn open_session(&self) -> Result<(), Error> {
        let agents = self.there.agents();
        let known = agents.get(self.there.agent().as_str()).await;
        match known {
            Ok(known) if known.status == Session::Active => {
                agents.heartbeat(known.token).await.map(drop)
            }
            // The session has ended, and the worker ends soon.
            Ok(_) | Err(_) if self.is_registered => Ok(()),
            Ok(_) | Err(_) => {
                let metadata = json!({"a2a": self.remote.url()});
                agents.register().metadata(metadata).ttl_ms(LEASE_MS).await.map(drop)
            }
        }
    }

    /// Takes on as much as may be under way.
    async fn work(&self, backlog: &mut Backlog) -> Result<(), Error> {
        while backlog.busy.len() < AT_A_TIME {
            if let Some(task) = backlog.tasks.pop_first() {
                if !backlog.busy.contains(&task)
                    && let Some(task) = self.claimed(&task).await?
                {
                    let worker = self.clone();
                    let name = task.id.as_str().to_owned();
                    backlog.begin(name, async move { worker.resume(task).await });
                }
                continue;
            }
            if !backlog.has_handoffs {
                break;
            }
            let handoff = self.there.handoffs().receive(0).await?;
            backlog.has_handoffs = handoff.is_some();
            if let Some(handoff) = handoff {
                self.begin_handoff(backlog, handoff);
            }
        }
        Ok(())
    }

    fn begin_handoff(&self, backlog: &mut Backlog, handoff: Handoff) {
        let name = handoff.task.as_ref().map_or(handoff.id.as_str(), |task| task.as_str());
        let name = name.to_owned();
        if !backlog.busy.contains(&name) {
            let worker = self.clone();
            backlog.begin(name, async move { Box::pin(worker.take_over(handoff)).await });
        }
    }

    /// A task that the agent holds since before this server started, or that it can claim: only
    /// what is assigned to it, since it must not take what is for others.
    async fn claimed(&self, task: &str) -> Result<Option<Task>, Error> {
        let (tasks, agent) = (self.there.tasks(), self.there.agent());
        let Ok(known) = tasks.get(task).await else { return Ok(None) };
        let is_held = known.lease.as_ref().is_some_and(|lease| {
            lease.holder == *agent && lease.handoff.is_none() && !lease.abandoned
        });
        if is_held && known.status == Status::InProgress {
            return Ok(Some(known));
        }
        if known.status.is_finished() || known.assigned_agent.as_ref() != Some(agent) {
            return Ok(None);
        }
        match tasks.claim().task(task).lease_ms(LEASE_MS).await {
            Ok(claimed) => Ok(claimed),
            // It is not ready; an event announces when it is.
            Err(error) if error.code().starts_with("task.") => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl Backlog {
    /// Notes what an event may have brought.
    fn note(&mut self, event: &Value, agent: &str) {
        let kind = event["type"].as_str().unwrap_or_default();
        if kind.starts_with("handoff.") {
            self.has_handoffs = true;
            return;
        }
        // Most tasks are for others, as their creation shows.
        if kind == "task.created" && event["assigned_agent"] != agent {
            return;
        }
        let subject = event["subject"].as_str().unwrap_or_default();
        if let Some(task) = subject.strip_prefix("tasks/") {
            self.tasks.insert(task.to_owned());
        }
    }

    fn begin(&mut self, name: String, work: impl Future<Output = ()> + Send + 'static) {
        let handle = self.working.spawn(work);
        self.names.insert(handle.id(), name.clone());
        self.busy.insert(name);
    }

    /// A job has ended; changes of the task that arrived meanwhile are read again.
    fn ended(&mut self, done: &Result<(tokio::task::Id, ()), tokio::task::JoinError>) {
        let id = match done {
            Ok((id, ())) => *id,
            Err(error) => error.id(),
        };
        if let Some(name) = self.names.remove(&id) {
            self.busy.remove(&name);
            self.tasks.insert(name);
        }
    }
}

//! The agents of the demo fleet.
//!
//! ```text
//!   planner     ─ creates three tasks per round, waits for the last, publishes the news
//!   researcher  ─ processes `research` in steps with checkpoints; writes under a lock; replies
//!   writer      ─ claims `write`, asks a researcher, and hands the article to the reviewer
//!   reviewer    ─ accepts or rejects what is offered; completes it
//! ```
//!
//! 1. Every agent has a session with heartbeats, and serves requests.
//! 2. An agent that crashes releases nothing and sends nothing: its futures are dropped. After a
//!    while it returns without any state.
//! 3. Losing a task to another agent is not an error: there is other work.

use std::sync::Arc;
use std::time::Duration;

use baton_client::core::handoff::{Accept, Handoff};
use baton_client::core::task::{Backoff, Task};
use baton_client::core::{Event, Json, Kind, Revision, Token, handoff};
use baton_client::{Error, Item, Job, Service, Setback, Worker, Workspace, keep};
use serde_json::json;
use tokio::sync::{Notify, watch};
use tokio::time::sleep;

use super::plan::{Fate, Pace, REVIEWER, Role, Round};

/// How long one long poll waits.
const WAIT_MS: u64 = 5_000;
/// Enough retries even on a slow machine.
const RETRIES_MAX: u64 = 50;
/// Notes are only needed for a short time.
const NOTES_TTL_MS: u64 = 600_000;
/// Steps of a research task; failures happen halfway.
const STEPS: u8 = 4;
/// The lock for writing notes.
const LIBRARY: &str = "library";
const PRESS: &str = "press";

/// An agent of the fleet.
#[derive(Clone)]
pub(super) struct Member {
    pub(super) role: Role,
    pub(super) workspace: Workspace,
    pub(super) pace: Pace,
}

/// Becomes true when it is time to stop.
pub(super) type Stop = watch::Receiver<bool>;

/// Waits until it is time to stop.
pub(super) async fn stopped(mut stop: Stop) {
    // A dropped sender also means stop.
    let _ = stop.wait_for(|is_stopped| *is_stopped).await;
}

impl Member {
    /// Runs until stopped, and restarts after each crash.
    pub(super) async fn live(self, stop: Stop) -> Result<(), Error> {
        loop {
            let crash = Arc::new(Notify::new());
            tokio::select! {
                lived = self.life(&crash, &stop) => return lived,
                () = crash.notified() => {}
            }
            tokio::select! {
                () = sleep(2 * self.patience()) => {}
                () = stopped(stop.clone()) => return Ok(()),
            }
        }
    }

    async fn life(&self, crash: &Arc<Notify>, stop: &Stop) -> Result<(), Error> {
        let served = self.serve(stop);
        let worked = async {
            match self.role {
                Role::Planner => Ok(()),
                Role::Researcher => self.research(crash, stop).await,
                Role::Writer => self.write(stop).await,
                Role::Reviewer => self.review(stop).await,
            }
        };
        tokio::try_join!(served, worked).map(drop)
    }

    /// Keeps a session and replies to requests.
    async fn serve(&self, stop: &Stop) -> Result<(), Error> {
        let step = self.pace.step();
        let mut service = Service::new(self.workspace.clone())
            .capability(self.role.word())
            .ttl_ms(self.pace.patience_ms());
        if self.role == Role::Researcher {
            service = service.handler("sources");
        }
        let answer = move |_| async move {
            sleep(step).await;
            Ok::<_, Setback>(json!("the field notes of 1912, page 47"))
        };
        // Returns only when stopped; other errors are transient.
        while let Err(error) = service.clone().run(answer, stopped(stop.clone())).await {
            self.tolerate(Err(error)).await?;
        }
        Ok(())
    }

    /// Processes research tasks, and crashes where the plan says so.
    async fn research(&self, crash: &Arc<Notify>, stop: &Stop) -> Result<(), Error> {
        let (crash, pace) = (Arc::clone(crash), self.pace);
        let worker = Worker::new(self.workspace.clone()).of_type("research");
        let worker = worker.lease_ms(pace.patience_ms());
        let handler = move |job: Job| {
            let (crash, workspace) = (Arc::clone(&crash), job.workspace());
            async move { Research { job, workspace, pace, crash }.run().await }
        };
        while let Err(error) = worker.clone().run(handler.clone(), stopped(stop.clone())).await {
            self.tolerate(Err(error)).await?;
        }
        Ok(())
    }

    /// Claims and writes articles.
    async fn write(&self, stop: &Stop) -> Result<(), Error> {
        loop {
            let claiming = self.workspace.tasks().claim().of_type("write").wait_ms(WAIT_MS);
            let claiming = claiming.lease_ms(self.pace.patience_ms());
            let claimed = tokio::select! {
                claimed = claiming => claimed,
                () = stopped(stop.clone()) => return Ok(()),
            };
            let written = match claimed {
                Ok(Some(task)) => self.article(&task).await,
                Ok(None) => Ok(()),
                Err(error) => Err(error),
            };
            self.tolerate(written).await?;
        }
    }

    async fn article(&self, task: &Task) -> Result<(), Error> {
        let (id, token) = (task.id.as_str(), token_of(task));
        let article = Article { member: self, id, token, round: round_of(task) };
        tokio::select! {
            written = article.run() => written,
            _ = keep(self.patience(), || self.beat(id, token)) => Ok(()),
        }
    }

    /// Accepts or rejects offers.
    async fn review(&self, stop: &Stop) -> Result<(), Error> {
        loop {
            let handoffs = self.workspace.handoffs();
            let received = tokio::select! {
                received = handoffs.receive(WAIT_MS) => received,
                () = stopped(stop.clone()) => return Ok(()),
            };
            let reviewed = match received {
                Ok(Some(handoff)) => self.judge(&handoff).await,
                Ok(None) => Ok(()),
                Err(error) => Err(error),
            };
            self.tolerate(reviewed).await?;
        }
    }

    async fn judge(&self, handoff: &Handoff) -> Result<(), Error> {
        let (id, handoffs) = (handoff.id.as_str(), self.workspace.handoffs());
        sleep(self.pace.step()).await;
        if !handoff.state.contains_key("title") {
            return handoffs.reject(id, Some("it needs a title")).await.map(drop);
        }
        let lease_ms = Some(self.pace.patience_ms());
        let accept = Accept { handoff: handoff.id.clone(), lease_ms, overwrite: false };
        let accepted = handoffs.accept_as(accept).await?;
        let Some(task) = accepted.task else { return Ok(()) };
        let token = token_of(&task);
        let read = async {
            self.progress(task.id.as_str(), token, 0.9, "proofreading").await?;
            sleep(self.pace.step()).await;
            handoffs.complete(id, Some(value("print it"))).await.map(drop)
        };
        tokio::select! {
            read = read => read,
            _ = keep(self.patience(), || self.beat(task.id.as_str(), token)) => Ok(()),
        }
    }

    /// Plans a round, waits until its article is completed, and publishes the news.
    pub(super) async fn plan(&self, round: &Round, group: &str) -> Result<(), Error> {
        let counter = self.workspace.state("shared").increment("rounds", 1).await?;
        let name = format!("{}-{}", round.subject, String::from_utf8_lossy(counter.value()));
        let (facts, figures) = (format!("{name}.facts"), format!("{name}.figures"));
        let (article, subject) = (format!("{name}.article"), &round.subject);
        let smooth = Round { fate: Fate::Smooth, ..round.clone() };
        let tasks = self.workspace.tasks();
        let wanted = |task_type: &str, id: &str, what: String| {
            let backoff = Backoff { initial_ms: self.pace.patience_ms() / 4, ..Backoff::default() };
            let creating = tasks.create(task_type).id(id).group(group).description(&what);
            creating.max_retries(RETRIES_MAX).backoff(backoff)
        };
        let look_up = format!("look up the facts about {subject}");
        wanted("research", &facts, look_up).definition(round).await?;
        let count = format!("find figures about {subject}");
        wanted("research", &figures, count).definition(&smooth).await?;
        let write = format!("write about {subject}");
        let creating = wanted("write", &article, write).definition(round).priority(5);
        creating.after(&facts).after(&figures).await?;
        let joins = self.workspace.joins();
        let join = joins.of_tasks(&[&article]).await?;
        loop {
            match joins.wait(join.id.as_str(), WAIT_MS).await {
                Ok(Some(_)) => break,
                Ok(None) => {}
                Err(error) => self.tolerate(Err(error)).await?,
            }
        }
        let news = format!("the article about {subject} is published");
        self.workspace.topics().publish("news", news).await.map(drop)
    }

    /// Ignores transient errors: another agent was faster, the session expired on a busy machine,
    /// the server is unreachable.
    async fn tolerate(&self, outcome: Result<(), Error>) -> Result<(), Error> {
        let Err(error) = outcome else { return Ok(()) };
        match error.kind() {
            Kind::Stale | Kind::Conflict | Kind::NotFound | Kind::Exhausted | Kind::Unavailable => {
                sleep(self.pace.step()).await;
                Ok(())
            }
            Kind::Invalid | Kind::Denied | Kind::TooLarge => Err(error),
        }
    }

    fn patience(&self) -> Duration {
        Duration::from_millis(self.pace.patience_ms())
    }

    async fn beat(&self, task: &str, token: Token) -> Result<(), Error> {
        self.workspace.tasks().heartbeat(task, token).await.map(drop)
    }

    async fn progress(
        &self,
        task: &str,
        token: Token,
        fraction: f64,
        note: &str,
    ) -> Result<(), Error> {
        self.workspace.tasks().progress(task, token, fraction, Some(note)).await?;
        sleep(self.pace.step()).await;
        Ok(())
    }
}

fn value(text: &str) -> Json {
    Json::of(text).expect("a text is JSON")
}

fn token_of(task: &Task) -> Token {
    task.lease.as_ref().map_or(Token(0), |lease| lease.token)
}

/// The round in the task's definition, with a fallback for tasks that the planner did not create.
fn round_of(task: &Task) -> Round {
    let round = task.definition.as_ref().and_then(|definition| definition.to().ok());
    round.unwrap_or_else(|| Round { subject: "something".to_owned(), fate: Fate::Smooth })
}

/// Runs a step of work while holding a lock.
async fn under_lock(
    workspace: &Workspace,
    lock: &str,
    pace: Pace,
    work: impl Future<Output = Result<(), Error>>,
) -> Result<(), Error> {
    let locks = workspace.locks();
    let acquiring = locks.acquire(lock).ttl_ms(pace.patience_ms()).wait_ms(WAIT_MS);
    let Some(hold) = acquiring.await? else { return Ok(()) };
    work.await?;
    sleep(pace.step()).await;
    locks.release(lock, hold.token).await.map(drop)
}

/// One research task.
struct Research {
    job: Job,
    /// Fenced by the lease.
    workspace: Workspace,
    pace: Pace,
    crash: Arc<Notify>,
}

impl Research {
    async fn run(self) -> Result<serde_json::Value, Setback> {
        let (task, round) = (self.job.task(), round_of(self.job.task()));
        let checkpoints = self.workspace.checkpoints();
        let latest = checkpoints.latest(task.id.as_str()).await?;
        let done = latest.and_then(|checkpoint| checkpoint.state?.to::<u8>().ok());
        for step in done.unwrap_or_default()..STEPS {
            let note =
                ["finding sources", "reading", "comparing", "taking notes"][usize::from(step % 4)];
            self.job.progress(f64::from(step) / f64::from(STEPS), Some(note)).await?;
            self.fail_as_planned(round.fate, step).await?;
            sleep(self.pace.step()).await;
            let saving = checkpoints.save(task.id.as_str(), step + 1);
            saving.description(&format!("step {} of {STEPS}", step + 1)).await?;
        }
        let notes = self.workspace.state("shared");
        let written = async {
            let said = json!({"subject": round.subject, "by": self.workspace.agent().as_str()});
            notes.set(&format!("notes/{}", task.id), said).ttl_ms(NOTES_TTL_MS).await.map(drop)
        };
        under_lock(&self.workspace, LIBRARY, self.pace, written).await?;
        Ok(json!({"notes": format!("notes/{}", task.id)}))
    }

    /// The planned failure of the first attempt.
    async fn fail_as_planned(&self, fate: Fate, step: u8) -> Result<(), Setback> {
        if self.job.task().attempts > 1 || step != STEPS / 2 {
            return Ok(());
        }
        match fate {
            Fate::Smooth | Fate::Untitled => Ok(()),
            Fate::SourceDown => Err(Setback::new("the archive is not responding")),
            Fate::Crash => {
                self.crash.notify_one();
                std::future::pending().await
            }
        }
    }
}

/// One article, until another agent holds it.
struct Article<'a> {
    member: &'a Member,
    id: &'a str,
    token: Token,
    round: Round,
}

impl Article<'_> {
    async fn run(&self) -> Result<(), Error> {
        let Member { workspace, pace, .. } = self.member;
        self.member.progress(self.id, self.token, 0.2, "reading the notes").await?;
        self.ask().await;
        self.member.progress(self.id, self.token, 0.5, "writing").await?;
        let printed = async { Ok(()) };
        under_lock(workspace, PRESS, *pace, printed).await?;
        let mut is_titled = self.round.fate != Fate::Untitled;
        while !self.offer(is_titled).await? {
            self.member.progress(self.id, self.token, 0.7, "choosing a title").await?;
            is_titled = true;
        }
        Ok(())
    }

    /// A reply that does not arrive in time is not needed.
    async fn ask(&self) {
        let question = format!("what is the best source on {}?", self.round.subject);
        let messages = self.member.workspace.messages();
        let asking = messages.request_handler("sources", question);
        let _ = asking.timeout_ms(4 * self.member.pace.patience_ms()).await;
    }

    /// Offers the article to the reviewer. Returns whether it was accepted.
    async fn offer(&self, is_titled: bool) -> Result<bool, Error> {
        let workspace = &self.member.workspace;
        let before = workspace.revision().await?;
        let subject = &self.round.subject;
        let mut offering = workspace.handoffs().offer(REVIEWER).task(self.id, self.token);
        offering = offering.work_completed(value(&format!("a draft about {subject}")));
        offering = offering.remaining_work(value("proofread and print"));
        offering = offering.reason(if is_titled { "it has a title" } else { "the draft is done" });
        if is_titled {
            offering = offering.state("title", value(&format!("All about {subject}")));
        }
        let offered = offering.await?;
        self.answer(&offered, before).await
    }

    /// Waits for the outcome of an offer. Returns whether it was accepted.
    async fn answer(&self, offered: &Handoff, before: Revision) -> Result<bool, Error> {
        let pattern = format!("handoffs/{}", offered.id);
        let mut watch = self.member.workspace.watch(&pattern).from(before.next()).await?;
        while let Some(item) = watch.next().await {
            let Item::Event(notice) = item? else { continue };
            match notice.event() {
                Event::Handoff(handoff::Event::Accepted { .. }) => return Ok(true),
                Event::Handoff(
                    handoff::Event::Rejected { .. }
                    | handoff::Event::Expired { .. }
                    | handoff::Event::Cancelled { .. },
                ) => return Ok(false),
                _ => {}
            }
        }
        Err(Error::Closed)
    }
}

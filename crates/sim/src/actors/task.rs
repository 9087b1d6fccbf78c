//! An agent that creates tasks and works on those of others.
//!
//! It remembers tasks, the leases that it believes it has, and those that it lost: using a lost one
//! must be rejected.

use std::collections::BTreeSet;

use baton_core::join::Need;
use baton_core::task::{
    self, Backoff, Claim, Command as TaskCommand, Complete, Create, Fail, Heartbeat, List, Next,
    OnExhausted, Release, Report, Retry, Review, Reviewers, Task, Update, Verdict,
};
use baton_core::{
    AgentId, Answer, Command, GroupName, JoinId, Json, Query, Rejection, Reply, Request, TaskId,
    TaskType, Token, agent, handoff, join, wait,
};

use crate::actors::agent::Action;
use crate::actors::checkpoint::CheckpointActor;
use crate::actors::handoff::HandoffActor;
use crate::actors::inputs::Inputs;
use crate::actors::lock::fenced;
use crate::actors::pipeline::PipelineActor;
use crate::actors::spend;

/// Tasks that an agent remembers.
const KNOWN_MAX: usize = 12;
/// Old leases that an agent remembers.
const STALE_MAX: usize = 8;

type Lease = (TaskId, Token);

/// The knowledge of an agent about tasks.
#[derive(Default)]
pub struct TaskActor {
    known: Vec<TaskId>,
    leases: Vec<Lease>,
    stale: Vec<Lease>,
    /// The leases of other agents that it has seen.
    seen: Vec<Lease>,
    joins: Vec<JoinId>,
    /// Tasks that waited for review.
    in_review: Vec<TaskId>,
    checkpoint_actor: CheckpointActor,
    pipeline_actor: PipelineActor,
    handoff_actor: HandoffActor,
}

impl TaskActor {
    /// The next command.
    pub fn act(&mut self, inputs: &mut Inputs<'_>) -> Action {
        let lease = some(inputs, &self.leases);
        // Another agent's token is tried in the same ways as a stale one.
        let seen = self.seen.pop().filter(|_| inputs.rng.once_in(2));
        let stale = seen.or_else(|| some(inputs, &self.stale));
        let known = some(inputs, &self.known);
        if inputs.rng.once_in(6) {
            return self.handoff_actor.act(inputs, lease, stale);
        }
        let request: Request = match (inputs.rng.below(53), lease, stale, known) {
            (0..=5, ..) => self.create(inputs).into(),
            (6..=9, Some(lease), ..) => {
                self.forget(&lease);
                complete(inputs, lease).into()
            }
            (10, Some(lease), ..) => {
                self.forget(&lease);
                fail(inputs, lease).into()
            }
            (11, Some(lease), ..) => {
                self.forget(&lease);
                let (task, token) = lease;
                TaskRequest(TaskCommand::Release(Release { task, token, reason: None })).into()
            }
            (12..=14, Some(lease), ..) | (15 | 16, _, Some(lease), _) => {
                goes_on(inputs, lease).into()
            }
            (17, _, Some(lease), _) => complete(inputs, lease).into(),
            (18, _, Some(lease), _) => fail(inputs, lease).into(),
            (19, Some((_, token)), ..) | (20, _, Some((_, token)), _) => fenced(inputs, token),
            (21, _, _, Some(task)) => {
                TaskRequest(TaskCommand::Cancel { task, reason: None }).into()
            }
            (48..=50, ..) if self.in_review.is_empty() => {
                let status = Some(task::Status::WaitingReview);
                return Action::Ask(task::Query::List(List { status, ..List::default() }).into());
            }
            (22 | 48..=50, _, _, Some(task)) => {
                let task = self.in_review.pop().unwrap_or(task);
                let verdicts =
                    [Verdict::Retry, Verdict::Complete, Verdict::Complete, Verdict::Fail];
                let verdict = *inputs.rng.pick(&verdicts);
                let attempt = inputs.rng.once_in(4).then(|| inputs.rng.between(1, 2));
                let review = Review { task, verdict, attempt, note: None, result: None };
                TaskRequest(TaskCommand::Review(review)).into()
            }
            (23 | 24, _, _, known) => return Action::Ask(question(inputs, known)),
            (25 | 26, ..) if inputs.rng.once_in(3) => return self.wait(inputs),
            (25 | 26, ..) => return self.join(inputs),
            (27..=30, ..) => return self.pipeline_actor.act(inputs),
            (31, _, _, Some(task)) => {
                let deadline_ms = *inputs.rng.pick(&[None, None, Some(30_000)]);
                TaskRequest(TaskCommand::Retry(Retry { task, reason: None, deadline_ms })).into()
            }
            (32..=37, lease, ..) => return self.checkpoint_actor.act(inputs, lease),
            (38..=40, _, stale, _) => return self.checkpoint_actor.act(inputs, stale),
            (41, _, _, known) => return Action::Ask(spend::question(inputs, known)),
            (42..=47, lease, _, known) => {
                let task = lease.map(|(task, _)| task).or(known);
                Request::from(Command::from(spend::act(inputs, task)))
            }
            (_, _, _, known) => claim(inputs, known).into(),
        };
        Action::Submit(request)
    }

    /// Its next command, preferably a hand-off.
    pub fn give(&mut self, inputs: &mut Inputs<'_>) -> Action {
        if inputs.rng.once_in(3) {
            return self.act(inputs);
        }
        let (lease, stale) = (some(inputs, &self.leases), some(inputs, &self.stale));
        if lease.is_none() && inputs.rng.once_in(2) {
            return Action::Submit(something_to_hold(inputs).into());
        }
        self.handoff_actor.act(inputs, lease, stale)
    }

    fn create(&mut self, inputs: &mut Inputs<'_>) -> TaskRequest {
        let mut create = Create::new(task_type(inputs));
        let rng = &mut *inputs.rng;
        if rng.once_in(3) {
            let name = format!("job-{}", rng.below(40));
            create.id = Some(TaskId::parse(&name).expect("a good name"));
        }
        create.group = inputs.rng.once_in(3).then(|| group(inputs));
        let rng = &mut *inputs.rng;
        create.priority = *rng.pick(&[None, None, Some(-2), Some(1), Some(5)]);
        create.capabilities = some_capabilities(rng.once_in(4));
        create.delay_ms = *rng.pick(&[None, None, None, Some(500), Some(20_000)]);
        let deadline_ms = *rng.pick(&[None, None, None, Some(25_000), Some(300_000)]);
        create.deadline_ms = deadline_ms;
        create.max_retries = *rng.pick(&[None, Some(0), Some(1)]);
        if rng.once_in(2) {
            let (initial_ms, jitter) = (*rng.pick(&[0, 200, 5_000]), 0.5);
            let backoff = Backoff { initial_ms, multiplier: 3.0, max_ms: 30_000, jitter };
            create.backoff = Some(backoff);
        }
        let somebody = format!("a{}", rng.below(4));
        let somebody = AgentId::parse(&somebody).expect("a good name");
        create.on_exhausted = match rng.below(4) {
            0 => Some(OnExhausted::Review),
            1 => Some(OnExhausted::Agent(somebody.clone())),
            _ => None,
        };
        create.assigned_agent = rng.once_in(6).then_some(somebody);
        for _ in 0..rng.below(3).saturating_sub(rng.below(2)) {
            create.depends_on.extend(some(inputs, &self.known));
        }
        create.review = inputs.rng.once_in(2);
        let assigned = create.assigned_agent.clone();
        let is_reviewed = inputs.rng.once_in(4);
        create.reviewers = is_reviewed.then(|| some_reviewers(inputs, assigned.as_ref()));
        create.budget = inputs.rng.once_in(6).then(|| spend::budget(inputs));
        create.parent = some(inputs, &self.known).filter(|_| inputs.rng.once_in(5));
        TaskRequest(TaskCommand::Create(Box::new(create)))
    }

    /// A wait for the status of a task or a hand-off.
    fn wait(&mut self, inputs: &mut Inputs<'_>) -> Action {
        let wait_ms = *inputs.rng.pick(&[None, Some(400), Some(30_000), Some(600_000)]);
        if inputs.rng.once_in(2) {
            let lease_ms = *inputs.rng.pick(&[None, Some(5_000)]);
            let (handoff, task) = (wait::WorkKind::Handoff, wait::WorkKind::Task);
            let kinds = inputs.rng.once_in(4).then(|| [handoff, task].into());
            let next = wait::Next { kinds, lease_ms, wait_ms, ..wait::Next::default() };
            return Action::Submit(Command::from(wait::Command::Next(next)).into());
        }
        let handoff = self.handoff_actor.any(inputs).filter(|_| inputs.rng.once_in(2));
        let command = match (handoff, some(inputs, &self.known)) {
            (Some(handoff), _) => {
                let statuses = [handoff::Status::Accepted, handoff::Status::Delivered];
                let statuses = inputs.rng.once_in(2).then(|| [*inputs.rng.pick(&statuses)].into());
                wait::Command::Handoff { handoff, statuses, wait_ms }
            }
            (None, Some(task)) => {
                let statuses = [task::Status::InProgress, task::Status::WaitingReview];
                let statuses = inputs.rng.once_in(2).then(|| [*inputs.rng.pick(&statuses)].into());
                wait::Command::Task { task, statuses, wait_ms }
            }
            (None, None) => return self.join(inputs),
        };
        Action::Submit(Command::from(command).into())
    }

    /// A command about joins.
    fn join(&mut self, inputs: &mut Inputs<'_>) -> Action {
        let wait_ms = *inputs.rng.pick(&[None, Some(400), Some(30_000), Some(600_000)]);
        let join = some(inputs, &self.joins);
        let command = match (inputs.rng.below(4), join) {
            (0, Some(join)) => return Action::Ask(join::Query::Get { join }.into()),
            (1 | 2, Some(join)) => join::Command::Wait { join, wait_ms },
            _ => {
                let mut tasks: Vec<TaskId> = Vec::new();
                for _ in 0..inputs.rng.between(1, 3) {
                    let task = some(inputs, &self.known).filter(|task| !tasks.contains(task));
                    tasks.extend(task);
                }
                let group = (tasks.is_empty() || inputs.rng.once_in(2)).then(|| group(inputs));
                let tasks = group.is_none().then_some(tasks);
                let need = *inputs.rng.pick(&[None, Some(1), Some(2)]);
                let deadline_ms = *inputs.rng.pick(&[None, Some(20_000), Some(300_000)]);
                let need = need.map(Need::Number);
                join::Command::Create(join::Create { id: None, group, tasks, need, deadline_ms })
            }
        };
        Action::Submit(Command::from(command).into())
    }

    /// Learns from an answer.
    pub fn learn(&mut self, id: &AgentId, answer: &Result<Answer, Rejection>) {
        if let Err(Rejection::Handoff(rejection)) = answer {
            self.handoff_actor.learn_refused(rejection);
        }
        self.checkpoint_actor.learn(answer);
        if let Ok(answer) = answer {
            self.pipeline_actor.learn(answer);
        }
        let reply = match answer {
            Ok(Answer { reply: Reply::Task(reply), .. }) => reply,
            Ok(Answer { reply: Reply::Wait(wait::Reply::Next(Some(work))), .. }) => {
                match work {
                    wait::Work::Task(task) => self.see(id, task),
                    wait::Work::Handoff(found) => {
                        let received = handoff::Reply::Received(Some(found.clone()));
                        self.handoff_actor.learn(id, &received);
                    }
                    wait::Work::Message(_) => {}
                }
                return;
            }
            Ok(Answer { reply: Reply::Join(join::Reply::Join(join)), .. }) => {
                self.joins.push(join.id.clone());
                if self.joins.len() > STALE_MAX {
                    self.joins.remove(0);
                }
                return;
            }
            Ok(Answer { reply: Reply::Agent(agent::Reply::Agents { agents, .. }), .. }) => {
                self.handoff_actor.learn_peers(id, agents.iter().map(|agent| &agent.id));
                return;
            }
            Ok(Answer { reply: Reply::Handoff(reply), .. }) => {
                self.handoff_actor.learn(id, reply);
                if let handoff::Reply::Accepted { task: Some(task), .. } = reply {
                    self.see(id, task);
                }
                return;
            }
            Err(
                Rejection::Task(task::Rejection::StaleToken { task, given, .. })
                | Rejection::Handoff(handoff::Rejection::StaleToken { task, given, .. }),
            ) => {
                self.forget(&(task.clone(), *given));
                return;
            }
            Ok(_) | Err(_) => return,
        };
        match reply {
            task::Reply::Task(task) | task::Reply::Claimed(Some(task)) => self.see(id, task),
            task::Reply::Completed { task, next } => {
                self.see(id, task);
                if let Some(next) = next {
                    self.see(id, next);
                }
            }
            task::Reply::Tasks { tasks, .. } | task::Reply::ClaimedTasks { tasks } => {
                for task in tasks {
                    self.see(id, task);
                }
            }
            _ => {}
        }
    }

    fn see(&mut self, id: &AgentId, task: &Task) {
        self.handoff_actor.learn_peer(id, &task.requested_by);
        if !self.known.contains(&task.id) {
            self.known.push(task.id.clone());
        }
        if self.known.len() > KNOWN_MAX {
            self.known.remove(0);
        }
        // Now and then, the result is its own.
        let is_own = task.submitted_by.as_ref() == Some(id) && !task.revision.0.is_multiple_of(3);
        if task.status == task::Status::WaitingReview && !is_own {
            self.in_review.push(task.id.clone());
            self.in_review.drain(..self.in_review.len().saturating_sub(STALE_MAX));
        }
        let Some(lease) = &task.lease else { return };
        let (is_own, is_hidden) = (lease.holder == *id, lease.token.is_hidden());
        let lease = (task.id.clone(), lease.token);
        if is_hidden {
            return;
        }
        if !is_own {
            self.seen.push(lease);
            self.seen.drain(..self.seen.len().saturating_sub(STALE_MAX));
        } else if !self.leases.contains(&lease) && !self.stale.contains(&lease) {
            self.leases.push(lease);
        }
    }

    fn forget(&mut self, lease: &Lease) {
        self.leases.retain(|there| there != lease);
        if !self.stale.contains(lease) {
            self.stale.push(lease.clone());
        }
        if self.stale.len() > STALE_MAX {
            self.stale.remove(0);
        }
    }
}

/// A request about a task.
struct TaskRequest(TaskCommand);

impl From<TaskRequest> for Request {
    fn from(TaskRequest(command): TaskRequest) -> Self {
        Command::from(command).into()
    }
}

fn some<T: Clone>(inputs: &mut Inputs<'_>, choices: &[T]) -> Option<T> {
    (!choices.is_empty()).then(|| inputs.rng.pick(choices).clone())
}

fn group(inputs: &mut Inputs<'_>) -> GroupName {
    let name = format!("group-{}", inputs.rng.below(3));
    GroupName::parse(&name).expect("a good name")
}

/// One of a few types.
pub(crate) fn task_type(inputs: &mut Inputs<'_>) -> TaskType {
    let name = *inputs.rng.pick(&["build", "test", "review"]);
    TaskType::parse(name).expect("a good name")
}

/// Some reviewers, not only the agent that does the work.
pub(super) fn some_reviewers(inputs: &mut Inputs<'_>, assigned: Option<&AgentId>) -> Reviewers {
    let number = inputs.rng.below(4);
    let agents = [number, (number + 1) % 4].map(|it| format!("a{it}"));
    let agents = agents.map(|name| AgentId::parse(&name).expect("a good name"));
    let count = if assigned.is_some() { 2 } else { inputs.rng.below(3) };
    let agents = agents.into_iter().take(usize::try_from(count).unwrap_or(2)).collect();
    let capability = inputs.rng.once_in(3).then(|| "c1".to_owned());
    Reviewers { agents, capability }
}

fn some_capabilities(any: bool) -> BTreeSet<String> {
    if any { BTreeSet::from(["sql".to_owned()]) } else { BTreeSet::new() }
}

fn lease_ms(inputs: &mut Inputs<'_>) -> Option<u64> {
    *inputs.rng.pick(&[Some(150), Some(3_000), Some(60_000), None])
}

fn claim(inputs: &mut Inputs<'_>, known: Option<TaskId>) -> TaskRequest {
    let types = match inputs.rng.below(3) {
        0 => None,
        1 => Some(BTreeSet::from([task_type(inputs)])),
        _ => Some(BTreeSet::from([task_type(inputs), task_type(inputs)])),
    };
    let capabilities = Some(some_capabilities(inputs.rng.once_in(2)));
    let capabilities = capabilities.filter(|able| !able.is_empty() || inputs.rng.once_in(2));
    let task = known.filter(|_| inputs.rng.once_in(6));
    let wait_ms = *inputs.rng.pick(&[None, Some(400), Some(30_000), Some(600_000)]);
    let lease_ms = lease_ms(inputs);
    let limit = *inputs.rng.pick(&[None, None, Some(1), Some(2), Some(4)]);
    TaskRequest(TaskCommand::Claim(Claim { types, capabilities, task, lease_ms, wait_ms, limit }))
}

/// A task that can be claimed, or any that exists, for long enough to hand it over.
fn something_to_hold(inputs: &mut Inputs<'_>) -> TaskRequest {
    if inputs.rng.once_in(3) {
        let create = Create::new(task_type(inputs));
        return TaskRequest(TaskCommand::Create(Box::new(create)));
    }
    let wait_ms = *inputs.rng.pick(&[None, Some(30_000)]);
    let lease_ms = *inputs.rng.pick(&[Some(60_000), None]);
    let (types, capabilities, task) = (None, Some(some_capabilities(true)), None);
    let claim = Claim { types, capabilities, task, lease_ms, wait_ms, limit: None };
    TaskRequest(TaskCommand::Claim(claim))
}

fn complete(inputs: &mut Inputs<'_>, (task, token): Lease) -> TaskRequest {
    let result = inputs.rng.once_in(2).then(|| value(inputs));
    let lease_ms = lease_ms(inputs);
    let next = Next { types: None, capabilities: None, lease_ms };
    let then_claim = inputs.rng.once_in(3).then_some(next);
    let complete = Complete { task, token, result, artifacts: None, then_claim };
    TaskRequest(TaskCommand::Complete(Box::new(complete)))
}

fn fail(inputs: &mut Inputs<'_>, (task, token): Lease) -> TaskRequest {
    let error = value(inputs);
    let retryable = *inputs.rng.pick(&[None, Some(true), Some(false)]);
    TaskRequest(TaskCommand::Fail(Fail { task, token, error, retryable }))
}

/// A request that renews a lease.
fn goes_on(inputs: &mut Inputs<'_>, (task, token): Lease) -> TaskRequest {
    TaskRequest(match inputs.rng.below(4) {
        0 | 1 => {
            let lease_ms = inputs.rng.once_in(4).then(|| inputs.rng.between(100, 90_000));
            TaskCommand::Heartbeat(Heartbeat { task, token, lease_ms })
        }
        2 => TaskCommand::Progress(Report { task, token, fraction: 0.5, note: None }),
        _ => {
            let number = inputs.rng.below(9);
            let fields = if inputs.rng.once_in(3) {
                format!(r#"{{"result":{{"n":{number}}}}}"#)
            } else {
                format!(r#"{{"priority":{number}}}"#)
            };
            let fields = Json::parse(fields).expect("good JSON");
            TaskCommand::Update(Update { task, token, fields })
        }
    })
}

fn value(inputs: &mut Inputs<'_>) -> Json {
    let text = format!(r#"{{"by":"{}","n":{}}}"#, inputs.agent, inputs.counter);
    Json::parse(text).expect("good JSON")
}

fn question(inputs: &mut Inputs<'_>, known: Option<TaskId>) -> Query {
    match (inputs.rng.below(4), known) {
        (0, Some(task)) => task::Query::Get { task }.into(),
        (1, Some(task)) => task::Query::Why { task }.into(),
        (2, _) => task::Query::Stats { task_type: None }.into(),
        _ => task::Query::List(List::default()).into(),
    }
}

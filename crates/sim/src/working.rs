//! What an agent does that wants things done and works on what others want done.
//!
//! It remembers tasks that it has heard of, the leases it believes to have, and those that it lost:
//! whoever goes on with a lost one must be refused.

use std::collections::BTreeSet;

use baton_core::join::Need;
use baton_core::task::{
    self, Backoff, Claim, Command as TaskCommand, Complete, Create, Fail, Heartbeat, List, Next,
    OnExhausted, Release, Report, Review, Task, Update, Verdict,
};
use baton_core::{
    AgentId, Answer, Command, GroupName, JoinId, Json, Query, Rejection, Reply, Request, TaskId,
    TaskType, Token, agent, handoff, join,
};

use crate::agents::Action;
use crate::handing::Handing;
use crate::locking::fenced;
use crate::piping::Piping;
use crate::saving::Saving;
use crate::things::Things;

/// Tasks that an agent remembers.
const KNOWN_MAX: usize = 12;
/// Old leases that an agent remembers.
const STALE_MAX: usize = 8;

type Lease = (TaskId, Token);

/// What an agent knows of tasks.
#[derive(Default)]
pub struct Working {
    known: Vec<TaskId>,
    leases: Vec<Lease>,
    stale: Vec<Lease>,
    joins: Vec<JoinId>,
    saving: Saving,
    piping: Piping,
    handing: Handing,
}

impl Working {
    /// What it does next.
    pub fn act(&mut self, things: &mut Things<'_>) -> Action {
        let lease = some(things, &self.leases);
        let stale = some(things, &self.stale);
        let known = some(things, &self.known);
        if things.chance.once_in(6) {
            return self.handing.act(things, lease, stale);
        }
        let request: Request = match (things.chance.below(41), lease, stale, known) {
            (0..=5, ..) => self.create(things).into(),
            (6..=9, Some(lease), ..) => {
                self.forget(&lease);
                complete(things, lease).into()
            }
            (10, Some(lease), ..) => {
                self.forget(&lease);
                fail(things, lease).into()
            }
            (11, Some(lease), ..) => {
                self.forget(&lease);
                let (task, token) = lease;
                TaskRequest(TaskCommand::Release(Release { task, token, reason: None })).into()
            }
            (12..=14, Some(lease), ..) | (15 | 16, _, Some(lease), _) => {
                goes_on(things, lease).into()
            }
            (17, _, Some(lease), _) => complete(things, lease).into(),
            (18, _, Some(lease), _) => fail(things, lease).into(),
            (19, Some((_, token)), ..) | (20, _, Some((_, token)), _) => fenced(things, token),
            (21, _, _, Some(task)) => {
                TaskRequest(TaskCommand::Cancel { task, reason: None }).into()
            }
            (22, _, _, Some(task)) => {
                let verdicts = [Verdict::Retry, Verdict::Complete, Verdict::Fail];
                let verdict = *things.chance.pick(&verdicts);
                let review = Review { task, verdict, note: None, result: None };
                TaskRequest(TaskCommand::Review(review)).into()
            }
            (23 | 24, _, _, known) => return Action::Ask(question(things, known)),
            (25 | 26, ..) => return self.join(things),
            (27..=30, ..) => return self.piping.act(things),
            (32..=37, lease, ..) => return self.saving.act(things, lease),
            (38..=40, _, stale, _) => return self.saving.act(things, stale),
            (_, _, _, known) => claim(things, known).into(),
        };
        Action::Submit(request)
    }

    /// What it does next that rather hands things on.
    pub fn give(&mut self, things: &mut Things<'_>) -> Action {
        if things.chance.once_in(3) {
            return self.act(things);
        }
        let (lease, stale) = (some(things, &self.leases), some(things, &self.stale));
        if lease.is_none() && things.chance.once_in(2) {
            return Action::Submit(something_to_hold(things).into());
        }
        self.handing.act(things, lease, stale)
    }

    fn create(&mut self, things: &mut Things<'_>) -> TaskRequest {
        let mut create = Create::new(task_type(things));
        let chance = &mut *things.chance;
        if chance.once_in(3) {
            let name = format!("job-{}", chance.below(40));
            create.id = Some(TaskId::parse(&name).expect("a good name"));
        }
        create.group = things.chance.once_in(3).then(|| group(things));
        let chance = &mut *things.chance;
        create.priority = *chance.pick(&[None, None, Some(-2), Some(1), Some(5)]);
        create.capabilities = some_capabilities(chance.once_in(4));
        create.delay_ms = *chance.pick(&[None, None, None, Some(500), Some(20_000)]);
        let deadline_ms = *chance.pick(&[None, None, None, Some(25_000), Some(300_000)]);
        create.deadline_ms = deadline_ms;
        create.max_retries = *chance.pick(&[None, Some(0), Some(1)]);
        if chance.once_in(2) {
            let (initial_ms, jitter) = (*chance.pick(&[0, 200, 5_000]), 0.5);
            let backoff = Backoff { initial_ms, multiplier: 3.0, max_ms: 30_000, jitter };
            create.backoff = Some(backoff);
        }
        let somebody = format!("a{}", chance.below(4));
        let somebody = AgentId::parse(&somebody).expect("a good name");
        create.on_exhausted = match chance.below(4) {
            0 => Some(OnExhausted::Review),
            1 => Some(OnExhausted::Agent(somebody.clone())),
            _ => None,
        };
        create.assigned_agent = chance.once_in(6).then_some(somebody);
        for _ in 0..chance.below(3).saturating_sub(chance.below(2)) {
            create.depends_on.extend(some(things, &self.known));
        }
        create.parent = some(things, &self.known).filter(|_| things.chance.once_in(5));
        TaskRequest(TaskCommand::Create(Box::new(create)))
    }

    /// Something about joins.
    fn join(&mut self, things: &mut Things<'_>) -> Action {
        let wait_ms = *things.chance.pick(&[None, Some(400), Some(30_000), Some(600_000)]);
        let join = some(things, &self.joins);
        let command = match (things.chance.below(4), join) {
            (0, Some(join)) => return Action::Ask(join::Query::Get { join }.into()),
            (1 | 2, Some(join)) => join::Command::Wait { join, wait_ms },
            _ => {
                let mut tasks: Vec<TaskId> = Vec::new();
                for _ in 0..things.chance.between(1, 3) {
                    let task = some(things, &self.known).filter(|task| !tasks.contains(task));
                    tasks.extend(task);
                }
                let group = (tasks.is_empty() || things.chance.once_in(2)).then(|| group(things));
                let tasks = group.is_none().then_some(tasks);
                let need = *things.chance.pick(&[None, Some(1), Some(2)]);
                let deadline_ms = *things.chance.pick(&[None, Some(20_000), Some(300_000)]);
                let need = need.map(Need::Number);
                join::Command::Create(join::Create { id: None, group, tasks, need, deadline_ms })
            }
        };
        Action::Submit(Command::from(command).into())
    }

    /// It is answered.
    pub fn learn(&mut self, id: &AgentId, answer: &Result<Answer, Rejection>) {
        if let Err(Rejection::Handoff(rejection)) = answer {
            self.handing.learn_refused(rejection);
        }
        self.saving.learn(answer);
        if let Ok(answer) = answer {
            self.piping.learn(answer);
        }
        let reply = match answer {
            Ok(Answer { reply: Reply::Task(reply), .. }) => reply,
            Ok(Answer { reply: Reply::Join(join::Reply::Join(join)), .. }) => {
                self.joins.push(join.id.clone());
                if self.joins.len() > STALE_MAX {
                    self.joins.remove(0);
                }
                return;
            }
            Ok(Answer { reply: Reply::Agent(agent::Reply::Agents { agents, .. }), .. }) => {
                self.handing.meet_some(id, agents.iter().map(|agent| &agent.id));
                return;
            }
            Ok(Answer { reply: Reply::Handoff(reply), .. }) => {
                self.handing.learn(id, reply);
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
            task::Reply::Tasks { tasks, .. } => tasks.iter().for_each(|task| self.see(id, task)),
            _ => {}
        }
    }

    fn see(&mut self, id: &AgentId, task: &Task) {
        self.handing.meet(id, &task.requested_by);
        if !self.known.contains(&task.id) {
            self.known.push(task.id.clone());
        }
        if self.known.len() > KNOWN_MAX {
            self.known.remove(0);
        }
        if let Some(lease) = &task.lease
            && lease.holder == *id
        {
            let lease = (task.id.clone(), lease.token);
            if !self.leases.contains(&lease) && !self.stale.contains(&lease) {
                self.leases.push(lease);
            }
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

fn some<T: Clone>(things: &mut Things<'_>, choices: &[T]) -> Option<T> {
    (!choices.is_empty()).then(|| things.chance.pick(choices).clone())
}

fn group(things: &mut Things<'_>) -> GroupName {
    let name = format!("group-{}", things.chance.below(3));
    GroupName::parse(&name).expect("a good name")
}

/// One of few types.
pub(crate) fn task_type(things: &mut Things<'_>) -> TaskType {
    let name = *things.chance.pick(&["build", "test", "review"]);
    TaskType::parse(name).expect("a good name")
}

fn some_capabilities(any: bool) -> BTreeSet<String> {
    if any { BTreeSet::from(["sql".to_owned()]) } else { BTreeSet::new() }
}

fn lease_ms(things: &mut Things<'_>) -> Option<u64> {
    *things.chance.pick(&[Some(150), Some(3_000), Some(60_000), None])
}

fn claim(things: &mut Things<'_>, known: Option<TaskId>) -> TaskRequest {
    let types = match things.chance.below(3) {
        0 => None,
        1 => Some(BTreeSet::from([task_type(things)])),
        _ => Some(BTreeSet::from([task_type(things), task_type(things)])),
    };
    let capabilities = Some(some_capabilities(things.chance.once_in(2)));
    let capabilities = capabilities.filter(|able| !able.is_empty() || things.chance.once_in(2));
    let task = known.filter(|_| things.chance.once_in(6));
    let wait_ms = *things.chance.pick(&[None, Some(400), Some(30_000), Some(600_000)]);
    let lease_ms = lease_ms(things);
    TaskRequest(TaskCommand::Claim(Claim { types, capabilities, task, lease_ms, wait_ms }))
}

/// A task that nothing holds back, or any that is there, for long enough to hand it on.
fn something_to_hold(things: &mut Things<'_>) -> TaskRequest {
    if things.chance.once_in(3) {
        let create = Create::new(task_type(things));
        return TaskRequest(TaskCommand::Create(Box::new(create)));
    }
    let wait_ms = *things.chance.pick(&[None, Some(30_000)]);
    let lease_ms = *things.chance.pick(&[Some(60_000), None]);
    let (types, capabilities, task) = (None, Some(some_capabilities(true)), None);
    TaskRequest(TaskCommand::Claim(Claim { types, capabilities, task, lease_ms, wait_ms }))
}

fn complete(things: &mut Things<'_>, (task, token): Lease) -> TaskRequest {
    let result = things.chance.once_in(2).then(|| value(things));
    let lease_ms = lease_ms(things);
    let next = Next { types: None, capabilities: None, lease_ms };
    let then_claim = things.chance.once_in(3).then_some(next);
    let complete = Complete { task, token, result, artifacts: None, then_claim };
    TaskRequest(TaskCommand::Complete(Box::new(complete)))
}

fn fail(things: &mut Things<'_>, (task, token): Lease) -> TaskRequest {
    let error = value(things);
    let retryable = *things.chance.pick(&[None, Some(true), Some(false)]);
    TaskRequest(TaskCommand::Fail(Fail { task, token, error, retryable }))
}

/// Something that keeps a lease.
fn goes_on(things: &mut Things<'_>, (task, token): Lease) -> TaskRequest {
    TaskRequest(match things.chance.below(4) {
        0 | 1 => {
            let lease_ms = things.chance.once_in(4).then(|| things.chance.between(100, 90_000));
            TaskCommand::Heartbeat(Heartbeat { task, token, lease_ms })
        }
        2 => TaskCommand::Progress(Report { task, token, fraction: 0.5, note: None }),
        _ => {
            let number = things.chance.below(9);
            let fields = if things.chance.once_in(3) {
                format!(r#"{{"result":{{"n":{number}}}}}"#)
            } else {
                format!(r#"{{"priority":{number}}}"#)
            };
            let fields = Json::parse(fields).expect("good JSON");
            TaskCommand::Update(Update { task, token, fields })
        }
    })
}

fn value(things: &mut Things<'_>) -> Json {
    let text = format!(r#"{{"by":"{}","n":{}}}"#, things.agent, things.counter);
    Json::parse(text).expect("good JSON")
}

fn question(things: &mut Things<'_>, known: Option<TaskId>) -> Query {
    match (things.chance.below(4), known) {
        (0, Some(task)) => task::Query::Get { task }.into(),
        (1, Some(task)) => task::Query::Why { task }.into(),
        (2, _) => task::Query::Stats { task_type: None }.into(),
        _ => task::Query::List(List::default()).into(),
    }
}

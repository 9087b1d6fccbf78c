//! The operations of the protocol on a workspace.

use std::pin::Pin;

use baton_client::{Item, Watch, Workspace};
use baton_core::task::{Status, Task};
use baton_core::{AgentId, Reply, Revision, TaskId, Traceparent, task};
use futures_util::{Stream, StreamExt, stream};
use serde_json::{Value, json};

use crate::card::Site;
use crate::error::{Error, ErrorKind};
use crate::follower::{Follower, is_final};
use crate::method::Method;
use crate::params::{OneTask, PushConfig, SendMessage, history_length, read};
use crate::task::{has_ended, state_of, task_json};

/// The addressee of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Addressee {
    /// Any agent of the workspace that claims its task.
    Fleet,
    /// This agent.
    Agent(AgentId),
}

/// The parts of a request besides its parameters.
#[derive(Clone, Debug, Default)]
pub struct Context {
    /// The extensions that it activates.
    pub extensions: Vec<String>,
    /// The trace that it belongs to.
    pub traceparent: Option<Traceparent>,
}

/// Updates of a task as they happen: its state first, and an error last if there is one.
pub type Updates = Pin<Box<dyn Stream<Item = Result<Value, Error>> + Send>>;

/// The answer to a call.
pub enum Outcome {
    /// One value.
    One(Value),
    /// A stream of updates.
    Updates(Updates),
}

/// The protocol on one workspace, as one caller may use it.
#[derive(Clone, Debug)]
pub struct Service {
    /// The workspace, with the carrier of the caller.
    pub workspace: Workspace,
    /// The addressee of messages.
    pub addressee: Addressee,
    /// The server.
    pub site: Site,
}

impl Service {
    /// Carries out a method.
    pub async fn call(
        &self,
        method: Method,
        params: Value,
        context: &Context,
    ) -> Result<Outcome, Error> {
        let one = match method {
            Method::SendMessage => self.send_and_wait(read(params)?, context).await?,
            Method::SendStreamingMessage => {
                let request: SendMessage = read(params)?;
                let length = history_length(request.configuration.history_length)?;
                let task = self.send(&request, context).await?;
                return self.updates(task.id.as_str(), length).await.map(Outcome::Updates);
            }
            Method::GetTask => {
                let request: OneTask = read(params)?;
                let length = history_length(request.history_length)?;
                task_json(&self.task(&request.id).await?, length, true)
            }
            Method::ListTasks => self.list(&read(params)?).await?,
            Method::CancelTask => self.cancel(&read::<OneTask>(params)?.id).await?,
            Method::SubscribeToTask => {
                let request: OneTask = read(params)?;
                let task = self.task(&request.id).await?;
                if task.status.is_finished() {
                    let state = task.status.clause();
                    let message = format!("the task {state}: read it with `GetTask`");
                    return Err(Error::new(ErrorKind::UnsupportedOperation, message));
                }
                return self.updates(&request.id, usize::MAX).await.map(Outcome::Updates);
            }
            Method::CreateTaskPushNotificationConfig => {
                self.create_push(&read::<PushConfig>(params)?).await?
            }
            Method::GetTaskPushNotificationConfig => self.get_push(&read(params)?).await?,
            Method::ListTaskPushNotificationConfigs => self.list_push(&read(params)?).await?,
            Method::DeleteTaskPushNotificationConfig => self.delete_push(&read(params)?).await?,
            Method::GetExtendedAgentCard => {
                let tenant = params.get("tenant").and_then(Value::as_str);
                self.card(tenant.filter(|tenant| !tenant.is_empty())).await?
            }
        };
        Ok(Outcome::One(one))
    }

    /// A task by an id that a client has sent.
    pub(crate) async fn task(&self, id: &str) -> Result<Task, Error> {
        if TaskId::check(id).is_err() {
            return Err(Error::no_task(id));
        }
        Ok(self.workspace.tasks().get(id).await?)
    }

    /// A task, and the revision of the workspace when it was read.
    async fn task_at(&self, id: &str) -> Result<(Task, Revision), Error> {
        let task = TaskId::parse(id).map_err(|_| Error::no_task(id))?;
        let answer = self.workspace.ask(task::Query::Get { task }).await?;
        match answer.reply {
            Reply::Task(task::Reply::Task(task)) => Ok((*task, answer.revision)),
            _ => unreachable!("a task is answered by a task"),
        }
    }

    async fn cancel(&self, id: &str) -> Result<Value, Error> {
        let task = self.task(id).await?;
        // Repeating it is no error; another end is.
        if task.status == Status::Cancelled {
            return Ok(task_json(&task, usize::MAX, true));
        }
        let reason = Some("cancelled over A2A");
        let cancelled = self.workspace.tasks().cancel(id, reason).await;
        match cancelled {
            Ok(task) => Ok(task_json(&task, usize::MAX, true)),
            Err(error) if error.code() == "task.finished" => {
                let mut error = Error::from(error);
                error.kind = ErrorKind::TaskNotCancelable;
                Err(error)
            }
            Err(error) => Err(error.into()),
        }
    }

    async fn send_and_wait(&self, request: SendMessage, context: &Context) -> Result<Value, Error> {
        let length = history_length(request.configuration.history_length)?;
        let task = self.send(&request, context).await?;
        let state = state_of(&task);
        // An answer to a question waits for the next change of the task.
        let is_answer = !request.message.task_id.is_empty() && !has_ended(state);
        let is_over = has_ended(state) || (!is_answer && state == "TASK_STATE_INPUT_REQUIRED");
        if request.configuration.return_immediately || is_over {
            return Ok(json!({"task": task_json(&task, length, true)}));
        }
        let mut updates = self.updates(task.id.as_str(), 0).await?;
        while let Some(update) = updates.next().await {
            if is_final(&update?) {
                break;
            }
        }
        let task = self.task(task.id.as_str()).await?;
        Ok(json!({"task": task_json(&task, length, true)}))
    }

    /// A task and every change after that: until it has ended, or comes to wait for input.
    async fn updates(&self, id: &str, history_length: usize) -> Result<Updates, Error> {
        let (task, revision) = self.task_at(id).await?;
        let json = task_json(&task, history_length, true);
        let follower = Follower::of(&json);
        let first = stream::iter([Ok(json!({"task": json}))]);
        if task.status.is_finished() {
            return Ok(Box::pin(first));
        }
        let pattern = format!("tasks/{id}");
        let watch = self.workspace.watch(&pattern).from(Revision(revision.0 + 1)).await?;
        let following = Following { watch, follower, is_over: false };
        let rest = stream::unfold(following, Following::next).flat_map(stream::iter);
        Ok(Box::pin(first.chain(rest)))
    }
}

/// A watch of one task.
struct Following {
    watch: Watch,
    follower: Follower,
    is_over: bool,
}

impl Following {
    async fn next(mut self) -> Option<(Vec<Result<Value, Error>>, Self)> {
        if self.is_over {
            return None;
        }
        let updates = match self.watch.next().await? {
            Ok(Item::Event(notice)) => {
                let event = serde_json::from_slice(&notice.json()).unwrap_or_default();
                self.follower.updates(&event).into_iter().map(Ok).collect()
            }
            Ok(Item::Snapshot { .. }) => Vec::new(),
            Err(error) => {
                self.is_over = true;
                vec![Err(Error::from(error))]
            }
        };
        self.is_over |= updates.iter().any(|update| update.as_ref().is_ok_and(is_final));
        Some((updates, self))
    }
}

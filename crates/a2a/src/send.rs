//! Messages to the fleet or to one agent: a new task, an answer to a question, or a verdict.

use baton_core::handoff::Receiver;
use baton_core::task::{Command, Create, Status, Task, Verdict};
use baton_core::{AgentId, Answer, GroupName, Json, Reply, TaskId, TaskType, task};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::error::{Error, ErrorKind};
use crate::message::Message;
use crate::params::SendMessage;
use crate::push;
use crate::service::{Addressee, Context, Service};
use crate::task::{MEMBER, context_of};
use crate::transfer::{block, validate};

/// The type of tasks that are created by a message that names none.
const TYPE: &str = "a2a";
/// How much of the words of a message the description of its task has.
const DESCRIPTION_BYTES_MAX: usize = 8 << 10;

/// A name made from texts: the same texts have the same name.
pub(crate) fn derived(prefix: &str, texts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for text in texts {
        hash.update((text.len() as u64).to_be_bytes());
        hash.update(text.as_bytes());
    }
    let digest: [u8; 32] = hash.finalize().into();
    let digits: Vec<String> = digest[..12].iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{prefix}{}", digits.concat())
}

fn text_member(metadata: &Map<String, Value>, name: &str) -> Result<Option<String>, Error> {
    match metadata.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(Error::invalid(&format!("metadata.{name}"), &"it must be a text")),
    }
}

fn json_of(value: &Value) -> Result<Json, Error> {
    Json::of(value).map_err(|error| Error::invalid("message", &error))
}

impl Service {
    /// Carries a message out, and returns the task that it is about.
    pub(crate) async fn send(
        &self,
        request: &SendMessage,
        context: &Context,
    ) -> Result<Task, Error> {
        request.message.check()?;
        if !request.message.task_id.is_empty() {
            return self.proceed(&request.message).await;
        }
        let create = self.task_of(request, context).await?;
        let id = create.id.clone().expect("it was derived above");
        let push = request.configuration.task_push_notification_config.as_ref();
        // Before the task, so that no change of it is missed.
        let config = match push {
            Some(push) => Some(self.add_push(&id, push).await?),
            None => None,
        };
        let created = self.create(create).await;
        if let (Err(_), Some(config)) = (&created, &config) {
            // The task does not exist, and nothing calls the webhook of it.
            let name = push::name_of(&id, config["id"].as_str().unwrap_or_default())?;
            let _ = self.workspace.reactions().remove(&name).await;
        }
        created
    }

    async fn create(&self, create: Create) -> Result<Task, Error> {
        let (id, definition) = (create.id.clone(), create.definition.clone());
        match self.workspace.execute(Command::Create(Box::new(create))).await {
            Ok(Answer { reply: Reply::Task(task::Reply::Task(task)), .. }) => Ok(*task),
            Ok(_) => unreachable!("a task is created"),
            Err(error) if error.code() == "task.exists" => {
                let id = id.expect("only a task with an id can exist");
                let known = self.workspace.tasks().get(id.as_str()).await?;
                // A repetition is answered as the first one was.
                let is_same = match (&known.definition, &definition) {
                    (Some(known), Some(given)) => known.same_value(given),
                    (None, None) => true,
                    _ => false,
                };
                if is_same {
                    return Ok(known);
                }
                let reason = "another message was sent with this id: use a new one";
                Err(Error::invalid("message.messageId", &reason))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// The task that a message creates.
    async fn task_of(&self, request: &SendMessage, context: &Context) -> Result<Create, Error> {
        let SendMessage { message, metadata, .. } = request;
        let named = |name: &str| match text_member(metadata, name)? {
            Some(text) => Ok(Some(text)),
            None => text_member(&message.metadata, name),
        };
        let (skill, task_type) = (named("skill")?, named("type")?);
        let workspace = &self.workspace;
        let agent = workspace.agent().as_str();
        let id = derived("a2a-", &[workspace.name().as_str(), agent, &message.message_id]);
        let group = match message.context_id.as_str() {
            "" => format!("c-{id}"),
            given => given.to_owned(),
        };
        let bad = |field: &str, error: &dyn std::fmt::Display| Error::invalid(field, error);
        let task_type = TaskType::parse(task_type.as_deref().unwrap_or(TYPE));
        let mut create = Create::new(task_type.map_err(|error| bad("metadata.type", &error))?);
        create.id = Some(TaskId::parse(&id).map_err(|error| bad("message.messageId", &error))?);
        let group = GroupName::parse(&group);
        create.group = Some(group.map_err(|error| bad("message.contextId", &error))?);
        create.assigned_agent = self.addressed_agent().await?;
        create.capabilities.extend(skill.clone());
        let text = message.text();
        let end = text.floor_char_boundary(DESCRIPTION_BYTES_MAX);
        create.description = (end > 0).then(|| text[..end].to_owned());
        create.definition = Some(json_of(&json!({"message": message}))?);
        create.traceparent.clone_from(&context.traceparent);
        let mut kept = json!({MEMBER: {"message_id": message.message_id}});
        if let Some(block) = block(message, &context.extensions)? {
            let to = create.assigned_agent.clone().map(Receiver::Agent);
            let to = to.or(skill.map(Receiver::Capability));
            // A repetition was validated the first time, under the rules of that time.
            if workspace.tasks().get(&id).await.is_err() {
                validate(workspace, &block, to).await?;
            }
            kept["transfer_context"] = block;
        }
        create.metadata = Some(json_of(&kept)?);
        Ok(create)
    }

    /// The agent that is addressed, which must be known.
    async fn addressed_agent(&self) -> Result<Option<AgentId>, Error> {
        let Addressee::Agent(agent) = &self.addressee else { return Ok(None) };
        let known = self.workspace.agents().get(agent.as_str()).await?;
        Ok(Some(known.id))
    }

    /// A further message about a task.
    async fn proceed(&self, message: &Message) -> Result<Task, Error> {
        let task = self.task(&message.task_id).await?;
        let context = context_of(&task);
        if !message.context_id.is_empty() && message.context_id != context {
            let reason = format!("the task belongs to the context `{context}`");
            return Err(Error::invalid("message.contextId", &reason));
        }
        let agent = self.workspace.agent().as_str();
        let key = derived("a2a-", &[agent, task.id.as_str(), &message.message_id]);
        let once = self.workspace.once(&key)?;
        if task.status == Status::WaitingReview {
            let (verdict, note) = verdict(message)?;
            return Ok(once.tasks().review(task.id.as_str(), verdict).note(&note).await?);
        }
        if task.status.is_finished() {
            let state = task.status.clause();
            let message = format!("the task {state}: send a message without `taskId`");
            return Err(Error::new(ErrorKind::UnsupportedOperation, message));
        }
        let holder = task.lease.as_ref().map(|lease| &lease.holder);
        let Some(to) = holder.or(task.assigned_agent.as_ref()) else {
            let message = "no agent works on the task yet: send the message when it is working";
            return Err(Error::new(ErrorKind::UnsupportedOperation, message));
        };
        let body = json!({"task": task.id.as_str(), "message": message});
        once.messages().send(to.as_str(), body).await?;
        Ok(task)
    }
}

/// The verdict of a message about a task that failed too often, and the note with it.
fn verdict(message: &Message) -> Result<(Verdict, String), Error> {
    let named = message.parts.iter().find_map(|part| part.data.as_ref()?.get("verdict"));
    let verdict = match named {
        Some(named) => serde_json::from_value(named.clone())
            .map_err(|error| Error::invalid("message.parts.data.verdict", &error))?,
        None => Verdict::Retry,
    };
    Ok((verdict, message.text()))
}

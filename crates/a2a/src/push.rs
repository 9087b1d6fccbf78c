//! Push notifications: a webhook of a reaction to the events of one task.
//!
//! The reaction is called `a2a.{task}.{config}`. The server recognises it by that name, and posts
//! an update of the protocol instead of the event. The credentials of the call are stored as the
//! secret of the webhook, which no answer contains.

use baton_core::TaskId;
use baton_core::reaction::{Add, Condition, On, Reaction, Secret, WebhookSpec};
use baton_core::task::Task;
use baton_core::{Pattern, ReactionName};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::error::{Error, ErrorKind};
use crate::follower::Follower;
use crate::params::PushConfig;
use crate::send::derived;
use crate::service::Service;
use crate::task::{context_of, has_ended, state_of, task_json};

/// The beginning of the names of reactions that are push notifications.
pub const PUSH_PREFIX: &str = "a2a.";
/// Events that change nothing for a receiver.
const UNSEEN: [&str; 5] =
    ["task.renewed", "task.ready", "task.offered", "task.abandoned", "task.taken_back"];

/// The credentials of a call at its receiver.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Credentials {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    token: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    authorization: String,
}

/// A notification to post.
#[derive(Debug, PartialEq)]
pub struct Push {
    /// The body.
    pub body: Value,
    /// Header fields.
    pub headers: Vec<(&'static str, String)>,
    /// Whether it is the last one: the task has ended.
    pub is_last: bool,
}

/// The notification of an event, if it is one; the task is as it is now. The secret is that of the
/// webhook.
pub fn push_of(task: &Task, event: &Value, secret: Option<&str>) -> Option<Push> {
    let mut follower = Follower::of_events(task.id.as_str(), context_of(task));
    let update = follower.updates(event).pop()?;
    let state = update["statusUpdate"]["status"]["state"].as_str().unwrap_or_default();
    let is_last = has_ended(state);
    // The last one is the whole task, with its artifacts.
    let is_whole = is_last && has_ended(state_of(task));
    let body = if is_whole { json!({"task": task_json(task, usize::MAX, true)}) } else { update };
    let credentials: Credentials =
        secret.and_then(|secret| serde_json::from_str(secret).ok()).unwrap_or_default();
    let headers = [
        ("x-a2a-notification-token", credentials.token),
        ("authorization", credentials.authorization),
    ];
    let headers = headers.into_iter().filter(|(_, value)| !value.is_empty()).collect();
    Some(Push { body, headers, is_last })
}

/// The name of the reaction of a configuration.
pub(crate) fn name_of(task: &TaskId, config: &str) -> Result<String, Error> {
    let name = format!("{PUSH_PREFIX}{task}.{config}");
    ReactionName::check(&name).map_err(|error| Error::invalid("id", &error))?;
    Ok(name)
}

fn shown(reaction: &Reaction, task: &str) -> Option<Value> {
    let prefix = format!("{PUSH_PREFIX}{task}.");
    let id = reaction.name.as_str().strip_prefix(&prefix)?;
    let url = &reaction.webhook.as_ref()?.url;
    Some(json!({"id": id, "taskId": task, "url": url}))
}

fn secret_of(config: &PushConfig) -> Result<Option<Secret>, Error> {
    let authorization = match &config.authentication {
        Some(given) if !given.scheme.is_empty() => {
            format!("{} {}", given.scheme, given.credentials)
        }
        Some(_) | None => String::new(),
    };
    let is_plain = |text: &str| text.bytes().all(|byte| (0x20..0x7f).contains(&byte));
    if !is_plain(&authorization) || !is_plain(&config.token) {
        return Err(Error::invalid("authentication", &"only printable ASCII is allowed"));
    }
    let credentials = Credentials { token: config.token.clone(), authorization };
    if credentials.token.is_empty() && credentials.authorization.is_empty() {
        return Ok(None);
    }
    let text = serde_json::to_string(&credentials).expect("texts can be encoded");
    Ok(Some(Secret::new(text)))
}

impl Service {
    fn can_push(&self) -> Result<(), Error> {
        if self.site.push {
            return Ok(());
        }
        let message = "this server makes no calls: start it with `--webhooks`";
        Err(Error::new(ErrorKind::PushNotificationNotSupported, message))
    }

    /// Adds a configuration, or replaces it.
    pub(crate) async fn add_push(
        &self,
        task: &TaskId,
        config: &PushConfig,
    ) -> Result<Value, Error> {
        self.can_push()?;
        let id = match config.id.as_str() {
            "" => derived("p-", &[task.as_str(), &config.url]),
            given => given.to_owned(),
        };
        let unseen = UNSEEN.map(|kind| format!("event.type != '{kind}'")).join(" && ");
        let bad = |error: &dyn std::fmt::Display| Error::invalid("taskId", error);
        let subject = Pattern::parse(&format!("tasks/{task}")).map_err(|error| bad(&error))?;
        let on = On {
            kind: Some(Pattern::parse("task.*").expect("it is a pattern")),
            subject: Some(subject),
            condition: Some(Condition::compile(&unseen).expect("a test compiles it")),
        };
        let (url, secret) = (config.url.clone(), secret_of(config)?);
        let webhook = WebhookSpec { url, secret, timeout_ms: None, retries: None };
        let name = ReactionName::parse(&name_of(task, &id)?);
        let name = name.map_err(|error| Error::invalid("id", &error))?;
        let add = Add { name, on, commands: Vec::new(), webhook: Some(webhook), enabled: None };
        let added = self.workspace.reactions().add_whole(add).await?;
        Ok(shown(&added, task.as_str()).unwrap_or_default())
    }

    /// `CreateTaskPushNotificationConfig`
    pub(crate) async fn create_push(&self, config: &PushConfig) -> Result<Value, Error> {
        self.can_push()?;
        let task = self.task(&config.task_id).await?;
        self.add_push(&task.id, config).await
    }

    /// `GetTaskPushNotificationConfig`
    pub(crate) async fn get_push(&self, config: &PushConfig) -> Result<Value, Error> {
        self.can_push()?;
        let task = self.task(&config.task_id).await?;
        let found = self.workspace.reactions().get(&name_of(&task.id, &config.id)?).await?;
        Ok(shown(&found, task.id.as_str()).unwrap_or_default())
    }

    /// `ListTaskPushNotificationConfigs`
    pub(crate) async fn list_push(&self, config: &PushConfig) -> Result<Value, Error> {
        self.can_push()?;
        let task = self.task(&config.task_id).await?;
        let all = self.workspace.reactions().list().await?;
        let configs = all.iter().filter_map(|reaction| shown(reaction, task.id.as_str()));
        Ok(json!({"configs": configs.collect::<Vec<_>>(), "nextPageToken": ""}))
    }

    /// `DeleteTaskPushNotificationConfig`. Deleting one that does not exist succeeds, so that it
    /// can be repeated.
    pub(crate) async fn delete_push(&self, config: &PushConfig) -> Result<Value, Error> {
        self.can_push()?;
        let task = self.task(&config.task_id).await?;
        let removed = self.workspace.reactions().remove(&name_of(&task.id, &config.id)?).await;
        match removed {
            Ok(_) => Ok(json!({})),
            Err(error) if error.code() == "reaction.not_found" => Ok(json!({})),
            Err(error) => Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_condition_is_one() {
        let unseen = UNSEEN.map(|kind| format!("event.type != '{kind}'")).join(" && ");
        assert!(Condition::compile(&unseen).is_ok());
    }
}

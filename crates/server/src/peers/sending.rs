//! One message to an agent of another system, followed to its end: for callers without a task here.

use std::time::Duration;

use baton_a2a::Method;
use baton_a2a::peer::{Interface, PeerError, Reported, State};
use serde_json::{Value, json};

use super::remote::Remote;

/// The pause before a request is repeated.
const PAUSE: Duration = Duration::from_secs(1);
/// How often in a row a call may fail.
const FAILURES_MAX: u32 = 10;

/// A message to send.
#[derive(Clone, Debug, Default)]
pub struct Outgoing {
    /// Its words.
    pub text: String,
    /// Its id; a repetition has the same one.
    pub message_id: String,
    /// The task that it continues.
    pub task: Option<String>,
    /// The conversation that it belongs to.
    pub context: Option<String>,
    /// The capability that the agent must have, for a fleet of Baton.
    pub skill: Option<String>,
    /// Whether to return as soon as it has arrived.
    pub returns_at_once: bool,
}

impl Outgoing {
    fn params(&self) -> Value {
        let mut message = json!({"messageId": self.message_id, "role": "ROLE_USER",
                                 "parts": [{"text": self.text}]});
        let given = [("taskId", &self.task), ("contextId", &self.context)];
        for (name, value) in given {
            if let Some(value) = value {
                message[name] = value.as_str().into();
            }
        }
        if let Some(skill) = &self.skill {
            message["metadata"] = json!({"skill": skill});
        }
        json!({"message": message, "configuration": {"returnImmediately": true}})
    }
}

impl Remote {
    /// Sends a message, and returns the task that it led to when that has ended or needs input, or
    /// the message that was the answer. Every update is passed on as it comes.
    pub async fn send(
        &self,
        outgoing: &Outgoing,
        mut seen: impl FnMut(&Value),
    ) -> Result<Value, PeerError> {
        let interface = self.interface().await?;
        let answer = self.call(&interface, Method::SendMessage, outgoing.params()).await?;
        let mut reported = Reported::of_answer(&answer)?;
        let mut task = answer.get("task").cloned();
        let mut failures = 0;
        // An answer to a question is not the end of the question yet.
        let mut may_wait = outgoing.task.is_some();
        while let Some(current) = &task
            && !outgoing.returns_at_once
            && !reported.state.is_final()
            && (reported.state != State::Asks || std::mem::take(&mut may_wait))
        {
            seen(current);
            self.wait(&interface, &reported, &mut seen).await;
            let read = self.call(&interface, Method::GetTask, json!({"id": reported.id})).await;
            match read.and_then(|now| Ok((Reported::of(&now)?, now))) {
                Ok((now, whole)) => (reported, task, failures) = (now, Some(whole), 0),
                Err(error) if !error.again || failures == FAILURES_MAX => return Err(error),
                Err(_) => failures += 1,
            }
        }
        Ok(task.unwrap_or(answer))
    }

    async fn wait(
        &self,
        interface: &Interface,
        reported: &Reported,
        seen: &mut impl FnMut(&Value),
    ) {
        if interface.streaming
            && let Ok(mut updates) = self.updates(interface, &reported.id).await
        {
            while let Some(update) = updates.next().await {
                seen(&update);
            }
        }
        tokio::time::sleep(PAUSE / 4).await;
    }
}

//! Sends work to a peer: every message once, and the work returns to the giver if it cannot be
//! delivered.

use baton_a2a::Method;
use baton_a2a::peer::{Assignment, Interface, PeerError, Reported, State};
use baton_core::Token;
use baton_core::handoff::{Accept, Handoff, Status};
use baton_core::task::Task;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::worker::{LEASE_MS, PeerWorker};

/// How often a message is sent before it counts as undeliverable.
const ATTEMPTS_MAX: u32 = 4;
/// The member of a task's metadata with what was sent where.
const MEMBER: &str = "a2a_peer";
/// How long a reason may be.
const REASON_CHARACTERS_MAX: usize = 500;

/// The message and its receiver, as recorded in the metadata of the task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct SentRecord {
    /// The address of the peer.
    url: String,
    /// The id of the message.
    message: String,
    /// The task there, once it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    task: Option<String>,
    /// The token of the lease under which it was sent.
    token: Token,
}

/// A task that a peer does.
pub(super) struct Work {
    pub(super) task: Task,
    pub(super) token: Token,
    /// The hand-off that it came by.
    pub(super) handoff: Option<Handoff>,
}

impl Work {
    fn record(&self, url: &str) -> Option<SentRecord> {
        let metadata = self.task.metadata.as_ref()?.to_value();
        let record: SentRecord = serde_json::from_value(metadata.get(MEMBER)?.clone()).ok()?;
        (record.url == url).then_some(record)
    }
}

/// The beginning of a reason that a peer gave.
pub(super) fn shortened(reason: &str) -> String {
    reason.chars().take(REASON_CHARACTERS_MAX).collect()
}

impl PeerWorker {
    /// Takes over a hand-off when its message has arrived; otherwise the giver keeps it.
    pub(super) async fn take_over(self, handoff: Handoff) {
        let handoffs = self.there.handoffs();
        let id = handoff.id.as_str();
        let reason = match self.sent(&handoff).await {
            Ok((_, reported)) if reported.state == State::Refused => {
                let remark = reported.remark.unwrap_or_else(|| json!("it gives no reason"));
                format!("{} refused it: {}", self.remote.url(), words(&remark))
            }
            Ok((interface, reported)) => {
                let accept = Accept {
                    handoff: handoff.id.clone(),
                    lease_ms: Some(LEASE_MS),
                    overwrite: false,
                };
                match self.insist(|| handoffs.accept_as(accept.clone())).await {
                    Ok(accepted) => {
                        if let Some(task) = accepted.task {
                            self.resume(task).await;
                        }
                        return;
                    }
                    // The giver has withdrawn it, or the time is over.
                    Err(error) => {
                        self.cancel(&interface, &reported.id).await;
                        format!("it cannot be accepted: {error}")
                    }
                }
            }
            Err(error) => format!("{} cannot take it: {}", self.remote.url(), error.detail),
        };
        let reason = shortened(&reason);
        let _ = self.insist(|| handoffs.reject(id, Some(&reason))).await;
    }

    /// Sends the task of a hand-off that is not accepted yet.
    async fn sent(&self, handoff: &Handoff) -> Result<(Interface, Reported), PeerError> {
        let Some(task) = &handoff.task else {
            let detail = "only tasks can be handed over to an agent of another system";
            return Err(PeerError::fatal(detail));
        };
        let task = self.there.tasks().get(task.as_str()).await;
        let task = task.map_err(|error| PeerError::fatal(error.to_string()))?;
        let name = self.there.name().as_str();
        let handed = Some((handoff, self.values(handoff).await?));
        let assignment = Assignment::of(name, &task, handed, None);
        self.deliver(&assignment, handoff.deliveries > 1).await
    }

    /// The values of the keys that are handed over, by `namespace/key` as they were selected.
    async fn values(&self, handoff: &Handoff) -> Result<Map<String, Value>, PeerError> {
        let is_pattern = handoff.keys.iter().any(|key| !matches!(key.pattern(), Ok(None)));
        if is_pattern && handoff.receipt.is_none() {
            let detail = "keys that a pattern selects cannot be sent: name each of them";
            return Err(PeerError::fatal(detail));
        }
        let selected = handoff.keys.iter().map(|key| (&key.name, key.name.to_string()));
        let taken = handoff.receipt.iter().flat_map(|receipt| &receipt.keys);
        // They move when it is accepted.
        let taken = taken.map(|taken| (&taken.key, taken.name_now(self.there.agent())));
        let names: Vec<_> = match handoff.receipt {
            Some(_) => taken.collect(),
            None => selected.collect(),
        };
        let mut values = Map::new();
        for (name, now) in names {
            let (namespace, key) = now.split_once('/').unwrap_or_default();
            match self.there.state(namespace).get(key).await {
                Ok(entry) => {
                    let value = serde_json::from_slice(entry.value()).unwrap_or_default();
                    values.insert(name.to_string(), value);
                }
                // As for every receiver, missing values are left out.
                Err(error) if error.code() == "state.not_found" => {}
                Err(error) => return Err(PeerError::fatal(error.to_string())),
            }
        }
        Ok(values)
    }

    /// Delivers a message. One that may have arrived before is looked for first.
    async fn deliver(
        &self,
        assignment: &Assignment,
        is_repeated: bool,
    ) -> Result<(Interface, Reported), PeerError> {
        let mut pause = self.pause;
        let mut attempt = 1;
        loop {
            match self.tried(assignment, is_repeated || attempt > 1).await {
                Ok(delivered) => return Ok(delivered),
                Err(error) if !error.again || attempt == ATTEMPTS_MAX => return Err(error),
                Err(_) => {}
            }
            tokio::time::sleep(pause).await;
            (attempt, pause) = (attempt + 1, pause * 2);
        }
    }

    async fn tried(
        &self,
        assignment: &Assignment,
        may_be_there: bool,
    ) -> Result<(Interface, Reported), PeerError> {
        let interface = self.remote.interface().await?;
        if may_be_there && let Some(found) = self.found(&interface, &assignment.context_id).await {
            return Ok((interface, found));
        }
        let params = assignment.params(&interface);
        let answer = self.remote.call(&interface, Method::SendMessage, params).await?;
        let reported = Reported::of_answer(&answer)?;
        Ok((interface, reported))
    }

    /// The task of a context, which only one message has begun.
    async fn found(&self, interface: &Interface, context: &str) -> Option<Reported> {
        let list = json!({"contextId": context});
        let listed = self.remote.call(interface, Method::ListTasks, list).await.ok()?;
        let task = listed["tasks"].as_array()?.first()?["id"].as_str()?.to_owned();
        let read = self.remote.call(interface, Method::GetTask, json!({"id": task})).await.ok()?;
        Reported::of(&read).ok()
    }

    /// Has a task of this agent done, from wherever it is.
    pub(super) async fn resume(self, task: Task) {
        let Some(token) = task.lease.as_ref().map(|lease| lease.token) else { return };
        let handoff = self.handoff_of(&task).await;
        self.attend(Work { task, token, handoff }).await;
    }

    /// The hand-off that a task came by.
    async fn handoff_of(&self, task: &Task) -> Option<Handoff> {
        let handoffs = self.there.handoffs().history(task.id.as_str()).await.ok()?;
        let last = handoffs.into_iter().next_back()?;
        let is_ours = last.receiver.as_ref() == Some(self.there.agent());
        (is_ours && last.status == Status::Accepted).then_some(last)
    }

    /// Sends a task, or finds the one that was sent before.
    pub(super) async fn begin(&self, work: &Work) -> Result<(Interface, Reported), PeerError> {
        let before = work.record(self.remote.url());
        if let Some(record) = &before {
            match self.found_again(record).await? {
                // An earlier attempt that has failed is followed by a new one.
                Some((_, found)) if record.token != work.token && has_failed(found.state) => {}
                Some((interface, found)) => return Ok((interface, found)),
                None if record.task.is_some() => {}
                None => return self.send(work, Some(&record.message)).await,
            }
        }
        self.send(work, None).await
    }

    async fn found_again(
        &self,
        record: &SentRecord,
    ) -> Result<Option<(Interface, Reported)>, PeerError> {
        let Some(task) = &record.task else { return Ok(None) };
        let (mut pause, mut attempt) = (self.pause, 1);
        loop {
            let read = async {
                let interface = self.remote.interface().await?;
                let params = json!({"id": task});
                let read = self.remote.call(&interface, Method::GetTask, params).await?;
                Ok((interface, Reported::of(&read)?))
            };
            match read.await {
                Ok(found) => return Ok(Some(found)),
                Err(PeerError { is_missing: true, .. }) => return Ok(None),
                Err(error) if !error.again || attempt == ATTEMPTS_MAX => return Err(error),
                Err(_) => {}
            }
            tokio::time::sleep(pause).await;
            (attempt, pause) = (attempt + 1, pause * 2);
        }
    }

    async fn send(
        &self,
        work: &Work,
        message: Option<&str>,
    ) -> Result<(Interface, Reported), PeerError> {
        let name = self.there.name().as_str();
        let handed = match &work.handoff {
            Some(handoff) => Some((handoff, self.values(handoff).await?)),
            None => None,
        };
        let assignment = Assignment::of(name, &work.task, handed, message);
        let mut record = SentRecord {
            url: self.remote.url().to_owned(),
            message: assignment.message_id.clone(),
            task: None,
            token: work.token,
        };
        // Before it is sent: a server that starts again must know the id.
        self.note(work, &record).await?;
        // The message of a hand-off was sent before it was accepted.
        let may_be_there = message.is_some() || work.handoff.is_some();
        let (interface, reported) = self.deliver(&assignment, may_be_there).await?;
        record.task = Some(reported.id.clone()).filter(|id| !id.is_empty());
        self.note(work, &record).await?;
        Ok((interface, reported))
    }

    async fn note(&self, work: &Work, record: &SentRecord) -> Result<(), PeerError> {
        let tasks = self.there.tasks();
        let fields = json!({"metadata": {MEMBER: record}});
        let id = work.task.id.as_str();
        let noted = self.insist(|| tasks.update(id, work.token, &fields)).await;
        noted.map(drop).map_err(|error| PeerError::fatal(error.to_string()))
    }

    /// Cancels a task there, as far as that is possible.
    pub(super) async fn cancel(&self, interface: &Interface, task: &str) {
        if !task.is_empty() {
            let params = json!({"id": task});
            let _ = self.remote.call(interface, Method::CancelTask, params).await;
        }
    }
}

fn has_failed(state: State) -> bool {
    matches!(state, State::Failed | State::Refused)
}

/// A remark in words.
pub(super) fn words(remark: &Value) -> String {
    match remark {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

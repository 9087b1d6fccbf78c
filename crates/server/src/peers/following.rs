//! A task at a peer, followed to its end.

use std::sync::{Mutex, PoisonError};

use baton_a2a::Method;
use baton_a2a::peer::{Interface, PeerError, Reported, State, reply};
use baton_client::Error;
use baton_core::Kind;
use baton_core::message::{List, Message, Status};
use baton_core::wire::Problem;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::delivery::Work;
use super::worker::{LEASE_MS, PeerWorker};

/// How often a lease is renewed.
const RENEW_MS: u64 = LEASE_MS / 4;
/// The number of messages of an inbox that are searched for an answer.
const INBOX_MAX: u64 = 1_000;

/// The task as it is known here: where it is, and what was reported last.
type Known = Mutex<Option<(Interface, String)>>;

/// The local messages about a task.
#[derive(Default, PartialEq)]
struct Said {
    question: Value,
    note: Option<String>,
    progress: Option<f64>,
}

impl PeerWorker {
    /// Has a task done by the peer. If the lease is lost meanwhile, another agent decides about the
    /// task here, and it is cancelled there.
    pub(super) async fn attend(&self, work: Work) {
        let known = Known::default();
        tokio::select! {
            ended = self.followed(&work, &known) => self.conclude(&work, ended).await,
            () = self.lease_lost(&work) => {
                let there = known.lock().unwrap_or_else(PoisonError::into_inner).take();
                if let Some((interface, task)) = there {
                    self.cancel(&interface, &task).await;
                }
            }
        }
    }

    /// Renews the lease; returns when it is lost, or when the task has ended here.
    async fn lease_lost(&self, work: &Work) {
        let (tasks, id) = (self.there.tasks(), work.task.id.as_str());
        loop {
            match tasks.wait(id, &[], RENEW_MS).await {
                Ok(None) => {}
                Ok(Some(_)) => return,
                Err(_) => tokio::time::sleep(self.pause).await,
            }
            let renewed = self.insist(|| tasks.heartbeat(id, work.token)).await;
            if renewed.is_err() {
                return;
            }
        }
    }

    /// Repeats a call that the server has no room for at the moment.
    pub(super) async fn insist<T, F>(&self, call: impl Fn() -> F) -> Result<T, Error>
    where
        F: Future<Output = Result<T, Error>>,
    {
        loop {
            match call().await {
                Err(error) if is_passing(&error) => tokio::time::sleep(self.pause).await,
                outcome => return outcome,
            }
        }
    }

    /// The end of a task there.
    async fn followed(&self, work: &Work, known: &Known) -> Result<Reported, PeerError> {
        let (mut interface, mut reported) = self.begin(work).await?;
        let metadata = work.task.metadata.as_ref().map(baton_core::Json::to_value);
        let question = metadata.map(|metadata| metadata["question"].clone()).unwrap_or_default();
        let mut said = Said { question, ..Said::default() };
        let mut reached = Instant::now();
        loop {
            if reported.state.is_final() {
                return Ok(reported);
            }
            let there = (interface.clone(), reported.id.clone());
            *known.lock().unwrap_or_else(PoisonError::into_inner) = Some(there);
            self.tell(work, &reported, &mut said).await;
            if reported.state == State::Asks {
                self.pass_on_answer(work, &interface, &reported).await;
                tokio::time::sleep(self.pause).await;
            } else {
                self.wait_for_change(work, &interface, &reported, &mut said).await;
            }
            let params = json!({"id": reported.id});
            let read = self.remote.call(&interface, Method::GetTask, params).await;
            match read.and_then(|task| Reported::of(&task)) {
                Ok(now) => (reported, reached) = (now, Instant::now()),
                Err(error) if error.is_missing => {
                    return Err(PeerError::passing("it no longer knows the task"));
                }
                Err(error) if reached.elapsed() >= self.patience => return Err(error),
                Err(_) => {
                    tokio::time::sleep(self.pause).await;
                    interface = self.remote.interface().await.unwrap_or(interface);
                }
            }
        }
    }

    /// Waits until the task may have changed: as long as its stream lasts, or a while.
    async fn wait_for_change(
        &self,
        work: &Work,
        interface: &Interface,
        reported: &Reported,
        said: &mut Said,
    ) {
        if interface.streaming
            && let Ok(mut updates) = self.remote.updates(interface, &reported.id).await
        {
            let begun = Instant::now();
            while let Some(update) = updates.next().await {
                let Ok(now) = Reported::of_update(&update) else { continue };
                if now.state.is_final() || now.state == State::Asks {
                    return;
                }
                self.tell(work, &now, said).await;
            }
            if begun.elapsed() >= self.pause {
                return;
            }
        }
        tokio::time::sleep(self.pause).await;
    }

    /// Reports progress and questions here. If that is refused, the lease is lost, which is noticed
    /// elsewhere.
    async fn tell(&self, work: &Work, reported: &Reported, said: &mut Said) {
        let (tasks, id, token) = (self.there.tasks(), work.task.id.as_str(), work.token);
        let question = match reported.state {
            State::Asks => reported.remark.clone().unwrap_or_else(|| json!("it needs input")),
            _ => Value::Null,
        };
        if question != said.question {
            let fields = json!({"metadata": {"question": question}});
            let _ = self.insist(|| tasks.update(id, token, &fields)).await;
            said.question = question;
        }
        let note = match (reported.state, &reported.remark) {
            (State::Working | State::Submitted, Some(Value::String(note))) => Some(note.clone()),
            _ => None,
        };
        let is_new = note.is_some() && note != said.note;
        if is_new || (reported.progress.is_some() && reported.progress != said.progress) {
            let before = said.progress.unwrap_or_default();
            let fraction = reported.progress.unwrap_or(before).clamp(0.0, 1.0);
            let note = note.or_else(|| said.note.clone());
            let shown = note.as_deref().map(super::delivery::shortened);
            let report = || tasks.progress(id, token, fraction, shown.as_deref());
            let _ = self.insist(report).await;
            (said.note, said.progress) = (note, Some(fraction));
        }
    }

    /// Sends the first answer in the agent's inbox: mail with the task in its body.
    async fn pass_on_answer(&self, work: &Work, interface: &Interface, reported: &Reported) {
        let Some(mail) = self.answer_to(work).await else { return };
        let id = mail.id.as_str();
        let params = reply(&reported.id, &reported.context, id, &mail.body.to_value());
        let sent = self.remote.call(interface, Method::SendMessage, params).await;
        // An answer that the peer refuses would be refused again.
        if sent.is_ok() || sent.is_err_and(|error| !error.again) {
            let messages = self.there.messages();
            let _ = self.insist(|| messages.ack(id)).await;
        }
    }

    async fn answer_to(&self, work: &Work) -> Option<Message> {
        let list = List { limit: Some(INBOX_MAX), ..List::default() };
        let (mail, _) = self.there.messages().page(list).await.ok()?;
        let is_open = |mail: &&Message| matches!(mail.status, Status::Waiting | Status::Delivered);
        let is_about = |mail: &&Message| mail.body.to_value()["task"] == work.task.id.as_str();
        mail.iter().filter(is_open).find(is_about).cloned()
    }
}

/// Whether an error passes: a quota, or an engine without room.
fn is_passing(error: &Error) -> bool {
    let is_closed = matches!(error.code(), "engine.closed" | "client.closed");
    let kind = Problem::from(error).kind;
    !is_closed && matches!(kind, Kind::Exhausted | Kind::Unavailable)
}

//! The local result of a task that has ended at the peer.

use std::collections::BTreeMap;

use baton_a2a::peer::{PeerError, Reported, State};
use baton_client::Error;
use baton_core::Json;
use baton_core::handoff::{Complete, Handoff};
use serde_json::{Value, json};

use super::delivery::{Work, shortened, words};
use super::worker::PeerWorker;

impl PeerWorker {
    /// Reports how a task has ended.
    pub(super) async fn conclude(&self, work: &Work, ended: Result<Reported, PeerError>) {
        let (code, detail, is_final) = match ended {
            Ok(reported) if reported.state == State::Completed => {
                match self.completed(work, reported).await {
                    Ok(()) => return,
                    // The rules here do not take the result; the work is not done again for that.
                    Err(error) => ("a2a.result_refused", error.to_string(), true),
                }
            }
            Ok(reported) => {
                let remark = reported.remark.unwrap_or_else(|| json!("it gives no reason"));
                ("a2a.failed", words(&remark), reported.state == State::Refused)
            }
            Err(error) => ("a2a.undelivered", error.detail, !error.again),
        };
        let (tasks, id) = (self.there.tasks(), work.task.id.as_str());
        let detail = shortened(&detail);
        let error = json!({"code": code, "peer": self.remote.url(), "detail": detail});
        // If the lease is lost, another agent decides about the task.
        let _ = self
            .insist(|| {
                let failing = tasks.fail(id, work.token, &error);
                if is_final { failing.for_good().into_future() } else { failing.into_future() }
            })
            .await;
    }

    /// Completes a task with the result and the state that come back.
    async fn completed(&self, work: &Work, reported: Reported) -> Result<(), Error> {
        let tasks = self.there.tasks();
        let (id, token) = (work.task.id.as_str(), work.token);
        let state = state_of(&reported);
        let mut kept = json!({"question": null});
        if let Some(handoff) = &work.handoff {
            // The completion of a hand-off has no place for them.
            if !reported.artifacts.is_empty() {
                kept["a2a_artifacts"] = json!(reported.artifacts);
            }
            self.keep(work, &kept).await?;
            let result = reported.result.as_ref().and_then(|result| Json::of(result).ok());
            let changes = changes(handoff, state);
            let complete = Complete { handoff: handoff.id.clone(), result, changes };
            let handoffs = self.there.handoffs();
            let done = || handoffs.complete_as(complete.clone());
            return self.insist(done).await.map(drop);
        }
        if !state.is_empty() {
            kept["transfer_context"] = json!({"state": state});
        }
        self.keep(work, &kept).await?;
        let done = || {
            let mut complete = tasks.complete(id, token);
            if let Some(result) = &reported.result {
                complete = complete.result(result);
            }
            if !reported.artifacts.is_empty() {
                complete = complete.artifacts(&reported.artifacts);
            }
            complete.into_future()
        };
        self.insist(done).await.map(drop)
    }

    /// Keeps members of the task's metadata.
    async fn keep(&self, work: &Work, metadata: &Value) -> Result<(), Error> {
        let known = work.task.metadata.as_ref().map(Json::to_value).unwrap_or_default();
        let is_asked = known.get("question").is_some_and(|question| !question.is_null());
        let says_nothing = metadata.as_object().is_some_and(|members| members.len() == 1);
        if says_nothing && !is_asked {
            return Ok(());
        }
        let (tasks, id) = (self.there.tasks(), work.task.id.as_str());
        let fields = json!({"metadata": metadata});
        self.insist(|| tasks.update(id, work.token, &fields)).await.map(drop)
    }
}

/// The state in the transfer context that came back.
fn state_of(reported: &Reported) -> BTreeMap<String, Json> {
    let state = reported.transfer.as_ref().and_then(|context| context.get("state")).cloned();
    state.and_then(|state| serde_json::from_value(state).ok()).unwrap_or_default()
}

/// The changes to the state that was handed over.
fn changes(handoff: &Handoff, state: BTreeMap<String, Json>) -> BTreeMap<String, Json> {
    let is_new = |(name, value): &(String, Json)| {
        handoff.state.get(name).is_none_or(|known| !known.same_value(value))
    };
    state.into_iter().filter(is_new).collect()
}

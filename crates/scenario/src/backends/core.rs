//! The rules alone: a space, and time as an argument.

use std::collections::BTreeMap;
use std::sync::Arc;

use baton_core::access::Viewer;
use baton_core::message::{LiveEnded, LiveRequests};
use baton_core::wire::Call;
use baton_core::{
    AgentId, Answer, Batch, CallOutcome, Committed, LiveCall, LiveDelivery, Mutation, Notice,
    Rejection, Reply, Request, Signal, Space, Timestamp, WaitId,
};
use serde_json::Value;

use super::BEGINNING;
use super::codec::{DecodedCall, decode, refused, rendered};
use crate::run::Backend;
use crate::script::ScriptedCall;

/// A space, and its events.
#[derive(Default)]
pub struct CoreBackend {
    space: Space,
    /// The open live requests, which the rules keep beside the space.
    live: LiveRequests,
    now_ms: u64,
    batches: Vec<Arc<Batch>>,
    /// The waiting calls, in order of arrival.
    waits: Vec<(String, WaitId)>,
    /// The answers to ended waits.
    ended: BTreeMap<WaitId, Value>,
}

impl CoreBackend {
    fn now(&self) -> Timestamp {
        BEGINNING.after(self.now_ms)
    }

    /// An answer, or a waiting call.
    fn submit(&mut self, request: Request, agent: &AgentId) -> Result<Value, WaitId> {
        let now = self.now();
        let revision = self.space.revision();
        let answered = |reply| Ok(rendered(&Answer { revision, reply }));
        match self.space.live_call(&mut self.live, request, agent, now) {
            LiveCall::Commit(request) => self.commit(request, agent),
            LiveCall::Refused(rejection) => Ok(refused(&rejection)),
            LiveCall::Received(reply) => answered(reply),
            LiveCall::Waits(wait, delivery) => {
                if let Some(delivery) = delivery {
                    self.deliver(delivery);
                }
                Err(wait)
            }
            LiveCall::Replied(reply, ended) => {
                self.end_live(ended);
                answered(reply)
            }
            LiveCall::RepliesAndReceives { request, answer, next } => {
                let received = self.submit(next, agent);
                let is_refused = received.as_ref().is_ok_and(|it| it.get("error").is_some());
                if !is_refused && let Some((ended, _)) = self.live.reply(&request, answer, now) {
                    self.end_live(ended);
                }
                received
            }
        }
    }

    /// A waiting call gets a live request: its wait ends.
    fn deliver(&mut self, delivery: LiveDelivery) {
        let LiveDelivery { wait, reply } = delivery;
        let revision = self.space.revision();
        if let Some(signal) = self.space.give_up(wait) {
            self.signal(signal);
        }
        self.ended.insert(wait, rendered(&Answer { revision, reply }));
    }

    fn end_live(&mut self, ended: LiveEnded) {
        let revision = self.space.revision();
        let result = ended.result.map(Reply::from).map_err(Rejection::from);
        let rendered = match result {
            Ok(reply) => rendered(&Answer { revision, reply }),
            Err(rejection) => refused(&rejection),
        };
        self.ended.insert(ended.wait, rendered);
    }

    /// What a commit means for live requests.
    fn follow_live(&mut self, batch: &Batch) {
        let effects = self.space.follow_live(Some(&mut self.live), batch);
        effects.ended.into_iter().for_each(|ended| self.end_live(ended));
        for agent in effects.ready {
            let now = self.now();
            while let Some(delivery) = self.space.serve_live(&mut self.live, &agent, now) {
                self.deliver(delivery);
            }
        }
        self.live.check();
    }

    /// An answer, or a waiting call.
    fn commit(&mut self, request: Request, agent: &AgentId) -> Result<Value, WaitId> {
        let now = self.now();
        let outcome = self.space.commit(request, agent, now);
        self.space.check();
        match outcome.map(|committed| self.record(committed)) {
            Ok(CallOutcome::Answered(answer)) => Ok(rendered(&answer)),
            Ok(CallOutcome::Waits(wait)) => Err(wait),
            Err(rejection) => Ok(refused(&rejection)),
        }
    }

    fn signal(&mut self, signal: Signal) {
        let now = self.now();
        // As in the engine, a refused signal has no effect.
        let handled = self.space.signal(vec![signal], now);
        self.space.check();
        let _ = handled.map(|committed| self.record(committed));
    }

    /// Records the effects of a commit; returns its outcome.
    fn record<O>(&mut self, committed: Committed<O>) -> O {
        let batch = committed.batch.map(Arc::new);
        self.batches.extend(batch.clone());
        let revision = self.space.revision();
        self.ended.extend(committed.ended.into_iter().map(|ended| {
            let rendered = match ended.reply {
                Ok(reply) => rendered(&Answer { revision, reply }),
                Err(rejection) => refused(&rejection),
            };
            (ended.wait, rendered)
        }));
        if let Some(batch) = batch {
            self.follow_live(&batch);
        }
        committed.outcome
    }

    /// Executes a command: the answer, or the waiting call; neither if the rules do not support it.
    fn take(&mut self, scripted: &ScriptedCall) -> Option<Result<Value, WaitId>> {
        // The rules have only one workspace.
        if scripted.workspace.is_some() {
            return None;
        }
        let DecodedCall { agent, idempotency_key, call } = match decode(scripted) {
            Ok(decoded) => decoded,
            Err(fault) => return Some(Ok(refused(&fault))),
        };
        let mutation = match call {
            Call::Command(command) => Mutation::Command(command),
            Call::Transaction(mutation) => mutation,
            Call::Query(query) => {
                let revision = self.space.revision();
                return Some(Ok(match self.space.ask(&query, Viewer::agent(&agent))? {
                    Ok(reply) => rendered(&Answer { revision, reply }),
                    Err(rejection) => refused(&rejection),
                }));
            }
            Call::Watch(_) | Call::Unwatch { .. } | Call::Ping => return None,
        };
        Some(self.submit(Request { mutation, idempotency_key }, &agent))
    }
}

impl Backend for CoreBackend {
    fn name(&self) -> String {
        "the core".to_owned()
    }

    fn advance_clock(&mut self, to_ms: u64) {
        self.now_ms = to_ms;
        let over = self.live.expire(self.now());
        for ended in over {
            self.end_live(ended);
        }
        loop {
            let due = self.space.due(self.now());
            if due.is_empty() {
                return;
            }
            for signal in due {
                self.signal(signal);
            }
        }
    }

    fn call(&mut self, scripted: &ScriptedCall) -> Option<Value> {
        let taken = self.take(scripted)?;
        Some(taken.unwrap_or_else(|wait| panic!("`{}` waits as {wait}", scripted.command)))
    }

    fn call_blocking(&mut self, scripted: &ScriptedCall) -> Option<Value> {
        match self.take(scripted)? {
            Ok(answer) => Some(answer),
            Err(wait) => {
                self.waits.push((scripted.agent.clone(), wait));
                None
            }
        }
    }

    fn receive_answer(&mut self, agent: &str) -> Option<Value> {
        let index = self.waits.iter().position(|(waits, _)| waits == agent)?;
        let rendered = self.ended.remove(&self.waits[index].1)?;
        self.waits.remove(index);
        Some(rendered)
    }

    fn events(&mut self, after: u64, up_to: u64) -> Vec<Value> {
        let wanted = self
            .batches
            .iter()
            .filter(|batch| batch.revision.0 > after && batch.revision.0 <= up_to);
        let mut events = Vec::new();
        for batch in wanted {
            let shown = (0..batch.events.len()).filter(|index| batch.events[*index].is_public());
            events.extend(shown.map(|index| {
                let notice = Notice::new(Arc::clone(batch), index);
                serde_json::from_slice(&notice.json()).expect("notices are JSON")
            }));
        }
        events
    }
}

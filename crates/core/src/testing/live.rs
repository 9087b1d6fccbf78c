//! Live requests in scenarios: what the engine does beside a commit.
//!
//! A live request is shown as `live 1 waits`, the answer to it as `live 1: …`.

use super::World;
use super::render::shown;
use crate::command::Request;
use crate::message::{LiveEnded, Rejection};
use crate::names::AgentId;
use crate::numbers::WaitId;
use crate::rejection::Rejection as AnyRejection;
use crate::reply::Reply;
use crate::space::batch::Batch;
use crate::space::{LiveCall, LiveDelivery};
use crate::time::Timestamp;

fn name(wait: WaitId) -> String {
    wait.live_number().map_or(format!("call {wait}"), |number| format!("live {number}"))
}

impl World {
    /// Handles a request that may be about live requests; returns its result as text.
    pub(super) fn submit(&mut self, request: Request, agent: &AgentId, now: Timestamp) -> String {
        let text = match self.space.live_call(&mut self.live, request, agent, now) {
            LiveCall::Commit(request) => self.commit(request, agent, now),
            LiveCall::Refused(rejection) => self.refused(&rejection),
            LiveCall::Received(reply) => shown(&reply),
            LiveCall::Waits(wait, delivery) => {
                let delivered = delivery.map(|delivery| self.delivered(delivery, now));
                let lines = [Some(format!("{} waits", name(wait))), delivered];
                lines.into_iter().flatten().collect::<Vec<_>>().join("; ")
            }
            LiveCall::Replied(reply, ended) => {
                format!("{}; {}", shown(&reply), self.ended(ended))
            }
            LiveCall::RepliesAndReceives { request, answer, next } => {
                let received = self.submit(next, agent, now);
                if received.starts_with("refused") {
                    return received;
                }
                let (ended, _) = self.live.reply(&request, answer, now).expect("it was checked");
                format!("{}; {received}", self.ended(ended))
            }
        };
        self.live.check();
        text
    }

    /// A waiting call gets a live request: its wait ends without an answer from the rules.
    fn delivered(&mut self, delivery: LiveDelivery, now: Timestamp) -> String {
        let LiveDelivery { wait, reply } = delivery;
        let signal = self.space.give_up(wait).expect("the call waits");
        let ended = self.signal(signal, now);
        let event = ended.split("; ").next().unwrap_or_default().to_owned();
        format!("{event}; {}: {}", name(wait), shown(&reply))
    }

    fn ended(&mut self, ended: LiveEnded) -> String {
        let LiveEnded { wait, result, .. } = ended;
        let result = result.map(Reply::from).map_err(AnyRejection::from);
        let text = match result {
            Ok(reply) => shown(&reply),
            Err(AnyRejection::Message(Rejection::HandlerFailed(failed))) => {
                format!("failed {}", failed.error)
            }
            Err(rejection) => self.refused(&rejection),
        };
        format!("{}: {text}", name(wait))
    }

    /// Follows a commit; returns its effects on live requests as text.
    pub(super) fn follow_live(&mut self, batch: &Batch) -> Vec<String> {
        let effects = self.space.follow_live(Some(&mut self.live), batch);
        let mut lines: Vec<String> =
            effects.ended.into_iter().map(|ended| self.ended(ended)).collect();
        for agent in effects.ready {
            while let Some(delivery) = self.space.serve_live(&mut self.live, &agent, batch.time) {
                lines.push(self.delivered(delivery, batch.time));
            }
        }
        self.live.check();
        self.space.check_live(&self.live, batch.time);
        lines
    }

    /// Ends the live requests whose time is over.
    pub(super) fn expire_live(&mut self, now: Timestamp) -> Vec<String> {
        let over = self.live.expire(now);
        over.into_iter().map(|ended| self.ended(ended)).collect()
    }

    /// Every caller of a live request is gone.
    pub(super) fn give_up_live(&mut self) {
        for number in 1..100 {
            self.live.give_up(WaitId::of_live(number));
        }
        assert!(self.live.is_empty());
    }
}

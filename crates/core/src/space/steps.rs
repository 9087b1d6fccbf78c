//! The steps of a commit: a command or a signal, and what follows from its events, in rounds.
//!
//! ```text
//!   step: decide ─▶ events ─▶ evolve ─▶ policies ─▶ the steps of the next round
//! ```

use super::{CommitBuilder, Decision, Ended, ReplyPlan, Space};
use crate::access::Viewer;
use crate::command::Command;
use crate::event::Event;
use crate::limits;
use crate::numbers::Token;
use crate::policy;
use crate::primitive::Event as _;
use crate::rejection::Rejection;
use crate::reply::Reply;
use crate::signal::Consequence;
use crate::space::batch::Moment;
use crate::space::stamp::Stamp;
use crate::wait::as_next;
use crate::waiting::wait::Step;

impl Space {
    /// Decides one command, and then what follows from it.
    pub(super) fn run(
        &mut self,
        command: Command,
        stamp: &mut Stamp,
        commit: &mut CommitBuilder,
    ) -> Result<Decision, Rejection> {
        self.check_artifact_refs(&command)?;
        let first = commit.events.len();
        let plan = self.step(command.into(), stamp, commit)?;
        self.follow(first, stamp, commit)?;
        let mut reply = self.reply(plan.expect("a command is answered"), &commit.events);
        if let Some(reply) = &mut reply {
            reply.hide_tokens(Viewer::agent(&stamp.agent));
        }
        Ok(reply.map_or_else(|| Decision::Waits(stamp.wait()), Decision::Replied))
    }

    /// Decides what follows from the events from this one on, in rounds.
    pub(super) fn follow(
        &mut self,
        mut first: usize,
        stamp: &mut Stamp,
        commit: &mut CommitBuilder,
    ) -> Result<(), Rejection> {
        for _ in 0..limits::POLICY_ROUNDS_MAX {
            let last = commit.events.len();
            let fresh = &commit.events[first..];
            let following: Vec<Consequence> =
                fresh.iter().flat_map(|event| policy::follow(self, event)).collect();
            if following.is_empty() {
                return Ok(());
            }
            for consequence in following {
                self.step(consequence, stamp, commit)?;
            }
            first = last;
        }
        Err(Rejection::PolicyRounds { max: limits::POLICY_ROUNDS_MAX })
    }

    /// Decides a command or handles a signal, and applies its events. Only a command has a reply.
    #[inline]
    pub(super) fn step(
        &mut self,
        consequence: Consequence,
        stamp: &mut Stamp,
        commit: &mut CommitBuilder,
    ) -> Result<Option<ReplyPlan>, Rejection> {
        let first = commit.events.len();
        stamp.next_token = Token(stamp.revision.0).max(self.token.next());
        let mut plan = match consequence {
            Consequence::Command(command) => Some(self.decide(command, stamp, commit)?),
            Consequence::Signal(signal) => {
                self.handle(signal, stamp, commit)?;
                None
            }
        };
        if !self.contract.is_empty() {
            self.compare_with_contracts(first, stamp, plan.as_mut(), commit)?;
        }
        commit.weigh(first)?;
        let moment = Moment { revision: stamp.revision, time: stamp.now, agent: &stamp.agent };
        let fresh = &commit.events[first..];
        // The commands that follow are decided after this, and may be refused.
        commit.needs_undo |= fresh.iter().any(|event| policy::may_follow(self, event));
        commit.needs_undo |= fresh.iter().any(|event| self.ends_in_several_queues(event));
        commit.is_final |= !commit.needs_undo;
        // Before any of them is applied: the opening of a barrier removes all its waits.
        commit.callers.extend(fresh.iter().filter_map(|event| self.caller(event)).cloned());
        let mut answered = Vec::new();
        for event in fresh {
            let was_in_several = self.ends_in_several_queues(event);
            let is_listed = self.is_answered_with_a_list(event);
            self.evolve(event, &moment, commit.needs_undo);
            if let Some(wait) = event.wait().and_then(Step::ended) {
                let is_granted = event.wait() == Some(Step::Granted(wait));
                let mut reply = self.ending(event);
                if is_listed {
                    reply = reply.map(Reply::into_list);
                }
                if was_in_several {
                    reply = reply.map(as_next);
                    answered.push(wait);
                }
                commit.ended.push(Ended { wait, is_granted, reply });
            }
        }
        for wait in answered {
            let left = policy::an_answered_call_leaves_its_other_queues(self, wait);
            let first = commit.events.len();
            commit.events.extend(left);
            commit.weigh(first)?;
            for event in &commit.events[first..] {
                self.evolve(event, &moment, commit.needs_undo);
            }
        }
        Ok(plan)
    }

    /// Whether it ends a claim of several tasks.
    fn is_answered_with_a_list(&self, event: &Event) -> bool {
        let Event::Task(event) = event else { return false };
        let ended = event.wait().and_then(Step::ended);
        let waiting = ended.and_then(|wait| self.task.claims().get(wait));
        waiting.is_some_and(|waiting| waiting.limit.is_some())
    }

    /// Whether it ends a call that waits in several queues.
    fn ends_in_several_queues(&self, event: &Event) -> bool {
        let ended = event.wait().and_then(Step::ended);
        ended.is_some_and(|wait| policy::is_in_several_queues(self, wait))
    }
}

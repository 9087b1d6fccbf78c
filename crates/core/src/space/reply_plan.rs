//! The reply to a command, built once its events and their consequences are applied.

use super::Space;
use super::tables::TasksView;
use crate::event::Event;
use crate::names::{
    AgentId, BarrierName, ContractName, LockName, NamespaceName, ReactionName, RuleName,
    SemaphoreName,
};
use crate::numbers::Token;
use crate::reply::Reply;
use crate::state::Warning;
use crate::wait::as_next;
use crate::{
    agent, artifact, barrier, checkpoint, contract, handoff, join, lock, message, namespace,
    pipeline, reaction, rule, secret, semaphore, spend, state, stream, task, topic, workspace,
};

/// Which reply to build once the events of a command have been applied.
pub(crate) enum ReplyPlan {
    /// The entry of this event.
    Written {
        event: usize,
        warnings: Vec<Warning>,
    },
    Namespace(NamespaceName),
    Agent(AgentId),
    Message(message::ReplyPlan),
    Published(topic::Published),
    Stream(stream::ReplyPlan),
    Rule(RuleName),
    Contract(ContractName),
    Reaction(ReactionName),
    Hold(LockName),
    Lock(LockName),
    Permit(Token),
    Semaphore(SemaphoreName),
    Barrier(BarrierName),
    Task(task::ReplyPlan),
    Spend(spend::ReplyPlan),
    Join(join::ReplyPlan),
    Pipeline(pipeline::ReplyPlan),
    Checkpoint(checkpoint::ReplyPlan),
    Artifact(artifact::ReplyPlan),
    Secret(secret::ReplyPlan),
    Handoff(handoff::ReplyPlan),
    Workspace,
    Reply(Reply),
    /// The reply about what was received, as the reply to `agent.next`.
    Next(Box<ReplyPlan>),
    /// None yet: the call waits.
    Waits,
}

impl From<reaction::ReplyPlan> for ReplyPlan {
    fn from(plan: reaction::ReplyPlan) -> Self {
        match plan {
            reaction::ReplyPlan::Reaction(name) => Self::Reaction(name),
            reaction::ReplyPlan::Reply(reply) => Self::Reply(Reply::Reaction(*reply)),
        }
    }
}

impl From<lock::ReplyPlan> for ReplyPlan {
    fn from(plan: lock::ReplyPlan) -> Self {
        match plan {
            lock::ReplyPlan::Hold(name) => Self::Hold(name),
            lock::ReplyPlan::Lock(name) => Self::Lock(name),
            lock::ReplyPlan::Nothing => Self::Reply(Reply::Lock(lock::Reply::Hold(None))),
            lock::ReplyPlan::Later => Self::Waits,
        }
    }
}

impl From<message::ReplyPlan> for ReplyPlan {
    fn from(plan: message::ReplyPlan) -> Self {
        match plan {
            message::ReplyPlan::Later => Self::Waits,
            message::ReplyPlan::Message(_)
            | message::ReplyPlan::Received(_)
            | message::ReplyPlan::Reply(_)
            | message::ReplyPlan::Handler(..) => Self::Message(plan),
        }
    }
}

impl From<stream::ReplyPlan> for ReplyPlan {
    fn from(plan: stream::ReplyPlan) -> Self {
        match plan {
            stream::ReplyPlan::Later => Self::Waits,
            stream::ReplyPlan::Stream(_) | stream::ReplyPlan::Reply(_) => Self::Stream(plan),
        }
    }
}

impl From<semaphore::ReplyPlan> for ReplyPlan {
    fn from(plan: semaphore::ReplyPlan) -> Self {
        let reply = |reply| Self::Reply(Reply::Semaphore(reply));
        match plan {
            semaphore::ReplyPlan::Permit(token) => Self::Permit(token),
            semaphore::ReplyPlan::Semaphore(name) => Self::Semaphore(name),
            semaphore::ReplyPlan::Nothing => reply(semaphore::Reply::Permit(None)),
            semaphore::ReplyPlan::Later => Self::Waits,
        }
    }
}

impl From<barrier::ReplyPlan> for ReplyPlan {
    fn from(plan: barrier::ReplyPlan) -> Self {
        let reply = |reply| Self::Reply(Reply::Barrier(reply));
        match plan {
            barrier::ReplyPlan::Arrival(arrival) => reply(barrier::Reply::Arrival(arrival)),
            barrier::ReplyPlan::Barrier(name) => Self::Barrier(name),
            barrier::ReplyPlan::Later => Self::Waits,
        }
    }
}

impl From<task::ReplyPlan> for ReplyPlan {
    fn from(plan: task::ReplyPlan) -> Self {
        match plan {
            task::ReplyPlan::Later => Self::Waits,
            task::ReplyPlan::Task(..)
            | task::ReplyPlan::Claimed(_)
            | task::ReplyPlan::Completed(..) => Self::Task(plan),
        }
    }
}

impl From<join::ReplyPlan> for ReplyPlan {
    fn from(plan: join::ReplyPlan) -> Self {
        match plan {
            join::ReplyPlan::Later => Self::Waits,
            join::ReplyPlan::Join(_) | join::ReplyPlan::Settled(_) | join::ReplyPlan::Nothing => {
                Self::Join(plan)
            }
        }
    }
}

impl From<handoff::ReplyPlan> for ReplyPlan {
    fn from(plan: handoff::ReplyPlan) -> Self {
        match plan {
            handoff::ReplyPlan::Later => Self::Waits,
            handoff::ReplyPlan::Handoff(_)
            | handoff::ReplyPlan::Received(_)
            | handoff::ReplyPlan::Accepted(..)
            | handoff::ReplyPlan::Handoffs(_)
            | handoff::ReplyPlan::Verdict(_) => Self::Handoff(plan),
        }
    }
}

impl Space {
    /// Builds the reply from the current tables.
    #[inline]
    pub(super) fn reply(&self, plan: ReplyPlan, events: &[Event]) -> Reply {
        match plan {
            ReplyPlan::Written { event, warnings } => {
                let Event::State(event) = &events[event] else {
                    panic!("a write makes an event of shared state");
                };
                let (namespace, key) = event.entry_key();
                let entry = self.state.entry(namespace, key).expect("it was just written");
                Reply::State(state::Reply::Entry(entry.warned(warnings)))
            }
            ReplyPlan::Namespace(name) => {
                let namespace = self.namespace.get(&name).expect("it was just written");
                Reply::Namespace(namespace::Reply::Namespace(namespace.clone()))
            }
            ReplyPlan::Agent(agent) => {
                let agent = self.agent.get(&agent).expect("only known agents are answered with");
                Reply::Agent(agent::Reply::Agent(agent.clone()))
            }
            ReplyPlan::Message(plan) => {
                let reply = plan.reply(&self.message);
                Reply::Message(reply.expect("a call that waits has no such plan"))
            }
            ReplyPlan::Published(published) => {
                let posts = self.topic.posts(&published.topic);
                Reply::Topic(topic::Reply::Published(topic::Published { posts, ..published }))
            }
            ReplyPlan::Stream(plan) => {
                let reply = plan.reply(&self.stream);
                Reply::Stream(reply.expect("a call that waits has no such plan"))
            }
            ReplyPlan::Rule(name) => self.rule_reply(&name),
            ReplyPlan::Contract(name) => self.contract_reply(&name),
            ReplyPlan::Reaction(name) => self.reaction_reply(&name),
            ReplyPlan::Hold(name) => Reply::Lock(lock::Reply::Hold(self.lock.hold(&name).cloned())),
            ReplyPlan::Lock(name) => Reply::Lock(lock::Reply::Lock(self.lock.lock(&name))),
            ReplyPlan::Permit(token) => {
                let permit = self.semaphore.permit(token).cloned();
                Reply::Semaphore(semaphore::Reply::Permit(permit))
            }
            ReplyPlan::Semaphore(name) => {
                let semaphore = self.semaphore.semaphore(&name).expect("it was just used");
                Reply::Semaphore(semaphore::Reply::Semaphore(semaphore))
            }
            ReplyPlan::Task(plan) => {
                Reply::Task(plan.reply(&self.task).expect("a call that waits has no such plan"))
            }
            ReplyPlan::Handoff(plan) => {
                let reply = plan.reply(&self.handoff, &self.task);
                Reply::Handoff(reply.expect("a call that waits has no such plan"))
            }
            ReplyPlan::Barrier(name) => {
                Reply::Barrier(barrier::Reply::Barrier(self.barrier.barrier(&name)))
            }
            ReplyPlan::Join(plan) => {
                Reply::Join(join::answer(&self.join, &TasksView(&self.task), &plan))
            }
            ReplyPlan::Spend(plan) => Reply::Spend(plan.reply(&self.spend, &TasksView(&self.task))),
            ReplyPlan::Pipeline(plan) => Reply::Pipeline(plan.reply(&self.pipeline)),
            ReplyPlan::Checkpoint(plan) => {
                Reply::Checkpoint(checkpoint::answer(&self.checkpoint, plan))
            }
            ReplyPlan::Artifact(plan) => Reply::Artifact(plan.reply(&self.artifact)),
            ReplyPlan::Secret(plan) => Reply::Secret(plan.reply(&self.secret)),
            ReplyPlan::Waits => unreachable!("a call that waits is answered later"),
            ReplyPlan::Workspace => workspace::about(&self.workspace, self.counts()).into(),
            ReplyPlan::Reply(reply) => reply,
            ReplyPlan::Next(plan) => as_next(self.reply(*plan, events)),
        }
    }

    fn rule_reply(&self, name: &RuleName) -> Reply {
        let rule = self.rule.get(name).expect("it was just added");
        Reply::Rule(rule::Reply::Rule(rule.clone()))
    }

    fn contract_reply(&self, name: &ContractName) -> Reply {
        let contract = self.contract.get(name).expect("it was just declared");
        Reply::Contract(contract::Reply::Declaration(contract.clone()))
    }

    fn reaction_reply(&self, name: &ReactionName) -> Reply {
        let reaction = self.reaction.shown(name).expect("it is there");
        Reply::Reaction(reaction::Reply::Reaction(Box::new(reaction)))
    }
}

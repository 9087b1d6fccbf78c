//! What a command will be answered with, once its events and what follows from them have happened.

use super::Space;
use super::tables::Tasks;
use crate::event::Event;
use crate::names::{
    AgentId, BarrierName, LockName, NamespaceName, ReactionName, RuleName, SemaphoreName,
};
use crate::numbers::Token;
use crate::reply::Reply;
use crate::state::Warning;
use crate::{
    agent, artifact, barrier, checkpoint, handoff, join, lock, message, namespace, pipeline,
    reaction, rule, secret, semaphore, state, stream, task, topic,
};

/// What to answer once the events of a command have happened.
pub(super) enum Plan {
    /// The entry that this event is about.
    Written {
        event: usize,
        warnings: Vec<Warning>,
    },
    Namespace(NamespaceName),
    Agent(AgentId),
    Message(message::About),
    Published(topic::Published),
    Stream(stream::About),
    Rule(RuleName),
    Reaction(ReactionName),
    Hold(LockName),
    Lock(LockName),
    Permit(Token),
    Semaphore(SemaphoreName),
    Barrier(BarrierName),
    Task(task::About),
    Join(join::About),
    Pipeline(pipeline::About),
    Checkpoint(checkpoint::About),
    Artifact(artifact::About),
    Secret(secret::About),
    Handoff(handoff::About),
    Workspace,
    Reply(Reply),
    /// Nothing yet: the call waits.
    Waits,
}

impl From<reaction::About> for Plan {
    fn from(about: reaction::About) -> Self {
        match about {
            reaction::About::Reaction(name) => Self::Reaction(name),
            reaction::About::Reply(reply) => Self::Reply(Reply::Reaction(*reply)),
        }
    }
}

impl From<lock::About> for Plan {
    fn from(about: lock::About) -> Self {
        match about {
            lock::About::Hold(name) => Self::Hold(name),
            lock::About::Lock(name) => Self::Lock(name),
            lock::About::Nothing => Self::Reply(Reply::Lock(lock::Reply::Hold(None))),
            lock::About::Done => Self::Reply(Reply::Lock(lock::Reply::Done)),
            lock::About::Later => Self::Waits,
        }
    }
}

impl From<message::About> for Plan {
    fn from(about: message::About) -> Self {
        match about {
            message::About::Later => Self::Waits,
            message::About::Message(_)
            | message::About::Received(_)
            | message::About::Reply(_)
            | message::About::Handler(..)
            | message::About::Done => Self::Message(about),
        }
    }
}

impl From<stream::About> for Plan {
    fn from(about: stream::About) -> Self {
        match about {
            stream::About::Later => Self::Waits,
            stream::About::Stream(_) | stream::About::Reply(_) | stream::About::Done => {
                Self::Stream(about)
            }
        }
    }
}

impl From<semaphore::About> for Plan {
    fn from(about: semaphore::About) -> Self {
        let reply = |reply| Self::Reply(Reply::Semaphore(reply));
        match about {
            semaphore::About::Permit(token) => Self::Permit(token),
            semaphore::About::Semaphore(name) => Self::Semaphore(name),
            semaphore::About::Nothing => reply(semaphore::Reply::Permit(None)),
            semaphore::About::Done => reply(semaphore::Reply::Done),
            semaphore::About::Later => Self::Waits,
        }
    }
}

impl From<barrier::About> for Plan {
    fn from(about: barrier::About) -> Self {
        let reply = |reply| Self::Reply(Reply::Barrier(reply));
        match about {
            barrier::About::Arrival(arrival) => reply(barrier::Reply::Arrival(arrival)),
            barrier::About::Barrier(name) => Self::Barrier(name),
            barrier::About::Done => reply(barrier::Reply::Done),
            barrier::About::Later => Self::Waits,
        }
    }
}

impl From<task::About> for Plan {
    fn from(about: task::About) -> Self {
        match about {
            task::About::Later => Self::Waits,
            task::About::Task(..)
            | task::About::Claimed(_)
            | task::About::Completed(..)
            | task::About::Done => Self::Task(about),
        }
    }
}

impl From<join::About> for Plan {
    fn from(about: join::About) -> Self {
        match about {
            join::About::Later => Self::Waits,
            join::About::Join(_)
            | join::About::Settled(_)
            | join::About::Nothing
            | join::About::Done => Self::Join(about),
        }
    }
}

impl From<handoff::About> for Plan {
    fn from(about: handoff::About) -> Self {
        match about {
            handoff::About::Later => Self::Waits,
            handoff::About::Handoff(_)
            | handoff::About::Received(_)
            | handoff::About::Accepted(..)
            | handoff::About::Verdict(_)
            | handoff::About::Done => Self::Handoff(about),
        }
    }
}

impl Space {
    /// The answer that was planned, as things are now.
    #[inline]
    pub(super) fn reply(&self, plan: Plan, events: &[Event]) -> Reply {
        match plan {
            Plan::Written { event, warnings } => {
                let Event::State(event) = &events[event] else {
                    panic!("a write makes an event of shared state");
                };
                let (namespace, key) = event.place();
                let entry = self.state.entry(namespace, key).expect("it was just written");
                Reply::State(state::Reply::Entry(entry.warned(warnings)))
            }
            Plan::Namespace(name) => {
                let namespace = self.namespace.get(&name).expect("it was just written");
                Reply::Namespace(namespace::Reply::Namespace(namespace.clone()))
            }
            Plan::Agent(agent) => {
                let agent = self.agent.get(&agent).expect("only known agents are answered with");
                Reply::Agent(agent::Reply::Agent(agent.clone()))
            }
            Plan::Message(about) => {
                let reply = about.reply(&self.message);
                Reply::Message(reply.expect("a call that waits has no such plan"))
            }
            Plan::Published(published) => {
                let posts = self.topic.posts(&published.topic);
                Reply::Topic(topic::Reply::Published(topic::Published { posts, ..published }))
            }
            Plan::Stream(about) => {
                let reply = about.reply(&self.stream);
                Reply::Stream(reply.expect("a call that waits has no such plan"))
            }
            Plan::Rule(name) => {
                let rule = self.rule.get(&name).expect("it was just added");
                Reply::Rule(rule::Reply::Rule(rule.clone()))
            }
            Plan::Reaction(name) => {
                let reaction = self.reaction.shown(&name).expect("it is there");
                Reply::Reaction(reaction::Reply::Reaction(Box::new(reaction)))
            }
            Plan::Hold(name) => Reply::Lock(lock::Reply::Hold(self.lock.hold(&name).cloned())),
            Plan::Lock(name) => Reply::Lock(lock::Reply::Lock(self.lock.lock(&name))),
            Plan::Permit(token) => {
                let permit = self.semaphore.permit(token).cloned();
                Reply::Semaphore(semaphore::Reply::Permit(permit))
            }
            Plan::Semaphore(name) => {
                let semaphore = self.semaphore.semaphore(&name).expect("it was just used");
                Reply::Semaphore(semaphore::Reply::Semaphore(semaphore))
            }
            Plan::Task(about) => {
                Reply::Task(about.reply(&self.task).expect("a call that waits has no such plan"))
            }
            Plan::Handoff(about) => {
                let reply = about.reply(&self.handoff, &self.task);
                Reply::Handoff(reply.expect("a call that waits has no such plan"))
            }
            Plan::Barrier(name) => {
                Reply::Barrier(barrier::Reply::Barrier(self.barrier.barrier(&name)))
            }
            Plan::Join(about) => Reply::Join(join::answer(&self.join, &Tasks(&self.task), &about)),
            Plan::Pipeline(about) => Reply::Pipeline(about.reply(&self.pipeline)),
            Plan::Checkpoint(about) => {
                Reply::Checkpoint(checkpoint::answer(&self.checkpoint, about))
            }
            Plan::Artifact(about) => Reply::Artifact(about.reply(&self.artifact)),
            Plan::Secret(about) => Reply::Secret(about.reply(&self.secret)),
            Plan::Waits => unreachable!("a call that waits is answered later"),
            Plan::Workspace => self.about_itself(),
            Plan::Reply(reply) => reply,
        }
    }
}

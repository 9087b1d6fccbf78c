//! Checks that an answer was correct when it was decided.
//!
//! Before each request the driver reads the revision of the workspace, so the auditor knows exactly
//! against which revision it was decided. An effect is then the very next revision, and a rejection
//! must state what was true at that revision.

use baton_core::access::Viewer;
use baton_core::wire::write_answer;
use baton_core::{
    AgentId, Answer, Command, Entry, IdempotencyKey, Mutation, Precondition, Rejection, Reply,
    Request, Timestamp, agent, message, state, task, topic, wait,
};

use super::{Audit, Breach, demand};
use crate::auditor::explain::explain;
use crate::auditor::ledger::{EntryModel, Ledger};
use crate::auditor::tokens::check_tokens;
use crate::coverage::Coverage;
use crate::models::lock::{commands, is_shown};

/// A request that was answered.
pub struct DecidedRequest<'a> {
    /// The agent that sent it.
    pub agent: &'a AgentId,
    /// The request.
    pub request: &'a Request,
    /// When it was sent, by the server's clock.
    pub asked_at: Timestamp,
    /// The revision against which it was decided.
    pub decided_at: u64,
}

/// An answer as it is sent.
fn text_of(answer: &Answer) -> Vec<u8> {
    let mut text = Vec::new();
    write_answer(&mut text, answer);
    text
}

impl Ledger {
    /// Checks an answer. True if it had its own effect.
    pub fn answer(
        &mut self,
        asked: &DecidedRequest<'_>,
        answer: &Result<Answer, Rejection>,
        coverage: &mut Coverage,
    ) -> Audit<bool> {
        let decided_at = asked.decided_at;
        demand!(decided_at <= self.head(), "decided at {decided_at}, which is not durable");
        demand!(decided_at >= self.answered, "decided at {decided_at}, before an earlier answer");
        let agent = asked.agent;
        let words = |breach: Breach| {
            Breach(format!("decided at revision {decided_at} for `{agent}`: {}", breach.0))
        };
        check_tokens(Viewer::agent(agent), answer)?;
        let effect = match answer {
            Ok(answer) => self.accepted(asked, answer, coverage).map_err(words)?,
            Err(rejection) => {
                self.refused(asked, rejection, coverage).map_err(words)?;
                false
            }
        };
        self.answered = if effect { decided_at + 1 } else { decided_at };
        Ok(effect)
    }

    /// The same for an answer of a server that another one has replaced: its order and its times
    /// are not comparable with what has happened since.
    pub fn answer_late(
        &mut self,
        asked: &DecidedRequest<'_>,
        answer: &Result<Answer, Rejection>,
        coverage: &mut Coverage,
    ) -> Audit<bool> {
        let (answered, heard) = (std::mem::take(&mut self.answered), self.take_heard());
        let effect = self.answer(asked, answer, coverage);
        self.answered = answered;
        self.restore_heard(heard);
        effect
    }

    fn accepted(
        &mut self,
        asked: &DecidedRequest<'_>,
        answer: &Answer,
        coverage: &mut Coverage,
    ) -> Audit<bool> {
        let DecidedRequest { agent, request, decided_at, .. } = *asked;
        let known = self.batch(decided_at).map_or(Timestamp(0), |batch| batch.time);
        let heard_at = asked.asked_at.max(known);
        self.heard(agent, heard_at);
        if let Mutation::Command(Command::Agent(agent::Command::Heartbeat { agent, .. })) =
            request.mutation.executed()
        {
            self.heard(agent, heard_at);
        }
        let receipt = request.idempotency_key.as_ref().and_then(|key| {
            let (kept, must) = self.receipt(agent, key, decided_at)?;
            (must || kept.revision == answer.revision.0).then_some((key.clone(), kept.revision))
        });
        if let Some((key, revision)) = receipt {
            coverage.met("answer: idempotent replay");
            if revision <= self.loaded_at {
                coverage.met("answer: idempotent replay of what was loaded");
            }
            self.replayed(asked, &key, revision, answer)?;
            return Ok(false);
        }
        self.check_fence(agent, &request.mutation, decided_at)?;
        if answer.revision.0 == decided_at {
            let replies = match &answer.reply {
                Reply::Transaction(replies) => replies.as_slice(),
                reply => std::slice::from_ref(reply),
            };
            for (command, reply) in commands(&request.mutation).iter().zip(replies) {
                self.check_no_effect(asked, command, reply)?;
            }
            return Ok(false);
        }
        let revision = answer.revision.0;
        demand!(revision == decided_at + 1, "the answer states revision {revision} for the effect");
        let Some(batch) = self.batch(revision).cloned() else {
            return Err(Breach(format!("acknowledged revision {revision} is not in the log")));
        };
        explain(self, &batch, agent, request)?;
        if let Mutation::Fenced { .. } = request.mutation.executed() {
            coverage.met("answer: written under a live token");
        }
        if let Mutation::Transaction { require, .. } = request.mutation.executed() {
            for precondition in require {
                let holds = self.holds(precondition, decided_at);
                demand!(holds, "{precondition:?} did not hold, yet the transaction happened");
            }
        }
        self.check_reply(&request.mutation, &answer.reply, revision)?;
        met_answer(&request.mutation, &answer.reply, coverage);
        if let Some(key) = &request.idempotency_key {
            let keyed = self.keyed.entry((revision, agent.clone(), key.clone())).or_default();
            keyed.request = Some(request.clone());
            keyed.answer = Some(answer.clone());
        }
        Ok(true)
    }

    fn replayed(
        &mut self,
        asked: &DecidedRequest<'_>,
        key: &IdempotencyKey,
        revision: u64,
        answer: &Answer,
    ) -> Audit {
        demand!(
            answer.revision.0 == revision,
            "`{key}` took effect at {revision} and again at {}",
            answer.revision
        );
        let name = (revision, asked.agent.clone(), key.clone());
        let keyed = self.keyed.entry(name).or_default();
        let first = keyed.answer.get_or_insert(answer.clone());
        // As the caller sees them: answers may be equal and yet be sent as other bytes.
        let is_same = first == answer && text_of(first) == text_of(answer);
        demand!(is_same, "`{key}` was first answered with {first:?}, now with {answer:?}");
        let request = keyed.request.get_or_insert(asked.request.clone());
        demand!(request == asked.request, "`{key}` was answered for another request");
        Ok(())
    }

    /// Requests that may be accepted without an event.
    fn check_no_effect(
        &self,
        asked: &DecidedRequest<'_>,
        command: &Command,
        reply: &Reply,
    ) -> Audit {
        let (asking, at) = (asked.agent, asked.decided_at);
        if let Reply::Minimal(minimal) = reply {
            return self.minimal_reply(command, minimal, at);
        }
        match command {
            Command::Agent(agent::Command::Heartbeat { agent, token }) => {
                let session = self.session(agent, at);
                demand!(
                    session.is_some_and(|session| session.active
                        && token.is_none_or(|token| token.0 == session.token)),
                    "a heartbeat of `{agent}` with token {token:?} was taken"
                );
                Ok(())
            }
            Command::Workspace(_) => Ok(()),
            Command::Reaction(command) => self.reaction_no_effect(command, at),
            Command::Lock(command) => self.lock_no_effect(command, reply, at),
            Command::Semaphore(command) => self.semaphore_no_effect(command, reply, at),
            Command::Task(command) => self.task_no_effect(asking, command, reply, at),
            Command::Spend(command) => self.spend_no_effect(command, at),
            Command::Barrier(command) => self.barrier_no_effect(command, reply, at),
            Command::Join(command) => self.join_no_effect(command, reply, at),
            Command::Wait(command) => self.wait_no_effect(asked, command, reply),
            Command::Checkpoint(command) => self.checkpoint_no_effect(command, reply, at),
            Command::Handoff(command) => self.handoff_no_effect(asked, command, reply),
            Command::Message(command) => self.message_no_effect(asked, command, reply),
            Command::Stream(command) => self.stream_no_effect(command, reply, at),
            Command::Topic(topic::Command::Publish { durable: Some(false), .. }) => match reply {
                Reply::Topic(reply) => self.topic_reply(reply, at),
                reply => Err(Breach(format!("a post was answered with {reply:?}"))),
            },
            Command::State(state::Command::Transfer(transfer)) => {
                let from = transfer.from_namespace.as_str();
                let there = self.keys_at(from, at).into_iter().map(|name| name.key().to_owned());
                let named = transfer.keys.as_ref().map(|keys| keys.iter().map(ToString::to_string));
                let mut keys: Vec<String> = match named {
                    Some(named) => named.collect(),
                    None => there.collect(),
                };
                keys.retain(|key| transfer.pattern.as_ref().is_none_or(|it| it.matches(key)));
                demand!(keys.is_empty(), "nothing was moved of {keys:?}");
                Ok(())
            }
            other => Err(Breach(format!("{other:?} was accepted, but nothing happened"))),
        }
    }

    fn check_reply(&self, mutation: &Mutation, reply: &Reply, revision: u64) -> Audit {
        match mutation {
            Mutation::Command(command) => self.check_reply_to(command, reply, revision),
            Mutation::Fenced { command, .. } => self.check_reply_to(command, reply, revision),
            Mutation::Minimal(mutation) => match (reply, mutation.commands()) {
                (Reply::Minimal(minimal), [command]) => {
                    self.minimal_reply(command, minimal, revision)
                }
                (reply, _) => self.check_reply(mutation, reply, revision),
            },
            Mutation::Transaction { commands, .. } => {
                let Reply::Transaction(replies) = reply else {
                    return Err(Breach("a transaction was answered incorrectly".to_owned()));
                };
                let complete = replies.len() == commands.len();
                demand!(complete, "an answer of the transaction is missing");
                Ok(())
            }
        }
    }

    fn check_reply_to(&self, command: &Command, reply: &Reply, revision: u64) -> Audit {
        match (command, reply) {
            (Command::State(command), Reply::State(state::Reply::Entry(entry))) => {
                self.entry_reply(command, entry, revision)
            }
            (Command::State(state::Command::Transfer(_)), Reply::State(_))
            | (Command::Namespace(_), Reply::Namespace(_))
            | (Command::Workspace(_), Reply::Workspace(_))
            | (Command::UserEvent(_), Reply::UserEvent(_)) => Ok(()),
            (Command::Message(command), Reply::Message(reply)) => {
                self.message_reply(command, reply, revision)
            }
            (Command::Topic(_), Reply::Topic(reply)) => self.topic_reply(reply, revision),
            (Command::Stream(command), Reply::Stream(reply)) => {
                self.stream_reply(command, reply, revision)
            }
            (Command::Secret(command), Reply::Secret(reply)) => {
                self.secret_reply(command, reply, revision)
            }
            (Command::Rule(command), Reply::Rule(reply)) => {
                self.rule_reply(command, reply, revision)
            }
            (Command::Contract(command), Reply::Contract(reply)) => {
                self.contract_reply(command, reply, revision)
            }
            (Command::Reaction(command), Reply::Reaction(reply)) => {
                self.reaction_reply(command, reply, revision)
            }
            (Command::Lock(command), Reply::Lock(reply)) => {
                self.lock_reply(command, reply, revision)
            }
            (Command::Semaphore(command), Reply::Semaphore(reply)) => {
                self.semaphore_reply(command, reply, revision)
            }
            (Command::Wait(wait::Command::Next(next)), Reply::Wait(reply)) => {
                self.next_reply(next, reply, revision)
            }
            (Command::Spend(it), Reply::Spend(reply)) => self.spend_reply(it, reply, revision),
            (Command::Join(command), Reply::Join(reply)) => {
                self.join_reply(command, reply, revision)
            }
            (Command::Checkpoint(command), Reply::Checkpoint(reply)) => {
                self.checkpoint_reply(command, reply, revision)
            }
            (Command::Artifact(command), Reply::Artifact(reply)) => {
                self.artifact_reply(command, reply, revision)
            }
            (Command::Pipeline(command), Reply::Pipeline(reply)) => {
                self.pipeline_reply(command, reply, revision)
            }
            (Command::Handoff(command), Reply::Handoff(reply)) => {
                self.handoff_reply(command, reply, revision)
            }
            (Command::Barrier(command), Reply::Barrier(reply)) => {
                self.barrier_reply(command, reply, revision)
            }
            (Command::Task(command), Reply::Task(reply)) => {
                self.task_reply(command, reply, revision)
            }
            (Command::Agent(_), Reply::Agent(agent::Reply::Agent(agent))) => {
                self.session_reply(agent, revision)
            }
            (command, reply) => Err(Breach(format!("{command:?} was answered with {reply:?}"))),
        }
    }

    fn entry_reply(&self, command: &state::Command, entry: &Entry, revision: u64) -> Audit {
        let state::Command::Delete(delete) = command else {
            return self.same_as_at(entry, revision);
        };
        let fact = self.entry(&delete.namespace, &delete.key, revision - 1);
        same_entry(fact.map(AsRef::as_ref), Some(entry))
    }

    fn session_reply(&self, agent: &agent::Agent, revision: u64) -> Audit {
        let session = self.session(&agent.id, revision);
        demand!(
            session.is_some_and(|session| is_shown(session.token, agent.token)),
            "the answer has another token than the log"
        );
        Ok(())
    }

    /// Checks that an entry is what it was after a revision.
    pub fn same_as_at(&self, entry: &Entry, revision: u64) -> Audit {
        let key = baton_core::Key::parse(entry.key());
        let key = key.map_err(|error| Breach(error.to_string()))?;
        let fact = self.entry(entry.namespace(), &key, revision);
        same_entry(fact.map(AsRef::as_ref), Some(entry))
    }

    pub(super) fn holds(&self, precondition: &Precondition, at: u64) -> bool {
        match precondition {
            Precondition::Entry { namespace, key, version, exists, value } => {
                let found = self.entry(namespace, key, at);
                version.is_none_or(|version| version.0 == found.map_or(0, |there| there.version))
                    && exists.is_none_or(|exists| exists == found.is_some())
                    && value.as_ref().is_none_or(|value| {
                        found.is_some_and(|there| there.value.same_value(value))
                    })
            }
            Precondition::Namespace { name, exists } => self.rules(name, at).is_some() == *exists,
            Precondition::Agent { agent, active } => {
                self.session(agent, at).is_some_and(|session| session.active) == *active
            }
            Precondition::Task { task, status, holder } => {
                let work = self.tasks.at(task, at);
                let held = work.and_then(|work| Some(&work.lease.as_ref()?.holder));
                work.is_some_and(|work| status.is_none_or(|status| status == work.status))
                    && holder.as_ref().is_none_or(|holder| held == Some(holder))
            }
            Precondition::Handoff { handoff, status } => {
                self.handoffs.at(handoff, at).is_some_and(|deal| deal.handoff.status == *status)
            }
            // No actor requires it.
            Precondition::Lock { .. } => true,
            Precondition::Token(token) => self.tokens.is_live(*token, at),
            Precondition::Revision(revision) => revision.0 == at,
        }
    }
}

/// Checks that an entry is exactly what the ledger has.
pub fn same_entry(fact: Option<&EntryModel>, entry: Option<&Entry>) -> Audit {
    let same = match (fact, entry) {
        (None, None) => true,
        (Some(fact), Some(entry)) => {
            fact.value.as_bytes() == entry.value()
                && fact.version == entry.version().0
                && fact.revision == entry.revision().0
                && fact.time == entry.updated_at()
                && fact.agent == *entry.updated_by()
                && fact.expires_at == entry.expires_at()
                && fact.bound_to.is_some() == entry.is_ephemeral()
        }
        (Some(_), None) | (None, Some(_)) => false,
    };
    demand!(same, "an entry was returned as {entry:?}, but it is {fact:?}");
    Ok(())
}

/// Notes the answers of which there are few.
fn met_answer(mutation: &Mutation, reply: &Reply, coverage: &mut Coverage) {
    match (commands(mutation), reply) {
        (_, Reply::Minimal(_)) => coverage.met("answer: minimal"),
        (_, Reply::Task(task::Reply::ClaimedTasks { tasks })) if tasks.len() > 1 => {
            coverage.met("answer: several tasks claimed");
        }
        (
            [Command::Message(message::Command::Reply(_))],
            Reply::Message(message::Reply::Received { messages }),
        ) if !messages.is_empty() => coverage.met("answer: received with a reply"),
        _ => {}
    }
}

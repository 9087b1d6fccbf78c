//! Checks that a batch is what was requested: all of it, in order, and nothing else.
//!
//! Each command of a request takes its events from the front of the batch, together with their
//! consequences: the end of a session releases entries, a new session creates a namespace. A
//! request with an idempotency key ends with its receipt. There must be no leftovers.

use std::sync::Arc;

use baton_core::agent::{Command as AgentCommand, Event as AgentEvent};
use baton_core::contract::Event as Contracted;
use baton_core::namespace::{Command as NamespaceCommand, Event as NamespaceEvent};
use baton_core::state::merge::{Merge, Patch};
use baton_core::state::{
    Command as StateCommand, Event as StateEvent, Operation, PatchEntry, Removal, Set, Transfer,
};
use baton_core::wait::Event as WaitEvent;
use baton_core::waiting::wait::Left;
use baton_core::workspace::{Command as WorkspaceCommand, Event as WorkspaceEvent};
use baton_core::{
    AgentId, Batch, Command, Event, Json, Key, NamespaceName, Request, Rules, Timestamp, Version,
    handoff, message, task,
};

use super::{Audit, Breach, demand};
use crate::auditor::ledger::{EntryModel, Ledger};
use crate::models::lock::commands;
use crate::models::reaction::reactions_begin;

/// Checks that a durable batch is the complete effect of a request of this agent.
pub fn explain(ledger: &Ledger, batch: &Batch, agent: &AgentId, request: &Request) -> Audit {
    let wrong = |breach: Breach| {
        Breach(format!(
            "revision {} by `{}` is not what `{agent}` asked for: {}; events {:?}",
            batch.revision, batch.agent, breach.0, batch.events
        ))
    };
    let mut reader = BatchReader { ledger, batch, next: 0 };
    reader.request(agent, request).map_err(wrong)
}

/// Events that are still to be explained.
pub(crate) struct BatchReader<'a> {
    pub(crate) ledger: &'a Ledger,
    pub(crate) batch: &'a Batch,
    next: usize,
}

impl<'a> BatchReader<'a> {
    /// The next event, if there is one.
    pub(crate) fn peek(&self) -> Option<&'a Event> {
        self.batch.events.get(self.due())
    }

    /// Marks the next event as explained.
    pub(crate) fn skip(&mut self) {
        self.next = self.due() + 1;
    }

    /// The next event that a request explains. Answers to calls that waited for a status, ends of
    /// calls in the queues that did not answer them, broken contracts, and hand-offs between stages
    /// can be anywhere; the ledger checks them.
    fn due(&self) -> usize {
        let is_elsewhere = |event: &&Event| {
            matches!(
                event,
                Event::Wait(WaitEvent::Answered { .. })
                    | Event::Task(task::Event::GaveUp { left: Left::Elsewhere, .. })
                    | Event::Message(message::Event::GaveUp { left: Left::Elsewhere, .. })
                    | Event::Handoff(
                        handoff::Event::GaveUp { left: Left::Elsewhere, .. }
                            | handoff::Event::Passed(_)
                    )
                    | Event::Contract(Contracted::Broken { .. })
            )
        };
        let rest = self.batch.events.get(self.next..).unwrap_or_default();
        self.next + rest.iter().take_while(is_elsewhere).count()
    }

    pub(crate) fn take(&mut self) -> Audit<&'a Event> {
        let due = self.due();
        let event = self.batch.events.get(due);
        self.next = due + 1;
        event.ok_or_else(|| Breach("an event is missing".to_owned()))
    }

    fn take_state(&mut self) -> Audit<&'a StateEvent> {
        match self.take()? {
            Event::State(event) => Ok(event),
            other => Err(Breach(format!("a change of state was due, not {}", other.kind()))),
        }
    }

    fn request(&mut self, agent: &AgentId, request: &Request) -> Audit {
        demand!(self.batch.agent == *agent, "it is by another agent");
        for command in commands(&request.mutation) {
            self.command(command)?;
        }
        if let Some(Event::Agent(AgentEvent::Seen { agent: seen })) = self.peek() {
            demand!(seen == agent, "a command of `{agent}` is no sign of life of `{seen}`");
            self.skip();
        }
        // Others may have waited under their own keys; the ledger has them.
        while let Some(Event::Receipt(receipt)) = self.peek()
            && receipt.agent.is_some()
        {
            self.skip();
        }
        if let Some(key) = &request.idempotency_key {
            match self.take()? {
                Event::Receipt(receipt) => demand!(receipt.key == *key, "it has another receipt"),
                Event::Awaited(keyed) => demand!(keyed.key == *key, "it waits under another key"),
                other => demand!(false, "a receipt was due, not {}", other.kind()),
            }
        }
        let end = reactions_begin(self.batch);
        demand!(self.due() == end, "there is more in it");
        Ok(())
    }

    fn command(&mut self, command: &Command) -> Audit {
        match command {
            Command::State(StateCommand::Set(set)) => self.set(set),
            Command::State(StateCommand::Patch(patch)) => self.patch(patch),
            Command::State(StateCommand::Delete(delete)) => {
                let event = self.take_state()?;
                let StateEvent::Deleted { version, removal, .. } = event else {
                    return Err(Breach("a deletion was due".to_owned()));
                };
                demand!(event.entry_key() == (&delete.namespace, &delete.key), "another key went");
                demand!(*removal == Removal::Deleted, "it went for another reason");
                let expected = delete.expected_version.unwrap_or(*version);
                demand!(expected == *version, "it was expected at {expected}");
                Ok(())
            }
            Command::State(StateCommand::Transfer(transfer)) => self.transfer(transfer),
            Command::Secret(command) => self.secret(command),
            Command::Namespace(command) => self.namespace(command),
            Command::Agent(command) => self.agent(command),
            Command::Message(command) => self.message(command),
            Command::Topic(command) => self.topic(command),
            Command::Stream(command) => self.stream(command),
            Command::Rule(command) => self.rule(command),
            Command::Contract(command) => self.contract(command),
            Command::UserEvent(command) => self.bus(command),
            Command::Reaction(command) => self.reaction(command),
            Command::Lock(command) => self.lock(command),
            Command::Semaphore(command) => self.semaphore(command),
            Command::Task(command) => self.task(command),
            Command::Spend(command) => self.spend(command),
            Command::Join(command) => self.join(command),
            Command::Wait(command) => self.status_wait(command),
            Command::Checkpoint(command) => self.checkpoint(command),
            Command::Artifact(command) => self.artifact(command),
            Command::Handoff(command) => self.handoff(command),
            Command::Barrier(command) => self.barrier(command),
            Command::Pipeline(command) => self.pipeline(command),
            Command::Workspace(WorkspaceCommand::Configure { history_count, .. }) => {
                match self.take()? {
                    Event::Workspace(WorkspaceEvent::Configured { retention }) => demand!(
                        history_count.is_none_or(|count| count == retention.history_count),
                        "another retention was set"
                    ),
                    other => demand!(false, "retention was due, not {}", other.kind()),
                }
                Ok(())
            }
            Command::Workspace(WorkspaceCommand::Sync(_)) => {
                Err(Breach("no agent takes in another copy".to_owned()))
            }
        }
    }

    /// The entry before an event of this batch: by an earlier event of it, or from the ledger.
    fn before(&self, set: &StateEvent) -> Option<EntryBefore> {
        let (namespace, key) = set.entry_key();
        self.entry_before(namespace, key)
    }

    fn entry_before(&self, namespace: &NamespaceName, key: &Key) -> Option<EntryBefore> {
        let earlier = self.batch.events[..self.next - 1].iter().rev();
        for event in earlier {
            match event {
                Event::State(event) if event.entry_key() == (namespace, key) => {
                    return match event {
                        StateEvent::Set { value, version, expires_at, bound_to, .. } => {
                            Some(EntryBefore {
                                value: value.clone(),
                                version: version.0,
                                expires_at: *expires_at,
                                bound_to: bound_to.clone(),
                            })
                        }
                        StateEvent::Deleted { .. } => None,
                    };
                }
                Event::Namespace(NamespaceEvent::Deleted { name }) if name == namespace => {
                    return None;
                }
                _ => {}
            }
        }
        let fact = self.ledger.entry(namespace, key, self.batch.revision.0 - 1)?;
        Some(EntryBefore::of(fact))
    }

    /// The rules of a namespace as they were for this event.
    fn rules(&self, namespace: &NamespaceName) -> Option<Arc<Rules>> {
        let earlier = self.batch.events[..self.next - 1].iter().rev();
        for event in earlier {
            match event {
                Event::Namespace(
                    NamespaceEvent::Created { name, rules }
                    | NamespaceEvent::Configured { name, rules },
                ) if name == namespace => return Some(Arc::new(rules.clone())),
                _ => {}
            }
        }
        self.ledger.rules(namespace, self.batch.revision.0 - 1).cloned()
    }

    fn set(&mut self, set: &Set) -> Audit {
        let event = self.take_state()?;
        let StateEvent::Set { value, operation, expires_at, bound_to, .. } = event else {
            return Err(Breach("a write was due".to_owned()));
        };
        demand!(event.entry_key() == (&set.namespace, &set.key), "another key was written");
        demand!(*operation == Operation::Set, "it was written in another way");
        demand!(bound_to.is_some() == set.ephemeral, "its session is wrong");
        let before = self.before(event);
        check_expected(set.expected_version, before.as_ref())?;
        demand!(!set.if_absent || before.is_none(), "it was there, though it should be absent");
        if let Some(expected) = &set.expected_value {
            let same = before.as_ref().is_some_and(|before| before.value.same_value(expected));
            demand!(same, "it had another value than expected");
        }
        let Some(rules) = self.rules(&set.namespace) else {
            return Err(Breach("its namespace was not there".to_owned()));
        };
        let ttl = set.ttl_ms.or(rules.ttl_ms);
        demand!(*expires_at == ttl.map(|ttl| self.batch.time.after(ttl)), "its end is wrong");
        check_rules(&rules, before.as_ref(), value, rules.merge)?;
        match rules.merge.unwrap_or_default() {
            Merge::LastWriteWins | Merge::Reject => {
                demand!(*value == set.value, "another value was written");
            }
            Merge::Counter => check_sum(before.as_ref(), &set.value, value)?,
            Merge::Max => check_max(before.as_ref(), &set.value, value)?,
            Merge::Append => check_append(before.as_ref(), &set.value, value)?,
            Merge::JsonMerge | Merge::Union => {}
        }
        Ok(())
    }

    fn patch(&mut self, patch: &PatchEntry) -> Audit {
        let event = self.take_state()?;
        let StateEvent::Set { value, operation, expires_at, bound_to, .. } = event else {
            return Err(Breach("a write was due".to_owned()));
        };
        demand!(event.entry_key() == (&patch.namespace, &patch.key), "another key was written");
        demand!(*operation == Operation::Patched, "it was written in another way");
        let before = self.before(event);
        check_expected(patch.expected_version, before.as_ref())?;
        if let Some(before) = &before {
            demand!(before.expires_at == *expires_at, "a patch changed its end");
            demand!(before.bound_to == *bound_to, "a patch changed its session");
        }
        match &patch.patch {
            Patch::Increment(more) => check_sum(before.as_ref(), more, value),
            Patch::Max(other) => check_max(before.as_ref(), other, value),
            Patch::Append(more) => check_append(before.as_ref(), more, value),
            Patch::Merge(_) | Patch::JsonPatch(_) | Patch::Union(_) => Ok(()),
        }
    }

    /// Entries move from one namespace to another.
    pub(crate) fn transfer(&mut self, transfer: &Transfer) -> Audit {
        let mut moved = Vec::new();
        while let Some(Event::State(event)) = self.batch.events.get(self.next)
            && let StateEvent::Set { operation, value, source, .. } = event
            && matches!(operation, Operation::Transferred | Operation::Copied)
        {
            self.next += 1;
            let (to, key) = event.entry_key();
            demand!(*to == transfer.to_namespace, "`{key}` went elsewhere");
            let is_copy = *operation == Operation::Copied;
            demand!(is_copy == transfer.copy, "`{key}` was {operation:?}");
            if !is_copy {
                let gone = self.take_state()?;
                demand!(
                    gone.entry_key() == (&transfer.from_namespace, key),
                    "`{key}` arrived, but another one left"
                );
            }
            let source = source.as_ref();
            demand!(
                source.is_some_and(|source| source.namespace == transfer.from_namespace),
                "`{key}` does not say where it came from"
            );
            if let Some(before) = self.entry_before(&transfer.from_namespace, key) {
                demand!(before.value == *value, "`{key}` changed on its way");
            }
            moved.push(key.clone());
        }
        let matches = |key: &Key| {
            transfer.pattern.as_ref().is_none_or(|pattern| pattern.matches(key.as_str()))
        };
        let other = moved.iter().find(|key| !matches(key));
        demand!(other.is_none(), "{other:?} does not match {:?}", transfer.pattern);
        if let Some(keys) = &transfer.keys {
            let mut keys: Vec<Key> = keys.iter().filter(|key| matches(key)).cloned().collect();
            keys.sort();
            keys.dedup();
            demand!(keys == moved, "{moved:?} were moved instead of {keys:?}");
        }
        Ok(())
    }

    fn namespace(&mut self, command: &NamespaceCommand) -> Audit {
        let Event::Namespace(event) = self.take()? else {
            return Err(Breach("a change of a namespace was due".to_owned()));
        };
        let fits = match (command, event) {
            (
                NamespaceCommand::Create { name, rules },
                NamespaceEvent::Created { name: there, rules: new },
            )
            | (
                NamespaceCommand::Configure { name, rules },
                NamespaceEvent::Configured { name: there, rules: new },
            ) => name == there && rules == new,
            (NamespaceCommand::Delete { name }, NamespaceEvent::Deleted { name: there }) => {
                name == there
            }
            _ => false,
        };
        demand!(fits, "another change of a namespace happened");
        Ok(())
    }

    fn agent(&mut self, command: &AgentCommand) -> Audit {
        let Event::Agent(event) = self.take()? else {
            return Err(Breach("a change of an agent was due".to_owned()));
        };
        let (id, ends) = match (command, event) {
            (AgentCommand::Register(register), AgentEvent::Joined { agent, ttl_ms, .. }) => {
                demand!(register.ttl_ms.is_none_or(|ttl| ttl == *ttl_ms), "its silence is wrong");
                demand!(register.agent == *agent, "another agent joined");
                (agent, true)
            }
            (AgentCommand::Heartbeat { agent, .. }, AgentEvent::Seen { agent: seen }) => {
                demand!(agent == seen, "another agent was seen");
                (agent, false)
            }
            (AgentCommand::Leave { agent, .. }, AgentEvent::Left { agent: gone }) => {
                demand!(agent == gone, "another agent left");
                (agent, true)
            }
            _ => return Err(Breach("another change of an agent happened".to_owned())),
        };
        while let Some(Event::Agent(AgentEvent::Lost { because: Some(above), .. })) =
            self.batch.events.get(self.next)
            && ends
            && above == id
        {
            self.next += 1;
        }
        if ends {
            self.follow_ends();
        }
        if let AgentEvent::Joined { .. } = event {
            let own = NamespaceName::of_agent(id);
            if let Some(Event::Namespace(NamespaceEvent::Created { name, .. })) = self.peek()
                && *name == own
            {
                self.skip();
            }
            let there = self.ledger.rules(&own, self.batch.revision.0).is_some();
            demand!(there, "`{id}` has no namespace of its own");
        }
        self.follow_grants();
        self.follow_stages()
    }

    /// The holds that several sessions release, one after the other.
    fn follow_ends(&mut self) {
        let mut before = usize::MAX;
        while self.next != before {
            before = self.next;
            self.follow_end();
        }
    }

    fn follow_end(&mut self) {
        while let Some(Event::State(StateEvent::Deleted { removal: Removal::LetGo, .. })) =
            self.peek()
        {
            self.skip();
        }
        self.follow_let_go();
    }
}

/// An entry before an event.
struct EntryBefore {
    value: Json,
    version: u64,
    expires_at: Option<Timestamp>,
    bound_to: Option<AgentId>,
}

impl EntryBefore {
    fn of(fact: &EntryModel) -> Self {
        let EntryModel { value, version, expires_at, bound_to, .. } = fact.clone();
        Self { value, version, expires_at, bound_to }
    }
}

fn check_expected(expected: Option<Version>, before: Option<&EntryBefore>) -> Audit {
    let version = before.map_or(0, |before| before.version);
    let is_met = expected.is_none_or(|expected| expected.0 == version);
    demand!(is_met, "{expected:?} was expected, and version {version} was there");
    Ok(())
}

/// The requirements of the rules of a namespace on any new value.
fn check_rules(
    rules: &Rules,
    before: Option<&EntryBefore>,
    value: &Json,
    merge: Option<Merge>,
) -> Audit {
    let grows = matches!(merge, Some(Merge::Append | Merge::Union));
    demand!(!rules.append_only || before.is_none() || grows, "an append-only entry was replaced");
    if rules.schema.is_some() {
        demand!(value.to_value().is_object(), "the schema asks for an object");
    }
    let bytes = value.as_bytes().len() as u64;
    demand!(rules.value_bytes_max.is_none_or(|max| bytes <= max), "the value is too large");
    Ok(())
}

fn integer(json: &Json) -> Audit<i64> {
    json.to_value().as_i64().ok_or_else(|| Breach(format!("{} is no integer", json.as_str())))
}

fn check_sum(before: Option<&EntryBefore>, more: &Json, after: &Json) -> Audit {
    let before = before.map_or(Ok(0), |before| integer(&before.value))?;
    let sum = before + integer(more)?;
    demand!(integer(after)? == sum, "it should be {sum}, not {}", after.as_str());
    Ok(())
}

fn check_max(before: Option<&EntryBefore>, other: &Json, after: &Json) -> Audit {
    let other = integer(other)?;
    let most = before.map_or(Ok(other), |before| integer(&before.value))?.max(other);
    demand!(integer(after)? == most, "it should be {most}, not {}", after.as_str());
    Ok(())
}

fn check_append(before: Option<&EntryBefore>, more: &Json, after: &Json) -> Audit {
    let list = |json: &Json| json.to_value().as_array().cloned();
    let mut expected = match before {
        Some(before) => list(&before.value).unwrap_or_default(),
        None => Vec::new(),
    };
    match list(more) {
        Some(elements) => expected.extend(elements),
        None => expected.push(more.to_value()),
    }
    demand!(list(after) == Some(expected), "it should have grown at its end");
    Ok(())
}

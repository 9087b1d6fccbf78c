//! Declared contracts.
//!
//! 1. An event about a contract contains what was requested, and whether it replaced another.
//! 2. A returned contract, alone or on a page by name, is that of its last event.
//! 3. No batch breaks a contract that refuses, unless time or the end of a session did it.
//! 4. A batch that breaks another contract records it, and records no other.
//! 5. A refusal is correct: the contract was there and refuses, or it was not there, or another
//!    agent owned it.

use std::collections::{BTreeMap, BTreeSet};

use baton_core::contract::{Command, Declaration, Event, OnBreak, Query, Rejection, Reply, Terms};
use baton_core::json::Shape;
use baton_core::state::{Event as StateEvent, Removal};
use baton_core::{
    AgentId, Batch, ContractName, Event as AnyEvent, Json, Key, NamespaceName, namespace,
};

use crate::auditor::explain::BatchReader;
use crate::auditor::timeline::Timeline;
use crate::auditor::{Audit, Breach, Ledger, demand};
use crate::coverage::Coverage;

/// The default page size.
const PAGE_DEFAULT: usize = 100;

/// Every contract at every revision.
#[derive(Default)]
pub struct ContractModels(BTreeMap<ContractName, Timeline<Option<Declaration>>>);

impl ContractModels {
    fn at(&self, name: &ContractName, at: u64) -> Option<&Declaration> {
        self.0.get(name)?.at(at)?.as_ref()
    }

    fn now(&self, name: &ContractName) -> Option<&Declaration> {
        self.0.get(name)?.now()?.as_ref()
    }
}

/// The keys that the events of a batch break, by contract.
type BrokenKeys = BTreeMap<ContractName, BTreeSet<String>>;

/// A batch that is read against the contracts.
struct Reading {
    contracts: BTreeMap<ContractName, Declaration>,
    /// Entries that the batch wrote or removed so far.
    touched: BTreeMap<(NamespaceName, Key), bool>,
    broken: BrokenKeys,
}

impl Reading {
    fn note(&mut self, key: &str, is_fate: bool, breaks: impl Fn(&Terms) -> bool) -> Audit {
        for (name, contract) in &self.contracts {
            if !contract.keys.iter().any(|terms| terms.key.matches(key) && breaks(terms)) {
                continue;
            }
            demand!(
                contract.on_break == OnBreak::Warn || is_fate,
                "`{key}` breaks contract `{name}`, which refuses that"
            );
            self.broken.entry(name.clone()).or_default().insert(key.to_owned());
        }
        Ok(())
    }
}

impl Ledger {
    /// Applies a durable event about a contract.
    pub(crate) fn add_contract(
        &mut self,
        batch: &Batch,
        event: &Event,
        coverage: &mut Coverage,
    ) -> Audit {
        let name = event.name();
        let before = self.contracts.now(name);
        let after = match event {
            Event::Declared { keys, on_break, replaced, .. } => {
                let there = before.is_some();
                demand!(*replaced == there, "contract `{name}` was there or was not: {there}");
                let is_mine = before.is_none_or(|before| before.owner == batch.agent);
                demand!(is_mine, "contract `{name}` of another agent was replaced");
                Some(Declaration {
                    name: name.clone(),
                    owner: batch.agent.clone(),
                    keys: keys.clone(),
                    on_break: *on_break,
                    declared_at: batch.time,
                    revision: batch.revision,
                })
            }
            Event::Deleted { .. } => {
                coverage.met("contract: deleted");
                demand!(before.is_some(), "contract `{name}` went, but was not there");
                None
            }
            Event::Broken { .. } => {
                coverage.met("contract: broken");
                return Ok(());
            }
        };
        self.contracts.0.entry(name.clone()).or_default().set(batch.revision.0, after);
        Ok(())
    }

    /// Checks a batch against the contracts, before it is applied.
    pub(crate) fn check_contracts(&self, batch: &Batch) -> Audit {
        let now = self.contracts.0.iter();
        let now = now.filter_map(|(name, it)| Some((name.clone(), it.now()?.clone()?)));
        let (touched, broken) = (BTreeMap::new(), BrokenKeys::new());
        let mut reading = Reading { contracts: now.collect(), touched, broken };
        let mut reported = BTreeMap::<&ContractName, BTreeSet<&str>>::new();
        for event in &batch.events {
            match event {
                AnyEvent::Contract(Event::Broken { name, owner, breach, .. }) => {
                    let is_owner = reading.contracts.get(name).is_some_and(|it| it.owner == *owner);
                    demand!(is_owner, "`{owner}` does not own contract `{name}`");
                    reported.entry(name).or_default().insert(&breach.key);
                }
                event => self.read_event(&mut reading, batch, event)?,
            }
        }
        for (name, keys) in &reported {
            let due = reading.broken.get(*name).cloned().unwrap_or_default();
            let is_due = keys.iter().all(|key| due.contains(*key));
            demand!(is_due, "contract `{name}` is said to be broken by {keys:?}, not {due:?}");
        }
        for (name, keys) in &reading.broken {
            demand!(
                reported.contains_key(name),
                "contract `{name}` is broken by {keys:?} in silence"
            );
        }
        Ok(())
    }

    fn read_event(&self, reading: &mut Reading, batch: &Batch, event: &AnyEvent) -> Audit {
        let by_engine = batch.agent == AgentId::engine();
        match event {
            AnyEvent::State(StateEvent::Set { namespace, key, value, .. }) => {
                reading.touched.insert((namespace.clone(), key.clone()), true);
                let name = format!("{namespace}/{key}");
                reading.note(&name, by_engine, |terms| !satisfies(terms, value))
            }
            AnyEvent::State(StateEvent::Deleted { namespace, key, removal, .. }) => {
                reading.touched.insert((namespace.clone(), key.clone()), false);
                let is_fate = by_engine || matches!(removal, Removal::Expired | Removal::LetGo);
                let name = format!("{namespace}/{key}");
                reading.note(&name, is_fate, |terms| !terms.optional)
            }
            AnyEvent::Namespace(namespace::Event::Deleted { name }) => {
                for key in self.keys_of(name, reading) {
                    reading.note(&key, by_engine, |terms| !terms.optional)?;
                }
                Ok(())
            }
            AnyEvent::Namespace(namespace::Event::Created { name, rules }) => {
                let prefix = format!("{name}/");
                let objects_only = rules.schema.is_some();
                let contracts: Vec<_> = reading.contracts.values().cloned().collect();
                for terms in contracts.iter().flat_map(|contract| &contract.keys) {
                    let excluded = terms.kind.is_some_and(|kind| kind != Shape::Object);
                    if objects_only && excluded && terms.key.reaches(&prefix) {
                        let same =
                            |other: &Terms| other.key == terms.key && other.kind == terms.kind;
                        Self::note_rules(reading, terms, by_engine, same)?;
                    }
                }
                Ok(())
            }
            AnyEvent::Contract(Event::Declared { name, keys, on_break, .. }) => {
                let contract = Declaration {
                    name: name.clone(),
                    owner: batch.agent.clone(),
                    keys: keys.clone(),
                    on_break: *on_break,
                    declared_at: batch.time,
                    revision: batch.revision,
                };
                reading.contracts.insert(name.clone(), contract);
                Ok(())
            }
            AnyEvent::Contract(Event::Deleted { name }) => {
                reading.contracts.remove(name);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Notes terms that a schema excludes: the key is that of the terms themselves.
    fn note_rules(
        reading: &mut Reading,
        terms: &Terms,
        is_fate: bool,
        same: impl Fn(&Terms) -> bool,
    ) -> Audit {
        for (name, contract) in &reading.contracts {
            if contract.keys.iter().any(&same) {
                demand!(
                    contract.on_break == OnBreak::Warn || is_fate,
                    "the rules of a namespace break contract `{name}`, which refuses that"
                );
                let key = terms.key.as_str().to_owned();
                reading.broken.entry(name.clone()).or_default().insert(key);
            }
        }
        Ok(())
    }

    /// The keys of a namespace, as the batch has left them so far.
    fn keys_of(&self, namespace: &NamespaceName, reading: &Reading) -> Vec<String> {
        let kept = self.entries.iter().filter_map(|(place, entry)| {
            let is_there = entry.now().is_some_and(Option::is_some);
            (place.0 == *namespace).then_some((place.clone(), is_there))
        });
        let mut keys: BTreeMap<_, _> = kept.collect();
        let touched = reading.touched.iter().filter(|(place, _)| place.0 == *namespace);
        keys.extend(touched.map(|(place, is_there)| (place.clone(), *is_there)));
        let there = keys.into_iter().filter(|(_, is_there)| *is_there);
        there.map(|((namespace, key), _)| format!("{namespace}/{key}")).collect()
    }

    /// Checks that the answer to a change is the contract after or before it.
    pub(crate) fn contract_reply(&self, command: &Command, reply: &Reply, at: u64) -> Audit {
        let Reply::Declaration(shown) = reply else {
            return Err(Breach("a change was answered with a page of contracts".to_owned()));
        };
        let contract = match command {
            Command::Declare(declare) => self.contracts.at(&declare.name, at),
            Command::Delete { name, .. } => self.contracts.at(name, at - 1),
        };
        demand!(contract == Some(shown), "{shown:?} is shown, but it is {contract:?}");
        Ok(())
    }

    /// Checks a page of contracts.
    pub(crate) fn contracts_listed(
        &self,
        (limit, cursor): (Option<usize>, Option<&ContractName>),
        shown: &[Declaration],
        next: Option<&ContractName>,
        at: u64,
    ) -> Audit {
        let there = self.contracts.0.iter().filter_map(|(name, contract)| {
            let contract = contract.at(at)?.as_ref()?;
            cursor.is_none_or(|cursor| name > cursor).then_some(contract)
        });
        let there: Vec<&Declaration> = there.collect();
        let due = &there[..there.len().min(limit.unwrap_or(PAGE_DEFAULT))];
        demand!(due.iter().copied().eq(shown), "{shown:?} are shown, but they are {due:?}");
        let more = due.len() < there.len();
        let last = due.last().filter(|_| more).map(|contract| &contract.name);
        demand!(next == last, "the contracts go on at {next:?}, not {last:?}");
        Ok(())
    }

    /// Checks a refusal because of contracts.
    pub(crate) fn refused_contract(
        &self,
        agent: &AgentId,
        rejection: &Rejection,
        at: u64,
        coverage: &mut Coverage,
    ) -> Audit {
        match rejection {
            Rejection::Broken { contract, owner, breach } => {
                coverage.met("contract: refused");
                // A transaction may have declared it itself.
                let Some(there) = self.contracts.at(contract, at) else { return Ok(()) };
                let names = |terms: &Terms| {
                    terms.key.matches(&breach.key) || terms.key.as_str() == breach.key
                };
                let is_due = there.on_break == OnBreak::Refuse && there.keys.iter().any(names);
                demand!(is_due && there.owner == *owner, "{there:?} does not refuse {breach:?}");
            }
            Rejection::NotOwner { contract, owner } => {
                coverage.met("contract: not the owner");
                let there = self.contracts.at(contract, at);
                let is_owner = there.is_some_and(|there| there.owner == *owner);
                demand!(is_owner && owner != agent, "`{agent}` may change {there:?}");
            }
            Rejection::NotFound { name } => {
                demand!(self.contracts.at(name, at).is_none(), "contract `{name}` was there");
            }
            Rejection::BadField(bad) => {
                demand!(bad.reason.contains("not 0"), "the contract had keys: {bad}");
            }
            other => {
                let code = other.code();
                return Err(Breach(format!("no request can cause `{code}`")));
            }
        }
        Ok(())
    }
}

/// Whether a value satisfies terms without a schema.
fn satisfies(terms: &Terms, value: &Json) -> bool {
    let value = value.to_value();
    let kind = match &value {
        serde_json::Value::Object(_) => Shape::Object,
        serde_json::Value::Array(_) => Shape::Array,
        serde_json::Value::String(_) => Shape::String,
        serde_json::Value::Number(_) => Shape::Number,
        serde_json::Value::Bool(_) => Shape::Boolean,
        serde_json::Value::Null => Shape::Null,
    };
    let has = |field: &String| value.get(field.trim_start_matches('/')).is_some();
    terms.kind.is_none_or(|expected| expected == kind) && terms.fields.iter().all(has)
}

/// The page of a query about declared contracts.
pub(crate) fn page(query: &Query) -> Option<(Option<usize>, Option<&ContractName>)> {
    match query {
        Query::List { limit, cursor } => Some((*limit, cursor.as_ref())),
        Query::Show { .. } | Query::Check { .. } => None,
    }
}

impl BatchReader<'_> {
    /// One command about a contract, one event.
    pub(crate) fn contract(&mut self, command: &Command) -> Audit {
        let event = match self.take()? {
            AnyEvent::Contract(event) => event,
            other => return Err(Breach(format!("a contract was due, not {}", other.kind()))),
        };
        let same = match (command, event) {
            (Command::Delete { name, .. }, Event::Deleted { name: gone }) => name == gone,
            (Command::Declare(declare), Event::Declared { name, keys, on_break, .. }) => {
                (&declare.name, &declare.keys, declare.on_break) == (name, keys, *on_break)
            }
            _ => false,
        };
        demand!(same, "{command:?} became {event:?}");
        Ok(())
    }
}

//! Compares the events of a command with the declared contracts, before they are applied.

use std::collections::BTreeMap;

use super::{CommitBuilder, ReplyPlan, Space};
use crate::contract::{
    Breach, Candidate, Declaration, Event as Contracted, OnBreak, Rejection, SchemaChange, Terms,
};
use crate::event::Event;
use crate::limits;
use crate::names::{AgentId, ContractName, Key, NamespaceName};
use crate::namespace::rules::Rules;
use crate::reply::Reply;
use crate::schema::{Effort, Schema};
use crate::space::stamp::Stamp;
use crate::state::{Removal, Warning};
use crate::{namespace, state};

/// The contracts that a command breaks and that do not refuse it: owner, first breach, how many
/// others.
type Broken = BTreeMap<ContractName, (AgentId, Breach, u64)>;

/// The comparison of one command with the contracts.
struct Comparison<'a> {
    space: &'a Space,
    /// All checks of a commit share it, as one value would.
    effort: &'a Effort,
    broken: Broken,
}

impl Space {
    /// Refuses a command that breaks a contract, or adds what it breaks to its events and reply.
    pub(super) fn compare_with_contracts(
        &self,
        first: usize,
        stamp: &Stamp,
        plan: Option<&mut ReplyPlan>,
        commit: &mut CommitBuilder,
    ) -> Result<(), Rejection> {
        let by_engine = stamp.agent == AgentId::engine();
        let effort = commit.effort.schemas();
        let mut comparison = Comparison { space: self, effort, broken: Broken::new() };
        for event in &commit.events[first..] {
            comparison.compare(event, by_engine)?;
        }
        let broken = comparison.broken;
        if broken.is_empty() {
            return Ok(());
        }
        if let Some(plan) = plan {
            plan.warn(broken.iter().map(|(name, (owner, breach, _))| Warning {
                code: "contract.broken".to_owned(),
                detail: breach.sentence(name, owner),
            }));
        }
        for (name, (owner, breach, others)) in broken {
            // Effects of time cannot be refused because a record of them does not fit.
            if by_engine && commit.events.len() >= limits::BATCH_EVENTS_MAX {
                break;
            }
            commit.events.push(Contracted::Broken { name, owner, breach, others }.into());
        }
        Ok(())
    }
}

impl Comparison<'_> {
    fn compare(&mut self, event: &Event, by_engine: bool) -> Result<(), Rejection> {
        match event {
            Event::State(state::Event::Set { namespace, key, value, .. }) => {
                let name = format!("{namespace}/{key}");
                let all = self.space.contract.concerning(&name);
                let has_fields = all.iter().any(|(_, terms)| !terms.fields.is_empty());
                let before = has_fields.then(|| self.space.state.entry(namespace, key)).flatten();
                let before = before.map(|entry| entry.json());
                let mut before = before.as_ref().map(Candidate::new);
                let mut value = Candidate::new(value);
                for (contract, terms) in all {
                    let breach = terms.breach(&name, &mut value, before.as_mut(), self.effort);
                    self.found(contract, breach, by_engine)?;
                }
            }
            Event::State(state::Event::Deleted { namespace, key, removal, .. }) => {
                #[cfg(feature = "planted")]
                if crate::planted::is("contract.deletion_is_unchecked") {
                    return Ok(());
                }
                let is_fate = by_engine || matches!(removal, Removal::Expired | Removal::LetGo);
                let name = format!("{namespace}/{key}");
                for (contract, terms) in self.space.contract.concerning(&name) {
                    self.found(contract, terms.absence(&name), is_fate)?;
                }
            }
            Event::Namespace(namespace::Event::Deleted { name }) => {
                for (contract, terms) in self.space.contract.reaching(name.as_str()) {
                    let breach = self.absence_of_all(name, terms)?;
                    self.found(contract, breach, by_engine)?;
                }
            }
            Event::Namespace(
                namespace::Event::Created { name, rules }
                | namespace::Event::Configured { name, rules },
            ) => self.compare_rules(name, rules, by_engine)?,
            _ => {}
        }
        Ok(())
    }

    /// The first entry of a namespace whose deletion breaks terms.
    fn absence_of_all(
        &self,
        namespace: &NamespaceName,
        terms: &Terms,
    ) -> Result<Option<Breach>, Rejection> {
        let state = &self.space.state;
        if let Some(name) = terms.key.is_exact() {
            let key = name.split_once('/').and_then(|(_, key)| Key::parse(key).ok());
            let is_there = key.is_some_and(|key| state.entry(namespace, &key).is_some());
            return Ok(terms.absence(name).filter(|_| is_there));
        }
        let max = limits::CONTRACT_ENTRIES_MAX;
        for (count, entry) in state.everything(Some(namespace), None).enumerate() {
            if count == max {
                return Err(Rejection::TooMuch { what: "entries of one namespace", max });
            }
            let name = format!("{namespace}/{}", entry.key());
            if terms.key.matches(&name) {
                return Ok(terms.absence(&name));
            }
        }
        Ok(None)
    }

    /// Compares other rules of a namespace.
    fn compare_rules(
        &mut self,
        name: &NamespaceName,
        rules: &Rules,
        by_engine: bool,
    ) -> Result<(), Rejection> {
        let before = self.space.namespace.get(name).map(|namespace| &namespace.rules);
        let prefix = format!("{name}/");
        for (contract, terms) in self.space.contract.reaching(name.as_str()) {
            let key = terms.key.as_str().strip_prefix(&prefix);
            let before = before.and_then(|rules| schema_for(rules, terms, key));
            let change = SchemaChange::between(before, schema_for(rules, terms, key));
            let breach = change.and_then(|change| terms.schema_breach(&change));
            self.found(contract, breach, by_engine)?;
        }
        Ok(())
    }

    /// Refuses a breach, or keeps it as a warning.
    fn found(
        &mut self,
        contract: &Declaration,
        breach: Option<Breach>,
        is_fate: bool,
    ) -> Result<(), Rejection> {
        let Some(breach) = breach else { return Ok(()) };
        let (name, owner) = (contract.name.clone(), contract.owner.clone());
        let is_refused = contract.on_break == OnBreak::Refuse && !is_fate;
        #[cfg(feature = "planted")]
        let is_refused = is_refused && !crate::planted::is("contract.refusal_only_warns");
        if is_refused {
            return Err(Rejection::Broken { contract: name, owner, breach });
        }
        let seen = self.broken.entry(name);
        seen.and_modify(|(_, _, others)| *others += 1).or_insert((owner, breach, 0));
        Ok(())
    }
}

/// The schema of the keys of terms.
fn schema_for<'a>(rules: &'a Rules, terms: &Terms, key: Option<&str>) -> Option<&'a Schema> {
    let special = || rules.keys.iter().find(|special| Some(special.pattern.as_str()) == key);
    let rules = match terms.key.is_exact() {
        Some(_) => key.and_then(|key| Key::parse(key).ok()).map(|key| rules.for_key(&key)),
        None => Some(special().map_or(rules, |special| &special.rules)),
    };
    rules?.schema.as_ref()
}

impl ReplyPlan {
    /// Adds warnings to the reply, if it is an entry.
    fn warn(&mut self, more: impl Iterator<Item = Warning>) {
        match self {
            Self::Written { warnings, .. } => warnings.extend(more),
            Self::Reply(Reply::State(state::Reply::Entry(entry))) => {
                let warnings = entry.warnings().iter().cloned().chain(more).collect();
                *entry = entry.clone().warned(warnings);
            }
            _ => {}
        }
    }
}

//! Writers and readers of keys.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{By, Contract, KeyReader, PresentKey};
use crate::contract::{Rejection, Reply};
use crate::handoff::{Handoff, List};
use crate::json::Shape;
use crate::limits;
use crate::names::{AgentId, Key, NamespaceName};
use crate::pattern::Pattern;
use crate::rule::Check;
use crate::space::Space;
use crate::state::Entry;

/// The known writers and readers of a key.
#[derive(Default)]
pub(super) struct KeyUsage {
    pub(super) readers: Vec<KeyReader>,
    /// The agents that handed it over.
    pub(super) givers: BTreeSet<AgentId>,
    writers: BTreeSet<String>,
}

/// The usage of keys, by `namespace/key`.
pub(super) type UsageByName = BTreeMap<String, KeyUsage>;

/// Splits `namespace/key`; none if it is invalid.
pub(super) fn split_name(name: &str) -> Option<(NamespaceName, Key)> {
    let (namespace, key) = name.split_once('/')?;
    Some((NamespaceName::parse(namespace).ok()?, Key::parse(key).ok()?))
}

/// The current entry.
pub(super) fn entry(space: &Space, name: &str) -> Option<Entry> {
    let (namespace, key) = split_name(name)?;
    space.state.entry(&namespace, &key)
}

/// Bounds the work of a query, which blocks other requests.
struct LookupBudget {
    left: usize,
}

impl LookupBudget {
    fn at(&mut self, facts: usize) -> Result<(), Rejection> {
        let max = limits::CONTRACT_FACTS_MAX;
        let too_much = Rejection::TooMuch { what: "hand-offs, stages and keys", max };
        self.left = self.left.checked_sub(facts).ok_or(too_much)?;
        Ok(())
    }
}

/// The usage of all keys that satisfy a predicate.
pub(super) fn gather(
    space: &Space,
    is_wanted: impl Fn(&str) -> bool,
) -> Result<UsageByName, Rejection> {
    let mut budget = LookupBudget { left: limits::CONTRACT_FACTS_MAX };
    let mut all = UsageByName::new();
    for handoff in space.handoff.after(&List::default()) {
        let keys = handoff.receipt.as_ref().map_or(0, |receipt| receipt.keys.len());
        budget.at(1 + keys)?;
        taken(handoff, &is_wanted, &mut all);
    }
    for rule in space.rule.after(None) {
        let Check::RequiredKeys(keys) = &rule.check else { continue };
        budget.at(keys.len())?;
        let who = match &rule.on.to {
            Some(pattern) => pattern.as_str().to_owned(),
            None => format!("rule:{}", rule.name),
        };
        for key in keys.iter().filter(|key| split_name(key).is_some() && is_wanted(key)) {
            let reader = KeyReader { who: who.clone(), by: By::Rule, version: None, kind: None };
            all.entry(key.clone()).or_default().readers.push(reader);
        }
    }
    declared(space, &is_wanted, &mut budget, &mut all)?;
    for record in space.pipeline.after(None) {
        for stage in &record.plan.stages {
            budget.at(1 + stage.reads.len() + stage.writes.len())?;
            let who = format!("stage:{}/{}", record.name, stage.name);
            for key in meant(space, &stage.reads, &is_wanted, &mut budget)? {
                let reader =
                    KeyReader { who: who.clone(), by: By::Stage, version: None, kind: None };
                all.entry(key).or_default().readers.push(reader);
            }
            for key in meant(space, &stage.writes, &is_wanted, &mut budget)? {
                all.entry(key).or_default().writers.insert(who.clone());
            }
        }
    }
    Ok(all)
}

/// Adds the keys of declared contracts.
fn declared(
    space: &Space,
    is_wanted: &impl Fn(&str) -> bool,
    budget: &mut LookupBudget,
    all: &mut UsageByName,
) -> Result<(), Rejection> {
    for contract in space.contract.after(None) {
        for terms in &contract.keys {
            budget.at(1)?;
            let keys = meant(space, std::slice::from_ref(&terms.key), is_wanted, budget)?;
            let is_due = |key: &String| !terms.optional || entry(space, key).is_some();
            for key in keys.into_iter().filter(is_due) {
                let (who, by) = (contract.owner.to_string(), By::Contract);
                let reader = KeyReader { who, by, version: None, kind: terms.kind };
                all.entry(key).or_default().readers.push(reader);
            }
        }
    }
    Ok(())
}

/// Adds the keys that the receiver of a hand-off got, and those that its giver has written.
fn taken(handoff: &Handoff, is_wanted: &impl Fn(&str) -> bool, all: &mut UsageByName) {
    if let (Some(receiver), Some(receipt)) = (&handoff.receiver, &handoff.receipt) {
        for taken in &receipt.keys {
            #[cfg(feature = "planted")]
            if taken.moved && crate::planted::is("contract.moved_is_unread") {
                continue;
            }
            let key = taken.name_now(receiver);
            if !is_wanted(&key) {
                continue;
            }
            let known = all.entry(key).or_default();
            if !taken.moved {
                known.givers.insert(handoff.from.clone());
            }
            let who = receiver.as_str();
            let same = |there: &&mut KeyReader| there.who == who && there.by == By::Handoff;
            match known.readers.iter_mut().find(same) {
                Some(there) if there.version >= Some(taken.version) => {}
                Some(there) => {
                    (there.version, there.kind) = (Some(taken.version), Some(taken.kind));
                }
                None => known.readers.push(KeyReader {
                    who: who.to_owned(),
                    by: By::Handoff,
                    version: Some(taken.version),
                    kind: Some(taken.kind),
                }),
            }
        }
    }
    let outputs = handoff.output_keys.as_ref().map(crate::json::Json::to_value);
    let names: Vec<Value> = match outputs {
        Some(Value::Array(names)) => names,
        Some(Value::Object(names)) => names.into_iter().map(|(_, name)| name).collect(),
        Some(_) | None => Vec::new(),
    };
    for name in names.iter().filter_map(Value::as_str).filter(|name| is_wanted(name)) {
        if split_name(name).is_some() {
            let known = all.entry(name.to_owned()).or_default();
            known.writers.insert(handoff.from.to_string());
        }
    }
}

/// The keys that patterns select: a literal name, or existing keys that match.
fn meant(
    space: &Space,
    patterns: &[Pattern],
    is_wanted: &impl Fn(&str) -> bool,
    budget: &mut LookupBudget,
) -> Result<BTreeSet<String>, Rejection> {
    let mut keys = BTreeSet::new();
    for pattern in patterns {
        if let Some(exact) = pattern.is_exact() {
            keys.extend(split_name(exact).filter(|_| is_wanted(exact)).map(|_| exact.to_owned()));
            continue;
        }
        for (namespace, entries) in space.state.namespaces() {
            if !pattern.reaches(&format!("{namespace}/")) {
                continue;
            }
            for entry in entries {
                budget.at(1)?;
                let name = format!("{namespace}/{}", entry.key());
                if pattern.matches(&name) && is_wanted(&name) {
                    keys.insert(name);
                }
            }
        }
    }
    Ok(keys)
}

/// A page of contracts, by key.
pub fn show(
    space: &Space,
    pattern: Option<&Pattern>,
    limit: Option<usize>,
    cursor: Option<&str>,
) -> Result<Reply, Rejection> {
    let limit = limit.unwrap_or(limits::PAGE_DEFAULT);
    if !(1..=limits::PAGE_MAX).contains(&limit) {
        return Err(Rejection::LimitOutOfRange { given: limit, max: limits::PAGE_MAX });
    }
    let all = gather(space, |name| {
        pattern.is_none_or(|pattern| pattern.matches(name))
            && cursor.is_none_or(|cursor| name > cursor)
    })?;
    let more = all.len() > limit;
    let contracts: Vec<_> =
        all.into_iter().take(limit).map(|(key, known)| contract(space, key, known)).collect();
    let cursor = contracts.last().filter(|_| more).map(|last| last.key.clone());
    Ok(Reply::Contracts { contracts, cursor })
}

fn contract(space: &Space, key: String, known: KeyUsage) -> Contract {
    let KeyUsage { readers, mut writers, .. } = known;
    let entry = entry(space, &key);
    writers.extend(entry.as_ref().map(|entry| entry.updated_by().to_string()));
    let present =
        entry.map(|entry| PresentKey { version: entry.version(), kind: Shape::of(entry.value()) });
    Contract { key, writers: writers.into_iter().collect(), readers, present }
}

//! The plan of a synchronization: the changes of another copy to take, and the decisions of
//! conflicts.

use std::collections::BTreeMap;

use super::combine::combine;
use super::document::{CopyChanges, EntryChange, NamespaceChange, Written};
use super::report::{Choice, Conflict, Decision, How, SyncOutcome, Won};
use crate::json::Json;
use crate::limits;
use crate::names::{Key, NamespaceName};
use crate::namespace::rules::Rules;
use crate::state::merge::Merge;
use crate::time::Timestamp;

/// The changes to make.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SyncPlan {
    /// Namespaces to change, by name.
    pub namespaces: Vec<NamespaceStep>,
    /// Entries to change, by namespace and key.
    pub entries: Vec<EntryStep>,
    /// Combined entries that this copy includes and has not changed since the other copy saw it.
    /// The other copy has compared the values: they apply if they are different.
    pub compared: Vec<EntryStep>,
    /// The outcomes.
    pub outcomes: Vec<SyncOutcome>,
    /// Conflicts that need a decision.
    pub conflicts: Vec<Conflict>,
    /// Whether the other copy has changes that are new here.
    pub is_news: bool,
}

/// A namespace as it is in the other copy.
#[derive(Clone, Debug, PartialEq)]
pub struct NamespaceStep {
    /// The name.
    pub name: NamespaceName,
    /// Its rules; none to delete it.
    pub rules: Option<Rules>,
    /// The writes that had made it.
    pub written: Written,
}

/// An entry as it will be.
#[derive(Clone, Debug, PartialEq)]
pub struct EntryStep {
    /// The namespace.
    pub namespace: NamespaceName,
    /// The key.
    pub key: Key,
    /// Its value; none to delete it.
    pub value: Option<Json>,
    /// When it expires.
    pub expires_at: Option<Timestamp>,
    /// The writes that had made it; none if it counts as a write of this copy.
    pub written: Option<Written>,
}

/// Decides what to take in of another copy's changes.
pub fn plan(ours: &CopyChanges, theirs: &CopyChanges, decisions: &[Decision]) -> SyncPlan {
    let mut plan = SyncPlan::default();
    let mut rules: BTreeMap<&NamespaceName, Option<&Rules>> =
        ours.namespaces.iter().map(|it| (&it.name, it.rules.as_ref())).collect();
    for change in &theirs.namespaces {
        plan.namespace(ours, theirs, change, &mut rules);
    }
    let place = |change: &EntryChange| (change.namespace.clone(), change.key.clone());
    let changed: BTreeMap<_, _> = ours.entries.iter().map(|it| (place(it), it)).collect();
    let chosen: BTreeMap<_, _> = decisions
        .iter()
        .rev()
        .map(|it| ((it.namespace.clone(), it.key.clone()), it.take))
        .collect();
    for their in &theirs.entries {
        let mine = changed.get(&place(their)).copied();
        if ours.knows(&their.written) {
            plan.reconcile(theirs, mine, their);
            continue;
        }
        plan.is_news = true;
        let rules = rules.get(&their.namespace).copied().flatten();
        let rules = rules.map(|rules| rules.for_key(&their.key));
        match mine.filter(|mine| !theirs.knows(&mine.written)) {
            None => {
                plan.take(their);
                plan.outcome(their, Won::Theirs, How::Newer, None);
            }
            Some(mine) if mine.is_same(their) && !adds(rule_of(rules), mine) => {
                let written = Some(mine.written.and(&their.written));
                plan.entries.push(EntryStep { written, ..step(mine) });
            }
            Some(mine) => {
                let base = if theirs.begins_after(ours) {
                    &their.was
                } else if ours.begins_after(theirs) || ours.copy < theirs.copy {
                    &mine.was
                } else {
                    &their.was
                };
                plan.decide(mine, their, base.as_ref(), rules, chosen.get(&place(their)).copied());
            }
        }
    }
    plan
}

/// The rule for a conflict.
fn rule_of(rules: Option<&Rules>) -> Merge {
    let rule = rules.and_then(|rules| rules.merge).unwrap_or_default();
    let is_append_only = rules.is_some_and(|rules| rules.append_only);
    match rule {
        Merge::Append | Merge::Union => rule,
        Merge::LastWriteWins | Merge::Reject | Merge::JsonMerge | Merge::Counter | Merge::Max => {
            if is_append_only {
                Merge::Reject
            } else {
                rule
            }
        }
    }
}

/// Whether two writes of the same value add up: both count, as two increments by one do.
fn adds(rule: Merge, change: &EntryChange) -> bool {
    change.value.is_some() && matches!(rule, Merge::Counter | Merge::Append)
}

impl SyncPlan {
    /// The rules of a namespace: the last write wins.
    fn namespace<'a>(
        &mut self,
        ours: &'a CopyChanges,
        theirs: &CopyChanges,
        change: &'a NamespaceChange,
        rules: &mut BTreeMap<&'a NamespaceName, Option<&'a Rules>>,
    ) {
        let Some(written) = change.written.as_ref() else { return };
        if ours.knows(written) {
            return self.reconcile_namespace(ours, theirs, change, rules);
        }
        self.is_news = true;
        let mine = ours.namespace(&change.name);
        let is_same = mine.is_some_and(|mine| mine.rules == change.rules);
        let mine = mine.and_then(|mine| mine.written.as_ref()).filter(|it| !theirs.knows(it));
        if is_same {
            let written = mine.map_or_else(|| written.clone(), |mine| mine.and(written));
            let (name, rules) = (change.name.clone(), change.rules.clone());
            return self.namespaces.push(NamespaceStep { name, rules, written });
        }
        let (won, by) = match mine {
            None => (Won::Theirs, How::Newer),
            Some(mine) if written.is_after(mine) => (Won::Theirs, How::LastWrite),
            Some(_) => (Won::Ours, How::LastWrite),
        };
        if won == Won::Theirs {
            rules.insert(&change.name, change.rules.as_ref());
        }
        let winner = rules.get(&change.name).copied().flatten().cloned();
        let written = mine.map_or_else(|| written.clone(), |mine| mine.and(written));
        let name = change.name.clone();
        self.namespaces.push(NamespaceStep { name, rules: winner, written });
        let namespace = change.name.clone();
        self.outcomes.push(SyncOutcome { namespace, key: None, won, by, lost: None });
    }

    /// Decides a conflict.
    fn decide(
        &mut self,
        mine: &EntryChange,
        their: &EntryChange,
        base: Option<&Json>,
        rules: Option<&Rules>,
        chosen: Option<Choice>,
    ) {
        if let Some(choice) = chosen {
            let (chosen, won, lost) = match choice {
                Choice::Ours => (mine, Won::Ours, their),
                Choice::Theirs => (their, Won::Theirs, mine),
            };
            // A decision is a write of this copy: if another was made elsewhere, that is a conflict
            // again and not two different values for ever.
            self.entries.push(EntryStep { written: None, ..step(chosen) });
            return self.outcome(their, won, How::Decision, lost.value.clone());
        }
        let rule = rule_of(rules);
        if rule == Merge::Reject {
            let (namespace, key) = (their.namespace.clone(), their.key.clone());
            let (ours, theirs) = (mine.value.clone(), their.value.clone());
            return self.conflicts.push(Conflict { namespace, key, ours, theirs });
        }
        let is_theirs_last = their.written.is_after(&mine.written);
        let (first, last) = if is_theirs_last { (mine, their) } else { (their, mine) };
        let combined = match (&first.value, &last.value) {
            (Some(first), Some(last)) => combine(rule, base, first, last),
            (Some(_), None) | (None, Some(_) | None) => None,
        };
        // Also the write that loses is included in the result: a third copy that has taken it in
        // would combine it with the winner, and this copy would not learn of that.
        let written = Some(mine.written.and(&their.written));
        if let Some(value) = combined.filter(|it| it.as_bytes().len() <= limits::VALUE_BYTES_MAX) {
            self.entries.push(EntryStep { value: Some(value), written, ..step(last) });
            return self.outcome(their, Won::Merged, How::Rule, None);
        }
        self.entries.push(EntryStep { written, ..step(last) });
        let won = if is_theirs_last { Won::Theirs } else { Won::Ours };
        self.outcome(their, won, How::LastWrite, first.value.clone());
    }

    /// Keeps the rules of one copy if both include the same writes but have combined them
    /// differently.
    fn reconcile_namespace<'a>(
        &mut self,
        ours: &CopyChanges,
        theirs: &CopyChanges,
        change: &'a NamespaceChange,
        rules: &mut BTreeMap<&'a NamespaceName, Option<&'a Rules>>,
    ) {
        let Some(their) = &change.written else { return };
        let Some(mine) = ours.namespace(&change.name) else { return };
        let is_theirs = match &mine.written {
            _ if mine.rules == change.rules => false,
            // Unchanged since the other copy saw it, so that has compared the rules.
            None => true,
            Some(written) => theirs.knows(written) && !mine.is_kept_of(change),
        };
        if !is_theirs {
            return;
        }
        self.is_news = true;
        rules.insert(&change.name, change.rules.as_ref());
        let written = mine.written.as_ref().map_or_else(|| their.clone(), |mine| mine.and(their));
        let (name, rules) = (change.name.clone(), change.rules.clone());
        self.namespaces.push(NamespaceStep { name, rules, written });
        let (namespace, won, by) = (change.name.clone(), Won::Theirs, How::Rule);
        self.outcomes.push(SyncOutcome { namespace, key: None, won, by, lost: None });
    }

    /// Keeps one of two values if both copies include the same writes but have combined them
    /// differently, such as in another order.
    fn reconcile(&mut self, theirs: &CopyChanges, mine: Option<&EntryChange>, their: &EntryChange) {
        let Some(mine) = mine else { return self.compared.push(step(their)) };
        if !theirs.knows(&mine.written) || mine.is_same(their) || mine.is_kept_of(their) {
            return;
        }
        self.is_news = true;
        let written = Some(mine.written.and(&their.written));
        self.entries.push(EntryStep { written, ..step(their) });
        self.outcome(their, Won::Theirs, How::Rule, mine.value.clone());
    }

    fn take(&mut self, their: &EntryChange) {
        self.entries.push(step(their));
    }

    fn outcome(&mut self, of: &EntryChange, won: Won, by: How, lost: Option<Json>) {
        let (namespace, key) = (of.namespace.clone(), Some(of.key.clone()));
        self.outcomes.push(SyncOutcome { namespace, key, won, by, lost });
    }
}

fn step(change: &EntryChange) -> EntryStep {
    EntryStep {
        namespace: change.namespace.clone(),
        key: change.key.clone(),
        value: change.value.clone(),
        expires_at: change.expires_at,
        written: Some(change.written.clone()),
    }
}

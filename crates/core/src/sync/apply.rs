//! Applying a plan: one commit, with the event that records it.

use std::collections::{BTreeMap, BTreeSet};

use super::document::{CopyChanges, EntryChange, Seen, Sync, TakenChange, reach};
use super::plan::{EntryStep, NamespaceStep, SyncPlan, plan};
use super::report::{How, SyncOutcome, SyncReport, Won};
use crate::event::Event;
use crate::json::Json;
use crate::limits;
use crate::names::NamespaceName;
use crate::namespace::rules::Rules;
use crate::numbers::Version;
use crate::refusal::{bad, fits, within};
use crate::space::Space;
use crate::state::{Entry, Operation, Removal};
use crate::workspace::Rejection;
use crate::{namespace, state, workspace};

/// Decides `workspace.sync`: the events, and the report.
pub(crate) fn decide(space: &Space, sync: &Sync) -> Result<(Vec<Event>, SyncReport), Rejection> {
    let Sync { theirs, ours, decisions, dry_run } = sync;
    check(theirs)?;
    check(ours)?;
    check_fit(ours, theirs)?;
    check_fresh(space, ours, theirs)?;
    let decided = decisions.len() as u64;
    within("decisions", Some(decided), 0, (0, limits::SYNC_ENTRIES_MAX as u64))?;
    let mut plan = plan(ours, theirs, decisions);
    // A page without news still brings this copy nearer to the next one.
    plan.is_news |= theirs.more && reach(&ours.seen, &theirs.copy) < theirs.revision;
    if !dry_run && !plan.conflicts.is_empty() {
        let count = plan.conflicts.len();
        plan.conflicts.truncate(limits::CONFLICTS_SHOWN_MAX);
        return Err(Rejection::SyncConflict { count, conflicts: plan.conflicts });
    }
    let mut commit = Commit { space, events: Vec::new(), taken: Vec::new(), made: BTreeSet::new() };
    commit.adopt_compared(&mut plan);
    commit.namespaces(&plan)?;
    commit.entries(&plan, theirs)?;
    commit.deletions(&mut plan);
    let mut events = commit.events;
    if plan.is_news {
        let taken = commit.taken;
        events.push(workspace::Event::Synced(synced(ours, theirs, taken)?).into());
    }
    if *dry_run {
        events.clear();
    }
    plan.outcomes.sort_by(|one, other| {
        let place = |it: &SyncOutcome| (it.namespace.clone(), it.key.clone());
        place(one).cmp(&place(other))
    });
    let report = SyncReport {
        copy: ours.copy.clone(),
        with: theirs.copy.clone(),
        workspace: theirs.workspace.clone(),
        revision: theirs.revision,
        changed: plan.is_news,
        outcomes: plan.outcomes,
        conflicts: plan.conflicts,
        others: theirs.others.clone(),
        more: theirs.more,
    };
    Ok((events, report))
}

/// Refuses a document that does not come from a copy.
fn check(document: &CopyChanges) -> Result<(), Rejection> {
    let CopyChanges { entries, namespaces, seen, seen_before, .. } = document;
    let count = |what: &'static str, given: usize, max: usize| {
        within(what, Some(given as u64), 0, (0, max as u64)).map(drop)
    };
    count("entries", entries.len(), limits::SYNC_ENTRIES_MAX)?;
    count("namespaces", namespaces.len(), limits::SYNC_ENTRIES_MAX)?;
    count("seen", seen.len().max(seen_before.len()), limits::COPIES_MAX)?;
    // Each is decided against what was there before the commit, so one change of each is allowed.
    if !namespaces.is_sorted_by(|one, next| one.name < next.name) {
        return Err(bad("namespaces", "they must be in order, each once").into());
    }
    let place = |it: &EntryChange| (it.namespace.clone(), it.key.clone());
    if !entries.is_sorted_by(|one, next| place(one) < place(next)) {
        return Err(bad("entries", "they must be in order of namespace and key, each once").into());
    }
    for change in namespaces {
        if let Some(fault) = change.rules.as_ref().and_then(Rules::fault) {
            return Err(bad("rules", fault).into());
        }
        if change.rules.is_none() && change.name == NamespaceName::shared() {
            return Err(bad("namespaces", "`shared` cannot be deleted").into());
        }
    }
    for entry in entries {
        let bytes = entry.value.as_ref().map_or(0, |value| value.as_bytes().len());
        fits("value", bytes, limits::VALUE_BYTES_MAX)?;
        let dots = entry.written.dots.len();
        count("dots", dots, limits::COPIES_MAX)?;
        if dots == 0 {
            return Err(bad("dots", "a change was made by at least one write").into());
        }
    }
    Ok(())
}

/// Refuses documents that do not belong together.
fn check_fit(ours: &CopyChanges, theirs: &CopyChanges) -> Result<(), Rejection> {
    if ours.copy == theirs.copy {
        return Err(Rejection::SameCopy { copy: ours.copy.clone() });
    }
    let included = ours.seen.iter().find(|seen| seen.copy == theirs.copy);
    if included.is_some_and(|included| included.revision < theirs.since) {
        let reason = "it starts after the last revision that this copy includes";
        return Err(bad("theirs", reason).into());
    }
    Ok(())
}

/// Refuses the document of this copy if what it is about has changed since.
fn check_fresh(space: &Space, ours: &CopyChanges, theirs: &CopyChanges) -> Result<(), Rejection> {
    let is_newer = |revision: u64| revision > ours.revision.0;
    let has_changed = theirs.entries.iter().any(|change| {
        match space.state.packed(&change.namespace, &change.key) {
            Some(entry) => is_newer(entry.revision()),
            None => is_newer(space.state.last_removal().0),
        }
    });
    let is_other = |name: &NamespaceName| {
        let there = space.namespace.get(name);
        let listed = ours.namespace(name).and_then(|it| it.rules.as_ref());
        there.map(|it| &it.rules) != listed || there.is_some_and(|it| is_newer(it.revision.0))
    };
    let names = theirs.namespaces.iter().map(|it| &it.name);
    let mut names = names.chain(theirs.entries.iter().map(|it| &it.namespace));
    if ours.seen != space.workspace.seen() || has_changed || names.any(is_other) {
        return Err(Rejection::SyncStale { revision: ours.revision, newest: space.revision() });
    }
    Ok(())
}

/// The record of what was taken in.
fn synced(
    ours: &CopyChanges,
    theirs: &CopyChanges,
    taken: Vec<TakenChange>,
) -> Result<workspace::Synced, Rejection> {
    let own = Seen { copy: theirs.copy.clone(), revision: theirs.revision, time: theirs.time };
    let mut seen: BTreeMap<_, Seen> = BTreeMap::new();
    let all = ours.seen.iter().chain(&theirs.seen).chain([&own]);
    for there in all.filter(|there| there.copy != ours.copy) {
        let known = seen.entry(there.copy.clone()).or_insert_with(|| there.clone());
        if known.revision < there.revision {
            *known = there.clone();
        }
    }
    let seen: Vec<Seen> = seen.into_values().collect();
    within("seen", Some(seen.len() as u64), 0, (0, limits::COPIES_MAX as u64))?;
    let (with, copy, up_to) = (theirs.workspace.clone(), theirs.copy.clone(), theirs.revision);
    Ok(workspace::Synced { with, copy, up_to, seen, taken })
}

/// The events of a plan.
struct Commit<'a> {
    space: &'a Space,
    events: Vec<Event>,
    taken: Vec<TakenChange>,
    /// Namespaces that it creates.
    made: BTreeSet<NamespaceName>,
}

impl Commit<'_> {
    /// Creates and configures namespaces, before there are entries in them.
    fn namespaces(&mut self, plan: &SyncPlan) -> Result<(), Rejection> {
        for NamespaceStep { name, rules, written } in &plan.namespaces {
            let Some(rules) = rules else { continue };
            let there = self.space.namespace.get(name);
            if there.is_none_or(|there| there.rules != *rules) {
                self.ensure(name, rules, true)?;
            }
            let (namespace, written) = (name.clone(), written.clone());
            self.taken.push(TakenChange { namespace, key: None, written });
        }
        Ok(())
    }

    /// A namespace exists, with these rules if they are to be set.
    fn ensure(
        &mut self,
        name: &NamespaceName,
        rules: &Rules,
        configures: bool,
    ) -> Result<(), Rejection> {
        let there = self.space.namespace.get(name);
        let (name, rules) = (name.clone(), rules.clone());
        match there {
            None if self.made.insert(name.clone()) => {
                let count = (self.space.namespace.len() + self.made.len()) as u64;
                within("namespaces", Some(count), 0, (0, limits::NAMESPACES_MAX as u64))?;
                self.events.push(namespace::Event::Created { name, rules }.into());
            }
            Some(_) if configures => {
                self.events.push(namespace::Event::Configured { name, rules }.into());
            }
            None | Some(_) => {}
        }
        Ok(())
    }

    /// Adds the values that the other copy has compared with those of this one, where they differ.
    fn adopt_compared(&self, plan: &mut SyncPlan) {
        for step in std::mem::take(&mut plan.compared) {
            let current = self.space.state.entry(&step.namespace, &step.key);
            if self.is_there(&step) || current.as_ref().is_some_and(Entry::is_ephemeral) {
                continue;
            }
            let (namespace, key) = (step.namespace.clone(), Some(step.key.clone()));
            let lost = current.map(|entry| entry.json());
            let (won, by) = (Won::Theirs, How::Rule);
            plan.outcomes.push(SyncOutcome { namespace, key, won, by, lost });
            plan.entries.push(step);
            plan.is_news = true;
        }
    }

    fn entries(&mut self, plan: &SyncPlan, theirs: &CopyChanges) -> Result<(), Rejection> {
        for step in &plan.entries {
            let EntryStep { namespace, key, written, .. } = step;
            // An entry of a session is of this copy alone.
            let is_own = self.space.state.entry(namespace, key).is_some_and(|it| it.is_ephemeral());
            // A value that is already the same is not written again, but counts as the other write,
            // too: a third copy learns of it from here.
            if !is_own && (written.is_none() || !self.is_there(step)) {
                self.entry(step, theirs)?;
            }
            if let Some(written) = written.clone() {
                let (namespace, key) = (namespace.clone(), Some(key.clone()));
                self.taken.push(TakenChange { namespace, key, written });
            }
        }
        Ok(())
    }

    /// Whether the entry is already as it will be.
    fn is_there(&self, step: &EntryStep) -> bool {
        let current = self.space.state.entry(&step.namespace, &step.key);
        match (current, &step.value) {
            (None, None) => true,
            (Some(entry), Some(value)) => {
                entry.json().same_value(value) && entry.expires_at() == step.expires_at
            }
            (None, Some(_)) | (Some(_), None) => false,
        }
    }

    fn entry(&mut self, step: &EntryStep, theirs: &CopyChanges) -> Result<(), Rejection> {
        let EntryStep { namespace, key, value, expires_at, .. } = step;
        let table = &self.space.state;
        let current = table.packed(namespace, key);
        let Some(value) = value else {
            let Some(entry) = current else { return Ok(()) };
            let (namespace, key) = (namespace.clone(), key.clone());
            let (version, removal) = (Version(entry.version().into()), Removal::Synced);
            self.events.push(state::Event::Deleted { namespace, key, version, removal }.into());
            return Ok(());
        };
        let listed = theirs.namespace(namespace).and_then(|it| it.rules.clone());
        self.ensure(namespace, &listed.unwrap_or_default(), false)?;
        let before = table.last_version(namespace, key, current);
        let Some(version) = before.checked_add(1) else {
            let reason = format!("`{namespace}/{key}` has no version left");
            return Err(bad("entries", reason).into());
        };
        let event = state::Event::Set {
            namespace: namespace.clone(),
            key: key.clone(),
            value: Json::clone(value),
            version: Version(version.into()),
            operation: Operation::Synced,
            expires_at: *expires_at,
            bound_to: None,
            source: None,
        };
        self.events.push(event.into());
        Ok(())
    }

    /// Deletes namespaces that have no entries left. One that has is written anew, so that the
    /// other copy gets it back.
    fn deletions(&mut self, plan: &mut SyncPlan) {
        for NamespaceStep { name, rules, written } in &plan.namespaces {
            if rules.is_some() {
                continue;
            }
            let Some(there) = self.space.namespace.get(name) else {
                let (namespace, written) = (name.clone(), written.clone());
                self.taken.push(TakenChange { namespace, key: None, written });
                continue;
            };
            let steps = plan.entries.iter().filter(|step| step.namespace == *name);
            let mut keys: BTreeSet<_> = self.space.state.keys(name).into_iter().collect();
            for step in steps {
                match step.value {
                    Some(_) => keys.insert(step.key.clone()),
                    None => keys.remove(&step.key),
                };
            }
            let namespace = name.clone();
            if keys.is_empty() {
                let event = namespace::Event::Deleted { name: name.clone() };
                self.events.push(event.into());
                let written = written.clone();
                self.taken.push(TakenChange { namespace, key: None, written });
                continue;
            }
            let (name, rules) = (name.clone(), there.rules.clone());
            self.events.push(namespace::Event::Configured { name, rules }.into());
            plan.outcomes.retain(|it| it.namespace != namespace || it.key.is_some());
            let (won, by) = (Won::Ours, How::InUse);
            plan.outcomes.push(SyncOutcome { namespace, key: None, won, by, lost: None });
        }
    }
}

//! The view that hand-offs get of a space: nearly all of it, since they move it.

use std::collections::BTreeSet;

use super::tables::TablesView;
use super::{CommitEffort, RulesTooCostly, Space};
use crate::agent::Status;
use crate::event::Event;
use crate::handoff::{Chosen, Moved, Rejection, Selected, View};
use crate::limits;
use crate::names::{AgentId, KeyName, NamespaceName, TaskId};
use crate::namespace::rules::Rules;
use crate::numbers::Token;
use crate::pattern::Pattern;
use crate::rule::{Judgement, Proposal, Receiver};
use crate::space::stamp::Stamp;
use crate::task::{Record, Task};
use crate::{namespace, state};

/// A view of the whole space.
pub(crate) struct SpaceView<'a> {
    space: &'a Space,
    effort: &'a CommitEffort,
}

impl<'a> SpaceView<'a> {
    /// A view with what the checks of a commit may still cost.
    pub(crate) fn new(space: &'a Space, effort: &'a CommitEffort) -> Self {
        Self { space, effort }
    }
}

impl View for SpaceView<'_> {
    fn task(&self, task: &TaskId) -> Option<&Record> {
        self.space.task.get(task)
    }

    fn shown(&self, task: &TaskId) -> Option<Task> {
        self.space.task.shown(task, Vec::new())
    }

    fn agent(&self, agent: &AgentId) -> Option<Receiver<'_>> {
        let agent = self.space.agent.get(agent)?;
        let (is_active, capabilities) = (agent.status == Status::Active, &agent.capabilities);
        Some(Receiver { is_active, capabilities })
    }

    fn has_capable(&self, capability: &str) -> bool {
        self.space.agent.capable(capability).next().is_some()
    }

    fn chosen(&self, keys: &[Selected]) -> Result<Vec<Chosen>, Rejection> {
        if keys.iter().all(|selected| pattern_of(selected).is_none()) {
            let entries = self.space.state.find_all(keys.iter().map(|selected| &selected.name));
            let chosen =
                |(selected, entry): (&Selected, _)| Chosen { selected: selected.clone(), entry };
            return Ok(keys.iter().zip(entries).map(chosen).collect());
        }
        resolved(self.space, keys)
    }

    fn held_by(&self, agent: &AgentId) -> Vec<(TaskId, Token)> {
        let held = self.space.task.held_by(agent);
        held.filter_map(|record| Some((record.id.clone(), record.lease.as_ref()?.token))).collect()
    }

    fn has_rules(&self) -> bool {
        !self.space.rule.is_empty()
    }

    fn has_expressions(&self) -> bool {
        self.space.rule.has_expressions()
    }

    fn reads_for_rules(&self, bytes: usize) -> Result<(), RulesTooCostly> {
        self.effort.take_bytes(bytes)
    }

    fn judge(&self, proposal: &Proposal<'_>) -> Result<Judgement, RulesTooCostly> {
        self.space.rule.judge(proposal, self.effort)
    }

    fn transfer(
        &self,
        transfer: state::Transfer,
        stamp: &Stamp,
    ) -> Result<Moved, state::Rejection> {
        let to_namespace = transfer.to_namespace.clone();
        let full = || state::Rejection::UnknownNamespace { namespace: to_namespace.clone() };
        let ensured = namespace::ensure(&self.space.namespace, to_namespace.clone());
        let ensured = ensured.map_err(|_| full())?;
        let view = TablesView::of(self.space);
        let view = TransferView { view, namespace: &to_namespace, rules: Rules::default() };
        // At most one namespace; and each entry is set there and deleted here.
        let count = transfer.keys.as_ref().map_or(0, Vec::len);
        let mut moved = Moved::with_capacity(1 + 2 * count);
        moved.extend(ensured.into_iter().map(Event::Namespace));
        let happen = &mut |event| moved.push(Event::State(event));
        let transfer = state::Command::Transfer(transfer);
        let effort = self.effort.schemas();
        state::decide(&self.space.state, &view, transfer, stamp, effort, happen)?;
        Ok(moved)
    }
}

/// The pattern of a selection; none if it names a key. One that was recorded before there were
/// patterns may be none.
fn pattern_of(selected: &Selected) -> Option<Pattern> {
    selected.pattern().ok().flatten()
}

/// The named keys, and those that match the patterns and are not named.
fn resolved(space: &Space, keys: &[Selected]) -> Result<Vec<Chosen>, Rejection> {
    let named = keys.iter().filter(|selected| pattern_of(selected).is_none());
    let mut known: BTreeSet<KeyName> = named.map(|selected| selected.name.clone()).collect();
    let mut chosen: Vec<Chosen> = Vec::new();
    let mut examined = 0;
    for selected in keys {
        let name = &selected.name;
        let Some(pattern) = pattern_of(selected) else {
            chosen.push(Chosen { selected: selected.clone(), entry: space.state.find(name) });
            continue;
        };
        let too_many = |what, max| Rejection::TooManyKeys { pattern: name.to_string(), what, max };
        let namespace = NamespaceName::parse(name.namespace()).expect("it was checked before");
        let prefix = Some(pattern.literal_prefix().to_owned());
        let list = state::List { prefix, ..state::List::all(namespace.clone()) };
        for entry in space.state.listed(&list) {
            examined += 1;
            if examined > limits::HANDOFF_KEYS_EXAMINED_MAX {
                return Err(too_many("are compared", limits::HANDOFF_KEYS_EXAMINED_MAX));
            }
            if !pattern.matches(entry.key()) {
                continue;
            }
            let found = format!("{namespace}/{}", entry.key());
            let found = Selected::parse(&found).expect("keys are checked before they are stored");
            if known.insert(found.name.clone()) {
                let entry = Some(space.state.shown(&namespace, entry));
                chosen.push(Chosen { selected: found, entry });
            }
            if chosen.len() > limits::HANDOFF_KEYS_MAX {
                return Err(too_many("are selected", limits::HANDOFF_KEYS_MAX));
            }
        }
    }
    Ok(chosen)
}

/// A view as if the namespace of the receiver existed already: it will, in the same commit.
struct TransferView<'a> {
    view: TablesView<'a>,
    namespace: &'a NamespaceName,
    rules: Rules,
}

impl state::View for TransferView<'_> {
    fn rules(&self, namespace: &NamespaceName) -> Option<&Rules> {
        let there = self.view.rules(namespace);
        there.or_else(|| (namespace == self.namespace).then_some(&self.rules))
    }

    fn has_session(&self, agent: &AgentId) -> bool {
        self.view.has_session(agent)
    }
}

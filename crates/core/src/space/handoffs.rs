//! The view that hand-offs get of a space: nearly all of it, since they move it.

use super::Space;
use super::tables::TablesView;
use crate::agent::Status;
use crate::event::Event;
use crate::handoff::Selected;
use crate::handoff::{Moved, View};
use crate::names::{AgentId, Key, NamespaceName, TaskId};
use crate::namespace::rules::Rules;
use crate::rule::{Judgement, Proposal, Receiver};
use crate::space::stamp::Stamp;
use crate::state::Entry;
use crate::task::{Record, Task};
use crate::{namespace, state};

/// A view of the whole space.
pub(crate) struct SpaceView<'a>(pub(crate) &'a Space);

impl View for SpaceView<'_> {
    fn task(&self, task: &TaskId) -> Option<&Record> {
        self.0.task.get(task)
    }

    fn shown(&self, task: &TaskId) -> Option<Task> {
        self.0.task.shown(task, Vec::new())
    }

    fn agent(&self, agent: &AgentId) -> Option<Receiver<'_>> {
        let agent = self.0.agent.get(agent)?;
        let (is_active, capabilities) = (agent.status == Status::Active, &agent.capabilities);
        Some(Receiver { is_active, capabilities })
    }

    fn has_capable(&self, capability: &str) -> bool {
        let mut agents = self.0.agent.after(None);
        agents
            .any(|agent| agent.status == Status::Active && agent.capabilities.contains(capability))
    }

    fn entries(&self, keys: &[Selected]) -> Vec<Option<Entry>> {
        self.0.state.find_all(keys.iter().map(|selected| &selected.name))
    }

    fn has_rules(&self) -> bool {
        !self.0.rule.is_empty()
    }

    fn judge(&self, proposal: &Proposal<'_>) -> Judgement {
        self.0.rule.judge(proposal)
    }

    fn transfer(
        &self,
        from: &AgentId,
        to: &AgentId,
        keys: Vec<Key>,
        overwrite: bool,
        stamp: &Stamp,
    ) -> Result<Moved, state::Rejection> {
        let to_namespace = NamespaceName::of_agent(to);
        let ensure = namespace::Command::Ensure { name: to_namespace.clone() };
        let full = || state::Rejection::UnknownNamespace { namespace: to_namespace.clone() };
        let ensured = namespace::decide(&self.0.namespace, ensure).map_err(|_| full())?;
        let view = TablesView::of(self.0);
        let view = TransferView { view, namespace: &to_namespace, rules: Rules::default() };
        // At most one namespace; and each entry is set there and deleted here.
        let mut moved = Moved::with_capacity(1 + 2 * keys.len());
        moved.extend(ensured.events.into_iter().map(Event::Namespace));
        let transfer = state::Transfer {
            from_namespace: NamespaceName::of_agent(from),
            to_namespace: to_namespace.clone(),
            keys: Some(keys),
            overwrite,
        };
        let happen = &mut |event| moved.push(Event::State(event));
        state::decide(&self.0.state, &view, state::Command::Transfer(transfer), stamp, happen)?;
        Ok(moved)
    }
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

//! The table of namespaces.

use std::collections::BTreeMap;
use std::ops::Bound;

use super::vocabulary::{Event, Namespace};
use crate::names::{AgentId, NamespaceName};
use crate::namespace::rules::Rules;
use crate::numbers::Revision;
use crate::primitive;
use crate::space::batch::Moment;
use crate::time::Timestamp;

/// All namespaces of a workspace. Changes only by `Table::evolve` and `Table::undo`.
pub struct Table {
    by_name: BTreeMap<NamespaceName, Namespace>,
}

/// How to undo one change: the previous namespace.
pub struct Undo {
    name: NamespaceName,
    before: Option<Namespace>,
}

impl Default for Table {
    fn default() -> Self {
        let shared = Namespace {
            name: NamespaceName::shared(),
            rules: Rules::default(),
            created_at: Timestamp::default(),
            created_by: AgentId::engine(),
            revision: Revision::default(),
        };
        Self { by_name: BTreeMap::from([(shared.name.clone(), shared)]) }
    }
}

impl primitive::Table for Table {
    type Event = Event;
    type Undo = Undo;
    type Facts = Vec<Namespace>;

    fn evolve(&mut self, event: &Event, moment: &Moment<'_>) -> Undo {
        let name = event.name().clone();
        let before = match event {
            Event::Created { name, rules } => {
                let namespace = Namespace {
                    name: name.clone(),
                    rules: rules.clone(),
                    created_at: moment.time,
                    created_by: moment.agent.clone(),
                    revision: moment.revision,
                };
                let before = self.by_name.insert(name.clone(), namespace);
                assert!(before.is_none(), "a namespace is created once");
                before
            }
            Event::Configured { name, rules } => {
                let namespace = self.by_name.get_mut(name).expect("a configured namespace exists");
                let before = namespace.clone();
                namespace.rules = rules.clone();
                namespace.revision = moment.revision;
                Some(before)
            }
            Event::Deleted { name } => self.by_name.remove(name),
        };
        Undo { name, before }
    }

    fn undo(&mut self, undo: Undo) {
        match undo.before {
            Some(namespace) => self.by_name.insert(undo.name, namespace),
            None => self.by_name.remove(&undo.name),
        };
    }

    fn facts(&self) -> Vec<Namespace> {
        self.after(None).cloned().collect()
    }

    fn restore(namespaces: Self::Facts) -> Self {
        let named = namespaces.into_iter().map(|namespace| (namespace.name.clone(), namespace));
        Self { by_name: named.collect() }
    }

    fn check(&self) {
        assert!(self.by_name.contains_key(&NamespaceName::shared()), "`shared` is always there");
        for (name, namespace) in &self.by_name {
            assert_eq!(*name, namespace.name);
            assert_eq!(namespace.rules.fault(), None, "rules make sense");
        }
    }
}

impl Table {
    /// A namespace.
    pub fn get(&self, name: &NamespaceName) -> Option<&Namespace> {
        self.by_name.get(name)
    }

    /// A namespace, by a text that may be its name.
    pub fn get_by(&self, name: &str) -> Option<&Namespace> {
        self.by_name.get(name)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.by_name.len()
    }

    /// Always false: `shared` always exists.
    pub fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }

    /// Namespaces by name, after this one.
    pub fn after(&self, cursor: Option<&NamespaceName>) -> impl Iterator<Item = &Namespace> {
        let from = cursor.map_or(Bound::Unbounded, Bound::Excluded);
        self.by_name.range::<NamespaceName, _>((from, Bound::Unbounded)).map(|(_, there)| there)
    }
}

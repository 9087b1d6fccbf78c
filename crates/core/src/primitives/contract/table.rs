//! The table of contracts.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use super::terms::Terms;
use super::vocabulary::{Declaration, Event};
use crate::limits;
use crate::names::ContractName;
use crate::primitive;
use crate::space::batch::Moment;

/// Terms: the contract, and which of its keys.
type TermsKey = (ContractName, usize);

/// All contracts of a workspace. Changes only by `Table::evolve` and `Table::undo`.
#[derive(Default)]
pub struct Table {
    by_name: BTreeMap<ContractName, Declaration>,
    /// The terms about one key, by `namespace/key`.
    exact: BTreeMap<String, BTreeSet<TermsKey>>,
    /// The terms about patterns of keys.
    wild: BTreeSet<TermsKey>,
}

/// How to undo one change: the previous contract; none if nothing changed.
pub struct Undo(Option<(ContractName, Option<Box<Declaration>>)>);

impl primitive::Table for Table {
    type Event = Event;
    type Undo = Undo;
    type Facts = Vec<Declaration>;

    fn evolve(&mut self, event: &Event, moment: &Moment<'_>) -> Undo {
        let (name, after) = match event {
            Event::Declared { name, keys, on_break, replaced } => {
                assert_eq!(self.get(name).is_some(), *replaced, "what is replaced was there");
                let declaration = Declaration {
                    name: name.clone(),
                    owner: moment.agent.clone(),
                    keys: keys.clone(),
                    on_break: *on_break,
                    declared_at: moment.time,
                    revision: moment.revision,
                };
                (name, Some(declaration))
            }
            Event::Deleted { name } => (name, None),
            Event::Broken { .. } => return Undo(None),
        };
        let before = self.replace(name, after);
        Undo(Some((name.clone(), before.map(Box::new))))
    }

    fn undo(&mut self, undo: Undo) {
        if let Some((name, before)) = undo.0 {
            self.replace(&name, before.map(|before| *before));
        }
    }

    fn facts(&self) -> Vec<Declaration> {
        self.after(None).cloned().collect()
    }

    fn restore(declarations: Self::Facts) -> Self {
        #[cfg(feature = "planted")]
        let declarations = if crate::planted::is("contract.lost_in_a_snapshot") {
            Vec::new()
        } else {
            declarations
        };
        let mut table = Self::default();
        for declaration in declarations {
            let name = declaration.name.clone();
            table.replace(&name, Some(declaration));
        }
        table
    }

    fn check(&self) {
        assert!(self.by_name.len() <= limits::CONTRACTS_MAX, "every contract may concern a write");
        assert!(self.wild.len() <= limits::CONTRACT_PATTERNS_MAX, "every write matches them all");
        let mut count = 0;
        for (name, declaration) in &self.by_name {
            assert_eq!(*name, declaration.name);
            for (index, terms) in declaration.keys.iter().enumerate() {
                let place = (name.clone(), index);
                assert!(self.places(terms).is_some_and(|there| there.contains(&place)));
            }
            count += declaration.keys.len();
        }
        let indexed = self.exact.values().map(BTreeSet::len).sum::<usize>() + self.wild.len();
        assert_eq!(indexed, count, "the index has no other terms");
    }
}

impl Table {
    fn replace(&mut self, name: &ContractName, after: Option<Declaration>) -> Option<Declaration> {
        let before = self.by_name.remove(name);
        for (index, terms) in before.iter().flat_map(|it| it.keys.iter().enumerate()) {
            let place = (name.clone(), index);
            let Some(key) = terms.key.is_exact() else {
                self.wild.remove(&place);
                continue;
            };
            if let Some(places) = self.exact.get_mut(key) {
                places.remove(&place);
                if places.is_empty() {
                    self.exact.remove(key);
                }
            }
        }
        for (index, terms) in after.iter().flat_map(|it| it.keys.iter().enumerate()) {
            let place = (name.clone(), index);
            match terms.key.is_exact() {
                Some(key) => self.exact.entry(key.to_owned()).or_default().insert(place),
                None => self.wild.insert(place),
            };
        }
        if let Some(after) = after {
            self.by_name.insert(name.clone(), after);
        }
        before
    }

    fn places(&self, terms: &Terms) -> Option<&BTreeSet<TermsKey>> {
        match terms.key.is_exact() {
            Some(key) => self.exact.get(key),
            None => Some(&self.wild),
        }
    }

    fn terms(&self, (name, index): &TermsKey) -> (&Declaration, &Terms) {
        let declaration = &self.by_name[name];
        (declaration, &declaration.keys[*index])
    }

    /// The terms that concern a key, `namespace/key`, by contract.
    pub(crate) fn concerning(&self, key: &str) -> Vec<(&Declaration, &Terms)> {
        let exact = self.exact.get(key).into_iter().flatten();
        let wild = self.wild.iter().filter(|place| self.terms(place).1.key.matches(key));
        let places: BTreeSet<&TermsKey> = exact.chain(wild).collect();
        places.into_iter().map(|place| self.terms(place)).collect()
    }

    /// The terms that may concern keys of a namespace, by contract.
    pub(crate) fn reaching(&self, namespace: &str) -> Vec<(&Declaration, &Terms)> {
        let prefix = format!("{namespace}/");
        let after =
            self.exact.range::<str, _>((Bound::Included(prefix.as_str()), Bound::Unbounded));
        let exact = after.take_while(|(key, _)| key.starts_with(&prefix)).flat_map(|(_, it)| it);
        let wild = self.wild.iter().filter(|place| self.terms(place).1.key.reaches(&prefix));
        let places: BTreeSet<&TermsKey> = exact.chain(wild).collect();
        places.into_iter().map(|place| self.terms(place)).collect()
    }

    /// A contract.
    pub fn get(&self, name: &ContractName) -> Option<&Declaration> {
        self.by_name.get(name)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.by_name.len()
    }

    /// Whether there is none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }

    /// How many patterns with wildcards they have.
    pub(crate) fn patterns(&self) -> usize {
        self.wild.len()
    }

    /// Contracts by name, after this one.
    pub fn after(&self, cursor: Option<&ContractName>) -> impl Iterator<Item = &Declaration> {
        let from = cursor.map_or(Bound::Unbounded, Bound::Excluded);
        self.by_name.range::<ContractName, _>((from, Bound::Unbounded)).map(|(_, there)| there)
    }
}

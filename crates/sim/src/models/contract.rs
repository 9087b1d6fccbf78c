//! Checks that queries about contracts return the readers of a key, and its current state.
//!
//! 1. The receiver of a key in a hand-off reads it.
//! 2. A key is returned as it is, and its last author is among its writers.
//! 3. A key is reported as missing only if it is, and as retyped only if it exists.
//!
//! Deliberately absent: what rules and stages require, which is returned as it was given.

use std::collections::BTreeSet;

use baton_core::NamespaceName;
use baton_core::contract::{Query, Reply};
use baton_core::contracts::{By, Contract, ContractProblem, Trouble};

use crate::auditor::ledger::Ledger;
use crate::auditor::{Audit, Breach, demand};
use crate::models::declared::page;

impl Ledger {
    /// Checks returned contracts.
    pub(crate) fn contracts_shown(&self, query: &Query, reply: &Reply, at: u64) -> Audit {
        let (contracts, is_all) = match reply {
            Reply::Contracts { contracts, cursor } => (contracts, cursor.is_none()),
            Reply::Declarations { declarations, cursor } => {
                let Some(page) = page(query) else {
                    return Err(Breach("keys were requested, not what is declared".to_owned()));
                };
                return self.contracts_listed(page, declarations, cursor.as_ref(), at);
            }
            Reply::Declaration(_) => return Err(Breach("a query changed nothing".to_owned())),
            Reply::Problems { problems } => {
                return problems.iter().try_for_each(|problem| self.is_trouble(problem, at));
            }
        };
        let mut untold = self.got(at);
        for contract in contracts {
            self.contract_shown(contract, at)?;
            for reader in contract.readers.iter().filter(|reader| reader.by == By::Handoff) {
                let (key, who) = (contract.key.clone(), reader.who.clone());
                demand!(
                    untold.remove(&(key, who)),
                    "it was not handed over: {reader:?} in {contract:?}"
                );
            }
        }
        demand!(!is_all || untold.is_empty(), "received keys that are not listed: {untold:?}");
        Ok(())
    }

    /// The keys that were received by hand-offs, and their receivers.
    fn got(&self, at: u64) -> BTreeSet<(String, String)> {
        let mut got = BTreeSet::new();
        for handoff in self.handoffs.all_at(at) {
            let (Some(receiver), Some(receipt)) = (&handoff.receiver, &handoff.receipt) else {
                continue;
            };
            for taken in &receipt.keys {
                let key = if taken.moved || taken.copied {
                    format!("{}/{}", NamespaceName::of_agent(receiver), taken.key.key())
                } else {
                    taken.key.to_string()
                };
                got.insert((key, receiver.to_string()));
            }
        }
        got
    }

    fn contract_shown(&self, contract: &Contract, at: u64) -> Audit {
        let fact = self.named(&contract.key, at);
        let version = contract.present.as_ref().map(|present| present.version.0);
        demand!(version == fact.map(|fact| fact.version), "it is {fact:?}: {contract:?}");
        let is_writer = fact.is_none_or(|it| contract.writers.contains(&it.agent.to_string()));
        demand!(is_writer, "{fact:?} was written by another agent: {contract:?}");
        Ok(())
    }

    fn is_trouble(&self, problem: &ContractProblem, at: u64) -> Audit {
        let is_there = self.named(&problem.key, at).is_some();
        let fits = match problem.problem {
            Trouble::Vanished | Trouble::Renamed => !is_there,
            Trouble::Retyped | Trouble::Broken => is_there,
            Trouble::Schema => false,
        };
        demand!(fits, "{problem:?} was returned, but whether the key exists: {is_there}");
        Ok(())
    }
}

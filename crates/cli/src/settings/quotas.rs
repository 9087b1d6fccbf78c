//! Quotas: tables of the file that have names of their own.
//!
//! ```text
//!   [quota]                   every workspace
//!   [quota.workspace.NAME]    this one; what is not said here is as above
//!   [quota.token]             every token that was made without quotas of its own
//! ```
//!
//! 0 is no limit, so that one workspace may be let off what holds for all. They are in the file
//! alone: tables fit neither into an option nor into a variable.

use std::collections::BTreeMap;

use baton::Extents;
use baton_core::{Bounds, WorkspaceName};
use baton_server::{Quota, Quotas};

use super::Chosen;

/// What a number may be at most: far beyond any machine, and far from where sums overflow.
const COUNT_MAX: u64 = 1 << 50;

/// What may be limited, and whether in a workspace and for a token.
const LIMITS: [(&str, bool, bool); 6] = [
    ("operations_per_s", true, true),
    ("bytes_per_s", true, true),
    ("connections_max", false, true),
    ("watches_max", true, true),
    ("entries_max", true, false),
    ("stored_bytes_max", true, false),
];

/// Whose limits a table has.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Whose {
    EveryWorkspace,
    Workspace(WorkspaceName),
    EveryToken,
}

/// What the file says of quotas.
#[derive(Clone, Debug, Default)]
pub(crate) struct Said(BTreeMap<Whose, BTreeMap<&'static str, u64>>);

impl Whose {
    /// By the name of its table.
    pub(super) fn of(table: &str) -> Result<Self, String> {
        match table {
            "quota" => Ok(Self::EveryWorkspace),
            "quota.token" => Ok(Self::EveryToken),
            _ => match table.strip_prefix("quota.workspace.").map(WorkspaceName::parse) {
                Some(Ok(name)) => Ok(Self::Workspace(name)),
                Some(Err(error)) => Err(format!("`{table}`: {error}")),
                None => Err(format!("unknown key `{table}`")),
            },
        }
    }

    /// The name of its table.
    fn table(&self) -> String {
        match self {
            Self::EveryWorkspace => "quota".to_owned(),
            Self::EveryToken => "quota.token".to_owned(),
            Self::Workspace(name) => format!("quota.workspace.{name}"),
        }
    }

    /// What may be limited for it.
    fn limits(&self) -> impl Iterator<Item = &'static str> {
        let is_token = *self == Self::EveryToken;
        let of = move |(name, of_workspace, of_token): &(&'static str, bool, bool)| {
            (if is_token { *of_token } else { *of_workspace }).then_some(*name)
        };
        LIMITS.iter().filter_map(of)
    }
}

impl Said {
    /// Takes down a number; what is wrong with it if something is.
    pub(super) fn note(&mut self, whose: &Whose, name: &str, text: &str) -> Result<(), String> {
        let full = format!("{}.{name}", whose.table());
        let Some(limit) = whose.limits().find(|limit| *limit == name) else {
            let known: Vec<_> = whose.limits().collect();
            return Err(format!("unknown key `{full}`; known are {}", known.join(", ")));
        };
        let count = text.parse().ok().filter(|count| *count <= COUNT_MAX);
        let count = count
            .ok_or_else(|| format!("`{full}`: `{text}` is no number from 0 to {COUNT_MAX}"))?;
        self.0.entry(whose.clone()).or_default().insert(limit, count);
        Ok(())
    }

    /// All of it as lines, for whoever wants to see what is in force.
    pub(super) fn chosen(&self, from: &str) -> Vec<Chosen> {
        let lines = self.0.iter().flat_map(|(whose, limits)| {
            limits.iter().map(|(name, count)| Chosen {
                key: format!("{}.{name}", whose.table()).into(),
                value: count.to_string(),
                from: from.to_owned(),
            })
        });
        lines.collect()
    }

    fn get(&self, whose: &Whose, limit: &str) -> Option<u64> {
        self.0.get(whose)?.get(limit).copied()
    }

    /// What holds, after what holds for every workspace.
    fn of(&self, whose: &Whose) -> (Quota, Bounds) {
        let get = |limit: &str| {
            let usual = || match whose {
                Whose::EveryToken => None,
                Whose::EveryWorkspace | Whose::Workspace(_) => {
                    self.get(&Whose::EveryWorkspace, limit)
                }
            };
            self.get(whose, limit).or_else(usual).filter(|count| *count > 0)
        };
        let quota = Quota {
            operations_per_s: get("operations_per_s"),
            bytes_per_s: get("bytes_per_s"),
            connections_max: get("connections_max"),
            watches_max: get("watches_max"),
        };
        let bounds = Bounds { entries_max: get("entries_max"), bytes_max: get("stored_bytes_max") };
        (quota, bounds)
    }

    /// For the doors, and for the engine.
    pub(crate) fn resolved(&self) -> (Quotas, Extents) {
        let (workspace, usual) = self.of(&Whose::EveryWorkspace);
        let (token, _) = self.of(&Whose::EveryToken);
        let mut quotas = Quotas { workspace, token, ..Quotas::default() };
        let mut extents = Extents { usual: Some(usual), ..Extents::default() };
        for whose in self.0.keys() {
            let Whose::Workspace(name) = whose else { continue };
            let (quota, bounds) = self.of(whose);
            quotas.workspaces.insert(name.clone(), quota);
            extents.named.insert(name.clone(), bounds);
        }
        (quotas, extents)
    }
}

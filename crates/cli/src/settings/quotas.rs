//! Quotas: tables in the configuration file.
//!
//! ```text
//!   [quota]                   every workspace
//!   [quota.workspace.NAME]    one workspace; limits not given here are as above
//!   [quota.token]             every token without its own quotas
//! ```
//!
//! 0 means no limit, so that one workspace can be exempt. Quotas can only be set in the file:
//! tables fit neither into an option nor into a variable.

use std::collections::BTreeMap;

use baton::Extents;
use baton_core::{StorageQuota, WorkspaceName};
use baton_server::{Quota, Quotas};

use super::Chosen;

/// Maximum of a limit: far beyond any machine, and far from overflow.
const COUNT_MAX: u64 = 1 << 50;

/// The limits, and whether each applies to workspaces and to tokens.
const LIMITS: [(&str, bool, bool); 7] = [
    ("operations_per_s", true, true),
    ("bytes_per_s", true, true),
    ("connections_max", false, true),
    ("watches_max", true, true),
    ("entries_max", true, false),
    ("stored_bytes_max", true, false),
    ("history_bytes_max", true, false),
];

/// The scope of a table of limits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Scope {
    EveryWorkspace,
    Workspace(WorkspaceName),
    EveryToken,
}

/// The quotas in the configuration file.
#[derive(Clone, Debug, Default)]
pub(crate) struct QuotaSettings(BTreeMap<Scope, BTreeMap<&'static str, u64>>);

impl Scope {
    /// The scope of a table, by its name.
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

    /// The name of the table.
    fn table(&self) -> String {
        match self {
            Self::EveryWorkspace => "quota".to_owned(),
            Self::EveryToken => "quota.token".to_owned(),
            Self::Workspace(name) => format!("quota.workspace.{name}"),
        }
    }

    /// The limits that apply to it.
    fn limits(&self) -> impl Iterator<Item = &'static str> {
        let is_token = *self == Self::EveryToken;
        let of = move |(name, of_workspace, of_token): &(&'static str, bool, bool)| {
            (if is_token { *of_token } else { *of_workspace }).then_some(*name)
        };
        LIMITS.iter().filter_map(of)
    }
}

impl QuotaSettings {
    /// Records a limit, or returns what is wrong with it.
    pub(super) fn note(&mut self, scope: &Scope, name: &str, text: &str) -> Result<(), String> {
        let full = format!("{}.{name}", scope.table());
        let Some(limit) = scope.limits().find(|limit| *limit == name) else {
            let known: Vec<_> = scope.limits().collect();
            return Err(format!("unknown key `{full}`; expected one of {}", known.join(", ")));
        };
        let count = text.parse().ok().filter(|count| *count <= COUNT_MAX);
        let count = count
            .ok_or_else(|| format!("`{full}`: `{text}` is not a number from 0 to {COUNT_MAX}"))?;
        self.0.entry(scope.clone()).or_default().insert(limit, count);
        Ok(())
    }

    /// All limits as settings, for `baton config show`.
    pub(super) fn chosen(&self, from: &str) -> Vec<Chosen> {
        let lines = self.0.iter().flat_map(|(scope, limits)| {
            limits.iter().map(|(name, count)| Chosen {
                key: format!("{}.{name}", scope.table()).into(),
                value: count.to_string(),
                from: from.to_owned(),
            })
        });
        lines.collect()
    }

    fn get(&self, scope: &Scope, limit: &str) -> Option<u64> {
        self.0.get(scope)?.get(limit).copied()
    }

    /// The effective limits: those of every workspace apply unless overridden.
    fn of(&self, scope: &Scope) -> (Quota, StorageQuota, Option<u64>) {
        let get = |limit: &str| {
            let usual = || match scope {
                Scope::EveryToken => None,
                Scope::EveryWorkspace | Scope::Workspace(_) => {
                    self.get(&Scope::EveryWorkspace, limit)
                }
            };
            self.get(scope, limit).or_else(usual).filter(|count| *count > 0)
        };
        let quota = Quota {
            operations_per_s: get("operations_per_s"),
            bytes_per_s: get("bytes_per_s"),
            connections_max: get("connections_max"),
            watches_max: get("watches_max"),
        };
        let bounds =
            StorageQuota { entries_max: get("entries_max"), bytes_max: get("stored_bytes_max") };
        (quota, bounds, get("history_bytes_max"))
    }

    /// The limits for the server and for the engine.
    pub(crate) fn resolved(&self) -> (Quotas, Extents) {
        let (workspace, usual, history_bytes_max) = self.of(&Scope::EveryWorkspace);
        let (token, ..) = self.of(&Scope::EveryToken);
        let mut quotas = Quotas { workspace, token, ..Quotas::default() };
        let mut extents = Extents { usual: Some(usual), history_bytes_max, ..Extents::default() };
        for scope in self.0.keys() {
            let Scope::Workspace(name) = scope else { continue };
            let (quota, bounds, history) = self.of(scope);
            quotas.workspaces.insert(name.clone(), quota);
            extents.named.insert(name.clone(), bounds);
            extents.history_named.insert(name.clone(), history);
        }
        (quotas, extents)
    }
}

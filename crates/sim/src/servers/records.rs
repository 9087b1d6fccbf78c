//! What has become durable in each shard, and what servers have heard of that.

use std::collections::BTreeMap;
use std::sync::Arc;

use baton::clock::Clock;
use baton::error::Error;
use baton_core::{Timestamp, WorkspaceName};
use baton_log::{AppendError, Position};

use super::Fleet;
use crate::auditor::{Audit, Ledger, demand, frames};

/// The history of a shard.
#[derive(Default)]
pub(super) struct ShardRecords {
    /// The server whose answers are compared with each other, and the number of its engine.
    pub(super) serving: Option<(usize, u64)>,
    /// Every record that was ever inserted, with the epoch of its writer.
    history: BTreeMap<Position, (i64, Arc<[u8]>)>,
    /// Records that a server has reported as not written.
    refused: Vec<(Position, Vec<i64>, Vec<u8>)>,
    epoch: i64,
    /// For how long no server has served it, though one could.
    pub(super) unserved_ms: u64,
}

impl Fleet {
    /// The shard of a workspace.
    pub(super) fn home(&self, workspace: &WorkspaceName) -> u32 {
        self.homes.get(workspace).copied().unwrap_or_default()
    }

    /// The workspaces of a shard.
    pub(super) fn workspaces_of(&self, shard: u32) -> impl Iterator<Item = &WorkspaceName> {
        self.plan.workspaces.iter().filter(move |workspace| self.home(workspace) == shard)
    }

    /// The time by the clock of the server that serves a shard.
    pub(super) fn now_of(&self, shard: u32) -> Option<Timestamp> {
        let (name, _) = self.shards[shard as usize].serving?;
        Some(self.servers[name].clock.now())
    }

    /// The ledgers of the workspaces of a shard.
    pub(super) fn ledgers_of(&mut self, shard: u32) -> impl Iterator<Item = &mut Ledger> {
        let homes = &self.homes;
        let ledgers = self.auditor.ledgers();
        let is_there = move |workspace: &WorkspaceName| homes.get(workspace) == Some(&shard);
        ledgers.filter(move |(name, _)| is_there(name)).map(|(_, ledger)| ledger)
    }

    /// The auditor receives what has become durable, and what servers have heard of their appends,
    /// and then checks the answers.
    pub(super) fn absorb(&mut self) -> Audit {
        for shard in self.numbers() {
            self.receive(shard)?;
        }
        for name in 0..self.servers.len() {
            for shard in self.servers[name].held() {
                self.hear(name, shard)?;
            }
        }
        self.resolve()?;
        for shard in self.numbers() {
            if let Some(now) = self.now_of(shard) {
                self.ledgers_of(shard).for_each(|ledger| ledger.age(now));
            }
        }
        Ok(())
    }

    /// What has become durable in a shard.
    fn receive(&mut self, shard: u32) -> Audit {
        let epoch = self.database.epoch(shard);
        let records = &mut self.shards[shard as usize];
        demand!(epoch >= records.epoch, "the epoch fell from {} to {epoch}", records.epoch);
        records.epoch = epoch;
        for appended in self.database.take_appended(shard) {
            self.trace.sum(&appended.body);
            let is_refused = |(position, epochs, body): &(Position, Vec<i64>, Vec<u8>)| {
                let is_same = *position == appended.position && epochs.contains(&appended.epoch);
                is_same && body[..] == appended.body[..]
            };
            demand!(
                !records.refused.iter().any(is_refused),
                "a record was written after it was reported as not written"
            );
            for (workspace, _) in self.auditor.record(&appended.body, &mut self.coverage)? {
                let home = self.homes.get(&workspace).copied().unwrap_or_default();
                demand!(home == shard, "`{workspace}` of shard {home} was written to {shard}");
            }
            records.history.insert(appended.position, (appended.epoch, appended.body));
        }
        Ok(())
    }

    /// What a server hears of its appends to a shard is true.
    fn hear(&mut self, name: usize, shard: u32) -> Audit {
        let Some(open) = self.servers[name].open(shard) else { return Ok(()) };
        let epochs = open.log.log.epochs();
        let records = &mut self.shards[shard as usize];
        for heard in open.log.take_heard() {
            let found = records.history.get(&heard.expected);
            let is_there = found
                .is_some_and(|(epoch, body)| epochs.contains(epoch) && body[..] == heard.body[..]);
            match heard.outcome {
                Ok(_) => {
                    demand!(is_there, "server {name}: an acknowledged record is not in the log");
                    if epochs.len() > 1 {
                        self.coverage.met("servers: resolved append");
                    }
                    for (workspace, batch) in frames(&heard.body)? {
                        let known = self.known.entry(workspace).or_default();
                        *known = batch.revision.0.max(*known);
                    }
                }
                Err(error @ AppendError::WentBack { .. }) => {
                    demand!(false, "server {name}: nothing is lost, but {error}");
                }
                Err(AppendError::Failed(_)) => self.coverage.met("servers: unknown outcome"),
                Err(error) => {
                    demand!(
                        !is_there,
                        "server {name}: a record is in the log and was reported as not written: \
                         {error}"
                    );
                    self.coverage.met("servers: fenced append");
                    records.refused.push((heard.expected, epochs.clone(), heard.body));
                }
            }
        }
        Ok(())
    }

    /// Whether a server owns a shard, by the database.
    pub(super) fn is_owner(&self, name: usize, shard: u32) -> bool {
        let epoch = self.database.epoch(shard);
        let log = self.servers[name].taken(shard);
        log.is_some_and(|log| log.epochs().last() == Some(&epoch))
    }

    /// Errors are allowed if a connection broke, or another server has taken over.
    pub(super) fn excuse(
        &mut self,
        name: usize,
        is_owner: bool,
        what: &str,
        error: &Error,
    ) -> Audit {
        let text = error.to_string();
        let is_made = ["the connection to the database broke", "belongs to another server"]
            .iter()
            .any(|made| text.contains(made));
        let is_fenced = matches!(error, Error::Fenced | Error::Away);
        let is_excused = is_made || is_fenced || !is_owner;
        demand!(is_excused, "server {name}: {what} failed although nothing is broken: {error}");
        self.trace.tell(|| format!("server {name}: {what} failed: {error}"));
        Ok(())
    }
}

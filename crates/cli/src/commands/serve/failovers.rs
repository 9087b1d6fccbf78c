//! How long shards were without service because their server was lost: from its last heartbeat
//! until this server serves them.

use std::collections::BTreeMap;
use std::time::Duration;

use baton_cluster::View;

/// The observed owners of shards.
#[derive(Default)]
pub(super) struct Failovers {
    owners: BTreeMap<u32, Owner>,
    /// Shards whose owner was lost, and when it sent its last heartbeat.
    lost_since_ms: BTreeMap<u32, u64>,
}

struct Owner {
    id: String,
    beat_at_ms: u64,
    /// A server that leaves gives its shards away, and is not lost.
    is_leaving: bool,
}

impl Failovers {
    /// Learns who owns what, and whose owner was lost.
    pub(super) fn see(&mut self, view: &View) {
        if view.is_gone {
            return *self = Self::default();
        }
        let shards = u32::try_from(view.shards.len()).unwrap_or_default();
        for shard in 0..shards {
            let Some(row) = view.owner(shard) else {
                self.lose(shard, view);
                continue;
            };
            if row.id != view.me {
                self.lost_since_ms.remove(&shard);
            }
            let (id, is_leaving) = (row.id.clone(), row.is_leaving);
            let beat_at_ms = view.looked_at_ms.saturating_sub(row.age_ms);
            self.owners.insert(shard, Owner { id, beat_at_ms, is_leaving });
        }
    }

    fn lose(&mut self, shard: u32, view: &View) {
        let Some(owner) = self.owners.remove(&shard) else { return };
        let is_there = view.servers.iter().any(|server| server.id == owner.id);
        if !is_there && !owner.is_leaving {
            self.lost_since_ms.insert(shard, owner.beat_at_ms);
        }
    }

    /// This server serves a shard from now on. How long it was without service, if its owner was
    /// lost.
    pub(super) fn served(&mut self, shard: u32, now_ms: u64) -> Option<Duration> {
        let since_ms = self.lost_since_ms.remove(&shard)?;
        Some(Duration::from_millis(now_ms.saturating_sub(since_ms)))
    }
}

#[cfg(test)]
mod tests {
    use baton_cluster::{ServerRow, ShardRow};

    use super::*;

    /// What `me` sees: the servers with the ages of their heartbeats, and the owner of shard 0.
    fn view(looked_at_ms: u64, servers: &[(&str, u64, bool)], owner: Option<&str>) -> View {
        let row = |(id, age_ms, is_leaving): &(&str, u64, bool)| ServerRow {
            id: (*id).to_owned(),
            address: String::new(),
            version: String::new(),
            beat: 1,
            is_draining: *is_leaving,
            is_leaving: *is_leaving,
            age_ms: *age_ms,
        };
        let servers = servers.iter().map(row).collect();
        let shards = vec![ShardRow { epoch: 1, owner: owner.map(str::to_owned) }];
        View { me: "me".to_owned(), looked_at_ms, servers, shards, ..View::default() }
    }

    #[test]
    fn a_failover_lasts_from_the_last_heartbeat_until_the_shard_is_served() {
        let mut failovers = Failovers::default();
        failovers.see(&view(1_000, &[("me", 0, false), ("a", 100, false)], Some("a")));
        failovers.see(&view(2_800, &[("me", 0, false), ("a", 1_900, false)], Some("a")));
        failovers.see(&view(3_000, &[("me", 0, false)], None));
        // It is taken, and being opened.
        failovers.see(&view(3_200, &[("me", 0, false)], Some("me")));
        assert_eq!(failovers.served(0, 3_400), Some(Duration::from_millis(2_500)));
        assert_eq!(failovers.served(0, 3_500), None, "it was counted");
    }

    #[test]
    fn shards_given_away_or_taken_by_another_server_are_no_failover() {
        let mut failovers = Failovers::default();
        let both = [("me", 0, false), ("a", 0, false)];
        failovers.see(&view(1_000, &both, Some("a")));
        failovers.see(&view(1_200, &both, None));
        assert_eq!(failovers.served(0, 1_300), None, "it is alive");
        failovers.see(&view(2_000, &[("me", 0, false), ("a", 0, true)], Some("a")));
        failovers.see(&view(2_200, &[("me", 0, false)], None));
        assert_eq!(failovers.served(0, 2_300), None, "it has left");
        failovers.see(&view(3_000, &both, Some("a")));
        failovers.see(&view(5_000, &[("me", 0, false)], None));
        failovers.see(&view(5_200, &[("me", 0, false), ("b", 0, false)], Some("b")));
        assert_eq!(failovers.served(0, 9_000), None, "another server was faster");
        failovers.see(&View { is_gone: true, ..View::default() });
        assert_eq!(failovers.served(0, 9_000), None);
    }
}

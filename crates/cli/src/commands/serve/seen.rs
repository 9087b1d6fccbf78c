//! The servers and shards as this server has seen them, for the code that serves requests.

use baton_cluster::View;
use baton_server::{Routes, ServerStatus};

/// Whether other servers can take shards. Drained ones do if no other does.
pub(super) fn has_others(view: &View) -> bool {
    view.servers.iter().any(|it| it.id != view.me && !it.is_leaving)
}

fn shards_of(view: &View, server: &str) -> Vec<u32> {
    let numbered = (0..).zip(&view.shards);
    let own = numbered.filter(|(_, shard)| shard.owner.as_deref() == Some(server));
    own.map(|(number, _)| number).collect()
}

/// The owners of the shards, for the server.
pub(super) fn routes(view: &View, secret: &str, is_leaving: bool) -> Routes {
    let servers = view.servers.iter().map(|server| ServerStatus {
        id: server.id.clone(),
        address: server.address.clone(),
        version: server.version.clone(),
        heartbeat_age_ms: server.age_ms,
        draining: server.is_draining,
        shards: shards_of(view, &server.id),
        counters: None,
    });
    let owners = view.shards.iter().map(|shard| shard.owner.clone());
    Routes {
        me: view.me.clone(),
        secret: secret.to_owned(),
        servers: servers.collect(),
        owners: owners.collect(),
        is_leaving,
        failing: None,
        is_fixed: false,
    }
}

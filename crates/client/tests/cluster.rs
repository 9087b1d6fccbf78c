//! Servers that share their data: a client connects to the owner of the workspace that it uses.

use baton::Baton;
use baton::clock::SystemClock;
use baton::log::MemoryLog;
use baton_client::{Client, Options};
use baton_server::{Cluster, ClusterHandle, Routes, ServerStatus, Settings, shard_of};
use tokio::task::JoinHandle;

use crate::peer::patiently;

const SHARDS: u32 = 2;

struct Member {
    url: String,
    handle: ClusterHandle,
    running: JoinHandle<()>,
}

impl Member {
    async fn start() -> Self {
        let listen = "127.0.0.1:0".parse().unwrap();
        let settings = Settings { listen, ..Settings::default() };
        let server = Cluster::bind(settings, None).await.unwrap();
        let (url, handle) = (format!("http://{}", server.address()), server.handle());
        let running = tokio::spawn(server.run(std::future::pending()));
        Self { url, handle, running }
    }

    async fn adopt(&self, shard: u32) {
        let engine =
            Baton::on(MemoryLog::default(), SystemClock::default(), baton::Options::default());
        self.handle.adopt(shard, SHARDS, engine.unwrap()).await;
    }
}

/// Tells all servers which of them owns each shard.
fn publish(members: &[Member], owners: [usize; SHARDS as usize]) {
    let server = |place: usize| ServerStatus {
        id: format!("server-{place}"),
        address: members[place].url.clone(),
        ..ServerStatus::default()
    };
    for (place, member) in members.iter().enumerate() {
        member.handle.set_routes(Routes {
            me: server(place).id,
            secret: "what the servers share".to_owned(),
            servers: (0..members.len()).map(server).collect(),
            owners: owners.iter().map(|owner| Some(server(*owner).id)).collect(),
            ..Routes::default()
        });
    }
}

async fn write(client: &Client, workspace: &str) {
    let workspace = client.workspace(workspace).unwrap();
    let written = workspace.state("shared").set("plan", "1").await;
    written.unwrap_or_else(|error| panic!("{error}"));
}

#[tokio::test]
async fn a_client_uses_the_owner_of_its_workspace_and_follows_it() {
    let members = [Member::start().await, Member::start().await];
    members[0].adopt(0).await;
    members[1].adopt(1).await;
    publish(&members, [0, 1]);
    let name = |shard| {
        let mut names = (0..).map(|number| format!("w{number}"));
        names.find(|name| shard_of(name, SHARDS) == shard).unwrap()
    };
    let urls = format!("{},{}", members[0].url, members[1].url);
    for shard in 0..SHARDS {
        let options = Options { workspace: Some(name(shard)), ..Options::default() };
        let client = baton_client::connect_with(&urls, options).await.unwrap();
        let owner = &members[shard as usize].url;
        assert_eq!(client.description(), format!("server at {owner}"));
        // Workspaces of others can be used as well.
        for shard in 0..SHARDS {
            write(&client, &name(shard)).await;
        }
        client.close().await;
    }
    // Without the name, and with an owner that is not among the servers, the first one is used.
    for (urls, workspace) in [(&urls, None), (&members[0].url, Some(name(1)))] {
        let options = Options { workspace, ..Options::default() };
        let client = baton_client::connect_with(urls, options).await.unwrap();
        assert_eq!(client.description(), format!("server at {}", members[0].url));
        write(&client, &name(1)).await;
        client.close().await;
    }
    // The shard moves, and the client with it.
    let options = Options { workspace: Some(name(1)), ..Options::default() };
    let client = baton_client::connect_with(&urls, options).await.unwrap();
    write(&client, &name(1)).await;
    members[1].handle.release(1).await;
    members[0].adopt(1).await;
    publish(&members, [0, 0]);
    patiently(async {
        while client.description() != format!("server at {}", members[0].url) {
            write(&client, &name(1)).await;
        }
    })
    .await;
    client.close().await;
    for member in members {
        member.running.abort();
    }
}

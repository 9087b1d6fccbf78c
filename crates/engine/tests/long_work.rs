//! Commits and queries that take long, with the threads of a real engine.

use std::collections::BTreeSet;

use baton::core::reaction::Add;
use baton::core::state::List;
use baton::{Item, Workspace};
use serde_json::json;

use crate::harness::{in_memory_with, namespace, on_memory, restless, workspace};

/// Reactions, each with a few writes: far more than a caller does itself.
const REACTIONS: usize = 24;
const WRITES: u64 = 60;

async fn react(workspace: &Workspace) {
    for number in 0..REACTIONS {
        let write = |part: usize| {
            json!({
                "command": "state.set", "namespace": "shared",
                "key": format!("seen-{number}-{part}"), "value": "{{key}}"
            })
        };
        let add = json!({
            "name": format!("r{number}"),
            "on": {"type": "state.set", "where": "event.key.startsWith(\"in-\")"},
            "do": (0..4).map(write).collect::<Vec<_>>(),
        });
        let add: Add = serde_json::from_value(add).unwrap();
        workspace.reactions().add_whole(add).await.unwrap();
    }
}

/// The values that the reactions have written, each once.
async fn seen(workspace: &Workspace) -> BTreeSet<String> {
    let (namespace, prefix) = (namespace("shared"), Some("seen-".to_owned()));
    let (pattern, at, limit, cursor) = (None, None, Some(1_000), None);
    let list = List { namespace, prefix, pattern, at, limit, cursor };
    let page = workspace.state("shared").list(list).await.unwrap();
    assert!(page.entries.is_empty() || page.entries.len() == 4 * REACTIONS, "all or none");
    page.entries.iter().map(|entry| entry.json().to_string()).collect()
}

/// Writers and readers of one workspace, while it is archived and snapshots of it are written: the
/// effects of every commit are seen together.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_commit_with_many_reactions_is_seen_as_a_whole() {
    let (baton, log, clock) = in_memory_with(restless());
    let workspace = workspace(&baton);
    react(&workspace).await;
    let writing: Vec<_> = (0..4)
        .map(|writer| {
            let state = workspace.state("shared");
            tokio::spawn(async move {
                for number in 0..WRITES / 4 {
                    state.set(&format!("in-{writer}-{number}"), 1).await.unwrap();
                }
            })
        })
        .collect();
    let reader = workspace.clone();
    let reading = tokio::spawn(async move {
        for _ in 0..WRITES {
            assert!(seen(&reader).await.len() <= 1, "from one commit");
            let mut watch = reader.watch("state/shared/**").with_snapshot().await.unwrap();
            let Some(Ok(Item::Snapshot { entries, .. })) = watch.next().await else {
                panic!("it begins with a snapshot")
            };
            let of = entries.iter().filter(|entry| entry.key().starts_with("seen-"));
            let of: BTreeSet<_> = of.map(|entry| entry.json().to_string()).collect();
            assert!(of.len() <= 1, "{of:?}");
        }
    });
    for job in writing.into_iter().chain([reading]) {
        job.await.unwrap();
    }
    let before = (workspace.revision().await.unwrap(), seen(&workspace).await);
    drop((workspace, baton));
    let baton = on_memory(&log, &clock, restless());
    let again = crate::harness::workspace(&baton);
    assert_eq!((again.revision().await.unwrap(), seen(&again).await), before);
}

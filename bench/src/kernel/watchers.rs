//! One event to a thousand watchers: it is encoded once, and how long until the last of them has
//! it.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};

use baton::{Item, Watch, Workspace};
use baton_core::NamespaceName;
use serde_json::json;
use tempfile::TempDir;

use super::load;
use crate::Outcome;
use crate::options::Options;
use crate::report::{Comparison, Report, Target, median, spread};
use crate::resources::{Stopwatch, count};

const WATCHERS: usize = 1_000;
const EVENTS: usize = 200;

/// Counts encodings and measures deliveries.
pub(crate) fn run(options: &Options, report: &mut Report) -> Outcome<()> {
    let folder = TempDir::with_prefix_in("baton-bench-", &options.folder)?;
    let (encodings, last_ms) = load::runtime()?.block_on(async {
        let baton = baton::open(folder.path()).await?;
        let delivered = deliver(&load::workspace(&baton)?).await?;
        baton.close().await;
        Ok::<_, Box<dyn std::error::Error>>(delivered)
    })?;
    let (least, greatest) = spread(&encodings);
    report.add(Comparison {
        name: "watchers, 1 event to 1,000".to_owned(),
        ratio: median(&encodings),
        spread: (least, greatest),
        sides: (format!("{greatest} encodings"), "1 encoding".to_owned()),
        note: format!("the last of them has it after {:.2} ms, durable", median(&last_ms)),
        target: Some(Target::AtMost(1.0)),
        facts: json!({ "encodings_max": greatest, "last_ms": median(&last_ms) }),
    });
    Ok(())
}

/// How often each event was encoded, and milliseconds until the last watcher had it.
async fn deliver(workspace: &Workspace) -> Outcome<(Vec<f64>, Vec<f64>)> {
    let (sender, receiver) = channel();
    let mut watching = Vec::new();
    for _ in 0..WATCHERS {
        let watch = workspace.watch("state/shared/**").await?;
        watching.push(tokio::spawn(watch_all(watch, sender.clone())));
    }
    let (mut encodings, mut last_ms) = (Vec::new(), Vec::new());
    for event in 0..EVENTS {
        let clock = Stopwatch::start();
        workspace
            .execute(load::set(&NamespaceName::shared(), "plan", &load::value(event))?)
            .await?;
        let mut arrived: Vec<Arc<[u8]>> = Vec::new();
        while arrived.len() < WATCHERS {
            arrived.extend(receiver.try_iter());
            tokio::task::yield_now().await;
        }
        last_ms.push(clock.elapsed().as_secs_f64() * 1e3);
        // All of them still exist, so different encodings have different addresses.
        let distinct: BTreeSet<_> = arrived.iter().map(|json| json.as_ptr()).collect();
        encodings.push(count(distinct.len() as u64));
    }
    for watcher in watching {
        watcher.await?;
    }
    Ok((encodings, last_ms))
}

async fn watch_all(mut watch: Watch, sender: Sender<Arc<[u8]>>) {
    for _ in 0..EVENTS {
        match watch.next().await.expect("a watch continues").expect("no watcher falls behind") {
            Item::Event(notice) => sender.send(notice.json()).expect("the counter listens"),
            Item::Snapshot { .. } => unreachable!("no snapshot was asked for"),
        }
    }
}

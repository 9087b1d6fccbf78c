//! How often lists and snapshots of the past read the log: it depends on the batches that made a
//! page, not on the number of its keys.

use baton::clock::ManualClock;
use baton::core::Revision;
use baton::core::workspace::Command;
use baton::{Baton, Workspace};
use serde_json::json;

use crate::counting_log::CountingLog;
use crate::harness::{BEGINNING, calm, everything, listed, set, workspace};

const BATCHES: usize = 8;
const KEYS_PER_BATCH: usize = 100;

/// A batch is found by one read and taken by another; the rest are pages of indexes.
const READS_MAX: u64 = 2 * BATCHES as u64 + 12;

/// The log has no index: batches are also read for what they touched.
const READS_IN_LOG_MAX: u64 = 2 * READS_MAX;

/// Writes many keys in few batches.
async fn write(ada: &Workspace, round: u64) -> Revision {
    for batch in 0..BATCHES {
        let mut transaction = ada.transaction();
        for number in 0..KEYS_PER_BATCH {
            transaction = transaction.command(set(&format!("{number}:{batch}"), &json!(round)));
        }
        transaction.commit().await.unwrap();
    }
    ada.revision().await.unwrap()
}

/// Reads all keys at a revision, by a list and by a snapshot, and tells how often the log was read.
async fn reads(log: &CountingLog, ada: &Workspace, at: Revision, round: u64) -> [u64; 2] {
    log.take_reads();
    let listed = listed(&ada.state("shared"), "shared", Some(at), 1_000).await.unwrap();
    let by_list = log.take_reads();
    let entries = everything(ada, Some(at), 1_000).await.unwrap();
    let by_snapshot = log.take_reads();
    assert_eq!(listed, entries);
    assert_eq!(entries.len(), BATCHES * KEYS_PER_BATCH);
    assert!(entries.iter().all(|entry| entry.value() == round.to_string().as_bytes()));
    [by_list, by_snapshot]
}

#[tokio::test]
async fn the_past_is_read_batch_by_batch_wherever_it_is() {
    let log = CountingLog::default();
    let baton = Baton::on(log.clone(), ManualClock::at(BEGINNING), calm()).unwrap();
    let ada = workspace(&baton);
    let first = write(&ada, 1).await;
    let second = write(&ada, 2).await;
    let in_log = reads(&log, &ada, first, 1).await;
    assert!(in_log.iter().all(|reads| *reads <= READS_IN_LOG_MAX), "{in_log:?} in the log");

    baton.compact(&ada).await.unwrap();
    for (at, round) in [(first, 1), (second, 2)] {
        let in_run = reads(&log, &ada, at, round).await;
        assert!(in_run.iter().all(|reads| *reads <= READS_MAX), "{in_run:?} in a run");
    }

    let keep_little = Command::Configure { history_count: Some(2), history_age_ms: None };
    ada.execute(keep_little).await.unwrap();
    baton.compact(&ada).await.unwrap();
    baton.compact(&ada).await.unwrap();
    assert_eq!(ada.at(first).revision().await.unwrap_err().code(), "history.gone");
    let in_base = reads(&log, &ada, second, 2).await;
    assert!(in_base.iter().all(|reads| *reads <= READS_MAX), "{in_base:?} in the base");
}

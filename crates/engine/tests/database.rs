//! The embedded engine on a real `PostgreSQL`, which `scripts/postgres` starts, and on NATS, which
//! `scripts/nats` starts; without them this checks nothing.

use serde_json::json;

use crate::harness::{shared, workspace};

#[tokio::test]
async fn a_program_opens_a_database_finds_its_data_again_and_is_alone() {
    let Ok(address) = std::env::var("BATON_POSTGRES") else { return };
    opens_finds_and_is_alone(&format!("{address}?schema=embedded_{}", std::process::id())).await;
}

#[tokio::test]
async fn a_program_opens_streams_of_nats_finds_its_data_again_and_is_alone() {
    let Ok(address) = std::env::var("BATON_NATS") else { return };
    opens_finds_and_is_alone(&format!("{address}&prefix=embedded_{}", std::process::id())).await;
}

async fn opens_finds_and_is_alone(address: &str) {
    let baton = baton::open(address).await.unwrap();
    shared(&baton).set("plan", json!({"step": 1})).await.unwrap();
    let refused = baton::open(address).await.unwrap_err();
    assert_eq!(refused.code(), "log.in_use");
    baton.close().await;
    let baton = baton::open(address).await.unwrap();
    let entry = shared(&baton).get("plan").await.unwrap();
    assert_eq!(entry.version().0, 1);
    assert_eq!(workspace(&baton).revision().await.unwrap().0, 1);
}

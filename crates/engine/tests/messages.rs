//! Messages: live messages are delivered in order and leave no trace; requests get their answers
//! whatever happens to the callers.

use baton::core::{Kind, Revision};
use baton::{Item, Watch};
use serde_json::{Value, json};

use crate::harness::{calm, eventually, in_memory, in_memory_with, on_memory, workspace};

/// The next event of a watch: its revision, its body, and whether it was live.
async fn heard(watch: &mut Watch) -> (u64, Value, bool) {
    let Some(Ok(Item::Event(notice))) = watch.next().await else { panic!("an event was due") };
    let event: Value = serde_json::from_slice(&notice.json()).unwrap();
    (notice.revision().0, event["body"].clone(), notice.is_live())
}

#[tokio::test]
async fn a_live_post_is_delivered_in_order_and_leaves_no_trace() {
    let (baton, log, clock) = in_memory_with(calm());
    let ada = workspace(&baton);
    let mut watch = ada.watch("topics/**").await.unwrap();
    let topics = ada.topics();
    // Submitted together: recorded messages share a group.
    let (_, _, _, _) = tokio::join!(
        topics.publish("a", 1),
        topics.tell("a", 2),
        topics.publish("a", 3),
        topics.tell("a", 4)
    );
    let mut all = Vec::new();
    for _ in 0..4 {
        all.push(heard(&mut watch).await);
    }
    let due = [(1, 1, false), (1, 2, true), (2, 3, false), (2, 4, true)];
    assert_eq!(all, due.map(|(revision, body, live)| (revision, json!(body), live)));
    assert_eq!(watch.resume_from(), Revision(3));
    topics.tell("a", 5).await.unwrap();
    assert_eq!(heard(&mut watch).await, (2, json!(5), true));
    assert_eq!(watch.resume_from(), Revision(3), "nothing is resumed by it");
    let mut later = ada.watch("topics/**").from(1).await.unwrap();
    assert_eq!(heard(&mut later).await, (1, json!(1), false));
    assert_eq!(heard(&mut later).await, (2, json!(3), false));
    drop((watch, later, ada, topics));
    baton.close().await;
    let again = on_memory(&log, &clock, calm());
    assert_eq!(workspace(&again).topics().get("a").await.unwrap().posts, 2);
}

#[tokio::test]
async fn frames_that_are_not_kept_go_to_watchers() {
    let (baton, _, _) = in_memory();
    let ada = workspace(&baton);
    let streams = ada.streams();
    streams.create("beat").live().await.unwrap();
    let mut watch = ada.watch("streams/beat").await.unwrap();
    streams.send_all("beat", &[1, 2]).await.unwrap();
    let Some(Ok(Item::Event(notice))) = watch.next().await else { panic!("an event was due") };
    let event: Value = serde_json::from_slice(&notice.json()).unwrap();
    assert_eq!((&event["frames"], &event["live"]), (&json!([1, 2]), &json!(true)));
    let refused = streams.receive("beat").await.unwrap_err();
    assert_eq!(refused.code(), "stream.not_kept");
}

#[tokio::test]
async fn a_requester_that_went_away_finds_its_place_and_its_answer() {
    let (baton, _, _) = in_memory();
    let ada = workspace(&baton);
    let bob = ada.as_agent("bob").unwrap();
    bob.agents().register().await.unwrap();
    bob.messages().handle("sum").await.unwrap();
    let keyed = ada.once("k1").unwrap();
    {
        let asking = keyed.messages().request_handler("sum", [1, 2]).timeout_ms(600_000);
        let mut asking = std::pin::pin!(asking.into_future());
        // It is submitted and waits; then its caller has gone.
        tokio::select! {
            biased;
            _ = &mut asking => panic!("there is no answer yet"),
            () = eventually("it is there", async || {
                let list = baton::core::message::List::default();
                !bob.messages().page(list).await.unwrap().0.is_empty()
            }) => {}
        }
    }
    let request = bob.messages().receive().await.unwrap().remove(0);
    bob.messages().reply(request.id.as_str(), 3).await.unwrap();
    let answered = keyed.messages().request_handler("sum", [1, 2]).timeout_ms(600_000).await;
    let answered = answered.unwrap();
    assert_eq!((answered.request, answered.body.as_str()), (request.id.clone(), "3"));
    let twice = bob.messages().reply(request.id.as_str(), 4).await.unwrap_err();
    assert_eq!((twice.code(), twice.kind()), ("message.already_replied", Kind::Conflict));
}

#[tokio::test]
async fn mail_outlives_the_engine() {
    let (baton, log, clock) = in_memory();
    workspace(&baton).messages().send("bob", "hello").await.unwrap();
    baton.close().await;
    let again = on_memory(&log, &clock, calm());
    let bob = workspace(&again).as_agent("bob").unwrap();
    let received = bob.messages().receive().await.unwrap();
    assert_eq!(received[0].body.as_str(), "\"hello\"");
    bob.messages().ack(received[0].id.as_str()).await.unwrap();
    assert!(bob.messages().receive().await.unwrap().is_empty());
}

//! Closing finishes calls in progress, and ends the rest.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;

use baton_client::Options;

use crate::peer::Peer;

#[tokio::test]
async fn calls_in_progress_are_finished_and_later_ones_refused() {
    let peer = Peer::new().await;
    let (client, mut talk) = peer.meet(Options::default()).await;
    let shared = client.workspace("lab").unwrap().state("shared");
    let call = tokio::spawn(shared.set("plan", 1).into_future());
    let said = talk.hear_command("state.set").await;
    let mut closing = pin!(client.close());
    assert!(poll_fn(|context| Poll::Ready(closing.as_mut().poll(context).is_pending())).await);
    assert_eq!(shared.get("late").await.unwrap_err().code(), "client.closed");
    talk.answer_entry(&said, 1).await;
    let (entry, ()) = tokio::join!(call, closing);
    assert!(entry.unwrap().is_ok());
    assert_eq!(talk.try_hear().await, None, "the client said goodbye");
}

#[tokio::test]
async fn a_watch_ends_with_the_client() {
    let peer = Peer::new().await;
    let (client, mut talk) = peer.meet(Options::default()).await;
    let lab = client.workspace("lab").unwrap();
    let (watch, ()) = tokio::join!(async { lab.watch("**").await }, async {
        let said = talk.hear().await;
        talk.begin(&said, 1).await;
    });
    let mut watch = watch.unwrap();
    let (next, ()) = tokio::join!(watch.next(), client.close());
    assert_eq!(next.unwrap().unwrap_err().code(), "client.closed");
    assert!(watch.next().await.is_none());
    assert_eq!(lab.watch("**").await.unwrap_err().code(), "client.closed");
}

#[tokio::test]
async fn a_dropped_client_disconnects() {
    let peer = Peer::new().await;
    let (client, mut talk) = peer.meet(Options::default()).await;
    let lab = client.workspace("lab").unwrap();
    drop(client);
    let (revision, ()) = tokio::join!(lab.revision(), async {
        let said = talk.hear_command("workspace.get").await;
        talk.refuse(&said, "x.y", "invalid", serde_json::json!({})).await;
    });
    assert_eq!(revision.unwrap_err().code(), "x.y");
    drop(lab);
    assert_eq!(talk.try_hear().await, None);
}

#[tokio::test]
async fn closing_without_a_connection_does_not_wait_for_one() {
    let peer = Peer::new().await;
    let (client, talk) = peer.meet(Options::default()).await;
    drop((talk, peer));
    client.close().await;
}

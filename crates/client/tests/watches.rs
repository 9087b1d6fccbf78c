//! Watches survive reconnects, without gap or duplicate.

use baton_client::{Item, Options, Watch};
use serde_json::{Value, json};

use crate::peer::{Peer, Talk, entry, event, patiently};

/// Starts a watch from a revision, or from now, which is before revision 5.
async fn begin(peer: &Peer, options: Options, from: Option<u64>) -> (Watch, Talk, Value) {
    let (ada, mut talk) = peer.meet_ada(options).await;
    let watching = ada.watch("state/shared/**");
    let watching = if let Some(from) = from { watching.from(from) } else { watching };
    let (watch, id) = tokio::join!(watching.into_future(), async {
        let said = talk.hear().await;
        assert_eq!(said["pattern"], "state/shared/**");
        assert_eq!(said.get("from"), from.map(Value::from).as_ref());
        talk.begin(&said, from.unwrap_or(5)).await
    });
    (watch.unwrap(), talk, id)
}

/// The next item as `revision.index`, or `snapshot revision`, or the code of the error.
async fn next(watch: &mut Watch) -> String {
    match patiently(watch.next()).await {
        Some(Ok(Item::Event(notice))) => format!("{}.{}", notice.revision(), notice.index()),
        Some(Ok(Item::Snapshot { revision, entries })) => {
            format!("snapshot {revision} of {}", entries.len())
        }
        Some(Err(error)) => error.code().to_owned(),
        None => "end".to_owned(),
    }
}

async fn resumed(peer: &Peer, from: u64) -> (Talk, Value) {
    let mut talk = peer.accept().await;
    let said = talk.hear_command("watch").await;
    assert_eq!((&said["from"], &said["workspace"]), (&json!(from), &json!("lab")), "{said}");
    assert_eq!(said.get("snapshot"), None);
    let id = talk.begin(&said, from).await;
    (talk, id)
}

#[tokio::test]
async fn a_watch_from_now_resumes_from_where_the_server_said_it_began() {
    let peer = Peer::new().await;
    let (mut watch, talk, _) = begin(&peer, Options::default(), None).await;
    assert_eq!(watch.resume_from().0, 5);
    drop(talk);
    let (mut talk, id) = resumed(&peer, 5).await;
    talk.push(&id, event(5, 0, true)).await;
    assert_eq!(next(&mut watch).await, "5.0");
    assert_eq!(watch.resume_from().0, 6);
}

#[tokio::test]
async fn after_a_complete_commit_it_resumes_from_the_next_revision() {
    let peer = Peer::new().await;
    let (mut watch, mut talk, id) = begin(&peer, Options::default(), Some(1)).await;
    talk.push(&id, event(1, 0, true)).await;
    talk.push(&id, event(4, 0, false)).await;
    talk.push(&id, event(4, 2, true)).await;
    for expected in ["1.0", "4.0", "4.2"] {
        assert_eq!(next(&mut watch).await, expected);
    }
    drop(talk);
    let (mut talk, id) = resumed(&peer, 5).await;
    talk.push(&id, event(9, 0, true)).await;
    assert_eq!(next(&mut watch).await, "9.0");
}

#[tokio::test]
async fn within_a_commit_it_resumes_from_the_same_revision_and_drops_what_it_had() {
    let peer = Peer::new().await;
    let (mut watch, mut talk, id) = begin(&peer, Options::default(), Some(3)).await;
    talk.push(&id, event(3, 0, false)).await;
    talk.push(&id, event(3, 1, false)).await;
    assert_eq!(next(&mut watch).await, "3.0");
    assert_eq!(watch.resume_from().0, 3);
    assert_eq!(next(&mut watch).await, "3.1");
    assert_eq!(watch.resume_from().0, 3, "the commit has not arrived whole");
    drop(talk);
    let (mut talk, id) = resumed(&peer, 3).await;
    for index in 0..3 {
        talk.push(&id, event(3, index, index == 2)).await;
    }
    assert_eq!(next(&mut watch).await, "3.2");
    drop(talk);
    let (mut talk, id) = resumed(&peer, 4).await;
    talk.push(&id, event(4, 0, true)).await;
    assert_eq!(next(&mut watch).await, "4.0");
}

#[tokio::test]
async fn a_connection_that_breaks_again_and_again_costs_nothing() {
    let peer = Peer::new().await;
    let (mut watch, talk, _) = begin(&peer, Options::default(), Some(1)).await;
    drop(talk);
    // Commits of three events; every connection delivers four of the requested ones.
    let all: Vec<(u64, usize)> = (1..=6).flat_map(|it| [(it, 0), (it, 1), (it, 2)]).collect();
    let serve = async {
        loop {
            let mut talk = peer.accept().await;
            let said = talk.hear_command("watch").await;
            let from = said["from"].as_u64().unwrap();
            let id = talk.begin(&said, from).await;
            let wanted = all.iter().filter(|(revision, _)| *revision >= from).take(4);
            for (revision, index) in wanted {
                talk.push(&id, event(*revision, *index, *index == 2)).await;
            }
        }
    };
    let mut seen = Vec::new();
    let take = async {
        while seen.len() < all.len() {
            seen.push(next(&mut watch).await);
        }
    };
    tokio::select! {
        () = take => {}
        () = serve => {}
    }
    let expected: Vec<_> = all.iter().map(|(it, index)| format!("{it}.{index}")).collect();
    assert_eq!(seen, expected);
}

#[tokio::test]
async fn an_incomplete_snapshot_is_requested_again_a_complete_one_is_not() {
    let peer = Peer::new().await;
    let (ada, mut talk) = peer.meet_ada(Options::default()).await;
    let watching = ada.watch("state/shared/**").with_snapshot();
    let (watch, ()) = tokio::join!(watching.into_future(), async {
        let said = talk.hear_command("watch").await;
        assert_eq!(said["snapshot"], true);
        talk.begin(&said, 5).await;
    });
    let mut watch = watch.unwrap();
    drop(talk);
    let mut talk = peer.accept().await;
    let said = talk.hear_command("watch").await;
    assert_eq!((&said["snapshot"], said.get("from")), (&json!(true), None));
    let id = talk.begin(&said, 8).await;
    let entries = [entry("a", &json!(1), 7)];
    talk.say(json!({"watch": id, "snapshot": {"revision": 7, "entries": entries}})).await;
    assert_eq!(next(&mut watch).await, "snapshot 7 of 1");
    assert_eq!(watch.resume_from().0, 8);
    drop(talk);
    let (mut talk, id) = resumed(&peer, 8).await;
    talk.push(&id, event(8, 0, true)).await;
    assert_eq!(next(&mut watch).await, "8.0");
}

#[tokio::test]
async fn a_watch_that_the_server_ends_resumes_automatically() {
    for code in ["watch.lagged", "watch.interrupted"] {
        let peer = Peer::new().await;
        let (mut watch, mut talk, id) = begin(&peer, Options::default(), Some(1)).await;
        talk.push(&id, event(1, 0, true)).await;
        talk.end(&id, code, "exhausted", json!({"resume_from": 4})).await;
        let said = talk.hear_command("watch").await;
        assert_eq!(said["from"], 4, "the server knows that nothing before is missing");
        assert_ne!(said["id"], id);
        let id = talk.begin(&said, 4).await;
        talk.push(&id, event(4, 0, false)).await;
        talk.end(&id, code, "exhausted", json!({"resume_from": 9})).await;
        let said = talk.hear_command("watch").await;
        assert_eq!(said["from"], 4, "but this commit has not arrived whole");
        let id = talk.begin(&said, 4).await;
        talk.push(&id, event(4, 0, false)).await;
        talk.push(&id, event(4, 1, true)).await;
        for expected in ["1.0", "4.0", "4.1"] {
            assert_eq!(next(&mut watch).await, expected, "{code}");
        }
    }
}

#[tokio::test]
async fn a_configured_watch_ends_with_the_revision_to_resume_from() {
    let peer = Peer::new().await;
    let options = Options { resume_watches: false, ..Options::default() };
    let (mut watch, mut talk, id) = begin(&peer, options, Some(1)).await;
    talk.push(&id, event(1, 0, true)).await;
    talk.end(&id, "watch.lagged", "exhausted", json!({"resume_from": 2})).await;
    assert_eq!(next(&mut watch).await, "1.0");
    let error = watch.next().await.unwrap().unwrap_err();
    assert_eq!(error.code(), "watch.lagged");
    assert_eq!(error.resume_from().unwrap().0, 2);
    assert_eq!(next(&mut watch).await, "end");
}

#[tokio::test]
async fn removed_history_ends_it() {
    let peer = Peer::new().await;
    let (mut watch, talk, _) = begin(&peer, Options::default(), Some(1)).await;
    drop(talk);
    let mut talk = peer.accept().await;
    let said = talk.hear_command("watch").await;
    talk.refuse(&said, "history.gone", "not_found", json!({"oldest": 900})).await;
    assert_eq!(next(&mut watch).await, "history.gone");
    assert_eq!(next(&mut watch).await, "end");
}

#[tokio::test]
async fn a_server_that_cannot_resume_for_now_is_asked_again() {
    let peer = Peer::new().await;
    let (mut watch, talk, _) = begin(&peer, Options::default(), Some(1)).await;
    drop(talk);
    let mut talk = peer.accept().await;
    for _ in 0..3 {
        let said = talk.hear_command("watch").await;
        talk.refuse(&said, "request.too_many", "exhausted", json!({})).await;
    }
    let said = talk.hear_command("watch").await;
    let id = talk.begin(&said, 1).await;
    talk.push(&id, event(1, 0, true)).await;
    assert_eq!(next(&mut watch).await, "1.0");
}

#[tokio::test]
async fn a_gap_or_an_invalid_message_ends_it_with_the_reason() {
    let peer = Peer::new().await;
    let (mut watch, talk, _) = begin(&peer, Options::default(), Some(4)).await;
    drop(talk);
    let mut talk = peer.accept().await;
    let said = talk.hear_command("watch").await;
    let id = talk.begin(&said, 6).await;
    assert_eq!(talk.hear_command("unwatch").await["watch"], id);
    assert_eq!(next(&mut watch).await, "client.protocol");

    for nonsense in
        [json!({}), json!({"revision": 4}), json!({"type": "weather.changed"}), json!(1)]
    {
        let peer = Peer::new().await;
        let (mut watch, mut talk, id) = begin(&peer, Options::default(), Some(4)).await;
        talk.push(&id, nonsense.clone()).await;
        assert_eq!(next(&mut watch).await, "client.protocol", "{nonsense}");
        assert_eq!(talk.hear_command("unwatch").await["watch"], id);
    }
}

#[tokio::test]
async fn a_refused_watch_never_begins() {
    let peer = Peer::new().await;
    let (ada, mut talk) = peer.meet_ada(Options::default()).await;
    let (refused, ()) = tokio::join!(async { ada.watch("**").from(3).await }, async {
        let said = talk.hear_command("watch").await;
        talk.refuse(&said, "history.gone", "not_found", json!({})).await;
    });
    assert_eq!(refused.unwrap_err().code(), "history.gone");
}

#[tokio::test]
async fn a_slow_watcher_delays_no_other_and_misses_nothing() {
    let peer = Peer::new().await;
    let options = Options { watch_queue_max: 4, ..Options::default() };
    let (ada, mut talk) = peer.meet_ada(options).await;
    let (watch, id) = tokio::join!(ada.watch("**").from(1).into_future(), async {
        let said = talk.hear().await;
        talk.begin(&said, 1).await
    });
    let mut watch = watch.unwrap();
    for revision in 1..=3 {
        talk.push(&id, event(revision, 0, false)).await;
        talk.push(&id, event(revision, 1, true)).await;
    }
    assert_eq!(talk.hear_command("unwatch").await["watch"], id, "four are waiting");
    talk.push(&id, event(9, 9, true)).await;
    let (entry, ()) = tokio::join!(async { ada.state("shared").get("plan").await }, async {
        let said = talk.hear_command("state.get").await;
        talk.answer_entry(&said, 1).await;
    });
    assert!(entry.is_ok(), "others are served meanwhile");
    for expected in ["1.0", "1.1"] {
        assert_eq!(next(&mut watch).await, expected);
    }
    let said = talk.hear_command("watch").await;
    assert_eq!(said["from"], 3, "half of it was taken");
    let id = talk.begin(&said, 3).await;
    talk.push(&id, event(3, 0, false)).await;
    talk.push(&id, event(3, 1, true)).await;
    for expected in ["2.0", "2.1", "3.0", "3.1"] {
        assert_eq!(next(&mut watch).await, expected);
    }
}

#[tokio::test]
async fn a_commit_larger_than_the_queue_arrives_in_parts() {
    let peer = Peer::new().await;
    let options = Options { watch_queue_max: 3, ..Options::default() };
    let (mut watch, mut talk, mut id) = begin(&peer, options, Some(1)).await;
    let serve = async {
        loop {
            for index in 0..10 {
                talk.push(&id, event(1, index, index == 9)).await;
            }
            talk.hear_command("unwatch").await;
            let said = talk.hear_command("watch").await;
            id = talk.begin(&said, 1).await;
        }
    };
    let take = async {
        for index in 0..10 {
            assert_eq!(next(&mut watch).await, format!("1.{index}"));
        }
    };
    tokio::select! {
        () = take => {}
        () = serve => {}
    }
}

#[tokio::test]
async fn a_dropped_watch_is_released() {
    let peer = Peer::new().await;
    let (ada, mut talk) = peer.meet_ada(Options::default()).await;
    let (watch, id) = tokio::join!(ada.watch("**").into_future(), async {
        let said = talk.hear().await;
        talk.begin(&said, 1).await
    });
    drop(watch.unwrap());
    assert_eq!(talk.hear_command("unwatch").await["watch"], id);
}

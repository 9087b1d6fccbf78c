//! Calls when the connection breaks.

use std::time::Duration;

use baton_client::{Error, Options};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::peer::{Peer, patiently};

#[tokio::test]
async fn a_command_in_flight_is_repeated_under_the_same_key() {
    let peer = Peer::new().await;
    let (ada, mut talk) = peer.meet_ada(Options::default()).await;
    let (entry, ()) = tokio::join!(async { ada.state("shared").set("plan", 1).await }, async {
        let first = talk.hear_command("state.set").await;
        drop(talk);
        let mut talk = peer.accept().await;
        let second = talk.hear_command("state.set").await;
        assert!(first["idempotency_key"].is_string());
        assert_eq!(first, second);
        talk.answer_entry(&second, 1).await;
    });
    assert_eq!(entry.unwrap().version().0, 1);
}

#[tokio::test]
async fn requests_in_flight_are_repeated_in_order_and_before_waiting_ones() {
    let peer = Peer::new().await;
    let options = Options { in_flight_max: 2, ..Options::default() };
    let (ada, mut talk) = peer.meet_ada(options).await;
    let shared = ada.state("shared");
    let set = |key: &'static str| shared.set(key, 1).into_future();
    let (first, second, third, ()) = tokio::join!(set("1"), shared.get("2"), set("3"), async {
        assert_eq!(talk.hear().await["key"], "1");
        assert_eq!(talk.hear().await["key"], "2");
        drop(talk);
        let mut talk = peer.accept().await;
        let again = [talk.hear().await, talk.hear().await];
        assert_eq!([&again[0]["key"], &again[1]["key"]], ["1", "2"]);
        talk.answer_entry(&again[1], 1).await;
        let third = talk.hear().await;
        assert_eq!(third["key"], "3");
        talk.answer_entry(&third, 1).await;
        talk.answer_entry(&again[0], 1).await;
    });
    assert!(first.is_ok() && second.is_ok() && third.is_ok());
}

#[tokio::test]
async fn without_a_key_the_outcome_is_unknown_and_nothing_is_repeated() {
    let peer = Peer::new().await;
    let options = Options { automatic_keys: false, ..Options::default() };
    let (ada, mut talk) = peer.meet_ada(options).await;
    let shared = ada.state("shared");
    let (set, once, get, ()) = tokio::join!(
        shared.set("a", 1).into_future(),
        ada.once("mine").unwrap().state("shared").set("b", 1).into_future(),
        shared.get("c"),
        async {
            for _ in 0..3 {
                talk.hear().await;
            }
            drop(talk);
            let mut talk = peer.accept().await;
            let again = [talk.hear().await, talk.hear().await];
            assert_eq!([&again[0]["key"], &again[1]["key"]], ["b", "c"]);
            for said in again {
                talk.answer_entry(&said, 1).await;
            }
        }
    );
    let error = set.unwrap_err();
    assert_eq!(error.code(), "client.unknown_outcome");
    assert!(error.is_unknown());
    assert!(once.is_ok() && get.is_ok());
}

#[tokio::test]
async fn a_client_continues_with_another_server_when_one_fails() {
    let (first, second) = (Peer::new().await, Peer::new().await);
    let urls = format!("{}, {}", first.url(), second.url());
    let (client, mut talk) = tokio::join!(baton_client::connect(&urls), first.accept());
    let client = client.unwrap();
    assert_eq!(client.description(), format!("server at {}", first.url()));
    let ada = client.workspace("lab").unwrap().as_agent("ada").unwrap();
    let (entry, ()) = tokio::join!(async { ada.state("shared").set("plan", 1).await }, async {
        let sent = talk.hear_command("state.set").await;
        drop((talk, first));
        let mut talk = second.accept().await;
        let repeated = talk.hear_command("state.set").await;
        assert_eq!(sent, repeated);
        talk.answer_entry(&repeated, 1).await;
    });
    assert_eq!(entry.unwrap().version().0, 1);
}

#[tokio::test]
async fn a_client_continues_with_another_server_when_one_cannot_serve() {
    let (first, second) = (Peer::new().await, Peer::new().await);
    let urls = format!("{},{}", first.url(), second.url());
    let options = Options { workspace: Some("lab".to_owned()), ..Options::default() };
    let connecting = baton_client::connect_with(&urls, options);
    let (client, mut talk) = tokio::join!(connecting, first.accept());
    let client = client.unwrap();
    let ada = client.workspace("lab").unwrap().as_agent("ada").unwrap();
    let (entry, _talk) = tokio::join!(async { ada.state("shared").set("plan", 1).await }, async {
        let refused = talk.hear_command("state.set").await;
        talk.refuse(&refused, "log.away", "unavailable", json!({})).await;
        assert_eq!(talk.try_hear().await, None, "the client leaves the server");
        // The other one has not noticed yet that the first is not the owner any more.
        let mut talk = second.accept_with("baton-owner", &first.url()).await;
        let repeated = talk.hear_command("state.set").await;
        assert_eq!(refused, repeated, "with the same idempotency key");
        talk.answer_entry(&repeated, 1).await;
        talk
    });
    assert_eq!(entry.unwrap().version().0, 1);
    assert_eq!(client.description(), format!("server at {}", second.url()));
    assert!(!first.is_called().await, "it is not preferred as the owner");
}

#[tokio::test]
async fn the_first_connection_tries_every_server() {
    let (away, there) = (Peer::new().await, Peer::new().await);
    let urls = format!("{},{}", away.url(), there.url());
    let away_url = away.url();
    drop(away);
    let (client, talk) = tokio::join!(baton_client::connect(&urls), there.accept());
    assert_eq!(client.unwrap().description(), format!("server at {}", there.url()));
    drop((talk, there));
    // If none accepts it, the error is that of the first.
    let Error::Unreachable { url, .. } = baton_client::connect(&urls).await.unwrap_err() else {
        panic!("no server is there");
    };
    assert_eq!(url, away_url);
}

#[tokio::test]
async fn frames_that_cannot_be_understood_end_the_connection_not_the_call() {
    let texts = ["", "{", "null", "[]", "{}", r#"{"id":-1}"#, r#"{"id":"1"}"#, r#"{"event":{}}"#];
    for text in texts {
        let peer = Peer::new().await;
        let (ada, mut talk) = peer.meet_ada(Options::default()).await;
        let (entry, ()) = tokio::join!(async { ada.state("shared").get("plan").await }, async {
            talk.hear_command("state.get").await;
            talk.say_text(text).await;
            assert_eq!(talk.try_hear().await, None, "the client hangs up on {text:?}");
            let mut talk = peer.accept().await;
            let said = talk.hear_command("state.get").await;
            talk.answer_entry(&said, 1).await;
        });
        assert!(entry.is_ok(), "{text:?}: {entry:?}");
    }
}

#[tokio::test]
async fn binary_frames_and_objections_end_the_connection_not_the_call() {
    let peer = Peer::new().await;
    let (ada, mut talk) = peer.meet_ada(Options::default()).await;
    let (entry, ()) = tokio::join!(async { ada.state("shared").get("plan").await }, async {
        talk.hear_command("state.get").await;
        talk.say_binary(b"\x80").await;
        let mut talk = peer.accept().await;
        talk.hear_command("state.get").await;
        let objection = crate::peer::problem("request.malformed", "invalid", &json!({}));
        talk.say(json!({"error": objection})).await;
        let mut talk = peer.accept().await;
        let said = talk.hear_command("state.get").await;
        talk.answer_entry(&said, 1).await;
    });
    assert!(entry.is_ok());
}

#[tokio::test]
async fn answers_without_a_request_and_unknown_fields_are_ignored() {
    let peer = Peer::new().await;
    let (ada, mut talk) = peer.meet_ada(Options::default()).await;
    let (entry, ()) = tokio::join!(async { ada.state("shared").get("plan").await }, async {
        let said = talk.hear_command("state.get").await;
        talk.say(json!({"id": 999_999, "revision": 1, "result": {}})).await;
        talk.say(json!({"watch": 999_999, "event": {}})).await;
        let entry = crate::peer::entry("plan", &json!(1), 1);
        let id = said["id"].clone();
        talk.say(json!({"id": id, "revision": 1, "result": entry, "weather": "fine"})).await;
    });
    assert!(entry.is_ok());
}

#[tokio::test]
async fn a_closing_server_gets_no_further_request() {
    let peer = Peer::new().await;
    let options = Options { automatic_keys: false, ..Options::default() };
    let (ada, mut talk) = peer.meet_ada(options).await;
    let (entry, ()) = tokio::join!(async { ada.state("shared").set("plan", 1).await }, async {
        let said = talk.hear_command("state.set").await;
        talk.refuse(&said, "server.closing", "unavailable", json!({})).await;
        drop(talk);
        let mut talk = peer.accept().await;
        let said = talk.hear_command("state.set").await;
        talk.answer_entry(&said, 1).await;
    });
    assert!(entry.is_ok(), "it was not done, so it may be sent again without a key");
}

#[tokio::test]
async fn a_future_that_is_dropped_is_not_repeated() {
    let peer = Peer::new().await;
    let (ada, mut talk) = peer.meet_ada(Options::default()).await;
    let call = tokio::spawn(ada.state("shared").set("dropped", 1).into_future());
    talk.hear_command("state.set").await;
    call.abort();
    assert!(call.await.unwrap_err().is_cancelled());
    drop(talk);
    let (entry, ()) = tokio::join!(async { ada.state("shared").get("plan").await }, async {
        let mut talk = peer.accept().await;
        let said = talk.hear().await;
        assert_eq!(said["key"], "plan");
        talk.answer_entry(&said, 1).await;
    });
    assert!(entry.is_ok());
}

#[tokio::test]
async fn a_client_that_is_refused_after_it_was_accepted_ends_what_waits() {
    let peer = Peer::new().await;
    let (ada, mut talk) = peer.meet_ada(Options::default()).await;
    let watching = async { ada.watch("**").from(1).await.unwrap() };
    let (mut watch, ()) = tokio::join!(watching, async {
        let said = talk.hear_command("watch").await;
        talk.begin(&said, 1).await;
    });
    let shared = ada.state("shared");
    let claim = ada.tasks().claim().wait_ms(3_600_000);
    let (claimed, set, asked, ()) = tokio::join!(
        claim.into_future(),
        shared.set("a", 1).into_future(),
        shared.get("b"),
        async {
            for _ in 0..3 {
                talk.hear().await;
            }
            drop(talk);
            // What can pass is not the end.
            peer.refuse_connection(503, "server.closing", "unavailable").await;
            peer.refuse_connection(401, "access.bad_token", "denied").await;
        }
    );
    assert_eq!(claimed.unwrap_err().code(), "access.bad_token");
    assert_eq!(asked.unwrap_err().code(), "access.bad_token");
    let unknown = set.unwrap_err();
    assert!(unknown.is_unknown() && unknown.to_string().ends_with("why not"), "{unknown}");
    let ended = patiently(watch.next()).await.unwrap();
    assert_eq!(ended.unwrap_err().code(), "access.bad_token");
    // It connects again when something is asked, and not before.
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert!(!peer.is_called().await, "nobody waits for a connection");
    let (refused, ()) =
        tokio::join!(shared.get("b"), peer.refuse_connection(403, "request.denied_host", "denied"));
    assert_eq!(refused.unwrap_err().code(), "request.denied_host");
    let (entry, ()) = tokio::join!(shared.get("b"), async {
        let mut talk = peer.accept().await;
        let said = talk.hear_command("state.get").await;
        talk.answer_entry(&said, 1).await;
    });
    assert!(entry.is_ok(), "{entry:?}");
}

#[tokio::test]
async fn a_missing_server_is_reported_as_unreachable() {
    let peer = Peer::new().await;
    let url = peer.url();
    drop(peer);
    let error = baton_client::connect(&url).await.unwrap_err();
    assert_eq!(error.code(), "client.unreachable");
    assert!(error.to_string().contains(&url), "{error}");
}

#[tokio::test]
async fn a_token_that_cannot_be_shown_is_named_and_not_repeated() {
    let options = Options { token: Some("baton_hush\n".to_owned()), ..Options::default() };
    let error = baton_client::connect_with("http://127.0.0.1:1", options).await.unwrap_err();
    assert_eq!(error.code(), "client.bad_token");
    assert!(!error.to_string().contains("hush"), "{error}");
}

#[tokio::test]
async fn a_server_that_never_answers_is_abandoned() {
    let peer = Peer::new().await;
    let url = peer.url();
    let options = Options { connect_timeout: Duration::from_millis(20), ..Options::default() };
    let (refused, mut silent) =
        tokio::join!(baton_client::connect_with(&url, options), peer.accept_stream());
    assert_eq!(refused.unwrap_err().code(), "client.unreachable");
    // A connection without any waiting caller is not kept open.
    patiently(silent.read_to_end(&mut Vec::new())).await.unwrap();
}

#[tokio::test]
async fn bytes_that_the_peer_does_not_read_are_dropped() {
    let peer = Peer::new().await;
    let stall_max = Duration::from_millis(20);
    let (ada, _talk) = peer.meet_ada(Options { stall_max, ..Options::default() }).await;
    let artifact = format!("sha256:{}", "0".repeat(64));
    let artifacts = ada.artifacts();
    let put = artifacts.put(&b"much"[..]).into_future();
    let (put, mut silent) = tokio::join!(put, peer.accept_stream());
    assert_eq!(put.unwrap_err().code(), "client.unknown_outcome");
    patiently(silent.read_to_end(&mut Vec::new())).await.unwrap();
    let (read, _silent) = tokio::join!(artifacts.read(&artifact), peer.accept_stream());
    assert_eq!(read.err().unwrap().code(), "client.timeout");
}

#[tokio::test]
async fn a_foreign_server_is_recognised() {
    let peer = Peer::new().await;
    let url = peer.url();
    let (other, _) = tokio::join!(
        baton_client::connect(&url),
        peer.accept_with("sec-websocket-protocol", "chat.v2")
    );
    assert_eq!(other.unwrap_err().code(), "client.protocol");

    let answers = [
        ("404 Not Found", "<html>", "client.protocol"),
        (
            "403 Forbidden",
            r#"{"code":"request.denied_host","kind":"denied","detail":"d","hint":"h"}"#,
            "request.denied_host",
        ),
        ("200 OK", "", "client.protocol"),
    ];
    for (status, body, code) in answers {
        let length = body.len();
        let text = format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\n\r\n{body}");
        let error = greeted_with(&peer, text.as_bytes()).await;
        assert_eq!(error.code(), code, "{error}");
        assert!(!matches!(error, Error::Unknown { .. }));
    }
    let upgrade =
        "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n";
    let answers = [
        ("SSH-2.0-OpenSSH_10.0\r\n", "client.protocol"),
        // Not a server that has read the request.
        (&format!("{upgrade}Sec-WebSocket-Accept: x\r\n\r\n"), "client.protocol"),
        // It may be one that was killed in between.
        (upgrade, "client.unreachable"),
        ("", "client.unreachable"),
    ];
    for (text, code) in answers {
        let error = greeted_with(&peer, text.as_bytes()).await;
        assert_eq!(error.code(), code, "{text:?}: {error}");
    }
}

/// The error of a client when a server answers with these bytes, and then closes.
async fn greeted_with(peer: &Peer, text: &[u8]) -> Error {
    let url = peer.url();
    let (refused, ()) = tokio::join!(baton_client::connect(&url), async {
        let mut stream = peer.accept_stream().await;
        stream.set_nodelay(true).unwrap();
        stream.read_u8().await.unwrap();
        for byte in text {
            // The client may have disconnected: this is not HTTP.
            if stream.write_all(&[*byte]).await.is_err() {
                break;
            }
            tokio::task::yield_now().await;
        }
        // The rest is read: closing a socket with unread data resets the connection.
        let _ = stream.shutdown().await;
        let _ = stream.read_to_end(&mut Vec::new()).await;
    });
    refused.unwrap_err()
}

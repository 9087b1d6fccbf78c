//! The messages that are sent to a server, and the interpretation of its answers.

use baton_client::core::state::{Command, Get, Query, Set};
use baton_client::core::{Json, Key, Kind, NamespaceName, Precondition, Reply, Revision};
use baton_client::{Error, Options};
use serde_json::{Value, json};

use crate::peer::{Peer, entry};

#[tokio::test]
async fn a_query_about_another_agent_names_its_caller() {
    let peer = Peer::new().await;
    let (ada, mut talk) = peer.meet_ada(Options::default()).await;
    let agents = ada.agents();
    for (about, caller) in [("bob", json!("ada")), ("ada", Value::Null)] {
        let (refused, ()) = tokio::join!(agents.get(about), async {
            let said = talk.hear_command("agent.get").await;
            assert_eq!((&said["agent"], &said["caller"]), (&json!(about), &caller));
            talk.refuse(&said, "agent.not_found", "not_found", json!({})).await;
        });
        assert_eq!(refused.unwrap_err().code(), "agent.not_found");
    }
}

#[tokio::test]
async fn a_command_is_one_flat_object_and_its_answer_an_entry() {
    let peer = Peer::new().await;
    let (ada, mut talk) = peer.meet_ada(Options::default()).await;
    let shared = ada.once("k-1").unwrap().state("shared");
    let (entry, said) = tokio::join!(
        async { shared.set("plan", json!({"step": 1})).expected_version(3).await },
        async {
            let said = talk.hear().await;
            talk.answer_entry(&said, 4).await;
            said
        }
    );
    let expected = json!({
        "id": said["id"], "workspace": "lab", "agent": "ada", "idempotency_key": "k-1",
        "command": "state.set", "namespace": "shared", "key": "plan", "value": {"step": 1},
        "expected_version": 3,
    });
    assert_eq!(said, expected);
    let entry = entry.unwrap();
    assert_eq!((entry.key(), entry.version().0, entry.value()), ("plan", 4, &b"1"[..]));
}

#[tokio::test]
async fn every_command_gets_its_own_key_unless_disabled() {
    for automatic_keys in [true, false] {
        let peer = Peer::new().await;
        let (ada, mut talk) = peer.meet_ada(Options { automatic_keys, ..Options::default() }).await;
        let mut keys = Vec::new();
        for _ in 0..2 {
            let (_, said) =
                tokio::join!(async { ada.state("shared").set("plan", 1).await }, async {
                    let said = talk.hear().await;
                    talk.answer_entry(&said, 1).await;
                    said
                });
            keys.push(said["idempotency_key"].clone());
        }
        assert_eq!(keys[0] != Value::Null, automatic_keys);
        assert_eq!(keys[0] != keys[1], automatic_keys);
    }
}

#[tokio::test]
async fn answers_in_another_order_reach_their_callers() {
    let peer = Peer::new().await;
    let (ada, mut talk) = peer.meet_ada(Options::default()).await;
    let shared = ada.state("shared");
    let (first, second, ()) = tokio::join!(shared.get("a"), shared.get("b"), async {
        let (first, second) = (talk.hear().await, talk.hear().await);
        assert_eq!((first["key"].as_str(), second["key"].as_str()), (Some("a"), Some("b")));
        assert_eq!(first.get("idempotency_key"), None, "a question needs no key");
        talk.answer_entry(&second, 2).await;
        talk.answer_entry(&first, 1).await;
    });
    assert_eq!((first.unwrap().key(), second.unwrap().key()), ("a", "b"));
}

#[tokio::test]
async fn an_agents_own_command_names_it_once() {
    let peer = Peer::new().await;
    let (ada, mut talk) = peer.meet_ada(Options::default()).await;
    let agent = json!({
        "id": "ada", "status": "active", "capabilities": ["search"], "ttl_ms": 1000, "token": 7,
        "registered_at": "2026-01-01T00:00:00.000Z", "last_seen_at": "2026-01-01T00:00:00.000Z",
    });
    let agents = ada.agents();
    let register = async { agents.register().capability("search").ttl_ms(1_000).await };
    let (session, said) = tokio::join!(register, async {
        let said = talk.hear_command("agent.register").await;
        talk.say(json!({"id": said["id"], "revision": 1, "result": agent})).await;
        said
    });
    assert_eq!(said["agent"], "ada");
    assert_eq!(session.unwrap().token.0, 7);
}

#[tokio::test]
async fn a_refusal_keeps_its_words_and_facts() {
    let peer = Peer::new().await;
    let (ada, mut talk) = peer.meet_ada(Options::default()).await;
    let (refused, ()) = tokio::join!(async { ada.state("shared").get("plan").await }, async {
        let said = talk.hear_command("state.get").await;
        talk.refuse(&said, "state.not_found", "not_found", json!({"key": "plan"})).await;
    });
    let error = refused.unwrap_err();
    assert_eq!((error.code(), error.kind()), ("state.not_found", Kind::NotFound));
    assert_eq!((error.to_string().as_str(), error.hint()), ("why not", "stop"));
    assert_eq!(error.fact("key").unwrap().as_str(), "\"plan\"");
    assert!(!error.is_unknown());
}

#[tokio::test]
async fn an_update_is_repeated_from_the_winning_entry_until_it_succeeds() {
    let peer = Peer::new().await;
    let (ada, mut talk) = peer.meet_ada(Options::default()).await;
    let shared = ada.state("shared");
    let change = |entry: Option<&baton_client::core::Entry>| {
        entry.map_or(0, |entry| entry.json().to::<u64>().unwrap()) + 1
    };
    let (updated, ()) = tokio::join!(shared.update("count", change), async {
        let get = talk.hear_command("state.get").await;
        talk.refuse(&get, "state.not_found", "not_found", json!({})).await;
        let set = talk.hear_command("state.set").await;
        assert_eq!((&set["value"], &set["expected_version"]), (&json!(1), &json!(0)));
        let winner = json!({"entry": entry("count", &json!(41), 5)});
        talk.refuse(&set, "state.version_conflict", "conflict", winner).await;
        let set = talk.hear_command("state.set").await;
        assert_eq!((&set["value"], &set["expected_version"]), (&json!(42), &json!(5)));
        talk.refuse(&set, "state.version_conflict", "conflict", json!({"entry": null})).await;
        let set = talk.hear_command("state.set").await;
        assert_eq!((&set["value"], &set["expected_version"]), (&json!(1), &json!(0)));
        talk.answer_entry(&set, 1).await;
    });
    assert_eq!(updated.unwrap().version().0, 1);
}

#[tokio::test]
async fn an_update_without_the_winning_entry_does_not_overwrite_it() {
    let peer = Peer::new().await;
    let (ada, mut talk) = peer.meet_ada(Options::default()).await;
    let shared = ada.state("shared");
    for facts in [json!({}), json!({"entry": {"key": "count"}})] {
        let (updated, ()) = tokio::join!(shared.update("count", |_| 1), async {
            let get = talk.hear_command("state.get").await;
            talk.refuse(&get, "state.not_found", "not_found", json!({})).await;
            let set = talk.hear_command("state.set").await;
            talk.refuse(&set, "state.version_conflict", "conflict", facts).await;
        });
        assert_eq!(updated.unwrap_err().code(), "state.version_conflict");
    }
}

#[tokio::test]
async fn the_calls_of_a_batch_are_sent_before_the_first_is_answered() {
    let peer = Peer::new().await;
    let (ada, mut talk) = peer.meet_ada(Options::default()).await;
    let set = |key: &str| {
        let value = Json::of(&1).unwrap();
        Command::Set(Set::new(NamespaceName::shared(), Key::parse(key).unwrap(), value))
    };
    let (namespace, key) = (NamespaceName::shared(), Key::parse("a").unwrap());
    let get = Query::Get(Get { namespace, key, at: None });
    let batch = ada.batch().command(set("a")).command(set("b")).query(get);
    let (outcomes, said) = tokio::join!(batch.send(), async {
        let said = [talk.hear().await, talk.hear().await, talk.hear().await];
        talk.answer_entry(&said[2], 7).await;
        talk.refuse(&said[0], "server.busy", "unavailable", json!({})).await;
        talk.answer_entry(&said[1], 6).await;
        said
    });
    let said = said.map(|said| (said["command"].clone(), said["key"].clone()));
    let expected = [("state.set", "a"), ("state.set", "b"), ("state.get", "a")];
    assert_eq!(said, expected.map(|(command, key)| (json!(command), json!(key))));
    let outcomes = outcomes.unwrap();
    let codes = outcomes.iter().map(|outcome| outcome.as_ref().map_err(Error::code));
    let revisions: Vec<_> = codes.map(|outcome| outcome.map(|answer| answer.revision.0)).collect();
    assert_eq!(revisions, [Err("server.busy"), Ok(6), Ok(7)]);
    assert_eq!(ada.batch().send().await, Ok(Vec::new()));
    let batch = ada.once("k-1").unwrap().batch().command(set("a")).command(set("b"));
    assert_eq!(batch.send().await.unwrap_err().code(), "idempotency.key_reused");
}

#[tokio::test]
async fn a_transaction_is_answered_command_by_command() {
    let peer = Peer::new().await;
    let (ada, mut talk) = peer.meet_ada(Options::default()).await;
    let set = |key: &str| {
        let value = Json::of(&1).unwrap();
        Command::Set(Set::new(NamespaceName::shared(), Key::parse(key).unwrap(), value))
    };
    let commit = |count: usize| {
        let transaction = ada.transaction().require(Precondition::Revision(Revision(7)));
        (0..count).fold(transaction, |it, index| it.command(set(&index.to_string()))).commit()
    };
    let (done, said) = tokio::join!(commit(2), async {
        let said = talk.hear_command("transaction").await;
        let results = [entry("0", &json!(1), 8), entry("1", &json!(1), 8)];
        talk.say(json!({"id": said["id"], "revision": 8, "results": results})).await;
        said
    });
    assert_eq!(said["require"], json!([{"revision": 7}]));
    assert_eq!(said["commands"][1]["command"], "state.set");
    assert_eq!(said["commands"][1]["key"], "1");
    let (revision, replies) = done.unwrap();
    assert_eq!((revision.0, replies.len()), (8, 2));
    assert!(matches!(replies[0], Reply::State(_)));

    let (done, ()) = tokio::join!(commit(2), async {
        let said = talk.hear_command("transaction").await;
        talk.say(json!({"id": said["id"], "revision": 9, "results": []})).await;
    });
    assert!(matches!(done, Err(Error::Unknown { .. })), "it was carried out, but how?");
}

#[tokio::test]
async fn an_answer_that_cannot_be_read_is_never_taken_for_a_refusal() {
    let results = [json!({}), json!({"key": 1}), json!(null), json!([])];
    let peer = Peer::new().await;
    let (ada, mut talk) = peer.meet_ada(Options::default()).await;
    let shared = ada.state("shared");
    for result in results {
        let (get, set, ()) =
            tokio::join!(shared.get("a"), async { shared.set("b", 1).await }, async {
                for _ in 0..2 {
                    let id = talk.hear().await["id"].clone();
                    talk.say(json!({"id": id, "revision": 1, "result": result})).await;
                }
            });
        assert_eq!(get.unwrap_err().code(), "client.protocol", "{result}");
        let error = set.unwrap_err();
        assert_eq!(error.code(), "client.unknown_outcome", "{result}");
        assert!(error.is_unknown());
    }
}

#[tokio::test]
async fn bad_names_and_values_are_refused_before_anything_is_sent() {
    let peer = Peer::new().await;
    let (ada, mut talk) = peer.meet_ada(Options::default()).await;
    assert_eq!(ada.as_agent("no spaces").unwrap_err().code(), "request.bad_name");
    let shared = ada.state("shared");
    assert_eq!(shared.get("").await.unwrap_err().code(), "request.bad_name");
    let not_json = std::collections::BTreeMap::from([((), 1)]);
    assert_eq!(shared.set("a", not_json).await.unwrap_err().code(), "request.bad_json");
    assert_eq!(ada.watch("").await.unwrap_err().code(), "request.bad_pattern");
    let (_, said) = tokio::join!(shared.get("z"), async {
        let said = talk.hear().await;
        talk.answer_entry(&said, 1).await;
        said
    });
    assert_eq!(said["key"], "z", "nothing came before");
}

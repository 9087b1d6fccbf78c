//! Transactions: any commands, with preconditions, atomically. And repeated requests: one
//! idempotency key has one effect and one answer, also after a restart.

use std::io::Cursor;
use std::time::Duration;

use baton::core::state::merge::Patch;
use baton::core::state::{Command, Delete, PatchEntry};
use baton::core::{
    AgentId, Precondition, Rejection, Reply, Revision, Rules, Version, agent, namespace as spaces,
    state,
};
use baton::{Error, Options, Workspace};
use serde_json::json;

use crate::export::exported;
use crate::harness::{
    calm, eventually, everything, folder, forgetful, in_memory, in_memory_with, json_of, key,
    namespace, next_event, on_memory, open, set, value, workspace,
};

fn entry_is(name: &str, version: u64) -> Precondition {
    Precondition::Entry {
        namespace: namespace("shared"),
        key: key(name),
        version: Some(Version(version)),
        exists: None,
        value: None,
    }
}

fn increment(name: &str) -> Command {
    let patch = Patch::Increment(json_of(&json!(1)));
    let (namespace, key) = (namespace("shared"), key(name));
    Command::Patch(PatchEntry {
        namespace,
        key,
        patch,
        expected_version: None,
        expected_revision: None,
    })
}

#[tokio::test]
async fn the_calls_of_a_batch_are_executed_independently() {
    let (baton, _, _) = in_memory();
    let ada = workspace(&baton);
    let get = state::Get { namespace: namespace("shared"), key: key("counter"), at: None };
    let batch = ada.batch().command(set("counter", &json!(1))).command(increment("absent"));
    let batch = batch.command(Command::Delete(Delete {
        namespace: namespace("shared"),
        key: key("counter"),
        expected_version: Some(Version(9)),
        expected_revision: None,
    }));
    let batch = batch.command(increment("counter")).query(state::Query::Get(get));
    let outcomes = batch.send().await.unwrap();
    let codes: Vec<_> =
        outcomes.iter().map(|it| it.as_ref().map_err(Error::code).map(drop)).collect();
    assert_eq!(codes, [Ok(()), Ok(()), Err("state.version_conflict"), Ok(()), Ok(())]);
    let Ok(Reply::State(state::Reply::Entry(entry))) = outcomes[4].as_ref().map(|it| &it.reply)
    else {
        panic!("{outcomes:?}")
    };
    assert_eq!((entry.value(), entry.version()), (&b"2"[..], Version(2)));
    baton.close().await;
}

#[tokio::test]
async fn the_calls_of_a_batch_keep_their_order_while_the_workspace_is_loaded() {
    let (baton, log, clock) = in_memory();
    workspace(&baton).state("shared").set("counter", 0).await.unwrap();
    baton.close().await;
    let get = state::Get { namespace: namespace("shared"), key: key("counter"), at: None };
    for before in 0..8 {
        let baton = on_memory(&log, &clock, calm());
        let batch = workspace(&baton).batch().command(increment("counter"));
        let outcomes = batch.query(state::Query::Get(get.clone())).send().await.unwrap();
        let versions: Vec<_> = outcomes.into_iter().map(|it| it.unwrap().revision).collect();
        assert_eq!(versions[0], versions[1], "after {before}: the query is answered afterwards");
        baton.close().await;
    }
}

#[tokio::test]
async fn commands_see_each_other_and_become_one_revision() {
    let (baton, _, _) = in_memory();
    let ada = workspace(&baton);
    let mut watch = ada.watch("**").await.unwrap();
    let rules = Rules { append_only: true, ..Rules::default() };
    let register = agent::Register {
        agent: AgentId::parse("ada").unwrap(),
        capabilities: std::collections::BTreeSet::new(),
        metadata: None,
        ttl_ms: None,
        parent: None,
    };
    let (revision, replies) = ada
        .transaction()
        .command(spaces::Command::Create { name: namespace("notes"), rules })
        .command(set("counter", &json!(1)))
        .command(increment("counter"))
        .command(increment("counter"))
        .command(agent::Command::Register(register))
        .command(Command::Delete(Delete {
            namespace: namespace("shared"),
            key: key("counter"),
            expected_version: Some(Version(3)),
            expected_revision: None,
        }))
        .commit()
        .await
        .unwrap();
    assert_eq!(revision, Revision(1));
    let [
        Reply::Namespace(spaces::Reply::Namespace(_)),
        Reply::State(state::Reply::Entry(first)),
        Reply::State(state::Reply::Entry(_)),
        Reply::State(state::Reply::Entry(third)),
        Reply::Agent(agent::Reply::Agent(_)),
        Reply::State(state::Reply::Entry(removed)),
    ] = &replies[..]
    else {
        panic!("{replies:?}");
    };
    assert_eq!((value(first), first.version()), (json!(1), Version(1)));
    assert_eq!((value(third), third.version()), (json!(3), Version(3)));
    assert_eq!(removed, third);
    let mut kinds = Vec::new();
    for _ in 0..7 {
        let (revision, kind, _) = next_event(&mut watch).await;
        assert_eq!(revision, 1);
        kinds.push(kind);
    }
    kinds.sort();
    assert_eq!(
        kinds,
        [
            "agent.joined",
            "namespace.created",
            "namespace.created",
            "state.deleted",
            "state.patched",
            "state.patched",
            "state.set",
        ]
    );
}

#[tokio::test]
async fn one_refused_command_undoes_all() {
    let (baton, log, clock) = in_memory_with(calm());
    let ada = workspace(&baton);
    ada.state("shared").set("a", 1).await.unwrap();
    ada.namespaces().create("notes").await.unwrap();
    ada.state("notes").set("n", 1).await.unwrap();
    let before = everything(&ada, None, 100).await.unwrap();
    let refused = ada
        .transaction()
        .command(set("a", &json!(2)))
        .command(set("b", &json!(1)))
        .command(spaces::Command::Delete { name: namespace("notes") })
        .command(spaces::Command::Create { name: namespace("other"), rules: Rules::default() })
        .command(Command::Delete(Delete {
            namespace: namespace("shared"),
            key: key("missing"),
            expected_version: None,
            expected_revision: None,
        }))
        .commit()
        .await
        .unwrap_err();
    let Error::Rejected(Rejection::InTransaction { index, cause_code, .. }) = &refused else {
        panic!("{refused:?}");
    };
    assert_eq!((*index, *cause_code), (4, "state.not_found"));
    assert_eq!(refused.code(), "transaction.command_refused");
    assert_eq!(everything(&ada, None, 100).await.unwrap(), before);
    assert_eq!(ada.revision().await.unwrap(), Revision(3));
    assert_eq!(ada.namespaces().list().await.unwrap().len(), 2);
    ada.state("shared").set("a", 3).expected_version(1).await.unwrap();
    drop(ada);
    baton.close().await;
    let baton = on_memory(&log, &clock, calm());
    assert_eq!(workspace(&baton).revision().await.unwrap(), Revision(4));
}

#[tokio::test]
async fn preconditions_decide_whether_anything_happens() {
    let (baton, _, _) = in_memory();
    let ada = workspace(&baton);
    ada.state("shared").set("a", json!({"x": 1})).await.unwrap();
    ada.agents().register().await.unwrap();
    let entry = |exists, value: Option<serde_json::Value>| Precondition::Entry {
        namespace: namespace("shared"),
        key: key("a"),
        version: None,
        exists,
        value: value.map(|value| json_of(&value)),
    };
    let ada_active = |active| Precondition::Agent { agent: AgentId::parse("ada").unwrap(), active };
    let notes = |exists| Precondition::Namespace { name: namespace("notes"), exists };
    let holds = [
        entry_is("a", 1),
        entry_is("missing", 0),
        entry(Some(true), None),
        entry(None, Some(json!({"x": 1}))),
        ada_active(true),
        notes(false),
        Precondition::Revision(Revision(2)),
    ];
    let fails = [
        entry_is("a", 2),
        entry_is("missing", 1),
        entry(Some(false), None),
        entry(None, Some(json!({"x": 2}))),
        ada_active(false),
        notes(true),
        Precondition::Revision(Revision(1)),
    ];
    for precondition in fails {
        let mut transaction = ada.transaction();
        for held in &holds {
            transaction = transaction.require(held.clone());
        }
        let refused = transaction.require(precondition.clone()).command(set("b", &json!(1)));
        let refused = refused.commit().await.unwrap_err();
        let Error::Rejected(Rejection::PreconditionFailed {
            index,
            precondition: reported,
            revision,
            ..
        }) = &refused
        else {
            panic!("{refused:?}");
        };
        assert_eq!((*index, &**reported, revision.0), (holds.len(), &precondition, 2));
    }
    let mut transaction = ada.transaction().command(set("b", &json!(1)));
    for held in holds {
        transaction = transaction.require(held);
    }
    assert_eq!(transaction.commit().await.unwrap().0, Revision(3));
}

/// Concurrent transfers between accounts neither create nor lose money.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_transactions_keep_a_sum() {
    const ACCOUNTS: u64 = 6;
    let folder = folder();
    let baton = open(folder.path()).await;
    for account in 0..ACCOUNTS {
        workspace(&baton).state("shared").set(&format!("account:{account}"), 100).await.unwrap();
    }
    let mut jobs = Vec::new();
    for job in 0..8_u64 {
        let ada = workspace(&baton);
        jobs.push(tokio::spawn(async move {
            let mut done = 0;
            let mut round = job;
            while done < 15 {
                round += 1;
                let names = [round % ACCOUNTS, (round * 5 + job + 1) % ACCOUNTS]
                    .map(|account| format!("account:{account}"));
                if names[0] == names[1] {
                    continue;
                }
                let shared = ada.state("shared");
                let from = shared.get(&names[0]).await.unwrap();
                let to = shared.get(&names[1]).await.unwrap();
                let amount = |entry| value(entry).as_i64().expect("a number");
                let moved = ada
                    .transaction()
                    .require(entry_is(&names[0], from.version().0))
                    .require(entry_is(&names[1], to.version().0))
                    .command(set(&names[0], &json!(amount(&from) - 7)))
                    .command(set(&names[1], &json!(amount(&to) + 7)))
                    .commit()
                    .await;
                match moved {
                    Ok(_) => done += 1,
                    Err(error) => assert_eq!(error.code(), "transaction.precondition_failed"),
                }
            }
        }));
    }
    for job in jobs {
        job.await.unwrap();
    }
    let entries = everything(&workspace(&baton), None, 100).await.unwrap();
    let sum: i64 = entries.iter().map(|entry| value(entry).as_i64().unwrap()).sum();
    assert_eq!(sum, 600);
    let revision = workspace(&baton).revision().await.unwrap();
    assert_eq!(revision, Revision(ACCOUNTS + 8 * 15));
}

#[tokio::test]
async fn a_request_that_is_repeated_has_one_effect_and_one_answer() {
    let (baton, log, clock) = in_memory_with(calm());
    let ada = workspace(&baton).once("order-1").unwrap();
    let first = ada.state("shared").increment("counter", 5).await.unwrap();
    assert_eq!(ada.state("shared").increment("counter", 5).await.unwrap(), first);
    workspace(&baton).state("shared").increment("counter", 1).await.unwrap();
    assert_eq!(ada.state("shared").increment("counter", 5).await.unwrap(), first);

    let reused = ada.state("shared").increment("counter", 6).await.unwrap_err();
    assert_eq!(reused.code(), "idempotency.key_reused");
    // A key belongs to the agent that used it.
    let bob = ada.as_agent("bob").unwrap();
    let own = bob.state("shared").increment("counter", 5).await.unwrap();
    assert_eq!(value(&own), json!(11));

    let transaction = || {
        ada.once("order-2").unwrap().transaction().command(increment("a")).command(increment("b"))
    };
    let answer = transaction().commit().await.unwrap();
    assert_eq!(transaction().commit().await.unwrap(), answer);
    let last = ada.revision().await.unwrap();

    for compacted in [false, true] {
        if compacted {
            let baton = on_memory(&log, &clock, calm());
            baton.compact(&workspace(&baton)).await.unwrap();
            baton.close().await;
        }
        let baton = on_memory(&log, &clock, calm());
        let ada = workspace(&baton);
        let again =
            ada.once("order-1").unwrap().state("shared").increment("counter", 5).await.unwrap();
        assert_eq!(again, first, "compacted: {compacted}");
        let again = ada.once("order-2").unwrap().transaction();
        let again = again.command(increment("a")).command(increment("b")).commit().await.unwrap();
        assert_eq!(again, answer, "compacted: {compacted}");
        let reused = ada.once("order-2").unwrap().state("shared").set("x", 1).await.unwrap_err();
        assert_eq!(reused.code(), "idempotency.key_reused");
        assert_eq!(ada.revision().await.unwrap(), last, "nothing happened twice");
    }
}

#[tokio::test]
async fn a_refusal_is_not_kept_and_a_repeated_request_is_decided_anew() {
    let (baton, _, _) = in_memory();
    let ada = workspace(&baton);
    let keyed = ada.once("try").unwrap().state("shared");
    let refused = keyed.set("plan", 1).expected_version(1).await.unwrap_err();
    assert_eq!(refused.code(), "state.version_conflict");
    ada.state("shared").set("plan", 0).await.unwrap();
    let done = keyed.set("plan", 1).expected_version(1).await.unwrap();
    assert_eq!(done.version(), Version(2));
    assert_eq!(keyed.set("plan", 1).expected_version(1).await.unwrap(), done);
}

/// Several callers send the same request at once, like a client that lost its connection.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_request_sent_many_times_concurrently_has_one_effect() {
    let folder = folder();
    let baton = open(folder.path()).await;
    let mut jobs = Vec::new();
    for number in 0..40 {
        let ada = workspace(&baton).once(&format!("request-{}", number % 10)).unwrap();
        let increments = async move { ada.state("shared").increment("counter", 1).await.unwrap() };
        jobs.push(tokio::spawn(increments));
    }
    let mut answers = Vec::new();
    for job in jobs {
        answers.push(job.await.unwrap());
    }
    for number in 0..10 {
        let mut same = answers.iter().skip(number).step_by(10);
        let first = same.next().unwrap();
        assert!(same.all(|answer| answer == first), "all got the same answer");
    }
    let counter = workspace(&baton).state("shared").get("counter").await.unwrap();
    assert_eq!((value(&counter), counter.version()), (json!(10), Version(10)));
}

/// The answers to four writes with keys, as they are sent. Only the first time they have an effect.
async fn answers(workspace: &Workspace) -> Vec<String> {
    let once = |key: &str| workspace.once(key).unwrap().state("shared");
    let entries = [
        once("order-1").set("plan", "first").await.unwrap(),
        once("order-2").set("lease", [1, 2]).ttl_ms(600_000).await.unwrap(),
        once("order-3").increment("counter", 5).await.unwrap(),
        once("order-4").delete("gone").await.unwrap(),
    ];
    entries.iter().map(|entry| serde_json::to_string(entry).unwrap()).collect()
}

/// A receipt shares its entry with the table; it has the entry of then, whatever happens to it.
#[tokio::test]
async fn the_answer_to_a_repeated_write_outlives_its_entry() {
    let options = Options { idle: Duration::from_mins(1), ..calm() };
    let (baton, log, clock) = in_memory_with(options.clone());
    let ada = workspace(&baton);
    ada.state("shared").set("gone", "soon").await.unwrap();
    let first = answers(&ada).await;
    assert_eq!(answers(&ada).await, first);
    for key in ["plan", "lease", "counter"] {
        ada.state("shared").set(key, "later").await.unwrap();
        assert_eq!(answers(&ada).await, first, "{key} is overwritten");
    }
    for key in ["plan", "counter"] {
        ada.state("shared").delete(key).await.unwrap();
        assert_eq!(answers(&ada).await, first, "{key} is deleted");
    }
    let last = ada.revision().await.unwrap();
    drop(ada);
    baton.close().await;

    let loads = ["from the log", "from a run and a snapshot", "from these"];
    for (load, how) in loads.into_iter().enumerate() {
        let baton = on_memory(&log, &clock, options.clone());
        let ada = workspace(&baton);
        assert_eq!(answers(&ada).await, first, "{how}");
        assert_eq!(ada.revision().await.unwrap(), last, "nothing happened twice");
        ada.fork(&format!("fork-{load}")).await.unwrap();
        let fork = baton.workspace(&format!("fork-{load}")).unwrap().as_agent("ada").unwrap();
        assert_eq!(answers(&fork).await, first, "{how}, in a fork");
        baton.compact(&ada).await.unwrap();
        drop((ada, fork));
        baton.close().await;
    }
}

#[tokio::test]
async fn an_evicted_or_imported_workspace_has_the_same_answers() {
    let (baton, _, clock) = in_memory_with(Options { idle: Duration::from_mins(1), ..forgetful() });
    let ada = workspace(&baton);
    ada.state("shared").set("gone", "soon").await.unwrap();
    let first = answers(&ada).await;
    ada.state("shared").set("plan", "later").await.unwrap();
    for _ in 0..2 {
        clock.advance(60_000);
        eventually("it leaves memory", async || baton.resident_workspaces() == 0).await;
        assert_eq!(answers(&ada).await, first);
    }
    let file = exported(&ada).await;
    let copy = baton.workspace("copy").unwrap().as_agent("ada").unwrap();
    copy.import(Cursor::new(file)).await.unwrap();
    assert_eq!(answers(&copy).await, first);
}

//! Bad input: each is refused with a stable code, facts and a hint; nothing is written, and the
//! next call works.
//!
//! One table. A row contains the bad call, the code it is refused with, and a word of the message
//! that proves that it names the facts.

mod requests;

use std::future::Future;
use std::pin::Pin;

use baton::core::schema::Schema;
use baton::core::state::merge::{Merge, Patch};
use baton::core::state::{Command, PatchEntry, Set};
use baton::core::{AgentId, Json, Kind, Rules, Version, agent, namespace as spaces};
use baton::{Baton, Error, Workspace};
use serde_json::{Value, json};

use crate::harness::{
    calm, in_memory_with, json_of, key, namespace, set, value, value_of_bytes, workspace,
};
use requests::{conditions, pages, patches, places, revisions_and_agents, transactions};

type Attempt = Pin<Box<dyn Future<Output = Result<(), Error>>>>;

/// The invalid call, the expected code, and a word of the message.
struct Row {
    what: &'static str,
    code: &'static str,
    kind: Kind,
    says: &'static str,
    attempt: Box<dyn Fn(Baton, Workspace) -> Attempt>,
}

fn row<F, T>(
    what: &'static str,
    (code, kind): (&'static str, Kind),
    says: &'static str,
    attempt: impl Fn(Baton, Workspace) -> F + 'static,
) -> Row
where
    F: Future<Output = Result<T, Error>> + 'static,
{
    let attempt = move |baton: Baton, ada: Workspace| -> Attempt {
        let attempt = attempt(baton, ada);
        Box::pin(async move { attempt.await.map(|_| ()) })
    };
    Row { what, code, kind, says, attempt: Box::new(attempt) }
}

fn nested(depth: usize) -> Value {
    (0..depth).fold(json!(1), |inner, _| json!([inner]))
}

const NAME: (&str, Kind) = ("request.bad_name", Kind::Invalid);
const JSON: (&str, Kind) = ("request.bad_json", Kind::Invalid);
const PATTERN: (&str, Kind) = ("request.bad_pattern", Kind::Invalid);
const TTL: (&str, Kind) = ("state.ttl_out_of_range", Kind::Invalid);

fn names() -> Vec<Row> {
    let long_key = "k".repeat(513);
    let long_name = "n".repeat(200);
    vec![
        row(
            "empty key",
            NAME,
            "is empty",
            |_, ada| async move { ada.state("shared").set("", 1).await },
        ),
        row("key too long", NAME, "513 bytes, at most 512", move |_, ada| {
            let key = long_key.clone();
            async move { ada.state("shared").set(&key, 1).await }
        }),
        row("control character in a key", NAME, "control characters", |_, ada| async move {
            ada.state("shared").set("a\nb", 1).await
        }),
        row("reading an invalid key", NAME, "is empty", |_, ada| async move {
            ada.state("shared").get("").await
        }),
        row("deleting an invalid key", NAME, "`a\\0`", |_, ada| async move {
            ada.state("shared").delete("a\0").await
        }),
        row("namespace with a slash", NAME, "namespace `a/b`", |_, ada| async move {
            ada.state("a/b").set("k", 1).await
        }),
        row("empty namespace", NAME, "is empty", |_, ada| async move {
            ada.namespaces().create("").await
        }),
        row("namespace too long", NAME, "200 bytes", move |_, ada| {
            let name = long_name.clone();
            async move { ada.namespaces().create(&name).await }
        }),
        row("namespace that climbs", NAME, "`../up`", |_, ada| async move {
            ada.state("../up").get("k").await
        }),
        row("workspace that climbs", NAME, "workspace `..`", |baton, _| async move {
            baton.workspace("..")
        }),
        row("empty workspace", NAME, "is empty", |baton, _| async move { baton.workspace("") }),
        row("workspace in capitals and spaces", NAME, "only letters", |baton, _| async move {
            baton.workspace("My Team")
        }),
        row("empty agent", NAME, "agent", |_, ada| async move { ada.as_agent("") }),
        row("agent with a line break", NAME, "agent", |_, ada| async move { ada.as_agent("a\nb") }),
        row("empty idempotency key", NAME, "idempotency key", |_, ada| async move { ada.once("") }),
        row("long idempotency key", NAME, "257 bytes", |_, ada| async move {
            ada.once(&"i".repeat(257))
        }),
        row(
            "empty pattern",
            PATTERN,
            "must not be empty",
            |_, ada| async move { ada.watch("").await },
        ),
        row("pattern of stars", PATTERN, "more than two", |_, ada| async move {
            ada.state("shared").matching("a***").await
        }),
        row("too many wildcards", PATTERN, "at most 8", |_, ada| async move {
            ada.watch("*a*a*a*a*a*a*a*a*a").await
        }),
    ]
}

fn values() -> Vec<Row> {
    vec![
        row(
            "value too large",
            ("state.value_too_large", Kind::TooLarge),
            "1048577 bytes; the limit is 1048576",
            |_, ada| async move {
                let value = value_of_bytes((1 << 20) + 1);
                ada.state("shared").set("k", value).await
            },
        ),
        row("nested 65 deep", JSON, "64", |_, ada| async move {
            ada.state("shared").set("k", nested(65)).await
        }),
        row("nested ten thousand deep", JSON, "64", |_, _| async move {
            let text = format!("{}1{}", "[".repeat(10_000), "]".repeat(10_000));
            Json::parse(text).map_err(|error| Error::Rejected(error.into()))
        }),
        row("not a value of JSON", JSON, "key", |_, ada| async move {
            let odd: std::collections::BTreeMap<Vec<u8>, u8> = [(vec![1], 1)].into();
            ada.state("shared").set("k", odd).await
        }),
        row("text that is no JSON", JSON, "line 1 column", |_, _| async move {
            Json::parse("{\"a\":").map_err(|error| Error::Rejected(error.into()))
        }),
        row("expected value nested too deep", JSON, "64", |_, ada| async move {
            ada.state("shared").set("k", 1).expected_value(nested(65)).await
        }),
        row(
            "larger than the namespace allows",
            ("state.value_too_large", Kind::TooLarge),
            "the limit is 10",
            |_, ada| async move { ada.state("small").set("k", "far too much").await },
        ),
        row(
            "against the schema",
            ("state.schema_violation", Kind::Invalid),
            "`/step`",
            |_, ada| async move { ada.state("typed").set("k", json!({"step": "one"})).await },
        ),
        row(
            "patched against the schema",
            ("state.schema_violation", Kind::Invalid),
            "typed",
            |_, ada| async move {
                ada.state("typed")
                    .patch("there", Patch::Merge(json_of(&json!({"step": null}))))
                    .await
            },
        ),
    ]
}

fn rules() -> Vec<Row> {
    vec![
        row(
            "replacing what only grows",
            ("state.append_only", Kind::Conflict),
            "append-only",
            |_, ada| async move { ada.state("grows").set("there", 2).await },
        ),
        row(
            "transferring what only grows",
            ("state.append_only", Kind::Conflict),
            "grows",
            |_, ada| async move { ada.state("grows").transfer_to("shared", None).await },
        ),
        row("no time to live at all", TTL, "ttl_ms must be between", |_, ada| async move {
            ada.state("shared").set("k", 1).ttl_ms(0).await
        }),
        row("a time to live in nanoseconds", TTL, "316224000000", |_, ada| async move {
            ada.state("shared").set("k", 1).ttl_ms(u64::MAX).await
        }),
        row(
            "ephemeral without a session",
            ("state.no_session", Kind::Stale),
            "`ada`",
            |_, ada| async move { ada.state("shared").set("k", 1).ephemeral().await },
        ),
    ]
}

async fn prepare(ada: &Workspace) {
    let shared = ada.state("shared");
    shared.set("there", 1).await.unwrap();
    shared.set("text", "one").await.unwrap();
    shared.set("huge", u64::MAX).await.unwrap();
    shared.set("list", json!([])).await.unwrap();
    ada.once("used").unwrap().state("shared").set("k", "first").await.unwrap();
    let schema = json!({
        "type": "object", "required": ["step"], "properties": {"step": {"type": "number"}},
    });
    let schema = Some(Schema::compile(&json_of(&schema)).unwrap());
    for (name, rules) in [
        ("typed", Rules { schema, ..Rules::default() }),
        ("small", Rules { value_bytes_max: Some(10), ..Rules::default() }),
        ("grows", Rules { append_only: true, ..Rules::default() }),
        ("fixed", Rules { merge: Some(Merge::Reject), ..Rules::default() }),
    ] {
        ada.namespaces().create(name).rules(rules).await.unwrap();
    }
    ada.state("typed").set("there", json!({"step": 1})).await.unwrap();
    ada.state("grows").set("there", 1).await.unwrap();
    ada.state("fixed").set("there", 1).await.unwrap();
}

#[tokio::test]
async fn bad_input_is_refused_by_code_and_changes_nothing() {
    let (baton, _, _) = in_memory_with(calm());
    let ada = workspace(&baton);
    prepare(&ada).await;
    let mut counter = 0;
    let rows = [
        names(),
        values(),
        rules(),
        conditions(),
        places(),
        patches(),
        transactions(),
        pages(),
        revisions_and_agents(),
    ];
    let mut failed = Vec::new();
    for row in rows.into_iter().flatten() {
        let before = ada.revision().await.unwrap();
        let Err(error) = (row.attempt)(baton.clone(), ada.clone()).await else {
            failed.push(format!("{}: it was not refused", row.what));
            continue;
        };
        if (error.code(), error.kind()) != (row.code, row.kind) {
            let found = (error.code(), error.kind());
            failed.push(format!("{}: {found:?}, not {:?}", row.what, (row.code, row.kind)));
        }
        let said = error.to_string();
        if !said.contains(row.says) {
            failed.push(format!("{}: `{said}` does not say `{}`", row.what, row.says));
        }
        assert!(!error.hint().is_empty() && !error.is_unknown(), "{}", row.what);
        let tidy = said.chars().next().is_some_and(|first| !first.is_uppercase())
            && !said.ends_with('.')
            && said.len() < 700
            && !said.contains('\n');
        assert!(tidy, "{}: `{said}`", row.what);
        if let Error::Rejected(rejection) = &error {
            let facts = serde_json::to_value(rejection).unwrap();
            assert!(facts.is_object(), "{}: the facts are {facts}", row.what);
        }
        assert_eq!(ada.revision().await.unwrap(), before, "{}: nothing is written", row.what);
        counter += 1;
        let next = ada.state("shared").increment("counter", 1).await.unwrap();
        assert_eq!(value(&next), json!(counter), "{}: the next call works", row.what);
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    assert!(counter > 80, "the table has {counter} rows");
}

/// Input just within the limits is accepted.
#[tokio::test]
async fn input_at_the_limit_is_accepted() {
    let (baton, _, _) = in_memory_with(calm());
    let ada = workspace(&baton);
    let shared = ada.state("shared");
    shared.set(&"k".repeat(512), value_of_bytes(1 << 20)).await.unwrap();
    shared.set("deep", nested(64)).await.unwrap();
    assert_eq!(value(&shared.get("deep").await.unwrap()), nested(64));
    shared.set("all/kinds of: signs! ü €", 1).await.unwrap();
    ada.once(&"i".repeat(256)).unwrap().state("shared").set("a", 1).await.unwrap();
    ada.as_agent(&"a".repeat(128)).unwrap().agents().register().await.unwrap();
    baton.workspace(&"w".repeat(64)).unwrap().state("shared").set("a", 1).await.unwrap();
    let many = (0..1_000).map(|number| set(&format!("key:{number}"), &json!(1)));
    let (_, replies) =
        many.fold(ada.transaction(), baton::Transaction::command).commit().await.unwrap();
    assert_eq!(replies.len(), 1_000);
    let patch = PatchEntry {
        namespace: namespace("shared"),
        key: key("list"),
        patch: Patch::Append(json_of(&json!([1]))),
        expected_version: Some(Version(0)),
        expected_revision: None,
    };
    ada.execute(Command::Patch(patch)).await.unwrap();
    let register = agent::Register {
        agent: AgentId::parse("bob").unwrap(),
        capabilities: (0..64).map(|number| format!("can-{number}")).collect(),
        metadata: Some(json_of(&json!("m".repeat((64 << 10) - 2)))),
        ttl_ms: Some(100),
        parent: None,
    };
    ada.execute(agent::Command::Register(register)).await.unwrap();
    let create =
        spaces::Command::Create { name: namespace(&"n".repeat(160)), rules: Rules::default() };
    ada.execute(create).await.unwrap();
    let whole = Set::new(namespace("shared"), key("whole"), json_of(&json!(null)));
    ada.execute(Command::Set(whole)).await.unwrap();
}

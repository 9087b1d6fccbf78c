//! Rows about existing objects, about patches, and about whole requests.

use baton::Error;
use baton::core::schema::Schema;
use baton::core::state::merge::Patch;
use baton::core::state::{Command, Delete, Diff, History, List, Query, Snapshot, Transfer};
use baton::core::{Kind, Precondition, Revision, Rules, Token, Version, workspace as rules};
use serde_json::{Value, json};

use super::{Row, row};
use crate::harness::{json_of, key, namespace, set, value_of_bytes};

const PATCH: (&str, Kind) = ("state.patch_failed", Kind::Invalid);
const VERSION: (&str, Kind) = ("state.version_conflict", Kind::Conflict);
const UNKNOWN_NAMESPACE: (&str, Kind) = ("state.unknown_namespace", Kind::NotFound);
const LIMIT: (&str, Kind) = ("state.limit_out_of_range", Kind::Invalid);

pub(super) fn conditions() -> Vec<Row> {
    vec![
        row("wrong version", VERSION, "at version 1, not 7", |_, ada| async move {
            ada.state("shared").set("there", 2).expected_version(7).await
        }),
        row("version of what is absent", VERSION, "expected at version 1", |_, ada| async move {
            ada.state("shared").set("absent", 2).expected_version(1).await
        }),
        row("deleting a wrong version", VERSION, "not 9", |_, ada| async move {
            ada.state("shared").delete_version("there", Version(9)).await
        }),
        row("patching a wrong version", VERSION, "not 9", |_, ada| async move {
            ada.state("shared").increment("there", 1).expected_version(9).await
        }),
        row(
            "creating what is there",
            ("state.exists", Kind::Conflict),
            "version 1",
            |_, ada| async move { ada.state("shared").set("there", 2).if_absent().await },
        ),
        row(
            "another value",
            ("state.value_conflict", Kind::Conflict),
            "`there`",
            |_, ada| async move { ada.state("shared").set("there", 2).expected_value(5).await },
        ),
        row(
            "reading what is absent",
            ("state.not_found", Kind::NotFound),
            "`absent`",
            |_, ada| async move { ada.state("shared").get("absent").await },
        ),
        row("unknown namespace, reading", UNKNOWN_NAMESPACE, "`nowhere`", |_, ada| async move {
            ada.state("nowhere").get("k").await
        }),
        row("unknown namespace, writing", UNKNOWN_NAMESPACE, "`nowhere`", |_, ada| async move {
            ada.state("nowhere").set("k", 1).await
        }),
        row("unknown namespace, patching", UNKNOWN_NAMESPACE, "`nowhere`", |_, ada| async move {
            ada.state("nowhere").append("k", 1).await
        }),
        row("unknown namespace, listing", UNKNOWN_NAMESPACE, "`nowhere`", |_, ada| async move {
            ada.state("nowhere").list(List::all(namespace("nowhere"))).await
        }),
    ]
}

pub(super) fn places() -> Vec<Row> {
    vec![
        row(
            "unknown namespace, transferring",
            UNKNOWN_NAMESPACE,
            "`nowhere`",
            |_, ada| async move { ada.state("shared").transfer_to("nowhere", None).await },
        ),
        row(
            "transferring to itself",
            ("state.same_namespace", Kind::Invalid),
            "`shared`",
            |_, ada| async move { ada.state("shared").transfer_to("shared", None).await },
        ),
        row(
            "transferring what is absent",
            ("state.not_found", Kind::NotFound),
            "`absent`",
            |_, ada| async move {
                ada.state("shared").transfer_to("typed", Some(&["there", "absent"])).await
            },
        ),
        row(
            "namespace that is there",
            ("namespace.exists", Kind::Conflict),
            "`typed`",
            |_, ada| async move { ada.namespaces().create("typed").await },
        ),
        row(
            "deleting the permanent one",
            ("namespace.permanent", Kind::Invalid),
            "`shared`",
            |_, ada| async move { ada.namespaces().delete("shared").await },
        ),
        row(
            "deleting an unknown one",
            ("namespace.not_found", Kind::NotFound),
            "`nowhere`",
            |_, ada| async move { ada.namespaces().delete("nowhere").await },
        ),
        row(
            "rules without sense",
            ("namespace.faulty_rules", Kind::Invalid),
            "ttl_ms must be between",
            |_, ada| async move {
                let rules = Rules { ttl_ms: Some(0), ..Rules::default() };
                ada.namespaces().create("odd").rules(rules).await
            },
        ),
        row(
            "a schema that is none",
            ("request.bad_schema", Kind::Invalid),
            "schema",
            |_, _| async move {
                let schema = Schema::compile(&json_of(&json!({"type": "no such type"})));
                schema.map_err(|error| Error::Rejected(error.into()))
            },
        ),
        row(
            "nothing kept",
            ("workspace.nothing_kept", Kind::Invalid),
            "history_count must be at least 1",
            |_, ada| async move {
                let none =
                    rules::Command::Configure { history_count: Some(0), history_age_ms: None };
                ada.execute(none).await
            },
        ),
    ]
}

pub(super) fn patches() -> Vec<Row> {
    let patch = |what, says, key: &'static str, patch: fn() -> Patch| {
        row(what, PATCH, says, move |_, ada| async move {
            ada.state("shared").patch(key, patch()).await
        })
    };
    vec![
        patch("adding to a text", "must be a number", "text", || {
            Patch::Increment(json_of(&json!(1)))
        }),
        patch("adding a text", "must be a number", "there", || {
            Patch::Increment(json_of(&json!("1")))
        }),
        patch("appending to a number", "must be a list", "there", || {
            Patch::Append(json_of(&json!(1)))
        }),
        patch("beyond 64 bits", "out of range", "huge", || Patch::Increment(json_of(&json!(1)))),
        patch("a patch that is none", "not a JSON Patch", "there", || {
            Patch::JsonPatch(json_of(&json!({"op": 1})))
        }),
        patch("a path that is not there", "operation 1", "text", || {
            Patch::JsonPatch(json_of(&json!([
                {"op": "replace", "path": "", "value": {"a": 1}},
                {"op": "remove", "path": "/b"},
            ])))
        }),
        patch("a test that fails", "operation 0", "there", || {
            Patch::JsonPatch(json_of(&json!([{"op": "test", "path": "", "value": 2}])))
        }),
        patch("too many operations", "at most 256", "there", || {
            let operation = json!({"op": "replace", "path": "", "value": 1});
            Patch::JsonPatch(json_of(&Value::Array(vec![operation; 257])))
        }),
        row(
            "a patch of what is absent",
            ("state.not_found", Kind::NotFound),
            "`absent`",
            |_, ada| async move {
                let patch = Patch::JsonPatch(json_of(&json!([{"op": "remove", "path": "/a"}])));
                ada.state("shared").patch("absent", patch).await
            },
        ),
        row(
            "a patch that makes it too large",
            ("state.value_too_large", Kind::TooLarge),
            "1048576",
            |_, ada| async move {
                let value = value_of_bytes(1 << 20);
                ada.state("shared").append("list", value).await
            },
        ),
        row(
            "a write against the merge rule",
            ("state.exists", Kind::Conflict),
            "`there`",
            |_, ada| async move { ada.state("fixed").set("there", 2).await },
        ),
    ]
}

pub(super) fn transactions() -> Vec<Row> {
    let refused = ("transaction.command_refused", Kind::NotFound);
    vec![
        row(
            "empty transaction",
            ("transaction.empty", Kind::Invalid),
            "no commands",
            |_, ada| async move { ada.transaction().commit().await },
        ),
        row(
            "too many commands",
            ("transaction.too_large", Kind::TooLarge),
            "1001 commands; at most 1000",
            |_, ada| async move {
                let many = (0..1_001).map(|number| set(&format!("key:{number}"), &json!(1)));
                many.fold(ada.transaction(), baton::Transaction::command).commit().await
            },
        ),
        row(
            "too many preconditions",
            ("transaction.too_large", Kind::TooLarge),
            "1001 preconditions",
            |_, ada| async move {
                let precondition = Precondition::Revision(Revision(0));
                let many = (0..1_001).map(|_| precondition.clone());
                let transaction = ada.transaction().command(set("k", &json!(1)));
                many.fold(transaction, baton::Transaction::require).commit().await
            },
        ),
        row(
            "too many bytes",
            ("transaction.command_refused", Kind::TooLarge),
            "bytes; at most 8388608",
            |_, ada| async move {
                let large = value_of_bytes(1 << 20);
                let many = (0..9).map(|number| set(&format!("key:{number}"), &large));
                many.fold(ada.transaction(), baton::Transaction::command).commit().await
            },
        ),
        row("one refused of three", refused, "command 1", |_, ada| async move {
            let delete = Delete {
                namespace: namespace("shared"),
                key: key("absent"),
                expected_version: None,
                expected_revision: None,
            };
            let transaction = ada.transaction().command(set("one", &json!(1)));
            transaction
                .command(Command::Delete(delete))
                .command(set("three", &json!(1)))
                .commit()
                .await
        }),
        row(
            "a precondition that fails",
            ("transaction.precondition_failed", Kind::Conflict),
            "precondition 0",
            |_, ada| async move {
                let precondition = Precondition::Revision(Revision(1));
                ada.transaction().require(precondition).command(set("k", &json!(1))).commit().await
            },
        ),
    ]
}

/// A transfer of this many keys.
fn transfer_of(count: usize) -> Transfer {
    Transfer {
        from_namespace: namespace("shared"),
        to_namespace: namespace("typed"),
        keys: Some((0..count).map(|number| key(&format!("key:{number}"))).collect()),
        pattern: None,
        overwrite: false,
        copy: false,
    }
}

pub(super) fn pages() -> Vec<Row> {
    vec![
        row(
            "a key used for something else",
            ("idempotency.key_reused", Kind::Conflict),
            "`used`",
            |_, ada| async move {
                let repeated = ada.once("used")?;
                repeated.state("shared").set("k", "another").await
            },
        ),
        row(
            "a transfer of too much",
            ("state.transfer_too_large", Kind::TooLarge),
            "at most 5000",
            |_, ada| async move {
                let transfer = transfer_of(5_001);
                ada.execute(Command::Transfer(transfer)).await
            },
        ),
        row("a page of nothing", LIMIT, "limit must be between", |_, ada| async move {
            ada.state("shared")
                .list(List { limit: Some(0), ..List::all(namespace("shared")) })
                .await
        }),
        row("a page of too much", LIMIT, "10001", |_, ada| async move {
            ada.state("shared")
                .snapshot(Snapshot { limit: Some(10_001), ..Snapshot::default() })
                .await
        }),
        row("a page of history of too much", LIMIT, "10001", |_, ada| async move {
            ada.state("shared").history(History { limit: Some(10_001), ..History::default() }).await
        }),
        row(
            "a cursor of another query",
            ("state.bad_cursor", Kind::Invalid),
            "`nonsense`",
            |_, ada| async move {
                ada.state("shared")
                    .snapshot(Snapshot { cursor: Some("nonsense".into()), ..Snapshot::default() })
                    .await
            },
        ),
        row(
            "a cursor of history that is none",
            ("state.bad_cursor", Kind::Invalid),
            "`x`",
            |_, ada| async move {
                ada.state("shared")
                    .history(History { cursor: Some("x".into()), ..History::default() })
                    .await
            },
        ),
        row(
            "a cursor of history beyond the present",
            ("state.bad_cursor", Kind::Invalid),
            "`999999`",
            |_, ada| async move {
                ada.state("shared")
                    .history(History { cursor: Some("999999".into()), ..History::default() })
                    .await
            },
        ),
    ]
}

pub(super) fn revisions_and_agents() -> Vec<Row> {
    vec![
        row(
            "history of a key without namespace",
            ("state.key_without_namespace", Kind::Invalid),
            "namespace",
            |_, ada| async move {
                ada.ask(Query::History(History { key: Some(key("there")), ..History::default() }))
                    .await
            },
        ),
        row(
            "a revision to come",
            ("history.not_yet", Kind::Invalid),
            "99999",
            |_, ada| async move { ada.state("shared").get_at("there", Revision(99_999)).await },
        ),
        row(
            "a difference to come",
            ("history.not_yet", Kind::Invalid),
            "99999",
            |_, ada| async move {
                let diff = Diff { namespace: None, from: Revision(0), to: Some(Revision(99_999)) };
                ada.ask(Query::Diff(diff)).await
            },
        ),
        row(
            "an unknown agent",
            ("agent.not_found", Kind::NotFound),
            "`ada`",
            |_, ada| async move { ada.agents().heartbeat(Token(1)).await },
        ),
        row(
            "an impatient agent",
            ("agent.ttl_out_of_range", Kind::Invalid),
            "ttl_ms must be between",
            |_, ada| async move { ada.agents().register().ttl_ms(1).await },
        ),
        row(
            "a capability without name",
            ("agent.bad_capabilities", Kind::Invalid),
            "1 to 128 bytes",
            |_, ada| async move { ada.agents().register().capability("").await },
        ),
        row(
            "too much metadata",
            ("agent.metadata_too_large", Kind::TooLarge),
            "65536",
            |_, ada| async move { ada.agents().register().metadata("m".repeat(70_000)).await },
        ),
    ]
}

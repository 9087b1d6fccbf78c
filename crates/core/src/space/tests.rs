//! Scenarios across the primitives: transactions, receipts, policies; and a naive model.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::command::{Command, Mutation, Request};
use crate::event::Event;
use crate::json::{Json, JsonError};
use crate::kind::Kind;
use crate::limits;
use crate::names::{AgentId, Key, NamespaceName};
use crate::numbers::Revision;
use crate::pattern::Pattern;
use crate::policy;
use crate::primitive;
use crate::rejection::Rejection;
use crate::schema::Schema;
use crate::signal::{Consequence, Signal};
use crate::space::Space;
use crate::testing::{Picture, World, check, check_codes, literals, read_command, scenarios};
use crate::time::Timestamp;
use crate::{agent, namespace, state, workspace};

scenarios! {
    a_transaction_is_one_revision => [
        (0, "ada", "all: state.set shared/a 1 & state.set shared/a 2 & state.set shared/b 1",
            "state.set shared/a v1 = 1; state.set shared/a v2 = 2; state.set shared/b v1 = 1"),
        (0, "ada", "state.get shared/a",  "shared/a v2 = 2 r1 at 0 by ada"),
        (0, "ada", "state.get shared/b",  "shared/b v1 = 1 r1 at 0 by ada"),
        (0, "ada", "all: state.delete shared/a & state.set shared/a 7",
            "state.deleted shared/a v2; state.set shared/a v3 = 7"),
        (0, "ada", "all: workspace.configure & agent.heartbeat ada",
            "refused transaction.command_refused 1 agent.not_found"),
        (0, "ada", "all: workspace.configure",
            "r2: count=10000000 age=2592000000 entries=2 namespaces=1 agents=0"),
        (0, "ada", "all:",                "refused transaction.empty"),
        (0, "ada", "all: if revision 2",  "refused transaction.empty"),
    ]

    commands_of_a_transaction_cannot_wait => [
        (0, "ada", "lock.acquire door",   "lock.acquired door by ada token=1"),
        (0, "bob", "all: state.set shared/a 1 & lock.acquire door wait_ms=5",
            "refused transaction.command_refused 1 transaction.cannot_wait"),
        (0, "ada", "under 2 state.set shared/a 1", "refused request.stale_token"),
        (0, "bob", "under 1 state.set shared/a 1", "refused request.not_holder"),
        (0, "ada", "under 1 state.set shared/a 1", "state.set shared/a v1 = 1"),
    ]

    a_command_without_effect_undoes_the_transaction => [
        (0, "ada", "lock.acquire door",   "lock.acquired door by ada token=1"),
        (0, "bob", "all: state.set shared/a 1 & lock.acquire door",
            "refused transaction.command_refused 1 transaction.came_to_nothing"),
        (0, "bob", "all: task.claim & state.set shared/a 1",
            "refused transaction.command_refused 0 transaction.came_to_nothing"),
        (0, "bob", "all: state.set shared/a 1 & try lock.acquire door & try task.claim",
            "state.set shared/a v1 = 1"),
        (0, "bob", r#"all: if lock door holder="ada" & state.set shared/a 2"#,
            "state.set shared/a v2 = 2"),
        (0, "bob", "all: if lock window held=true & state.set shared/a 3",
            "refused transaction.precondition_failed 0"),
        (0, "bob", r#"all: if lock door holder="bob" & state.set shared/a 3"#,
            "refused transaction.precondition_failed 0"),
    ]

    a_later_command_sees_the_effects_of_earlier_ones => [
        (0, "ada", "all: namespace.create n & state.set n/a 1 & agent.register ada \
            & state.set n/b 1 ephemeral & state.transfer n shared",
            "namespace.created n; state.set n/a v1 = 1; \
             agent.joined ada token=1 ttl=60000; namespace.created agent:ada; \
             state.set n/b v1 = 1 with ada; \
             state.transferred shared/a v1 = 1 from n v1 r1 by ada; state.transferred_away n/a v1; \
             state.transferred shared/b v1 = 1 from n v1 r1 by ada; state.transferred_away n/b v1"),
        (0, "ada", "all: namespace.delete n & namespace.create n & state.set n/a 2 \
            & workspace.configure history_count=9 & agent.leave ada",
            "namespace.deleted n; namespace.created n; state.set n/a v2 = 2; \
             workspace.configured count=9 age=2592000000; agent.left ada"),
    ]

    nothing_of_a_refused_transaction_remains => [
        (0, "ada", "namespace.create old",        "namespace.created old"),
        (0, "ada", "namespace.create empty",      "namespace.created empty"),
        (0, "ada", "state.set old/a 1 ttl_ms=50", "state.set old/a v1 = 1 until 50"),
        (0, "ada", "state.set old/b 1",           "state.set old/b v1 = 1"),
        (0, "ada", "agent.register ada ttl_ms=1000",
            "agent.joined ada token=5 ttl=1000; namespace.created agent:ada"),
        (0, "ada", "state.set old/c 1 ephemeral", "state.set old/c v1 = 1 with ada"),
        // By a new author, with entries in a new namespace.
        (1, "eve", "all: namespace.create new & state.set new/a 1 & state.delete shared/x",
            "refused transaction.command_refused 2 state.not_found"),
        (1, "eve", "all: state.set empty/a 1 & state.delete shared/x",
            "refused transaction.command_refused 1 state.not_found"),
        (1, "eve", "all: state.set old/a 2 & state.delete old/b & state.patch old/c increment=1 \
            & state.transfer old shared & namespace.delete old & namespace.create old \
            & state.set old/a 3 ttl_ms=9 & namespace.delete old & state.delete shared/x",
            "refused transaction.command_refused 8 state.not_found"),
        (1, "eve",
            r#"all: namespace.configure old rules={"append_only":true} & state.delete old/a"#,
            "refused transaction.command_refused 1 state.append_only"),
        (1, "eve", "all: agent.leave ada & agent.register ada & agent.register eve ttl_ms=200 \
            & state.set old/e 1 ephemeral & agent.leave eve & state.delete shared/x",
            "refused transaction.command_refused 5 state.not_found"),
        (500, "eve", "all: agent.heartbeat ada & workspace.configure history_count=1 \
            & workspace.configure history_count=0",
            "refused transaction.command_refused 2 workspace.nothing_kept"),
        // Nothing has changed, and the revision is the next one.
        (500, "bob", "namespace.delete empty",    "namespace.deleted empty"),
        (500, "bob", "time",                      "state.expired old/a v1"),
        (1250, "bob", "time",                     "agent.lost ada; state.let_go old/c v1"),
        (1250, "bob", "state.get old/b",          "old/b v1 = 1 r4 at 0 by ada"),
        (1250, "bob", "namespace.delete old",     "namespace.deleted old"),
        (1250, "bob", "workspace.configure history_count=3",
            "workspace.configured count=3 age=2592000000"),
    ]

    /// Whether a namespace once had entries is not recorded, so nothing may depend on it.
    an_emptied_namespace_is_like_one_that_never_had_entries => [
        (0, "ada", "namespace.create e",          "namespace.created e"),
        (0, "ada", "state.set e/a 1",             "state.set e/a v1 = 1"),
        (0, "ada", "state.delete e/a",            "state.deleted e/a v1"),
        (0, "eve", "all: state.set e/a 1 & state.delete shared/x",
            "refused transaction.command_refused 1 state.not_found"),
        (0, "ada", "namespace.delete e",          "namespace.deleted e"),
    ]

    a_transaction_happens_only_if_all_holds_that_it_requires => [
        (0, "ada", "all: if entry shared/a version=1 & state.set shared/a 1",
            "refused transaction.precondition_failed 0"),
        (0, "ada", "all: if entry shared/a version=0 & state.set shared/a 1",
            "state.set shared/a v1 = 1"),
        (0, "ada", "all: if entry shared/a exists=true & if entry shared/b exists=true \
            & state.set shared/a 2", "refused transaction.precondition_failed 1"),
        (0, "ada", "all: if entry shared/a exists=false & state.set shared/a 2",
            "refused transaction.precondition_failed 0"),
        (0, "ada", "all: if entry shared/a value=2 & state.set shared/a 2",
            "refused transaction.precondition_failed 0"),
        (0, "ada", "all: if entry shared/b value=null & state.set shared/a 2",
            "refused transaction.precondition_failed 0"),
        (0, "ada", "all: if entry shared/a value=1.0 version=1 exists=true & if entry shared/a \
            & if entry ghost/a exists=false & state.set shared/a 2", "state.set shared/a v2 = 2"),
        (0, "ada", "all: if namespace n exists=true & namespace.create n",
            "refused transaction.precondition_failed 0"),
        (0, "ada", "all: if namespace n exists=false & namespace.create n", "namespace.created n"),
        (0, "ada", "all: if agent ada active=true & state.set shared/a 3",
            "refused transaction.precondition_failed 0"),
        (0, "ada", "all: if agent ada active=false & agent.register ada",
            "agent.joined ada token=4 ttl=60000; namespace.created agent:ada"),
        (0, "ada", "all: if agent ada active=true & agent.leave ada", "agent.left ada"),
        (0, "ada", "all: if agent ada active=true & state.set shared/a 3",
            "refused transaction.precondition_failed 0"),
        (0, "ada", "all: if revision 4 & state.set shared/a 3",
            "refused transaction.precondition_failed 0"),
        (0, "ada", "all: if revision 5 & state.set shared/a 3", "state.set shared/a v3 = 3"),
        (0, "ada", "all: if revision 5 & state.set shared/a 4",
            "refused transaction.precondition_failed 0"),
    ]

    a_transaction_has_limits => [
        (0, "ada", "many 1000 state.set shared/k{} 1", "1000 state.set"),
        (0, "ada", "many 1001 state.set shared/k{} 1", "refused transaction.too_large commands"),
    ]

    a_repeated_request_has_no_second_effect => [
        (0, "ada", "#k1 state.patch shared/n increment=1",
            "state.patched shared/n v1 = 1; receipt.kept k1"),
        (5, "ada", "state.patch shared/n increment=1",  "state.patched shared/n v2 = 2"),
        (9, "ada", "#k1 state.patch shared/n increment=1", "r1: shared/n v1 = 1 r1 at 0 by ada"),
        (9, "ada", "state.get shared/n",                "shared/n v2 = 2 r2 at 5 by ada"),
        (9, "ada", "#k1 state.patch shared/n increment=2", "refused idempotency.key_reused"),
        (9, "ada", "#k1 all: state.patch shared/n increment=1", "refused idempotency.key_reused"),
        // Keys belong to the agent that used them.
        (9, "bob", "#k1 state.patch shared/n increment=2",
            "state.patched shared/n v3 = 4; receipt.kept k1"),
        // A request that was refused, or changed nothing, is decided again.
        (9, "ada", "#k2 state.set shared/x 1 expected_version=1", "refused state.version_conflict"),
        (9, "ada", "#k2 state.set shared/x 1",
            "state.set shared/x v1 = 1; receipt.kept k2"),
        (9, "ada", "#k3 workspace.configure",
            "r4: count=10000000 age=2592000000 entries=2 namespaces=1 agents=0"),
        (9, "ada", "#k3 all: agent.register ada & state.delete shared/x & namespace.create n",
            "agent.joined ada token=5 ttl=60000; namespace.created agent:ada; \
             state.deleted shared/x v1; namespace.created n; receipt.kept k3"),
        (9, "ada", "#k3 all: agent.register ada & state.delete shared/x & namespace.create n",
            "r5: ada active token=5 seen=9; shared/x v1 = 1 r4 at 9 by ada; namespace n by ada r5"),
        // The entry may be gone; the answer is the first one.
        (9, "ada", "state.delete shared/n",             "state.deleted shared/n v3"),
        (9, "ada", "#k1 state.patch shared/n increment=1", "r1: shared/n v1 = 1 r1 at 0 by ada"),
        // After a day a key may be used again, once another answer was stored.
        (86_400_009, "ada", "#k4 state.set shared/y 1",
            "state.set shared/y v1 = 1; agent.seen ada; receipt.kept k4"),
        (86_400_010, "ada", "#k5 state.set shared/y 1",
            "state.set shared/y v2 = 1; receipt.kept k5"),
        (86_400_010, "ada", "#k1 state.patch shared/n increment=1",
            "state.patched shared/n v4 = 1; receipt.kept k1"),
    ]

    consequences_are_part_of_the_same_commit => [
        (0, "ada", "#join agent.register ada ttl_ms=100",
            "agent.joined ada token=1 ttl=100; namespace.created agent:ada; receipt.kept join"),
        (1, "ada", "all: state.set shared/a 1 ephemeral & agent.leave ada & state.set shared/b 1",
            "state.set shared/a v1 = 1 with ada; agent.left ada; state.let_go shared/a v1; \
             state.set shared/b v1 = 1"),
        (1, "ada", "all: state.set shared/c 1 & agent.leave ada & state.set shared/b 1",
            "refused transaction.command_refused 1 agent.ended"),
        (2, "ada", "#join agent.register ada ttl_ms=100",  "r1: ada active token=1 seen=0"),
    ]
}

#[test]
fn every_refusal_is_reached() {
    let elsewhere = [
        // No policy has a cycle yet; the limit is a safeguard.
        "policy.too_many_rounds",
        // Only with a quota: see its tests.
        "quota.entries",
        "quota.stored_bytes",
        // Found when a request is parsed, before the rules see it.
        "request.bad_name",
        "request.bad_json",
        "request.bad_pattern",
        "request.bad_schema",
    ];
    check_codes(Rejection::REFUSALS, SCENARIOS, &elsewhere);
}

#[test]
fn a_refusal_says_what_to_do() {
    let nested: JsonError = Json::parse("[".repeat(99) + &"]".repeat(99)).unwrap_err();
    let pattern = "***".parse::<Pattern>().unwrap_err();
    let schema = Schema::compile(&Json::parse("7").unwrap()).unwrap_err();
    let refusals: [(Rejection, &str, Kind); 7] = [
        (AgentId::parse("").unwrap_err().into(), "request.bad_name", Kind::Invalid),
        (nested.into(), "request.bad_json", Kind::Invalid),
        (pattern.into(), "request.bad_pattern", Kind::Invalid),
        (schema.into(), "request.bad_schema", Kind::Invalid),
        (Rejection::PolicyRounds { max: 16 }, "policy.too_many_rounds", Kind::Exhausted),
        (Rejection::TooManyEntries { given: 3, max: 2 }, "quota.entries", Kind::Exhausted),
        (Rejection::TooManyBytes { given: 3, max: 2 }, "quota.stored_bytes", Kind::Exhausted),
    ];
    for (refusal, code, kind) in refusals {
        assert_eq!((refusal.code(), refusal.kind()), (code, kind));
        assert!(!refusal.to_string().is_empty() && !refusal.hint().is_empty());
        assert!(json!(refusal).is_object(), "{refusal:?}");
    }
}

#[test]
fn too_many_preconditions_are_refused() {
    let run = |count: usize| {
        let require = vec!["if revision 0"; count].join(" & ");
        check(&[]).run(0, "ada", &format!("all: {require} & state.set shared/a 1"))
    };
    let max = limits::TRANSACTION_REQUIREMENTS_MAX;
    assert_eq!(run(max), "state.set shared/a v1 = 1");
    assert_eq!(run(max + 1), "refused transaction.too_large preconditions");
}

/// Seven values of the maximum size fit into a batch, eight do not.
#[test]
fn too_many_bytes_are_refused() {
    let mut world = check(&[]);
    let large = |count: usize| format!("many {count} state.set shared/l{{}} bytes:1048576");
    let refused = world.run(0, "ada", &large(8));
    assert_eq!(refused, "refused transaction.command_refused 7 transaction.too_large");
    assert!(world.run(0, "ada", &large(7)).starts_with("state.set shared/l0 v1 = 1048576 bytes"));
    // With a receipt the answer must fit as well, whether it contains writes or deletions.
    let refused = "refused transaction.too_large bytes";
    assert_eq!(world.run(0, "ada", &format!("#k {}", large(4))), refused);
    let all = "all: state.delete shared/l0 & state.delete shared/l0";
    let twice = "refused transaction.command_refused 1 state.not_found";
    assert_eq!(world.run(0, "ada", all), twice);
    assert!(world.run(0, "ada", "#k many 7 state.delete shared/l{}").ends_with("receipt.kept k"));
}

/// Schemas and metadata weigh too.
#[test]
fn too_many_bytes_of_rules_or_metadata_are_refused() {
    let mut world = check(&[]);
    let text = world.run(0, "ada", "many 200 agent.register a{} metadata=bytes:65536");
    assert_eq!(text, "refused transaction.command_refused 127 transaction.too_large");
    let rules = r#"{"schema":{"title":"TEXT"}}"#.replace("TEXT", &"x".repeat(60_000));
    let text = world.run(0, "ada", &format!("many 200 namespace.create n{{}} rules={rules}"));
    assert_eq!(text, "refused transaction.command_refused 139 transaction.too_large");
}

#[test]
fn too_many_events_are_refused() {
    let mut world = check(&[(0, "ada", "namespace.create b", "namespace.created b")]);
    for first in 0..3 {
        let asked = format!("many 1000 state.set shared/{first}{{}} 1");
        assert_eq!(world.run(0, "ada", &asked), "1000 state.set");
    }
    world.check(&[
        (
            0,
            "ada",
            "all: state.transfer shared b & state.transfer b shared",
            "refused transaction.command_refused 1 transaction.too_large",
        ),
        (
            0,
            "ada",
            "state.transfer shared b",
            "3000 state.transferred; 3000 state.transferred_away",
        ),
    ]);
}

#[test]
fn a_failed_precondition_contains_the_current_state() {
    let mut world = check(&[(0, "ada", "state.set shared/a 1", "state.set shared/a v1 = 1")]);
    let require = vec![
        serde_json::from_value(json!({
            "entry": { "namespace": "shared", "key": "a", "version": 7 }
        }))
        .unwrap(),
    ];
    let commands = vec![read_command("state.set shared/a 2")];
    let mutation = Mutation::Transaction { require, commands, optional: Vec::new() };
    let request = Request { mutation, idempotency_key: None };
    let ada = AgentId::parse("ada").unwrap();
    let refusal = world.space.commit(request, &ada, Timestamp(0)).unwrap_err();
    let facts = json!(refusal);
    assert_eq!(facts["entry"]["version"], 1);
    assert_eq!(facts["precondition"]["entry"]["version"], 7);
    assert_eq!((&facts["index"], &facts["revision"]), (&json!(0), &json!(1)));
}

#[test]
fn receipts_survive_a_snapshot_and_a_replay() {
    let mut world = check(&[
        (0, "ada", "#k state.set shared/a 1", "state.set shared/a v1 = 1; receipt.kept k"),
        (1, "ada", "state.set shared/a 2", "state.set shared/a v2 = 2"),
    ]);
    for mut space in [world.restored(), world.replayed()] {
        std::mem::swap(&mut world.space, &mut space);
        let again = world.run(2, "ada", "#k state.set shared/a 1");
        assert_eq!(again, "r1: shared/a v1 = 1 r1 at 0 by ada");
        assert_eq!(
            world.run(2, "ada", "#k state.set shared/a 3"),
            "refused idempotency.key_reused"
        );
    }
}

/// The entry of an answer is shared with the table, which may drop it.
#[test]
fn an_answer_does_not_change_with_its_entry() {
    const FIRST: &str = "#k state.set shared/a 1";
    const ANSWER: &str = "r1: shared/a v1 = 1 r1 at 0 by ada";
    let mut world = check(&[(0, "ada", FIRST, "state.set shared/a v1 = 1; receipt.kept k")]);
    let later = [
        ("state.set shared/a 2", "state.set shared/a v2 = 2"),
        ("state.delete shared/a", "state.deleted shared/a v2"),
        ("#d state.set shared/a 3", "state.set shared/a v3 = 3; receipt.kept d"),
        (
            "all: state.delete shared/a & state.set shared/a 1",
            "state.deleted shared/a v3; state.set shared/a v4 = 1",
        ),
        ("namespace.create n", "namespace.created n"),
        (
            "state.transfer shared n",
            "state.transferred n/a v1 = 1 from shared v4 r5 by bob; \
             state.transferred_away shared/a v4",
        ),
        ("namespace.delete n", "namespace.deleted n"),
    ];
    for (asked, expected) in later {
        assert_eq!(world.run(1, "bob", asked), expected);
        assert_eq!(world.run(2, "ada", FIRST), ANSWER, "after {asked}");
        for mut space in [world.restored(), world.replayed()] {
            assert_eq!(Picture::of(&space), Picture::of(&world.space), "after {asked}");
            std::mem::swap(&mut world.space, &mut space);
            assert_eq!(world.run(2, "ada", FIRST), ANSWER, "loaded after {asked}");
        }
    }
}

/// The longest chain of policies that one command can cause, as the number of rounds.
#[test]
fn policies_come_to_an_end() {
    let mut world = check(&[]);
    let ada = AgentId::parse("ada").unwrap();
    let steps = ["agent.register ada", "state.set shared/a 1 ephemeral", "agent.leave ada"];
    for asked in steps {
        let committed = world.space.commit(read_command(asked).into(), &ada, Timestamp(0)).unwrap();
        for event in committed.batch.unwrap().events {
            let follows = policy::follow(&world.space, &event);
            let is_about_an_agent = matches!(event, Event::Agent(_));
            assert!(is_about_an_agent || follows.is_empty(), "{event:?} causes {follows:?}");
            // Policies do not affect agents, so nothing follows from that.
            let is_about_agents =
                |it: &Consequence| matches!(it, Consequence::Command(Command::Agent(_)));
            assert!(!follows.iter().any(is_about_agents));
        }
    }
}

#[test]
fn a_deleted_namespace_notifies_watchers_of_its_keys() {
    let deleted = |name: &str| {
        let name = NamespaceName::parse(name).unwrap();
        Event::Namespace(namespace::Event::Deleted { name })
    };
    let concerns = |event: &Event, pattern: &str| {
        event.concerns(&pattern.parse::<Pattern>().unwrap(), &event.subject())
    };
    for pattern in ["state/n/**", "state/**", "state/*/plan", "state/n/a:*", "namespaces/n", "**"] {
        assert!(concerns(&deleted("n"), pattern), "{pattern}");
    }
    for pattern in ["state/m/**", "state/nn/a", "agents/*", "namespaces/m"] {
        assert!(!concerns(&deleted("n"), pattern), "{pattern}");
    }
}

#[test]
fn the_kinds_of_events_are_spelled_like_their_primitives() {
    let sources = [
        ("state", include_str!("../primitives/state/vocabulary.rs"), state::Rejection::REFUSALS),
        (
            "namespace",
            include_str!("../primitives/namespace/vocabulary.rs"),
            namespace::Rejection::REFUSALS,
        ),
        ("agent", include_str!("../primitives/agent/vocabulary.rs"), agent::Rejection::REFUSALS),
        (
            "workspace",
            include_str!("../primitives/workspace/vocabulary.rs"),
            workspace::Rejection::REFUSALS,
        ),
    ];
    for (primitive, source, refusals) in sources {
        let codes = refusals.iter().map(|refusal| refusal.code.to_owned());
        for word in literals(source, "kind").into_iter().chain(codes) {
            let rest = word.strip_prefix(primitive).and_then(|rest| rest.strip_prefix('.'));
            let plain = |rest: &str| rest.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
            assert!(rest.is_some_and(plain), "{word}");
        }
    }
}

/// A model of shared state as a plain map.
#[derive(Clone, Debug, Default, PartialEq)]
struct Model {
    entries: BTreeMap<(bool, u8), (Value, u64)>,
    /// The last version of every key that ever was.
    versions: BTreeMap<(bool, u8), u64>,
    second: bool,
}

#[derive(Clone, Debug)]
enum Move {
    Set { place: (bool, u8), value: i64, expected: Option<u64>, if_absent: bool },
    Increment { place: (bool, u8), by: i64 },
    Append { place: (bool, u8), value: i64 },
    Delete { place: (bool, u8), expected: Option<u64> },
    Transfer { to_second: bool, overwrite: bool },
    Create,
    Drop,
}

fn any_move() -> impl Strategy<Value = Move> {
    let place = || (proptest::bool::weighted(0.3), 0..4_u8);
    let version = || proptest::option::weighted(0.3, 0..4_u64);
    prop_oneof![
        8 => (place(), -9..9_i64, version(), proptest::bool::weighted(0.2)).prop_map(
            |(place, value, expected, if_absent)| Move::Set { place, value, expected, if_absent }
        ),
        4 => (place(), -9..9_i64).prop_map(|(place, by)| Move::Increment { place, by }),
        3 => (place(), -9..9_i64).prop_map(|(place, value)| Move::Append { place, value }),
        4 => (place(), version()).prop_map(|(place, expected)| Move::Delete { place, expected }),
        1 => any::<(bool, bool)>()
            .prop_map(|(to_second, overwrite)| Move::Transfer { to_second, overwrite }),
        2 => Just(Move::Create),
        1 => Just(Move::Drop),
    ]
}

fn name(second: bool) -> &'static str {
    if second { "second" } else { "shared" }
}

impl Move {
    /// The move as a scenario request.
    fn asked(&self) -> String {
        let at = |(second, key): &(bool, u8)| format!("{}/k{key}", name(*second));
        let version = |expected: &Option<u64>| {
            expected.map_or(String::new(), |version| format!(" expected_version={version}"))
        };
        match self {
            Self::Set { place, value, expected, if_absent } => {
                let absent = if *if_absent { " if_absent" } else { "" };
                format!("state.set {} {value}{}{absent}", at(place), version(expected))
            }
            Self::Increment { place, by } => format!("state.patch {} increment={by}", at(place)),
            Self::Append { place, value } => format!("state.patch {} append={value}", at(place)),
            Self::Delete { place, expected } => {
                format!("state.delete {}{}", at(place), version(expected))
            }
            Self::Transfer { to_second, overwrite } => {
                let overwrite = if *overwrite { " overwrite" } else { "" };
                format!("state.transfer {} {}{overwrite}", name(!to_second), name(*to_second))
            }
            Self::Create => "namespace.create second".into(),
            Self::Drop => "namespace.delete second".into(),
        }
    }
}

impl Model {
    fn put(&mut self, place: (bool, u8), value: Value) {
        let version = self.versions.entry(place).or_default();
        *version += 1;
        self.entries.insert(place, (value, *version));
    }

    /// Whether the move is possible; if not, the model is inconsistent and must be discarded.
    fn run(&mut self, step: &Move) -> bool {
        let is_there = |second: bool| !second || self.second;
        match *step {
            Move::Set { place, value, expected, if_absent } => {
                let version = self.entries.get(&place).map_or(0, |(_, version)| *version);
                let wanted = expected.is_none_or(|expected| expected == version);
                if !is_there(place.0) || !wanted || (if_absent && version > 0) {
                    return false;
                }
                self.put(place, json!(value));
            }
            Move::Increment { place, by } => {
                let before = self.entries.get(&place).map_or(json!(0), |(value, _)| value.clone());
                let Some(number) = before.as_i64().filter(|_| is_there(place.0)) else {
                    return false;
                };
                self.put(place, json!(number + by));
            }
            Move::Append { place, value } => {
                let before = self.entries.get(&place).map_or(json!([]), |(value, _)| value.clone());
                let Some(list) = before.as_array().filter(|_| is_there(place.0)) else {
                    return false;
                };
                let mut list = list.clone();
                list.push(json!(value));
                self.put(place, json!(list));
            }
            Move::Delete { place, expected } => {
                let version = self.entries.get(&place).map_or(0, |(_, version)| *version);
                let wanted = expected.is_none_or(|expected| expected == version);
                return is_there(place.0) && wanted && self.entries.remove(&place).is_some();
            }
            Move::Transfer { to_second, overwrite } => return self.transfer(to_second, overwrite),
            Move::Create => return !std::mem::replace(&mut self.second, true),
            Move::Drop => {
                self.entries.retain(|(second, _), _| !second);
                return std::mem::replace(&mut self.second, false);
            }
        }
        true
    }

    fn transfer(&mut self, to_second: bool, overwrite: bool) -> bool {
        let moving: Vec<u8> =
            (0..4).filter(|key| self.entries.contains_key(&(!to_second, *key))).collect();
        for key in moving {
            if !overwrite && self.entries.contains_key(&(to_second, key)) {
                return false;
            }
            let (value, _) = self.entries.remove(&(!to_second, key)).unwrap();
            self.put((to_second, key), value);
        }
        self.second
    }

    fn check(&self, space: &Space) {
        let mut found = BTreeMap::new();
        for entry in space.state.everything(None, None) {
            let key = entry.key().strip_prefix('k').unwrap().parse::<u8>().unwrap();
            let place = (entry.namespace().as_str() == "second", key);
            found.insert(place, (entry.json().to_value(), entry.version().0));
        }
        assert_eq!(found, self.entries);
        let second = NamespaceName::parse("second").unwrap();
        assert_eq!(space.namespace.get(&second).is_some(), self.second);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    /// Commands and transactions have the effects of the model; those that the model rejects are
    /// refused entirely.
    #[test]
    fn a_space_does_what_a_map_would(
        wishes in proptest::collection::vec(proptest::collection::vec(any_move(), 1..6), 1..40),
        transactions in any::<u64>(),
    ) {
        let mut world = World::new(Space::default());
        let mut model = Model::default();
        for (number, moves) in wishes.iter().enumerate() {
            let author = if number % 7 == 0 { format!("new{number}") } else { "ada".into() };
            let time = number as u64;
            if transactions >> (number % 64) & 1 == 1 {
                let all: Vec<String> = moves.iter().map(Move::asked).collect();
                let text = world.run(time, &author, &format!("all: {}", all.join(" & ")));
                let mut after = model.clone();
                let possible = moves.iter().all(|step| after.run(step));
                prop_assert_eq!(possible, !text.starts_with("refused"), "{:?}: {}", all, text);
                if possible {
                    model = after;
                }
                model.check(&world.space);
                continue;
            }
            for step in moves {
                let text = world.run(time, &author, &step.asked());
                let mut after = model.clone();
                let possible = after.run(step);
                prop_assert_eq!(possible, !text.starts_with("refused"), "{:?}: {}", step, text);
                if possible {
                    model = after;
                }
                model.check(&world.space);
            }
        }
        world.check_memory();
    }

    /// For any actions and silences of agents, replaying the log gives the same space.
    #[test]
    fn a_space_is_what_its_log_says(
        steps in proptest::collection::vec((0..600_u64, 0..4_usize, 0..14_usize, 0..3_u8), 1..60),
    ) {
        const AGENTS: [&str; 4] = ["ada", "bob", "cho", "dan"];
        let mut world = World::new(Space::default());
        let mut time = 0;
        for (pause, agent, what, key) in steps {
            time += pause;
            let agent = AGENTS[agent];
            let asked = match what {
                0 | 1 => format!("agent.register {agent} ttl_ms=800"),
                2 => format!("agent.heartbeat {agent}"),
                3 => format!("agent.leave {agent}"),
                4 => format!("state.set shared/k{key} {time} ephemeral"),
                5 => format!("state.set agent:{agent}/k{key} {time} ephemeral ttl_ms=700"),
                6 => format!("state.set shared/k{key} {time} ttl_ms=500"),
                7 => format!("#r{key} state.patch shared/n increment=1"),
                8 => format!("state.transfer agent:{agent} shared overwrite"),
                9 => format!("namespace.delete agent:{agent}"),
                10 => format!(
                    "all: state.set shared/k{key} 0 ephemeral & agent.leave {agent} \
                     & state.delete shared/k9"
                ),
                11 => format!("state.delete shared/k{key}"),
                12 => format!(
                    "#r{key} all: agent.register {agent} & state.set shared/k{key} 1 ephemeral"
                ),
                _ => "time".into(),
            };
            let _ = world.run(time, agent, &asked);
        }
        world.check_memory();
    }
}

/// A token of this kind that an agent may use now, if it has one.
fn live_token(space: &Space, kind: &str, agent: &str) -> u64 {
    let agent = AgentId::parse(agent).unwrap();
    let token = match kind {
        "lock" => space.lock.holds().of_agent(&agent).next().map(|hold| hold.token),
        "semaphore" => space.semaphore.holds().of_agent(&agent).next().map(|permit| permit.token),
        _ => {
            let held = space.task.held_by(&agent).next();
            held.and_then(|record| record.lease.as_ref()).map(|lease| lease.token)
        }
    };
    token.map_or(0, |token| token.0)
}

/// A random action of an agent that holds, waits, works or is lost.
fn any_deed(space: &Space, kind: u8, agent: &str, number: u64) -> String {
    let token = |kind| live_token(space, kind, agent);
    let name = number % 3;
    let held = space.task.held_by(&AgentId::parse(agent).unwrap()).next();
    let task = held.map_or("t0".to_owned(), |record| record.id.to_string());
    match kind {
        0 => format!("lock.acquire n{name} ttl_ms=900 wait_ms=700"),
        1 => format!("lock.release n{name} token={}", token("lock")),
        2 => {
            let weight = 1 + number % 2;
            format!("semaphore.acquire n{name} permits=2 weight={weight} ttl_ms=800 wait_ms=500")
        }
        3 => format!("semaphore.release n{name} token={}", token("semaphore")),
        4 => format!("barrier.arrive n{name} count=3 wait_ms=400"),
        5 => format!("barrier.arrive n{name} count=3"),
        6 => format!("barrier.reset n{name}"),
        7 => format!(r#"task.create w group="g{name}" max_retries=1"#),
        8 => format!(r#"task.create w id="t{number}" group="g{name}" deadline_ms=900"#),
        9 => "task.claim wait_ms=300 lease_ms=600".to_owned(),
        10 => format!("task.complete {task} token={} result={number}", token("task")),
        11 => format!("task.fail {task} token={} error={number}", token("task")),
        12 => format!("task.cancel t{number}"),
        13 => format!(r#"join.create id="j{number}" group="g{name}" need=2 deadline_ms=1500"#),
        14 => format!(r#"join.create id="j{number}" tasks=["t{name}"]"#),
        15 => format!("join.wait j{number} wait_ms=600"),
        16 => format!("agent.register {agent} ttl_ms=1000"),
        17 => format!("agent.leave {agent}"),
        18 => "gone".to_owned(),
        19 => "wake".to_owned(),
        _ => "time".to_owned(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// For any history of holds, waits, joins and lost agents, replay, a snapshot and an undo
    /// always give the same space.
    #[test]
    fn who_holds_waits_and_dies_leaves_facts_that_agree(
        deeds in proptest::collection::vec((0_u8..24, 0_u8..3, 0_u64..6, 0_u64..200), 1..120),
    ) {
        let mut world = World::new(Space::default());
        let mut time = 0;
        for (index, (kind, agent, number, pause)) in deeds.iter().enumerate() {
            time += pause;
            let agent = format!("a{agent}");
            let asked = any_deed(&world.space, *kind, &agent, *number);
            // First with a command that is refused, so that it is undone.
            if *kind < 18 {
                let asked = format!("all: {asked} & agent.heartbeat nobody");
                prop_assert!(world.run(time, &agent, &asked).starts_with("refused"));
            }
            let _ = world.run(time, &agent, &asked);
            if index == 50 {
                world.check_memory();
                world = World::new(world.restored());
            }
        }
        world.check_memory();
    }
}

/// A session with the maximum number of holds, under the longest names, each with a waiter whose
/// answer must be stored. If its end did not fit into one commit, it would be retried forever.
#[test]
fn the_end_of_a_session_that_holds_all_it_may_fits_into_one_commit() {
    let mut space = Space::default();
    let agent = |number: usize| {
        AgentId::parse(&format!("{number:0width$}", width = limits::AGENT_BYTES_MAX)).unwrap()
    };
    let run = |space: &mut Space, who: usize, asked: &str| {
        let key = "k".repeat(limits::IDEMPOTENCY_KEY_BYTES_MAX - 5) + &who.to_string();
        let mutation = Mutation::Command(read_command(asked));
        let idempotency_key = (who > 0).then(|| key.as_str().try_into().unwrap());
        let request = Request { mutation, idempotency_key };
        space
            .commit(request, &agent(who), Timestamp(0))
            .unwrap_or_else(|no| panic!("{asked}: {no}"))
    };
    run(&mut space, 0, &format!("agent.register {} ttl_ms=1000", agent(0)));
    let name = |number: usize, bytes: usize| format!("{number:0bytes$}");
    for number in 0..limits::EPHEMERAL_PER_AGENT_MAX {
        let key = name(number, limits::KEY_BYTES_MAX);
        run(&mut space, 0, &format!("state.set shared/{key} 1 ephemeral"));
    }
    for number in 0..limits::HOLDS_PER_AGENT_MAX {
        let name = name(number, limits::HOLD_NAME_BYTES_MAX);
        run(&mut space, 0, &format!("lock.acquire {name}"));
        run(&mut space, 0, &format!("semaphore.acquire {name} permits=1"));
        run(&mut space, 0, &format!("barrier.arrive {name} count=2"));
        run(&mut space, 10_000 + number, &format!("lock.acquire {name} wait_ms=9"));
        run(&mut space, 20_000 + number, &format!("semaphore.acquire {name} wait_ms=9"));
    }
    let task = |number: usize| name(number, limits::TASK_BYTES_MAX);
    for number in 0..limits::LEASES_PER_AGENT_MAX {
        let task = task(number);
        run(&mut space, 0, &format!("task.create w id=\"{task}\" max_retries=0"));
        run(&mut space, 0, &format!("task.claim task=\"{task}\""));
    }
    for number in 0..limits::JOINS_SETTLED_AT_ONCE_MAX {
        let asked = format!("join.create id=\"j{number}\" tasks=[\"{}\"]", task(number));
        run(&mut space, 0, &asked);
        for waiter in 0..limits::JOIN_WAITS_MAX {
            run(
                &mut space,
                30_000 + 100 * number + waiter,
                &format!("join.wait j{number} wait_ms=9"),
            );
        }
    }
    let expire = Signal::Agent(primitive::Signal::Expire);
    let lost = space.signal(vec![expire], Timestamp(9_999));
    let batch = lost.unwrap().batch.unwrap();
    let count = |kind: &str| batch.events.iter().filter(|event| event.kind() == kind).count();
    let kinds = ["state.let_go", "lock.acquired", "semaphore.acquired", "barrier.withdrawn"];
    assert_eq!(kinds.map(count), [1_000, 500, 500, 500]);
    let answered = 16 * limits::JOIN_WAITS_MAX;
    assert_eq!(["task.failed", "join.settled", "join.answered"].map(count), [1_000, 16, answered]);
    assert_eq!(count("receipt.kept"), 1_000);
    space.check();
}

#[test]
fn an_older_or_later_batch_is_not_replayed() {
    let world = check(&[(0, "ada", "state.set shared/a 1", "state.set shared/a v1 = 1")]);
    assert_eq!(world.space.revision(), Revision(1));
    assert_eq!(Picture::of(&world.replayed()), Picture::of(&world.space));
    assert!(world.space.state.entry(&NamespaceName::shared(), &Key::parse("a").unwrap()).is_some());
}

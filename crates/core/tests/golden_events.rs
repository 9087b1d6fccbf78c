//! The encoding of events is stable: everything ever written can be read forever.
//!
//! `spec/events.json` has an example of every event in the encoding of the log, and as JSON:
//!
//! ```text
//!   { "name": "state.deleted", "edition": 1, "bytes": "81a5…", "json": { "state": … } }
//! ```
//!
//! 1. Every example ever stored decodes to its JSON.
//! 2. The newest edition of an example is the current encoding, byte for byte.
//! 3. Every kind of event has an example; a new variant does not compile until it has a name here.
//!
//! `BATON_GOLDEN=write` adds missing examples. If the encoding of an example has changed, another
//! edition is added: old logs exist. Deleting one needs an ADR.

#![expect(clippy::unwrap_used, reason = "in a test that is how to fail")]

#[path = "golden_events/stages.rs"]
mod stages;
#[path = "golden_events/states.rs"]
mod states;
#[path = "golden_events/talk.rs"]
mod talk;
#[path = "golden_events/tasks.rs"]
mod tasks;
#[path = "golden_events/waits.rs"]
mod waits;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::{env, fs};

use baton_core::checkpoint::{Piece, Recipe};
use baton_core::expression::Expression;
use baton_core::handoff::{Handoff, Offer, Receipt as Got};
use baton_core::history::{Manner, Origin};
use baton_core::json::Shape;
use baton_core::messagepack;
use baton_core::namespace::rules::{KeyRules, Rules};
use baton_core::schema::Schema;
use baton_core::space::receipt::{Receipt, StoredAnswer};
use baton_core::state::merge::Merge;
use baton_core::state::{self, Operation, Removal, Source};
use baton_core::task::Outcome;
use baton_core::waiting::wait::{Keyed, Left};
use baton_core::{
    AgentId, ArtifactId, Batch, CheckpointId, CheckpointKey, CheckpointLabel, ContractName, Event,
    GroupName, HandoffId, IdempotencyKey, JoinId, Json, Key, NamespaceName, Notice, PipelineName,
    Revision, RuleName, StageName, StateType, TaskId, TaskType, Timestamp, Token, Version, WaitId,
    WorkspaceName, agent, artifact, barrier, checkpoint, contract, handoff, join, lock, namespace,
    pipeline, reaction, rule, secret, semaphore, spend, task, topic, user_event, workspace,
};
use serde::{Deserialize, Serialize};

#[path = "golden/contents.rs"]
mod contents;
#[path = "golden/holds.rs"]
mod holds;
#[path = "golden/reactions.rs"]
mod reactions;

const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../spec/events.json");
const ADVICE: &str = "run with BATON_GOLDEN=write and review the difference as a change of format";

#[derive(Serialize, Deserialize)]
struct Golden {
    examples: Vec<Example>,
}

#[derive(Serialize, Deserialize)]
struct Example {
    name: String,
    edition: u32,
    bytes: String,
    json: serde_json::Value,
}

/// The events that must have an example. A new variant must be added here, and every result of this
/// function and the next is then required below.
fn variant(event: &Event) -> &'static str {
    match event {
        Event::State(event) => states::state_variant(event),
        Event::Namespace(namespace::Event::Created { .. }) => "namespace created",
        Event::Namespace(namespace::Event::Configured { .. }) => "namespace configured",
        Event::Namespace(namespace::Event::Deleted { .. }) => "namespace deleted",
        Event::Agent(agent::Event::Joined { .. }) => "joined",
        Event::Agent(agent::Event::Seen { .. }) => "seen",
        Event::Agent(agent::Event::Left { .. }) => "left",
        Event::Agent(agent::Event::Lost { .. }) => "lost",
        Event::Agent(agent::Event::Forgotten { .. }) => "forgotten",
        Event::Message(event) => talk::message_variant(event),
        Event::Topic(topic::Event::Posted { .. }) => "topic posted",
        Event::Stream(event) => talk::stream_variant(event),
        Event::Rule(rule::Event::Added { .. }) => "rule added",
        Event::Rule(rule::Event::Removed { .. }) => "rule removed",
        Event::Contract(event) => contract_variant(event),
        Event::UserEvent(user_event::Event::Emitted { .. }) => "emitted",
        Event::Reaction(event) => reaction_variant(event),
        Event::Workspace(workspace::Event::Configured { .. }) => "workspace configured",
        Event::Workspace(workspace::Event::Founded { .. }) => "workspace founded",
        Event::Workspace(workspace::Event::Synced(_)) => "workspace synced",
        Event::Lock(lock::Event::Acquired { .. }) => "lock acquired",
        Event::Lock(lock::Event::Renewed { .. }) => "lock renewed",
        Event::Lock(lock::Event::Released { .. }) => "lock released",
        Event::Lock(lock::Event::Expired { .. }) => "lock expired",
        Event::Lock(lock::Event::Dropped { .. }) => "lock dropped",
        Event::Lock(lock::Event::Queued { .. }) => "lock queued",
        Event::Lock(lock::Event::GaveUp { .. }) => "lock gave up",
        Event::Semaphore(event) => semaphore_variant(event),
        Event::Task(event) => task_variant(event),
        Event::Spend(event) => tasks::spend_variant(event),
        Event::Barrier(barrier::Event::Arrived { .. }) => "barrier arrived",
        Event::Barrier(barrier::Event::Opened { .. }) => "barrier opened",
        Event::Barrier(barrier::Event::Passed { .. }) => "barrier passed",
        Event::Barrier(barrier::Event::Withdrawn { .. }) => "barrier withdrawn",
        Event::Barrier(barrier::Event::Reset { .. }) => "barrier reset",
        Event::Barrier(barrier::Event::Forgotten { .. }) => "barrier forgotten",
        Event::Join(join::Event::Created { .. }) => "join created",
        Event::Join(join::Event::Settled { .. }) => "join settled",
        Event::Join(join::Event::Queued { .. }) => "join queued",
        Event::Join(join::Event::Answered { .. }) => "join answered",
        Event::Join(join::Event::GaveUp { .. }) => "join gave up",
        Event::Wait(event) => waits::wait_variant(event),
        Event::Pipeline(pipeline::Event::Created(_)) => "pipeline created",
        Event::Pipeline(pipeline::Event::StageReady { .. }) => "stage ready",
        Event::Pipeline(pipeline::Event::StageStarted { .. }) => "stage started",
        Event::Pipeline(pipeline::Event::StageAbandoned { .. }) => "stage abandoned",
        Event::Pipeline(pipeline::Event::StageSubmitted { .. }) => "stage submitted",
        Event::Pipeline(pipeline::Event::StageReviewed { .. }) => "stage reviewed",
        Event::Pipeline(pipeline::Event::StageCompleted { .. }) => "stage completed",
        Event::Pipeline(pipeline::Event::StageFailed { .. }) => "stage failed",
        Event::Pipeline(pipeline::Event::StageRetried { .. }) => "stage retried",
        Event::Pipeline(pipeline::Event::StageSkipped { .. }) => "stage skipped",
        Event::Pipeline(pipeline::Event::Completed { .. }) => "pipeline completed",
        Event::Pipeline(pipeline::Event::Failed { .. }) => "pipeline failed",
        Event::Pipeline(pipeline::Event::Aborted { .. }) => "pipeline aborted",
        Event::Pipeline(pipeline::Event::Deleted { .. }) => "pipeline deleted",
        Event::Checkpoint(event) => checkpoint_variant(event),
        Event::Artifact(event) => artifact_variant(event),
        Event::Secret(event) => secret_variant(event),
        Event::Handoff(event) => handoff_variant(event),
        Event::Receipt(_) => "receipt",
        Event::Awaited(_) => "awaited",
    }
}

/// The same for events of contracts.
fn contract_variant(event: &contract::Event) -> &'static str {
    match event {
        contract::Event::Declared { .. } => "contract declared",
        contract::Event::Deleted { .. } => "contract deleted",
        contract::Event::Broken { .. } => "contract broken",
    }
}

/// The same for events of tasks.
fn task_variant(event: &task::Event) -> &'static str {
    match event {
        task::Event::Created(_) => "task created",
        task::Event::Claimed { .. } => "task claimed",
        task::Event::Queued { .. } => "task queued",
        task::Event::GaveUp { .. } => "task gave up",
        task::Event::Renewed { .. } => "task renewed",
        task::Event::Progressed { .. } => "task progressed",
        task::Event::Updated { .. } => "task updated",
        task::Event::Released { .. } => "task released",
        task::Event::Ready { .. } => "task ready",
        task::Event::Offered { .. } => "task offered",
        task::Event::Abandoned { .. } => "task abandoned",
        task::Event::TakenBack { .. } => "task taken back",
        task::Event::HandedOver { .. } => "task handed over",
        task::Event::HandedOff { .. } => "task handed off",
        task::Event::Completed { .. } => "task completed",
        task::Event::Submitted { .. } => "task submitted",
        task::Event::Failed { outcome, .. } => match outcome {
            Outcome::Retry { .. } => "task failed, again",
            Outcome::Failed => "task failed",
            Outcome::Review => "task failed, for review",
            Outcome::Reassigned { .. } => "task failed, for another",
        },
        task::Event::Cancelled { .. } => "task cancelled",
        task::Event::Retried { .. } => "task retried",
        task::Event::Reviewed { .. } => "task reviewed",
    }
}

/// The same for events of checkpoints.
fn checkpoint_variant(event: &checkpoint::Event) -> &'static str {
    match event {
        checkpoint::Event::Saved(_) => "checkpoint saved",
        checkpoint::Event::Restored { .. } => "checkpoint restored",
        checkpoint::Event::Forked { .. } => "checkpoint forked",
        checkpoint::Event::Written { .. } => "checkpoint written",
        checkpoint::Event::Copied { .. } => "checkpoint copied",
        checkpoint::Event::Labelled { .. } => "checkpoint labelled",
        checkpoint::Event::Pruned { why, .. } => match why {
            checkpoint::Why::Asked => "checkpoint pruned",
            checkpoint::Why::Count => "checkpoint pruned, too many",
            checkpoint::Why::Age => "checkpoint pruned, too old",
            checkpoint::Why::Replaced => "checkpoint pruned, replaced",
        },
        checkpoint::Event::Retained { .. } => "checkpoint retained",
    }
}

/// The same for events of artifacts.
fn artifact_variant(event: &artifact::Event) -> &'static str {
    match event {
        artifact::Event::Put { .. } => "artifact put",
        artifact::Event::Deleted { .. } => "artifact deleted",
        artifact::Event::Expired { .. } => "artifact expired",
    }
}

/// The same for events of secrets.
fn secret_variant(event: &secret::Event) -> &'static str {
    match event {
        secret::Event::Put { .. } => "secret put",
        secret::Event::Revealed { .. } => "secret revealed",
        secret::Event::Deleted { .. } => "secret deleted",
        secret::Event::Expired { .. } => "secret expired",
    }
}

/// The same for events of hand-offs.
fn handoff_variant(event: &handoff::Event) -> &'static str {
    match event {
        handoff::Event::Offered(_) => "handoff offered",
        handoff::Event::Executed(_) => "handoff executed",
        handoff::Event::Refused(_) => "handoff refused",
        handoff::Event::Passed(_) => "handoff passed",
        handoff::Event::Approved { .. } => "handoff approved",
        handoff::Event::Delivered { .. } => "handoff delivered",
        handoff::Event::Undelivered { .. } => "handoff undelivered",
        handoff::Event::Accepted { .. } => "handoff accepted",
        handoff::Event::Rejected { .. } => "handoff rejected",
        handoff::Event::Expired { .. } => "handoff expired",
        handoff::Event::Cancelled { .. } => "handoff cancelled",
        handoff::Event::Completed { .. } => "handoff completed",
        handoff::Event::Failed { .. } => "handoff failed",
        handoff::Event::Queued { .. } => "handoff queued",
        handoff::Event::GaveUp { .. } => "handoff gave up",
    }
}

fn semaphore_variant(event: &semaphore::Event) -> &'static str {
    match event {
        semaphore::Event::Created { .. } => "semaphore created",
        semaphore::Event::Resized { .. } => "semaphore resized",
        semaphore::Event::Acquired { .. } => "semaphore acquired",
        semaphore::Event::Renewed { .. } => "semaphore renewed",
        semaphore::Event::Released { .. } => "semaphore released",
        semaphore::Event::Expired { .. } => "semaphore expired",
        semaphore::Event::Dropped { .. } => "semaphore dropped",
        semaphore::Event::Queued { .. } => "semaphore queued",
        semaphore::Event::GaveUp { .. } => "semaphore gave up",
        semaphore::Event::Forgotten { .. } => "semaphore forgotten",
    }
}

fn reaction_variant(event: &reaction::Event) -> &'static str {
    match event {
        reaction::Event::Added { .. } => "reaction added",
        reaction::Event::Sealed { .. } => "reaction sealed",
        reaction::Event::Removed { .. } => "reaction removed",
        reaction::Event::Enabled { .. } => "reaction enabled",
        reaction::Event::Disabled { .. } => "reaction disabled",
        reaction::Event::Ran { .. } => "reaction ran",
        reaction::Event::Failed { .. } => "reaction failed",
        reaction::Event::Stopped { .. } => "reaction stopped",
        reaction::Event::Called { .. } => "reaction called",
        reaction::Event::CallBegun { .. } => "call begun",
        reaction::Event::CallDone { .. } => "call done",
        reaction::Event::CallFailed { .. } => "call failed",
        reaction::Event::CallDead { .. } => "call dead",
    }
}

fn json(text: &str) -> Json {
    Json::parse(text).unwrap()
}

fn ada() -> AgentId {
    AgentId::parse("ada").unwrap()
}

fn notes() -> NamespaceName {
    NamespaceName::parse("notes").unwrap()
}

fn set(operation: Operation) -> state::Event {
    state::Event::Set {
        namespace: NamespaceName::shared(),
        key: Key::parse("plan/a").unwrap(),
        value: json(r#"{"step":[1,2.5,null,"é"]}"#),
        version: Version(1),
        operation,
        expires_at: None,
        bound_to: None,
        source: None,
    }
}

fn set_with_everything() -> state::Event {
    state::Event::Set {
        namespace: notes(),
        key: Key::parse("draft").unwrap(),
        value: json("null"),
        version: Version(4_294_967_295),
        operation: Operation::Transferred,
        expires_at: Some(Timestamp(1_794_700_800_123)),
        bound_to: Some(ada()),
        source: Some(Source {
            namespace: NamespaceName::of_agent(&ada()),
            version: Version(300),
            revision: Revision(70_000),
            agent: ada(),
        }),
    }
}

fn deleted(removal: Removal) -> state::Event {
    let (namespace, key) = (NamespaceName::shared(), Key::parse("plan/a").unwrap());
    state::Event::Deleted { namespace, key, version: Version(2), removal }
}

fn every_rule() -> Rules {
    let plain = Rules {
        append_only: true,
        schema: Some(Schema::compile(&json(r#"{"type":"object"}"#)).unwrap()),
        schema_version: Some(3),
        merge: Some(Merge::JsonMerge),
        ttl_ms: Some(60_000),
        value_bytes_max: Some(4_096),
        flat: true,
        keys: Vec::new(),
    };
    let pattern = "count:*".parse().unwrap();
    let rules = Rules { merge: Some(Merge::Counter), ..Rules::default() };
    Rules { keys: vec![KeyRules { pattern, rules }], ..plain }
}

fn joined() -> agent::Event {
    agent::Event::Joined {
        agent: ada(),
        capabilities: ["review".to_owned(), "write".to_owned()].into(),
        metadata: Some(json(r#"{"model":"m-1"}"#)),
        ttl_ms: 60_000,
        token: Token(7),
        replaces: None,
        parent: None,
    }
}

fn joined_with_nothing(replaces: Option<Token>) -> agent::Event {
    let (capabilities, metadata) = (BTreeSet::new(), None);
    let (agent, token, ttl_ms, parent) = (ada(), Token(8), 100, None);
    agent::Event::Joined { agent, capabilities, metadata, ttl_ms, token, replaces, parent }
}

fn joined_below(parent: &str) -> agent::Event {
    let (capabilities, metadata, parent) = (BTreeSet::new(), None, AgentId::parse(parent).ok());
    let (agent, token, ttl_ms, replaces) = (ada(), Token(8), 100, None);
    agent::Event::Joined { agent, capabilities, metadata, ttl_ms, token, replaces, parent }
}

fn receipt() -> Receipt {
    let (key, digest) = (IdempotencyKey::parse("request 1").unwrap(), 0xcbf2_9ce4_8422_2325);
    Receipt { key, digest, answer: StoredAnswer::Encoded([0x80, 0x00, 0xff].into()), agent: None }
}

fn origin() -> Origin {
    let workspace = WorkspaceName::parse("research").unwrap();
    let (manner, time) = (Manner::Fork, Timestamp(1_700_000_000_000));
    Origin { manner, workspace, revision: Revision(42), time, by: ada(), copy: None }
}

/// The current examples, each under its name in the golden file.
fn examples() -> Vec<(&'static str, Event)> {
    let retention = workspace::Retention { history_count: 1_000, history_age_ms: 86_400_000 };
    let rules = Rules::default();
    let others = vec![
        ("namespace.created", Event::Namespace(namespace::Event::Created { name: notes(), rules })),
        (
            "namespace.configured",
            Event::Namespace(namespace::Event::Configured { name: notes(), rules: every_rule() }),
        ),
        ("namespace.deleted", Event::Namespace(namespace::Event::Deleted { name: notes() })),
        ("agent.joined", Event::Agent(joined())),
        ("agent.joined with nothing", Event::Agent(joined_with_nothing(None))),
        ("agent.joined with a predecessor", Event::Agent(joined_with_nothing(Some(Token(7))))),
        ("agent.joined with a parent", Event::Agent(joined_below("boss"))),
        (
            "agent.lost with its parent",
            Event::Agent(agent::Event::Lost { agent: ada(), because: AgentId::parse("boss").ok() }),
        ),
        ("agent.seen", Event::Agent(agent::Event::Seen { agent: ada() })),
        ("agent.left", Event::Agent(agent::Event::Left { agent: ada() })),
        ("agent.lost", Event::Agent(agent::Event::Lost { agent: ada(), because: None })),
        ("agent.forgotten", Event::Agent(agent::Event::Forgotten { agent: ada() })),
        ("workspace.configured", Event::Workspace(workspace::Event::Configured { retention })),
        ("workspace.founded", Event::Workspace(workspace::Event::Founded { origin: origin() })),
        ("receipt.kept", Event::Receipt(receipt())),
        (
            "receipt.kept with a wait before it",
            Event::Receipt(Receipt { agent: Some(ada()), ..receipt() }),
        ),
        (
            "receipt.awaited",
            Event::Awaited(Keyed {
                wait: WaitId(70_000),
                agent: ada(),
                key: receipt().key,
                digest: receipt().digest,
            }),
        ),
    ];
    states::states()
        .into_iter()
        .chain(others)
        .chain(talk::messages())
        .chain(talk::topics())
        .chain(talk::streams())
        .chain(handoff_rules())
        .chain(reactions::emitted())
        .chain(reactions::reactions())
        .chain(reactions::calls())
        .chain(holds::locks())
        .chain(holds::semaphores())
        .chain(holds::barriers())
        .chain(joins())
        .chain(contracts())
        .chain(checkpoints())
        .chain(contents::artifacts())
        .chain(contents::secrets())
        .chain(handoffs())
        .chain(tasks::tasks())
        .chain(tasks::spending())
        .chain(waits::waits())
        .chain(pipelines())
        .collect()
}

fn contracts() -> Vec<(&'static str, Event)> {
    let name = || ContractName::parse("plans").unwrap();
    let plain = contract::Terms {
        key: "shared/plan".parse().unwrap(),
        kind: None,
        fields: Vec::new(),
        schema: None,
        optional: false,
    };
    let full = contract::Terms {
        key: "shared/part:*".parse().unwrap(),
        kind: Some(Shape::Object),
        fields: vec!["steps".into(), "/owner/name".into()],
        schema: Some(Schema::compile(&json(r#"{"required":["steps"]}"#)).unwrap()),
        optional: true,
    };
    let declared = |keys, on_break, replaced| contract::Event::Declared {
        name: name(),
        keys,
        on_break,
        replaced,
    };
    let broken = |field: Option<&str>, others| contract::Event::Broken {
        name: name(),
        owner: AgentId::parse("bob").unwrap(),
        breach: contract::Breach {
            key: "shared/plan".into(),
            field: field.map(Into::into),
            expected: "a field".into(),
            found: "none".into(),
        },
        others,
    };
    let (warn, refuse) = (contract::OnBreak::Warn, contract::OnBreak::Refuse);
    let events = vec![
        ("contract.declared", declared(vec![plain.clone()], warn, false)),
        ("contract.declared with everything", declared(vec![plain, full], refuse, true)),
        ("contract.broken", broken(None, 0)),
        ("contract.broken with everything", broken(Some("steps"), 2)),
        ("contract.deleted", contract::Event::Deleted { name: name() }),
    ];
    events.into_iter().map(|(name, event)| (name, Event::Contract(event))).collect()
}

fn handoff_rules() -> Vec<(&'static str, Event)> {
    let name = || RuleName::parse("tests-first").unwrap();
    let added = |check| rule::Event::Added {
        name: name(),
        on: rule::On::default(),
        check,
        severity: rule::Severity::Error,
        message: None,
        replaced: false,
    };
    let with_everything = rule::Event::Added {
        name: name(),
        on: rule::On {
            task_type: Some("code:*".parse().unwrap()),
            from: Some("ada".parse().unwrap()),
            to: Some("reviewer-**".parse().unwrap()),
        },
        check: rule::Check::RequiredKeys(vec!["tests".into(), "shared/plan".into()]),
        severity: rule::Severity::Warning,
        message: Some("run the tests first".into()),
        replaced: true,
    };
    let schema = Schema::compile(&json(r#"{"required":["tests"]}"#)).unwrap();
    let expression = Expression::compile("state.tests.failed == 0").unwrap();
    let events = vec![
        ("rule.added", added(rule::Check::RequiredKeys(vec!["tests".into()]))),
        ("rule.added with everything", with_everything),
        ("rule.added with a schema", added(rule::Check::Schema(schema))),
        ("rule.added with an expression", added(rule::Check::Expression(expression))),
        ("rule.added with a capability", added(rule::Check::Capability("review".into()))),
        ("rule.added with a receiver alive", added(rule::Check::ReceiverAlive(true))),
        ("rule.added with bytes at most", added(rule::Check::StateBytesMax(65_536))),
        ("rule.added with hops at most", added(rule::Check::HopsMax(5))),
        ("rule.removed", rule::Event::Removed { name: name() }),
    ];
    events.into_iter().map(|(name, event)| (name, Event::Rule(event))).collect()
}

fn task() -> TaskId {
    TaskId::parse("t-0000000042").unwrap()
}

fn handoff_id() -> HandoffId {
    HandoffId::parse("h-0000000007").unwrap()
}

fn handoff_with_everything() -> Handoff {
    let offer = r#"{"task":"t-0000000001","token":3,"to":{"capability":"write"},
        "work_completed":["read"],"remaining_work":"write","notes":{"tone":"dry"},"reason":"done",
        "state":{"topic":"bees"},"output_keys":["draft"],"artifacts":["sha256:ab"],
        "keys":["agent:ada/plan",{"key":"shared/brief","version":4}],
        "traceparent":"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        "approval":{"by":["eve"],"expires_ms":1000},"on_loop":"review"}"#;
    let offer: Offer = serde_json::from_str(offer).unwrap();
    let now = Timestamp(1_794_700_800_123);
    let mut handoff = Handoff::new(handoff_id(), ada(), offer, now);
    "00112233445566778899aabbccddeeff".clone_into(&mut handoff.digest);
    "ffeeddccbbaa99887766554433221100".clone_into(&mut handoff.content);
    (handoff.hops, handoff.deadline, handoff.redeliver_ms) = (2, now, 60_000);
    handoff.step("validate", now, Some(&ada()), Some("all is well"));
    handoff
}

fn passed() -> Handoff {
    let offer = r#"{"to":"ada","keys":["agent:ada/**"],"copy":true,"state":{"output":[1]}}"#;
    let offer: Offer = serde_json::from_str(offer).unwrap();
    let mut handoff = Handoff::new(handoff_id(), ada(), offer, Timestamp(1_794_700_800_123));
    let passage = r#"{"pipeline":"release","from_stage":"plan","to_stage":"write",
        "omitted_bytes":70000}"#;
    handoff.passage = Some(serde_json::from_str(passage).unwrap());
    handoff
}

fn handoffs() -> Vec<(&'static str, Event)> {
    let (handoff, until, wait) = (handoff_id, Timestamp(1_794_700_800_123), WaitId(70_000));
    let whole = || Arc::new(handoff_with_everything());
    let plain: Offer = serde_json::from_str(r#"{"to":"ada"}"#).unwrap();
    let plain = Handoff::new(handoff_id(), ada(), plain, until);
    let said = || Some("because".to_owned());
    let receipt = r#"{"keys":[{"key":"agent:ada/plan","version":4,"bytes":17,"kind":"object",
        "moved":true}],"state_bytes":11,"left_out":[{"key":"shared/brief","reason":"missing"}]}"#;
    let receipt: Got = serde_json::from_str(receipt).unwrap();
    let delivered =
        |wait| handoff::Event::Delivered { handoff: handoff(), receiver: ada(), until, wait };
    let approved = |content: Option<&str>| handoff::Event::Approved {
        handoff: handoff(),
        by: ada(),
        digest: "0011".to_owned(),
        until: Some(until),
        reason: said(),
        content: content.map(str::to_owned),
    };
    let changes = [("topic".to_owned(), json("1"))].into();
    let completed =
        handoff::Event::Completed { handoff: handoff(), result: Some(json("[2]")), changes };
    let (lease_ms, reason) = (Some(300_000), "deadline".to_owned());
    let events = vec![
        ("handoff.offered", handoff::Event::Offered(Arc::new(plain))),
        ("handoff.offered with everything", handoff::Event::Offered(whole())),
        ("handoff.executed", handoff::Event::Executed(whole())),
        ("handoff.refused", handoff::Event::Refused(whole())),
        ("handoff.passed", handoff::Event::Passed(Arc::new(passed()))),
        ("handoff.approved", approved(None)),
        ("handoff.approved with a change", approved(Some("2233"))),
        ("handoff.delivered", delivered(None)),
        ("handoff.delivered with a wait before it", delivered(Some(wait))),
        ("handoff.undelivered", handoff::Event::Undelivered { handoff: handoff() }),
        (
            "handoff.accepted",
            handoff::Event::Accepted { handoff: handoff(), receiver: ada(), receipt, lease_ms },
        ),
        (
            "handoff.rejected",
            handoff::Event::Rejected { handoff: handoff(), by: ada(), reason: said() },
        ),
        ("handoff.expired", handoff::Event::Expired { handoff: handoff(), reason }),
        ("handoff.cancelled", handoff::Event::Cancelled { handoff: handoff(), reason: said() }),
        ("handoff.completed", completed),
        (
            "handoff.failed",
            handoff::Event::Failed { handoff: handoff(), error: json(r#"{"reason":"no"}"#) },
        ),
        ("handoff.queued", handoff::Event::Queued { wait, receiver: ada(), until }),
        (
            "handoff.gave_up",
            handoff::Event::GaveUp { wait, receiver: ada(), left: Left::SessionEnded },
        ),
        (
            "handoff.gave_up with an answer from another queue",
            handoff::Event::GaveUp { wait, receiver: ada(), left: Left::Elsewhere },
        ),
    ];
    events.into_iter().map(|(name, event)| (name, Event::Handoff(event))).collect()
}

fn joins() -> Vec<(&'static str, Event)> {
    let join = || JoinId::parse("j-0000000007").unwrap();
    let (wait, until) = (WaitId(70_000), Timestamp(1_794_700_800_123));
    let of_tasks = join::Event::Created {
        join: join(),
        need: join::Need::Number(1),
        group: None,
        tasks: vec![TaskId::parse("t-0000000001").unwrap(), TaskId::parse("review").unwrap()],
        deadline: Some(until),
    };
    let of_group = join::Event::Created {
        join: join(),
        need: join::Need::Every(join::Every::All),
        group: Some(GroupName::parse("chapters").unwrap()),
        tasks: Vec::new(),
        deadline: None,
    };
    let settled = |status, reason: Option<&str>| {
        let reason = reason.map(ToOwned::to_owned);
        join::Event::Settled { join: join(), status, reason }
    };
    let lost = "2 must be completed, only 1 can still be";
    let events = vec![
        ("join.created with tasks", of_tasks),
        ("join.created with a group", of_group),
        ("join.settled", settled(join::Status::Satisfied, None)),
        ("join.settled with a failure", settled(join::Status::Failed, Some(lost))),
        ("join.settled with its deadline passed", settled(join::Status::Expired, None)),
        ("join.queued", join::Event::Queued { join: join(), waiter: ada(), wait, until }),
        ("join.answered", join::Event::Answered { join: join(), waiter: ada(), wait }),
        (
            "join.gave_up",
            join::Event::GaveUp { join: join(), waiter: ada(), wait, left: Left::Timeout },
        ),
    ];
    events.into_iter().map(|(name, event)| (name, Event::Join(event))).collect()
}

fn pipelines() -> Vec<(&'static str, Event)> {
    let name = || PipelineName::parse("release").unwrap();
    let stage = || StageName::parse("write").unwrap();
    let plain = || pipeline::Design::new(StageName::parse("research").unwrap());
    let whole = pipeline::Design {
        agent: Some(ada()),
        task_type: Some(TaskType::parse("text").unwrap()),
        capabilities: ["write".to_owned()].into(),
        after: Some(vec![plain().name]),
        each: true,
        description: Some("Write each chapter.".to_owned()),
        max_retries: Some(2),
        priority: Some(-7),
        deadline_ms: Some(60_000),
        backoff: Some(task::Backoff::default()),
        on_exhausted: Some(task::OnExhausted::Agent(ada())),
        review: true,
        reads: vec!["notes/**".parse().unwrap()],
        writes: vec!["chapters/*".parse().unwrap()],
        ..pipeline::Design::new(stage())
    };
    let traced = |stages, automatic, input, metadata, traceparent| {
        let pipeline = name();
        let created =
            pipeline::Created { pipeline, stages, automatic, input, metadata, traceparent };
        pipeline::Event::Created(Box::new(created))
    };
    let created =
        |stages, automatic, input, metadata| traced(stages, automatic, input, metadata, None);
    let said = || Some("because".to_owned());
    let everything =
        created(vec![plain(), whole], true, Some(json("[1]")), Some(json(r#"{"team":"a"}"#)));
    let ready = |tasks| pipeline::Event::StageReady { pipeline: name(), stage: stage(), tasks };
    let started = |input| {
        let (pipeline, worker) = (name(), ada());
        pipeline::Event::StageStarted { pipeline, stage: stage(), worker, input }
    };
    let completed =
        |output| pipeline::Event::StageCompleted { pipeline: name(), stage: stage(), output };
    let error = json(r#"{"reason":"task_failed"}"#);
    let failed = pipeline::Event::StageFailed { pipeline: name(), stage: stage(), error };
    let retried = pipeline::Event::StageRetried { pipeline: name(), stage: stage() };
    let skipped =
        pipeline::Event::StageSkipped { pipeline: name(), stage: stage(), reason: said() };
    let aborted = pipeline::Event::Aborted { pipeline: name(), reason: said() };
    let events = vec![
        ("pipeline.created", created(vec![plain()], false, None, None)),
        ("pipeline.created with everything", everything),
        (
            "pipeline.created with a trace",
            traced(vec![plain()], true, None, None, Some(talk::trace())),
        ),
        ("pipeline.stage_ready", ready(Vec::new())),
        ("pipeline.stage_ready with tasks", ready(vec![task()])),
        ("pipeline.stage_started", started(None)),
        ("pipeline.stage_started with an input", started(Some(json("null")))),
        ("pipeline.stage_completed", completed(None)),
        ("pipeline.stage_completed with an output", completed(Some(json("null")))),
        ("pipeline.stage_failed", failed),
        ("pipeline.stage_retried", retried),
        ("pipeline.stage_skipped", skipped),
        ("pipeline.completed", pipeline::Event::Completed { pipeline: name() }),
        ("pipeline.failed", pipeline::Event::Failed { pipeline: name() }),
        ("pipeline.aborted", aborted),
        ("pipeline.deleted", pipeline::Event::Deleted { pipeline: name() }),
    ];
    let events = events.into_iter().chain(stages::stage_reviews());
    events.map(|(name, event)| (name, Event::Pipeline(event))).collect()
}

/// Events about keys, bytes, pending writes and copies.
fn keyed_checkpoints(saved: &checkpoint::Saved) -> Vec<(&'static str, checkpoint::Event)> {
    let text = |text: &str| checkpoint::Chunk::from(text);
    let task = || saved.task.clone();
    let raw = checkpoint::Chunk::from(&[0xff, 0x00, 0x80][..]);
    let keyed = checkpoint::Saved {
        key: Some(CheckpointKey::parse("/1f0-7a").unwrap()),
        parent_key: Some(CheckpointKey::parse("/1f0-6b").unwrap()),
        content_type: Some(StateType::parse("msgpack").unwrap()),
        recipe: Recipe(vec![Piece::New(vec![raw.clone(), text("text")])]),
        ..saved.clone()
    };
    let pending = checkpoint::Pending {
        writer: "search".into(),
        index: -1,
        path: "".into(),
        channel: "messages".into(),
        content_type: None,
        value: text("{\"a\":1}"),
    };
    let typed = checkpoint::Pending {
        index: 3,
        path: "~__pregel_pull, search".into(),
        content_type: Some(StateType::parse("msgpack").unwrap()),
        value: raw,
        ..pending.clone()
    };
    let written = checkpoint::Event::Written {
        task: task(),
        key: CheckpointKey::parse("/1f0-7a").unwrap(),
        writes: vec![pending.into(), typed.into()],
    };
    let copied = checkpoint::Event::Copied {
        task: TaskId::parse("thread-8").unwrap(),
        source: task(),
        checkpoint: CheckpointId::of_number(4),
        count: 2,
    };
    let (numbers, why) = (vec![(7, 7)], checkpoint::Why::Replaced);
    let replaced = checkpoint::Event::Pruned { task: task(), numbers, bytes: 12, why };
    vec![
        ("checkpoint.saved with a key", checkpoint::Event::Saved(Box::new(keyed))),
        ("checkpoint.written", written),
        ("checkpoint.copied", copied),
        ("checkpoint.pruned with one replaced", replaced),
    ]
}

fn checkpoints() -> Vec<(&'static str, Event)> {
    let id = CheckpointId::of_number;
    let task = || TaskId::parse("t-0000000001").unwrap();
    let text = |text: &str| checkpoint::Chunk::from(text);
    let saved = checkpoint::Saved {
        checkpoint: id(1),
        task: task(),
        parent: None,
        key: None,
        parent_key: None,
        content_type: None,
        description: None,
        label: None,
        metadata: None,
        artifacts: Vec::new(),
        bytes: 10,
        checksum: checkpoint::Checksum::of(b"{\"step\":1}"),
        recipe: Recipe(vec![Piece::New(vec![text("{\"step\":1}")])]),
    };
    let pieces = vec![
        Piece::Keep(0, 300),
        Piece::New(vec![text("\"half a sen"), text("tence\",")]),
        Piece::Known(vec![7, 70_000]),
    ];
    let naming =
        checkpoint::Saved { artifacts: vec![ArtifactId::of_digest(&[0xab; 32])], ..saved.clone() };
    let further = checkpoint::Saved {
        checkpoint: id(2),
        parent: Some(id(1)),
        description: Some("the outline stands".to_owned()),
        label: Some(CheckpointLabel::parse("before the review").unwrap()),
        metadata: Some(json(r#"{"step":2}"#)),
        bytes: 102_400,
        recipe: Recipe(pieces),
        ..saved.clone()
    };
    let labelled = |label| checkpoint::Event::Labelled { checkpoint: id(2), task: task(), label };
    let pruned = |why| {
        let numbers = vec![(1, 300), (302, 302)];
        checkpoint::Event::Pruned { task: task(), numbers, bytes: 70_000, why }
    };
    let rule = checkpoint::Rule {
        task: "t-*".parse().unwrap(),
        keep: Some(20),
        max_age_ms: Some(86_400_000),
    };
    let none = checkpoint::Rule { keep: None, max_age_ms: None, ..rule.clone() };
    let restored = checkpoint::Event::Restored { checkpoint: id(1), task: task() };
    let forked = checkpoint::Event::Forked {
        checkpoint: id(3),
        task: TaskId::parse("thread-7").unwrap(),
        source: id(2),
    };
    let keyed = keyed_checkpoints(&saved);
    let events = vec![
        ("checkpoint.saved", checkpoint::Event::Saved(Box::new(saved))),
        ("checkpoint.saved with an artifact", checkpoint::Event::Saved(Box::new(naming))),
        ("checkpoint.saved with a parent", checkpoint::Event::Saved(Box::new(further))),
        ("checkpoint.restored", restored),
        ("checkpoint.forked", forked),
        ("checkpoint.labelled", labelled(Some(CheckpointLabel::parse("half").unwrap()))),
        ("checkpoint.labelled with nothing", labelled(None)),
        ("checkpoint.pruned", pruned(checkpoint::Why::Asked)),
        ("checkpoint.pruned with too many", pruned(checkpoint::Why::Count)),
        ("checkpoint.pruned with some too old", pruned(checkpoint::Why::Age)),
        ("checkpoint.retained", checkpoint::Event::Retained { rule }),
        ("checkpoint.retained with no bounds", checkpoint::Event::Retained { rule: none }),
    ];
    events.into_iter().chain(keyed).map(|(name, event)| (name, Event::Checkpoint(event))).collect()
}

fn encoded(event: &Event) -> String {
    let bytes = rmp_serde::to_vec_named(event).unwrap();
    let digit = |half: u8| char::from_digit(half.into(), 16).unwrap();
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

fn decoded(name: &str, hex: &str) -> Event {
    let digits = |pair: &[u8]| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap();
    let bytes: Vec<u8> = hex.as_bytes().chunks(2).map(digits).collect();
    messagepack::from_slice(&bytes)
        .unwrap_or_else(|error| panic!("an old `{name}` can no longer be read: {error}"))
}

impl Golden {
    fn stored() -> Self {
        let text = fs::read_to_string(PATH).unwrap_or_else(|_| r#"{"examples":[]}"#.into());
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("spec/events.json: {error}"))
    }

    fn newest(&self, name: &str) -> Option<&Example> {
        self.examples.iter().filter(|example| example.name == name).max_by_key(|it| it.edition)
    }

    fn write(mut self) {
        for (name, event) in examples() {
            let bytes = encoded(&event);
            let newest = self.newest(name);
            if newest.is_some_and(|newest| newest.bytes == bytes) {
                continue;
            }
            let edition = newest.map_or(1, |newest| newest.edition + 1);
            let json = serde_json::to_value(&event).unwrap();
            self.examples.push(Example { name: name.into(), edition, bytes, json });
        }
        fs::write(PATH, serde_json::to_string_pretty(&self).unwrap() + "\n").unwrap();
    }
}

/// The golden file, updated first if requested.
fn golden() -> Golden {
    if env::var("BATON_GOLDEN").is_ok_and(|wish| wish == "write") {
        Golden::stored().write();
    }
    Golden::stored()
}

#[test]
fn the_golden_file_holds() {
    let golden = golden();
    for Example { name, edition, bytes, json } in &golden.examples {
        let event = decoded(name, bytes);
        let meant: Event = serde_json::from_value(json.clone())
            .unwrap_or_else(|error| panic!("the JSON of `{name}` can no longer be read: {error}"));
        assert_eq!(event, meant, "edition {edition} of `{name}` is read as something else");
    }
    for (name, event) in examples() {
        let newest = golden.newest(name);
        let newest = newest.unwrap_or_else(|| panic!("spec/events.json has no `{name}`: {ADVICE}"));
        assert_eq!(encoded(&event), newest.bytes, "`{name}` is written otherwise now: {ADVICE}");
        assert_eq!(serde_json::to_value(&event).unwrap(), newest.json, "the JSON of `{name}`");
        assert!(event.weight() >= newest.bytes.len() / 2, "`{name}` is heavier than its weight");
    }
}

/// Notices can be parsed, whatever the event: `agent`, `type` and the other names around an event
/// must not be names of its fields.
#[test]
fn every_public_event_survives_a_round_trip_as_text() {
    for (name, event) in examples() {
        if !event.is_public() {
            continue;
        }
        let batch = Batch {
            revision: Revision(7),
            time: Timestamp(1_794_700_800_123),
            agent: AgentId::engine(),
            events: vec![event.clone()],
        };
        let rendered = Notice::new(Arc::new(batch), 0).json();
        let read = Notice::parse(str::from_utf8(&rendered).unwrap());
        let read = read.unwrap_or_else(|fault| panic!("`{name}` cannot be read again: {fault}"));
        assert_eq!(*read.event(), without_live_token(event), "`{name}` is read as something else");
    }
}

/// The event as a notice tells it.
fn without_live_token(mut event: Event) -> Event {
    if let Event::Task(task::Event::Claimed { token, .. } | task::Event::HandedOver { token, .. })
    | Event::Lock(lock::Event::Acquired { token, .. })
    | Event::Semaphore(
        semaphore::Event::Acquired { token, .. } | semaphore::Event::Renewed { token, .. },
    )
    | Event::Agent(agent::Event::Joined { token, .. }) = &mut event
    {
        *token = Token::HIDDEN;
    }
    event
}

#[test]
fn events_that_begin_or_end_something_exist() {
    let kinds: BTreeSet<String> =
        examples().iter().map(|(_, event)| event.kind().to_owned()).collect();
    for kind in baton_core::history::deciding() {
        assert!(kinds.contains(kind), "nothing is of type `{kind}`");
    }
}

#[test]
fn every_variant_has_an_example() {
    let examples = examples();
    for (name, event) in &examples {
        let (kind, _) = name.split_once(" with ").unwrap_or((name, ""));
        assert_eq!(kind, event.kind(), "an example is named by its kind");
    }
    let shown: BTreeSet<&str> = examples.iter().map(|(_, event)| variant(event)).collect();
    let sources = [
        (include_str!("golden_events.rs"), "fn variant(", "fn json("),
        (include_str!("golden_events/states.rs"), "fn state_variant(", "fn states("),
        (include_str!("golden_events/talk.rs"), "fn message_variant(", "fn id("),
        (include_str!("golden_events/waits.rs"), "fn wait_variant(", "fn waits("),
        (include_str!("golden_events/tasks.rs"), "fn spend_variant(", "fn spending("),
    ];
    let parts = sources.iter().flat_map(|(source, from, to)| {
        let start = source.find(from).expect("it is above");
        source[start..start + source[start..].find(to).expect("it is after them")].lines()
    });
    let arms = parts.filter_map(|line| line.split_once("=> \""));
    let named: BTreeSet<&str> = arms.map(|(_, rest)| rest.split('"').next().unwrap()).collect();
    assert_eq!(shown, named, "every kind of event needs an example");
}

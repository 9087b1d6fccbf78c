//! Scenarios of artifacts.

use super::Rejection;
use crate::limits;
use crate::names::{AgentId, ArtifactId, BlobPlace};
use crate::space::Space;
use crate::testing::{World, check_codes, check_coverage, scenarios};
use crate::time::Timestamp;

scenarios! {
    unreferenced_artifacts_are_kept_for_a_while => [
        (0, "ada", r#"artifact.put @a place="^1" bytes=5 name="r.txt" media_type="text/plain""#,
            "artifact.put @a at ^1 bytes=5 text/plain `r.txt` keep=86400000"),
        (0, "ada", r#"artifact.put @b place="^2" bytes=7 keep_ms=1000"#,
            "artifact.put @b at ^2 bytes=7 application/octet-stream keep=1000"),
        (1, "ada", "artifact.get @a",   "@a bytes=5 held=0 [] until 86400000"),
        (1, "ada", "artifact.list",     "[@a, @b] bytes=12"),
        (999, "ada", "time",            "nothing"),
        (1_000, "ada", "time",          "artifact.expired @b"),
        (1_000, "ada", "artifact.get @b", "refused artifact.not_found"),
        (1_000, "ada", "artifact.list", "[@a] bytes=5"),
        (86_400_000, "ada", "time",     "artifact.expired @a"),
        (86_400_000, "ada", "artifact.list", "[] bytes=0"),
    ]

    the_same_content_is_the_same_artifact => [
        (0, "ada", r#"artifact.put @a place="^1" bytes=5 name="one" keep_ms=1000"#,
            "artifact.put @a at ^1 bytes=5 application/octet-stream `one` keep=1000"),
        // Its place and name stay, and its retention starts again.
        (900, "bob", r#"artifact.put @a place="^2" bytes=5"#,
            "artifact.put @a bytes=5 application/octet-stream `one` keep=1000"),
        (900, "bob", r#"artifact.put @a place="^3" bytes=5 name="two" keep_ms=2000"#,
            "artifact.put @a bytes=5 application/octet-stream `two` keep=2000"),
        (1_000, "ada", "time",          "nothing"),
        (1_000, "ada", "artifact.list", "[@a] bytes=5"),
        (2_900, "ada", "time",          "artifact.expired @a"),
        // Another upload after that is a new artifact.
        (3_000, "bob", r#"artifact.put @a place="^4" bytes=5"#,
            "artifact.put @a at ^4 bytes=5 application/octet-stream keep=86400000"),
    ]

    an_entry_holds_what_its_value_names => [
        (0, "ada", r#"artifact.put @a place="^1" bytes=5 keep_ms=1000"#,
            "artifact.put @a at ^1 bytes=5 application/octet-stream keep=1000"),
        (10, "ada", r#"state.set shared/plan {"report":{"artifact":"@a"}}"#,
            r#"state.set shared/plan v1 = {"report":{"artifact":"@a"}}"#),
        (10, "ada", "artifact.get @a",  "@a bytes=5 held=1 [state/shared/plan]"),
        (5_000, "ada", "time",          "nothing"),
        // Referenced elsewhere, then twice, then nowhere.
        (5_000, "ada", r#"state.set shared/list ["@a"]"#, r#"state.set shared/list v1 = ["@a"]"#),
        (5_000, "ada", "artifact.get @a",
            "@a bytes=5 held=2 [state/shared/list, state/shared/plan]"),
        (5_000, "ada", "state.set shared/plan 1",   "state.set shared/plan v2 = 1"),
        (5_000, "ada", "artifact.delete @a",        "refused artifact.in_use"),
        (6_000, "ada", "state.delete shared/list",  "state.deleted shared/list v1"),
        (6_000, "ada", "artifact.get @a",           "@a bytes=5 held=0 [] until 7000"),
        (7_000, "ada", "time",                      "artifact.expired @a"),
    ]

    entries_that_expire_move_or_are_deleted_release_their_artifacts => [
        (0, "ada", r#"artifact.put @a place="^1" bytes=5 keep_ms=1000"#,
            "artifact.put @a at ^1 bytes=5 application/octet-stream keep=1000"),
        (0, "ada", "namespace.create drafts",   "namespace.created drafts"),
        (0, "ada", r#"state.set drafts/x {"artifact":"@a"}"#,
            r#"state.set drafts/x v1 = {"artifact":"@a"}"#),
        (0, "ada", r#"state.set shared/y {"artifact":"@a"} ttl_ms=500"#,
            r#"state.set shared/y v1 = {"artifact":"@a"} until 500"#),
        (0, "ada", "artifact.get @a",   "@a bytes=5 held=2 [state/drafts/x, state/shared/y]"),
        (500, "ada", "time",            "state.expired shared/y v1"),
        (500, "ada", "artifact.get @a", "@a bytes=5 held=1 [state/drafts/x]"),
        // A command that is refused releases nothing.
        (600, "ada", "all: namespace.delete drafts & state.delete shared/none",
            "refused transaction.command_refused 1 state.not_found"),
        (600, "ada", "artifact.get @a", "@a bytes=5 held=1 [state/drafts/x]"),
        (700, "ada", "namespace.delete drafts", "namespace.deleted drafts"),
        (700, "ada", "artifact.get @a", "@a bytes=5 held=0 [] until 1700"),
    ]

    a_task_holds_the_artifacts_of_its_definition_and_result => [
        (0, "ada", r#"artifact.put @a place="^1" bytes=5"#,
            "artifact.put @a at ^1 bytes=5 application/octet-stream keep=86400000"),
        (0, "ada", r#"artifact.put @b place="^2" bytes=5"#,
            "artifact.put @b at ^2 bytes=5 application/octet-stream keep=86400000"),
        (0, "ada", r#"task.create build id="t" definition={"source":{"artifact":"@a"}}"#,
            "task.created t build ready"),
        (0, "ada", "task.claim",        "task.claimed t by ada token=4"),
        (0, "ada", r#"task.complete t token=4 artifacts=["@c"]"#,   "refused artifact.not_found"),
        (0, "ada", r#"task.complete t token=4 artifacts=["sha256:ab"]"#,
            "refused request.bad_name"),
        (0, "ada", r#"task.complete t token=4 result={"artifact":"@c"}"#,
            "refused artifact.not_found"),
        (0, "ada", r#"task.complete t token=4 artifacts=["@b","log.txt"]"#, "task.completed t"),
        (0, "ada", "artifact.get @a",   "@a bytes=5 held=1 [tasks/t]"),
        (0, "ada", "artifact.get @b",   "@b bytes=5 held=1 [tasks/t]"),
    ]

    a_handoff_holds_the_artifacts_that_it_mentions => [
        (0, "ada", r#"artifact.put @a place="^1" bytes=5"#,
            "artifact.put @a at ^1 bytes=5 application/octet-stream keep=86400000"),
        (0, "ada", r#"handoff.offer bob artifacts=["@b"]"#,     "refused artifact.not_found"),
        (0, "ada", r#"handoff.offer bob artifacts=["@a"]"#,
            "handoff.offered h-0000000002 to `bob` !receiver"),
        (0, "ada", "artifact.get @a",   "@a bytes=5 held=1 [handoffs/h-0000000002]"),
    ]

    a_checkpoint_holds_what_its_state_names => [
        (0, "ada", r#"artifact.put @a place="^1" bytes=5 keep_ms=1000"#,
            "artifact.put @a at ^1 bytes=5 application/octet-stream keep=1000"),
        (0, "ada", r#"checkpoint.save work {"file":{"artifact":"@b"}}"#,
            "refused artifact.not_found"),
        (0, "ada", r#"checkpoint.save work {"file":{"artifact":"@a"}}"#,
            "checkpoint.saved c-0000000001 of work new=1"),
        (0, "ada", "checkpoint.save work {}",
            "checkpoint.saved c-0000000002 of work after c-0000000001 new=1"),
        (0, "ada", "artifact.get @a",           "@a bytes=5 held=1 [checkpoints/work/1]"),
        (0, "ada", "checkpoint.fork c-0000000001 other",
            "checkpoint.forked c-0000000003 of other from c-0000000001"),
        (0, "ada", "checkpoint.prune work keep=1", "checkpoint.pruned work [(1, 1)] bytes=0 Asked"),
        (0, "ada", "artifact.get @a",           "@a bytes=5 held=1 [checkpoints/other/1]"),
        (0, "ada", "checkpoint.prune other all", "checkpoint.pruned other [(1, 1)] bytes=95 Asked"),
        (0, "ada", "artifact.get @a",           "@a bytes=5 held=0 [] until 1000"),
    ]

    a_message_holds_the_artifacts_in_its_body_and_its_answer => [
        (0, "ada", r#"artifact.put @a place="^1" bytes=5 keep_ms=1000"#,
            "artifact.put @a at ^1 bytes=5 application/octet-stream keep=1000"),
        (0, "ada", r#"artifact.put @b place="^2" bytes=5 keep_ms=1000"#,
            "artifact.put @b at ^2 bytes=5 application/octet-stream keep=1000"),
        (0, "ada", r#"message.send bob {"artifact":"@c"}"#,     "refused artifact.not_found"),
        (0, "ada", r#"message.send bob {"see":{"artifact":"@a"}}"#,
            r#"message.sent m-0000000003 to bob {"see":{"artifact":"@a"}}"#),
        (0, "ada", "artifact.get @a",   "@a bytes=5 held=1 [messages/m-0000000003]"),
        (0, "ada", "artifact.delete @a", "refused artifact.in_use"),
        // The digest of something else is not a reference.
        (0, "ada", r#"message.send bob {"digest":"@c"}"#,
            r#"message.sent m-0000000004 to bob {"digest":"@c"}"#),
        // An acknowledged message is kept for a while, and so are its references.
        (10, "bob", "inbox.receive limit=1", "message.delivered m-0000000003 to bob until 60010"),
        (10, "bob", "inbox.ack m-0000000003", "message.acked m-0000000003 to bob"),
        (900, "ada", "artifact.get @a", "@a bytes=5 held=1 [messages/m-0000000003]"),
        // The reply to a request, and a command that is refused.
        (900, "ada", r#"all: message.send bob ["@b"] & state.delete shared/none"#,
            "refused transaction.command_refused 1 state.not_found"),
        (900, "ada", "artifact.get @b", "@b bytes=5 held=0 [] until 1000"),
        (900, "ada", r#"message.send bob ["@b"]"#,
            r#"message.sent m-0000000007 to bob ["@b"]"#),
        (5_000, "ada", "time",          "nothing"),
        (5_000, "ada", "artifact.list", "[@a, @b] bytes=10"),
    ]

    only_explicit_references_to_missing_artifacts_are_refused => [
        (0, "ada", r#"state.set shared/image {"digest":"@a"}"#,
            r#"state.set shared/image v1 = {"digest":"@a"}"#),
        (0, "ada", r#"state.set shared/file {"artifact":"@a"}"#,    "refused artifact.not_found"),
        (0, "ada", r#"state.patch shared/image merge={"artifact":"@a"}"#,
            "refused artifact.not_found"),
        (0, "ada", r#"state.set shared/file {"artifact":"report.pdf"}"#,
            r#"state.set shared/file v1 = {"artifact":"report.pdf"}"#),
        // Uploaded and referenced in one commit, by a transaction.
        (0, "ada", r#"all: artifact.put @a place="^1" bytes=5 & state.set shared/f ["@a"]"#,
            "artifact.put @a at ^1 bytes=5 application/octet-stream keep=86400000; \
             state.set shared/f v1 = [\"@a\"]"),
        (0, "ada", "artifact.get @a",   "@a bytes=5 held=1 [state/shared/f]"),
    ]

    a_refused_command_leaves_nothing => [
        (0, "ada", r#"artifact.put @a place="^1" bytes=17179869185"#,
            "refused artifact.too_large"),
        (0, "ada", r#"artifact.put @a place="^1" bytes=5 keep_ms=999"#,
            "refused artifact.out_of_range"),
        (0, "ada", r#"artifact.put @a place="^1" bytes=5 expected="@a""#,
            "artifact.put @a at ^1 bytes=5 application/octet-stream keep=86400000"),
        (0, "ada", r#"artifact.put @b place="^2" bytes=5 expected="@a""#,
            "refused artifact.mismatch"),
        (0, "ada", "artifact.delete @a", "artifact.deleted @a"),
        (0, "ada", "artifact.delete @a", "refused artifact.not_found"),
        (0, "ada", "artifact.list limit=0",
            "refused artifact.out_of_range"),
        (0, "ada", r#"artifact.put @a place="^1" bytes=5"#,
            "artifact.put @a at ^1 bytes=5 application/octet-stream keep=86400000"),
        (0, "ada", r#"all: state.set shared/x {"artifact":"@a"} & state.delete shared/none"#,
            "refused transaction.command_refused 1 state.not_found"),
        (0, "ada", "all: artifact.delete @a & state.delete shared/none",
            "refused transaction.command_refused 1 state.not_found"),
        (5, "ada", r#"all: artifact.put @a place="^2" bytes=5 & state.delete shared/none"#,
            "refused transaction.command_refused 1 state.not_found"),
        (5, "ada", "artifact.get @a",       "@a bytes=5 held=0 [] until 86400000"),
        (5, "ada", "artifact.delete @a",    "artifact.deleted @a"),
    ]

    artifacts_are_listed_by_the_page => [
        (0, "ada", r#"artifact.put @a place="^1" bytes=5 name="x""#,
            "artifact.put @a at ^1 bytes=5 application/octet-stream `x` keep=86400000"),
        (0, "ada", r#"artifact.put @b place="^2" bytes=6"#,
            "artifact.put @b at ^2 bytes=6 application/octet-stream keep=86400000"),
        (0, "ada", r#"artifact.put @c place="^3" bytes=7 name="x""#,
            "artifact.put @c at ^3 bytes=7 application/octet-stream `x` keep=86400000"),
        (0, "ada", r#"state.set shared/x "@b""#,        r#"state.set shared/x v1 = "@b""#),
        (0, "ada", "artifact.list limit=2",             "[@a, @b] bytes=18 next=@b"),
        (0, "ada", r#"artifact.list limit=2 cursor="@b""#, "[@c] bytes=18"),
        (0, "ada", "artifact.list free",                "[@a, @c] bytes=18"),
        (0, "ada", r#"artifact.list name="x" limit=1"#, "[@a] bytes=18 next=@a"),
    ]
}

fn put(space: &mut Space, number: u128, bytes: u64) -> Result<(), String> {
    let artifact = ArtifactId::parse(&format!("sha256:{number:064x}")).unwrap();
    let (expected, media_type, name, keep_ms) = (None, None, None, None);
    let place = BlobPlace::of_number(number);
    let put = super::Put { artifact, place, bytes, expected, media_type, name, keep_ms };
    let command = crate::command::Command::Artifact(super::Command::Put(Box::new(put)));
    let committed = space.commit(command.into(), &AgentId::engine(), Timestamp(0));
    committed.map(drop).map_err(|rejection| rejection.code().to_owned())
}

#[test]
fn one_workspace_has_its_share() {
    let mut space = Space::default();
    let whole = limits::ARTIFACTS_BYTES_MAX / limits::ARTIFACT_BYTES_MAX;
    let largest = limits::ARTIFACT_BYTES_MAX as u64;
    for number in 0..whole as u128 {
        put(&mut space, number, largest).unwrap();
    }
    assert_eq!(put(&mut space, 99, 1), Err("artifact.too_many".to_owned()));
    // An artifact that already exists needs no more space.
    assert_eq!(put(&mut space, 0, largest), Ok(()));
    assert_eq!(put(&mut space, 99, 0), Ok(()));
    space.check();
}

#[test]
fn forgotten_tasks_release_their_artifacts() {
    let mut world = crate::testing::check(&[
        (
            0,
            "ada",
            r#"artifact.put @a place="^1" bytes=5 keep_ms=1000"#,
            "artifact.put @a at ^1 bytes=5 application/octet-stream keep=1000",
        ),
        (
            0,
            "ada",
            r#"task.create x id="first" definition={"artifact":"@a"}"#,
            "task.created first x ready",
        ),
        (0, "ada", "task.cancel first", "task.cancelled first"),
    ]);
    let mut done = 0;
    while done < limits::TASKS_FINISHED_MAX {
        world
            .space
            .commit(
                crate::testing::read_command(&format!(r#"task.create x id="n{done}""#)).into(),
                &AgentId::engine(),
                Timestamp(1),
            )
            .unwrap();
        let cancel = crate::testing::read_command(&format!("task.cancel n{done}"));
        world.space.commit(cancel.into(), &AgentId::engine(), Timestamp(1)).unwrap();
        done += 1;
    }
    world.space.check();
    assert_eq!(world.run(1, "ada", "artifact.get @a"), "@a bytes=5 held=0 [] until 1001");
}

#[test]
fn every_word_is_reached() {
    let source = include_str!("vocabulary.rs");
    check_codes(Rejection::REFUSALS, SCENARIOS, &["artifact.too_many"]);
    check_coverage(source, "kind", SCENARIOS, World::kinds, &[]);
}

/// A forgotten message references nothing, whether it was mail or a request with its reply.
#[test]
fn forgotten_messages_release_their_artifacts() {
    let mut world = World::new(Space::default());
    for line in [
        r#"artifact.put @a place="^1" bytes=5 keep_ms=1000"#,
        r#"artifact.put @b place="^2" bytes=5 keep_ms=1000"#,
        "agent.register ada",
        "handler.register sum",
    ] {
        world.run(0, "ada", line);
    }
    let asked = world.run(0, "bob", r#"message.request {"handler":"sum"} {"artifact":"@a"}"#);
    let id = asked.split_whitespace().find(|word| word.starts_with("m-"));
    let id = id.unwrap_or_else(|| panic!("{asked}")).to_owned();
    world.run(0, "ada", &format!(r#"message.reply {id} body={{"artifact":"@b"}}"#));
    for artifact in ["@a", "@b"] {
        let shown = world.run(0, "ada", &format!("artifact.get {artifact}"));
        assert_eq!(shown, format!("{artifact} bytes=5 held=1 [messages/{id}]"));
    }
    // More messages end than are kept.
    let count = limits::MESSAGES_ENDED_MAX;
    world.run(0, "bob", &format!("many {count} message.send eve 1 ttl_ms=1000"));
    world.run(1_000, "bob", "time");
    for artifact in ["@a", "@b"] {
        let shown = world.run(1_000, "ada", &format!("artifact.get {artifact}"));
        assert_eq!(shown, format!("{artifact} bytes=5 held=0 [] until 2000"));
    }
    world.check(&[(2_000, "ada", "time", "artifact.expired @a; artifact.expired @b")]);
}

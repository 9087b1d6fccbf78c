//! Storage quotas.

use proptest::prelude::*;

use super::StorageQuota;
use crate::space::Space;
use crate::testing::{Picture, World};

fn bounded(entries_max: Option<u64>, bytes_max: Option<u64>) -> Space {
    let mut space = Space::default();
    space.set_quota(Some(StorageQuota { entries_max, bytes_max }));
    space
}

#[test]
fn the_number_of_entries_is_limited() {
    World::new(bounded(Some(2), None)).check(&[
        (0, "ada", "state.set shared/a 1", "state.set shared/a v1 = 1"),
        (0, "ada", "state.set shared/b 1", "state.set shared/b v1 = 1"),
        (0, "ada", "state.set shared/c 1", "refused quota.entries"),
        // Nor under the name of the engine, which any caller may use.
        (0, "baton", "state.set shared/c 1", "refused quota.entries"),
        // Entries may be changed and deleted, which frees space.
        (0, "ada", "state.set shared/a 2", "state.set shared/a v2 = 2"),
        (
            0,
            "ada",
            "all: state.set shared/c 1 & state.delete shared/a",
            "state.set shared/c v1 = 1; state.deleted shared/a v2",
        ),
        (
            0,
            "ada",
            "all: state.delete shared/c & state.set shared/d 1 & state.set shared/e 1",
            "refused quota.entries",
        ),
        (0, "ada", "state.delete shared/b", "state.deleted shared/b v1"),
        (0, "ada", "state.set shared/b 1", "state.set shared/b v2 = 1"),
        // An event without an entry needs no place among them.
        (0, "ada", "lock.acquire door", "lock.acquired door by ada token=7"),
    ]);
}

#[test]
fn a_workspace_over_its_quota_can_free_space() {
    let mut world = World::new(Space::default());
    world.run(0, "ada", "many 3 state.set shared/{} 1");
    let mut space = world.replayed();
    space.set_quota(Some(StorageQuota { entries_max: Some(1), bytes_max: None }));
    let mut world = World::new(space);
    world.check(&[
        (0, "ada", "state.set shared/3 1", "refused quota.entries"),
        (0, "ada", "state.set shared/0 2", "state.set shared/0 v2 = 2"),
        (0, "ada", "state.delete shared/1", "state.deleted shared/1 v1"),
        (0, "ada", "state.set shared/1 1", "refused quota.entries"),
    ]);
}

#[test]
fn bytes_are_those_of_all_that_is_kept() {
    let long = format!("\"{}\"", "x".repeat(2_000));
    let mut world = World::new(bounded(None, Some(3_000)));
    for (asked, expected) in [
        ("state.set shared/a LONG", "state.set shared/a"),
        ("state.set shared/b LONG", "refused quota.stored_bytes"),
        ("message.send bob LONG", "refused quota.stored_bytes"),
        ("state.set shared/a 1", "state.set shared/a"),
        ("message.send bob LONG", "message.sent"),
        ("state.set shared/b LONG", "refused quota.stored_bytes"),
    ] {
        let rendered = world.run(0, "ada", &asked.replace("LONG", &long));
        assert!(rendered.starts_with(expected), "{asked}: {rendered}");
    }
}

#[test]
fn time_continues_and_a_reaction_fails_alone() {
    let mut world = World::new(bounded(Some(2), None));
    let reaction = r#"reaction.add copy on={"type":"state.set","subject":"state/shared/**"}
        do=[{"command":"state.set","namespace":"notes","key":"copy","value":1}]"#;
    for (time, asked, expected) in [
        (0, "namespace.create notes", "namespace.created notes"),
        (0, "state.set shared/a 1 ttl_ms=10", "state.set shared/a v1 = 1 until 10"),
        (0, "state.set shared/b 1", "state.set shared/b v1 = 1"),
        (0, reaction, "reaction.added copy"),
        (1, "state.set shared/b 2", "state.set shared/b v2 = 2; reaction.failed copy"),
        (10, "time", "state.expired shared/a"),
        (11, "state.set shared/b 3", "state.set shared/b v3 = 3; reaction.ran copy"),
    ] {
        let rendered = world.run(time, "ada", asked);
        assert!(rendered.starts_with(expected), "{asked}: {rendered}");
        assert_eq!(rendered.contains("quota.entries"), expected.contains("failed"), "{rendered}");
    }
}

proptest! {
    /// A quota that is not reached changes nothing.
    #[test]
    fn bounds_that_are_not_reached_change_nothing(
        steps in prop::collection::vec((0..4_u8, any::<bool>()), 1..30),
    ) {
        let mut free = World::new(Space::default());
        let mut bound = World::new(bounded(Some(4), Some(1 << 20)));
        for (key, is_set) in steps {
            let text = if is_set {
                format!("state.set shared/{key} 1")
            } else {
                format!("state.delete shared/{key}")
            };
            prop_assert_eq!(free.run(0, "ada", &text), bound.run(0, "ada", &text));
        }
        let (free, bound) = (Picture::of(&free.replayed()), Picture::of(&bound.replayed()));
        prop_assert_eq!(free, bound);
    }
}

#[test]
fn tasks_that_are_not_over_have_bytes_too() {
    World::new(bounded(None, Some(100_000))).check(&[
        (0, "ada", "task.create w id=\"a\" definition=bytes:60000", "task.created a w ready"),
        (0, "ada", "task.create w definition=bytes:60000", "refused quota.stored_bytes"),
    ]);
}

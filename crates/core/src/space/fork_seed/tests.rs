//! Nothing is held in a forked workspace.

use crate::command::Request;
use crate::history::{Manner, Origin};
use crate::names::{AgentId, WorkspaceName};
use crate::numbers::Revision;
use crate::primitive::Table as _;
use crate::space::Space;
use crate::storage::Entries;
use crate::task::{List, Status};
use crate::testing::{Picture, read_command};
use crate::time::Timestamp;

const HELD: &[(&str, &str)] = &[
    ("ada", "agent.register ada"),
    ("ada", "state.set shared/mine 1 ephemeral"),
    ("ada", "state.set shared/ours 1"),
    ("ada", "task.create build max_retries=0"),
    ("ada", "task.create build"),
    ("ada", "task.claim"),
    ("bob", "task.claim"),
    ("bob", "lock.acquire door"),
    ("ada", "lock.acquire door wait_ms=60000"),
    ("cho", "semaphore.acquire seats permits=1"),
    ("ada", "semaphore.acquire seats wait_ms=60000"),
    ("dan", "task.claim wait_ms=60000"),
];

fn founded() -> Space {
    let mut space = Space::default();
    for (agent, asked) in HELD {
        let agent = AgentId::parse(agent).unwrap();
        space.commit(Request::from(read_command(asked)), &agent, Timestamp(0)).unwrap();
    }
    let before = space.revision();
    let workspace = WorkspaceName::parse("research").unwrap();
    let (manner, time) = (Manner::Fork, space.time());
    let by = AgentId::parse("eve").unwrap();
    let origin = Origin { manner, workspace, revision: before, time, by, copy: None };
    space.seed_fork(origin.clone(), Timestamp(5)).unwrap();
    space.check();
    assert_eq!(space.workspace.origin(), Some(&origin));
    assert!(space.revision() > before, "{}", space.revision());
    space
}

#[test]
fn all_holds_and_waits_are_free() {
    let space = founded();
    assert_eq!(space.waits().count(), 0);
    assert!(space.lock.facts().0.is_empty() && space.semaphore.facts().1.is_empty());
    assert_eq!(space.agent.after(None).filter(|agent| space.agent.is_active(&agent.id)).count(), 0);
    let every = List::default();
    let tasks: Vec<_> = space.task.after(&every).collect();
    assert_eq!(tasks.len(), 2);
    for record in tasks {
        // Even a task without retries: its worker did not fail.
        assert_eq!((record.status, record.retries), (Status::Pending, 0));
        assert!(record.lease.is_none());
    }
}

#[test]
fn session_bound_entries_are_removed_and_the_rest_stays() {
    let space = founded();
    let keys: Vec<_> = space.state.everything(None, None).map(|it| it.key().to_owned()).collect();
    assert_eq!(keys, ["ours"]);
}

#[test]
fn a_seeded_space_survives_storage() {
    let space = founded();
    let copied = |entries: &Entries| Entries::from_sorted(entries.iter().cloned().collect());
    let entries = space.state.namespaces().map(|(name, it)| (name.clone(), copied(it)));
    let again = Space::restore(space.head(), entries.collect());
    assert_eq!(Picture::of(&again), Picture::of(&space));
    assert_eq!(again.workspace.origin().map(|origin| origin.revision), Some(Revision(12)));
}

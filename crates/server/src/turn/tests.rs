//! A turn that lies in several groups: each answer shares the fate of its own.

use baton::Options;
use baton::clock::SystemClock;
use baton_core::state::{Command, Set};
use baton_core::{Json, Key, NamespaceName};
use baton_log::faulty::FaultyDisk;
use baton_log::{FileLog, Options as FileOptions, Prepare};

use super::*;

fn on_disk(disk: &FaultyDisk) -> Baton {
    let file = FileOptions {
        segment_bytes: 256 << 10,
        prepare: Prepare::Inline,
        ..FileOptions::new("/baton")
    };
    let log = FileLog::open_on(disk.clone(), file).expect("the disk is well");
    Baton::on(log, SystemClock::default(), Options::default()).expect("the log is well")
}

fn set(key: &str, bytes: usize) -> Request {
    let value = Json::of(&"x".repeat(bytes)).expect("texts are JSON");
    let namespace = NamespaceName::parse("shared").expect("it is a good name");
    let key = Key::parse(key).expect("it is a good name");
    let command = Command::Set(Set::new(namespace, key, value));
    baton_core::Command::from(command).into()
}

#[tokio::test]
async fn what_is_lost_is_told_though_a_later_group_is_well() {
    let disk = FaultyDisk::new(1);
    let baton = on_disk(&disk);
    let workspace = WorkspaceName::parse("w").expect("it is a good name");
    let agent = AgentId::parse("ada").expect("it is a good name");
    baton.load(&workspace).await.expect("there is nothing to load");
    let mut turn = Turn::default();
    let hand_in = |turn: &mut Turn<&'static str>, request, mark| {
        turn.hand_in(&baton, &workspace, &agent, request, mark).expect("the engine is well")
    };
    disk.set_capacity(Some(disk.bytes_used()));
    let mut before = 0;
    loop {
        assert!(matches!(hand_in(&mut turn, set("before", 100_000), "before"), Handed::In));
        turn.settle(&baton).await;
        match turn.next(&baton) {
            Some((_, Ok(answer))) => before = answer.revision.0,
            Some((_, Err(error))) => break assert_eq!(error, Error::Full),
            None => panic!("one was handed in"),
        }
    }
    baton.load(&workspace).await.expect("the log is well");
    assert!(matches!(hand_in(&mut turn, set("lost", 100_000), "lost"), Handed::In));
    turn.settle(&baton).await;
    disk.set_capacity(None);
    let stalled = hand_in(&mut turn, set("kept", 1), "kept");
    assert!(
        matches!(stalled, Handed::Stalled(Stalled::Absent(_))),
        "memory forgets what was not written"
    );
    baton.load(&workspace).await.expect("the log is well");
    assert!(matches!(hand_in(&mut turn, set("kept", 1), "kept"), Handed::In));

    turn.settle(&baton).await;
    let (mark, outcome) = turn.next(&baton).expect("two were handed in");
    assert_eq!((mark, outcome.map(drop)), ("lost", Err(Error::Full)));
    let (mark, outcome) = turn.next(&baton).expect("two were handed in");
    assert_eq!((mark, outcome.map(|answer| answer.revision.0)), ("kept", Ok(before + 1)));
    assert!(turn.is_empty());
}

//! Requests in flight in several groups: each answer depends on its own group.

use baton::clock::SystemClock;
use baton::{Options, RetryAfter};
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
async fn a_lost_group_is_reported_although_a_later_one_succeeds() {
    let disk = FaultyDisk::new(1);
    let baton = on_disk(&disk);
    let workspace = WorkspaceName::parse("w").expect("it is a good name");
    let agent = AgentId::parse("ada").expect("it is a good name");
    baton.load(&workspace).await.expect("there is nothing to load");
    let mut in_flight = InFlight::default();
    let submit = |in_flight: &mut InFlight<&'static str>, request, mark| {
        in_flight.submit(&baton, &workspace, &agent, request, mark).expect("the engine is well")
    };
    disk.set_capacity(Some(disk.bytes_used()));
    let mut before = 0;
    loop {
        assert!(matches!(
            submit(&mut in_flight, set("before", 100_000), "before"),
            Admission::Answer(())
        ));
        in_flight.await_durable(&baton).await;
        match in_flight.next(&baton) {
            Some((_, Ok(answer))) => before = answer.revision.0,
            Some((_, Err(error))) => break assert_eq!(error, Error::Full),
            None => panic!("one was handed in"),
        }
    }
    baton.load(&workspace).await.expect("the log is well");
    assert!(matches!(submit(&mut in_flight, set("lost", 100_000), "lost"), Admission::Answer(())));
    in_flight.await_durable(&baton).await;
    disk.set_capacity(None);
    let admission = submit(&mut in_flight, set("kept", 1), "kept");
    assert!(
        matches!(admission, Admission::Retry(_, RetryAfter::Load)),
        "memory forgets what was not written"
    );
    baton.load(&workspace).await.expect("the log is well");
    assert!(matches!(submit(&mut in_flight, set("kept", 1), "kept"), Admission::Answer(())));

    in_flight.await_durable(&baton).await;
    let (mark, outcome) = in_flight.next(&baton).expect("two were handed in");
    assert_eq!((mark, outcome.map(drop)), ("lost", Err(Error::Full)));
    let (mark, outcome) = in_flight.next(&baton).expect("two were handed in");
    assert_eq!((mark, outcome.map(|answer| answer.revision.0)), ("kept", Ok(before + 1)));
    assert!(in_flight.is_empty());
}
